"""The answers to every question that a task, node, job, job schedule or pool raises."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.run.planned import PlannedInputs, subjects_of
from engine.views.explain.attempts import why_again, why_there
from engine.views.explain.autoscale import why_targets
from engine.views.explain.candidates import Outlook
from engine.views.explain.job_schedules import why_schedule
from engine.views.explain.jobs import why_counts, why_job
from engine.views.explain.nodes import why_node
from engine.views.explain.pools import why_pool
from engine.views.explain.preparation import why_preparation
from engine.views.explain.tasks import why_task
from engine.views.explain.waited import why_last_waited, why_waited
from engine.views.pages.phases import oldest_waiting

if TYPE_CHECKING:
    from engine import Simulation
    from engine.views.explain.explanation import Explanation


def explain(simulation: Simulation, kind: str, key: int | str, job_id: str = "") -> list[Explanation]:
    """Answer the questions about one thing at this moment; return nothing while there is none of this id.

    Args:
        simulation: The run.
        kind: "task", "node", "job", "job schedule" or "pool".
        key: The row number of a task or node; the id of anything else.
        job_id: The job whose preparation is explained beside the state of a node.
    """
    world, now_ms = simulation.world, simulation.now_ms
    found: tuple[Explanation | None, ...] = ()
    match kind:
        case "task":
            state = why_task(world, int(key), now_ms)
            next_change = state.next_change
            there, again = (why(world, int(key), next_change) for why in (why_there, why_again))
            found = state, there, again, why_waited(simulation, int(key))
        case "node":
            job = world.jobs.find(job_id)
            preparation = None if job is None or not job.has_prep else why_preparation(world, job, int(key))
            found = why_node(world, int(key)), preparation
        case "job" if (job := world.jobs.find(str(key))) is not None:
            outlook = Outlook(world)  # the task mostly waits for the nodes that the job does
            state = why_job(world, job, outlook)
            waiting = oldest_waiting(world, job)
            wait = None if waiting is None else why_task(world, waiting, now_ms, outlook)
            found = state, wait, why_counts(world, job, state.next_change), why_last_waited(simulation, job)
        case "job schedule" if (schedule := world.job_schedules.find(str(key))) is not None:
            found = (why_schedule(world, schedule, now_ms),)
        case "pool" if (pool := world.pools.latest(str(key))) is not None:
            found = why_pool(world, pool), None if pool.state is None else why_targets(world, pool)
    return [_with_plans(simulation, kind, key, explanation) for explanation in found if explanation is not None]


def _with_plans(simulation: Simulation, kind: str, key: int | str, explanation: Explanation) -> Explanation:
    """Add what the timeline has planned to an explanation that says that a user has to act."""
    if not explanation.nothing:
        return explanation
    return replace(explanation, planned=PlannedInputs(simulation).to_come(subjects_of(simulation.world, kind, key)))


def explain_oldest_wait(simulation: Simulation, job_id: str) -> list[Explanation]:
    """Explain the task of a job that has been waiting longest, or for what the last one of a completed job waited.

    Return nothing if none waits, or has.
    """
    world = simulation.world
    job = world.jobs.find(job_id)
    if job is None:
        return []
    waiting = oldest_waiting(world, job)
    found = why_last_waited(simulation, job) if waiting is None else why_task(world, waiting, simulation.now_ms)
    return [] if found is None else [_with_plans(simulation, "job", job_id, found)]
