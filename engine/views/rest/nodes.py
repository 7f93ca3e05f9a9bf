"""Nodes as the service returns them (NODE-4 to NODE-7, START-7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.base.errors import BatchError
from engine.base.paths import STARTUP
from engine.base.terms import NodeState, OsFamily
from engine.specs.network import IpAddressProvisioning, NetworkConfiguration
from engine.views.rest.common import container_info, job_url, node_url, utc
from engine.views.rest.pools import machine
from engine.views.rest.tasks import execution_info

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.state.node_records import StartTaskRecord
    from engine.state.pools import Pool
    from engine.views.log.node_history import RecentTask
    from engine.world.world import World

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
    has_booted = record.boot_ms is not None and (state is not NodeState.STARTING or record.boots > 1)
    tasks = world.tasks
    body: dict[str, object] = {
        "id": record.id,
        "url": node_url(world, node),
        "state": (NodeState.LEAVING_POOL if state is None else state).wire,
        "schedulingState": record.scheduling.wire,
        "stateTransitionTime": utc(world, table.since[node]),
    }
    if has_booted and record.boot_ms is not None:
        body["lastBootTime"] = utc(world, record.boot_ms)
    body |= {
        "allocationTime": utc(world, record.allocation_ms),
        "ipAddress": record.ip_address,
        "ipv6Address": f"fd00::{record.ip_address.replace('.', ':')}",
        "affinityId": affinity_id(record.id),
        "vmSize": pool.spec.vm_size,
        "totalTasksRun": table.ran[node],
        "totalTasksSucceeded": table.succeeded(node),
        "runningTasksCount": len(table.running[node]),
        "runningTaskSlotsCount": sum(tasks.profile_of(task).required_slots for task in table.running[node]),
    }
    if recent:
        body["recentTasks"] = [_task_information(world, task) for task in recent]
    if record.start_spec is not None:
        body["startTask"] = record.start_spec.wire()
    if record.start_task is not None:
        body["startTaskInfo"] = start_task_info(world, node, record.start_task)
    if record.certificates:
        body["certificateReferences"] = [reference.wire() for reference in record.certificates]
    if record.errors:
        body["errors"] = [error.wire() for error in record.errors]
    body["isDedicated"] = record.dedicated
    body["endpointConfiguration"] = {"inboundEndpoints": _endpoints(world, pool, record.position)}
    if has_booted and record.boot_ms is not None:
        body["nodeAgentInfo"] = {"version": NODE_AGENT_VERSION, "lastUpdateTime": utc(world, record.boot_ms)}
    if pool.spec.cloud_service_configuration is None:
        body["virtualMachineInfo"] = {"imageReference": machine(pool)["imageReference"]}
    return body


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
    info: dict[str, object] = {
        "state": "running" if task.running else "completed",
        "startTime": utc(world, task.start_ms),
    }
    if not task.running and task.end_ms is not None:
        info["endTime"] = utc(world, task.end_ms)
    if task.exit_code is not None:
        info["exitCode"] = task.exit_code
    if task.running or task.exit_code is not None:
        info |= container_info(world, world.nodes[node].start_spec, node, STARTUP, task.start_ms, task.exit_code)
    if task.failure is not None:
        info["failureInfo"] = task.failure.wire()
    info["retryCount"] = task.retry_count
    if task.last_retry_ms is not None:
        info["lastRetryTime"] = utc(world, task.last_retry_ms)
    if task.result is not None:
        info["result"] = task.result.value
    return info


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
