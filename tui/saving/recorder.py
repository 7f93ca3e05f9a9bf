"""Saves what was done by hand as a scenario file."""

from __future__ import annotations

import re
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from engine.views.results.recording import given_by_hand, recorded
from tui.saving.targets import FileLines, TargetError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation
    from engine.specs.commands import Command

_UNSAFE = re.compile(r"[^\w.-]+")


class Recorder:
    """Knows what has been saved of a simulation, and where."""

    def __init__(self, simulation: Simulation, directory: Path | None = None) -> None:
        """Files go to ``directory``, the current one unless another is named."""
        self._simulation = simulation
        self._directory = directory
        self._saved: list[tuple[int, Command]] = []
        self.told: list[str] = []  # what has been said of sessions that were rescued

    def proposal(self, directory: Path | None = None) -> Path:
        """A name that no file has yet."""
        stem = _UNSAFE.sub("-", self._simulation.scenario.name).strip("-") or "scenario"
        where = directory or self._directory or Path()
        candidates = (where / f"{stem}-session{number or ''}.yaml" for number in range(10_000))
        return next(path for path in candidates if not path.exists())

    def save(self, path: Path) -> None:
        """Write the session, the whole of it or nothing. Raises TargetError."""
        with FileLines(path) as target:
            target.write(recorded(self._simulation).splitlines())
            target.keep()
        self._saved = given_by_hand(self._simulation)

    def rescue(self) -> None:
        """Save what has not been saved yet, wherever there is room; ``told`` says where, or why it was not possible."""
        if self.is_unsaved:
            self.told.append(self._rescued())
            self._saved = given_by_hand(self._simulation)

    @property
    def is_unsaved(self) -> bool:
        """Whether something was done by hand since the session was saved."""
        done = given_by_hand(self._simulation)
        return bool(done) and done != self._saved

    def _rescued(self) -> str:
        refused = []
        for directory in self._places():
            try:
                path = self.proposal(directory)
                self.save(path)
            except (OSError, TargetError) as error:
                refused.append(str(error))
            else:
                refused.append(f"What was done by hand is saved in {path}; batchdeck run {path} replays it.")
                return "\n".join(refused)
        refused.append(f"What was done by hand can be saved nowhere. Here it is:\n{recorded(self._simulation)}")
        return "\n".join(refused)

    def _places(self) -> Iterator[Path]:
        """Where a session may be kept: where it belongs, at home, among what is temporary."""
        yield self._directory or Path()
        with suppress(RuntimeError):
            yield Path.home()
        with suppress(OSError):
            yield Path(tempfile.gettempdir())
