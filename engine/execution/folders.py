"""The folders of nodes: what a node has on its simulated disk is there as files, and what programs leave is seen."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from stat import S_ISREG
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple
from zipfile import ZipFile

from engine.base.paths import TOP_DIRECTORIES, NodeRoot, is_from_outside, name_of, parent, working_directory
from engine.base.terms import OsFamily
from engine.execution.supervisor import directory_below, open_below
from engine.shell.files import NodeFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

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
        """Remove what an earlier run has left in ``<pool>/<node>``: a new node has an empty disk."""
        self.path = (above / world.pool_of(node).id / world.nodes[node].id).resolve()
        self.root = NodeRoot(OsFamily.LINUX, str(self.path))
        self._world, self._node = world, node
        self._seen: dict[str, tuple[int, int]] = {}  # size and time of each file, by key
        self._mirrored: set[str] = set()  # keys that the simulated disk had, too
        self._followed = (world.nodes[node].disk_since_ms, 0)
        shutil.rmtree(self.path, ignore_errors=True)

    def place(self, key: str) -> Path:
        """Return where the file or directory of a key is."""
        return self.path / key

    def open(self, key: str, mode: Literal["rb", "wb"]) -> BinaryIO:
        """Open a file without following a link that a program may have put there. Raises OSError."""
        flags = os.O_RDONLY if mode == "rb" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        return open(open_below(str(self.path), str(self.place(key)), flags), mode)

    def read(self, key: str, begins: int = 0) -> bytes | None:
        """Read a file, of which the beginning is enough if it is very long; None if there is none in this folder."""
        with suppress(OSError), self.open(key, "rb") as stream:
            stream.seek(begins)
            return stream.read(_MOST_READ)
        return None

    def make(self) -> None:
        """Make the folder with the standard directories. Raises OSError."""
        for name in TOP_DIRECTORIES:
            (self.path / name).mkdir(parents=True, exist_ok=True)

    def bring(self, directory: str) -> None:
        """Make a process's directory with its output files, and what the simulated disk has there and in ``shared``."""
        with directory_below(str(self.path), str(self.place(working_directory(directory))), make=True):
            for name in _STREAMS:
                self.open(f"{directory}/{name}", "wb").close()
        files = self._world.disks[self._node]
        for key in files.all_files():
            if key in self._seen or key.startswith("/") or name_of(key) in _STREAMS:
                continue
            place = self.place(key)
            if place.exists() or (is_from_outside(key) and place.parent.exists()):
                continue
            with self.open(key, "wb") as stream:
                stream.write((files.read(key) or "").encode("utf-8", "surrogatepass"))
                stream.truncate(files.size(key))
            self._seen[key] = _state(place.lstat())
            self._mirrored.add(key)

    def changes(self) -> Changes:
        """Return what has changed since the last look, but for the output files of processes."""
        found = {key: state for key, state in self._files() if not self._is_stream(key)}
        written = {key: state[0] for key, state in found.items() if self._seen.get(key) != state}
        removed = tuple(key for key in self._seen if key not in found)
        self._seen = found
        self._mirrored &= found.keys()
        texts = {key: text for key, size in written.items() if (text := self._text(key, size)) is not None}
        return Changes(written, texts, removed)

    def mirror(self, keys: Iterable[str]) -> None:
        """Note which of these files the simulated disk has, too, now that the end of their program is entered."""
        files = self._world.disks[self._node]
        self._mirrored |= {key for key in keys if files.times(key) is not None}

    def install(self, source: Path, directory: str) -> None:
        """Put the content of a folder or archive into a directory, unless that is there already. Raises OSError."""
        place = self.place(directory)
        if place.exists():
            return
        with directory_below(str(self.path), str(place.parent), make=True):
            try:
                if source.is_dir():
                    shutil.copytree(source, place)
                elif source.suffix == ".zip":
                    _unzip(source, place)
                else:
                    shutil.unpack_archive(source, place, filter="data")
            except Exception as error:  # a full disk, a broken archive, a password
                shutil.rmtree(place, ignore_errors=True)
                raise OSError(f"{source}: {error}") from None

    def lend(self, key: str, content: Callable[[], bytes]) -> None:
        """Put a file where the node's programs can read it, which is no file of the node itself. Raises OSError."""
        if key not in self._seen:
            with self.open(key, "wb") as copy:
                copy.write(content())
            self._seen[key] = _state(self.place(key).lstat())

    def listing(self) -> NodeFiles:
        """Return the files as a simulated disk, with their sizes alone."""
        files = NodeFiles()
        for key, (size, _) in self._files():
            files.put(key, size)
        return files

    def follow(self) -> None:
        """Remove what the simulated disk has lost: with a wiped disk, a deleted job, or at the end of a retention.

        What it has never had stays: programs have written that, and their ends are not yet entered. Looking through the
        folder takes long, so this is done only if something is lost.
        """
        files = self._world.disks[self._node]
        state = (self._world.nodes[self._node].disk_since_ms, files.losses)
        if state == self._followed:
            return
        self._followed = state
        there = {key for key in self._seen if files.times(key) is not None}
        tasks = (place.relative_to(self.path).as_posix() for place in self.path.glob("workitems/*/job-*/*/"))
        for key in [*(self._mirrored - there), *(each for each in tasks if not files.is_dir(each))]:
            self.remove(key)
            above = parent(key)
            while above and not files.is_dir(above):
                name, above = name_of(above), parent(above)
                with suppress(OSError), directory_below(str(self.path), str(self.place(above))) as opened:
                    os.rmdir(name, dir_fd=opened)  # unless it has other files
        self._mirrored = there & self._seen.keys()

    def remove(self, key: str) -> None:
        """Remove a file, or a directory with its content."""
        with suppress(OSError), directory_below(str(self.path), str(self.place(parent(key)))) as above:
            try:
                os.unlink(name_of(key), dir_fd=above)
            except OSError:  # it is a directory
                shutil.rmtree(name_of(key), ignore_errors=True, dir_fd=above)
        self._seen = {each: seen for each, seen in self._seen.items() if not f"{each}/".startswith(f"{key}/")}

    def _text(self, key: str, size: int) -> str | None:
        """Return the text of a file; None if it is long, or not text."""
        with suppress(UnicodeDecodeError):
            content = None if size > LONGEST_TEXT else self.read(key)
            return None if content is None else content.decode()
        return None

    def _is_stream(self, key: str) -> bool:
        return name_of(key) in _STREAMS and self.place(parent(key)).joinpath("wd").is_dir()

    def _files(self) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the keys and states of all files. Links are none: they may lead out of the folder."""
        for above, directories, names in os.walk(self.path):
            directories.sort()
            for name in sorted(names):
                place = os.path.join(above, name)
                with suppress(OSError):
                    status = os.lstat(place)
                    if S_ISREG(status.st_mode):
                        yield os.path.relpath(place, self.path), _state(status)


def _unzip(source: Path, place: Path) -> None:
    """Unpack an archive; its files get the modes that it records, as ``unzip`` does."""
    with ZipFile(source) as archive:
        for each in archive.infolist():
            unpacked, mode = archive.extract(each, place), each.external_attr >> 16 & 0o777
            if mode and not each.is_dir():  # an archive from Windows records none
                os.chmod(unpacked, mode)


def _state(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns
