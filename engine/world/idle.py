"""The end of a run in which something could go on for ever (NODE-18, SPOT-10, JS-15).

Nodes may fail or be evicted by chance at any time, and a job schedule behind a job that never ends loses one occurrence
after the other. If that kept a run alive, every such run would last, and cost, as long as a run can. So a run without
``until`` is over when nothing is left but what is endless, and its consequences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import AllocationState
from engine.events.calendar import DueKind

if TYPE_CHECKING:
    from engine.events.calendar import Pending
    from engine.state.pools import Pool
    from engine.world.world import World


def has_work(world: World) -> bool:
    """Return whether something else is due, or a task or a release waits for a node that chance has broken."""
    return (
        any(_waits(world, pool) for pool in world.pools.present())
        or any(job.releases_open for job in world.jobs.present())
        or any(_is_work(world, entry) for entry in world.calendar.unordered())
    )


def _waits(world: World, pool: Pool) -> bool:
    """Return whether tasks wait in a pool of which a node is down by chance and will be back."""
    return bool(pool.turns) and any(world.nodes[node].down_by_chance for node in pool.nodes)


def _is_work(world: World, entry: Pending) -> bool:
    """Return whether an entry of the calendar keeps a run alive."""
    match entry.kind:
        case DueKind.NODE_STEP if world.nodes[entry.key].token != entry.token:
            return False
        case DueKind.NODE_STEP | DueKind.START_TASK_ENDED:
            return not world.nodes[entry.key].down_by_chance
        case DueKind.EVICTION:
            return not world.nodes[entry.key].evicted_by_chance
        case DueKind.RESIZE_TIMEOUT:
            pool = world.pools[entry.key]
            return pool.token == entry.token and pool.allocation is not AllocationState.STEADY
    return entry.kind not in world.calendar.endless_kinds
