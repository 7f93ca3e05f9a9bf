"""The application: one deck over one simulation."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import NoColor

from tui import palette
from tui.endings import told_by_signals
from tui.recorder import Recorder
from tui.screens.deck import Deck
from tui.settings import Settings, SettingsFile
from tui.targets import TargetError
from tui.viewmodels.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.filter import LineFilter
    from textual.screen import Screen

    from engine import Simulation

# Nearly nothing here is garbage that counting does not find, and to look for it takes longer than a frame may.
_THRESHOLDS = (1000, 1000, 1000)


def show_dashboard(
    simulation: Simulation, *, at_ms: int = 0, speed: float | None, plays: bool, theme: str | None, ascii_only: bool
) -> int:
    """Open the dashboard at a moment until it is left; returns the exit status. What was done by hand is never lost.

    ``speed`` and ``theme`` None are those that the user has chosen last; speed 0 is as fast as it can.
    """
    calm_collector()
    file = SettingsFile()
    settings, wrong = file.read()
    app = Dashboard(
        simulation,
        settings,
        at_ms=at_ms,
        speed=(settings.speed if speed is None else speed) or None,
        plays=plays,
        theme=theme or settings.theme,
        ascii_only=ascii_only or settings.ascii or not _draws_unicode(),
        notes=wrong,
    )
    try:
        with told_by_signals(app.recorder.rescue, app.leave_soon):
            app.run()
    finally:
        app.recorder.rescue()
        for said in app.recorder.told:
            _tell(said)
        app.remember()
        try:
            file.write(settings)
        except (OSError, TargetError) as error:
            _tell(f"{error}; the settings are not remembered.")
    return app.return_code or 0


def calm_collector() -> None:
    """Keep the collector from what somebody who waits for a key would notice: what there is now, stays."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def _tell(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201  # the dashboard is gone


def _draws_unicode() -> bool:
    """Whether the terminal can be expected to draw more than ASCII."""
    return sys.stdout.encoding.lower().startswith("utf") and os.environ.get("TERM") != "dumb"


class Dashboard(App[None]):
    """The dashboard of a simulation."""

    TITLE = "batchdeck"
    CSS_PATH = "styles/deck.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c", "leave", "quit", show=False, id="interrupt")]

    def __init__(
        self,
        simulation: Simulation,
        settings: Settings | None = None,
        *,
        at_ms: int = 0,
        speed: float | None = 60,
        plays: bool = True,
        theme: str = palette.DARK,
        ascii_only: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        """A dashboard that goes to ``at_ms`` first, and then on at ``speed`` simulated seconds per second.

        What is to be remembered is entered into ``settings``; ``notes`` are said at the start.
        """
        super().__init__()
        self.session = Session(simulation, ascii_only=ascii_only)
        self.recorder = Recorder(simulation)
        self._settings = settings or Settings()
        self._notes = notes
        self._deck = Deck(self.session, self.recorder, self._settings, at_ms=at_ms, speed=speed, plays=plays)
        self._leaves_in: asyncio.AbstractEventLoop | None = None
        self._begun_with = theme, speed
        for known in palette.themes():
            self.register_theme(known)
        self.theme = palette.NO_COLOUR if self.no_color else theme
        self.set_class(ascii_only, "-ascii")

    def on_load(self) -> None:
        """The loop runs from now on."""
        self._leaves_in = asyncio.get_running_loop()

    async def on_event(self, event: events.Event) -> None:
        """Whoever has pressed a key does not wait for time to go by."""
        if isinstance(event, events.Key):
            self._deck.playback.pacer.make_way()
        await super().on_event(event)

    def get_default_screen(self) -> Screen[None]:
        """The deck."""
        return self._deck

    def on_mount(self) -> None:
        """The user's keys, and what there is to say at the start."""
        self.set_keymap(self._deck.keymap.changed)
        for note in (*self._notes, *(f"keys: {each}" for each in self._deck.keymap.wrong)):
            self._deck.say(note, "warning")

    def remember(self) -> None:
        """Enter theme and speed into the settings if they were changed here."""
        theme, speed = self._begun_with
        if self.theme != theme and self.theme in palette.THEME_NAMES:
            self._settings.theme = self.theme
        if self._deck.playback.pacer.speed != speed:
            self._settings.speed = self._deck.playback.pacer.speed or 0

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Without colours nothing that is drawn has one, whatever drew it."""
        return [NoColor()] if self.theme == palette.NO_COLOUR else super().get_line_filters()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The command palette finds what the keys of the deck do."""
        if isinstance(screen, Deck):
            bindings = {one.binding.id: one.binding for one in screen.active_bindings.values() if one.node is screen}
            for identity, binding in bindings.items():
                if identity and identity not in ("quit", "go.back"):
                    action = partial(screen.run_action, binding.action)
                    yield SystemCommand(binding.description.capitalize(), binding.key, action)
        for name in palette.THEME_NAMES:
            yield SystemCommand(f"Theme {name}", "how everything is drawn", partial(setattr, self, "theme", name))
        yield SystemCommand("Quit", "leave the dashboard", self.action_quit)

    def action_leave(self) -> None:
        """Ctrl+C ends the way to another moment, and else the dashboard, as it ends any command."""
        deck = self.screen_stack[0]
        if not (isinstance(deck, Deck) and deck.playback.stop_on_the_way()):
            self.exit(return_code=130)

    def leave_soon(self, status: int) -> None:
        """Leave with this status; from a signal handler, in the midst of anything."""
        if self._leaves_in is None:
            raise SystemExit(status)
        self._leaves_in.call_soon_threadsafe(partial(self.exit, return_code=status))
