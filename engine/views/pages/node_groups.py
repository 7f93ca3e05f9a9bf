"""Nodes grouped by what a column shows of them, so that ten thousand of them are filtered by a few texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.units import SECOND_MS
from engine.state.nodes import GONE

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from engine import Simulation
    from engine.views.pages.nodes import NodePage

_NEVER = -1


def node_groups(simulation: Simulation, page: NodePage, column: str, from_ms: int) -> Callable[[int], Hashable] | None:
    """Return a function that gives a value for each node of a page; nodes with the same value show the same text.

    None for a column whose texts differ from node to node.

    Args:
        simulation: The run.
        page: The nodes, with their status for the job in focus.
        column: The name of the column.
        from_ms: The moment from which the column counts its times, in ms since the start.
    """
    nodes, now_ms = simulation.world.nodes, simulation.now_ms

    def seconds(when_ms: int | None) -> int:
        return _NEVER if when_ms is None else abs(when_ms - from_ms) // SECOND_MS

    groups: dict[str, Callable[[int], Hashable]] = {
        "State": lambda node: nodes.state[node],
        "Scheduling state": lambda node: (nodes.state[node] == GONE, nodes[node].scheduling),
        "Running tasks": lambda node: (nodes.state[node] == GONE, nodes.free[node]),
        "Focus job": page.hooks,
        "Total tasks run": lambda node: nodes.ran[node],
        "Age in state": lambda node: (now_ms - nodes.since[node]) // SECOND_MS,
        "Total successful tasks": nodes.succeeded,
        "State transition time": lambda node: seconds(nodes.since[node]),
        "Last boot time": lambda node: seconds(nodes[node].boot_ms),
        "Allocation time": lambda node: seconds(nodes[node].allocation_ms),
        "Node size": lambda node: nodes[node].pool,
        "Dedicated": lambda node: nodes[node].dedicated,
        "Start task": lambda node: nodes[node].start_task,
        "Errors": lambda node: tuple(error.code for error in nodes[node].errors),
    }
    return groups.get(column)
