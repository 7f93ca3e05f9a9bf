"""The nodes and times of task starts, for tests."""

from __future__ import annotations

from tests.builders import READY_S, node_rows, run_to, task_row


def at_start(start, *jobs, pool=None, **scenario):
    sim = start(*jobs, pool=pool, **scenario)
    run_to(sim, seconds=READY_S)
    return sim


def load(sim, pool="p"):
    """Return the number of running tasks on each node."""
    return [len(sim.world.nodes.running[row]) for row in node_rows(sim, pool)]


def where(sim, task, job="j"):
    """Return the index of the node on which a task runs."""
    return sim.world.nodes[sim.world.tasks.node[task_row(sim, task, job)]].position
