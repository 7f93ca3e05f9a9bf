"""Rows as typed arrays, and records as slotted objects; both can be copied cheaply for a checkpoint.

A checkpoint of a million rows must not copy a million rows. Columns are cut into pages and remember
which pages have changed since the last copy; a copy shares every clean page with the one before it.
Records do the same one by one.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, Self, TypeVar

# Rows of a page, as a shift: 1024 rows, which is about what a thousand nodes touch between two checkpoints.
PAGE_BITS = 10
PAGE_ROWS = 1 << PAGE_BITS

_CONTAINERS = (list, dict, set, deque)


class ColumnsCopy:
    """The columns as they were: one tuple of bytes a page, shared with other copies where equal."""

    __slots__ = ("length", "pages", "sparse")

    def __init__(self, length: int, pages: list[tuple[bytes, ...]], sparse: list[dict[int, Any]]) -> None:
        """Hold what ``Columns.copy`` found."""
        self.length = length
        self.pages = pages
        self.sparse = sparse


class Columns:
    """Rows stored column by column. A subclass names its columns and their array type codes.

    ``sparse`` holds, page by page, what only few rows have; its values must be immutable.
    """

    TYPES: ClassVar[dict[str, str]] = {}

    def __init__(self) -> None:
        """Make a table without rows."""
        self.length = 0
        self.dirty = bytearray()
        self.sparse: list[dict[int, Any]] = []
        self._pages: list[tuple[bytes, ...]] = []
        self._sparse_pages: list[dict[int, Any]] = []
        for name, code in self.TYPES.items():
            setattr(self, name, array(code))

    def _columns(self) -> list[array[Any]]:
        return [getattr(self, name) for name in self.TYPES]

    def _grow(self, count: int) -> int:
        """Note that ``count`` rows have been appended to every column; returns the number of the first."""
        first = self.length
        self.length += count
        missing = ((self.length + PAGE_ROWS - 1) >> PAGE_BITS) - len(self.dirty)
        self.dirty.extend(bytes(missing))
        self.sparse.extend({} for _ in range(missing))
        for page in range(first >> PAGE_BITS, len(self.dirty)):
            self.dirty[page] = 1
        return first

    def touch(self, row: int) -> None:
        """Mark the row's page as changed."""
        self.dirty[row >> PAGE_BITS] = 1

    def copy(self) -> ColumnsCopy:
        """The columns as they are now, at the cost of the pages changed since the last copy."""
        columns = self._columns()
        pages, sparse = self._pages, self._sparse_pages
        while len(pages) < len(self.dirty):
            pages.append(())
            sparse.append({})
        for page in self._changed():
            low = page << PAGE_BITS
            high = min(low + PAGE_ROWS, self.length)
            pages[page] = tuple(column[low:high].tobytes() for column in columns)
            sparse[page] = dict(self.sparse[page])
        self.dirty = bytearray(len(self.dirty))
        return ColumnsCopy(self.length, pages.copy(), sparse.copy())

    def restore(self, copy: ColumnsCopy) -> None:
        """Make the columns as they were when ``copy`` was taken."""
        columns = self._columns()
        self.length = copy.length
        kept = len(copy.pages)
        for column in columns:
            if len(column) > copy.length:
                del column[copy.length :]
        for page in range(kept):
            if page < len(self.dirty) and not self.dirty[page] and self._pages[page] is copy.pages[page]:
                continue
            low = page << PAGE_BITS
            for column, saved in zip(columns, copy.pages[page], strict=True):
                rows = array(column.typecode, saved)
                column[low : low + len(rows)] = rows
            if page < len(self.sparse):
                self.sparse[page] = dict(copy.sparse[page])
            else:
                self.sparse.append(dict(copy.sparse[page]))
        del self.sparse[kept:]
        self.dirty = bytearray(kept)
        self._pages = copy.pages.copy()
        self._sparse_pages = copy.sparse.copy()

    def _changed(self) -> Iterator[int]:
        page = self.dirty.find(1)
        while page >= 0:
            yield page
            page = self.dirty.find(1, page + 1)


class Record:
    """A row as a slotted object. Its containers hold nothing that can change, so one level is a full copy."""

    __slots__ = ()

    def clone(self) -> Self:
        """An independent copy."""
        twin = object.__new__(type(self))
        for name in self.__slots__:
            value = getattr(self, name)
            setattr(twin, name, value.copy() if type(value) in _CONTAINERS else value)
        return twin


R = TypeVar("R", bound=Record)


class Records(Generic[R]):
    """A list of records that knows which of them have changed since the last copy.

    Reading is ``records[row]``; whoever changes a record gets it from ``edit(row)``.
    """

    def __init__(self) -> None:
        """Make a table without records."""
        self.rows: list[R] = []
        self._saved: list[R] = []
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
        """The record, to be changed."""
        self._edited.add(row)
        return self.rows[row]

    def copy(self) -> list[R]:
        """The records as they are now, at the cost of those changed since the last copy."""
        saved = self._saved
        saved.extend(self.rows[len(saved) :])
        for row in self._edited:
            saved[row] = self.rows[row].clone()
        self._edited = set()
        self._saved = saved.copy()
        return saved

    def restore(self, copy: list[R]) -> None:
        """Make the records as they were when ``copy`` was taken."""
        saved = self._saved
        del self.rows[len(copy) :]
        for row, record in enumerate(copy):
            if row >= len(self.rows):
                self.rows.append(record.clone())
            elif row in self._edited or row >= len(saved) or saved[row] is not record:
                self.rows[row] = record.clone()
        self._edited = set()
        self._saved = copy.copy()
