"""The fast path: a task succeeds, and its slots go to the next task on the same node.

Nine of ten entries in the calendar of a large run are of this kind. One loop handles runs of them, and writes the
columns of the tables itself. ``tasks.attempts`` and ``scheduling`` do the same in many steps, and everything that is
not plain. A property test runs both and compares the logs byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heapreplace
from typing import TYPE_CHECKING

from engine.base.terms import JobState, PoolState
from engine.rules import scheduling
from engine.rules.processes import plain_outputs
from engine.rules.tasks import attempts
from engine.state.columns import PAGE_BITS
from engine.state.instances import PrepFlag
from engine.state.nodes import BUSY
from engine.state.pools import ROW_BITS, ROW_MASK
from engine.state.tasks import ACTIVE, COMPLETED, RUNNING
from engine.world.facts import TaskStopped

if TYPE_CHECKING:
    from engine.events.calendar import Due
    from engine.world.world import World

# A job's preparation is valid on the node; with a release task it also counts that a task has run there.
_PREPARED = PrepFlag.VALID
_SETTLED = PrepFlag.VALID | PrepFlag.RAN
_JOB_ACTIVE, _POOL_ACTIVE = JobState.ACTIVE, PoolState.ACTIVE


def ender_of_tasks(world: World) -> Callable[[Iterator[Due]], None]:  # noqa: C901, PLR0915  # long on purpose
    """Return the rule for runs of ends of tasks. Tables and columns are bound once, since they are never replaced."""
    calendar, log, tasks, nodes, instances = world.calendar, world.log, world.tasks, world.nodes, world.instances
    state, started, ended, planned, on_node = tasks.state, tasks.started, tasks.ended, tasks.planned, tasks.node
    code, profile_of, profiles, start_entry = tasks.code, tasks.profile, tasks.profiles, tasks.start_entry
    is_open, free, ran, running = nodes.open, nodes.free, nodes.ran, nodes.running
    nodes_dirty = nodes.dirty[BUSY]
    jobs, pools, records = world.jobs.rows, world.pools.rows, nodes.records.rows
    flags, instance_rows = instances.flags, instances.rows
    entries = log.when
    when, shape_of, row_a, row_b = (column.append for column in (log.when, log.shape_of, log.row_a, log.row_b))
    success, start = tasks.first_success, tasks.first_start
    fill_after_task, look_elsewhere = scheduling.fill_after_task, world.scheduler.look_elsewhere
    assign, leave_outputs = scheduling.assign, plain_outputs.leave

    def fill_by_rules(node: int, slots: int, task: int) -> None:
        """Leave the choice of the next task to ``scheduling``; the task that has ended may have to run again."""
        fill_after_task(world, node, slots)
        look_elsewhere(task)

    def end_tasks(dues: Iterator[Due]) -> None:  # noqa: C901, PLR0912, PLR0915
        for due in dues:
            task = due.key
            now_ms = calendar.now_ms
            if state[task] != RUNNING or ended[task] != now_ms:
                continue
            profile = profiles[profile_of[task]]
            job = jobs[profile.job]
            care = due.token or code[task]
            if job.max_parallel >= 0 or (care and profile.process is None):
                attempts.task_ended(world, due)
                continue
            node = on_node[task]
            if profile.outputs is not None and not care and not leave_outputs(world, task, node, profile):
                care = 1
            pool = pools[records[node].pool]
            slots = profile.required_slots
            here = running[node]
            if care:
                attempts.end_with_care(world, task, node, profile)
                pool.run_on(now_ms, slots)  # until it is known that no task follows
            else:
                # The task is completed (attempts.task_ended, TaskTable.succeed).
                state[task] = COMPLETED
                here.discard(task)
                ran[node] += 1
                nodes_dirty[node >> PAGE_BITS] = 1
                counts = job.counts
                counts[RUNNING] -= 1
                counts[COMPLETED] += 1
                when(now_ms)
                shape_of(success)
                row_a(task)
                row_b(node)
                if counts[COMPLETED] >= job.reports_from or job.state is not _JOB_ACTIVE:
                    world.emit(TaskStopped(job.row))
            # Choose the next task (scheduling.fill_after_task).
            turns = pool.turns
            if not turns or not is_open[node] or pool.pass_due or not pool.fills_at_once:
                pool.run_on(now_ms, -slots)
                fill_by_rules(node, slots, task)
                continue
            turn = turns[0]
            job = jobs[turn & ROW_MASK]
            lane = job.ready.get(slots)
            if (
                lane is None
                or (slots > 1 and free[node])  # there is room for more than one, if not for every task (SCHED-11)
                or len(job.ready) > 1
                or job.ineligible
                or job.max_parallel >= 0
                or job.state is not _JOB_ACTIVE
                or pool.state is not _POOL_ACTIVE
                or lane.returned
                or lane.late
                or lane.next == lane.end
                or not profiles[profile_of[lane.next]].hot
            ):
                pool.run_on(now_ms, -slots)
                fill_by_rules(node, slots, task)
                continue
            # The job's turn is over (ReadyQueue.take, Pool.end_turn).
            ended_task, task = task, lane.next
            if task + 1 == lane.end:
                lane.take()
            else:
                lane.next = task + 1
                lane.size -= 1
            job.ready_count -= 1
            pool.served = served = pool.served + 1
            if not job.ready_count:
                heappop(turns)
                job.in_turn = False
            elif not pool.oldest_first:
                turn += served - job.served << ROW_BITS
                if len(turns) > 1:
                    heapreplace(turns, turn)
                else:
                    turns[0] = turn
            job.served = served
            if job.has_prep:
                rows = instance_rows.get(job.row)
                row = rows[node] if rows is not None and node < len(rows) else -1
                needed = _SETTLED if job.has_release else _PREPARED
                if row < 0 or flags[row] & needed != needed:
                    pool.run_on(now_ms, -slots)
                    assign(world, job, task, node)
                    if care:
                        look_elsewhere(ended_task)
                    continue
            # The next task starts (attempts._start, TaskTable.start).
            end_ms = now_ms + planned[task]
            state[task] = RUNNING
            on_node[task] = node
            started[task] = now_ms
            ended[task] = end_ms
            start_entry[task] = len(entries)
            here.add(task)
            counts = job.counts
            counts[ACTIVE] -= 1
            counts[RUNNING] += 1
            when(now_ms)
            shape_of(start)
            row_a(task)
            row_b(node)
            due.key = task
            due.token = 0
            due.again_ms = end_ms
            if care:
                look_elsewhere(ended_task)

    return end_tasks
