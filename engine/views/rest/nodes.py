"""Nodes and the files on them as the service returns them (NODE-4 to NODE-7, START-7, FILE-7, FILE-10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from engine.base.errors import BatchError
from engine.base.paths import STARTUP, name_of
from engine.base.terms import NodeState, OsFamily
from engine.rules.processes.node_disk import (
    OUTPUTS,
    Directory,
    FileEntry,
    directory_of,
    entries_of,
    files_of,
    find_entry,
    instance_directories,
    is_over,
    key_of,
    task_directory_of,
    tasks_on,
)
from engine.shell.files import FileTimes
from engine.specs.machine import IpAddressProvisioning, NetworkConfiguration
from engine.views.rest.account import container_info, job_url, machine, node_url, present, utc, utc_if, wire_if
from engine.views.rest.tasks import execution_info

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engine.run.simulation import Simulation
    from engine.shell.files import NodeFiles
    from engine.state.files import Disks
    from engine.state.nodes import StartTaskRecord
    from engine.state.pools import Pool
    from engine.views.log.histories import RecentTask
    from engine.world import World


NODE_AGENT_VERSION = "1.12.2"

# Nodes behind one public address, and the port of the first of them (NODE-4).
_NODES_PER_ADDRESS = 100
_FIRST_PORT = 50_000
_SSH, _RDP = 22, 3389
# Addresses reserved for documentation, where no host answers.
_PUBLIC_NETWORK = "203.0.113"
_PUBLIC_NETWORK_6 = "2001:db8"

# The service's own extension, by which the node agent gets onto a virtual machine.
_AGENT_EXTENSION = {"name": "batchNodeExtension", "publisher": "Microsoft.Azure.Extensions", "type": "CustomScript"}


def node_body(world: World, node: int, recent: Sequence[RecentTask] = ()) -> dict[str, object]:
    """Return the REST body of a node; one that has left its pool has the state in which it was last seen.

    Args:
        world: The tables.
        node: The row of the node.
        recent: Its last tasks, newest first (see ``log.node_history``).
    """
    record, table = world.nodes[node], world.nodes
    pool = world.pool_of(node)
    state = table.state_of(node)
    booted_ms = record.boot_ms if state is not NodeState.STARTING or record.boots > 1 else None
    has_machine = pool.spec.cloud_service_configuration is None
    agent = booted_ms is not None and {"version": NODE_AGENT_VERSION, "lastUpdateTime": utc(world, booted_ms)}
    return present(
        id=record.id,
        url=node_url(world, node),
        state=(NodeState.LEAVING_POOL if state is None else state).wire,
        schedulingState=record.scheduling.wire,
        stateTransitionTime=utc(world, table.since[node]),
        lastBootTime=utc_if(world, booted_ms),
        allocationTime=utc(world, record.allocation_ms),
        ipAddress=record.ip_address,
        ipv6Address=f"fd00::{record.ip_address.replace('.', ':')}",
        affinityId=affinity_id(record.id),
        vmSize=pool.spec.vm_size,
        totalTasksRun=table.ran[node],
        totalTasksSucceeded=table.succeeded(node),
        runningTasksCount=len(table.running[node]),
        runningTaskSlotsCount=sum(world.tasks.profile_of(task).required_slots for task in table.running[node]),
        recentTasks=[_task_information(world, task) for task in recent] or None,
        startTask=None if record.start_spec is None else record.start_spec.wire(),
        startTaskInfo=None if record.start_task is None else start_task_info(world, node, record.start_task),
        certificateReferences=[reference.wire() for reference in record.certificates] or None,
        errors=[error.wire() for error in record.errors] or None,
        isDedicated=record.dedicated,
        endpointConfiguration={"inboundEndpoints": _endpoints(world, pool, record.position)},
        nodeAgentInfo=agent or None,
        virtualMachineInfo={"imageReference": machine(pool)["imageReference"]} if has_machine else None,
    )


def remote_login_settings(world: World, node: int) -> dict[str, object]:
    """Return the address and port for remote login by SSH or RDP (NOP-10).

    Raises:
        BatchError: OperationNotValidOnPool for cloud services, which have an RDP file instead;
            OperationNotValidOnNode where the pool has no public addresses.
    """
    pool = world.pool_of(node)
    if pool.os is OsFamily.CLOUD_SERVICE:
        raise BatchError("OperationNotValidOnPool", "a node of a cloud service offers an RDP file")
    endpoints = _endpoints(world, pool, world.nodes[node].position)
    if not endpoints:
        raise BatchError("OperationNotValidOnNode", "the pool has no public IP addresses")
    *_, login = endpoints
    settings = {"remoteLoginIPAddress": login["publicIPAddress"], "remoteLoginPort": login["frontendPort"]}
    network = pool.spec.network_configuration
    addresses = None if network is None else network.public_ip_address_configuration
    if addresses is not None and "IPv6" in addresses.ip_families:
        *_, host = str(login["publicIPAddress"]).split(".")
        settings |= {
            "ipv6RemoteLoginIPAddress": f"{_PUBLIC_NETWORK_6}::{host}",
            "ipv6RemoteLoginPort": login["frontendPort"],
        }
    return settings


def remote_desktop_file(world: World, node: int) -> str:
    """Return the file that opens a Remote Desktop session on a Windows node (NOP-10).

    Raises:
        BatchError: OperationNotValidOnNode where the node has no Windows or no public address.
    """
    pool = world.pool_of(node)
    endpoints = _endpoints(world, pool, world.nodes[node].position)
    if not endpoints or not world.root_of(pool).is_windows:
        raise BatchError("OperationNotValidOnNode", "only a Windows node with a public IP address has an RDP file")
    *_, login = endpoints
    return f"full address:s:{login['publicIPAddress']}:{login['frontendPort']}\r\nprompt for credentials:i:1\r\n"


def extension_bodies(world: World, node: int) -> list[dict[str, Any]]:
    """Return the extensions of a node's virtual machine, the service's own last (POOL-23)."""
    machine_spec = world.pool_of(node).spec.virtual_machine_configuration
    if machine_spec is None:
        return []
    extensions = [*(each.wire() for each in machine_spec.extensions), _AGENT_EXTENSION]
    return [_extension(world, extension, world.nodes[node].boot_ms) for extension in extensions]


def _extension(world: World, extension: dict[str, Any], boot_ms: int | None) -> dict[str, Any]:
    """Return one extension, which is installed once the machine has booted."""
    if boot_ms is None:
        return {"provisioningState": "Creating", "vmExtension": extension}
    level = {"code": "ProvisioningState/succeeded", "level": "Info", "displayStatus": "Provisioning succeeded"}
    view = {"name": extension["name"], "statuses": [level | {"time": utc(world, boot_ms)}]}
    return {"provisioningState": "Succeeded", "vmExtension": extension, "instanceView": view}


def affinity_id(node_id: str) -> str:
    """Return the affinity id by which a task asks for a node (NODE-6, SCHED-13)."""
    return f"TVM:{node_id}"


def start_task_info(world: World, node: int, task: StartTaskRecord) -> dict[str, object]:
    """Return ``startTaskInfo``, the progress of the start task since the last boot (START-7)."""
    spec, has_container = world.nodes[node].start_spec, task.running or task.exit_code is not None
    return present(
        state="running" if task.running else "completed",
        startTime=utc(world, task.start_ms),
        endTime=None if task.running else utc_if(world, task.end_ms),
        exitCode=task.exit_code,
        **(container_info(world, spec, node, STARTUP, task.start_ms, task.exit_code) if has_container else {}),
        failureInfo=wire_if(task.failure),
        retryCount=task.retry_count,
        lastRetryTime=utc_if(world, task.last_retry_ms),
        result=task.result.value if task.result is not None else None,
    )


def _task_information(world: World, recent: RecentTask) -> dict[str, object]:
    """Return ``taskInformation`` of a task that was on the node, with its subtask if it has several (MI-8)."""
    tasks, task = world.tasks, recent.task
    job_id, task_id = world.jobs[tasks.profile_of(task).job].id, tasks.task_id(task)
    state = tasks.state_of(task)
    assert state is not None
    return {
        "taskUrl": f"{job_url(world, job_id)}/tasks/{task_id}",
        "jobId": job_id,
        "taskId": task_id,
        **({"subtaskId": recent.subtask} if recent.subtask is not None else {}),
        "taskState": state.wire,
        "executionInfo": execution_info(world, task),
    }


def _endpoints(world: World, pool: Pool, position: int) -> list[dict[str, object]]:
    """Return the public ports of a node: those for remote login and those that the pool opens (NODE-4, NET-1)."""
    network = pool.spec.network_configuration or NetworkConfiguration()
    addresses = network.public_ip_address_configuration
    if addresses is not None and addresses.provision is IpAddressProvisioning.NO_PUBLIC_IP_ADDRESSES:
        return []
    opened = network.endpoint_configuration.inbound_nat_pools if network.endpoint_configuration is not None else ()
    # Nodes behind one address have different ports.
    ranges = (nat.frontend_port_range_end - nat.frontend_port_range_start + 1 for nat in opened)
    group, index = divmod(position, min(_NODES_PER_ADDRESS, *ranges) if opened else _NODES_PER_ADDRESS)
    windows = world.root_of(pool).is_windows
    login = ("RDPRule" if windows else "SSHRule", "tcp", _FIRST_PORT, _RDP if windows else _SSH)
    others = [(nat.name, nat.protocol, nat.frontend_port_range_start, nat.backend_port) for nat in opened]
    return [
        {
            "name": f"{name}.{index}",
            "protocol": protocol,
            "publicIPAddress": f"{_PUBLIC_NETWORK}.{1 + (pool.row + group) % 254}",
            "publicFQDN": f"dns-{pool.id.lower()}-{group}.{world.account.location}.cloudapp.azure.com",
            "frontendPort": first_port + index,
            "backendPort": backend_port,
        }
        for name, protocol, first_port, backend_port in (*others, login)
    ]


__all__ = ["FileTree", "files_of", "hook_outputs", "node_tree", "task_tree", "tree"]

# Extensions of files that the service calls text; others are bytes to it.
_TEXTS = (".txt", ".log", ".csv", ".json", ".xml", ".htm", ".html", ".yaml", ".yml", ".md", ".ini", ".cfg")
_LINUX_MODE = "100644"  # a plain file that its owner may write; octal, as in the service's answers


class DepartedDisk(NamedTuple):
    """The disk of a node that is leaving its pool, or has left it, as it was before; in use from ``since_ms`` on."""

    disks: Disks
    since_ms: int


NONE_DEPARTED: Mapping[int, DepartedDisk] = {}


class FileTree(NamedTuple):
    """The files that a request can name: those of a node, or those in the directory of a task on it."""

    world: World
    node: int
    url: str
    directory: Directory | None = None  # the task's
    departed: NodeFiles | None = None  # the files of a node that has left its pool

    @property
    def files(self) -> NodeFiles:
        """The files on the node's disk."""
        return self.world.disks[self.node] if self.departed is None else self.departed

    @property
    def root(self) -> str:
        """The key of the directory in which the files are; empty for the node's root."""
        return "" if self.directory is None else self.directory.path

    @property
    def is_windows(self) -> bool:
        """True if names have backslashes."""
        return self.world.root_of(self.world.pool_of(self.node)).is_windows

    def key(self, path: str) -> str:
        """Return the key on the node of a path in this tree, with either separator."""
        name = key_of(path)
        return f"{self.root}/{name}" if self.root else name

    def find(self, path: str, now_ms: int) -> FileEntry:
        """Return the file or directory with this path. Raises BatchError: FileNotFound."""
        name = key_of(path)
        if not name:
            raise BatchError("FileNotFound", filePath=path)
        key = self.key(path)
        raw = self.world.disks.real(self.node, key)
        if raw is not None:
            return FileEntry(key, "", len(raw), FileTimes(now_ms, now_ms), raw)
        try:
            if self.departed is None:
                return find_entry(self.world, self.node, key, now_ms)
            return next(entry for entry in self.entries(now_ms, recursive=True) if entry.path == key)
        except (BatchError, StopIteration):
            raise BatchError("FileNotFound", filePath=path) from None

    def entries(self, now_ms: int, *, recursive: bool) -> list[FileEntry]:
        """Return what is in the tree, sorted by path; without ``recursive`` only what is at its root."""
        files = self.files
        if self.directory is None:
            if recursive and self.departed is None:
                return files_of(self.world, self.node, now_ms)
            return [FileEntry.on_disk(files, name) for name in (files.walk() if recursive else files.listdir(""))]
        found = [FileEntry.on_disk(files, key) for key in files.walk(self.root)] or self.directory.untouched(files)[1:]
        return [entry for entry in found if recursive or "/" not in entry.path[len(self.root) + 1 :]]

    def name(self, entry: FileEntry) -> str:
        """Return the path of an entry in this tree, as processes on the node write it."""
        name = entry.path[len(self.root) + 1 :] if self.root else entry.path
        return name.replace("/", "\\") if self.is_windows else name

    def address(self, entry: FileEntry) -> str:
        """Return the URL of an entry, always with slashes."""
        return f"{self.url}/files/{quote(self.name(entry).replace(chr(92), '/'))}"

    def body(self, entry: FileEntry) -> dict[str, object]:
        """Return the REST body of an entry of a list: of a directory no properties, of a file on Linux no creation."""
        body: dict[str, object] = {
            "name": self.name(entry),
            "url": self.address(entry),
            "isDirectory": entry.is_directory,
        }
        if entry.is_directory:
            return body
        properties: dict[str, object] = {}
        if self.is_windows:
            properties["creationTime"] = utc(self.world, entry.times.created_ms)
        properties["lastModified"] = utc(self.world, entry.times.modified_ms)
        properties["contentLength"] = str(entry.size)
        properties["contentType"] = content_type(entry)
        if not self.is_windows:
            properties["fileMode"] = _LINUX_MODE
        return body | {"properties": properties}

    @property
    def file_mode(self) -> str | None:
        """The mode of a file in octal digits; None on Windows, which has none."""
        return None if self.is_windows else _LINUX_MODE


def content_type(entry: FileEntry) -> str:
    """Return the media type of a file, which follows from its name."""
    is_text = name_of(entry.path).lower().endswith(_TEXTS)
    return "text/plain" if is_text else "application/octet-stream"


def node_tree(world: World, node: int, disk: DepartedDisk | None = None) -> FileTree:
    """Return the files of a node that is in its pool, or of a departed one."""
    return FileTree(world, node, node_url(world, node), departed=None if disk is None else disk.disks[node])


def task_tree(world: World, task: int, now_ms: int, departed: Mapping[int, DepartedDisk] = NONE_DEPARTED) -> FileTree:
    """Return the files of a task on the node of its last attempt (FILE-7), which may be one of ``departed``.

    Raises:
        BatchError: TaskFilesUnavailable or TaskFilesCleanedup.
    """
    tasks = world.tasks
    url = f"{job_url(world, world.jobs[tasks.profile_of(task).job].id)}/tasks/{tasks.task_id(task)}"
    disk = departed.get(tasks.node[task])
    if disk is None or tasks.started[task] <= disk.since_ms:
        node, directory = task_directory_of(world, task, now_ms)
        return FileTree(world, node, url, directory)
    node = tasks.node[task]
    return FileTree(world, node, url, directory_of(world, task, node), disk.disks[node])


def tree(sim: Simulation) -> Iterator[tuple[str, str, str, str]]:
    """Yield pool id, node id, path and text of every file on every node in a pool."""
    world = sim.world
    for pool in world.pools.present():
        nodes = [node for node in pool.nodes if world.nodes.state_of(node) is not None]
        tasks = tasks_on(world, nodes)
        for node in nodes:
            for entry in entries_of(world, node, tasks[node], sim.now_ms):
                if entry.text is not None:
                    yield pool.id, world.nodes[node].id, entry.path, entry.text


def next_deletion_ms(sim: Simulation, node: int) -> int | None:
    """Return when the next directory of a preparation or release on the node is deleted; None if none will be."""
    ends = (each.expires_ms for each in instance_directories(sim.world, node))
    return min((end_ms for end_ms in ends if end_ms is not None and end_ms > sim.now_ms), default=None)


def hook_outputs(sim: Simulation, node: int, root_directory: str) -> list[tuple[str, int]]:
    """Return names and sizes in bytes of the outputs of a preparation or release; none once its directory is gone."""
    world = sim.world
    if world.nodes.state_of(node) is None:
        return []
    there = (each for each in instance_directories(world, node) if each.path == root_directory)
    if all(is_over(each, sim.now_ms) for each in there):
        return []
    return [(name, world.disks[node].size(f"{root_directory}/{name}")) for name in OUTPUTS]
