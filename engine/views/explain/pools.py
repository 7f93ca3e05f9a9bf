"""Reasons why a pool is resizing, or steady below its target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import AllocationState, NodeState, PoolState
from engine.rules import os_upgrades
from engine.rules.decisions import membership, network, quotas
from engine.views.explain.autoscale import next_evaluation
from engine.views.explain.candidates import room_ms
from engine.views.explain.explanation import (
    Check,
    Next,
    Note,
    Reason,
    answer,
    due,
    earliest,
    first_of,
    moment,
    name_of,
    plural,
    reason,
    some,
)
from engine.views.pages.provisioning import is_behind
from engine.world.agenda import Agenda

if TYPE_CHECKING:
    from engine.state.pool_records import ResizeError
    from engine.state.pools import Pool
    from engine.views.explain.explanation import Explanation
    from engine.world.world import World

_KINDS = ((True, "dedicated"), (False, "Spot"))


def why_pool(world: World, pool: Pool) -> Explanation:
    """Explain the pool's nodes, what it waits for, and what it lacks."""
    if pool.state is None:
        when = Note(f"It was deleted at {moment(world, pool.since_ms)}, with all its nodes.", "RSZ-10")
        after = Note("Nothing can be done with it any more. A new pool can have its id.", "RSZ-10")
        return answer(world, f"Where is pool {pool.id}?", notes=(when, after))
    assert pool.allocation is not None
    agenda = Agenda(world)
    is_steady = pool.allocation is AllocationState.STEADY
    current = dict(zip((True, False), membership.current_counts(world, pool), strict=True))
    target = {True: pool.target_dedicated, False: pool.target_spot}
    if pool.state is PoolState.DELETING:
        target = dict.fromkeys(target, 0)  # all nodes leave (RSZ-10)
    preempted = membership.preempted_nodes(world, pool) if pool.target_spot else []
    current[False] -= len(preempted)  # they count as current, but have no VM (SPOT-3)
    short = {dedicated: target[dedicated] - current[dedicated] for dedicated, _ in _KINDS}
    allocation = f"{pool.allocation.wire} since {moment(world, pool.allocation_since_ms)}"
    checks = (
        Check("pool state", pool.state is PoolState.ACTIVE, pool.state.wire, "POOL-7"),
        Check("allocation state", is_steady, allocation, "RSZ-2"),
        *(
            Check(f"{kind} nodes", not short[dedicated], f"{current[dedicated]:,} of {target[dedicated]:,}", "RSZ-2")
            for dedicated, kind in _KINDS
            if current[dedicated] or target[dedicated]
        ),
        *network_checks(world, pool),
        _upgrade_check(world, pool),
        *(
            Check("resize error", False, _error_text(error), "RSZ-12")
            for error in pool.resize_errors or pool.gathered_errors
        ),
    )
    reasons, changes = _reasons(world, agenda, pool, preempted)
    if pool.allocation is AllocationState.RESIZING:
        changes.append(due("the resize times out", agenda.resize_timeouts.get(pool.row), "RSZ-3"))
    following = earliest((*changes, next_evaluation(pool)))
    is_short = is_steady and any(missing > 0 for missing in short.values())
    if pool.state is PoolState.DELETING:
        question = f"Why is pool {pool.id} still being deleted?"
    elif not is_steady:
        question = f"Why is pool {pool.id} resizing?"
    elif is_short:
        question = f"Why is pool {pool.id} below its target?"
    else:
        question = f"Why does pool {pool.id} have the nodes that it has?"
    nothing = "RSZ-14" if following is None and is_short else ""
    return answer(world, question, checks, reasons, following, _notes(world, pool, short), nothing)


def network_checks(world: World, pool: Pool) -> list[Check]:
    """Check the ports that the pool's subnet closes to its nodes (NET-4, NET-5, NET-7)."""
    closed = network.blocked_ports(world, pool)
    if not closed:
        return []
    ports = " and ".join(map(str, closed))
    mode = network.communication_mode(pool.spec).value
    value = f"{mode} communication needs {plural(len(closed), 'port')} {ports}, closed in its subnet"
    return [Check("network", False, value, "NET-4")]


def network_remedy(world: World, pool: Pool) -> str:
    """Return what connects the nodes of a pool to Batch whose subnet closes ports; booting them again does not."""
    if network.is_open_if_simplified(world, pool):
        return "empty the pool, then give it simplified communication"
    return "open the ports, or use another subnet"


def network_notes(world: World, pool: Pool) -> list[Note]:
    """Note what connects the pool's nodes to Batch, if its subnet closes ports (NET-7)."""
    if not network.blocked_ports(world, pool):
        return []
    way_out = Note(f"{network_remedy(world, pool).capitalize()}.", "NET-7")
    return [Note("Booting its nodes again does not help.", "NODE-14"), way_out]


def _upgrade_check(world: World, pool: Pool) -> Check | None:
    """Check the progress of an operating system upgrade (POOL-22)."""
    if not pool.upgrade:
        return None
    count = sum(os_upgrades.is_being_upgraded(world, node) for node in pool.upgrade[0])
    left = sum(map(len, pool.upgrade[1:]))
    return Check("OS upgrade", False, f"{some(count, 'node')} under way, {left} to follow", "POOL-22")


def _error_text(error: ResizeError) -> str:
    return f"{error.code}: {dict(error.values).get('Reason') or error.message}"


def _reasons(world: World, agenda: Agenda, pool: Pool, preempted: list[int]) -> tuple[list[Reason], list[Next | None]]:
    """Return the nodes that come and the nodes that leave."""
    reasons: list[Reason] = []
    changes: list[Next | None] = []
    arrivals = agenda.allocations.get(pool.row, {})
    for dedicated, kind in _KINDS:
        times = sorted(when_ms for number, when_ms in arrivals.items() if pool.pending[number] is dedicated)
        if times:
            text = f"{kind} {plural(len(times), 'node')} requested, not allocated yet"
            reasons.append(Reason(len(times), text, times[0], "RSZ-2", "one"))
            changes.append(Next(f"a {kind} node is allocated", times[0], "RSZ-2"))
    for number, when_ms in agenda.answers.get(pool.row, {}).items():
        request = pool.failing_requests[number]
        kind = dict(_KINDS)[request.dedicated]
        text = f"{kind} {plural(request.nodes, 'node')} requested, without an answer yet"
        reasons.append(Reason(request.nodes, text, when_ms, "RSZ-16", "one"))
        changes.append(Next("Azure answers the request", when_ms, "RSZ-16"))
    if preempted:
        text = f"Spot {plural(len(preempted), 'node')} preempted"
        reasons.append(Reason(len(preempted), text, None, "SPOT-3"))  # the next try may get none of them
    changes.append(due("Batch tries to allocate Spot nodes", pool.refill_at_ms, "SPOT-5"))
    leaving: list[tuple[int | None, int]] = []
    draining: list[tuple[int | None, int]] = []
    for node in sorted(pool.victims):
        if world.nodes.state[node] == NodeState.LEAVING_POOL:
            leaving.append((agenda.node_steps[node], node))
        else:
            draining.append((room_ms(world, node, pool.slots), node))
    for found, text, change, rule in (
        (leaving, "leaving the pool", "{} leaves the pool", "RSZ-7"),
        (
            draining,
            f"leaving once all tasks there have ended ({pool.drain_option})",
            "the last task on {} ends",
            "RSZ-5",
        ),
    ):
        if found:
            reasons.append(reason(world, found, f"{plural(len(found), 'node')} {text}", rule))
        first = first_of(found)
        if first is not None:
            changes.append(Next(change.format(name_of(world, first[1])), first[0], rule))
    return reasons, changes


def _notes(world: World, pool: Pool, short: dict[bool, int]) -> list[Note]:
    """Return notes on what prevents more nodes, and who has to act."""
    if pool.state is PoolState.DELETING:
        return [Note("Its deletion ends with its last node.", "RSZ-10")]
    notes = []
    behind = sum(is_behind(world, node) for node in membership.present_nodes(world, pool))
    if behind:
        text = f"{some(behind, 'node')} must reboot to get changed packages or certificates."
        notes.append(Note(text, "POOL-15"))
    if pool.allocation is not AllocationState.STEADY:
        return [*notes, Note("No other resize is accepted until it is steady.", "RSZ-1")]
    for dedicated, kind in _KINDS:
        if short[dedicated] <= 0:
            continue
        grant = quotas.granted(world, pool, short[dedicated], dedicated=dedicated)
        why = "".join(f": {_error_text(error)}" for error in (*grant.errors, *grant.late_errors))
        notes.append(Note(f"{grant.nodes:,} of {some(short[dedicated], f'{kind} node')} available now{why}.", "ACC-8"))
    if short[True] > 0 and pool.scaling is None:
        notes.append(Note("A steady pool does not refill itself: resize it again.", "RSZ-14"))
    elif short[True] > 0:
        notes.append(Note("A steady pool is refilled when its formula sets another target.", "AS-80"))
    if pool.scaling is not None:
        notes.append(Note("Its targets come from its autoscale formula.", "RSZ-1"))
    return notes
