"""The actions on the account and its work: jobs, tasks and job schedules.

The account's actions create everything, and change its certificates, applications and quotas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.terms import CertificateState, JobScheduleState, JobState, TaskState
from engine.views.hook_status import HookStatus
from engine.views.resources.account import AccountPage, CoreQuotas, JobScheduleRow
from engine.views.resources.jobs import JobRow
from engine.views.resources.tasks import TaskRow
from tui.viewmodels.actions import forms
from tui.viewmodels.actions.action import (
    LASTING,
    ActionType,
    AnyField,
    Better,
    Choice,
    Document,
    Field,
    one_of,
    whole,
    yes_no_options,
    yes_or_no,
)
from tui.viewmodels.actions.item_fields import (
    JOB_CHANGES,
    JOB_FIELDS,
    POOL_FIELDS,
    SCHEDULE_CHANGES,
    SCHEDULE_FIELDS,
    TASK_CHANGES,
    TASK_FIELDS,
)

if TYPE_CHECKING:
    from tui.viewmodels.session import Session


_UNDELETED = (CertificateState.DELETE_FAILED,)


class AccountTarget(NamedTuple):
    """The account: its page, and its quotas of cores."""

    page: AccountPage
    cores: CoreQuotas


def _thumbprints(session: Session) -> Sequence[str]:
    return [each.thumbprint for each in session.account().certificates]


def _undeletable(session: Session) -> Sequence[str]:
    return [each.thumbprint for each in session.account().certificates if each.state in _UNDELETED]


def _applications(session: Session) -> Sequence[str]:
    return [application.id for application in session.account().applications]


def _first_application(account: AccountTarget) -> str:
    return next((application.id for application in account.page.applications), "")


def _first_version(account: AccountTarget) -> str:
    return next((version for each in account.page.applications for version in each.versions), "")


def _versions(account: AccountTarget) -> Sequence[str]:
    return [f"{each.id} has {', '.join(each.versions) or 'no version'}" for each in account.page.applications]


def _without_applications(account: AccountTarget) -> str:
    return "" if account.page.applications else "the account has no applications"


def _without_certificates(account: AccountTarget) -> str:
    return "" if account.page.certificates else "the account has no certificates"


def _without_failed_deletion(account: AccountTarget) -> str:
    has_failed = any(each.state in _UNDELETED for each in account.page.certificates)
    return "" if has_failed else "no deletion of a certificate has failed"


def _next_thumbprint(account: AccountTarget) -> str:
    """Return a thumbprint that no certificate has: forty hexadecimal digits."""
    return f"{len(account.page.certificates) + 1:040x}"


def _creation(
    name: str, command: str, fields: Sequence[AnyField], new: Callable[[Session], Document], effect: str
) -> ActionType[Any]:
    """Return the action that creates something in the account, whatever is under the cursor."""
    return ActionType(
        f"Create a {name}",
        command,
        fields=tuple(fields),
        document=lambda _row, session: new(session),
        effects=lambda _: (effect,),
        body=lambda _: {},
    )


_APPLICATION = Field(
    "applicationId", "Application", "of the account", _first_application, options=_applications, is_required=True
)

CREATE_POOL = _creation(
    "pool",
    "createPool",
    POOL_FIELDS,
    forms.new_pool,
    "its nodes are allocated, boot and run the start task (POOL-2)",
)
CREATE_JOB = _creation(
    "job",
    "createJob",
    JOB_FIELDS,
    forms.new_job,
    "a preparation task runs on a node before the job's first task there (PREP-1)",
)
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
        fields=(
            Field("thumbprint", "Thumbprint", "forty hexadecimal digits", is_required=True),
            Field(
                "certificateFormat", "Format", "pfx has a private key, cer has none", options=one_of("", "pfx", "cer")
            ),
            Field("data", "Data", "Base64; not used by the simulation"),
            Field("password", "Password", "of a pfx; not used by the simulation"),
        ),
        document=lambda account, _: Document({"thumbprint": _next_thumbprint(account), "thumbprintAlgorithm": "sha1"}),
        effects=lambda _: ("pools may refer to it from now on (CERT-1)",),
        body=lambda _: {},
    ),
    ActionType(
        "Delete a certificate",
        "deleteCertificate",
        fields=(
            Field(
                "thumbprint",
                "Thumbprint",
                "of a certificate of the account",
                lambda account: next((each.thumbprint for each in account.page.certificates), ""),
                options=_thumbprints,
                is_required=True,
            ),
        ),
        effects=lambda _: ("the deletion fails while a pool or node uses it (CERT-4)",),
        unavailable=_without_certificates,
        cannot_be_undone=True,
        body=lambda _: {},
    ),
    ActionType(
        "Cancel the failed deletion of a certificate",
        "cancelCertificateDeletion",
        fields=(
            Field(
                "thumbprint",
                "Thumbprint",
                "of a certificate whose deletion has failed",
                lambda account: next(
                    (each.thumbprint for each in account.page.certificates if each.state in _UNDELETED), ""
                ),
                options=_undeletable,
                is_required=True,
            ),
        ),
        effects=lambda _: ("it is active again (CERT-4)",),
        unavailable=_without_failed_deletion,
        body=lambda _: {},
    ),
    ActionType(
        "Upload an application package",
        "createApplicationPackage",
        fields=(
            Field(
                "applicationId",
                "Application",
                "a new one is made with its first package",
                lambda account: _first_application(account) or "tools",
                is_required=True,
            ),
            Field("version", "Version", "an upload of a known version replaces it", lambda _: "1.0", is_required=True),
            Field("size", "Size", "such as 800 MB; what is known of it if empty"),
        ),
        effects=lambda account: ("nodes that boot from now on get it (APP-8)", *_versions(account)),
        body=lambda _: {},
    ),
    ActionType(
        "Change an application",
        "updateApplication",
        fields=(
            _APPLICATION,
            Field("displayName", "Display name", "unchanged if empty"),
            Field("defaultVersion", "Default version", "taken where none is named; unchanged if empty"),
            Field(
                "allowUpdates",
                "Allow updates",
                "no: packages may not be replaced or deleted",
                read=yes_or_no,
                options=yes_no_options,
            ),
        ),
        effects=_versions,
        unavailable=_without_applications,
        body=lambda _: {},
    ),
    ActionType(
        "Delete an application package",
        "deleteApplicationPackage",
        fields=(
            _APPLICATION,
            Field("version", "Version", "of that application", _first_version, is_required=True),
        ),
        effects=lambda account: ("what is installed stays on the nodes (APP-9)", *_versions(account)),
        unavailable=_without_applications,
        cannot_be_undone=True,
        body=lambda _: {},
    ),
    ActionType(
        "Fault: the account gets other quotas",
        "quota",
        fields=(
            Field("dedicatedCores", "Dedicated cores", "allowed", lambda one: str(one.cores.dedicated), whole),
            Field("lowPriorityCores", "Spot cores", "allowed", lambda one: str(one.cores.spot), whole),
            Field("pools", "Pools", "allowed; unchanged if empty", read=whole),
            Field("activeJobsAndSchedules", "Jobs and schedules", "active at once; unchanged if empty", read=whole),
        ),
        effects=lambda account: (
            f"{account.cores.dedicated_used:,} dedicated and {account.cores.spot_used:,} Spot cores are in use",
            "what is used stays; later requests get at most that many (ACC-11)",
        ),
        body=lambda _: {},
    ),
    ActionType(
        "Fault: the region runs out of a node size",
        "capacity",
        fields=(
            Field("vmSize", "VM size", "such as standard_d2s_v3", lambda _: "standard_d2s_v3", is_required=True),
            Field("nodes", "Nodes", "nodes of this size still available", lambda _: "0", whole, is_required=True),
        ),
        effects=lambda _: ("later requests get at most that many (RSZ-12); in the simulation only",),
        body=lambda _: {},
    ),
    ActionType(
        "Fault: storage outage",
        "storageOutage",
        LASTING,
        body=lambda _: {},
        effects=lambda _: ("downloads and uploads wait or fail; in the simulation only",),
    ),
)


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
        document=lambda task, session: forms.changes_of_task(session, task.task),
        effects=lambda _: ("a new time limit holds for a running attempt too (TASK-12)",),
        unavailable=lambda task: "it is already completed" if task.brief.state is TaskState.COMPLETED else "",
        is_for_one=True,
    ),
    ActionType(
        "Clone {}",
        "addTasks",
        fields=TASK_FIELDS,
        document=lambda task, session: forms.task_like(session, task.job_id, task.task),
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
        fields=(Field("priority", "Priority", "-1000 to 1000", lambda job: str(job.record.priority), whole),),
        effects=lambda _: ("running tasks continue",),
        unavailable=_is_over,
    ),
    ActionType(
        "Add tasks to {}",
        "addTasks",
        fields=TASK_FIELDS,
        document=lambda job, session: forms.new_tasks(session, job.job_id),
        effects=lambda _: ("they are scheduled one second later (TIME-9)",),
        unavailable=_is_over,
    ),
    ActionType(
        "Edit {}",
        "updateJob",
        fields=JOB_CHANGES,
        document=lambda job, session: forms.changes_of_job(session, job.job_id),
        effects=lambda _: ("running tasks continue; only what differs is sent (JOB-2)",),
        unavailable=_is_over,
        is_for_one=True,
    ),
    ActionType(
        "Clone {}",
        "createJob",
        fields=JOB_FIELDS,
        document=lambda job, session: forms.job_like(session, job.job_id),
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
        document=lambda schedule, session: forms.changes_of_schedule(session, schedule.schedule_id),
        effects=lambda _: ("for jobs created from now on; only what differs is sent (JS-9)",),
        unavailable=_is_ending,
        is_for_one=True,
    ),
    ActionType(
        "Clone {}",
        "createJobSchedule",
        fields=SCHEDULE_FIELDS,
        document=lambda schedule, session: forms.schedule_like(session, schedule.schedule_id),
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
