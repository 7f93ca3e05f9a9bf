"""Users that log in to single nodes (NOP-9). Users that run commands are in ``processes.identities`` (USER-3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.units import DAY_MS

if TYPE_CHECKING:
    from engine.specs.commands import CreateNodeUser, UpdateNodeUser
    from engine.world.world import World


def create(world: World, node: int, command: CreateNodeUser) -> None:
    """Add a user for remote login, for a day unless the command says otherwise (NOP-9)."""
    if _known(world, node, command.name) is not None:
        raise BatchError("NodeUserExists", name=command.name)
    world.nodes.set_user(node, command.name, is_admin=command.is_admin, expiry_ms=_expiry_ms(world, command))


def update(world: World, node: int, command: UpdateNodeUser) -> None:
    """Replace a user's password, key and expiry as a whole; absent properties get their defaults (NOP-9)."""
    name = _existing(world, node, command.name)
    is_admin, _ = world.nodes[node].users[name]
    world.nodes.set_user(node, name, is_admin=is_admin, expiry_ms=_expiry_ms(world, command))


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


def _expiry_ms(world: World, command: CreateNodeUser | UpdateNodeUser) -> int:
    if command.expiry_time is None:
        return world.now_ms + DAY_MS
    return int((command.expiry_time - world.scenario.start).total_seconds() * 1000)
