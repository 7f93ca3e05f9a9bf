"""Pools and the condition of their nodes: reasons why a pool resizes or stays below its target, and concerns.

Reasons include those why autoscale has set the targets. Concerns are nodes that are out of order, resizes that fell
short, formulas that fail, and missing Spot nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.autoscale import NO_SAMPLES
from engine.base.lifecycles import PROBLEMS
from engine.base.terms import AllocationState, NodeState, PoolState
from engine.base.values import format_duration, lazy_regex, places, values
from engine.rules import pools
from engine.rules.decisions import capacity
from engine.rules.decisions.capacity import current_counts, missing_nodes
from engine.rules.decisions.metrics import task_counts
from engine.run.agenda import Agenda
from engine.specs.catalogue import SPOT_REFILL_INTERVAL_MS
from engine.specs.commands import EvictNode
from engine.state.instances import PrepFlag
from engine.state.nodes import GONE
from engine.views.diagnosis.candidates import room_ms
from engine.views.diagnosis.model import (
    Check,
    Concern,
    Next,
    Note,
    Reason,
    Severity,
    answer,
    due,
    earliest,
    first_names,
    first_of,
    listed,
    moment,
    name_of,
    plural,
    reason,
    some,
)
from engine.views.log.reader import LogReader, is_event, of_kind
from engine.views.resources.instances import given_up_ms
from engine.views.resources.processes import is_behind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation
    from engine.state.pools import AutoScaleRun, Pool, ResizeError, Scaling
    from engine.views.diagnosis.model import Explanation
    from engine.world import World


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
    return answer(world, question, checks, (), next_evaluation(pool), _autoscale_notes(scaling, run))


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


def _autoscale_notes(scaling: Scaling, run: AutoScaleRun) -> list[Note]:
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
    current = dict(zip((True, False), capacity.current_counts(world, pool), strict=True))
    target = {True: pool.target_dedicated, False: pool.target_spot}
    if pool.state is PoolState.DELETING:
        target = dict.fromkeys(target, 0)  # all nodes leave (RSZ-10)
    preempted = capacity.preempted_nodes(world, pool) if pool.target_spot else []
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
    return answer(world, question, checks, reasons, following, _pool_notes(world, pool, short), nothing)


def network_checks(world: World, pool: Pool) -> list[Check]:
    """Check the ports that the pool's subnet closes to its nodes (NET-4, NET-5, NET-7)."""
    closed = capacity.blocked_ports(world, pool)
    if not closed:
        return []
    ports = " and ".join(map(str, closed))
    mode = capacity.communication_mode(pool.spec).value
    value = f"{mode} communication needs {plural(len(closed), 'port')} {ports}, closed in its subnet"
    return [Check("network", False, value, "NET-4")]


def network_remedy(world: World, pool: Pool) -> str:
    """Return what connects the nodes of a pool to Batch whose subnet closes ports; booting them again does not."""
    if capacity.is_open_if_simplified(world, pool):
        return "empty the pool, then give it simplified communication"
    return "open the ports, or use another subnet"


def network_notes(world: World, pool: Pool) -> list[Note]:
    """Note what connects the pool's nodes to Batch, if its subnet closes ports (NET-7)."""
    if not capacity.blocked_ports(world, pool):
        return []
    way_out = Note(f"{network_remedy(world, pool).capitalize()}.", "NET-7")
    return [Note("Booting its nodes again does not help.", "NODE-14"), way_out]


def _upgrade_check(world: World, pool: Pool) -> Check | None:
    """Check the progress of an operating system upgrade (POOL-22)."""
    if not pool.upgrade:
        return None
    count = sum(pools.is_being_upgraded(world, node) for node in pool.upgrade[0])
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


def _pool_notes(world: World, pool: Pool, short: dict[bool, int]) -> list[Note]:
    """Return notes on what prevents more nodes, and who has to act."""
    if pool.state is PoolState.DELETING:
        return [Note("Its deletion ends with its last node.", "RSZ-10")]
    notes = []
    behind = sum(is_behind(world, node) for node in capacity.present_nodes(world, pool))
    if behind:
        text = f"{some(behind, 'node')} must reboot to get changed packages or certificates."
        notes.append(Note(text, "POOL-15"))
    if pool.allocation is not AllocationState.STEADY:
        return [*notes, Note("No other resize is accepted until it is steady.", "RSZ-1")]
    for dedicated, kind in _KINDS:
        if short[dedicated] <= 0:
            continue
        grant = capacity.granted(world, pool, short[dedicated], dedicated=dedicated)
        why = "".join(f": {_error_text(error)}" for error in (*grant.errors, *grant.late_errors))
        notes.append(Note(f"{grant.nodes:,} of {some(short[dedicated], f'{kind} node')} available now{why}.", "ACC-8"))
    if short[True] > 0 and pool.scaling is None:
        notes.append(Note("A steady pool does not refill itself: resize it again.", "RSZ-14"))
    elif short[True] > 0:
        notes.append(Note("A steady pool is refilled when its formula sets another target.", "AS-80"))
    if pool.scaling is not None:
        notes.append(Note("Its targets come from its autoscale formula.", "RSZ-1"))
    return notes


_TIMED_OUT = "AllocationTimedout"


def node_concerns(simulation: Simulation, *, names_pools: bool) -> list[Concern]:
    """Return the nodes that are out of order, by pool, state and error."""
    world = simulation.world
    states = world.nodes.state
    troubles = [state for state in PROBLEMS if states.find(state) >= 0]
    return [
        concern
        for pool in (world.pools.present() if troubles else ())
        for state in troubles
        for concern in _in_state(world, pool, state, names_pools=names_pools)
    ]


def _in_state(world: World, pool: Pool, state: NodeState, *, names_pools: bool) -> Iterator[Concern]:
    problem, table = PROBLEMS[state], world.nodes
    by_error: dict[str, list[int]] = {}
    for at in places(bytes(values(table.state, pool.nodes)), state):
        errors = table[pool.nodes[at]].errors
        by_error.setdefault(errors[0].code if errors else "", []).append(pool.nodes[at])
    where = f" of pool {pool.id}" if names_pools else ""
    is_cut_off = state is NodeState.UNUSABLE and capacity.blocked_ports(world, pool)
    cut_off = "closed ports in their subnet cut them off from Batch (NET-4)" if is_cut_off else ""
    for code, nodes in by_error.items():
        named = first_names(world, nodes)
        who = f"node {named[0]}" if len(nodes) == 1 else some(len(nodes), "node")
        present = len(pool.nodes) - bytes(values(table.state, pool.nodes)).count(GONE)
        every = f"all {present:,} nodes" if present == len(nodes) > 1 else who
        yield Concern(
            "node",
            Severity.FAILURE,
            f"{every}{where}: {problem.name}{f' ({code})' if code else ''}",
            max(map(table.since.__getitem__, nodes)),
            effect="; ".join([cut_off or problem.effect, *_releases_owed(world, nodes)]),
            remedy=network_remedy(world, pool) if is_cut_off else problem.remedy,
            names=named if len(nodes) > 1 else (),
            nodes=nodes,
            pools=(pool.id,),
            state=state,
        )


def _releases_owed(world: World, nodes: list[int]) -> list[str]:
    """Return the jobs that wait for their release tasks to run on these nodes, and until when (REL-13)."""
    instances = world.instances
    rows = [
        row
        for node in nodes
        for row in instances.rows_on(node)
        if instances.flags[row] & PrepFlag.RELEASE_OWED and not world.jobs[instances.job[row]].forced
    ]
    if not rows:
        return []
    jobs = sorted({world.jobs[instances.job[row]].id for row in rows})
    until_ms = given_up_ms(world, rows)
    limit = "" if until_ms is None else f", at most until {moment(world, until_ms)}"
    return [f"{listed(jobs)} {'waits' if len(jobs) == 1 else 'wait'} for release there{limit}"]


def pool_concerns(simulation: Simulation) -> list[Concern]:
    """Return the pools that have fewer nodes than they should, and those whose formula fails."""
    return [concern for pool in simulation.world.pools.present() for concern in _of_pool(simulation, pool)]


def _of_pool(simulation: Simulation, pool: Pool) -> Iterator[Concern]:
    world = simulation.world
    kept = _nodes_kept(world, pool) if pool.resize_errors else 0
    if kept:
        text = f"pool {pool.id} keeps {some(kept, 'node')} more than its target"
        effect = "tasks on them did not end within the resize timeout (RSZ-5)"
        remedy = "" if pool.auto_scale else "resize it again"
        yield Concern("pool", Severity.NOTICE, text, pool.allocation_since_ms, effect, remedy, pools=(pool.id,))
    for error in () if kept else pool.resize_errors:
        reason = dict(error.values).get("Reason") or error.message
        concern = _concern(
            pool, f"resize failed: {error.code}", pool.allocation_since_ms, reason, _remedy(world, pool, error.code)
        )
        yield concern._replace(severity=Severity.NOTICE) if error.code == "ResizeStopped" else concern
    run = pool.scaling.run if pool.scaling is not None else None
    if run is not None and run.error is not None:
        effect = f"{run.error.reason}; the pool keeps its size"
        yield _concern(pool, f"formula failed: {run.error.code}", run.when_ms, effect, "change its formula")
    if pool.target_spot:
        yield from _spot(simulation, pool)


def _nodes_kept(world: World, pool: Pool) -> int:
    """Return how many nodes are left that the last resize should have removed; 0 if the pool lacks nodes of any kind.

    A resize that a user stopped has not failed to remove them.
    """
    if any(error.code != _TIMED_OUT for error in pool.resize_errors):
        return 0
    dedicated, spot = current_counts(world, pool)
    above = dedicated - pool.target_dedicated, spot - pool.target_spot
    return sum(above) if min(above) >= 0 else 0


def _remedy(world: World, pool: Pool, code: str) -> str:
    """Return what helps a pool that has fewer nodes than its targets, as quotas are now (RSZ-14)."""
    dedicated, spot = current_counts(world, pool)
    short = (pool.target_dedicated - dedicated, True), (pool.target_spot - spot, False)
    lacking = (capacity.granted(world, pool, nodes, dedicated=kind).nodes < nodes for nodes, kind in short if nodes > 0)
    return "raise the quota, or resize it to fewer nodes" if "Quota" in code and any(lacking) else "resize it again"


def _spot(simulation: Simulation, pool: Pool) -> Iterator[Concern]:
    """Yield the Spot nodes that were taken back, or that could not be had at the first attempt (SPOT-3, SPOT-5)."""
    world, since_ms, table = simulation.world, pool.short_since_ms, simulation.world.nodes
    preempted = [pool.nodes[at] for at in places(bytes(values(table.state, pool.nodes)), NodeState.PREEMPTED)]
    missing = 0 if since_ms is None else missing_nodes(world, pool)
    has_failed = since_ms is not None and missing > 0 and world.now_ms - since_ms > SPOT_REFILL_INTERVAL_MS
    if has_failed:
        target = pool.target_dedicated + pool.target_spot
        effect, again = f"{target - missing:,} of {some(target, 'node')} left, no capacity for more", "tries again"
    else:
        effect, again = "tasks there went back to the queue (SPOT-3)", "tries to replace them"
    if pool.refill_at_ms is not None:
        is_in_run = not simulation.finished and pool.refill_at_ms <= simulation.end_ms
        when = f"Batch {again} at {moment(world, pool.refill_at_ms)}"
        effect += f"; {when if is_in_run else f'the run ends before Batch {again}'} (SPOT-5)"
    remedy = "resize the pool with dedicated nodes" if has_failed else ""
    if preempted:
        moments = sorted(map(table.since.__getitem__, preempted))
        at = "at" if moments[0] == moments[-1] else "since"
        text = f"{some(len(preempted), 'Spot node')} preempted {at} {moment(world, moments[0])}"
        yield _concern(pool, text, moments[-1], effect, remedy)._replace(
            kind="node",
            names=first_names(world, preempted),
            nodes=preempted,
            state=NodeState.PREEMPTED,
        )
    elif has_failed and since_ms is not None and not pool.resize_errors:
        text = f"{some(missing, 'Spot node')} missing since {moment(world, since_ms)}"
        yield _concern(pool, text, since_ms, effect, remedy)


class Evictions:
    """Concerns about Spot nodes whose VM will be taken back, as long as the notice lasts (SPOT-7)."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin with nothing read."""
        self._simulation = simulation
        self._notices = LogReader(simulation, of_kind(is_event("FaultInjected", command=EvictNode.NAME)))

    def concerns(self) -> Iterator[Concern]:
        """Yield the nodes of each pool that are about to be preempted; nodes are looked at only after a notice."""
        simulation, notices = self._simulation, self._notices.entries()
        world, log = simulation.world, simulation.log
        if not notices or log.when[notices[-1]] + world.eviction_notice_ms < simulation.now_ms:
            return
        for pool in world.pools.present():
            nodes = [node for node in pool.nodes if world.nodes[node].evicted_ms is not None]
            moments = sorted(ms for node in nodes if (ms := world.nodes[node].evicted_ms) is not None)
            if moments:
                at = "at" if moments[0] == moments[-1] else "from"
                text = f"{some(len(nodes), 'Spot node')} will be preempted {at} {moment(world, moments[0])}"
                since_ms = moments[-1] - world.eviction_notice_ms
                yield _concern(pool, text, since_ms, "tasks there will go back to the queue (SPOT-3)", "")._replace(
                    kind="node",
                    names=first_names(world, nodes),
                    nodes=nodes,
                )


def _concern(pool: Pool, text: str, since_ms: int, effect: str, remedy: str) -> Concern:
    text = f"pool {pool.id}: {text}"
    return Concern("pool", Severity.SHORTAGE, text, since_ms, effect, remedy, pools=(pool.id,))
