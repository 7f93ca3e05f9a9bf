"""The node map as a widget."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui.viewmodels.node_map.cells import LABEL_CELLS, Grid, NodeMapModel, grid
from tui.viewmodels.text.styled import ItemRef, Role, Span, cut
from tui.widgets import palette
from tui.widgets.cursor import CursorView
from tui.widgets.lines import strip_of
from tui.widgets.messages import OpenSubject
from tui.widgets.redraw import ResizeFilter, set_line_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.text.styled import Line


class NodeMap(ResizeFilter, CursorView):
    """One cell for each node of the pool in focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "move(-1, 0)", "left", show=False, id="map.left"),
        Binding("right", "move(1, 0)", "right", show=False, id="map.right"),
        Binding("up,k", "move(0, -1)", "up", show=False, id="map.up"),
        Binding("down,j", "move(0, 1)", "down", show=False, id="map.down"),
        Binding("home", "edge(0)", "first node", show=False, id="map.first"),
        Binding("end", "edge(1)", "last node", show=False, id="map.last"),
        Binding("l", "lens", "next lens", id="map.lens"),
        Binding("L", "choose_lens", "choose the lens", id="map.lenses"),
        Binding("D", "compact", "hide or show nodes that have left", id="map.compact"),
        Binding("enter", "open", "open the node", id="map.open"),
    ]

    class Changed(Message):
        """The cursor, the marks or the lens have changed."""

    class LensWanted(Message):
        """The user wants to choose a lens."""

    def __init__(self, model: NodeMapModel, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """The map is empty until ``update``."""
        super().__init__(id=id)
        self.model = model
        self.cursor = 0
        self._drawn: list[Line] = []
        # While the mouse button is down: the first node, and the marks before.
        self._held: tuple[int, dict[ItemRef, None]] | None = None

    @property
    def key(self) -> int | None:
        """The row number of the node under the cursor, None without nodes."""
        nodes = self.model.nodes
        return nodes[self.cursor] if self.cursor < len(nodes) else None

    @property
    def subject(self) -> ItemRef | None:
        """The node under the cursor."""
        return None if self.key is None else ItemRef("node", self.key)

    @property
    def subjects(self) -> Sequence[ItemRef]:
        """The node under the cursor as a group."""
        return () if self.subject is None else (self.subject,)

    def on_mount(self) -> None:
        # not every theme has colours for half cells
        self.watch(self.app, "theme", self.update, init=False)

    def update(self) -> None:
        """Update the model, and draw the map if it has changed."""
        self.model.update()
        self.cursor = min(self.cursor, max(0, len(self.model.nodes) - 1))
        set_line_count(self, -(-len(self.model.nodes) // self._grid.nodes_in_line))
        drawn = [self._line(y) for y in range(self.size.height)]
        if drawn != self._drawn:
            self._drawn = drawn
            self.refresh()

    @property
    def _grid(self) -> Grid:
        halves = palette.has_grounds(self.app.theme) and not self.model.session.glyphs.ascii_only
        return grid(len(self.model.nodes), self.size.width, max(1, self.size.height), has_halves=halves)

    def render_line(self, y: int) -> Strip:
        return strip_of(self, self._drawn[y] if y < len(self._drawn) else self._line(y))

    def _line(self, y: int) -> Line:
        if not self.model.nodes:
            empty = self.model.empty()
            at = y - 1
            return (Span(f" {empty[at]}", Role.DIM),) if 0 <= at < len(empty) else ()
        cursor = self.cursor if self.has_focus else None
        return cut(self.model.row(y + self.top_line, self._grid, cursor), self.size.width)

    def redraw_cursor(self) -> None:
        """Draw all lines anew."""
        self._drawn = []
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        if self.has_new_size(event):
            self.redraw_cursor()
            set_line_count(self, -(-len(self.model.nodes) // self._grid.nodes_in_line))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.redraw_cursor()

    # -- keys ----------------------------------------------------------------------------------------------------

    def move_to(self, index: int) -> None:
        """Move the cursor to the node at this position of the map."""
        if not self.model.nodes:
            return
        self.cursor = max(0, min(index, len(self.model.nodes) - 1))
        self.scroll_into_view(self.cursor // self._grid.nodes_in_line)
        self.redraw_cursor()
        self.post_message(self.Changed())

    def action_move(self, right: int, down: int) -> None:
        """Move the cursor by cells."""
        self.move_to(self.cursor + right + down * self._grid.columns)

    def action_edge(self, last: int) -> None:
        """Move the cursor to the first or the last node."""
        self.move_to(len(self.model.nodes) - 1 if last else 0)

    def action_lens(self) -> None:
        """Show the nodes through the next lens."""
        self.model.next_lens()
        self.post_message(self.Changed())

    def action_choose_lens(self) -> None:
        """Let the user choose a lens."""
        self.post_message(self.LensWanted())

    def action_compact(self) -> None:
        """Leave out the nodes that have left the pool, or show them again."""
        key = self.key
        self.model.compact()
        if key in self.model.nodes:
            self.cursor = self.model.nodes.index(key)
        self.post_message(self.Changed())

    def action_open(self) -> None:
        """Open the node under the cursor."""
        if self.subject is not None:
            self.post_message(OpenSubject(self.subject))

    # -- the mouse -----------------------------------------------------------------------------------------------

    def _index_at(self, event: events.MouseEvent) -> int | None:
        """Return the position of the node under the mouse, None beside the cells."""
        layout = self._grid
        place = self.place_of(event)
        if place is None:
            return None
        column = 0 if layout.columns == 1 else (place.x - LABEL_CELLS) // layout.pitch
        index = place.y * layout.nodes_in_line + column
        return index if 0 <= column < layout.columns and index < len(self.model.nodes) else None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin a rectangle of nodes to be marked."""
        index = self._index_at(event)
        if index is not None and event.button == 1:
            self._held = index, dict(self.model.session.marks)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Mark the nodes in the rectangle, while the mouse button is down."""
        index = self._index_at(event)
        if self._held is None or index is None:
            return
        first, marks = self._held
        if index == first and self.model.session.marks == marks:
            return
        self.model.session.marks = marks | dict.fromkeys(ItemRef("node", node) for node in self._between(first, index))
        self.redraw_cursor()

    def _between(self, one: int, other: int) -> list[int]:
        columns = self._grid.columns
        top, bottom = sorted((one // columns, other // columns))
        left, right = sorted((one % columns, other % columns))
        rows = (self.model.nodes[row * columns + left : row * columns + right + 1] for row in range(top, bottom + 1))
        return [node for row in rows for node in row]

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """End the rectangle."""
        event.stop()
        self._held = None
        self.post_message(self.Changed())

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the node under the mouse; open it on a double click."""
        index = self._index_at(event)
        if index is None:
            return
        self.move_to(index)
        if event.chain > 1:
            self.action_open()
