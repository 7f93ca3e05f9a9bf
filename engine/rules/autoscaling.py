"""Autoscale: samples, evaluations, and the targets they set (AS-40 to AS-90; POOL-20, POOL-21, POOL-25).

Samples are taken every 30 s, evaluations lie on a grid of the interval. Both go on for as long as the pool is there,
since a formula may ask for the time of day: a run with such a pool ends at its ``until``.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING

from engine import autoscale
from engine.autoscale.values import DEDICATED, LOW_PRIORITY, OPTION, SAMPLE_PERIOD_MS, Inputs
from engine.base.calendar import Due, DueKind
from engine.base.errors import BatchError, raise_refusal
from engine.base.log import LogSubject
from engine.base.terms import AllocationState, AutoScaleRetries, Deallocation, OsFamily, PoolState
from engine.base.values import DAY_MS, MINUTE_MS, SECOND_MS
from engine.rules.decisions import capacity, metrics
from engine.rules.facts import TargetsSet
from engine.specs import draws
from engine.state.pools import AutoScaleRun, Sampling, Scaling

if TYPE_CHECKING:
    from collections.abc import Hashable

    from engine.rules.facts import PoolCreated
    from engine.specs.commands import EnablePoolAutoScale, EvaluatePoolAutoScale
    from engine.state.pools import Pool
    from engine.world import World

_DEFAULT_INTERVAL_MS = 15 * MINUTE_MS  # AS-83, TIME-15
_FORMULA = "autoScaleFormula"
_SPACING_MS = 30 * SECOND_MS  # TIME-16
_MOST_RUNS = 100  # evaluations that a pool remembers; the log has them all
_HISTORY_MS = DAY_MS  # AS-55


# -- decisions -------------------------------------------------------------------------------------------------------


def enable_verdict(pool: Pool, command: EnablePoolAutoScale, now_ms: int) -> BatchError | None:
    """Return why the service does not switch autoscale on, or change it (AS-72, AS-85); None if it does."""
    if pool.state is PoolState.DELETING:
        return BatchError("PoolBeingDeleted")
    if pool.scaling_asked_ms is not None and now_ms - pool.scaling_asked_ms < _SPACING_MS:
        return BatchError("TooManyEnableAutoScaleRequests")
    if pool.scaling is None and command.auto_scale_formula is None:
        return BatchError(
            "InvalidAutoScalingSettings", "a formula is needed where autoscale is off", PropertyName=_FORMULA
        )
    if command.auto_scale_formula is None and command.auto_scale_evaluation_interval is None:
        return BatchError("InvalidAutoScalingSettings", "a formula or an interval is needed", PropertyName=_FORMULA)
    if pool.scaling is None and pool.allocation is not AllocationState.STEADY:
        return BatchError("PoolBeingResized")
    return None


def evaluate_verdict(pool: Pool) -> BatchError | None:
    """Return why the service does not try out a formula on the pool (AS-72, AS-87, AS-89); None if it does."""
    if pool.state is PoolState.DELETING:
        return BatchError("PoolBeingDeleted")
    if pool.scaling is None:
        return BatchError("OperationInvalidForCurrentState", "autoscale is not enabled on the pool")
    return None


def retries_resize(world: World, pool: Pool) -> bool:
    """Return whether an evaluation with the same targets begins a resize: the last one failed for now (AS-80)."""
    errors, retries = pool.resize_errors, world.options.auto_scale_retries
    if not errors or pool.allocation is not AllocationState.STEADY or retries is AutoScaleRetries.NONE:
        return False
    passes = retries is AutoScaleRetries.ALL or all(error.passes for error in errors)
    return passes and capacity.member_counts(world, pool) != (pool.target_dedicated, pool.target_spot)


# -- on and off ------------------------------------------------------------------------------------------------------


def pool_created(world: World, created: PoolCreated) -> None:
    """Evaluate the formula of a new pool, without samples, for the first targets (AS-84)."""
    pool = world.pools[created.pool]
    if not pool.auto_scale:
        return
    formula = pool.spec.auto_scale_formula
    assert formula is not None  # one of the refusals
    _switch_on(world, pool, formula, pool.spec.auto_scale_evaluation_interval)
    option = _evaluate(world, pool)
    world.emit(TargetsSet(pool.row, option or Deallocation.REQUEUE))


def enable(world: World, pool: Pool, command: EnablePoolAutoScale) -> None:
    """Switch autoscale on, or change formula or interval; every such request evaluates at once (AS-85)."""
    raise_refusal(enable_verdict(pool, command, world.now_ms))
    formula, interval_ms = command.auto_scale_formula, command.auto_scale_evaluation_interval
    scaling = pool.scaling
    if scaling is None:
        assert formula is not None
        _switch_on(world, pool, formula, _DEFAULT_INTERVAL_MS if interval_ms is None else interval_ms)
    else:
        scaling = scaling._replace(formula=formula or scaling.formula)
        if interval_ms is not None:
            scaling = scaling._replace(interval_ms=interval_ms, next_ms=world.now_ms + interval_ms)
            world.calendar.at(world.now_ms + interval_ms, DueKind.AUTOSCALE, pool.row)
        pool.set_scaling(scaling)
    pool.assign(scaling_asked_ms=world.now_ms)
    pool.show_scaling(world.now_ms, _DEFAULT_INTERVAL_MS)
    _evaluate_and_resize(world, pool)


def disable(world: World, pool: Pool) -> None:
    """Switch autoscale off: targets and nodes stay, samples are forgotten (AS-52, AS-86)."""
    if pool.state is PoolState.DELETING:
        raise BatchError("PoolBeingDeleted")
    pool.set_scaling(None)
    for node in pool.nodes:
        world.traffic.forget_node(node)
    pool.show_scaling(world.now_ms, _DEFAULT_INTERVAL_MS)


def _switch_on(world: World, pool: Pool, formula: str, interval_ms: int) -> None:
    now_ms = world.now_ms
    pool.set_scaling(Scaling(formula, interval_ms, now_ms + interval_ms, _next_sample(world, pool)))
    world.calendar.at(now_ms + interval_ms, DueKind.AUTOSCALE, pool.row)


# -- evaluation ------------------------------------------------------------------------------------------------------


def evaluate_when_due(world: World, due: Due) -> None:
    """Evaluate the formula at a moment of the grid (AS-84), if the pool is active (AS-89)."""
    pool = world.pools.edit(due.key)
    scaling, now_ms = pool.scaling, world.now_ms
    if scaling is None or scaling.next_ms != now_ms or pool.state is not PoolState.ACTIVE:
        return
    pool.set_scaling(scaling._replace(next_ms=now_ms + scaling.interval_ms))
    world.calendar.at(now_ms + scaling.interval_ms, DueKind.AUTOSCALE, pool.row)
    _evaluate_and_resize(world, pool)


def evaluate(world: World, pool: Pool, formula: str, now_ms: int) -> AutoScaleRun:
    """Evaluate a formula on the pool as it is; changes nothing (AS-36, AS-46, AS-87). Raises FormulaError."""
    draw = count()
    inputs = Inputs(
        start=world.scenario.start,
        now_ms=now_ms,
        variables={DEDICATED: pool.target_dedicated, LOW_PRIORITY: pool.target_spot, **metrics.now(world, pool)},
        samples=metrics.arrived(world, pool, now_ms),
        chance=lambda: draws.uniform(world.seed, "rand", pool.id.lower(), now_ms, next(draw)),
        may_have_spot=pool.os is not OsFamily.CLOUD_SERVICE,
    )
    results = autoscale.parse(formula).evaluate(inputs)
    targets = results.target_dedicated, results.target_low_priority
    counts = capacity.current_counts(world, pool)
    return AutoScaleRun(now_ms, results.items, results.text, results.error, *targets, *counts)


def try_out(world: World, pool: Pool, command: EvaluatePoolAutoScale) -> None:
    """Evaluate a formula for the evaluate operation: the answer is an event and nothing else (AS-87)."""
    raise_refusal(evaluate_verdict(pool))
    run = evaluate(world, pool, command.auto_scale_formula, world.now_ms)
    _log(world, pool, command.auto_scale_formula, run, ("trial", True), ("rule", "AS-87"))


def _evaluate_and_resize(world: World, pool: Pool) -> None:
    """Evaluate the formula; resize the pool if targets change or a failed resize is retried (AS-80, AS-81).

    DECISION: a resize that is being stopped is left alone until the next evaluation.
    """
    before = pool.target_dedicated, pool.target_spot
    option = _evaluate(world, pool)
    is_changed = (pool.target_dedicated, pool.target_spot) != before
    if option is None or not (is_changed or retries_resize(world, pool)):
        return
    if pool.allocation is AllocationState.STOPPING:
        pool.assign(target_dedicated=before[0], target_spot=before[1])
        return
    world.emit(TargetsSet(pool.row, option))


def _evaluate(world: World, pool: Pool) -> Deallocation | None:
    """Evaluate the formula, log it, and set the targets; return how nodes leave.

    After an error the targets stay, and None is returned (AS-66, AS-67).
    """
    scaling = pool.scaling
    assert scaling is not None
    run = evaluate(world, pool, scaling.formula, world.now_ms)
    failed_ms = scaling.failed_ms if scaling.run is not None and scaling.run.error else world.now_ms
    pool.set_scaling(scaling._replace(runs=(*scaling.runs, run)[-_MOST_RUNS:], failed_ms=failed_ms))
    pool.assign(target_dedicated=run.target_dedicated, target_spot=run.target_spot)
    _log(world, pool, scaling.formula, run, ("rule", "AS-90"))
    return None if run.error else Deallocation(dict(run.items)[OPTION])


def _log(world: World, pool: Pool, formula: str, run: AutoScaleRun, *more: tuple[str, Hashable]) -> None:
    shape = world.log.shape(
        "AutoScaleEvaluated",
        LogSubject.POOL,
        ("currentDedicatedNodes", run.current_dedicated),
        ("targetDedicatedNodes", run.target_dedicated),
        ("currentLowPriorityNodes", run.current_spot),
        ("targetLowPriorityNodes", run.target_spot),
        ("formula", formula),
        ("results", run.results),
        ("error", run.error),
        *more,
    )
    world.log.append(world.now_ms, shape, pool.row)


# -- samples ---------------------------------------------------------------------------------------------------------


def _next_sample(world: World, pool: Pool) -> Sampling:
    """Enter the next sample, in 30 s (AS-52)."""
    sampling = Sampling(world.now_ms + SAMPLE_PERIOD_MS, pool.busy_slot_ms_at(world.now_ms))
    world.calendar.at(sampling.next_ms, DueKind.AUTOSCALE_SAMPLE, pool.row)
    return sampling


def take_sample(world: World, due: Due) -> None:
    """Take a sample, before an evaluation of the same moment (AS-53); some are lost (AS-54)."""
    pool = world.pools.edit(due.key)
    scaling, now_ms = pool.scaling, world.now_ms
    if scaling is None or scaling.sampling.next_ms != now_ms or pool.state is not PoolState.ACTIVE:
        return
    lost = world.scenario.simulate.auto_scale.sample_loss_probability
    if not lost or draws.uniform(world.seed, "sample", pool.id.lower(), now_ms) >= lost:
        busy_slot_ms = pool.busy_slot_ms_at(now_ms) - scaling.sampling.busy_slot_ms
        counts, nodes = metrics.task_counts(world, pool), metrics.node_metrics(world, pool, busy_slot_ms)
        pool.add_sample((now_ms, *counts, *metrics.now(world, pool).values(), *nodes))
    if world.traffic:
        for node in pool.nodes:
            world.traffic.forget(node, now_ms)
    pool.drop_samples(bisect_right(pool.samples, now_ms - _HISTORY_MS, key=itemgetter(0)))
    pool.set_scaling(scaling._replace(sampling=_next_sample(world, pool)))
