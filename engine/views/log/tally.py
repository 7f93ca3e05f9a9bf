"""Counts of what happened in a part of the log, by which runs, branches and moments are compared."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import InstanceState, JobState, NodeState, TaskResult, TaskState
from engine.events.log import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine import Simulation
    from engine.events.log import Shape


class Measure(Enum):
    """A count, in the words of the dashboard."""

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
    NODES_NEW = "nodes added"
    NODES_GONE = "nodes removed"
    REBOOTS = "node reboots"
    REIMAGES = "node reimages"
    NODES_LOST = "nodes unusable, unknown or preempted"


class LogColumns(NamedTuple):
    """Entries of a log: times, shapes, and the two row numbers of each."""

    when: Sequence[int]
    shape_of: Sequence[int]
    row_a: Sequence[int]
    row_b: Sequence[int]


class Tally(NamedTuple):
    """The counts, and when each job was completed (by id, in ms since the start)."""

    counts: Mapping[Measure, int]
    completed_ms: Mapping[str, int]


def tally(simulation: Simulation, columns: LogColumns, start: int = 0, stop: int | None = None) -> Tally:
    """Count the entries from number ``start`` on, and before ``stop``."""
    shapes = simulation.log.shapes
    measured = [_measure(shape) for shape in shapes]
    completes = [_completes(shape) for shape in shapes]
    counts = dict.fromkeys(Measure, 0)
    completed: dict[str, int] = {}
    for number in range(start, len(columns.when) if stop is None else stop):
        shape = columns.shape_of[number]
        measure = measured[shape]
        if measure is not None:
            counts[measure] += 1
        elif completes[shape]:
            completed[_job_name(simulation, columns.row_a[number])] = columns.when[number]
    return Tally(counts, completed)


def _job_name(simulation: Simulation, job: int) -> str:
    """Return the id of a job; a job that only another branch had gets a number instead."""
    return simulation.names.job(job) if job < len(simulation.world.jobs) else f"job number {job + 1}"


def node_ms(simulation: Simulation, columns: LogColumns, until_ms: int) -> int:
    """Return how long nodes were in their pools up to a moment, all together, in ms."""
    moves = [_of_node_of(shape) for shape in simulation.log.shapes]
    since: dict[int, int] = {}
    total = 0
    for when_ms, shape, node in zip(columns.when, columns.shape_of, columns.row_b, strict=True):
        if when_ms > until_ms:
            break
        move = moves[shape]
        if move is Measure.NODES_NEW:
            since[node] = when_ms
        elif move is Measure.NODES_GONE:
            total += when_ms - since.pop(node)
    return total + sum(until_ms - begun_ms for begun_ms in since.values())


def _of_node_of(shape: Shape) -> Measure | None:
    fields = dict(shape.fields)
    return _of_node(fields.get("from"), fields.get("to")) if shape.event == "NodeStateChanged" else None


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
        case hook if hook in _HOOKS:
            runs, failures = _HOOKS[hook]
            if plain(fields.get("to")) == InstanceState.RUNNING.wire:
                return runs
            return failures if fields.get("result") is TaskResult.FAILURE else None
    return None


_HOOKS: dict[str, tuple[Measure, Measure | None]] = {
    "JobPreparationTaskStateChanged": (Measure.PREPARATIONS, Measure.PREPARATIONS_FAILED),
    "JobReleaseTaskStateChanged": (Measure.RELEASES, Measure.RELEASES_FAILED),
    "StartTaskStateChanged": (Measure.START_TASKS, None),
}


_ENTERED: dict[Hashable, Measure] = {
    NodeState.REBOOTING: Measure.REBOOTS,
    NodeState.REIMAGING: Measure.REIMAGES,
    **dict.fromkeys((NodeState.UNUSABLE, NodeState.UNKNOWN, NodeState.PREEMPTED), Measure.NODES_LOST),
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
        return Measure.NODES_NEW
    if new is None:
        return Measure.NODES_GONE
    return _ENTERED.get(new)
