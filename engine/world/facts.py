"""Facts: what has happened to a task, node, job or pool, as plain data for the chapters that react to it.

A chapter of the rules that changes something emits a fact with ``World.emit``; ``engine.rules.reactions`` lists, for
each kind of fact, who reacts and in which order. Row numbers refer to the tables of the world.
"""

from __future__ import annotations

from typing import NamedTuple


class TaskLeftNode(NamedTuple):
    """A task has left the node, and the slots that it held there are free."""

    node: int
    slots: int


class TaskAssigned(NamedTuple):
    """The scheduler has assigned a task to a node and taken its slots there."""

    task: int
    node: int


class GangAssigned(NamedTuple):
    """The scheduler has assigned a multi-instance task to several nodes, the primary's first, and taken their slots."""

    task: int
    nodes: tuple[int, ...]


class TaskDisplaced(NamedTuple):
    """The scheduler needs the room of a running task for another one."""

    task: int
    rule: str


class NodeDrained(NamedTuple):
    """The last task has left a node with an operation that waits for that."""

    node: int


class NodeBroken(NamedTuple):
    """Something on the node does not work, and only a reboot will try again (NODE-15)."""

    node: int
    code: str
    details: tuple[tuple[str, str], ...] = ()


Fact = GangAssigned | NodeBroken | NodeDrained | TaskAssigned | TaskDisplaced | TaskLeftNode
