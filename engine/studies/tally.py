"""The results of a study while they come in, and their summary, in which only what has changed is computed anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.studies.summary import conclusion, variant_summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.studies.plan import Study
    from engine.studies.results import Result
    from engine.studies.summary import StudySummary, VariantSummary


class Tally:
    """The results of a study so far. ``summary`` is the same as that of ``summarize`` for the same results."""

    def __init__(self, study: Study, scenario: str, *, confidence: float) -> None:
        """Begin without results; the arguments are those of ``summarize``."""
        self._study = study
        self._scenario = scenario
        self._confidence = confidence
        self._results: dict[int, list[Result]] = {}
        self._changed: set[int] = set()
        self._variants = [variant_summary(study, number, ()) for number in range(1, study.variants + 1)]
        self.count = 0
        self.summary: StudySummary = self._concluded()

    def add(self, results: Iterable[Result]) -> None:
        """Add results of the seeds of the study; the summary stays as it is until ``update``."""
        for result in results:
            self._results.setdefault(result["variant"], []).append(result)
            self._changed.add(result["variant"])
            self.count += 1

    def update(self) -> None:
        """Bring the summary up to date."""
        if self._changed:
            for number in self._changed:
                self._variants[number - 1] = variant_summary(self._study, number, self._results[number])
            self._changed.clear()
            self.summary = self._concluded()

    def variant(self, number: int) -> VariantSummary:
        """Return the summary of a variant."""
        return self.summary.variants[number - 1]

    def results_of(self, number: int) -> Sequence[Result]:
        """Return the results of a variant so far, in the order of their seeds."""
        return sorted(self._results.get(number, ()), key=lambda result: result["seed"])

    def _concluded(self) -> StudySummary:
        return conclusion(self._study, self._scenario, self._variants, confidence=self._confidence)
