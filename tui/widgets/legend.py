"""The legend of the node map as a widget: one entry is under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.scroll_view import ScrollView

from tui.viewmodels.node_map.legend import Entry, laid_out, legend_line
from tui.viewmodels.text.styled import ItemRef
from tui.widgets.lines import strip_of
from tui.widgets.node_map import NodeMap
from tui.widgets.redraw import set_line_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.node_map.cells import NodeMapModel
    from tui.viewmodels.text.glyphs import Glyph


class Legend(ScrollView):
    """What the cells of the map mean, with counts."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up,k", "cursor(-1)", "entry before", show=False, id="legend.before"),
        Binding("right,down,j", "cursor(1)", "next entry", show=False, id="legend.next"),
        Binding("enter", "only", "dim all other nodes, or none", id="legend.only"),
    ]

    def __init__(self, model: NodeMapModel, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """The legend of this map; empty until ``update``."""
        super().__init__(id=id)
        self._model = model
        self._entries: list[Entry] = []
        self._at: Glyph | None = None
        self._drawn_only: Glyph | None = None

    @property
    def entry(self) -> Entry | None:
        """The entry under the cursor: the one that it was put on, else the first."""
        found = (entry for entry in self._entries if entry.glyph == self._at)
        return next(found, next(iter(self._entries), None))

    @property
    def subjects(self) -> Sequence[ItemRef]:
        """All nodes that are drawn like the entry under the cursor."""
        if self.entry is None:
            return ()
        return [ItemRef("node", node) for node in self._model.nodes_like(self.entry.glyph)]

    @property
    def subject(self) -> ItemRef | None:
        """The first of them."""
        return next(iter(self.subjects), None)

    def update(self, most_lines: int) -> None:
        """Bring the entries up to date, in at most so many lines."""
        entries = laid_out(self._model.counts(), self._model.session.glyphs, max(1, self.size.width))
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
        """One line of entries."""
        cursor = self.entry.glyph if self.has_focus and self.entry is not None else None
        line = y + int(self.scroll_offset.y)
        return strip_of(self, legend_line(self._entries, line, cursor=cursor, only=self._model.only))

    def watch_has_focus(self, has_focus: bool) -> None:
        """The cursor is seen while the legend has the focus."""
        super().watch_has_focus(has_focus)
        self.refresh()

    def action_cursor(self, by: int) -> None:
        """The next entry or the one before."""
        if self.entry is not None:
            at = self._entries.index(self.entry) + by
            self._move_to(self._entries[max(0, min(at, len(self._entries) - 1))])

    def _move_to(self, entry: Entry) -> None:
        self._at = entry.glyph
        top = int(self.scroll_offset.y)
        if not top <= entry.line < top + self.size.height:
            self.scroll_to(y=entry.line, animate=False, immediate=True)
        self.refresh()

    def action_only(self) -> None:
        """Dim whatever is drawn otherwise, or nothing again."""
        if self.entry is not None:
            self._model.only = None if self._model.only == self.entry.glyph else self.entry.glyph
            self.post_message(NodeMap.Changed())

    def on_click(self, event: events.Click) -> None:
        """A click selects, a second click dims the others."""
        place = event.get_content_offset(self)
        if place is None:
            return
        line = place.y + int(self.scroll_offset.y)
        here = [entry for entry in self._entries if entry.line == line and entry.first <= place.x]
        if here:
            self._move_to(here[-1])
            if event.chain > 1:
                self.action_only()
