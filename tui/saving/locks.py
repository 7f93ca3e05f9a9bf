"""Locks on files: they keep two programs from writing the same one, and end with the program, however it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows: there a file has no lock that others may ignore
    HAS_LOCKS = False
else:
    HAS_LOCKS = True

if TYPE_CHECKING:
    from typing import BinaryIO


def is_locked(stream: BinaryIO) -> bool:
    """Lock a file until the stream is closed; return True if another stream has locked it already.

    Where the system or the file system has no such locks, nothing is locked.
    """
    if not HAS_LOCKS:
        return False
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
