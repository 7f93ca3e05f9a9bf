"""The sides of a comparison: what a name or path stands for, and its figures."""

from __future__ import annotations

import codecs
import os
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import Problem, ScenarioError
from engine.base.shortening import shortened
from engine.comparison.figures import figures_of_run
from engine.comparison.history import observed
from engine.comparison.results import read_state
from engine.histories.history import read_history

if TYPE_CHECKING:
    from engine.comparison.figures import Figures
    from engine.run.simulation import Simulation

_HEAD_BYTES = 4096
_LONGEST_NAME = 40
_PACKED = (b"\x1f\x8b", b"PK\x03\x04")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # what PowerShell makes of `az ... > file`


class SideKind(Enum):
    """The origin of figures, in words."""

    SCENARIO = "a scenario"
    RESULTS = "results"
    HISTORY = "a history"


class Side(NamedTuple):
    """One side of a comparison. ``about`` says what it is; ``notes`` what its figures lack, in sentences."""

    given: str
    kind: SideKind
    about: str
    figures: Figures
    notes: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()

    @property
    def is_observed(self) -> bool:
        """True if it really happened."""
        return self.kind is SideKind.HISTORY


def side_of_run(given: str, simulation: Simulation) -> Side:
    """Return the side of a scenario that has been played."""
    about = _run_words(given, simulation.scenario.name, simulation.seed)
    return Side(given, SideKind.SCENARIO, about, figures_of_run(simulation))


def read_side(given: str) -> Side | None:
    """Return the side of a file of results, of a history or of a folder with one; None for a scenario.

    Raises:
        ScenarioError: A file cannot be read, or has mistakes.
    """
    path = Path(given)
    if not os.path.exists(given):
        return None
    if path.is_dir():
        return _history(given)
    if not _looks_like_json(path):
        return None
    try:
        state = read_state(path)
    except ScenarioError:
        if path.suffix.lower() == ".json":
            raise
        return None  # YAML may begin with a brace, too
    if state is None:
        return _history(given)
    if state.figures is None:
        return None
    about = _run_words(given, state.scenario, state.seed)
    return Side(given, SideKind.RESULTS, about, state.figures, warnings=state.warnings)


def _run_words(given: str, scenario: str, seed: int | None) -> str:
    of = "" if scenario == given else f" of {shortened(scenario, _LONGEST_NAME)}"
    return f"a run{of}" + ("" if seed is None else f" with seed {seed}")


def _history(given: str) -> Side:
    history = read_history([Path(given)])
    found = observed(history)
    jobs = "1 job" if len(history.jobs) == 1 else f"{len(history.jobs):,} jobs"
    return Side(
        given,
        SideKind.HISTORY,
        f"a history of {jobs}",
        found.figures,
        found.notes,
        history.warnings,
    )


def _looks_like_json(path: Path) -> bool:
    """Return whether a file begins as JSON does, or can be no YAML at all."""
    if path.suffix.lower() == ".json":
        return True
    try:
        with path.open("rb") as stream:
            head = stream.read(_HEAD_BYTES)
    except OSError as error:
        raise ScenarioError([Problem(f"cannot be read: {error.strerror}", file=str(path))]) from None
    if head.startswith((*_PACKED, *_WIDE)):
        return True
    return head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"{", b"[")
