"""Tasks that find no room: several slots on no node at once (SCHED-10, SCHED-11), several nodes in no such pool (MI-2).

What is said of them, and when.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.failures import FailureInfo, failure
from engine.base.units import MINUTE_MS
from engine.events.calendar import Due, DueKind
from engine.rules import outcomes
from engine.world.facts import TasksStarving

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskProfile
    from engine.world.world import World


_NEVER_FITS = failure("TaskSchedulingConstraintFailed")
_NO_GANGS = _NEVER_FITS._replace(
    message="A multi-instance task needs a pool with enableInterNodeCommunication and one task slot per node."
)
_STARVES = _NEVER_FITS._replace(message="No node has enough free task slots at once.")


def starves(pool: Pool, job: Job, profile: TaskProfile) -> bool:
    """Whether a task that finds no node would find one if the free slots were together (SCHED-11)."""
    eligible = ~job.barred & (pool.dedicated_bits if profile.dedicated_only else -1)
    free = sum(count * (nodes & eligible).bit_count() for count, nodes in enumerate(pool.buckets) if nodes)
    return free >= profile.required_slots


def is_overdue(world: World, pool: Pool, job: Job) -> bool:
    """Whether a large task of the job may be starving of which nothing was said for a minute."""
    large = (queue.head() for slots, queue in job.ready.items() if 1 < slots <= pool.slots and queue.size)
    return any(_is_due(world, task) for task in large)


def report(world: World, pool: Pool, job: Job, task: int, profile: TaskProfile) -> None:
    """Say that a task finds no node: once if it can never fit (SCHED-10, MI-2), once a minute if it starves (SCHED-11).

    Of a multi-instance task that waits until enough nodes are free at once nothing is said: nothing is odd about it.
    """
    if profile.instances:
        if not pool.hosts_gangs and task not in world.starving:
            _say(world, task, _NO_GANGS, "MI-2")
    elif profile.required_slots > pool.slots:
        if task not in world.starving:
            _say(world, task, _NEVER_FITS, "SCHED-10")
    elif profile.required_slots > 1 and _is_due(world, task) and starves(pool, job, profile):
        _say(world, task, _STARVES, "SCHED-11")
        world.calendar.at(world.now_ms + MINUTE_MS, DueKind.STARVING, pool.row)


def look_again(world: World, due: Due) -> None:
    """A minute has passed since somebody starved in this pool (SCHED-11)."""
    world.emit(TasksStarving(due.key))


def _is_due(world: World, task: int) -> bool:
    last_ms = world.starving.get(task)
    return last_ms is None or world.now_ms - last_ms >= MINUTE_MS


def _say(world: World, task: int, why: FailureInfo, rule: str) -> None:
    world.starving[task] = world.now_ms
    outcomes.not_scheduled(world, task, why, rule)
