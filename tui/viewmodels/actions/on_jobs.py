"""The actions on tasks, jobs and job schedules."""

from __future__ import annotations

from collections.abc import Sequence

from engine.base.terms import JobScheduleState, JobState, TaskState
from engine.views.pages.instances import HookStatus
from engine.views.pages.job_schedules import JobScheduleRow
from engine.views.pages.jobs import JobRow
from engine.views.pages.tasks import TaskRow
from tui.viewmodels.actions import new_tasks
from tui.viewmodels.actions.action import Better, Choice, Field, Verb, whole, yes_or_no

TASK: tuple[Verb[TaskRow], ...] = (
    Verb(
        "Terminate {}",
        "terminateTask",
        effects=lambda _: ("it completes with failure TaskEnded",),
        unavailable=lambda task: "it is completed already" if task.state is TaskState.COMPLETED else "",
    ),
    Verb(
        "Reactivate {}",
        "reactivateTask",
        effects=lambda _: ("it is active again, its retry count starts anew",),
        unavailable=lambda task: "" if task.state is TaskState.COMPLETED else "it is not completed",
    ),
    Verb("Delete {}", "deleteTask", effects=lambda _: ("it is gone from the job",), cannot_be_undone=True),
)


def _busy(job: JobRow) -> dict[str, int]:
    counts = job.phases.tasks
    return {"tasks touched": counts.running + counts.preparing}


def _terminate_first(job: JobRow) -> Better | None:
    if job.state is not JobState.ACTIVE:
        return None
    return Better("terminateJob", "the job is still active: terminated, it keeps its records (JOB-15, JOB-16)")


_REASON = Field[JobRow]("terminateReason", "Reason", "UserTerminate if left empty")
_FORCE = Field[JobRow]("force", "Force", "yes does not wait for release tasks (JOB-18)", lambda _: "no", yes_or_no)


def _is_over(job: JobRow) -> str:
    return "it is completed already" if job.state is JobState.COMPLETED else ""


def _ends(job: JobRow) -> Sequence[str]:
    counts, owed = job.phases.tasks, job.phases.release[HookStatus.WILL_RUN]
    return (
        "running tasks are terminated" + (f", {counts.active:,} waiting never start" if counts.active else ""),
        f"release runs on {owed:,} node{'s' if owed != 1 else ''}" if owed else "no node has anything to release",
    )


JOB: tuple[Verb[JobRow], ...] = (
    Verb(
        "Terminate {}",
        "terminateJob",
        fields=(_REASON, _FORCE),
        counts=_busy,
        effects=_ends,
        unavailable=_is_over,
    ),
    Verb(
        "Disable {}",
        "disableJob",
        (
            Choice({"disableTasks": "requeue"}, "Requeue: stop running tasks and queue them again"),
            Choice({"disableTasks": "terminate"}, "Terminate: stop running tasks for good"),
            Choice({"disableTasks": "wait"}, "Wait: running tasks go on, nothing new starts"),
        ),
        counts=_busy,
        effects=lambda _: ("nothing of the job starts until it is enabled",),
        unavailable=lambda job: _is_over(job) or ("it is disabled already" if job.state is JobState.DISABLED else ""),
    ),
    Verb(
        "Enable {}",
        "enableJob",
        effects=lambda _: ("its tasks are scheduled again",),
        unavailable=lambda job: "" if job.state in (JobState.DISABLED, JobState.DISABLING) else "it is not disabled",
    ),
    Verb(
        "Change the priority of {}",
        "updateJob",
        fields=(Field("priority", "Priority", "-1000 to 1000", lambda job: str(job.priority), whole),),
        effects=lambda _: ("running tasks are not stopped",),
        unavailable=_is_over,
    ),
    Verb(
        "Add tasks to {}",
        "addTasks",
        fields=new_tasks.FIELDS,
        compose=new_tasks.compose,
        effects=lambda _: ("the scheduler sees them a second later (TIME-9)",),
        unavailable=_is_over,
    ),
    Verb(
        "Delete {}",
        "deleteJob",
        fields=(_FORCE,),
        counts=_busy,
        effects=lambda job: (*_ends(job), "then the job is gone, with its tasks and their files (JOB-16)"),
        better=_terminate_first,
        cannot_be_undone=True,
        asks_for_id=True,
    ),
)


def _is_ending(schedule: JobScheduleRow) -> str:
    ending = (JobScheduleState.TERMINATING, JobScheduleState.COMPLETED, JobScheduleState.DELETING)
    return f"it is {schedule.state.wire} already" if schedule.state in ending else ""


def _is_disabled(schedule: JobScheduleRow) -> bool:
    return schedule.state is JobScheduleState.DISABLED


def _stops(schedule: JobScheduleRow) -> Sequence[str]:
    goes_on = f"{schedule.recent_job} goes on" if schedule.has_active_job else ""
    return "no new jobs; what is due meanwhile is skipped (JS-13)", goes_on


def _ends_for_good(schedule: JobScheduleRow) -> Sequence[str]:
    job = f"{schedule.recent_job} is terminated: TerminateJobSchedule (JS-8)" if schedule.has_active_job else ""
    return "no more jobs", job


JOB_SCHEDULE: tuple[Verb[JobScheduleRow], ...] = (
    Verb(
        "Disable {}",
        "disableJobSchedule",
        effects=_stops,
        unavailable=lambda schedule: (
            _is_ending(schedule) or ("it is disabled already" if _is_disabled(schedule) else "")
        ),
    ),
    Verb(
        "Enable {}",
        "enableJobSchedule",
        effects=lambda _: ("the next job comes with the next occurrence (JS-13)",),
        unavailable=lambda schedule: "" if _is_disabled(schedule) else _is_ending(schedule) or "it is not disabled",
    ),
    Verb(
        "Terminate {}",
        "terminateJobSchedule",
        effects=_ends_for_good,
        unavailable=_is_ending,
        cannot_be_undone=True,
    ),
    Verb(
        "Delete {}",
        "deleteJobSchedule",
        effects=lambda schedule: (
            f"{schedule.jobs_left:,} job{'s go' if schedule.jobs_left != 1 else ' goes'} with it,"
            " tasks and files too (JS-8)",
        ),
        unavailable=lambda one: "it is deleting already" if one.state is JobScheduleState.DELETING else "",
        cannot_be_undone=True,
        asks_for_id=True,
    ),
)
