"""How a pool grows and shrinks (chapter 4).

``shrink_victims`` decides who goes; ``begin_resize`` asks for nodes and sends nodes away; the pool is steady
again when ``look_at_resize`` finds nothing left to wait for, at the timeout, or when it is stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import AllocationState, Deallocation, NodeState, PoolState
from engine.base.units import format_utc
from engine.events.calendar import Due, DueKind
from engine.events.log import LogSubject
from engine.rules import node_operations, nodes, pools, spot
from engine.rules.decisions import membership, quotas
from engine.specs.catalogue import JOB_TRANSITION_MS
from engine.state.pools import ResizeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.state.pools import Pool
    from engine.world.world import World

_N = NodeState
_BROKEN = (_N.UNUSABLE, _N.START_TASK_FAILED, _N.UNKNOWN, _N.PREEMPTED, _N.DEALLOCATED, _N.DEALLOCATING)
_ON_THE_WAY = (
    _N.CREATING,
    _N.STARTING,
    _N.REBOOTING,
    _N.REIMAGING,
    _N.UPGRADING_OS,
    _N.WAITING_FOR_START_TASK,
)


# -- decisions -------------------------------------------------------------------------------------------------------


def resize_verdict(pool: Pool) -> BatchError | None:
    """Why the service refuses to begin a resize now (RSZ-1, RSZ-8, POOL-17); None if it does not."""
    if pool.state is PoolState.DELETING:
        return BatchError("PoolBeingDeleted")
    if pool.allocation is not AllocationState.STEADY:
        return BatchError("PoolBeingResized")
    return None


def shrink_victims(world: World, pool: Pool, count: int, *, dedicated: bool) -> list[int]:
    """Which nodes go when ``count`` of one kind are to go (RSZ-6): broken, on the way, idle, then the least busy."""

    def rank(node: int) -> tuple[int, int, int]:
        state = world.nodes.state_of(node)
        if state in _BROKEN:
            group = 0
        elif state in _ON_THE_WAY:
            group = 1
        elif state is not _N.RUNNING:
            group = 2
        else:
            # The node of a job manager goes last (JM-8).
            group = 4 if any(world.tasks.profile_of(task).manager for task in world.nodes.tasks_on(node)) else 3
        used = pool.slots - world.nodes.free[node] if group >= 3 else 0
        return group, used, -world.nodes[node].allocation_ms

    # Stable sorts from the last criterion to the first: id descending, then the rank.
    candidates = sorted(
        membership.members(world, pool, dedicated=dedicated), key=lambda node: world.nodes[node].id, reverse=True
    )
    return sorted(candidates, key=rank)[:count]


# -- begin -----------------------------------------------------------------------------------------------------------


def check(pool: Pool) -> None:
    """Refuse what begins a resize unless the pool is ready for it (RSZ-1, RSZ-8)."""
    refusal = resize_verdict(pool)
    if refusal is not None:
        raise refusal


def resize(
    world: World,
    pool: Pool,
    target_dedicated: int | None,
    target_spot: int | None,
    timeout_ms: int,
    option: Deallocation,
) -> None:
    """The resize operation: refused unless steady and not autoscaled (RSZ-1)."""
    check(pool)
    if pool.auto_scale:
        raise BatchError("OperationInvalidForCurrentState", "autoscale is enabled on the pool")
    pool.modified_ms = world.now_ms
    pool.target_dedicated = pool.target_dedicated if target_dedicated is None else target_dedicated
    pool.target_spot = pool.target_spot if target_spot is None else target_spot
    begin_resize(world, pool, timeout_ms, option)


def begin_resize(world: World, pool: Pool, timeout_ms: int, option: Deallocation) -> None:
    """Work towards the targets that are set (RSZ-2, RSZ-4, RSZ-6)."""
    victims: list[int] = []
    growth: list[tuple[bool, int]] = []
    for dedicated, target in ((True, pool.target_dedicated), (False, pool.target_spot)):
        on_the_way = sum(kind is dedicated for kind in pool.pending.values())
        missing = target - len(membership.members(world, pool, dedicated=dedicated)) - on_the_way
        if missing < 0:
            victims += shrink_victims(world, pool, -missing, dedicated=dedicated)
        elif missing:
            growth.append((dedicated, missing))
    _start(world, pool, timeout_ms, option if victims else None)
    pool.wanted = tuple(growth)
    if growth:
        world.calendar.at(world.now_ms, DueKind.NODES_WANTED)
    send_away(world, pool, victims, option)
    look_at_resize(world, pool)


def change_course(world: World, pool: Pool) -> None:
    """New targets while the pool is being resized: what was asked for comes as far as it is wanted (AS-81).

    Nodes that wait for their tasks before they leave stay, until it is decided anew who goes.
    """
    for dedicated, target in ((True, pool.target_dedicated), (False, pool.target_spot)):
        room = max(0, target - len(membership.members(world, pool, dedicated=dedicated)))
        asked = [number for number, kind in pool.pending.items() if kind is dedicated]
        for number in asked[room:]:
            del pool.pending[number]
    _keep_waiting(world, pool)


def remove_nodes(world: World, pool: Pool, victims: Sequence[int], timeout_ms: int, option: Deallocation) -> None:
    """Remove nodes of a steady pool; the targets drop by as many (RSZ-8). Those leaving anyway do not count again."""
    victims = [node for node in victims if world.nodes.state_of(node) is not _N.LEAVING_POOL]
    for node in victims:
        if world.nodes[node].dedicated:
            pool.target_dedicated = max(0, pool.target_dedicated - 1)
        else:
            pool.target_spot = max(0, pool.target_spot - 1)
    _start(world, pool, timeout_ms, option)
    send_away(world, pool, victims, option)
    look_at_resize(world, pool)


def _start(world: World, pool: Pool, timeout_ms: int, option: Deallocation | None) -> None:
    pool.token += 1
    pool.resize_started_ms = world.now_ms
    pool.resize_errors = pool.gathered_errors = ()
    pool.drain_option = "invalid" if option is None else option.value
    if pool.allocation is not AllocationState.RESIZING:
        world.pools.set_allocation(world.now_ms, pool.row, AllocationState.RESIZING)
    _log_resize(world, pool, "PoolResizeStart", "RSZ-15")
    world.calendar.at(world.now_ms + timeout_ms, DueKind.RESIZE_TIMEOUT, pool.row, pool.token)


def ask_for_wanted_nodes(world: World, _: Due) -> None:
    """Pools that grow at the same moment ask for their nodes in the order of their ids (ACC-8)."""
    for pool in sorted(world.pools.present(), key=lambda pool: pool.id.lower()):
        wanted, pool.wanted = pool.wanted, ()
        for dedicated, count in wanted:
            _ask_for_nodes(world, pool, count, dedicated=dedicated)
        if wanted:
            look_at_resize(world, pool)


def _ask_for_nodes(world: World, pool: Pool, wanted: int, *, dedicated: bool) -> None:
    """Request nodes; those that quota or capacity do not allow are given up at once (ACC-8, RSZ-12)."""
    count, errors = quotas.granted(world, pool, wanted, dedicated=dedicated)
    _gather(pool, errors)
    quotas.use_capacity(world, pool, count)
    for _ in range(count):
        number = pool.requested
        pool.requested += 1
        pool.pending[number] = dedicated
        when_ms = world.now_ms + world.node_ms(pool, "allocation", number)
        world.calendar.at(when_ms, DueKind.NODE_ALLOCATED, pool.row, number)


def node_allocated(world: World, due: Due) -> None:
    """A VM that was asked for has been obtained (TIME-2)."""
    pool = world.pools[due.key]
    if due.token not in pool.pending:
        return
    dedicated = pool.pending.pop(due.token)
    nodes.allocate(world, pool, dedicated=dedicated)
    look_at_resize(world, pool)


def send_away(world: World, pool: Pool, victims: Sequence[int], option: Deallocation) -> None:
    """Let these nodes leave, their tasks dealt with as the option says (RSZ-4)."""
    pool.victims.update(victims)
    for node in victims:
        node_operations.remove(world, node, option)


# -- end -------------------------------------------------------------------------------------------------------------


def look_at_resize(world: World, pool: Pool) -> None:
    """The pool is steady when nothing is pending and nobody is to leave (RSZ-2); a deleted one is gone (RSZ-10)."""
    if pool.state is PoolState.DELETING:
        pools.look_at_deletion(world, pool)
    elif pool.allocation is AllocationState.RESIZING and pool.targets_met:
        finish(world, pool)


def finish(world: World, pool: Pool) -> None:
    """The resize is over, with the errors gathered (RSZ-12, RSZ-13, RSZ-15).

    RSZ-14 what is missing of the dedicated nodes stays missing until the user resizes again.
    """
    pool.token += 1
    pool.resize_errors = pool.gathered_errors
    world.pools.set_allocation(world.now_ms, pool.row, AllocationState.STEADY)
    _log_resize(world, pool, "PoolResizeComplete", "RSZ-2")
    spot.seek(world, pool)


def resize_timeout(world: World, due: Due) -> None:
    """RSZ-3: what is not finished in time ends; nodes that wait for their tasks stay in the pool (RSZ-5)."""
    pool = world.pools[due.key]
    if pool.token != due.token or pool.allocation is not AllocationState.RESIZING or pool.state is not PoolState.ACTIVE:
        return
    late = set(pool.pending.values())
    kept = _call_off(world, pool)
    if kept and not late:
        late = {world.nodes[node].dedicated for node in kept}
    for dedicated in sorted(late, reverse=True):
        kind = "dedicated" if dedicated else "Spot/low-priority"
        message = f"Desired number of {kind} nodes could not be allocated as the resize timeout was reached"
        _gather(pool, [ResizeError("AllocationTimedout", message)])
    if kept or late:
        finish(world, pool)
    else:
        look_at_resize(world, pool)


def stop(world: World, pool: Pool) -> None:
    """RSZ-9: halt what goes on; what has been added or removed stays, targets are not rolled back."""
    if pool.state is PoolState.DELETING:
        raise BatchError("PoolBeingDeleted")
    if pool.allocation is not AllocationState.RESIZING:
        raise BatchError("OperationInvalidForCurrentState", "the pool is not being resized")
    world.pools.set_allocation(world.now_ms, pool.row, AllocationState.STOPPING)
    _call_off(world, pool)
    pool.token += 1
    _gather(pool, [ResizeError("ResizeStopped", "The resize was stopped by the user")])
    world.calendar.at(world.now_ms + JOB_TRANSITION_MS, DueKind.POOL_STEP, pool.row, pool.token)


def stopped(world: World, due: Due) -> None:
    """The changes have been halted (RSZ-9)."""
    pool = world.pools[due.key]
    if pool.token == due.token and pool.allocation is AllocationState.STOPPING:
        finish(world, pool)


def _call_off(world: World, pool: Pool) -> list[int]:
    """Give up what is pending; nodes that only wait for their tasks stay. Returns those that stay."""
    pool.pending.clear()
    pool.wanted = ()
    return _keep_waiting(world, pool)


def _keep_waiting(world: World, pool: Pool) -> list[int]:
    """Let the nodes stay that only wait for their tasks before they leave; returns them."""
    kept = sorted(node for node in pool.victims if world.nodes.state_of(node) is not _N.LEAVING_POOL)
    for node in kept:
        pool.victims.discard(node)
        node_operations.release_from_operation(world, node)
    return kept


def _gather(pool: Pool, errors: Sequence[ResizeError]) -> None:
    """RSZ-13: at most one entry for each code and kind of node, which the message names."""
    known = {(error.code, error.message) for error in pool.gathered_errors}
    pool.gathered_errors += tuple(error for error in errors if (error.code, error.message) not in known)


def _log_resize(world: World, pool: Pool, event: str, rule: str) -> None:
    dedicated, spot = membership.current_counts(world, pool)
    fields: tuple[tuple[str, object], ...] = (
        ("nodeDeallocationOption", pool.drain_option),
        ("currentDedicatedNodes", dedicated),
        ("targetDedicatedNodes", pool.target_dedicated),
        ("currentLowPriorityNodes", spot),
        ("targetLowPriorityNodes", pool.target_spot),
        ("enableAutoScale", pool.auto_scale),
        ("isAutoPool", pool.auto_job >= 0 or pool.auto_schedule >= 0),
    )
    if event == "PoolResizeComplete":
        errors = pool.resize_errors
        fields += (
            ("startTime", format_utc(world.scenario.start, pool.resize_started_ms)),
            ("endTime", format_utc(world.scenario.start, world.now_ms)),
            ("resultCode", errors[0].code if errors else "Success"),
            ("resultMessage", errors[0].message if errors else "The operation succeeded"),
            ("resizeErrors", errors),
        )
    shape = world.log.shape(event, LogSubject.POOL, *fields, ("rule", rule))
    world.log.append(world.now_ms, shape, pool.row)
