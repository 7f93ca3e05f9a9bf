"""The bases of the tables: rows as typed columns or as slotted objects, copied cheaply for a checkpoint.

A checkpoint of a million rows must not copy a million rows. Columns are cut into pages and remember which pages have
changed since the last copy; a copy shares every unchanged page with the one before it.

A table of records finds them by their number or by an id. It knows which of them were edited since the last copy, and
reads those only. Pools, jobs and job schedules have an id: a deleted one keeps its row and gives up its id.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar, cast

if TYPE_CHECKING:
    from engine.base.lifecycles import Moves
    from engine.base.log import EventLog, LogSubject
    from engine.base.terms import State

    AnyColumn = array[int] | bytearray
    PagesCopy = list[tuple[AnyColumn, ...]]


V = TypeVar("V")

# Rows of a page, as a shift.
PAGE_BITS = 9
PAGE_ROWS = 1 << PAGE_BITS

# The types of columns that hold times, and lengths of time, which are never negative; how wide they are depends on how
# long the run may be, see ``time_limits``.
TIME, SPAN = "time", "span"
NEVER_MS = -1  # of a start: not yet; of an end: neither ended nor planned
_SHORT_RUN_MS = 1 << 30  # twelve days

_BYTES = "bytes"  # the type of columns of small numbers
_NO_VALUES: dict[int, Any] = {}  # a page without values, shared by all copies


def time_limits(end_ms: int) -> tuple[str, int]:
    """Return the array type code for times of a run that ends at ``end_ms``, and the latest moment it can hold.

    Events planned after the end of the run are put at that latest moment.
    """
    return ("i", (1 << 31) - 1) if end_ms < _SHORT_RUN_MS else ("q", (1 << 63) - 1)


class Pages:
    """Columns cut into pages, with the pages that have changed since the last copy."""

    def __init__(self, columns: list[AnyColumn]) -> None:
        """Cut these columns, which have no rows yet."""
        self.columns = columns
        self.dirty = bytearray()
        self._saved: PagesCopy = []

    def grow(self, first: int, length: int) -> None:
        """Note that rows from ``first`` on are new."""
        self.dirty.extend(bytes(((length + PAGE_ROWS - 1) >> PAGE_BITS) - len(self.dirty)))
        for page in range(first >> PAGE_BITS, len(self.dirty)):
            self.dirty[page] = 1

    def copy(self, length: int) -> PagesCopy:
        """Return the pages as they are now; unchanged ones are shared with the copy before."""
        saved = self._saved.copy()
        saved.extend(() for _ in range(len(self.dirty) - len(saved)))
        for page in self.changed():
            low = page << PAGE_BITS
            high = min(low + PAGE_ROWS, length)
            saved[page] = tuple(column[low:high] for column in self.columns)
        self.dirty[:] = bytes(len(self.dirty))
        self._saved = saved
        return saved

    def restore(self, copy: PagesCopy, length: int) -> None:
        """Make the columns as they were when ``copy`` was taken with so many rows."""
        for column in self.columns:
            del column[length:]
        for page, saved in enumerate(copy):
            if page < len(self.dirty) and not self.dirty[page] and self._saved[page] is saved:
                continue
            low = page << PAGE_BITS
            for column, rows in zip(self.columns, saved, strict=True):
                column[low : low + len(rows)] = rows  # type: ignore[assignment]  # of the same type
        self.dirty[:] = bytes(len(copy))
        self._saved = copy

    def changed(self) -> Iterator[int]:
        """Return the pages that have changed since the last copy."""
        page = self.dirty.find(1)
        while page >= 0:
            yield page
            page = self.dirty.find(1, page + 1)


class ColumnsCopy(NamedTuple, Generic[V]):
    """A copy of columns."""

    length: int
    groups: tuple[PagesCopy, ...]
    sparse: list[dict[int, V]]


class _Column(NamedTuple):
    code: str
    group: int


def column(code: str, group: int = 0) -> array[int]:
    """Declare a column of a table: its array type code, and the group of columns that it changes with.

    Columns without negative numbers are unsigned: an array stores such numbers in two thirds of the time.
    """
    return cast("array[int]", _Column(code, group))


def byte_column(group: int = 0) -> bytearray:
    """Declare a column of small numbers, such as states; a bytearray stores them in half the time of an array."""
    return cast("bytearray", _Column(_BYTES, group))


def filled(like: AnyColumn, count: int, value: int) -> AnyColumn:
    """Return a column of the type of another one, with ``value`` in so many rows."""
    one = like[:0]
    one.append(value)
    return one * count


class PagedColumns(Generic[V]):
    """Rows stored column by column, and copied page by page. A subclass declares its columns with ``column``.

    The columns of a group change together. ``sparse`` holds, page by page, values that only few rows have; they must be
    immutable.
    """

    DECLARED: ClassVar[dict[str, _Column]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the declarations; they leave the class, since attributes of an object are then found faster."""
        super().__init_subclass__()
        cls.DECLARED = cls.DECLARED | {name: each for name, each in vars(cls).items() if isinstance(each, _Column)}
        for name in cls.DECLARED.keys() & vars(cls).keys():
            delattr(cls, name)

    def __init__(self, time_code: str) -> None:
        """Create an empty table; columns of type ``TIME`` are arrays of ``time_code``."""
        self.length = 0
        self.sparse: list[dict[int, V]] = []
        meant = {TIME: time_code, SPAN: time_code.upper()}
        codes = (meant.get(each.code, each.code) for each in self.DECLARED.values())
        self.columns: list[AnyColumn] = [bytearray() if code == _BYTES else array(code) for code in codes]
        groups: dict[int, list[AnyColumn]] = {}
        for (name, declared), values in zip(self.DECLARED.items(), self.columns, strict=True):
            setattr(self, name, values)
            groups.setdefault(declared.group, []).append(values)
        self._groups = tuple(Pages(groups[number]) for number in range(len(groups)))
        # For each group one byte a page, set when a row of it changes.
        self.dirty = tuple(group.dirty for group in self._groups)
        # Grows with every change but those that mark their page in ``dirty`` themselves, and when time goes back.
        self.changes = 0
        self._sparse_saved: list[dict[int, V]] = []

    def _grow(self, count: int) -> int:
        """Note that ``count`` rows have been appended to every column; returns the number of the first."""
        first = self.length
        self.length += count
        self.changes += 1
        if count == 1 and first & (PAGE_ROWS - 1):  # on a page that exists already
            for dirty in self.dirty:
                dirty[first >> PAGE_BITS] = 1
        else:
            # The list stays the same, since the fast path is bound to it.
            self.sparse.extend({} for _ in range(((self.length + PAGE_ROWS - 1) >> PAGE_BITS) - len(self.sparse)))
            for group in self._groups:
                group.grow(first, self.length)
        return first

    def sparse_of(self, row: int) -> V | None:
        """Return the row's value in ``sparse``; None if it has none."""
        return self.sparse[row >> PAGE_BITS].get(row)

    def touch(self, row: int, group: int) -> None:
        """Mark the row's page as changed in this group of columns."""
        self.dirty[group][row >> PAGE_BITS] = 1
        self.changes += 1

    def copy(self) -> ColumnsCopy[V]:
        """Return the columns as they are now; copies only the pages changed since the last copy."""
        sparse = self._sparse_saved.copy()
        sparse.extend(_NO_VALUES for _ in range(len(self.sparse) - len(sparse)))
        for page in {page for group in self._groups for page in group.changed()}:
            sparse[page] = dict(self.sparse[page]) if self.sparse[page] else _NO_VALUES
        self._sparse_saved = sparse
        return ColumnsCopy(self.length, tuple(group.copy(self.length) for group in self._groups), sparse)

    def restore(self, copy: ColumnsCopy[V]) -> None:
        """Make the columns as they were when ``copy`` was taken."""
        self.changes += 1
        for group, saved in zip(self._groups, copy.groups, strict=True):
            group.restore(saved, copy.length)
        self.length = copy.length
        self.sparse[:] = [dict(page) if page else {} for page in copy.sparse]
        self._sparse_saved = copy.sparse


Values = tuple[Any, ...]  # of the attributes of a record

_CONTAINERS = (list, dict, set, deque)
_CONTAINER_TYPES = tuple(f"{each.__name__}[" for each in _CONTAINERS)  # as annotations write them


def _copied(value: Any) -> Any:  # noqa: ANN401
    return value.copy() if type(value) in _CONTAINERS else value


class Kept:
    """A table of which a checkpoint keeps a few attributes. Their containers hold immutable values."""

    KEPT: ClassVar[tuple[str, ...]]

    def copy(self) -> Values:
        """Return the values of the attributes as they are now."""
        return tuple(_copied(getattr(self, name)) for name in self.KEPT)

    def restore(self, copy: Values) -> None:
        """Make the attributes as they were when ``copy`` was taken."""
        for name, value in zip(self.KEPT, copy, strict=True):
            setattr(self, name, _copied(value))


class Record:
    """A row as a slotted object. Its containers hold immutable values, so a copy of one level is a full one."""

    __slots__: tuple[str, ...] = ()

    def freeze(self) -> Values:
        """Return the values of all attributes in order, which ``thaw`` makes a record of; containers are copied."""
        return _freezer(type(self))(self)  # type: ignore[arg-type]  # mypy takes type[Self] for unhashable

    @classmethod
    def thaw(cls, values: Values) -> Self:
        """Return a record with these values; they stay as they are, whatever becomes of the record."""
        record = object.__new__(cls)
        for name, value in zip(cls.__slots__, values, strict=False):  # a subclass may make the last ones itself
            setattr(record, name, _copied(value))
        return record

    def assign(self, **values: object) -> None:
        """Replace attributes by name; what changes several tables or keeps a count has a method of its own."""
        for name, value in values.items():
            setattr(self, name, value)


@cache
def _freezer(record: type[Record]) -> Callable[[Any], Values]:
    """Return what ``Record.freeze`` does for such records.

    Its text is put together, as ``dataclasses`` does: it reads forty attributes in a quarter of the time of a loop.
    """
    terms = [
        f"value.copy() if type(value := record.{name}) in containers else value"
        if any(each in record.__annotations__.get(name, "") for each in _CONTAINER_TYPES)
        else f"record.{name}"
        for name in record.__slots__
    ]
    freezer: Callable[[Any], Values] = eval(f"lambda record: ({', '.join(terms)},)", {"containers": _CONTAINERS})
    return freezer


R = TypeVar("R", bound=Record)


class Records(Generic[R]):
    """A list of records that knows which of them have changed since the last copy.

    Read a record with ``records[row]``, and get it from ``edit(row)`` to change it.
    """

    def __init__(self, kind: type[R]) -> None:
        """Create an empty table of records of this class."""
        self._kind = kind
        self.rows: list[R] = []
        self._saved: list[Values] = []
        self._edited: set[int] = set()

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> R:
        return self.rows[row]

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def add(self, record: R) -> int:
        """Append a record; returns its row number."""
        self.rows.append(record)
        self._edited.add(len(self.rows) - 1)
        return len(self.rows) - 1

    def edit(self, row: int) -> R:
        """Return the record, to be changed."""
        self._edited.add(row)
        return self.rows[row]

    def copy(self) -> list[Values]:
        """Return the records as they are now; reads only those edited since the last copy."""
        known, rows, saved = len(self._saved), self.rows, self._saved
        changed = {}
        for row in self._edited:
            values = rows[row].freeze()
            if row >= known or values != saved[row]:
                changed[row] = values
        if changed:
            self._saved = saved = saved + [()] * (len(rows) - known)
            for row, values in changed.items():
                saved[row] = values
        self._edited = set()
        return saved

    def restore(self, copy: list[Values]) -> None:
        """Make the records as they were when ``copy`` was taken."""
        saved = self._saved
        del self.rows[len(copy) :]
        for row, values in enumerate(copy):
            if row >= len(self.rows):
                self.rows.append(self._kind.thaw(values))
            elif row in self._edited or row >= len(saved) or saved[row] is not values:
                self.rows[row] = self._kind.thaw(values)
        self._edited = set()
        self._saved = copy


class BrokenInvariant(AssertionError):
    """A broken invariant, which is a mistake in the engine. The message names the rule, the time and the subject."""


def rule_of_move(moves: Moves, old: State | None, new: State | None, kind: str, name: object) -> str:
    """Return the rule that allows a move of the thing of this kind and name.

    Raises:
        BrokenInvariant: No rule allows it.
    """
    rule = moves.get((old, new))
    if rule is None:
        raise BrokenInvariant(f"{kind} {name}: {old!r} -> {new!r} is no legal move")
    return rule


# -- records with an id -----------------------------------------------------------------------------------------------


class Named(Record):
    """A record with an id, its number in the table, and a state, which is None once it is gone."""

    __slots__ = ()
    id: str
    row: int
    state: State | None
    since_ms: int
    modified_ms: int


N = TypeVar("N", bound=Named)


class NamedRecords(Records[N], Generic[N]):
    """All records of one kind, deleted ones included, in the order in which they were added."""

    EVENT: ClassVar[tuple[str, LogSubject]]  # under which the log has a change of state
    LIFECYCLE: ClassVar[tuple[str, Moves]]  # what a record is called, and its legal moves

    def __init__(self, kind: type[N], log: EventLog) -> None:
        """Create an empty table of records of this class."""
        super().__init__(kind)
        self.log = log
        self._by_id: dict[str, int] = {}

    def find(self, name: str) -> N | None:
        """Return the record of this id, in any case (GEN-1); None if there is none."""
        row = self._by_id.get(name.lower())
        return self.rows[row] if row is not None else None

    def latest(self, name: str) -> N | None:
        """Return the record of this id, or the last deleted one that had it; None if there never was one."""
        wanted = name.lower()
        return self.find(wanted) or next((one for one in reversed(self.rows) if one.id.lower() == wanted), None)

    def present(self) -> Iterator[N]:
        """Return the records that have not been deleted."""
        return (record for record in self.rows if record.state is not None)

    def add(self, record: N) -> int:
        """Append a record, which can be found by its id from now on; return its row."""
        self._by_id[record.id.lower()] = record.row
        return super().add(record)

    def _change_state(self, now_ms: int, record: N, new: State | None, *more: tuple[str, Hashable]) -> None:
        """Change the state by a legal move, and log it with ``more`` fields; a record that is gone gives up its id."""
        old, (event, subject), (kind, moves) = record.state, self.EVENT, self.LIFECYCLE
        rule = rule_of_move(moves, old, new, kind, record.id)
        record.state = new
        record.since_ms = record.modified_ms = now_ms
        if new is None:
            del self._by_id[record.id.lower()]
        shape = self.log.shape(event, subject, ("from", old), ("to", new), *more, ("rule", rule))
        self.log.append(now_ms, shape, record.row)

    def restore(self, copy: list[Values]) -> None:
        """Restore the records from a copy."""
        super().restore(copy)
        self._by_id = {record.id.lower(): record.row for record in self.present()}
