"""The header: breadcrumb and clock, scrubber, tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical

from tui.viewmodels.frame.header import Transport, breadcrumb, tab_line
from tui.viewmodels.frame.scrubber import scrubber, scrubber_ms
from tui.viewmodels.text.styled import link_at
from tui.widgets.lines import LinesView
from tui.widgets.messages import GoToTime

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

    from tui.viewmodels.frame.tabs import Tab
    from tui.viewmodels.session.session import Session


class Header(Vertical):
    """The present view and moment, and the views to choose from."""

    BLANK = True  # its children cover it

    def __init__(self, session: Session, tabs: Sequence[Tab]) -> None:
        super().__init__(id="header")
        self._session = session
        self._tabs = tabs
        self._breadcrumb, self._scrubber = LinesView(id="breadcrumb"), LinesView(id="scrubber")
        self._tab_line = LinesView(id="tabs")
        self._tabs_drawn: tuple[str, int] | None = None  # the view and the width

    def compose(self) -> ComposeResult:
        """Lay out three lines. The style sheet hides the scrubber on a low screen."""
        yield from (self._breadcrumb, self._scrubber, self._tab_line)

    def set_tabs(self, tabs: Sequence[Tab]) -> None:
        """Use these tabs and keys from the next ``show`` on."""
        self._tabs, self._tabs_drawn = tabs, None

    def show(self, view: str, title: str, transport: Transport) -> None:
        """Bring the lines up to date."""
        cells = self._breadcrumb.size.width
        self._breadcrumb.show([breadcrumb(self._session, title, transport, cells)])
        if self._scrubber.display:
            self._scrubber.show([scrubber(self._session, cells)])
        if self._tabs_drawn != (view, cells):
            self._tabs_drawn = view, cells
            self._tab_line.show([tab_line(self._tabs, view, cells)])

    async def on_click(self, event: events.Click) -> None:
        """Go to the view or the moment that was clicked."""
        view = event.widget
        if not isinstance(view, LinesView):
            return
        if view.id == "scrubber":
            when_ms = scrubber_ms(self._session, event.x, self.size.width)
            if when_ms is not None:
                self.post_message(GoToTime(when_ms))
        elif isinstance(action := link_at(view.lines[0], event.x), str):
            await self.screen.run_action(action)
