"""What can be done to the service, and to the world, while a scenario runs.

One frozen class for each operation of the service and for each fault. The path parameters of an
operation stand beside its body. ``wire()`` is the entry of a timeline that makes an equal command again.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args

from pydantic import AfterValidator, AliasChoices, Field

from engine.base.terms import Deallocation, DisableTasks
from engine.base.units import MINUTE_MS
from engine.specs.account import Certificate
from engine.specs.base import Bool, FiniteDuration, Int, OptionalDuration, Secret, Text, UtcTime
from engine.specs.common import IdentityReference
from engine.specs.entry import CommandBody, NodeName, OnJob, OnJobSchedule, OnNode, OnPool, OnTask
from engine.specs.faults import Capacity, EvictNode, FailNode, StorageOutage
from engine.specs.job import JobSpec, JobUpdate
from engine.specs.pool import PoolReplacement, PoolSpec, PoolUpdate
from engine.specs.schedule import JobScheduleSpec, JobScheduleUpdate
from engine.specs.task import TaskConstraints, TaskSpec


def _keeps_no_data(option: Deallocation) -> Deallocation:
    if option is Deallocation.RETAINED_DATA:
        raise ValueError("should be requeue, terminate or taskcompletion")
    return option


# --- pools


class CreatePool(PoolSpec, CommandBody):
    """POOL-2."""

    NAME = "createPool"

    @property
    def spec(self) -> PoolSpec:
        """The body without its name as a command."""
        return PoolSpec.from_wire(self.wire())


class DeletePool(OnPool):
    """RSZ-10."""

    NAME = "deletePool"


class UpdatePool(PoolUpdate, OnPool):
    """POOL-14; ``model_fields_set`` says what was given."""

    NAME = "updatePool"


class ReplacePoolProperties(PoolReplacement, OnPool):
    """POOL-14: all five properties at once."""

    NAME = "replacePoolProperties"


class ResizePool(OnPool):
    """RSZ-1: a target that is None keeps its value."""

    NAME = "resizePool"

    target_dedicated_nodes: Int | None = Field(
        default=None, validation_alias=AliasChoices("targetDedicatedNodes", "targetDedicated")
    )
    target_low_priority_nodes: Int | None = None
    resize_timeout: FiniteDuration = 15 * MINUTE_MS
    node_deallocation_option: Deallocation = Deallocation.REQUEUE


class StopPoolResize(OnPool):
    """RSZ-9."""

    NAME = "stopPoolResize"


class EnablePoolAutoScale(OnPool):
    """POOL-20: what is None keeps its value on a pool that scales itself already."""

    NAME = "enablePoolAutoScale"

    auto_scale_formula: Text | None = None
    auto_scale_evaluation_interval: OptionalDuration = None


class DisablePoolAutoScale(OnPool):
    """POOL-20."""

    NAME = "disablePoolAutoScale"


class EvaluatePoolAutoScale(OnPool):
    """POOL-20."""

    NAME = "evaluatePoolAutoScale"

    auto_scale_formula: Text


class UpgradePoolOS(OnPool):
    """POOL-22."""

    NAME = "upgradePoolOS"

    os_version: Text = Field(validation_alias=AliasChoices("targetOSVersion", "osVersion"))


class RemoveNodes(OnPool):
    """RSZ-8: a node is named by its id or by its index."""

    NAME = "removeNodes"

    node_list: tuple[NodeName, ...]
    resize_timeout: FiniteDuration = 15 * MINUTE_MS
    node_deallocation_option: Deallocation = Deallocation.REQUEUE


# --- nodes


class RebootNode(OnNode):
    """NOP-3."""

    NAME = "rebootNode"

    node_reboot_option: Deallocation = Deallocation.REQUEUE


class ReimageNode(OnNode):
    """NOP-4."""

    NAME = "reimageNode"

    node_reimage_option: Deallocation = Deallocation.REQUEUE


class DeallocateNode(OnNode):
    """NOP-8."""

    NAME = "deallocateNode"

    node_deallocate_option: Deallocation = Deallocation.REQUEUE


class StartNode(OnNode):
    """NOP-8."""

    NAME = "startNode"


class DisableNodeScheduling(OnNode):
    """NOP-6."""

    NAME = "disableNodeScheduling"

    node_disable_scheduling_option: Annotated[Deallocation, AfterValidator(_keeps_no_data)] = Deallocation.REQUEUE


class EnableNodeScheduling(OnNode):
    """NOP-6."""

    NAME = "enableNodeScheduling"


class CreateNodeUser(OnNode):
    """NOP-9: without an expiry time the user lasts a day."""

    NAME = "createNodeUser"

    name: Text
    is_admin: Bool = False
    expiry_time: UtcTime | None = None
    password: Secret | None = None
    ssh_public_key: Text | None = None


class UpdateNodeUser(OnNode):
    """NOP-9: what is not given has its default again."""

    NAME = "updateNodeUser"

    name: Text = Field(validation_alias=AliasChoices("name", "userName"))
    expiry_time: UtcTime | None = None
    password: Secret | None = None
    ssh_public_key: Text | None = None


class DeleteNodeUser(OnNode):
    """NOP-9."""

    NAME = "deleteNodeUser"

    name: Text = Field(validation_alias=AliasChoices("name", "userName"))


class UploadNodeLogs(OnNode):
    """NOP-11."""

    NAME = "uploadNodeLogs"

    container_url: Text
    start_time: UtcTime
    end_time: UtcTime | None = None
    identity_reference: IdentityReference | None = None


# --- jobs

_TASKS = ("tasks", "taskFactory")


class CreateJob(JobSpec, CommandBody):
    """JOB-2, with tasks to add at once; ``task_factory`` is what a scenario job has there."""

    NAME = "createJob"

    tasks: tuple[TaskSpec, ...] = ()
    task_factory: dict[str, Any] | None = None

    @property
    def spec(self) -> JobSpec:
        """The body without the tasks."""
        return JobSpec.from_wire({name: value for name, value in self.wire().items() if name not in _TASKS})


class UpdateJob(JobUpdate, OnJob):
    """JOB-2; ``model_fields_set`` says what was given."""

    NAME = "updateJob"


class DisableJob(OnJob):
    """JOB-11."""

    NAME = "disableJob"

    disable_tasks: DisableTasks


class EnableJob(OnJob):
    """JOB-12."""

    NAME = "enableJob"


class TerminateJob(OnJob):
    """JOB-15."""

    NAME = "terminateJob"

    terminate_reason: Text | None = None
    force: Bool = False


class DeleteJob(OnJob):
    """JOB-16."""

    NAME = "deleteJob"

    force: Bool = False


# --- tasks


class AddTasks(OnJob):
    """TASK-3; ``task_factory`` is what a scenario job has there."""

    NAME = "addTasks"

    tasks: tuple[TaskSpec, ...] = Field(default=(), validation_alias=AliasChoices("tasks", "value"))
    task_factory: dict[str, Any] | None = None


class UpdateTask(OnTask):
    """TASK-12: the constraints are replaced, what is not given falls back to its default."""

    NAME = "updateTask"

    constraints: TaskConstraints = TaskConstraints()


class TerminateTask(OnTask):
    """TASK-13."""

    NAME = "terminateTask"


class ReactivateTask(OnTask):
    """TASK-15."""

    NAME = "reactivateTask"


class DeleteTask(OnTask):
    """TASK-14."""

    NAME = "deleteTask"


# --- job schedules


class CreateJobSchedule(JobScheduleSpec, CommandBody):
    """JS-1."""

    NAME = "createJobSchedule"

    @property
    def spec(self) -> JobScheduleSpec:
        """The body without its name as a command."""
        return JobScheduleSpec.from_wire(self.wire())


class UpdateJobSchedule(JobScheduleUpdate, OnJobSchedule):
    """JS-9; ``model_fields_set`` says what was given."""

    NAME = "updateJobSchedule"


class DisableJobSchedule(OnJobSchedule):
    """JS-6."""

    NAME = "disableJobSchedule"


class EnableJobSchedule(OnJobSchedule):
    """JS-6."""

    NAME = "enableJobSchedule"


class TerminateJobSchedule(OnJobSchedule):
    """JS-8."""

    NAME = "terminateJobSchedule"

    force: Bool = False


class DeleteJobSchedule(OnJobSchedule):
    """JS-8."""

    NAME = "deleteJobSchedule"

    force: Bool = False


# --- certificates


class AddCertificate(Certificate, CommandBody):
    """CERT-1."""

    NAME = "addCertificate"

    @property
    def spec(self) -> Certificate:
        """The body without its name as a command."""
        return Certificate.from_wire(self.wire())


class OnCertificate(CommandBody):
    """Acts on a certificate."""

    thumbprint: Text
    thumbprint_algorithm: Text = "sha1"


class DeleteCertificate(OnCertificate):
    """CERT-4."""

    NAME = "deleteCertificate"


class CancelCertificateDeletion(OnCertificate):
    """CERT-4."""

    NAME = "cancelCertificateDeletion"


Command = (
    CreatePool
    | DeletePool
    | UpdatePool
    | ReplacePoolProperties
    | ResizePool
    | StopPoolResize
    | EnablePoolAutoScale
    | DisablePoolAutoScale
    | EvaluatePoolAutoScale
    | UpgradePoolOS
    | RemoveNodes
    | RebootNode
    | ReimageNode
    | DeallocateNode
    | StartNode
    | DisableNodeScheduling
    | EnableNodeScheduling
    | CreateNodeUser
    | UpdateNodeUser
    | DeleteNodeUser
    | UploadNodeLogs
    | CreateJob
    | UpdateJob
    | DisableJob
    | EnableJob
    | TerminateJob
    | DeleteJob
    | AddTasks
    | UpdateTask
    | TerminateTask
    | ReactivateTask
    | DeleteTask
    | CreateJobSchedule
    | UpdateJobSchedule
    | DisableJobSchedule
    | EnableJobSchedule
    | TerminateJobSchedule
    | DeleteJobSchedule
    | AddCertificate
    | DeleteCertificate
    | CancelCertificateDeletion
    | FailNode
    | EvictNode
    | Capacity
    | StorageOutage
)

# Every command by its name on the wire.
COMMANDS: dict[str, type[Command]] = {command.NAME: command for command in get_args(Command)}
# Those that are no operation of the service.
FAULTS = (FailNode, EvictNode, Capacity, StorageOutage)
