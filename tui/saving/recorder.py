"""The recorder, which saves what was done by hand as a scenario file."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engine.base.lazy import lazy_regex
from engine.scenario.record import with_settings
from engine.specs.commands import CreateJob, CreatePool
from engine.views.attention.expectations import broken_expectations, foreseen
from engine.views.results.document import given_by_hand, recorded
from tui.saving.targets import NewLines, TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engine import Simulation
    from engine.run.expectations import Outcome
    from engine.specs.command import Command
    from tui.saving.targets import FileLines

_MOST_TOLD = 2  # broken expectations
_UNSAFE = lazy_regex(r"[^\w.-]+")
NEW_EMPTY = "New, empty"
"""The path of a scenario that was begun from nothing: it gets the name of the file in which it is saved."""


def broken_note(simulation: Simulation, at_end: Sequence[Outcome] = ()) -> str:
    """Say which expectations a replay of the session will report as broken; empty if none is known to be.

    Args:
        simulation: The run.
        at_end: The outcomes of the expectations at the end of the run, if it has been played ahead.
    """
    broken = [*broken_expectations(simulation), *foreseen(simulation, at_end)]
    if not broken:
        return ""
    told = "; ".join(f"{one.text.partition(': ')[2]} {one.effect}" for one in broken[:_MOST_TOLD])
    more = f"; and {len(broken) - _MOST_TOLD:,} more" if len(broken) > _MOST_TOLD else ""
    are = "1 expectation is" if len(broken) == 1 else f"{len(broken):,} expectations are"
    return f"{are} broken: {told}{more}"


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
            text = self._text(self._simulation)
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
        report = self._rescue()
        self._saved = given_by_hand(self._simulation)
        return report

    @property
    def is_unsaved(self) -> bool:
        """True if a command was given by hand since the session was saved."""
        commands = given_by_hand(self._simulation)
        return bool(commands) and commands != self._saved

    def _rescue(self) -> str:
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
        return "\n".join(
            (*errors, f"The session cannot be saved anywhere. This is it:\n{self._text(self._simulation)}")
        )

    def _directories(self) -> Iterator[Path]:
        """Yield the directories to try: the recorder's own, the home directory, the one for temporary files."""
        yield self._directory or Path()
        with suppress(RuntimeError):
            yield Path.home()
        with suppress(OSError):
            yield Path(tempfile.gettempdir())
