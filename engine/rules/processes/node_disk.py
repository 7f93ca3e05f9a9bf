"""The disk of a node: directories of processes with their files, the space that they take, and access by path.

A disk holds what was written there. A process that writes nothing leaves no trace on it, though it has a directory with
two empty files (FILE-4): those follow from the tables. A directory whose retention time is over counts as deleted
(FILE-3, FILE-7). Space is taken by resource files, packages, and files that processes write (VM-4). The service's file
operations find files by path (FILE-7, FILE-10, FILE-11).
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import BatchError
from engine.base.paths import (
    RESERVED_DISK_BYTES,
    TOP_DIRECTORIES,
    WORKITEMS,
    is_managed,
    job_directory,
    name_of,
    parent,
    task_directory,
)
from engine.base.terms import NodeState, TaskState
from engine.rules.facts import NodeBroken
from engine.shell.files import FileTimes, Room
from engine.state.tables import NEVER_MS
from engine.state.tasks import COMPLETED, GONE, PREPARING

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Sequence

    from engine.shell.files import NodeFiles
    from engine.specs.commands import DeleteTaskFile
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world import World


# Starts of tasks and of subtasks.
_TASK_EVENTS = ("TaskStateChanged", "SubtaskStateChanged")
OUTPUTS = ("stdout.txt", "stderr.txt")
# workitems/<job>/job-1/<task>: number of names in the path of a task's directory (FILE-3).
_TASK_DEPTH = 4


class FileEntry(NamedTuple):
    """A file or directory by its path below the node's root, slashes between; ``text`` is None for a directory.

    ``size`` is bytes; a file that was downloaded has a size and an empty text. Directories have no times.
    """

    path: str
    text: str | None
    size: int = 0
    times: FileTimes = FileTimes(0, 0)
    raw: bytes | None = None  # of a real file

    @property
    def has_unknown_text(self) -> bool:
        """True for a file of which only the size is known."""
        return not self.text and self.size > 0 and self.raw is None

    @classmethod
    def on_disk(cls, files: NodeFiles, key: str) -> FileEntry:
        """Return an existing file or directory."""
        return cls(key, files.read(key), files.size(key), files.times(key) or FileTimes(0, 0))

    @property
    def is_directory(self) -> bool:
        """True for a directory."""
        return self.text is None


class Directory(NamedTuple):
    """The directory of a process; ``expires_ms`` is None while it is not known, or for ever.

    ``retention_ms`` is how long it stays after the process has ended; None is for ever. ``start_ms`` is when the
    process started last.
    """

    path: str
    expires_ms: int | None
    retention_ms: int | None
    start_ms: int = 0

    def untouched(self, files: NodeFiles) -> list[FileEntry]:
        """Return what is in the directory, and itself, of a process that has left no trace on a disk; else nothing."""
        if files.exists(self.path):
            return []
        times = FileTimes(self.start_ms, self.start_ms)
        outputs = [FileEntry(f"{self.path}/{name}", "", 0, times) for name in sorted(OUTPUTS)]
        return [FileEntry(self.path, None), *outputs, FileEntry(f"{self.path}/wd", None)]


def files_of(world: World, node: int, now_ms: int) -> list[FileEntry]:
    """Return every file and directory on a node, sorted by path; none on a node that is gone."""
    if world.nodes.state_of(node) is None:
        return []
    return entries_of(world, node, tasks_on(world, [node])[node], now_ms)


def key_of(path: str) -> str:
    """Return the path as the disk has it: slashes between names, none around."""
    return path.replace("\\", "/").strip("/")


def tasks_on(world: World, nodes: Sequence[int]) -> dict[int, list[int]]:
    """Return the tasks that have a directory on each of these nodes: they started there on its present disk."""
    log = world.log
    found: dict[int, dict[int, None]] = {node: {} for node in nodes}
    starts = [shape.event in _TASK_EVENTS and ("to", TaskState.RUNNING) in shape.fields for shape in log.shapes]
    if len(nodes) == 1:
        places = _places(log.row_b, nodes[0])
        entries: Iterable[tuple[int, int, int, int]] = (
            (log.when[at], log.shape_of[at], log.row_a[at], nodes[0]) for at in places
        )
    else:
        entries = zip(log.when, log.shape_of, log.row_a, log.row_b, strict=True)
    for when_ms, shape, task, node in entries:
        if starts[shape] and node in found and when_ms > world.nodes[node].disk_since_ms:
            found[node][task] = None
    return {node: list(tasks) for node, tasks in found.items()}


def _places(column: array[int], value: int) -> Iterator[int]:
    """Yield the places of a value in a column, in ascending order."""
    at = -1
    with suppress(ValueError):
        while True:
            at = column.index(value, at + 1)
            yield at


def entries_of(world: World, node: int, tasks: Sequence[int], now_ms: int) -> list[FileEntry]:
    """Return every file and directory on a node, sorted by path; ``tasks`` are those of ``tasks_on``."""
    return entries_in(world, node, directories_on(world, node, tasks), now_ms)


def directories_on(world: World, node: int, tasks: Iterable[int]) -> list[Directory]:
    """Return the directories of processes on a node, also where their retention is over; ``tasks`` as above."""
    directories = [directory_of(world, task, node) for task in tasks if world.tasks.state[task] != GONE]
    return directories + instance_directories(world, node)


def entries_in(world: World, node: int, directories: Sequence[Directory], now_ms: int) -> list[FileEntry]:
    """Return every file and directory on a node, sorted by path, which has these ``directories_on`` it."""
    files = world.disks[node]
    expired = {directory.path for directory in directories if is_over(directory, now_ms)}
    kept = (path for path in files.walk() if process_directory(path) not in expired)
    entries = {path: FileEntry.on_disk(files, path) for path in kept}
    for directory in directories:
        if directory.path not in expired and directory.path not in entries:
            entries.update({entry.path: entry for entry in directory.untouched(files)})
            above = parent(directory.path)
            while above and above not in entries:
                entries[above] = FileEntry(above, None)
                above = parent(above)
    return [entries[path] for path in sorted(entries)]


def sweep(world: World, node: int) -> None:
    """Delete directories whose retention is over from the node's disk, to make room (FILE-7)."""
    files = world.disks[node]
    expired = [directory for directory in instance_directories(world, node) if is_over(directory, world.now_ms)]
    for job in world.jobs.present():
        known = (world.tasks.find(job.row, name) for name in files.listdir(job_directory(job.id)))
        directories = [directory_of(world, task, node) for task in known if task is not None]
        expired += [directory for directory in directories if is_over(directory, world.now_ms)]
    for directory in expired:
        world.disks.edit(node).delete(directory.path)


def process_directory(path: str) -> str:
    """Return the directory of the process that a path belongs to."""
    return "/".join(path.split("/", _TASK_DEPTH)[:_TASK_DEPTH])


def directory_of(world: World, task: int, node: int) -> Directory:
    """Return the directory of a task on a node (FILE-3), with the end of its retention (FILE-7)."""
    tasks = world.tasks
    path = task_directory(world.jobs[tasks.profile_of(task).job].id, tasks.task_id(task))
    retention_ms = retention_ms_of(world, task, node)
    ended_ms = tasks.ended[task] if tasks.state[task] == COMPLETED else None
    return _kept(path, tasks.started[task], ended_ms, retention_ms)


def retention_ms_of(world: World, task: int, node: int) -> int | None:
    """Return how long a task's directory stays on a node after its end; None is for ever.

    A later change of the retention time affects the primary of a multi-instance task, not its subtasks (MI-8).
    """
    profile = world.tasks.profile_of(task)
    if profile.instances and node != world.tasks.node[task]:
        return world.tasks.spec(task).constraints.retention_time
    return profile.retention_ms


def instance_directories(world: World, node: int) -> list[Directory]:
    """Return the directories of preparations and releases that started on the node's present disk."""
    instances = world.instances
    there = (row for row in instances.rows_on(node) if world.jobs[instances.job[row]].state is not None)
    return [directory for row in there for directory in directories_of_instance(world, row)]


def directories_of_instance(world: World, row: int) -> list[Directory]:
    """Return the directories of a job's preparation and release on a node, as far as its present disk has them."""
    instances = world.instances
    job, disk_since_ms = world.jobs[instances.job[row]], world.nodes[instances.node[row]].disk_since_ms
    return [
        hook_directory(job, view, is_release=is_release)
        for is_release, view in ((False, instances.prep(row)), (True, instances.release(row)))
        if view is not None and view.start_ms > disk_since_ms
    ]


def hook_directory(job: Job, view: InstanceView, *, is_release: bool) -> Directory:
    """Return the directory of a preparation or release that ran on a node, with the end of its retention (FILE-7)."""
    prep, release = job.spec.job_preparation_task, job.spec.job_release_task
    if is_release:
        assert release is not None
        return _kept(task_directory(job.id, release.id), view.start_ms, view.end_ms, release.retention_time)
    assert prep is not None
    return _kept(task_directory(job.id, prep.id), view.start_ms, view.end_ms, prep.constraints.retention_time)


def _kept(path: str, start_ms: int, ended_ms: int | None, retention_ms: int | None) -> Directory:
    """Return the directory of a process that ended at this moment, or has not ended."""
    expires_ms = None if ended_ms is None or retention_ms is None else ended_ms + retention_ms
    return Directory(path, expires_ms, retention_ms, start_ms)


def is_over(directory: Directory, now_ms: int) -> bool:
    """Return whether the retention time is over: the directory is deleted at that moment (FILE-7, TIME-18)."""
    return directory.expires_ms is not None and directory.expires_ms <= now_ms


_GIB = 1024**3
_N = NodeState
_UP = (_N.STARTING, _N.WAITING_FOR_START_TASK, _N.START_TASK_FAILED, _N.IDLE, _N.RUNNING, _N.OFFLINE)


def capacity_bytes(pool: Pool) -> int:
    """Return the disk space for tasks on a node of the pool (VM-4)."""
    return int(pool.size.task_disk_gib * _GIB)


def free_bytes(world: World, node: int) -> int:
    """Return the free bytes of the node's disk, the reserve included."""
    return max(0, capacity_bytes(world.pool_of(node)) - world.disks[node].used_bytes)


def room_of(world: World, node: int) -> Room:
    """Return the space of the node's disk; directories whose retention is over make room (FILE-7, VM-4)."""
    return Room(capacity_bytes(world.pool_of(node)), partial(sweep, world, node))


def is_full(world: World, node: int) -> bool:
    """Return whether less is free than the reserve that tasks see in their environment (NODE-15).

    Directories whose retention is over are deleted before a disk counts as full (FILE-7).
    """
    if free_bytes(world, node) < RESERVED_DISK_BYTES:
        sweep(world, node)
    return free_bytes(world, node) < RESERVED_DISK_BYTES


def take_space(world: World, node: int, key: str, size: int, text: str | None = None) -> bool:
    """Put a file of so many bytes on the node's disk, or as much of it as fits; return whether all of it did (VM-4).

    It replaces a file of its name, and has its text if that is known and all of it fits. Directories whose retention is
    over make room (FILE-7).
    """
    disk = world.disks.edit(node)
    disk.put(key, 0)
    if size > free_bytes(world, node):
        sweep(world, node)
    free = free_bytes(world, node)
    if text is not None and size <= free:
        disk.write(key, text)
    else:
        disk.put(key, min(size, free))
    return size <= free


def report_if_full(world: World, node: int) -> None:
    """Report a node whose disk is full: it is of no use until it is rebooted with more room (NODE-11, NODE-15)."""
    if is_full(world, node) and world.nodes.state_of(node) in _UP:
        world.emit(NodeBroken(node, "DiskFull"))


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
    job, path = job_of(world, key), process_directory(key)
    if job is None:
        return None
    row = world.instances.row(job.row, node)
    for directory in directories_of_instance(world, row) if row >= 0 else ():
        if directory.path == path:
            return directory
    name = name_of(path)
    task = world.tasks.find(job.row, name)
    is_its = task is not None and task_directory(job.id, world.tasks.task_id(task)) == path
    return directory_of(world, task, node) if task is not None and is_its and _has_run_on(world, task, node) else None


def job_of(world: World, key: str) -> Job | None:
    """Return the job in whose directory a path lies; None if there is none."""
    parts = key.split("/", 3)
    if len(parts) < 4 or parts[0] != WORKITEMS:
        return None
    found = (world.jobs.find(job_id) for job_id in (parts[1], f"{parts[1]}:{parts[2]}"))
    return next((job for job in found if job is not None and job_directory(job.id) == "/".join(parts[:3])), None)


def _has_run_on(world: World, task: int, node: int) -> bool:
    """Return whether the latest attempt of a task has run on the node's present disk."""
    tasks = world.tasks
    is_there = tasks.node[task] == node and tasks.state[task] not in (PREPARING, GONE)
    return is_there and tasks.started[task] > world.nodes[node].disk_since_ms


def delete_file(world: World, node: int, path: str, *, recursive: bool) -> None:
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


def delete_task_file(world: World, task: int, command: DeleteTaskFile) -> None:
    """Delete a file or directory of a task, named by its path in the task's directory (FILE-11).

    Raises:
        BatchError: See ``task_directory_of`` and ``delete``.
    """
    node, directory = task_directory_of(world, task, world.now_ms)
    name = key_of(command.file_path)
    if not name:
        raise BatchError("FileNotFound", filePath=command.file_path)
    delete_file(world, node, f"{directory.path}/{name}", recursive=command.recursive)


def _directories(world: World, node: int) -> Iterator[Directory]:
    """Yield the directories of processes on a node whose retention is not over."""
    found = directories_on(world, node, tasks_on(world, [node])[node])
    return (directory for directory in found if not is_over(directory, world.now_ms))


def _write_untouched(world: World, node: int) -> None:
    """Write the empty outputs of processes that have left no trace, since a part of them is about to go."""
    files = world.disks.edit(node)
    for directory in _directories(world, node):
        if not files.is_dir(directory.path):
            files.mkdir(f"{directory.path}/wd")
            for name in OUTPUTS:
                files.write(f"{directory.path}/{name}", "")
