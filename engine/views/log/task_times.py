"""The times that tasks, preparations and releases have taken up to an entry of a log, in bulk.

They are those of ``engine.views.results.totals``, also for a run that has been left and for an earlier moment.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import compress
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import InstanceState, TaskState
from engine.events.log import LogSubject
from engine.views.log.reader import where

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine import Simulation
    from engine.events.log import Shape
    from engine.views.log.tally import LogColumns

_PREPARATION, _RELEASE = "JobPreparationTaskStateChanged", "JobReleaseTaskStateChanged"


class TaskTimes(NamedTuple):
    """Times in ms: of tasks in no order, of preparations and releases the sum over all nodes."""

    waits: list[int]  # from the creation of a task to its latest start
    runs: list[int]  # from the latest start of a task to its end
    preparation: int
    release: int


def task_times(simulation: Simulation, columns: LogColumns, stop: int) -> TaskTimes:
    """Return the times up to before the entry ``stop``, without those of deleted tasks and jobs.

    The columns may be those of a run of this simulation that has been left.
    """
    shapes = simulation.log.shapes
    when, rows, kinds = columns.when, columns.row_a[:stop], columns.shape_of[:stop]
    changes = [_is_change(shape) for shape in shapes]
    begins = [change and _enters(shape, TaskState.RUNNING) for shape, change in zip(shapes, changes, strict=True)]
    counted = [change and _counts(shape) for shape, change in zip(shapes, changes, strict=True)]
    ends = [change and _enters(shape, TaskState.COMPLETED) for shape, change in zip(shapes, changes, strict=True)]
    started = _latest(begins, kinds, rows)
    created = _Creations(shapes, columns, stop)
    waits: list[int] = []
    runs: list[int] = []
    for task, at in _latest(changes, kinds, rows).items():
        if counted[kinds[at]] and task in started:
            start_ms = when[started[task]]
            waits.append(start_ms - created.of(task))
            if ends[kinds[at]]:
                runs.append(when[at] - start_ms)
    gone = {rows[at] for at in where([_is_deleted_job(shape) for shape in shapes], kinds, 0)}
    preparation, release = (_hook_ms(event, shapes, columns, stop, gone) for event in (_PREPARATION, _RELEASE))
    return TaskTimes(waits, runs, preparation, release)


def _latest(wanted: Sequence[bool], kinds: Sequence[int], rows: Iterable[int]) -> dict[int, int]:
    """Return the number of the last entry of a wanted shape about each row."""
    flags = bytes(map(wanted.__getitem__, kinds))
    return dict(zip(compress(rows, flags), compress(range(len(flags)), flags), strict=True))


def _is_change(shape: Shape) -> bool:
    return shape.event == "TaskStateChanged" and shape.subject is LogSubject.TASK


def _enters(shape: Shape, state: TaskState) -> bool:
    return ("to", state) in shape.fields


def _counts(shape: Shape) -> bool:
    """Return whether a task whose last entry has this shape counts: it runs or is completed."""
    return _enters(shape, TaskState.RUNNING) or _enters(shape, TaskState.COMPLETED)


def _is_deleted_job(shape: Shape) -> bool:
    return shape.event == "JobStateChanged" and ("to", None) in shape.fields


class _Creations:
    """When tasks were added, in blocks or one by one."""

    def __init__(self, shapes: Sequence[Shape], columns: LogColumns, stop: int) -> None:
        added = [shape.event == "TaskStateChanged" and ("from", None) in shape.fields for shape in shapes]
        found = sorted((columns.row_a[at], columns.when[at]) for at in where(added, columns.shape_of[:stop], 0))
        self._firsts = [first for first, _ in found]
        self._when = [when_ms for _, when_ms in found]

    def of(self, task: int) -> int:
        """Return when a task was added."""
        return self._when[bisect_right(self._firsts, task) - 1]


def _hook_ms(event: str, shapes: Sequence[Shape], columns: LogColumns, stop: int, gone: set[int]) -> int:
    """Return for how long the last run of preparation or release on each node took, of those that have ended."""
    begun: dict[tuple[int, int], int] = {}
    took: dict[tuple[int, int], int] = {}
    for at in where([shape.event == event for shape in shapes], columns.shape_of[:stop], 0):
        key = columns.row_a[at], columns.row_b[at]
        if ("to", InstanceState.RUNNING) in shapes[columns.shape_of[at]].fields:
            begun[key] = columns.when[at]
            took.pop(key, None)
        elif key in begun:
            took[key] = columns.when[at] - begun[key]
    return sum(ms for (job, _), ms in took.items() if job not in gone)
