"""New tasks: what the scheduler must know of a body, and how the first attempts of plain tasks will go.

A first attempt of a plain task is drawn when the task is added, for all tasks of a factory together.
"""

from __future__ import annotations

from array import array
from itertools import repeat
from operator import add
from typing import TYPE_CHECKING

from engine.base.environment import TaskKind
from engine.base.paths import task_directory
from engine.base.terms import OsFamily
from engine.executors.protocol import Launch
from engine.rules.decisions.node_metrics import load_of
from engine.rules.processes import plain_outputs, setup
from engine.specs import draws
from engine.state.task_records import TaskProfile
from engine.state.tasks import TIME_LIMIT_CODE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.executors.protocol import PlainProcess
    from engine.specs.task import TaskSpec
    from engine.state.jobs import Job
    from engine.state.task_records import TaskSource
    from engine.world.world import World


def profile_of(world: World, job: Job, spec: TaskSpec) -> TaskProfile:
    """Return the profile of tasks with this body; it has a ``process`` if they are plain."""
    pool = world.pools.find(job.pool_id)
    os = pool.os if pool is not None else OsFamily.LINUX
    directory = task_directory(job.id, spec.id)
    launch = Launch(TaskKind.TASK, spec.command_line, spec.simulate, (), 1, -1, os, directory, spec.resource_files)
    limits, several = spec.constraints, spec.multi_instance_settings
    special = pool is None or several is not None or setup.may_matter(pool, TaskKind.TASK, spec)
    uploads = bool(spec.output_files)
    process = None if special else world.executor.plain(launch, may_leave_files=uploads)
    outputs = None
    if uploads and process is not None and pool is not None:
        outputs = plain_outputs.outputs_of(world, pool, job, spec, launch)
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
