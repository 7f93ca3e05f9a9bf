"""The outcome of a run: totals, report, state as JSON, and the scenario file with the commands given by hand.

Totals are tasks, preparations and releases, node hours and slot utilization. The report is the summary that the command
line prints. The state as JSON is made of REST bodies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import JobState, TaskResult
from engine.base.values import DAY_MS, HOUR_MS, LONGEST_RUN_MS, SECOND_MS, USD, called, values
from engine.rules.decisions.verdicts import is_final_failure
from engine.run.conditions import cost_of_nodes, makespan_ms
from engine.scenario.record import timeline_line
from engine.specs.catalogue import PRICES_AS_OF, PRICES_REGION
from engine.state.tables import NEVER_MS
from engine.state.tasks import ACTIVE, COMPLETED
from engine.views.log.histories import recent_tasks
from engine.views.log.latest import TaskTransitions, ready_ms
from engine.views.log.tally import hook_times
from engine.views.resources.account import JobScheduleRow, TransferredBytes, bytes_of_run, row_of_schedule
from engine.views.resources.instances import pages_of, phases_of, unfinished
from engine.views.rest.account import (
    account_body,
    job_body,
    job_stats,
    pool_body,
    pool_stats,
    schedule_body,
    schedule_stats,
    utc,
)
from engine.views.rest.nodes import node_body
from engine.views.rest.tasks import encode, prep_release_status, task_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from engine.run.conditions import Outcome, RefusedCommand
    from engine.run.simulation import Simulation
    from engine.specs.command import Command
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskBlock
    from engine.world import World


@dataclass(frozen=True, slots=True)
class TaskTotals:
    """The tasks of a run or job, with deleted ones and those of deleted jobs."""

    total: int  # ever added
    succeeded: int
    failed: int
    active: int  # neither completed nor deleted: queued, preparing or running

    @property
    def completed(self) -> int:
        """The number of completed tasks."""
        return self.succeeded + self.failed


@dataclass(frozen=True, slots=True)
class InstanceTotals:
    """Preparations or releases of a run: one for each job and node on which it ran."""

    count: int
    failed: int  # as the service has it: also those that were stopped with their node or job
    stopped: int  # of them; a preparation that was stopped is none of its job's failures (PREP-9)

    def body(self) -> dict[str, int]:
        """Return the totals as the document of a run has them."""
        return {"count": self.count, "failed": self.failed}


def job_totals(job: Job) -> TaskTotals:
    """Return the totals of a job's tasks; none of a deleted job is active."""
    return TaskTotals(
        job.total + sum(job.deleted.values()),
        job.counts[COMPLETED] - job.failed + job.deleted.get(TaskResult.SUCCESS, 0),
        job.failed + job.deleted.get(TaskResult.FAILURE, 0),
        job.counts[ACTIVE] + job.busy,
    )


def task_totals(sim: Simulation) -> TaskTotals:
    """Return the totals of all tasks so far; loops over all jobs, which is cheap enough for every frame."""
    each = list(map(job_totals, sim.world.jobs.rows))
    succeeded, failed = sum(job.succeeded for job in each), sum(job.failed for job in each)
    return TaskTotals(sim.world.tasks.length, succeeded, failed, sum(job.active for job in each))


def instance_totals(views: Iterable[InstanceView | None]) -> InstanceTotals:
    """Return the totals of preparations or releases; None stands for a node without one."""
    found = [view for view in views if view is not None]
    failed = [view for view in found if view.result is TaskResult.FAILURE]
    return InstanceTotals(len(found), len(failed), len(failed) - sum(map(is_final_failure, failed)))


def task_waits_ms(world: World) -> list[int]:
    """Return the times from creation to the latest start of the tasks that have started, without deleted ones."""
    found = list[int]()
    for block in _present_blocks(world):
        begun = world.tasks.begun(block.rows)
        found += [begun_ms - block.created_ms for begun_ms in begun if begun_ms != NEVER_MS]
    return found


def task_runs_ms(world: World) -> list[int]:
    """Return the times from the latest start to the end of the tasks that have run and ended, without deleted ones."""
    tasks, found = world.tasks, list[int]()
    for block in _present_blocks(world):
        columns = values(tasks.state, block.rows), tasks.begun(block.rows), values(tasks.ended, block.rows)
        each = zip(*columns, strict=True)
        found += [end_ms - begun_ms for state, begun_ms, end_ms in each if state == COMPLETED and begun_ms != NEVER_MS]
    return found


def _present_blocks(world: World) -> Iterator[TaskBlock]:
    """Yield the blocks of tasks of jobs that are not deleted."""
    return (world.tasks.blocks[number] for job in world.jobs.present() for number in job.blocks)


def node_hours(pools: Iterable[Pool], now_ms: int) -> float:
    """Return the hours for which VMs of these pools have been billed up to a moment (ACC-10)."""
    return sum(sum(pool.billed_ms_at(now_ms)) for pool in pools) / HOUR_MS


def slot_utilization(world: World, now_ms: int) -> float:
    """Return the share, 0 to 1, of the slot time of idle and running nodes in which a task ran; 0 if there was none."""
    offered_ms = sum(ms * world.pool_of(node).slots for node, ms in ready_ms(world, now_ms).items())
    busy_ms = sum(pool.busy_slot_ms_at(now_ms) for pool in world.pools.rows)
    return min(1.0, busy_ms / offered_ms) if offered_ms else 0.0


UNTIL_REACHED = "until is reached"
_NOTHING_MORE = "nothing more can happen"
_AT_MOST = f"a run lasts {LONGEST_RUN_MS // DAY_MS} days at most"
# The state of a deleted resource.
GONE = "deleted"


class JobResult(NamedTuple):
    """A job of the run."""

    job_id: str
    state: str  # as the service spells it, or ``deleted``
    reason: str | None  # terminate reason, or the code of its scheduling error (JOB-20)
    end_ms: int | None  # when it was completed, or deleted before; None while it is there
    tasks: TaskTotals
    preparations: InstanceTotals
    releases: InstanceTotals
    transferred: TransferredBytes


class PoolResult(NamedTuple):
    """A pool of the run; ``nodes`` are those in the pool now."""

    pool_id: str
    vm_size: str
    state: str  # with the allocation state, as the service spells them, or ``deleted``
    nodes: int
    node_hours: float
    cost: float
    resize_errors: tuple[str, ...]  # codes


class Summary(NamedTuple):
    """The outcome of a run. Times are ms since ``start``."""

    scenario: str
    seed: int
    start: datetime
    end_ms: int
    why_over: str  # why the run did not go on, if it is over
    events: int
    cost: float  # in ``currency``
    currency: str
    tasks: TaskTotals
    transferred: TransferredBytes
    jobs: tuple[JobResult, ...]
    job_schedules: tuple[JobScheduleRow, ...]
    pools: tuple[PoolResult, ...]
    refused: tuple[RefusedCommand, ...]
    expectations: tuple[Outcome, ...]

    @property
    def has_open_jobs(self) -> bool:
        """True if a job has not ended."""
        return any(row.state not in (JobState.COMPLETED.wire, GONE) for row in self.jobs)

    @property
    def as_expected(self) -> bool:
        """True if every expectation is met and every refusal was announced."""
        return all(row.met for row in self.expectations) and all(row.announced for row in self.refused)


def why_over(sim: Simulation) -> str:
    """Return why a run that is over has ended at this moment and not later."""
    next_ms = sim.world.calendar.peek_ms()
    if sim.scenario.until_ms is not None:
        return UNTIL_REACHED if next_ms is not None else f"{UNTIL_REACHED}, and {_NOTHING_MORE}"
    if next_ms is None or next_ms <= sim.end_ms:
        is_endless = next_ms is not None and sim.finished
        return "only chance failures or missed occurrences can follow" if is_endless else _NOTHING_MORE
    return _AT_MOST


def end_of_run(sim: Simulation) -> str:
    """Return why a run that is over has ended, what that cuts off, and what kept it alive up to its longest time."""
    why, present = why_over(sim), sim.world.jobs.present()
    if why not in (UNTIL_REACHED, _AT_MOST):
        return why
    cut = unfinished(phases_of(sim, job, *pages_of(sim, job.id)) for job in present)
    cuts_off = f", which cuts off {cut}" if cut else ""
    pool = next((pool for pool in sim.world.pools.present() if pool.auto_scale and why == _AT_MOST), None)
    if pool is None:
        return f"{why}{cuts_off}"
    return f"{why}{cuts_off}; the formula of {called('pool', pool.id)} goes on: `until` ends the run earlier"


def summary(sim: Simulation) -> Summary:
    """Return the outcome of the run up to the moment that is shown; expectations once it is finished."""
    world, now_ms = sim.world, sim.now_ms
    return Summary(
        scenario=sim.scenario.name,
        seed=sim.seed,
        start=sim.scenario.start,
        end_ms=now_ms,
        why_over=end_of_run(sim),
        events=sim.log.count,
        cost=cost_of_nodes(world.pools.rows, now_ms),
        currency=sim.scenario.currency,
        tasks=task_totals(sim),
        transferred=bytes_of_run(sim),
        jobs=tuple(_job_result(world, job) for job in world.jobs.rows),
        job_schedules=tuple(row_of_schedule(sim, schedule) for schedule in world.job_schedules.rows),
        pools=tuple(_pool_result(world, pool, now_ms) for pool in world.pools.rows),
        refused=tuple(sim.refusals),
        expectations=tuple(sim.expectations),
    )


def _job_result(world: World, job: Job) -> JobResult:
    instances, rows = world.instances, world.instances.rows_of_job(job.row)
    return JobResult(
        job_id=job.id,
        state=GONE if job.state is None else job.state.wire,
        reason=job.terminate_reason if job.scheduling_error is None else job.scheduling_error.code,
        end_ms=job.since_ms if job.state is None and job.end_ms is None else job.end_ms,
        tasks=job_totals(job),
        preparations=instance_totals(map(instances.prep, rows)),
        releases=instance_totals(map(instances.release, rows)),
        transferred=TransferredBytes(job.downloaded_bytes, job.uploaded_bytes),
    )


def _pool_result(world: World, pool: Pool, now_ms: int) -> PoolResult:
    states = [state.wire for state in (pool.state, pool.allocation) if state is not None]
    return PoolResult(
        pool_id=pool.id,
        vm_size=pool.spec.vm_size,
        state=GONE if pool.state is None else ", ".join(states),
        nodes=sum(world.nodes.state_of(node) is not None for node in pool.nodes),
        node_hours=node_hours([pool], now_ms),
        cost=cost_of_nodes([pool], now_ms),
        resize_errors=tuple(error.code for error in pool.resize_errors),
    )


# Enough digits for any currency or share.
_DIGITS = 6
_TOGETHER = 100  # lines of a piece, which takes less time
_LEVELS = 3  # of a section that are indented: its list, its objects, and the lists in them


def document(sim: Simulation, attention: Sequence[object] = ()) -> dict[str, object]:
    """Return the whole state at the moment that is shown, without what was deleted, and what needs ``attention``."""
    found: dict[str, object] = json.loads("".join(json_text(sim, attention)))
    return found


def json_text(sim: Simulation, attention: Sequence[object] = ()) -> Iterator[str]:
    """Yield the document as JSON text in pieces of a few lines, of which each task, node and preparation has one.

    A million tasks need no more memory. Python's encoder writes a line in C, and indented text twenty times as slowly.
    """
    return _pieces(_members(sim, attention), "", 1 + _LEVELS)


class _Lines(NamedTuple):
    """The members of a list as JSON, many at a time."""

    lists: Iterator[list[str]]


def _pieces(value: object, margin: str, levels: int) -> Iterator[str]:
    """Yield the JSON text of a value that follows a name in this margin, with so many ``levels`` indented."""
    if not isinstance(value, dict | list | Iterator | _Lines):
        yield encode(value)
        return
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    pairs = ((f"{encode(name)}: ", each) for name, each in value.items()) if isinstance(value, dict) else None
    members = pairs or (("", each) for each in (() if isinstance(value, _Lines) else value))
    before, inner = opening, f"{margin}  "
    texts = (f"{head}{encode(each)}" for head, each in members)
    together = iter(lambda: list(islice(texts, _TOGETHER)), []) if levels == 1 else ()
    for lines in filter(None, value.lists if isinstance(value, _Lines) else together):
        yield f"{before}\n{inner}" + f",\n{inner}".join(lines)
        before = ","
    for head, member in members:
        yield f"{before}\n{inner}{head}"
        yield from _pieces(member, inner, levels - 1)
        before = ","
    yield f"\n{margin}{closing}" if before == "," else opening + closing


def _members(sim: Simulation, attention: Sequence[object]) -> dict[str, object]:
    """Return the members of the document. Lists that may be long are iterators, so that their items come one by one."""
    world = sim.world
    transitions = TaskTransitions(world).now()
    return {
        "scenario": sim.scenario.name,
        "seed": sim.seed,
        "startTime": utc(world, 0),
        "endTime": utc(world, sim.now_ms),
        "account": account_body(world),
        "pools": (_pool_member(sim, pool) for pool in world.pools.present()),
        "jobs": (
            _job_member(sim, job, transitions) | {"tasks": _Lines(task_lines(world, job, transitions))}
            for job in world.jobs.present()
        ),
        "jobSchedules": [
            schedule_body(world, schedule, sim.now_ms)
            | {"stats": schedule_stats(world, schedule, transitions, sim.now_ms)}
            for schedule in world.job_schedules.present()
        ],
        "expectations": [
            {"expect": outcome.written, "met": outcome.met, "seen": outcome.seen} for outcome in sim.expectations
        ],
        "attention": list(attention),
        "summary": run_totals(sim),
    }


def _pool_member(sim: Simulation, pool: Pool) -> dict[str, object]:
    world = sim.world
    present = [node for node in pool.nodes if world.nodes.state_of(node) is not None]
    former = [node for node in pool.nodes if world.nodes.state_of(node) is None]
    recent = recent_tasks(world, pool.nodes)
    return pool_body(world, pool) | {
        "stats": pool_stats(world, pool, sim.now_ms),
        "nodes": (node_body(world, node, recent[node]) for node in present),
        "formerNodes": (node_body(world, node, recent[node]) for node in former),
    }


def _job_member(sim: Simulation, job: Job, transitions: TaskTransitions) -> dict[str, object]:
    world = sim.world
    body = job_body(world, job) | {"stats": job_stats(world, job, transitions, sim.now_ms)}
    if job.has_prep:
        body["jobPreparationAndReleaseTaskStatus"] = prep_release_status(world, job)
    return body


def run_totals(sim: Simulation) -> dict[str, object]:
    """Return the totals of the run up to the moment that is shown, with deleted jobs and pools.

    ``cost`` says on what the cost rests (VM-2, VM-7). ``costUsd`` is None if prices are in another currency. ``events``
    counts the events in the log.
    """
    world, now_ms, instances = sim.world, sim.now_ms, sim.world.instances
    prices, cost = sim.scenario.prices, round(cost_of_nodes(world.pools.rows, now_ms), _DIGITS)
    transferred, hooks = bytes_of_run(sim), hook_times(sim.log)
    return {
        "makespanSeconds": makespan_ms(world) / SECOND_MS,
        "tasks": asdict(task_totals(sim)),
        "nodeHours": round(node_hours(world.pools.rows, now_ms), _DIGITS),
        "costUsd": cost if sim.scenario.currency == USD else None,
        "slotUtilization": round(slot_utilization(world, now_ms), _DIGITS),
        "preparationTasks": instance_totals(map(instances.prep, range(instances.length))).body(),
        "releaseTasks": instance_totals(map(instances.release, range(instances.length))).body(),
        "preparationSeconds": hooks.preparation / SECOND_MS,
        "releaseSeconds": hooks.release / SECOND_MS,
        "events": sim.log.count,
        "downloadedBytes": transferred.downloaded,
        "uploadedBytes": transferred.uploaded,
        "cost": {
            "amount": cost,
            "currency": sim.scenario.currency,
            "region": PRICES_REGION if prices is None else prices.region,
            "source": "batchdeck sizes" if prices is None else prices.file.name,
            "asOf": PRICES_AS_OF if prices is None else prices.as_of,
        },
        "endSeconds": now_ms / SECOND_MS,
    }


# -- the scenario of a run ---------------------------------------------------------------------------------------------


def script_line(at_ms: int, command: Command) -> str:
    """Return the line of a scenario's timeline that gives a command at a moment, in ms since the start."""
    return timeline_line(at_ms, command.NAME, command.masked())


def given_by_hand(sim: Simulation) -> list[tuple[int, Command]]:
    """List the commands given by hand, each with the moment at which it takes effect, in ms since the start."""
    return [(one.when_ms, one.command) for one in sim.journal.by_hand()]


def refused_codes(sim: Simulation) -> dict[int, str]:
    """Return the codes with which commands were refused, by the identity of the command."""
    return {id(refusal.command): refusal.error.code for refusal in sim.refusals}
