"""Uploads of the node agent's logs (NOP-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import NodeState
from engine.rules.decisions import storage
from engine.specs import draws
from engine.specs.refusals.parts import invalid

if TYPE_CHECKING:
    from engine.specs.commands import UploadNodeLogs
    from engine.world.world import World

FILES = 3  # NOP-11: number of files uploaded


def upload(world: World, node: int, command: UploadNodeLogs) -> dict[str, object]:
    """Return the answer of the service: the directory in the container, and the number of files.

    Nothing in the account changes. Refused on an unreachable node (NodeStateUnusable), and DECISION for a container
    that is missing (InvalidPropertyValue).
    """
    record = world.nodes[node]
    if world.nodes.state_of(node) is NodeState.UNUSABLE and not record.errors:
        raise BatchError("NodeStateUnusable")
    if command.end_time is not None and command.end_time < command.start_time:
        raise invalid(("endTime",), "endTime is before startTime").error(command)
    if storage.found(world, command.container_url).missing:
        raise invalid(("containerUrl",), "there is no such container").error(command)
    pool_id = world.pool_of(node).id
    guid = draws.guid(world.seed, "service logs", pool_id.lower(), record.position, world.now_ms)
    return {
        "virtualDirectoryName": f"{pool_id}/{record.id}/{guid}",
        "numberOfFilesUploaded": FILES,
    }
