"""Saves what was done by hand as a scenario file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from engine.views.recording import count_by_hand, recorded

if TYPE_CHECKING:
    from engine import Simulation

_UNSAFE = re.compile(r"[^\w.-]+")


class Recorder:
    """Knows what has been saved of a simulation, and where."""

    def __init__(self, simulation: Simulation, directory: Path | None = None) -> None:
        """Files go to ``directory``, the current one unless another is named."""
        self._simulation = simulation
        self._directory = directory
        self._saved = 0

    def proposal(self) -> Path:
        """A name that no file has yet."""
        stem = _UNSAFE.sub("-", self._simulation.scenario.name).strip("-") or "scenario"
        directory = self._directory or Path()
        candidates = (directory / f"{stem}-session{number or ''}.yaml" for number in range(10_000))
        return next(path for path in candidates if not path.exists())

    def save(self, path: Path) -> None:
        """Write the session. Raises OSError."""
        path.write_text(recorded(self._simulation), encoding="utf-8")
        self._saved = count_by_hand(self._simulation)

    def save_unsaved(self) -> Path | None:
        """Save what has not been saved yet, in the current directory; returns the file, None where there is nothing."""
        if count_by_hand(self._simulation) == self._saved:
            return None
        path = self.proposal()
        self.save(path)
        return path
