"""The timeline as a widget: an axis, the rows that are seen, what the cell under the cursor was."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.scroll_view import ScrollView

from tui.messages import GoTo
from tui.viewmodels.text import Role, Span, cut
from tui.viewmodels.timeline import LABEL_CELLS
from tui.widgets.lines import strip_of
from tui.widgets.resized import Resized
from tui.widgets.title import entitle

if TYPE_CHECKING:
    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.subject import Subject
    from tui.viewmodels.text import Line
    from tui.viewmodels.timeline import TimelineModel

_ABOVE, _BELOW = 1, 2  # the axis; what the cell was, and the legend


class TimelineGrid(Resized, ScrollView):
    """One line for each row, one cell for each stretch of time."""

    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "move(-1)", "earlier", show=False, id="timeline.earlier"),
        Binding("right", "move(1)", "later", show=False, id="timeline.later"),
        Binding("shift+left,ctrl+left", "move(-20)", "much earlier", id="timeline.much-earlier"),
        Binding("shift+right,ctrl+right", "move(20)", "much later", id="timeline.much-later"),
        Binding("up,k", "cursor(-1)", "row up", show=False, id="timeline.up"),
        Binding("down,j", "cursor(1)", "row down", show=False, id="timeline.down"),
        Binding("pageup", "page(-1)", "page up", show=False, id="timeline.page-up"),
        Binding("pagedown", "page(1)", "page down", show=False, id="timeline.page-down"),
        Binding("home", "edge(0)", "first row", show=False, id="timeline.first"),
        Binding("end", "edge(1)", "last row", show=False, id="timeline.last"),
        Binding("plus", "zoom(1)", "look closer", id="timeline.closer"),
        Binding("minus", "zoom(-1)", "look from farther away", id="timeline.farther"),
        Binding("n", "fit", "now: the whole run again", id="timeline.fit"),
        Binding("exclamation_mark", "only_failed", "only failed", id="timeline.failed"),
        Binding("r", "rows", "rows: nodes, tasks, jobs", id="timeline.rows"),
        Binding("enter", "go", "go to this moment", id="timeline.go"),
    ]

    def __init__(self, model: TimelineModel, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """A grid of this model; empty until ``look``."""
        super().__init__(id=id)
        self.model = model
        self._at = 0
        self._drawn: list[Line] = []

    @property
    def subject(self) -> Subject | None:
        """What the row under the cursor is about."""
        return self.model.subject(self._at)

    @property
    def moment_ms(self) -> int | None:
        """The moment under the cursor; None where nothing is recorded."""
        return self.model.moment_ms(self._at)

    def look(self) -> None:
        """Look at the model again and draw what has changed."""
        self.model.refresh(max(1, self.size.width - LABEL_CELLS))
        entitle(self, self.model.session.text(self.model.title()))
        self._at = max(0, min(self._at, len(self.model.keys) - 1))
        height = len(self.model.keys) + _ABOVE + _BELOW
        if self.virtual_size != (self.size.width, height):
            self.virtual_size = Size(self.size.width, height)
        drawn = [self._line(y) for y in range(self.size.height)]
        if drawn != self._drawn:
            self._drawn = drawn
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        return strip_of(self, self._drawn[y] if y < len(self._drawn) else ())

    @property
    def _rows_seen(self) -> int:
        return max(1, self.size.height - _ABOVE - _BELOW)

    def _line(self, y: int) -> Line:
        model, cells = self.model, self.size.width
        if y < _ABOVE:
            return cut(model.axis(), cells)
        if not model.keys:
            empty = model.empty()
            return (Span(" " * LABEL_CELLS), Span(empty[y - 2], Role.DIM)) if 2 <= y < 2 + len(empty) else ()
        if y == self.size.height - 2:
            return model.told(self._at, cells)
        if y == self.size.height - 1:
            return cut(model.legend(cells), cells)
        at = y - _ABOVE + int(self.scroll_offset.y)
        if at >= len(model.keys) or y >= _ABOVE + self._rows_seen:
            return ()
        return cut(model.row(at, is_cursor=at == self._at), cells)

    def on_resize(self, event: events.Resize) -> None:
        """More or fewer columns fit."""
        if self.has_other_size(event):
            self._drawn = []
            self.look()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows are seen."""
        super().watch_scroll_y(old_value, new_value)
        self.look()

    # -- moving --------------------------------------------------------------------------------------------------

    def move_to(self, at: int) -> None:
        """Put the cursor on the row at this place."""
        self._at = max(0, min(at, len(self.model.keys) - 1))
        top = int(self.scroll_offset.y)
        if self._at < top:
            self.scroll_to(y=self._at, animate=False, immediate=True)
        elif self._at >= top + self._rows_seen:
            self.scroll_to(y=self._at - self._rows_seen + 1, animate=False, immediate=True)
        self.look()

    def action_cursor(self, by: int) -> None:
        """Some rows up or down."""
        self.move_to(self._at + by)

    def action_page(self, by: int) -> None:
        """A page up or down."""
        self.move_to(self._at + by * max(1, self._rows_seen - 1))

    def action_edge(self, last: int) -> None:
        """The first or the last row."""
        self.move_to(len(self.model.keys) - 1 if last else 0)

    def action_move(self, columns: int) -> None:
        """Some columns earlier or later."""
        self.model.move(columns)
        self.look()

    def action_zoom(self, by: int) -> None:
        """Closer, or from farther away."""
        self.model.zoom(by)
        self.look()

    def action_fit(self) -> None:
        """The whole run."""
        self.model.fit()
        self.look()

    def action_rows(self) -> None:
        """Rows of the next kind."""
        self.model.next_rows()
        self.move_to(0)

    def action_only_failed(self) -> None:
        """Only the rows where something has failed, or all again."""
        self.model.only_failed = not self.model.only_failed
        self.look()
        self.move_to(0)

    def action_go(self) -> None:
        """Look at the moment under the cursor."""
        when_ms = self.moment_ms
        if when_ms is not None:
            self.post_message(GoTo(when_ms))

    def on_click(self, event: events.Click) -> None:
        """A click selects a cell, a second click goes to its moment."""
        place = event.get_content_offset(self)
        if place is None or not _ABOVE <= place.y < _ABOVE + self._rows_seen:
            return
        if place.x >= LABEL_CELLS:
            self.model.move_to_column(place.x - LABEL_CELLS)
        self.move_to(place.y - _ABOVE + int(self.scroll_offset.y))
        if event.chain > 1:
            self.action_go()
