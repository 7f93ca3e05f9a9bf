"""The legend of the node map as a widget."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui.viewmodels.node_map.legend import LegendEntry, laid_out, legend_line
from tui.viewmodels.text.styled import ItemRef
from tui.widgets.cursor import CursorView
from tui.widgets.lines import strip_of
from tui.widgets.node_map import NodeMap
from tui.widgets.redraw import set_line_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.node_map.model import NodeMapModel
    from tui.viewmodels.text.glyphs import Glyph


class Legend(CursorView):
    """The meaning of the cells of the map, with counts."""

    has_focus_style = False  # the frame around it has one

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "cursor(-1)", "previous entry", show=False, id="legend.before"),
        Binding("right,down,j", "cursor(1)", "next entry", show=False, id="legend.next"),
        Binding("up,k", "up", "the line above, or back to the nodes", show=False, id="legend.up"),
        Binding("enter", "only", "dim all other nodes, or none", id="legend.only"),
    ]

    class Left(Message):
        """The cursor goes on above the first line."""

    def __init__(self, model: NodeMapModel, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """The legend is empty until ``update``."""
        super().__init__(id=id)
        self._model = model
        self._entries: list[LegendEntry] = []
        self._at: Glyph | None = None
        self._drawn_only: Glyph | None = None

    @property
    def entry(self) -> LegendEntry | None:
        """The entry under the cursor, at first the first one."""
        found = (entry for entry in self._entries if entry.glyph == self._at)
        return next(found, next(iter(self._entries), None))

    @property
    def subjects(self) -> Sequence[ItemRef]:
        """The nodes that are drawn like the entry under the cursor."""
        if self.entry is None:
            return ()
        return [ItemRef("node", node) for node in self._model.nodes_like(self.entry.glyph)]

    @property
    def subject(self) -> ItemRef | None:
        """The first of these nodes."""
        return next(iter(self.subjects), None)

    def update(self, most_lines: int) -> None:
        """Bring the entries up to date; of more than ``most_lines`` lines the rest is counted, and scrolled to."""
        entries = laid_out(self._model.counts(), self._model.session.glyphs, max(1, self.size.width), most_lines)
        lines = entries[-1].line + 1 if entries else 0
        height = min(lines, most_lines)
        if self.styles.height is None or self.styles.height.value != height:
            self.styles.height = height
        if (entries, self._model.only) == (self._entries, self._drawn_only):
            return
        self._entries, self._drawn_only = entries, self._model.only
        set_line_count(self, lines)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        cursor = self.entry.glyph if self.has_focus and self.entry is not None else None
        is_last = not self.top_line and y + 1 == self.size.height
        spans = legend_line(self._entries, y + self.top_line, cursor=cursor, only=self._model.only, is_last=is_last)
        return strip_of(self, spans)

    def action_cursor(self, by: int) -> None:
        """Move the cursor to the next or previous entry."""
        if self.entry is not None:
            at = self._entries.index(self.entry) + by
            self._move_to(self._entries[max(0, min(at, len(self._entries) - 1))])

    def action_up(self) -> None:
        """Move the cursor to the line above, or from the first line back to the nodes."""
        entry = self.entry
        above = [] if entry is None else [each for each in self._entries if each.line == entry.line - 1]
        if entry is None or not above:
            self.post_message(self.Left())
        else:
            self._move_to(next((each for each in reversed(above) if each.first <= entry.first), above[0]))

    def _move_to(self, entry: LegendEntry) -> None:
        self._at = entry.glyph
        self.scroll_into_view(entry.line)
        self.refresh()

    def action_only(self) -> None:
        """Dim all nodes that are drawn differently, or none again."""
        if self.entry is not None:
            self._model.only = None if self._model.only == self.entry.glyph else self.entry.glyph
            self.post_message(NodeMap.Changed())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the entry under the mouse; dim the other nodes on a double click."""
        place = self.place_of(event)
        here = [each for each in self._entries if place and each.line == place.y and each.first <= place.x]
        if here:
            self._move_to(here[-1])
            if event.chain > 1:
                self.action_only()
