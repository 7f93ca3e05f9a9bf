"""The dialog that searches for a name everywhere, while it is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.dialogs.finder import Finder
from tui.playback.yielding import start_work, yielder_of
from tui.viewmodels.frame.search import Search, Target, search_heading, search_lines

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session

_SLICE_S = 0.02


class SearchDialog(Finder[Target | None]):
    """Returns what was chosen: an item, a file, an event, or a whole list."""

    def __init__(self, session: Session, typed: str = "") -> None:
        super().__init__(
            "Find", "a part of a name, an exit code, an error code ...", pointer=session.glyphs.cursor, typed=typed
        )
        self._session = session
        self._search = Search(session, "")
        self._targets: list[Target] = []

    @property
    def is_done(self) -> bool:
        """True if everything has been looked at for what is typed."""
        return self._search.is_done

    def find(self, text: str) -> None:
        """Begin to search for another text; the search goes on between key presses."""
        if text.strip() != self._search.text or not self._search.groups:
            self._search = Search(self._session, text)
            start_work(self, self._go_on, "search")
        self._show()

    async def _go_on(self) -> None:
        search, yielder = self._search, yielder_of(self)
        while search.advance(_SLICE_S):
            self._show()
            await yielder.pause()
        self._show()

    def _show(self) -> None:
        lines, self._targets = search_lines(self._search, self.cells)
        self.show(search_heading(self._search), lines)

    def choose(self, number: int) -> None:
        """Close, and open what is under the cursor."""
        if number < len(self._targets):
            self.dismiss(self._targets[number])
