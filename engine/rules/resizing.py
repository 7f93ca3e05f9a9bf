"""Growth and shrinkage of pools (RSZ).

A resize asks for nodes and removes others; ``shrink_victims`` decides which. The pool is steady again when nothing is
left to wait for, at the timeout, or when the resize is stopped. Spot nodes that are missing then are asked for again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.calendar import Due, DueKind
from engine.base.errors import BatchError, raise_refusal
from engine.base.lifecycles import COMING_UP, Availability, states_in
from engine.base.log import LogSubject
from engine.base.terms import AllocationState, Deallocation, NodeState, PoolState
from engine.base.values import MINUTE_MS, format_utc
from engine.rules.decisions import capacity
from engine.rules.facts import NodeKept, NodeRemovalRequested, VmAllocated, VmReplaced
from engine.specs.catalogue import SPOT_REFILL_INTERVAL_MS
from engine.state.pools import FailingRequest, ResizeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.rules.facts import NodeGone, NodePreempted, PoolCreated, TargetsSet
    from engine.specs.commands import ResizePool
    from engine.state.pools import Pool
    from engine.world import World

AUTO_SCALE_TIMEOUT_MS = 15 * MINUTE_MS  # AS-80, POOL-21

_N = NodeState
_A = Availability
_BROKEN = states_in(_A.FAILED, _A.OUT_OF_REACH, _A.STOPPING, _A.WITHOUT_VM)


# -- decisions -------------------------------------------------------------------------------------------------------


def resize_verdict(pool: Pool) -> BatchError | None:
    """Return why the service refuses to begin a resize now (RSZ-1, RSZ-8, POOL-17); None if it does not."""
    if pool.state is PoolState.DELETING:
        return BatchError("PoolBeingDeleted")
    if pool.allocation is not AllocationState.STEADY:
        return BatchError("PoolBeingResized")
    return None


def shrink_victims(world: World, pool: Pool, count: int, *, dedicated: bool) -> list[int]:
    """Return ``count`` nodes of one kind to be removed (RSZ-6): broken, on the way, idle, then the least busy."""

    def rank(node: int) -> tuple[int, int, int]:
        state = world.nodes.state_of(node)
        if state in _BROKEN:
            group = 0
        elif state in COMING_UP:
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
        capacity.members(world, pool, dedicated=dedicated), key=lambda node: world.nodes[node].id, reverse=True
    )
    return sorted(candidates, key=rank)[:count]


# -- commands --------------------------------------------------------------------------------------------------------


def resize(world: World, pool: Pool, command: ResizePool) -> None:
    """Resize the pool; refused unless it is steady and not autoscaled (RSZ-1)."""
    raise_refusal(resize_verdict(pool))
    if pool.auto_scale:
        raise BatchError("OperationInvalidForCurrentState", "autoscale is enabled on the pool")
    dedicated, spot = command.target_dedicated_nodes, command.target_low_priority_nodes
    pool.assign(
        modified_ms=world.now_ms,
        target_dedicated=pool.target_dedicated if dedicated is None else dedicated,
        target_spot=pool.target_spot if spot is None else spot,
    )
    _begin(world, pool, command.resize_timeout, command.node_deallocation_option)


def remove_nodes(world: World, pool: Pool, victims: Sequence[int], timeout_ms: int, option: Deallocation) -> None:
    """Remove nodes of a steady pool; the targets drop by as many (RSZ-8). Those leaving anyway do not count again."""
    victims = [node for node in victims if world.nodes.state_of(node) is not _N.LEAVING_POOL]
    dedicated = sum(world.nodes[node].dedicated for node in victims)
    spot = len(victims) - dedicated
    pool.assign(target_dedicated=max(0, pool.target_dedicated - dedicated), target_spot=max(0, pool.target_spot - spot))
    _announce(world, pool, timeout_ms, option, moves_nodes=bool(victims))
    _send_away(world, pool, victims, option)
    _finish_if_done(world, pool)


def stop(world: World, pool: Pool) -> None:
    """Halt the resize; what was added or removed stays, and targets are not rolled back (RSZ-9)."""
    if pool.state is PoolState.DELETING:
        raise BatchError("PoolBeingDeleted")
    if pool.allocation is not AllocationState.RESIZING:
        raise BatchError("OperationInvalidForCurrentState", "the pool is not being resized")
    world.pools.set_allocation(world.now_ms, pool.row, AllocationState.STOPPING)
    _call_off(world, pool)
    pool.gather([ResizeError("ResizeStopped", "The resize was stopped by the user")])
    token = pool.next_token()
    world.calendar.at(world.now_ms + world.node_ms(pool, "stop", "together", token), DueKind.POOL_STEP, pool.row, token)


# -- begin -----------------------------------------------------------------------------------------------------------


def pool_created(world: World, created: PoolCreated) -> None:
    """Begin the initial resize of a pool that is created with targets (POOL-8)."""
    pool = world.pools[created.pool]
    if not pool.auto_scale and (pool.target_dedicated or pool.target_spot):
        _begin(world, pool, pool.spec.resize_timeout, Deallocation.REQUEUE)


def targets_set(world: World, evaluated: TargetsSet) -> None:
    """Work towards the targets of a formula, also when the pool is being resized already (AS-80, AS-81)."""
    pool = world.pools[evaluated.pool]
    if pool.allocation is AllocationState.RESIZING:
        _change_course(world, pool)
    _begin(world, pool, AUTO_SCALE_TIMEOUT_MS, evaluated.option)


def _begin(world: World, pool: Pool, timeout_ms: int, option: Deallocation) -> None:
    """Work towards the targets that are set (RSZ-2, RSZ-4, RSZ-6)."""
    victims: list[int] = []
    growth: list[tuple[bool, int]] = []
    for dedicated, target in ((True, pool.target_dedicated), (False, pool.target_spot)):
        on_the_way = sum(kind is dedicated for kind in pool.pending.values())
        missing = target - len(capacity.members(world, pool, dedicated=dedicated)) - on_the_way
        if missing < 0:
            victims += shrink_victims(world, pool, -missing, dedicated=dedicated)
        elif missing:
            growth.append((dedicated, missing))
    _announce(world, pool, timeout_ms, option if victims else None, moves_nodes=bool(victims or growth))
    pool.assign(wanted=tuple(growth))
    if growth:
        world.calendar.at(world.now_ms, DueKind.NODES_WANTED)
    _send_away(world, pool, victims, option)
    _finish_if_done(world, pool)


def _change_course(world: World, pool: Pool) -> None:
    """Give up nodes that are pending beyond the new targets (AS-81).

    Nodes that wait for their tasks before they leave stay, until it is decided anew which nodes go.
    """
    for dedicated, target in ((True, pool.target_dedicated), (False, pool.target_spot)):
        room = max(0, target - len(capacity.members(world, pool, dedicated=dedicated)))
        pool.cancel_requests([number for number, kind in pool.pending.items() if kind is dedicated][room:])
    pool.assign(failing_requests={})  # what is still missing is requested again
    _keep_waiting(world, pool)


def _announce(world: World, pool: Pool, timeout_ms: int, option: Deallocation | None, *, moves_nodes: bool) -> None:
    """Enter allocation state ``resizing``, log it, and enter the timeout; ``option`` is None if the pool only grows."""
    token = pool.begin_resize(world.now_ms, "invalid" if option is None else option.value, moves_nodes=moves_nodes)
    if pool.allocation is not AllocationState.RESIZING:
        world.pools.set_allocation(world.now_ms, pool.row, AllocationState.RESIZING)
    _log_resize(world, pool, "PoolResizeStart", "RSZ-15")
    world.calendar.at(world.now_ms + timeout_ms, DueKind.RESIZE_TIMEOUT, pool.row, token)


def request_wanted_nodes(world: World, _: Due) -> None:
    """Request the nodes that pools want, in the order of the pools' ids (ACC-8)."""
    for pool in sorted(world.pools.present(), key=lambda pool: pool.id.lower()):
        wanted = pool.wanted
        if not wanted:
            continue
        pool.assign(wanted=())
        allocation_ms = world.node_ms(pool, "allocation", "together", pool.requested, pool.requests_failed)
        for dedicated, count in wanted:
            _request_nodes(world, pool, count, allocation_ms, dedicated=dedicated)
        _finish_if_done(world, pool)


def _request_nodes(world: World, pool: Pool, wanted: int, allocation_ms: int, *, dedicated: bool) -> None:
    """Request nodes; give up those that quota or capacity do not allow (ACC-8, RSZ-12).

    All come together (TIME-2), but for those of which the scenario says when they come.

    A quota is checked at once. A lack of machines or addresses shows only after the allocation time (RSZ-16).
    DECISION: what can be had is settled with the request, and one answer comes for all that cannot.
    """
    grant = capacity.granted(world, pool, wanted, dedicated=dedicated)
    world.region.use_capacity(pool.size.name, grant.nodes)
    pool.gather(grant.errors)
    if grant.tried:
        number = pool.add_failing_request(FailingRequest(dedicated, grant.tried, grant.late_errors))
        world.calendar.at(world.now_ms + allocation_ms, DueKind.NODE_ALLOCATED, pool.row, number)
    own = pool.spec.simulate
    for _ in range(grant.nodes):
        number = pool.request_node(dedicated=dedicated)
        alone = own is not None and own.own_duration("allocation", number) is not None
        delay_ms = world.node_ms(pool, "allocation", number) if alone else allocation_ms
        world.calendar.at(world.now_ms + delay_ms, DueKind.NODE_ALLOCATED, pool.row, number)


def node_allocated(world: World, due: Due) -> None:
    """Give the pool a VM that was requested (TIME-2), or report that there is none (RSZ-16)."""
    pool = world.pools[due.key]
    if due.token in pool.failing_requests:
        pool.end_failing_request(due.token)
        _finish_if_done(world, pool)
        return
    if due.token not in pool.pending:
        return
    dedicated = pool.pending[due.token]
    pool.cancel_requests([due.token])
    world.emit(VmAllocated(pool.row, dedicated))
    _finish_if_done(world, pool)


def _send_away(world: World, pool: Pool, victims: Sequence[int], option: Deallocation) -> None:
    """Let these nodes leave (RSZ-4); ``option`` is what becomes of their tasks."""
    pool.add_victims(victims)
    for node in victims:
        world.emit(NodeRemovalRequested(node, option))


# -- end -------------------------------------------------------------------------------------------------------------


def node_gone(world: World, gone: NodeGone) -> None:
    """End the resize if this was the last node to leave."""
    pool = world.pool_of(gone.node)
    if pool.state is PoolState.ACTIVE:
        _finish_if_done(world, pool)


def _finish_if_done(world: World, pool: Pool) -> None:
    """End the resize when nothing is pending and no node is to leave (RSZ-2)."""
    if pool.allocation is AllocationState.RESIZING and pool.targets_met:
        _finish(world, pool)


def _finish(world: World, pool: Pool) -> None:
    """End the resize, with the errors gathered, or else those of an earlier one (POOL-3, RSZ-12, RSZ-13, RSZ-15).

    Missing dedicated nodes stay missing until the user resizes again (RSZ-14).
    """
    pool.next_token()
    pool.assign(resize_errors=pool.gathered_errors or pool.resize_errors)
    world.pools.set_allocation(world.now_ms, pool.row, AllocationState.STEADY)
    _log_resize(world, pool, "PoolResizeComplete", "RSZ-2")
    _enter_refill(world, pool)


def resize_timed_out(world: World, due: Due) -> None:
    """Give up what is not finished in time (RSZ-3); nodes that wait for their tasks stay in the pool (RSZ-5)."""
    pool = world.pools[due.key]
    if pool.token != due.token or pool.allocation is not AllocationState.RESIZING or pool.state is not PoolState.ACTIVE:
        return
    late = {*pool.pending.values(), *(request.dedicated for request in pool.failing_requests.values())}
    kept = _call_off(world, pool)
    if kept and not late:
        late = {world.nodes[node].dedicated for node in kept}
    for dedicated in sorted(late, reverse=True):
        kind = "dedicated" if dedicated else "Spot/low-priority"
        message = f"Desired number of {kind} nodes could not be allocated as the resize timeout was reached"
        pool.gather([ResizeError("AllocationTimedout", message)])
    if kept or late:
        _finish(world, pool)
    else:
        _finish_if_done(world, pool)


def resize_stopped(world: World, due: Due) -> None:
    """End a resize that was stopped: the changes have been halted (RSZ-9)."""
    pool = world.pools[due.key]
    if pool.token == due.token and pool.allocation is AllocationState.STOPPING:
        _finish(world, pool)


def _call_off(world: World, pool: Pool) -> list[int]:
    """Give up what is pending; return the nodes that stay because they only waited for their tasks."""
    pool.cancel_requests(list(pool.pending))
    pool.assign(wanted=(), failing_requests={})
    return _keep_waiting(world, pool)


def _keep_waiting(world: World, pool: Pool) -> list[int]:
    """Keep the nodes that only wait for their tasks before they leave, and return them."""
    kept = sorted(node for node in pool.victims if world.nodes.state_of(node) is not _N.LEAVING_POOL)
    for node in kept:
        pool.discard_victim(node)
        world.emit(NodeKept(node))
    return kept


def _log_resize(world: World, pool: Pool, event: str, rule: str) -> None:
    dedicated, spot = capacity.current_counts(world, pool)
    fields: tuple[tuple[str, object], ...] = (
        ("nodeDeallocationOption", pool.drain_option),
        ("currentDedicatedNodes", dedicated),
        ("targetDedicatedNodes", pool.target_dedicated),
        ("currentLowPriorityNodes", spot),
        ("targetLowPriorityNodes", pool.target_spot),
        ("enableAutoScale", pool.auto_scale),
        ("isAutoPool", pool.is_auto),
    )
    if event == "PoolResizeComplete":
        errors = pool.gathered_errors
        fields += (
            ("startTime", format_utc(world.scenario.start, pool.resize_started_ms)),
            ("endTime", format_utc(world.scenario.start, world.now_ms)),
            ("resultCode", errors[0].code if errors else "Success"),
            ("resultMessage", errors[0].message if errors else "The operation succeeded"),
            ("resizeErrors", errors),
        )
    shape = world.log.shape(event, LogSubject.POOL, *fields, ("rule", rule))
    world.log.append(world.now_ms, shape, pool.row)


# -- missing Spot nodes ----------------------------------------------------------------------------------------------

# Batch tries every five minutes to get Spot VMs that were taken back or could not be had (SPOT-5). Attempts lie on a
# grid that begins when the pool fell short. An attempt for which nothing can have changed is left out, so that a run
# that is over ends; the moments of the others stay the same.


def node_preempted(world: World, preempted: NodePreempted) -> None:
    """Enter an attempt to replace the VM."""
    _enter_refill(world, world.pool_of(preempted.node))


def enter_refills(world: World) -> None:
    """Enter an attempt for every pool that is short: a command may have changed capacity or freed cores."""
    for pool in world.pools.present():
        _enter_refill(world, pool)


def _enter_refill(world: World, pool: Pool) -> None:
    """Enter the next attempt if the pool is short of Spot nodes, forget about it if it is not."""
    if not (pool.target_spot and capacity.missing_nodes(world, pool)):
        if pool.short_since_ms is not None:
            pool.assign(short_since_ms=None, refill_at_ms=None)
        return
    since_ms = pool.begin_shortage(world.now_ms)
    attempts = (world.now_ms - since_ms) // SPOT_REFILL_INTERVAL_MS + 1
    when_ms = since_ms + attempts * SPOT_REFILL_INTERVAL_MS
    if pool.refill_at_ms != when_ms:
        pool.assign(refill_at_ms=when_ms)
        world.calendar.enter(when_ms, DueKind.SPOT_REFILL, pool.row)


def refill_pools(world: World, _: Due) -> None:
    """Make the attempts of this moment, in the order of the pools' ids (ACC-8)."""
    for pool in sorted(world.pools.present(), key=lambda pool: pool.id.lower()):
        if pool.refill_at_ms == world.now_ms:
            _refill(world, pool)


def _refill(world: World, pool: Pool) -> None:
    """Get what can be had at once, for preempted nodes first; a failure is no resize error (SPOT-5)."""
    pool.assign(refill_at_ms=None)
    count = capacity.granted(world, pool, capacity.missing_nodes(world, pool), dedicated=False).nodes
    world.region.use_capacity(pool.size.name, count)
    returning = capacity.preempted_nodes(world, pool)[:count]
    for node in returning:
        world.emit(VmReplaced(node))
    for _ in range(count - len(returning)):
        world.emit(VmAllocated(pool.row, dedicated=False))
    if count or _something_else_is_due(world):
        _enter_refill(world, pool)


def _something_else_is_due(world: World) -> bool:
    lost = sum(entry.kind is DueKind.OCCURRENCE_LOST for entry in world.calendar.unordered())  # JS-15
    return len(world.calendar) - lost > sum(pool.refill_at_ms is not None for pool in world.pools.present())
