"""The file systems of the nodes (FILE). Each is made when the first file is written."""

from __future__ import annotations

from enum import Enum, auto

from engine.executors.files import NodeFiles


class Disk(Enum):
    """The effect of an operation or fault on a node's disk (NOP-12)."""

    KEPT = auto()
    WIPED = auto()


_EMPTY = NodeFiles()


class Disks:
    """Files by node. A node on which nothing was written has the standard directories only."""

    def __init__(self) -> None:
        """Make disks without files."""
        self._files: dict[int, NodeFiles] = {}
        self._saved: dict[int, NodeFiles] = {}
        self._edited: set[int] = set()

    def __getitem__(self, node: int) -> NodeFiles:
        """Return the node's files, to be read only."""
        return self._files.get(node, _EMPTY)

    def __bool__(self) -> bool:
        return bool(self._files)

    def edit(self, node: int) -> NodeFiles:
        """Return the node's files, to be changed."""
        self._edited.add(node)
        files = self._files.get(node)
        if files is None:
            files = self._files[node] = NodeFiles()
        return files

    def nodes(self) -> list[int]:
        """Return the nodes on which something was written."""
        return list(self._files)

    def wipe(self, node: int) -> None:
        """Delete everything on the node (FILE-9)."""
        if self._files.pop(node, None) is not None:
            self._edited.add(node)

    def delete_everywhere(self, directory: str) -> None:
        """Delete a directory on all nodes, whatever its retention (JOB-16, REL-18, TASK-14)."""
        for node in self.nodes():
            if self._files[node].exists(directory):
                self.edit(node).delete(directory)

    def copy(self) -> dict[int, NodeFiles]:
        """Return a copy of the disks, at the cost of those changed since the last copy."""
        saved = self._saved.copy()
        for node in self._edited:
            files = self._files.get(node)
            if files is None:
                saved.pop(node, None)
            else:
                saved[node] = files.copy()
        self._edited = set()
        self._saved = saved
        return saved

    def restore(self, copy: dict[int, NodeFiles]) -> None:
        """Restore the disks from a copy."""
        current = {
            node: files
            for node, files in self._files.items()
            if node not in self._edited and node in copy and self._saved.get(node) is copy[node]
        }
        self._files = {node: current.get(node) or files.copy() for node, files in copy.items()}
        self._edited = set()
        self._saved = copy
