"""The event log: an append-only list of packed entries, and its JSON lines.

Its events are state changes, which cover everything in the service's own log (EVT-1).

An entry is a time, a shape and two row numbers. A *shape* holds what many entries share (event name, from, to,
attempt, result, rule) and is stored once together with its JSON text. So an entry takes twenty bytes, and writing a
line of JSON takes one format operation. The row numbers identify the subject; ids are looked up on reading.

JSON lines are made for a thousand entries at a time, so that ids of tasks are looked up together; what many lines
share (the text of a shape, the time of a millisecond) is formatted once.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import IntEnum
from functools import cache, cached_property
from itertools import chain, compress, count
from typing import Any, NamedTuple, Protocol

from engine.base.values import SECOND_MS, visible_json


class LogSubject(IntEnum):
    """The kind of an event's subject, which decides the meaning of the entry's two row numbers."""

    RUN = 0  # no rows
    POOL = 1  # a is the pool
    NODE = 2  # b is the node; a is its pool if the node is new
    JOB = 3  # a is the job
    TASK = 4  # a is the task, b the node or -1
    INSTANCE = 5  # a is the job or -1, b the node
    SCHEDULE = 6  # a is the job schedule
    TASKS_ADDED = 7  # a is the first task of a block, b their number
    UPLOAD = 8  # a is the uploaded blob, b the node


class Json(NamedTuple):
    """JSON text that is copied into an event as it is."""

    text: str


class LateJson:
    """JSON text that is made when it is read first, since most runs write no log.

    Two are equal if they are about the same object, which must not change.
    """

    def __init__(self, source: object, content: Callable[[Any], object]) -> None:
        """Hold the text of what ``content`` returns for ``source``."""
        self._source = source
        self._content = content

    @cached_property
    def text(self) -> str:
        """The text."""
        return to_json(self._content(self._source))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LateJson) and other._source is self._source

    def __hash__(self) -> int:
        return id(self._source)


class Shape:
    """The part of an entry that many entries share."""

    def __init__(self, event: str, subject: LogSubject, fields: tuple[tuple[str, Hashable], ...]) -> None:
        """Create the shape of events of this name about such a subject."""
        self.event = event
        self.subject = subject
        self.fields = fields
        self.head = f'"event":"{event}"'

    @cached_property
    def tail(self) -> str:
        """The fields as JSON members, each with a leading comma; made when it is read first."""
        return "".join(f',"{name}":{to_json(value)}' for name, value in self.fields)


class LogEntry(NamedTuple):
    """One event: ``seq`` counts from 1; ``row_a`` and ``row_b`` depend on the subject (see ``LogSubject``)."""

    seq: int
    t_ms: int
    shape: Shape
    row_a: int
    row_b: int


def plain(value: object) -> object:
    """Return a value as JSON can hold it, with the service's spelling of states and failures (their ``wire``)."""
    wire = getattr(value, "wire", None)
    if wire is not None:
        return wire() if callable(wire) else wire
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


def to_json(value: object) -> str:
    """Return a field of an event as compact JSON."""
    if isinstance(value, Json | LateJson):
        return value.text
    return visible_json(json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False))


class EventLog:
    """The log of one run, in order. Entries are never changed, only cut off when time goes back."""

    def __init__(self, start: datetime, time_code: str = "q") -> None:
        """Create the log of a run that starts at ``start`` (UTC); times are as wide as in ``array(time_code)``."""
        self.start = start
        # Unsigned where nothing is negative: an array appends such numbers in half the time.
        self.when = array(time_code.upper())
        self.shape_of = array("I")
        self.row_a = array("i")
        self.row_b = array("i")
        # The columns stay the same objects: their methods are looked up once, not for every entry.
        self._appends = self.when.append, self.shape_of.append, self.row_a.append, self.row_b.append
        self.shapes: list[Shape] = []
        self._known: dict[tuple[Hashable, ...], int] = {}
        # Entry numbers of blocks of added tasks, and the cumulative count of events beyond one per entry.
        self._block_at: list[int] = []
        self._block_extra: list[int] = []
        self._future: _Future | None = None
        self.executed: set[int] = set()  # the numbers of entries about processes that really ran
        self.cuts: list[int] = []  # lengths to which the log was cut: anything read beyond them is obsolete

    def shape(self, event: str, subject: LogSubject, *fields: tuple[str, Hashable]) -> int:
        """Return the number of a shape; add it if it is new."""
        number = self._known.setdefault((event, subject, fields), len(self.shapes))
        if number == len(self.shapes):
            self.shapes.append(Shape(event, subject, fields))
        return number

    def append(self, now_ms: int, shape: int, row_a: int = -1, row_b: int = -1) -> None:
        """Append an entry."""
        when, shape_of, a, b = self._appends
        when(now_ms)
        shape_of(shape)
        a(row_a)
        b(row_b)

    def extend(self, when: list[int], shape_of: list[int], row_a: list[int], row_b: list[int]) -> None:
        """Append entries, given by their columns, none of which is about added tasks."""
        for column, more in zip(self._columns(), (when, shape_of, row_a, row_b), strict=True):
            column.fromlist(more)

    def append_tasks_added(self, now_ms: int, shape: int, first: int, count: int) -> None:
        """Append one entry for ``count`` new tasks from ``first`` on; it stands for ``count`` events."""
        self._block_at.append(len(self.when))
        self._block_extra.append((self._block_extra[-1] if self._block_extra else 0) + count - 1)
        self.append(now_ms, shape, first, count)

    def blocks(self, start: int, stop: int) -> list[int]:
        """Return the numbers of the entries from ``start`` to before ``stop`` that stand for tasks added together."""
        return self._block_at[bisect_left(self._block_at, start) : bisect_left(self._block_at, stop)]

    def __len__(self) -> int:
        return len(self.when)

    @property
    def count(self) -> int:
        """The number of events, which is the ``seq`` of the last one."""
        return len(self.when) + (self._block_extra[-1] if self._block_extra else 0)

    @property
    def last_ms(self) -> int:
        """The time of the last event, or 0 without one."""
        return self.when[-1] if self.when else 0

    def seq_of(self, index: int) -> int:
        """Return the ``seq`` of the first event of an entry."""
        before = bisect_right(self._block_at, index - 1)
        return index + 1 + (self._block_extra[before - 1] if before else 0)

    def index_of(self, seq: int) -> int:
        """Return the number of the entry that holds the event ``seq``."""
        return bisect_right(range(len(self.when)), seq, key=self.seq_of) - 1

    def index_at(self, when_ms: int) -> int:
        """Return the number of entries up to and including ``when_ms``."""
        return bisect_right(self.when, when_ms)

    def entries(self, start: int = 0, stop: int | None = None) -> Iterator[LogEntry]:
        """Yield the events of entries ``start`` to ``stop``, one for each task of a block."""
        seq = self.seq_of(start) if start < len(self.when) else 0
        for index in range(start, len(self.when) if stop is None else min(stop, len(self.when))):
            shape = self.shapes[self.shape_of[index]]
            row_a, row_b, when = self.row_a[index], self.row_b[index], self.when[index]
            if shape.subject is LogSubject.TASKS_ADDED:
                for task in range(row_a, row_a + row_b):
                    yield LogEntry(seq, when, shape, task, -1)
                    seq += 1
            else:
                yield LogEntry(seq, when, shape, row_a, row_b)
                seq += 1

    def tally(self) -> Mapping[str, int]:
        """Return the number of events by name, in alphabetical order."""
        by_shape = [0] * len(self.shapes)
        for index, number in enumerate(self.shape_of):
            by_shape[number] += self.row_b[index] if self.shapes[number].subject is LogSubject.TASKS_ADDED else 1
        tally: dict[str, int] = {}
        for shape, times in zip(self.shapes, by_shape, strict=True):
            if times:
                tally[shape.event] = tally.get(shape.event, 0) + times
        return dict(sorted(tally.items()))

    def cut(self, length: int) -> None:
        """Drop all entries from number ``length`` on. Shapes stay."""
        self.cuts.append(length)
        for column in self._columns():
            del column[length:]
        blocks = bisect_right(self._block_at, length - 1)
        del self._block_at[blocks:]
        del self._block_extra[blocks:]

    # -- going back ----------------------------------------------------------------------------------------------

    @property
    def has_future(self) -> bool:
        """True if more has been recorded than is shown."""
        return self._future is not None and len(self.when) < self._future.length

    def move_to(self, length: int) -> None:
        """Show the first ``length`` recorded entries and keep the others aside."""
        shown = len(self.when)
        future = self._future
        if future is None or shown >= future.length:
            future = _Future(shown, tuple(array(column.typecode) for column in self._columns()), self._blocks())
        if length < future.start:
            kept = tuple(column[length : future.start] for column in self._columns())
            for column, tail in zip(kept, future.columns, strict=True):
                column.extend(tail)
            future = _Future(length, kept, future.blocks)
        for column, tail in zip(self._columns(), future.columns, strict=True):
            del column[length:]
            column.extend(tail[len(column) - future.start : length - future.start])
        self._future = future
        blocks = bisect_right(future.blocks, length - 1, key=lambda block: block[0])
        self._block_at = [at for at, _ in future.blocks[:blocks]]
        self._block_extra = [extra for _, extra in future.blocks[:blocks]]

    def _blocks(self) -> list[tuple[int, int]]:
        return list(zip(self._block_at, self._block_extra, strict=True))

    def forget_future(self) -> None:
        """Discard what has been recorded beyond the shown entries."""
        if self.has_future:
            self.cuts.append(len(self.when))
        self._future = None

    @property
    def recorded(self) -> int:
        """The number of recorded entries, including those after the shown moment."""
        return len(self.when) if self._future is None else max(len(self.when), self._future.length)

    def recorded_columns(
        self, start: int, stop: int | None = None
    ) -> tuple[array[int], array[int], array[int], array[int]]:
        """Return times, shapes and both row columns of the recorded entries from ``start`` to before ``stop``."""
        last = self.recorded if stop is None else stop
        shown = tuple(column[start:last] for column in self._columns())
        if last > len(self.when):
            assert self._future is not None
            first = max(start, len(self.when)) - self._future.start
            for column, tail in zip(shown, self._future.columns, strict=True):
                column.extend(tail[first : last - self._future.start])
        when, shape_of, row_a, row_b = shown
        return when, shape_of, row_a, row_b

    def recorded_entry(self, index: int) -> tuple[int, int, int, int]:
        """Return time, shape and both rows of one recorded entry."""
        if index < len(self.when):
            return self.when[index], self.shape_of[index], self.row_a[index], self.row_b[index]
        assert self._future is not None
        when, shape_of, row_a, row_b = self._future.columns
        at = index - self._future.start
        return when[at], shape_of[at], row_a[at], row_b[at]

    def _columns(self) -> tuple[array[int], ...]:
        return self.when, self.shape_of, self.row_a, self.row_b


class _Future(NamedTuple):
    """The recorded entries from number ``start`` on, and all blocks, while an earlier moment is shown."""

    start: int
    columns: tuple[array[int], ...]
    blocks: list[tuple[int, int]]

    @property
    def length(self) -> int:
        return self.start + len(self.columns[0])


_OF_TASKS = (LogSubject.TASK, LogSubject.TASKS_ADDED)
_TOGETHER = 1024  # entries, or tasks of an entry: their lines stay in the processor's cache until they are written


class SubjectIds(Protocol):
    """A lookup of the ids of an entry's subject, as JSON members with a leading comma."""

    def node_ids(self, node: int) -> str: ...  # noqa: D102
    def tasks_ids(self, tasks: Sequence[int]) -> list[str]: ...  # noqa: D102
    def ids(self, subject: LogSubject, row_a: int, row_b: int) -> str: ...  # noqa: D102  # no task, no block of them


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
            ids: Iterable[tuple[str, str]] = zip(*self._of_tasks(rows_a, rows_b), strict=True)
        else:
            of_tasks = list(map(task_shapes.__contains__, numbers))
            rest = zip(*self._of_tasks(*(list(compress(rows, of_tasks)) for rows in (rows_a, rows_b))), strict=True)
            ids = [
                next(rest) if of_task else ("", self._names.ids(shapes[number].subject, row_a, row_b))
                for of_task, number, row_a, row_b in zip(of_tasks, numbers, rows_a, rows_b, strict=True)
            ]
        texts = {number: (f",{shape.head}", shape.tail + "}") for number, shape in shapes.items()}
        lines = [
            f'{{"seq":{seq},{stamp}{head}{of_node}{of_subject}{tail}'
            for seq, stamp, (head, tail), (of_node, of_subject) in zip(
                count(log.seq_of(first)), self._clock.stamps(log.when[first:last]), map(texts.__getitem__, numbers), ids
            )
        ]
        for entry in log.executed.intersection(range(first, last)) if log.executed else ():
            lines[entry - first] = f'{lines[entry - first][:-1]},"executed":true}}'
        return lines

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
