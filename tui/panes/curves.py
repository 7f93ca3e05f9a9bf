"""The pane of curves over time."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from tui.playback.yielding import start_work, yielder_of
from tui.viewmodels.curves.curves import CurvesModel
from tui.viewmodels.watch.arrangement import MUCH, Wish
from tui.widgets import palette
from tui.widgets.lines import LinesView
from tui.widgets.redraw import set_title

if TYPE_CHECKING:
    from textual.worker import Worker

    from tui.viewmodels.session.session import Session


_LEAST_ROWS = 4
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
        self._model.has_grounds = palette.has_grounds(self.app.theme)
        if not self.lines or not self._model.is_behind:
            self._show()  # which may ask for more
        is_behind = self._model.is_behind
        self._entitle(names_moment=is_behind)
        if is_behind and (self._catching_up is None or self._catching_up.is_finished):
            self._catching_up = start_work(self, self._catch_up, "curves")  # draws, too

    def on_resize(self) -> None:
        """Draw anew for the size that the pane has now."""
        self.update()

    def _show(self) -> None:
        self.show(self._model.lines(self.size.width, self.size.height))

    def _entitle(self, *, names_moment: bool) -> None:
        set_title(self, self._model.title, self._model.subtitle(names_moment=names_moment))

    async def _catch_up(self) -> None:
        """Go on reading in slices until the curves end at this moment; now and then show how far it has come."""
        for number in count(1):
            await yielder_of(self).pause(_SLICE_S)
            self._model.go_on()
            if number % _SLICES_SHOWN == 0 or not self._model.is_behind:
                self._show()  # which may ask for more
                self._entitle(names_moment=self._model.is_behind or self._session.is_playing)
                if not self._model.is_behind:
                    break
