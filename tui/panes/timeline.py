"""The Timeline view, which shows what each node, task or job did when, and its widget.

The widget has an axis, the visible rows, curves of the pool, details of the cell under the cursor, and a legend.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region, Size

from tui.textual.keys import start_work, yielder_of
from tui.textual.overrides import set_line_count, set_title
from tui.textual.screens import GoToTime, OpenOneOf, View
from tui.textual.views import ResizeFilter, RowsView, drawn, look_of, row_bindings
from tui.viewmodels import format as fmt
from tui.viewmodels.text import Role, Span, cut
from tui.viewmodels.timeline.lines import BAND
from tui.viewmodels.timeline.rows import band_lines
from tui.viewmodels.timeline.timeline import LABEL_CELLS, TimelineModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.strip import Strip
    from textual.worker import Worker

    from tui.viewmodels.glyphs import Glyph
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import ItemRef, Line


_AXIS_LINES = 1
_FOOTER_LINES = 2  # details of the cell under the cursor, and the legend
_LEAST_WITH_BAND = 14  # lines, for the curves of the pool to have room
_SCROLLBAR_CELLS = 1
_PROGRESS_S = 0.1


class TimelineGrid(ResizeFilter, RowsView):
    """One line for each row, one cell for each stretch of time. The cursor stays with its row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "move(-1)", "earlier", show=False, id="timeline.earlier"),
        Binding("right", "move(1)", "later", show=False, id="timeline.later"),
        Binding("shift+left,ctrl+left", "move(-20)", "much earlier", id="timeline.much-earlier"),
        Binding("shift+right,ctrl+right", "move(20)", "much later", id="timeline.much-later"),
        *row_bindings("timeline"),
        Binding("plus", "zoom(1)", "zoom in", id="timeline.closer"),
        Binding("minus", "zoom(-1)", "zoom out", id="timeline.farther"),
        Binding("asterisk", "fit", "show the whole run up to now", id="timeline.fit"),
        Binding("exclamation_mark", "only_failed", "only failed", id="timeline.failed"),
        Binding("r", "rows", "rows: nodes, tasks, jobs", id="timeline.rows"),
        Binding("enter", "go", "go to this moment; there, open what was there", id="timeline.go"),
    ]

    def __init__(self, model: TimelineModel, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """The grid is empty until ``update``."""
        super().__init__(id=id)
        self.model = model
        self._at = 0
        self._key: int | None = None
        self._drawn: list[Line] = []
        self._room = Size(0, 0)  # the size at the last update: Textual looks it up at each access
        self._catching_up: Worker[None] | None = None

    @property
    def subject(self) -> ItemRef | None:
        """The item that the row under the cursor is about."""
        return self.model.subject(self._at)

    @property
    def asked(self) -> ItemRef | None:
        """The item to explain for the cell under the cursor."""
        return self.model.item_to_explain(self._at)

    @property
    def moment_ms(self) -> int | None:
        """The moment under the cursor, None without a recorded run."""
        return self.model.moment_ms(self._at)

    # -- drawing -------------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Update the model, and draw what has changed."""
        self._refresh()
        if not self.is_behind:
            self._show()
        elif self._catching_up is None or self._catching_up.is_finished:
            self._catching_up = start_work(self, self._catch_up, "timeline")

    @property
    def is_behind(self) -> bool:
        """True while events must be read before the visible rows are complete."""
        return self.model.is_behind(self._visible_keys)

    async def _catch_up(self) -> None:
        """Continue reading in slices, and show the progress."""
        next_progress_s = 0.0 if not self._drawn else time.perf_counter() + _PROGRESS_S
        while self.model.go_on(self._visible_keys):
            if time.perf_counter() >= next_progress_s:
                self._show()
                next_progress_s = time.perf_counter() + _PROGRESS_S
            await yielder_of(self).pause()
        self._refresh()
        self._show()

    def _refresh(self) -> None:
        self._room = self.size
        self.model.update(max(1, self._cells - LABEL_CELLS), self._rows_lines)
        keys = self.model.keys
        if self._key is not None and not (self._at < len(keys) and keys[self._at] == self._key):
            with suppress(ValueError):
                self._at = keys.index(self._key)
        self._at = max(0, min(self._at, len(keys) - 1))
        self._key = keys[self._at] if keys else self._key

    def _show(self) -> None:
        set_title(self, self.model.session.text(self.model.title()))
        set_line_count(self, len(self.model.keys) + self._room.height - min(self.visible_lines, self._room.height))
        before, self._drawn = self._drawn, self._lines()
        changed = [y for y, each in enumerate(self._drawn) if y >= len(before) or each != before[y]]
        if len(changed) * 2 > self._room.height:
            self.refresh(self._room.region)
        elif changed:
            self.refresh(*(Region(0, y, self._room.width, 1) for y in changed))

    @property
    def _cells(self) -> int:
        """The width without the scrollbar, also while there is none, so that columns stay where they are."""
        return self._room.width - _SCROLLBAR_CELLS

    @property
    def _has_band(self) -> bool:
        return self._room.height >= _LEAST_WITH_BAND

    @property
    def _rows_lines(self) -> int:
        """The lines that the rows may take."""
        band = len(BAND) if self._has_band else 0
        return max(1, self._room.height - _AXIS_LINES - band - _FOOTER_LINES)

    @property
    def _curve_lines(self) -> int:
        """The lines of each curve of the pool: those that the rows leave."""
        if not self._has_band:
            return 0
        return band_lines(len(BAND), self._left // 2 if self.model.has_jobs_below else self._left)

    @property
    def _left(self) -> int:
        """The lines that the rows leave."""
        return self._rows_lines - max(2, len(self.model.keys) * self.model.height.lines)

    @property
    def _top(self) -> int:
        """The line on which the rows begin."""
        return _AXIS_LINES + len(BAND) * self._curve_lines

    @property
    def visible_lines(self) -> int:
        """The number of rows that are visible."""
        return max(1, self._rows_lines // self.model.height.lines)

    @property
    def visible_rows(self) -> range:
        """The indexes of the rows that are visible."""
        return range(self.top_line, min(self.top_line + self.visible_lines, len(self.model.keys)))

    @property
    def _visible_keys(self) -> Sequence[int]:
        return self.model.keys[self.top_line : self.top_line + self.visible_lines]

    def _lines(self) -> list[Line]:
        """Return all lines of the widget."""
        model, cells = self.model, self._cells
        lines: list[Line] = [model.axis()]
        if self._curve_lines:
            lines += model.band(self._at, self._curve_lines)
        visible = self.visible_rows
        if model.keys:
            lines += model.lines(visible, self._at)
        else:
            label = Span(" " * model.label_cells)
            lines += [(), *(cut((label, Span(each, Role.DIM)), cells) for each in model.empty())]
        last = max(0, self._room.height - _FOOTER_LINES)
        lines += model.context(last - len(lines)) if model.keys and self._left > 0 else []
        lines = lines[:last]
        lines += [()] * (last - len(lines))
        lines += [model.cursor_line(self._at, cells), model.legend(cells, visible)]
        return lines

    def render_line(self, y: int) -> Strip:
        return drawn(self.look or look_of(self), self._drawn[y] if y < len(self._drawn) else ())

    def resized(self) -> None:
        self._drawn = []
        self.update()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.update()

    # -- moving --------------------------------------------------------------------------------------------------

    @property
    def row_count(self) -> int:
        return len(self.model.keys)

    @property
    def cursor_row(self) -> int:
        return self._at

    def move_to(self, row: int) -> None:
        """Move the cursor to a row."""
        keys = self.model.keys
        self._at = max(0, min(row, len(keys) - 1))
        self._key = keys[self._at] if keys else None
        self.scroll_into_view(self._at)
        self.update()

    def action_move(self, columns: int) -> None:
        """Move the cursor to an earlier or later column."""
        self.model.move(columns)
        self.update()

    def action_zoom(self, by: int) -> None:
        """Zoom in or out."""
        self.model.zoom(by)
        self.update()

    def action_fit(self) -> None:
        """Show the whole run, with the cursor at the present moment."""
        self.model.fit()
        self.update()

    def action_rows(self) -> None:
        """Show the next kind of rows."""
        self.model.next_rows()
        self._show_first()

    def action_only_failed(self) -> None:
        """Show only rows in which something has failed, or all again."""
        self.model.only_failed = not self.model.only_failed
        self._show_first()

    def _show_first(self) -> None:
        """Show other rows, from the first one on."""
        self._key = None
        self.update()
        self.move_to(0)

    def action_go(self) -> None:
        """Go to the moment under the cursor; if that is the present one, open what was there."""
        when_ms = self.moment_ms
        if when_ms == self.model.session.now_ms:
            self.post_message(OpenOneOf(self.model.openables(self._at)))
        elif when_ms is not None:
            self.post_message(GoToTime(when_ms))

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the cell under the mouse; go to its moment on a double click."""
        place = event.get_content_offset(self)
        if place is None:
            return
        label = self.model.label_cells
        if label <= place.x < label + self.model.columns.number:
            self.model.move(place.x - label - self.model.cursor_column)
        row = (place.y - self._top) // self.model.height.lines
        is_row = 0 <= row < self.visible_lines and row + self.top_line < self.row_count
        self.move_to(row + self.top_line if is_row else self._at)
        if event.chain > 1:
            self.action_go()


class Timeline(View):
    """The pool in focus over time."""

    title = "Timeline"
    help_text = fmt.help_on("Timeline")
    hints = (
        ("timeline.closer timeline.farther", "zoom"),
        ("timeline.go", "go there"),
        ("timeline.rows", "rows"),
        ("timeline.failed", "only failed"),
        ("timeline.fit", "now"),
    )

    def __init__(self, session: Session) -> None:
        super().__init__(id="timeline")
        self._model = TimelineModel(session)
        self.grid = TimelineGrid(self._model, id="lanes")

    def compose(self) -> ComposeResult:
        yield self.grid

    def remembered(self) -> dict[str, Any]:
        return self._model.remembered()

    def recall(self, values: Mapping[str, Any]) -> None:
        self._model.recall(values)

    def follow(self) -> None:
        """Let the cursor follow the present moment again."""
        self._model.follow()

    @property
    def symbols(self) -> Iterable[Glyph]:
        return self._model.symbols(self.grid.visible_rows)

    @property
    def is_busy(self) -> bool:
        return self.grid.is_behind

    def update(self) -> None:
        self.grid.update()

    @property
    def first_pane(self) -> TimelineGrid:
        return self.grid
