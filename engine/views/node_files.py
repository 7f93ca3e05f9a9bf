"""The files on the nodes as the service shows them (FILE-1 to FILE-10).

A node's disk holds what was written there. Processes that write nothing leave no trace on it, though each of them has
its directory with two empty files (FILE-4): these follow from the tables. And a directory whose retention time is over
is gone, though nobody deleted it (FILE-7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.errors import BatchError
from engine.paths import WORKITEMS, parent, task_directory
from engine.state.tasks import COMPLETED, GONE, NEVER_MS, PREPARING
from engine.terms import InstanceState
from engine.views.history import starts_since

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.simulation import Simulation
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.world import World

_OUTPUTS = ("stdout.txt", "stderr.txt")
# workitems/<job>/job-1/<task>: so many names lead to the directory of a task (FILE-3).
_TASK_DEPTH = 4


class FileEntry(NamedTuple):
    """A file or directory by its path below the node's root, slashes between; ``text`` is None for a directory."""

    path: str
    text: str | None

    @property
    def is_directory(self) -> bool:
        """Whether it is a directory."""
        return self.text is None

    @property
    def size(self) -> int:
        """The length in bytes of UTF-8."""
        return len((self.text or "").encode("utf-8", "surrogatepass"))


class _Directory(NamedTuple):
    """The directory of a process, and when it is deleted; None is never, or not known yet."""

    path: str
    expires_ms: int | None


def tree(sim: Simulation) -> Iterator[tuple[str, str, str, str]]:
    """Pool id, node id, path and text of every file on every node that is there."""
    world = sim.world
    for pool in world.pools.present():
        nodes = [node for node in pool.nodes if world.nodes.state_of(node) is not None]
        tasks = _tasks_on(world, nodes)
        for node in nodes:
            for path, text in _entries(world, node, tasks[node], sim.now_ms):
                if text is not None:
                    yield pool.id, world.nodes[node].id, path, text


def files_of(world: World, node: int, now_ms: int) -> list[FileEntry]:
    """Every file and directory on a node, sorted by path; none on a node that is gone."""
    if world.nodes.state_of(node) is None:
        return []
    return _entries(world, node, _tasks_on(world, [node])[node], now_ms)


def read_node_file(world: World, pool_id: str, node_id: str, path: str, now_ms: int) -> str:
    """The text of a file on a node, its path relative to the root, with either separator (FILE-10).

    Raises BatchError PoolNotFound, NodeNotFound, FileNotFound.
    """
    pool = world.pools.find(pool_id)
    if pool is None:
        raise BatchError("PoolNotFound", poolId=pool_id)
    present = (node for node in pool.nodes if world.nodes.state_of(node) is not None)
    node = next((node for node in present if world.nodes[node].id.lower() == node_id.lower()), None)
    if node is None:
        raise BatchError("NodeNotFound", nodeId=node_id)
    key = _key(path)
    if key.startswith(f"{WORKITEMS}/"):
        text = dict(files_of(world, node, now_ms)).get(key)
    else:
        text = world.disks[node].read(key) if key in world.disks[node].walk() else None
    if text is None:
        raise BatchError("FileNotFound", path=path)
    return text


def read_task_file(world: World, job_id: str, task_id: str, path: str, now_ms: int) -> str:
    """The text of a file of a task, its path relative to the task's directory (FILE-7, FILE-10).

    Raises BatchError JobNotFound, TaskNotFound, TaskFilesUnavailable (the task never ran, or its node or the node's
    disk is gone), TaskFilesCleanedup (its retention time is over), FileNotFound.
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
    directory = _task_directory(world, task)
    if _is_over(directory, now_ms):
        raise BatchError("TaskFilesCleanedup")
    name = _key(path)
    text = world.disks[node].read(f"{directory.path}/{name}")
    if text is None and name in _OUTPUTS and not world.disks[node].is_dir(directory.path):
        text = ""
    if text is None:
        raise BatchError("FileNotFound", path=path)
    return text


def _key(path: str) -> str:
    return path.replace("\\", "/").strip("/")


def _tasks_on(world: World, nodes: Sequence[int]) -> dict[int, list[int]]:
    """The tasks that have a directory on each of these nodes: they started there on its present disk."""
    return starts_since(world, {node: world.nodes[node].disk_since_ms for node in nodes})


def _entries(world: World, node: int, tasks: Sequence[int], now_ms: int) -> list[FileEntry]:
    files = world.disks[node]
    directories = [_task_directory(world, task) for task in tasks if world.tasks.state[task] != GONE]
    directories += _instance_directories(world, node)
    expired = {directory.path for directory in directories if _is_over(directory, now_ms)}
    entries = {path: files.read(path) for path in files.walk() if _process_directory(path) not in expired}
    for path in (directory.path for directory in directories):
        if path not in expired and path not in entries:
            entries.update({f"{path}/{name}": "" for name in _OUTPUTS})
            above = f"{path}/wd"
            while above and above not in entries:
                entries[above] = None
                above = parent(above)
    return [FileEntry(path, entries[path]) for path in sorted(entries)]


def _process_directory(path: str) -> str:
    """The directory of the process that a path belongs to."""
    return "/".join(path.split("/", _TASK_DEPTH)[:_TASK_DEPTH])


def _task_directory(world: World, task: int) -> _Directory:
    tasks = world.tasks
    profile = tasks.profile_of(task)
    path = task_directory(world.jobs[profile.job].id, tasks.task_id(task))
    if tasks.state[task] != COMPLETED or profile.retention_ms is None:
        return _Directory(path, None)
    return _Directory(path, tasks.ended[task] + profile.retention_ms)


def _instance_directories(world: World, node: int) -> list[_Directory]:
    """The directories of preparations and releases that started on the node's present disk."""
    instances = world.instances
    found: list[_Directory] = []
    for row in instances.rows_on(node):
        job = world.jobs[instances.job[row]]
        if job.state is None:
            continue
        prep, release = job.spec.job_preparation_task, job.spec.job_release_task
        if prep is not None:
            found += _of_instance(world, job, node, instances.prep(row), prep.id, prep.constraints.retention_time)
        if release is not None:
            found += _of_instance(world, job, node, instances.release(row), release.id, release.retention_time)
    return found


def _of_instance(
    world: World, job: Job, node: int, view: InstanceView | None, task_id: str, retention_ms: int | None
) -> list[_Directory]:
    if view is None or view.start_ms <= world.nodes[node].disk_since_ms:
        return []
    path = task_directory(job.id, task_id)
    if view.state is InstanceState.RUNNING or view.end_ms is None or retention_ms is None:
        return [_Directory(path, None)]
    return [_Directory(path, view.end_ms + retention_ms)]


def _is_over(directory: _Directory, now_ms: int) -> bool:
    """FILE-7, TIME-18: a directory is deleted exactly when its retention time is over."""
    return directory.expires_ms is not None and directory.expires_ms <= now_ms
