"""The order of the rows of a list.

Rows are filtered and sorted in slices, so that a million of them do not delay a key press. While time goes by, they are
read again after a rest, which is the longer the more of them there are.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from itertools import islice
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    SortValues = Callable[[Sequence[int]], Iterable[Any]]

_PIECE = 1000  # rows that are looked at together, for less than a millisecond if many are judged together
SAMPLES = 200  # sampled values that divide the rows into parts
_IDLE_SHARE = 19  # while time goes by, a twentieth of it is filtering and sorting at most


class SlicedSort:
    """The rows that pass a filter, sorted."""

    def __init__(
        self,
        rows: Sequence[int],
        keep: Callable[[Sequence[int]], Iterable[int]] | None,
        values: SortValues | None,
        *,
        is_descending: bool,
        piece: int = _PIECE,
    ) -> None:
        """Filter ``rows`` with ``keep`` and sort them by their ``values``; either may be None.

        ``piece`` rows are looked at together.
        """
        self.total = len(rows)
        self._piece = piece
        self.progress = 0.0  # 0 to 1
        self.found: list[int] | array[int] | None = None
        self.early = array("q")  # takes a quarter of the memory of a list, which is sorted faster
        self._steps = self._work(rows, keep, values, is_descending=is_descending)

    def go_on(self) -> bool:
        """Process one slice. Return True if there is more to do."""
        self.progress = next(self._steps, 1.0)
        return self.found is None

    def _work(
        self,
        rows: Sequence[int],
        keep: Callable[[Sequence[int]], Iterable[int]] | None,
        values: SortValues | None,
        *,
        is_descending: bool,
    ) -> Iterator[float]:
        kept: list[int] | array[int] = self.early if values is None and not is_descending else []
        left, looked_at = iter(rows), 0
        while piece := list(islice(left, self._piece)):
            kept.extend(piece if keep is None else keep(piece))
            looked_at += len(piece)
            yield looked_at / self.total * (1 if values is None else 0.5)
        if values is not None:
            parts = yield from self._parts(kept, values)
            kept = []
            for part, found in reversed(parts) if is_descending else parts:
                if len(set(found)) > 1:
                    order = sorted(range(len(part)), key=found.__getitem__, reverse=is_descending)
                    kept += map(part.__getitem__, order)
                else:
                    kept += part
                yield 0.9
        elif is_descending:
            kept.reverse()
        self.found = kept

    def _parts(
        self, rows: Sequence[int], values: SortValues
    ) -> Generator[float, None, list[tuple[list[int], list[Any]]]]:
        """Return rows and values in parts of rising values. A value can cost as much as drawing a row."""
        bounds = sorted(set(values(rows[:: len(rows) // SAMPLES + 1])))
        parts: list[tuple[list[int], list[Any]]] = [([], []) for _ in range(len(bounds) + 1)]
        for first in range(0, len(rows), self._piece):
            piece = rows[first : first + self._piece]
            found = list(values(piece))
            order = sorted(range(len(piece)), key=found.__getitem__)  # then a part gets all that is its own at once
            piece, found = list(map(piece.__getitem__, order)), list(map(found.__getitem__, order))
            at = 0
            for (part, ones), bound in zip(parts, bounds, strict=False):
                stop = bisect_left(found, bound, at)
                part.extend(piece[at:stop])
                ones.extend(found[at:stop])
                at = stop
            parts[-1][0].extend(piece[at:])
            parts[-1][1].extend(found[at:])
            yield 0.5 + 0.4 * first / len(rows)
        return parts


class ShownRows:
    """The rows that a list shows, filtered and sorted in slices while that takes long."""

    def __init__(self) -> None:
        self.rows: Sequence[int] = ()
        self.hidden = 0
        self._work: SlicedSort | None = None
        self._total = 0  # rows without a filter
        self._wanted: object = None
        self._order: object = None
        self._moment: object = None
        self._spent_s = 0.0  # on the present work
        self._rests_until_s = 0.0

    def show(self, rows: Sequence[int], *, wanted: object = None) -> None:
        """Show rows as they are; ``wanted`` says which ones they are."""
        self.rows, self.hidden = rows, 0
        self._work = self._order = self._moment = None
        self._wanted = wanted

    def sort_rows(
        self,
        wanted: object,
        order: object,
        moment: object,
        start: Callable[[], SlicedSort],
        at_once: int,
        *,
        may_rest: bool = False,
        amend: Callable[[Sequence[int]], Sequence[int] | None] = lambda _: None,
        total: int = 0,
    ) -> None:
        """Start to sort, unless the same is under way or done for this moment. Up to ``at_once`` rows finish here.

        Args:
            wanted: Which rows are wanted. Until all are found, those are shown that need no sorting.
            order: Their order. Until they are sorted, they are shown in the previous one.
            moment: The moment of the run; for another one the rows are read again.
            start: Starts to filter and sort.
            at_once: The number of rows up to which all is done at once.
            may_rest: Read the rows of another moment only nineteen times as long after the last ones as those took.
            amend: Returns the rows of this moment, made from those that are shown; None if all must be read.
            total: The number of rows without a filter, if more than those that are looked at.
        """
        is_other = wanted != self._wanted
        began_s = time.perf_counter()
        may_rest &= began_s < self._rests_until_s
        if not is_other and order == self._order:
            if self.is_sorting or moment == self._moment or may_rest:
                return
            rows = amend(self.rows)
            if rows is not None:
                self.rows, self.hidden, self._moment = rows, total - len(rows), moment
                self._rest_after(time.perf_counter() - began_s)
                return
        self._order, self._spent_s = order, 0.0
        self._wanted, self._moment, self._work = wanted, moment, start()
        self._total = max(total, self._work.total)
        if is_other:
            self.rows, self.hidden = self._work.early, 0  # the previous rows do not match, or are gone
        if self._work.total <= at_once:
            while self.go_on():
                pass

    @property
    def is_sorting(self) -> bool:
        """True while filtering and sorting go on."""
        return self._work is not None and self._work.found is None

    @property
    def progress(self) -> float:
        """The part of the work that is done, from 0 to 1."""
        return 1.0 if self._work is None else self._work.progress

    def go_on(self) -> bool:
        """Filter and sort some rows. Return True if there is more to do."""
        if self._work is None or not self.is_sorting:
            return False
        began_s = time.perf_counter()
        has_more = self._work.go_on()
        self._spent_s += time.perf_counter() - began_s
        if has_more:
            return True
        self._rest_after(self._spent_s)
        self.rows = self._work.found or ()
        self.hidden = self._total - len(self.rows)
        self._work = None
        return False

    def _rest_after(self, spent_s: float) -> None:
        """Let the engine have nineteen times as long as rows were looked at."""
        self._rests_until_s = time.perf_counter() + _IDLE_SHARE * spent_s

    def index_of(self, row: int) -> int | None:
        """Return the index of a row, or None if it is not shown."""
        try:
            return self.rows.index(row)
        except ValueError:
            return None
