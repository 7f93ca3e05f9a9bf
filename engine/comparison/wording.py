"""A comparison in words: the names of figures, their values, and the largest errors of a prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.shortening import shortened
from engine.base.units import SECOND_MS, format_clock, format_dollars
from engine.comparison.rows import largest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.comparison.rows import Row
    from engine.comparison.sides import Side

LABELS = {
    "makespanSeconds": "last task ends",
    "costUsd": "cost",
    "nodeHours": "node hours",
    "slotUtilization": "slots used",
    "totalTasks": "tasks",
    "succeededTasks": "tasks succeeded",
    "failedTasks": "tasks failed",
    "failedPreparations": "preparations failed",
    "failedReleases": "releases failed",
    "waitSecondsMedian": "waiting, median",
    "waitSecondsP95": "waiting, p95",
    "runSecondsMedian": "running, median",
    "runSecondsP95": "running, p95",
    "preparationSeconds": "preparing, last on each node",
    "releaseSeconds": "releasing, last on each node",
}
"""The names of measures for people."""

_MOST_NAMED = 3
_MINUTE_S = 60
_LONGEST_ID = 40
_LEAST_SHARE = 0.0005  # of the larger value: smaller differences are not named
_WHOLE_FROM = 100  # percent, which have no decimals from there on


def label(row: Row) -> str:
    """Return the name of a figure for people."""
    return LABELS[row.what] if row.job_id is None else end_label(shortened(row.job_id, _LONGEST_ID))


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
        return (
            f"{round(value, 3 if value < 1 else 1):g} s"
            if value < _MINUTE_S
            else format_clock(round(value * SECOND_MS)).removeprefix("+")
        )
    if row.what == "slotUtilization":
        return f"{value:.1%}".replace("%", " %")
    if row.what == "costUsd":
        return format_dollars(value)
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
