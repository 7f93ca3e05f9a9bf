"""The start and the end of the dashboard: settings, signals, and the files and messages at the end.

A signal that ends the dashboard first saves the commands given by hand.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base import runtime
from engine.base.runtime import HANG_UP, SIGNAL_STATUS, handled
from tui.app.dashboard import Dashboard
from tui.saving.session_files import SettingsFile
from tui.saving.settings import NO_COLOUR, Settings, Source, Value
from tui.saving.targets import FileLines, TargetError
from tui.viewmodels.go_line import VIEW_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import FrameType

    from engine import Simulation
    from engine.base.runtime import Handler
    from tui.app.dashboard import Host
    from tui.saving.session_files import Recorder


def handle_signals(
    save: Callable[[], object], leave: Callable[[int], object], *, remember: Callable[[], object]
) -> AbstractContextManager[None]:
    """Handle signals within the block: save, and leave with a status; at once if the terminal has been closed.

    Args:
        save: Saves what was done by hand.
        leave: Ends the program in order with a status. Called from a signal handler, at any point of the program.
        remember: Writes the settings; called where the program does not end in order, and so would not do it.
    """

    def end(number: int, _: FrameType | None) -> None:
        save()
        leave(SIGNAL_STATUS + number)

    def hang_up(number: int, frame: FrameType | None) -> None:
        if sys.stdin.isatty():  # the signal was sent by hand, or by a shell that ends
            end(number, frame)
            return
        save()
        with suppress(Exception):  # a view may be half drawn
            remember()
        os._exit(SIGNAL_STATUS + number)  # a write to the closed terminal would block for ever

    handlers: dict[signal.Signals, Handler] = {signal.SIGTERM: end, signal.SIGINT: end}
    if HANG_UP is not None:
        handlers[HANG_UP] = hang_up
    return handled(handlers)


_ASCII_LOCALES = ("C", "POSIX")
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")


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
    settings, problems = file.read(VIEW_NAMES)
    _use_environment(settings)
    given: dict[str, Value | None] = {"speed": speed, "theme": theme, "glyphs": "ascii" if ascii_only else None}
    for name, value in given.items():
        if value is not None:
            settings.use(name, value, Source.COMMAND_LINE)
    introduces = introduces or bool(settings.value("introduction"))
    app = Dashboard(simulation, settings, at_ms=at_ms, plays=plays, introduces=introduces, notes=problems, host=host)

    def remember() -> None:
        app.remember()
        file.write(settings)

    def rescue() -> None:
        if host is not None and host.save_to is not None:
            _save(app.recorder, host.save_to)
        app.recorder.rescue()  # there is another recorder for each run

    try:
        with handle_signals(rescue, app.exit_soon, remember=remember):
            app.run()
    finally:
        app.studies.end()
        rescue()
        for report in app.recorder.reports:
            _print_error(report)
        try:
            remember()
        except (OSError, TargetError) as error:
            _print_error(f"{error}; the settings are not saved.")
    return app.return_code or 0


def _save(recorder: Recorder, file: str) -> None:
    """Save the session in the file that was asked for."""
    try:
        recorder.save(FileLines(Path(file)))
    except TargetError as error:
        _print_error(str(error))


def _use_environment(settings: Settings) -> None:
    """Take what the terminal cannot do, its locale, and ``NO_COLOR``, into account."""
    is_dumb = os.environ.get("TERM") == "dumb"
    if is_dumb or os.environ.get("NO_COLOR"):
        settings.use("theme", NO_COLOUR, Source.ENVIRONMENT)
    if is_dumb or (settings.text("glyphs") == "auto" and _locale() in _ASCII_LOCALES):
        settings.use("glyphs", "ascii", Source.ENVIRONMENT)


def _locale() -> str:
    """Return the locale of characters that the user chose, "" if none is chosen.

    The encoding of stdout does not tell: in the locale C Python writes UTF-8, and says so in LC_CTYPE (PEP 538, 540).
    """
    characters = os.environ.get("LC_CTYPE", "")
    return os.environ.get("LC_ALL") or ("" if characters in _COERCED else characters) or os.environ.get("LANG", "")


def _print_error(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201  # the dashboard is closed
