"""Launches: what the executor must know of a process of a task, a coordination command or a start task.

Launches of preparation and release tasks are in ``hooks``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.environment import TaskKind
from engine.base.paths import STARTUP, subtask_directory, task_directory
from engine.executors.protocol import READY, Launch
from engine.rules.processes import setup
from engine.state.acting import Process, ProcessKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.world.world import World


def task_launch(world: World, task: int, node: int, attempt: int) -> Launch:
    """Return the launch of a task's attempt on a node."""
    spec = world.tasks.spec(task)
    profile = world.tasks.profile_of(task)
    job = world.jobs[profile.job]
    kind = TaskKind.PRIMARY if profile.instances else TaskKind.TASK
    return Launch(
        TaskKind.MANAGER if profile.manager else kind,
        spec.command_line,
        spec.simulate,
        ("task", job.id.lower(), spec.id.lower()),
        attempt,
        world.nodes[node].position,
        world.pool_of(node).os,
        task_directory(job.id, spec.id),
        spec.resource_files,
        profile.wall_clock_ms,
        setup.setup_of(world, node, task_directory(job.id, spec.id)),
        world.acting.until_ms(Process(ProcessKind.TASK, task)),
    )


def application_launch(world: World, task: int, nodes: Sequence[int], attempt: int) -> Launch:
    """Return the launch of a multi-instance task's own command by its primary, which is set up by then (MI-4)."""
    launch = task_launch(world, task, nodes[0], attempt)
    return launch._replace(resource_files=(), setup=READY)


def coordination_launch(world: World, task: int, nodes: Sequence[int], subtask: int, attempt: int) -> Launch:
    """Return the launch of a coordination command; the primary downloads the task's own files before it (MI-4)."""
    spec = world.tasks.spec(task)
    settings = spec.multi_instance_settings
    assert settings is not None
    job, node = world.jobs[world.tasks.profile_of(task).job], nodes[subtask]
    directory = subtask_directory(task_directory(job.id, spec.id), subtask)
    return Launch(
        TaskKind.SUBTASK,
        settings.coordination_command_line,
        settings.simulate,
        ("coordination", job.id.lower(), spec.id.lower(), str(subtask)),
        attempt,
        world.nodes[node].position,
        world.pool_of(node).os,
        directory,
        () if subtask else spec.resource_files,
        setup=setup.setup_of(world, node, directory),
        until_ms=world.acting.until_ms(Process(ProcessKind.COORDINATION, task, subtask)),
    )


def start_task_launch(world: World, node: int) -> Launch:
    """Return the launch of the start task on a node."""
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
        STARTUP,
        spec.resource_files,
        setup=setup.setup_of(world, node, STARTUP),
        until_ms=world.acting.until_ms(Process(ProcessKind.START_TASK, node)),
    )
