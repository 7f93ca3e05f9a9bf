"""The files on nodes as the service's file API shows them (FILE-7, FILE-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.rules.processes.directories import (
    OUTPUTS,
    directory_of,
    entries_of,
    files_of,
    instance_directories,
    is_over,
    key_of,
    read_file,
    tasks_on,
)
from engine.state.tasks import NEVER_MS, PREPARING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.run.simulation import Simulation
    from engine.world.world import World

__all__ = ["files_of", "hook_outputs", "read_node_file", "read_task_file", "tree"]


def tree(sim: Simulation) -> Iterator[tuple[str, str, str, str]]:
    """Yield pool id, node id, path and text of every file on every node in a pool."""
    world = sim.world
    for pool in world.pools.present():
        nodes = [node for node in pool.nodes if world.nodes.state_of(node) is not None]
        tasks = tasks_on(world, nodes)
        for node in nodes:
            for entry in entries_of(world, node, tasks[node], sim.now_ms):
                if entry.text is not None:
                    yield pool.id, world.nodes[node].id, entry.path, entry.text


def read_node_file(world: World, pool_id: str, node_id: str, path: str, now_ms: int) -> str:
    """Return the text of a file on a node, by a path from the root with either separator (FILE-10).

    Raises:
        BatchError: PoolNotFound, NodeNotFound or FileNotFound.
    """
    pool = world.pools.find(pool_id)
    if pool is None:
        raise BatchError("PoolNotFound", poolId=pool_id)
    present = (node for node in pool.nodes if world.nodes.state_of(node) is not None)
    node = next((node for node in present if world.nodes[node].id.lower() == node_id.lower()), None)
    if node is None:
        raise BatchError("NodeNotFound", nodeId=node_id)
    text = read_file(world, node, path, now_ms)
    if text is None:
        raise BatchError("FileNotFound", path=path)
    return text


def read_task_file(world: World, job_id: str, task_id: str, path: str, now_ms: int) -> str:
    """Return the text of a file of a task, by its path in the task's directory (FILE-7, FILE-10).

    Raises:
        BatchError: JobNotFound, TaskNotFound, TaskFilesUnavailable (the task never ran, or its node or the node's disk
            is gone), TaskFilesCleanedup (its retention time is over) or FileNotFound.
    """
    job = world.jobs.find(job_id)
    if job is None:
        raise BatchError("JobNotFound", jobId=job_id)
    task = world.tasks.find(job.row, task_id)
    if task is None:
        raise BatchError("TaskNotFound", taskId=task_id)
    tasks, node = world.tasks, world.tasks.node[task]
    if tasks.started[task] == NEVER_MS or tasks.state[task] == PREPARING:
        raise BatchError("TaskFilesUnavailable", "the task has not run")
    if world.nodes.state_of(node) is None:
        raise BatchError("TaskFilesUnavailable", "the node is gone")
    if tasks.started[task] <= world.nodes[node].disk_since_ms:
        raise BatchError("TaskFilesUnavailable", "the node has been given a new disk since")
    directory = directory_of(world, task, node)
    if is_over(directory, now_ms):
        raise BatchError("TaskFilesCleanedup")
    name = key_of(path)
    text = world.disks[node].read(f"{directory.path}/{name}")
    if text is None and name in OUTPUTS and not world.disks[node].is_dir(directory.path):
        text = ""
    if text is None:
        raise BatchError("FileNotFound", path=path)
    return text


def hook_outputs(sim: Simulation, node: int, root_directory: str) -> list[tuple[str, int]]:
    """Return names and sizes in bytes of the outputs of a preparation or release; none once its directory is gone."""
    world = sim.world
    if world.nodes.state_of(node) is None:
        return []
    there = (each for each in instance_directories(world, node) if each.path == root_directory)
    if all(is_over(each, sim.now_ms) for each in there):
        return []
    return [(name, world.disks[node].size(f"{root_directory}/{name}")) for name in OUTPUTS]
