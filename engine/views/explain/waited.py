"""Reasons why a completed task did not start earlier, read from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.node_states import READY
from engine.base.terms import JobState, TaskState
from engine.state.columns import NEVER_MS
from engine.state.tasks import COMPLETED
from engine.views.explain.explanation import Check, Note, Reason, answer, moment, name_of, plural, some, task_name
from engine.views.log.reader import where
from engine.views.log.state_spans import JobHistory
from engine.views.log.task_history import TaskHistory
from engine.views.log.tasks_by_job import count_by_job
from engine.views.pages.critical_path import critical_path, deciding_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation
    from engine.events.log import Shape
    from engine.state.jobs import Job
    from engine.views.explain.explanation import Explanation
    from engine.views.log.task_history import Attempt

_ON_NODE = (TaskState.PREPARING, TaskState.RUNNING)
_MOST_JOBS = 8  # that are named at most


def why_last_waited(simulation: Simulation, job: Job) -> Explanation | None:
    """Explain what the last task of a completed job waited for; return None if none of its tasks has run."""
    task = deciding_task(simulation, job.id)
    return (
        None if job.state is not JobState.COMPLETED or task is None else why_waited(simulation, task, ", the last one,")
    )


def why_waited(simulation: Simulation, task: int, which: str = "") -> Explanation | None:
    """Explain what a completed task waited for, in order; return None if it has not run.

    Args:
        simulation: The run.
        task: The row of the task.
        which: Words after its name.
    """
    world = simulation.world
    if world.tasks.state[task] != COMPLETED or world.tasks.started[task] == NEVER_MS:
        return None
    job = world.jobs[world.tasks.block_of(task).job]
    attempts = TaskHistory(simulation, task).attempts()
    *before, link = critical_path(simulation, task)
    if not attempts or link.ready_ms is None:
        return None
    ready_ms, placed_ms = link.ready_ms, attempts[0].placed_ms
    created = moment(world, world.tasks.block_of(task).created_ms)
    checks: list[Check | None] = [Check("added", True, f"at {created}", "TASK-7")]
    if before:
        parent = world.tasks.task_id(before[-1].task)
        checks.append(Check("dependencies", False, f"met at {moment(world, ready_ms)}, by {parent}", "DEP-4"))
    checks += [
        _disabled(simulation, job, ready_ms, placed_ms),
        _without_nodes(simulation, job, ready_ms, placed_ms),
        _limit(job),
        *_start(simulation, attempts),
    ]
    notes = []
    if placed_ms <= ready_ms:
        notes.append(Note("It went to a node at once.", "SCHED-15"))
    if len(attempts) > 1:
        last = moment(world, attempts[-1].placed_ms)
        notes.append(Note(f"It had {some(len(attempts), 'attempt')}, the last one from {last}.", "RETRY-1"))
    slots = _users_of_slots(simulation, job, ready_ms, placed_ms) if placed_ms > ready_ms else ()
    return answer(world, f"What did {task_name(world, task)}{which} wait for?", checks, slots, notes=notes)


def _disabled(simulation: Simulation, job: Job, from_ms: int, until_ms: int) -> Check | None:
    """Check that the job was active while the task waited."""
    spans = [
        span
        for span in JobHistory(simulation, job.row).states()
        if span.state in (JobState.DISABLING, JobState.DISABLED, JobState.ENABLING)
        and span.begin_ms < until_ms
        and span.end_ms > from_ms
    ]
    if not spans:
        return None
    first, last = (moment(simulation.world, ms) for ms in (spans[0].begin_ms, spans[-1].end_ms))
    return Check("job state", False, f"not active between {first} and {last}", "JOB-12")


def _without_nodes(simulation: Simulation, job: Job, from_ms: int, until_ms: int) -> Check | None:
    """Check that the pool had a ready node while the task waited."""
    world, log = simulation.world, simulation.log
    pools = {pool.row for pool in world.pools.rows if _is_pool_of(job, pool.id)}
    changes = [_change_of_ready(shape) for shape in log.shapes]
    shapes = log.shape_of[: log.index_at(until_ms - 1)]

    def of_pool(kinds: list[bool]) -> Iterator[int]:
        return (at for at in where(kinds, shapes, 0) if world.nodes[log.row_b[at]].pool in pools)

    first = next(of_pool([change > 0 for change in changes]), None)
    last_ms = 0 if first is None else log.when[first]  # when there was none for the last time
    ready = int(first is not None)  # nodes
    if any(True for _ in of_pool([change < 0 for change in changes])):  # else some have been ready since the first one
        ready = 0
        for at in of_pool(list(map(bool, changes))):
            if not ready:
                last_ms = log.when[at]
            ready += changes[log.shape_of[at]]
    if not ready:
        last_ms = until_ms
    return Check("nodes", False, f"none ready until {moment(world, last_ms)}", "SCHED-8") if last_ms > from_ms else None


def _limit(job: Job) -> Check | None:
    if job.max_parallel < 0:
        return None
    return Check("job parallel limit", None, f"{some(job.max_parallel, 'task')} at once", "JOB-2")


def _start(simulation: Simulation, attempts: list[Attempt]) -> Iterator[Check]:
    """Yield the checks of its way to a node: when it went there, and the end of the preparation that it waited for."""
    world, first = simulation.world, attempts[0]
    node = name_of(world, first.node)
    yield Check("a node with free slots", True, f"{node} at {moment(world, first.placed_ms)}", "SCHED-9")
    if first.start_ms is not None and first.start_ms > first.placed_ms:
        yield Check("preparation on the node", False, f"ended at {moment(world, first.start_ms)}", "PREP-6")


def _users_of_slots(simulation: Simulation, job: Job, from_ms: int, until_ms: int) -> list[Reason]:
    """Return how often tasks of each job of the pool had slots while the task waited, the most first.

    Attempts are counted: a task that is retried takes slots each time.
    """
    log, jobs = simulation.log, simulation.world.jobs
    first, stop = log.index_at(from_ms - 1), log.index_at(until_ms - 1)
    tasks = count_by_job(simulation, _comes, 0, stop)
    tasks.subtract(count_by_job(simulation, _goes, 0, first))
    found = [
        _reason(job, jobs[row], count)
        for row, count in sorted(tasks.items(), key=lambda each: (-each[1], each[0]))
        if count > 0 and _is_pool_of(job, jobs[row].pool_id)
    ]
    more = sum(each.size for each in found[_MOST_JOBS:])
    left_out = [Reason(more, f"{plural(more, 'start')} of tasks of other jobs took slots", None, "SCHED-10")]
    return found[:_MOST_JOBS] + (left_out if more else [])


def _reason(own: Job, job: Job, count: int) -> Reason:
    whose, rule = f"job {job.id}", "SCHED-10"
    if job.row == own.row:
        whose, rule = "its own job", "SCHED-6"
    elif job.priority >= own.priority:
        rule = "SCHED-2" if job.priority > own.priority else "SCHED-4"
    text = f"{plural(count, 'start')} of tasks of {whose} (priority {job.priority}) took slots"
    return Reason(count, text, None, rule)


def _is_pool_of(job: Job, pool_id: str) -> bool:
    return job.pool_id.lower() == pool_id.lower()


def _on_node(shape: Shape) -> tuple[bool, bool]:
    """Return whether a task is on a node before and after an event of this shape."""
    fields = dict(shape.fields)
    is_task = shape.event == "TaskStateChanged"
    return is_task and fields["from"] in _ON_NODE, is_task and fields["to"] in _ON_NODE


def _comes(shape: Shape) -> bool:
    return _on_node(shape) == (False, True)


def _goes(shape: Shape) -> bool:
    return _on_node(shape) == (True, False)


def _change_of_ready(shape: Shape) -> int:
    """Return 1 for an event that makes a node ready, -1 for one that ends that, and 0 for others."""
    fields = dict(shape.fields)
    return (fields["to"] in READY) - (fields["from"] in READY) if shape.event == "NodeStateChanged" else 0
