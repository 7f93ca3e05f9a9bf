"""The operations on nodes and their users; their files are in ``files``."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from engine.base.errors import BatchError
from engine.base.terms import OsFamily
from engine.rest.operations.common import Target, action, command_of, created, one, path_of, removal
from engine.rest.operations.pools import pool_named
from engine.rest.protocol import answers, paging
from engine.rest.protocol.answers import Answer
from engine.rules.decisions import lookups
from engine.rules.service_logs import uploaded
from engine.specs import commands as c
from engine.views.rest.nodes import extension_bodies, node_body, remote_desktop_file, remote_login_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.rest.protocol.answers import Body
    from engine.rest.protocol.calls import Call, Handler

_LOGIN = "Microsoft.Azure.Batch.Protocol.Entities.ComputeNodeGetRemoteLoginSettingsResult"
_REIMAGES_MACHINES = "2025-06-01"
_RECENT = "recenttasks"
_LOGS = "Microsoft.Azure.Batch.Protocol.Entities.UploadBatchServiceLogsResult"


def node_named(call: Call) -> int:
    """Return the row of the node that the path names. Raises BatchError: PoolNotFound or NodeNotFound."""
    return lookups.node_named(call.world, pool_named(call), call.names["nodeId"])


def named(call: Call) -> Target | None:
    """Return the node that the path names, None if there is none. Nodes have no entity tag."""
    try:
        node = node_named(call)
    except BatchError:
        return None
    return Target(path_of("pools", pool_named(call).id, "nodes", call.world.nodes[node].id))


def get_node(call: Call) -> Answer:
    """Answer with one node."""
    return one(call, "nodes", _body(call, node_named(call)), named(call))


def _body(call: Call, node: int) -> Body:
    """Return a node; its recent tasks, which are most of it, only where ``$select`` or ``$filter`` has them."""
    asked = f"{call.query.get('$select', _RECENT)} {call.query.get('$filter', '')}".lower()
    return node_body(call.world, node, call.latest.tasks.on(node) if _RECENT in asked else ())


def list_nodes(call: Call) -> Answer:
    """Answer with a page of the nodes of a pool."""
    world, pool = call.world, pool_named(call)

    def after(row: int) -> Iterator[tuple[int, Body]]:
        present = (node for node in pool.nodes if node > row and world.nodes.state_of(node) is not None)
        return ((node, _body(call, node)) for node in present)

    return paging.page(call, "nodes", after, -1)


def _for_version(call: Call, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a reimage, which versions before 2025-06-01 refuse on virtual machines, as was recorded.

    Raises:
        BatchError: OperationNotValidOnNode.
    """
    pool = call.world.pools.find(call.names["poolId"])
    older = call.query["api-version"] < _REIMAGES_MACHINES
    if older and pool is not None and pool.os is not OsFamily.CLOUD_SERVICE:
        reason = "Operation reimage can be invoked only on pools created with cloudServiceConfiguration"
        raise BatchError("OperationNotValidOnNode", reason)
    return body


# -- users (NOP-9) ---------------------------------------------------------------------------------------------------


def _user_of(call: Call, name: str) -> Target | None:
    node = named(call)
    return None if node is None else Target(f"{node.path}{path_of('users', name)}")


def _user(call: Call) -> Target | None:
    return _user_of(call, call.names["userName"])


def _create_user(call: Call) -> Answer:
    command = command_of(call, c.CreateNodeUser)
    assert isinstance(command, c.CreateNodeUser)
    call.submit(command)
    return created(call, _user_of(call, command.name))


def _without_name(_: Call, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a replacement; the name of the user is in the path."""
    return {name: value for name, value in body.items() if name.lower() != "name"}


# -- login, logs and extensions --------------------------------------------------------------------------------------


def get_remote_login_settings(call: Call) -> Answer:
    """Answer with the address and port for remote login (NOP-10)."""
    body = {"odata.metadata": answers.metadata(call.base, _LOGIN)}
    return answers.json_body(call.route.status, body | remote_login_settings(call.world, node_named(call)))


def get_remote_desktop_file(call: Call) -> Answer:
    """Answer with the file that opens a Remote Desktop session (NOP-10)."""
    text = remote_desktop_file(call.world, node_named(call))
    return Answer(call.route.status, text.encode(), {"Content-Type": "application/octet-stream"})


def upload_logs(call: Call) -> Answer:
    """Upload the logs of the node agent, and answer with their directory in the container (NOP-11)."""
    call.submit(command_of(call, c.UploadNodeLogs))
    body = {"odata.metadata": answers.metadata(call.base, _LOGS)}
    return answers.json_body(call.route.status, body | uploaded(call.world, node_named(call)))


def list_extensions(call: Call) -> Answer:
    """Answer with a page of the extensions of a node's virtual machine."""
    found = extension_bodies(call.world, node_named(call))

    def after(number: int) -> Iterator[tuple[int, Body]]:
        return islice(enumerate(found), number + 1, None)

    return paging.page(call, "extensions", after, -1)


def get_extension(call: Call) -> Answer:
    """Answer with one extension of a node's virtual machine."""
    name = call.names["extensionName"]
    found = extension_bodies(call.world, node_named(call))
    body = next((body for body in found if body["vmExtension"]["name"].lower() == name.lower()), None)
    if body is None:
        raise BatchError("ResourceNotFound", "the pool has no such extension", extensionName=name)
    return one(call, "extensions", body, None)


HANDLERS: dict[str, Handler] = {
    "get_node": get_node,
    "list_nodes": list_nodes,
    "reboot_node": action(c.RebootNode, named),
    "reimage_node": action(c.ReimageNode, named, _for_version),
    "deallocate_node": action(c.DeallocateNode, named),
    "start_node": action(c.StartNode, named),
    "disable_node_scheduling": action(c.DisableNodeScheduling, named),
    "enable_node_scheduling": action(c.EnableNodeScheduling, named),
    "create_node_user": _create_user,
    "replace_node_user": action(c.UpdateNodeUser, _user, _without_name),
    "delete_node_user": removal(c.DeleteNodeUser, _user),
    "get_node_remote_login_settings": get_remote_login_settings,
    "get_remote_desktop_file": get_remote_desktop_file,
    "upload_node_logs": upload_logs,
    "list_node_extensions": list_extensions,
    "get_node_extension": get_extension,
}
