"""Jobs (chapter 9): create, update, disable, enable, terminate, delete, and the ways in which they end.

``command_verdict`` says what the service refuses in which state. Terminating and deleting start release
tasks (``release``) and wait for them here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.paths import job_directory
from engine.base.terms import DisableTasks, JobAction, JobState, OnAllTasksComplete, OnTaskFailure
from engine.events.calendar import Due, DueKind
from engine.rules.decisions import quotas
from engine.rules.decisions.jobs import UNDER_WAY, check, pool_verdict
from engine.specs.catalogue import JOB_TRANSITION_MS
from engine.state.jobs import NO_SCHEDULE, Job
from engine.state.tasks import COMPLETED, GONE
from engine.world.facts import JobAdded, JobBegun, JobDisabled, JobEnded, JobEnding

if TYPE_CHECKING:
    from engine.specs.commands import UpdateJob
    from engine.specs.job import JobSpec, PoolInfo
    from engine.world.facts import (
        OccurrenceDue,
        ReleaseEnded,
        ScheduledJobDeleted,
        ScheduledJobTerminated,
        TaskCompleted,
        TaskStopped,
    )
    from engine.world.world import World

_J = JobState

# JOB-10: why a job ended.
ALL_TASKS_COMPLETED = "AllTasksCompleted"
MAX_WALL_CLOCK_TIME_EXPIRY = "MaxWallClockTimeExpiry"
TASK_FAILED = "TaskFailed"
USER_TERMINATE = "UserTerminate"
MANAGER_COMPLETED = "JMComplete"
TERMINATE_JOB_SCHEDULE = "TerminateJobSchedule"  # JS-8


# -- create and update -----------------------------------------------------------------------------------------------


def find(world: World, job_id: str) -> Job:
    """The job of this id; refuses with JobNotFound."""
    job = world.jobs.find(job_id)
    if job is None:
        raise BatchError("JobNotFound", jobId=job_id)
    return world.jobs.edit(job.row)


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
    world.emit(JobAdded(job.row))
    if job.scheduling_error is not None:
        # JOB-20: the job is accepted all the same, and is over at once.
        job.end_ms = world.now_ms
        world.jobs.set_state(world.now_ms, job.row, _J.COMPLETED, job.scheduling_error[1])
        world.emit(JobEnded(job.row))
        return job
    world.bind_job(job)
    world.emit(JobBegun(job.row))
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


def occurrence_due(world: World, due: OccurrenceDue) -> None:
    """Create the job of a schedule's occurrence (JS-11)."""
    create(world, due.spec, schedule=due.schedule)


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
        world.unbind_job(job)
        job.pool_id = info.pool_id
        world.bind_job(job)


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
    world.emit(JobDisabled(job.row, option))


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


# -- the end ---------------------------------------------------------------------------------------------------------


def all_tasks_complete(world: World, job: Job) -> None:
    """JOB-7: an active job whose tasks are all completed, or that has none, ends if it is told to.

    JOB-8 tasks that wait for ever keep it open.
    """
    wants = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
    if wants and job.state is _J.ACTIVE and job.counts[COMPLETED] == job.total:
        end(world, job, ALL_TASKS_COMPLETED)


def task_stopped(world: World, stopped: TaskStopped) -> None:
    """End a job whose tasks are all completed (JOB-7), or go on disabling one of which nothing runs (JOB-11)."""
    job = world.jobs.rows[stopped.job]
    if job.counts[COMPLETED] == job.total:
        all_tasks_complete(world, job)
    if job.state is _J.DISABLING:
        look_at_disabling(world, job)


def task_completed(world: World, completed: TaskCompleted) -> None:
    """Do to the job what the exit conditions of a task say (EXIT-5), and end it with its manager (JM-4)."""
    profile = world.tasks.profile_of(completed.task)
    job = world.jobs.rows[profile.job]
    if job.spec.on_task_failure is OnTaskFailure.PERFORM_EXIT_OPTIONS_JOB_ACTION:
        _perform(world, job, completed.job_action)
    manager = job.spec.job_manager_task if profile.manager else None
    if manager is not None and manager.kill_job_on_completion and job.state in UNDER_WAY:
        end(world, job, MANAGER_COMPLETED)


def _perform(world: World, job: Job, action: JobAction) -> None:
    if action is JobAction.TERMINATE and job.state in UNDER_WAY:
        end(world, job, TASK_FAILED)
    elif action is JobAction.DISABLE and job.state is _J.ACTIVE:
        disable(world, job, DisableTasks.REQUEUE)


def job_timeout(world: World, due: Due) -> None:
    """JOB-9: the job's time is over, whatever else it is doing."""
    job = world.jobs.edit(due.key)
    is_over = job.max_wall_clock_ms is not None and world.now_ms >= job.created_ms + job.max_wall_clock_ms
    if is_over and job.state in UNDER_WAY:
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


def scheduled_job_terminated(world: World, terminated: ScheduledJobTerminated) -> None:
    """Terminate the job of a schedule that is being terminated (JS-8, JOB-10)."""
    terminate(world, world.jobs.edit(terminated.job), TERMINATE_JOB_SCHEDULE, force=terminated.force)


def delete(world: World, job: Job, *, force: bool) -> None:
    """The delete operation: release runs unless it has run, then everything of the job is gone (JOB-16, JOB-17)."""
    check("delete", job)
    old = job.state
    job.forced = job.forced or force
    world.jobs.set_state(world.now_ms, job.row, _J.DELETING)
    _wait_in_state(world, job)
    if old not in (_J.TERMINATING, _J.COMPLETED):
        _end_tasks(world, job)


def scheduled_job_deleted(world: World, deleted: ScheduledJobDeleted) -> None:
    """Delete a job of a schedule that is being deleted (JS-8)."""
    delete(world, world.jobs.edit(deleted.job), force=deleted.force)


def _end_tasks(world: World, job: Job) -> None:
    """End the tasks and preparations of the job, and begin its release (JOB-15, PREP-23, REL-2)."""
    world.scheduler.leave_turns(job)
    world.emit(JobEnding(job.row))


def release_ended(world: World, ended: ReleaseEnded) -> None:
    """Wait for one release less, and end the job with the last (REL-6)."""
    job = world.jobs.edit(ended.job)
    job.releases_open -= 1
    if not job.releases_open or job.forced:
        look_at_end(world, job)


def look_at_end(world: World, job: Job) -> None:
    """The job is completed, or gone, when no release is open, not before TIME-19; forced ones do not wait (JOB-18)."""
    if world.now_ms < job.waits_until_ms or (job.releases_open and not job.forced):
        return
    if job.state is _J.TERMINATING:
        job.end_ms = world.now_ms
        world.jobs.set_state(world.now_ms, job.row, _J.COMPLETED, job.terminate_reason)
        world.unbind_job(job)
        world.emit(JobEnded(job.row))
    elif job.state is _J.DELETING:
        _remove(world, job)


def _remove(world: World, job: Job) -> None:
    """Everything of the job is gone: tasks, directories on nodes, the job (JOB-16, REL-18)."""
    tasks = world.tasks
    for task in tasks.rows_of(job.row):
        if tasks.state[task] != GONE:
            tasks.delete(world.now_ms, task, "JOB-16")
    world.disks.delete_everywhere(job_directory(job.id))
    if job.pool >= 0:
        world.unbind_job(job)
    world.jobs.set_state(world.now_ms, job.row, None)
    world.emit(JobEnded(job.row))
