"""The node map as a widget: lines of cells, a legend, a cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView

from tui.messages import OpenNode
from tui.viewmodels.node_map import Grid, NodeMapModel, grid
from tui.viewmodels.subject import Subject
from tui.viewmodels.text import Role, Span, cut
from tui.widgets.lines import strip_of
from tui.widgets.resized import Resized

if TYPE_CHECKING:
    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.text import Line

_LABEL_CELLS = 6
_LEGEND_LINES = 2


class NodeMap(Resized, ScrollView):
    """One cell for each node of the pool in focus."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "move(-1, 0)", "left", show=False, id="map.left"),
        Binding("right", "move(1, 0)", "right", show=False, id="map.right"),
        Binding("up,k", "move(0, -1)", "up", show=False, id="map.up"),
        Binding("down,j", "move(0, 1)", "down", show=False, id="map.down"),
        Binding("home", "edge(0)", "first node", show=False, id="map.first"),
        Binding("end", "edge(1)", "last node", show=False, id="map.last"),
        Binding("l", "lens", "next lens", id="map.lens"),
        Binding("enter", "open", "open the node", id="map.open"),
    ]

    def __init__(self, model: NodeMapModel, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """A map of this model; empty until ``look``."""
        super().__init__(id=id)
        self.model = model
        self.cursor = 0
        self._below: list[Line] = []
        self._drawn: list[Line] = []

    @property
    def key(self) -> int | None:
        """The node under the cursor; None where there is none."""
        nodes = self.model.nodes
        return nodes[self.cursor] if self.cursor < len(nodes) else None

    @property
    def subject(self) -> Subject | None:
        """The node under the cursor."""
        return None if self.key is None else Subject("node", self.key)

    def look(self) -> None:
        """Look at the model again and draw what has changed."""
        self.model.refresh()
        self.cursor = min(self.cursor, max(0, len(self.model.nodes) - 1))
        self._arrange()
        drawn = [self._line(y) for y in range(self.size.height)]
        if drawn != self._drawn:
            self._drawn = drawn
            self.refresh()

    def _arrange(self) -> None:
        cells = self.size.width
        legend = self.model.legend(cells, _LEGEND_LINES if self.size.height > 9 else 1) if self.size.height > 5 else []
        said = [self.model.description(self.cursor)] if self.size.height > 9 else []
        self._below = [*legend, *said]
        rows = -(-len(self.model.nodes) // self._grid.columns)
        height = rows + len(self._below)
        if self.virtual_size != (cells, height):
            self.virtual_size = Size(cells, height)

    @property
    def _grid(self) -> Grid:
        return grid(len(self.model.nodes), self.size.width, self._map_lines)

    @property
    def _map_lines(self) -> int:
        return max(1, self.size.height - len(self._below))

    def render_line(self, y: int) -> Strip:
        """One row of cells, or a line of the legend."""
        return strip_of(self, self._drawn[y] if y < len(self._drawn) else self._line(y))

    def _line(self, y: int) -> Line:
        if not self.model.nodes:
            empty = self.model.empty()
            at = y - 1
            return (Span(f" {empty[at]}", Role.DIM),) if 0 <= at < len(empty) else ()
        if y >= self._map_lines:
            return cut(self._below[y - self._map_lines], self.size.width)
        cursor = self.cursor if self.has_focus else None
        return cut(self.model.row(y + int(self.scroll_offset.y), self._grid, cursor), self.size.width)

    def watch_has_focus(self, has_focus: bool) -> None:
        """The cursor is seen while the map has the focus."""
        super().watch_has_focus(has_focus)
        self._drawn = []
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        """More or fewer nodes fit into a row."""
        if not self.has_other_size(event):
            return
        self._drawn = []
        self._arrange()
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows are seen."""
        super().watch_scroll_y(old_value, new_value)
        self._drawn = []
        self.refresh()

    def move_to(self, index: int) -> None:
        """Put the cursor on the node with this index."""
        if not self.model.nodes:
            return
        self.cursor = max(0, min(index, len(self.model.nodes) - 1))
        row, top = self.cursor // self._grid.columns, int(self.scroll_offset.y)
        if row < top:
            self.scroll_to(y=row, animate=False, immediate=True)
        elif row >= top + self._map_lines:
            self.scroll_to(y=row - self._map_lines + 1, animate=False, immediate=True)
        self._arrange()
        self._drawn = []
        self.refresh()

    def action_move(self, right: int, down: int) -> None:
        """Move the cursor by cells."""
        self.move_to(self.cursor + right + down * self._grid.columns)

    def action_edge(self, last: int) -> None:
        """The first or the last node."""
        self.move_to(len(self.model.nodes) - 1 if last else 0)

    def action_lens(self) -> None:
        """Look at something else of each node."""
        self.model.next_lens()
        self._drawn = []
        self._arrange()
        self.refresh()
        self.name_lens()

    def name_lens(self) -> None:
        """The heading says which lens it is."""
        self.border_title = Content(self.model.session.text(f"Node map · {self.model.lens.value} (l)"))

    def action_open(self) -> None:
        """Open the node under the cursor."""
        if self.key is not None:
            self.post_message(OpenNode(self.key))

    def on_click(self, event: events.Click) -> None:
        """A click selects a node, a second click opens it."""
        layout = self._grid
        place = event.get_content_offset(self)
        if place is None:
            return
        column, row = (place.x - _LABEL_CELLS) // layout.pitch, place.y + int(self.scroll_offset.y)
        if layout.columns == 1:
            column = 0
        if place.y >= self._map_lines or not 0 <= column < layout.columns:
            return
        self.move_to(row * layout.columns + column)
        if event.chain > 1:
            self.action_open()
