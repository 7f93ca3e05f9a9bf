"""Small worlds for tests: bodies by keyword in the service's names, a run of them, and what it has come to.

Every step in the life of a node takes a fixed time, so that a test can say what happens when. The first nodes
of a pool are idle at ``READY_S``; a process takes its duration and a second to start.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from engine import BatchError, Scenario, Simulation, load_scenario
from engine.base.calendar import DueKind
from engine.base.values import SECOND_MS
from engine.rules import preparation
from engine.rules.tasks import attempts
from engine.specs.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.state.instances import InstanceView
    from engine.state.nodes import Node
    from engine.world import World

ALLOCATION_S, STARTING_S, BOOT_S, REBOOT_S, REIMAGE_S, REMOVAL_S = 10, 10, 30, 60, 120, 20
NOTICE_S = 30  # TIME-12
READY_S = ALLOCATION_S + STARTING_S + BOOT_S
AGAIN_S = 5  # starting after any boot but the first
REBOOTED_S = REBOOT_S + AGAIN_S  # from the command until the node is up again, without a start task
REIMAGED_S = REIMAGE_S + AGAIN_S
TIMINGS = {
    "allocation": ALLOCATION_S,
    "starting": STARTING_S,
    "ready": BOOT_S,
    "reboot": REBOOT_S,
    "reimage": REIMAGE_S,
    "removal": REMOVAL_S,
}
STOPPED = -1073741510  # exit code of a process that the service has ended
LONGEST_WAIT_MS = 24 * 3600 * SECOND_MS


# -- bodies ----------------------------------------------------------------------------------------------------------


def a_pool(pool_id: str = "p", nodes: int = 1, **more: Any) -> dict[str, Any]:
    """A pool of Linux nodes with two cores and one task slot each."""
    return {"id": pool_id, "vmSize": "standard_d2s_v3", "targetDedicatedNodes": nodes} | more


def a_line(seconds: float = 60, exit_code: Any = 0, command: str = "work", **more: Any) -> dict[str, Any]:
    """A command line of which nothing is known but how long it takes and how it ends; ``simulate`` adds to that."""
    simulate = {"duration": seconds, "exitCode": exit_code} | more.pop("simulate", {})
    return {"commandLine": command, "simulate": simulate} | more


def a_shell(script: str, **more: Any) -> dict[str, Any]:
    """A command line that the small shell carries out; it takes a second, and one to start."""
    return {"commandLine": f"/bin/sh -c '{script}'"} | more


def a_task(task_id: str = "t1", seconds: float = 60, exit_code: Any = 0, **more: Any) -> dict[str, Any]:
    """A task."""
    return {"id": task_id} | a_line(seconds, exit_code, **more)


def mpi_pool(nodes: int = 4, **more: Any) -> dict[str, Any]:
    """A pool in which tasks on several nodes can run."""
    return a_pool(nodes=nodes, enableInterNodeCommunication=True, **more)


def together(
    task_id: str = "mpi",
    instances: int = 3,
    seconds: float = 60,
    coordination: float = 9,
    coordinate: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A task on several nodes; its coordination command, if no other is given, takes so many seconds and one to start.

    ``settings`` adds to its ``multiInstanceSettings``.
    """
    command = dict(coordinate or a_line(coordination, command="mpd"))
    settings = {"coordinationCommandLine": command.pop("commandLine"), "numberOfInstances": instances} | command
    return a_task(task_id, seconds, multiInstanceSettings=settings | more.pop("settings", {}), **more)


def some_tasks(count: int, seconds: float = 60, **more: Any) -> list[dict[str, Any]]:
    """Equal tasks t1, t2, ..."""
    return [a_task(f"t{number}", seconds, **more) for number in range(1, count + 1)]


def a_job(
    job_id: str = "j",
    tasks: int | list[dict[str, Any]] = 1,
    pool: str = "p",
    prep: dict[str, Any] | None = None,
    release: dict[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A job on a pool; ``tasks`` may be the number of minute-long ones."""
    listed = some_tasks(tasks) if isinstance(tasks, int) else tasks
    special = {"jobPreparationTask": prep, "jobReleaseTask": release}
    given = {name: body for name, body in special.items() if body is not None}
    return {"id": job_id, "poolInfo": {"poolId": pool}, "tasks": listed} | given | more


# -- a run -----------------------------------------------------------------------------------------------------------


def scenario(*jobs: dict[str, Any], pool: dict[str, Any] | None = None, **more: Any) -> Scenario:
    """A scenario of these jobs, by default on ``a_pool()``; ``more`` has its other keys, ``pools`` among them."""
    simulate = more.pop("simulate", {})
    document = {
        "scenario": "test",
        "pools": [a_pool() if pool is None else pool],
        "jobs": list(jobs),
        "simulate": simulate | {"nodes": TIMINGS | simulate.get("nodes", {})},
    }
    return load_scenario("test", text=json.dumps(document | more))


def simulation(*jobs: dict[str, Any], **more: Any) -> Simulation:
    """A run of ``scenario`` with the same arguments."""
    return Simulation(scenario(*jobs, **more))


def from_yaml(text: str) -> Simulation:
    """A run of a scenario as a file has it."""
    return Simulation(load_scenario("test", text=text))


def run(sim: Simulation, *, minutes: float = 0, seconds: float = 0) -> None:
    """Let this much time pass."""
    sim.run_until(sim.now_ms + round((minutes * 60 + seconds) * SECOND_MS))


def run_to(sim: Simulation, *, minutes: float = 0, seconds: float = 0) -> None:
    """Go on to this moment, counted from the start."""
    when_ms = round((minutes * 60 + seconds) * SECOND_MS)
    assert when_ms >= sim.now_ms, f"it is {sim.now_ms} ms already"
    sim.run_until(when_ms)


def run_to_end(sim: Simulation) -> None:
    """Go on until nothing more can happen; commands may still be given then."""
    while sim.step():
        pass


def play_one_by_one(world: World) -> None:
    """Let the readable rules handle each entry of the calendar by itself, without the fast paths."""
    world.calendar.on_task_ends(lambda: attempts.task_ended(world, world.calendar.take_task_end()))
    world.calendar.on(DueKind.PREPARATION_ENDED, partial(preparation.preparation_ended, world))
    world.calendar.take_alike = lambda *_: []  # type: ignore[method-assign]


def wait_for(sim: Simulation, condition: Callable[[], Any]) -> None:
    """Go on until something is the case at the end of an instant, a day at most."""
    limit_ms = sim.now_ms + LONGEST_WAIT_MS
    while not condition() or not sim.world.calendar.instant_is_over():
        assert sim.now_ms < limit_ms, "it has not come true within a day"
        assert sim.step(), "nothing more can happen, and it has not come true"


def do(sim: Simulation, name: str, /, **fields: Any) -> None:
    """Carry out an operation or a fault by its name on the wire; raises BatchError when it is refused."""
    command = COMMANDS[name].from_wire(fields)
    sim.submit(command)


def evict(sim: Simulation, index: int = 0, pool: str = "p") -> None:
    """Take a Spot node's VM back and let the time of the notice pass; it is preempted now (SPOT-7)."""
    do(sim, "evictNode", poolId=pool, node=index)
    run(sim, seconds=NOTICE_S)


def refusal(sim: Simulation, name: str, /, **fields: Any) -> str | None:
    """The code with which an operation is refused; None if it is taken."""
    try:
        do(sim, name, **fields)
    except BatchError as error:
        return error.code
    return None


# -- what it has come to ---------------------------------------------------------------------------------------------


def events(sim: Simulation, name: str | None = None, **fields: Any) -> list[dict[str, Any]]:
    """The events of a name that have these fields; ``from_`` stands for ``from``."""
    wanted = {key.rstrip("_"): value for key, value in fields.items()}
    if name is not None:
        wanted["event"] = name
    lines = map(json.loads, sim.json_lines())
    return [line for line in lines if wanted.items() <= line.items()]


def times(sim: Simulation, name: str, **fields: Any) -> list[float]:
    """When, in seconds from the start, such events happened."""
    return [event["t"] for event in events(sim, name, **fields)]


def node_rows(sim: Simulation, pool: str = "p") -> list[int]:
    """The rows of all nodes that a pool has ever had."""
    world = sim.world
    return [row for row in range(world.nodes.length) if world.pool_of(row).id == pool]


def node_row(sim: Simulation, index: int = 0, pool: str = "p") -> int:
    """The row of a node by its index in the pool."""
    return node_rows(sim, pool)[index]


def node(sim: Simulation, index: int = 0, pool: str = "p") -> Node:
    """The record of a node."""
    return sim.world.nodes[node_row(sim, index, pool)]


def node_state(sim: Simulation, index: int = 0, pool: str = "p") -> str | None:
    """The state of a node as the service spells it; None when it has gone, or is not there yet."""
    rows = node_rows(sim, pool)
    state = sim.world.nodes.state_of(rows[index]) if index < len(rows) else None
    return None if state is None else state.wire


def node_states(sim: Simulation, index: int = 0) -> list[str | None]:
    """All states that a node has been in, in order."""
    return [event["to"] for event in events(sim, "NodeStateChanged", nodeId=node(sim, index).id)]


def job_state(sim: Simulation, job: str = "j") -> str | None:
    """The state of a job; None when it is gone."""
    found = sim.world.jobs.find(job)
    return None if found is None or found.state is None else found.state.wire


def pool_state(sim: Simulation, pool: str = "p") -> str | None:
    """The state of a pool; None when it is gone."""
    found = sim.world.pools.find(pool)
    return None if found is None or found.state is None else found.state.wire


def schedule_state(sim: Simulation, schedule: str = "s") -> str | None:
    """The state of a job schedule; None when it is gone."""
    found = sim.world.job_schedules.find(schedule)
    return None if found is None or found.state is None else found.state.wire


def task_row(sim: Simulation, task: str = "t1", job: str = "j") -> int:
    """The row of a task."""
    found = sim.world.jobs.find(job)
    assert found is not None
    row = sim.world.tasks.find(found.row, task)
    assert row is not None
    return row


def task_state(sim: Simulation, task: str = "t1", job: str = "j") -> str | None:
    """The state of a task; None when there is none of this name."""
    found = sim.world.jobs.find(job)
    row = None if found is None else sim.world.tasks.find(found.row, task)
    state = None if row is None else sim.world.tasks.state_of(row)
    return None if state is None else state.wire


def task_history(sim: Simulation, task: str = "t1", job: str = "j") -> list[str | None]:
    """All states that a task has been in, in order."""
    return [event["to"] for event in events(sim, "TaskStateChanged", taskId=task, jobId=job)]


def task_extra(sim: Simulation, task: str = "t1", job: str = "j") -> Any:
    """Attempts, counters, exit code and failure of a task."""
    return sim.world.tasks.extra(task_row(sim, task, job))


def instance_row(sim: Simulation, index: int = 0, job: str = "j") -> int:
    """The row of a job's preparation and release on a node; -1 if it never needed one."""
    found = sim.world.jobs.find(job)
    assert found is not None
    return sim.world.instances.row(found.row, node_row(sim, index))


def prep(sim: Simulation, index: int = 0, job: str = "j") -> InstanceView | None:
    """The record of a job's preparation on a node; None where none ran."""
    row = instance_row(sim, index, job)
    return None if row < 0 else sim.world.instances.prep(row)


def release(sim: Simulation, index: int = 0, job: str = "j") -> InstanceView | None:
    """The record of a job's release on a node; None where none ran."""
    row = instance_row(sim, index, job)
    return None if row < 0 else sim.world.instances.release(row)


def prep_events(sim: Simulation, **fields: Any) -> list[tuple[float, str, int]]:
    """When which attempt of a preparation was running or completed."""
    return _story(events(sim, "JobPreparationTaskStateChanged", **fields))


def release_events(sim: Simulation, **fields: Any) -> list[tuple[float, str, int]]:
    """When which attempt of a release was running or completed."""
    return _story(events(sim, "JobReleaseTaskStateChanged", **fields))


def start_task_events(sim: Simulation, **fields: Any) -> list[tuple[float, str, int]]:
    """When which attempt of a start task was running or completed."""
    return _story(events(sim, "StartTaskStateChanged", **fields))


def _story(found: list[dict[str, Any]]) -> list[tuple[float, str, int]]:
    return [(event["t"], event["to"], event["attempt"]) for event in found]


def file(sim: Simulation, path: str, index: int = 0) -> str | None:
    """The text of a file on a node, by its path below the root; None if there is none."""
    return sim.world.disks[node_row(sim, index)].read(path)
