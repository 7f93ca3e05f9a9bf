"""The event log as JSON Lines.

Lines are made for some thousand entries at a time, so that ids of tasks are looked up together; what many lines share
(the text of a shape, the time of a millisecond) is formatted once.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Protocol

from engine.base.units import SECOND_MS
from engine.events.log import LogSubject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.events.log import EventLog

_TOGETHER = 4096  # entries, or tasks of an entry


class SubjectIds(Protocol):
    """A lookup of the ids of an entry's subject, as JSON members with a leading comma."""

    def pool_ids(self, pool: int) -> str: ...  # noqa: D102
    def node_ids(self, node: int) -> str: ...  # noqa: D102
    def job_ids(self, job: int) -> str: ...  # noqa: D102
    def tasks_ids(self, tasks: Sequence[int]) -> list[str]: ...  # noqa: D102
    def schedule_ids(self, schedule: int) -> str: ...  # noqa: D102
    def upload_ids(self, upload: int) -> str: ...  # noqa: D102


def json_lines(log: EventLog, names: SubjectIds, start: int = 0, stop: int | None = None) -> Iterator[str]:
    """Yield the events of entries ``start`` to ``stop`` as JSON objects without line ends."""
    last = len(log) if stop is None else min(stop, len(log))
    for first in range(start, last, _TOGETHER):
        yield from _lines(log, names, first, min(first + _TOGETHER, last))


def _lines(log: EventLog, names: SubjectIds, first: int, last: int) -> Iterator[str]:
    """Yield the lines of a few thousand entries."""
    shapes, numbers, rows = log.shapes, log.shape_of[first:last], log.row_a[first:last]
    is_task = {number: shapes[number].subject is LogSubject.TASK for number in set(numbers)}
    tasks = iter(names.tasks_ids([row for number, row in zip(numbers, rows, strict=True) if is_task[number]]))
    node_ids = names.node_ids
    clock = _Clock(log)
    seq, stamped_ms, stamp = log.seq_of(first), -1, ""
    for when_ms, number, row_a, row_b in zip(log.when[first:last], numbers, rows, log.row_b[first:last], strict=True):
        if when_ms != stamped_ms:
            stamped_ms, stamp = when_ms, clock.stamp(when_ms)
        shape = shapes[number]
        subject, head, tail = shape.subject, shape.head, shape.tail
        if is_task[number]:
            ids = node_ids(row_b) + next(tasks) if row_b >= 0 else next(tasks)
        elif subject is LogSubject.TASKS_ADDED:
            for begin in range(row_a, row_a + row_b, _TOGETHER):
                for ids in names.tasks_ids(range(begin, min(begin + _TOGETHER, row_a + row_b))):
                    yield f'{{"seq":{seq},{stamp},{head}{ids}{tail}}}'
                    seq += 1
            continue
        else:
            ids = _ids(names, subject, row_a, row_b)
        yield f'{{"seq":{seq},{stamp},{head}{ids}{tail}}}'
        seq += 1


class _Clock:
    """The times of a log's entries as JSON members; the date of a second is formatted once."""

    def __init__(self, log: EventLog) -> None:
        self._start = log.start
        self._second, self._date = -1, ""

    def stamp(self, when_ms: int) -> str:
        """Return the time since the start, in seconds, and the time of day."""
        second, ms = divmod(when_ms, SECOND_MS)
        if second != self._second:
            self._second = second
            self._date = (self._start + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
        fraction = f".{ms:03d}".rstrip("0") if ms else ""
        return f'"t":{second}{fraction},"time":"{self._date}{fraction}Z"'


def _ids(names: SubjectIds, subject: LogSubject, row_a: int, row_b: int) -> str:
    """Return the ids of a subject that is neither a task nor a block of them."""
    match subject:
        case LogSubject.INSTANCE:
            return names.node_ids(row_b) + (names.job_ids(row_a) if row_a >= 0 else "")
        case LogSubject.UPLOAD:
            return names.node_ids(row_b) + names.upload_ids(row_a)
        case LogSubject.NODE:
            return names.node_ids(row_b)
        case LogSubject.JOB:
            return names.job_ids(row_a)
        case LogSubject.POOL:
            return names.pool_ids(row_a)
        case LogSubject.SCHEDULE:
            return names.schedule_ids(row_a)
        case _:
            return ""
