"""The bodies that create and change a task (TASK-2), and their parts."""

from typing import ClassVar

from engine.base.terms import DependencyAction, JobAction
from engine.base.units import DAY_MS
from engine.specs.base import Duration, Identified, Int, Occasional, Spec, Text
from engine.specs.common import (
    ApplicationPackageReference,
    AuthenticationTokenSettings,
    CommandLine,
    OutputFile,
    ResourceFile,
)
from engine.specs.simulate import OptionalSimulate

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


class TaskSpec(CommandLine, Identified):
    """The body that creates a task (TASK-2)."""

    SERVICE_NAMES: ClassVar[tuple[str, ...]] = (*Identified.SERVICE_NAMES, "nodeInfo", "subtasks")

    display_name: Text | None = None
    exit_conditions: ExitConditions | None = None
    output_files: tuple[OutputFile, ...] = ()
    affinity_info: AffinityInfo | None = None
    constraints: TaskConstraints = TaskConstraints()
    required_slots: Int = 1
    multi_instance_settings: MultiInstanceSettings | None = None
    depends_on: TaskDependencies | None = None
    application_package_references: tuple[ApplicationPackageReference, ...] = ()
    authentication_token_settings: AuthenticationTokenSettings | None = None
