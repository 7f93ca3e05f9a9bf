"""The figures by which runs and histories are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from engine.base.units import SECOND_MS
from engine.studies import measures
from engine.views.results import document, totals

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engine.run.simulation import Simulation

MEASURES = (
    "makespanSeconds",
    "costUsd",
    "nodeHours",
    "slotUtilization",
    "totalTasks",
    "succeededTasks",
    "failedTasks",
    "failedPreparations",
    "failedReleases",
    "waitSecondsMedian",
    "waitSecondsP95",
    "runSecondsMedian",
    "runSecondsP95",
    "preparationSeconds",
    "releaseSeconds",
)
"""The names of figures; those that a study measures too have the same value there."""


class Figures(NamedTuple):
    """The figures of a run or history; None stands for what is not known.

    ``measures`` are by name, ``job_ends`` by job id, in seconds from the start; None there is a job that has not ended.
    """

    measures: Mapping[str, float | None]
    job_ends: Mapping[str, float | None]


class Times(NamedTuple):
    """Times in ms, of which the figures are made."""

    waits: Iterable[int]  # of each task that has started, from its creation to its latest start
    runs: Iterable[int]  # of each task that has ended, from its latest start
    preparation: int  # on all nodes
    release: int


def of_times(times: Times) -> dict[str, float | None]:
    """Return the measures that follow from times alone."""
    return {
        **measures.of_times("wait", times.waits),
        **measures.of_times("run", times.runs),
        "preparationSeconds": times.preparation / SECOND_MS,
        "releaseSeconds": times.release / SECOND_MS,
    }


def figures(summary: Mapping[str, object], times: Times, job_ends: Mapping[str, float | None]) -> Figures:
    """Return the figures that follow from the ``summary`` of the state of a run as JSON, and from times."""
    tasks = cast("Mapping[str, float | None]", summary["tasks"])
    found = {
        **measures.with_derived(summary, times.waits, times.preparation),
        "totalTasks": tasks["total"],
        "succeededTasks": tasks["succeeded"],
        **of_times(times),
    }
    return Figures({name: found[name] for name in MEASURES}, job_ends)


def figures_of_run(simulation: Simulation) -> Figures:
    """Return the figures of a run at the moment that is shown."""
    world = simulation.world
    times = Times(
        totals.task_waits_ms(world), totals.task_runs_ms(world), totals.preparation_ms(world), totals.release_ms(world)
    )
    ends = {job_id: found["endSeconds"] for job_id, found in measures.job_ends(simulation).items()}
    return figures(document.summary(simulation), times, ends)
