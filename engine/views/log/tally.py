"""Counts and times of a part of the log, by which runs, branches and moments are compared.

The times of preparations and releases are read in bulk, also for a run that has been left and for an earlier moment.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Hashable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, cast

from engine.base.lifecycles import NODE_STATES, Interruption
from engine.base.log import plain
from engine.base.terms import InstanceState, JobState, NodeState, TaskResult, TaskState
from engine.base.values import HOUR_MS
from engine.run.conditions import price_of
from engine.views.log.levels import RareLevels
from engine.views.log.reader import is_event, matching, where

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine import Simulation
    from engine.base.log import EventLog, Shape
    from engine.state.pools import Pool, ResizeError


_EVERYTHING = 1 << 62


class Measure(Enum):
    """A count, in the words of the dashboard.

    Preparations and releases have failed as in expectations and in the report: on nodes where the last run did.
    """

    POOLS = "pools created"
    JOBS = "jobs created"
    SCHEDULES = "job schedules created"
    SUCCEEDED = "tasks succeeded"
    FAILED = "tasks failed"
    RETRIED = "tasks retried"
    REQUEUED = "tasks requeued"
    TERMINATED = "tasks terminated"
    STARTED = "task starts"
    PREPARATIONS = "preparation runs"
    PREPARATIONS_FAILED = "preparations failed"
    RELEASES = "release runs"
    RELEASES_FAILED = "releases failed"
    START_TASKS = "start task runs"
    NODES_ADDED = "nodes added"
    NODES_REMOVED = "nodes removed"
    REBOOTS = "node reboots"
    REIMAGES = "node reimages"
    NODES_LOST = "nodes unusable, unknown or preempted"


class LogColumns(NamedTuple):
    """Entries of a log: times, shapes, and the two row numbers of each."""

    when: array[int]
    shape_of: array[int]
    row_a: array[int]
    row_b: array[int]


def recorded_columns(simulation: Simulation) -> LogColumns:
    """Return all that is recorded, with the entries after the moment that is shown."""
    return LogColumns(*simulation.log.recorded_columns(0))


class Tally(NamedTuple):
    """The counts, and when each job was completed (by id, in ms since the start)."""

    counts: Mapping[Measure, int]
    completed_ms: Mapping[str, int]


def tally(
    simulation: Simulation,
    columns: LogColumns,
    start: int = 0,
    stop: int | None = None,
    jobs: Sequence[str] | None = None,
) -> Tally:
    """Count the entries from number ``start`` on, and before ``stop``.

    ``jobs`` are the ids of all jobs of the run that wrote the log; without them it is the run that is shown.
    """
    shapes, entries = simulation.log.shapes, columns.shape_of[start:stop]
    counts = dict.fromkeys(Measure, 0)
    for shape, times in Counter(entries).items():
        measure = _measure(shapes[shape])
        if measure is not None:
            counts[measure] += times
    for event, (_, failed) in _HOOKS.items():
        if failed is not None and counts[failed]:
            counts[failed] = _failed_at_last(shapes, event, columns, start, stop)
    ends = where(list(map(is_event("JobStateChanged", to=JobState.COMPLETED), shapes)), entries, start)
    names = all_job_ids(simulation) if jobs is None else jobs
    return Tally(counts, {names[columns.row_a[at]]: columns.when[at] for at in ends})


def _failed_at_last(shapes: Sequence[Shape], event: str, columns: LogColumns, start: int, stop: int | None) -> int:
    """Return on how many nodes the last preparation or release of a job has failed; a run that goes on has not."""
    failures = [_has_failed(dict(shape.fields)) for shape in shapes]
    failed: set[tuple[int, int]] = set()  # the row numbers of job and node
    for at in where([shape.event == event for shape in shapes], columns.shape_of[start:stop], start):
        instance = columns.row_a[at], columns.row_b[at]
        (failed.add if failures[columns.shape_of[at]] else failed.discard)(instance)
    return len(failed)


def tally_since(simulation: Simulation, start: int) -> Tally:
    """Count the entries from number ``start`` until now."""
    log = simulation.log
    return tally(simulation, LogColumns(log.when, log.shape_of, log.row_a, log.row_b), start)


def leaving_since(simulation: Simulation, start: int) -> dict[int, int]:
    """Return the nodes that began to leave their pool in the entries from number ``start`` on, and when, in ms.

    Nodes that came only then are left out.
    """
    log = simulation.log
    new = {log.row_b[at] for at in matching(log, is_event("NodeStateChanged", **{"from": None}), start)}
    leaving = matching(log, is_event("NodeStateChanged", to=NodeState.LEAVING_POOL), start)
    return {node: log.when[at] for at in leaving if (node := log.row_b[at]) not in new}


def shortfalls_since(simulation: Simulation, start: int) -> dict[tuple[str, str], str]:
    """Return why pools got too few nodes from the entry number ``start`` on (RSZ-12), by the pool's id and the code."""
    log, pools = simulation.log, simulation.world.pools
    found: dict[tuple[str, str], str] = {}
    for at in matching(log, is_event("PoolResizeComplete"), start):
        fields = dict(log.shapes[log.shape_of[at]].fields)
        errors = cast("tuple[ResizeError, ...]", fields.get("resizeErrors", ()))
        for error in errors if errors and lacks_nodes(fields) else ():
            found[pools[log.row_a[at]].id, error.code] = dict(error.values).get("Reason", error.message)
    return found


def lacks_nodes(fields: Mapping[str, Hashable]) -> bool:
    """Return whether a pool has fewer nodes than its target; one that waits in vain for tasks to end has more."""
    kinds = ("DedicatedNodes", "LowPriorityNodes")
    return any(cast("int", fields[f"current{kind}"]) < cast("int", fields[f"target{kind}"]) for kind in kinds)


def all_job_ids(simulation: Simulation) -> tuple[str, ...]:
    """Return the ids of all jobs so far, deleted ones too, by their row number."""
    return tuple(job.id for job in simulation.world.jobs.rows)


class NodeUse(NamedTuple):
    """The use of the nodes of a run so far. It stays what it is when the run goes on or is dropped."""

    pools: Sequence[Pool]
    levels: RareLevels

    def hours(self, until_ms: int) -> float:
        """Return the hours for which VMs had been billed at a moment (ACC-10)."""
        return sum(sum(self.levels.billed_ms(pool.row, until_ms)) for pool in self.pools) / HOUR_MS

    def cost(self, until_ms: int) -> float:
        """Return what they had cost at a moment (ACC-10)."""
        return sum(price_of(pool, *self.levels.billed_ms(pool.row, until_ms)) for pool in self.pools)


def node_use(simulation: Simulation) -> NodeUse:
    """Return the use of nodes up to the moment that is shown."""
    levels = RareLevels(simulation)
    levels.update(_EVERYTHING)
    return NodeUse(tuple(simulation.world.pools.rows), levels)


def _measure(shape: Shape) -> Measure | None:
    """Return the measure that entries of a shape count for; None for others."""
    fields = dict(shape.fields)
    match shape.event:
        case "TaskStateChanged":
            return _of_task(fields)
        case "NodeStateChanged":
            return _of_node(fields.get("from"), fields.get("to"))
        case created if created in _CREATED:
            return _CREATED[created] if fields.get("from") is None else None
        case hook if hook in _HOOKS:
            runs, failures = _HOOKS[hook]
            if plain(fields.get("to")) == InstanceState.RUNNING.wire:
                return runs
            return failures if _has_failed(fields) else None
    return None


def _has_failed(fields: Mapping[str, Hashable]) -> bool:
    return fields.get("result") is TaskResult.FAILURE


_CREATED = {
    "PoolStateChanged": Measure.POOLS,
    "JobStateChanged": Measure.JOBS,
    "JobScheduleStateChanged": Measure.SCHEDULES,
}
_HOOKS: dict[str, tuple[Measure, Measure | None]] = {
    "JobPreparationTaskStateChanged": (Measure.PREPARATIONS, Measure.PREPARATIONS_FAILED),
    "JobReleaseTaskStateChanged": (Measure.RELEASES, Measure.RELEASES_FAILED),
    "StartTaskStateChanged": (Measure.START_TASKS, None),
}


MEASURES = {
    Interruption.REBOOT: Measure.REBOOTS,
    Interruption.REIMAGE: Measure.REIMAGES,
    Interruption.UPGRADE: None,
    Interruption.LOSS: Measure.NODES_LOST,
    Interruption.PREEMPTION: Measure.NODES_LOST,
    Interruption.DEALLOCATION: None,
    Interruption.REMOVAL: None,  # counted when the node is gone
}
_ENTERED: dict[Hashable, Measure | None] = {
    state: MEASURES.get(meaning.interruption) for state, meaning in NODE_STATES.items() if meaning.interruption
}


def is_retry(fields: Mapping[str, Hashable]) -> bool:
    """Return whether a change of a task's state is the way back to the queue after its process has failed.

    Any other way back, such as a requeue, tells of no exit code.
    """
    return fields.get("to") is TaskState.ACTIVE and "exitCode" in fields


def _of_task(fields: Mapping[str, Hashable]) -> Measure | None:
    old, new = fields.get("from"), fields.get("to")
    if new is TaskState.COMPLETED:
        if fields.get("result") is not TaskResult.FAILURE:
            return Measure.SUCCEEDED
        code = getattr(fields.get("failureInfo"), "code", "")
        return Measure.TERMINATED if code == "TaskEnded" else Measure.FAILED
    if new is TaskState.RUNNING:
        return Measure.STARTED
    if old is TaskState.RUNNING and new is TaskState.ACTIVE:
        return Measure.RETRIED if is_retry(fields) else Measure.REQUEUED
    return None


def _of_node(old: Hashable, new: Hashable) -> Measure | None:
    if old is None:
        return Measure.NODES_ADDED
    if new is None:
        return Measure.NODES_REMOVED
    return _ENTERED.get(new)


_PREPARATION, _RELEASE = "JobPreparationTaskStateChanged", "JobReleaseTaskStateChanged"


class HookTimes(NamedTuple):
    """The times in ms of all preparations, and of all releases, that have ended: each run of each on each node."""

    preparation: int
    release: int


def hook_times(log: EventLog, columns: LogColumns | None = None, stop: int | None = None) -> HookTimes:
    """Return the times up to before the entry ``stop``, of the log as it is shown or of columns with its shapes."""
    columns = LogColumns(log.when, log.shape_of, log.row_a, log.row_b) if columns is None else columns
    return HookTimes(*(_hook_ms(event, log.shapes, columns, stop) for event in (_PREPARATION, _RELEASE)))


def _hook_ms(event: str, shapes: Sequence[Shape], columns: LogColumns, stop: int | None) -> int:
    """Return for how long all runs have taken that have ended; the next entry about a job on a node ends a run."""
    begun: dict[tuple[int, int], int] = {}
    took_ms = 0
    for at in where([shape.event == event for shape in shapes], columns.shape_of[:stop], 0):
        key, when_ms = (columns.row_a[at], columns.row_b[at]), columns.when[at]
        took_ms += when_ms - begun.pop(key, when_ms)
        if ("to", InstanceState.RUNNING) in shapes[columns.shape_of[at]].fields:
            begun[key] = when_ms
    return took_ms
