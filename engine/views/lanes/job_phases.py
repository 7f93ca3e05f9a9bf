"""The phases of a job over time: preparation on all nodes, tasks, release on all nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import JobState
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.lanes.lanes import Extent
from engine.views.pages.hook_status import Hook

if TYPE_CHECKING:
    from engine import Simulation
    from engine.state.jobs import Job
    from engine.views.lanes.lanes import Lanes
    from engine.views.log.first_starts import FirstStarts

_ENDS = (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING, None)


class JobPhases(NamedTuple):
    """The phases of a job that have begun."""

    preparation: Extent | None
    tasks: Extent | None
    release: Extent | None


class PhasesOverTime:
    """The phases of all jobs. What no longer changes is read once."""

    def __init__(self, simulation: Simulation, lanes: Lanes, starts: FirstStarts) -> None:
        """Read the tables of a simulation, and the lanes of its nodes; ``starts`` is shared with estimates."""
        self._simulation = simulation
        self._lanes = lanes
        self._jumps = -1
        self._starts = starts
        self._ended: dict[int, tuple[int, int]] = {}  # job -> its completed tasks, and the last end of one

    def of(self, job_id: str) -> JobPhases:
        """Return the phases of a job; none while there is no job of this id."""
        job = self._simulation.world.jobs.find(job_id)
        if job is None:
            return JobPhases(None, None, None)
        if self._jumps != self._simulation.jumps:
            self._jumps = self._simulation.jumps
            self._ended.clear()
        extent = self._lanes.hook_extent
        return JobPhases(extent(Hook.PREPARATION, job.row), self._tasks(job, job_id), extent(Hook.RELEASE, job.row))

    def _tasks(self, job: Job, job_id: str) -> Extent | None:
        if not job.counts[RUNNING] and not job.counts[COMPLETED]:
            return None
        begin_ms = self._starts.began_ms(job)
        if begin_ms is None:
            return None
        if any(job.counts[state] for state in (ACTIVE, PREPARING, RUNNING)):
            ends = (each.begin_ms for each in self._lanes.job(job_id) if each.state in _ENDS)
            return Extent(begin_ms, next(ends, None))
        done = job.counts[COMPLETED]
        if self._ended.get(job.row, (-1, 0))[0] != done:
            self._ended[job.row] = done, max(self._ends(job))
        return Extent(begin_ms, self._ended[job.row][1])

    def _ends(self, job: Job) -> list[int]:
        tasks = self._simulation.world.tasks
        ranges = tasks.ranges_of(job.blocks)
        states = (tasks.state[rows.start : rows.stop] for rows in ranges)
        ends = (tasks.ended[rows.start : rows.stop] for rows in ranges)
        return [
            ms
            for some, others in zip(states, ends, strict=True)
            for state, ms in zip(some, others, strict=True)
            if state == COMPLETED
        ]
