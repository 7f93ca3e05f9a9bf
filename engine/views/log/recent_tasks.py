"""The tasks that changed last on each node, brought up to date from the log when they are asked for (NODE-6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.state.tasks import GONE
from engine.views.log.node_history import RECENT_TASKS, TASK_EVENTS, NodeHistory, RecentTask, recent_task
from engine.views.log.reader import Cuts, matching

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.events.log import Shape
    from engine.run.simulation import Simulation


class LatestTasks:
    """The last tasks on all nodes of a simulation at its present moment."""

    def __init__(self, simulation: Simulation) -> None:
        """Read nothing yet."""
        self._simulation = simulation
        self._cuts = Cuts(simulation.log)
        self._read = 0
        self._found: dict[int, dict[int, RecentTask]] = {}  # by node and task, the newest last

    def on(self, node: int) -> Sequence[RecentTask]:
        """Return the tasks that changed last on a node, newest first, at most ten; deleted ones are left out.

        Only what the log has got since the last call is read, unless one of the tasks has been deleted.
        """
        self._update()
        found = list(reversed(self._found.get(node, {}).values()))
        states = self._simulation.world.tasks.state
        if any(states[recent.task] == GONE for recent in found):
            found = NodeHistory(self._simulation, node).recent_tasks()
            self._found[node] = {recent.task: recent for recent in reversed(found)}
        return found

    def _update(self) -> None:
        log, world = self._simulation.log, self._simulation.world
        cut = self._cuts.shortest()
        if len(log) < self._read or (cut is not None and cut < self._read):
            self._read, self._found = 0, {}
        for at in matching(log, _is_about_task, self._read, len(log)):
            recent = recent_task(world, at)
            if recent is None:
                continue
            latest = self._found.setdefault(log.row_b[at], {})
            latest.pop(recent.task, None)
            latest[recent.task] = recent
            if len(latest) > RECENT_TASKS:
                del latest[next(iter(latest))]
        self._read = len(log)


def _is_about_task(shape: Shape) -> bool:
    return shape.event in TASK_EVENTS
