"""The verbs: what can be done to a node, task, job, job schedule or pool, how, and what follows by the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from engine.terms import AllocationState, JobScheduleState, JobState, NodeState, SchedulingState, TaskState
from engine.units import MINUTE_MS
from engine.views.pages.autoscale import scale_page
from engine.views.pages.instances import HookStatus
from engine.views.pages.job_schedules import JobScheduleRow
from engine.views.pages.jobs import JobRow, PoolRow
from engine.views.pages.nodes import NodeRow
from engine.views.pages.tasks import TaskRow

if TYPE_CHECKING:
    from tui.viewmodels.session import Session
    from tui.viewmodels.subject import Subject

Body = Mapping[str, object]


class Choice(NamedTuple):
    """One way to carry a verb out: what it adds to the body, and what happens then."""

    body: Body
    text: str


class NodeCase(NamedTuple):
    """A node, and the jobs that matter when something is done to it."""

    row: NodeRow
    prepared: tuple[str, ...]
    barred: tuple[str, ...]


T = TypeVar("T")


@dataclass(frozen=True)
class Verb(Generic[T]):
    """Something that can be done to rows of one kind. ``{}`` in the title stands for whose row it is."""

    title: str
    command: str
    choices: tuple[Choice, ...] = ()
    asks: str = ""  # the property whose whole number is typed
    in_minutes: bool = False  # what is typed stands for a duration
    prompt: Callable[[T], str] = lambda _: ""  # what is to be typed
    adds: Body = field(default_factory=dict)  # what the body always has
    body: Callable[[T], Body] | None = None  # the body where it does not name the row
    effects: Callable[[T], Sequence[str]] = lambda _: ()
    unavailable: Callable[[T], str] = lambda _: ""  # why it makes no sense now: the service would refuse it
    offered: Callable[[T], bool] = lambda _: True
    cannot_be_undone: bool = False
    has_form: bool = False  # what is done is asked in a form of its own
    lists: str = ""  # the property that lists all nodes, where one command does for all


def _options(name: str, *, keeps_data: bool) -> tuple[Choice, ...]:
    texts = {
        "requeue": "Requeue: stop running tasks and queue them again",
        "terminate": "Terminate: stop running tasks for good; they complete with a failure",
        "taskcompletion": "Task completion: no new tasks, begin when the running ones have ended",
        "retaineddata": "Retained data: the same, then wait for the retention of their files",
    }
    return tuple(Choice({name: value}, text) for value, text in texts.items() if keeps_data or value != "retaineddata")


_OPERATOR = "operator"
_REACHABLE = (NodeState.IDLE, NodeState.RUNNING)

_LASTING = (
    Choice({"for": "PT10M"}, "for ten minutes"),
    Choice({"for": "PT1H"}, "for an hour"),
    Choice({}, "until something is done about it"),
)


def _again(case: NodeCase) -> str:
    return f"preparation runs again for {', '.join(case.prepared)}" if case.prepared else ""


def _reboot(case: NodeCase) -> Sequence[str]:
    again = _again(case)
    return (
        "the start task runs again" if case.row.start_task is not None else "",
        f"{again}, unless the job says otherwise (PREP-16)" if again else "",
        f"stays barred from {', '.join(case.barred)}: only a reimage clears that (PREP-9)" if case.barred else "",
    )


def _reimage(case: NodeCase) -> Sequence[str]:
    return (
        "all files on the node are lost",
        "the start task runs again" if case.row.start_task is not None else "",
        _again(case),
        f"the bar from {', '.join(case.barred)} is cleared (PREP-9)" if case.barred else "",
    )


NODE: tuple[Verb[NodeCase], ...] = (
    Verb("Reboot {}", "rebootNode", _options("nodeRebootOption", keeps_data=True), effects=_reboot),
    Verb("Reimage {}", "reimageNode", _options("nodeReimageOption", keeps_data=True), effects=_reimage),
    Verb(
        "Disable scheduling on {}",
        "disableNodeScheduling",
        _options("nodeDisableSchedulingOption", keeps_data=False),
        effects=lambda _: ("no new tasks come here; offline once nothing of a job runs (NOP-6)",),
        unavailable=lambda case: "" if case.row.scheduling is SchedulingState.ENABLED else "it is disabled already",
    ),
    Verb(
        "Enable scheduling on {}",
        "enableNodeScheduling",
        effects=lambda _: ("tasks come here again",),
        unavailable=lambda case: "it is enabled already" if case.row.scheduling is SchedulingState.ENABLED else "",
    ),
    Verb(
        "Remove {} from the pool",
        "removeNodes",
        _options("nodeDeallocationOption", keeps_data=True),
        effects=lambda _: (
            "the node leaves; its files are lost, its records stay",
            "the pool's target becomes one less for each node (RSZ-8)",
        ),
        cannot_be_undone=True,
        lists="nodeList",
    ),
    Verb(
        "Deallocate {}",
        "deallocateNode",
        _options("nodeDeallocateOption", keeps_data=True),
        effects=lambda _: ("the VM is given back; files are lost",),
        offered=lambda case: case.row.state is not NodeState.DEALLOCATED,
    ),
    Verb(
        "Start {}",
        "startNode",
        effects=lambda _: ("it boots as if it were reimaged",),
        offered=lambda case: case.row.state is NodeState.DEALLOCATED,
    ),
    Verb(
        "Add a user to log in to {} with",
        "createNodeUser",
        adds={"name": _OPERATOR, "isAdmin": True, "password": "only-simulated"},
        effects=lambda _: (f"{_OPERATOR}, an administrator, can log in for a day (NOP-9)",),
        unavailable=lambda case: "" if case.row.state in _REACHABLE else "only an idle or running node takes users",
        offered=lambda case: _OPERATOR not in case.row.users,
    ),
    Verb(
        "Delete the user from {}",
        "deleteNodeUser",
        adds={"name": _OPERATOR},
        effects=lambda _: (f"{_OPERATOR} can log in no more",),
        offered=lambda case: _OPERATOR in case.row.users,
    ),
    Verb(
        "Fault: {} becomes unusable",
        "failNode",
        _LASTING,
        adds={"state": "unusable"},
        effects=lambda _: ("its tasks are queued again elsewhere; only in the simulation",),
    ),
    Verb(
        "Fault: {} loses contact",
        "failNode",
        _LASTING,
        adds={"state": "unknown"},
        effects=lambda _: ("what runs there may go on unseen; only in the simulation",),
    ),
    Verb(
        "Fault: {} is preempted",
        "evictNode",
        effects=lambda _: ("the VM is taken back (SPOT-3); only in the simulation",),
        offered=lambda case: not case.row.is_dedicated,
    ),
)

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


def _is_over(job: JobRow) -> str:
    return "it is completed already" if job.state is JobState.COMPLETED else ""


def _ends(job: JobRow) -> Sequence[str]:
    counts, owed = job.phases.tasks, job.phases.release[HookStatus.WILL_RUN]
    return (
        f"running tasks are terminated, {counts.active:,} waiting never start",
        f"release runs on {owed:,} node{'s' if owed != 1 else ''}" if owed else "no node has anything to release",
    )


JOB: tuple[Verb[JobRow], ...] = (
    Verb("Terminate {}", "terminateJob", effects=_ends, unavailable=_is_over),
    Verb(
        "Disable {}",
        "disableJob",
        (
            Choice({"disableTasks": "requeue"}, "Requeue: stop running tasks and queue them again"),
            Choice({"disableTasks": "terminate"}, "Terminate: stop running tasks for good"),
            Choice({"disableTasks": "wait"}, "Wait: running tasks go on, nothing new starts"),
        ),
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
        asks="priority",
        prompt=lambda job: f"priority, -1000 to 1000; now {job.priority}",
        effects=lambda _: ("running tasks are not stopped",),
        unavailable=_is_over,
    ),
    Verb(
        "Add tasks to {}",
        "addTasks",
        effects=lambda _: ("a form asks which",),
        unavailable=_is_over,
        has_form=True,
    ),
    Verb(
        "Delete {}",
        "deleteJob",
        effects=lambda job: (*_ends(job), "then the job is gone"),
        cannot_be_undone=True,
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
    ),
)


class PoolCase(NamedTuple):
    """A pool, and how often it evaluates its formula; None where it has none."""

    row: PoolRow
    interval_ms: int | None


def _is_steady(pool: PoolCase) -> bool:
    return pool.row.allocation is AllocationState.STEADY


def _resizing(pool: PoolCase) -> str:
    if pool.interval_ms is not None:
        return "autoscale sets the targets"
    return "" if _is_steady(pool) else "the pool is being resized"


def _leaves(pool: PoolCase) -> Sequence[str]:
    nodes = sum(number for _, number in pool.row.node_counts)
    jobs = len(pool.row.jobs)
    return (
        f"{nodes:,} node{' leaves' if nodes == 1 else 's leave'}",
        f"{jobs:,} job{' stays' if jobs == 1 else 's stay'} without a pool",
    )


def _scales_itself(pool: PoolCase) -> bool:
    return pool.interval_ms is not None


def _upgraded(pool: PoolCase) -> str:
    machine = pool.row.spec.cloud_service_configuration
    if machine is None or machine.os_version == "*":
        return "it has the newest version"
    return "another upgrade is under way" if pool.row.is_upgrading else ""


POOL: tuple[Verb[PoolCase], ...] = (
    Verb(
        "Resize {}: dedicated nodes",
        "resizePool",
        asks="targetDedicatedNodes",
        prompt=lambda pool: f"target dedicated nodes; now {pool.row.target_dedicated}",
        effects=lambda _: ("nodes that must go requeue their tasks",),
        unavailable=_resizing,
    ),
    Verb(
        "Resize {}: Spot nodes",
        "resizePool",
        asks="targetLowPriorityNodes",
        prompt=lambda pool: f"target Spot nodes; now {pool.row.target_spot}",
        effects=lambda _: ("nodes that must go requeue their tasks",),
        unavailable=_resizing,
    ),
    Verb(
        "Stop resizing {}",
        "stopPoolResize",
        effects=lambda _: ("what has come or gone stays so, and the targets stay too (RSZ-9)",),
        unavailable=lambda pool: "the pool is steady" if _is_steady(pool) else "",
    ),
    Verb(
        "Evaluate the formula of {} more often, or less",
        "enablePoolAutoScale",
        asks="autoScaleEvaluationInterval",
        in_minutes=True,
        prompt=lambda pool: f"minutes, 5 to 10080; now {(pool.interval_ms or 0) // MINUTE_MS}",
        effects=lambda _: ("the formula is evaluated at once, and from now on in this interval (AS-85)",),
        offered=_scales_itself,
    ),
    Verb(
        "Switch autoscale of {} off",
        "disablePoolAutoScale",
        effects=lambda _: ("targets and nodes stay (AS-86)", "samples and history are forgotten (AS-52)"),
        offered=_scales_itself,
    ),
    Verb(
        "Upgrade the operating system of {} to the newest version",
        "upgradePoolOS",
        adds={"targetOSVersion": "*"},
        effects=lambda _: ("a fifth of its nodes at a time is reinstalled, their tasks are requeued (POOL-22)",),
        unavailable=_upgraded,
        offered=lambda pool: pool.row.spec.cloud_service_configuration is not None,
    ),
    Verb(
        "Fault: the region runs out of the node size of {}",
        "capacity",
        asks="nodes",
        prompt=lambda pool: f"how many more nodes of size {pool.row.vm_size} can be had",
        body=lambda pool: {"vmSize": pool.row.vm_size},
        effects=lambda _: ("later requests get no more than that (RSZ-12); only in the simulation",),
    ),
    Verb(
        "Fault: storage does not answer",
        "storageOutage",
        _LASTING,
        body=lambda _: {},
        effects=lambda _: ("downloads and uploads wait or fail; only in the simulation",),
    ),
    Verb("Delete {}", "deletePool", effects=_leaves, cannot_be_undone=True),
)


class Case(NamedTuple):
    """A subject as the verbs see it: what it is called, its part of a body, its row."""

    name: str
    body: Body
    row: object
    listed: object = None  # how it stands in the list of one command for all


def case_of(session: Session, subject: Subject) -> Case | None:
    """A subject's case; None where it is gone."""
    match subject.kind:
        case "node":
            return _node_case(session, int(subject.key))
        case "task":
            task = session.tasks(session.job_id).row(int(subject.key))
            return (
                None if task.state is None else Case(task.task_id, {"jobId": task.job_id, "taskId": task.task_id}, task)
            )
        case "job":
            job = session.job(str(subject.key))
            return None if job is None else Case(job.job_id, {"jobId": job.job_id}, job)
        case "job schedule":
            one = session.schedule(str(subject.key))
            return None if one is None else Case(one.schedule_id, {"jobScheduleId": one.schedule_id}, one)
        case "pool":
            pool = session.pool(str(subject.key))
            if pool is None:
                return None
            scale = scale_page(session.simulation, pool.pool_id)
            row = PoolCase(pool, None if scale is None else scale.interval_ms)
            return Case(pool.pool_id, {"poolId": pool.pool_id}, row)


def _goes_on(session: Session, job_id: str) -> bool:
    """Whether a job may still need its preparation somewhere."""
    job = session.job(job_id)
    return job is not None and job.state not in (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING)


def _node_case(session: Session, node: int) -> Case | None:
    page = session.nodes()
    row = page.row(node)
    if row.state is None:
        return None
    jobs = [job for job in page.jobs_on(node) if _goes_on(session, job.job_id)]
    prepared = tuple(job.job_id for job in jobs if job.prep is HookStatus.SUCCEEDED)
    barred = tuple(job.job_id for job in jobs if job.is_barred)
    body = {"poolId": row.pool_id, "node": row.position}
    return Case(f"n{row.position}", body, NodeCase(row, prepared, barred), row.position)
