"""The reader of the event log that the folds share, the ways to find entries in it, and the smallest folds.

Entries are named by their number in the log. A number stays valid while another moment is shown; a branch cuts the
log, and other entries get the numbers beyond the cut.

Values are kept as long as what they were made from stays the same. That is told by anything that can be compared: a
moment of the run, numbers of log entries, or the settings of a picture.

The folds: entries about tasks counted by job, in bulk; the start of the first task of each job, which the table of
tasks forgets once the task runs again; the tasks that may have changed since a moment; and a test whether an earlier
answer about one row still holds.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from itertools import compress
from operator import sub
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from engine.base import values
from engine.base.log import LogSubject
from engine.base.terms import TaskState
from engine.base.values import bytes_above, equals, lowest_bytes, where_set
from engine.base.values import tally as tally_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from engine import Simulation
    from engine.base.log import EventLog, Shape
    from engine.state.jobs import Job
    from engine.state.task_records import TaskBlock
    from engine.state.tasks import TaskTable


_BYTES = 256  # the values of a byte
_DENSE = 50  # where more than one in so many entries is wanted, looking at each is quicker
ValueT = TypeVar("ValueT")
_NOTHING = object()


class Kept(Generic[ValueT]):
    """One value, made again when it is asked for with other sources."""

    def __init__(self) -> None:
        self._sources: object = _NOTHING
        self._value: ValueT

    def get(self, sources: object, make: Callable[[], ValueT]) -> ValueT:
        """Return the value; call ``make`` if it was made from other sources."""
        if self._sources != sources:
            self._value = make()
            self._sources = sources
        return self._value


class KeptByKey(Generic[ValueT]):
    """Several values by key, all of which are forgotten when their common sources differ."""

    def __init__(self) -> None:
        self._sources: object = _NOTHING
        self._values: dict[Hashable, ValueT] = {}

    def at(self, sources: object) -> dict[Hashable, ValueT]:
        """Return the values that were made from these sources, to be read and added to."""
        if self._sources != sources:
            self._sources, self._values = sources, {}
        return self._values

    def get(self, sources: object, key: Hashable, make: Callable[[], ValueT]) -> ValueT:
        """Return the value of a key; call ``make`` if there is none from these sources."""
        values = self.at(sources)
        if key not in values:
            values[key] = make()
        return values[key]


class Cuts:
    """The cuts of the log by branches, which invalidate entries that were read."""

    def __init__(self, log: EventLog) -> None:
        """Count from the present length of the recording."""
        self._log = log
        self._seen = len(log.cuts)

    def shortest(self) -> int | None:
        """Return the shortest length to which the log was cut since the last call; None if it was not cut."""
        cuts = self._log.cuts[self._seen :]
        self._seen += len(cuts)
        return min(cuts, default=None)

    def kept(self, read: int) -> int:
        """Return how many of the entries that were read are still there; ask once for the cuts since the last call."""
        length = self.shortest()
        return read if length is None else min(read, length)


class LogReader:
    """The entries that a function finds. Each entry of the log is read once, even if time goes back."""

    def __init__(self, simulation: Simulation, find: Callable[[EventLog, int], Iterable[int]]) -> None:
        """Create an empty reader.

        Args:
            simulation: The run.
            find: Finds the entries from a number on, in ascending order.
        """
        self._simulation = simulation
        self._find = find
        self._cuts = Cuts(simulation.log)
        self._read = 0
        self._taken = 0  # how many of them ``news`` has returned; -1 where some of those are no more
        self.found = array("I")  # up to the latest moment that was shown

    def update(self) -> bool:
        """Read on. Return whether a branch has cut off entries that had been found."""
        log = self._simulation.log
        before, self._read = self._read, self._cuts.kept(self._read)
        is_cut = self._read < before and bool(self.found) and self.found[-1] >= self._read
        if is_cut:
            self._taken = -1
            del self.found[bisect_left(self.found, self._read) :]
        if self._read < len(log):
            self.found.extend(self._find(log, self._read))
            self._read = len(log)
        return is_cut

    def entries(self) -> Sequence[int]:
        """Return the numbers of the entries up to the moment that is shown."""
        self.update()
        length = len(self._simulation.log)
        if not self.found or self.found[-1] < length:
            return self.found
        return self.found[: bisect_left(self.found, length)]

    def __iter__(self) -> Iterator[tuple[int, Shape]]:
        """Yield number and shape of each entry up to the moment that is shown."""
        log = self._simulation.log
        for at in self.entries():
            yield at, log.shapes[log.shape_of[at]]

    def news(self) -> tuple[bool, Sequence[int]]:
        """Return the entries since the last call, for a state that is folded from them.

        The first item says to begin again with all entries: time has gone back, or a branch has cut some off.
        """
        entries, before = self.entries(), self._taken
        self._taken = len(entries)
        return (False, entries[before:]) if 0 <= before <= len(entries) else (True, entries)


def about(column: Literal["row_a", "row_b"], row: int) -> Callable[[EventLog, int], Iterable[int]]:
    """Find the entries that have this row number in one of the two columns, of any subject."""

    def find(log: EventLog, start: int) -> Iterator[int]:
        return numbers_of(getattr(log, column), row, start)

    return find


def of_kind(is_wanted: Callable[[Shape], bool]) -> Callable[[EventLog, int], Iterable[int]]:
    """Find the entries whose shape is wanted; each shape is judged once."""
    kinds: list[bool] = []
    table = bytearray(_BYTES)

    def find(log: EventLog, start: int) -> Iterator[int]:
        for shape in log.shapes[len(kinds) :]:
            kinds.append(is_wanted(shape))
            table[len(kinds) - 1 & 255] |= kinds[-1]
        return _where(kinds, table, log.shape_of[start:], start)

    return find


def is_event(*events: str, **fields: Hashable) -> Callable[[Shape], bool]:
    """Return a function that tells the shapes of some events, if these have the given fields."""
    wanted = fields.items()
    return lambda shape: shape.event in events and wanted <= dict(shape.fields).items()


def matching(
    log: EventLog, is_wanted: Callable[[Shape], bool], start: int = 0, stop: int | None = None
) -> Iterator[int]:
    """Yield the entries from ``start`` to before ``stop`` whose shape is wanted."""
    return where(list(map(is_wanted, log.shapes)), log.shape_of[start:stop], start)


def where(kinds: Sequence[bool], shapes: array[int], start: int) -> Iterator[int]:
    """Yield the places of the wanted shapes, found by their lowest bytes, which takes 5 ms for a million."""
    return _where(kinds, _table(kinds), shapes, start)


def _where(kinds: Sequence[bool], table: bytearray, shapes: array[int], start: int) -> Iterator[int]:
    # 1 for each wanted shape, and for others with the same lowest byte
    flags = lowest_bytes(shapes).translate(table)
    if len(kinds) <= _BYTES and flags.count(1) * _DENSE > len(flags):
        return compress(range(start, start + len(flags)), flags)
    return _sparse(kinds, flags, shapes, start)


def _sparse(kinds: Sequence[bool], flags: bytes, shapes: array[int], start: int) -> Iterator[int]:
    at = flags.find(1)
    while at >= 0:
        if kinds[shapes[at]]:
            yield start + at
        at = flags.find(1, at + 1)


def _table(kinds: Sequence[int]) -> bytearray:
    """Return a table that translates the lowest byte of a shape to its kind, or to those of several shapes together."""
    table = bytearray(_BYTES)
    for number, kind in enumerate(kinds):
        table[number & 255] |= kind
    return table


def kinds_of(kinds: Sequence[int], shapes: array[int]) -> bytes:
    """Return the kind of each shape, a byte: 1 if it is wanted, for instance. Six times as fast with few shapes."""
    if len(kinds) > _BYTES:
        return bytes(map(kinds.__getitem__, shapes))
    return lowest_bytes(shapes).translate(_table(kinds))


def tally(shapes: array[int], kinds: int) -> Mapping[int, int]:
    """Return how often each shape occurs, of so many ``kinds``; twice as fast while these are few."""
    return Counter(shapes) if kinds > _BYTES else values.tally(lowest_bytes(shapes))


def numbers_of(column: array[int], value: int, start: int = 0, stop: int | None = None) -> Iterator[int]:
    """Yield the places of a value in a column, found in its bytes, which takes 4 ms for a million."""
    size = column.itemsize
    data, wanted = column[start:stop].tobytes(), array(column.typecode, [value]).tobytes()
    at = data.find(wanted)
    while at >= 0:
        if at % size == 0:
            yield start + at // size
        at = data.find(wanted, at + 1)


PAGE_BYTES = 2  # tasks whose numbers differ in the lowest two bytes only are a page
PAGE = 1 << 8 * PAGE_BYTES
_MOST_PAGES = 255
_MOST_BLOCKS = 3  # of a page; of more it is quicker to look up each task
_FROM_ONE = bytes(range(1, 256)) + b"\0"  # 0 is for entries that are not counted


def count_by_job(
    simulation: Simulation, is_wanted: Callable[[Shape], bool], start: int, stop: int | None = None
) -> Counter[int]:
    """Count the entries of some shapes from ``start`` to before ``stop`` by the jobs of their tasks.

    Most tasks are added by thousands, so whole pages of them belong to one job or a few. Only the others are looked up
    one by one, which takes twenty times as long.
    """
    log, tasks = simulation.log, simulation.world.tasks
    flags = kinds_of(list(map(is_wanted, log.shapes)), log.shape_of[start:stop])
    rows = log.row_a[start:stop]
    jobs: Counter[int] = Counter()
    if tasks.length <= PAGE * _MOST_PAGES:
        pages = _pages(rows, flags)
        mixed = bytearray(256)
        for number in range(1, -(-tasks.length // PAGE) + 1):
            blocks = _blocks_of_page(tasks, number)
            if len(blocks) > _MOST_BLOCKS:
                mixed[number] = True
            else:
                for block, count in zip(blocks, _counts_in_page(rows, pages, number, blocks), strict=True):
                    jobs[block.job] += count
        flags = pages.translate(mixed)
    apart = slice(max(0, flags.find(1)), flags.rfind(1) + 1)  # a job's entries are near each other
    rest = map(tasks.profile.__getitem__, compress(rows[apart], flags[apart]))
    for profile, count in Counter(rest).items():
        jobs[tasks.profiles[profile].job] += count
    return jobs


def block_of_all(tasks: TaskTable, rows: array[int], flags: bytes) -> TaskBlock | None:
    """Return the block of all tasks in ``rows`` at whose places ``flags`` has one, if one block has all their pages."""
    if 1 not in flags or tasks.length > PAGE * _MOST_PAGES:
        return None
    numbers = tally_bytes(_pages(rows, flags).translate(None, b"\0"))
    block = tasks.block_of((min(numbers) - 1) * PAGE)
    return block if block is tasks.block_of(min(max(numbers) * PAGE, tasks.length) - 1) else None


def _blocks_of_page(tasks: TaskTable, number: int) -> list[TaskBlock]:
    """Return the blocks of the tasks of a page; of many only some."""
    found: list[TaskBlock] = []
    first, stop = (number - 1) * PAGE, min(number * PAGE, tasks.length)
    while first < stop and len(found) <= _MOST_BLOCKS:
        found.append(tasks.block_of(first))
        first = found[-1].rows.stop
    return found


def _counts_in_page(rows: array[int], pages: bytes, number: int, blocks: Sequence[TaskBlock]) -> list[int]:
    """Count the tasks of a page by block."""
    begin, end = max(0, pages.find(number)), pages.rfind(number) + 1  # its entries are near each other
    counts = [pages.count(number, begin, end)]
    if len(blocks) > 1:
        rows, flags = rows[begin:end], pages[begin:end].translate(equals(number))
        counts += [_count_from(rows, flags, block.first) for block in blocks[1:]]
    return list(map(sub, counts, [*counts[1:], 0]))


def _count_from(rows: array[int], flags: bytes, first: int) -> int:
    """Count the tasks of one page at places where ``flags`` has one whose rows are not below ``first``."""
    above, equal = 0, int.from_bytes(flags)
    for low_bytes in reversed(range(PAGE_BYTES)):
        digit, seen = first >> 8 * low_bytes & 255, bytes_above(rows, low_bytes)
        above |= equal & int.from_bytes(seen.translate(bytes(value > digit for value in range(256))))
        equal &= int.from_bytes(seen.translate(equals(digit)))
    return (above | equal).bit_count()


def _pages(rows: array[int], flags: bytes) -> bytes:
    """Return the number of the page of each task, from 1 on; 0 where ``flags`` has none."""
    return where_set(bytes_above(rows, PAGE_BYTES).translate(_FROM_ONE), flags)


class FirstStarts:
    """The start of the first task of each job; the log is searched once for each job, also if time goes back."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._found: KeptByKey[int] = KeptByKey()  # the entry of the log by the row of the job

    def began_ms(self, job: Job) -> int | None:
        """Return when the first of the job's tasks started, in ms since the start; None before that."""
        log = self._simulation.log
        found = self._found.at(len(log.cuts))
        if job.row not in found:
            ranges = self._simulation.world.tasks.ranges_of(job.blocks)
            is_start = is_event("TaskStateChanged", to=TaskState.RUNNING)
            starts = matching(log, is_start, log.index_at(job.created_ms - 1))
            first = next((at for at in starts if any(log.row_a[at] in rows for rows in ranges)), None)
            if first is None:
                return None
            found[job.row] = first
        at = found[job.row]
        return log.when[at] if at < len(log) else None


_PROCESSES = (LogSubject.TASK, LogSubject.INSTANCE)


class UntouchedRow:
    """A check that all new entries are about the processes of other rows.

    Nearly all entries of a run say that a task, a preparation or a release has another state, which concerns that task
    and its node alone. Any other entry may concern every row.
    """

    def __init__(self, simulation: Simulation, column: Literal["row_a", "row_b"]) -> None:
        """Create a check of tasks if ``column`` is ``row_a``, of nodes if it is ``row_b``."""
        self._simulation = simulation
        self._column: Literal["row_a", "row_b"] = column
        self._kinds: list[bool] = []  # by shape: whether it may concern other rows than its own
        self._asked: object = None  # the row, and the jumps in time before it was asked for
        self._read = 0

    def check(self, row: int) -> bool:
        """Return whether nothing may have changed the row since the last call, which asked for the same one."""
        log, asked, start = self._simulation.log, (row, self._simulation.jumps), self._read
        is_known, self._asked, self._read = asked == self._asked, asked, len(log)
        if not is_known or start == self._read:
            return is_known
        self._kinds.extend(map(_may_concern_others, log.shapes[len(self._kinds) :]))
        if any(kinds_of(self._kinds, log.shape_of[start : self._read])):
            return False
        return next(numbers_of(getattr(log, self._column), row, start, self._read), None) is None


def _may_concern_others(shape: Shape) -> bool:
    return shape.subject not in _PROCESSES or dict(shape.fields).get("to") is None
