"""Job manager tasks (chapter 10): a task that the service adds with the job and places before the others.

Its end is in ``jobs.manager_completed`` (JM-4), its node's place among victims in ``resizing`` (JM-8), whom it
may displace when it is restarted in ``preemption`` (JM-6, JM-7).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.rules import tasks
from engine.specs.task import TaskSpec

if TYPE_CHECKING:
    from engine.specs.job import JobManagerTask
    from engine.state.jobs import Job
    from engine.world.world import World

# What a job manager task has in common with any other task (JM-1, JM-2).
_SHARED = (
    "id",
    "display_name",
    "command_line",
    "container_settings",
    "resource_files",
    "output_files",
    "environment_settings",
    "constraints",
    "required_slots",
    "user_identity",
    "application_package_references",
    "authentication_token_settings",
    "simulate",
)


def task_of(manager: JobManagerTask) -> TaskSpec:
    """The ordinary task that the service makes of the definition (JM-2)."""
    return TaskSpec.model_construct(**{name: getattr(manager, name) for name in _SHARED})


def add(world: World, job: Job) -> None:
    """The job's manager is queued with the job, ahead of its other tasks (JOB-6, JM-2, SCHED-6).

    From then on it is a task like any other: the job's preparation comes before it (JM-9), counters count it (JM-10).
    """
    manager = job.spec.job_manager_task
    if manager is None:
        return
    first = tasks.add_one(world, job, task_of(manager))
    profile = world.tasks.profile_of(first)
    # JM-5 alone on its node, SPOT-6 only on dedicated nodes; its end means something (JM-4), so it is never hot.
    profile = profile._replace(
        manager=True, exclusive=manager.run_exclusive, dedicated_only=not manager.allow_low_priority_node, hot=False
    )
    world.tasks.set_profile(first, profile)
