"""The pane of the node map: cells, legend, and a description of the node under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.containers import Vertical

from tui.dialogs.picker import Pick, Picker
from tui.viewmodels.node_map.cards import Cards
from tui.viewmodels.node_map.layout import Form
from tui.viewmodels.node_map.lenses import LENSES
from tui.viewmodels.node_map.model import NodeMapModel
from tui.viewmodels.text.styled import cut
from tui.viewmodels.watch.arrangement import Wish
from tui.widgets.legend import Legend
from tui.widgets.lines import LinesView
from tui.widgets.node_map import NodeMap
from tui.widgets.redraw import set_title

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.app import ComposeResult

    from tui.viewmodels.session.session import Session

_FRAME, _LEGEND = 2, 2  # lines, those of the legend at most
_SIDES = 4  # cells of frame and padding
_LOW = 6  # lines; a lower pane has a legend of one line and no description
_LOW_VIEW = 24  # lines
_MORE_OUTPUT = 3  # lines by which each card can grow at most


class NodeMapPane(Vertical):
    """The node map with its legend."""

    allow_maximize = True

    def __init__(self, session: Session) -> None:
        super().__init__(id="map-pane", classes="panel")
        self._model = NodeMapModel(session)
        self._cards = Cards(self._model)
        self._node_map = NodeMap(self._model, id="map")
        self._legend = Legend(self._model, id="legend")
        self._described = LinesView(id="described")
        self._wish: tuple[object, Wish] = (None, Wish(0, 0, 0))
        self._shown: object = None  # what title, legend and description of groups of nodes were made from

    def compose(self) -> ComposeResult:
        yield self._node_map
        yield self._legend
        yield self._described

    @property
    def is_built(self) -> bool:
        """True while the nodes are on the screen: not before the pane is mounted, nor while its run is being left."""
        return self._node_map.is_attached

    @property
    def nodes(self) -> NodeMap:
        """The widget that draws the nodes."""
        return self._node_map

    def remembered(self) -> dict[str, Any]:
        """Return the user's choices."""
        return self._model.remembered()

    def recall(self, values: Mapping[str, Any]) -> None:
        """Restore the user's choices."""
        self._model.recall(values)

    def on_show(self) -> None:
        """Show whether the focus is within, which may have gone while the pane was hidden."""
        self.app.stylesheet.update_nodes((self,))

    def update(self) -> None:
        node_map = self._node_map
        node_map.update()
        size, room, model = self.size, node_map.size, self._model
        layout = model.layout(*room)
        shown = model.changes, layout, size, room, node_map.first_in(layout), model.only, model.session.glyphs
        if layout.form is Form.GROUP and shown == self._shown:
            return
        self._shown = shown
        cells, is_low = max(1, room.width), size.height < _LOW
        legend = min(1 if is_low else _LEGEND, model.legend_lines(cells))
        self._legend.update(legend)
        self._describe(0 if is_low else self._described_lines(cells, size.height - legend))
        set_title(self, model.title(size.width, layout))

    def wish(self, width: int, height: int) -> Wish:
        """Return the rows for the nodes, with the legend: cards in three fifths of the view, else half of it.

        In a low view it is two fifths at most: the lists need room as well.
        """
        model = self._model
        wanted = model.changes, model.needs(), model.session.glyphs, width, height
        if self._wish[0] != wanted:
            self._wish = wanted, self._new_wish(width - _SIDES, height)
        return self._wish[1]

    def _new_wish(self, cells: int, height: int) -> Wish:
        model = self._model
        count = max(1, len(model.nodes))
        of_words = _FRAME + min(_LEGEND, model.legend_lines(cells))
        of_cells = of_words + 1  # for the description of the node under the cursor
        of_cards, of_others = (
            (height * 2 // 5, height * 2 // 5) if height < _LOW_VIEW else (height * 3 // 5, height // 2)
        )
        best = model.layout(cells, of_cards - of_words)
        if best.form is not Form.CARD:
            best = model.layout(cells, of_others - of_cells)
        rest = of_words if best.form in (Form.CARD, Form.LINE) else of_cells
        lines = best.height(count) + rest
        can_grow = min(_MORE_OUTPUT, model.needs().card_most - best.lines) if best.form is Form.CARD else 0
        rows = best.rows(count)
        least = min(lines, model.layout(cells, 2).height(count) + of_cells)
        return Wish(least, lines, lines + rows * can_grow, rows if can_grow else 1)

    def _described_lines(self, cells: int, room: int) -> int:
        """Return the lines for the node under the cursor below the nodes: those that are left, or one.

        Nodes in words describe themselves. Whether there is room for words must not depend on the description.
        """
        if self._model.layout(cells, room).form in (Form.CARD, Form.LINE):
            return 0
        return max(1, room - self._model.layout(cells, room - 1).height(len(self._model.nodes)))

    def _describe(self, lines: int) -> None:
        """Say in so many lines what the node under the cursor is and does, or how the nodes of a cell are."""
        described, node_map = self._described, self._node_map
        described.display = lines > 0
        if lines:
            described.styles.height = lines
            index, count, cells = node_map.cursor, node_map.layout_now.nodes, self.size.width
            is_node = count == 1 and index < len(self._model.nodes)
            more = self._cards.below(index, cells, lines - 1) if is_node and lines > 1 else []
            described.show([cut(self._model.description(index, cells, count), cells), *more])

    def show_all(self) -> bool:
        """Dim no nodes any more, else leave a zoom; return whether there was one of them."""
        if self._model.only is not None:
            self._model.only = None
            return True
        return self._node_map.zoom_out()

    def on_node_map_changed(self) -> None:
        """Update legend and description with the map."""
        self.update()

    def on_node_map_legend_wanted(self) -> None:
        """Go on from the last row of nodes to the legend."""
        if self._legend.entry is not None:
            self._legend.focus()

    def on_legend_left(self) -> None:
        """Go back from the first line of the legend to the nodes."""
        self._node_map.focus()

    def on_node_map_lens_wanted(self) -> None:
        """Let the user choose a lens."""

        def picked(number: int | None) -> None:
            if number is not None:
                self._model.look_through(LENSES[number])
                self.update()

        picks = [Pick(str(number), lens.value) for number, lens in enumerate(LENSES, 1)]
        self.app.push_screen(Picker("Lens of the node map", picks, pointer=self._model.session.glyphs.cursor), picked)
