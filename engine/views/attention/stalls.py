"""Jobs whose tasks will not run unless something changes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_states import COMING_UP, NODE_STATES
from engine.base.terms import AllocationState, JobState, NodeState, PoolState
from engine.rules.decisions import network
from engine.run.planned import next_words, subjects_of_job
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE
from engine.views.attention.concern import Concern, Severity, some
from engine.views.explain.explanation import moment
from engine.views.explain.pools import network_remedy
from engine.views.pages.bulk import values
from engine.views.pages.option_words import eligible_again

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation
    from engine.run.planned import PlannedInputs
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.views.attention.tasks import TaskFailures
    from engine.world.world import World


class _Stall(NamedTuple):
    text: str
    effect: str
    remedy: str
    severity: Severity = Severity.STANDSTILL
    nodes: tuple[int, ...] = ()
    since_ms: int | None = None  # where that is not the moment since which the pool is steady


def stalled_concerns(simulation: Simulation, failures: TaskFailures, planned: PlannedInputs) -> list[Concern]:
    """Return the jobs of which no task runs, though some wait, for another reason than that others have their turn.

    The effect ends with what the timeline has planned for the job.
    """
    world = simulation.world
    busy: dict[int, int] = {}  # tasks on the nodes of each pool
    waiting = []
    for job in world.jobs.present():
        busy[job.pool] = busy.get(job.pool, 0) + job.busy
        if job.counts[ACTIVE] and (not job.busy or job.ready_count):
            waiting.append(job)
    found = []
    for job in waiting:
        stall = _stall(world, failures, job, is_pool_busy=busy[job.pool] > 0)
        if stall is not None:
            text, effect, remedy, severity, nodes, since_ms = stall
            if since_ms is None:
                since_ms = 0 if job.pool < 0 else world.pools[job.pool].allocation_since_ms
            since_ms = max(since_ms, job.since_ms)
            pools = (job.pool_id,) if job.pool_id else ()
            plans = next_words(planned.to_come(subjects_of_job(world, job)), partial(moment, world))
            effect = "; ".join(filter(None, (effect, plans)))
            found.append(Concern("job", severity, text, since_ms, effect, remedy, (), nodes, (), (job.id,), pools))
    return found


def _waiting(job: Job, *, of_job: bool = True) -> str:
    count = job.counts[ACTIVE]
    return f"{some(count, 'task')}{f' of {job.id}' if of_job else ''} wait{'s' if count == 1 else ''}"


def _stall(world: World, failures: TaskFailures, job: Job, *, is_pool_busy: bool) -> _Stall | None:
    if job.state is JobState.DISABLED:
        return _Stall(f"job {job.id} is disabled", _waiting(job, of_job=False), "enable it", Severity.NOTICE)
    if job.state is not JobState.ACTIVE:
        return None
    pool = world.pools[job.pool] if job.pool >= 0 else None
    if pool is None or pool.state is None:
        return _Stall(f"{_waiting(job)} for a pool", f"there is no pool {job.pool_id}", "create it")
    if pool.state is PoolState.DELETING:
        return _Stall(f"{_waiting(job)} for a pool", f"pool {pool.id} is being deleted", "create it again")
    too_large = sum(queue.size for slots, queue in job.ready.items() if slots > pool.slots)
    if too_large:
        effect = f"a node of pool {pool.id} has {some(pool.slots, 'task slot')} (SCHED-10)"
        return _Stall(f"{some(too_large, 'task')} of {job.id} too large for any node", effect, "")
    is_emptied = pool.scaling is None and not pool.target_dedicated + pool.target_spot
    if job.busy or pool.pending or (pool.allocation is not AllocationState.STEADY and not is_emptied):
        return None
    if is_pool_busy and not job.ineligible:
        return None  # others have their turn
    return _without_nodes(world, failures, job, pool, is_pool_busy=is_pool_busy)


def _without_nodes(world: World, failures: TaskFailures, job: Job, pool: Pool, *, is_pool_busy: bool) -> _Stall | None:
    """Return why none of the nodes of a steady pool takes the job's tasks."""
    tasks = _waiting(job)
    states = bytes(values(world.nodes.state, pool.nodes))
    is_cut_off = bool(network.blocked_ports(world, pool))
    if any(states.count(state) for state in COMING_UP) and not is_cut_off:
        return None
    if states.count(GONE) == len(states):
        return _empty(job, pool, tasks)
    if job.ineligible:
        present = [node for node, state in zip(pool.nodes, states, strict=True) if state != GONE]
        if all(job.ineligible >> world.nodes[node].position & 1 for node in present):
            again = eligible_again(world.options)
            text = f"preparation of {job.id} failed on every node"
            remedy = f"{again.remedy} a node or add one"
            return _Stall(text, f"{tasks}, and none can run (PREP-11)", remedy, nodes=tuple(present))
    if is_pool_busy:
        return None
    if not job.ready_count:
        return _dependencies(world, failures, job, tasks)
    if any(values(world.nodes.open, pool.nodes)):
        return _gang(world, job, pool, tasks)
    text = f"{tasks}: no node takes tasks"
    if is_cut_off and any(states.count(state) for state in (*COMING_UP, NodeState.UNUSABLE)):
        effect = f"closed ports in the subnet of pool {pool.id} cut its nodes off from Batch (NET-4)"
        return _Stall(text, effect, network_remedy(world, pool))
    closed_ms = max(pool.allocation_since_ms, *values(world.nodes.since, pool.nodes))
    return _Stall(text, ", ".join(_why_closed(states)), "enable, repair or add nodes", since_ms=closed_ms)


def _empty(job: Job, pool: Pool, tasks: str) -> _Stall | None:
    text = f"{tasks}: pool {pool.id} has no nodes"
    if pool.resize_errors:
        return _Stall(text, f"its resize failed: {pool.resize_errors[0].code}", "resize it or add another pool")
    if pool.scaling is None:
        return _Stall(text, "its target is 0", "resize it or switch on autoscale")
    run = pool.scaling.run
    if run is None or run.when_ms < job.created_ms:
        return None  # the formula has not seen the job yet
    return _Stall(text, "its formula leaves its target at 0", "change its formula")


def _dependencies(world: World, failures: TaskFailures, job: Job, tasks: str) -> _Stall | None:
    """Return the dependency that is never met: nothing of the job runs, and all that is left waits for others."""
    book = world.dependencies.get(job.row)
    if book is None or book.waiting_count < job.counts[ACTIVE]:
        return None  # some are about to be seen by the scheduler, or retried
    task = book.first_waiting()
    wanted = world.tasks.spec(task).depends_on
    assert wanted is not None
    ids, _ = book.unmet(wanted)
    first = f"{world.tasks.task_id(task)} waits for {ids[0]}" if ids else ""
    text = f"{tasks} for others that have failed or do not exist"
    since_ms = max(world.tasks.block_of(task).created_ms, failures.newest_ms(job))
    return _Stall(text, first, "reactivate or add these", since_ms=since_ms)


def _gang(world: World, job: Job, pool: Pool, tasks: str) -> _Stall | None:
    """Return the multi-instance task that the pool is too small for."""
    queues = job.queues_in_order()
    profile = world.tasks.profile_of(queues[0][1].head()) if queues else None
    nodes = sum(values(world.nodes.open, pool.nodes))
    if profile is None or profile.instances <= nodes:
        return None
    effect = f"the first one needs {profile.instances:,} nodes at once; {nodes:,} of pool {pool.id} take tasks"
    return _Stall(f"{tasks}, none runs", effect, "resize it")


def _why_closed(states: bytes) -> Iterator[str]:
    """Yield the states of nodes that take no tasks, with their numbers."""
    for state in NodeState:
        count = states.count(state)
        if count:
            yield f"{some(count, 'node')} {NODE_STATES[state].text or 'with scheduling disabled'}"
