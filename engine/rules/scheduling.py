"""Whose turn it is, and the pass that gives tasks to nodes (SCHED); which node that is, ``placement`` decides.

A pass is due at the end of every instant in
which something changed (SCHED-15). When a task ends and nothing else is due at the same millisecond, only
its node can have room for somebody who waits, so that node is filled at once and no pass is needed.

What happens to a task on its node is said in ``preparation`` and ``outcomes``.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING

from engine.base.terms import JobState, NodeState, PoolState, SchedulingState
from engine.events.calendar import Due, DueKind
from engine.rules import multi_instance, node_operations, outcomes, placement, preemption, preparation, starvation
from engine.specs.catalogue import SCHEDULING_LATENCY_MS
from engine.state.nodes import BUSY, CALM
from engine.state.ready import ReadyQueue
from engine.state.task_records import TaskProfile
from engine.state.tasks import ACTIVE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world.facts import TaskLeftNode, TasksStarving
    from engine.world.world import World

_IDLE, _RUNNING = NodeState.IDLE, NodeState.RUNNING
ROW_BITS = 24
ROW_MASK = (1 << ROW_BITS) - 1  # the job's row in a turn's key
_TURN_BITS = 40


# -- decisions -------------------------------------------------------------------------------------------------------


def turn_key(job: Job, pool: Pool) -> int:
    """Orders the jobs of a pool: the least comes first (SCHED-1, SCHED-2, SCHED-4, SCHED-5)."""
    served = 0 if pool.oldest_first else job.served
    return ((1000 - job.priority) << (_TURN_BITS + ROW_BITS)) | (served << ROW_BITS) | job.row


def may_take_turns(job: Job, pool: Pool) -> bool:
    """Whether the job has something that could be placed if there were room (SCHED-7)."""
    return (
        job.ready_count > 0
        and job.state is JobState.ACTIVE
        and pool.state is PoolState.ACTIVE
        and (job.max_parallel < 0 or job.busy < job.max_parallel)
    )


def queues_in_order(job: Job) -> list[tuple[int, ReadyQueue]]:
    """The job's ready tasks by lane (``TaskProfile.lane``), the queue whose head comes first in front (SCHED-6)."""
    queues = [(lane, queue) for lane, queue in job.ready.items() if queue.size]
    if len(queues) > 1:
        queues.sort(key=lambda item: item[1].head_rank())
    return queues


# -- becoming ready --------------------------------------------------------------------------------------------------


def queue_of(job: Job, lane: int) -> ReadyQueue:
    """The job's queue of tasks in this lane (``TaskProfile.lane``)."""
    queue = job.ready.get(lane)
    if queue is None:
        queue = job.ready[lane] = ReadyQueue()
    return queue


def tasks_became_ready(world: World, job: Job, count: int) -> None:
    """``count`` tasks have been put into the job's queues: let it take turns."""
    job.ready_count += count
    let_job_take_turns(world, job)


def let_job_take_turns(world: World, job: Job) -> None:
    """Enter the job among those that have something to place, if it may be there; a pass follows."""
    enter_turns(world, job)
    if job.in_turn:
        request_pass(world, world.pools[job.pool])


def enter_turns(world: World, job: Job) -> None:
    """Enter the job among those of its pool that have something to place, if it may be there."""
    if job.pool < 0 or job.in_turn:
        return
    pool = world.pools[job.pool]
    if may_take_turns(job, pool):
        job.in_turn = True
        heappush(pool.turns, turn_key(job, pool))


def look_elsewhere(world: World, task: int) -> None:
    """A task that has ended is to run again, and has not found room on its node: is there any on others (SCHED-15)?"""
    if world.tasks.state[task] != ACTIVE:
        return
    job = world.jobs[world.tasks.profile_of(task).job]
    if job.in_turn and any(world.pools[job.pool].buckets[1:]):
        request_pass(world, world.pools[job.pool])


def leave_turns(world: World, job: Job) -> None:
    """The job is no longer active: nothing of it is to be placed (SCHED-7); what it leaves goes to others in a pass."""
    if job.in_turn:
        job.in_turn = False
        pool = world.pools[job.pool]
        pool.turns = [key for key in pool.turns if key & ROW_MASK != job.row]
        heapify(pool.turns)
    if job.busy:
        request_pass(world, world.pools[job.pool])


def reorder_turns(world: World, pool: Pool) -> None:
    """Make the order of turns anew: a priority or a job's state has changed (SCHED-3)."""
    pool.turns = []
    for job in world.jobs_of(pool):
        job.in_turn = may_take_turns(job, pool)
        if job.in_turn:
            pool.turns.append(turn_key(job, pool))
    heapify(pool.turns)
    request_pass(world, pool)


# -- room ------------------------------------------------------------------------------------------------------------


def open_node(world: World, node: int) -> None:
    """Look at the node's eligibility again and enter it among those with room, or take it out."""
    nodes = world.nodes
    pool = world.pool_of(node)
    is_open = placement.is_eligible(world, node)
    if is_open != bool(nodes.open[node]):
        nodes.open[node] = is_open
        nodes.touch(node, CALM)
        pool.buckets[nodes.free[node]] ^= 1 << nodes[node].position
    if is_open:
        request_pass(world, pool)


def take_slots(world: World, pool: Pool, node: int, slots: int) -> None:
    """``slots`` of the node's slots are taken (SCHED-10); negative gives them back."""
    nodes = world.nodes
    before = nodes.free[node]
    nodes.free[node] = before - slots
    nodes.touch(node, BUSY)
    if nodes.open[node]:
        _change_bucket(world, pool, node, before)


def _change_bucket(world: World, pool: Pool, node: int, before: int) -> None:
    """An open node that had ``before`` free slots stands in the bucket of those that it has now."""
    bit = 1 << world.nodes.records.rows[node].position
    pool.buckets[before] ^= bit
    pool.buckets[world.nodes.free[node]] ^= bit


def slots_came_free(world: World, node: int, slots: int) -> None:
    """A task has left the node: its room goes at once to whoever waits (SCHED-15), then the node's state is looked at.

    Nobody who waits had found room before, so only this node can have a place for them; unless something else
    has changed in this instant too: then the pass that follows does it.
    """
    nodes = world.nodes
    pool = world.pools.rows[nodes.records.rows[node].pool]
    before = nodes.free[node]
    nodes.free[node] = before + slots
    nodes.touch(node, BUSY)
    if not nodes.open[node]:
        settle(world, node)
        return
    at_once = pool.fills_at_once and not pool.pass_due
    exclusively = at_once and bool(pool.turns) and fill_node(world, pool, node)
    free = nodes.free[node]
    if free != before:
        _change_bucket(world, pool, node, before)
    if exclusively:
        open_node(world, node)
    elif not at_once:
        pool.unsettled.append(node)
        request_pass(world, pool)
    elif free == pool.slots:
        settle(world, node)


def task_left_node(world: World, left: TaskLeftNode) -> None:
    """Give the room that a task has left on a node to the next task (SCHED-15)."""
    slots_came_free(world, left.node, left.slots)


def tasks_starving(world: World, starving: TasksStarving) -> None:
    """Look again for room for the tasks of the pool, unless it is gone (SCHED-11)."""
    pool = world.pools[starving.pool]
    if pool.state is not None:
        request_pass(world, pool)


def settle(world: World, node: int) -> None:
    """The node's state follows from what is on it now (NODE-9, NOP-6, NOP-2)."""
    nodes = world.nodes
    state = nodes.state[node]
    if state not in (_IDLE, _RUNNING):
        return
    record = nodes[node]
    busy = nodes.busy(node)
    if record.operation is not None:
        node_operations.drained(world, node)
    elif record.scheduling is SchedulingState.DISABLED and not busy:
        nodes.set_state(world.now_ms, node, NodeState.OFFLINE)
    elif busy != (state == _RUNNING):
        nodes.set_state(world.now_ms, node, _RUNNING if busy else _IDLE)


# -- the pass --------------------------------------------------------------------------------------------------------


def request_pass(world: World, pool: Pool) -> None:
    """Let a pass happen at the end of this instant, at most one (SCHED-15)."""
    if not pool.pass_due:
        pool.pass_due = True
        world.calendar.at(world.now_ms, DueKind.PASS, pool.row)


def run_pass(world: World, due: Due) -> None:
    """Place every task that can be placed, then look at the nodes that were left."""
    pool = world.pools[due.key]
    if not pool.pass_due or pool.state is None:
        return
    if pool.turns:
        place_all(world, pool)
    if pool.turns and pool.has_preemptible:
        preemption.make_room(world, pool)
    pool.pass_due = False
    unsettled, pool.unsettled = pool.unsettled, []
    for node in dict.fromkeys(unsettled):
        settle(world, node)


def place_all(world: World, pool: Pool) -> None:
    """Jobs take turns until nobody finds room (SCHED-4, SCHED-6, SCHED-7, SCHED-9)."""
    jobs = world.jobs.rows
    turns = pool.turns
    blocked: list[int] = []
    while turns and any(pool.buckets[1:]):
        job = jobs[turns[0] & ROW_MASK]
        found = _place_one(world, pool, job) if may_take_turns(job, pool) else None
        if found is None:
            key = heappop(turns)
            if may_take_turns(job, pool):
                blocked.append(key)
            else:
                job.in_turn = False
            continue
        task, chosen, profile = found
        for node in chosen:
            take_slots(world, pool, node, profile.required_slots)
        next_turn(pool, job)
        if profile.instances:
            multi_instance.assign(world, job, task, tuple(chosen), profile)
        else:
            assign(world, job, task, chosen[0], profile)
        if profile.exclusive:
            open_node(world, chosen[0])
    for key in blocked:
        heappush(turns, key)


def _place_one(world: World, pool: Pool, job: Job) -> tuple[int, Sequence[int], TaskProfile] | None:
    """Take the job's first task for which there is room, and choose its nodes."""
    tasks = world.tasks
    for _, queue in queues_in_order(job):
        task = queue.head()
        profile = tasks.profiles[tasks.profile[task]]
        chosen = placement.choose_nodes(world, pool, job, task, profile)
        if chosen:
            queue.take()
            job.ready_count -= 1
            return task, chosen, profile
        starvation.report(world, pool, job, task, profile)
    return None


def fill_node(world: World, pool: Pool, node: int) -> bool:
    """Jobs take turns on one node, the only one with new room; its place among the buckets is the caller's to keep.

    Returns whether the node now belongs to one exclusive task (JM-5).
    """
    nodes, tasks, jobs = world.nodes, world.tasks, world.jobs.rows
    turns = pool.turns
    blocked: list[int] = []
    exclusively = False
    while turns and nodes.free[node] > 0 and not exclusively:
        job = jobs[turns[0] & ROW_MASK]
        task = _first_that_fits(world, pool, job, node) if may_take_turns(job, pool) else None
        if task is None:
            key = heappop(turns)
            if may_take_turns(job, pool):
                blocked.append(key)
                if starvation.is_overdue(world, pool, job):
                    request_pass(world, pool)
            else:
                job.in_turn = False
            continue
        profile = tasks.profile_of(task)
        nodes.free[node] -= profile.required_slots
        next_turn(pool, job)
        assign(world, job, task, node, profile)
        exclusively = profile.exclusive
        if profile.manager:
            request_pass(world, pool)  # those behind it in its queue may find room on other nodes
    for key in blocked:
        heappush(turns, key)
    return exclusively


def _first_that_fits(world: World, pool: Pool, job: Job, node: int) -> int | None:
    """Take the job's first task for which the node has room; not one that needs several at once (MI-2)."""
    tasks = world.tasks
    for lane, queue in queues_in_order(job):
        if lane > 0 and placement.has_room(world, pool, job, tasks.profile_of(queue.head()), node):
            job.ready_count -= 1
            return queue.take()
    return None


def next_turn(pool: Pool, job: Job) -> None:
    """The job in front has been served: it goes behind its equals, or out if it has nothing more to place."""
    pool.served += 1
    job.served = pool.served
    if job.ready_count:
        heapreplace(pool.turns, turn_key(job, pool))
    else:
        heappop(pool.turns)
        job.in_turn = False


def assign(world: World, job: Job, task: int, node: int, profile: TaskProfile) -> None:
    """The task is on the node, slots taken: it prepares or runs (PREP-3), and the node is running (NODE-9)."""
    if job.has_prep:
        preparation.assign(world, job, task, node, profile)
    else:
        outcomes.start_task(world, task, node, profile)
    nodes = world.nodes
    if nodes.state[node] == _IDLE:
        nodes.set_state(world.now_ms, node, _RUNNING)


def tasks_are_ready(world: World, due: Due) -> None:
    """TIME-9: the tasks of a block are seen by the scheduler; those that depend on others wait on (DEP-4)."""
    block = world.tasks.blocks[due.key]
    job = world.jobs[block.job]
    if job.state is None:
        return
    tasks = world.tasks
    book = world.dependencies.get(job.row)
    first, count = block.first, block.source.count
    profiles = tasks.profile[first : first + count]
    alike = tasks.profiles[profiles[0]] if profiles.count(profiles[0]) == count else None
    if book is None and alike is not None and not alike.manager and not any(tasks.state[first : first + count]):
        queue_of(job, alike.lane).add_range(first, count)
        tasks_became_ready(world, job, count)
        return
    ready = 0
    for task in range(first, first + count):
        if tasks.state[task] == ACTIVE and not (book is not None and book.is_waiting(task)):
            profile = tasks.profile_of(task)
            queue = queue_of(job, profile.lane)
            if profile.manager:
                queue.add_first(task)
            else:
                queue.add_range(task, 1)
            ready += 1
    if ready:
        tasks_became_ready(world, job, ready)


def is_seen(world: World, task: int) -> bool:
    """Whether the scheduler knows of the task by now (TIME-9); until then ``tasks_are_ready`` alone may queue it."""
    return world.now_ms > world.tasks.block_of(task).created_ms + SCHEDULING_LATENCY_MS
