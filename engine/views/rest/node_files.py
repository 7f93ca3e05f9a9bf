"""The files on nodes as the service's file API shows them (FILE-7, FILE-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from engine.base.errors import BatchError
from engine.base.paths import name_of
from engine.rules.decisions.lookups import job_named, node_named, pool_named, task_named
from engine.rules.processes.directories import (
    OUTPUTS,
    Directory,
    FileEntry,
    entries_of,
    files_of,
    instance_directories,
    is_over,
    key_of,
    tasks_on,
)
from engine.rules.processes.file_access import find_entry, task_directory_of
from engine.views.rest.common import job_url, node_url, utc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.run.simulation import Simulation
    from engine.world.world import World

__all__ = ["FileTree", "files_of", "hook_outputs", "node_tree", "read_node_file", "read_task_file", "task_tree", "tree"]

# Extensions of files that the service calls text; others are bytes to it.
_TEXTS = (".txt", ".log", ".csv", ".json", ".xml", ".htm", ".html", ".yaml", ".yml", ".md", ".ini", ".cfg")
_LINUX_MODE = "100644"  # a plain file that its owner may write; octal, as in the service's answers


class FileTree(NamedTuple):
    """The files that a request can name: those of a node, or those in the directory of a task on it."""

    world: World
    node: int
    url: str
    directory: Directory | None = None  # the task's

    @property
    def root(self) -> str:
        """The key of the directory in which the files are; empty for the node's root."""
        return "" if self.directory is None else self.directory.path

    @property
    def is_windows(self) -> bool:
        """True if names have backslashes."""
        return self.world.root_of(self.world.pool_of(self.node)).is_windows

    def key(self, path: str) -> str:
        """Return the key on the node of a path in this tree, with either separator."""
        name = key_of(path)
        return f"{self.root}/{name}" if self.root else name

    def find(self, path: str, now_ms: int) -> FileEntry:
        """Return the file or directory with this path. Raises BatchError: FileNotFound."""
        name = key_of(path)
        if not name:
            raise BatchError("FileNotFound", filePath=path)
        try:
            return find_entry(self.world, self.node, self.key(path), now_ms)
        except BatchError:
            raise BatchError("FileNotFound", filePath=path) from None

    def entries(self, now_ms: int, *, recursive: bool) -> list[FileEntry]:
        """Return what is in the tree, sorted by path; without ``recursive`` only what is at its root."""
        files = self.world.disks[self.node]
        if self.directory is None:
            if recursive:
                return files_of(self.world, self.node, now_ms)
            return [FileEntry.on_disk(files, name) for name in files.listdir("")]
        found = [FileEntry.on_disk(files, key) for key in files.walk(self.root)] or self.directory.untouched(files)[1:]
        return [entry for entry in found if recursive or "/" not in entry.path[len(self.root) + 1 :]]

    def name(self, entry: FileEntry) -> str:
        """Return the path of an entry in this tree, as processes on the node write it."""
        name = entry.path[len(self.root) + 1 :] if self.root else entry.path
        return name.replace("/", "\\") if self.is_windows else name

    def address(self, entry: FileEntry) -> str:
        """Return the URL of an entry, always with slashes."""
        return f"{self.url}/files/{quote(self.name(entry).replace(chr(92), '/'))}"

    def body(self, entry: FileEntry) -> dict[str, object]:
        """Return the REST body of an entry of a list: of a directory no properties, of a file on Linux no creation."""
        body: dict[str, object] = {
            "name": self.name(entry),
            "url": self.address(entry),
            "isDirectory": entry.is_directory,
        }
        if entry.is_directory:
            return body
        properties: dict[str, object] = {}
        if self.is_windows:
            properties["creationTime"] = utc(self.world, entry.times.created_ms)
        properties["lastModified"] = utc(self.world, entry.times.modified_ms)
        properties["contentLength"] = str(entry.size)
        properties["contentType"] = content_type(entry)
        if not self.is_windows:
            properties["fileMode"] = _LINUX_MODE
        return body | {"properties": properties}

    @property
    def file_mode(self) -> str | None:
        """The mode of a file in octal digits; None on Windows, which has none."""
        return None if self.is_windows else _LINUX_MODE


def content_type(entry: FileEntry) -> str:
    """Return the media type of a file, which follows from its name."""
    is_text = name_of(entry.path).lower().endswith(_TEXTS)
    return "text/plain" if is_text else "application/octet-stream"


def node_tree(world: World, node: int) -> FileTree:
    """Return the files of a node that is in its pool."""
    return FileTree(world, node, node_url(world, node))


def task_tree(world: World, task: int, now_ms: int) -> FileTree:
    """Return the files of a task on the node of its last attempt (FILE-7).

    Raises:
        BatchError: TaskFilesUnavailable or TaskFilesCleanedup.
    """
    node, directory = task_directory_of(world, task, now_ms)
    job_id = world.jobs[world.tasks.profile_of(task).job].id
    return FileTree(world, node, f"{job_url(world, job_id)}/tasks/{world.tasks.task_id(task)}", directory)


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
    node = node_named(world, pool_named(world, pool_id), node_id)
    return _text(node_tree(world, node), path, now_ms)


def read_task_file(world: World, job_id: str, task_id: str, path: str, now_ms: int) -> str:
    """Return the text of a file of a task, by its path in the task's directory (FILE-7, FILE-10).

    Raises:
        BatchError: JobNotFound, TaskNotFound, TaskFilesUnavailable (the task never ran, or its node or the node's disk
            is gone), TaskFilesCleanedup (its retention time is over) or FileNotFound.
    """
    task = task_named(world, job_named(world, job_id), task_id)
    return _text(task_tree(world, task, now_ms), path, now_ms)


def _text(found: FileTree, path: str, now_ms: int) -> str:
    entry = found.find(path, now_ms)
    if entry.text is None:
        raise BatchError("FileNotFound", filePath=path)
    return entry.text


def next_deletion_ms(sim: Simulation, node: int) -> int | None:
    """Return when the next directory of a preparation or release on the node is deleted; None if none will be."""
    ends = (each.expires_ms for each in instance_directories(sim.world, node))
    return min((end_ms for end_ms in ends if end_ms is not None and end_ms > sim.now_ms), default=None)


def hook_outputs(sim: Simulation, node: int, root_directory: str) -> list[tuple[str, int]]:
    """Return names and sizes in bytes of the outputs of a preparation or release; none once its directory is gone."""
    world = sim.world
    if world.nodes.state_of(node) is None:
        return []
    there = (each for each in instance_directories(world, node) if each.path == root_directory)
    if all(is_over(each, sim.now_ms) for each in there):
        return []
    return [(name, world.disks[node].size(f"{root_directory}/{name}")) for name in OUTPUTS]
