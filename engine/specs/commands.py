"""The commands: one frozen class for each operation of the service and each fault.

The path parameters of an operation stand beside its body. ``wire()`` returns the timeline entry of an equal command.
"""

from copy import copy
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, Field, field_validator

from engine.base.terms import Deallocation, DisableTasks, WireOption
from engine.base.values import MINUTE_MS, quoted
from engine.specs.account import Certificate, Count, Quotas
from engine.specs.base import (
    Bool,
    FiniteDuration,
    IdentityReference,
    Int,
    OptionalDuration,
    Secret,
    Size,
    Text,
    UtcTime,
)
from engine.specs.bodies import (
    JobScheduleSpec,
    JobScheduleUpdate,
    JobSpec,
    JobUpdate,
    PoolInfo,
    PoolReplacement,
    PoolSpec,
    PoolUpdate,
    TargetDedicated,
    TaskConstraints,
    TaskSpec,
)
from engine.specs.command import (
    REGISTERED,
    Command,
    NodeName,
    OnApplication,
    OnCertificate,
    OnJob,
    OnJobSchedule,
    OnNode,
    OnPool,
    OnTask,
)
from engine.specs.images import family_of


def _keeps_no_data(option: Deallocation) -> Deallocation:
    if option is Deallocation.RETAINED_DATA:
        raise ValueError("must be requeue, terminate or taskcompletion")
    return option


# --- pools


class CreatePool(PoolSpec, Command):
    """Create a pool (POOL-2)."""

    @property
    def spec(self) -> PoolSpec:
        """The body as a pool, which need not be read again."""
        return PoolSpec.model_construct(self.model_fields_set, **vars(self))


class DeletePool(OnPool):
    """Delete a pool (RSZ-10)."""


class UpdatePool(PoolUpdate, OnPool):
    """Change those properties of a pool that are given (POOL-14)."""


class ReplacePoolProperties(PoolReplacement, OnPool):
    """Replace all properties of a pool that can change (POOL-14)."""


class ResizePool(OnPool):
    """Resize a pool; a target that is absent keeps its value (RSZ-1)."""

    target_dedicated_nodes: TargetDedicated = None
    target_low_priority_nodes: Int | None = None
    resize_timeout: FiniteDuration = 15 * MINUTE_MS
    node_deallocation_option: Deallocation = Deallocation.REQUEUE


class StopPoolResize(OnPool):
    """Stop the resize of a pool (RSZ-9)."""


class EnablePoolAutoScale(OnPool):
    """Enable autoscale on a pool, or change what is given if it is enabled (POOL-20)."""

    auto_scale_formula: Text | None = None
    auto_scale_evaluation_interval: OptionalDuration = None


class DisablePoolAutoScale(OnPool):
    """Disable autoscale on a pool (POOL-20)."""


class EvaluatePoolAutoScale(OnPool):
    """Evaluate a formula on a pool without applying it (POOL-20)."""

    auto_scale_formula: Text


class UpgradePoolOS(OnPool):
    """Upgrade the operating system of a pool's nodes (POOL-22)."""

    os_version: Text = Field(validation_alias=AliasChoices("targetOSVersion", "osVersion"))


class RemoveNodes(OnPool):
    """Remove nodes, named by id or index, from a pool (RSZ-8)."""

    node_list: tuple[NodeName, ...]
    resize_timeout: FiniteDuration = 15 * MINUTE_MS
    node_deallocation_option: Deallocation = Deallocation.REQUEUE


# --- nodes


class RebootNode(OnNode):
    """Reboot a node (NOP-3)."""

    node_reboot_option: Deallocation = Deallocation.REQUEUE


class ReimageNode(OnNode):
    """Reimage a node (NOP-4)."""

    node_reimage_option: Deallocation = Deallocation.REQUEUE


class DeallocateNode(OnNode):
    """Deallocate a node (NOP-8)."""

    node_deallocate_option: Deallocation = Deallocation.REQUEUE


class StartNode(OnNode):
    """Start a deallocated node (NOP-8)."""


class DisableNodeScheduling(OnNode):
    """Disable task scheduling on a node (NOP-6)."""

    node_disable_scheduling_option: Annotated[Deallocation, AfterValidator(_keeps_no_data)] = Deallocation.REQUEUE


class EnableNodeScheduling(OnNode):
    """Enable task scheduling on a node (NOP-6)."""


class CreateNodeUser(OnNode):
    """Create a user on a node. Without an expiry time it lasts a day (NOP-9)."""

    name: Text
    is_admin: Bool = False
    expiry_time: UtcTime | None = None
    password: Secret | None = None
    ssh_public_key: Text | None = None


_UserName = Annotated[Text, Field(validation_alias=AliasChoices("name", "userName"))]


class UpdateNodeUser(OnNode):
    """Replace the properties of a user on a node; absent ones get their defaults (NOP-9)."""

    name: _UserName
    expiry_time: UtcTime | None = None
    password: Secret | None = None
    ssh_public_key: Text | None = None


class DeleteNodeUser(OnNode):
    """Delete a user from a node (NOP-9)."""

    name: _UserName


class UploadNodeLogs(OnNode):
    """Upload the node agent's logs to a container (NOP-11)."""

    container_url: Text
    start_time: UtcTime
    end_time: UtcTime | None = None
    identity_reference: IdentityReference | None = None


class DeleteNodeFile(OnNode):
    """Delete a file or directory, named by its path below the node's root (FILE-11)."""

    RULE = "FILE-11"

    file_path: Text
    recursive: Bool = False


# --- jobs

_TASKS = ("tasks", "taskFactory")


class CreateJob(JobSpec, Command):
    """Create a job, with tasks to add at once; ``task_factory`` is as in a scenario's job (JOB-2)."""

    tasks: tuple[TaskSpec, ...] = ()
    task_factory: dict[str, Any] | None = None

    @staticmethod
    def of(spec: JobSpec) -> "CreateJob":
        """Return the command that creates the job of this body, which need not be read again."""
        command = copy(_WITHOUT_BODY)
        vars(command).update(vars(spec), spec=spec)
        command.model_fields_set.update(spec.model_fields_set)
        return command

    @cached_property
    def spec(self) -> JobSpec:
        """The body as a job, without the tasks."""
        return JobSpec.from_wire({name: value for name, value in self.wire().items() if name not in _TASKS})


# With all fields in their order; its own id and pool are replaced.
_WITHOUT_BODY = CreateJob.model_construct(id="", pool_info=PoolInfo.model_construct())


class UpdateJob(JobUpdate, OnJob):
    """Change those properties of a job that are given (JOB-2)."""


class DisableJob(OnJob):
    """Disable a job (JOB-11)."""

    disable_tasks: DisableTasks


class EnableJob(OnJob):
    """Enable a job (JOB-12)."""


class TerminateJob(OnJob):
    """Terminate a job (JOB-15)."""

    terminate_reason: Text | None = None
    force: Bool = False


class DeleteJob(OnJob):
    """Delete a job (JOB-16)."""

    force: Bool = False


# --- tasks


class AddTasks(OnJob):
    """Add tasks to a job; ``task_factory`` is as in a scenario's job (TASK-3)."""

    tasks: tuple[TaskSpec, ...] = Field(default=(), validation_alias=AliasChoices("tasks", "value"))
    task_factory: dict[str, Any] | None = None


class UpdateTask(OnTask):
    """Replace the constraints of a task; absent ones get their defaults (TASK-12)."""

    constraints: TaskConstraints = TaskConstraints.model_construct()


class TerminateTask(OnTask):
    """Terminate a task (TASK-13)."""


class ReactivateTask(OnTask):
    """Reactivate a task (TASK-15)."""


class DeleteTask(OnTask):
    """Delete a task (TASK-14)."""


class DeleteTaskFile(OnTask):
    """Delete a file or directory, named by its path in the task's directory (FILE-11)."""

    RULE = "FILE-11"

    file_path: Text
    recursive: Bool = False


# --- job schedules


class CreateJobSchedule(JobScheduleSpec, Command):
    """Create a job schedule (JS-1)."""

    @property
    def spec(self) -> JobScheduleSpec:
        """The body as a job schedule, which need not be read again."""
        return JobScheduleSpec.model_construct(self.model_fields_set, **vars(self))


class UpdateJobSchedule(JobScheduleUpdate, OnJobSchedule):
    """Change those properties of a job schedule that are given (JS-9)."""


class DisableJobSchedule(OnJobSchedule):
    """Disable a job schedule (JS-6)."""


class EnableJobSchedule(OnJobSchedule):
    """Enable a job schedule (JS-6)."""


class TerminateJobSchedule(OnJobSchedule):
    """Terminate a job schedule (JS-8)."""

    force: Bool = False


class DeleteJobSchedule(OnJobSchedule):
    """Delete a job schedule (JS-8)."""

    force: Bool = False


# --- certificates


class AddCertificate(Certificate, Command):
    """Add a certificate to the account (CERT-1)."""

    @property
    def spec(self) -> Certificate:
        """The body as a certificate."""
        return Certificate.from_wire(self.wire())


class DeleteCertificate(OnCertificate):
    """Delete a certificate (CERT-4)."""


class CancelCertificateDeletion(OnCertificate):
    """Cancel the failed deletion of a certificate (CERT-4)."""


# --- applications


class CreateApplicationPackage(OnApplication):
    """Upload a package of ``size`` bytes; a new application is made, one of the same version replaced (APP-8).

    Without a size it is as large as the application says.
    """

    RULE = "APP-8"

    version: Text
    size: Size | None = None


class DeleteApplicationPackage(OnApplication):
    """Delete a package of an application (APP-9)."""

    RULE = "APP-9"

    version: Text


class UpdateApplication(OnApplication):
    """Change the given properties of an application (APP-10)."""

    RULE = "APP-10"

    display_name: Text | None = None
    default_version: Text | None = None
    allow_updates: Bool | None = None


# --- faults

_For = Annotated[OptionalDuration, Field(validation_alias=AliasChoices("for"), serialization_alias="for")]


class NodeFault(WireOption):
    """The state of a failed node (NODE-8)."""

    UNUSABLE = "unusable"
    UNKNOWN = "unknown"


class FailNode(OnNode):
    """Make a node fail for a time (``for_ms``), or until it is recovered (NODE-11)."""

    state: NodeFault = NodeFault.UNUSABLE
    code: Text | None = None
    for_ms: _For = None


class EvictNode(OnNode):
    """Announce that the VM of a Spot node will be evicted (SPOT-3, SPOT-7)."""

    RULE = "SPOT-7"


class AllocationError(WireOption):
    """The error of a resize for which there is no capacity (ERR-R)."""

    ALLOCATION_FAILED = "AllocationFailed"
    OVERCONSTRAINED = "OverconstrainedAllocationRequestError"
    RESOURCE_NOT_FOUND = "DependentResourceNotFound"


class Capacity(Command):
    """Limit the nodes of a size that the region can still allocate, and set the error of larger resizes (RSZ-12)."""

    vm_size: Text
    nodes: Annotated[Int, Field(ge=0)]
    code: AllocationError = AllocationError.ALLOCATION_FAILED


class Quota(Command):
    """Set the quotas of the account that are named, from now on (ACC-11). What is used already stays."""

    RULE = "ACC-11"

    dedicated_cores: Count | None = None
    low_priority_cores: Count | None = None
    pools: Count | None = None
    active_jobs_and_schedules: Count | None = None
    dedicated_cores_per_vm_series: dict[str, Count] | None = None

    @property
    def changes(self) -> dict[str, object]:
        """The quotas that are named, by the names of ``Quotas``."""
        return {name: value for name in Quotas.model_fields if (value := getattr(self, name)) is not None}


class GuestOSRelease(Command):
    """A new release of a family of guest operating systems; cloud service pools with version * follow it (POOL-28)."""

    RULE = "POOL-28"

    os_version: Text

    @field_validator("os_version")
    @classmethod
    def _is_a_release(cls, version: str) -> str:
        if family_of(version) is None:
            raise ValueError(f"{quoted(version)} is not a release such as WA-GUEST-OS-5.20_201806-01, of family 2 to 6")
        return version


class StorageOutage(Command):
    """Make storage unavailable for a time (``for_ms``), or without it until the end."""

    for_ms: _For = None


# The commands that are not operations of the service.
FAULTS = (FailNode, EvictNode, Capacity, Quota, GuestOSRelease, StorageOutage)

COMMANDS = REGISTERED
"""Every command by its name on the wire."""
