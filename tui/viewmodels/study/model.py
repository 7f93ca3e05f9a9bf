"""A study that is shown: what is studied, its results so far, and how its table was left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engine import load_scenario
from engine.studies.plan import Run
from engine.studies.tally import Tally
from engine.studies.variants import Variants
from tui.viewmodels.study.names import ValueNames
from tui.viewmodels.text.glyphs import (
    VARIANT_BREAKS,
    VARIANT_FAILED,
    VARIANT_KEEPS,
    VARIANT_PARETO,
    VARIANT_PARETO_BREAKS,
    VARIANT_PENDING,
    VARIANT_RECOMMENDED,
    Glyph,
)
from tui.workers.background import BackgroundStudy, StudyState

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.scenario.model import Scenario
    from engine.studies.plan import Study
    from engine.studies.results import Result
    from engine.studies.summary import StudySummary, VariantSummary
    from tui.viewmodels.study.request import StudyRequest

CONFIDENCE = 0.95
_IDLE_SHARE = 9  # the summary is computed again after nine times as long as that took
_WORTH_S = 10.0  # results that took longer to play are not thrown away without a question


def without_variant(scenario: Scenario) -> Scenario:
    """Return the scenario of the file, if this is a variant of it."""
    return scenario if scenario.variant is None else load_scenario(scenario.source.path, text=scenario.source.text)


class StudyModel:
    """A study that is played in the background, with the summary of its results so far."""

    def __init__(
        self,
        scenario: Scenario,
        study: Study,
        request: StudyRequest,
        on_news: Callable[[], object],
        *,
        workers: int | None = None,
        after: BackgroundStudy | None = None,
    ) -> None:
        """Begin to play a study.

        Args:
            scenario: The scenario that is studied, not a variant of it.
            study: What is studied.
            request: How it was asked for.
            on_news: Is called in another thread when there are results, or the state has changed.
            workers: The number of processes, None for one on each processor.
            after: A study that is stopped; this one begins when that has ended.
        """
        self.scenario = scenario
        self.study = study
        self.request = request
        self.names = ValueNames(study)
        self.tally = Tally(study, scenario.name, confidence=CONFIDENCE)
        self.cursor: int | None = None  # the variant under the cursor when the table was left
        self.arrangement: dict[str, object] = {}  # of the table
        self._next_s = 0.0
        self._variants: Variants | None = None
        self.background = BackgroundStudy(study, on_news, results=request.path, workers=workers, after=after)

    def update(self) -> bool:
        """Take new results; return True if the summary is another one. It waits if computing it takes long."""
        background = self.background
        is_under_way = background.is_under_way  # before the results are taken, so that the last ones are not missed
        self.tally.add(background.take())
        began_s = time.monotonic()
        if is_under_way and began_s < self._next_s:
            return False
        before = self.tally.summary
        self.tally.update()
        ended_s = time.monotonic()
        self._next_s = ended_s + _IDLE_SHARE * (ended_s - began_s)
        return self.tally.summary is not before

    @property
    def summary(self) -> StudySummary:
        """The summary of the results so far."""
        return self.tally.summary

    @property
    def is_complete(self) -> bool:
        """True once every run has a result that the summary has taken in."""
        return self.background.state is StudyState.DONE and self.tally.count == self.background.total

    @property
    def share(self) -> float:
        """The share of the runs that have results."""
        return self.tally.count / self.background.total

    @property
    def would_be_lost(self) -> bool:
        """True if runs that took a while would be lost, since no file collects them."""
        background = self.background
        return background.results is None and background.done > 0 and background.pace[1] > _WORTH_S

    def is_of(self, scenario: Scenario) -> bool:
        """Return True if this is a study of a scenario, or of the one of which it is a variant."""
        return self.scenario.source == scenario.source

    def glyph(self, one: VariantSummary) -> Glyph:
        """Return the mark of a variant."""
        summary = self.tally.summary
        if not one.runs:
            return VARIANT_PENDING
        if one.errors == one.runs:
            return VARIANT_FAILED
        if one.variant == summary.recommended and self.is_complete:
            return VARIANT_RECOMMENDED
        keeps = not summary.has_expectations or one.met.share >= summary.confidence
        if one.pareto:
            return VARIANT_PARETO if keeps else VARIANT_PARETO_BREAKS
        return VARIANT_KEEPS if keeps else VARIANT_BREAKS

    def played(self, run: Run) -> Scenario:
        """Return the scenario of a run, which says which variant it is. Raises ScenarioError."""
        if self._variants is None:
            self._variants = Variants(self.study)
        return self._variants.chosen(run.variant, self.scenario)

    def results_by_end(self, variant: int) -> list[Result]:
        """Return the results of a variant, the earliest end first, those without one last."""
        return sorted(self.tally.results_of(variant), key=_by_end)

    def median_seed(self, variant: int) -> int | None:
        """Return the seed of the run whose end is the median one; None without a run that has ended."""
        ended = [one for one in self.results_by_end(variant) if one["summary"] is not None]
        return ended[(len(ended) - 1) // 2]["seed"] if ended else None


def _by_end(result: Result) -> tuple[bool, float, int]:
    end_s = None if result["summary"] is None else result["summary"]["makespanSeconds"]
    return end_s is None, end_s or 0.0, result["seed"]


@dataclass
class Studies:
    """What a dashboard knows about studies: the one that is shown, and what was typed or studied before."""

    shown: StudyModel | None = None
    requests: dict[str, StudyRequest] = field(default_factory=dict)  # by path of the scenario
    formulas: dict[tuple[str, str], list[str]] = field(default_factory=dict)  # by path of the scenario and pool

    @property
    def under_way(self) -> StudyModel | None:
        """The study whose runs are being played."""
        return self.shown if self.shown is not None and self.shown.background.is_under_way else None

    def end(self) -> None:
        """End a study that is under way, and wait for the end of its workers."""
        if self.shown is not None:
            self.shown.background.stop()
            self.shown.background.join()
