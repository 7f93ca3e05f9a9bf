"""Reasons why a task went to its node, and why it runs again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import TaskState
from engine.state.columns import NEVER_MS
from engine.views.explain.explanation import Check, Note, answer, moment, name_of, some, task_name

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.state.task_records import TaskProfile
    from engine.views.explain.explanation import Explanation, Next
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
    pool = world.pool_of(node)
    asked = "all" if profile.exclusive else f"{profile.required_slots} of"
    checks = (
        Check("slots", True, f"it takes {asked} {pool.slots}", "SCHED-10"),
        *_wishes(world, task, profile, node),
        _preparation(world, world.jobs[profile.job], task, node),
        Check("dedicated", True, "it asks for a dedicated node", "SPOT-6") if profile.dedicated_only else None,
    )
    question = f"Why did {task_name(world, task)} go to {name_of(world, node)}?"
    return answer(world, question, checks, (), following, (Note(_FILLS[pool.fill.value], "SCHED-9"),))


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


def _preparation(world: World, job: Job, task: int, node: int) -> Check | None:
    """Return the check that the job was prepared there already."""
    row = world.instances.row(job.row, node) if job.has_prep else -1
    if row < 0:
        return None
    tasks, ended_ms = world.tasks, world.instances.prep_end[row]
    if tasks.state_of(task) is TaskState.PREPARING:
        return Check("prepared", False, "not yet: the task waits there", "PREP-6")
    if tasks.started[task] == ended_ms:
        return Check("prepared", False, "the task waited there until it was", "PREP-7")
    if not 0 <= ended_ms < tasks.started[task]:
        return None
    return Check("prepared", True, f"since {moment(world, ended_ms)}", "SCHED-9")


def why_again(world: World, task: int, following: Next | None) -> Explanation | None:
    """Explain why the task runs once more; return None for a first attempt."""
    tasks, extra = world.tasks, world.tasks.extra(task)
    if tasks.state_of(task) is None or not (extra.retry_count or extra.requeue_count or extra.system_retries):
        return None
    checks = []
    if extra.retry_count:
        profile = tasks.profile_of(task)
        most = world.jobs[profile.job].max_retries if profile.max_retries is None else profile.max_retries
        used = f"{extra.retry_count:,} of {'no limit' if most < 0 else f'{most:,}'} used after failures"
        checks.append(Check("retries", True, used + _last(world, extra.last_retry_ms), "RETRY-3"))
    if extra.requeue_count:
        value = f"{extra.requeue_count:,} by commands on its node, pool or job{_last(world, extra.last_requeue_ms)}"
        checks.append(Check("requeues", True, value, "RETRY-6"))
    if extra.system_retries:
        value = f"{extra.system_retries:,} by the service after it lost a node or VM"
        checks.append(Check("service retries", True, value, "RETRY-7"))
    verb = "did" if tasks.state_of(task) is TaskState.COMPLETED else "does"
    starts = Note(f"It has been started {some(extra.attempts, 'time')} so far.", "TASK-7") if extra.attempts else None
    return answer(world, f"Why {verb} {task_name(world, task)} run again?", checks, (), following, (starts,))


def _last(world: World, when_ms: int | None) -> str:
    return "" if when_ms is None else f", the last at {moment(world, when_ms)}"
