"""Environment variables of every kind of task (ENV): the set that it sees (ENV-2) and their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum, auto
from typing import NamedTuple

from engine.base.lazy import lazy_regex
from engine.base.paths import MOUNTS, SHARED, STARTUP, NodeRoot, package_directory, working_directory

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


class TaskFacts(NamedTuple):
    """Facts about one task. Directories are keys below the node's root (see ``engine.base.paths``).

    ``prep_directory`` is the directory of the job's preparation task, or None. A start task has neither id nor job.
    """

    kind: TaskKind
    directory: str
    task_id: str = ""
    job_id: str = ""
    prep_directory: str | None = None
    authentication_token: str | None = None


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

    The service's own variables win over the task's ``environmentSettings``, and these over the job's
    ``commonEnvironmentSettings`` (ENV-1). On Windows, names that differ only in case are one variable.
    """
    service = _of_node(node) | _of_task(node, task)
    service |= {_package_name(package, node.root): _package_path(package, node.root) for package in packages}
    if multi_instance is not None and task.kind in (TaskKind.PRIMARY, TaskKind.SUBTASK):
        service |= _of_multi_instance(node, multi_instance)
    chosen: dict[str, tuple[str, str]] = {}
    for settings in (job_settings or {}, task_settings or {}, service):
        for name, value in settings.items():
            chosen[name.upper() if node.root.is_windows else name] = (name, value)
    return dict(sorted(chosen.values()))


def settings_of(settings: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return ``environmentSettings`` as a mapping. A setting without a value is empty; the last one of a name wins."""
    return {name: value or "" for name, value in settings}


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
