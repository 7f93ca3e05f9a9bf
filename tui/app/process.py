"""The process around the dashboard: the server of clients, signals, the terminal, and what is saved at the end.

However the dashboard ends, the commands given by hand are saved.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from engine.base.partial_files import discard_all
from engine.base.runtime import HANG_UP, handled
from engine.base.values import visible
from tui import interrupts
from tui.saving.settings import NO_COLOUR, Settings, Source
from tui.saving.targets import FileLines, TargetError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractContextManager
    from types import FrameType

    from engine import Simulation
    from tui.saving.session_files import Recorder
    from tui.viewmodels.frame import ClientRequest


class Host(Protocol):
    """Serves clients that act on the run on the screen, on the event loop of the dashboard; nothing of HTTP shows."""

    @property
    def url(self) -> str:
        """The endpoint."""

    @property
    def exports(self) -> tuple[str, ...]:
        """The lines for a shell with which clients find the account."""

    @property
    def warning(self) -> str:
        """A sentence about who else can act on the run, "" if nobody can."""

    @property
    def save_to(self) -> str | None:
        """The file in which the session is saved at the end."""

    def attach(
        self,
        newest_ms: Callable[[], int],
        speed: Callable[[], float],
        on_request: Callable[[ClientRequest], None],
        pause: Callable[[], Awaitable[None]],
        warn: Callable[[str], None],
    ) -> None:
        """Prepare to serve.

        Args:
            newest_ms: Returns the latest moment that the screen has shown.
            speed: Returns how fast time passes in the present, in simulated seconds per real second.
            on_request: Is called after each answer.
            pause: Lets keys be handled and frames be drawn, between slices of requests.
            warn: Shows a warning.
        """

    async def serve(self) -> None:
        """Serve until ``end`` is called."""

    def end(self) -> None:
        """Let ``serve`` return."""

    def advance(self) -> None:
        """Keep the present going while the screen shows the past: call it often."""

    def rejoin(self) -> None:
        """Bring the run on the screen to the present, if all that it has recorded is shown."""

    def session_text(self, simulation: Simulation) -> str:
        """Return the session as a scenario."""


def handle_signals(
    leave: Callable[[], object], save: Callable[[], object], remember: Callable[[], object]
) -> AbstractContextManager[None]:
    """Handle signals within the block: leave at the first, or end at once if the terminal has been closed.

    Args:
        leave: Ends the dashboard in order. Called from a signal handler, at any point of the program.
        save: Saves what was done by hand, if the dashboard does not end in order.
        remember: Writes the settings, likewise.
    """

    def end(number: int, _: FrameType | None) -> None:
        is_first = interrupts.note(number)
        if number != HANG_UP or sys.stdin.isatty():  # the hang-up was sent by hand, or by a shell that ends
            if is_first:
                leave()
            return
        for keep in (save, remember, discard_all):
            with suppress(Exception):  # a view may be half drawn
                keep()
        os._exit(interrupts.status(number))  # a write to the closed terminal would block for ever

    return handled(end)


_ASCII_LOCALES = ("C", "POSIX")
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")


def save(recorder: Recorder, file: str) -> None:
    """Save the session in the file that was asked for."""
    try:
        recorder.save(FileLines(Path(file)))
    except TargetError as error:
        print_error(str(error))


def use_environment(settings: Settings) -> None:
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


def print_error(text: str) -> None:
    """Print a line on stderr, once the dashboard is closed; the terminal may be gone."""
    with suppress(OSError):
        print(visible(text), file=sys.stderr)  # noqa: T201
