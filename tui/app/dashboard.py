"""The dashboard application: one main screen over one simulation, from the user's settings to its exit status."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections import deque
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.filter import NoColor

from engine.base import runtime
from engine.pacing import Yielder
from tui import dialogs, interrupts
from tui.app import process
from tui.app.item_keys import subjects_of_act
from tui.app.list_keys import picture_entry, save_picture
from tui.app.main_screen import MainScreen, palette_entries
from tui.app.process import Recorder, Studies
from tui.app.run_keys import take_study_news
from tui.dialogs.sheets import LiveSheet, RuleSheet, Sheet, rules_on
from tui.saving.console import console
from tui.saving.settings import ANSI, MOST_TOLD, NO_COLOUR, OPTIONS, Settings, SettingsFile, Source, Value
from tui.saving.targets import TargetError
from tui.textual import views
from tui.textual.keys import Keyboard
from tui.textual.overrides import restore_terminal
from tui.textual.screens import ParsedOnce, ShowRun, StudyNews, say
from tui.viewmodels.frame import (
    MOST_MESSAGES,
    MOST_REQUESTS,
    Message,
    Served,
    Severity,
    list_lines,
    note_of_writes,
    request_lines,
    welcome,
)
from tui.viewmodels.glyphs import GlyphSet
from tui.viewmodels.session import Session
from tui.viewmodels.watch.attention import warning_note
from tui.widgets.texts import MessageLine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.filter import LineFilter

    from engine import Simulation
    from tui.app.process import Host
    from tui.viewmodels.frame import ClientRequest


_PRESENT_S = 0.02
_REQUESTS_S = 0.1


class Dashboard(App[None]):
    """The dashboard of a simulation."""

    TITLE = "batchdeck"
    CSS_PATH = "../styles/main.tcss"
    ENABLE_COMMAND_PALETTE = False  # it has a palette of its own
    DEFAULT_MODE = "run 0"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "quit", show=False, id="interrupt"),
        Binding("ctrl+z", "suspend", "suspend", show=False, id="suspend"),
        Binding("ctrl+p", "palette", "find a command", priority=True, id="palette"),
        Binding("s", "settings", "settings", id="settings"),
        Binding("K", "rules", "show the rules cited on the screen", priority=True, id="rules"),
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
        host: Host | None = None,
    ) -> None:
        """Create the dashboard.

        Args:
            simulation: The simulation to show.
            settings: The user's choices; later choices are stored in it.
            at_ms: The moment to begin with, in ms after the start.
            plays: Let time advance from the beginning.
            introduces: Show the first keys to a new user.
            notes: Warnings to show at the start.
            host: Serves clients that act on the simulation.
        """
        super().__init__()
        self.error_console = console(to_stderr=True)
        self.settings = settings or Settings()
        self.session = Session(simulation)
        self._host = host
        self.recorder = Recorder(simulation) if host is None else Recorder(simulation, text=host.session_text)
        self.requests: deque[ClientRequest] = deque(maxlen=MOST_REQUESTS)
        self._new_requests: list[ClientRequest] = []  # that the screen does not show yet
        self._serving: asyncio.Task[None] | None = None
        self.messages: deque[Message] = deque(maxlen=MOST_MESSAGES)
        self._notes = notes
        self._introduces = introduces
        self._draws_unicode = (sys.stdout.encoding or "").lower().startswith("utf")  # Textual replaces sys.stdout later
        self.studies = Studies()
        first = ShowRun(simulation, at_ms, plays)
        self.main_screen = MainScreen(self.session, self.recorder, self.settings, self.studies, first)
        self._runs = count(1)  # each run has a stack of screens, which goes with it
        self.add_mode(self.DEFAULT_MODE, lambda: self.main_screen)
        self.keyboard = Keyboard(self)
        for known in views.themes():
            self.register_theme(known)
        for name in OPTIONS:
            self._apply(name)
        self.stylesheet = ParsedOnce(self.get_css_variables())

    async def on_event(self, event: events.Event) -> None:
        """Hold off other work for a key press, and hold back a key until those before it have been handled."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self.yielder.key_pressed()
        if self.keyboard.holds(event):
            return
        is_escape = isinstance(event, events.Key) and event.key == "escape"
        if not (self._close_message() and is_escape and self._has_only_the_message_to_close()):
            await super().on_event(event)
        self.keyboard.follow()

    # -- messages ------------------------------------------------------------------------------------------------

    def notify(  # as Textual declares it, which would show toasts above the panes
        self,
        message: str,
        *,
        title: str = "",  # noqa: ARG002
        severity: Severity = "information",
        timeout: float | None = None,  # noqa: ARG002
        markup: bool = True,  # noqa: ARG002
    ) -> None:
        """Show a message in a line of the screen on top until the next key, and keep it for the list of messages."""
        said = Message(message, severity, self.session.now_ms)
        self.messages.append(said)
        line = self._message_line
        if line is None:
            line = MessageLine(self.session)
            self.screen.mount(line)
        line.add(said)

    def action_messages(self) -> None:
        """Show the messages so far."""
        self.push_screen(Sheet("Messages", lambda cells: list_lines(self.session, self.messages, cells)))

    def _close_message(self) -> bool:
        """Hide the line with a message; return whether it was visible."""
        line = self._message_line
        return line is not None and line.close()

    @property
    def _message_line(self) -> MessageLine | None:
        """The line with messages of the screen on top; None before its first message."""
        # A query would search the whole screen at each key.
        return next((each for each in self.screen.children if isinstance(each, MessageLine)), None)

    def _has_only_the_message_to_close(self) -> bool:
        """Return True unless Escape has more to do than to close a message: leave an input, a dialog, or a seek."""
        return (
            self.screen is self.main_screen and not self._is_typing and not self.main_screen.playback.pacer.is_seeking
        )

    @property
    def _is_typing(self) -> bool:
        """True if a letter would go into a text field."""
        return self.screen.focused is not None and self.screen.focused.check_consume_key("a", "a")

    @property
    def yielder(self) -> Yielder:
        """The yielder of all work that is done in slices."""
        return self.main_screen.playback.pacer.yielder

    @property
    def has_keys_waiting(self) -> bool:
        """True while keys are to be handled after the present one."""
        return bool(self.keyboard.held)

    def on_load(self) -> None:
        interrupts.end_opening(keeps_keys=True)

    def on_mount(self) -> None:
        keymap = self.main_screen.keymap
        self.set_keymap(keymap.changed)
        about_scenario = warning_note(self.session.simulation.scenario)
        about_keys = [f"keys: {each}" for each in keymap.problems[:MOST_TOLD]]
        more = len(keymap.problems) - len(about_keys)
        for note in (*self._notes, about_scenario, *about_keys, f"keys: and {more:,} more" if more else None):
            if note is not None:
                say(self.main_screen, note, "warning")
        if self._introduces:
            say(self.main_screen, welcome(keymap.shown, self.session.simulation.scenario.description))
            self.settings.choose("introduction", False)
        if self._host is not None:
            self._serve(self._host)

    # -- clients -------------------------------------------------------------------------------------------------

    def _serve(self, host: Host) -> None:
        """Let clients act on the run."""
        playback = self.main_screen.playback
        served = Served(
            lambda: self.session.newest_ms,
            lambda: (playback.pacer.speed or 0) if playback.goes_on else 0,
            self._note_request,
            self.yielder.pause,
            lambda text: say(self.main_screen, text, "warning"),
        )
        host.attach(served)
        playback.rejoin = host.rejoin
        # No worker of Textual: those are cancelled before the last answers have been sent.
        self._serving = asyncio.create_task(host.serve())
        self.set_interval(_PRESENT_S, host.advance)
        self.set_interval(1, self._show_present)
        place = f"Clients reach this run at {host.url}."
        if host.warning:
            say(self.main_screen, f"{place} {host.warning}", "warning")
        else:
            say(self.main_screen, f"{place} :requests shows the key and what they do.")

    def _note_request(self, request: ClientRequest) -> None:
        """Keep a request, and show it soon: many requests are shown together."""
        self.requests.append(request)
        if not self._new_requests:
            self.set_timer(_REQUESTS_S, self._show_requests)
        self._new_requests.append(request)

    def _show_requests(self) -> None:
        """Say what clients have changed, and show it if time does not pass."""
        new, self._new_requests = self._new_requests, []
        note = note_of_writes(new)
        if note:
            is_refused = any(each.is_write and each.is_failure for each in new)
            say(self.main_screen, note, "warning" if is_refused else "information")
        if self.main_screen.is_running and not self.main_screen.playback.pacer.playing:
            self.main_screen.update()

    def _show_present(self) -> None:
        """Show how far the run has gone on for clients."""
        if self.session.is_past and self.main_screen.is_running:
            self.session.update()
            self.main_screen.update_header()

    def action_requests(self) -> None:
        """Show the requests of clients."""
        exports = () if self._host is None else self._host.exports
        self.push_screen(
            LiveSheet("Requests", lambda cells: request_lines(self.session, self.requests, exports, cells))
        )

    async def on_unmount(self) -> None:
        """Stop the workers of a study, and wait until the last answers have reached their clients."""
        if self.studies.shown is not None:
            self.studies.shown.background.stop()
        if self._host is not None and self._serving is not None:
            self._host.end()
            await self._serving

    # -- runs ----------------------------------------------------------------------------------------------------

    def on_show_run(self, message: ShowRun) -> None:
        """Show another run in place of the present one, with a screen of its own and no dialog above it."""
        if self._host is not None:
            say(self.main_screen, "Clients act on this run: open another one without --serve.", "warning")
            return
        self.main_screen.leave_run()
        if message.simulation.scenario.name != self.session.simulation.scenario.name:
            self.settings.forget_rows()
        reports, before = self.recorder.reports, self.main_screen.playback
        self.session = Session(message.simulation)
        self.recorder = Recorder(message.simulation)
        self.recorder.reports = reports
        self.main_screen = MainScreen(self.session, self.recorder, self.settings, self.studies, message)
        for name in OPTIONS:
            self._apply(name)
        if before.speed_is_chosen:
            self.main_screen.playback.choose_speed(before.pacer.speed)
        left, mode = self.current_mode, f"run {next(self._runs)}"
        self.add_mode(mode, lambda: self.main_screen)
        self.switch_mode(mode)
        self.remove_mode(left)
        if message.said:
            say(self.main_screen, message.said)
        if about_scenario := warning_note(message.simulation.scenario):
            say(self.main_screen, about_scenario, "warning")

    def on_study_news(self, _: StudyNews) -> None:
        """Show the news of a study, unless the application is about to end."""
        if self.is_running and self.main_screen.is_running:
            take_study_news(self.main_screen)

    # -- settings ------------------------------------------------------------------------------------------------

    def action_settings(self) -> None:
        """Open the settings dialog."""
        self.push_screen(dialogs.pickers.SettingsScreen(self))

    def choose(self, name: str, value: Value | None) -> None:
        """Take a value of an option at once and from now on; None is its default."""
        if value is None:
            self.settings.forget(name)
        else:
            self.settings.choose(name, value)
        self._apply(name)
        if self.main_screen.is_running:
            self.main_screen.update()

    def listed_keys(self) -> list[tuple[str, str, str]]:
        """Return the id of each binding, its keys, and what it does."""
        dialogs.import_all()
        return self.main_screen.keymap.listed()

    def action_rules(self) -> None:
        """Show the text of the rules that the row under the cursor cites, or else the screen."""
        cited = rules_on(self.screen)
        if cited:
            self.push_screen(RuleSheet(cited))
        else:
            self.notify("No rule is cited here. : rule PREP-16 shows one, : rule PREP a chapter.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002  # as Textual declares it
        """Disable keys that are letters while a text field has the focus."""
        return not (action == "rules" and self._is_typing)

    def _apply(self, name: str) -> None:
        """Apply an option. Those that are not here are read when they matter."""
        settings = self.settings
        match name:
            case "theme":
                self.theme = settings.text(name)
                self.set_class(self.theme == ANSI, "-ansi")
                self.set_class(not views.has_grounds(self.theme), "-plain")
            case "glyphs":
                glyphs = settings.text(name)
                is_ascii = glyphs == "ascii" or (glyphs == "auto" and not self._draws_unicode)
                self.session.glyphs = GlyphSet(ascii_only=is_ascii)
                self.set_class(is_ascii, "-ascii")
            case "time":
                self.session.time_format = settings.text(name)
            case "speed":
                playback = self.main_screen.playback
                playback.speed_is_chosen = settings.source(name) is not Source.DEFAULT
                playback.pacer.speed = settings.number(name) or None
                playback.take_usual_speed(anew=True)
            case "cross_quiet":
                self.main_screen.playback.pacer.crosses_quiet = bool(settings.value(name))

    @property
    def speed_now(self) -> float | None:
        """The speed of playback; None is as fast as possible."""
        return self.main_screen.playback.pacer.speed

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters of drawn lines: no colours in a theme without any; the others have none to translate."""
        return [NoColor()] if self.theme == NO_COLOUR else []

    def action_palette(self) -> None:
        """Let the user choose one of all commands."""

        def chosen(run: Callable[[], object] | None) -> None:
            if run is not None:
                self.call_later(run)

        main = self.main_screen
        if isinstance(self.screen, dialogs.pickers.Palette):
            return
        if self.screen is main:
            entries = list(palette_entries(self, main, self.choose, subjects_of_act(main)))
        else:
            entries = [picture_entry(partial(save_picture, main))]
        self.push_screen(dialogs.pickers.Palette(entries, pointer=self.session.glyphs.cursor), chosen)

    # -- the end -------------------------------------------------------------------------------------------------

    def action_interrupt(self) -> None:
        """Stop a seek, else leave the dashboard with the status of an interrupted command."""
        if not self.main_screen.playback.stop_seeking():
            self.exit(return_code=130)

    def action_suspend(self) -> None:
        """Give the terminal back to the shell until ``fg``; time stands still meanwhile, and afterwards."""
        self.main_screen.playback.pause()
        self.action_suspend_process()

    @on(Driver.SignalResume)
    def draw_all(self) -> None:
        """Draw everything again: the terminal has shown something else."""
        self.screen.refresh()

    async def leave(self) -> None:
        """Leave the event loop for ever, once the last answers have reached their clients. Raises SystemExit.

        Textual cannot end in order before all widgets of a screen are there.
        """
        if self._host is not None and self._serving is not None:
            self._host.end()
            await asyncio.wait([self._serving])
        raise SystemExit


@runtime.gc_relaxed(runtime.FOR_FRAMES)
def show_dashboard(
    simulation: Simulation,
    *,
    at_ms: int = 0,
    speed: float | None,
    plays: bool,
    theme: str | None,
    ascii_only: bool,
    introduces: bool = False,
    host: Host | None = None,
) -> int:
    """Run the dashboard, beginning at ``at_ms``, and return the exit status. Commands given by hand are always saved.

    ``speed`` None follows from the length of the run, 0 is as fast as possible; ``theme`` None is the user's last
    choice. The introduction is shown to a new user, and with ``introduces``.
    """
    file = SettingsFile()
    settings, problems = file.read()
    process.use_environment(settings)
    given: dict[str, Value | None] = {"speed": speed, "theme": theme, "glyphs": "ascii" if ascii_only else None}
    for name, value in given.items():
        if value is not None:
            settings.use(name, value, Source.COMMAND_LINE)
    introduces = introduces or bool(settings.value("introduction"))
    app = Dashboard(simulation, settings, at_ms=at_ms, plays=plays, introduces=introduces, notes=problems, host=host)

    def remember() -> None:
        file.write(settings)

    def rescue() -> None:
        if host is not None and host.save_to is not None:
            process.save(app.recorder, host.save_to)
        app.recorder.rescue()  # there is another recorder for each run

    runner, streams = asyncio.Runner(), (sys.stdout, sys.stderr)
    loop = runner.get_loop()

    def leave() -> None:
        loop.call_soon_threadsafe(lambda: loop.create_task(app.leave()))

    with process.handle_signals(leave, rescue, remember):
        try:
            app.run(loop=loop)
            runner.close()
        except SystemExit:  # of ``leave``; what waits in the loop is left there, and nothing is said of it
            loop.set_exception_handler(lambda *_: None)
            gc.disable()
            restore_terminal(app)
            sys.stdout, sys.stderr = streams
            process.print_error("Interrupted.")
        finally:
            app.studies.end()
            rescue()
            for report in app.recorder.reports:
                process.print_error(report)
            try:
                remember()
            except (OSError, TargetError) as error:
                process.print_error(f"{error}; the settings are not saved.")
    return interrupts.status(app.return_code or 0)
