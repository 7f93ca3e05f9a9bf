"""Preparation or release on nodes, grouped by what a column shows of it, for filters of ten thousand nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.units import SECOND_MS
from engine.state.nodes import GONE

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from engine import Simulation
    from engine.state.instances import InstanceView
    from engine.views.pages.instances import InstancePage

_NEVER = -1


def instance_groups(
    simulation: Simulation, page: InstancePage, column: str, from_ms: int
) -> Callable[[int], Hashable] | None:
    """Return a function that gives a value for each node of a page; nodes with the same value show the same text.

    None for a column whose texts differ from node to node.

    Args:
        simulation: The run.
        page: Preparation or release of a job.
        column: The name of the column.
        from_ms: The moment from which the column counts its times, in ms since the start.
    """
    nodes, view_of = simulation.world.nodes, page.view_of

    def seconds(when_ms: int | None) -> int:
        return _NEVER if when_ms is None else abs(when_ms - from_ms) // SECOND_MS

    def state(node: int) -> Hashable:
        view = view_of(node)
        return page.status_of(node) if view is None else view.state

    def node_state(node: int) -> Hashable:
        code = nodes.state[node]
        return code, seconds(nodes.since[node] if code == GONE else None)

    of_node: dict[str, Callable[[int], Hashable]] = {
        "State": state,
        "Pool": lambda node: nodes[node].pool,
        "Node state": node_state,
        "Ineligible": page.is_ineligible,
    }
    of_view: dict[str, Callable[[InstanceView], Hashable]] = {
        "Result": lambda view: view.result,
        "Start time": lambda view: seconds(view.start_ms),
        "End time": lambda view: seconds(view.end_ms),
        "Exit code": lambda view: view.exit_code,
        "Retries": lambda view: view.retry_count,
        "Failure category": lambda view: view.failure,
        "Failure code": lambda view: view.failure,
        "Runs": lambda view: view.runs,
        "Last retry time": lambda view: seconds(view.start_ms if view.retry_count else None),
    }
    value_of = of_view.get(column)
    if value_of is None:
        return of_node.get(column)

    def group(node: int) -> Hashable:
        view = view_of(node)
        return None if view is None else (value_of(view),)

    return group
