"""The next thing that a job or task waits for, in one phrase; ``explain.questions`` has the whole answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import JobState, TaskState
from engine.views.explain.explanation import name_of, some
from engine.views.pages.hook_status import HookStatus

if TYPE_CHECKING:
    from engine import Simulation
    from engine.views.pages.jobs import JobRow, PoolRow


def job_waits_for(job: JobRow, pool: PoolRow | None) -> str:
    """Return what has to come before the job's next state; empty where it waits for nothing."""
    tasks = job.phases.tasks
    busy = tasks.running + tasks.preparing
    match job.state:
        case JobState.ACTIVE:
            return _active(job, pool, busy)
        case JobState.DISABLING:
            return f"{some(busy, 'task')} to stop"
        case JobState.DISABLED:
            return "a user to enable it"
        case JobState.TERMINATING | JobState.DELETING:
            release = job.phases.release
            nodes = release[HookStatus.RUNNING] + release[HookStatus.WILL_RUN]
            return f"release on {some(nodes, 'node')}" if nodes else f"{some(busy, 'task')} to stop" if busy else ""
    return ""


def _active(job: JobRow, pool: PoolRow | None, busy: int) -> str:
    tasks = job.phases.tasks
    if busy:
        return f"{some(busy, 'task')} to end"
    if tasks.active:
        if pool is None or pool.state is None:
            return f"pool {job.pool_id}"
        return "free slots for its tasks" if pool.nodes else "nodes"
    ends_itself = job.on_all_tasks_complete == "terminatejob"
    return "its first task" if not tasks.total else "" if ends_itself else "more tasks, or its termination"


def task_waits_for(simulation: Simulation, task: int) -> str:
    """Return what keeps a task from running; empty where nothing does."""
    world = simulation.world
    tasks = world.tasks
    state = tasks.state_of(task)
    if state is TaskState.PREPARING:
        return f"preparation on {name_of(world, tasks.node[task])}"
    if state is not TaskState.ACTIVE:
        return ""
    profile = tasks.profile_of(task)
    job = world.jobs[profile.job]
    if job.state is not JobState.ACTIVE:
        return f"job {job.state.wire}" if job.state is not None else ""
    if job.pool < 0:
        return f"pool {job.pool_id}"
    book = world.dependencies.get(job.row)
    if book is not None and book.is_waiting(task):
        wanted = tasks.spec(task).depends_on
        assert wanted is not None
        ids, numbers = book.unmet(wanted)
        more = len(ids) - 1 + numbers if ids else 0
        return (f"{ids[0]} and {more:,} more" if more else ids[0]) if ids else some(numbers, "task")
    if 0 <= job.max_parallel <= job.busy:
        return f"its job's limit of {job.max_parallel:,}"
    if profile.instances:
        return f"{profile.instances} nodes at once"
    return f"{some(profile.required_slots, 'free slot')}"
