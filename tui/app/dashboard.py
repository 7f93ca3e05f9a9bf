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
from textual.filter import Monochrome, NoColor
from textual.widgets import Input, TextArea

from tui.app.keyboard import Keyboard
from tui.app.signals import told_by_signals
from tui.dialogs.rules import RuleSheet, rules_on
from tui.dialogs.settings import SettingsScreen
from tui.playback.yielding import Way
from tui.saving.recorder import Recorder
from tui.saving.targets import TargetError
from tui.screens.deck import Deck
from tui.settings.file import SettingsFile
from tui.settings.options import NO_COLOUR, OPTIONS, Value
from tui.settings.values import Settings, Source
from tui.viewmodels.frame.tabs import TABS, VIEW_NAMES
from tui.viewmodels.session.session import Session
from tui.viewmodels.text.glyphs import GlyphSet
from tui.widgets import palette

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
    settings, wrong = file.read(VIEW_NAMES)
    _use_environment(settings)
    given: dict[str, Value | None] = {"speed": speed, "theme": theme, "glyphs": "ascii" if ascii_only else None}
    for name, value in given.items():
        if value is not None:
            settings.use(name, value, Source.COMMAND_LINE)
    introduces = bool(settings.value("introduction"))
    app = Dashboard(simulation, settings, at_ms=at_ms, plays=plays, introduces=introduces, notes=wrong)
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


def _use_environment(settings: Settings) -> None:
    """What the terminal can do, or is asked for with ``NO_COLOR``."""
    is_dumb = os.environ.get("TERM") == "dumb"
    if is_dumb or os.environ.get("NO_COLOR"):
        settings.use("theme", NO_COLOUR, Source.ENVIRONMENT)
    if is_dumb:
        settings.use("glyphs", "ascii", Source.ENVIRONMENT)


def calm_collector() -> None:
    """Keep the collector from what somebody who waits for a key would notice: what there is now, stays."""
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def _tell(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201  # the dashboard is gone


class Dashboard(App[None]):
    """The dashboard of a simulation."""

    TITLE = "batchdeck"
    CSS_PATH = "../styles/deck.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "leave", "quit", show=False, id="interrupt"),
        Binding("s", "settings", "settings", id="settings"),
        Binding("K", "rules", "the rules on the screen: what they say", priority=True, id="rules"),
    ]

    def __init__(
        self,
        simulation: Simulation,
        settings: Settings | None = None,
        *,
        at_ms: int = 0,
        plays: bool = True,
        introduces: bool = False,
        notes: Sequence[str] = (),
    ) -> None:
        """A dashboard that goes to ``at_ms`` first.

        What is to be remembered is entered into ``settings``. At the start ``notes`` are said, and to whom is new what
        the first keys are.
        """
        super().__init__()
        self.settings = settings or Settings()
        self.session = Session(simulation)
        self.recorder = Recorder(simulation)
        self._notes = notes
        self._introduces = introduces
        self._draws_unicode = (sys.stdout.encoding or "").lower().startswith("utf")  # Textual puts another one there
        self.deck = Deck(self.session, self.recorder, self.settings, at_ms=at_ms, plays=plays)
        self.keyboard = Keyboard(self)
        self._leaves_in: asyncio.AbstractEventLoop | None = None
        for known in palette.themes():
            self.register_theme(known)
        for name in OPTIONS:
            self._apply(name)

    def on_load(self) -> None:
        """The loop runs from now on."""
        self._leaves_in = asyncio.get_running_loop()

    async def on_event(self, event: events.Event) -> None:
        """Whoever has pressed a key does not wait for time to go by, and types where the key before has led."""
        is_typed = isinstance(event, events.Key | events.Paste) and not event.is_forwarded
        if is_typed:
            self.way.make()
        if is_typed and self.keyboard.holds(event):
            return
        if is_typed:
            self.deck.end_introduction()
        await super().on_event(event)
        if is_typed:
            self.keyboard.follow()

    @property
    def way(self) -> Way:
        """What is done in pieces leaves it to the keys."""
        return self.deck.playback.pacer.way

    def get_default_screen(self) -> Screen[None]:
        """The deck."""
        return self.deck

    def on_mount(self) -> None:
        """The user's keys, and what there is to say at the start."""
        self.set_keymap(self.deck.keymap.changed)
        for note in (*self._notes, *(f"keys: {each}" for each in self.deck.keymap.wrong)):
            self.deck.say(note, "warning")
        if self._introduces:
            self.deck.introduce()
            self.settings.choose("introduction", False)

    def choose(self, name: str, value: Value | None) -> None:
        """Take a value of an option from now on, at once; None is its default."""
        if value is None:
            self.settings.forget(name)
        else:
            self.settings.choose(name, value)
        self._apply(name)
        if self.deck.is_running:
            self.deck.look()

    def rebind(self, identity: str, key: str | None) -> str:
        """Give a binding another key, or with None its own; returns what is wrong with that, where something is."""
        keymap, wrong = self.deck.keymap.rebound(identity, key)
        self.settings.keys = keymap.wanted
        self.set_keymap(keymap.changed)
        self.deck.use_keys(keymap)
        return wrong

    def action_settings(self) -> None:
        """Show the settings."""
        self.push_screen(SettingsScreen(self))

    def action_rules(self) -> None:
        """Show the text of the rules that the row under the cursor cites, or else the screen."""
        cited = rules_on(self.screen)
        if cited:
            self.push_screen(RuleSheet(cited))
        else:
            self.notify("No rule is cited here. : rule PREP-16 shows one, : rule PREP a chapter.", markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002  # as Textual declares it
        """Leave letters to a field in which somebody types."""
        return not (action == "rules" and isinstance(self.screen.focused, Input | TextArea))

    def _apply(self, name: str) -> None:
        """Have an option do what it says; those that are not here are asked for when they matter."""
        settings = self.settings
        match name:
            case "theme":
                self.theme = settings.text(name)
            case "glyphs":
                glyphs = settings.text(name)
                is_ascii = glyphs == "ascii" or (glyphs == "auto" and not self._draws_unicode)
                self.session.glyphs = GlyphSet(ascii_only=is_ascii)
                self.set_class(is_ascii, "-ascii")
            case "time":
                self.session.time_format = settings.text(name)
            case "speed":
                self.deck.playback.pacer.speed = settings.number(name) or None

    def remember(self) -> None:
        """Enter into the settings what was changed elsewhere: the speed, and how each view is shown."""
        speed = self.deck.playback.pacer.speed or 0.0
        if speed != self.settings.number("speed"):
            self.settings.choose("speed", speed)
        self.deck.remember()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Without colours nothing that is drawn has one, whatever drew it; whoever chooses colours has them."""
        if self.theme == NO_COLOUR:
            return [NoColor()]
        return [each for each in super().get_line_filters() if not isinstance(each, Monochrome)]

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The command palette finds what the keys of the deck do."""
        if isinstance(screen, Deck):
            bindings = {one.binding.id: one.binding for one in screen.active_bindings.values() if one.node is screen}
            for identity, binding in bindings.items():
                if identity and identity != "quit":
                    action = partial(screen.run_action, binding.action)
                    yield SystemCommand(binding.description.capitalize(), binding.key, action)
        for option in OPTIONS.values():
            for value in option.values:
                said = f"{option.name.capitalize()}: {value}"
                yield SystemCommand(said, option.said, partial(self.choose, option.name, value))
        for tab in TABS:
            yield SystemCommand(
                f"Help: {tab.title}", "columns and states", partial(self.deck.telling.help_of, tab.name)
            )
        yield SystemCommand("Describe this screen", "the Watch view as sentences", self.deck.telling.describe)
        yield SystemCommand("Rules on the screen", "what they say, and where that comes from", self.action_rules)
        yield SystemCommand("Settings", "each value, where it comes from, and another one", self.action_settings)
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
