"""Playing the runs of a study one after the other, each to a line of its results."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from engine.base import gc_pause
from engine.base.shortening import with_short_words
from engine.run.simulation import Simulation
from engine.studies import measures
from engine.studies.variants import Variants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from engine.base.terms import Plain
    from engine.scenario.model import Scenario
    from engine.studies.plan import Run, Study

KEPT_VARIANTS = 8
"""So many variants are kept as scenarios: runs come variant by variant."""


class Player:
    """Plays runs of a study. The scenario's text is parsed once, each variant read when its first run is played."""

    def __init__(self, study: Study) -> None:
        """Parse the scenario."""
        self._study = study
        self._scenario: Callable[[int], Scenario] = lru_cache(KEPT_VARIANTS)(Variants(study).scenario)

    def play(self, runs: Iterable[Run]) -> list[str]:
        """Return the lines of these runs. They depend on scenario, variant and seed alone."""
        with gc_pause.relaxed():
            return [self._line(run) for run in runs]

    def _line(self, run: Run) -> str:
        try:
            measured = _measured(self._scenario(run.variant), run.seed)
        except Exception as error:  # a run that fails is a result, and the others go on
            return failed_line(self._study, run, with_short_words(f"{type(error).__name__}: {error}"))
        return _line(self._study, run, measured | {"error": None})


def failed_line(study: Study, run: Run, error: str) -> str:
    """Return the line of a run that has no result."""
    return _line(study, run, {"expectations": [], "summary": None, "jobs": {}, "error": error})


def _measured(scenario: Scenario, seed: int) -> dict[str, object]:
    simulation = Simulation(scenario, seed, can_go_back=False)
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    return {
        "expectations": measures.expectations(simulation),
        "summary": measures.summary(simulation),
        "jobs": measures.job_ends(simulation),
    }


def _line(study: Study, run: Run, measured: dict[str, object]) -> str:
    values: dict[str, Plain] = study.values(run.variant)
    head: dict[str, object] = {"variant": run.variant, "values": values, "seed": run.seed}
    return json.dumps(head | measured | {"study": study.identity._asdict()}, ensure_ascii=False)
