"""Facts: what has happened to a task, node, job or pool, as plain data for the chapters that react to it.

A chapter of the rules that changes something emits a fact with ``World.emit``; ``engine.rules.reactions`` lists, for
each kind of fact, who reacts and in which order. Row numbers refer to the tables of the world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.base.terms import Deallocation, DependencyAction, DisableTasks, FailureInfo, JobAction
    from engine.shell.protocol import Plan
    from engine.specs.bodies import JobSpec
    from engine.state.acting import Process
    from engine.state.files import Disk


# -- tasks -----------------------------------------------------------------------------------------------------------


class TaskAssigned(NamedTuple):
    """The scheduler has assigned a task of the job to a node and taken its slots there."""

    job: int
    task: int
    node: int
    instance: int  # of the job on the node, -1 if the job has no preparation


class GangAssigned(NamedTuple):
    """The scheduler has assigned a multi-instance task to several nodes, the primary's first, and taken their slots."""

    job: int
    task: int
    nodes: tuple[int, ...]


class WaitOver(NamedTuple):
    """A running process has got what it waited for: it ends, at the earliest when it is set up (JM-12)."""

    process: Process


class TaskDisplaced(NamedTuple):
    """The scheduler needs the room of a running task for another one."""

    task: int
    rule: str


class TaskLimitChanged(NamedTuple):
    """The time limit of a task that is not completed has been updated."""

    task: int


class GangAttemptEnded(NamedTuple):
    """The attempt of a multi-instance task has come to its end.

    ``final`` is why the task has failed, and the rule, if this was the last attempt; None: its own nonzero exit code.
    """

    task: int
    plan: Plan
    final: tuple[FailureInfo, str] | None = None


class PrimaryEnded(NamedTuple):
    """A multi-instance task has left its nodes: it is completed, or active again."""

    task: int


class TaskCompleted(NamedTuple):
    """A task has been completed in a way that may matter to its job and to its dependents."""

    task: int
    job_action: JobAction
    dependency_action: DependencyAction


class TaskStopped(NamedTuple):
    """A task of the job no longer runs or prepares, or is gone; emitted where that may matter to the job."""

    job: int


class TaskLeftNode(NamedTuple):
    """A task has left the node, and the slots that it held there are free."""

    node: int
    slots: int


# -- preparation and release -----------------------------------------------------------------------------------------


class NodePrepared(NamedTuple):
    """The preparation of a job has succeeded on a node."""

    job: int
    node: int
    instance: int


class GangNodePrepared(NamedTuple):
    """One of the nodes on which a multi-instance task waits for the job's preparation is prepared."""

    task: int


class PreparationFailed(NamedTuple):
    """The preparation of a job has failed for good on a node, which gets no more tasks of the job."""

    job: int
    node: int


class InstanceInterrupted(NamedTuple):
    """The node of an instance stops: ``row`` may have a preparation or a release under way, or none."""

    row: int
    disk: Disk
    why: FailureInfo
    rule: str
    was_preparing: bool


class ReleasesEnded(NamedTuple):
    """No release instance that the job waits for is left."""

    job: int


# -- jobs and job schedules ------------------------------------------------------------------------------------------


class JobAdded(NamedTuple):
    """A job has been added; its pool is not known yet."""

    job: int


class JobBegun(NamedTuple):
    """A job that was added has got its pool, if there is one, and takes tasks."""

    job: int


class JobDisabled(NamedTuple):
    """The job is being disabled; the option says what happens to its running tasks."""

    job: int
    option: DisableTasks


class JobEnding(NamedTuple):
    """The job is being terminated or deleted: nothing of it is to run any more but its release task."""

    job: int


class JobEnded(NamedTuple):
    """A job is completed or gone, release tasks included."""

    job: int


class OccurrenceDue(NamedTuple):
    """An occurrence of a job schedule makes its job."""

    schedule: int
    spec: JobSpec


class ScheduledJobTerminated(NamedTuple):
    """The job schedule of the job is being terminated, and its job with it."""

    job: int
    force: bool


class ScheduledJobDeleted(NamedTuple):
    """The job schedule of the job is being deleted, and its jobs with it."""

    job: int
    force: bool


class JobScheduleEnded(NamedTuple):
    """A job schedule is completed or gone."""

    schedule: int


# -- nodes -----------------------------------------------------------------------------------------------------------


class VmAllocated(NamedTuple):
    """A VM that the pool has requested has been obtained."""

    pool: int
    dedicated: bool


class NodeAdded(NamedTuple):
    """A node has been added to its pool."""

    node: int


class FailureDrawn(NamedTuple):
    """A node fails by chance."""

    node: int


class EvictionDrawn(NamedTuple):
    """The VM of a Spot node is to be taken back by chance; it is announced now."""

    node: int


class VmReplaced(NamedTuple):
    """Another VM has been obtained for a preempted node."""

    node: int


class VmStarted(NamedTuple):
    """A user has started the VM of a deallocated node."""

    node: int


class NodeCutOff(NamedTuple):
    """Batch has not reached a node that starts, because its network is closed."""

    node: int


class NodeBooted(NamedTuple):
    """Batch runs on the node, which can be set up, or has been set up since."""

    node: int


class NodeUsable(NamedTuple):
    """The node can run tasks: its start task has succeeded or is not awaited, or contact with it is back."""

    node: int


class StartTaskFailed(NamedTuple):
    """The start task has failed on a node that waits for its success."""

    node: int


class NodeBroken(NamedTuple):
    """Something on the node does not work, and only a reboot will try again (NODE-15)."""

    node: int
    code: str
    details: tuple[tuple[str, str], ...] = ()


class ContactWaitEnded(NamedTuple):
    """Contact with the node has been lost for as long as it is waited for."""

    node: int


class NodeUnreachable(NamedTuple):
    """Contact with the node is lost, or the node is unusable: what it owes cannot happen now."""

    node: int


class NodeUnusable(NamedTuple):
    """The node is unusable and stays in its pool; what was on it has been dealt with."""

    node: int


class NodePreempted(NamedTuple):
    """The VM of a Spot node has been taken back; what was on it has been dealt with."""

    node: int


class NodeLost(NamedTuple):
    """The node has failed or lost its VM, and with it what runs there; ``rule`` is why tasks run again."""

    node: int
    disk: Disk
    rule: str


class NodeStopped(NamedTuple):
    """An operation has stopped everything that runs on the node; ``option`` says what becomes of tasks."""

    node: int
    option: Deallocation
    disk: Disk
    rule: str  # why tasks end
    prep_rule: str  # why a running preparation ends


class SchedulingDisabled(NamedTuple):
    """A user has disabled scheduling on the node; ``option`` says what becomes of its tasks."""

    node: int
    option: Deallocation


class NodeDrainBegun(NamedTuple):
    """An operation waits for the running tasks of the node."""

    node: int


class NodeDrained(NamedTuple):
    """The last task has left a node with an operation that waits for that."""

    node: int


class NodeRemovalRequested(NamedTuple):
    """The node is to leave its pool; ``option`` says what becomes of its tasks."""

    node: int
    option: Deallocation


class NodeUpgradeDue(NamedTuple):
    """The turn of a node has come to get the new version of its pool's operating system."""

    node: int


class NodeKept(NamedTuple):
    """A node that waited for its tasks before it left stays in its pool."""

    node: int


class NodeLeaving(NamedTuple):
    """The node leaves its pool now; ``option`` says what becomes of its tasks."""

    node: int
    option: Deallocation


class NodeGone(NamedTuple):
    """The node has left its pool."""

    node: int


# -- account ---------------------------------------------------------------------------------------------------------


class QuotasChanged(NamedTuple):
    """Quotas of the account have been set."""


# -- pools -----------------------------------------------------------------------------------------------------------


class PoolCreated(NamedTuple):
    """A pool has been created, without nodes."""

    pool: int


class TargetsSet(NamedTuple):
    """A formula has set the targets of the pool; ``option`` says how nodes leave."""

    pool: int
    option: Deallocation
