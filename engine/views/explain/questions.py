"""The answers to every question that a task, node, job, job schedule or pool raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.explain.attempts import why_again, why_there
from engine.views.explain.autoscale import why_targets
from engine.views.explain.job_schedules import why_schedule
from engine.views.explain.jobs import why_counts, why_job
from engine.views.explain.nodes import why_node
from engine.views.explain.pools import why_pool
from engine.views.explain.preparation import why_preparation
from engine.views.explain.tasks import why_task

if TYPE_CHECKING:
    from engine import Simulation
    from engine.views.explain.explanation import Explanation
    from engine.world.world import World


def explain(simulation: Simulation, kind: str, key: int | str, job_id: str = "") -> list[Explanation]:
    """Answer the questions about one thing at this moment; return nothing while there is none of this id.

    Args:
        simulation: The run.
        kind: "task", "node", "job", "job schedule" or "pool".
        key: The row number of a task or node; the id of anything else.
        job_id: The job whose preparation is explained beside the state of a node.
    """
    world = simulation.world
    match kind:
        case "task":
            return _task(world, int(key), simulation.now_ms)
        case "node":
            job = world.jobs.find(job_id)
            preparation = [] if job is None or not job.has_prep else [why_preparation(world, job, int(key))]
            return [why_node(world, int(key)), *preparation]
        case "job":
            return _job(world, str(key))
        case "job schedule":
            schedule = world.job_schedules.find(str(key))
            return [] if schedule is None else [why_schedule(world, schedule, simulation.now_ms)]
        case _:
            return _pool(world, str(key))


def _task(world: World, task: int, now_ms: int) -> list[Explanation]:
    """Explain a task's state, the choice of its node, and why it runs again if it does."""
    state = why_task(world, task, now_ms)
    more = (why_there(world, task, state.next_change), why_again(world, task, state.next_change))
    return [state, *(each for each in more if each is not None)]


def _job(world: World, job_id: str) -> list[Explanation]:
    """Explain a job's state, and its approximate counts while they differ from the exact ones."""
    job = world.jobs.find(job_id)
    if job is None:
        return []
    state = why_job(world, job)
    counts = why_counts(world, job, state.next_change)
    return [state] if counts is None else [state, counts]


def _pool(world: World, pool_id: str) -> list[Explanation]:
    """Explain the nodes and the targets of a pool."""
    pool = world.pools.find(pool_id)
    if pool is None:
        return []
    targets = why_targets(world, pool)
    return [why_pool(world, pool), *([targets] if targets is not None else [])]
