"""The ends of jobs and the cost of the run as they were when the run had been played ahead to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import InstanceState
from engine.run.observe import cost_usd, pool_cost_usd
from engine.views.estimates.forecast import Forecast
from engine.views.pages.bulk import values
from engine.views.pages.jobs import row_of_job
from engine.views.pages.phases import last_task_ms

if TYPE_CHECKING:
    from engine import Simulation
    from engine.run.ahead import Ahead
    from engine.state.jobs import Job


_ALL = -1  # as a row: all pools


class JobEnds(NamedTuple):
    """The ends of a job and of its phases, in ms since the start; None for what never ends, or is not there."""

    preparation_ms: int | None = None  # the last preparation
    tasks_ms: int | None = None  # the last task
    job_ms: int | None = None

    def seen_at(self, now_ms: int) -> Forecast:
        """Return the ends that lie ahead at a moment."""
        is_prepared = self.preparation_ms is not None and self.preparation_ms <= now_ms
        return Forecast(
            prepared_ms=self.preparation_ms if is_prepared else None,
            preparation_ms=None if is_prepared else self.preparation_ms,
            tasks_ms=_later(self.tasks_ms, now_ms),
            job_ms=_later(self.job_ms, now_ms),
            stays_active=self.job_ms is None,
            is_simulated=True,
        )


class EndsAhead:
    """The ends of jobs, read from the future of a run once for each job."""

    def __init__(self, present: Simulation, ahead: Ahead) -> None:
        """Read from what has been played ahead of a simulation: both number their jobs alike."""
        self._present = present
        self._ahead = ahead
        self._generation = -1
        self._known: dict[int, JobEnds] = {}

    def of(self, job_id: str) -> JobEnds | None:
        """Return the ends of a job that is there now; None while they are not known."""
        future, row = self._ahead.future, row_of_job(self._present, job_id)
        if future is None or row is None:
            return None
        if self._generation != self._ahead.generation:
            self._generation = self._ahead.generation
            self._known.clear()
        if row not in self._known:
            self._known[row] = _ends(future, future.world.jobs[row])
        return self._known[row]


class CostsAhead:
    """The cost of the run and of its pools at the end, in US dollars, read from the future once for each pool."""

    def __init__(self, present: Simulation, ahead: Ahead) -> None:
        """Read from what has been played ahead of a simulation: both number their pools alike."""
        self._present = present
        self._ahead = ahead
        self._generation = -1
        self._known: dict[int, float] = {}

    def of_run(self) -> float | None:
        """Return the cost of all pools; None while it is not known."""
        return self._of(_ALL)

    def of_pool(self, pool_id: str) -> float | None:
        """Return the cost of a pool that is there now, or was; None while it is not known."""
        pool = self._present.world.pools.latest(pool_id)
        return None if pool is None else self._of(pool.row)

    def _of(self, row: int) -> float | None:
        future = self._ahead.future
        if future is None:
            return None
        if self._generation != self._ahead.generation:
            self._generation = self._ahead.generation
            self._known.clear()
        if row not in self._known:
            world, end_ms = future.world, future.now_ms
            self._known[row] = (
                cost_usd(world, end_ms) if row == _ALL else pool_cost_usd(world, world.pools[row], end_ms)
            )
        return self._known[row]


def _ends(future: Simulation, job: Job) -> JobEnds:
    instances = future.world.instances
    rows = instances.rows_of_job(job.row)
    is_over = (state == InstanceState.COMPLETED for state in values(instances.prep_state, rows))
    prepared = [end for end, over in zip(values(instances.prep_end, rows), is_over, strict=True) if over]
    return JobEnds(max(prepared, default=None), last_task_ms(future.world, job), job.end_ms)


def _later(when_ms: int | None, now_ms: int) -> int | None:
    return when_ms if when_ms is not None and when_ms > now_ms else None
