"""Studies and comparisons in words: headings, names and values of measures, and the outcome.

The outcome of a study is what is recommended, and why; that of a comparison is the largest errors of a prediction.
Labels of a study's table and plot are short names of factors, headings and texts of measures, and steps of axes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.base.values import SECOND_MS, USD, currency_sign, format_clock, format_money, shortened
from engine.scenario.model import JobEnd
from engine.scenario.record import values_text
from engine.studies.measures import AMOUNT, HEADINGS, LABELS, largest
from engine.studies.summary import Spread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engine.studies.measures import Row
    from engine.studies.sides import Side
    from engine.studies.summary import Share, StudySummary, VariantSummary


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
    return end_text(seconds).removeprefix("+")


def cost_text(amount: float | None, currency: str = USD) -> str:
    """Return an amount, with four decimals below one dollar: ``$0.6400``, ``EUR 2.00``; empty if there is none."""
    if amount is None:
        return ""
    return f"{currency_sign(currency)}{amount:,.{2 if amount >= 1 else 4}f}"


def pace_text(done: int, total: int, elapsed_s: float) -> str:
    """Return how fast the runs of a study are played, and when all will be: ``25.3 runs/s  00:00:03 left``."""
    left_s = int((total - done) * elapsed_s / done)
    return f"{done / elapsed_s:,.1f} runs/s  {duration_text(left_s)} left"


def _written(variant: VariantSummary) -> str:
    return values_text(variant.values)


def recommendation(summary: StudySummary, values_of: Callable[[VariantSummary], str] = _written) -> str:
    """Return one line: the cheapest variant that keeps all expectations often enough, or which comes nearest.

    ``values_of`` returns the values of a variant in words.
    """
    wanted = f"all expectations in at least {percent(summary.confidence)} of its runs"
    if not summary.has_expectations:
        return "The scenario expects nothing, so no variant is recommended."
    if summary.recommended is not None:
        chosen = summary.variants[summary.recommended - 1]
        return f"{_named(chosen, values_of)} is the cheapest that keeps {wanted}: {_about(chosen)}."
    if summary.nearest is None:
        return f"No variant keeps {wanted}: no run has a result."
    near = summary.variants[summary.nearest - 1]
    return f"No variant keeps {wanted}. {_named(near, values_of)} comes nearest: {_about(near)}."


def _named(variant: VariantSummary, values_of: Callable[[VariantSummary], str]) -> str:
    values = values_of(variant)
    return f"Variant {variant.variant}" + (f" ({values})" if values else "")


def _about(variant: VariantSummary) -> str:
    met = f"{round(variant.met.share * variant.runs):,} of {variant.runs:,} ({interval_text(variant.met)})"
    return f"{met}, last task ends at {end_text(variant.end_s)}, {cost_text(variant.cost.median, variant.currency)}"


_USUAL = ("makespanSeconds", "costUsd")
_NOTHING = Spread(None, None, None, None)
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_DAY_S = 86_400


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
    return f"{shortened(one.job_id, 20)} ends" if isinstance(one, JobEnd) else HEADINGS[one]


def spread_of(one: VariantSummary, measure: str | JobEnd) -> Spread:
    """Return the spread of a measure over the seeds of a variant; that of the cost is in its currency."""
    if measure == "costUsd":
        return one.cost
    return one.jobs.get(measure.job_id, _NOTHING) if isinstance(measure, JobEnd) else one.measures[measure]


def text_of(measure: str | JobEnd, currency: str = USD) -> Callable[[float | None], str]:
    """Return the function that writes a value of a measure; empty text if there is none."""
    if isinstance(measure, JobEnd) or measure == "makespanSeconds":
        return end_text
    if "econds" in measure:
        return duration_text
    return (
        partial(cost_text, currency=currency)
        if measure == "costUsd"
        else lambda value: "" if value is None else f"{value:,.4g}"
    )


def time_step_s(range_s: float, most: int) -> float:
    """Return a readable step in seconds for an axis of this range with about ``most`` marks at most."""
    return next(
        (step for step in _STEPS_S if range_s / step <= most), _DAY_S * max(1, range_s // ((most - 2) * _DAY_S))
    )


_MOST_NAMED = 3
_MINUTE_S = 60
_LONGEST_ID = 40
_LEAST_SHARE = 0.0005  # of the larger value: smaller differences are not named
_WHOLE_FROM = 100  # percent, which have no decimals from there on


def label(row: Row) -> str:
    """Return the name of a figure for people."""
    return (
        (LABELS | {AMOUNT: LABELS["costUsd"]})[row.what]
        if row.job_id is None
        else end_label(shortened(row.job_id, _LONGEST_ID))
    )


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
