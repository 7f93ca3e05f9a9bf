"""The node map as a widget: lines of cells, and a cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.scroll_view import ScrollView

from tui.viewmodels.node_map.cells import LABEL_CELLS, Grid, NodeMapModel, grid
from tui.viewmodels.text.styled import ItemRef, Role, Span, cut
from tui.widgets import palette
from tui.widgets.lines import strip_of
from tui.widgets.messages import OpenSubject
from tui.widgets.redraw import ResizeFilter, set_line_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.text.styled import Line


class NodeMap(ResizeFilter, ScrollView):
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
        Binding("L", "choose_lens", "choose the lens", id="map.lenses"),
        Binding("D", "compact", "leave out the nodes that have gone, show them again", id="map.compact"),
        Binding("enter", "open", "open the node", id="map.open"),
    ]

    class Changed(Message):
        """Another node is under the cursor, nodes were marked, or something else is looked at."""

    class LensWanted(Message):
        """A lens is to be chosen."""

    def __init__(self, model: NodeMapModel, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """A map of this model; empty until ``update``."""
        super().__init__(id=id)
        self.model = model
        self.cursor = 0
        self._drawn: list[Line] = []
        # While the mouse is held down: where that began, and what was marked before.
        self._held: tuple[int, dict[ItemRef, None]] | None = None

    @property
    def key(self) -> int | None:
        """The node under the cursor; None where there is none."""
        nodes = self.model.nodes
        return nodes[self.cursor] if self.cursor < len(nodes) else None

    @property
    def subject(self) -> ItemRef | None:
        """The node under the cursor."""
        return None if self.key is None else ItemRef("node", self.key)

    @property
    def subjects(self) -> Sequence[ItemRef]:
        """The same as a group of its own."""
        return () if self.subject is None else (self.subject,)

    def on_mount(self) -> None:
        """A theme may have no colours for half cells."""
        self.watch(self.app, "theme", self.update, init=False)

    def update(self) -> None:
        """Look at the model again and draw what has changed."""
        self.model.refresh()
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
        """One line of cells."""
        return strip_of(self, self._drawn[y] if y < len(self._drawn) else self._line(y))

    def _line(self, y: int) -> Line:
        if not self.model.nodes:
            empty = self.model.empty()
            at = y - 1
            return (Span(f" {empty[at]}", Role.DIM),) if 0 <= at < len(empty) else ()
        cursor = self.cursor if self.has_focus else None
        return cut(self.model.row(y + int(self.scroll_offset.y), self._grid, cursor), self.size.width)

    def _draw_anew(self) -> None:
        self._drawn = []
        self.refresh()

    def watch_has_focus(self, has_focus: bool) -> None:
        """The cursor is seen while the map has the focus."""
        super().watch_has_focus(has_focus)
        self._draw_anew()

    def on_resize(self, event: events.Resize) -> None:
        """More or fewer nodes fit into a row."""
        if self.has_new_size(event):
            self._draw_anew()
            set_line_count(self, -(-len(self.model.nodes) // self._grid.nodes_in_line))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows are seen."""
        super().watch_scroll_y(old_value, new_value)
        self._draw_anew()

    # -- keys ----------------------------------------------------------------------------------------------------

    def move_to(self, index: int) -> None:
        """Put the cursor on the node at this place of the map."""
        if not self.model.nodes:
            return
        self.cursor = max(0, min(index, len(self.model.nodes) - 1))
        line, top = self.cursor // self._grid.nodes_in_line, int(self.scroll_offset.y)
        if line < top:
            self.scroll_to(y=line, animate=False, immediate=True)
        elif line >= top + self.size.height:
            self.scroll_to(y=line - self.size.height + 1, animate=False, immediate=True)
        self._draw_anew()
        self.post_message(self.Changed())

    def action_move(self, right: int, down: int) -> None:
        """Move the cursor by cells."""
        self.move_to(self.cursor + right + down * self._grid.columns)

    def action_edge(self, last: int) -> None:
        """The first or the last node."""
        self.move_to(len(self.model.nodes) - 1 if last else 0)

    def action_lens(self) -> None:
        """Look at something else of each node."""
        self.model.next_lens()
        self.post_message(self.Changed())

    def action_choose_lens(self) -> None:
        """Choose what to look at."""
        self.post_message(self.LensWanted())

    def action_compact(self) -> None:
        """Leave out the nodes that have gone, or show them again."""
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
        """The place of the node under the mouse; None beside the cells."""
        layout = self._grid
        place = event.get_content_offset(self)
        if place is None:
            return None
        column = 0 if layout.columns == 1 else (place.x - LABEL_CELLS) // layout.pitch
        index = (place.y + int(self.scroll_offset.y)) * layout.nodes_in_line + column
        return index if 0 <= column < layout.columns and index < len(self.model.nodes) else None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Here a rectangle of nodes may begin."""
        index = self._index_at(event)
        if index is not None and event.button == 1:
            self._held = index, dict(self.model.session.marks)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """While the mouse is held down, the nodes between there and here are marked."""
        index = self._index_at(event)
        if self._held is None or index is None:
            return
        first, marks = self._held
        if index == first and self.model.session.marks == marks:
            return
        self.model.session.marks = marks | dict.fromkeys(ItemRef("node", node) for node in self._between(first, index))
        self._draw_anew()

    def _between(self, one: int, other: int) -> list[int]:
        columns = self._grid.columns
        top, bottom = sorted((one // columns, other // columns))
        left, right = sorted((one % columns, other % columns))
        rows = (self.model.nodes[row * columns + left : row * columns + right + 1] for row in range(top, bottom + 1))
        return [node for row in rows for node in row]

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """The rectangle is done."""
        event.stop()
        self._held = None
        self.post_message(self.Changed())

    def on_click(self, event: events.Click) -> None:
        """A click selects a node, a second click opens it."""
        index = self._index_at(event)
        if index is None:
            return
        self.move_to(index)
        if event.chain > 1:
            self.action_open()
