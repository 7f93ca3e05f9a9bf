"""Reasons why autoscale has set the targets of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.autoscale import NO_SAMPLES
from engine.base.terms import PoolState
from engine.base.units import format_duration
from engine.views.explain.explanation import Check, Explanation, Next, Note, moment, some

if TYPE_CHECKING:
    from engine.state.pools import AutoScaleRun, Pool, Scaling
    from engine.world.world import World

_SERVICE_ITEMS = 3  # of the results string; the user's variables follow (AS-68)


def why_targets(world: World, pool: Pool) -> Explanation | None:
    """Explain the last evaluation, its samples and the next one; return None where autoscale is off."""
    scaling = pool.scaling
    if scaling is None or scaling.run is None:
        return None
    is_active = pool.state is PoolState.ACTIVE
    run = scaling.run
    checks = [
        Check("pool state", is_active, pool.state.wire if pool.state is not None else "deleted", "AS-89"),
        Check("evaluation", True, _schedule(world, scaling), "AS-83"),
        Check("last one", run.error is None, _last(world, run), "AS-67" if run.error is None else "AS-65"),
        Check("samples", bool(pool.samples), _samples(world, pool, scaling), "AS-52"),
        Check("targets", run.error is None, _targets(scaling), "AS-80" if len(scaling.runs) > 1 else "AS-84"),
    ]
    notes = tuple(_notes(scaling, run))
    return Explanation(world.scenario.start, _question(pool, run), tuple(checks), (), next_evaluation(pool), notes)


def next_evaluation(pool: Pool | None) -> Next | None:
    """Return when the pool's targets can change by themselves (AS-84, AS-89)."""
    if pool is None or pool.scaling is None or pool.state is not PoolState.ACTIVE:
        return None
    return Next("the pool's formula is evaluated", pool.scaling.next_ms, "AS-84")


def _question(pool: Pool, run: AutoScaleRun) -> str:
    if run.error is not None:
        return f"Why did autoscale leave the targets of {pool.id} as they are?"
    return f"Why does autoscale set {_wanted(run)} for {pool.id}?"


def _wanted(run: AutoScaleRun) -> str:
    dedicated = some(run.target_dedicated, "dedicated node")
    return f"{dedicated} and {some(run.target_spot, 'Spot node')}" if run.target_spot else dedicated


def _schedule(world: World, scaling: Scaling) -> str:
    return f"every {format_duration(scaling.interval_ms)}, next at {moment(world, scaling.next_ms)}"


def _last(world: World, run: AutoScaleRun) -> str:
    at = f"at {moment(world, run.when_ms)}"
    return at if run.error is None else f"{at}: {run.error.code}. {run.error.position}: {run.error.reason}"


def _samples(world: World, pool: Pool, scaling: Scaling) -> str:
    if not pool.samples:
        return f"none yet; the first at {moment(world, scaling.sampling.next_ms)}"
    return f"{len(pool.samples):,} of each metric, one every 30 s since {moment(world, int(pool.samples[0][0]))}"


def _targets(scaling: Scaling) -> str:
    run = scaling.runs[-1]
    new = run.target_dedicated, run.target_spot
    if run.error is not None:
        return f"left at {_wanted(run)}"
    if len(scaling.runs) == 1:
        return f"{_wanted(run)}, its first targets"
    before = scaling.runs[-2]
    if (before.target_dedicated, before.target_spot) == new:
        return f"{_wanted(run)} as before, so no resize began"
    return f"{_wanted(run)}, previously {_wanted(before)}"


def _notes(scaling: Scaling, run: AutoScaleRun) -> list[Note]:
    """Return the formula's own variables, and what would help where it failed."""
    own = run.items[_SERVICE_ITEMS:]
    notes = [Note(f"Its variables: {', '.join(f'{name} = {text}' for name, text in own)}.", "AS-68")] if own else []
    if run.error is None:
        option = run.items[_SERVICE_ITEMS - 1][1]
        return [*notes, Note(f"Nodes leave with deallocation option {option}.", "AS-40")]
    if run.error.code == NO_SAMPLES:
        help_text = "By default GetSample over a time needs 70 % of its samples."
        notes.append(Note(help_text, "AS-51"))
    failed, count = sum(each.error is not None for each in scaling.runs), len(scaling.runs)
    said = f"{failed} of the last {count} evaluations failed." if count > 1 else "It was the first evaluation."
    return [*notes, Note(said, "AS-65")]
