"""Files and directories that have a name of their own until they are complete, and locks that tell who writes them.

Nobody can guess such a name, and it is taken only if nothing has it yet: a link that somebody has put there is not
followed. The writer holds a lock, which ends with it, however it ends. What nobody holds is removed when the next file
is written to the same directory.

A lock may be unknown to other machines that share a directory, and to other systems on the same one. So a name begins
with digits that stand for the running system, which is the same for all its containers, and what another system has
begun is left alone.
"""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from engine.base.values import lazy_regex

try:
    import fcntl
except ImportError:  # Windows: there a file has no lock that others may ignore
    HAS_LOCKS = False
else:
    HAS_LOCKS = True

_LONGEST_STEM = 100  # bytes
_SYSTEM_DIGITS = 8
_NAME = lazy_regex(r"\.[\s\S]*\.([0-9a-f]{8})[0-9a-f]{20}\.partial")
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK | getattr(os, "O_BINARY", 0)

_open: set[Partial] = set()


def is_locked(file: BinaryIO | int) -> bool | None:
    """Lock an open file until it is closed; return True if somebody else has locked it already.

    Returns:
        None where the system or the file system has no such locks: then nothing is locked.
    """
    if not HAS_LOCKS:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False


class Partial(ABC):
    """An incomplete file or directory, which has a name of its own until it is moved or discarded."""

    path: Path
    _lock: int | None = None

    def __init__(self, directory: Path, name: str) -> None:
        """Create it for what will be called ``name``. Raises OSError."""
        _remove_dead(directory)
        _open.add(self)
        try:
            while self._lock is None:
                self.path = directory / _new_name(name)
                self._create()
        except BaseException:
            self.discard()
            raise

    def _create(self) -> None:
        """Create and lock it, unless its name is taken. Raises OSError."""
        try:
            lock = self._made()
        except FileExistsError:
            return
        if is_locked(lock) or not _is_at(self.path, lock):  # somebody has taken it for a dead one
            os.close(lock)
        else:
            self._lock = lock

    @abstractmethod
    def _made(self) -> int:
        """Create it, and return a descriptor that can be locked. Raises OSError."""

    @abstractmethod
    def _delete(self) -> None:
        """Delete it. Raises OSError."""

    def release(self) -> None:
        """Unlock it, after it has been moved."""
        _open.discard(self)
        lock, self._lock = self._lock, None
        if lock is not None:
            os.close(lock)

    def discard(self) -> None:
        """Delete it, if it is there."""
        if self in _open:
            with suppress(OSError):
                self._delete()
            self.release()


class PartialFile(Partial):
    """A file with an open stream."""

    stream: BinaryIO

    def _made(self) -> int:
        descriptor = os.open(self.path, _NEW, 0o666)  # less the umask, as any new file
        self.stream = os.fdopen(descriptor, "w+b")
        return os.dup(descriptor)  # a full disk may show only when the stream is closed, before the file is moved

    def _delete(self) -> None:
        with suppress(AttributeError, OSError):  # on a full disk the last flush fails again; the file goes anyway
            self.stream.close()
        self.path.unlink(missing_ok=True)

    def move(self, final: Path) -> None:
        """Give the file its name, and the mode of the one that it replaces if there is one. Raises OSError."""
        self.stream.close()
        with suppress(FileNotFoundError):
            shutil.copymode(final, self.path)
        self.path.replace(final)
        self.release()


class PartialDirectory(Partial):
    """A directory."""

    def _made(self) -> int:
        self.path.mkdir()
        return _descriptor(self.path, is_directory=True)

    def _delete(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def discard_all() -> None:
    """Delete all that this process has begun and neither moved nor discarded."""
    for partial in list(_open):
        partial.discard()


def _descriptor(path: Path, *, is_directory: bool) -> int:
    if is_directory and os.name != "posix":  # Windows opens no directories
        return os.open(os.devnull, os.O_RDONLY)
    mode = os.O_RDONLY | os.O_DIRECTORY if is_directory else os.O_RDWR
    return os.open(path, mode | _NO_LINK | getattr(os, "O_NONBLOCK", 0))


def _is_at(path: Path, descriptor: int) -> bool:
    """Return whether a path leads to an open file."""
    if not HAS_LOCKS:
        return True
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except OSError:
        return False


@cache
def _system() -> str:
    """Return digits that stand for the running system, until its next start."""
    try:
        name = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except (OSError, UnicodeError):
        name = os.uname().nodename if hasattr(os, "uname") else ""
    return blake2b(name.encode(errors="replace"), digest_size=_SYSTEM_DIGITS // 2).hexdigest()


def _new_name(name: str) -> str:
    stem = os.fsencode(name)[:_LONGEST_STEM].decode(errors="ignore")
    return f".{stem}.{_system()}{os.urandom(10).hex()}.partial"


def _remove_dead(directory: Path) -> None:
    """Delete what processes of this system have begun in a directory before they were killed."""
    with suppress(OSError):
        for name in os.listdir(directory):
            found = _NAME.fullmatch(name)
            if found is not None and found[1] == _system():
                with suppress(OSError):
                    _remove_if_dead(directory / name)


def _remove_if_dead(path: Path) -> None:
    mode = os.lstat(path).st_mode
    if not (S_ISREG(mode) or S_ISDIR(mode)):
        return
    descriptor = _descriptor(path, is_directory=S_ISDIR(mode))
    try:
        if is_locked(descriptor) is False and _is_at(path, descriptor):
            if S_ISDIR(mode):
                shutil.rmtree(path)
            else:
                path.unlink()
    finally:
        os.close(descriptor)
