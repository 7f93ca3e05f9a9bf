"""The process around the dashboard: the server of clients, signals, the terminal, and what is saved as a scenario.

However the dashboard ends, the commands given by hand are saved.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from engine.base.partial_files import discard_all
from engine.base.runtime import HANG_UP, handled
from engine.base.values import lazy_regex, visible
from engine.scenario.record import with_prices, with_settings
from engine.specs.commands import CreateJob, CreatePool
from engine.views.diagnosis.expectations import told_as_broken
from engine.views.recording import recorded
from engine.views.results import given_by_hand
from tui import interrupts
from tui.saving.settings import NO_COLOUR, Settings, Source
from tui.saving.targets import FileLines, NewLines, TargetError
from tui.viewmodels.format import counted
from tui.viewmodels.sheets import NEW_EMPTY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from types import FrameType

    from engine import Simulation
    from engine.run.conditions import Outcome
    from engine.specs.command import Command
    from tui.viewmodels.frame import Served
    from tui.viewmodels.study import StudyModel, StudyRequest


class Host(Protocol):
    """Serves clients that act on the run on the screen, on the event loop of the dashboard; nothing of HTTP shows."""

    url: str  # of the endpoint
    save_to: str | None  # the file in which the session is saved at the end

    @property
    def exports(self) -> tuple[str, ...]:
        """The lines for a shell with which clients find the account."""

    @property
    def warning(self) -> str:
        """A sentence about who else can act on the run, "" if nobody can."""

    def attach(self, served: Served) -> None:
        """Prepare to serve clients of this dashboard."""

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


_MOST_BROKEN = 2  # expectations that are told to be broken
_UNSAFE = lazy_regex(r"[^\w.-]+")


def broken_note(simulation: Simulation, at_end: Sequence[Outcome] = ()) -> str:
    """Return a sentence about expectations that a replay of the session will report as broken; empty if there are none.

    Args:
        simulation: The run.
        at_end: The outcomes of the expectations at the end of the run, if it has been played ahead.
    """
    decided, coming = told_as_broken(simulation, at_end)
    broken = [*decided, *coming]
    if not broken:
        return ""
    more = f"; and {len(broken) - _MOST_BROKEN:,} more" if len(broken) > _MOST_BROKEN else ""
    verb = "is" if len(broken) == 1 else "are"
    if coming and not simulation.finished:
        verb = f"{verb} or will be" if decided else "will be"
    return f"{counted(len(broken), 'expectation')} {verb} broken: {'; '.join(broken[:_MOST_BROKEN])}{more}"


class Recorder:
    """Saves the commands given by hand, and remembers which of them are saved."""

    def __init__(
        self, simulation: Simulation, directory: Path | None = None, text: Callable[[Simulation], str] = recorded
    ) -> None:
        """Files are written to ``directory``, by default the current one; ``text`` returns the session."""
        self._simulation = simulation
        self._text = text
        self._directory = directory
        self._saved: list[tuple[int, Command]] = []
        self.reports: list[str] = []  # one for each rescued session

    def proposal(self, directory: Path | None = None) -> Path:
        """Return a file name that is not taken yet."""
        scenario = self._simulation.scenario
        name, suffix = (self._first_created(), "") if self._is_unnamed else (scenario.name, "-session")
        stem = _UNSAFE.sub("-", name).strip("-") or "scenario"
        stem += f"-variant-{scenario.variant.number}" if scenario.variant is not None else ""
        parent = directory or self._directory or Path()
        candidates = (parent / f"{stem}{suffix}{number or ''}.yaml" for number in range(10_000))
        return next(path for path in candidates if not path.exists())

    def save(self, target: FileLines) -> None:
        """Write the whole session as a scenario. Raises TargetError, and then writes nothing."""
        with target:
            text = with_prices(self._text(self._simulation), self._simulation.scenario.prices, target.path.parent)
            if self._is_unnamed:
                text = with_settings(text, {"scenario": target.path.stem})
            target.write(text.splitlines())
            target.keep()
        self._saved = given_by_hand(self._simulation)

    @property
    def _is_unnamed(self) -> bool:
        return self._simulation.scenario.source.path == NEW_EMPTY

    def _first_created(self) -> str:
        """Return the id of the first job that was created by hand, else of the first pool; empty if there is none."""
        given = [command for _, command in given_by_hand(self._simulation)]
        return next((each.id for kind in (CreateJob, CreatePool) for each in given if isinstance(each, kind)), "")

    def rescue(self) -> str:
        """Save the session where there is room, unless it is saved already; return a report, empty if it was."""
        if not self.is_unsaved:
            return ""
        self.reports.append(self.save_somewhere())
        return self.reports[-1]

    def save_somewhere(self) -> str:
        """Save the session under a new name where there is room, and return a report."""
        self._saved = given_by_hand(self._simulation)
        errors = []
        for directory in self._directories():
            try:
                path = self.proposal(directory)
                self.save(NewLines(path))
            except (OSError, TargetError) as error:
                errors.append(str(error))
            else:
                said = f"The session is saved in {path}; batchdeck run {path} replays it."
                note = broken_note(self._simulation)
                return "\n".join((*errors, said, *([f"{note}."] if note else [])))
        return "\n".join((*errors, "The session cannot be saved anywhere. This is it:", self._text(self._simulation)))

    @property
    def is_unsaved(self) -> bool:
        """True if a command was given by hand since the session was saved."""
        commands = given_by_hand(self._simulation)
        return bool(commands) and commands != self._saved

    def _directories(self) -> Iterator[Path]:
        """Yield the directories to try: the recorder's own, the home directory, the one for temporary files."""
        yield self._directory or Path()
        with suppress(RuntimeError):
            yield Path.home()
        with suppress(OSError):
            yield Path(tempfile.gettempdir())


@dataclass
class Studies:
    """The studies of a dashboard: the one that is shown, and what was typed before."""

    shown: StudyModel | None = None
    requests: dict[str, StudyRequest] = field(default_factory=dict)  # by path of the scenario

    def end(self) -> None:
        """End a study that is under way, and wait for the end of its workers."""
        if self.shown is not None:
            self.shown.background.stop()
            self.shown.background.join()


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
    interrupts.end_opening()
    with suppress(OSError):
        print(visible(text), file=sys.stderr)  # noqa: T201
