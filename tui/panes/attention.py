"""The pane of problems that need attention, in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.watch.arrangement import Wish
from tui.viewmodels.watch.attention import AttentionModel
from tui.widgets.choices import Choices
from tui.widgets.messages import GoToTime, ShowSheet, ShowView
from tui.widgets.redraw import ResizeFilter, set_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events

    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef

_FEWEST_CELLS = 10
_TITLE_CELLS = 28
_LEAST_LINES, _BEST_LINES = 5, 14


class Attention(ResizeFilter, Choices):
    """Groups of problems. Keys open, explain, mark and act on a whole group."""

    def __init__(self, session: Session) -> None:
        super().__init__(session.glyphs.cursor, id="attention")
        self._model = AttentionModel(session)

    @property
    def subjects(self) -> Sequence[ItemRef]:
        """All items of the group under the cursor."""
        return self._model.subjects(self.number)

    @property
    def subject(self) -> ItemRef | None:
        """The first of these items."""
        return self._model.subject(self.number)

    @property
    def worst(self) -> ItemRef | None:
        """The first item of the worst problem; None while nothing has failed."""
        return self._model.worst

    def update(self) -> None:
        self._model.update()
        self.pointer = self._model.session.glyphs.cursor
        count = len(self._model.concerns)
        title = "Needs attention" if self.outer_size.width >= _TITLE_CELLS else "Attention"
        set_title(self, f"{title} ({count})" if count else title)
        room = self.outer_size.width - self.gutter.width - self.styles.scrollbar_size_vertical
        rows = self.outer_size.height - self.gutter.height
        self.show(self._model.lines(max(_FEWEST_CELLS, room - self.POINTER_CELLS), rows))

    def on_resize(self, event: events.Resize) -> None:
        """Break the lines anew: the first ones are drawn before the pane has its size."""
        if self.has_new_size(event):
            self.update()

    def wish(self, width: int, height: int) -> Wish:  # noqa: ARG002  # all panes have the same signature
        """Return the rows for all problems; at least the first one is shown."""
        room = width - self.gutter.width - self.styles.scrollbar_size_vertical - self.POINTER_CELLS
        lines = len(self._model.lines(max(_FEWEST_CELLS, room))) + self.gutter.height
        return Wish(min(lines, _LEAST_LINES), min(lines, _BEST_LINES), lines)

    def on_choices_chosen(self, message: Choices.Chosen) -> None:
        """Show the list with the items of the group; their job or pool gets the focus. Go to what is coming."""
        message.stop()
        concern = self._model.concerns[message.number]
        if concern.is_coming:
            self.post_message(GoToTime(concern.since_ms))
            return
        there = self._model.destination(message.number)
        if there.is_sheet:
            self.post_message(ShowSheet(there.view))
        else:
            self.post_message(ShowView(there.view, there.row, there.focus))
