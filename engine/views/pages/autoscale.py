"""Autoscale of a pool: its formula, past evaluations, and trials of other formulas."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import BatchError
from engine.rules import autoscaling
from engine.rules.decisions import pool_metrics
from engine.specs.commands import EnablePoolAutoScale
from engine.state.pool_records import AutoScaleRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation

__all__ = ["AutoScaleRun", "Sampled", "ScalePage", "dry_run", "refusal_of", "scale_page"]


class Sampled(NamedTuple):
    """A metric that has samples: how many, and the newest."""

    name: str
    number: int
    newest: float


class ScalePage(NamedTuple):
    """Autoscale of one pool. Times are ms since the start; ``runs``, at least one, end with the newest."""

    formula: str
    interval_ms: int
    next_ms: int
    samples: tuple[Sampled, ...]
    runs: Sequence[AutoScaleRun]


def scale_page(simulation: Simulation, pool_id: str) -> ScalePage | None:
    """Return the autoscale of a pool; None where it is off, and while there is no pool of this id."""
    pool = simulation.world.pools.find(pool_id)
    if pool is None or pool.scaling is None or pool.scaling.run is None:
        return None
    scaling = pool.scaling
    series = pool_metrics.arrived(simulation.world, pool, simulation.now_ms)
    samples = tuple(Sampled(name, len(values), values[-1]) for name, (_, values) in series.items() if values)
    return ScalePage(scaling.formula, scaling.interval_ms, scaling.next_ms, samples, scaling.runs)


def dry_run(simulation: Simulation, pool_id: str, formula: str) -> AutoScaleRun | None:
    """Evaluate a formula on a pool now without changing anything (AS-87); return None while there is no such pool.

    A pool without autoscale has no samples.

    Raises:
        FormulaError: The text is no formula (AS-72).
    """
    pool = simulation.world.pools.find(pool_id)
    return None if pool is None else autoscaling.evaluate(simulation.world, pool, formula, simulation.now_ms)


def refusal_of(simulation: Simulation, pool_id: str, formula: str) -> BatchError | None:
    """Return why the service would refuse any formula for the pool now; None if it would not (AS-72, AS-85)."""
    pool = simulation.world.pools.find(pool_id)
    if pool is None:
        return BatchError("PoolNotFound", poolId=pool_id)
    command = EnablePoolAutoScale(pool_id=pool_id, auto_scale_formula=formula)
    return autoscaling.enable_verdict(pool, command, simulation.now_ms + 1)
