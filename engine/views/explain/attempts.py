"""Reasons why a task went to its node, and why it runs again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import TaskState
from engine.state.tasks import NEVER_MS
from engine.views.explain.explanation import Check, Explanation, Note, moment, name_of, some

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.state.task_records import TaskExtra, TaskProfile
    from engine.views.explain.explanation import Next
    from engine.world.world import World

_FILLS = {
    "spread": "Spread prefers most free slots, then prepared, dedicated and earlier nodes.",
    "pack": "Pack prefers fewest free slots, then prepared, dedicated and earlier nodes.",
}


def why_there(world: World, task: int, following: Next | None) -> Explanation | None:
    """Explain the choice of a task's node; return None where it has none, or several at once."""
    tasks = world.tasks
    state, profile, node = tasks.state_of(task), tasks.profile_of(task), tasks.node[task]
    began = state is TaskState.PREPARING or tasks.started[task] != NEVER_MS
    if state in (None, TaskState.ACTIVE) or not began or profile.instances:
        return None
    job, where, pool = world.jobs[profile.job], name_of(world, node), world.pool_of(node)
    wanted = [*_wishes(world, task, profile, node), *_preparation(world, job, task, node)]
    if profile.dedicated_only:
        wanted.append(Check("dedicated", True, "it asks for a dedicated node", "SPOT-6"))
    asked = "all" if profile.exclusive else f"{profile.required_slots} of"
    return Explanation(
        world.scenario.start,
        f"Why did task {tasks.task_id(task)} of job {job.id} go to {where}?",
        (Check("slots", True, f"it takes {asked} {pool.slots}", "SCHED-10"), *wanted),
        next_change=following,
        notes=(Note(_FILLS[pool.fill.value], "SCHED-9"),),
    )


def _wishes(world: World, task: int, profile: TaskProfile, node: int) -> list[Check]:
    """Return the preference of the task for a node."""
    extra, wishes = world.tasks.extra(task), []
    if extra.node_retries:
        wishes.append(Check("service retry", True, "retried on the same node first", "RETRY-7"))
    elif extra.retry_count:
        wishes.append(Check("retried", True, "a retry prefers the node of the last attempt", "RETRY-5"))
    if profile.affinity is not None:
        is_there = world.nodes[node].id == profile.affinity.removeprefix("TVM:")
        value = "this node" if is_there else "another node, which had no room"
        wishes.append(Check("affinity", is_there, value, "SCHED-13"))
    return wishes


def _preparation(world: World, job: Job, task: int, node: int) -> list[Check]:
    """Return the check that the job was prepared there already."""
    row = world.instances.row(job.row, node) if job.has_prep else -1
    if row < 0:
        return []
    tasks, ended_ms = world.tasks, world.instances.prep_end[row]
    if tasks.state_of(task) is TaskState.PREPARING:
        return [Check("prepared", False, "not yet: the task waits there", "PREP-6")]
    if tasks.started[task] == ended_ms:
        return [Check("prepared", False, "the task waited there until it was", "PREP-7")]
    if not 0 <= ended_ms < tasks.started[task]:
        return []
    return [Check("prepared", True, f"since {moment(world, ended_ms)}", "SCHED-9")]


def why_again(world: World, task: int, following: Next | None) -> Explanation | None:
    """Explain why the task runs once more; return None for a first attempt."""
    tasks, extra = world.tasks, world.tasks.extra(task)
    if tasks.state_of(task) is None or not (extra.retry_count or extra.requeue_count or extra.system_retries):
        return None
    profile = tasks.profile_of(task)
    job = world.jobs[profile.job]
    is_over = tasks.state_of(task) is TaskState.COMPLETED
    return Explanation(
        world.scenario.start,
        f"Why {'did' if is_over else 'does'} task {tasks.task_id(task)} of job {job.id} run again?",
        tuple(_repeats(world, job, profile, extra)),
        next_change=following,
        notes=(Note(f"It has been started {some(extra.attempts, 'time')} so far.", "TASK-7"),)
        if extra.attempts
        else (),
    )


def _repeats(world: World, job: Job, profile: TaskProfile, extra: TaskExtra) -> list[Check]:
    checks = []
    if extra.retry_count:
        most = job.max_retries if profile.max_retries is None else profile.max_retries
        at = "" if extra.last_retry_ms is None else f", the last at {moment(world, extra.last_retry_ms)}"
        limit = "no limit" if most < 0 else f"{most:,}"
        checks.append(Check("retries", True, f"{extra.retry_count:,} of {limit} used after failures{at}", "RETRY-3"))
    if extra.requeue_count:
        at = "" if extra.last_requeue_ms is None else f", the last at {moment(world, extra.last_requeue_ms)}"
        value = f"{extra.requeue_count:,} by commands on its node, pool or job{at}"
        checks.append(Check("requeues", True, value, "RETRY-6"))
    if extra.system_retries:
        value = f"{extra.system_retries:,} by the service after it lost a node or VM"
        checks.append(Check("service retries", True, value, "RETRY-7"))
    return checks
