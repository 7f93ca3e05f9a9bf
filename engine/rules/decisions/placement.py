"""Placement of tasks (SCHED): the nodes that may take one, the node it prefers, and the nodes it gets.

``scheduling`` carries the decisions out. Nodes are bits by position in their pool (see ``Pool.buckets``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import NodeFillType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskProfile
    from engine.world.world import World

# RETRY-7: after so many service retries on one node, any other is as good.
MAX_RETRIES_ON_NODE = 3


# -- nodes that may take a task --------------------------------------------------------------------------------------


def may_come(world: World, pool: Pool, job: Job, profile: TaskProfile, node: int) -> bool:
    """Return whether the node would take a task of the job if it had room (SCHED-8, PREP-9)."""
    record = world.nodes[node]
    return (
        record.pool == pool.row
        and bool(world.nodes.open[node])
        and not (job.ineligible >> record.position) & 1
        and (record.dedicated or not profile.dedicated_only)
    )


def has_room(world: World, pool: Pool, job: Job, profile: TaskProfile, node: int) -> bool:
    """Return whether the task could start on the node now."""
    needed = pool.slots if profile.exclusive else profile.required_slots
    return world.nodes.free[node] >= needed and may_come(world, pool, job, profile, node)


def starves(pool: Pool, job: Job, profile: TaskProfile) -> bool:
    """Return whether a task that finds no node would find one if the free slots were together (SCHED-11)."""
    eligible = ~job.ineligible & (pool.dedicated_bits if profile.dedicated_only else -1)
    free = sum(count * (nodes & eligible).bit_count() for count, nodes in enumerate(pool.buckets) if nodes)
    return free >= profile.required_slots


# -- nodes that it gets ----------------------------------------------------------------------------------------------


def preferred_node(world: World, task: int, profile: TaskProfile) -> int:
    """Return the node that a task prefers; -1 if it has no preference.

    A retry prefers its node (RETRY-5), a retry by the service does so for a few times (RETRY-7). Other tasks prefer
    the node of their affinity (SCHED-13).
    """
    extra = world.tasks.extra(task)
    if extra.awaits_retry or 0 < extra.node_retries < MAX_RETRIES_ON_NODE:
        return world.tasks.node[task]
    if profile.affinity is not None:
        wanted = profile.affinity.removeprefix("TVM:")
        pool = world.pools[world.jobs[profile.job].pool]
        return next((node for node in pool.nodes if world.nodes[node].id == wanted), -1)
    return -1


def choose_nodes(world: World, pool: Pool, job: Job, task: int, profile: TaskProfile) -> Sequence[int]:
    """Return the nodes on which a task can start now, one unless it is multi-instance; none if there is no room."""
    preferred = preferred_node(world, task, profile) if world.tasks.is_particular(task, profile) else -1
    if profile.instances:
        return choose_several(world, pool, job, profile, preferred)
    node = choose_node(world, pool, job, profile, preferred)
    return (node,) if node >= 0 else ()


def choose_node(world: World, pool: Pool, job: Job, profile: TaskProfile, preferred: int = -1) -> int:
    """Return the node for a task: the preferred one (SCHED-13), else by fill type (SCHED-9); -1 if none has room.

    Nodes that are ineligible for the job are left out (PREP-9). The node with most or fewest free slots comes first,
    then one prepared for the job, then a dedicated one, then the first of the node list.
    """
    slots = profile.required_slots
    if preferred >= 0 and has_room(world, pool, job, profile, preferred):
        return preferred
    buckets = pool.buckets
    if profile.exclusive:
        sizes = range(pool.slots, pool.slots + 1)
    elif pool.fill is NodeFillType.SPREAD:
        sizes = range(pool.slots, slots - 1, -1)
    else:
        sizes = range(slots, pool.slots + 1)
    for free in sizes:
        fitting = buckets[free]
        if not fitting:
            continue
        if job.ineligible:
            fitting &= ~job.ineligible
        if profile.dedicated_only:
            fitting &= pool.dedicated_bits
        if fitting:
            fitting = (fitting & job.prepared) or fitting
            fitting = (fitting & pool.dedicated_bits) or fitting
            return pool.nodes[(fitting & -fitting).bit_length() - 1]
    return -1


def choose_several(world: World, pool: Pool, job: Job, profile: TaskProfile, preferred: int = -1) -> tuple[int, ...]:
    """Return the nodes for a multi-instance task, the primary's first; none unless there are enough at this moment.

    The pool needs inter-node communication and one slot per node (MI-2). Nothing is reserved (MI-3). Nodes that are
    ineligible for the job are left out (PREP-9). The preferred node comes first, then prepared ones, then dedicated
    ones, then the node list (SCHED-9).
    """
    idle = pool.buckets[1] & ~job.ineligible if pool.hosts_gangs else 0
    if idle.bit_count() < profile.instances:
        return ()
    record = world.nodes[preferred] if preferred >= 0 else None
    wanted = 1 << record.position if record is not None and record.pool == pool.row else 0
    chosen: list[int] = []
    for rank in (wanted, job.prepared & pool.dedicated_bits, job.prepared, pool.dedicated_bits, -1):
        fitting = idle & rank
        while fitting and len(chosen) < profile.instances:
            lowest = fitting & -fitting
            chosen.append(pool.nodes[lowest.bit_length() - 1])
            fitting ^= lowest
            idle ^= lowest
    return tuple(chosen)
