"""Jobs that have ended badly, and jobs whose tasks will not run unless something changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_states import COMING_UP, NODE_STATES, UNBILLED
from engine.base.terms import AllocationState, JobScheduleState, JobState, NodeState, PoolState
from engine.rules.decisions import network
from engine.rules.jobs import ALL_TASKS_COMPLETED, MAX_WALL_CLOCK_TIME_EXPIRY, TASK_FAILED
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE
from engine.views.attention.concern import Concern, Severity, apart, listed, some
from engine.views.explain.pools import network_remedy
from engine.views.pages.bulk import values
from engine.views.pages.jobs import bad_end
from engine.views.pages.option_words import eligible_again
from engine.views.pages.phases import last_task_ms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world.world import World

# Terminate reasons of jobs whose work was not done, with the effect; the empty one is that of a job without tasks.
_EFFECTS = {
    TASK_FAILED: "a failed task ended the job (EXIT-2)",
    MAX_WALL_CLOCK_TIME_EXPIRY: "its maxWallClockTime was over (JOB-9)",
    "": "onAllTasksComplete was terminatejob before it had tasks (JOB-7)",
}


# -- ended -----------------------------------------------------------------------------------------------------------


def ended_concerns(simulation: Simulation) -> list[Concern]:
    """Return the jobs that ended before their work was done, by reason."""
    groups: dict[tuple[str, bool], list[Job]] = {}
    for job, reason in _bad_ends(simulation):
        groups.setdefault((reason, _has_run_nothing(job)), []).append(job)
    found: list[Concern] = []
    for (reason, has_run_nothing), jobs in groups.items():
        found += (_ended(reason, each, has_run_nothing=has_run_nothing) for each in apart(jobs))
    return found


def ended_badly(simulation: Simulation) -> Iterator[tuple[Job, str]]:
    """Yield the jobs that ended before their work was done, with the reason."""
    for job, reason in _bad_ends(simulation):
        yield job, reason or "no task has run"


def _bad_ends(simulation: Simulation) -> Iterator[tuple[Job, str]]:
    """Yield these jobs with the reason that the service states, if there is one."""
    for job in simulation.world.jobs.present():
        if job.state in (JobState.TERMINATING, JobState.COMPLETED):
            reason = bad_end(job)
            if reason or _has_run_nothing(job):
                yield job, reason


def _has_run_nothing(job: Job) -> bool:
    """Return whether the job ended by itself without a task, as with onAllTasksComplete set too early (JOB-7)."""
    is_by_itself = job.scheduling_error is not None or job.terminate_reason == ALL_TASKS_COMPLETED
    return is_by_itself and not job.total and not job.deleted


def _ended(reason: str, jobs: Sequence[Job], *, has_run_nothing: bool) -> Concern:
    who = f"job {jobs[0].id}" if len(jobs) == 1 else some(len(jobs), "job")
    without = " without running a task" if has_run_nothing else ""
    because = f": {reason}" if reason else ""
    effects = [] if len(jobs) == 1 else [listed(job.id for job in jobs)]
    if jobs[0].scheduling_error is not None:
        effects.append(jobs[0].scheduling_error.message.rstrip("."))
    else:
        effects.append(_EFFECTS[reason])
    left = sum(job.counts[ACTIVE] for job in jobs)
    if left:
        effects.append(f"{some(left, 'task')} never completed")
    return Concern(
        "job",
        Severity.FAILURE if reason else Severity.SHORTAGE,
        f"{who} ended{without}{because}",
        max(job.since_ms for job in jobs),
        effect="; ".join(effects),
        remedy="raise the quota" if "Quota" in reason else "",
        jobs=tuple(job.id for job in jobs),
    )


# -- left open -------------------------------------------------------------------------------------------------------


class OpenJob(NamedTuple):
    """An active job whose tasks have all ended."""

    row: int
    total: int  # tasks
    since_ms: int  # the end of its last task


def left_open(simulation: Simulation) -> list[OpenJob]:
    """Return the jobs that a run which is over has left active although their tasks have ended (JOB-7)."""
    world = simulation.world
    ends = ((job, last_task_ms(world, job)) for job in world.jobs.present() if job.state is JobState.ACTIVE)
    return [OpenJob(job.row, job.total, end_ms) for job, end_ms in ends if job.total and end_ms is not None]


def left_open_concerns(world: World, found: Iterable[OpenJob]) -> list[Concern]:
    """Return the concerns about jobs that nothing in the run ends any more: those with a release task, and others."""
    kinds: dict[bool, list[OpenJob]] = {}
    for each in found:
        kinds.setdefault(world.jobs[each.row].has_release, []).append(each)
    return [_left_open(world, each, has_release=has_release) for has_release, each in kinds.items()]


def _left_open(world: World, found: Sequence[OpenJob], *, has_release: bool) -> Concern:
    """Return the concern about jobs of one kind; it is more than advice if their release tasks never run."""
    jobs = [world.jobs[each.row] for each in found]
    is_one = len(jobs) == 1
    who = f"job {jobs[0].id} stays active" if is_one else f"{some(len(jobs), 'job')} stay active"
    its, it = ("its", "it") if is_one else ("their", "them")
    why = f"{its} release task never runs" if has_release else f"{its} tasks have ended, nothing in this run ends {it}"
    effects = [] if is_one else [listed(job.id for job in jobs)]
    return Concern(
        "job",
        Severity.SHORTAGE if has_release else Severity.NOTICE,
        f"{who}: {why}",
        max(each.since_ms for each in found),
        "; ".join([*effects, *_cost_of_open(world, jobs)]),
        f"terminate {it}, or set onAllTasksComplete to terminatejob",
        jobs=tuple(job.id for job in jobs),
        pools=tuple(dict.fromkeys(job.pool_id for job in jobs if job.pool_id)),
    )


def _cost_of_open(world: World, jobs: Sequence[Job]) -> Iterator[str]:
    """Yield what goes on costing money: an auto pool lives as long as its job, other pools until a user acts."""
    pools = [world.pools[row] for row in dict.fromkeys(job.pool for job in jobs if job.pool >= 0)]
    billed = _billed(world, pools)
    if billed:
        of = f"pool {pools[0].id}" if len(pools) == 1 else some(len(pools), "pool")
        until = "the job ends" if pools[0].auto_job >= 0 else "it shrinks or is deleted"
        until = until if len(pools) == 1 else "these shrink or are deleted"
        yield f"{some(billed, 'node')} of {of} cost{'s' if billed == 1 else ''} money until {until}"


def _billed(world: World, pools: Iterable[Pool]) -> int:
    return sum(world.nodes.state[node] not in (GONE, *UNBILLED) for pool in pools for node in pool.nodes)


def idle_pool_concerns(simulation: Simulation) -> list[Concern]:
    """Return the pools that cost money once the run is over although no job uses them.

    Those of jobs left open are told with their jobs. An active job schedule may use any pool again.
    """
    world = simulation.world
    if any(one.state is JobScheduleState.ACTIVE for one in world.job_schedules):
        return []
    used = {job.pool for job in world.jobs.present()}
    idle = [(pool, _billed(world, [pool])) for pool in world.pools.present() if pool.row not in used]
    return [
        Concern(
            "pool",
            Severity.NOTICE,
            f"no job uses pool {pool.id}",
            simulation.now_ms,
            f"{some(billed, 'node')} cost{'s' if billed == 1 else ''} money until it shrinks or is deleted",
            "resize it to 0 nodes, or delete it" if pool.scaling is None else "delete it, or change its formula",
            pools=(pool.id,),
        )
        for pool, billed in idle
        if billed
    ]


# -- stalled ---------------------------------------------------------------------------------------------------------


class _Stall(NamedTuple):
    text: str
    effect: str
    remedy: str
    severity: Severity = Severity.STANDSTILL
    nodes: tuple[int, ...] = ()
    since_ms: int = 0  # when the last node stopped taking tasks


def stalled_concerns(simulation: Simulation) -> list[Concern]:
    """Return the jobs of which no task runs, though some wait, for another reason than that others have their turn."""
    world = simulation.world
    busy: dict[int, int] = {}  # tasks on the nodes of each pool
    waiting = []
    for job in world.jobs.present():
        busy[job.pool] = busy.get(job.pool, 0) + job.busy
        if job.counts[ACTIVE] and (not job.busy or job.ready_count):
            waiting.append(job)
    found = []
    for job in waiting:
        stall = _stall(world, job, is_pool_busy=busy[job.pool] > 0)
        if stall is not None:
            since_ms = job.since_ms if job.pool < 0 else max(job.since_ms, world.pools[job.pool].allocation_since_ms)
            pools = (job.pool_id,) if job.pool_id else ()
            text, effect, remedy, severity, nodes, closed_ms = stall
            since_ms = max(since_ms, closed_ms)
            found.append(Concern("job", severity, text, since_ms, effect, remedy, (), nodes, (), (job.id,), pools))
    return found


def _waiting(job: Job, *, of_job: bool = True) -> str:
    count = job.counts[ACTIVE]
    return f"{some(count, 'task')}{f' of {job.id}' if of_job else ''} wait{'s' if count == 1 else ''}"


def _stall(world: World, job: Job, *, is_pool_busy: bool) -> _Stall | None:
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
    return _without_nodes(world, job, pool, is_pool_busy=is_pool_busy)


def _without_nodes(world: World, job: Job, pool: Pool, *, is_pool_busy: bool) -> _Stall | None:
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
        return _dependencies(world, job, tasks)
    if any(values(world.nodes.open, pool.nodes)):
        return _gang(world, job, pool, tasks)
    text = f"{tasks}: no node takes tasks"
    if is_cut_off and any(states.count(state) for state in (*COMING_UP, NodeState.UNUSABLE)):
        effect = f"closed ports in the subnet of pool {pool.id} cut its nodes off from Batch (NET-4)"
        return _Stall(text, effect, network_remedy(world, pool))
    closed_ms = max(values(world.nodes.since, pool.nodes))
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


def _dependencies(world: World, job: Job, tasks: str) -> _Stall | None:
    """Return the dependency that is never met: nothing of the job runs, and all that is left waits for others."""
    book = world.dependencies.get(job.row)
    if book is None or book.waiting_count < job.counts[ACTIVE]:
        return None  # some are about to be seen by the scheduler, or retried
    task = book.first_waiting()
    wanted = world.tasks.spec(task).depends_on
    assert wanted is not None
    ids, _ = book.unmet(wanted)
    first = f"{world.tasks.task_id(task)} waits for {ids[0]}" if ids else ""
    return _Stall(f"{tasks} for others that have failed or do not exist", first, "reactivate or add these")


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
