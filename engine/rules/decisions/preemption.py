"""Preemption between jobs (SCHED-16, JOB-24): running tasks that go so that a waiting task finds room.

Asked only for pools on which a job allows preemption.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from engine.rules.decisions import placement
from engine.rules.decisions.tasks import is_restarted

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskProfile
    from engine.world.world import World


def preemption_victims(
    world: World, pool: Pool, job: Job, profile: TaskProfile, candidates: Sequence[int]
) -> list[int]:
    """Return the running tasks that must stop so that a task of the job has room on a node; none if no node would.

    ``candidates`` may stop, in this order (``candidates_for``); none stops without need. A running multi-instance task
    leaves all its nodes; one that waits needs several nodes.
    """
    if profile.instances:
        return _victims_on_several(world, pool, job, profile, candidates) if pool.hosts_gangs else []
    needed = pool.slots if profile.exclusive else profile.required_slots
    by_node: dict[int, list[int]] = {}
    for task in candidates:
        for node in world.nodes_of(task):
            if not placement.may_come(world, pool, job, profile, node):
                continue
            victims = by_node.setdefault(node, [])
            victims.append(task)
            if _room_without(world, node, victims) >= needed:
                return _fewest(world, node, victims, needed)
    return []


def _victims_on_several(
    world: World, pool: Pool, job: Job, profile: TaskProfile, candidates: Sequence[int]
) -> list[int]:
    """Return the tasks that must stop so that enough nodes are free at once (MI-3)."""
    free = (pool.buckets[1] & ~job.ineligible).bit_count()
    won = {
        task: sum(placement.may_come(world, pool, job, profile, node) for node in world.nodes_of(task))
        for task in candidates
    }
    victims: list[int] = []
    for task in candidates:
        if won[task]:
            victims.append(task)
        if free + sum(won[victim] for victim in victims) >= profile.instances:
            break
    else:
        return []
    for victim in reversed(victims[:-1]):
        if free + sum(won[other] for other in victims if other != victim) >= profile.instances:
            victims.remove(victim)
    return victims


def candidates_for(world: World, pool: Pool, job: Job, waiting: int) -> list[int]:
    """Return the running tasks that may be displaced for a task of the job, in the order in which they stop.

    Only jobs that allow it and have a lower priority give way (JOB-24), the lowest priority first, then the latest
    start (SCHED-16). For a job manager task that runs again all jobs of lower priority do, then its own (JM-6, JM-7).
    """
    tasks = world.tasks
    restarted = is_restarted(tasks.profile_of(waiting), tasks.extra(waiting))
    yielding = {
        other.row: other.priority
        for other in world.jobs_of(pool)
        if other.busy and other.priority < job.priority and (other.preemptible or restarted)
    }
    if restarted:
        yielding[job.row] = job.priority
    if not yielding:
        return []
    running = {task for node in pool.nodes for task in world.nodes.running[node]}
    found = (task for task in running if tasks.profile_of(task).job in yielding)
    return sorted(found, key=lambda task: (yielding[tasks.profile_of(task).job], -tasks.started[task], -task))


def _room_without(world: World, node: int, tasks: Iterable[int]) -> int:
    """Return the free slots that the node would have without these tasks."""
    return world.nodes.free[node] + sum(world.tasks.profile_of(task).required_slots for task in tasks)


def _fewest(world: World, node: int, victims: list[int], needed: int) -> list[int]:
    """Return the victims that are needed: the last one is, earlier ones may not be."""
    kept = victims
    for task in reversed(victims[:-1]):
        others = [one for one in kept if one != task]
        if _room_without(world, node, others) >= needed:
            kept = others
    return kept
