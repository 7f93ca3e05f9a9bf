"""Measures of a finished run: the summary that ``run`` prints, waiting and preparation times, the ends of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from engine.base.percentiles import percentile
from engine.base.units import SECOND_MS
from engine.views.results import document, totals

if TYPE_CHECKING:
    from engine.run.simulation import Simulation

Measured = dict[str, object]

_FAILED = {"failedTasks": "tasks", "failedPreparations": "preparationTasks", "failedReleases": "releaseTasks"}


def expectations(sim: Simulation) -> list[bool]:
    """Return for each expectation of the scenario whether it was met."""
    return [outcome.met for outcome in sim.expectations]


def summary(sim: Simulation) -> Measured:
    """Return the ``summary`` of the state of a run as JSON, and every measure of a study by its name."""
    whole = document.summary(sim)
    waits_ms = sorted(totals.task_waits_ms(sim.world))
    return whole | {
        **{name: cast("dict[str, int]", whole[part])["failed"] for name, part in _FAILED.items()},
        "waitSecondsMedian": _seconds(percentile(waits_ms, 0.5)),
        "waitSecondsP95": _seconds(percentile(waits_ms, 0.95)),
        "preparationSeconds": totals.preparation_ms(sim.world) / SECOND_MS,
    }


def _seconds(ms: float | None) -> float | None:
    return None if ms is None else ms / SECOND_MS


def job_ends(sim: Simulation) -> dict[str, dict[str, float | None]]:
    """Return when each job that is not deleted has ended, in seconds from the start of the run; None if it has not."""
    return {job.id: {"endSeconds": _seconds(job.end_ms)} for job in sim.world.jobs.present()}
