"""The bodies that create and change a pool (POOL-2), in the words of both generations (GEN-15)."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, Field, PlainSerializer, SerializationInfo, field_serializer

from engine.base.terms import JobDefaultOrder, NodeFillType, OsFamily, WireOption
from engine.base.units import MINUTE_MS, format_duration
from engine.specs.base import Bool, FiniteDuration, Identified, Int, Secret, Spec, Text
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


class NodeCommunicationMode(WireOption):
    """NET-7."""

    DEFAULT = "default"
    CLASSIC = "classic"
    SIMPLIFIED = "simplified"


class LoginMode(WireOption):
    """USER-2."""

    BATCH = "batch"
    INTERACTIVE = "interactive"


class StartTask(CommandLine):
    """Runs on every node each time it starts (START-1). Retries count as in RETRY-3."""

    max_task_retry_count: Int = 0
    wait_for_success: Bool = True


class TaskSchedulingPolicy(Spec):
    """How tasks are spread over nodes, and jobs of equal priority ordered (SCHED-9, SCHED-5)."""

    # The one option that the service answers with a capital.
    node_fill_type: Annotated[NodeFillType, PlainSerializer(lambda fill: fill.value.capitalize())] = NodeFillType.SPREAD
    job_default_order: JobDefaultOrder = JobDefaultOrder.NONE


class LinuxUserConfiguration(Spec):
    """USER-2."""

    uid: Int | None = None
    gid: Int | None = None
    ssh_private_key: Secret | None = None


class WindowsUserConfiguration(Spec):
    """USER-2."""

    login_mode: LoginMode = LoginMode.BATCH


class UserAccount(Spec):
    """A user that every node of the pool has (USER-2)."""

    name: Text
    password: Secret
    elevation_level: ElevationLevel = ElevationLevel.NON_ADMIN
    linux_user_configuration: LinuxUserConfiguration | None = None
    windows_user_configuration: WindowsUserConfiguration | None = None


_TASK_SLOTS = AliasChoices("taskSlotsPerNode", "maxTasksPerNode")


class PoolSpecification(Spec):
    """A pool without a name, as an auto pool has it (AUTO-1).

    Durations are milliseconds. A target is None where none was given. ``virtual_machine_configuration`` and
    ``cloud_service_configuration`` may both be None in a scenario: Ubuntu 22.04 is meant then.
    """

    display_name: Text | None = None
    vm_size: Text
    virtual_machine_configuration: VirtualMachineConfiguration | None = None
    cloud_service_configuration: CloudServiceConfiguration | None = None
    resize_timeout: FiniteDuration = 15 * MINUTE_MS  # TIME-1
    target_dedicated_nodes: Int | None = Field(
        default=None, validation_alias=AliasChoices("targetDedicatedNodes", "targetDedicated")
    )
    target_low_priority_nodes: Int | None = None  # Spot nodes, under the older name (SPOT-8)
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
    upgrade_policy: UpgradePolicy | None = None
    target_node_communication_mode: NodeCommunicationMode | None = None
    resource_tags: dict[str, Text] | None = None
    application_licenses: tuple[Text, ...] = ()

    @property
    def os_family(self) -> OsFamily:
        """The operating system that the configuration means; Linux where there is none."""
        machine = self.virtual_machine_configuration
        return os_of(
            node_agent_sku_id=machine.node_agent_sku_id if machine else None,
            cloud_service=self.cloud_service_configuration is not None,
        )

    @field_serializer("target_dedicated_nodes", "target_low_priority_nodes")
    def _answer_target(self, target: int | None) -> int | None:
        """The service answers 0 for a target that was not given."""
        return 0 if target is None and not self.enable_auto_scale else target

    @field_serializer("auto_scale_evaluation_interval")
    def _answer_interval(self, interval_ms: int, info: SerializationInfo) -> str | None:
        """The service answers an interval only for a pool that scales itself."""
        return format_duration(interval_ms) if self.enable_auto_scale or info.exclude_unset else None


class PoolSpec(PoolSpecification, Identified):
    """The body that creates a pool (POOL-2)."""

    # Read-only on the service: taken, without effect, where a whole pool is pasted (GEN-14).
    current_dedicated_nodes: Int | None = Field(
        default=None, validation_alias=AliasChoices("currentDedicatedNodes", "currentDedicated"), exclude=True
    )
    current_low_priority_nodes: Int | None = Field(default=None, exclude=True)


class PoolUpdate(Spec):
    """The body that changes a pool (POOL-14): ``model_fields_set`` says which properties were given."""

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
    upgrade_policy: UpgradePolicy | None = None
    target_node_communication_mode: NodeCommunicationMode | None = None


class PoolReplacement(Spec):
    """The body that replaces what can change on a living pool (POOL-14): what is absent is removed."""

    start_task: StartTask | None = None
    application_package_references: tuple[ApplicationPackageReference, ...] = ()
    certificate_references: tuple[CertificateReference, ...] = ()
    metadata: tuple[MetadataItem, ...] = ()
    target_node_communication_mode: NodeCommunicationMode | None = None
