"""Filtering and sorting in slices, so that a million rows do not delay a key press."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

_PIECE = 1000  # rows in a slice: a few milliseconds
_SAMPLES = 500  # sampled values that divide the rows into parts


class SlicedSort:
    """The rows that pass a filter, sorted. ``found`` is set once ``go_on`` returns False."""

    def __init__(
        self,
        rows: Sequence[int],
        keep: Callable[[Sequence[int]], Iterable[int]] | None,
        value: Callable[[int], Any] | None,
        *,
        is_descending: bool,
    ) -> None:
        """Filter ``rows`` with ``keep`` and sort them by ``value``; either may be None."""
        self.total = len(rows)
        self.progress = 0.0  # 0 to 1
        self.found: list[int] | None = None
        self._steps = self._work(rows, keep, value, is_descending=is_descending)

    def go_on(self) -> bool:
        """Process one slice. Return True if there is more to do."""
        self.progress = next(self._steps, 1.0)
        return self.found is None

    def _work(
        self,
        rows: Sequence[int],
        keep: Callable[[Sequence[int]], Iterable[int]] | None,
        value: Callable[[int], Any] | None,
        *,
        is_descending: bool,
    ) -> Iterator[float]:
        left = iter(rows)
        kept: list[int] = []
        looked_at = 0
        while piece := list(islice(left, _PIECE)):
            kept += piece if keep is None else keep(piece)
            looked_at += len(piece)
            yield 0.5 * looked_at / self.total
        if value is not None:
            parts = yield from self._parts(kept, value)
            kept = []
            for part, values in reversed(parts) if is_descending else parts:
                order = sorted(range(len(part)), key=values.__getitem__, reverse=is_descending)
                kept += map(part.__getitem__, order)
                yield 0.9
        elif is_descending:
            kept.reverse()
        self.found = kept

    def _parts(
        self, rows: list[int], value: Callable[[int], Any]
    ) -> Generator[float, None, list[tuple[list[int], list[Any]]]]:
        """Return rows and values in parts of rising values. A value can cost as much as drawing a row."""
        bounds = sorted({value(row) for row in rows[:: len(rows) // _SAMPLES + 1]})
        parts: list[tuple[list[int], list[Any]]] = [([], []) for _ in range(len(bounds) + 1)]
        for first in range(0, len(rows), _PIECE):
            piece = rows[first : first + _PIECE]
            for row, one in zip(piece, map(value, piece), strict=True):
                part, values = parts[bisect_right(bounds, one)]
                part.append(row)
                values.append(one)
            yield 0.5 + 0.4 * first / len(rows)
        return parts


class ShownRows:
    """The rows that a list shows, filtered and sorted in slices while that takes long."""

    def __init__(self) -> None:
        self.rows: Sequence[int] = ()
        self.hidden = 0
        self._work: SlicedSort | None = None
        self._wanted: object = None
        self._moment: object = None

    def show(self, rows: Sequence[int], *, hidden: int = 0) -> None:
        """Show rows as they are."""
        self.rows, self.hidden = rows, hidden
        self._work = self._wanted = self._moment = None

    def sort_rows(self, wanted: object, moment: object, start: Callable[[], SlicedSort], at_once: int) -> None:
        """Start to sort, unless the same is under way or done for this moment. Up to ``at_once`` rows finish here."""
        if wanted != self._wanted:
            self.rows, self.hidden = (), 0  # the previous rows do not match, or are gone
        elif self.is_sorting or moment == self._moment:
            return
        self._wanted, self._moment, self._work = wanted, moment, start()
        while self._work.total <= at_once and self.go_on():
            pass

    @property
    def is_sorting(self) -> bool:
        """True while sorting goes on. Until then the previous rows are shown, or none."""
        return self._work is not None and self._work.found is None

    @property
    def progress(self) -> float:
        """The part of the work that is done, from 0 to 1."""
        return 1.0 if self._work is None else self._work.progress

    def go_on(self) -> bool:
        """Filter and sort for a few milliseconds. Return True if there is more to do."""
        if self._work is None or not self.is_sorting:
            return False
        if self._work.go_on():
            return True
        self.rows = self._work.found or ()
        self.hidden = self._work.total - len(self.rows)
        return False

    def index_of(self, row: int) -> int | None:
        """Return the index of a row, or None if it is not shown."""
        try:
            return self.rows.index(row)
        except ValueError:
            return None
