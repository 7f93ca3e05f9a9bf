"""The pass that gives tasks to nodes (chapter 17): jobs take turns until none finds room.

A pass runs at the end of every instant in which something changed (SCHED-15). When a task ends and nothing else is due
in the same millisecond, only its node can have room for a waiting task, so that node is filled at once and no pass is
needed. ``decisions.verdicts`` chooses nodes, ``World.scheduler`` keeps the indices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.calendar import Due, DueKind
from engine.base.errors import FailureInfo, failure
from engine.base.terms import DependencyAction, NodeState
from engine.base.values import MINUTE_MS
from engine.rules.decisions import verdicts
from engine.rules.decisions.verdicts import is_seen
from engine.rules.facts import GangAssigned, NodeDrained, TaskAssigned, TaskDisplaced, TaskLeftNode
from engine.state.pools import ROW_MASK
from engine.state.tasks import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.rules.facts import TaskCompleted, TaskStopped
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskProfile
    from engine.world import World

_IDLE, _RUNNING = NodeState.IDLE, NodeState.RUNNING

_NEVER_FITS = failure("TaskSchedulingConstraintFailed")
_NO_GANGS = _NEVER_FITS._replace(
    message="A multi-instance task needs a pool with enableInterNodeCommunication and one task slot per node."
)
_STARVES = _NEVER_FITS._replace(message="No node has enough free task slots at once.")


# -- tasks that wait for others (chapter 15) --------------------------------------------------------------------------


def task_completed(world: World, completed: TaskCompleted) -> None:
    """Queue the dependents of a completed task that satisfies them and that wait for nothing more (DEP-4).

    The task may have been retried or reactivated before (DEP-6). Dependents that have run are left alone.
    """
    task, tasks = completed.task, world.tasks
    job = world.jobs.rows[tasks.profile_of(task).job]
    if completed.dependency_action is not DependencyAction.SATISFY or not job.spec.uses_task_dependencies:
        return
    tasks.set_satisfied(task)
    freed = world.dependency_book(job.row).satisfy(tasks.task_id(task))
    freed = [one for one in freed if tasks.state[one] == ACTIVE and is_seen(world, one)]
    for one in freed:
        job.queue_of(tasks.profile_of(one).queue_key).add_late(one)
    if freed:
        world.scheduler.tasks_became_ready(job, len(freed))


# -- room that comes free --------------------------------------------------------------------------------------------


def task_left_node(world: World, left: TaskLeftNode) -> None:
    """Give the room that a task has left on a node to the next task (SCHED-15)."""
    fill_after_task(world, left.node, left.slots)


def fill_after_task(world: World, node: int, slots: int) -> None:
    """Give back the slots of a task that has left the node, fill them at once, and settle the node (SCHED-15).

    No waiting task had found room before, so only this node can have a place for one; unless something else has changed
    in this instant too: then the pass that follows places tasks.
    """
    nodes = world.nodes
    pool = world.pools.rows[nodes.records.rows[node].pool]
    before = nodes.free[node]
    nodes.free_slots(node, slots)
    if not nodes.open[node]:
        _settle(world, node)
        return
    at_once = pool.fills_at_once and not pool.pass_due
    exclusively = at_once and bool(pool.turns) and _fill_node(world, pool, node)
    free = nodes.free[node]
    if free != before:
        world.scheduler.change_bucket(pool, node, before)
    if exclusively:
        world.scheduler.update_eligibility(node)
    elif not at_once:
        world.scheduler.settle_after_pass(pool, node)
    elif free == pool.slots:
        _settle(world, node)


def task_stopped(world: World, stopped: TaskStopped) -> None:
    """Let a job take turns again that may have been at its limit of parallel tasks (JOB-2, SCHED-7)."""
    job = world.jobs.rows[stopped.job]
    if job.max_parallel >= 0:
        world.scheduler.let_job_take_turns(job)


def _settle(world: World, node: int) -> None:
    """Let the node's state follow from what is on it (NODE-9, NOP-6), or begin the operation that waits (NOP-2)."""
    if world.nodes[node].operation is None:
        world.nodes.settle(world.now_ms, node)
    elif not world.nodes.busy(node):
        world.emit(NodeDrained(node))


def _fill_node(world: World, pool: Pool, node: int) -> bool:
    """Let jobs take turns on the only node with new room; the caller keeps its place among the buckets.

    Returns whether the node now belongs to one exclusive task (JM-5).
    """
    nodes, tasks, jobs = world.nodes, world.tasks, world.jobs.rows
    turns = pool.turns
    blocked: list[int] = []
    exclusively = False
    while turns and nodes.free[node] > 0 and not exclusively:
        job = jobs[turns[0] & ROW_MASK]
        task = _take_first_that_fits(world, pool, job, node) if pool.may_take_turns(job) else None
        if task is None:
            turn = pool.set_aside_turn(job)
            if turn is not None:
                blocked.append(turn)
                if _is_report_due(world, pool, job):
                    world.scheduler.request_pass(pool)
            continue
        profile = tasks.profile_of(task)
        nodes.free_slots(node, -profile.required_slots)
        pool.end_turn(job)
        assign(world, job, task, node)
        exclusively = profile.exclusive
        if profile.manager:
            world.scheduler.request_pass(pool)  # tasks behind it in its queue may find room on other nodes
    pool.put_back_turns(blocked)
    return exclusively


def _take_first_that_fits(world: World, pool: Pool, job: Job, node: int) -> int | None:
    """Take the job's first task for which the node has room; not one that needs several nodes at once (MI-2)."""
    tasks = world.tasks
    for key, queue in job.queues_in_order():
        if key > 0 and verdicts.has_room(world, pool, job, tasks.profile_of(queue.head()), node):
            return job.take_head(queue)
    return None


# -- the pass --------------------------------------------------------------------------------------------------------


def run_pass(world: World, due: Due) -> None:
    """Place every task that can be placed, then settle the nodes that tasks have left since the last pass."""
    pool = world.pools[due.key]
    if not pool.pass_due or pool.state is None:
        return
    if pool.turns:
        _place_all(world, pool)
    if pool.turns and pool.has_preemptible:
        _preempt(world, pool)
    for node in pool.take_unsettled():
        _settle(world, node)


def _place_all(world: World, pool: Pool) -> None:
    """Let jobs take turns until none finds room (SCHED-4, SCHED-6, SCHED-7, SCHED-9)."""
    jobs = world.jobs.rows
    turns = pool.turns
    blocked: list[int] = []
    while turns and any(pool.buckets[1:]):
        job = jobs[turns[0] & ROW_MASK]
        found = _take_first_with_room(world, pool, job) if pool.may_take_turns(job) else None
        if found is None:
            turn = pool.set_aside_turn(job)
            if turn is not None:
                blocked.append(turn)
            continue
        task, chosen, profile = found
        for node in chosen:
            world.scheduler.take_slots(pool, node, profile.required_slots)
        pool.end_turn(job)
        if profile.instances:
            _assign_gang(world, job, task, tuple(chosen))
        else:
            assign(world, job, task, chosen[0])
        if profile.exclusive:
            world.scheduler.update_eligibility(chosen[0])
    pool.put_back_turns(blocked)


def _take_first_with_room(world: World, pool: Pool, job: Job) -> tuple[int, Sequence[int], TaskProfile] | None:
    """Take the job's first task for which there is room, and choose its nodes."""
    tasks = world.tasks
    for _, queue in job.queues_in_order():
        task = queue.head()
        profile = tasks.profiles[tasks.profile[task]]
        chosen = verdicts.choose_nodes(world, pool, job, task, profile)
        if chosen:
            job.take_head(queue)
            return task, chosen, profile
        _report_no_room(world, pool, job, task, profile)
    return None


def assign(world: World, job: Job, task: int, node: int) -> None:
    """Assign a task to a node whose slots it has taken; the node is running from then on (NODE-9)."""
    instance = world.instances.need(job.row, node) if job.has_prep else -1
    world.emit(TaskAssigned(job.row, task, node, instance))
    nodes = world.nodes
    if nodes.state[node] == _IDLE:
        nodes.set_state(world.now_ms, node, _RUNNING)


def _assign_gang(world: World, job: Job, task: int, nodes: tuple[int, ...]) -> None:
    """Assign a multi-instance task to all its nodes together (MI-3)."""
    world.emit(GangAssigned(job.row, task, nodes))
    for node in nodes:
        if world.nodes.state[node] == _IDLE:
            world.nodes.set_state(world.now_ms, node, _RUNNING)


def _preempt(world: World, pool: Pool) -> None:
    """Let jobs that found no room displace running tasks of others, the job whose turn it is first (SCHED-16)."""
    for key in sorted(pool.turns):
        job = world.jobs.rows[key & ROW_MASK]
        while pool.may_take_turns(job) and _displace(world, pool, job):
            _place_all(world, pool)


def _displace(world: World, pool: Pool, job: Job) -> bool:
    """Make room for the job's first task for which that is possible; returns whether there was one."""
    for _, queue in job.queues_in_order():
        head = queue.head()
        profile = world.tasks.profile_of(head)
        candidates = verdicts.candidates_for(world, pool, job, head)
        victims = verdicts.preemption_victims(world, pool, job, profile, candidates)
        for task in victims:
            world.emit(TaskDisplaced(task, "JM-7" if profile.manager else "SCHED-16"))
        if victims:
            return True
    return False


# -- tasks that become ready, and tasks that find no room ------------------------------------------------------------


def tasks_are_ready(world: World, due: Due) -> None:
    """Queue the tasks of a block, now that the scheduler sees them (TIME-9), unless they wait for others (DEP-4)."""
    block = world.tasks.blocks[due.key]
    job = world.jobs[block.job]
    if job.state is None:
        return
    tasks = world.tasks
    book = world.dependencies.get(job.row)
    first, ready = block.first, block.source.count
    profiles = tasks.profile[first : first + ready]
    alike = tasks.profiles[profiles[0]] if profiles.count(profiles[0]) == ready else None
    if book is None and alike is not None and not alike.manager and not any(tasks.state[first : first + ready]):
        joins = first > 0 and tasks.briefs[tasks.profile[first - 1]] == tasks.briefs[profiles[0]]
        job.queue_of(alike.queue_key).add_range(first, ready, joins=joins)
    else:
        ready = 0
        for task in block.rows:
            if tasks.state[task] == ACTIVE and not (book is not None and book.is_waiting(task)):
                profile = tasks.profile_of(task)
                queue = job.queue_of(profile.queue_key)
                if profile.manager:
                    queue.add_first(task)
                else:
                    queue.add_range(task, 1)
                ready += 1
    if ready:
        world.scheduler.tasks_became_ready(job, ready, are_last=True)  # only the pass comes later: see ``DueKind``


def _report_no_room(world: World, pool: Pool, job: Job, task: int, profile: TaskProfile) -> None:
    """Log that a task finds no node: once if it can never fit (SCHED-10, MI-2), each minute if it starves (SCHED-11).

    A multi-instance task that waits until enough nodes are free at once is not reported: such waiting is ordinary.
    """
    if profile.instances:
        if not pool.hosts_gangs and task not in world.scheduler.starving:
            _report(world, task, _NO_GANGS, "MI-2")
    elif profile.required_slots > pool.slots:
        if task not in world.scheduler.starving:
            _report(world, task, _NEVER_FITS, "SCHED-10")
    elif profile.required_slots > 1 and _was_silent(world, task) and verdicts.starves(pool, job, profile):
        _report(world, task, _STARVES, "SCHED-11")
        world.calendar.at(world.now_ms + MINUTE_MS, DueKind.STARVING, pool.row)


def report_again(world: World, due: Due) -> None:
    """Run a pass a minute after a task of the pool was reported to starve, unless the pool is gone (SCHED-11)."""
    pool = world.pools[due.key]
    if pool.state is not None:
        world.scheduler.request_pass(pool)


def _is_report_due(world: World, pool: Pool, job: Job) -> bool:
    """Return whether a large task of the job may starve and has not been reported for a minute."""
    large = (queue.head() for slots, queue in job.ready.items() if 1 < slots <= pool.slots and queue.size)
    return any(_was_silent(world, task) for task in large)


def _was_silent(world: World, task: int) -> bool:
    last_ms = world.scheduler.starving.get(task)
    return last_ms is None or world.now_ms - last_ms >= MINUTE_MS


def _report(world: World, task: int, why: FailureInfo, rule: str) -> None:
    world.scheduler.remember_report(task)
    world.tasks.log_not_scheduled(world.now_ms, task, why, rule)
