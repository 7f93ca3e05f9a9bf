"""The bodies that create and change pools, tasks, jobs and job schedules.

Pools have the names of both API generations (POOL-2, GEN-15). Jobs contain their special tasks (JOB-2, TASK-2), and job
schedules contain jobs (JS-1, JS-2).
"""

from typing import Annotated, ClassVar, Literal

from pydantic import AliasChoices, Field, PlainSerializer, SerializationInfo, field_serializer

from engine.base.terms import (
    DependencyAction,
    JobAction,
    JobDefaultOrder,
    NodeFillType,
    OnAllTasksComplete,
    OnTaskFailure,
    OsFamily,
    PoolLifetimeOption,
    WireOption,
)
from engine.base.values import DAY_MS, MINUTE_MS, format_duration, words
from engine.specs.account import ApplicationPackageReference
from engine.specs.base import (
    NO_EFFECT,
    AnyCase,
    Bool,
    Duration,
    FiniteDuration,
    Identified,
    Int,
    Occasional,
    OptionalDuration,
    Secret,
    Spec,
    Text,
    UtcTime,
)
from engine.specs.catalogue import os_of
from engine.specs.common import (
    AuthenticationTokenSettings,
    CertificateReference,
    CommandLine,
    ElevationLevel,
    EnvironmentSetting,
    MetadataItem,
    OptionalExecute,
    OptionalSimulate,
    OptionalSimulatePool,
    OutputFile,
    ResourceFile,
)
from engine.specs.machine import (
    CloudServiceConfiguration,
    JobNetworkConfiguration,
    MountConfiguration,
    NetworkConfiguration,
    UpgradePolicy,
    VirtualMachineConfiguration,
)

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


_TASK_SLOTS = Field(validation_alias=AliasChoices("taskSlotsPerNode", "maxTasksPerNode"))
TargetDedicated = Annotated[Int | None, Field(validation_alias=AliasChoices("targetDedicatedNodes", "targetDedicated"))]


class PoolSpecification(Occasional):
    """A pool without an id, as in an auto pool (AUTO-1).

    In a scenario both configurations may be absent, for Ubuntu 22.04.
    """

    display_name: Text | None = None
    vm_size: Text
    virtual_machine_configuration: VirtualMachineConfiguration | None = None
    cloud_service_configuration: CloudServiceConfiguration | None = None
    resize_timeout: FiniteDuration = 15 * MINUTE_MS  # TIME-1
    target_dedicated_nodes: TargetDedicated = None
    target_low_priority_nodes: Int | None = None  # Spot nodes, by the older name (SPOT-8)
    enable_auto_scale: Bool = False
    auto_scale_formula: Text | None = None
    auto_scale_evaluation_interval: FiniteDuration = 15 * MINUTE_MS  # TIME-15
    enable_inter_node_communication: Bool = False
    network_configuration: NetworkConfiguration | None = None
    start_task: StartTask | None = None
    application_package_references: tuple[ApplicationPackageReference, ...] = ()
    certificate_references: tuple[CertificateReference, ...] = ()
    task_slots_per_node: Annotated[Int, _TASK_SLOTS] = 1
    task_scheduling_policy: TaskSchedulingPolicy = TaskSchedulingPolicy.model_construct()
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
        *words(
            "allocationState allocationStateTransitionTime resizeErrors resizeError currentDedicatedNodes"
            " currentDedicated currentLowPriorityNodes currentNodeCommunicationMode autoScaleRun nodes formerNodes"
        ),
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
    task_slots_per_node: Annotated[Int | None, _TASK_SLOTS] = None
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


RETENTION_MS = 7 * DAY_MS


class TaskConstraints(Spec):
    """Limits of a task; a time that is absent is no limit, and the number of retries is then the job's (RETRY-3)."""

    max_wall_clock_time: Duration = None
    retention_time: Duration = RETENTION_MS
    max_task_retry_count: Int | None = None


class ExitOptions(Occasional):
    """The effect of an outcome on the job and on dependents; what is absent has its default (EXIT-3)."""

    job_action: JobAction | None = None
    dependency_action: DependencyAction | None = None


class ExitCodeMapping(Occasional):
    """The effect of an exit code (EXIT-1)."""

    code: Int
    exit_options: ExitOptions


class ExitCodeRangeMapping(Occasional):
    """The effect of a range of exit codes, both ends included (EXIT-1)."""

    start: Int
    end: Int
    exit_options: ExitOptions


class ExitConditions(Occasional):
    """The effects of a task's outcomes (EXIT-1)."""

    exit_codes: tuple[ExitCodeMapping, ...] = ()
    exit_code_ranges: tuple[ExitCodeRangeMapping, ...] = ()
    pre_processing_error: ExitOptions | None = None
    file_upload_error: ExitOptions | None = None
    default: ExitOptions | None = None


class TaskIdRange(Occasional):
    """A range of numeric task ids, both ends included (DEP-2)."""

    start: Int
    end: Int


class TaskDependencies(Spec):
    """The tasks on which a task depends (DEP-2)."""

    task_ids: tuple[Text, ...] = ()
    task_id_ranges: tuple[TaskIdRange, ...] = ()


class AffinityInfo(Occasional):
    """The node that a task prefers (SCHED-13)."""

    affinity_id: Text


class MultiInstanceSettings(Occasional):
    """The settings of a task on several nodes; ``simulate`` applies to the coordination command (MI-1)."""

    number_of_instances: Int = 1
    coordination_command_line: Text
    common_resource_files: tuple[ResourceFile, ...] = ()
    simulate: OptionalSimulate = None
    execute: OptionalExecute = None


class TaskSpec(CommandLine, Identified):
    """The body that creates a task (TASK-2)."""

    SERVICE_NAMES: ClassVar[tuple[str, ...]] = (*Identified.SERVICE_NAMES, "nodeInfo", "subtasks")

    display_name: Text | None = None
    exit_conditions: ExitConditions | None = None
    output_files: tuple[OutputFile, ...] = ()
    affinity_info: AffinityInfo | None = None
    constraints: TaskConstraints = TaskConstraints.model_construct()
    required_slots: Int = 1
    multi_instance_settings: MultiInstanceSettings | None = None
    depends_on: TaskDependencies | None = None
    application_package_references: tuple[ApplicationPackageReference, ...] = ()
    authentication_token_settings: AuthenticationTokenSettings | None = None


class JobConstraints(Spec):
    """Limits of a job and defaults of its tasks; a time that is absent is no limit (JOB-9, RETRY-3)."""

    max_wall_clock_time: Duration = None
    max_task_retry_count: Int = 0


class PreparationConstraints(TaskConstraints):
    """Limits of a preparation task, to which the job's retry count does not apply (PREP-2)."""

    max_task_retry_count: Int = 0


class JobPreparationTask(CommandLine, Occasional):
    """The task that runs on a node before the job's first task there (PREP-2)."""

    id: Text = "jobpreparation"
    constraints: PreparationConstraints = PreparationConstraints.model_construct()
    wait_for_success: Bool = True
    rerun_on_node_reboot_after_success: Bool = True


class JobReleaseTask(CommandLine, Occasional):
    """The task that runs on each node that ran a task of the job, when the job ends; times are ms (REL-1)."""

    id: Text = "jobrelease"
    max_wall_clock_time: Duration = 15 * MINUTE_MS
    retention_time: Duration = RETENTION_MS


class JobManagerTask(CommandLine, Identified, Occasional):
    """The task that the service adds together with the job, ahead of all others (JM-1)."""

    display_name: Text | None = None
    output_files: tuple[OutputFile, ...] = ()
    constraints: TaskConstraints = TaskConstraints.model_construct()
    required_slots: Int = 1
    kill_job_on_completion: Bool = True
    run_exclusive: Bool = True
    application_package_references: tuple[ApplicationPackageReference, ...] = ()
    allow_low_priority_node: Bool = True
    authentication_token_settings: AuthenticationTokenSettings | None = None


class AutoPoolSpecification(Occasional):
    """A pool that lives as long as its job or job schedule (AUTO-1)."""

    auto_pool_id_prefix: Text | None = None
    pool_lifetime_option: PoolLifetimeOption
    keep_alive: Bool = False
    pool: PoolSpecification | None = None


class PoolInfo(Spec):
    """The pool of a job: an id or an auto pool (JOB-2)."""

    pool_id: Text | None = None
    auto_pool_specification: AutoPoolSpecification | None = None


class JobSpecification(Occasional):
    """A job without an id, as in a job schedule (JS-1)."""

    display_name: Text | None = None
    priority: Int = 0
    allow_task_preemption: Bool = False
    max_parallel_tasks: Int = -1
    uses_task_dependencies: Bool = False
    constraints: JobConstraints = JobConstraints.model_construct()
    job_manager_task: JobManagerTask | None = None
    job_preparation_task: JobPreparationTask | None = None
    job_release_task: JobReleaseTask | None = None
    common_environment_settings: tuple[EnvironmentSetting, ...] = ()
    pool_info: PoolInfo
    on_all_tasks_complete: OnAllTasksComplete = OnAllTasksComplete.NO_ACTION
    on_task_failure: OnTaskFailure = OnTaskFailure.NO_ACTION
    network_configuration: Annotated[JobNetworkConfiguration | None, NO_EFFECT] = None
    metadata: tuple[MetadataItem, ...] = ()


class JobSpec(JobSpecification, Identified):
    """The body that creates a job (JOB-2)."""

    SERVICE_NAMES: ClassVar[tuple[str, ...]] = (*Identified.SERVICE_NAMES, "jobPreparationAndReleaseTaskStatus")


class JobUpdate(Occasional):
    """The body that changes a job; ``model_fields_set`` holds the given properties (JOB-2)."""

    priority: Int | None = None
    allow_task_preemption: Bool | None = None
    max_parallel_tasks: Int | None = None
    constraints: JobConstraints | None = None
    pool_info: PoolInfo | None = None
    on_all_tasks_complete: OnAllTasksComplete | None = None
    network_configuration: Annotated[JobNetworkConfiguration | None, NO_EFFECT] = None
    metadata: tuple[MetadataItem, ...] = ()


class Schedule(Occasional):
    """The times of jobs; what is absent means at once, never, at any time, once (JS-2)."""

    do_not_run_until: UtcTime | None = None
    do_not_run_after: UtcTime | None = None
    start_window: OptionalDuration = None
    recurrence_interval: OptionalDuration = None


class JobScheduleSpec(Identified, Occasional):
    """The body that creates a job schedule (JS-1)."""

    display_name: Text | None = None
    schedule: Schedule
    job_specification: JobSpecification
    metadata: tuple[MetadataItem, ...] = ()


class JobScheduleUpdate(Occasional):
    """The body that changes a job schedule; ``model_fields_set`` holds the given properties (JS-9)."""

    schedule: Schedule | None = None
    job_specification: JobSpecification | None = None
    metadata: tuple[MetadataItem, ...] = ()
