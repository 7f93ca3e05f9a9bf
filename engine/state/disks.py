"""The file systems of the nodes, made when the first file is written (FILE)."""

from __future__ import annotations

from enum import Enum, auto

from engine.executors.files import NodeFiles


class Disk(Enum):
    """What becomes of a node's disk when something is done to the node (NOP-12)."""

    KEPT = auto()
    WIPED = auto()


_EMPTY = NodeFiles()


class Disks:
    """Files by node. Reading an untouched node shows the standard directories only."""

    def __init__(self) -> None:
        """Make disks without files."""
        self._files: dict[int, NodeFiles] = {}
        self._saved: dict[int, NodeFiles] = {}
        self._edited: set[int] = set()

    def __getitem__(self, node: int) -> NodeFiles:
        """The node's files, to be read only."""
        return self._files.get(node, _EMPTY)

    def edit(self, node: int) -> NodeFiles:
        """The node's files, to be changed."""
        self._edited.add(node)
        files = self._files.get(node)
        if files is None:
            files = self._files[node] = NodeFiles()
        return files

    def nodes(self) -> list[int]:
        """The nodes on which something was written."""
        return list(self._files)

    def wipe(self, node: int) -> None:
        """Everything on the node is lost (FILE-9)."""
        if self._files.pop(node, None) is not None:
            self._edited.add(node)

    def delete_everywhere(self, directory: str) -> None:
        """Delete a directory on all nodes, whatever its retention (JOB-16, REL-18, TASK-14)."""
        for node in self.nodes():
            if self._files[node].exists(directory):
                self.edit(node).delete(directory)

    def copy(self) -> dict[int, NodeFiles]:
        """The disks as they are now, at the cost of those changed since the last copy."""
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
        """Make the disks as they were when ``copy`` was taken."""
        current = {
            node: files
            for node, files in self._files.items()
            if node not in self._edited and node in copy and self._saved.get(node) is copy[node]
        }
        self._files = {node: current.get(node) or files.copy() for node, files in copy.items()}
        self._edited = set()
        self._saved = copy
