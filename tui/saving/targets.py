"""Output files, which appear complete under their final name or not at all, and the standard streams.

A target is opened before the run, so that a place that cannot be written is reported at once. It gets its name at
the end, so that nobody reads half of it.

The blobs in storage become files ``<account>/<container>/<blob>``. The name of a blob is nearly free text. Each of
its parts becomes the name of a file or directory that every file system takes and that leads nowhere else: ``..`` is
``%2E%2E``, and a name that is too long ends in a checksum.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import islice, takewhile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Self, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from _typeshed import ReadableBuffer


_LONGEST_NAME = 200  # bytes
_LONGEST_PATH = 1_500


class BlobText(NamedTuple):
    """A blob: the URL of its container, its name there, and its text."""

    container: str
    name: str
    text: str


def placed(blobs: Iterable[BlobText]) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each blob; no two have the same path.

    Where a blob's name is also the beginning of another's, ``a`` beside ``a/b``, the file has a ``%`` after its name.
    Accounts of the same name on different hosts are told apart by the whole host.
    """
    listed = sorted(blobs)
    accounts = _accounts(blob.container for blob in listed)
    paths = [(_path(accounts, blob), blob.text) for blob in listed]
    directories = {str(above) for path, _ in paths for above in PurePosixPath(path).parents}
    for path, text in paths:
        yield f"{path}%" if path in directories else path, text


def _host(container: str) -> str:
    return container.partition("://")[2].partition("/")[0] or "storage"


def _accounts(containers: Iterable[str]) -> dict[str, str]:
    """Return the directory of each host: its first label, which is the storage account."""
    taken: dict[str, str] = {}
    for host in sorted(set(map(_host, containers))):
        label = host.partition(".")[0]
        taken[host] = host if label in taken.values() else label
    return taken


def _path(accounts: dict[str, str], blob: BlobText) -> str:
    host = _host(blob.container)
    container = blob.container.partition("://")[2].partition("/")[2] if "://" in blob.container else blob.container
    head = f"{_safe(accounts[host])}/{_safe(container) if container else '$root'}"
    path = "/".join((head, *map(_safe, blob.name.split("/"))))
    if len(path.encode("utf-8", "replace")) <= _LONGEST_PATH:
        return path
    return f"{head}/{_shortened(_safe(blob.name.rpartition('/')[2]), blob.name)}"


def _safe(part: str) -> str:
    """Return a part of a name as the name of a file or directory."""
    if part in ("", ".", ".."):
        return part.replace(".", "%2E") or "%2F"
    text = "".join(f"%{ord(sign):02X}" if sign < " " or sign in "\\/:%\x7f" else sign for sign in part)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text.encode()) <= _LONGEST_NAME else _shortened(text, part)


def _shortened(text: str, whole: str) -> str:
    """Return the beginning of a text with the checksum of the whole."""
    checksum = blake2b(whole.encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"{text.encode()[: _LONGEST_NAME - 20].decode(errors='ignore')}~{checksum}"


STDOUT = "-"
_LINES_TOGETHER = 1000  # encoding lines one by one takes longer than making them


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
            self._final = Path(os.path.realpath(path))  # a link stays a link
            self._partial = _partial(self._final.parent, self._final.name)
            if self._final.exists():
                self._final.open("ab").close()  # fails now instead of after the run
            self._stream = self._partial.open("xb")

    def write_bytes(self, pieces: Iterable[bytes]) -> None:
        """Append ``pieces`` to the partial file. Raises TargetError."""
        with reported(self.path):
            self._stream.writelines(pieces)

    def keep(self) -> None:
        """Rename the partial file, and give it the mode of the file it replaces. Raises TargetError."""
        with reported(self.path):
            self._stream.close()
            if self._final.exists():
                shutil.copymode(self._final, self._partial)
            self._partial.replace(self._final)

    def discard(self) -> None:
        """Delete the partial file."""
        with suppress(OSError):  # on a full disk the last flush fails again; the file goes anyway
            self._stream.close()
        self._partial.unlink(missing_ok=True)


class NewLines(FileLines):
    """A text file that replaces no other one. An empty file reserves the name when it is opened."""

    def __init__(self, path: Path) -> None:
        """Reserve ``path``. Raises TargetError if the file exists or cannot be written."""
        with reported(path, before_run=True):
            try:
                path.open("xb").close()
            except FileExistsError:
                raise TargetError(path, "the file exists already", before_run=True) from None
        self._is_kept = False
        try:
            super().__init__(path)
        except TargetError:
            path.unlink(missing_ok=True)
            raise

    def keep(self) -> None:
        """Rename the partial file. Raises TargetError."""
        super().keep()
        self._is_kept = True

    def discard(self) -> None:
        """Delete the partial file and the reserved name, unless the file was kept."""
        super().discard()
        if not self._is_kept:
            self._final.unlink(missing_ok=True)


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
    """A directory of files, written beside its name (within, if it exists) and moved into place at the end."""

    def __init__(self, name: str) -> None:
        """Create a partial directory for ``name``, which must not exist or be empty. Raises TargetError."""
        super().__init__(Path(name))
        self._final = Path(os.path.realpath(name))
        with reported(self.path, before_run=True):
            self._existed = self._final.exists()
            if self._existed and any(self._final.iterdir()):
                raise TargetError(self.path, "it is not empty; name a new directory, or empty it", before_run=True)
            self._partial = _partial(self._final if self._existed else self._final.parent, self._final.name)
            self._partial.mkdir()

    def write(self, files: Iterable[tuple[str, str, str, str]]) -> None:
        """Add ``files``: pool id, node id, path below the node's root, text. Raises TargetError."""
        for pool_id, node_id, relative, text in files:
            root = self._partial / pool_id / node_id
            place = Path(os.path.normpath(root / relative))
            if not place.is_relative_to(root):
                raise TargetError(self.path, f"{relative} lies outside the root directory of node {node_id}")
            self._add(place, text.encode(), f"{relative} of node {node_id}")

    def write_blobs(self, blobs: Iterable[BlobText]) -> None:
        """Add the blobs in storage, as ``storage/<account>/<container>/<blob>``. Raises TargetError."""
        for relative, text in placed(blobs):
            self._add(self._partial / "storage" / relative, text.encode("utf-8", "replace"), f"blob {relative}")

    def _add(self, place: Path, content: bytes, about: str) -> None:
        with reported(self.path, about=f"{about}: "):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)

    def keep(self) -> None:
        """Move the files into their directory. Raises TargetError."""
        with reported(self.path):
            if not self._existed:
                self._partial.rename(self._final)
                return
            for child in sorted(self._partial.iterdir()):
                child.rename(self._final / child.name)

    def discard(self) -> None:
        """Delete the partial directory."""
        shutil.rmtree(self._partial, ignore_errors=True)


def _partial(directory: Path, name: str) -> Path:
    return directory / f".{name}.{os.getpid()}.partial"


def reason_of(error: OSError) -> str:
    """Return why a file cannot be read or written, in words for people."""
    if isinstance(error, FileNotFoundError):
        return "the directory it should be in does not exist"
    return error.strerror or str(error)
