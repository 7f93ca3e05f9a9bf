"""The bodies that create and change a pool (POOL-2), with the names of both API generations (GEN-15)."""

from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, Field, PlainSerializer, SerializationInfo, field_serializer

from engine.base.terms import JobDefaultOrder, NodeFillType, OsFamily, WireOption
from engine.base.units import MINUTE_MS, format_duration
from engine.specs.base import (
    NO_EFFECT,
    AnyCase,
    Bool,
    FiniteDuration,
    Identified,
    Int,
    Occasional,
    Secret,
    Spec,
    Text,
)
from engine.specs.catalogue import os_of
from engine.specs.common import (
    ApplicationPackageReference,
    CertificateReference,
    CommandLine,
    ElevationLevel,
    MetadataItem,
)
from engine.specs.machine import (
    CloudServiceConfiguration,
    MountConfiguration,
    UpgradePolicy,
    VirtualMachineConfiguration,
)
from engine.specs.network import NetworkConfiguration
from engine.specs.simulate import OptionalSimulatePool

LoginMode = Annotated[Literal["batch", "interactive"], AnyCase]
IdentityType = Annotated[Literal["UserAssigned", "None"], AnyCase]


class NodeCommunicationMode(WireOption):
    """The communication mode between Batch and the nodes (NET-7)."""

    DEFAULT = "default"
    CLASSIC = "classic"
    SIMPLIFIED = "simplified"


class StartTask(CommandLine, Occasional):
    """The task that runs on every node each time it starts; retries count as in RETRY-3 (START-1)."""

    max_task_retry_count: Int = 0
    wait_for_success: Bool = True


class TaskSchedulingPolicy(Spec):
    """The distribution of tasks over nodes, and the order of jobs of equal priority (SCHED-9, SCHED-5)."""

    # The only option that the service answers with a capital letter.
    node_fill_type: Annotated[NodeFillType, PlainSerializer(lambda fill: fill.value.capitalize())] = NodeFillType.SPREAD
    job_default_order: JobDefaultOrder = JobDefaultOrder.NONE


class LinuxUserConfiguration(Occasional):
    """The Linux settings of a user (USER-2)."""

    uid: Int | None = None
    gid: Int | None = None
    ssh_private_key: Secret | None = None


class WindowsUserConfiguration(Occasional):
    """The Windows settings of a user (USER-2)."""

    login_mode: LoginMode = "batch"


class UserAccount(Occasional):
    """A user on every node of the pool (USER-2)."""

    name: Text
    password: Secret
    elevation_level: ElevationLevel = ElevationLevel.NON_ADMIN
    linux_user_configuration: LinuxUserConfiguration | None = None
    windows_user_configuration: WindowsUserConfiguration | None = None


class UserAssignedIdentity(Occasional):
    """A managed identity of the nodes."""

    resource_id: Text
    client_id: Text | None = None
    principal_id: Text | None = None


class PoolIdentity(Occasional):
    """The managed identities of the nodes, which the resource manager sets and the service answers."""

    type: IdentityType
    user_assigned_identities: tuple[UserAssignedIdentity, ...] = ()


_TASK_SLOTS = AliasChoices("taskSlotsPerNode", "maxTasksPerNode")


class PoolSpecification(Occasional):
    """A pool without an id, as in an auto pool (AUTO-1).

    In a scenario both configurations may be absent, for Ubuntu 22.04.
    """

    display_name: Text | None = None
    vm_size: Text
    virtual_machine_configuration: VirtualMachineConfiguration | None = None
    cloud_service_configuration: CloudServiceConfiguration | None = None
    resize_timeout: FiniteDuration = 15 * MINUTE_MS  # TIME-1
    target_dedicated_nodes: Int | None = Field(
        default=None, validation_alias=AliasChoices("targetDedicatedNodes", "targetDedicated")
    )
    target_low_priority_nodes: Int | None = None  # Spot nodes, by the older name (SPOT-8)
    enable_auto_scale: Bool = False
    auto_scale_formula: Text | None = None
    auto_scale_evaluation_interval: FiniteDuration = 15 * MINUTE_MS  # TIME-15
    enable_inter_node_communication: Bool = False
    network_configuration: NetworkConfiguration | None = None
    start_task: StartTask | None = None
    application_package_references: tuple[ApplicationPackageReference, ...] = ()
    certificate_references: tuple[CertificateReference, ...] = ()
    task_slots_per_node: Int = Field(default=1, validation_alias=_TASK_SLOTS)
    task_scheduling_policy: TaskSchedulingPolicy = TaskSchedulingPolicy()
    user_accounts: tuple[UserAccount, ...] = ()
    metadata: tuple[MetadataItem, ...] = ()
    mount_configuration: tuple[MountConfiguration, ...] = ()
    upgrade_policy: Annotated[UpgradePolicy | None, NO_EFFECT] = None
    target_node_communication_mode: NodeCommunicationMode | None = None
    resource_tags: Annotated[dict[str, Text] | None, NO_EFFECT] = None
    application_licenses: Annotated[tuple[Text, ...], NO_EFFECT] = ()
    simulate: OptionalSimulatePool = None

    @property
    def os_family(self) -> OsFamily:
        """The operating system of the configuration; Linux is the default."""
        machine = self.virtual_machine_configuration
        return os_of(
            node_agent_sku_id=machine.node_agent_sku_id if machine else None,
            cloud_service=self.cloud_service_configuration is not None,
        )

    @field_serializer("target_dedicated_nodes", "target_low_priority_nodes")
    def _answer_target(self, target: int | None) -> int | None:
        """Return 0 for a target that was not given, as the service answers."""
        return 0 if target is None and not self.enable_auto_scale else target

    @field_serializer("auto_scale_evaluation_interval")
    def _answer_interval(self, interval_ms: int, info: SerializationInfo) -> str | None:
        """Return the interval only with autoscale, as the service answers."""
        return format_duration(interval_ms) if self.enable_auto_scale or info.exclude_unset else None


class PoolSpec(PoolSpecification, Identified):
    """The body that creates a pool (POOL-2)."""

    SERVICE_NAMES: ClassVar[tuple[str, ...]] = (
        *Identified.SERVICE_NAMES,
        "allocationState",
        "allocationStateTransitionTime",
        "resizeErrors",
        "resizeError",
        "currentDedicatedNodes",
        "currentDedicated",
        "currentLowPriorityNodes",
        "currentNodeCommunicationMode",
        "autoScaleRun",
        "nodes",
        "formerNodes",
    )

    identity: PoolIdentity | None = None  # its permissions are taken as given
    # Read-only on the service; accepted so that a whole pool can be pasted (GEN-14).
    current_dedicated_nodes: Int | None = Field(
        default=None, validation_alias=AliasChoices("currentDedicatedNodes", "currentDedicated"), exclude=True
    )
    current_low_priority_nodes: Int | None = Field(default=None, exclude=True)


class PoolUpdate(Occasional):
    """The body that changes a pool; ``model_fields_set`` holds the given properties (POOL-14)."""

    display_name: Text | None = None
    vm_size: Text | None = None
    virtual_machine_configuration: VirtualMachineConfiguration | None = None
    enable_inter_node_communication: Bool | None = None
    network_configuration: NetworkConfiguration | None = None
    start_task: StartTask | None = None
    application_package_references: tuple[ApplicationPackageReference, ...] = ()
    certificate_references: tuple[CertificateReference, ...] = ()
    task_slots_per_node: Int | None = Field(default=None, validation_alias=_TASK_SLOTS)
    task_scheduling_policy: TaskSchedulingPolicy | None = None
    user_accounts: tuple[UserAccount, ...] = ()
    metadata: tuple[MetadataItem, ...] = ()
    mount_configuration: tuple[MountConfiguration, ...] = ()
    upgrade_policy: Annotated[UpgradePolicy | None, NO_EFFECT] = None
    target_node_communication_mode: NodeCommunicationMode | None = None


class PoolReplacement(Occasional):
    """The body that replaces all properties of a pool that can change; absent ones are removed (POOL-14)."""

    start_task: StartTask | None = None
    application_package_references: tuple[ApplicationPackageReference, ...] = ()
    certificate_references: tuple[CertificateReference, ...] = ()
    metadata: tuple[MetadataItem, ...] = ()
    target_node_communication_mode: NodeCommunicationMode | None = None
