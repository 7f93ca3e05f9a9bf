"""The order of the timeline's rows, sorted in slices so that a key press is not delayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.lists.sorting import SlicedSort

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.timeline.rows import Sort, TimelineRows

_AT_ONCE = 2000  # rows that are sorted in one go


class RowOrder:
    """The order of the rows of one kind."""

    def __init__(self, rows: TimelineRows) -> None:
        """Start with the rows' own order."""
        self._rows = rows
        self.sort: Sort = rows.sorts[0]
        self.is_turned = False
        self.keys: Sequence[int] = ()
        self._sorting: SlicedSort | None = None
        self._sorted_for: tuple[object, object] = (None, None)  # the order asked for, and its moment

    def next_sort(self) -> None:
        """Sort by the next criterion; after the last one by the first."""
        sorts = self._rows.sorts
        self.sort = sorts[(sorts.index(self.sort) + 1) % len(sorts)]
        self.is_turned = False

    def update(self, *, only_failed: bool) -> None:
        """Read the rows again. ``go_on`` continues what takes long."""
        rows = self._rows
        found, value = rows.order(self.sort, only_failed=only_failed), rows.value(self.sort)
        if value is None and not self.is_turned:
            self._sorting, self._sorted_for = None, (None, None)
            self.keys = found
            return
        session = rows.session
        wanted = self.sort, self.is_turned, only_failed, session.job_id, session.pool_id, session.simulation.jumps
        moment = session.simulation.log.count, session.now_ms, rows.lanes.progress, rows.lanes.version
        if wanted != self._sorted_for[0]:
            self.keys = ()  # the previous rows are in another order, or gone
        elif self.is_sorting or moment == self._sorted_for[1]:
            return
        self._sorted_for = wanted, moment
        self._sorting = SlicedSort(found, None, value, is_descending=self.is_turned)
        while len(found) <= _AT_ONCE and self.go_on():
            pass

    @property
    def is_sorting(self) -> bool:
        """True while sorting goes on. Until then the previous rows are shown, or none."""
        return self._sorting is not None and self._sorting.found is None

    def go_on(self) -> bool:
        """Sort for a few milliseconds. Return True if there is more to do."""
        if self._sorting is None or not self.is_sorting:
            return False
        if self._sorting.go_on():
            return True
        found = self._sorting.found or []
        is_in_order = self._rows.value(self.sort) is None
        self.keys = found[::-1] if self.is_turned and is_in_order else found
        return False

    def index_of(self, key: int) -> int | None:
        """Return the index of a row, or None if it is not shown."""
        try:
            return self.keys.index(key)
        except ValueError:
            return None

    def title(self, arrow: str) -> str:
        """Return the order in words."""
        return f"by {self.sort.value}{arrow if self.is_turned else ''}"
