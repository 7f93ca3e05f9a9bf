"""What has happened: an append-only log of packed entries, written out as JSON Lines.

Its events are changes of state, which tell all that the service's own log does (EVT-1).

An entry is a time, a shape and two row numbers. The *shape* holds everything that many entries share
(the event's name, from and to, attempt, result, rule) and is stored once with its JSON text ready, so
that an entry costs twenty bytes and a line of JSON costs one format string. The row numbers name the
subject; ids are looked up when somebody reads.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from collections.abc import Hashable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import IntEnum
from typing import NamedTuple, Protocol

from engine.base.units import SECOND_MS


class LogSubject(IntEnum):
    """Whose event it is: decides how the two row numbers of an entry are read."""

    RUN = 0  # neither
    POOL = 1  # a is the pool
    NODE = 2  # b is the node, and where that is new a is its pool
    JOB = 3  # a is the job
    TASK = 4  # a is the task, b the node or -1
    INSTANCE = 5  # a is the job or -1, b the node
    SCHEDULE = 6  # a is the job schedule
    TASKS_ADDED = 7  # a block of tasks: a is the first, b how many


class Json(NamedTuple):
    """JSON text that goes into an event as it is."""

    text: str


class Shape(NamedTuple):
    """What many entries share."""

    event: str
    subject: LogSubject
    fields: tuple[tuple[str, Hashable], ...]
    head: str
    tail: str


class SubjectIds(Protocol):
    """Where the ids of an entry's subject come from, as JSON members with a leading comma."""

    def pool_ids(self, pool: int) -> str: ...  # noqa: D102
    def node_ids(self, node: int) -> str: ...  # noqa: D102
    def job_ids(self, job: int) -> str: ...  # noqa: D102
    def task_ids(self, task: int) -> str: ...  # noqa: D102
    def schedule_ids(self, schedule: int) -> str: ...  # noqa: D102


class LogEntry(NamedTuple):
    """One event as data: ``seq`` counts from 1, ``row_a`` and ``row_b`` as the subject says."""

    seq: int
    t_ms: int
    shape: Shape
    row_a: int
    row_b: int


def plain(value: object) -> object:
    """What JSON can hold; objects with ``wire`` (a state, a failure) as the service spells them."""
    wire = getattr(value, "wire", None)
    if wire is not None:
        return wire() if callable(wire) else wire
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


def to_json(value: object) -> str:
    """Compact JSON of a field of an event."""
    if isinstance(value, Json):
        return value.text
    return json.dumps(plain(value), separators=(",", ":"), ensure_ascii=False)


class EventLog:
    """The log of one run, in order; entries are never changed, only cut off when time goes back."""

    def __init__(self, start: datetime, time_code: str = "q") -> None:
        """Make an empty log of a run that starts at ``start`` (UTC); times are kept as ``array(time_code)``."""
        self.start = start
        self.when = array(time_code)
        self.shape_of = array("i")
        self.row_a = array("i")
        self.row_b = array("i")
        self.shapes: list[Shape] = []
        self._known: dict[tuple[Hashable, ...], int] = {}
        # Blocks of added tasks stand for several lines: their entry numbers, and the lines more than entries so far.
        self._block_at: list[int] = []
        self._block_extra: list[int] = []
        self._future: _Future | None = None
        self.cuts: list[int] = []  # lengths to which the recording was cut: what was read beyond is no more

    def shape(self, event: str, subject: LogSubject, *fields: tuple[str, Hashable]) -> int:
        """The number of a shape, which is made when it is new."""
        key = (event, subject, fields)
        number = self._known.get(key)
        if number is None:
            number = self._known[key] = len(self.shapes)
            tail = "".join(f',"{name}":{to_json(value)}' for name, value in fields)
            self.shapes.append(Shape(event, subject, fields, f'"event":"{event}"', tail))
        return number

    def append(self, now_ms: int, shape: int, row_a: int = -1, row_b: int = -1) -> None:
        """Record that something has happened."""
        self.when.append(now_ms)
        self.shape_of.append(shape)
        self.row_a.append(row_a)
        self.row_b.append(row_b)

    def append_tasks_added(self, now_ms: int, shape: int, first: int, count: int) -> None:
        """Record that ``count`` tasks from ``first`` on are new: one entry, ``count`` events."""
        self._block_at.append(len(self.when))
        self._block_extra.append((self._block_extra[-1] if self._block_extra else 0) + count - 1)
        self.append(now_ms, shape, first, count)

    def __len__(self) -> int:
        return len(self.when)

    @property
    def count(self) -> int:
        """The number of events, which is the ``seq`` of the last one."""
        return len(self.when) + (self._block_extra[-1] if self._block_extra else 0)

    @property
    def last_ms(self) -> int:
        """The time of the last event, 0 when there is none."""
        return self.when[-1] if self.when else 0

    def seq_of(self, index: int) -> int:
        """The ``seq`` of the first event of the entry with this number."""
        before = bisect_right(self._block_at, index - 1)
        return index + 1 + (self._block_extra[before - 1] if before else 0)

    def index_of(self, seq: int) -> int:
        """The number of the entry that holds the event ``seq``."""
        low, high = 0, len(self.when)
        while low < high:
            middle = (low + high) // 2
            if self.seq_of(middle) <= seq:
                low = middle + 1
            else:
                high = middle
        return low - 1

    def index_at(self, when_ms: int) -> int:
        """How many entries happened up to and including ``when_ms``."""
        return bisect_right(self.when, when_ms)

    def entries(self, start: int = 0, stop: int | None = None) -> Iterator[LogEntry]:
        """The events of the entries from number ``start`` on, blocks of tasks one by one."""
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

    def json_lines(self, names: SubjectIds, start: int = 0, stop: int | None = None) -> Iterator[str]:
        """The events as JSON objects without line ends."""
        second = -1
        clock = ""
        for seq, when, shape, row_a, row_b in self.entries(start, stop):
            if when // SECOND_MS != second:
                second = when // SECOND_MS
                moment = self.start + timedelta(seconds=second)
                clock = moment.strftime("%Y-%m-%dT%H:%M:%S")
            ms = when % SECOND_MS
            fraction = f".{ms:03d}".rstrip("0") if ms else ""
            ids = _ids(names, shape.subject, row_a, row_b)
            yield (f'{{"seq":{seq},"t":{second}{fraction},"time":"{clock}{fraction}Z",{shape.head}{ids}{shape.tail}}}')

    def tally(self) -> Mapping[str, int]:
        """How many events there are of each name, in alphabetical order."""
        by_shape = [0] * len(self.shapes)
        for index, number in enumerate(self.shape_of):
            by_shape[number] += self.row_b[index] if self.shapes[number].subject is LogSubject.TASKS_ADDED else 1
        tally: dict[str, int] = {}
        for shape, times in zip(self.shapes, by_shape, strict=True):
            if times:
                tally[shape.event] = tally.get(shape.event, 0) + times
        return dict(sorted(tally.items()))

    def cut(self, length: int) -> None:
        """Forget every entry from number ``length`` on. Shapes stay known."""
        self.cuts.append(length)
        for column in self._columns():
            del column[length:]
        blocks = bisect_right(self._block_at, length - 1)
        del self._block_at[blocks:]
        del self._block_extra[blocks:]

    # -- going back ----------------------------------------------------------------------------------------------

    @property
    def has_future(self) -> bool:
        """Whether more has been recorded than is shown."""
        return self._future is not None and len(self.when) < self._future.length

    def move_to(self, length: int) -> None:
        """Show the first ``length`` entries of what has been recorded; the rest is kept aside."""
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
        """What is shown is all that has been recorded."""
        if self.has_future:
            self.cuts.append(len(self.when))
        self._future = None

    @property
    def recorded(self) -> int:
        """How many entries there are, those after the moment that is looked at included."""
        return len(self.when) if self._future is None else max(len(self.when), self._future.length)

    def recorded_columns(
        self, start: int, stop: int | None = None
    ) -> tuple[array[int], array[int], array[int], array[int]]:
        """Times, shapes and both row numbers of what is recorded from entry number ``start`` on, before ``stop``."""
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
        """Time, shape and both row numbers of one recorded entry."""
        if index < len(self.when):
            return self.when[index], self.shape_of[index], self.row_a[index], self.row_b[index]
        assert self._future is not None
        when, shape_of, row_a, row_b = self._future.columns
        at = index - self._future.start
        return when[at], shape_of[at], row_a[at], row_b[at]

    def _columns(self) -> tuple[array[int], ...]:
        return self.when, self.shape_of, self.row_a, self.row_b


class _Future(NamedTuple):
    """What has been recorded from entry number ``start`` on, and all blocks, while an earlier moment is looked at."""

    start: int
    columns: tuple[array[int], ...]
    blocks: list[tuple[int, int]]

    @property
    def length(self) -> int:
        return self.start + len(self.columns[0])


def _ids(names: SubjectIds, subject: LogSubject, row_a: int, row_b: int) -> str:
    match subject:
        case LogSubject.TASK | LogSubject.TASKS_ADDED:
            return (names.node_ids(row_b) if row_b >= 0 else "") + names.task_ids(row_a)
        case LogSubject.INSTANCE:
            return names.node_ids(row_b) + (names.job_ids(row_a) if row_a >= 0 else "")
        case LogSubject.NODE:
            return names.node_ids(row_b)
        case LogSubject.JOB:
            return names.job_ids(row_a)
        case LogSubject.POOL:
            return names.pool_ids(row_a)
        case LogSubject.SCHEDULE:
            return names.schedule_ids(row_a)
        case LogSubject.RUN:
            return ""
