"""What can be done to the service, and to the world, while a scenario runs.

One frozen class for each operation of the service and for each fault. The path parameters of an
operation stand beside its body. ``wire()`` is the entry of a timeline that makes an equal command again.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, AliasChoices, Field, PlainValidator, WithJsonSchema, model_validator

from engine.base.terms import Deallocation, DisableTasks, WireOption
from engine.base.units import MINUTE_MS
from engine.specs.account import Certificate
from engine.specs.base import Bool, FiniteDuration, Int, OptionalDuration, Secret, Spec, Text, UtcTime
from engine.specs.common import IdentityReference
from engine.specs.job import JobSpec, JobUpdate
from engine.specs.pool import PoolReplacement, PoolSpec, PoolUpdate
from engine.specs.schedule import JobScheduleSpec, JobScheduleUpdate
from engine.specs.task import TaskConstraints, TaskSpec

COMMANDS: dict[str, type[Command]] = {}
"""Every command by its name on the wire."""


class Command(Spec):
    """Base of the commands; ``NAME`` is the operation's name on the wire, ``RULE`` what its event in the log cites."""

    NAME: ClassVar[str]
    RULE: ClassVar[str | None] = None

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        """Add the class to ``COMMANDS`` unless it is only a base of commands."""
        super().__init_subclass__()
        if not abstract:
            cls.NAME = cls.__name__[0].lower() + cls.__name__[1:]
            COMMANDS[cls.NAME] = cls

    def wire(self) -> dict[str, Any]:
        """What was given, under its wire names; ``from_wire`` makes an equal command of it."""
        return self.written()


class OnPool(Command, abstract=True):
    """Acts on a pool."""

    pool_id: Text


class OnNode(OnPool, abstract=True):
    """Acts on a node, named by its id or by its index in the pool's history."""

    node_id: Text | None = None
    node: Annotated[Int, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _names_one_node(self) -> Self:
        if (self.node_id is None) == (self.node is None):
            raise ValueError("should name one node, by nodeId or by node, its index")
        return self


class OnJob(Command, abstract=True):
    """Acts on a job."""

    job_id: Text


class OnTask(OnJob, abstract=True):
    """Acts on a task."""

    task_id: Text


class OnJobSchedule(Command, abstract=True):
    """Acts on a job schedule."""

    job_schedule_id: Text


def _parse_node_name(value: object) -> str | int:
    if isinstance(value, str) or (type(value) is int and value >= 0):
        return value
    raise ValueError(f"{value!r} is neither the id of a node nor the index of one")


NodeName = Annotated[
    str | int,
    PlainValidator(_parse_node_name),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]}),
]


def _keeps_no_data(option: Deallocation) -> Deallocation:
    if option is Deallocation.RETAINED_DATA:
        raise ValueError("should be requeue, terminate or taskcompletion")
    return option


# --- pools


class CreatePool(PoolSpec, Command):
    """POOL-2."""

    @property
    def spec(self) -> PoolSpec:
        """The body without its name as a command."""
        return PoolSpec.from_wire(self.wire())


class DeletePool(OnPool):
    """RSZ-10."""


class UpdatePool(PoolUpdate, OnPool):
    """POOL-14; ``model_fields_set`` says what was given."""


class ReplacePoolProperties(PoolReplacement, OnPool):
    """POOL-14: all five properties at once."""


class ResizePool(OnPool):
    """RSZ-1: a target that is None keeps its value."""

    target_dedicated_nodes: Int | None = Field(
        default=None, validation_alias=AliasChoices("targetDedicatedNodes", "targetDedicated")
    )
    target_low_priority_nodes: Int | None = None
    resize_timeout: FiniteDuration = 15 * MINUTE_MS
    node_deallocation_option: Deallocation = Deallocation.REQUEUE


class StopPoolResize(OnPool):
    """RSZ-9."""


class EnablePoolAutoScale(OnPool):
    """POOL-20: what is None keeps its value on a pool that scales itself already."""

    auto_scale_formula: Text | None = None
    auto_scale_evaluation_interval: OptionalDuration = None


class DisablePoolAutoScale(OnPool):
    """POOL-20."""


class EvaluatePoolAutoScale(OnPool):
    """POOL-20."""

    auto_scale_formula: Text


class UpgradePoolOS(OnPool):
    """POOL-22."""

    os_version: Text = Field(validation_alias=AliasChoices("targetOSVersion", "osVersion"))


class RemoveNodes(OnPool):
    """RSZ-8: a node is named by its id or by its index."""

    node_list: tuple[NodeName, ...]
    resize_timeout: FiniteDuration = 15 * MINUTE_MS
    node_deallocation_option: Deallocation = Deallocation.REQUEUE


# --- nodes


class RebootNode(OnNode):
    """NOP-3."""

    node_reboot_option: Deallocation = Deallocation.REQUEUE


class ReimageNode(OnNode):
    """NOP-4."""

    node_reimage_option: Deallocation = Deallocation.REQUEUE


class DeallocateNode(OnNode):
    """NOP-8."""

    node_deallocate_option: Deallocation = Deallocation.REQUEUE


class StartNode(OnNode):
    """NOP-8."""


class DisableNodeScheduling(OnNode):
    """NOP-6."""

    node_disable_scheduling_option: Annotated[Deallocation, AfterValidator(_keeps_no_data)] = Deallocation.REQUEUE


class EnableNodeScheduling(OnNode):
    """NOP-6."""


class CreateNodeUser(OnNode):
    """NOP-9: without an expiry time the user lasts a day."""

    name: Text
    is_admin: Bool = False
    expiry_time: UtcTime | None = None
    password: Secret | None = None
    ssh_public_key: Text | None = None


class UpdateNodeUser(OnNode):
    """NOP-9: what is not given has its default again."""

    name: Text = Field(validation_alias=AliasChoices("name", "userName"))
    expiry_time: UtcTime | None = None
    password: Secret | None = None
    ssh_public_key: Text | None = None


class DeleteNodeUser(OnNode):
    """NOP-9."""

    name: Text = Field(validation_alias=AliasChoices("name", "userName"))


class UploadNodeLogs(OnNode):
    """NOP-11."""

    container_url: Text
    start_time: UtcTime
    end_time: UtcTime | None = None
    identity_reference: IdentityReference | None = None


# --- jobs

_TASKS = ("tasks", "taskFactory")


class CreateJob(JobSpec, Command):
    """JOB-2, with tasks to add at once; ``task_factory`` is what a scenario job has there."""

    tasks: tuple[TaskSpec, ...] = ()
    task_factory: dict[str, Any] | None = None

    @property
    def spec(self) -> JobSpec:
        """The body without the tasks."""
        return JobSpec.from_wire({name: value for name, value in self.wire().items() if name not in _TASKS})


class UpdateJob(JobUpdate, OnJob):
    """JOB-2; ``model_fields_set`` says what was given."""


class DisableJob(OnJob):
    """JOB-11."""

    disable_tasks: DisableTasks


class EnableJob(OnJob):
    """JOB-12."""


class TerminateJob(OnJob):
    """JOB-15."""

    terminate_reason: Text | None = None
    force: Bool = False


class DeleteJob(OnJob):
    """JOB-16."""

    force: Bool = False


# --- tasks


class AddTasks(OnJob):
    """TASK-3; ``task_factory`` is what a scenario job has there."""

    tasks: tuple[TaskSpec, ...] = Field(default=(), validation_alias=AliasChoices("tasks", "value"))
    task_factory: dict[str, Any] | None = None


class UpdateTask(OnTask):
    """TASK-12: the constraints are replaced, what is not given falls back to its default."""

    constraints: TaskConstraints = TaskConstraints()


class TerminateTask(OnTask):
    """TASK-13."""


class ReactivateTask(OnTask):
    """TASK-15."""


class DeleteTask(OnTask):
    """TASK-14."""


# --- job schedules


class CreateJobSchedule(JobScheduleSpec, Command):
    """JS-1."""

    @property
    def spec(self) -> JobScheduleSpec:
        """The body without its name as a command."""
        return JobScheduleSpec.from_wire(self.wire())


class UpdateJobSchedule(JobScheduleUpdate, OnJobSchedule):
    """JS-9; ``model_fields_set`` says what was given."""


class DisableJobSchedule(OnJobSchedule):
    """JS-6."""


class EnableJobSchedule(OnJobSchedule):
    """JS-6."""


class TerminateJobSchedule(OnJobSchedule):
    """JS-8."""

    force: Bool = False


class DeleteJobSchedule(OnJobSchedule):
    """JS-8."""

    force: Bool = False


# --- certificates


class AddCertificate(Certificate, Command):
    """CERT-1."""

    @property
    def spec(self) -> Certificate:
        """The body without its name as a command."""
        return Certificate.from_wire(self.wire())


class OnCertificate(Command, abstract=True):
    """Acts on a certificate."""

    thumbprint: Text
    thumbprint_algorithm: Text = "sha1"


class DeleteCertificate(OnCertificate):
    """CERT-4."""


class CancelCertificateDeletion(OnCertificate):
    """CERT-4."""


# --- faults

_FOR = AliasChoices("for")


class NodeFault(WireOption):
    """How a node fails (NODE-8)."""

    UNUSABLE = "unusable"
    UNKNOWN = "unknown"


class FailNode(OnNode):
    """NODE-11: the node is of no use, for ``for_ms`` milliseconds or until it is recovered."""

    state: NodeFault = NodeFault.UNUSABLE
    code: Text | None = None
    for_ms: OptionalDuration = Field(default=None, validation_alias=_FOR, serialization_alias="for")


class EvictNode(OnNode):
    """The notice that a Spot node's VM will be taken back (SPOT-3, SPOT-7)."""

    RULE = "SPOT-7"


class AllocationError(WireOption):
    """ERR-R: what a resize says that finds no capacity, or the like."""

    ALLOCATION_FAILED = "AllocationFailed"
    OVERCONSTRAINED = "OverconstrainedAllocationRequestError"
    RESOURCE_NOT_FOUND = "DependentResourceNotFound"


class Capacity(Command):
    """How many nodes of a size the region can still give, and what a resize says that wants more (RSZ-12)."""

    vm_size: Text
    nodes: Annotated[Int, Field(ge=0)]
    code: AllocationError = AllocationError.ALLOCATION_FAILED


class StorageOutage(Command):
    """Storage does not answer for ``for_ms`` milliseconds; None is until the end."""

    for_ms: OptionalDuration = Field(default=None, validation_alias=_FOR, serialization_alias="for")


# The commands that are no operations of the service.
FAULTS = (FailNode, EvictNode, Capacity, StorageOutage)
