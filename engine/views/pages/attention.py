"""Failures and delays that need attention, grouped by cause."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_states import COMING_UP, PROBLEMS
from engine.base.terms import AllocationState, JobScheduleState, JobState, PoolState
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE
from engine.views.pages.bulk import places, values
from engine.views.pages.instances import Hook
from engine.views.pages.option_words import eligible_again

if TYPE_CHECKING:
    from engine import Simulation
    from engine.base.failures import FailureInfo
    from engine.scenario.model import Options
    from engine.state.job_schedules import JobSchedule
    from engine.state.pools import Pool
    from engine.views.pages.instances import InstancePage
    from engine.views.pages.tasks import TaskPage

_MOST_TASKS = 2000  # read for their exit codes; there may be a million


class Concern(NamedTuple):
    """Nodes, tasks, a job, a pool or a job schedule with the same trouble."""

    kind: str  # preparation, release, node, task, pool, job, job schedule
    text: str
    effect: str  # its consequence and remedy; may be empty
    since_ms: int  # the newest occurrence
    nodes: tuple[int, ...] = ()
    tasks: tuple[int, ...] = ()
    pool_id: str = ""  # set where the kind is pool
    schedule_id: str = ""  # set where the kind is job schedule

    @property
    def size(self) -> int:
        """The number of nodes or tasks."""
        return len(self.nodes) or len(self.tasks) or 1


def concerns_of(
    simulation: Simulation, pool_id: str, preparation: InstancePage, release: InstancePage, tasks: TaskPage
) -> list[Concern]:
    """Return the troubles of a job and its pool, and of the size of any pool, newest first."""
    found = [
        *_job(simulation, preparation),
        *_hooks(preparation, simulation.world.options),
        *_nodes(simulation, pool_id),
        *(each for pool in simulation.world.pools.present() for each in _pool(pool, is_focus=pool.id == pool_id)),
        *_hooks(release, simulation.world.options),
        *_tasks(simulation, tasks),
        *(each for schedule in simulation.world.job_schedules.present() for each in _schedule(schedule)),
    ]
    return sorted(found, key=lambda concern: -concern.since_ms)


def _job(simulation: Simulation, preparation: InstancePage) -> list[Concern]:
    """Return the trouble of a job that has tasks to run while none runs and none is about to."""
    world = simulation.world
    job = world.jobs.find(preparation.job_id)
    if job is None or not job.counts[ACTIVE] or job.busy:
        return []
    waiting = f"{job.counts[ACTIVE]:,} {'task waits' if job.counts[ACTIVE] == 1 else 'tasks wait'}"
    if job.state is JobState.DISABLED:
        return [Concern("job", f"the job is disabled, {waiting}", "enable it to run its tasks", job.since_ms)]
    if job.state is not JobState.ACTIVE:
        return []
    if job.pool < 0 or world.pools[job.pool].state is not PoolState.ACTIVE:
        return [Concern("job", f"{waiting} for a pool", f"there is no active pool {job.pool_id}", job.since_ms)]
    pool = world.pools[job.pool]
    states = bytes(values(world.nodes.state, pool.nodes))
    is_empty = states.count(GONE) == len(states)
    if job.ineligible and not is_empty:
        present = tuple(node for node, state in zip(pool.nodes, states, strict=True) if state != GONE)
        if all(job.ineligible >> world.nodes[node].position & 1 for node in present):
            effect = f"tasks stay active: {eligible_again(world.options).remedy} a node or add one (PREP-11)"
            since_ms = max((failed.end_ms for failed in preparation.failures()), default=job.since_ms)
            return [Concern("job", "preparation failed on every node", effect, since_ms, present)]
    if pool.allocation is not AllocationState.STEADY or any(states.count(state) for state in COMING_UP):
        return []
    text, effect = f"{waiting}, none runs", "no node is eligible now: w explains"
    if is_empty:
        text = f"{waiting}: pool {pool.id} has no nodes"
        effect = "its formula sets no targets" if pool.auto_scale else "resize it or switch on autoscale"
    elif not job.ready_count:
        text, effect = f"{waiting}, none is ready", "they depend on others or wait for a retry"
    return [Concern("job", text, effect, max(job.since_ms, pool.allocation_since_ms))]


def _cause(failure: FailureInfo | None, exit_code: int | None) -> str:
    return f"exit code {exit_code}" if failure is None or failure.code == "FailureExitCode" else failure.code


def _hooks(page: InstancePage, options: Options) -> list[Concern]:
    hook = page.hook
    groups: dict[str, list[int]] = {}
    since: dict[str, int] = {}
    is_ineligible = False
    for failed in page.failures():
        cause = _cause(failed.failure, failed.exit_code)
        groups.setdefault(cause, []).append(failed.node)
        since[cause] = max(since.get(cause, 0), failed.end_ms)
        is_ineligible = is_ineligible or failed.is_ineligible
    is_over = page.job_state not in (JobState.ACTIVE, JobState.DISABLING, JobState.DISABLED, JobState.ENABLING)
    helps = eligible_again(options)
    ineligible = f"ineligible for this job: {helps.remedy} ({helps.rule})"
    effect = ineligible if is_ineligible else "the job still completes (REL-7)"
    if hook is Hook.PREPARATION and not is_ineligible:
        effect = "no effect on scheduling (PREP-13)"
    if hook is Hook.PREPARATION and is_over:
        effect = ""
    return [
        Concern(hook.value.lower(), f"{hook.value.lower()} task {cause}", effect, since[cause], tuple(nodes))
        for cause, nodes in groups.items()
    ]


def _nodes(simulation: Simulation, pool_id: str) -> list[Concern]:
    table = simulation.world.nodes
    pool = simulation.world.pools.find(pool_id)
    every = () if pool is None else pool.nodes
    states = bytes(values(table.state, every))
    found = []
    for state, (text, effect) in PROBLEMS.items():
        nodes = tuple(every[at] for at in places(states, state))
        if nodes:
            since_ms = max(table.since[node] for node in nodes)
            found.append(Concern("node", text, effect, since_ms, nodes))
    return found


def _pool(pool: Pool, *, is_focus: bool) -> list[Concern]:
    where = "" if is_focus else f"pool {pool.id}, "
    troubles = [(f"resize: {error.code}", error.message, pool.allocation_since_ms) for error in pool.resize_errors]
    run = pool.scaling.run if pool.scaling is not None else None
    if run is not None and run.error is not None:
        effect = f"{run.error.reason}: the pool keeps its size"
        troubles.append((f"autoscale: {run.error.code}", effect, run.when_ms))
    return [Concern("pool", where + text, effect, since_ms, pool_id=pool.id) for text, effect, since_ms in troubles]


def _schedule(schedule: JobSchedule) -> list[Concern]:
    """Return the troubles of an active job schedule: no job manager task (JM-3), occurrences without a job (JS-15)."""
    if schedule.state is not JobScheduleState.ACTIVE:
        return []
    found = []
    if schedule.spec.job_specification.job_manager_task is None and schedule.spec.schedule.recurrence_interval:
        text = f"job schedule {schedule.id}: its jobs have no job manager task"
        effect = "others must add their tasks and end them (JM-3)"
        found.append(Concern("job schedule", text, effect, schedule.created_ms, schedule_id=schedule.id))
    return found if schedule.missed_ms is None else [*found, _missed(schedule, schedule.missed_ms)]


def _missed(schedule: JobSchedule, when_ms: int) -> Concern:
    missed = f"{schedule.missed:,} occurrence{'' if schedule.missed == 1 else 's'} missed"
    text = f"job schedule {schedule.id}: {missed}"
    effect = "no job was created for them: w explains (JS-15)"
    return Concern("job schedule", text, effect, when_ms, schedule_id=schedule.id)


def _tasks(simulation: Simulation, page: TaskPage) -> list[Concern]:
    tasks = simulation.world.tasks
    failed = page.failed()
    groups: dict[str, list[int]] = {}
    for task in failed[-_MOST_TASKS:]:
        extra = tasks.extra(task)
        groups.setdefault(_cause(extra.failure, extra.exit_code), []).append(task)
    of_all = f"of the last {_MOST_TASKS:,} of {len(failed):,} that failed" if len(failed) > _MOST_TASKS else ""
    return [
        Concern("task", f"task {cause}", of_all, max(map(tasks.ended.__getitem__, found)), tasks=tuple(found))
        for cause, found in groups.items()
    ]
