"""The end of a run in which nodes fail or are evicted by chance (NODE-18, SPOT-10).

Chance can always go on. If it kept a run alive, every run with a rate would last, and cost, as long as a run can. So a
run without ``until`` is over when nothing is left but chance and its consequences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import AllocationState
from engine.events.calendar import CHANCE, DueKind

if TYPE_CHECKING:
    from engine.events.calendar import Pending
    from engine.world.world import World


def has_work(world: World) -> bool:
    """Return whether something is due that does not come from chance, or a task or release waits for a node."""
    return (
        any(pool.turns for pool in world.pools.present())
        or any(job.releases_open for job in world.jobs.present())
        or any(_is_work(world, entry) for entry in world.calendar.unordered())
    )


def _is_work(world: World, entry: Pending) -> bool:
    """Return whether an entry of the calendar keeps a run alive."""
    match entry.kind:
        case DueKind.NODE_STEP if world.nodes[entry.key].token != entry.token:
            return False
        case DueKind.NODE_STEP | DueKind.START_TASK_ENDED:
            return not world.nodes[entry.key].down_by_chance
        case DueKind.EVICTION:
            return not world.nodes[entry.key].evicted_by_chance
        case DueKind.ACT:
            return world.acting.get(entry.key) is not None
        case DueKind.RESIZE_TIMEOUT:
            pool = world.pools[entry.key]
            return pool.token == entry.token and pool.allocation is not AllocationState.STEADY
    return entry.kind not in CHANCE and entry.kind is not DueKind.SPOT_REFILL
