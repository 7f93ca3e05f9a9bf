"""The outcome of studies and comparisons: its figures, and the words for them.

A study has spreads over the seeds, shares with intervals, the Pareto line, and a recommendation with its reason. While
results come in, only what has changed is computed anew. Of a comparison there are the largest errors of a prediction.
Tables and plots have short names of factors, headings, texts of measures, and steps of axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.terms import JobState
from engine.base.values import SECOND_MS, USD, format_clock, format_money, format_span, shortened
from engine.scenario.model import MEASURES, JobEnd
from engine.scenario.record import values_text
from engine.specs.conditions import Bounds, SubjectKind, matches
from engine.studies.measures import AMOUNT, DONE_COST, HEADINGS, LABELS, Share, Spread, largest, pareto, spread, wilson
from engine.studies.runs import held_paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from engine.base.terms import Plain
    from engine.scenario.model import Expectation
    from engine.studies.measures import Row
    from engine.studies.runs import Result, Study
    from engine.studies.sides import Side


_END = "makespanSeconds"


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
    cost: Spread  # of whole runs, in ``currency``
    done_cost: Spread  # until the work was done, by which variants are compared
    currency: str
    jobs: dict[str, Spread]
    is_whole: bool = True  # it was played with all seeds
    line: int = 0  # the Pareto line on which it is: there is one for each case of what nobody chooses; 0 for none

    @property
    def pareto(self) -> bool:
        """True if no other variant is both cheaper and earlier where what nobody chooses is the same."""
        return self.line > 0

    @property
    def end_s(self) -> float | None:
        """The median end of its runs, in seconds."""
        return self.measures[_END].median

    @property
    def median_cost(self) -> float | None:
        """The median cost of its runs."""
        return self.cost.median


class Advice(NamedTuple):
    """The variant to take, or the nearest one, where what nobody chooses has these ``values``, by path."""

    values: Mapping[str, Plain]
    recommended: int | None
    nearest: int | None


@dataclass(frozen=True, slots=True)
class StudySummary:
    """A whole study, with one ``advice`` for each combination of values that nobody chooses."""

    scenario: str
    seeds: tuple[int, ...]
    factors: tuple[tuple[str, list[Plain]], ...]
    variants: tuple[VariantSummary, ...]
    confidence: float
    has_expectations: bool
    recommended: int | None  # the cheapest of all advice
    nearest: int | None
    advice: tuple[Advice, ...] = ()

    @property
    def all_recommended(self) -> list[int]:
        """The recommended variants, one at most for each combination of values that nobody chooses."""
        return [one.recommended for one in self.advice if one.recommended is not None]

    @property
    def errors(self) -> int:
        """The number of runs that failed."""
        return sum(variant.errors for variant in self.variants)


def summarize(
    study: Study, scenario: str, results: Iterable[Result], *, confidence: float, currency: str = USD
) -> StudySummary:
    """Return the summary of a study's results, whatever their order; results of other seeds are left out.

    ``confidence`` is the share of runs, 0 to 1, in which all expectations of a variant must hold. Costs in another
    ``currency``, which a factor has brought in, are left out.
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
        is_whole=runs == len(study.seeds),
        measures={name: spread(one[name] for one in good) for name in MEASURES},
        cost=spread(amount_of(one, currency) for one in good),
        done_cost=spread(amount_of(one, currency, DONE_COST) for one in good),
        currency=currency,
        jobs={
            job: spread(result["jobs"][job]["endSeconds"] for result in results if job in result["jobs"])
            for job in sorted(ids)
        },
    )


def amount_of(summary: Mapping[str, Any], currency: str, measure: str = "") -> float | None:
    """Return the cost of a run in a currency, in all or as ``DONE_COST``; None if it is in another one."""
    cost = summary.get("cost") or {"amount": summary["costUsd"], "currency": USD}
    return summary.get(measure, cost["amount"]) if cost["currency"] == currency else None


def _cheapest(variants: Iterable[VariantSummary]) -> int | None:
    """Return the cheapest variant, of equally cheap ones the one that ends first."""
    known = [(one.done_cost.median, one.end_s, one.variant) for one in variants if one.done_cost.median is not None]
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
        "met": {**(one.met._asdict() if one.runs else dict.fromkeys(Share._fields)), "expectations": list(one.each)},
        "pareto": one.pareto,
        **{name: measure._asdict() for name, measure in one.measures.items()},
        "cost": {"currency": one.currency, **one.cost._asdict()},
        DONE_COST: one.done_cost._asdict(),
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
        study, variants, confidence = self._study, self._variants, self._confidence
        has_expectations = any(one.each for one in variants)
        factors = tuple((one.path, [value.written.plain for value in one.values]) for one in study.factors)
        given = held_paths(study)
        cases = _alike(variants, given)
        marked = list(variants)  # which are compared only where what nobody chooses is the same
        for number, each in enumerate(cases, start=1):
            line = pareto([(one.done_cost.median if one.is_whole else None, one.end_s) for one in each])
            for one, is_on in zip(each, line, strict=True):
                marked[one.variant - 1] = replace(one, line=number * is_on)
        asked = cases if has_expectations else []
        advice = tuple(_advice({path: each[0].values[path] for path in given}, each, confidence) for each in asked)
        chosen = _cheapest(marked[one.recommended - 1] for one in advice if one.recommended is not None)
        near = _cheapest(marked[one.nearest - 1] for one in advice if one.nearest is not None and chosen is None)
        return StudySummary(
            self._scenario, study.seeds, factors, tuple(marked), confidence, has_expectations, chosen, near, advice
        )


def _alike(variants: Iterable[VariantSummary], paths: Sequence[str]) -> list[list[VariantSummary]]:
    """Return the variants with equal values at these paths together, in the order of the first ones."""
    found: dict[str, list[VariantSummary]] = {}
    for one in variants:
        found.setdefault(repr([one.values[path] for path in paths]), []).append(one)
    return list(found.values())


def _advice(values: Mapping[str, Plain], variants: Sequence[VariantSummary], confidence: float) -> Advice:
    """Return the cheapest of some variants that keeps all expectations often enough, or else the nearest one.

    Those that were not played with all seeds count only while there is no other.
    """
    variants = [one for one in variants if one.is_whole] or variants
    most = max((one.met.share for one in variants if one.median_cost is not None), default=0.0)
    best = _cheapest(one for one in variants if one.met.share >= min(most, confidence))
    return Advice(values, *((best, None) if most >= confidence else (None, best)))


def deadline_s(expected: Iterable[Expectation]) -> float | None:
    """Return when the scenario expects its work to be done, in seconds since the start; None without such a time.

    That is the latest time by which a job is to be completed, or an earlier bound of the makespan.
    """
    jobs, bounds = list[float](), list[float]()
    for each in expected:
        (subject, wanted), due_ms = each.condition, each.within_ms if each.at_ms is None else each.at_ms
        makespan, state = wanted.get("makespan"), wanted.get("state")
        if subject.kind is SubjectKind.JOB and due_ms is not None and matches(state, JobState.COMPLETED.wire):
            jobs.append(due_ms / SECOND_MS)
        elif isinstance(makespan, Bounds) and makespan.at_most is not None:
            bounds.append(makespan.at_most)
    return min([*bounds, *([max(jobs)] if jobs else [])], default=None)


def percent(share: float) -> str:
    """Return a share, 0 to 1, as percent: ``95 %``, ``97.5 %``."""
    return f"{100 * share:.3g} %"


def interval_text(met: Share) -> str:
    """Return the interval of a share: ``76–99%``."""
    return f"{100 * met.low:.0f}–{100 * met.high:.0f}%"


def end_text(seconds: float | None) -> str:
    """Return a moment since the start of the run: ``+04:12:00``, ``+1d 02:00:00``; empty if there is none."""
    return "" if seconds is None else format_clock(round(seconds * SECOND_MS))


def duration_text(seconds: float | None) -> str:
    """Return a duration: ``04:12:00``, ``1d 02:00:00``; empty if there is none."""
    return "" if seconds is None else format_span(round(seconds * SECOND_MS))


def cost_text(amount: float | None, currency: str = USD) -> str:
    """Return an amount with cents, or two digits: ``$0.064``, ``$0.64``, ``EUR 2.00``; empty if there is none."""
    return "" if amount is None else format_money(amount, currency)


def pace_text(done: int, total: int, elapsed_s: float) -> str:
    """Return how fast the runs of a study are played, and when all will be: ``25.3 runs/s  00:00:03 left``."""
    left_s = int((total - done) * elapsed_s / done)
    return f"{done / elapsed_s:,.1f} runs/s  {duration_text(left_s)} left"


def recommendation(
    summary: StudySummary, values_of: Callable[[VariantSummary], str] = lambda variant: values_text(variant.values)
) -> str:
    """Return a line for each advice, with the values of variants in the words that ``values_of`` returns."""
    wanted = f"all expectations in at least {percent(summary.confidence)} of its runs"
    if not summary.has_expectations:
        return "The scenario expects nothing, so no variant is recommended."
    lines = []
    if len(summary.advice) > 1:
        names = " and ".join(short_names(list(summary.advice[0].values)))
        lines.append(f"Nobody chooses {names}, so there is a recommendation for each value:")
        lines += _in_each_case(summary, wanted)
    for values, recommended, nearest in summary.advice:
        short = zip(short_names(list(values)), values.values(), strict=True)
        where = f"{values_text(dict(short))}: " if len(summary.advice) > 1 else ""
        number = nearest if recommended is None else recommended
        if number is None:
            lines.append(f"{where}No variant keeps {wanted}: no run has a result.")
            continue
        chosen = summary.variants[number - 1]
        named, about = f"Variant {number}" + (f" ({said})" if (said := values_of(chosen)) else ""), _about(chosen)
        form = (
            "No variant keeps {0}. {1} comes nearest" if recommended is None else "{1} is the cheapest that keeps {0}"
        )
        lines.append(f"{where}{form.format(wanted, named)}: {about}.")
    return "\n".join(lines)


def _in_each_case(summary: StudySummary, wanted: str) -> Iterator[str]:
    """Yield a line about the choice that keeps all expectations in each case, the cheapest one, if there is one."""
    paths = [path for path in summary.variants[0].values if path not in summary.advice[0].values]
    safe = [
        each for each in _alike(summary.variants, paths) if min(one.met.share for one in each) >= summary.confidence
    ]
    if safe and paths:
        best = min(safe, key=lambda each: sum(one.done_cost.median or 0.0 for one in each))
        values = dict(zip(short_names(paths), (best[0].values[path] for path in paths), strict=True))
        is_best = {one.variant for one in best}.issuperset(summary.all_recommended)
        yield f"{values_text(values)} {'is the cheapest that keeps' if is_best else 'keeps'} {wanted} in each case."


def _about(variant: VariantSummary) -> str:
    met = f"{round(variant.met.share * variant.runs):,} of {variant.runs:,} ({interval_text(variant.met)})"
    cost, done = (cost_text(each.median, variant.currency) for each in (variant.cost, variant.done_cost))
    until = cost if cost == done else f"{done} until its work is done ({cost} until the run ends)"
    return f"{met}, last task ends at {end_text(variant.end_s)}, {until}"


_USUAL = ("makespanSeconds", "costUsd")
_NOTHING = Spread(None, None, None, None)
TIME_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
DAY_S = 86_400


def shown_measures(more: Sequence[str | JobEnd]) -> list[str | JobEnd]:
    """Return the measures of a table: end and cost, and those that the scenario names."""
    return [*_USUAL, *(one for one in more if one not in _USUAL)]


def short_names(paths: Sequence[str]) -> list[str]:
    """Return the last steps of paths, as many as tell them apart."""
    steps = [path.split(".") for path in paths]
    return [".".join(own[-_needed(own, [other for other in steps if other is not own]) :]) for own in steps]


def _needed(own: Sequence[str], others: Sequence[Sequence[str]]) -> int:
    """Return how many of its last steps tell a path from all others."""
    enough = (count for count in range(1, len(own)) if all(other[-count:] != own[-count:] for other in others))
    return next(enough, len(own))


def heading(one: str | JobEnd) -> str:
    """Return the heading of a measure. That of a job's end begins with the job, which a cut heading still names."""
    return f"{shortened(one.job_id, 20)} ends" if isinstance(one, JobEnd) else HEADINGS.get(one, "until done")


def spread_of(one: VariantSummary, measure: str | JobEnd) -> Spread:
    """Return the spread of a measure over the seeds of a variant; that of the cost is in its currency."""
    if isinstance(measure, JobEnd):
        return one.jobs.get(measure.job_id, _NOTHING)
    costs = {"costUsd": one.cost, DONE_COST: one.done_cost}
    return costs.get(measure) or one.measures[measure]


def text_of(measure: str | JobEnd, currency: str = USD) -> Callable[[float | None], str]:
    """Return the function that writes a value of a measure; empty text if there is none."""
    if isinstance(measure, JobEnd) or measure == "makespanSeconds":
        return end_text
    if "econds" in measure:
        return duration_text
    if measure in ("costUsd", DONE_COST):
        return partial(cost_text, currency=currency)
    return lambda value: "" if value is None else f"{value:,.4g}"


def time_step_s(range_s: float, most: int) -> float:
    """Return a readable step in seconds for an axis of this range with about ``most`` marks at most."""
    return next(
        (step for step in TIME_STEPS_S if range_s / step <= most), DAY_S * max(1, range_s // ((most - 2) * DAY_S))
    )


_MOST_NAMED = 3
_MINUTE_S = 60
_LONGEST_ID = 40
_LEAST_SHARE = 0.0005  # of the larger value: smaller differences are not named
_WHOLE_FROM = 100  # percent, which have no decimals from there on


def label(row: Row) -> str:
    """Return the name of a figure for people."""
    if row.job_id is not None:
        return end_label(shortened(row.job_id, _LONGEST_ID))
    return LABELS["costUsd" if row.what == AMOUNT else row.what]


def end_label(job_id: str) -> str:
    """Return the name of a job's end."""
    return f"end of {job_id}"


def value_text(row: Row, value: float | None) -> str:
    """Return a value of a row; what is not known is a dash."""
    return "-" if value is None else _amount(row, value)


def change_text(row: Row, difference: float) -> str:
    """Return the difference of a row with its sign; 0 if there is none."""
    if not difference:
        return "0"
    points = "points" if row.what == "slotUtilization" else ""
    text = f"{100 * abs(difference):.1f} {points}" if points else _amount(row, abs(difference))
    return f"{'-' if difference < 0 else '+'}{text}"


def _amount(row: Row, value: float) -> str:
    if row.job_id is not None or "Seconds" in row.what:
        return f"{round(value, 3 if value < 1 else 1):g} s" if value < _MINUTE_S else duration_text(value)
    if row.what == "slotUtilization":
        return f"{value:.1%}".replace("%", " %")
    if row.what in ("costUsd", AMOUNT):
        return format_money(value, row.currency)
    return f"{value:,.2f}" if row.what == "nodeHours" else f"{value:,}"


def percent_text(percent: float | None) -> str:
    """Return a change in percent with its sign, ``+12.5 %``; empty if there is none."""
    if not percent:
        return ""
    return f"{percent:+,.{0 if abs(percent) >= _WHOLE_FROM else 1}f} %"


def notable(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with the largest differences, at most three, without those below a twentieth of a percent."""
    return [row for row in largest(rows, _MOST_NAMED) if row.weight >= _LEAST_SHARE]


def agreement(rows: Sequence[Row]) -> str:
    """Return how far two sides agree that have no notable difference; empty if they have one, or nothing in common."""
    if notable(rows) or all(row.difference is None for row in rows):
        return ""
    is_exact = not largest(rows, 1)
    return "There is no difference." if is_exact else "No difference is larger than 0.05 %."


def report_card(a: Side, b: Side, rows: Sequence[Row]) -> Iterator[str]:
    """Yield sentences about the largest errors, if one side predicts what the other has observed."""
    if a.is_observed == b.is_observed:
        return
    errors = notable(rows)
    if agreement(rows):
        yield "The prediction agrees with the history in every figure that both have."
    if not errors:
        return
    yield "Predicted against observed, the largest errors:"
    for number, row in enumerate(errors, start=1):
        predicted, seen = (row.b, row.a) if a.is_observed else (row.a, row.b)
        assert predicted is not None
        assert seen is not None
        texts = f"predicted {value_text(row, predicted)}, observed {value_text(row, seen)}"
        yield f"{number}. {label(row)}: {texts}{_too_much(predicted, seen)}."


def _too_much(predicted: float, seen: float) -> str:
    if not seen:
        return ""
    share = 100 * (predicted - seen) / seen
    return f", {abs(share):,.1f} % too {'high' if share > 0 else 'low'}"
