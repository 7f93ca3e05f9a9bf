"""The nodes of a pool by what they count as: present, member, preempted, missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import AllocationState, NodeState, PoolState
from engine.state.nodes import GONE

if TYPE_CHECKING:
    from engine.state.pools import Pool
    from engine.world.world import World


def present_nodes(world: World, pool: Pool) -> list[int]:
    """Return the pool's nodes that have not left it, in list order."""
    return [node for node in pool.nodes if world.nodes.state[node] != GONE]


def members(world: World, pool: Pool, *, dedicated: bool) -> list[int]:
    """Return the pool's nodes of one kind (SPOT-1), without those in state ``leavingpool``.

    Nodes that wait for their tasks before they leave are members still.
    """
    leaving = (None, NodeState.LEAVING_POOL)
    return [
        node
        for node in pool.nodes
        if world.nodes[node].dedicated is dedicated and world.nodes.state_of(node) not in leaving
    ]


def current_counts(world: World, pool: Pool) -> tuple[int, int]:
    """Return ``currentDedicatedNodes`` and ``currentLowPriorityNodes``, preempted nodes included (POOL-3)."""
    here = present_nodes(world, pool)
    dedicated = sum(world.nodes[node].dedicated for node in here)
    return dedicated, len(here) - dedicated


def preempted_nodes(world: World, pool: Pool) -> list[int]:
    """Return the pool's nodes in state ``preempted``, in list order."""
    return [node for node in pool.nodes if world.nodes.state[node] == NodeState.PREEMPTED]


def missing_nodes(world: World, pool: Pool) -> int:
    """Return how many Spot VMs a steady pool lacks for its target; a preempted node has none (SPOT-3, SPOT-5)."""
    if not pool.target_spot or pool.state is not PoolState.ACTIVE or pool.allocation is not AllocationState.STEADY:
        return 0
    spot = members(world, pool, dedicated=False)
    return max(0, pool.target_spot - len(spot) + len(preempted_nodes(world, pool)))
