"""What all rows of the timeline have in common that stand for a node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.lane_rows import LaneRows
from tui.viewmodels.subject import Subject

if TYPE_CHECKING:
    from engine.views.pages.instances import InstancePage
    from engine.views.pages.nodes import NodePage


class RowsByNode(LaneRows):
    """Rows that are called by the index of a node in its pool, and lead to that node."""

    _page: NodePage | InstancePage

    def label(self, key: int) -> str:
        """The index of the node in its pool."""
        return f"n{self._page.position_of(key)}"

    def subject(self, key: int) -> Subject:
        """The node."""
        return Subject("node", key)

    def asked(self, key: int, when_ms: int) -> Subject:
        """The node; before it came, its pool."""
        has_come = self.lanes.lane(key).has_begun(when_ms)
        return self.subject(key) if has_come else Subject("pool", self.session.pool_id)
