"""Labels of a study's table and plot: short names of factors, headings and texts of measures, steps of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.shortening import shortened
from engine.scenario.study import JobEnd
from engine.studies.summary import Spread
from engine.studies.wording import cost_text, duration_text, end_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.studies.summary import VariantSummary

_HEADINGS = {
    "makespanSeconds": "last task",
    "costUsd": "cost",
    "nodeHours": "node hours",
    "slotUtilization": "slots used",
    "failedTasks": "failed tasks",
    "failedPreparations": "failed prep",
    "failedReleases": "failed release",
    "waitSecondsMedian": "waiting",
    "waitSecondsP95": "waiting p95",
    "preparationSeconds": "preparing",
}
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
    return f"{shortened(one.job_id, 20)} ends" if isinstance(one, JobEnd) else _HEADINGS[one]


def spread_of(one: VariantSummary, measure: str | JobEnd) -> Spread:
    """Return the spread of a measure over the seeds of a variant."""
    return one.jobs.get(measure.job_id, _NOTHING) if isinstance(measure, JobEnd) else one.measures[measure]


def text_of(measure: str | JobEnd) -> Callable[[float | None], str]:
    """Return the function that writes a value of a measure; empty text if there is none."""
    if isinstance(measure, JobEnd) or measure == "makespanSeconds":
        return end_text
    if "econds" in measure:
        return duration_text
    return cost_text if measure == "costUsd" else lambda value: "" if value is None else f"{value:,.4g}"


def time_step_s(range_s: float, most: int) -> float:
    """Return the seconds between two of at most about so many marks on an axis, which people can read as times."""
    return next(
        (step for step in _STEPS_S if range_s / step <= most), _DAY_S * max(1, range_s // ((most - 2) * _DAY_S))
    )
