"""The folders of nodes: what a node has on its simulated disk is there as files, and what programs leave is seen."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

from engine.base.paths import TOP_DIRECTORIES, NodeRoot, is_from_outside, parent, working_directory
from engine.base.terms import OsFamily
from engine.execution.supervisor import open_below
from engine.shell.files import NodeFiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.world import World

LONGEST_TEXT = 1_000_000
"""The bytes of a file up to which its text is kept in the simulation too; of a larger one only the size."""
_MOST_READ = 256 << 20  # bytes
_STREAMS = ("stdout.txt", "stderr.txt")


class Changes(NamedTuple):
    """The files that have changed in a folder, by key: the sizes and texts of those written, and those removed."""

    sizes: dict[str, int]
    texts: dict[str, str]
    removed: tuple[str, ...]


class NodeFolder:
    """The folder of one node, and how its files were when they were last looked at."""

    def __init__(self, above: Path, world: World, node: int) -> None:
        """Make the folder ``<pool>/<node>`` with the standard directories."""
        self.path = above / world.pool_of(node).id / world.nodes[node].id
        self.root = NodeRoot(OsFamily.LINUX, str(self.path))
        self._world, self._node = world, node
        self._seen: dict[str, tuple[int, int]] = {}  # size and time of each file, by key
        self._mirrored: set[str] = set()  # keys that the simulated disk has, too
        for name in TOP_DIRECTORIES:
            (self.path / name).mkdir(parents=True, exist_ok=True)

    def place(self, key: str) -> Path:
        """Return where the file or directory of a key is."""
        return self.path / key

    def read(self, key: str) -> bytes | None:
        """Read a file, of which the beginning is enough if it is very long; None if there is none in this folder."""
        with suppress(OSError), self._open(key, "rb") as stream:
            return stream.read(_MOST_READ)
        return None

    def _open(self, key: str, mode: Literal["rb", "wb"]) -> BinaryIO:
        """Open a file without following a link that a program may have put there. Raises OSError."""
        flags = os.O_RDONLY if mode == "rb" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        return open(open_below(str(self.path), str(self.place(key)), flags), mode)

    def _make(self, directory: str) -> None:
        """Make a directory, without following links. Raises OSError."""
        place = self.path
        for part in directory.split("/"):
            place /= part
            if place.is_symlink():
                raise OSError(f"{place} is a link")
            place.mkdir(exist_ok=True)

    def bring(self, directory: str) -> None:
        """Make a process's directory with its output files, and what the simulated disk has there and in ``shared``."""
        self._make(working_directory(directory))
        for name in _STREAMS:
            with self._open(f"{directory}/{name}", "wb"):
                pass  # an empty file
        files = self._world.disks[self._node]
        for key in files.all_files():
            place = self.place(key)
            is_installed = is_from_outside(key) and place.parent.exists()
            if key.startswith("/") or place.name in _STREAMS or is_installed or place.exists():
                continue
            self._make(parent(key))
            with self._open(key, "wb") as stream:
                stream.write((files.read(key) or "").encode("utf-8", "surrogatepass"))
                stream.truncate(files.size(key))
            self._seen[key] = _state(place)
            self._mirrored.add(key)

    def forget(self, key: str) -> None:
        """Take a file as unchanged: its change is told in another way."""
        with suppress(OSError):
            self._seen[key] = _state(self.place(key))

    def changes(self) -> Changes:
        """Return what has changed since the last look, but for the output files of processes."""
        found = dict(self._files())
        written = {key: size for key, (size, when) in found.items() if self._seen.get(key) != (size, when)}
        removed = tuple(key for key in self._seen if key not in found)
        self._seen = found
        self._mirrored = (self._mirrored | written.keys()) - set(removed)
        texts = {key: text for key, size in written.items() if (text := self._text(key, size)) is not None}
        return Changes(written, texts, removed)

    def install(self, source: Path, directory: str) -> None:
        """Put the content of a folder or archive into a directory, unless that is there already."""
        place = self.place(directory)
        if place.exists():
            return
        if source.is_dir():
            shutil.copytree(source, place)
        else:
            is_zip = source.suffix == ".zip"
            shutil.unpack_archive(source, place, filter=None if is_zip else "data")

    def listing(self) -> NodeFiles:
        """Return the files as a simulated disk, with their sizes alone."""
        files = NodeFiles()
        for place in self.path.rglob("*"):
            if place.is_file() and not place.is_symlink():
                files.put(place.relative_to(self.path).as_posix(), place.stat().st_size)
        return files

    def follow(self) -> None:
        """Remove what the simulated disk has lost: with a wiped disk, a deleted job, or at the end of a retention."""
        files = self._world.disks[self._node]
        for key in [each for each in self._mirrored if files.times(each) is None]:
            self.place(key).unlink(missing_ok=True)
            self._mirrored.discard(key)
            self._seen.pop(key, None)
        for directory in self._directories():
            if not files.is_dir(directory):
                self.remove(directory)

    def remove(self, directory: str = "") -> None:
        """Remove a directory with its content, or the whole folder."""
        shutil.rmtree(self.place(directory), ignore_errors=True)
        below = f"{directory}/" if directory else ""
        self._seen = {key: state for key, state in self._seen.items() if not key.startswith(below)}
        self._mirrored = {key for key in self._mirrored if not key.startswith(below)}

    def _directories(self) -> list[str]:
        """Return the keys of the directories of tasks."""
        found = self.path.glob("workitems/*/job-*/*")
        return [place.relative_to(self.path).as_posix() for place in found if place.is_dir()]

    def _text(self, key: str, size: int) -> str | None:
        """Return the text of a file; None if it is long, or not text."""
        if size > LONGEST_TEXT:
            return None
        with suppress(OSError, UnicodeDecodeError), self._open(key, "rb") as stream:
            return stream.read().decode()
        return None

    def _files(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for above, directories, names in os.walk(self.path):
            directories.sort()
            is_of_process = "wd" in directories
            for name in sorted(names):
                if is_of_process and name in _STREAMS:
                    continue
                place = Path(above, name)
                with suppress(OSError):
                    if place.is_file() and not place.is_symlink():  # a link may lead out of the folder
                        yield place.relative_to(self.path).as_posix(), _state(place)


def _state(place: Path) -> tuple[int, int]:
    status = place.stat()
    return status.st_size, status.st_mtime_ns
