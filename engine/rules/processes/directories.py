"""Directories of processes on a node, and their files (FILE-3, FILE-4, FILE-7).

A node's disk holds what was written there. A process that writes nothing leaves no trace on it, though it has a
directory with two empty files (FILE-4): those follow from the tables. A directory whose retention time is over counts
as deleted (FILE-7).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_files import FileTimes
from engine.base.paths import job_directory, parent, task_directory
from engine.base.terms import TaskState
from engine.state.tasks import COMPLETED, GONE

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Sequence

    from engine.base.node_files import NodeFiles
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.world.world import World

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

    @property
    def has_unknown_text(self) -> bool:
        """True for a file of which only the size is known."""
        return not self.text and self.size > 0

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
    files = world.disks[node]
    directories = [directory_of(world, task, node) for task in tasks if world.tasks.state[task] != GONE]
    directories += instance_directories(world, node)
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
