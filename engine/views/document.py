"""The state of a run as JSON: one object with the service's own bodies in it (contract, section 3)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from engine.observe import cost_usd, makespan_ms
from engine.units import SECOND_MS
from engine.views import counts
from engine.views.addresses import utc
from engine.views.history import TaskHistory, recent_tasks
from engine.views.prep_release import prep_release_status
from engine.views.rest_jobs import job_body, job_stats
from engine.views.rest_nodes import node_body
from engine.views.rest_pools import pool_body
from engine.views.rest_tasks import task_bodies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from engine.simulation import Simulation
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world import World

# Enough for any currency and share, and the same digits everywhere.
_DIGITS = 6


def document(sim: Simulation) -> dict[str, object]:
    """The whole state at the moment that is looked at. Pools and jobs that were deleted are not in it."""
    history = TaskHistory(sim.world)
    return _document(sim, history, lambda job: list(task_bodies(sim.world, job, history)))


def json_text(sim: Simulation) -> Iterator[str]:
    """The document as JSON text in pieces, each task on a line of its own: for a million tasks no more memory."""
    history = TaskHistory(sim.world)
    jobs: list[Job] = []

    def remember(job: Job) -> str:
        jobs.append(job)
        return _HERE

    text = json.dumps(_document(sim, history, remember), indent=2, ensure_ascii=False)
    first, *others = text.split(json.dumps(_HERE))
    yield first
    for job, following in zip(jobs, others, strict=True):
        yield from _lines(sim.world, job, history)
        yield following


# Stands where tasks come: no id can contain it (GEN-1), and no text in a scenario is likely to.
_HERE = "\0tasks\0"


def _lines(world: World, job: Job, history: TaskHistory) -> Iterator[str]:
    between = "[\n"
    for body in task_bodies(world, job, history):
        yield f"{between}        {json.dumps(body, ensure_ascii=False)}"
        between = ",\n"
    yield "[]" if between == "[\n" else "\n      ]"


def _document(sim: Simulation, history: TaskHistory, tasks: Callable[[Job], object]) -> dict[str, object]:
    world = sim.world
    return {
        "scenario": sim.scenario.name,
        "seed": sim.seed,
        "startTime": utc(world, 0),
        "endTime": utc(world, sim.now_ms),
        "account": world.account.wire(),
        "pools": [_pool(world, pool) for pool in world.pools.present()],
        "jobs": [_job(sim, job, history, tasks) for job in world.jobs.present()],
        "jobSchedules": [],
        "expectations": [
            {"expect": outcome.written, "met": outcome.met, "seen": outcome.seen} for outcome in sim.expectations
        ],
        "summary": summary(sim),
    }


def _pool(world: World, pool: Pool) -> dict[str, object]:
    present = [node for node in pool.nodes if world.nodes.state_of(node) is not None]
    former = [node for node in pool.nodes if world.nodes.state_of(node) is None]
    recent = recent_tasks(world, pool.nodes)
    return pool_body(world, pool) | {
        "nodes": [node_body(world, node, recent[node]) for node in present],
        "formerNodes": [node_body(world, node, recent[node]) for node in former],
    }


def _job(sim: Simulation, job: Job, history: TaskHistory, tasks: Callable[[Job], object]) -> dict[str, object]:
    world = sim.world
    body = job_body(world, job) | {"stats": job_stats(world, job, history, sim.now_ms), "tasks": tasks(job)}
    if job.has_prep:
        body["jobPreparationAndReleaseTaskStatus"] = prep_release_status(world, job)
    return body


def summary(sim: Simulation) -> dict[str, object]:
    """The run in numbers, deleted jobs and pools included; ``events`` is the number of events in the log."""
    world, now_ms = sim.world, sim.now_ms
    totals = counts.task_totals(world)
    preparations, releases = counts.preparation_totals(world), counts.release_totals(world)
    return {
        "makespanSeconds": makespan_ms(world) / SECOND_MS,
        "tasks": totals._asdict(),
        "nodeHours": round(counts.node_hours(world, now_ms), _DIGITS),
        "costUsd": round(cost_usd(world, now_ms), _DIGITS),
        "slotUtilization": round(counts.slot_utilization(world, now_ms), _DIGITS),
        "preparationTasks": preparations._asdict(),
        "releaseTasks": releases._asdict(),
        "events": sim.log.count,
    }
