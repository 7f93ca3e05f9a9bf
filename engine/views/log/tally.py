"""Counts of what happened in a part of the log, by which runs, branches and moments are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_states import NODE_STATES, Interruption
from engine.base.terms import InstanceState, JobState, NodeState, TaskResult, TaskState
from engine.events.log import plain
from engine.views.log.reader import matching, where

if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping

    from engine import Simulation
    from engine.events.log import Shape


class Measure(Enum):
    """A count, in the words of the dashboard."""

    POOLS = "pools created"
    JOBS = "jobs created"
    SCHEDULES = "job schedules created"
    SUCCEEDED = "tasks succeeded"
    FAILED = "tasks failed"
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


def tally(simulation: Simulation, columns: LogColumns, start: int = 0, stop: int | None = None) -> Tally:
    """Count the entries from number ``start`` on, and before ``stop``."""
    shapes, entries = simulation.log.shapes, columns.shape_of[start:stop]
    counts = dict.fromkeys(Measure, 0)
    for shape, times in Counter(entries).items():
        measure = _measure(shapes[shape])
        if measure is not None:
            counts[measure] += times
    ends = where([_completes(shape) for shape in shapes], entries, start)
    return Tally(counts, {_job_name(simulation, columns.row_a[at]): columns.when[at] for at in ends})


def tally_since(simulation: Simulation, start: int) -> Tally:
    """Count the entries from number ``start`` until now."""
    log = simulation.log
    return tally(simulation, LogColumns(log.when, log.shape_of, log.row_a, log.row_b), start)


def leaving_since(simulation: Simulation, start: int) -> frozenset[int]:
    """Return the nodes that began to leave their pool in the entries from number ``start`` until now."""
    log = simulation.log
    return frozenset(log.row_b[at] for at in matching(log, _is_departure, start))


def _is_departure(shape: Shape) -> bool:
    return shape.event == "NodeStateChanged" and ("to", NodeState.LEAVING_POOL) in shape.fields


def _job_name(simulation: Simulation, job: int) -> str:
    """Return the id of a job; a job that only another branch had gets a number instead."""
    return simulation.names.job(job) if job < len(simulation.world.jobs) else f"job number {job + 1}"


def node_ms(simulation: Simulation, columns: LogColumns, until_ms: int) -> int:
    """Return how long nodes were in their pools up to a moment, all together, in ms."""
    shapes = simulation.log.shapes
    total_ms = present = 0
    for at in where([shape.event == "NodeStateChanged" for shape in shapes], columns.shape_of, 0):
        when_ms, fields = columns.when[at], dict(shapes[columns.shape_of[at]].fields)
        if when_ms > until_ms:
            break
        if fields["from"] is None:
            total_ms, present = total_ms - when_ms, present + 1
        elif fields["to"] is None:
            total_ms, present = total_ms + when_ms, present - 1
    return total_ms + present * until_ms


def event_and_moment(simulation: Simulation, columns: LogColumns, at: int) -> tuple[str, int]:
    """Return the event of one entry, and its moment in ms since the start."""
    return simulation.log.shapes[columns.shape_of[at]].event, columns.when[at]


def first_difference(one: LogColumns, other: LogColumns) -> int | None:
    """Return the first entry in which two logs differ; None where one is the beginning of the other."""
    both = min(len(one.when), len(other.when))
    low, high = 0, both  # the logs are equal up to ``low``, and differ before ``high``
    if all(a[:both] == b[:both] for a, b in zip(one, other, strict=True)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if all(a[low:middle] == b[low:middle] for a, b in zip(one, other, strict=True)):
            low = middle
        else:
            high = middle
    return low


def _completes(shape: Shape) -> bool:
    return shape.event == "JobStateChanged" and dict(shape.fields).get("to") is JobState.COMPLETED


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
            return failures if fields.get("result") is TaskResult.FAILURE else None
    return None


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


def _of_task(fields: Mapping[str, Hashable]) -> Measure | None:
    old, new = fields.get("from"), fields.get("to")
    if new is TaskState.COMPLETED:
        if fields.get("result") is not TaskResult.FAILURE:
            return Measure.SUCCEEDED
        code = getattr(fields.get("failureInfo"), "code", "")
        return Measure.TERMINATED if code == "TaskEnded" else Measure.FAILED
    if new is TaskState.RUNNING:
        return Measure.STARTED
    return Measure.REQUEUED if old is TaskState.RUNNING and new is TaskState.ACTIVE else None


def _of_node(old: Hashable, new: Hashable) -> Measure | None:
    if old is None:
        return Measure.NODES_ADDED
    if new is None:
        return Measure.NODES_REMOVED
    return _ENTERED.get(new)
