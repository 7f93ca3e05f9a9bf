"""Measures of a finished run, and the figures in which two runs or histories differ.

Measures are the summary that ``run`` prints, waiting and preparation times, and the ends of jobs. A comparison has a
row for each figure of both sides, with their difference.
"""

from __future__ import annotations

from math import fsum, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from engine.base.values import SECOND_MS, USD, percentile, read_table
from engine.run.conditions import makespan_ms
from engine.views import results
from engine.views.log.tally import hook_times, node_use

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from engine.run.simulation import Simulation
    from engine.scenario.model import JobEnd, Scenario


Measured = dict[str, object]

_SHARES = {"Median": 0.5, "P95": 0.95}
_FAILED = {"failedTasks": "tasks", "failedPreparations": "preparationTasks", "failedReleases": "releaseTasks"}


def summary(sim: Simulation) -> Measured:
    """Return the ``summary`` of the state of a run as JSON, and every measure of a study by its name."""
    whole = results.run_totals(sim)
    waits = _of_times("wait", results.task_waits_ms(sim.world))
    return {**whole, **_failed(whole), **waits, **_done_cost(sim)}


def may_go_on(scenario: Scenario) -> bool:
    """Return whether runs may go on, and cost, after their work is done, each for another time."""
    goes_on = scenario.timeline or any(entry.spec.enable_auto_scale for entry in scenario.pools)
    return scenario.until_ms is None and bool(goes_on)


def measures_of(scenario: Scenario) -> Sequence[str | JobEnd]:
    """Return the measures that a scenario names, and the cost by which variants are compared if it is another one."""
    return (*scenario.study.shown, *((DONE_COST,) if may_go_on(scenario) else ()))


def _done_cost(sim: Simulation) -> dict[str, float]:
    """Return what a run had cost when its last task or job ended; nothing where that is the cost of the run."""
    world = sim.world
    done_ms = max(makespan_ms(world), *(job.end_ms or 0 for job in world.jobs.rows), 0)
    if not may_go_on(sim.scenario) or not 0 < done_ms < sim.now_ms or results.task_totals(sim).active:
        return {}
    return {DONE_COST: round(node_use(sim).cost(done_ms), 6)}


def _failed(whole: Mapping[str, object]) -> dict[str, int]:
    """Return the failures in the ``summary`` of the state of a run as measures."""
    return {name: cast("dict[str, int]", whole[part])["failed"] for name, part in _FAILED.items()}


def _of_times(name: str, times_ms: Iterable[int]) -> dict[str, float | None]:
    """Return the median and the 95th percentile of times, as ``NAMESecondsMedian`` and ``NAMESecondsP95``."""
    in_order = sorted(times_ms)
    return {f"{name}Seconds{part}": seconds(percentile(in_order, share)) for part, share in _SHARES.items()}


def seconds(ms: float | None) -> float | None:
    """Return seconds; None for None."""
    return None if ms is None else ms / SECOND_MS


def job_ends(sim: Simulation) -> dict[str, dict[str, float | None]]:
    """Return when each job that is not deleted has ended, in seconds from the start of the run; None if it has not."""
    return {job.id: {"endSeconds": seconds(job.end_ms)} for job in sim.world.jobs.present()}


_NAMES = read_table("measures.csv", __file__)
LABELS = {name: label for name, _, label in _NAMES}
"""The figures, and their names for people. Those that a study measures too have the same value there."""

HEADINGS = {name: heading for name, heading, _ in _NAMES if heading}
"""The measures of a study, and the headings of their columns."""

MEASURES = tuple(LABELS)

DONE_COST = "costUntilDone"
"""The cost of a run until its work was done: runs of one study may go on after that, each for another time."""
AMOUNT = "cost.amount"
"""The cost of two runs with the same prices in another currency than US dollars."""


class Figures(NamedTuple):
    """The figures of a run or history; None stands for what is not known.

    ``measures`` are by name, ``job_ends`` by job id, in seconds from the start; None there is a job that has not ended.
    """

    measures: Mapping[str, float | None]
    job_ends: Mapping[str, float | None]
    amount: float | None = None  # of the cost, in ``currency``
    currency: str = USD


class Times(NamedTuple):
    """Times in ms, of which the figures are made."""

    waits: Iterable[int]  # of each task that has started, from its creation to its latest start
    runs: Iterable[int]  # of each task that has ended, from its latest start
    preparation: int  # on all nodes, all runs as far as they are known
    release: int


def figures(summary: Mapping[str, object], times: Times, job_ends: Mapping[str, float | None]) -> Figures:
    """Return the figures that follow from the ``summary`` of the state of a run as JSON, and from times.

    The summary knows every preparation and release; the status of a job has the last one on each node.
    """
    tasks = cast("Mapping[str, float | None]", summary["tasks"])
    found: dict[str, Any] = {
        **_of_times("wait", times.waits),
        **_of_times("run", times.runs),
        "preparationSeconds": times.preparation / SECOND_MS,
        "releaseSeconds": times.release / SECOND_MS,
        **summary,
        **_failed(summary),
        "totalTasks": tasks["total"],
        "succeededTasks": tasks["succeeded"],
    }
    cost = cast("Mapping[str, Any]", summary.get("cost") or {"amount": summary["costUsd"], "currency": USD})
    return Figures({name: found[name] for name in MEASURES}, job_ends, cost["amount"], cost["currency"])


def figures_of_run(simulation: Simulation) -> Figures:
    """Return the figures of a run at the moment that is shown."""
    world = simulation.world
    of_tasks = results.task_waits_ms(world), results.task_runs_ms(world)
    times = Times(*of_tasks, *hook_times(simulation.log))
    ends = {job_id: found["endSeconds"] for job_id, found in job_ends(simulation).items()}
    return figures(results.run_totals(simulation), times, ends)


_DECIMALS, _PERCENT_DECIMALS = 9, 6  # beyond these there is only the error of binary fractions


class Row(NamedTuple):
    """A figure of both sides. A job's end has its id as ``job_id``."""

    what: str
    a: float | None
    b: float | None
    job_id: str | None = None
    currency: str = USD

    @property
    def difference(self) -> float | None:
        """B minus A; None where a side is not known."""
        return None if self.a is None or self.b is None else round(self.b - self.a, _DECIMALS)

    @property
    def percent(self) -> float | None:
        """The difference in percent of A; None where there is none."""
        difference = self.difference
        return round(100 * difference / self.a, _PERCENT_DECIMALS) if self.a and difference is not None else None

    @property
    def weight(self) -> float:
        """The size of the difference as a share of the larger value, 0 to 1, by which differences are ranked."""
        if self.a is None or self.b is None or not self.difference:
            return 0.0
        return abs(self.difference) / max(abs(self.a), abs(self.b))


def compared(a: Figures, b: Figures) -> list[Row]:
    """Return a row for each measure, and one for the end of each job of either side, in the order of A, then of B.

    The row of a job that is on both sides has the id that A gives it.
    """
    rows = [Row(name, a.measures[name], b.measures[name]) for name in MEASURES]
    if a.currency == b.currency != USD:
        rows.insert(1 + MEASURES.index("costUsd"), Row(AMOUNT, a.amount, b.amount, currency=a.currency))
    there = _same_jobs(a.job_ends, b.job_ends)
    ends = [(job_id, end, b.job_ends.get(there.get(job_id, ""))) for job_id, end in a.job_ends.items()]
    only_there = b.job_ends.keys() - there.values()
    ends += [(job_id, None, end) for job_id, end in b.job_ends.items() if job_id in only_there]
    return rows + [Row(f"jobs.{job_id}.endSeconds", one, other, job_id) for job_id, one, other in ends]


def _same_jobs(ours: Iterable[str], theirs: Iterable[str]) -> dict[str, str]:
    """Return the other side's id of each of our jobs that is there, under the same id or that which an import gives.

    Case does not matter (GEN-1). A job of a job schedule has a colon in its id, for which an import writes a hyphen.
    """
    found: dict[str, str] = {}
    for comparable in (str.casefold, lambda job_id: job_id.casefold().replace(":", "-")):
        taken = set(found.values())
        there = {comparable(job_id): job_id for job_id in theirs if job_id not in taken}
        left = [job_id for job_id in ours if job_id not in found]
        found |= {job_id: there[comparable(job_id)] for job_id in left if comparable(job_id) in there}
    return found


def largest(rows: Iterable[Row], count: int) -> list[Row]:
    """Return the rows with the largest differences, the largest first; equal ones in their order."""
    return sorted((one for one in rows if one.weight), key=lambda one: -one.weight)[:count]


def as_json(a: str, b: str, rows: Sequence[Row]) -> Mapping[str, object]:
    """Return a comparison as ``batchdeck compare --output json`` prints it; ``a`` and ``b`` name the sides."""
    return {
        "a": a,
        "b": b,
        "rows": [{name: getattr(one, name) for name in ("what", "a", "b", "difference", "percent")} for one in rows],
    }


_Z = 1.959963984540054  # the quantile of the normal distribution for an interval of 95 %


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
