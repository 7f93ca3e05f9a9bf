"""The pane of the node map: cells, legend, and a description of the node under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.containers import Vertical

from tui.dialogs.picker import Pick, Picker
from tui.viewmodels.node_map.cells import NodeMapModel
from tui.viewmodels.node_map.lenses import LENSES
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

_REST = 5  # lines of frame, legend and description
_SIDES = 10  # cells of frame and labels
_IN_WORDS = 12  # nodes that have a line each if there is room
_LOW = 10  # lines; a lower pane has a legend of one line and no description


class NodeMapPane(Vertical):
    """The node map with its legend."""

    allow_maximize = True

    def __init__(self, session: Session) -> None:
        super().__init__(id="map-pane", classes="panel")
        self._model = NodeMapModel(session)

    def compose(self) -> ComposeResult:
        yield NodeMap(self._model, id="map")
        yield Legend(self._model, id="legend")
        yield LinesView(id="described")

    def remembered(self) -> dict[str, Any]:
        """Return the user's choices."""
        return self._model.remembered()

    def recall(self, values: Mapping[str, Any]) -> None:
        """Restore the user's choices."""
        self._model.recall(values)

    def update(self) -> None:
        self.query_one(NodeMap).update()
        is_low = self.size.height < _LOW
        self.query_one(Legend).update(1 if is_low else 2)
        self._describe(is_low=is_low)
        set_title(self, self._model.title(self.size.width))

    def wish(self, width: int, height: int) -> Wish:  # noqa: ARG002  # all panes have the same signature
        """Return the rows for all nodes, with the legend and the description."""
        nodes = max(2, len(self._model.nodes))
        row = max(10, (width - _SIDES) // 2 // 10 * 10)
        cells = -(-nodes // row)
        lines = nodes if nodes <= _IN_WORDS else max(2, cells)
        return Wish(min(lines, 2) + _REST, lines + _REST, lines + _REST)

    def _describe(self, *, is_low: bool) -> None:
        described = self.query_one("#described", LinesView)
        described.display = not is_low
        described.show([cut(self._model.description(self.query_one(NodeMap).cursor), described.size.width)])

    def show_all(self) -> bool:
        """Dim no nodes any more; return whether some were dimmed."""
        was_dimmed = self._model.only is not None
        self._model.only = None
        return was_dimmed

    def on_node_map_changed(self) -> None:
        """Update legend and description with the map."""
        self.update()

    def on_node_map_lens_wanted(self) -> None:
        """Let the user choose a lens."""

        def picked(number: int | None) -> None:
            if number is not None:
                self._model.look_through(LENSES[number])
                self.update()

        picks = [Pick(str(number), lens.value) for number, lens in enumerate(LENSES, 1)]
        self.app.push_screen(Picker("Lens of the node map", picks, pointer=self._model.session.glyphs.cursor), picked)
