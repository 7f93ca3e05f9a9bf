"""Access to the files on nodes by path, as the service's file operations have it (FILE-7, FILE-10, FILE-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.paths import TOP_DIRECTORIES, WORKITEMS, is_managed, job_directory
from engine.rules.processes.directories import (
    OUTPUTS,
    Directory,
    FileEntry,
    directories_of_instance,
    directory_of,
    files_of,
    instance_directories,
    is_over,
    key_of,
    tasks_on,
)
from engine.state.columns import NEVER_MS
from engine.state.tasks import GONE, PREPARING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.world.world import World


def task_directory_of(world: World, task: int, now_ms: int) -> tuple[int, Directory]:
    """Return the node that a task ran on last, and the task's directory there (FILE-7).

    Raises:
        BatchError: TaskFilesUnavailable (the task never ran, or its node or the node's disk is gone) or
            TaskFilesCleanedup (its retention time is over).
    """
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
    return node, directory


def find_entry(world: World, node: int, path: str, now_ms: int) -> FileEntry:
    """Return the file or directory on a node with this path below the root, with either separator (FILE-10).

    Names are compared as they are: ``..`` is a name like any other, so no path leads out of the root.

    Raises:
        BatchError: FileNotFound.
    """
    key = key_of(path)
    is_there = bool(key) and is_managed(key) and world.nodes.state_of(node) is not None
    found = _entry(world, node, key, now_ms) if is_there else None
    if found is None:
        raise BatchError("FileNotFound", filePath=path)
    return found


def read_file(world: World, node: int, path: str, now_ms: int) -> str | None:
    """Return the text of a file on a node, by its path below the root with either separator; None if there is none."""
    try:
        return find_entry(world, node, path, now_ms).text
    except BatchError:
        return None


def _entry(world: World, node: int, key: str, now_ms: int) -> FileEntry | None:
    files, directory = world.disks[node], _process_directory_of(world, node, key)
    if directory is not None and is_over(directory, now_ms):
        return None
    if files.exists(key):
        return FileEntry.on_disk(files, key)
    if directory is not None:
        return next((entry for entry in directory.untouched(files) if entry.path == key), None)
    if not key.startswith(f"{WORKITEMS}/"):
        return None
    # A directory above those of processes that have left no trace, or one of an earlier attempt of a task.
    return next((entry for entry in files_of(world, node, now_ms) if entry.path == key), None)


def _process_directory_of(world: World, node: int, key: str) -> Directory | None:
    """Return the directory of the process that a path belongs to; None where the tables alone do not tell it."""
    parts = key.split("/", 4)
    if len(parts) < 4 or parts[0] != WORKITEMS:
        return None
    above, name = "/".join(parts[:3]), parts[3]
    for job_id in (parts[1], f"{parts[1]}:{parts[2]}"):
        job = world.jobs.find(job_id)
        if job is None or job_directory(job.id) != above:
            continue
        row = world.instances.row(job.row, node)
        for directory in directories_of_instance(world, row) if row >= 0 else ():
            if directory.path == f"{above}/{name}":
                return directory
        task = world.tasks.find(job.row, name)
        if task is not None and world.tasks.task_id(task) == name and _has_run_on(world, task, node):
            return directory_of(world, task, node)
    return None


def _has_run_on(world: World, task: int, node: int) -> bool:
    """Return whether the latest attempt of a task has run on the node's present disk."""
    tasks = world.tasks
    is_there = tasks.node[task] == node and tasks.state[task] not in (PREPARING, GONE)
    return is_there and tasks.started[task] > world.nodes[node].disk_since_ms


def delete(world: World, node: int, path: str, *, recursive: bool) -> None:
    """Delete a file or directory on a node (FILE-11).

    The directories of the service itself, at the root and of processes, stay and lose what is in them.

    Raises:
        BatchError: FileNotFound, or OperationInvalidForCurrentState for a directory that is not empty.
    """
    entry = find_entry(world, node, path, world.now_ms)
    key = entry.path
    _write_untouched(world, node)
    files = world.disks.edit(node)
    if entry.is_directory and files.listdir(key) and not recursive:
        raise BatchError("OperationInvalidForCurrentState", "the directory is not empty: recursive must be true")
    files.delete(key)
    for kept in (*TOP_DIRECTORIES, *(directory.path for directory in _directories(world, node))):
        if kept == key or kept.startswith(f"{key}/"):
            files.mkdir(kept)


def delete_of_task(world: World, task: int, path: str, *, recursive: bool) -> None:
    """Delete a file or directory of a task, named by its path in the task's directory (FILE-11).

    Raises:
        BatchError: See ``task_directory_of`` and ``delete``.
    """
    node, directory = task_directory_of(world, task, world.now_ms)
    name = key_of(path)
    if not name:
        raise BatchError("FileNotFound", filePath=path)
    delete(world, node, f"{directory.path}/{name}", recursive=recursive)


def _directories(world: World, node: int) -> Iterator[Directory]:
    """Yield the directories of processes on a node whose retention is not over."""
    tasks = (task for task in tasks_on(world, [node])[node] if world.tasks.state[task] != GONE)
    found = (*(directory_of(world, task, node) for task in tasks), *instance_directories(world, node))
    return (directory for directory in found if not is_over(directory, world.now_ms))


def _write_untouched(world: World, node: int) -> None:
    """Write the empty outputs of processes that have left no trace, since a part of them is about to go."""
    files = world.disks.edit(node)
    for directory in _directories(world, node):
        if not files.is_dir(directory.path):
            files.mkdir(f"{directory.path}/wd")
            for name in OUTPUTS:
                files.write(f"{directory.path}/{name}", "")
