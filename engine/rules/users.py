"""Users that log in to single nodes (NOP-9). Users that run commands are in ``processes.identities`` (USER-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.units import DAY_MS
from engine.specs.commands import CreateNodeUser

if TYPE_CHECKING:
    from engine.specs.commands import UpdateNodeUser
    from engine.world.world import World


def put(world: World, node: int, command: CreateNodeUser | UpdateNodeUser) -> None:
    """Add a user for remote login, or replace its password, key and expiry as a whole (NOP-9).

    The user expires after a day unless the command says otherwise, and stays what it is: an administrator or not.
    """
    if not isinstance(command, CreateNodeUser):
        name = _existing(world, node, command.name)
        is_admin, _ = world.nodes[node].users[name]
    elif _known(world, node, command.name) is not None:
        raise BatchError("NodeUserExists", name=command.name)
    else:
        name, is_admin = command.name, command.is_admin
    if command.expiry_time is None:
        expiry_ms = world.now_ms + DAY_MS
    else:
        expiry_ms = int((command.expiry_time - world.scenario.start).total_seconds() * 1000)
    world.nodes.set_user(node, name, is_admin=is_admin, expiry_ms=expiry_ms)


def delete(world: World, node: int, name: str) -> None:
    """Delete a user (NOP-9)."""
    world.nodes.delete_user(node, _existing(world, node, name))


def _known(world: World, node: int, name: str) -> str | None:
    """Return the user's name as it was spelled when it was added; case does not matter (GEN-1)."""
    return next((known for known in world.nodes[node].users if known.lower() == name.lower()), None)


def _existing(world: World, node: int, name: str) -> str:
    known = _known(world, node, name)
    if known is None:
        raise BatchError("NodeUserNotFound", name=name)
    return known
