"""Paths on a node: the directory layout (FILE), and the keys that name files inside the simulator.

A *key* is the path below the node's root directory with forward slashes (``shared/market.csv``), as in the service's
file API. A file elsewhere on the node has its absolute path as key (``/tmp/x``, ``c:/temp/x``): commands may use it,
but the file API does not see it (FILE-10). Keys are case-sensitive, except for the root and drive on Windows.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.base.lazy import lazy_regex
from engine.base.terms import OsFamily

SHARED = "shared"
STARTUP = "startup"
APPLICATIONS = "applications"
MOUNTS = "fsmounts"
VOLATILE = "volatile"
WORKITEMS = "workitems"
TOP_DIRECTORIES = (APPLICATIONS, MOUNTS, SHARED, STARTUP, VOLATILE, WORKITEMS)

WILDCARD = lazy_regex(r"[*?\[]")
"""A sign by which a path means several files."""

_SCHEDULED_JOB = lazy_regex(r"(?P<schedule>.+):(?P<run>job-\d+)")
_DRIVE = lazy_regex(r"[a-zA-Z]:")


def job_directory(job_id: str) -> str:
    """Return the key of a job's directory, ``workitems/<job>/job-1``, with ids in lower case (FILE-3)."""
    scheduled = _SCHEDULED_JOB.fullmatch(job_id.lower())
    if scheduled:
        return f"{WORKITEMS}/{scheduled['schedule']}/{scheduled['run']}"
    return f"{WORKITEMS}/{job_id.lower()}/job-1"


def task_directory(job_id: str, task_id: str) -> str:
    """Return the key of a task's ``taskRootDirectory``, also for preparation and release tasks (FILE-2, FILE-14)."""
    return f"{job_directory(job_id)}/{task_id}"


def subtask_directory(directory: str, subtask: int) -> str:
    """Return the key of a subtask's directory, below its task's. The primary, number 0, uses the task's own (MI-7)."""
    return f"{directory}/{subtask}" if subtask else directory


def working_directory(directory: str) -> str:
    """Return the key of ``wd`` below a task's directory or ``startup``, where its process starts (FILE-5)."""
    return f"{directory}/wd"


def package_directory(application_id: str, version: str) -> str:
    """Return the key of the directory into which an application package is unpacked (FILE-1, APP-7)."""
    return f"{APPLICATIONS}/{application_id.lower()}/{version}"


def is_managed(key: str) -> bool:
    """Return whether the service's file API sees this key, that is, whether it lies below the root (FILE-10)."""
    return not key.startswith("/") and not _DRIVE.match(key)


def parent(key: str) -> str:
    """Return the key of the directory that holds ``key``; the root directory has the empty key."""
    head, separator, _ = key.rpartition("/")
    return head + separator if not head or head.endswith(":") else head


def name_of(key: str) -> str:
    """Return the last part of a key."""
    return key.rpartition("/")[2]


class NodeRoot(NamedTuple):
    """The root directory of a node, AZ_BATCH_NODE_ROOT_DIR, with the path rules of its operating system."""

    os: OsFamily
    path: str

    @classmethod
    def of(cls, os: OsFamily, *, has_temp_disk: bool = True) -> NodeRoot:
        """Return the root that the service uses: on the temporary disk if there is one (FILE-1)."""
        match os:
            case OsFamily.LINUX:
                return cls(os, "/mnt/batch/tasks" if has_temp_disk else "/opt/batch/data/tasks")
            case OsFamily.WINDOWS:
                return cls(os, r"D:\batch\tasks" if has_temp_disk else r"C:\batch\data\tasks")
        return cls(os, r"C:\user\tasks")

    @property
    def is_windows(self) -> bool:
        """True if paths have drives and backslashes."""
        return self.os is not OsFamily.LINUX

    def native(self, key: str) -> str:
        """Return the absolute path of a key as a process on the node writes it."""
        path = f"{self.path}/{key}" if is_managed(key) and key else key or self.path
        return path.replace("/", "\\") if self.is_windows else path

    def key(self, path: str, cwd: str = "") -> str:
        """Return the key of a path that a process uses, relative to ``cwd``; resolve ``.`` and ``..``.

        Windows accepts both separators. A path that leaves the root becomes an absolute key.
        """
        if self.is_windows:
            path = path.replace("\\", "/")
        drive, below = self._split_drive(path)
        if not below.startswith("/"):
            start = self._absolute(cwd)
            start_drive, start_below = self._split_drive(start)
            if drive in ("", start_drive):
                drive, below = start_drive, f"{start_below}/{below}"
        elif not drive:
            drive = self._split_drive(self._absolute(cwd))[0]
        return self._key_of_parts(drive, _resolved(below))

    def _absolute(self, key: str) -> str:
        return self.native(key).replace("\\", "/") if self.is_windows else self.native(key)

    def _split_drive(self, path: str) -> tuple[str, str]:
        if self.is_windows and _DRIVE.match(path):
            return path[:2].lower(), path[2:]
        return "", path

    def _key_of_parts(self, drive: str, parts: list[str]) -> str:
        root_drive, root_below = self._split_drive(self._absolute(""))
        root_parts = root_below.strip("/").split("/")
        head = parts[: len(root_parts)]
        inside = [part.lower() for part in head] == root_parts if self.is_windows else head == root_parts
        if drive == root_drive and inside:
            return "/".join(parts[len(root_parts) :])
        return f"{drive}/{'/'.join(parts)}"


def _resolved(path: str) -> list[str]:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return parts
