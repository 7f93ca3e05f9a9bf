"""Pools: nodes that are out of order, resizes that fell short, formulas that fail, and missing Spot nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.node_states import PROBLEMS
from engine.base.terms import NodeState
from engine.rules.decisions import network, quotas
from engine.rules.decisions.membership import current_counts, missing_nodes
from engine.specs.catalogue import SPOT_REFILL_INTERVAL_MS
from engine.specs.commands import EvictNode
from engine.state.instances import PrepFlag
from engine.state.nodes import GONE
from engine.views.attention.concern import MOST_NAMED, Concern, Severity, listed, some
from engine.views.explain.explanation import moment
from engine.views.explain.pools import network_remedy
from engine.views.log.reader import LogReader, of_kind
from engine.views.pages.bulk import places, values
from engine.views.pages.instances import given_up_ms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation
    from engine.events.log import Shape
    from engine.state.pools import Pool
    from engine.world.world import World

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
    is_cut_off = state is NodeState.UNUSABLE and network.blocked_ports(world, pool)
    cut_off = "closed ports in their subnet cut them off from Batch (NET-4)" if is_cut_off else ""
    for code, nodes in by_error.items():
        named = tuple(f"n{table[node].position}" for node in nodes[:MOST_NAMED])
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
    lacking = (quotas.granted(world, pool, nodes, dedicated=kind).nodes < nodes for nodes, kind in short if nodes > 0)
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
            names=tuple(f"n{table[node].position}" for node in preempted[:MOST_NAMED]),
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
        self._notices = LogReader(simulation, of_kind(_announces_eviction))

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
                    names=tuple(f"n{world.nodes[node].position}" for node in nodes[:MOST_NAMED]),
                    nodes=nodes,
                )


def _announces_eviction(shape: Shape) -> bool:
    return shape.event == "FaultInjected" and dict(shape.fields).get("command") == EvictNode.NAME


def _concern(pool: Pool, text: str, since_ms: int, effect: str, remedy: str) -> Concern:
    text = f"pool {pool.id}: {text}"
    return Concern("pool", Severity.SHORTAGE, text, since_ms, effect, remedy, pools=(pool.id,))
