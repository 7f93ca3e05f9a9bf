"""What can be done to a node, task, job or pool: the verbs, their choices, and what would follow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from engine.specs.commands import COMMANDS
from engine.terms import JobState, NodeState, SchedulingState, TaskState
from engine.units import MINUTE_MS, format_duration
from engine.views.pages.autoscale import scale_page
from engine.views.pages.instances import HookStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.specs.commands import Command
    from engine.views.pages.nodes import NodeRow
    from tui.viewmodels.session import Session
    from tui.viewmodels.subject import Kind


class Choice(NamedTuple):
    """One way to carry a verb out: its value on the wire, and what happens then."""

    value: str
    text: str


class Action(NamedTuple):
    """A verb on a subject."""

    title: str
    command: str  # the name of the operation
    body: dict[str, object]  # without the choice
    field: str = ""  # the property that takes the choice, or what is typed
    choices: tuple[Choice, ...] = ()
    asks: str = ""  # what is to be typed, a whole number
    in_minutes: bool = False  # what is typed stands for a duration
    cannot_be_undone: bool = False
    effects: tuple[str, ...] = ()
    unavailable: str = ""  # why it makes no sense now; the service would refuse it

    def wire(self, value: str) -> dict[str, object]:
        """The body with the choice, or with the number that was typed."""
        if not self.field:
            return self.body
        if self.in_minutes:
            return self.body | {self.field: f"PT{int(value)}M"}
        return self.body | {self.field: int(value) if self.asks else value}

    def build(self, value: str) -> Command:
        """The command. Raises ValueError where what was typed is no whole number."""
        return COMMANDS[self.command].from_wire(self.wire(value))

    def script(self, now_ms: int, value: str) -> str:
        """The timeline entry that this will be recorded as."""
        return f"at: {format_duration(now_ms + 1)}, {self.command}: {json.dumps(self.wire(value))}"


_REQUEUE, _TERMINATE = "stop them and queue them again", "stop them for good; they complete with a failure"
_RUNNING = (
    Choice("requeue", f"Requeue: {_REQUEUE}"),
    Choice("terminate", f"Terminate: {_TERMINATE}"),
    Choice("taskcompletion", "Task completion: take no new tasks, begin when the running ones have ended"),
)
_RETAINED = Choice("retaineddata", "Retained data: as task completion, then wait for the retention of their files")
_DISABLE = (
    Choice("requeue", f"Requeue running tasks: {_REQUEUE}"),
    Choice("terminate", f"Terminate running tasks: {_TERMINATE}"),
    Choice("wait", "Wait: running tasks go on, nothing new starts"),
)


def actions_for(session: Session, kind: Kind, key: int | str) -> list[Action]:
    """The verbs on a node or task (by row number), a job or a pool (by id)."""
    match kind:
        case "node":
            return _node_actions(session, int(key))
        case "task":
            return _task_actions(session, int(key))
        case "job":
            return _job_actions(session, str(key))
        case "pool":
            return _pool_actions(session, str(key))


def _node_actions(session: Session, key: int) -> list[Action]:
    page = session.nodes()
    node = page.row(key)
    if node.state is None:
        return []
    body: dict[str, object] = {"poolId": node.pool_id, "node": node.position}
    prepared = [job.job_id for job in page.jobs_on(key) if job.prep is HookStatus.SUCCEEDED]
    barred = [job.job_id for job in page.jobs_on(key) if job.is_barred]
    touched = _counted(node.running_tasks + node.preparing_tasks, "task is", "tasks are")
    is_enabled = node.scheduling is SchedulingState.ENABLED
    busy = "" if node.state is not NodeState.RUNNING else f"{touched} on the node now"
    again = f"preparation runs again for {', '.join(prepared)}" if prepared else ""
    still = f"the node stays barred from {', '.join(barred)}: only a reimage clears that (PREP-9)" if barred else ""
    clears = f"the bar from {', '.join(barred)} is cleared (PREP-9)" if barred else ""
    start = "the start task runs again" if node.start_task is not None else ""
    options = (*_RUNNING, _RETAINED)

    def effects(*texts: str) -> tuple[str, ...]:
        return tuple(text for text in (busy, *texts) if text)

    return [
        Action(
            f"Reboot n{node.position}",
            "rebootNode",
            body,
            "nodeRebootOption",
            options,
            effects=effects(start, again and f"{again}, unless the job says otherwise (PREP-16)", still),
        ),
        Action(
            f"Reimage n{node.position}",
            "reimageNode",
            body,
            "nodeReimageOption",
            options,
            effects=effects("all files on the node are lost", start, again, clears),
        ),
        Action(
            f"Disable scheduling on n{node.position}",
            "disableNodeScheduling",
            body,
            "nodeDisableSchedulingOption",
            _RUNNING,
            effects=effects("no new tasks come here; offline once nothing of a job runs (NOP-6)"),
            unavailable="" if is_enabled else "it is disabled already",
        ),
        Action(
            f"Enable scheduling on n{node.position}",
            "enableNodeScheduling",
            body,
            effects=effects("tasks come here again"),
            unavailable="it is enabled already" if is_enabled else "",
        ),
        Action(
            f"Remove n{node.position} from the pool",
            "removeNodes",
            {"poolId": node.pool_id, "nodeList": [node.position]},
            "nodeDeallocationOption",
            options,
            cannot_be_undone=True,
            effects=effects(
                "the node leaves; its files are lost, its records stay", "the pool's target becomes one less"
            ),
        ),
        *_vm_actions(node, body, effects("the VM is given back; files are lost")),
        Action(
            f"Fault: n{node.position} becomes unusable",
            "failNode",
            body | {"state": "unusable"},
            effects=effects("its tasks are queued again elsewhere; only in the simulation"),
        ),
    ]


def _vm_actions(node: NodeRow, body: dict[str, object], effects: tuple[str, ...]) -> list[Action]:
    if node.state is NodeState.DEALLOCATED:
        return [Action(f"Start n{node.position}", "startNode", body, effects=("it boots as if it were reimaged",))]
    title = f"Deallocate n{node.position}"
    return [Action(title, "deallocateNode", body, "nodeDeallocateOption", (*_RUNNING, _RETAINED), effects=effects)]


def _task_actions(session: Session, key: int) -> list[Action]:
    task = session.tasks(session.job_id).row(key)
    if task.state is None:
        return []
    body: dict[str, object] = {"jobId": task.job_id, "taskId": task.task_id}
    is_completed = task.state is TaskState.COMPLETED
    return [
        Action(
            f"Terminate {task.task_id}",
            "terminateTask",
            body,
            effects=("it completes with failure TaskEnded",),
            unavailable="it is completed already" if is_completed else "",
        ),
        Action(
            f"Reactivate {task.task_id}",
            "reactivateTask",
            body,
            effects=("it is active again, its retry count starts anew",),
            unavailable="" if is_completed else "it is not completed",
        ),
        Action(
            f"Delete {task.task_id}", "deleteTask", body, cannot_be_undone=True, effects=("it is gone from the job",)
        ),
    ]


def _job_actions(session: Session, job_id: str) -> list[Action]:
    job = session.job(job_id)
    if job is None:
        return []
    body: dict[str, object] = {"jobId": job_id}
    counts = job.phases.tasks
    is_over = "it is completed already" if job.state is JobState.COMPLETED else ""
    owed = job.phases.release[HookStatus.WILL_RUN]
    unfinished = _counted(counts.running + counts.preparing, "running task is", "running tasks are")
    release = f"release runs on {_counted(owed, 'node', 'nodes')}" if owed else "no node has anything to release"
    ends = (f"{unfinished} terminated, {counts.active:,} waiting never start", release)
    return [
        Action(f"Terminate {job_id}", "terminateJob", body, effects=ends, unavailable=is_over),
        Action(
            f"Disable {job_id}",
            "disableJob",
            body,
            "disableTasks",
            _DISABLE,
            effects=(f"{unfinished} affected",),
            unavailable=is_over or ("it is disabled already" if job.state is JobState.DISABLED else ""),
        ),
        Action(
            f"Enable {job_id}",
            "enableJob",
            body,
            effects=("its tasks are scheduled again",),
            unavailable="" if job.state in (JobState.DISABLED, JobState.DISABLING) else "it is not disabled",
        ),
        Action(
            f"Change the priority of {job_id}",
            "updateJob",
            body,
            "priority",
            asks=f"priority, -1000 to 1000; now {job.priority}",
            effects=("running tasks are not stopped",),
            unavailable=is_over,
        ),
        Action(f"Delete {job_id}", "deleteJob", body, cannot_be_undone=True, effects=(*ends, "then the job is gone")),
    ]


def _pool_actions(session: Session, pool_id: str) -> list[Action]:
    pool = session.pool(pool_id)
    if pool is None:
        return []
    body: dict[str, object] = {"poolId": pool_id}
    nodes = sum(number for _, number in pool.node_counts)
    is_steady = pool.allocation is not None and pool.allocation.wire == "steady"
    busy = "" if is_steady else "the pool is being resized"
    if pool.auto_scale:
        busy = "autoscale sets the targets"
    return [
        Action(
            f"Resize {pool_id}: dedicated nodes",
            "resizePool",
            body,
            "targetDedicatedNodes",
            asks=f"target dedicated nodes; now {pool.target_dedicated}",
            effects=("nodes that must go requeue their tasks",),
            unavailable=busy,
        ),
        Action(
            f"Resize {pool_id}: Spot nodes",
            "resizePool",
            body,
            "targetLowPriorityNodes",
            asks=f"target Spot nodes; now {pool.target_spot}",
            effects=("nodes that must go requeue their tasks",),
            unavailable=busy,
        ),
        Action(
            f"Stop resizing {pool_id}",
            "stopPoolResize",
            body,
            effects=("what has come or gone stays so, and the targets stay too (RSZ-9)",),
            unavailable="the pool is steady" if is_steady else "",
        ),
        *_autoscale_actions(session, pool_id, body),
        Action(
            f"Delete {pool_id}",
            "deletePool",
            body,
            cannot_be_undone=True,
            effects=(
                _counted(nodes, "node leaves", "nodes leave"),
                f"{_counted(len(pool.jobs), 'job stays', 'jobs stay')} without a pool",
            ),
        ),
    ]


def _autoscale_actions(session: Session, pool_id: str, body: dict[str, object]) -> list[Action]:
    """The formula itself is changed in its editor."""
    page = scale_page(session.simulation, pool_id)
    if page is None:
        return []
    return [
        Action(
            f"Evaluate the formula of {pool_id} more often, or less",
            "enablePoolAutoScale",
            body,
            "autoScaleEvaluationInterval",
            asks=f"minutes, 5 to 10080; now {page.interval_ms // MINUTE_MS}",
            in_minutes=True,
            effects=("the formula is evaluated at once, and from now on in this interval (AS-85)",),
        ),
        Action(
            f"Switch autoscale of {pool_id} off",
            "disablePoolAutoScale",
            body,
            effects=("targets and nodes stay (AS-86)", "samples and history are forgotten (AS-52)"),
        ),
    ]


def choices_of(action: Action) -> Sequence[Choice]:
    """The choices of a verb; where it cannot be undone, going back comes first."""
    back = (Choice("", "No, go back"),) if action.cannot_be_undone else ()
    return (*back, *(action.choices or (Choice("do", f"Yes: {action.title}"),)))


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
