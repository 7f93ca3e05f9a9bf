"""Rows as slotted objects, found by their number or by an id, that can be copied cheaply for a checkpoint.

A table of records knows which of them were edited since the last copy, and reads those only. Pools, jobs and job
schedules have an id: a deleted one keeps its row and gives up its id.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

if TYPE_CHECKING:
    from engine.events.log import EventLog

Values = tuple[Any, ...]  # of the attributes of a record

_CONTAINERS = (list, dict, set, deque)
_CONTAINER_TYPES = tuple(f"{each.__name__}[" for each in _CONTAINERS)  # as annotations write them


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
            setattr(record, name, value.copy() if type(value) in _CONTAINERS else value)
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
        """Make a table without records, which will be of this class."""
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


# -- records with an id -----------------------------------------------------------------------------------------------


class Named(Record):
    """A record with an id, its number in the table, and a state, which is None once it is gone."""

    __slots__ = ()
    id: str
    row: int
    state: object


N = TypeVar("N", bound=Named)


class NamedRecords(Records[N], Generic[N]):
    """All records of one kind, deleted ones included, in the order in which they were added."""

    def __init__(self, kind: type[N], log: EventLog) -> None:
        """Make a table without records, which will be of this class."""
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

    def give_up_id(self, record: N) -> None:
        """Free the id of a record that is gone."""
        del self._by_id[record.id.lower()]

    def restore(self, copy: list[Values]) -> None:
        """Restore the records from a copy."""
        super().restore(copy)
        self._by_id = {record.id.lower(): record.row for record in self.present()}
