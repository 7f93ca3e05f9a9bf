"""Jobs that have ended badly, and what is left open at the end of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_states import UNBILLED
from engine.base.terms import JobScheduleState, JobState
from engine.rules.jobs import ALL_TASKS_COMPLETED, MAX_WALL_CLOCK_TIME_EXPIRY, TASK_FAILED
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE
from engine.views.attention.concern import Concern, Severity, apart, listed, some
from engine.views.pages.jobs import bad_end
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
