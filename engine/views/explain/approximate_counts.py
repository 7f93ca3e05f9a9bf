"""Reasons why the task counts of the service differ from the states of the tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.state.tasks import PREPARING, RUNNING
from engine.views.explain.explanation import Check, Explanation, Note, some

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.views.explain.explanation import Next
    from engine.world.world import World


def why_counts(world: World, job: Job, following: Next | None) -> Explanation | None:
    """Explain which tasks are counted as something else; return None while none is."""
    preparing, running = job.counts[PREPARING], job.counts[RUNNING]
    if not preparing:
        return None
    return Explanation(
        world.scenario.start,
        f"Why do the approximate task counts of job {job.id} differ from the exact ones?",
        (
            Check("running, approximate", False, f"{running + preparing:,}", "TASK-16"),
            Check("running, exact", True, f"{running:,}, and {preparing:,} preparing", "TASK-16"),
        ),
        next_change=following,
        notes=(Note(f"The service counts {some(preparing, 'preparing task')} as running.", "TASK-16"),),
    )
