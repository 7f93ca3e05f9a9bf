"""Operations on tasks (chapter 13): add, terminate, reactivate, delete, update.

When tasks are added, their bodies give what the scheduler must know of them. A first attempt of a plain task is drawn
then, for all tasks of a factory together.
"""

from __future__ import annotations

from array import array
from itertools import repeat
from operator import add
from typing import TYPE_CHECKING

from engine.base.calendar import Due, DueKind
from engine.base.errors import BatchError, ErrorCategory, FailureInfo, ended
from engine.base.paths import TaskKind, task_directory
from engine.base.terms import JobState, OsFamily, TaskResult
from engine.base.values import DAY_MS
from engine.rules.decisions.metrics import load_of
from engine.rules.decisions.verdicts import check_job_command, is_blocked, is_seen
from engine.rules.facts import TaskLimitChanged, TaskStopped
from engine.rules.processes import output_files, setup
from engine.rules.tasks import interruptions
from engine.shell.protocol import Launch
from engine.specs import draws
from engine.specs.bodies import JobManagerTask, TaskSpec
from engine.specs.catalogue import SCHEDULING_LATENCY_MS
from engine.specs.job_refusals import is_short, task_refusals
from engine.state.task_records import ListedTasks, TaskProfile, TaskSource
from engine.state.tasks import ACTIVE, COMPLETED, GONE, PREPARING, RUNNING, TIME_LIMIT_CODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.rules.facts import JobBegun
    from engine.shell.protocol import PlainProcess
    from engine.specs.bodies import TaskConstraints
    from engine.state.jobs import Job
    from engine.world import World


def profile_of(world: World, job: Job, spec: TaskSpec) -> TaskProfile:
    """Return the profile of tasks with this body; it has a ``process`` if they are plain."""
    pool = world.pools.find(job.pool_id)
    os = pool.os if pool is not None else OsFamily.LINUX
    directory = task_directory(job.id, spec.id)
    launch = Launch(
        TaskKind.TASK, spec.line_to_run, spec.simulate, (), 1, directory, spec.resource_files, execute=spec.execute
    )
    launch = world.executor.read(launch, os)
    limits, several = spec.constraints, spec.multi_instance_settings
    special = pool is None or several is not None or setup.may_matter(pool, TaskKind.TASK, spec)
    uploads = bool(spec.output_files)
    process = None if special else world.executor.plain(launch, may_leave_files=uploads)
    outputs = None
    if uploads and process is not None and pool is not None:
        outputs = output_files.outputs_of(world, pool, job, spec, launch)
        process = process if outputs is not None else None
    return TaskProfile(
        job=job.row,
        required_slots=spec.required_slots,
        max_retries=limits.max_task_retry_count,
        wall_clock_ms=limits.max_wall_clock_time,
        retention_ms=limits.retention_time,
        process=process,
        affinity=spec.affinity_info.affinity_id if spec.affinity_info is not None else None,
        conditions=spec.exit_conditions is not None,
        load=load_of(spec.simulate, world.scenario.simulate.tasks),
        outputs=outputs,
        instances=several.number_of_instances if several is not None else 0,
        ends_plainly=process is not None and spec.exit_conditions is None and not job.spec.uses_task_dependencies,
    )


def first_attempts(
    world: World, job: Job, spec: TaskSpec, profile: TaskProfile, first: int, source: TaskSource | None = None
) -> tuple[array[int], array[int]]:
    """Return the durations in ms and the exit codes of first attempts; zeros unless the tasks are plain.

    Args:
        world: The world.
        job: The job.
        spec: The body of the task, or of each task of ``source``, which differ in their ids only.
        profile: The profile of the body.
        first: How many tasks the job has already: a key of the draws.
        source: The tasks; None for a single one.
    """
    process, time_code = profile.process, world.tasks.planned.typecode
    count = 1 if source is None else source.count
    if process is None:
        return array(time_code, [0]) * count, array("i", [0]) * count
    if profile.outputs is None:
        key = (job.id.lower(), spec.id.lower() if count == 1 else f"#{first}")
        drawn, codes = _block_draws(world, process, key, count)
    else:
        ids = [spec.id] if source is None else source.task_ids(range(count))
        drawn, codes = _single_draws(world, process, job, [each.lower() for each in ids])
    overhead_ms, longest_ms = process.overhead_ms, world.longest_ms
    if process.duration.kind == "constant":
        planned_ms = array(time_code, [min(drawn[0] + overhead_ms, longest_ms)]) * count
    elif max(drawn) + overhead_ms <= longest_ms:
        planned_ms = array(time_code, map(add, drawn, repeat(overhead_ms)))
    else:
        planned_ms = array(time_code, (min(ms + overhead_ms, longest_ms) for ms in drawn))
    limit_ms = profile.wall_clock_ms
    if limit_ms is not None:
        for ordinal, ms in enumerate(planned_ms):
            if ms > limit_ms:
                planned_ms[ordinal], codes[ordinal] = limit_ms, TIME_LIMIT_CODE
    return planned_ms, codes


def _block_draws(
    world: World, process: PlainProcess, key: tuple[str, str], count: int
) -> tuple[array[int], array[int]]:
    """Return durations and exit codes of many tasks from one stream each."""
    drawn = draws.block_ms(process.duration, world.seed, "durations", *key, count=count)
    if isinstance(process.exit_code, tuple):
        return drawn, draws.block_codes(process.exit_code, world.seed, "exit codes", *key, count=count)
    return drawn, array("i", [process.exit_code]) * count


def _single_draws(world: World, process: PlainProcess, job: Job, ids: Sequence[str]) -> tuple[array[int], array[int]]:
    """Return durations and exit codes of tasks that leave files, each drawn for itself as for one that is not plain."""
    key = ("task", job.id.lower())
    numbers: Iterator[float] = repeat(0.0, len(ids))
    if process.duration.kind != "constant":
        numbers = draws.uniforms(world.seed, ("duration", *key), ids, 1)
    drawn = draws.draws_ms(process.duration, numbers)
    if isinstance(process.exit_code, tuple):
        weights, numbers = process.exit_code, draws.uniforms(world.seed, ("exit code", *key), ids, 1)
        return drawn, array("i", [draws.pick_code(weights, number) for number in numbers])
    return drawn, array("i", [process.exit_code]) * len(ids)


# TASK-9: a task that is not completed so long after it was added is ended by the service.
LIFETIME_MS = 180 * DAY_MS

# What a job manager task has in common with any other task (JM-1, JM-2).
_SHARED = [name for name in JobManagerTask.model_fields if name in TaskSpec.model_fields]

_BY_USER = ended("the task was terminated by the user")
_BY_AGE = ended("the task was added 180 days ago", ErrorCategory.SERVER_ERROR)


# -- add -------------------------------------------------------------------------------------------------------------


def add_verdict(world: World, job: Job, task_id: str) -> BatchError | None:
    """Return why the service refuses a new task of this id (TASK-2, PREP-2, REL-1); None if it accepts it."""
    prep, release = job.spec.job_preparation_task, job.spec.job_release_task
    if prep is not None and task_id.lower() == prep.id.lower():
        return BatchError("TaskIdSameAsJobPreparationTask", taskId=task_id)
    if release is not None and task_id.lower() == release.id.lower():
        return BatchError("TaskIdSameAsJobReleaseTask", taskId=task_id)
    if world.tasks.find(job.row, task_id) is not None:
        return BatchError("TaskExists", taskId=task_id)
    return None


def add_listed(world: World, job: Job, specs: Sequence[TaskSpec]) -> dict[int, BatchError]:
    """Add task bodies, each of which is accepted or refused by itself (TASK-3).

    Returns the refusals by the places of their bodies, first those of bodies that no job could take.
    """
    malformed: dict[int, BatchError] = {}
    existing: dict[int, BatchError] = {}
    taken: dict[str, TaskSpec] = {}
    for place, spec in enumerate(specs):
        found, folded = task_refusals(spec, job.spec), spec.id.lower()
        if found:
            malformed[place] = found[0].error(spec)
        elif folded in taken or world.tasks.find(job.row, folded) is not None:
            existing[place] = BatchError("TaskExists", taskId=spec.id)
        else:
            taken[folded] = spec
    if taken:
        bodies = tuple(taken.values())
        _add(world, job, ListedTasks(bodies), bodies)
    return malformed | existing


def add_factory(world: World, job: Job, factory: TaskSource) -> list[BatchError]:
    """Add the tasks of a factory as one block, each of which is accepted or refused by itself (TASK-3).

    A single body is made if the tasks differ only in their ids. Of the refusals only the first is returned.
    """
    refused = _refused_ordinals(world, job, factory)
    source = factory
    if refused:
        source = ListedTasks([factory.spec(number) for number in range(factory.count) if number not in refused])
    if source.count:
        template = source.spec(0)
        varies = factory.varies or template.depends_on is not None
        _add(world, job, source, [source.spec(number) for number in range(source.count)] if varies else [template])
    first = add_verdict(world, job, factory.task_id(min(refused))) if refused else None
    return [] if first is None else [first]


def _refused_ordinals(world: World, job: Job, factory: TaskSource) -> set[int]:
    """Return the tasks of a factory whose ids are taken. Blocks whose ids begin otherwise are skipped."""
    special = (job.spec.job_preparation_task, job.spec.job_release_task)
    found = {factory.ordinal_of(task.id) for task in special if task is not None}
    state, prefix = world.tasks.state, factory.id_prefix
    for number in job.blocks:
        first, source = world.tasks.blocks[number].first, world.tasks.blocks[number].source
        count = source.count
        if source == factory:
            found.update(ordinal for ordinal in range(count) if state[first + ordinal] != GONE)
        elif not (prefix.startswith(source.id_prefix) or source.id_prefix.startswith(prefix)):
            continue
        elif count <= factory.count:
            here = [ordinal for ordinal in range(count) if state[first + ordinal] != GONE]
            found.update(map(factory.ordinal_of, source.task_ids(here)))
        else:
            ids = factory.task_ids(range(factory.count))
            rows = ((ordinal, source.ordinal_of(task_id)) for ordinal, task_id in enumerate(ids))
            found.update(ordinal for ordinal, row in rows if row is not None and state[first + row] != GONE)
    return {ordinal for ordinal in found if ordinal is not None}


def _planned_of_short(world: World, job: Job, spec: TaskSpec) -> tuple[int, int, int] | None:
    """Return the number of the profile, the duration and the exit code of a task.

    Bodies that differ in ids and durations share a profile while the job has this pool and that has this body. None if
    the task's body is not short, or anything is drawn.
    """
    if not is_short(spec):
        return None
    pool, simulate = world.pools.find(job.pool_id), spec.simulate
    of_pool = None if pool is None else pool.spec
    known_job, known_pool, profiles = world.short_profiles.get(job.row) or (None, None, {})
    if known_job is not job.spec or known_pool is not of_pool:
        profiles = {}
        world.short_profiles[job.row] = job.spec, of_pool, profiles
    duration, code = (None, None) if simulate is None else (simulate.duration, simulate.exit_code)
    key = spec.command_line, spec.required_slots, duration is None, code
    if key not in profiles:
        profile = profile_of(world, job, spec)._replace(own_duration=duration is not None)
        profiles[key] = world.tasks.profile_number(profile), profile.process
    number, process = profiles[key]
    if process is None:
        return number, 0, 0
    exit_code = process.exit_code
    if isinstance(exit_code, tuple) or process.duration.kind != "constant":
        return None
    (own_ms,) = process.duration.values if duration is None else duration.values
    return number, min(round(own_ms) + process.overhead_ms, world.longest_ms), exit_code


def _add(world: World, job: Job, source: TaskSource, specs: Sequence[TaskSpec]) -> None:
    """Add a block of new tasks; ``specs`` has one body each, or a single one for all."""
    tasks = world.tasks
    profiles, planned_ms, codes = array("I"), array(tasks.planned.typecode), array("i")
    alike = source if len(specs) == 1 else None
    has_own = len(specs) == source.count
    for spec in specs:
        planned = _planned_of_short(world, job, spec) if has_own else None
        if planned is not None:
            profiles.append(planned[0])
            planned_ms.append(planned[1])
            codes.append(planned[2])
            continue
        profile = profile_of(world, job, spec)
        more_ms, more_codes = first_attempts(world, job, spec, profile, job.total, alike)
        profiles.extend(array("I", [tasks.profile_number(profile)]) * len(more_ms))
        planned_ms.extend(more_ms)
        codes.extend(more_codes)
    now_ms = world.calendar.now_ms
    block = tasks.add_block(now_ms, job.row, source, profiles, planned_ms, codes)
    if job.spec.uses_task_dependencies:
        for ordinal, spec in enumerate(specs):
            if spec.depends_on is not None:
                # Ids that do not exist yet, and its own, block it too (DEP-4, DEP-5, DEP-7).
                world.dependency_book(job.row).add(block.first + ordinal, spec.depends_on)
    block_number = len(tasks.blocks) - 1
    world.calendar.at(now_ms + SCHEDULING_LATENCY_MS, DueKind.TASKS_READY, block_number)
    if now_ms + LIFETIME_MS <= (world.scenario.until_ms or 0):
        world.calendar.at(now_ms + LIFETIME_MS, DueKind.LIFETIME_OVER, block_number)


def add_manager(world: World, begun: JobBegun) -> None:
    """Queue the job's manager with the job, ahead of its other tasks (JOB-6, JM-2, SCHED-6).

    From then on it is a task like any other: the job's preparation comes before it (JM-9), counters count it (JM-10).
    """
    job = world.jobs.rows[begun.job]
    manager = job.spec.job_manager_task
    if manager is None:
        return
    spec = TaskSpec.model_construct(**{name: getattr(manager, name) for name in _SHARED})
    _add(world, job, ListedTasks((spec,)), [spec])
    first = world.tasks.length - 1
    # Alone on its node (JM-5), only on dedicated nodes (SPOT-6), and its end means something (JM-4).
    profile = world.tasks.profile_of(first)._replace(
        manager=True,
        exclusive=manager.run_exclusive,
        dedicated_only=not manager.allow_low_priority_node,
        ends_plainly=False,
    )
    world.tasks.set_profile(first, profile)


# -- terminate, reactivate, delete, update ---------------------------------------------------------------------------


def terminate(world: World, task: int) -> None:
    """Terminate a task that is not completed (TASK-13)."""
    if world.tasks.state[task] == COMPLETED:
        raise BatchError("TaskCompleted")
    _end(world, task, "TASK-13", _BY_USER)


def lifetime_is_over(world: World, due: Due) -> None:
    """End the tasks of a block that are not completed 180 days after they were added (TASK-9, JOB-12)."""
    for task in world.tasks.blocks[due.key].rows:
        if world.tasks.state[task] in (ACTIVE, PREPARING, RUNNING):
            _end(world, task, "TASK-9", _BY_AGE)


def _end(world: World, task: int, rule: str, why: FailureInfo) -> None:
    """End a task that is not completed, whether it has started or not."""
    if world.tasks.state[task] == RUNNING:
        interruptions.terminate_task(world, task, rule, why)
    else:
        interruptions.refuse_task(world, task, rule, why)


def reactivate(world: World, task: int) -> None:
    """Reactivate a failed task: it is queued again, and its retries begin anew (TASK-15)."""
    tasks = world.tasks
    job = world.jobs[tasks.block_of(task).job]
    if job.state in (JobState.COMPLETED, JobState.TERMINATING, JobState.DELETING):
        check_job_command("add", job)
    if tasks.state[task] != COMPLETED:
        raise BatchError("TaskNotCompleted")
    extra = tasks.extra(task)
    if tasks.result(task) is TaskResult.SUCCESS or extra.exit_code == 0:
        raise BatchError("TaskSucceeded")
    fresh = extra._replace(retry_count=0, last_retry_ms=None, exit_code=None, failure=None)
    fresh = fresh._replace(awaits_retry=False, ended_waiting=False)
    tasks.back_to_active(world.now_ms, task, fresh, "TASK-15")
    if is_seen(world, task) and not is_blocked(world, job, task):
        world.scheduler.queue_again(task, tasks.profile_of(task), len(world.log))


def delete(world: World, task: int) -> None:
    """Delete a task: a running one is ended first, and its files are deleted despite their retention (TASK-14).

    For processes that wait for the other tasks of the job it is not completed in between (JM-12).
    """
    tasks = world.tasks
    job = world.jobs[tasks.block_of(task).job]
    if tasks.state[task] in (PREPARING, RUNNING):
        with world.acting.keeps_waiting(job.row):
            terminate(world, task)
    elif tasks.state[task] == ACTIVE:
        world.scheduler.remove_from_queue(task, tasks.profile_of(task))
    world.disks.delete_everywhere(task_directory(job.id, tasks.task_id(task)))
    tasks.delete(world.now_ms, task, "TASK-14")
    world.emit(TaskStopped(job.row))


def update(world: World, task: int, limits: TaskConstraints) -> None:
    """Replace the constraints of a task; a new time limit holds for a running attempt too (TASK-12)."""
    if world.tasks.state[task] == COMPLETED:
        raise BatchError("TaskCompleted")
    profile = world.tasks.profile_of(task)
    changed = profile._replace(
        max_retries=limits.max_task_retry_count,
        wall_clock_ms=limits.max_wall_clock_time,
        retention_ms=limits.retention_time,
        modified_ms=world.now_ms,
    )
    world.tasks.set_profile(task, changed)
    if changed.wall_clock_ms != profile.wall_clock_ms:
        world.emit(TaskLimitChanged(task))
