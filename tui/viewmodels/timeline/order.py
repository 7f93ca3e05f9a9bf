"""The order of the timeline's rows, sorted in slices so that a key press is not delayed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.viewmodels.lists.sorting import ShownRows, SlicedSort

if TYPE_CHECKING:
    from tui.viewmodels.timeline.rows import Sort, TimelineRows

_AT_ONCE = 2000  # rows that are sorted in one go


class RowOrder(ShownRows):
    """The order of the rows of one kind."""

    def __init__(self, rows: TimelineRows) -> None:
        """Start with the rows' own order."""
        super().__init__()
        self._kind = rows
        self.sort: Sort = rows.sorts[0]
        self.is_turned = False

    def next_sort(self) -> None:
        """Sort by the next criterion; after the last one by the first."""
        sorts = self._kind.sorts
        self.sort = sorts[(sorts.index(self.sort) + 1) % len(sorts)]
        self.is_turned = False

    def update(self, *, only_failed: bool) -> None:
        """Read the rows again. ``go_on`` continues what takes long."""
        rows = self._kind
        found, value = rows.order(self.sort, only_failed=only_failed), rows.value(self.sort)
        if value is None and not self.is_turned:
            self.show(found)
            return
        session = rows.session
        wanted = self.sort, self.is_turned, only_failed, session.job_id, session.pool_id, session.simulation.jumps
        moment = session.simulation.log.count, session.now_ms, rows.lanes.progress, rows.lanes.version
        self.sort_rows(wanted, moment, partial(SlicedSort, found, None, value, is_descending=self.is_turned), _AT_ONCE)

    def title(self, arrow: str) -> str:
        """Return the order in words."""
        return f"by {self.sort.value}{arrow if self.is_turned else ''}"
