"""Drawings as widgets: the node map, and curves over time."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui.textual import views
from tui.textual.keys import start_work, yielder_of
from tui.textual.overrides import set_line_count
from tui.textual.screens import OpenSubject, ShowView
from tui.textual.views import CursorView, LinesView, ResizeFilter, entitle, refresh_changes, row_bindings, strip_of
from tui.viewmodels.text import ItemRef, Role, Span
from tui.viewmodels.watch.arrangement import MUCH, Wish
from tui.viewmodels.watch.curves import CurvesModel
from tui.viewmodels.watch.node_cards import MapLines
from tui.viewmodels.watch.node_map import Form, Layout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip
    from textual.worker import Worker

    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Line
    from tui.viewmodels.watch.node_map import NodeMapModel


class NodeMap(ResizeFilter, CursorView):
    """The nodes of the pool in focus, in the richest form for which there is room."""

    has_focus_style = False  # the frame around it has one

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "move(-1, 0)", "left", show=False, id="map.left"),
        Binding("right", "move(1, 0)", "right", show=False, id="map.right"),
        *row_bindings("map", "node"),
        Binding("l", "lens", "next lens", id="map.lens"),
        Binding("enter", "open", "open the node, or list the nodes of a cell", id="map.open"),
    ]

    class Changed(Message):
        """The cursor, the marks, the lens or the part in view has changed."""

    def __init__(self, model: NodeMapModel, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """The map is empty until ``update``."""
        super().__init__(id=id)
        self.model = model
        self._index = 0  # of the node that was chosen, which cells of another size do not change
        self._lines = MapLines(model)
        self._drawn: list[Line] = []

    @property
    def cursor(self) -> int:
        """The index of the node under the cursor; of the first one of a cell that stands for several."""
        return self.first_in(self.layout_now)

    @property
    def key(self) -> int | None:
        """The row number of the node under the cursor, of the worst one in a cell; None without nodes."""
        nodes, layout = self.model.nodes, self.layout_now
        first = self.first_in(layout)
        return nodes[self.model.worst(first, layout.nodes)] if first < len(nodes) else None

    @property
    def subject(self) -> ItemRef | None:
        """The node under the cursor, the worst one in a cell."""
        node = self.key
        return None if node is None else ItemRef("node", node)

    @property
    def subjects(self) -> Sequence[ItemRef]:
        """The nodes under the cursor: all of a cell."""
        layout = self.layout_now
        return [ItemRef("node", node) for node in self.model.nodes[self.first_in(layout) :][: layout.nodes]]

    def first_in(self, layout: Layout) -> int:
        """Return the index of the first node in the cell under the cursor."""
        return self._index // layout.nodes * layout.nodes

    def update(self) -> None:
        """Update the model, and draw the lines that have changed."""
        before = self.model.nodes[self._index : self._index + 1]
        self.model.update()
        layout, nodes = self.layout_now, self.model.nodes
        if layout.nodes == 1 and before and before != nodes[self._index : self._index + 1] and before[0] in nodes:
            self._index = nodes.index(before[0])  # a node before it has left
        self._index = min(self._index, max(0, len(nodes) - 1))
        self._draw(layout)

    @property
    def layout_now(self) -> Layout:
        """The layout for the nodes in view in the present room."""
        return self.model.layout(*self.size)

    def _draw(self, layout: Layout | None = None) -> None:
        """Draw again the lines that have changed."""
        layout = layout or self.layout_now
        set_line_count(self, layout.height(len(self.model.nodes)))
        before, self._drawn = self._drawn, self._all_lines(layout)
        refresh_changes(self, before, self._drawn)

    def _all_lines(self, layout: Layout) -> list[Line]:
        width, height = self.size
        if not self.model.nodes:
            return [(Span(f" {text}", Role.DIM),) for text in self.model.empty()[:height]]
        cursor = self.first_in(layout) if self.has_focus else None
        first, rows = self.top_line // layout.lines, -(-height // layout.lines)
        return self._lines.rows(range(first, first + rows), layout, cursor, width)[:height]

    def render_line(self, y: int) -> Strip:
        return strip_of(self, self._drawn[y] if y < len(self._drawn) else ())

    def redraw_cursor(self) -> None:
        """Draw the lines on which the cursor was and is."""
        if self.size.height:  # while another view hides the map, another line count would lay out the screen
            self._draw()

    def resized(self) -> None:
        self._drawn = []
        self._draw()
        self.post_message(self.Changed())  # title, legend and description depend on the form

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._draw()

    # -- keys ----------------------------------------------------------------------------------------------------

    def move_to(self, index: int) -> None:
        """Move the cursor to the node at this index of the map, or to the cell that stands for it."""
        if not self.model.nodes:
            return
        layout = self.layout_now
        self._index = max(0, min(index, len(self.model.nodes) - 1))
        top = self.cursor // layout.nodes // layout.columns * layout.lines
        self.scroll_into_view(top, top + layout.lines - 1)
        self.redraw_cursor()
        self.post_message(self.Changed())

    def action_move(self, right: int, down: int) -> None:
        """Move the cursor by columns and rows; at the edges it stays."""
        layout, count = self.layout_now, len(self.model.nodes)
        row, column = divmod(self.cursor // layout.nodes, layout.columns)
        if not 0 <= column + right < layout.columns or not 0 <= row + down < layout.rows(count):
            return
        self.move_to(min(((row + down) * layout.columns + column + right) * layout.nodes, count - 1))

    def action_cursor(self, by: int) -> None:
        """Move the cursor up or down by rows."""
        self.action_move(0, by)

    def action_page(self, by: int) -> None:
        """Move the cursor up or down by the rows that are visible, at most to the first or last row."""
        layout = self.layout_now
        row = self.cursor // layout.nodes // layout.columns
        rows = max(1, self.size.height // layout.lines)
        last = layout.rows(len(self.model.nodes)) - 1
        self.action_move(0, max(0, min(row + by * rows, last)) - row)

    def action_edge(self, last: int) -> None:
        """Move the cursor to the first or the last node."""
        self.move_to(len(self.model.nodes) - 1 if last else 0)

    def action_lens(self) -> None:
        """Show the nodes through the next lens."""
        self.model.next_lens()
        self.post_message(self.Changed())

    def action_open(self) -> None:
        """Open the node under the cursor; of a cell for several, go to the worst of them in the list of nodes."""
        layout = self.layout_now
        if layout.form is Form.GROUP and self.model.nodes:
            worst = self.model.worst(self.cursor, layout.nodes)
            self.post_message(ShowView("nodes", self.model.nodes[worst]))
        elif self.subject is not None:
            self.post_message(OpenSubject(self.subject))

    # -- the mouse -----------------------------------------------------------------------------------------------

    def _index_at(self, event: events.MouseEvent) -> int | None:
        """Return the index of the node under the mouse, of the first one of a cell; None beside the cells."""
        layout = self.layout_now
        place = self.place_of(event)
        if place is None or place.x < layout.label:
            return None
        gap = layout.gap
        column = (place.x - layout.label) // (layout.cells + gap)
        index = (place.y // layout.lines * layout.columns + column) * layout.nodes
        return index if column < layout.columns and index < len(self.model.nodes) else None

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the node under the mouse; open it on a double click."""
        index = self._index_at(event)
        if index is None:
            return
        self.move_to(index)
        if event.chain > 1:
            self.action_open()


_LEAST_ROWS = 6
_SLICE_S = 0.02  # from slice to slice of the reading
_SLICES_SHOWN = 10  # are read from drawing to drawing
_FRAME_CELLS, _FRAME_ROWS = 4, 2


class Curves(LinesView):
    """Small charts of the pool and the job in focus."""

    def __init__(self, session: Session, *, id: str = "curves") -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes="panel curves")
        self._session = session
        self._model = CurvesModel(session)
        self._catching_up: Worker[None] | None = None

    def wish(self, width: int, height: int) -> Wish | None:
        """Return the rows that the pane can use; None until there is something to draw."""
        if self._model.is_empty:
            return None
        return Wish(_LEAST_ROWS, min(height, self._model.best_rows(width - _FRAME_CELLS) + _FRAME_ROWS), MUCH)

    def update(self) -> None:
        """Draw the curves up to the moment that is shown."""
        if not self.size.height:
            return
        self._model.has_grounds = views.has_grounds(self.app.theme)
        if not (self.lines and self._model.is_behind and self._session.is_playing):
            self._show()  # which may ask for more
        is_behind = self._model.is_behind
        self._entitle(names_moment=is_behind and self._session.is_playing)
        if is_behind and (self._catching_up is None or self._catching_up.is_finished):
            self._catching_up = start_work(self, self._catch_up, "curves")  # draws, too

    on_resize = update

    def _show(self) -> None:
        self.show(self._model.lines(self.size.width, self.size.height))

    def _entitle(self, *, names_moment: bool) -> None:
        entitle(self, self._model.title, (), self._model.subtitle(names_moment=names_moment))

    async def _catch_up(self) -> None:
        """Go on reading in slices until the curves end at this moment; now and then show how far it has come."""
        for number in count(1):
            await yielder_of(self).pause(_SLICE_S)
            self._model.go_on()
            if number % _SLICES_SHOWN == 0 or not self._model.is_behind:
                self._show()  # which may ask for more
                self._entitle(names_moment=self._session.is_playing)
                if not self._model.is_behind:
                    break
