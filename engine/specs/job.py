"""The bodies that create and change a job (JOB-2), and its special tasks."""

from typing import Annotated, ClassVar

from engine.base.terms import OnAllTasksComplete, OnTaskFailure, PoolLifetimeOption
from engine.base.units import MINUTE_MS
from engine.specs.base import NO_EFFECT, Bool, Duration, Identified, Int, Occasional, Spec, Text
from engine.specs.common import (
    ApplicationPackageReference,
    AuthenticationTokenSettings,
    CommandLine,
    EnvironmentSetting,
    MetadataItem,
    OutputFile,
)
from engine.specs.network import JobNetworkConfiguration
from engine.specs.pool import PoolSpecification
from engine.specs.task import RETENTION_MS, TaskConstraints


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
    constraints: PreparationConstraints = PreparationConstraints()
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
    constraints: TaskConstraints = TaskConstraints()
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
    constraints: JobConstraints = JobConstraints()
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
