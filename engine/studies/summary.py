"""The summary of a study: spreads over the seeds, shares with intervals, the Pareto line, the recommendation.

While results come in, only what has changed is computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.values import USD, percentile
from engine.scenario.model import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engine.base.terms import Plain
    from engine.studies.runs import Result, Study


_Z = 1.959963984540054  # the quantile of the normal distribution for an interval of 95 %
_END = "makespanSeconds"


class Spread(NamedTuple):
    """A measure over the seeds of a variant; None where no run has it."""

    mean: float | None
    p5: float | None
    median: float | None
    p95: float | None


class Share(NamedTuple):
    """A share of runs, with its 95 % interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class VariantSummary:
    """The runs of one variant. ``met`` is the share of runs that met all expectations, ``each`` that of each one."""

    variant: int
    values: dict[str, Plain]
    runs: int
    errors: int
    met: Share
    each: tuple[float, ...]
    measures: dict[str, Spread]
    cost: Spread  # in ``currency``
    currency: str
    jobs: dict[str, Spread]
    pareto: bool = False

    @property
    def end_s(self) -> float | None:
        """The median end of its runs, in seconds."""
        return self.measures[_END].median

    @property
    def median_cost(self) -> float | None:
        """The median cost of its runs."""
        return self.cost.median


@dataclass(frozen=True, slots=True)
class StudySummary:
    """A whole study. ``recommended`` and ``nearest`` are variants; at most one of them is set."""

    scenario: str
    seeds: tuple[int, ...]
    factors: tuple[tuple[str, list[Plain]], ...]
    variants: tuple[VariantSummary, ...]
    confidence: float
    has_expectations: bool
    recommended: int | None
    nearest: int | None

    @property
    def errors(self) -> int:
        """The number of runs that failed."""
        return sum(variant.errors for variant in self.variants)


def wilson(met: int, runs: int) -> Share:
    """Return the share of runs with its 95 % Wilson interval; without runs nothing is known, so 0 to 1."""
    if not runs:
        return Share(0.0, 0.0, 1.0)
    share, square = met / runs, _Z * _Z
    centre = (share + square / (2 * runs)) / (1 + square / runs)
    half = _Z * sqrt(share * (1 - share) / runs + square / (4 * runs * runs)) / (1 + square / runs)
    return Share(share, 0.0 if not met else max(0.0, centre - half), 1.0 if met == runs else min(1.0, centre + half))


def spread(values: Iterable[float | None]) -> Spread:
    """Return mean, 5th percentile, median and 95th percentile of the values that are there."""
    known = sorted(value for value in values if value is not None)
    mean = fsum(known) / len(known) if known else None
    return Spread(mean, percentile(known, 0.05), percentile(known, 0.5), percentile(known, 0.95))


def summarize(
    study: Study, scenario: str, results: Iterable[Result], *, confidence: float, currency: str = USD
) -> StudySummary:
    """Return the summary of a study's results, whatever their order.

    Args:
        study: The study; results of seeds that it does not have are left out.
        scenario: The name of the scenario.
        results: One result for each variant and seed.
        confidence: The share of runs, 0 to 1, in which all expectations of a variant must hold.
        currency: That of all costs; those in another one, which a factor has brought in, are left out.
    """
    wanted = set(study.seeds)
    tally = Tally(study, scenario, confidence=confidence, currency=currency)
    tally.add(result for result in results if result["seed"] in wanted)
    tally.update()
    return tally.summary


def variant_summary(study: Study, number: int, results: Iterable[Result], currency: str = USD) -> VariantSummary:
    """Return the summary of the results of one variant, whatever their order."""
    results = sorted(results, key=lambda result: result["seed"])  # sums of floats depend on their order
    runs = len(results)
    good = [result["summary"] for result in results if result["summary"] is not None]
    met = [result["expectations"] for result in results if result["error"] is None]
    count = max(map(len, met), default=0)
    ids = dict.fromkeys(job for result in results for job in result["jobs"])
    return VariantSummary(
        variant=number,
        values=study.values(number),
        runs=runs,
        errors=sum(result["error"] is not None for result in results),
        met=wilson(sum(map(all, met)), runs),
        each=tuple(sum(one[at] for one in met if at < len(one)) / runs for at in range(count)),
        measures={name: spread(one[name] for one in good) for name in MEASURES},
        cost=spread(amount_of(one, currency) for one in good),
        currency=currency,
        jobs={
            job: spread(result["jobs"][job]["endSeconds"] for result in results if job in result["jobs"])
            for job in sorted(ids)
        },
    )


def amount_of(summary: Mapping[str, Any], currency: str) -> float | None:
    """Return the cost of a run in a currency; None if it is in another one."""
    cost = summary.get("cost") or {"amount": summary["costUsd"], "currency": USD}
    return cost["amount"] if cost["currency"] == currency else None


def pareto(points: Sequence[tuple[float | None, float | None]]) -> list[bool]:
    """Return for each point of cost and end whether no other is at least as good in both and better in one.

    A point without cost or end is never marked.
    """
    known = sorted({(cost, end) for cost, end in points if cost is not None and end is not None})
    line: set[tuple[float, float]] = set()
    best = float("inf")
    for cost, end in known:  # by cost, so that a later one must end earlier
        if end < best:
            line.add((cost, end))
            best = end
    return [point in line for point in points]


def _cheapest(variants: Iterable[VariantSummary]) -> int | None:
    """Return the cheapest variant, of equally cheap ones the one that ends first."""
    known = [(one.median_cost, one.end_s, one.variant) for one in variants if one.median_cost is not None]
    return min(known)[2] if known else None


# -- as data and in words ----------------------------------------------------------------------------------------------


def as_json(summary: StudySummary) -> dict[str, object]:
    """Return the summary as ``study --output json`` prints it."""
    return {
        "scenario": summary.scenario,
        "seeds": list(summary.seeds),
        "factors": [{"path": path, "values": values} for path, values in summary.factors],
        "variants": [_variant_json(variant) for variant in summary.variants],
        "recommended": summary.recommended,
    }


def _variant_json(one: VariantSummary) -> dict[str, object]:
    return {
        "variant": one.variant,
        "values": one.values,
        "runs": one.runs,
        "errors": one.errors,
        "met": {**one.met._asdict(), "expectations": list(one.each)},
        "pareto": one.pareto,
        **{name: measure._asdict() for name, measure in one.measures.items()},
        "cost": {"currency": one.currency, **one.cost._asdict()},
        "jobs": {job: {"endSeconds": end._asdict()} for job, end in one.jobs.items()},
    }


class Tally:
    """The results of a study so far. ``summary`` is the same as that of ``summarize`` for the same results."""

    def __init__(self, study: Study, scenario: str, *, confidence: float, currency: str = USD) -> None:
        """Create a tally without results; the arguments are those of ``summarize``."""
        self._study = study
        self._scenario = scenario
        self._confidence = confidence
        self._currency = currency
        self._results: dict[int, list[Result]] = {}
        self._changed: set[int] = set()
        self._variants = [variant_summary(study, number, (), currency) for number in range(1, study.variants + 1)]
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
                self._variants[number - 1] = variant_summary(self._study, number, self._results[number], self._currency)
            self._changed.clear()
            self.summary = self._concluded()

    def variant(self, number: int) -> VariantSummary:
        """Return the summary of a variant."""
        return self.summary.variants[number - 1]

    def results_of(self, number: int) -> Sequence[Result]:
        """Return the results of a variant so far, in the order of their seeds."""
        return sorted(self._results.get(number, ()), key=lambda result: result["seed"])

    def _concluded(self) -> StudySummary:
        """Return the summary of the study: which variants are on the Pareto line, and the recommendation."""
        study, variants = self._study, self._variants
        line = pareto([(one.median_cost, one.end_s) for one in variants])
        marked = tuple(
            one if one.pareto is is_on else replace(one, pareto=is_on)
            for one, is_on in zip(variants, line, strict=True)
        )
        has_expectations = any(one.each for one in marked)
        most = max((one.met.share for one in marked if one.median_cost is not None), default=0.0)
        least = min(most, self._confidence)
        best = _cheapest(one for one in marked if one.met.share >= least) if has_expectations else None
        chosen, near = (best, None) if most >= self._confidence else (None, best)
        factors = tuple((one.path, [value.written.plain for value in one.values]) for one in study.factors)
        return StudySummary(
            self._scenario, study.seeds, factors, marked, self._confidence, has_expectations, chosen, near
        )
