"""The hot path: a task ends well, and its slots go to the next task on the same node.

Nine of ten entries in the calendar of a large run are this. Here it is done in one function with everything
at hand; ``outcomes`` and ``scheduling`` say the same in a dozen, and do whatever is not plain. A test runs
both and compares the logs byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.calendar import Due
from engine.rules import outcomes, scheduling
from engine.state.columns import PAGE_BITS
from engine.state.instances import Mark
from engine.state.tasks import COMPLETED, NEVER_MS, RUNNING
from engine.terms import JobState, PoolState

if TYPE_CHECKING:
    from engine.world import World

# A job's preparation is valid on the node, and with a release task: a task has run there, which need not be noted again.
_PREPARED = Mark.VALID
_SETTLED = Mark.VALID | Mark.RAN
_JOB_ACTIVE, _POOL_ACTIVE = JobState.ACTIVE, PoolState.ACTIVE


def task_ended(world: World) -> Callable[[Due], None]:
    """The rule for DueKind.TASK_ENDED. The tables are bound once: they change their contents, never their identity."""
    calendar, log, tasks, nodes, instances = world.calendar, world.log, world.tasks, world.nodes, world.instances
    env, rearm_in = calendar.env, calendar.rearm_in
    state, started, ended, planned, on_node = tasks.state, tasks.started, tasks.ended, tasks.planned, tasks.node
    code, profile_of, profiles, start_entry = tasks.code, tasks.profile, tasks.profiles, tasks.start_entry
    is_open, ran, succeeded, running = nodes.open, nodes.ran, nodes.succeeded, nodes.running
    jobs, pools, records = world.jobs.rows, world.pools.rows, nodes.records.rows
    mark, instance_of = instances.mark, instances.row
    when, shape_of, row_a, row_b = (column.append for column in (log.when, log.shape_of, log.row_a, log.row_b))
    success, start = tasks.first_success, tasks.first_start
    end_with_care, all_else = outcomes.task_ended, scheduling.slots_came_free
    assign, next_turn, row_mask = scheduling.assign, scheduling.next_turn, scheduling.ROW_MASK

    def rule(due: Due) -> None:
        task = due.key
        now_ms = env._now
        if state[task] != RUNNING or ended[task] != now_ms:
            return
        profile = profiles[profile_of[task]]
        page = task >> PAGE_BITS
        job = jobs[profile.job]
        if code[task] or not profile.hot or task in tasks.sparse[page] or job.max_parallel >= 0:
            end_with_care(world, due)
            return
        # The task is completed (outcomes.task_ended, TaskTable.succeed).
        node = on_node[task]
        pool = pools[records[node].pool]
        slots = profile.required_slots
        state[task] = COMPLETED
        tasks.dirty[page] = 1
        here = running[node]
        here.discard(task)
        ran[node] += 1
        succeeded[node] += 1
        nodes.dirty[node >> PAGE_BITS] = 1
        pool.busy_slot_ms += slots * (now_ms - started[task])
        counts = job.counts
        counts[RUNNING] -= 1
        counts[COMPLETED] += 1
        when(now_ms)
        shape_of(success)
        row_a(task)
        row_b(node)
        if counts[COMPLETED] == job.total or job.state is not _JOB_ACTIVE:
            outcomes.task_left(world, job)
        # Who is next (scheduling.slots_came_free, fill_node)?
        turns = pool.turns
        if not turns or not is_open[node] or pool.pass_due:
            all_else(world, node, slots)
            return
        job = jobs[turns[0] & row_mask]
        ready = job.ready
        lane = ready.get(slots)
        if (
            lane is None
            or len(ready) > 1
            or not lane.size
            or job.barred
            or job.max_parallel >= 0
            or job.state is not _JOB_ACTIVE
            or pool.state is not _POOL_ACTIVE
        ):
            all_else(world, node, slots)
            return
        profile = profiles[profile_of[lane.head()]]
        if not profile.hot:
            all_else(world, node, slots)
            return
        task = lane.take()
        job.ready_count -= 1
        next_turn(pool, job)
        if started[task] != NEVER_MS:
            assign(world, job, task, node, profile)
            return
        if job.has_prep:
            row = instance_of(job.row, node)
            if row < 0 or mark[row] & _SETTLED != _SETTLED:
                assign(world, job, task, node, profile)
                return
        # The task runs (outcomes.start_task, TaskTable.start).
        delay_ms = planned[task]
        state[task] = RUNNING
        on_node[task] = node
        started[task] = now_ms
        ended[task] = now_ms + delay_ms
        start_entry[task] = len(log.when)
        tasks.dirty[task >> PAGE_BITS] = 1
        here.add(task)
        counts = job.counts
        counts[0] -= 1
        counts[RUNNING] += 1
        when(now_ms)
        shape_of(start)
        row_a(task)
        row_b(node)
        rearm_in(due, delay_ms, task)

    return rule
