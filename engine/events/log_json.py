"""The event log as JSON Lines.

Lines are made for a thousand entries at a time, so that ids of tasks are looked up together; what many lines share
(the text of a shape, the time of a millisecond) is formatted once.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from itertools import chain, compress, count
from operator import add
from typing import TYPE_CHECKING, Protocol

from engine.base.units import SECOND_MS
from engine.events.log import LogSubject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from engine.events.log import EventLog

_OF_TASKS = (LogSubject.TASK, LogSubject.TASKS_ADDED)
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
    return chain.from_iterable(blocks_of_lines(log, names, start, stop))


def blocks_of_lines(log: EventLog, names: SubjectIds, start: int = 0, stop: int | None = None) -> Iterator[list[str]]:
    """Yield the lines of ``json_lines`` in lists of about a thousand, which takes less time."""
    stop = len(log) if stop is None else min(stop, len(log))
    lines = _Lines(log, names)
    for first in range(start, stop, _TOGETHER):
        last = min(first + _TOGETHER, stop)
        begin = first
        for entry in log.blocks(first, last):
            if log.row_b[entry] != 1:
                yield lines.of_entries(begin, entry)
                yield from lines.of_added_tasks(entry)
                begin = entry + 1
        yield lines.of_entries(begin, last)


class _Lines:
    """The lines of a log; the ids of a node are looked up once."""

    def __init__(self, log: EventLog, names: SubjectIds) -> None:
        self._log, self._names, self._clock = log, names, _Clock(log.start)
        self._nodes = {-1: ""}  # the ids of tasks' nodes

    def of_entries(self, first: int, last: int) -> list[str]:
        """Return the lines of these entries, each of one event."""
        log = self._log
        numbers, rows_a, rows_b = log.shape_of[first:last], log.row_a[first:last], log.row_b[first:last]
        shapes = {number: log.shapes[number] for number in set(numbers)}
        for entry in log.blocks(first, last):
            rows_b[entry - first] = -1  # the number of tasks, of which none is on a node
        task_shapes = {number for number, shape in shapes.items() if shape.subject in _OF_TASKS}
        if len(task_shapes) == len(shapes):
            ids: Iterable[str] = map(add, *self._of_tasks(rows_a, rows_b))
        else:
            of_tasks = list(map(task_shapes.__contains__, numbers))
            rest = map(add, *self._of_tasks(*(list(compress(rows, of_tasks)) for rows in (rows_a, rows_b))))
            ids = [
                next(rest) if of_task else _ids(self._names, shapes[number].subject, row_a, row_b)
                for of_task, number, row_a, row_b in zip(of_tasks, numbers, rows_a, rows_b, strict=True)
            ]
        texts = {number: (f",{shape.head}", shape.tail + "}") for number, shape in shapes.items()}
        return [
            f'{{"seq":{seq},{stamp}{head}{of_subject}{tail}'
            for seq, stamp, (head, tail), of_subject in zip(
                count(log.seq_of(first)),
                self._clock.stamps(log.when[first:last]),
                map(texts.__getitem__, numbers),
                ids,
            )
        ]

    def _of_tasks(self, tasks: Sequence[int], nodes: Sequence[int]) -> tuple[Iterable[str], Iterable[str]]:
        """Return the ids of the node, or nothing for -1, and those of the task, for each of these pairs of rows."""
        known = self._nodes
        known.update((node, self._names.node_ids(node)) for node in set(nodes) - known.keys())
        return map(known.__getitem__, nodes), self._names.tasks_ids(tasks)

    def of_added_tasks(self, entry: int) -> Iterator[list[str]]:
        """Yield the lines of the tasks that this entry adds together."""
        log = self._log
        shape, first, seq = log.shapes[log.shape_of[entry]], log.row_a[entry], log.seq_of(entry)
        (stamp,) = self._clock.stamps([log.when[entry]])
        last = first + log.row_b[entry]
        head, tail = f",{stamp},{shape.head}", shape.tail + "}"
        for begin in range(first, last, _TOGETHER):
            ids = self._names.tasks_ids(range(begin, min(begin + _TOGETHER, last)))
            yield [f'{{"seq":{at}{head}{of_task}{tail}' for at, of_task in enumerate(ids, seq + begin - first)]


class _Clock:
    """The times of a log's entries as JSON members; the date of a second is formatted once."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._known = -1, "", ""  # a second, and what the texts of its milliseconds have in common

    def stamps(self, times_ms: Iterable[int]) -> list[str]:
        """Return for each time the seconds since the start, and the time of day."""
        fractions, (second, elapsed, date) = _fractions(), self._known
        stamps, stamped_ms, stamp = [], -1, ""
        for when_ms in times_ms:
            if when_ms != stamped_ms:
                stamped_ms = when_ms
                fraction = fractions[when_ms % SECOND_MS]
                if when_ms // SECOND_MS != second:
                    second = when_ms // SECOND_MS
                    moment = self._start + timedelta(seconds=second)
                    elapsed = f'"t":{second}'
                    date = f',"time":"{moment.replace(microsecond=0, tzinfo=None).isoformat()}'
                stamp = f'{elapsed}{fraction}{date}{fraction}Z"'
            stamps.append(stamp)
        self._known = second, elapsed, date
        return stamps


@cache
def _fractions() -> list[str]:
    """Return the milliseconds of a second as decimals."""
    return ["", *(f".{ms:03d}".rstrip("0") for ms in range(1, SECOND_MS))]


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
