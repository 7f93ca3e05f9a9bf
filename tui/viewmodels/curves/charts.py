"""The charts of a pool and a job: what they show, with the values of this moment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from engine.base.units import SECOND_MS
from engine.views.pages.hook_status import HookStatus
from engine.views.pages.jobs import has_had_several_pools
from engine.views.series.changes import Measure, kind_of_node
from tui.viewmodels.curves.plot import Layer
from tui.viewmodels.session.costs import cost_by_the_end
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from engine.views.series.columns import Axis
    from engine.views.series.series import PoolSeries, Window
    from tui.viewmodels.session.session import Session


_KEPT = 64  # sets of layers
_LEAST_USD = 1e-6  # less is an error of rounding
_RUNS = (HookStatus.RUNNING, HookStatus.RETRYING)


class Reading(NamedTuple):
    """A value at this moment; ``layer`` is the number of its area, -1 is the line, None stands for neither."""

    text: str
    name: str
    layer: int | None = None


@dataclass(frozen=True, eq=False)
class Chart:
    """A chart over time."""

    title: str
    axis: Axis
    layers: tuple[Layer, ...]
    line: Layer | None
    readings: tuple[Reading, ...]
    is_count: bool  # of things: the scale has whole numbers only
    label: Callable[[float], str]
    now: float = 0  # the value at this moment, which may be above all columns: these are means

    @cached_property
    def top(self) -> float:
        """The highest value that is drawn or read."""
        return max(self.now, _highest(self.layers, self.line))


@lru_cache(maxsize=_KEPT)
def _highest(layers: tuple[Layer, ...], line: Layer | None) -> float:
    sums = map(sum, zip(*(layer.values for layer in layers), strict=True))
    return max(max(sums, default=0), max(line.values, default=0) if line else 0)


def _layer(name: str, role: Role, values: Iterable[float]) -> Layer:
    return Layer(name, role, tuple(values))


def compact(value: float) -> str:
    """Return a number in at most five characters: ``12``, ``0.5``, ``1.2k``, ``35k``, ``1.2M``."""
    if value and value < 1:
        return f"{value:.2g}"
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):.3g}{unit}"
    return f"{value:,.0f}" if value >= 100 or value % 1 == 0 else f"{value:.3g}"


def charts_of(session: Session, pool_id: str, job_id: str, window: Window, columns: int) -> list[Chart]:
    """Return the charts of a pool and a job on it, the most important first.

    Those of all pools stand in for a pool, and those of all jobs for a job, if there is none.
    """
    if session.pool(pool_id) is not None:
        nodes = _nodes_of_pool(session, pool_id, window, columns)
    else:
        nodes = _nodes_of_all(session, window, columns)
    if session.job(job_id) is not None:
        tasks = _of_job(session, job_id, window, columns)
    else:
        tasks = [] if session.pool(pool_id) is not None else _of_all_jobs(session, window, columns)
    cost = _cost(session, pool_id, window, columns)
    return [*nodes, *tasks, *cost]


def _of_all_jobs(session: Session, window: Window, columns: int) -> list[Chart]:
    """Return the charts of all jobs that there were, once they have been deleted."""
    tasks = session.series.of_job(None, window, columns)
    if not any(tasks.running) and not any(tasks.waiting):
        return []
    running, waiting = _layer("running", Role.RUNNING, tasks.running), _layer("waiting", Role.OFF, tasks.waiting)
    return [
        Chart("Running tasks", tasks.axis, (running,), None, (Reading("0", "running", 0),), True, compact),
        Chart("Waiting tasks", tasks.axis, (waiting,), None, (Reading("0", "waiting", 0),), True, compact),
    ]


def _nodes_of_all(session: Session, window: Window, columns: int) -> list[Chart]:
    """Return the chart of the nodes of all pools, deleted ones included."""
    values = session.series.of_pool(None, window, columns)
    layers = _node_layers(values)
    if not any(map(any, (layer.values for layer in layers))):
        return []
    latest = [
        Reading(compact(round(layer.values[-1])), layer.name, number)
        for number, layer in enumerate(layers)
        if any(layer.values)
    ]
    return [Chart("Nodes of all pools", values.axis, layers, None, tuple(latest), True, compact)]


def _node_layers(values: PoolSeries) -> tuple[Layer, ...]:
    return (
        _layer("running", Role.RUNNING, values.running),
        _layer("idle", Role.QUIET, values.idle),
        _layer("starting", Role.TRANSITION, values.starting),
        _layer("down", Role.OFF, values.down),
    )


def _nodes_of_pool(session: Session, pool_id: str, window: Window, columns: int) -> list[Chart]:
    values, pool = session.series.of_pool(pool_id, window, columns), session.pool(pool_id)
    assert pool is not None
    kinds = dict.fromkeys(Measure, 0)
    for state, number in pool.node_counts:
        kinds[kind_of_node(state)] += number
    layers = _node_layers(values)
    present = (Measure.NODES_RUNNING, Measure.NODES_IDLE, Measure.NODES_STARTING, Measure.NODES_DOWN)
    readings = [
        Reading(f"{kinds[kind]:,}", layer.name, number)
        for number, (kind, layer) in enumerate(zip(present, layers, strict=True))
        if kinds[kind] or any(layer.values)
    ]
    target = pool.target_dedicated + pool.target_spot
    readings.append(Reading("pool", "deleted") if pool.state is None else Reading(f"{target:,}", "target", -1))
    line, now = _layer("target", Role.STRONG, values.target), max(target, sum(kinds[kind] for kind in present))
    return [Chart("Nodes", values.axis, layers, line, tuple(readings), True, compact, now)]


def _cost(session: Session, pool_id: str, window: Window, columns: int) -> list[Chart]:
    """Return the chart of the cost of a pool on top of that of the other pools, or of all pools without one."""
    has_pool = session.pool(pool_id) is not None
    has_others = has_pool and has_had_several_pools(session.simulation)
    whole = session.series.of_pool(None if has_others or not has_pool else pool_id, window, columns)
    if not has_pool and not any(whole.usd):
        return []
    in_all, later = session.cost_usd(), cost_by_the_end(session)
    layers, told = [_layer("so far", Role.KEY, whole.usd)], [Reading(fmt.dollars(in_all), "so far", 0)]
    if has_others:
        own, own_usd = session.series.of_pool(pool_id, window, columns).usd, session.cost_usd(pool_id)
        others = [max(0.0, all_ - one) for all_, one in zip(whole.usd, own, strict=True)]
        layers = [_layer("this pool", Role.KEY, own), _layer("other pools", Role.OFF, others)]
        told = [
            Reading(fmt.dollars(own_usd), "this pool", 0),
            Reading(fmt.dollars(max(0.0, in_all - own_usd)), "other pools", 1),
        ]
    if later is not None:
        told.append(Reading(fmt.dollars(later), "by the end"))
    an_hour = whole.usd_an_hour[-1] if whole.usd_an_hour else 0.0
    if an_hour > _LEAST_USD:
        told.append(Reading(fmt.dollars(an_hour), "an hour"))
    return [Chart("Cost", whole.axis, tuple(layers), None, tuple(told), False, fmt.dollars)]


def _of_job(session: Session, job_id: str, window: Window, columns: int) -> list[Chart]:
    values, job = session.series.of_job(job_id, window, columns), session.job(job_id)
    assert job is not None
    tasks, others, all_running = job.phases.tasks, list[float](), job.phases.tasks.running
    if not has_had_several_pools(session.simulation):  # else most of the other jobs run elsewhere
        everything, all_running = session.series.running_of_all(window, columns), session.series.running_tasks()
        others = [max(0.0, all_ - own) for all_, own in zip(everything, values.running, strict=True)]
    running = [_layer("running", Role.RUNNING, values.running)]
    readings = [Reading(f"{tasks.running:,}", "running", 0)]
    if any(others):
        running.append(_layer("of other jobs", Role.OFF, others))
        readings.append(Reading(f"{all_running - tasks.running:,}", "of other jobs", 1))
    rates = [_layer("succeeded", Role.OK, values.succeeded_a_minute)]
    if tasks.failed or any(values.failed_a_minute):
        rates.append(_layer("failed", Role.FAILED, values.failed_a_minute))
    active, preparing = (tasks.active, tasks.preparing) if job.end_ms is None else (0, 0)
    waiting = [max(0.0, all_ - some) for all_, some in zip(values.waiting, values.preparing, strict=True)]
    waiting_layers, waiting_now = [_layer("waiting", Role.OFF, waiting)], [Reading(f"{active:,}", "waiting", 0)]
    if preparing or any(values.preparing):
        waiting_layers.append(_layer("preparing", Role.PREPARING, values.preparing))
        waiting_now.append(Reading(f"{preparing:,}", "preparing", 1))
    rate = session.series.succeeded_in_a_minute(job_id)
    if job.is_live and not session.is_over:
        done = [Reading(compact(round(rate, 1)), "a minute", 0)]
    else:  # a rate would be that of some stretch before the end
        rate, done = 0.0, [Reading(f"{tasks.succeeded:,}", "succeeded", 0)]
    if len(rates) > 1:
        done.append(Reading(f"{tasks.failed:,}", "failed", 1))
    found = [
        Chart("Running tasks", values.axis, tuple(running), None, tuple(readings), True, compact, all_running),
        Chart(
            "Waiting tasks",
            values.axis,
            tuple(waiting_layers),
            None,
            tuple(waiting_now),
            True,
            compact,
            active + preparing,
        ),
        Chart("Completed tasks", values.axis, tuple(rates), None, tuple(done), False, compact, rate),
    ]
    if job.phases.preparation.is_specified:
        spent_ms = session.series.preparation_ms(job_id)
        nodes = _layer("preparing", Role.PREPARING, values.preparing_nodes)
        prepare = sum(job.phases.preparation[status] for status in _RUNS)
        told = [
            Reading(f"{prepare:,}", "node" if prepare == 1 else "nodes", 0),
            Reading(fmt.span(spent_ms // SECOND_MS * SECOND_MS), "in all"),
        ]
        found.append(Chart("Preparing nodes", values.axis, (nodes,), None, tuple(told), True, compact, prepare))
    return found
