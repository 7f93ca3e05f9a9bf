"""The curves of a run as counters of a trace: the same series that the dashboard draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.views.series.series import RunSeries, Window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engine import Simulation
    from engine.views.series.columns import Axis

_COLUMNS = 1_000
_DECIMALS, _COST_DECIMALS = 3, 6


class CounterSample(NamedTuple):
    """The values of a counter from ``when_ms`` on, in ms since the start."""

    name: str
    when_ms: int
    values: Mapping[str, float]


def counters(simulation: Simulation) -> Iterator[CounterSample]:
    """Yield the samples of each counter, where its values change.

    Numbers of nodes and tasks are means over a thousandth of the run, from its begin; the cost is that so far, at the
    end of each thousandth.
    """
    series = RunSeries(simulation)
    for pool_id in dict.fromkeys(pool.id for pool in simulation.world.pools.rows):
        nodes = series.of_pool(pool_id, Window.ALL, _COLUMNS)
        curves = {"running": nodes.running, "idle": nodes.idle, "starting": nodes.starting, "down": nodes.down}
        yield from _changes(f"nodes of {pool_id}", nodes.axis, curves)
        yield from _changes(f"target nodes of {pool_id}", nodes.axis, {"target": nodes.target})
    tasks = series.of_job(None, Window.ALL, _COLUMNS)
    yield from _changes("running tasks", tasks.axis, {"running": tasks.running})
    yield from _changes("waiting tasks", tasks.axis, {"waiting": tasks.waiting})
    whole = series.of_pool(None, Window.ALL, _COLUMNS)
    for edge, usd in zip(whole.axis.edges[1:], whole.usd, strict=True):
        yield CounterSample("cost", edge * whole.axis.every_ms, {"USD": round(usd, _COST_DECIMALS)})


def _changes(name: str, axis: Axis, curves: Mapping[str, Sequence[float]]) -> Iterator[CounterSample]:
    before: tuple[float, ...] = ()
    for edge, *values in zip(axis.edges, *curves.values(), strict=False):  # the last edge begins no column
        rounded = tuple(round(value, _DECIMALS) for value in values)
        if rounded != before:
            yield CounterSample(name, edge * axis.every_ms, dict(zip(curves, rounded, strict=True)))
        before = rounded
