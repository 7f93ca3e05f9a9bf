"""The event log as JSON Lines.

Lines are made for a thousand entries at a time, so that ids of tasks are looked up together; what many lines share
(the text of a shape, the time of a millisecond) is formatted once.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import chain, compress
from typing import TYPE_CHECKING, Protocol

from engine.base.units import SECOND_MS
from engine.events.log import LogSubject

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.events.log import EventLog

_TOGETHER = 1024  # entries, or tasks of an entry: their lines stay in the processor's cache until they are written


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
    return chain.from_iterable(_blocks(log, names, start, len(log) if stop is None else min(stop, len(log))))


def _blocks(log: EventLog, names: SubjectIds, start: int, stop: int) -> Iterator[list[str]]:
    """Yield the lines in blocks of a thousand: a list costs less than a generator that is resumed for each line."""
    shapes, clock = log.shapes, _Clock(log)
    nodes = {-1: ""}  # the ids of tasks' nodes
    for first in range(start, stop, _TOGETHER):
        last = min(first + _TOGETHER, stop)
        numbers, rows_a, rows_b = log.shape_of[first:last], log.row_a[first:last], log.row_b[first:last]
        known = {number: (shapes[number].subject, shapes[number].head, shapes[number].tail) for number in set(numbers)}
        of_tasks = [known[number][0] is LogSubject.TASK for number in numbers]
        tasks = iter(names.tasks_ids(list(compress(rows_a, of_tasks))))
        nodes.update((node, names.node_ids(node)) for node in set(compress(rows_b, of_tasks)) - nodes.keys())
        seq, stamped_ms, stamp = log.seq_of(first), -1, ""
        lines: list[str] = []
        for when_ms, number, row_a, row_b in zip(log.when[first:last], numbers, rows_a, rows_b, strict=True):
            if when_ms != stamped_ms:
                stamped_ms, stamp = when_ms, clock.stamp(when_ms)
            subject, head, tail = known[number]
            if subject is LogSubject.TASK:
                ids = nodes[row_b] + next(tasks)
            elif subject is LogSubject.TASKS_ADDED:
                for begin in range(row_a, row_a + row_b, _TOGETHER):
                    added = names.tasks_ids(range(begin, min(begin + _TOGETHER, row_a + row_b)))
                    lines += [f'{{"seq":{at},{stamp},{head}{ids}{tail}}}' for at, ids in enumerate(added, seq)]
                    seq += len(added)
                    yield lines
                    lines = []
                continue
            else:
                ids = _ids(names, subject, row_a, row_b)
            lines.append(f'{{"seq":{seq},{stamp},{head}{ids}{tail}}}')
            seq += 1
        yield lines


class _Clock:
    """The times of a log's entries as JSON members; the date of a second is formatted once."""

    def __init__(self, log: EventLog) -> None:
        self._start = log.start
        self._second, self._date = -1, ""
        self._fractions = ["", *(f".{ms:03d}".rstrip("0") for ms in range(1, SECOND_MS))]

    def stamp(self, when_ms: int) -> str:
        """Return the time since the start, in seconds, and the time of day."""
        second, ms = divmod(when_ms, SECOND_MS)
        if second != self._second:
            self._second = second
            moment = self._start + timedelta(seconds=second)
            self._date = moment.replace(microsecond=0, tzinfo=None).isoformat()
        fraction = self._fractions[ms]
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
