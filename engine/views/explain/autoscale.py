"""Reasons why autoscale has set the targets of a pool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.autoscale import NO_SAMPLES
from engine.base.lazy import lazy_regex
from engine.base.terms import PoolState
from engine.base.units import format_duration
from engine.rules.decisions.pool_metrics import task_counts
from engine.views.explain.explanation import Check, Next, Note, answer, moment, some

if TYPE_CHECKING:
    from engine.state.pool_records import AutoScaleRun, Scaling
    from engine.state.pools import Pool
    from engine.views.explain.explanation import Explanation
    from engine.world.world import World

_FRACTION = lazy_regex(r"\d+\.\d*[1-9]\d*")
_SERVICE_ITEMS = 3  # of the results string; the user's variables follow (AS-68)


def why_targets(world: World, pool: Pool) -> Explanation | None:
    """Explain the last evaluation, its samples and the next one; return None where autoscale is off."""
    scaling = pool.scaling
    if scaling is None or scaling.run is None:
        return None
    is_active = pool.state is PoolState.ACTIVE
    run = scaling.run
    at = f"at {moment(world, run.when_ms)}"
    if run.error is None:
        question, last_rule = f"Why does autoscale set {_wanted(run)} for {pool.id}?", "AS-67"
    else:
        question, last_rule = f"Why did autoscale leave the targets of {pool.id} as they are?", "AS-65"
        at += f": {run.error.code}. {run.error.position}: {run.error.reason}"
    schedule = f"every {format_duration(scaling.interval_ms)}, next at {moment(world, scaling.next_ms)}"
    checks = [
        Check("pool state", is_active, pool.state.wire if pool.state is not None else "deleted", "AS-89"),
        Check("evaluation", True, schedule, "AS-83"),
        Check("last one", run.error is None, at, last_rule),
        Check("samples", bool(pool.samples), _samples(world, pool, scaling), "AS-52"),
        Check("targets", run.error is None, _targets(scaling), "AS-80" if len(scaling.runs) > 1 else "AS-84"),
    ]
    waiting = 0 if run.error is not None or run.target_dedicated or run.target_spot else task_counts(world, pool)[0]
    if waiting:
        checks.append(Check("waiting tasks", False, f"{waiting:,}, but no nodes are wanted", "AS-41"))
    return answer(world, question, checks, (), next_evaluation(pool), _notes(scaling, run))


def next_evaluation(pool: Pool | None) -> Next | None:
    """Return when the pool's targets can change by themselves (AS-84, AS-89)."""
    if pool is None or pool.scaling is None or pool.state is not PoolState.ACTIVE:
        return None
    return Next("the pool's formula is evaluated", pool.scaling.next_ms, "AS-84")


def _wanted(run: AutoScaleRun) -> str:
    dedicated = some(run.target_dedicated, "dedicated node")
    return f"{dedicated} and {some(run.target_spot, 'Spot node')}" if run.target_spot else dedicated


def _samples(world: World, pool: Pool, scaling: Scaling) -> str:
    if not pool.samples:
        return f"none yet; the first at {moment(world, scaling.sampling.next_ms)}"
    return f"{len(pool.samples):,} of each metric, one every 30 s since {moment(world, int(pool.samples[0][0]))}"


def _targets(scaling: Scaling) -> str:
    run = scaling.runs[-1]
    if run.error is not None:
        return f"left at {_wanted(run)}"
    if len(scaling.runs) == 1:
        return f"{_wanted(run)}, its first targets"
    before = scaling.runs[-2]
    if (before.target_dedicated, before.target_spot) == (run.target_dedicated, run.target_spot):
        return f"{_wanted(run)} as before, so no resize began"
    return f"{_wanted(run)}, previously {_wanted(before)}"


def _notes(scaling: Scaling, run: AutoScaleRun) -> list[Note]:
    """Return the formula's own variables, and what would help where it failed."""
    own = run.items[_SERVICE_ITEMS:]
    notes = [Note(f"Its variables: {', '.join(f'{name} = {text}' for name, text in own)}.", "AS-68")] if own else []
    if run.error is None:
        if any(_FRACTION.fullmatch(text) for _, text in own):
            notes.append(Note("A fraction of a node that is wanted is cut off.", "AS-77"))
        option = run.items[_SERVICE_ITEMS - 1][1]
        return [*notes, Note(f"Nodes leave with deallocation option {option}.", "AS-40")]
    if run.error.code == NO_SAMPLES:
        notes.append(Note("By default GetSample over a time needs 70 % of its samples.", "AS-51"))
    failed, count = sum(each.error is not None for each in scaling.runs), len(scaling.runs)
    said = f"{failed} of the last {count} evaluations failed." if count > 1 else "It was the first evaluation."
    return [*notes, Note(said, "AS-65")]
