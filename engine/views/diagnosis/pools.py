"""Pools and the condition of their nodes: reasons why a pool resizes or stays below its target, and concerns.

Reasons include those why autoscale has set the targets. Concerns are nodes that are out of order, resizes that fell
short, formulas that fail, and missing Spot nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.autoscale.values import NO_SAMPLES
from engine.base.lifecycles import PROBLEMS
from engine.base.terms import AllocationState, NodeState, PoolState
from engine.base.values import called, format_duration, lazy_regex, places, values
from engine.rules import pools
from engine.rules.autoscaling import retries_resize
from engine.rules.decisions import capacity
from engine.rules.decisions.capacity import current_counts, missing_nodes
from engine.rules.decisions.metrics import task_counts
from engine.run.agenda import Agenda
from engine.specs.catalogue import SPOT_REFILL_INTERVAL_MS
from engine.specs.commands import EvictNode
from engine.state.instances import PrepFlag
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE
from engine.views.diagnosis.candidates import network_checks, network_remedy, next_evaluation, next_refill, room_ms
from engine.views.diagnosis.model import (
    DENIED,
    Clause,
    Condition,
    Finding,
    Items,
    Next,
    answer,
    check,
    concern,
    due,
    earliest,
    first_names,
    first_of,
    listed,
    moment,
    name_of,
    named,
    note,
    plural,
    reason,
    some,
)
from engine.views.log.reader import LogReader, is_event, of_kind
from engine.views.resources.instances import given_up_ms
from engine.views.resources.processes import is_behind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    waiting = 0 if run.error is not None or run.target_dedicated or run.target_spot else task_counts(world, pool)[0]
    findings = (
        check("pool state", is_active, pool.state.wire if pool.state is not None else "deleted", "AS-89"),
        check("evaluation", True, schedule, "AS-83"),
        check("last one", run.error is None, at, last_rule),
        check("samples", bool(pool.samples), _samples(world, pool, scaling), "AS-52"),
        check("targets", run.error is None, _targets(pool, scaling), "AS-80" if len(scaling.runs) > 1 else "AS-84"),
        check("waiting tasks", False, f"{waiting:,}, but no nodes are wanted", "AS-41") if waiting else None,
        *_autoscale_notes(scaling, run),
    )
    return answer(world, question, findings, next_evaluation(pool))


def supply_checks(world: World, pool: Pool) -> Iterator[Finding]:
    """Yield why a pool has no more nodes: they are on the way, its resize or formula failed, or none is wanted."""
    counts, target = current_counts(world, pool), pool.target_dedicated + pool.target_spot
    if pool.resize_errors and sum(counts) < target:
        codes = ", ".join(dict.fromkeys(error.code for error in pool.resize_errors))
        lacks = f"{sum(counts) or 'none'} of {some(target, 'node')}"
        yield check(Condition.RESIZE_FAILED, False, f"{lacks}: {codes}", "RSZ-12")
    if pool.pending or pool.failing_requests:
        asked = len(pool.pending) + sum(request.nodes for request in pool.failing_requests.values())
        yield check(Condition.ALLOCATION, False, f"{some(asked, 'node')} requested, not allocated yet", "RSZ-2")
    run = None if pool.scaling is None else pool.scaling.run
    if run is not None and run.error is not None:
        yield check(Condition.FORMULA_FAILED, False, f"{run.error.code}: {run.error.reason}", "AS-65")
    elif not target and not any(counts) and any(job.counts[ACTIVE] for job in world.jobs_of(pool)):
        wants = "its formula has not been evaluated yet" if run is None else "its formula wants none"
        why, rule = (wants, "AS-41") if pool.scaling is not None else ("its target is 0", "SCHED-8")
        yield check(Condition.NO_NODES, False, f"none in {called('pool', pool.id)}: {why}", rule)


def _wanted(run: AutoScaleRun) -> str:
    dedicated = some(run.target_dedicated, "dedicated node")
    return f"{dedicated} and {some(run.target_spot, 'Spot node')}" if run.target_spot else dedicated


def _samples(world: World, pool: Pool, scaling: Scaling) -> str:
    if not pool.samples:
        return f"none yet; the first at {moment(world, scaling.sampling.next_ms)}"
    return f"{len(pool.samples):,} of each metric, one every 30 s since {moment(world, int(pool.samples[0][0]))}"


def _targets(pool: Pool, scaling: Scaling) -> str:
    run = scaling.runs[-1]
    if run.error is not None:
        return f"left at {_wanted(run)}"
    if len(scaling.runs) == 1:
        return f"{_wanted(run)}, its first targets"
    before = scaling.runs[-2]
    if (before.target_dedicated, before.target_spot) == (run.target_dedicated, run.target_spot):
        began = "the failed resize began again" if pool.resize_started_ms == run.when_ms else "no resize began"
        return f"{_wanted(run)} as before, so {began}"
    return f"{_wanted(run)}, previously {_wanted(before)}"


def _autoscale_notes(scaling: Scaling, run: AutoScaleRun) -> Iterator[Finding]:
    """Yield the formula's own variables, and what would help where it failed."""
    own = run.items[_SERVICE_ITEMS:]
    if own:
        yield note(f"Its variables: {', '.join(f'{name} = {text}' for name, text in own)}.", "AS-68")
    if run.error is None:
        if any(_FRACTION.fullmatch(text) for _, text in own):
            yield note("A fraction of a node that is wanted is cut off.", "AS-77")
        yield note(f"Nodes leave with deallocation option {run.items[_SERVICE_ITEMS - 1][1]}.", "AS-40")
        return
    if run.error.code == NO_SAMPLES:
        yield note("By default GetSample over a time needs 70 % of its samples.", "AS-51")
    failed, count = sum(each.error is not None for each in scaling.runs), len(scaling.runs)
    said = f"{failed} of the last {count} evaluations failed." if count > 1 else "It was the first evaluation."
    yield note(said, "AS-65")


_KINDS = ((True, "dedicated"), (False, "Spot"))


def why_pool(world: World, pool: Pool) -> Explanation:
    """Explain the pool's nodes, what it waits for, and what it lacks."""
    if pool.state is None:
        when = note(f"It was deleted at {moment(world, pool.since_ms)}, with all its nodes.", "RSZ-10")
        after = note("Nothing can be done with it any more. A new pool can have its id.", "RSZ-10")
        return answer(world, f"Where is {called('pool', pool.id)}?", (when, after))
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
    reasons, changes = _reasons(world, agenda, pool, preempted)
    if pool.allocation is AllocationState.RESIZING:
        changes.append(due("the resize times out", agenda.resize_timeouts.get(pool.row), "RSZ-3"))
    following = earliest((*changes, next_evaluation(pool)))
    stands = {True: True, False: False if is_steady else None}
    is_short = is_steady and any(missing > 0 for missing in short.values())
    findings = (
        check("pool state", pool.state is PoolState.ACTIVE, pool.state.wire, "POOL-7"),
        check(Condition.ALLOCATION, is_steady or None, allocation, "RSZ-2"),
        *(
            check(f"{kind} nodes", stands[not short[one]], f"{current[one]:,} of {target[one]:,}", "RSZ-2")
            for one, kind in _KINDS
            if current[one] or target[one]
        ),
        *network_checks(world, pool),
        _upgrade_check(world, pool),
        *(
            check(Condition.RESIZE_FAILED, False, _error_text(error), "RSZ-12")
            for error in pool.resize_errors or pool.gathered_errors
        ),
        *(each for each in supply_checks(world, pool) if each.condition is Condition.NO_NODES),
        *reasons,
        *_pool_notes(world, pool, short),
    )
    if pool.state is PoolState.DELETING:
        question = f"Why is {called('pool', pool.id)} still being deleted?"
    elif not is_steady:
        question = f"Why is {called('pool', pool.id)} resizing?"
    elif is_short:
        question = f"Why is {called('pool', pool.id)} below its target?"
    else:
        question = f"Why does {called('pool', pool.id)} have the nodes that it has?"
    return answer(world, question, findings, following, "RSZ-14" if following is None and is_short else "")


def _upgrade_check(world: World, pool: Pool) -> Finding | None:
    """Check the progress of an operating system upgrade (POOL-22)."""
    if not pool.upgrade:
        return None
    count = sum(pools.is_being_upgraded(world, node) for node in pool.upgrade[0])
    left = sum(map(len, pool.upgrade[1:]))
    return check("OS upgrade", False, f"{some(count, 'node')} under way, {left} to follow", "POOL-22")


def _error_text(error: ResizeError) -> str:
    return f"{error.code}: {dict(error.values).get('Reason') or error.message}"


def _reasons(world: World, agenda: Agenda, pool: Pool, preempted: list[int]) -> tuple[list[Finding], list[Next | None]]:
    """Return how many nodes are to come or to leave, and the events at which they do."""
    reasons: list[Finding] = []
    changes: list[Next | None] = []
    arrivals = agenda.allocations.get(pool.row, {})
    for dedicated, kind in _KINDS:
        times = sorted(when_ms for number, when_ms in arrivals.items() if pool.pending[number] is dedicated)
        if times:
            reasons.append(_requested(len(times), kind, times[0], "not allocated yet", "RSZ-2"))
            changes.append(Next(f"a {kind} node is allocated", times[0], "RSZ-2"))
    for number, when_ms in agenda.answers.get(pool.row, {}).items():
        request = pool.failing_requests[number]
        kind = dict(_KINDS)[request.dedicated]
        reasons.append(_requested(request.nodes, kind, when_ms, "without an answer yet", "RSZ-16"))
        changes.append(Next("Azure answers the request", when_ms, "RSZ-16"))
    if preempted:  # the next try may get none of them
        text = f"Spot {plural(len(preempted), 'node')} preempted"
        reasons.append(Finding(Condition.PREEMPTED, text, "SPOT-3", size=len(preempted)))
    changes.append(next_refill(pool))
    leaving: list[tuple[int | None, int]] = []
    draining: list[tuple[int | None, int]] = []
    for node in sorted(pool.victims):
        if world.nodes.state[node] == NodeState.LEAVING_POOL:
            leaving.append((agenda.node_steps[node], node))
        else:
            draining.append((room_ms(world, node, pool.slots), node))
    drained = f"leaving once all tasks there have ended ({pool.drain_option})"
    for found, text, change, rule in (
        (leaving, "leaving the pool", "{} leaves the pool", "RSZ-7"),
        (draining, drained, "the last task on {} ends", "RSZ-5"),
    ):
        if found:
            reasons.append(reason(world, Condition.ALLOCATION, found, "node", text, rule))
        if (first := first_of(found)) is not None:
            changes.append(Next(change.format(name_of(world, first[1])), first[0], rule))
    return reasons, changes


def _requested(count: int, kind: str, when_ms: int, lacks: str, rule: str) -> Finding:
    text = f"{kind} {plural(count, 'node')} requested, {lacks}"
    return Finding(Condition.ALLOCATION, text, rule, size=count, soonest=Next("one", when_ms))


def _pool_notes(world: World, pool: Pool, short: dict[bool, int]) -> Iterator[Finding]:
    """Yield notes on what prevents more nodes, and who has to act."""
    if pool.state is PoolState.DELETING:
        yield note("Its deletion ends with its last node.", "RSZ-10")
        return
    behind = sum(is_behind(world, node) for node in capacity.present_nodes(world, pool))
    if behind:
        yield note(f"{some(behind, 'node')} must reboot to get changed packages or certificates.", "POOL-15")
    if pool.allocation is not AllocationState.STEADY:
        yield note("No other resize is accepted until it is steady.", "RSZ-1")
        return
    for dedicated, kind in _KINDS:
        if short[dedicated] > 0:
            grant = capacity.granted(world, pool, short[dedicated], dedicated=dedicated)
            why = "".join(f": {_error_text(error)}" for error in (*grant.errors, *grant.late_errors))
            lacking = some(short[dedicated], f"{kind} node")
            yield note(f"{grant.nodes:,} of {lacking} available now{why}.", "ACC-8")
    if short[True] > 0 and pool.scaling is None:
        yield note("A steady pool does not refill itself: resize it again.", "RSZ-14")
    elif short[True] > 0:
        when = "is next evaluated" if retries_resize(world, pool) else "sets another target"
        yield note(f"A steady pool is refilled when its formula {when}.", "AS-80")
    if pool.scaling is not None:
        yield note("Its targets come from its autoscale formula.", "RSZ-1")


_TIMED_OUT = "AllocationTimedout"


def node_concerns(simulation: Simulation, *, names_pools: bool) -> list[Finding]:
    """Return the nodes that are out of order, by pool, state and error."""
    world = simulation.world
    states = world.nodes.state
    troubles = [state for state in PROBLEMS if states.find(state) >= 0]
    return [
        found
        for pool in (world.pools.present() if troubles else ())
        for state in troubles
        for found in _in_state(world, pool, state, names_pools=names_pools)
    ]


def _in_state(world: World, pool: Pool, state: NodeState, *, names_pools: bool) -> Iterator[Finding]:
    problem, table = PROBLEMS[state], world.nodes
    by_error: dict[str, list[int]] = {}
    for node in _nodes_in(world, pool, state):
        errors = table[node].errors
        by_error.setdefault(errors[0].code if errors else "", []).append(node)
    where = f" of {called('pool', pool.id)}" if names_pools else ""
    is_cut_off = state is NodeState.UNUSABLE and capacity.blocked_ports(world, pool)
    cut_off = Clause("closed ports in their subnet cut them off from Batch", "NET-4") if is_cut_off else problem.effect
    for code, nodes in by_error.items():
        who, names = named("node", first_names(world, nodes), len(nodes))
        present = len(pool.nodes) - bytes(values(table.state, pool.nodes)).count(GONE)
        every = f"all {present:,} nodes" if present == len(nodes) > 1 else who
        yield concern(
            Condition.NODE_STATE,
            f"{every}{where}: {problem.name}{f' ({code})' if code else ''}",
            min(map(table.since.__getitem__, nodes)),
            cut_off,
            _releases_owed(world, nodes),
            remedy=network_remedy(world, pool) if is_cut_off else _remedy_of(world, nodes[0], problem.remedy),
            items=Items(nodes=nodes, pools=(pool.id,)),
            names=names,
        )._replace(state=state, cause=code)


def _remedy_of(world: World, node: int, usual: str) -> str:
    """Return what helps a node that is out of order. A reboot does not where an expired signature has failed it."""
    task = world.nodes[node].start_task
    is_denied = task is not None and task.failure is not None and task.failure.code in DENIED
    return "give the pool a start task with a valid signature, then reboot" if is_denied else usual


def _nodes_in(world: World, pool: Pool, state: NodeState) -> list[int]:
    return [pool.nodes[at] for at in places(bytes(values(world.nodes.state, pool.nodes)), state)]


def _releases_owed(world: World, nodes: list[int]) -> str:
    """Return the jobs that wait for their release tasks to run on these nodes, and until when (REL-13)."""
    instances = world.instances
    rows = [
        row
        for node in nodes
        for row in instances.rows_on(node)
        if instances.flags[row] & PrepFlag.RELEASE_OWED and not world.jobs[instances.job[row]].forced
    ]
    if not rows:
        return ""
    jobs = sorted({world.jobs[instances.job[row]].id for row in rows})
    until_ms = given_up_ms(world, rows)
    limit = "" if until_ms is None else f", at most until {moment(world, until_ms)}"
    return f"{listed(jobs)} {'waits' if len(jobs) == 1 else 'wait'} for release there{limit}"


def pool_concerns(simulation: Simulation) -> list[Finding]:
    """Return the pools that have fewer nodes than they should, and those whose formula fails."""
    return [found for pool in simulation.world.pools.present() for found in _of_pool(simulation, pool)]


def _of_pool(simulation: Simulation, pool: Pool) -> Iterator[Finding]:
    world, since_ms, errors = simulation.world, pool.allocation_since_ms, pool.resize_errors
    if errors and current_counts(world, pool) == (pool.target_dedicated, pool.target_spot):
        errors = ()  # they are those of an earlier resize (POOL-3)
    kept = _nodes_kept(world, pool) if errors else 0
    if kept:
        text = f"{called('pool', pool.id)} keeps {some(kept, 'node')} more than its target"
        effect = Clause("tasks on them did not end within the resize timeout", "RSZ-5")
        again, remedy, items = _retry(simulation, pool), resize_remedy(world, pool), Items(pools=(pool.id,))
        yield concern(Condition.NODES_KEPT, text, since_ms, effect, again, remedy=remedy, items=items)
    for error in () if kept else errors:
        condition = Condition.RESIZE_STOPPED if error.code == "ResizeStopped" else Condition.RESIZE_FAILED
        reasons = dict(error.values).get("Reason") or error.message, _retry(simulation, pool)
        remedy = resize_remedy(world, pool)
        yield _concern(world, pool, condition, f"resize failed: {error.code}", since_ms, *reasons, remedy=remedy)
    scaling = pool.scaling
    if scaling is not None and scaling.run is not None and (failure := scaling.run.error) is not None:
        text, effects = f"formula failed: {failure.code}", (failure.reason, "the pool keeps its size")
        yield _concern(world, pool, Condition.FORMULA_FAILED, text, scaling.failed_ms, *effects)
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


def _retry(simulation: Simulation, pool: Pool) -> Clause:
    """Return when the pool's formula begins its failed resize again; empty if it does not (AS-80)."""
    if pool.scaling is None or not retries_resize(simulation.world, pool):
        return Clause("")
    is_in_run = not simulation.finished and pool.scaling.next_ms <= simulation.end_ms
    again = f"its formula tries again at {moment(simulation.world, pool.scaling.next_ms)}"
    return Clause(again if is_in_run else "the run ends before its formula tries again", "AS-80")


def resize_remedy(world: World, pool: Pool) -> str:
    """Return what helps a pool whose resize has failed, as quotas are now (RSZ-14); nothing if it passes by itself.

    A pool with a formula cannot be resized (RSZ-1).
    """
    dedicated, spot = current_counts(world, pool)
    short = (pool.target_dedicated - dedicated, True), (pool.target_spot - spot, False)
    lacking = (capacity.granted(world, pool, nodes, dedicated=kind).nodes < nodes for nodes, kind in short if nodes > 0)
    is_short = any(lacking)
    is_at_quota = is_short and any("Quota" in error.code for error in pool.resize_errors)
    if pool.scaling is None:
        first = "raise the quota, or " if is_at_quota else ""
        return f"{first}resize it to fewer nodes" if is_short else "resize it again"
    if is_at_quota:
        return "raise the quota, or change its formula"
    return "" if retries_resize(world, pool) else "change its formula, or switch it off and resize the pool"


def _spot(simulation: Simulation, pool: Pool) -> Iterator[Finding]:
    """Yield the Spot nodes that were taken back, or that could not be had at the first attempt (SPOT-3, SPOT-5)."""
    world, since_ms = simulation.world, pool.short_since_ms
    preempted = _nodes_in(world, pool, NodeState.PREEMPTED)
    missing = 0 if since_ms is None else missing_nodes(world, pool)
    has_failed = since_ms is not None and missing > 0 and world.now_ms - since_ms > SPOT_REFILL_INTERVAL_MS
    effect, again = Clause("tasks there went back to the queue", "SPOT-3"), "tries to replace them"
    if has_failed:
        target = pool.target_dedicated + pool.target_spot
        effect = Clause(f"{target - missing:,} of {some(target, 'node')} left, no capacity for more")
        again = "tries again"
    refill = ""
    if pool.refill_at_ms is not None:
        is_in_run = not simulation.finished and pool.refill_at_ms <= simulation.end_ms
        when = f"Batch {again} at {moment(world, pool.refill_at_ms)}"
        refill = when if is_in_run else f"the run ends before Batch {again}"
    effects = effect, Clause(refill, "SPOT-5")
    more = "resize the pool with dedicated nodes" if pool.scaling is None else "let its formula set dedicated nodes"
    remedy = more if has_failed else ""
    if preempted:
        moments = [world.nodes.since[node] for node in preempted]
        text = f"{some(len(preempted), 'Spot node')} preempted {_at(world, moments, 'since')}"
        condition = Condition.PREEMPTED
        yield _concern(world, pool, condition, text, min(moments), *effects, remedy=remedy, nodes=preempted)
    elif has_failed and since_ms is not None and not pool.resize_errors:
        text = f"{some(missing, 'Spot node')} missing since {moment(world, since_ms)}"
        yield _concern(world, pool, Condition.SPOT_MISSING, text, since_ms, *effects, remedy=remedy)


def _at(world: World, moments: Sequence[int], since: str) -> str:
    """Return these moments in words: the only one, or the first of several."""
    first_ms = min(moments)
    return f"{'at' if first_ms == max(moments) else since} {moment(world, first_ms)}"


class Evictions:
    """Concerns about Spot nodes whose VM will be taken back, as long as the notice lasts (SPOT-7)."""

    def __init__(self, simulation: Simulation) -> None:
        """Create an empty reader."""
        self._simulation = simulation
        self._notices = LogReader(simulation, of_kind(is_event("FaultInjected", command=EvictNode.NAME)))

    def concerns(self) -> Iterator[Finding]:
        """Yield the nodes of each pool that are about to be preempted; nodes are looked at only after a notice."""
        simulation, notices = self._simulation, self._notices.entries()
        world, log = simulation.world, simulation.log
        if not notices or log.when[notices[-1]] + world.scenario.simulate.spot.notice < simulation.now_ms:
            return
        effect = Clause("tasks there will go back to the queue", "SPOT-3")
        for pool in world.pools.present():
            nodes = [node for node in pool.nodes if world.nodes[node].evicted_ms is not None]
            moments = [ms for node in nodes if (ms := world.nodes[node].evicted_ms) is not None]
            if moments:
                text = f"{some(len(nodes), 'Spot node')} will be preempted {_at(world, moments, 'from')}"
                since_ms = min(moments) - world.scenario.simulate.spot.notice
                yield _concern(world, pool, Condition.EVICTION, text, since_ms, effect, nodes=nodes)


def _concern(
    world: World,
    pool: Pool,
    condition: Condition,
    text: str,
    since_ms: int,
    *effects: Clause | str,
    remedy: str = "",
    nodes: Sequence[int] = (),
) -> Finding:
    text, items = f"{called('pool', pool.id)}: {text}", Items(nodes=nodes, pools=(pool.id,))
    state = NodeState.PREEMPTED if condition is Condition.PREEMPTED else None
    names = first_names(world, nodes)
    return concern(condition, text, since_ms, *effects, remedy=remedy, items=items, names=names)._replace(state=state)
