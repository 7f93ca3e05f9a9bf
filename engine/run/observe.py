"""The properties of a subject that ``expect`` and ``when`` compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import InstanceState, NodeState, TaskResult
from engine.base.units import HOUR_MS, SECOND_MS
from engine.rules.decisions.lookups import node_named
from engine.rules.processes.file_access import read_file
from engine.specs.conditions import ConditionSubject, SubjectKind
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world.world import World


_ABSENT: dict[str, object] = {"state": None}


def observe(world: World, subject: ConditionSubject, wanted: Mapping[str, object], now_ms: int) -> dict[str, object]:
    """Return the wanted properties of the subject; ``state`` is None if it does not exist (any more)."""
    match subject.kind:
        case SubjectKind.RUN:
            facts = _run(world, wanted, now_ms)
        case SubjectKind.POOL:
            pool = world.pools.latest(subject.pool_id or "")
            facts = _pool(world, pool, wanted, now_ms) if pool is not None else _ABSENT
        case SubjectKind.JOB:
            job = world.jobs.latest(subject.job_id or "")
            facts = _job(world, job, wanted) if job is not None else _ABSENT
        case SubjectKind.JOB_SCHEDULE:
            facts = _job_schedule(world, subject.job_schedule_id)
        case SubjectKind.TASK:
            facts = _task(world, subject)
        case SubjectKind.NODE:
            facts = _node(world, subject, wanted, now_ms)
    return {name: facts.get(name) for name in wanted}


def pool_cost_usd(world: World, pool: Pool, now_ms: int) -> float:
    """Return the cost of the pool's dedicated and Spot nodes so far in US dollars (ACC-10, VM-2)."""
    return billed_usd(pool, *world.nodes.billed_in_all_ms(pool.nodes, now_ms))


def billed_usd(pool: Pool, dedicated_ms: int, spot_ms: int) -> float:
    """Return the price of so many milliseconds of the pool's dedicated and Spot nodes, in US dollars."""
    price = pool.size.price_usd(pool.os, dedicated=True) or 0.0
    spot_price = pool.size.price_usd(pool.os, dedicated=False) or 0.0
    return dedicated_ms / HOUR_MS * price + spot_ms / HOUR_MS * spot_price


def cost_usd(world: World, now_ms: int) -> float:
    """Return the cost of all nodes so far in US dollars."""
    return sum(pool_cost_usd(world, pool, now_ms) for pool in world.pools.rows)


def makespan_ms(world: World) -> int:
    """Return the end of the last completed task, deleted or not, in ms since the start, or 0 without one."""
    tasks = world.tasks
    planned = set(tasks.rows_in(RUNNING))  # their end is still to come
    ends = (end for task, end in enumerate(tasks.ended) if task not in planned) if planned else tasks.ended
    return max(0, max(ends, default=0))


def _run(world: World, wanted: Mapping[str, object], now_ms: int) -> dict[str, object]:
    facts: dict[str, object] = {}
    if "events" in wanted:
        asked = wanted["events"]
        tally = world.log.tally()
        facts["events"] = {name: tally.get(name, 0) for name in (asked if isinstance(asked, dict) else tally)}
    if "makespan" in wanted:
        facts["makespan"] = makespan_ms(world) / SECOND_MS
    if "cost" in wanted:
        facts["cost"] = round(cost_usd(world, now_ms), 6)
    return facts


def node_counts(world: World, pool: Pool) -> dict[str, object]:
    """Return the number of the pool's nodes by state and kind (NODE-16)."""
    counts = dict.fromkeys(("total", "dedicated", "lowPriority", *(state.wire for state in NodeState)), 0)
    for node in pool.nodes:
        state = world.nodes.state_of(node)
        if state is not None:
            counts["total"] += 1
            counts["dedicated" if world.nodes[node].dedicated else "lowPriority"] += 1
            counts[state.wire] += 1
    return dict(counts)


def _pool(world: World, pool: Pool, wanted: Mapping[str, object], now_ms: int) -> dict[str, object]:
    facts: dict[str, object] = {
        "state": pool.state.wire if pool.state is not None else None,
        "allocationState": pool.allocation.wire if pool.allocation is not None and pool.state is not None else None,
        "resizeErrors": [error.code for error in pool.resize_errors],
    }
    if "nodes" in wanted:
        facts["nodes"] = node_counts(world, pool)
    if "cost" in wanted:
        facts["cost"] = round(pool_cost_usd(world, pool, now_ms), 6)
    return facts


def _job(world: World, job: Job, wanted: Mapping[str, object]) -> dict[str, object]:
    facts: dict[str, object] = {
        "state": job.state.wire if job.state is not None else None,
        "terminateReason": job.terminate_reason,
    }
    instances = world.instances
    if "tasks" in wanted:
        facts["tasks"] = _task_counts(job)
    if "preparationTasks" in wanted:
        rows = instances.rows_of_job(job.row)
        facts["preparationTasks"] = _instance_counts([view for row in rows if (view := instances.prep(row))])
    if "releaseTasks" in wanted:
        rows = instances.rows_of_job(job.row)
        facts["releaseTasks"] = _instance_counts([view for row in rows if (view := instances.release(row))])
    return facts


def _task_counts(job: Job) -> dict[str, int]:
    # Tasks are deleted with their job (JOB-16); a deleted job keeps the results of its tasks.
    deleted = job.deleted if job.state is None else {}
    succeeded = job.counts[COMPLETED] - job.failed + deleted.get(TaskResult.SUCCESS, 0)
    failed = job.failed + deleted.get(TaskResult.FAILURE, 0)
    return {
        "active": job.counts[ACTIVE] + deleted.get(None, 0),
        "preparing": job.counts[PREPARING],
        "running": job.counts[RUNNING],
        "completed": succeeded + failed,
        "succeeded": succeeded,
        "failed": failed,
        "total": job.total + sum(deleted.values()),
    }


def _job_schedule(world: World, schedule_id: str | None) -> dict[str, object]:
    """Return the job schedule with this id, or the last one that had it."""
    schedule = world.job_schedules.latest(schedule_id or "")
    if schedule is None:
        return _ABSENT
    return {"state": schedule.state.wire if schedule.state is not None else None, "jobs": schedule.jobs_made}


def _instance_counts(views: list[InstanceView]) -> dict[str, int]:
    results = [view.result for view in views]
    running = sum(view.state is InstanceState.RUNNING for view in views)
    return {
        "count": len(views),
        "running": running,
        "completed": len(views) - running,
        "succeeded": results.count(TaskResult.SUCCESS),
        "failed": results.count(TaskResult.FAILURE),
    }


def _task(world: World, subject: ConditionSubject) -> dict[str, object]:
    job = world.jobs.find(subject.job_id or "")
    task = world.tasks.find(job.row, subject.task_id or "") if job is not None else None
    if task is None:
        return _ABSENT
    tasks = world.tasks
    extra = tasks.extra(task)
    result = tasks.result(task)
    exit_code = extra.exit_code
    if result is TaskResult.SUCCESS:
        exit_code = 0
    state = tasks.state_of(task)
    has_run = tasks.node[task] >= 0
    node: object = None
    if has_run:
        record = world.nodes[tasks.node[task]]
        node = record.position
    return {
        "state": state.wire if state is not None else None,
        "result": result.value if result is not None else None,
        "exitCode": exit_code,
        "retryCount": extra.retry_count,
        "node": node,
    }


def _node(world: World, subject: ConditionSubject, wanted: Mapping[str, object], now_ms: int) -> dict[str, object]:
    pool = world.pools.latest(subject.pool_id or "")
    name = subject.node_id if subject.node_id is not None else subject.node_index
    if pool is None or name is None:
        return _ABSENT
    try:
        node = node_named(world, pool, name)
    except BatchError:
        return _ABSENT
    state = world.nodes.state_of(node)
    facts: dict[str, object] = {"state": state.wire if state is not None else None}
    asked = wanted.get("file")
    if isinstance(asked, dict):
        facts["file"] = {path: read_file(world, node, path, now_ms) for path in asked}
    return facts
