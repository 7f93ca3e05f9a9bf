"""A node's files as a process sees them that may not write everywhere (FILE-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.executors.commands import Denied, FileView

if TYPE_CHECKING:
    from engine.executors.files import NodeFiles


class GuardedFiles(FileView):
    """Reads everything; raises Denied where the process may not write."""

    def __init__(self, files: NodeFiles, read_only: tuple[str, ...]) -> None:
        """Guard the directories ``read_only``, by key, and all that is in them."""
        self._files = files
        self._read_only = read_only

    def _check(self, key: str) -> None:
        if any(key == place or key.startswith(f"{place}/") for place in self._read_only):
            raise Denied(key)

    def read(self, key: str) -> str | None:
        """The text of a file; None if there is none."""
        return self._files.read(key)

    def write(self, key: str, text: str) -> None:
        """Make or replace a file."""
        self._check(key)
        self._files.write(key, text)

    def put(self, key: str, size: int) -> None:
        """Make or replace a file of so many bytes whose text nobody knows."""
        self._check(key)
        self._files.put(key, size)

    def copy_file(self, source: str, target: str) -> None:
        """Make or replace a file that is like another one, which must exist."""
        self._check(target)
        self._files.copy_file(source, target)

    def append(self, key: str, text: str) -> None:
        """Add to the end of a file, which is made if need be."""
        self._check(key)
        self._files.append(key, text)

    def delete(self, key: str) -> bool:
        """Delete a file, or a directory with all that is in it; False if there was neither."""
        if self._files.exists(key):
            self._check(key)
        return self._files.delete(key)

    def exists(self, key: str) -> bool:
        """Whether there is a file or a directory of that key."""
        return self._files.exists(key)

    def is_dir(self, key: str) -> bool:
        """Whether there is a directory of that key."""
        return self._files.is_dir(key)

    def listdir(self, key: str) -> list[str]:
        """The names in a directory, sorted."""
        return self._files.listdir(key)

    def mkdir(self, key: str) -> None:
        """Make a directory and those above it."""
        self._check(key)
        self._files.mkdir(key)
