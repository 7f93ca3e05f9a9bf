"""The ends of jobs and the cost of the run as they were when the run had been played ahead to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import InstanceState, TaskState
from engine.run.observe import cost_usd, pool_cost_usd
from engine.run.planned import PlannedInputs, subjects_of_job
from engine.views.estimates.forecast import Forecast
from engine.views.log.reader import matching
from engine.views.pages.bulk import values
from engine.views.pages.jobs import row_of_job
from engine.views.pages.phases import last_task_ms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.events.log import Shape
    from engine.run.ahead import Ahead
    from engine.run.planned import PlannedInput
    from engine.state.jobs import Job


_ALL = -1  # as a row: all pools


class JobEnds(NamedTuple):
    """The ends of a job and of its phases, in ms since the start; None for what never ends, or is not there."""

    preparation_ms: int | None = None  # the last preparation
    tasks_ms: int | None = None  # the last task
    deleted_ms: int | None = None  # the last deletion of a task that is not completed
    job_ms: int | None = None
    inputs: Sequence[PlannedInput] = ()  # commands and faults up to the end that concern the job

    def seen_at(self, now_ms: int) -> Forecast:
        """Return the ends that lie ahead at a moment."""
        is_prepared = self.preparation_ms is not None and self.preparation_ms <= now_ms
        are_deleted = self.tasks_ms is not None and (self.deleted_ms or 0) > max(now_ms, self.tasks_ms)
        return Forecast(
            prepared_ms=self.preparation_ms if is_prepared else None,
            preparation_ms=None if is_prepared else self.preparation_ms,
            tasks_ms=_later(self.deleted_ms if are_deleted else self.tasks_ms, now_ms),
            tasks_are_deleted=are_deleted,
            job_ms=_later(self.job_ms, now_ms),
            basis=[one for one in self.inputs if one.when_ms is not None and one.when_ms > now_ms],
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
        self._inputs = PlannedInputs(present)

    def of(self, job_id: str) -> JobEnds | None:
        """Return the ends of a job that is there now; None while they are not known."""
        future, row = self._ahead.future, row_of_job(self._present, job_id)
        if future is None or row is None:
            return None
        if self._generation != self._ahead.generation:
            self._generation = self._ahead.generation
            self._known.clear()
            self._inputs = PlannedInputs(future)
        if row not in self._known:
            self._known[row] = _ends(future, self._inputs, future.world.jobs[row])
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


def _ends(future: Simulation, inputs: PlannedInputs, job: Job) -> JobEnds:
    instances = future.world.instances
    rows = instances.rows_of_job(job.row)
    is_over = (state == InstanceState.COMPLETED for state in values(instances.prep_state, rows))
    prepared = [end for end, over in zip(values(instances.prep_end, rows), is_over, strict=True) if over]
    tasks_ms, deleted_ms = last_task_ms(future.world, job), _last_deletion_ms(future, job)
    last_ms = max((ms for ms in (tasks_ms, deleted_ms, job.end_ms) if ms is not None), default=0)
    concerning = inputs.between(subjects_of_job(future.world, job), 0, last_ms)
    return JobEnds(max(prepared, default=None), tasks_ms, deleted_ms, job.end_ms, concerning)


def _last_deletion_ms(future: Simulation, job: Job) -> int | None:
    """Return when a task of the job was last deleted that was not completed; None if none was."""
    log, tasks = future.log, future.world.tasks
    entries = matching(log, _deletes_open_task) if job.deleted.get(None) else ()
    return max((log.when[at] for at in entries if tasks.block_of(log.row_a[at]).job == job.row), default=None)


def _deletes_open_task(shape: Shape) -> bool:
    if shape.event != "TaskStateChanged":
        return False
    fields = dict(shape.fields)
    return fields["to"] is None and fields["from"] is not TaskState.COMPLETED


def _later(when_ms: int | None, now_ms: int) -> int | None:
    return when_ms if when_ms is not None and when_ms > now_ms else None
