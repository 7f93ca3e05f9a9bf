"""Paths on a node and the environment variables of its tasks: the directory layout, and the keys of files.

A *key* is the path below the node's root directory with forward slashes (``shared/market.csv``), as in the service's
file API (FILE). A file elsewhere on the node has its absolute path as key (``/tmp/x``, ``c:/temp/x``): commands may
use it, but the file API does not see it (FILE-10). Keys are case-sensitive, except for the root and drive on Windows.

Each kind of task sees its own set of environment variables (ENV-2), many of which hold paths.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import NamedTuple

from engine.base.terms import OsFamily
from engine.base.values import lazy_regex, read_table

SHARED = "shared"
STARTUP = "startup"
APPLICATIONS = "applications"
MOUNTS = "fsmounts"
VOLATILE = "volatile"
WORKITEMS = "workitems"
TOP_DIRECTORIES = (APPLICATIONS, MOUNTS, SHARED, STARTUP, VOLATILE, WORKITEMS)

SYSTEM_DIRECTORIES = frozenset({
    "/", "/bin", "/boot", "/dev", "/dev/shm", "/etc", "/etc/profile.d", "/home", "/lib", "/lib64", "/media", "/mnt",
    "/mnt/batch", "/mnt/batch/tasks", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp", "/usr",
    "/usr/bin", "/usr/include", "/usr/lib", "/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/sbin", "/usr/share",
    "/var", "/var/cache", "/var/lib", "/var/log", "/var/run", "/var/tmp", "c:/", "d:/", "c:/Windows", "c:/Users",
})  # fmt: skip
"""Directories that every node has outside Batch's own (FILE-15)."""
SYSTEM_FILES = frozenset(
    {"/etc/os-release", "/etc/hostname", "/etc/hosts", "/etc/passwd", "/proc/cpuinfo", "/proc/meminfo"}
)
"""Files of Linux of which the texts are known (FILE-15)."""

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


_TEMPORARY = lazy_regex(r"(?:/tmp|/var/tmp|/dev/shm|c:/users/[^/]+/appdata/local/temp)(?:/.*)?", re.IGNORECASE)
_PROFILE = lazy_regex(r"c:/users/[^/]+(?:/appdata(?:/local(?:/temp)?)?)?", re.IGNORECASE)


def is_of_system(key: str) -> bool:
    """Return whether a key is that of a directory that every node has outside Batch's own (FILE-15)."""
    return key in SYSTEM_DIRECTORIES or (key[1:2] == ":" and _PROFILE.fullmatch(key) is not None)


def is_temporary(key: str) -> bool:
    """Return whether a key is below a directory for temporary files, which a new node has empty (FILE-15)."""
    return _TEMPORARY.fullmatch(key) is not None


def is_from_outside(key: str) -> bool:
    """Return whether a key is in a package or in a mounted file system, whose files are not simulated (FILE-15)."""
    return key.startswith((f"{APPLICATIONS}/", f"{MOUNTS}/")) and key.count("/") > 1


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
        rules = ntpath if self.is_windows else posixpath
        path = path.replace(rules.sep, "/")
        path = f"/{path.lstrip('/')}" if path.startswith("/") else path  # two slashes begin no share of a server
        drive, below = rules.splitdrive(rules.normpath(rules.join(self.native(cwd), path)))
        key = f"{drive.lower()}/{below.replace(rules.sep, '/').lstrip('/')}"
        root = f"{self.path.replace(rules.sep, '/')}/"
        is_inside = f"{key}/".lower().startswith(root.lower()) if self.is_windows else f"{key}/".startswith(root)
        return key[len(root) :] if is_inside else key


COORDINATION_PORT = 6000
RESERVED_DISK_BYTES = 1_000_000
_SUFFIX_SIGNS = lazy_regex(r"[.\-#]")


class TaskKind(Enum):
    """The kinds of tasks, which see different variables (TASK-5)."""

    START = auto()
    PREP = auto()
    RELEASE = auto()
    MANAGER = auto()
    TASK = auto()
    PRIMARY = auto()
    SUBTASK = auto()


class NodeFacts(NamedTuple):
    """Facts that all tasks on a node share."""

    account_name: str
    account_url: str
    pool_id: str
    node_id: str
    root: NodeRoot
    dedicated: bool = True
    reserved_disk_bytes: int = RESERVED_DISK_BYTES
    cores: int = 1


class TaskFacts(NamedTuple):
    """Facts about one task. Directories are keys below the node's root (see ``engine.base.paths``).

    ``prep_directory`` is the directory of the job's preparation task, or None. A start task has neither id nor job.
    ``user`` is the name of the user that runs it.
    """

    kind: TaskKind
    directory: str
    task_id: str = ""
    job_id: str = ""
    prep_directory: str | None = None
    authentication_token: str | None = None
    user: str = "_azbatch"


START_TASK = TaskFacts(TaskKind.START, STARTUP)


class InstalledPackage(NamedTuple):
    """An application package on the node; ``pinned`` if the reference names the version (APP-6)."""

    application_id: str
    version: str
    pinned: bool = True


class MultiInstanceFacts(NamedTuple):
    """The nodes of a multi-instance task as (IP address, cores), the master first (MI-9).

    ``ip`` is the address of this node. ``directory`` is the key of the primary task's directory, which every node has.
    """

    nodes: tuple[tuple[str, int], ...]
    ip: str
    directory: str


def variables(
    node: NodeFacts,
    task: TaskFacts,
    *,
    job_settings: Mapping[str, str] | None = None,
    task_settings: Mapping[str, str] | None = None,
    packages: Iterable[InstalledPackage] = (),
    multi_instance: MultiInstanceFacts | None = None,
) -> dict[str, str]:
    """Return the variables of a task's process, sorted by name, with native paths.

    The service's own variables win over the task's ``environmentSettings``, these over the job's
    ``commonEnvironmentSettings`` (ENV-1), and these over the variables of the operating system (ENV-4). On Windows,
    names that differ only in case are one variable.
    """
    service = _of_node(node) | _of_task(node, task)
    service |= {_package_name(package, node.root): _package_path(package, node.root) for package in packages}
    if multi_instance is not None and task.kind in (TaskKind.PRIMARY, TaskKind.SUBTASK):
        service |= _of_multi_instance(node, multi_instance)
    chosen: dict[str, tuple[str, str]] = {}
    for settings in (_of_system(node, task, service), job_settings or {}, task_settings or {}, service):
        for name, value in settings.items():
            chosen[name.upper() if node.root.is_windows else name] = (name, value)
    return dict(sorted(chosen.values()))


def settings_of(settings: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return ``environmentSettings`` as a mapping. A setting without a value is empty; the last one of a name wins."""
    return {name: value or "" for name, value in settings}


# What every Windows Server sets.
_OF_WINDOWS = dict(read_table("windows.csv", __file__))


def _of_system(node: NodeFacts, task: TaskFacts, service: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that the operating system sets for the user of a process (ENV-4)."""
    if not node.root.is_windows:
        working, shared = service["AZ_BATCH_TASK_WORKING_DIR"], service["AZ_BATCH_NODE_SHARED_DIR"]
        return {
            "HOME": working,
            "HOSTNAME": node.node_id,
            "PATH": f"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{shared}:{working}",
            "TMPDIR": "/tmp",
            "USER": task.user,
        }
    profile = rf"C:\Users\{task.user}"
    local = rf"{profile}\AppData\Local"
    return _OF_WINDOWS | {
        "APPDATA": rf"{profile}\AppData\Roaming",
        "COMPUTERNAME": node.node_id,
        "HOMEPATH": rf"\Users\{task.user}",
        "LOCALAPPDATA": local,
        "NUMBER_OF_PROCESSORS": str(node.cores),
        "PATH": r"C:\Windows\system32;C:\Windows;C:\Windows\System32\Wbem;C:\Windows\System32\WindowsPowerShell\v1.0",
        "TEMP": rf"{local}\Temp",
        "TMP": rf"{local}\Temp",
        "USERNAME": task.user,
        "USERPROFILE": profile,
    }


def _of_node(node: NodeFacts) -> dict[str, str]:
    root = node.root
    return {
        "AZ_BATCH_ACCOUNT_NAME": node.account_name,
        "AZ_BATCH_ACCOUNT_URL": node.account_url,
        "AZ_BATCH_NODE_ID": node.node_id,
        "AZ_BATCH_NODE_IS_DEDICATED": _text(node.dedicated),
        "AZ_BATCH_NODE_MOUNTS_DIR": root.native(MOUNTS),
        "AZ_BATCH_NODE_ROOT_DIR": root.native(""),
        "AZ_BATCH_NODE_SHARED_DIR": root.native(SHARED),
        "AZ_BATCH_NODE_STARTUP_DIR": root.native(STARTUP),
        "AZ_BATCH_POOL_ID": node.pool_id,
        "AZ_BATCH_TASK_RESERVED_EPHEMERAL_DISK_SPACE_BYTES": str(node.reserved_disk_bytes),
    }


def _of_task(node: NodeFacts, task: TaskFacts) -> dict[str, str]:
    root = node.root
    found = {
        "AZ_BATCH_TASK_DIR": root.native(task.directory),
        "AZ_BATCH_TASK_WORKING_DIR": root.native(working_directory(task.directory)),
    }
    if not root.is_windows:
        found["AZ_BATCH_CERTIFICATES_DIR"] = root.native(f"{task.directory}/certs")
    if task.authentication_token is not None:
        found["AZ_BATCH_AUTHENTICATION_TOKEN"] = task.authentication_token
    if task.kind is TaskKind.START:
        return found
    found |= {"AZ_BATCH_JOB_ID": task.job_id, "AZ_BATCH_TASK_ID": task.task_id}
    if task.prep_directory is not None and task.kind is not TaskKind.PREP:  # also for release (REL-17)
        found["AZ_BATCH_JOB_PREP_DIR"] = root.native(task.prep_directory)
        found["AZ_BATCH_JOB_PREP_WORKING_DIR"] = root.native(working_directory(task.prep_directory))
    return found


def _of_multi_instance(node: NodeFacts, instances: MultiInstanceFacts) -> dict[str, str]:
    addresses = [ip for ip, _ in instances.nodes]
    return {
        "AZ_BATCH_HOST_LIST": ",".join(addresses),
        "AZ_BATCH_IS_CURRENT_NODE_MASTER": _text(instances.ip == addresses[0]),
        "AZ_BATCH_MASTER_NODE": f"{addresses[0]}:{COORDINATION_PORT}",
        "AZ_BATCH_NODE_LIST": ";".join(addresses),
        "AZ_BATCH_TASK_SHARED_DIR": node.root.native(instances.directory),
        "CCP_NODES": " ".join([str(len(addresses)), *(f"{ip} {cores}" for ip, cores in instances.nodes)]),
    }


def _package_name(package: InstalledPackage, root: NodeRoot) -> str:
    """Return the name of the variable that holds the package's directory (APP-6)."""
    if root.is_windows:
        suffix = f"#{package.version}" if package.pinned else ""
        return f"AZ_BATCH_APP_PACKAGE_{package.application_id.upper()}{suffix}"
    suffix = f"_{package.version}" if package.pinned else ""
    return "AZ_BATCH_APP_PACKAGE_" + _SUFFIX_SIGNS.sub("_", package.application_id + suffix)


def _package_path(package: InstalledPackage, root: NodeRoot) -> str:
    return root.native(package_directory(package.application_id, package.version))


def _text(value: bool) -> str:
    return "true" if value else "false"
