"""The jobs of a pool that have a higher priority than a job that finds no room there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.explain.explanation import Check, some

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.views.explain.candidates import Fit
    from engine.world.world import World


def priority_check(world: World, job: Job, fit: Fit | None) -> Check | None:
    """Check that no job of higher priority takes the room that the job waits for; None if priority does not matter.

    The cost is that of the pool's jobs.
    """
    if fit is None or fit.fitting or not job.in_turn:
        return None
    pool = world.pools[job.pool]
    higher = [one for one in world.jobs_of(pool) if one.priority > job.priority]
    is_full = any(map(world.nodes.open.__getitem__, pool.nodes))
    first = [one for one in higher if one.in_turn] or [one for one in higher if one.busy and is_full]
    if not first:
        return None
    best = max(first, key=lambda one: one.priority)
    others = f" and {some(len(first) - 1, 'other job')}" if len(first) > 1 else ""
    goes = ("go" if others else "goes") if best.in_turn else "went"
    value = f"{job.priority} of this job; job {best.id} ({best.priority}){others} {goes} first"
    return Check("priority", False, value, "SCHED-2")
