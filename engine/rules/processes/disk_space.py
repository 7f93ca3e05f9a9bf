"""Disk space of nodes (VM-4): taken by resource files, packages, and files that processes write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.environment import RESERVED_DISK_BYTES
from engine.base.terms import NodeState
from engine.rules.processes import directories
from engine.world.facts import NodeBroken

if TYPE_CHECKING:
    from engine.state.pools import Pool
    from engine.world.world import World

_GIB = 1024**3
_N = NodeState
_UP = (_N.STARTING, _N.WAITING_FOR_START_TASK, _N.START_TASK_FAILED, _N.IDLE, _N.RUNNING, _N.OFFLINE)


def capacity_bytes(pool: Pool) -> int:
    """Return the disk space for tasks on a node of the pool (VM-4)."""
    return int(pool.size.task_disk_gib * _GIB)


def free_bytes(world: World, node: int) -> int:
    """Return the free bytes of the node's disk, the reserve included."""
    return max(0, capacity_bytes(world.pool_of(node)) - world.disks[node].used_bytes)


def is_full(world: World, node: int) -> bool:
    """Return whether less is free than the reserve that tasks see in their environment (NODE-15)."""
    return free_bytes(world, node) < RESERVED_DISK_BYTES


def take(world: World, node: int, key: str, size: int, text: str | None = None) -> bool:
    """Put a file of so many bytes on the node's disk, or as much of it as fits; return whether all of it did (VM-4).

    It replaces a file of its name, and has its text if that is known and all of it fits. Directories whose retention is
    over make room (FILE-7).
    """
    disk = world.disks.edit(node)
    disk.put(key, 0)
    if size > free_bytes(world, node):
        directories.sweep(world, node)
    free = free_bytes(world, node)
    if text is not None and size <= free:
        disk.write(key, text)
    else:
        disk.put(key, min(size, free))
    return size <= free


def report_if_full(world: World, node: int) -> None:
    """Report a node whose disk is full: it is of no use until it is rebooted with more room (NODE-11, NODE-15)."""
    if is_full(world, node) and world.nodes.state_of(node) in _UP:
        world.emit(NodeBroken(node, "DiskFull"))
