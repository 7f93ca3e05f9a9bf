"""Jobs (chapter 9): create, update, disable, enable, terminate, delete, and the ways in which they end.

``decisions.verdicts`` decides what the service refuses in which state. A job that is terminated or deleted waits here
for its release tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.calendar import Due, DueKind
from engine.base.errors import BatchError, raise_refusal
from engine.base.paths import job_directory
from engine.base.terms import DisableTasks, JobAction, JobState, OnAllTasksComplete, OnTaskFailure
from engine.rules.decisions import capacity
from engine.rules.decisions.verdicts import UNDER_WAY, check_job_command, job_pool_verdict
from engine.rules.facts import JobAdded, JobBegun, JobDisabled, JobEnded, JobEnding
from engine.specs.catalogue import TRANSITION_MS
from engine.state.jobs import NO_SCHEDULE, Job
from engine.state.tasks import COMPLETED, GONE

if TYPE_CHECKING:
    from engine.rules.facts import (
        OccurrenceDue,
        ReleasesEnded,
        ScheduledJobDeleted,
        ScheduledJobTerminated,
        TaskCompleted,
        TaskStopped,
    )
    from engine.specs.bodies import JobSpec, PoolInfo
    from engine.specs.commands import UpdateJob
    from engine.world import World

_J = JobState

# JOB-10: why a job ended.
ALL_TASKS_COMPLETED = "AllTasksCompleted"
MAX_WALL_CLOCK_TIME_EXPIRY = "MaxWallClockTimeExpiry"
TASK_FAILED = "TaskFailed"
USER_TERMINATE = "UserTerminate"
MANAGER_COMPLETED = "JMComplete"
TERMINATE_JOB_SCHEDULE = "TerminateJobSchedule"  # JS-8


# -- create and update -----------------------------------------------------------------------------------------------


def create(world: World, spec: JobSpec, schedule: int = NO_SCHEDULE) -> Job:
    """Create a job, active at once (JOB-6), for a user or a job schedule; its pool need not exist yet (POOL-18)."""
    if world.jobs.find(spec.id) is not None:
        raise BatchError("JobExists", jobId=spec.id)
    if world.job_schedules.find(spec.id) is not None:
        raise BatchError("JobScheduleWithSameIdExists", jobScheduleId=spec.id)
    if not capacity.has_unit(world):
        raise BatchError("ActiveJobAndScheduleQuotaReached")
    job = Job(len(world.jobs), spec, world.now_ms, schedule)
    world.jobs.create(world.now_ms, job)
    world.emit(JobAdded(job.row))
    if job.scheduling_error is not None:
        # The job is accepted nevertheless, and ends at once (JOB-20).
        world.jobs.complete(world.now_ms, job.row, job.scheduling_error.code)
        world.emit(JobEnded(job.row))
        return job
    world.bind_job(job)
    world.emit(JobBegun(job.row))
    _watch_wall_clock(world, job)
    if job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB:
        # Checked at the end of this instant, so that tasks added with the job count (JOB-7).
        world.calendar.at(world.now_ms, DueKind.JOB_STEP, job.row, job.token)
    return job


def _watch_wall_clock(world: World, job: Job) -> None:
    """Enter the moment at which the job's time is over, counted from its creation (JOB-9)."""
    if job.max_wall_clock_ms is not None:
        when_ms = max(world.now_ms, job.created_ms + job.max_wall_clock_ms)
        world.calendar.at(when_ms, DueKind.JOB_TIMEOUT, job.row, job.max_wall_clock_ms)


def occurrence_due(world: World, due: OccurrenceDue) -> None:
    """Create the job of a schedule's occurrence (JS-11)."""
    create(world, due.spec, schedule=due.schedule)


def update(world: World, job: Job, command: UpdateJob) -> None:
    """Replace what a PATCH gives (JOB-2, JOB-7, JOB-14, SCHED-3)."""
    check_job_command("update", job)
    turns_on = command.on_all_tasks_complete
    ends_by_itself = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
    if turns_on is OnAllTasksComplete.NO_ACTION and ends_by_itself:
        reason = "terminatejob cannot be taken back"
        raise BatchError(
            "InvalidPropertyValue", reason, PropertyName="onAllTasksComplete", PropertyValue=turns_on.value
        )
    raise_refusal(None if command.pool_info is None else job_pool_verdict(job, command.pool_info))
    job.update(world.now_ms, command)
    if command.constraints is not None:
        _watch_wall_clock(world, job)
    if command.pool_info is not None:
        _change_pool(world, job, command.pool_info)
    if job.pool >= 0:
        pool = world.pools.edit(job.pool)
        if job.preemptible:
            pool.allow_preemption()
        world.scheduler.reorder_turns(pool)
    if turns_on is OnAllTasksComplete.TERMINATE_JOB:
        job.assign(on_all_tasks_complete=turns_on)
        _end_if_complete(world, job)


def _change_pool(world: World, job: Job, info: PoolInfo) -> None:
    """Give the job another pool, or change whether its own pool is kept when it ends (JOB-14)."""
    if info.auto_pool_specification is not None:
        job.assign(keeps_pool=info.auto_pool_specification.keep_alive)
    elif info.pool_id is not None:
        world.unbind_job(job)
        job.assign(pool_id=info.pool_id)
        world.bind_job(job)


# -- disable and enable ----------------------------------------------------------------------------------------------


def disable(world: World, job: Job, option: DisableTasks) -> None:
    """Disable a job: nothing starts any more, running tasks are stopped as the option says (JOB-11)."""
    check_job_command("disable", job)
    if job.state is _J.DISABLED:
        return
    if job.state is _J.ACTIVE:
        world.jobs.set_state(world.now_ms, job.row, _J.DISABLING)
        _wait_in_state(world, job)
        world.scheduler.leave_turns(job)
    world.emit(JobDisabled(job.row, option))


def _end_disabling(world: World, job: Job) -> None:
    """Disable the job if nothing of it runs and the intermediate state has lasted long enough (JOB-11, TIME-19)."""
    if job.busy == 0 and world.now_ms >= job.waits_until_ms:
        world.jobs.set_state(world.now_ms, job.row, _J.DISABLED)


def enable(world: World, job: Job) -> None:
    """Enable a disabled job, which is scheduled again (JOB-12).

    If nothing of a job runs, it need not wait: the service was recorded to enable one directly after disabling it.
    """
    if job.state is _J.DISABLING and job.busy == 0:
        world.jobs.set_state(world.now_ms, job.row, _J.DISABLED)
    check_job_command("enable", job)
    world.jobs.set_state(world.now_ms, job.row, _J.ENABLING)
    _wait_in_state(world, job)


def _wait_in_state(world: World, job: Job) -> None:
    """Keep the job in its intermediate state as long as TIME-19 says; the command returns at once (GEN-12)."""
    job.assign(waits_until_ms=world.now_ms + TRANSITION_MS)
    world.calendar.at(job.waits_until_ms, DueKind.JOB_STEP, job.row, job.token)


def job_step(world: World, due: Due) -> None:
    """Leave the job's intermediate state, if nothing else keeps it there; end a new job that is complete already."""
    job = world.jobs.edit(due.key)
    if job.token != due.token:
        return
    match job.state:
        case _J.ACTIVE:
            _end_if_complete(world, job)
        case _J.DISABLING:
            _end_disabling(world, job)
        case _J.ENABLING:
            world.jobs.set_state(world.now_ms, job.row, _J.ACTIVE)
            world.scheduler.let_job_take_turns(job)
            _end_if_complete(world, job)
        case _J.TERMINATING | _J.DELETING:
            _end_transition(world, job)


# -- the end ---------------------------------------------------------------------------------------------------------


def _end_if_complete(world: World, job: Job) -> None:
    """End a job whose tasks are all completed, or that has none, if it is to end by itself (JOB-7).

    Tasks that wait for ever keep it open (JOB-8).
    """
    if _ends_now(job):
        _end(world, job, ALL_TASKS_COMPLETED)


def _ends_now(job: Job) -> bool:
    """Return whether a job is to end by itself and all its tasks are completed, be it disabled or not (JOB-7)."""
    ends_by_itself = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
    return ends_by_itself and job.state in UNDER_WAY and job.counts[COMPLETED] == job.total


def task_stopped(world: World, stopped: TaskStopped) -> None:
    """End a job whose tasks are all completed (JOB-7), or go on disabling one of which nothing runs (JOB-11)."""
    job = world.jobs.rows[stopped.job]
    _end_if_complete(world, job)
    if job.state is _J.DISABLING:
        _end_disabling(world, job)


def task_completed(world: World, completed: TaskCompleted) -> None:
    """Do to the job what the exit conditions of a task say (EXIT-5), and end it with its manager (JM-4)."""
    profile = world.tasks.profile_of(completed.task)
    job = world.jobs.rows[profile.job]
    if job.spec.on_task_failure is OnTaskFailure.PERFORM_EXIT_OPTIONS_JOB_ACTION:
        _perform(world, job, completed.job_action)
    manager = job.spec.job_manager_task if profile.manager else None
    if manager is not None and manager.kill_job_on_completion and job.state in UNDER_WAY:
        _end(world, job, MANAGER_COMPLETED)


def _perform(world: World, job: Job, action: JobAction) -> None:
    """Do what an exit condition says, unless the job is ending anyway: its completion comes first (EXIT-5)."""
    if action is JobAction.TERMINATE and job.state in UNDER_WAY:
        _end(world, job, TASK_FAILED)
    elif action is JobAction.DISABLE and job.state is _J.ACTIVE and not _ends_now(job):
        disable(world, job, DisableTasks.REQUEUE)


def job_timeout(world: World, due: Due) -> None:
    """End a job whose time is over, whatever state it is in (JOB-9)."""
    job = world.jobs.edit(due.key)
    is_over = job.max_wall_clock_ms is not None and world.now_ms >= job.created_ms + job.max_wall_clock_ms
    if is_over and job.state in UNDER_WAY:
        _end(world, job, MAX_WALL_CLOCK_TIME_EXPIRY)


def terminate(world: World, job: Job, reason: str | None, *, force: bool) -> None:
    """Terminate a job; with ``force`` it does not wait for its release tasks (JOB-15, JOB-18)."""
    check_job_command("terminate", job)
    if force:
        job.assign(forced=True)
    _end(world, job, reason or USER_TERMINATE)


def _end(world: World, job: Job, reason: str) -> None:
    """Begin to terminate a job: its tasks end, release runs, then it is completed (JOB-15, REL-6)."""
    world.jobs.terminate(world.now_ms, job.row, reason)
    _wait_in_state(world, job)
    _end_tasks(world, job)


def scheduled_job_terminated(world: World, terminated: ScheduledJobTerminated) -> None:
    """Terminate the job of a schedule that is being terminated (JS-8, JOB-10)."""
    terminate(world, world.jobs.edit(terminated.job), TERMINATE_JOB_SCHEDULE, force=terminated.force)


def delete(world: World, job: Job, *, force: bool) -> None:
    """Delete a job: release runs unless it has run, then everything of the job is gone (JOB-16, JOB-17)."""
    check_job_command("delete", job)
    old = job.state
    if force:
        job.assign(forced=True)
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


def releases_ended(world: World, ended: ReleasesEnded) -> None:
    """Complete or remove a job that waits for no release any more (REL-6)."""
    _end_transition(world, world.jobs.rows[ended.job])


def _end_transition(world: World, job: Job) -> None:
    """Complete or remove a job that has waited for its releases (REL-6, JOB-18) and long enough (TIME-19)."""
    if world.now_ms < job.waits_until_ms or (job.releases_open and not job.forced):
        return
    if job.state is _J.TERMINATING:
        world.jobs.complete(world.now_ms, job.row, job.terminate_reason)
        world.unbind_job(job)
        world.emit(JobEnded(job.row))
    elif job.state is _J.DELETING:
        _remove(world, job)


def _remove(world: World, job: Job) -> None:
    """Remove everything of the job: tasks, directories on nodes, the job itself (JOB-16, REL-18)."""
    tasks = world.tasks
    for task in tasks.rows_of(job.row):
        if tasks.state[task] != GONE:
            tasks.delete(world.now_ms, task, "JOB-16")
    world.disks.delete_everywhere(job_directory(job.id))
    if job.pool >= 0:
        world.unbind_job(job)
    world.jobs.set_state(world.now_ms, job.row, None)
    world.emit(JobEnded(job.row))
