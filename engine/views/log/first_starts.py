"""The start of the first task of each job, from the log: the table forgets a start once the task runs again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import TaskState
from engine.events.log import LogSubject
from engine.views.log.reader import Cuts, matching

if TYPE_CHECKING:
    from engine import Simulation
    from engine.events.log import Shape
    from engine.state.jobs import Job


class FirstStarts:
    """The start of the first task of each job; the log is searched once for each job, also if time goes back."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin with no job."""
        self._simulation = simulation
        self._cuts = Cuts(simulation.log)
        self._found: dict[int, int] = {}  # the entry of the log by the row of the job

    def began_ms(self, job: Job) -> int | None:
        """Return when the first of the job's tasks started, in ms since the start; None before that."""
        log, cut = self._simulation.log, self._cuts.shortest()
        if cut is not None:
            self._found = {row: at for row, at in self._found.items() if at < cut}
        at = self._found.get(job.row)
        if at is None:
            at = self._search(job)
            if at is None:
                return None
            self._found[job.row] = at
        return log.when[at] if at < len(log) else None

    def _search(self, job: Job) -> int | None:
        log, ranges = self._simulation.log, self._simulation.world.tasks.ranges_of(job.blocks)
        starts = matching(log, _starts, log.index_at(job.created_ms - 1))
        return next((at for at in starts if any(log.row_a[at] in rows for rows in ranges)), None)


def _starts(shape: Shape) -> bool:
    return shape.subject is LogSubject.TASK and dict(shape.fields).get("to") is TaskState.RUNNING
