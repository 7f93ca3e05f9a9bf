"""The main screen: the views of one simulation, with all keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.screens.command_keys import CommandKeys
from tui.screens.go_line_keys import GoLineKeys
from tui.screens.information_keys import InformationKeys
from tui.screens.list_keys import ListKeys
from tui.viewmodels.frame.tabs import VIEW_NAMES

if TYPE_CHECKING:
    from tui.saving.recorder import Recorder
    from tui.settings.values import Settings
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.study.model import Studies


class MainScreen(CommandKeys, InformationKeys, ListKeys, GoLineKeys):
    """One simulation on the screen."""

    AUTO_FOCUS = ""  # the view focuses its first pane itself
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (60, "-narrow"), (100, "-wide"), (160, "-broad")]  # noqa: RUF012  # as Textual declares it
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (16, "-low"), (24, "-short"), (36, "-tall")]  # noqa: RUF012  # as Textual declares it

    def __init__(
        self,
        session: Session,
        recorder: Recorder,
        settings: Settings,
        *,
        at_ms: int = 0,
        plays: bool = False,
        view: str = "watch",
        studies: Studies | None = None,
    ) -> None:
        """Create the screen of a run.

        Args:
            session: The run, and the choices of its viewer.
            recorder: The recorder that saves what is done by hand.
            settings: The user's settings.
            at_ms: The moment to begin with, in ms after the start.
            plays: Let time advance from there.
            view: The view to begin with.
            studies: The studies of the dashboard.
        """
        super().__init__(session, recorder, settings)
        self.studies = studies or self.studies
        self._at_ms = at_ms
        self._plays = plays
        self._first_view = view
        self.hold_frames()  # until the first complete one

    def on_mount(self) -> None:
        if self._first_view in VIEW_NAMES:
            self.show_view(self._first_view)
        self.view.first_pane.focus()
        # Before the application has started, Textual calls back without a layout.
        self.app.call_later(self.call_after_refresh, self._begin)

    def _begin(self) -> None:
        """Go to the first moment, now that panes have sizes, and show the first frame when they are filled."""
        if self._at_ms:
            self.playback.seek(self._at_ms, self.playback.play if self._plays else None)
        else:
            self.update()
            if self._plays and not self.session.is_over:
                self.playback.play()
        self.call_after_refresh(self.draw_frames)

    def on_unmount(self) -> None:
        self.playback.pause()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Fill the panes for their new size. On a terminal that was too small none kept the focus."""
        self.update()
        if self.focused is None:
            self._first_pane.focus()

    def on_descendant_focus(self) -> None:
        """Show the hints of the pane that has the focus now."""
        if not self.is_left:
            self.show_hints()
