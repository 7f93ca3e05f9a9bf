"""Output files, which appear complete under their final name or not at all, and the standard streams.

A target is opened before the run, so that a place that cannot be written is reported at once. It gets its name at
the end, so that nobody reads half of it.

The blobs in storage become files ``<account>/<container>/<blob>``. The names of blobs, and of files on nodes, are
nearly free text. Each of their parts becomes the name of a file or directory that every file system takes and that
leads nowhere else: ``..`` is ``%2E%2E``, and so on for control characters and what Windows reserves. A name that is too
long ends in a checksum.
"""

from __future__ import annotations

import io
import os
import re
import sys
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import blake2b
from itertools import count, islice, takewhile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Self, TextIO

from engine.base.partial_files import PartialDirectory, PartialFile
from engine.base.values import lazy_regex, quoted, shortened
from tui import interrupts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from _typeshed import ReadableBuffer


_LONGEST_NAME = 200  # bytes
_LONGEST_PATH = 1_500
_UNSAFE = lazy_regex(
    r"""[\x00-\x1f\x7f-\x9f"*/:<>?\\|%\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]|[. ]\Z"""
    r"""|\A(?=(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|\Z))[a-z]""",
    re.IGNORECASE,
)


class BlobText(NamedTuple):
    """A blob: the URL of its container, its name there, and its text."""

    container: str
    name: str
    text: str


def placed(blobs: Iterable[BlobText]) -> Iterator[tuple[str, BlobText]]:
    """Yield the path of each blob; no two have the same.

    Where a blob's name is also the beginning of another's, ``a`` beside ``a/b``, the file has a ``%`` after its name.
    Accounts of the same name on different hosts are told apart by the whole host.
    """
    listed = sorted(blobs)
    accounts = _accounts(blob.container for blob in listed)
    paths = [(_path(_account_and_container(accounts, blob), blob.name), blob) for blob in listed]
    directories = {str(above) for path, _ in paths for above in PurePosixPath(path).parents}
    for path, blob in paths:
        yield f"{path}%" if path in directories else path, blob


def _host(container: str) -> str:
    return container.partition("://")[2].partition("/")[0] or "storage"


def _accounts(containers: Iterable[str]) -> dict[str, str]:
    """Return the directory of each host: its first label, which is the storage account."""
    taken: dict[str, str] = {}
    for host in sorted(set(map(_host, containers))):
        label = host.partition(".")[0]
        taken[host] = host if label in taken.values() else label
    return taken


def _account_and_container(accounts: dict[str, str], blob: BlobText) -> tuple[str, str]:
    container = blob.container.partition("://")[2].partition("/")[2] if "://" in blob.container else blob.container
    return accounts[_host(blob.container)], container or "$root"


def _path(above: Sequence[str], name: str) -> str:
    """Return the path of a file by its name, which may have several parts, in these directories."""
    head = "/".join(map(_safe, above))
    path = "/".join((head, *map(_safe, name.split("/"))))
    return path if len(path.encode()) <= _LONGEST_PATH else f"{head}/{_shortened(_safe(name.rpartition('/')[2]), name)}"


def _safe(part: str) -> str:
    """Return a part of a name as the name of a file or directory."""
    if part in ("", ".", ".."):
        return part.replace(".", "%2E") or "%2F"
    text = _UNSAFE.sub(_encoded, part)
    return text if len(text.encode()) <= _LONGEST_NAME else _shortened(text, part)


def _encoded(sign: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in sign[0].encode("utf-8", "surrogatepass"))


def _shortened(text: str, whole: str) -> str:
    """Return the beginning of a text with the checksum of the whole."""
    checksum = blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{text.encode()[: _LONGEST_NAME - 20].decode(errors='ignore')}~{checksum}"


def _names(wanted: str) -> Iterator[str]:
    """Yield a name, and others in case that the file system has it already, perhaps in capital letters."""
    yield wanted
    yield f"{wanted}%"
    yield from (f"{wanted}%{number}" for number in count(2))


STDOUT = "-"
_LINES_TOGETHER = 1000  # encoding lines one by one takes longer than making them
_EXISTS = "the file exists already"
_MOST_TOLD = 3  # names


class TargetError(Exception):
    """A file or directory cannot be written. ``before_run`` is true if that was found out before the run began."""

    def __init__(self, path: Path, reason: str, *, before_run: bool = False) -> None:
        self.before_run = before_run
        super().__init__(f"cannot write {path}: {reason}")


@contextmanager
def reported(path: Path, *, before_run: bool = False, about: str = "") -> Iterator[None]:
    """Raise TargetError for an OSError in the block. ``about`` names a part of the target."""
    try:
        yield
    except OSError as error:
        raise TargetError(path, about + reason_of(error), before_run=before_run) from None


class Target(ABC):
    """An output of a run. Without a call of ``keep()`` the ``with`` block leaves no trace of it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def keep(self) -> None:
        """Move what was written to its final name. Raises TargetError."""

    @abstractmethod
    def discard(self) -> None:
        """Delete what was written, unless it was kept."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()


class LinesTarget(Target):
    """A target of text lines, or of the bytes of another kind of file."""

    def write(self, lines: Iterable[str]) -> None:
        """Append ``lines``, each with a newline. Raises TargetError."""
        rest = iter(lines)
        self.write_blocks(iter(lambda: list(islice(rest, _LINES_TOGETHER)), []))

    def write_blocks(self, blocks: Iterable[Sequence[str]]) -> None:
        """Append the lines of blocks, of many lines each, as ``write`` does. Raises TargetError."""
        self.write_bytes(("\n".join(block) + "\n").encode() for block in blocks if block)

    @abstractmethod
    def write_bytes(self, pieces: Iterable[bytes]) -> None:
        """Append ``pieces`` as they are. Raises TargetError."""


class FileLines(LinesTarget):
    """A text file, written beside its name and renamed at the end."""

    def __init__(self, path: Path) -> None:
        """Open a partial file beside ``path``. Raises TargetError."""
        super().__init__(path)
        with reported(path, before_run=True):
            self._final = self._place(path)
            self._partial = PartialFile(self._final.parent, self._final.name)

    def _place(self, path: Path) -> Path:
        """Return the place of the file, which can be written. Raises OSError, TargetError."""
        final = Path(os.path.realpath(path))  # a link stays a link
        if final.exists():
            if not final.is_file():
                raise TargetError(path, "it is not a file", before_run=True)
            final.open("ab").close()  # fails now instead of after the run
        return final

    def write_bytes(self, pieces: Iterable[bytes]) -> None:
        """Append ``pieces`` to the partial file. Raises TargetError."""
        with reported(self.path):
            self._partial.stream.writelines(pieces)

    def keep(self) -> None:
        """Rename the partial file. Raises TargetError."""
        with reported(self.path):
            self._partial.move(self._final)

    def discard(self) -> None:
        """Delete the partial file."""
        self._partial.discard()


class NewLines(FileLines):
    """A text file that replaces no other one."""

    def _place(self, path: Path) -> Path:
        if os.path.lexists(path):
            raise TargetError(path, _EXISTS, before_run=True)
        return Path(os.path.realpath(path))

    def keep(self) -> None:
        """Rename the partial file. Raises TargetError, if the file exists by now too."""
        with reported(self.path):
            self._partial.stream.close()
            try:
                os.link(self._partial.path, self._final)
            except FileExistsError:
                raise TargetError(self.path, _EXISTS) from None
            except OSError:  # the file system has no links
                if os.path.lexists(self._final):
                    raise TargetError(self.path, _EXISTS) from None
                self._partial.move(self._final)
        self._partial.discard()


def write_new(path: Path, text: str) -> None:
    """Write a file that does not exist yet. Raises TargetError."""
    with NewLines(path) as target:
        target.write_bytes([text.encode()])
        target.keep()


class StreamLines(LinesTarget):
    """A pipe or a device, standard output included: written lines cannot be taken back.

    Lines are dropped once the reader has closed its end; the run continues, so that its exit status is right.
    """

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        super().__init__(path)
        self._stream = stream
        self._has_reader = True

    def write_bytes(self, pieces: Iterable[bytes]) -> None:
        """Send ``pieces`` to the reader as long as it is there; no more are made then. Raises TargetError."""
        if not self._has_reader:
            return
        with reported(self.path):
            try:
                self._stream.writelines(while_read(self._stream, pieces))
                self._stream.flush()
            except BrokenPipeError:
                self._has_reader = False

    def keep(self) -> None:
        """Do nothing: every line is out already."""

    def discard(self) -> None:
        """Close the stream, unless it is standard output."""
        if self._stream is not sys.stdout.buffer:
            with suppress(OSError):
                self._stream.close()


@contextmanager
def standard_streams() -> Iterator[None]:
    """Replace ``sys.stdout`` and ``sys.stderr`` by streams on which a failed write neither repeats nor goes unnoticed.

    Python keeps what it could not write and fails again when it exits, with a message of its own and status 120. Inside
    this block a reader that closes its pipe is no error: the rest of the output is dropped. Any other failure to write
    results raises TargetError once; on standard error there is nobody to tell. Streams of terminals stay as they are,
    and so do those that a caller has put in their place. A closed stream counts as the null device.
    """
    before = sys.stdout, sys.stderr
    sys.stdout = _guarded(sys.stdout, sys.__stdout__, is_result=True)
    sys.stderr = _guarded(sys.stderr, sys.__stderr__, is_result=False)
    try:
        yield
    finally:
        if interrupts.has_come():
            _drop(sys.stdout)
        with suppress(OSError, TargetError):  # after an error that has been reported
            sys.stdout.flush()
        sys.stdout, sys.stderr = before


def _guarded(stream: TextIO | None, original: TextIO | None, *, is_result: bool) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    errors = "replace"  # where the encoding lacks a character, ? is better than nothing
    if stream is not original or stream.isatty():
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)
        return stream
    stream.flush()
    buffer = io.BufferedWriter(GuardedFile(stream.fileno(), is_result=is_result))
    return io.TextIOWrapper(buffer, encoding=stream.encoding, errors=errors, line_buffering=not is_result)


class GuardedFile(io.FileIO):
    """A file descriptor that accepts and drops everything after its first failed write."""

    def __init__(self, descriptor: int, *, is_result: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._is_result = is_result
        self.is_lost = False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write ``data`` as far as possible. Raises TargetError for the first failure but a closed pipe."""
        if not self.is_lost:
            try:
                return super().write(data)
            except OSError as error:
                self.is_lost = True
                if self._is_result and not isinstance(error, BrokenPipeError):
                    raise TargetError(Path("standard output"), reason_of(error)) from None
        return memoryview(data).nbytes


def _drop(stream: TextIO) -> None:
    """Write nothing more: a reader may have stopped reading."""
    if isinstance(stream, io.TextIOWrapper) and isinstance(file := getattr(stream.buffer, "raw", None), GuardedFile):
        file.is_lost = True


def while_read(stream: BinaryIO, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield ``pieces``, but no more once the reader of standard output has closed its end."""
    file = getattr(stream, "raw", None)
    return takewhile(lambda _: not file.is_lost, pieces) if isinstance(file, GuardedFile) else iter(pieces)


def lines_target(name: str) -> LinesTarget:
    """Return the target of a name; ``-`` is standard output. Raises TargetError."""
    if name == STDOUT:
        return StreamLines(Path("standard output"), sys.stdout.buffer)
    path = Path(name)
    with reported(path, before_run=True):
        if path.exists() and not path.is_file():
            return StreamLines(path, path.open("wb"))
    return FileLines(path)


class TreeTarget(Target):
    """A directory of files, written beside its name (within, if it exists) and moved into place at the end.

    No two files get the same name, even where the file system takes some names for the same.
    """

    def __init__(self, name: str) -> None:
        """Create a partial directory for ``name``, which must not exist or be empty. Raises TargetError."""
        super().__init__(Path(name))
        self._final = Path(os.path.realpath(name))
        self._folders: dict[tuple[str, str], str] = {}
        self._storage = ""
        self._encoded: list[tuple[str, str]] = []
        with reported(self.path, before_run=True):
            self._existed = self._final.exists()
            self._partial = PartialDirectory(self._final if self._existed else self._final.parent, self._final.name)
            self._root = str(self._partial.path)
            if self._existed and any(path != self._partial.path for path in self._final.iterdir()):
                self._partial.discard()
                raise TargetError(self.path, "it is not empty; name a new directory, or empty it", before_run=True)

    def write(self, files: Iterable[tuple[str, str, str, str]]) -> None:
        """Add ``files``: pool id, node id, path below the node's root, text. Raises TargetError."""
        for pool_id, node_id, relative, text in files:
            name = f"{pool_id}/{node_id}/{relative}"
            self._add(self._root, _path((pool_id, node_id), relative), text, name, f"{relative} of node {node_id}")

    def write_blobs(self, blobs: Iterable[BlobText]) -> None:
        """Add the blobs in storage, as ``storage/<account>/<container>/<blob>``. Raises TargetError."""
        for relative, blob in placed(blobs):
            if not self._storage:
                with reported(self.path):
                    self._storage = _first_free(self._root, "storage", os.mkdir)
            self._add(self._storage, relative, blob.text, blob.name, f"blob {relative}")

    def _add(self, folder: str, path: str, text: str, name: str, about: str) -> None:
        """Write a file to a path in a folder. ``name`` is what it was called."""
        *above, last = path.split("/")
        with reported(self.path, about=f"{about}: "):
            for part in above:
                if (folder, part) not in self._folders:
                    self._folders[folder, part] = _first_free(folder, part, os.mkdir)
                folder = self._folders[folder, part]
            place = _first_free(folder, last, partial(_write, text.encode("utf-8", "replace")))
        written = place.removeprefix(f"{self._root}/")
        if not f"/{written}".endswith(f"/{name}"):
            self._encoded.append((name, written))

    @property
    def note(self) -> str:
        """A sentence about names that were encoded; empty if there are none."""
        if not self._encoded:
            return ""
        names = "1 name is" if len(self._encoded) == 1 else f"{len(self._encoded):,} names are"
        told = "; ".join(f"{quoted(name)} is {shortened(path)}" for name, path in self._encoded[:_MOST_TOLD])
        more = f"; and {len(self._encoded) - _MOST_TOLD:,} more" if len(self._encoded) > _MOST_TOLD else ""
        return f"{names} written in another way in {self.path}, as not every file system takes them: {told}{more}."

    def keep(self) -> None:
        """Move the files into their directory. Raises TargetError."""
        with reported(self.path):
            if not self._existed:
                self._partial.path.rename(self._final)
                self._partial.release()
                return
            for child in sorted(self._partial.path.iterdir()):
                child.rename(self._final / child.name)
        self._partial.discard()

    def discard(self) -> None:
        """Delete the partial directory."""
        self._partial.discard()


def _first_free(folder: str, wanted: str, make: Callable[[str], object]) -> str:
    """Make something in a folder, by another name if this one is taken; return its path. Raises OSError."""
    for name in _names(wanted):
        with suppress(FileExistsError):
            make(f"{folder}/{name}")
            return f"{folder}/{name}"
    raise AssertionError("there is always another name")


def _write(content: bytes, path: str) -> None:
    with open(path, "xb") as stream:
        stream.write(content)


def reason_of(error: OSError) -> str:
    """Return why a file cannot be read or written, in words for people."""
    if isinstance(error, FileNotFoundError):
        return "the directory it should be in does not exist"
    return error.strerror or str(error)
