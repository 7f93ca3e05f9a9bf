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


class NodeBroken(NamedTuple):
    """Something on the node does not work, and only a reboot will try again (NODE-15)."""

    node: int
    code: str
    details: tuple[tuple[str, str], ...] = ()


class TasksStarving(NamedTuple):
    """A minute has passed since a task of the pool was reported to find no room."""

    pool: int


Fact = NodeBroken | TaskLeftNode | TasksStarving
