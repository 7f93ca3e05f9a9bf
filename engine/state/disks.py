"""The file systems of the nodes (FILE). Each is made when the first file is written."""

from __future__ import annotations

from array import array
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_files import NodeFiles
from engine.state.plain_outputs import directory_of, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.events.calendar import Calendar
    from engine.executors.protocol import PlainOutputs
    from engine.state.tasks import TaskTable


class Disk(Enum):
    """The effect of an operation or fault on a node's disk (NOP-12)."""

    KEPT = auto()
    WIPED = auto()


_EMPTY = NodeFiles()


class DisksCopy(NamedTuple):
    """The disks at a moment, and the plain tasks whose files are not written yet."""

    files: dict[int, NodeFiles]
    packed: dict[int, array[int]]
    room: dict[int, int]


class Disks:
    """Files by node. A node on which nothing was written has the standard directories only.

    The files of plain tasks are *packed*: only the task is kept, until somebody looks at the node's disk.
    """

    def __init__(self, tasks: TaskTable, calendar: Calendar) -> None:
        """Make disks without files; ``calendar`` has the moment at which files are written."""
        self._tasks = tasks
        self._calendar = calendar
        self._files: dict[int, NodeFiles] = {}
        self._saved: dict[int, NodeFiles] = {}
        self._edited: set[int] = set()
        self._packed: dict[int, array[int]] = {}
        self._saved_packed: dict[int, array[int]] = {}
        # A lower bound of the free bytes by node, kept as long as only plain tasks leave files there.
        self._room: dict[int, int] = {}

    def __getitem__(self, node: int) -> NodeFiles:
        """Return the node's files, to be read only."""
        if node in self._packed:
            self._unpack(node)
        return self._files.get(node, _EMPTY)

    def __bool__(self) -> bool:
        return bool(self._files)

    def edit(self, node: int) -> NodeFiles:
        """Return the node's files, to be changed."""
        if node in self._packed:
            self._unpack(node)
        self._room.pop(node, None)
        return self._own(node)

    def _own(self, node: int) -> NodeFiles:
        self._edited.add(node)
        files = self._files.get(node)
        if files is None:
            files = self._files[node] = NodeFiles()
        files.now_ms = self._calendar.now_ms
        return files

    def room(self, node: int, task: int, outputs: PlainOutputs) -> int | None:
        """Return a lower bound of the free bytes, so that a plain task's files may be packed.

        None if that is not known (``set_room`` says it), or if the task has a directory on the disk already.
        """
        room = self._room.get(node)
        if room is None:
            return None
        files = self._files.get(node)
        if files is None or files.is_bare or not files.is_dir(directory_of(self._tasks, task, outputs)):
            return room
        return None

    def set_room(self, node: int, free_bytes: int) -> None:
        """Note how many bytes are free on a disk to which nothing has been written since it was looked at."""
        self._room[node] = free_bytes

    def pack(self, node: int, task: int, most_bytes: int) -> None:
        """Leave the files of a plain task on a node; they take at most so many bytes, which ``room`` has promised."""
        self._edited.add(node)
        self._room[node] -= most_bytes
        packed = self._packed.get(node)
        if packed is None:
            packed = self._packed[node] = array("i")
        packed.append(task)

    def _unpack(self, node: int) -> None:
        """Write the files of plain tasks, in the order in which they have ended."""
        files = self._own(node)
        now_ms = files.now_ms
        for task in self._packed.pop(node):
            files.now_ms = self._tasks.ended[task]
            write(self._tasks, task, files)
        files.now_ms = now_ms

    def newest_text(self, node: int, names: Sequence[str]) -> tuple[str, str] | None:
        """Return path and text of the file of these names that was written last on a node and is not empty, or None.

        The files of plain tasks stay packed: only those of the last one are made.
        """
        packed = self._packed.get(node)
        if packed:
            last = NodeFiles()
            write(self._tasks, packed[-1], last)
            found = last.newest_text(names)
            if found is not None:
                return found
        return self._files.get(node, _EMPTY).newest_text(names)

    def nodes(self) -> list[int]:
        """Return the nodes on which something was written."""
        for node in list(self._packed):
            self._unpack(node)
        return list(self._files)

    def wipe(self, node: int) -> None:
        """Delete everything on the node (FILE-9)."""
        self._room.pop(node, None)
        was_packed = self._packed.pop(node, None) is not None
        if self._files.pop(node, None) is not None or was_packed:
            self._edited.add(node)

    def delete_everywhere(self, directory: str) -> None:
        """Delete a directory on all nodes, whatever its retention (JOB-16, REL-18, TASK-14)."""
        for node in self.nodes():
            if self._files[node].exists(directory):
                self.edit(node).delete(directory)

    def copy(self) -> DisksCopy:
        """Return a copy of the disks, at the cost of those changed since the last copy."""
        saved, packed = self._saved.copy(), self._saved_packed.copy()
        for node in self._edited:
            files, tasks = self._files.get(node), self._packed.get(node)
            if files is None:
                saved.pop(node, None)
            else:
                saved[node] = files.copy()
            if tasks is None:
                packed.pop(node, None)
            else:
                packed[node] = tasks[:]
        self._edited = set()
        self._saved, self._saved_packed = saved, packed
        return DisksCopy(saved, packed, self._room.copy())

    def restore(self, copy: DisksCopy) -> None:
        """Restore the disks from a copy."""
        current = {
            node: files
            for node, files in self._files.items()
            if node not in self._edited and node in copy.files and self._saved.get(node) is copy.files[node]
        }
        self._files = {node: current.get(node) or files.copy() for node, files in copy.files.items()}
        self._packed = {node: tasks[:] for node, tasks in copy.packed.items()}
        self._room = copy.room.copy()
        self._edited = set()
        self._saved, self._saved_packed, _ = copy
