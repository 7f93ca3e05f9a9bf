"""The jobs strip as a pane: its cursor chooses the job in focus."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui.viewmodels.text.styled import ItemRef, Role, Span
from tui.viewmodels.watch.arrangement import Wish
from tui.viewmodels.watch.strip import JobStripModel
from tui.widgets.cursor import RowsView, row_bindings
from tui.widgets.lines import strip_of
from tui.widgets.messages import OpenSubject
from tui.widgets.redraw import ResizeFilter, refresh_changes, set_line_count, set_title

if TYPE_CHECKING:
    from textual import events
    from textual.strip import Strip

    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import Line

_POINTER_CELLS = 2
_PHASES = 3  # of a job: preparation, tasks and release
_TITLE_CELLS = 8  # of the frame beside its title


class JobStrip(ResizeFilter, RowsView):
    """A line for each job; the one under the cursor is in focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *row_bindings("jobs"),
        Binding("enter", "open", "open the job", id="jobs.open"),
    ]

    class Focused(Message):
        """Another job is in focus."""

    def __init__(self, session: Session) -> None:
        super().__init__(id="strip")
        self._session = session
        self.model = JobStripModel(session)
        self._lines: list[Line] = []
        self._at = 0, 0  # the row in focus and the height of the pane, when it was made visible

    @property
    def subject(self) -> ItemRef | None:
        """The job in focus."""
        return ItemRef("job", self._session.job_id) if self._session.job_id else None

    @property
    def row_count(self) -> int:
        return len(self.model.job_ids)

    @property
    def cursor_row(self) -> int:
        return self.model.row

    def wish(self, width: int, height: int) -> Wish:  # noqa: ARG002  # all panes have the same signature
        """Return the rows for the jobs that are worth a line; of a single job those of its phases at least."""
        lines, frame = self.model.line_count(), self.gutter.height
        return Wish(min(_PHASES if self.model.is_single else 1, lines) + frame, lines + frame, lines + frame)

    def update(self) -> None:
        """Read the jobs again, and draw the lines that have changed."""
        self.model.update()
        width, height = self.size
        if not width:
            return  # in the first frame the pane has no room yet
        set_line_count(self, height if self.model.is_single else self.row_count)
        if self._at != (self.model.row, height):
            self._at = self.model.row, height
            self.scroll_into_view(self.model.row)
        room = self.outer_size.width - _TITLE_CELLS
        set_title(self, self.model.title(height, room), self.model.subtitle(room))
        self._draw(width, height)

    def on_resize(self, event: events.Resize) -> None:
        """Draw anew for the size that the pane has now."""
        if self.has_new_size(event):
            self.update()

    def _draw(self, width: int, height: int) -> None:
        lines = self.model.lines(max(1, width - _POINTER_CELLS), height, self.top_line)
        before, self._lines = self._lines, lines
        refresh_changes(self, before, lines)

    def render_line(self, y: int) -> Strip:
        spans = self._lines[y] if y < len(self._lines) else ()
        is_cursor = not self.model.is_single and y + self.top_line == self.model.row
        # Without the focus there is no cursor that enter could mean: a dot marks the job that all views show.
        glyphs = self._session.glyphs
        mark = "" if not is_cursor else glyphs.cursor if self.has_focus else glyphs.dot
        pointer = Span(mark.ljust(_POINTER_CELLS), Role.STRONG if self.has_focus else Role.DIM)
        return strip_of(self, (pointer, *spans), is_cursor=is_cursor and self.has_focus)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._draw(*self.size)

    def move_to(self, row: int) -> None:
        """Put another job in focus."""
        if not self.row_count:
            return
        self._session.focus_job(self.model.job_ids[max(0, min(row, self.row_count - 1))])
        self.post_message(self.Focused())

    def action_open(self) -> None:
        """Open the job in focus."""
        if self.subject is not None:
            self.post_message(OpenSubject(self.subject))

    def on_click(self, event: events.Click) -> None:
        """Put the job under the mouse in focus; open it on a double click."""
        place = self.place_of(event)
        if place is None:
            return
        if not self.model.is_single and place.y < self.row_count:
            self.move_to(place.y)
        if event.chain > 1:
            self.action_open()
