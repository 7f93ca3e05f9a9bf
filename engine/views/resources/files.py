"""The files on one node as a tree, the reasons why its directories are deleted, and the last lines of output files."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from engine.base.paths import parent
from engine.base.terms import JobState, NodeState
from engine.rules.processes.node_disk import OUTPUTS, Directory, directory_of, hook_directory, process_directory
from engine.views.log.histories import NodeDirectories

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.views.log.histories import DirectoryOwner


_WD = "wd"
_NEVER_MS = 1 << 62


class DeletionCause(Enum):
    """The reason why the files of a directory are deleted."""

    RETENTION = auto()
    TASK_DELETED = auto()
    JOB_DELETED = auto()
    REIMAGED = auto()
    DEALLOCATED = auto()
    PREEMPTED = auto()
    LEFT = auto()


WIPES = {
    NodeState.REIMAGING: DeletionCause.REIMAGED,
    NodeState.DEALLOCATING: DeletionCause.DEALLOCATED,
    NodeState.PREEMPTED: DeletionCause.PREEMPTED,
    NodeState.LEAVING_POOL: DeletionCause.LEFT,
    None: DeletionCause.LEFT,
}
OPERATIONS = {"reimage": DeletionCause.REIMAGED, "deallocate": DeletionCause.DEALLOCATED, "remove": DeletionCause.LEFT}


class Deletion(NamedTuple):
    """A deletion of a directory, in the future or in the past.

    ``when_ms`` is ms since the start; None where that is not known: the process has not ended, or the node waits for
    its tasks. ``retention_ms`` is set with RETENTION only.
    """

    cause: DeletionCause
    when_ms: int | None
    retention_ms: int | None = None


class Item(NamedTuple):
    """A file or directory. ``size`` in bytes includes all files below; ``gone`` is the deletion that took it."""

    path: str
    is_directory: bool
    size: int
    gone: Deletion | None


class FilePage:
    """One node's files as they are now, and the directories of processes that were there."""

    def __init__(self, simulation: Simulation, node: int) -> None:
        """Read the log for a node once."""
        self._simulation = simulation
        self.node = node
        self._directories = NodeDirectories(simulation, node)
        self._gone: dict[str, Deletion] = {}
        self._children: dict[str, list[str]] = {}
        self._sizes: dict[str, int] = {}
        self._good_until_ms = self._jumps = -1
        self.update()

    def update(self) -> bool:
        """Read new entries of the log. Return whether anything may have changed."""
        has_news, jumps = self._directories.update(), self._simulation.jumps
        if not has_news and jumps == self._jumps and self._simulation.now_ms < self._good_until_ms:
            return False
        self._jumps = jumps
        self._settle()
        self._build()
        return True

    # -- what is there -------------------------------------------------------------------------------------------

    @property
    def is_known(self) -> bool:
        """True if the node was allocated at this moment or before."""
        return self.node < len(self._simulation.world.nodes.state)

    @property
    def left_ms(self) -> int | None:
        """The moment when the node left its pool, in ms since the start; None while it is there, or not yet."""
        return self._simulation.world.nodes[self.node].gone_ms if self.is_known else None

    def children(self, path: str) -> Sequence[str]:
        """Return the paths in a directory, sorted; the root is the empty path. A deleted directory has none."""
        return self._children.get(path, ())

    def item(self, path: str) -> Item | None:
        """Return the item with this path; None if there is none."""
        if path not in self._sizes:
            return None
        return Item(path, path in self._children, self._sizes[path], self._gone.get(process_directory(path)))

    def below(self, path: str) -> list[Item]:
        """Return everything below a directory that is not deleted, sorted by path."""
        found: list[Item] = []
        pending = list(self.children(path))
        while pending:
            item = self.item(pending.pop())
            if item is not None and item.gone is None:
                found.append(item)
                pending += self.children(item.path)
        return sorted(found)

    def read(self, path: str) -> str | None:
        """Return the text of a file; None if there is none, and empty where only the size is known."""
        item = self.item(path)
        if item is None or item.is_directory or item.gone is not None:
            return None
        return self._simulation.world.disks[self.node].read(path) or ""

    def deletions(self, path: str) -> list[Deletion]:
        """Return the deletions to come of a file or directory as far as they are known, or the past one."""
        directory = process_directory(path)
        if directory in self._gone:
            return [self._gone[directory]]
        world = self._simulation.world
        if not self.is_known:
            return []
        record = world.nodes[self.node]
        found = [] if record.evicted_ms is None else [Deletion(DeletionCause.PREEMPTED, record.evicted_ms)]
        if record.operation is not None and record.operation.name in OPERATIONS:
            found.append(Deletion(OPERATIONS[record.operation.name], None))
        owner = self._directories.owners.get(directory)
        if owner is not None:
            if world.jobs[owner.job].state is JobState.DELETING:
                found.append(Deletion(DeletionCause.JOB_DELETED, None))
            retention = self._retention(owner)
            found += [] if retention is None else [retention]
        return found

    # -- updating ------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Find out which directories are deleted, and until when that holds if nothing happens."""
        self._gone, self._good_until_ms = {}, _NEVER_MS
        for path, owner in self._directories.owners.items():
            fates = [fate for fate in self._ends(owner) if fate.when_ms is not None]
            first = min(fates, key=lambda fate: fate.when_ms or 0, default=None)
            if first is None or first.when_ms is None:
                continue
            if first.when_ms <= self._simulation.now_ms:
                self._gone[path] = first
            else:
                self._good_until_ms = min(self._good_until_ms, first.when_ms)

    def _ends(self, owner: DirectoryOwner) -> list[Deletion]:
        """Return all that has deleted the directory of a process, and its retention."""
        log = self._directories
        after = ((when_ms, state) for when_ms, state in log.wipes if when_ms >= owner.start_ms)
        found = [Deletion(WIPES[state], when_ms) for when_ms, state in list(after)[:1]]
        if owner.job in log.deleted_jobs:
            found.append(Deletion(DeletionCause.JOB_DELETED, log.deleted_jobs[owner.job]))
        if owner.task in log.deleted_tasks:
            found.append(Deletion(DeletionCause.TASK_DELETED, log.deleted_tasks[owner.task]))
        retention = self._retention(owner)
        return found if retention is None else [*found, retention]

    def _retention(self, owner: DirectoryOwner) -> Deletion | None:
        """Return the end of the retention of a directory; None where it has none."""
        directory = self._directory(owner)
        if directory is None or directory.retention_ms is None:
            return None
        return Deletion(DeletionCause.RETENTION, directory.expires_ms, directory.retention_ms)

    def _directory(self, owner: DirectoryOwner) -> Directory | None:
        world = self._simulation.world
        if owner.task >= 0:
            return directory_of(world, owner.task, self.node)
        instances = world.instances
        row = instances.row(owner.job, self.node)
        view = instances.release(row) if owner.is_release else instances.prep(row)
        return None if view is None else hook_directory(world.jobs[owner.job], view, is_release=owner.is_release)

    def _build(self) -> None:
        """Build the tree of the disk, with the directories of processes, which are listed in any case (FILE-4)."""
        disk = self._simulation.world.disks[self.node]
        self._children, self._sizes = {"": []}, {"": 0}
        for path in disk.walk() if self.is_known and self.left_ms is None else ():
            if process_directory(path) not in self._gone:
                self._add(path, disk.size(path), is_directory=disk.is_dir(path))
        for path in self._directories.owners:
            self._add(path, 0, is_directory=True)
            for name in () if path in self._gone or disk.is_dir(path) else (*OUTPUTS, _WD):
                self._add(f"{path}/{name}", 0, is_directory=name == _WD)
        for paths in self._children.values():
            paths.sort()

    def _add(self, path: str, size: int, *, is_directory: bool) -> None:
        """Enter a path with all directories above it; one that is in the tree stays as it is."""
        if is_directory:
            self._children.setdefault(path, [])
        below = path
        while below and (size or below not in self._sizes):
            above = parent(below)
            if below not in self._sizes:
                self._sizes[below] = 0
                self._children.setdefault(above, []).append(below)
            self._sizes[below] += size
            below = above
        if size:
            self._sizes[""] += size


class OutputEnd(NamedTuple):
    """The last lines of an output file, and the number of lines above them."""

    path: str
    lines: tuple[str, ...]
    above: int


def output_ends(simulation: Simulation, node: int, directory: str, most_lines: int) -> list[OutputEnd]:
    """Return the last lines of ``stdout.txt`` and ``stderr.txt`` in a process's directory on a node (FILE-4).

    A file that does not exist, or no longer does, is left out.
    """
    disk = simulation.world.disks[node]
    found = []
    for name in OUTPUTS:
        path = f"{directory}/{name}"
        text = disk.read(path)
        if text is not None:
            lines = text.rstrip("\n").split("\n") if text else []
            found.append(OutputEnd(path, tuple(lines[-most_lines:]), max(0, len(lines) - most_lines)))
    return found
