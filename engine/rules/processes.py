"""Processes on nodes, whoever starts them: what is launched, in which environment, and what it leaves.

Chapters 13 (TASK-4, TASK-6), 20 and 21 of the specification. When a process starts and what its end means
is decided elsewhere: ``outcomes`` for tasks, ``preparation``, ``release``, ``start_task``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.environment import NodeFacts, TaskFacts, TaskKind, settings_of, variables
from engine.executors.protocol import Launch, Output, Plan
from engine.paths import STARTUP, task_directory

if TYPE_CHECKING:
    from engine.specs.common import CommandLine, EnvironmentSetting
    from engine.state.jobs import Job
    from engine.world import World


def task_launch(world: World, task: int, node: int, attempt: int, started_ms: int) -> Launch:
    """The launch of a task's attempt on a node."""
    spec = world.tasks.spec(task)
    profile = world.tasks.profile_of(task)
    job = world.jobs[profile.job]
    return Launch(
        TaskKind.MANAGER if profile.manager else TaskKind.TASK,
        spec.command_line,
        spec.simulate,
        ("task", job.id.lower(), spec.id.lower()),
        attempt,
        world.nodes[node].position,
        world.pool_of(node).os,
        started_ms,
        task_directory(job.id, spec.id),
        spec.resource_files,
        profile.wall_clock_ms,
    )


def prep_launch(world: World, job: Job, node: int, run: int, started_ms: int) -> Launch:
    """The launch of a job's preparation on a node; ``run`` counts its starts there."""
    prep = job.spec.job_preparation_task
    assert prep is not None
    return _special(
        world, job, node, TaskKind.PREP, prep, prep.id, run, started_ms, prep.constraints.max_wall_clock_time
    )


def release_launch(world: World, job: Job, node: int, run: int, started_ms: int) -> Launch:
    """The launch of a job's release task on a node; ``run`` counts its starts there."""
    release = job.spec.job_release_task
    assert release is not None
    return _special(
        world, job, node, TaskKind.RELEASE, release, release.id, run, started_ms, release.max_wall_clock_time
    )


def _special(
    world: World,
    job: Job,
    node: int,
    kind: TaskKind,
    spec: CommandLine,
    task_id: str,
    run: int,
    started_ms: int,
    wall_clock_ms: int | None,
) -> Launch:
    record = world.nodes[node]
    pool = world.pool_of(node)
    return Launch(
        kind,
        spec.command_line,
        spec.simulate,
        (kind.name, job.id.lower(), pool.id.lower(), str(record.position)),
        run,
        record.position,
        pool.os,
        started_ms,
        task_directory(job.id, task_id),
        spec.resource_files,
        wall_clock_ms,
    )


def start_task_launch(world: World, node: int, started_ms: int) -> Launch:
    """The launch of the start task on a node."""
    record = world.nodes[node]
    spec = record.start_spec
    assert spec is not None
    pool = world.pool_of(node)
    return Launch(
        TaskKind.START,
        spec.command_line,
        spec.simulate,
        ("start task", pool.id.lower(), str(record.position)),
        record.start_runs,
        record.position,
        pool.os,
        started_ms,
        STARTUP,
        spec.resource_files,
    )


def begin(world: World, node: int, launch: Launch) -> None:
    """The process's directory is there, its output files are empty (FILE-4, RETRY-12)."""
    files = world.disks.edit(node)
    files.mkdir(f"{launch.directory}/wd")
    files.write(f"{launch.directory}/stdout.txt", "")
    files.write(f"{launch.directory}/stderr.txt", "")


def finish(
    world: World,
    node: int,
    launch: Launch,
    plan: Plan,
    job: Job | None,
    task_id: str,
    settings: tuple[EnvironmentSetting, ...],
) -> Output:
    """The process has ended by itself: its files and output are on the node's disk."""
    environment = environment_of(world, node, launch, job, task_id, settings)
    files = world.disks.edit(node)
    output = world.executor.finish(launch, plan, environment, world.root_of(world.pool_of(node)), files)
    files.write(f"{launch.directory}/stdout.txt", output.stdout)
    files.write(f"{launch.directory}/stderr.txt", output.stderr)
    return output


def environment_of(
    world: World, node: int, launch: Launch, job: Job | None, task_id: str, settings: tuple[EnvironmentSetting, ...]
) -> dict[str, str]:
    """The environment variables of a process (section 21, JOB-4, ENV-1)."""
    record = world.nodes[node]
    pool = world.pool_of(node)
    account = world.account
    facts = NodeFacts(
        account_name=account.name,
        account_url=f"https://{account.name}.{account.location}.batch.azure.com",
        pool_id=pool.id,
        node_id=record.id,
        root=world.root_of(pool),
        dedicated=record.dedicated,
    )
    prep = job.spec.job_preparation_task if job is not None else None
    of_task = TaskFacts(
        launch.kind,
        launch.directory,
        task_id=task_id,
        job_id=job.id if job is not None else "",
        prep_directory=task_directory(job.id, prep.id) if job is not None and prep is not None else None,
    )
    common = job.spec.common_environment_settings if job is not None else ()
    return variables(
        facts,
        of_task,
        job_settings=settings_of((setting.name, setting.value) for setting in common),
        task_settings=settings_of((setting.name, setting.value) for setting in settings),
    )
