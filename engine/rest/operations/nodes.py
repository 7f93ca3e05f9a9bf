"""The operations on nodes; their files are in ``files``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.rest.operations.common import Target, action, one, path_of
from engine.rest.operations.pools import pool_named
from engine.rest.protocol import paging
from engine.rules.commands import node_of
from engine.specs import commands as c
from engine.views.rest.lookup import node_wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.rest.protocol.answers import Answer, Body
    from engine.rest.protocol.calls import Call, Handler


def node_named(call: Call) -> int:
    """Return the row of the node that the path names. Raises BatchError: PoolNotFound or NodeNotFound."""
    return node_of(call.world, pool_named(call), call.names["nodeId"])


def named(call: Call) -> Target | None:
    """Return the node that the path names, None if there is none. Nodes have no entity tag."""
    try:
        node = node_named(call)
    except BatchError:
        return None
    return Target(path_of("pools", pool_named(call).id, "nodes", call.world.nodes[node].id))


def get_node(call: Call) -> Answer:
    """Answer with one node."""
    return one(call, "nodes", node_wire(call.simulation, node_named(call)), named(call))


def list_nodes(call: Call) -> Answer:
    """Answer with a page of the nodes of a pool."""
    world, pool = call.world, pool_named(call)

    def after(row: int) -> Iterator[tuple[int, Body]]:
        present = (node for node in pool.nodes if node > row and world.nodes.state_of(node) is not None)
        return ((node, node_wire(call.simulation, node)) for node in present)

    return paging.page(call, "nodes", after, -1)


HANDLERS: dict[str, Handler] = {
    "get_node": get_node,
    "list_nodes": list_nodes,
    "reboot_node": action(c.RebootNode, named),
    "reimage_node": action(c.ReimageNode, named),
    "deallocate_node": action(c.DeallocateNode, named),
    "start_node": action(c.StartNode, named),
    "disable_node_scheduling": action(c.DisableNodeScheduling, named),
    "enable_node_scheduling": action(c.EnableNodeScheduling, named),
}
