"""Pools: nodes that are out of order, resizes that fell short, formulas that fail, and missing Spot nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.node_states import PROBLEMS
from engine.base.terms import NodeState
from engine.rules.decisions import network
from engine.rules.decisions.membership import missing_nodes
from engine.specs.catalogue import SPOT_REFILL_INTERVAL_MS
from engine.state.instances import PrepFlag
from engine.state.nodes import GONE
from engine.views.attention.concern import MOST_NAMED, Concern, Severity, listed, some
from engine.views.explain.explanation import moment
from engine.views.explain.pools import network_remedy
from engine.views.pages.bulk import places, values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation
    from engine.state.pools import Pool
    from engine.world.world import World


def node_concerns(simulation: Simulation, *, names_pools: bool) -> list[Concern]:
    """Return the nodes that are out of order, by pool, state and error."""
    world = simulation.world
    states = world.nodes.state.tobytes()
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
    """Return the jobs that cannot end before their release tasks have run on these nodes (REL-13)."""
    instances = world.instances
    waiting = {
        world.jobs[instances.job[row]].id
        for node in nodes
        for row in instances.rows_on(node)
        if instances.flags[row] & PrepFlag.RELEASE_OWED and world.jobs[instances.job[row]].releases_open
    }
    return [f"{listed(sorted(waiting))} cannot end before release has run there"] if waiting else []


def pool_concerns(simulation: Simulation) -> list[Concern]:
    """Return the pools that have fewer nodes than they should, and those whose formula fails."""
    world = simulation.world
    return [concern for pool in world.pools.present() for concern in _of_pool(world, pool)]


def _of_pool(world: World, pool: Pool) -> Iterator[Concern]:
    for error in pool.resize_errors:
        reason = dict(error.values).get("Reason") or error.message
        concern = _concern(pool, f"resize failed: {error.code}", pool.allocation_since_ms, reason, _remedy(error.code))
        yield concern._replace(severity=Severity.NOTICE) if error.code == "ResizeStopped" else concern
    run = pool.scaling.run if pool.scaling is not None else None
    if run is not None and run.error is not None:
        effect = f"{run.error.reason}; the pool keeps its size"
        yield _concern(pool, f"formula failed: {run.error.code}", run.when_ms, effect, "change its formula")
    if pool.short_since_ms is not None and not pool.resize_errors:
        yield from _spot(world, pool, pool.short_since_ms)


def _remedy(code: str) -> str:
    return "raise the quota, or resize it to fewer nodes" if "Quota" in code else "resize it again"


def _spot(world: World, pool: Pool, since_ms: int) -> Iterator[Concern]:
    """Yield the Spot nodes that could not be replaced at the first attempt (SPOT-5)."""
    missing = missing_nodes(world, pool)
    if missing and world.now_ms - since_ms > SPOT_REFILL_INTERVAL_MS:
        text = f"{some(missing, 'Spot node')} missing since {moment(world, since_ms)}"
        again = pool.refill_at_ms
        target = pool.target_dedicated + pool.target_spot
        effect = f"{target - missing:,} of {some(target, 'node')} left, no capacity for more"
        if again is not None:
            effect += f"; Batch tries again at {moment(world, again)} (SPOT-5)"
        yield _concern(pool, text, since_ms, effect, "resize it with dedicated nodes")


def _concern(pool: Pool, text: str, since_ms: int, effect: str, remedy: str) -> Concern:
    text = f"pool {pool.id}: {text}"
    return Concern("pool", Severity.SHORTAGE, text, since_ms, effect, remedy, pools=(pool.id,))
