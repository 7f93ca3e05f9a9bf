"""Measures of a finished run: the summary that ``run`` prints, waiting and preparation times, the ends of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from engine.base.percentiles import percentile
from engine.base.units import SECOND_MS
from engine.views.results import document, totals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engine.run.simulation import Simulation

Measured = dict[str, object]

_SHARES = {"Median": 0.5, "P95": 0.95}
_FAILED = {"failedTasks": "tasks", "failedPreparations": "preparationTasks", "failedReleases": "releaseTasks"}


def expectations(sim: Simulation) -> list[bool]:
    """Return for each expectation of the scenario whether it was met."""
    return [outcome.met for outcome in sim.expectations]


def summary(sim: Simulation) -> Measured:
    """Return the ``summary`` of the state of a run as JSON, and every measure of a study by its name."""
    return with_derived(document.summary(sim), totals.task_waits_ms(sim.world), totals.preparation_ms(sim.world))


def with_derived(whole: Mapping[str, object], waits_ms: Iterable[int], preparation_ms: int) -> Measured:
    """Return the ``summary`` of the state of a run with the measures that follow from it and from times.

    Args:
        whole: The summary.
        waits_ms: The time from creation to start of each task that has started.
        preparation_ms: For how long preparations have run on all nodes.
    """
    return {
        **whole,
        **{name: cast("dict[str, int]", whole[part])["failed"] for name, part in _FAILED.items()},
        **of_times("wait", waits_ms),
        "preparationSeconds": preparation_ms / SECOND_MS,
    }


def of_times(name: str, times_ms: Iterable[int]) -> dict[str, float | None]:
    """Return the median and the 95th percentile of times, as ``NAMESecondsMedian`` and ``NAMESecondsP95``."""
    in_order = sorted(times_ms)
    return {f"{name}Seconds{part}": seconds(percentile(in_order, share)) for part, share in _SHARES.items()}


def seconds(ms: float | None) -> float | None:
    """Return seconds; None for None."""
    return None if ms is None else ms / SECOND_MS


def job_ends(sim: Simulation) -> dict[str, dict[str, float | None]]:
    """Return when each job that is not deleted has ended, in seconds from the start of the run; None if it has not."""
    return {job.id: {"endSeconds": seconds(job.end_ms)} for job in sim.world.jobs.present()}
