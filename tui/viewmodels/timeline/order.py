"""The order of the timeline's rows, sorted in slices so that a key press is not delayed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.lists.sorting import Arranging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.viewmodels.timeline.rows import LaneRows, Sort

_AT_ONCE = 2000  # rows that are sorted in one go


class LaneOrder:
    """The order of the rows of one kind."""

    def __init__(self, rows: LaneRows) -> None:
        """Start with the rows' own order."""
        self._rows = rows
        self.sort: Sort = rows.sorts[0]
        self.is_turned = False
        self.keys: Sequence[int] = ()
        self._arranging: Arranging | None = None
        self._arranged: tuple[object, object] = (None, None)  # the order asked for, and its moment

    def next_sort(self) -> None:
        """Sort by the next criterion; after the last one by the first."""
        sorts = self._rows.sorts
        self.sort = sorts[(sorts.index(self.sort) + 1) % len(sorts)]
        self.is_turned = False

    def refresh(self, *, only_failed: bool) -> None:
        """Read the rows again. ``go_on`` continues what takes long."""
        rows = self._rows
        found, value = rows.order(self.sort, only_failed=only_failed), rows.value(self.sort)
        if value is None and not self.is_turned:
            self._arranging, self._arranged = None, (None, None)
            self.keys = found
            return
        session = rows.session
        wanted = self.sort, self.is_turned, only_failed, session.job_id, session.pool_id, session.simulation.jumps
        moment = session.simulation.log.count, session.now_ms, rows.lanes.progress, rows.lanes.version
        if wanted != self._arranged[0]:
            self.keys = ()  # the previous rows are in another order, or gone
        elif self.is_arranging or moment == self._arranged[1]:
            return
        self._arranged = wanted, moment
        self._arranging = Arranging(found, None, value, is_descending=self.is_turned)
        while len(found) <= _AT_ONCE and self.go_on():
            pass

    @property
    def is_arranging(self) -> bool:
        """True while sorting goes on. Until then the previous rows are shown, or none."""
        return self._arranging is not None and self._arranging.found is None

    def go_on(self) -> bool:
        """Sort for a few milliseconds. Return True if there is more to do."""
        if self._arranging is None or not self.is_arranging:
            return False
        if self._arranging.go_on():
            return True
        found = self._arranging.found or []
        is_in_order = self._rows.value(self.sort) is None
        self.keys = found[::-1] if self.is_turned and is_in_order else found
        return False

    def index_of(self, key: int) -> int | None:
        """Return the index of a row, or None if it is not shown."""
        try:
            return self.keys.index(key)
        except ValueError:
            return None

    def told(self, arrow: str) -> str:
        """Return the order in words."""
        return f"by {self.sort.value}{arrow if self.is_turned else ''}"
