"""The actions on tasks, jobs and job schedules."""

from __future__ import annotations

from collections.abc import Sequence

from engine.base.terms import JobScheduleState, JobState, TaskState
from engine.views.pages.hook_status import HookStatus
from engine.views.pages.job_schedules import JobScheduleRow
from engine.views.pages.jobs import JobRow
from engine.views.pages.tasks import TaskRow
from tui.viewmodels.actions import documents
from tui.viewmodels.actions.action import ActionType, Better, Choice
from tui.viewmodels.actions.fields import Field, one_of, whole, yes_or_no
from tui.viewmodels.actions.job_fields import JOB_CHANGES, JOB_FIELDS, TASK_CHANGES, TASK_FIELDS
from tui.viewmodels.actions.schedule_fields import SCHEDULE_CHANGES, SCHEDULE_FIELDS

TASK: tuple[ActionType[TaskRow], ...] = (
    ActionType(
        "Terminate {}",
        "terminateTask",
        effects=lambda _: ("it completes with the failure TaskEnded",),
        unavailable=lambda task: "it is already completed" if task.brief.state is TaskState.COMPLETED else "",
    ),
    ActionType(
        "Reactivate {}",
        "reactivateTask",
        effects=lambda _: ("it becomes active again; its retry count is reset",),
        unavailable=lambda task: "" if task.brief.state is TaskState.COMPLETED else "it is not completed",
    ),
    ActionType(
        "Edit {}",
        "updateTask",
        fields=TASK_CHANGES,
        document=lambda task, session: documents.changes_of_task(session, task.task),
        effects=lambda _: ("a new time limit holds for a running attempt too (TASK-12)",),
        unavailable=lambda task: "it is already completed" if task.brief.state is TaskState.COMPLETED else "",
        is_for_one=True,
    ),
    ActionType(
        "Clone {}",
        "addTasks",
        fields=TASK_FIELDS,
        document=lambda task, session: documents.task_like(session, task.job_id, task.task),
        effects=lambda _: ("another task like it in the same job",),
        body=lambda task: {"jobId": task.job_id},
        is_for_one=True,
    ),
    ActionType(
        "Delete a file of {}",
        "deleteTaskFile",
        fields=(
            Field(
                "filePath",
                "Path",
                "in the task's directory",
                lambda _: "stdout.txt",
                is_required=True,
            ),
            Field("recursive", "Recursive", "yes to delete a directory that is not empty", lambda _: "no", yes_or_no),
        ),
        effects=lambda _: ("a directory goes with what is in it (FILE-11)",),
        unavailable=lambda task: "it has not run" if task.brief.start_ms is None else "",
        cannot_be_undone=True,
    ),
    ActionType("Delete {}", "deleteTask", effects=lambda _: ("it is deleted from the job",), cannot_be_undone=True),
)


def _busy(job: JobRow) -> dict[str, int]:
    counts = job.phases.tasks
    return {"tasks affected": counts.running + counts.preparing}


def _terminate_first(job: JobRow) -> Better | None:
    if job.state is not JobState.ACTIVE:
        return None
    return Better("terminateJob", "the job is active; a terminated job keeps its records (JOB-15, JOB-16)")


_REASON = Field[JobRow]("terminateReason", "Reason", "UserTerminate if empty")
_FORCE = Field[JobRow](
    "force", "Force", "yes: do not wait for release tasks (JOB-18)", lambda _: "no", yes_or_no, one_of("no", "yes")
)


def _is_over(job: JobRow) -> str:
    return "it is already completed" if job.state is JobState.COMPLETED else ""


def _ends(job: JobRow) -> Sequence[str]:
    counts, owed = job.phases.tasks, job.phases.release[HookStatus.WILL_RUN]
    return (
        "running tasks are terminated" + (f", {counts.active:,} waiting ones never start" if counts.active else ""),
        f"release is owed on {owed:,} node{'s' if owed != 1 else ''}" if owed else "no release is owed",
    )


JOB: tuple[ActionType[JobRow], ...] = (
    ActionType(
        "Terminate {}",
        "terminateJob",
        fields=(_REASON, _FORCE),
        counts=_busy,
        effects=_ends,
        unavailable=_is_over,
    ),
    ActionType(
        "Disable {}",
        "disableJob",
        (
            Choice({"disableTasks": "requeue"}, "Requeue: stop running tasks and queue them again"),
            Choice({"disableTasks": "terminate"}, "Terminate: stop running tasks, they fail"),
            Choice({"disableTasks": "wait"}, "Wait: running tasks finish, no new ones start"),
        ),
        counts=_busy,
        effects=lambda _: ("no task starts until the job is enabled",),
        unavailable=lambda job: _is_over(job) or ("it is already disabled" if job.state is JobState.DISABLED else ""),
    ),
    ActionType(
        "Enable {}",
        "enableJob",
        effects=lambda _: ("its tasks are scheduled again",),
        unavailable=lambda job: "" if job.state in (JobState.DISABLED, JobState.DISABLING) else "it is not disabled",
    ),
    ActionType(
        "Change the priority of {}",
        "updateJob",
        fields=(Field("priority", "Priority", "-1000 to 1000", lambda job: str(job.priority), whole),),
        effects=lambda _: ("running tasks continue",),
        unavailable=_is_over,
    ),
    ActionType(
        "Add tasks to {}",
        "addTasks",
        fields=TASK_FIELDS,
        document=lambda job, session: documents.new_tasks(session, job.job_id),
        effects=lambda _: ("they are scheduled one second later (TIME-9)",),
        unavailable=_is_over,
    ),
    ActionType(
        "Edit {}",
        "updateJob",
        fields=JOB_CHANGES,
        document=lambda job, session: documents.changes_of_job(session, job.job_id),
        effects=lambda _: ("running tasks continue; only what differs is sent (JOB-2)",),
        unavailable=_is_over,
        is_for_one=True,
    ),
    ActionType(
        "Clone {}",
        "createJob",
        fields=JOB_FIELDS,
        document=lambda job, session: documents.job_like(session, job.job_id),
        effects=lambda _: ("another job like it, with the tasks that it was created with",),
        body=lambda _: {},
        is_for_one=True,
    ),
    ActionType(
        "Delete {}",
        "deleteJob",
        fields=(_FORCE,),
        counts=_busy,
        effects=lambda job: (*_ends(job), "then the job, its tasks and their files are deleted (JOB-16)"),
        better=_terminate_first,
        cannot_be_undone=True,
        asks_for_id=True,
    ),
)


def _is_ending(schedule: JobScheduleRow) -> str:
    ending = (JobScheduleState.TERMINATING, JobScheduleState.COMPLETED, JobScheduleState.DELETING)
    return f"it is already {schedule.state.wire}" if schedule.state in ending else ""


def _is_disabled(schedule: JobScheduleRow) -> bool:
    return schedule.state is JobScheduleState.DISABLED


def _stops(schedule: JobScheduleRow) -> Sequence[str]:
    goes_on = f"{schedule.recent_job} continues" if schedule.has_active_job else ""
    return "no new jobs; occurrences in the meantime are skipped (JS-13)", goes_on


def _ends_for_good(schedule: JobScheduleRow) -> Sequence[str]:
    job = f"{schedule.recent_job} is terminated: TerminateJobSchedule (JS-8)" if schedule.has_active_job else ""
    return "no more jobs", job


JOB_SCHEDULE: tuple[ActionType[JobScheduleRow], ...] = (
    ActionType(
        "Disable {}",
        "disableJobSchedule",
        effects=_stops,
        unavailable=lambda schedule: (
            _is_ending(schedule) or ("it is already disabled" if _is_disabled(schedule) else "")
        ),
    ),
    ActionType(
        "Enable {}",
        "enableJobSchedule",
        effects=lambda _: ("the next occurrence creates the next job (JS-13)",),
        unavailable=lambda schedule: "" if _is_disabled(schedule) else _is_ending(schedule) or "it is not disabled",
    ),
    ActionType(
        "Edit {}",
        "updateJobSchedule",
        fields=SCHEDULE_CHANGES,
        document=lambda schedule, session: documents.changes_of_schedule(session, schedule.schedule_id),
        effects=lambda _: ("for jobs created from now on; only what differs is sent (JS-9)",),
        unavailable=_is_ending,
        is_for_one=True,
    ),
    ActionType(
        "Clone {}",
        "createJobSchedule",
        fields=SCHEDULE_FIELDS,
        document=lambda schedule, session: documents.schedule_like(session, schedule.schedule_id),
        effects=lambda _: ("another job schedule like it",),
        body=lambda _: {},
        is_for_one=True,
    ),
    ActionType(
        "Terminate {}",
        "terminateJobSchedule",
        effects=_ends_for_good,
        unavailable=_is_ending,
        cannot_be_undone=True,
    ),
    ActionType(
        "Delete {}",
        "deleteJobSchedule",
        effects=lambda schedule: (
            f"{schedule.jobs_left:,} job{'s are' if schedule.jobs_left != 1 else ' is'} deleted,"
            " with tasks and files (JS-8)",
        ),
        unavailable=lambda one: "it is already being deleted" if one.state is JobScheduleState.DELETING else "",
        cannot_be_undone=True,
        asks_for_id=True,
    ),
)
