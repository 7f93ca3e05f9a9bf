"""Tasks that require more slots than a node of their pool has, and so never run (SCHED-10)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.scenario.document import DocumentPlace, Path
    from engine.scenario.known_nodes import KnownNodes, NodeOwner


class RequiredSlots:
    """The tasks of one document that require several slots."""

    def __init__(self, nodes: KnownNodes) -> None:
        self._nodes = nodes
        # How many tasks in a list require as many slots, and where the first one says so.
        self._counts: Counter[tuple[Path, int, NodeOwner]] = Counter()
        self._first: dict[tuple[Path, int, NodeOwner], DocumentPlace] = {}

    def visit(self, place: DocumentPlace, owner: NodeOwner) -> None:
        """Note what a task requires."""
        required = place.plain.get("requiredSlots") if isinstance(place.plain, dict) else None
        if not isinstance(required, int) or required <= 1:
            return
        alike = place.path[:-1], required, owner
        self._counts[alike] += 1
        if self._counts[alike] == 1 and (written := place.get("requiredSlots")) is not None:
            self._first[alike] = written

    def finish(self) -> None:
        """Report the tasks that never run, now that all pools and jobs are known."""
        for alike, place in self._first.items():
            _, required, owner = alike
            slots = self._nodes.most_slots(owner)
            if slots is not None and required > slots:
                more = f" ({self._counts[alike] - 1:,} more like it)" if self._counts[alike] > 1 else ""
                place.warn(
                    f"the task requires {required:,} slots and never runs, since a node of its pool has {slots:,}"
                    f" (SCHED-10): give the pool taskSlotsPerNode: {required}{more}"
                )
