"""Uploads of the node agent's logs (NOP-11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import NodeState
from engine.rules.decisions import storage
from engine.specs import draws
from engine.specs.refusals.parts import invalid
from engine.specs.storage import BlobContent
from engine.state.blobs import NO_TASK

if TYPE_CHECKING:
    from engine.specs.commands import UploadNodeLogs
    from engine.world.world import World

# NOP-11: the files uploaded. DECISION: their content is not simulated, so they are empty.
_FILES = ("agent-debug.log", "agent-info.log", "agent-warn.log")


def upload(world: World, node: int, command: UploadNodeLogs) -> None:
    """Leave the logs in the container, in the directory that ``uploaded`` returns.

    Refused on an unreachable node (NodeStateUnusable), and DECISION for a container that is missing or to which the
    access has expired (InvalidPropertyValue).
    """
    record = world.nodes[node]
    if world.nodes.state_of(node) is NodeState.UNUSABLE and not record.errors:
        raise BatchError("NodeStateUnusable")
    if command.end_time is not None and command.end_time < command.start_time:
        raise invalid(("endTime",), "endTime is before startTime").error(command)
    if storage.is_expired(world, command.container_url):
        raise invalid(("containerUrl",), "access to the container has expired").error(command)
    if storage.is_container_missing(world, command.container_url):
        raise invalid(("containerUrl",), "there is no such container").error(command)
    directory, container = _directory(world, node), world.blobs.container(command.container_url)
    for name in _FILES:
        world.blobs.upload(world.now_ms, container, f"{directory}/{name}", BlobContent(0, ""), node, NO_TASK)


def uploaded(world: World, node: int) -> dict[str, object]:
    """Return the service's answer to an upload at this moment: the directory of the logs, and their number."""
    return {"virtualDirectoryName": _directory(world, node), "numberOfFilesUploaded": len(_FILES)}


def _directory(world: World, node: int) -> str:
    record, pool_id = world.nodes[node], world.pool_of(node).id
    guid = draws.guid(world.seed, "service logs", pool_id.lower(), record.position, world.now_ms)
    return f"{pool_id}/{record.id}/{guid}"
