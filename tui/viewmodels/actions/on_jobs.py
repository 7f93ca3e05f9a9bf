"""The actions on the account and its work: jobs, tasks and job schedules.

The account's actions create everything, and change its certificates, applications and quotas.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

from engine.base.terms import CertificateState, JobScheduleState, JobState, TaskState
from engine.views.hook_status import HookStatus
from engine.views.resources.account import AccountPage, JobScheduleRow
from engine.views.resources.jobs import JobRow
from engine.views.resources.tasks import TaskRow
from tui.viewmodels.actions import forms
from tui.viewmodels.actions.action import ActionType, AnyField, Better, Document, Field, file_to_delete, running_tasks
from tui.viewmodels.actions.item_fields import (
    JOB_CHANGES,
    JOB_FIELDS,
    POOL_FIELDS,
    SCHEDULE_CHANGES,
    SCHEDULE_FIELDS,
    TASK_CHANGES,
    TASK_FIELDS,
)
from tui.viewmodels.actions.on_pools import (
    FIRST_PREPARATION,
    OTHER_QUOTAS,
    STORAGE_OUTAGE,
    AccountTarget,
)

if TYPE_CHECKING:
    from tui.viewmodels.session import Session


_UNDELETED = (CertificateState.DELETE_FAILED,)


def _thumbprints(account: AccountPage, states: Container[CertificateState] = tuple(CertificateState)) -> list[str]:
    """Return the thumbprints of the certificates, or of those in some states."""
    return [each.record.spec.thumbprint for each in account.certificates if each.record.state in states]


def _applications(session: Session) -> Sequence[str]:
    return [application.id for application in session.account().account.applications]


def _first_application(account: AccountTarget) -> str:
    return next((application.id for application in account.page.account.applications), "")


def _first_version(account: AccountTarget) -> str:
    return next((version for each in account.page.account.applications for version in each.versions), "")


def _versions(account: AccountTarget) -> Sequence[str]:
    return [f"{each.id} has {', '.join(each.versions) or 'no version'}" for each in account.page.account.applications]


def _without_applications(account: AccountTarget) -> str:
    return "" if account.page.account.applications else "the account has no applications"


def _creation(
    name: str, command: str, fields: Sequence[AnyField], new: Callable[[Session], Document], effect: str
) -> ActionType[Any]:
    """Return the action that creates something in the account, whatever is under the cursor."""
    title = f"Create a {name}"
    return ActionType(title, command, (effect,), fields=tuple(fields), document=lambda _row, session: new(session))


def _certificate(hint: str, states: Container[CertificateState] = tuple(CertificateState)) -> Field[AccountTarget]:
    """Return the field for the thumbprint of a certificate in one of these states."""
    return Field(
        "thumbprint",
        "Thumbprint",
        hint,
        lambda account: next(iter(_thumbprints(account.page, states)), ""),
        options=lambda session: _thumbprints(session.account(), states),
        is_required=True,
    )


_APPLICATION = Field(
    "applicationId", "Application", "of the account", _first_application, options=_applications, is_required=True
)

CREATE_POOL = _creation(
    "pool", "createPool", POOL_FIELDS, forms.new_pool, "its nodes are allocated, boot and run the start task (POOL-2)"
)
CREATE_JOB = _creation("job", "createJob", JOB_FIELDS, forms.new_job, FIRST_PREPARATION)
CREATE_SCHEDULE = _creation(
    "job schedule", "createJobSchedule", SCHEDULE_FIELDS, forms.new_schedule, "each occurrence creates a job (JS-1)"
)

ACCOUNT: tuple[ActionType[AccountTarget], ...] = (
    CREATE_POOL,
    CREATE_JOB,
    CREATE_SCHEDULE,
    ActionType(
        "Add a certificate",
        "addCertificate",
        ("pools may refer to it from now on (CERT-1)",),
        fields=(
            Field("thumbprint", "Thumbprint", "forty hexadecimal digits", is_required=True),
            Field("certificateFormat", "Format", "pfx has a private key, cer has none"),
            Field("data", "Data", "Base64; not used by the simulation"),
            Field("password", "Password", "of a pfx; not used by the simulation"),
        ),
        document=lambda account, _: forms.new_certificate(len(account.page.certificates) + 1),
    ),
    ActionType(
        "Delete a certificate",
        "deleteCertificate",
        ("the deletion fails while a pool or node uses it (CERT-4)",),
        fields=(_certificate("of a certificate of the account"),),
        unavailable=lambda account: "" if account.page.certificates else "the account has no certificates",
        cannot_be_undone=True,
    ),
    ActionType(
        "Cancel the failed deletion of a certificate",
        "cancelCertificateDeletion",
        ("it is active again (CERT-4)",),
        fields=(_certificate("of a certificate whose deletion has failed", _UNDELETED),),
        unavailable=lambda account: (
            "" if _thumbprints(account.page, _UNDELETED) else "no deletion of a certificate has failed"
        ),
    ),
    ActionType(
        "Upload an application package",
        "createApplicationPackage",
        lambda account: ("nodes that boot from now on get it (APP-8)", *_versions(account)),
        fields=(
            Field(
                "applicationId",
                "Application",
                "a new one is made with its first package",
                lambda account: _first_application(account) or "tools",
                is_required=True,
            ),
            Field("version", "Version", "an upload of a known version replaces it", "1.0", is_required=True),
            Field("size", "Size", "such as 800 MB; what is known of it if empty", read=str),
        ),
    ),
    ActionType(
        "Change an application",
        "updateApplication",
        _versions,
        fields=(
            _APPLICATION,
            Field("displayName", "Display name", "unchanged if empty"),
            Field("defaultVersion", "Default version", "taken where none is named; unchanged if empty"),
            Field("allowUpdates", "Allow updates", "no: packages may not be replaced or deleted"),
        ),
        unavailable=_without_applications,
    ),
    ActionType(
        "Delete an application package",
        "deleteApplicationPackage",
        lambda account: ("what is installed stays on the nodes (APP-9)", *_versions(account)),
        fields=(_APPLICATION, Field("version", "Version", "of that application", _first_version, is_required=True)),
        unavailable=_without_applications,
        cannot_be_undone=True,
    ),
    OTHER_QUOTAS,
    STORAGE_OUTAGE,
)


def _is_completed(task: TaskRow) -> str:
    return "it is already completed" if task.brief.state is TaskState.COMPLETED else ""


TASK: tuple[ActionType[TaskRow], ...] = (
    ActionType(
        "Reactivate {}",
        "reactivateTask",
        ("it becomes active again; its retry count is reset",),
        unavailable=lambda task: "" if _is_completed(task) else "it is not completed",
    ),
    ActionType(
        "Edit {}",
        "updateTask",
        ("a new time limit holds for a running attempt too (TASK-12)",),
        fields=TASK_CHANGES,
        document=lambda task, session: forms.changes_of_task(session, task.task),
        unavailable=_is_completed,
    ),
    ActionType(
        "Clone {}",
        "addTasks",
        ("another task like it in the same job",),
        fields=TASK_FIELDS,
        document=lambda task, session: forms.task_like(session, task.job_id, task.task),
    ),
    ActionType(
        "Terminate {}", "terminateTask", ("it completes with the failure TaskEnded",), unavailable=_is_completed
    ),
    ActionType(
        "Delete a file of {}",
        "deleteTaskFile",
        ("a directory goes with what is in it (FILE-11)",),
        fields=file_to_delete("in the task's directory", "stdout.txt"),
        unavailable=lambda task: "it has not run" if not task.brief.extra.attempts else "",
        cannot_be_undone=True,
    ),
    ActionType("Delete {}", "deleteTask", ("it is deleted from the job",), cannot_be_undone=True),
)


def _busy(job: JobRow) -> dict[str, int]:
    counts = job.phases.tasks
    return {"tasks affected": counts.running + counts.preparing}


def _terminate_first(job: JobRow) -> Better | None:
    if job.state is not JobState.ACTIVE:
        return None
    return Better("terminateJob", "the job is active; a terminated job keeps its records (JOB-15, JOB-16)")


_FORCE = Field[JobRow]("force", "Force", "yes: do not wait for release tasks (JOB-18)", "no")


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
        "Disable {}",
        "disableJob",
        ("no task starts until the job is enabled",),
        (running_tasks("disableTasks"),),
        counts=_busy,
        unavailable=lambda job: _is_over(job) or ("it is already disabled" if job.state is JobState.DISABLED else ""),
    ),
    ActionType(
        "Enable {}",
        "enableJob",
        ("its tasks are scheduled again",),
        unavailable=lambda job: "" if job.state in (JobState.DISABLED, JobState.DISABLING) else "it is not disabled",
    ),
    ActionType(
        "Terminate {}",
        "terminateJob",
        _ends,
        fields=(Field("terminateReason", "Reason", "UserTerminate if empty"), _FORCE),
        counts=_busy,
        unavailable=_is_over,
    ),
    ActionType(
        "Add tasks to {}",
        "addTasks",
        ("they are scheduled one second later (TIME-9)",),
        fields=TASK_FIELDS,
        document=lambda job, session: forms.new_tasks(session, job.job_id),
        unavailable=_is_over,
        is_for_many=True,
    ),
    ActionType(
        "Edit {}",
        "updateJob",
        ("running tasks continue; only what differs is sent (JOB-2)",),
        fields=JOB_CHANGES,
        document=lambda job, session: forms.changes(session, "updateJob", job.job_id),
        unavailable=_is_over,
    ),
    ActionType(
        "Clone {}",
        "createJob",
        ("another job like it, with the tasks that it was created with",),
        fields=JOB_FIELDS,
        document=lambda job, session: forms.job_like(session, job.job_id),
    ),
    ActionType(
        "Delete {}",
        "deleteJob",
        lambda job: (*_ends(job), "then the job, its tasks and their files are deleted (JOB-16)"),
        fields=(_FORCE,),
        counts=_busy,
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


def _leaves_nothing(schedule: JobScheduleRow) -> Sequence[str]:
    jobs = f"{schedule.jobs_left:,} job{'s are' if schedule.jobs_left != 1 else ' is'}"
    return (f"{jobs} deleted, with tasks and files (JS-8)",)


JOB_SCHEDULE: tuple[ActionType[JobScheduleRow], ...] = (
    ActionType(
        "Disable {}",
        "disableJobSchedule",
        _stops,
        unavailable=lambda one: _is_ending(one) or ("it is already disabled" if _is_disabled(one) else ""),
    ),
    ActionType(
        "Enable {}",
        "enableJobSchedule",
        ("the next occurrence creates the next job (JS-13)",),
        unavailable=lambda one: "" if _is_disabled(one) else _is_ending(one) or "it is not disabled",
    ),
    ActionType(
        "Edit {}",
        "updateJobSchedule",
        ("for jobs created from now on; only what differs is sent (JS-9)",),
        fields=SCHEDULE_CHANGES,
        document=lambda schedule, session: forms.changes(session, "updateJobSchedule", schedule.schedule_id),
        unavailable=_is_ending,
    ),
    ActionType(
        "Clone {}",
        "createJobSchedule",
        ("another job schedule like it",),
        fields=SCHEDULE_FIELDS,
        document=lambda schedule, session: forms.schedule_like(session, schedule.schedule_id),
    ),
    ActionType("Terminate {}", "terminateJobSchedule", _ends_for_good, unavailable=_is_ending, cannot_be_undone=True),
    ActionType(
        "Delete {}",
        "deleteJobSchedule",
        _leaves_nothing,
        unavailable=lambda one: "it is already being deleted" if one.state is JobScheduleState.DELETING else "",
        cannot_be_undone=True,
        asks_for_id=True,
    ),
)
