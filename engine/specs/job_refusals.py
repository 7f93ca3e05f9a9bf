"""Checks of jobs, tasks and job schedules (JOB-25 and the rules it refers to)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from engine.base.terms import OnAllTasksComplete, OnTaskFailure, PoolLifetimeOption
from engine.base.values import MINUTE_MS, format_duration, quoted
from engine.specs.bodies import (
    ExitCodeRangeMapping,
    ExitConditions,
    ExitOptions,
    JobManagerTask,
    JobPreparationTask,
    JobReleaseTask,
    JobScheduleSpec,
    JobScheduleUpdate,
    JobSpec,
    JobSpecification,
    JobUpdate,
    MultiInstanceSettings,
    PoolInfo,
    Schedule,
    TaskDependencies,
    TaskIdRange,
    TaskSpec,
)
from engine.specs.refusals import (
    Path,
    Refusal,
    at_least_refusals,
    command_line_refusals,
    constraint_refusals,
    display_name_refusals,
    exactly_one_refusals,
    id_refusals,
    invalid,
    metadata_refusals,
    missing,
    most_refusals,
    range_refusals,
    resource_files_refusals,
    subnet_refusals,
)

if TYPE_CHECKING:
    from engine.specs.machine import JobNetworkConfiguration

COLLECTION_MAX_TASKS = 100
_COLLECTION_MAX_BYTES = 1024 * 1024
# The numbers of all ranges together may be as long as a list of ids (DEP-2, decided here).
DEPENDENCIES_MAX = 64_000


def job_refusals(spec: JobSpecification) -> list[Refusal]:
    """Return what the service refuses in a job, or in a job schedule's job, which has no id (JOB-25).

    Rules: JOB-2, PREP-2, REL-1, JM-1, AUTO-1. The pool of an auto pool is checked only when it is created (AUTO-4).
    """
    return [
        *(id_refusals(spec.id, ("id",)) if isinstance(spec, JobSpec) else ()),
        *display_name_refusals(spec.display_name, ("displayName",)),
        *_priority(spec.priority),
        *_parallel_tasks(spec.max_parallel_tasks),
        *constraint_refusals(spec.constraints),
        *(_task(spec.job_manager_task, spec, ("jobManagerTask",)) if spec.job_manager_task is not None else ()),
        *_preparation(spec.job_preparation_task),
        *_release(spec.job_release_task, spec.job_preparation_task),
        *_pool_info(spec.pool_info, in_schedule=not isinstance(spec, JobSpec)),
        *_network(spec.network_configuration),
        *metadata_refusals(spec.metadata),
    ]


def job_update_refusals(update: JobUpdate, spec: JobSpec) -> Iterator[Refusal]:
    """Yield what the service refuses in a change of the job ``spec`` regardless of its state (JOB-2, JOB-7)."""
    yield from metadata_refusals(update.metadata)
    yield from _priority(update.priority)
    yield from _parallel_tasks(update.max_parallel_tasks)
    if update.constraints is not None:
        yield from constraint_refusals(update.constraints)
    if update.pool_info is not None:
        yield from _changed_pool(update.pool_info)
    back = update.on_all_tasks_complete is OnAllTasksComplete.NO_ACTION
    if back and spec.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB:
        yield invalid(("onAllTasksComplete",), "cannot be set back to noaction")


def task_refusals(spec: TaskSpec, job: JobSpecification) -> list[Refusal]:
    """Return what the service refuses in a task of ``job``.

    Rules: TASK-2, DEP-1, DEP-2, EXIT-1, EXIT-4, MI-2, PREP-2, REL-1.
    """
    if spec.__pydantic_fields_set__ <= _USUAL:  # nothing else of it can be refused
        slots = at_least_refusals(spec.required_slots, 1, ("requiredSlots",)) if spec.required_slots < 1 else ()
        limits = constraint_refusals(spec.constraints) if "constraints" in spec.__pydantic_fields_set__ else ()
        return [*id_refusals(spec.id, ("id",)), *_special_ids(spec.id, job, ("id",)), *limits, *slots]
    return [
        *_task(spec, job),
        *_multi_instance(spec.multi_instance_settings, spec.required_slots),
        *_dependencies(spec.depends_on, job),
        *_exit_conditions(spec.exit_conditions, job),
    ]


@cache
def _list_of_tasks() -> TypeAdapter[list[TaskSpec]]:
    return TypeAdapter(list[TaskSpec])  # writes a list in two thirds of the time that its tasks take one by one


def add_tasks_refusals(tasks: Sequence[TaskSpec]) -> list[Refusal]:
    """Return what the service refuses in a collection of tasks as a whole (TASK-3)."""
    path, code = ("tasks",), "RequestBodyTooLarge"
    if len(tasks) > COLLECTION_MAX_TASKS:
        return list(most_refusals(len(tasks), "tasks", COLLECTION_MAX_TASKS, path, code))
    if all(map(is_short, tasks)):
        return []
    size = len(_list_of_tasks().dump_json(list(tasks), by_alias=True, exclude_unset=True))
    too_large = Refusal(code, path, f"has {size} bytes, less than 1 MB are allowed")
    return [too_large] if size >= _COLLECTION_MAX_BYTES else []


# A collection of tasks with at most so many characters in id and command line, and nothing else that can be long, is
# never too large: a character takes six bytes at most.
_SHORT, _SHORT_CHARACTERS = {"id", "command_line", "required_slots", "simulate"}, 1000
_CERTAIN = {"duration", "exit_code"}
_USUAL = _SHORT | {"constraints", "environment_settings"}


def is_short(task: TaskSpec) -> bool:
    """Return whether a task is short, and gives at most its slots, a constant duration and a certain exit code."""
    simulate = task.simulate
    if len(task.id) + len(task.command_line) > _SHORT_CHARACTERS or not task.__pydantic_fields_set__ <= _SHORT:
        return False
    if simulate is None:
        return True
    is_constant = simulate.duration is not None and simulate.duration.kind == "constant"
    return is_constant and simulate.__pydantic_fields_set__ <= _CERTAIN and not isinstance(simulate.exit_code, tuple)


def schedule_refusals(spec: JobScheduleSpec) -> list[Refusal]:
    """Return what the service refuses in a job schedule (JS-1, JS-2)."""
    return [
        *id_refusals(spec.id, ("id",)),
        *display_name_refusals(spec.display_name, ("displayName",)),
        *_schedule(spec.schedule),
        *_below(job_refusals(spec.job_specification)),
        *metadata_refusals(spec.metadata),
    ]


def schedule_update_refusals(update: JobScheduleUpdate) -> Iterator[Refusal]:
    """Yield what the service refuses in a change of a job schedule (JS-9)."""
    yield from metadata_refusals(update.metadata)
    if update.schedule is not None:
        yield from _schedule(update.schedule)
    if update.job_specification is not None:
        yield from _below(job_refusals(update.job_specification))


def _below(refusals: list[Refusal]) -> Iterator[Refusal]:
    return (Refusal(refusal.code, ("jobSpecification", *refusal.path), refusal.reason) for refusal in refusals)


# --- jobs


def _priority(priority: int | None) -> Iterator[Refusal]:
    return range_refusals(priority, -1000, 1000, ("priority",), "OutOfRangePriority")


def _parallel_tasks(limit: int | None) -> Iterator[Refusal]:
    if limit is not None and (limit == 0 or limit < -1):
        yield invalid(("maxParallelTasks",), f"is {limit}, must be -1 (no limit) or 1 and more")


def _task(task: TaskSpec | JobManagerTask, job: JobSpecification, path: Path = ()) -> Iterator[Refusal]:
    """Check what tasks and job manager tasks have in common."""
    yield from id_refusals(task.id, (*path, "id"))
    yield from _special_ids(task.id, job, (*path, "id"))
    yield from display_name_refusals(task.display_name, (*path, "displayName"))
    yield from command_line_refusals(task, path)
    for index, file in enumerate(task.output_files):
        if not file.file_pattern:
            yield invalid((*path, "outputFiles", index, "filePattern"), "must not be empty")
    yield from constraint_refusals(task.constraints, path)
    yield from at_least_refusals(task.required_slots, 1, (*path, "requiredSlots"))


def _preparation(task: JobPreparationTask | None) -> Iterator[Refusal]:
    if task is not None:
        path: Path = ("jobPreparationTask",)
        yield from id_refusals(task.id, (*path, "id"))
        yield from command_line_refusals(task, path)
        yield from constraint_refusals(task.constraints, path)


def _release(task: JobReleaseTask | None, preparation: JobPreparationTask | None) -> Iterator[Refusal]:
    if task is None:
        return
    path: Path = ("jobReleaseTask",)
    if preparation is None:
        yield invalid(path, "a job release task needs a jobPreparationTask on the job")
    elif task.id.lower() == preparation.id.lower():
        yield invalid((*path, "id"), f"the job preparation task is also called {quoted(task.id)}")
    yield from id_refusals(task.id, (*path, "id"))
    yield from command_line_refusals(task, path)
    limit = task.max_wall_clock_time
    if limit is None or limit > 15 * MINUTE_MS:
        yield invalid((*path, "maxWallClockTime"), f"is {format_duration(limit)}, must be PT15M or less")


def _network(network: JobNetworkConfiguration | None) -> Iterator[Refusal]:
    """Check the subnet that the nodes join while the job runs (NET-9)."""
    if network is not None:
        yield from subnet_refusals(network.subnet_id, ("networkConfiguration", "subnetId"))


def _changed_pool(info: PoolInfo) -> Iterator[Refusal]:
    """Check the new pool of a job; of an auto pool only keepAlive is checked (JOB-14)."""
    yield from exactly_one_refusals(info, ("pool_id", "auto_pool_specification"), ("poolInfo",))
    if info.pool_id is not None:
        yield from id_refusals(info.pool_id, ("poolInfo", "poolId"))


def _pool_info(info: PoolInfo, *, in_schedule: bool) -> Iterator[Refusal]:
    yield from _changed_pool(info)
    auto_pool, path = info.auto_pool_specification, ("poolInfo", "autoPoolSpecification")
    if auto_pool is None:
        return
    prefix = auto_pool.auto_pool_id_prefix
    if prefix:
        yield from id_refusals(prefix, (*path, "autoPoolIdPrefix"))
        yield from most_refusals(len(prefix), "characters", 20, (*path, "autoPoolIdPrefix"))
    if auto_pool.pool_lifetime_option is PoolLifetimeOption.JOB_SCHEDULE and not in_schedule:
        yield invalid((*path, "poolLifetimeOption"), "jobschedule is for the jobs of a job schedule only")
    if auto_pool.pool is None:
        yield missing((*path, "pool"), "an auto pool needs a pool specification")


# --- tasks


def _special_ids(task_id: str, job: JobSpecification, path: Path) -> Iterator[Refusal]:
    for code, special in (
        ("TaskIdSameAsJobPreparationTask", job.job_preparation_task),
        ("TaskIdSameAsJobReleaseTask", job.job_release_task),
    ):
        if special is not None and special.id.lower() == task_id.lower():
            yield Refusal(code, path, f"{quoted(task_id)} is the id of a special task of the job")


def _multi_instance(settings: MultiInstanceSettings | None, required_slots: int) -> Iterator[Refusal]:
    if settings is None:
        return
    path: Path = ("multiInstanceSettings",)
    yield from at_least_refusals(settings.number_of_instances, 1, (*path, "numberOfInstances"))
    yield from resource_files_refusals(settings.common_resource_files, (*path, "commonResourceFiles"))
    if required_slots > 1:
        yield invalid(("requiredSlots",), f"is {required_slots}, must be 1 for a multi-instance task")


def _dependencies(dependencies: TaskDependencies | None, job: JobSpecification) -> Iterator[Refusal]:
    if dependencies is None:
        return
    path: Path = ("dependsOn",)
    if not job.uses_task_dependencies:
        reason = "the job needs usesTaskDependencies: true"
        yield Refusal("TaskDependenciesNotSpecifiedOnJob", path, reason)
    length = sum(map(len, dependencies.task_ids))
    if length > DEPENDENCIES_MAX:
        reason = f"has {length} characters, {DEPENDENCIES_MAX} are allowed; ranges take less"
        yield Refusal("TaskDependencyListTooLong", (*path, "taskIds"), reason)
    length = sum(len(f"{ids.start}{ids.end}") for ids in dependencies.task_id_ranges)
    ranges = (*path, "taskIdRanges")
    yield from most_refusals(length, "digits", DEPENDENCIES_MAX, ranges, "TaskDependencyRangesTooLong")
    yield from _order(dependencies.task_id_ranges, ranges)


def _exit_conditions(conditions: ExitConditions | None, job: JobSpecification) -> Iterator[Refusal]:
    if conditions is None:
        return
    path: Path = ("exitConditions",)
    yield from _order(conditions.exit_code_ranges, (*path, "exitCodeRanges"))
    if job.on_task_failure is OnTaskFailure.NO_ACTION:
        for place, options in _all_exit_options(conditions):
            if options.job_action is not None:
                reason = "needs onTaskFailure: performexitoptionsjobaction on the job"
                yield invalid((*path, *place, "jobAction"), reason)


def _order(ranges: Sequence[TaskIdRange | ExitCodeRangeMapping], path: Path) -> Iterator[Refusal]:
    for index, each in enumerate(ranges):
        if each.start > each.end:
            yield invalid((*path, index), f"start {each.start} is after end {each.end}")


def _all_exit_options(conditions: ExitConditions) -> Iterator[tuple[Path, ExitOptions]]:
    for index, code in enumerate(conditions.exit_codes):
        yield ("exitCodes", index, "exitOptions"), code.exit_options
    for index, codes in enumerate(conditions.exit_code_ranges):
        yield ("exitCodeRanges", index, "exitOptions"), codes.exit_options
    for name, options in (
        ("preProcessingError", conditions.pre_processing_error),
        ("fileUploadError", conditions.file_upload_error),
        ("default", conditions.default),
    ):
        if options is not None:
            yield (name,), options


# --- job schedules


def _schedule(schedule: Schedule) -> Iterator[Refusal]:
    """Check the times of a job schedule (JS-2)."""
    for name, value in (("startWindow", schedule.start_window), ("recurrenceInterval", schedule.recurrence_interval)):
        if value is not None and value < MINUTE_MS:
            yield invalid(("schedule", name), f"is {format_duration(value)}, must be PT1M or more")
    first, last = schedule.do_not_run_until, schedule.do_not_run_after
    if first is not None and last is not None and last < first:
        yield invalid(("schedule", "doNotRunAfter"), "is before doNotRunUntil")
