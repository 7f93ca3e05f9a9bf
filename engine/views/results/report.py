"""The summary of a run, as the command line prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.rules.job_schedules import missed, next_run_ms
from engine.run.observe import cost_usd, pool_cost_usd
from engine.state.job_schedules import NO_JOB
from engine.views.pages.storage import TransferredBytes, bytes_of_run
from engine.views.results import totals

if TYPE_CHECKING:
    from datetime import datetime

    from engine.run.expectations import Outcome
    from engine.run.simulation import Simulation
    from engine.specs.command import Command
    from engine.state.job_schedules import JobSchedule
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world.world import World

# The state of a deleted resource.
GONE = "deleted"


class JobResult(NamedTuple):
    """A job of the run."""

    job_id: str
    state: str  # as the service spells it, or ``deleted``
    reason: str | None  # terminate reason, or the code of its scheduling error (JOB-20)
    tasks: totals.TaskTotals
    preparations: totals.InstanceTotals
    releases: totals.InstanceTotals
    transferred: TransferredBytes


class JobScheduleResult(NamedTuple):
    """A job schedule of the run."""

    schedule_id: str
    state: str  # as the service spells it, or ``deleted``
    jobs: int  # created by it
    missed: int  # occurrences that created none (JS-3)
    recent_job: str  # the id of the last job; empty without one
    next_run_ms: int | None


class PoolResult(NamedTuple):
    """A pool of the run; ``nodes`` are those in the pool now."""

    pool_id: str
    vm_size: str
    state: str  # with the allocation state, as the service spells them, or ``deleted``
    nodes: int
    node_hours: float
    cost_usd: float
    resize_errors: tuple[str, ...]  # codes


class RefusedRow(NamedTuple):
    """A command that was refused, or should have been: ``code`` is then ``accepted`` or ``never given``."""

    at_ms: int
    command: str
    subject: str  # the ids that it names
    code: str
    announced: bool  # the scenario expected it


class Summary(NamedTuple):
    """The outcome of a run. Times are ms since ``start``."""

    scenario: str
    seed: int
    start: datetime
    end_ms: int
    events: int
    cost_usd: float
    tasks: totals.TaskTotals
    transferred: TransferredBytes
    jobs: tuple[JobResult, ...]
    job_schedules: tuple[JobScheduleResult, ...]
    pools: tuple[PoolResult, ...]
    refused: tuple[RefusedRow, ...]
    expectations: tuple[Outcome, ...]

    @property
    def as_expected(self) -> bool:
        """True if every expectation is met and every refusal was announced."""
        return all(row.met for row in self.expectations) and all(row.announced for row in self.refused)


def summary(sim: Simulation) -> Summary:
    """Return the outcome of the run up to the moment that is shown; expectations once it is finished."""
    world, now_ms = sim.world, sim.now_ms
    outcomes = zip(sim.refusals, sim.command_outcomes, strict=True)
    return Summary(
        scenario=sim.scenario.name,
        seed=sim.seed,
        start=sim.scenario.start,
        end_ms=now_ms,
        events=sim.log.count,
        cost_usd=cost_usd(world, now_ms),
        tasks=totals.task_totals(sim),
        transferred=bytes_of_run(sim),
        jobs=tuple(_job(world, job) for job in world.jobs.rows),
        job_schedules=tuple(_job_schedule(world, schedule, now_ms) for schedule in world.job_schedules.rows),
        pools=tuple(_pool(world, pool, now_ms) for pool in world.pools.rows),
        refused=tuple(
            RefusedRow(refusal.when_ms, refusal.command.NAME, _subject(refusal.command), str(seen), met)
            for refusal, (_, met, seen) in outcomes
        ),
        expectations=tuple(sim.expectations),
    )


def _job(world: World, job: Job) -> JobResult:
    rows = world.instances.rows_of_job(job.row)
    return JobResult(
        job_id=job.id,
        state=GONE if job.state is None else job.state.wire,
        reason=job.terminate_reason if job.scheduling_error is None else job.scheduling_error.code,
        tasks=totals.job_totals(job),
        preparations=totals.preparation_totals(world, rows),
        releases=totals.release_totals(world, rows),
        transferred=TransferredBytes(job.downloaded_bytes, job.uploaded_bytes),
    )


def _job_schedule(world: World, schedule: JobSchedule, now_ms: int) -> JobScheduleResult:
    return JobScheduleResult(
        schedule_id=schedule.id,
        state=GONE if schedule.state is None else schedule.state.wire,
        jobs=schedule.jobs_made,
        missed=missed(world, schedule, now_ms),
        recent_job=world.jobs[schedule.recent_job].id if schedule.recent_job != NO_JOB else "",
        next_run_ms=next_run_ms(world, schedule, now_ms),
    )


def _pool(world: World, pool: Pool, now_ms: int) -> PoolResult:
    states = [state.wire for state in (pool.state, pool.allocation) if state is not None]
    return PoolResult(
        pool_id=pool.id,
        vm_size=pool.spec.vm_size,
        state=GONE if pool.state is None else ", ".join(states),
        nodes=sum(world.nodes.state_of(node) is not None for node in pool.nodes),
        node_hours=totals.node_hours(world, now_ms, [pool]),
        cost_usd=pool_cost_usd(world, pool, now_ms),
        resize_errors=tuple(error.code for error in pool.resize_errors),
    )


def _subject(command: Command) -> str:
    """Return the ids that a command names, from the outermost: ``shared/1``, ``risk/deal-7``."""
    body = command.wire()
    names = ("poolId", "nodeId", "node", "jobScheduleId", "jobId", "taskId", "id", "name")
    return "/".join(str(body[name]) for name in names if name in body)
