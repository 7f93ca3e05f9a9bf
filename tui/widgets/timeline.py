"""The timeline as a widget: an axis, the rows that are seen, the pool's band, what the cell under the cursor was."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.scroll_view import ScrollView

from tui.playback.yielding import yielder_of
from tui.viewmodels.text.styled import Role, Span, cut
from tui.viewmodels.timeline.pool_band import BAND
from tui.viewmodels.timeline.timeline import LABEL_CELLS
from tui.widgets.lines import strip_of
from tui.widgets.messages import GoToTime, OpenOneOf
from tui.widgets.redraw import ResizeFilter, set_line_count, set_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.strip import Strip
    from textual.worker import Worker

    from tui.viewmodels.text.styled import ItemRef, Line
    from tui.viewmodels.timeline.timeline import TimelineModel

_AXIS_LINES = 1
_TOLD_LINES = 2  # what the cell was, and the legend
_LEAST_WITH_BAND = 14  # lines there must be for the band to have room
_SCROLLBAR_CELLS = 1
_WHEEL_COLUMNS = 4
_PROGRESS_S = 0.1


class TimelineGrid(ResizeFilter, ScrollView):
    """One line for each row, one cell for each stretch of time. The cursor stays with its row."""

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
        Binding("r", "rows", "rows: nodes, tasks, jobs, preparation, release", id="timeline.rows"),
        Binding("o", "sort", "order: number, first start, busy share, trouble", id="timeline.sort"),
        Binding("O", "turn", "turn the order round", id="timeline.turn"),
        Binding("enter", "go", "go to this moment; there, open what was there", id="timeline.go"),
    ]

    def __init__(self, model: TimelineModel, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        """A grid of this model; empty until ``update``."""
        super().__init__(id=id)
        self.model = model
        self._at = 0
        self._key: int | None = None
        self._drawn: list[Line] = []
        self._catching_up: Worker[None] | None = None

    @property
    def subject(self) -> ItemRef | None:
        """What the row under the cursor is about."""
        return self.model.subject(self._at)

    @property
    def asked(self) -> ItemRef | None:
        """What is to be explained about the cell under the cursor."""
        return self.model.asked(self._at)

    @property
    def moment_ms(self) -> int | None:
        """The moment under the cursor; None where nothing is recorded."""
        return self.model.moment_ms(self._at)

    # -- looking -------------------------------------------------------------------------------------------------

    def update(self) -> None:
        """Look at the model again and draw what has changed."""
        self._refresh()
        if not self.is_behind:
            self._show()
        elif self._catching_up is None or self._catching_up.is_finished:
            self._catching_up = self.run_worker(self._catch_up())

    @property
    def is_behind(self) -> bool:
        """Whether there is more to be read or sorted before the rows that are seen show all that is recorded."""
        return self.model.is_behind(self._keys_seen)

    def show_progress(self, text: str) -> None:
        """Say below the rows how far something is; an empty text when it is over."""
        set_title(self, self.model.session.text(self.model.title()), text)

    async def _catch_up(self) -> None:
        """Read and sort on, with time for keys in between, and show how far it is."""
        next_progress_s = 0.0 if not self._drawn else time.perf_counter() + _PROGRESS_S
        while self.model.go_on(self._keys_seen):
            if time.perf_counter() >= next_progress_s:
                self._show()
                next_progress_s = time.perf_counter() + _PROGRESS_S
            await yielder_of(self).pause()
        self._refresh()
        self._show()

    def _refresh(self) -> None:
        self.model.refresh(max(1, self._cells - LABEL_CELLS))
        keys = self.model.keys
        if self._key is not None and not (self._at < len(keys) and keys[self._at] == self._key):
            at = self.model.order.index_of(self._key)
            self._at = self._at if at is None else at
        self._at = max(0, min(self._at, len(keys) - 1))
        self._key = keys[self._at] if keys else self._key

    def _show(self) -> None:
        set_title(self, self.model.session.text(self.model.title()))
        set_line_count(self, len(self.model.keys) + self.size.height - self._rows_seen)
        drawn = self._lines()
        changed = [y for y, each in enumerate(drawn) if y >= len(self._drawn) or each != self._drawn[y]]
        self._drawn = drawn
        if len(changed) * 2 > self.size.height:
            self.refresh()
        elif changed:
            self.refresh(*(Region(0, y, self.size.width, 1) for y in changed))

    @property
    def _cells(self) -> int:
        """There is always room for a scrollbar, so that columns stay as they are when it comes and goes."""
        return self.size.width - _SCROLLBAR_CELLS

    @property
    def _band_lines(self) -> int:
        return len(BAND) if self.size.height >= _LEAST_WITH_BAND else 0

    @property
    def _rows_seen(self) -> int:
        return max(1, self.size.height - _AXIS_LINES - self._band_lines - _TOLD_LINES)

    @property
    def _keys_seen(self) -> Sequence[int]:
        top = int(self.scroll_offset.y)
        return self.model.keys[top : top + self._rows_seen]

    def _lines(self) -> list[Line]:
        """All that is seen, from top to bottom."""
        model, cells = self.model, self._cells
        lines: list[Line] = [model.axis()]
        if model.keys:
            top = int(self.scroll_offset.y)
            seen = range(top, min(top + self._rows_seen, len(model.keys)))
            lines += [model.row(at, is_cursor=at == self._at) for at in seen]
        else:
            lines += [(), *(cut((Span(" " * LABEL_CELLS), Span(each, Role.DIM)), cells) for each in model.empty())]
        lines = lines[: _AXIS_LINES + self._rows_seen]
        lines += [()] * (_AXIS_LINES + self._rows_seen - len(lines))
        if self._band_lines:
            lines += model.band(self._at)
        lines += [model.told(self._at, cells), model.legend(cells)]
        return lines

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        return strip_of(self, self._drawn[y] if y < len(self._drawn) else ())

    def on_resize(self, event: events.Resize) -> None:
        """More or fewer columns fit."""
        if self.has_new_size(event):
            self._drawn = []
            self.update()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Other rows are seen."""
        super().watch_scroll_y(old_value, new_value)
        self.update()

    # -- moving --------------------------------------------------------------------------------------------------

    def move_to(self, at: int) -> None:
        """Put the cursor on the row at this place."""
        keys = self.model.keys
        self._at = max(0, min(at, len(keys) - 1))
        self._key = keys[self._at] if keys else None
        top = int(self.scroll_offset.y)
        if self._at < top:
            self.scroll_to(y=self._at, animate=False, immediate=True)
        elif self._at >= top + self._rows_seen:
            self.scroll_to(y=self._at - self._rows_seen + 1, animate=False, immediate=True)
        self.update()

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
        self.update()

    def action_zoom(self, by: int) -> None:
        """Closer, or from farther away."""
        self.model.zoom(by)
        self.update()

    def action_fit(self) -> None:
        """The whole run."""
        self.model.fit()
        self.update()

    def action_rows(self) -> None:
        """Rows of the next kind."""
        self.model.next_rows()
        self._look_at_first()

    def action_only_failed(self) -> None:
        """Only the rows where something has failed, or all again."""
        self.model.only_failed = not self.model.only_failed
        self._look_at_first()

    def action_sort(self) -> None:
        """Sort by the next thing there is to sort by."""
        self.model.order.next_sort()
        self._look_at_first()

    def action_turn(self) -> None:
        """Turn the order round."""
        self.model.order.is_turned = not self.model.order.is_turned
        self._look_at_first()

    def _look_at_first(self) -> None:
        """The rows are others, or stand in another order: the first ones matter."""
        self._key = None
        self.update()
        self.move_to(0)

    def action_go(self) -> None:
        """Look at the moment under the cursor; open what was there if that is the moment that is looked at."""
        when_ms = self.moment_ms
        if when_ms == self.model.session.now_ms:
            self.post_message(OpenOneOf(self.model.there(self._at)))
        elif when_ms is not None:
            self.post_message(GoToTime(when_ms))

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor on a row and a column, a second click goes to that moment."""
        place = event.get_content_offset(self)
        if place is None:
            return
        if LABEL_CELLS <= place.x < LABEL_CELLS + self.model.columns.number:
            self.model.move_to_column(place.x - LABEL_CELLS)
        row = place.y - _AXIS_LINES
        is_row = 0 <= row < self._rows_seen and row + int(self.scroll_offset.y) < len(self.model.keys)
        self.move_to(row + int(self.scroll_offset.y) if is_row else self._at)
        if event.chain > 1:
            self.action_go()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """With shift or ctrl the wheel goes back in time; without, it scrolls the rows."""
        if event.shift or event.ctrl:
            self.action_move(-_WHEEL_COLUMNS)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """With shift or ctrl the wheel goes on in time."""
        if event.shift or event.ctrl:
            self.action_move(_WHEEL_COLUMNS)
