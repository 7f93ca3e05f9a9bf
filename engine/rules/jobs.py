"""Jobs (chapter 9): create, update, disable, enable, terminate, delete, and the ways in which they end.

``command_verdict`` says what the service refuses in which state. Terminating and deleting start release
tasks (``release``) and wait for them here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.failures import ended, failure
from engine.base.terms import (
    DisableTasks,
    InstanceState,
    JobAction,
    JobState,
    OnAllTasksComplete,
    PoolLifetimeOption,
)
from engine.events.calendar import Due, DueKind
from engine.rules import auto_pools, interruptions, job_manager, pools, preparation, release
from engine.rules.decisions import quotas
from engine.specs.catalogue import JOB_TRANSITION_MS
from engine.state.jobs import NO_SCHEDULE, Job
from engine.state.tasks import COMPLETED, GONE, PREPARING, RUNNING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.specs.commands import UpdateJob
    from engine.specs.job import JobSpec, PoolInfo
    from engine.world.world import World

_J = JobState
_OF_JOB = PoolLifetimeOption.JOB

# JOB-10: why a job ended.
ALL_TASKS_COMPLETED = "AllTasksCompleted"
MAX_WALL_CLOCK_TIME_EXPIRY = "MaxWallClockTimeExpiry"
TASK_FAILED = "TaskFailed"
USER_TERMINATE = "UserTerminate"
MANAGER_COMPLETED = "JMComplete"

# JOB-19: the code for a job that is past what is asked of it.
_CODES = {_J.COMPLETED: "JobCompleted", _J.TERMINATING: "JobBeingTerminated", _J.DELETING: "JobBeingDeleted"}

_UNDER_WAY = (_J.ACTIVE, _J.DISABLING, _J.DISABLED, _J.ENABLING)

_BY_JOB = ended("the job was ended")
_BY_DISABLE = ended("the job was disabled")


# -- decisions -------------------------------------------------------------------------------------------------------


def command_verdict(command: str, state: JobState) -> BatchError | None:
    """Why the service refuses a command on a job in this state; None if it takes it.

    JOB-11 disable in active, disabling, disabled. JOB-12 enable only in disabled. JOB-19 terminate until it is
    under way, add and update until the end. JOB-13 add also while disabled. JOB-16 delete always, but once.
    """
    allowed = {
        "disable": (_J.ACTIVE, _J.DISABLING, _J.DISABLED),
        "enable": (_J.DISABLED,),
        "terminate": _UNDER_WAY,
        "add": _UNDER_WAY,
        "update": (_J.ACTIVE, _J.DISABLING, _J.DISABLED, _J.ENABLING, _J.TERMINATING),
        "delete": tuple(state for state in _J if state is not _J.DELETING),
    }[command]
    if state in allowed:
        return None
    return BatchError(_CODES.get(state, "OperationInvalidForCurrentState"), f"the job is {state.wire}")


def pool_verdict(job: Job, info: PoolInfo) -> BatchError | None:
    """Why the service does not change the job's ``poolInfo`` so; None if it does (JOB-14)."""
    own, wanted = job.spec.pool_info.auto_pool_specification, info.auto_pool_specification
    reason = ""
    if job.state is not _J.DISABLED:
        reason = "poolInfo can change only while the job is disabled"
    elif own is None and wanted is not None:
        reason = "the job has a pool by poolId: another one can be named"
    elif own is not None and (wanted is None or {own.pool_lifetime_option, wanted.pool_lifetime_option} != {_OF_JOB}):
        reason = "of an auto pool only keepAlive can change, with poolLifetimeOption job"
    return BatchError("OperationInvalidForCurrentState", reason) if reason else None


# -- create and update -----------------------------------------------------------------------------------------------


def find(world: World, job_id: str) -> Job:
    """The job of this id; refuses with JobNotFound."""
    job = world.jobs.find(job_id)
    if job is None:
        raise BatchError("JobNotFound", jobId=job_id)
    return world.jobs.edit(job.row)


def check(command: str, job: Job) -> None:
    """Refuse a command that the job's state does not allow (JOB-19)."""
    assert job.state is not None
    refusal = command_verdict(command, job.state)
    if refusal is not None:
        raise refusal


def create(world: World, spec: JobSpec, schedule: int = NO_SCHEDULE) -> Job:
    """Create a job, active at once (JOB-6), maybe for a schedule; its pool need not exist yet (POOL-18)."""
    if world.jobs.find(spec.id) is not None:
        raise BatchError("JobExists", jobId=spec.id)
    if world.job_schedules.find(spec.id) is not None:
        raise BatchError("JobScheduleWithSameIdExists", jobScheduleId=spec.id)
    if not quotas.has_unit(world):
        raise BatchError("ActiveJobAndScheduleQuotaReached")
    job = Job(len(world.jobs), spec, world.now_ms, schedule)
    world.jobs.create(world.now_ms, job)
    if spec.pool_info.auto_pool_specification is not None:
        refusal = auto_pools.create(world, job)
        if refusal is not None:
            # JOB-20: the job is accepted all the same, and is over at once.
            job.scheduling_error = auto_pools.scheduling_error(refusal)
            job.end_ms = world.now_ms
            world.jobs.set_state(world.now_ms, job.row, _J.COMPLETED, refusal.code)
            wake_schedules(world, job.schedule)
            return job
    pools.bind(world, job)
    job_manager.add(world, job)
    watch_wall_clock(world, job)
    if job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB:
        # JOB-7: looked at when the instant is over, so that tasks added with the job count.
        world.calendar.at(world.now_ms, DueKind.JOB_STEP, job.row, job.token)
    return job


def watch_wall_clock(world: World, job: Job) -> None:
    """Enter the moment at which the job's time is over, counted from its creation (JOB-9)."""
    if job.max_wall_clock_ms is not None:
        when_ms = max(world.now_ms, job.created_ms + job.max_wall_clock_ms)
        world.calendar.at(when_ms, DueKind.JOB_TIMEOUT, job.row, job.max_wall_clock_ms)


def update(world: World, command: UpdateJob) -> None:
    """PATCH: what is given is replaced (JOB-2, JOB-7, JOB-14, SCHED-3)."""
    job = find(world, command.job_id)
    check("update", job)
    given = command.model_fields_set
    turns_on = command.on_all_tasks_complete
    ends_by_itself = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
    if turns_on is OnAllTasksComplete.NO_ACTION and ends_by_itself:
        raise BatchError("InvalidPropertyValue", "terminatejob cannot be taken back", PropertyName="onAllTasksComplete")
    refusal = None if command.pool_info is None else pool_verdict(job, command.pool_info)
    if refusal is not None:
        raise refusal
    job.modified_ms = world.now_ms
    if command.priority is not None:
        job.priority = command.priority
    if command.max_parallel_tasks is not None:
        job.max_parallel = command.max_parallel_tasks
    if command.allow_task_preemption is not None:
        job.preemptible = command.allow_task_preemption
    if command.constraints is not None:
        job.max_retries = command.constraints.max_task_retry_count
        job.max_wall_clock_ms = command.constraints.max_wall_clock_time
        watch_wall_clock(world, job)
    if "metadata" in given:
        job.metadata = command.metadata
    if command.pool_info is not None:
        _change_pool(world, job, command.pool_info)
    if job.pool >= 0:
        pool = world.pools.edit(job.pool)
        if job.preemptible:
            pool.allow_preemption()
        world.scheduler.reorder_turns(pool)
    if turns_on is OnAllTasksComplete.TERMINATE_JOB:
        job.on_all_tasks_complete = turns_on
        all_tasks_complete(world, job)


def _change_pool(world: World, job: Job, info: PoolInfo) -> None:
    """Another pool, or what becomes of the job's own when it ends (JOB-14)."""
    if info.auto_pool_specification is not None:
        job.keeps_pool = info.auto_pool_specification.keep_alive
    elif info.pool_id is not None:
        pools.unbind(world, job)
        job.pool_id = info.pool_id
        pools.bind(world, job)


# -- disable and enable ----------------------------------------------------------------------------------------------


def disable(world: World, job: Job, option: DisableTasks) -> None:
    """Nothing starts any more, what runs is dealt with (JOB-11)."""
    check("disable", job)
    if job.state is _J.DISABLED:
        return
    if job.state is _J.ACTIVE:
        world.jobs.set_state(world.now_ms, job.row, _J.DISABLING)
        _wait_in_state(world, job)
        world.scheduler.leave_turns(job)
    for task in interruptions.each_still_there(world, _tasks_on_nodes(world, job)):
        if world.tasks.state[task] == PREPARING:
            preparation.give_back(world, task, rule="JOB-11")
        elif option is DisableTasks.REQUEUE:
            interruptions.requeue_task(world, task, "JOB-11")
        elif option is DisableTasks.TERMINATE:
            interruptions.terminate_task(world, task, "JOB-11", _BY_DISABLE)


def look_at_disabling(world: World, job: Job) -> None:
    """The job is disabled when nothing of it runs, not before TIME-19 (JOB-11)."""
    if job.busy == 0 and world.now_ms >= job.waits_until_ms:
        world.jobs.set_state(world.now_ms, job.row, _J.DISABLED)


def enable(world: World, job: Job) -> None:
    """A disabled job is scheduled again (JOB-12)."""
    check("enable", job)
    world.jobs.set_state(world.now_ms, job.row, _J.ENABLING)
    _wait_in_state(world, job)


def _wait_in_state(world: World, job: Job) -> None:
    """The intermediate state lasts at least as long as TIME-19 says; the command has returned long ago (GEN-12)."""
    job.waits_until_ms = world.now_ms + JOB_TRANSITION_MS
    world.calendar.at(job.waits_until_ms, DueKind.JOB_STEP, job.row, job.token)


def job_step(world: World, due: Due) -> None:
    """The job's intermediate state has lasted as long as it must; or it is new and may be complete already."""
    job = world.jobs.edit(due.key)
    if job.token != due.token:
        return
    match job.state:
        case _J.ACTIVE:
            all_tasks_complete(world, job)
        case _J.DISABLING:
            look_at_disabling(world, job)
        case _J.ENABLING:
            world.jobs.set_state(world.now_ms, job.row, _J.ACTIVE)
            world.scheduler.let_job_take_turns(job)
            all_tasks_complete(world, job)
        case _J.TERMINATING | _J.DELETING:
            look_at_end(world, job)


def _tasks_on_nodes(world: World, job: Job) -> list[int]:
    """The job's running and preparing tasks in creation order."""
    if not job.busy:
        return []
    return [task for task in _tasks(world, job) if world.tasks.state[task] in (PREPARING, RUNNING)]


def _tasks(world: World, job: Job) -> Iterable[int]:
    for number in job.blocks:
        block = world.tasks.blocks[number]
        yield from range(block.first, block.first + block.source.count)


# -- the end ---------------------------------------------------------------------------------------------------------


def all_tasks_complete(world: World, job: Job) -> None:
    """JOB-7: an active job whose tasks are all completed, or that has none, ends if it is told to.

    JOB-8 tasks that wait for ever keep it open.
    """
    wants = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
    if wants and job.state is _J.ACTIVE and job.counts[COMPLETED] == job.total:
        end(world, job, ALL_TASKS_COMPLETED)


def perform(world: World, job: Job, action: JobAction) -> None:
    """EXIT-5: what an exit condition does to the job, unless it is ending anyway."""
    if action is JobAction.TERMINATE and job.state in _UNDER_WAY:
        end(world, job, TASK_FAILED)
    elif action is JobAction.DISABLE and job.state is _J.ACTIVE:
        disable(world, job, DisableTasks.REQUEUE)


def manager_completed(world: World, job: Job) -> None:
    """JM-4: the job ends with its manager if it is told to."""
    manager = job.spec.job_manager_task
    if manager is not None and manager.kill_job_on_completion and job.state in _UNDER_WAY:
        end(world, job, MANAGER_COMPLETED)


def job_timeout(world: World, due: Due) -> None:
    """JOB-9: the job's time is over, whatever else it is doing."""
    job = world.jobs.edit(due.key)
    is_over = job.max_wall_clock_ms is not None and world.now_ms >= job.created_ms + job.max_wall_clock_ms
    if is_over and job.state in _UNDER_WAY:
        end(world, job, MAX_WALL_CLOCK_TIME_EXPIRY)


def terminate(world: World, job: Job, reason: str | None, *, force: bool) -> None:
    """The terminate operation (JOB-15, JOB-18)."""
    check("terminate", job)
    job.forced = force
    end(world, job, reason or USER_TERMINATE)


def end(world: World, job: Job, reason: str) -> None:
    """The job is terminating: what runs is ended, release runs, then it is completed (JOB-15, REL-6)."""
    world.jobs.edit(job.row).terminate_reason = reason
    world.jobs.set_state(world.now_ms, job.row, _J.TERMINATING, reason)
    _wait_in_state(world, job)
    _end_tasks(world, job)
    release.begin(world, job)


def delete(world: World, job: Job, *, force: bool) -> None:
    """The delete operation: release runs unless it has run, then everything of the job is gone (JOB-16, JOB-17)."""
    check("delete", job)
    old = job.state
    job.forced = job.forced or force
    world.jobs.set_state(world.now_ms, job.row, _J.DELETING)
    _wait_in_state(world, job)
    if old not in (_J.TERMINATING, _J.COMPLETED):
        _end_tasks(world, job)
        release.begin(world, job)


def _end_tasks(world: World, job: Job) -> None:
    """Running tasks are ended, preparing ones could not start, the preparation is killed (JOB-15, PREP-23)."""
    world.scheduler.leave_turns(job)
    for task in _tasks_on_nodes(world, job):
        if world.tasks.state[task] == RUNNING:
            interruptions.terminate_task(world, task, "JOB-15", _BY_JOB)
        elif world.tasks.state[task] == PREPARING:
            interruptions.refuse_task(world, task, "JOB-15", failure("JobBeingTerminated"))
    instances = world.instances
    for row in instances.rows_of_job(job.row):
        if instances.prep_state[row] == InstanceState.RUNNING:
            preparation.stop(world, row, _BY_JOB, rule="PREP-23")


def release_is_over(world: World, job: Job) -> None:
    """One release less to wait for."""
    world.jobs.edit(job.row).releases_open -= 1
    if not job.releases_open or job.forced:
        look_at_end(world, job)


def look_at_end(world: World, job: Job) -> None:
    """The job is completed, or gone, when no release is open, not before TIME-19; forced ones do not wait (JOB-18)."""
    if world.now_ms < job.waits_until_ms or (job.releases_open and not job.forced):
        return
    if job.state is _J.TERMINATING:
        job.end_ms = world.now_ms
        world.jobs.set_state(world.now_ms, job.row, _J.COMPLETED, job.terminate_reason)
        pools.unbind(world, job)
        auto_pools.job_has_ended(world, job)
        wake_schedules(world, job.schedule)
    elif job.state is _J.DELETING:
        _remove(world, job)


def _remove(world: World, job: Job) -> None:
    """Everything of the job is gone: tasks, directories on nodes, the job (JOB-16, REL-18)."""
    tasks = world.tasks
    for task in _tasks(world, job):
        if tasks.state[task] != GONE:
            tasks.delete(world.now_ms, task, "JOB-16")
    interruptions.remove_job_files(world, job)
    if job.pool >= 0:
        pools.unbind(world, job)
    world.jobs.set_state(world.now_ms, job.row, None)
    auto_pools.job_has_ended(world, job)
    wake_schedules(world, job.schedule)


def wake_schedules(world: World, schedule: int = NO_SCHEDULE) -> None:
    """A job or schedule is over: its own schedule may go on (JS-3), others may get its unit of the quota (ACC-9)."""
    for other in world.job_schedules.present():
        if other.row == schedule or other.shortage is not None:
            world.calendar.at(world.now_ms, DueKind.SCHEDULE_STEP, other.row, other.token)
