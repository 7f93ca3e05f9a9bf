"""Facts: what has happened to a task, node, job or pool, as plain data for the chapters that react to it.

A chapter of the rules that changes something emits a fact with ``World.emit``; ``engine.rules.reactions`` lists, for
each kind of fact, who reacts and in which order. Row numbers refer to the tables of the world.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.base.errors import FailureInfo
    from engine.base.terms import Deallocation, DependencyAction, DisableTasks, JobAction
    from engine.shell.protocol import Plan
    from engine.specs.bodies import JobSpec
    from engine.state.acting import Process


class _OfTask(NamedTuple):
    task: int


class _OfJob(NamedTuple):
    job: int


class _OfNode(NamedTuple):
    node: int


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


class TaskLimitChanged(_OfTask):
    """The time limit of a task that is not completed has been updated."""


class GangAttemptEnded(NamedTuple):
    """The attempt of a multi-instance task has come to its end.

    ``final`` is why the task has failed, and the rule, if this was the last attempt; None: its own nonzero exit code.
    """

    task: int
    plan: Plan
    final: tuple[FailureInfo, str] | None = None


class PrimaryEnded(_OfTask):
    """A multi-instance task has left its nodes: it is completed, or active again."""


class TaskCompleted(NamedTuple):
    """A task has been completed in a way that may matter to its job and to its dependents."""

    task: int
    job_action: JobAction
    dependency_action: DependencyAction


class TaskStopped(_OfJob):
    """A task of the job no longer runs or prepares, or is gone; emitted where that may matter to the job."""


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


class GangNodePrepared(_OfTask):
    """One of the nodes on which a multi-instance task waits for the job's preparation is prepared."""


class PreparationFailed(NamedTuple):
    """The preparation of a job has failed for good on a node, which gets no more tasks of the job."""

    job: int
    node: int


class InstanceInterrupted(NamedTuple):
    """The node of an instance stops: ``row`` may have a preparation or a release under way, or none."""

    row: int
    wipes_disk: bool
    why: FailureInfo
    rule: str
    was_preparing: bool


class ReleasesEnded(_OfJob):
    """No release instance that the job waits for is left."""


# -- jobs and job schedules ------------------------------------------------------------------------------------------


class JobAdded(_OfJob):
    """A job has been added; its pool is not known yet."""


class JobBegun(_OfJob):
    """A job that was added has got its pool, if there is one, and takes tasks."""


class JobDisabled(NamedTuple):
    """The job is being disabled; the option says what happens to its running tasks."""

    job: int
    option: DisableTasks


class JobEnding(_OfJob):
    """The job is being terminated or deleted: nothing of it is to run any more but its release task."""


class JobEnded(_OfJob):
    """A job is completed or gone, release tasks included."""


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


class NodeAdded(_OfNode):
    """A node has been added to its pool."""


class FailureDrawn(_OfNode):
    """A node fails by chance."""


class EvictionDrawn(_OfNode):
    """The VM of a Spot node is to be taken back by chance; it is announced now."""


class VmReplaced(_OfNode):
    """Another VM has been obtained for a preempted node."""


class VmStarted(_OfNode):
    """A user has started the VM of a deallocated node."""


class NodeCutOff(_OfNode):
    """Batch has not reached a node that starts, because its network is closed."""


class NodeBooted(_OfNode):
    """Batch runs on the node, which can be set up, or has been set up since."""


class NodeUsable(_OfNode):
    """The node can run tasks: its start task has succeeded or is not awaited, or contact with it is back."""


class StartTaskFailed(_OfNode):
    """The start task has failed on a node that waits for its success."""


class NodeBroken(NamedTuple):
    """Something on the node does not work, and only a reboot will try again (NODE-15)."""

    node: int
    code: str
    details: tuple[tuple[str, str], ...] = ()


class ContactWaitEnded(_OfNode):
    """Contact with the node has been lost for as long as it is waited for."""


class NodeUnreachable(_OfNode):
    """Contact with the node is lost, or the node is unusable: what it owes cannot happen now."""


class NodeUnusable(_OfNode):
    """The node is unusable and stays in its pool; what was on it has been dealt with."""


class NodePreempted(_OfNode):
    """The VM of a Spot node has been taken back; what was on it has been dealt with."""


class NodeLost(NamedTuple):
    """The node has failed or lost its VM, and with it what runs there; ``rule`` is why tasks run again."""

    node: int
    wipes_disk: bool
    rule: str


class NodeStopped(NamedTuple):
    """An operation has stopped everything that runs on the node; ``option`` says what becomes of tasks."""

    node: int
    option: Deallocation
    wipes_disk: bool
    rule: str  # why tasks end
    prep_rule: str  # why a running preparation ends


class SchedulingDisabled(NamedTuple):
    """A user has disabled scheduling on the node; ``option`` says what becomes of its tasks."""

    node: int
    option: Deallocation


class NodeDrainBegun(_OfNode):
    """An operation waits for the running tasks of the node."""


class NodeDrained(_OfNode):
    """The last task has left a node with an operation that waits for that."""


class NodeRemovalRequested(NamedTuple):
    """The node is to leave its pool; ``option`` says what becomes of its tasks."""

    node: int
    option: Deallocation


class NodeUpgradeDue(_OfNode):
    """The turn of a node has come to get the new version of its pool's operating system."""


class NodeKept(_OfNode):
    """A node that waited for its tasks before it left stays in its pool."""


class NodeLeaving(NamedTuple):
    """The node leaves its pool now; ``option`` says what becomes of its tasks."""

    node: int
    option: Deallocation


class NodeGone(_OfNode):
    """The node has left its pool."""


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
