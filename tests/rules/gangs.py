"""The subtasks and nodes of multi-instance tasks, for tests."""

from __future__ import annotations

from tests.builders import events, task_row


def subtask_events(sim, task="mpi", **fields):
    """Return the state changes of subtasks with their nodes, in order."""
    index = {each.id: each.position for each in sim.world.nodes.records}
    found = events(sim, "SubtaskStateChanged", taskId=task, **fields)
    return [(event["t"], event["subtaskId"], event["to"], index[event["nodeId"]]) for event in found]


def nodes_of(sim, task="mpi"):
    """Return the nodes of a task by their index in the pool, the master first."""
    return [sim.world.nodes[each].position for each in sim.world.nodes_of(task_row(sim, task))]
