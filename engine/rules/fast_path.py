"""The fast paths: a task succeeds and its slots go to the next one, and a node is prepared for a job's first task.

Nine of ten entries in the calendar of a large run are ends of such tasks. One loop handles them, and writes the columns
of the tables itself. While one job has all the turns, a shorter loop follows it, which writes most columns for many
tasks at once.

A job's first task comes to each node, waits for the preparation there, and starts, one node after the other, so that
nothing can be done for many at once. ``fast_retries`` has what the loop does with attempts that fail.

``preparation``, ``tasks.attempts`` and ``scheduling`` do the same in many steps, and everything that is not plain.
Tests play runs both ways and compare the logs byte for byte.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from heapq import heappop, heappush, heapreplace
from typing import TYPE_CHECKING

from engine.base.calendar import Due, DueKind
from engine.base.terms import InstanceState, JobState, ReleaseAfter
from engine.rules import preparation, scheduling
from engine.rules.facts import TaskStopped
from engine.rules.fast_retries import PREPARED, SETTLED, begin_again, end_retried, next_queue
from engine.rules.processes import output_files
from engine.rules.tasks import attempts
from engine.state.instances import FLAGS, PREP, PrepFlag
from engine.state.nodes import BUSY
from engine.state.pools import ROW_BITS, ROW_MASK
from engine.state.tables import PAGE_BITS
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING

if TYPE_CHECKING:
    from engine.shell.protocol import Plan
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import ReadyQueue
    from engine.world import World


_NODE_PREPARED = PrepFlag.VALID | PrepFlag.PREPARED_ONCE
_PREP_RUNNING, _PREP_COMPLETED = int(InstanceState.RUNNING), int(InstanceState.COMPLETED)
_NOBODY: set[int] = set()
_PREPARATION_ENDED = DueKind.PREPARATION_ENDED


def preparer_of_nodes(world: World) -> Callable[[Job, int, int], bool]:
    """Return a function that lets a job's first task on a node wait there while the node is prepared.

    The task has never begun, and the end of the one before it is still the first in the calendar; it is removed.
    Returns False, and has changed nothing, if the preparation is not plain.
    """
    calendar, log, tasks, nodes, instances = world.calendar, world.log, world.tasks, world.nodes, world.instances
    state, on_node, preparing = tasks.state, tasks.node, nodes.preparing
    runs, first, started, ended = instances.prep_runs, instances.prep_first, instances.prep_start, instances.prep_end
    prep_state, ends, latest_ms = instances.prep_state, calendar.ends, world.latest_ms
    prep_start, wait = instances.first_prep_start, tasks.first_wait
    start_matters = world.options.release_after is ReleaseAfter.PREPARATION

    def prepare(job: Job, task: int, node: int) -> bool:
        plan = _fixed_plan(world, job)
        if plan is None or start_matters or not job.waits_for_prep:
            return False
        now_ms = calendar.now_ms
        # The preparation starts (preparation._start, InstanceTable.prep_start_run).
        row = instances.need(job.row, node)
        runs[row] = 1
        first[row] = started[row] = now_ms
        ended[row] = end_ms = min(now_ms + plan.total_ms, latest_ms)
        prep_state[row] = _PREP_RUNNING
        log.append(now_ms, prep_start, job.row, node)
        heappop(ends)
        calendar.at(end_ms, _PREPARATION_ENDED, row)
        # The task waits (attempts.task_assigned, TaskTable.prepare).
        state[task] = PREPARING
        on_node[task] = node
        preparing.setdefault(node, set()).add(task)
        counts = job.counts
        counts[ACTIVE] -= 1
        counts[PREPARING] += 1
        log.append(now_ms, wait, task, node)
        return True

    return prepare


def ender_of_preparations(world: World) -> Callable[[Due], None]:
    """Return the rule for ends of preparations."""
    calendar, log, tasks, nodes, instances = world.calendar, world.log, world.tasks, world.nodes, world.instances
    state, started, ended, planned = tasks.state, tasks.started, tasks.ended, tasks.planned
    profile_of, briefs, sparse = tasks.profile, tasks.briefs, tasks.sparse
    preparing, running, records = nodes.preparing, nodes.running, nodes.records.rows
    job_of, node_of, flags = instances.job, instances.node, instances.flags
    prep_state, prep_runs = instances.prep_state, instances.prep_runs
    flags_dirty, prep_dirty = instances.dirty[FLAGS], instances.dirty[PREP]
    prep_success, start = instances.first_prep_success, tasks.first_prepared_start
    jobs, pools, ends = world.jobs.rows, world.pools.rows, calendar.ends

    def end_preparation(due: Due) -> None:
        row, now_ms = due.key, calendar.now_ms
        job, node = jobs[job_of[row]], node_of[row]
        plan = _fixed_plan(world, job)
        here = preparing.get(node, _NOBODY)
        waiting = [task for task in here if briefs[profile_of[task]][0] == job.row]
        # As long as a task waits for the first run of a preparation, that run goes on as it was planned.
        if prep_runs[row] != 1 or plan is None or plan.exit_code != 0 or len(waiting) != 1:
            preparation.preparation_ended(world, due)
            return
        task = waiting[0]
        _, slots, ends_plainly, _ = briefs[profile_of[task]]
        if not ends_plainly or task in sparse[task >> PAGE_BITS]:
            preparation.preparation_ended(world, due)
            return
        # The preparation is completed (preparation._succeeded, InstanceTable.prep_complete).
        prep_state[row] = _PREP_COMPLETED
        flags[row] |= (_NODE_PREPARED | PrepFlag.RAN) if job.has_release else _NODE_PREPARED
        page = row >> PAGE_BITS
        flags_dirty[page] = prep_dirty[page] = 1
        instances.changes += 1
        log.append(now_ms, prep_success, job.row, node)
        record = records[node]
        if record.pool == job.pool:
            job.prepared |= 1 << record.position
        # The task starts (attempts.start, TaskTable.start).
        end_ms = now_ms + planned[task]
        state[task] = RUNNING
        started[task] = now_ms
        ended[task] = end_ms
        tasks.start_entry[task] = len(log.when)
        here.discard(task)
        if not here:
            del preparing[node]
        running[node].add(task)
        counts = job.counts
        counts[PREPARING] -= 1
        counts[RUNNING] += 1
        log.append(now_ms, start, task, node)
        pools[record.pool].change_busy_slots(now_ms, slots)
        heappush(ends, (end_ms, calendar.next_number(), task, 0))

    return end_preparation


def _fixed_plan(world: World, job: Job) -> Plan | None:
    """Return the plan of every start of the job's preparation; None if they differ, or if there was none yet."""
    hook = world.prep_hooks.get(job.row)
    return None if hook is None else hook.fixed


_NO_ROWS = array("i")
_TOGETHER = 1024  # tasks that are looked at together at most
_STATE_RUNNING = bytes([RUNNING])
_JOB_ACTIVE = JobState.ACTIVE


def ender_of_tasks(world: World) -> Callable[[], None]:  # noqa: C901, PLR0915  # long on purpose
    """Return the rule for ends of tasks. Tables and columns are bound once, since they are never replaced."""
    calendar, log, tasks, nodes, instances = world.calendar, world.log, world.tasks, world.nodes, world.instances
    profiles = tasks.profiles
    state, started, ended, planned, on_node = tasks.state, tasks.started, tasks.ended, tasks.planned, tasks.node
    code, profile_of, briefs, start_entry = tasks.code, tasks.profile, tasks.briefs, tasks.start_entry
    ran, running, nodes_dirty = nodes.ran, nodes.running, nodes.dirty[BUSY]
    jobs, pools, records = world.jobs.rows, world.pools.rows, nodes.records.rows
    flags, instance_rows = instances.flags, instances.rows
    log_times, ends, others = log.when, calendar.ends, calendar.others
    when, shape_of, row_a, row_b = (column.append for column in (log.when, log.shape_of, log.row_a, log.row_b))
    success, start = tasks.first_success, tasks.first_start
    fill_after_task, look_elsewhere = scheduling.fill_after_task, world.scheduler.look_elsewhere
    assign, leave_outputs, start_again = scheduling.assign, output_files.leave_plain_outputs, attempts.start
    prepare, follow = preparer_of_nodes(world), follower_of_jobs(world)

    def fill_by_rules(pool: Pool, node: int, slots: int, task: int) -> None:
        """Leave the choice of the next task to ``scheduling``; the task that has ended may have to run again."""
        pool.change_busy_slots(calendar.now_ms, -slots)
        heappop(ends)
        fill_after_task(world, node, slots)
        look_elsewhere(task)

    def end_tasks() -> None:  # noqa: C901, PLR0912, PLR0915
        while True:  # Python 3.11 adapts a loop to its types only if it jumps back without a condition
            if not calendar.left or not ends:
                return
            # The entry stays the first until its task's slots are given away: what is added meanwhile comes later.
            now_ms, _, task, token = ends[0]
            if now_ms > calendar.limit_ms or (others and others[0][0] < now_ms):
                return
            if state[task] != RUNNING or ended[task] != now_ms:
                calendar.take_task_end()
                continue
            job_row, slots, ends_plainly, has_outputs = briefs[profile_of[task]]
            job = jobs[job_row]
            needs_care = token or code[task]
            if job.max_parallel >= 0 or (
                needs_care and not ends_plainly and profiles[profile_of[task]].process is None
            ):
                attempts.task_ended(world, calendar.take_task_end())
                continue
            node = on_node[task]
            pool = pools[records[node].pool]
            if needs_care and not token:
                chosen = next_queue(world, pool, node, slots)
                if chosen and chosen[0] is job and not chosen[1].returned and follow(pool, *chosen, slots, 1):
                    continue
            calendar.now_ms = now_ms
            calendar.left -= 1
            if has_outputs and not needs_care and not leave_outputs(world, task, node, profiles[profile_of[task]]):
                needs_care = 1
            here = running[node]
            shape = success
            if token and ends_plainly and not has_outputs and (retried := end_retried(world, task)) is not None:
                needs_care, shape = 0, retried[0]
            if needs_care:
                attempts.end_with_care(world, task, node, profiles[profile_of[task]])
                pool.change_busy_slots(now_ms, slots)  # until it is known that no task follows
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
                shape_of(shape)
                row_a(task)
                row_b(node)
                if counts[COMPLETED] >= job.reports_from or job.state is not _JOB_ACTIVE:
                    world.emit(TaskStopped(job.row))
            # Choose the next task (scheduling.fill_after_task).
            chosen = next_queue(world, pool, node, slots)
            if chosen is None:
                fill_by_rules(pool, node, slots, task)
                continue
            job, queue = chosen
            turns, turn = pool.turns, pool.turns[0]
            ended_task, has_run = task, bool(queue.returned)
            task = queue.head() if has_run else queue.next
            if not briefs[profile_of[task]][2]:
                fill_by_rules(pool, node, slots, ended_task)
                continue
            # The job's turn is over (ReadyQueue.take, Pool.end_turn).
            if has_run or task + 1 == queue.end:
                queue.take()
            else:
                queue.next = task + 1
                queue.size -= 1
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
            row = -1
            is_prepared = not job.has_prep
            if not is_prepared:
                rows = instance_rows.get(job.row)
                row = rows[node] if rows is not None and node < len(rows) else -1
                needed = SETTLED if job.has_release else PREPARED
                is_prepared = row >= 0 and flags[row] & needed == needed
            if has_run or not is_prepared:
                pool.change_busy_slots(now_ms, -slots)
                if is_prepared:
                    heappop(ends)
                    start_again(world, task, node, row)
                elif has_run or row >= 0 or not prepare(job, task, node):
                    heappop(ends)
                    assign(world, job, task, node)
                if needs_care:
                    look_elsewhere(ended_task)
                continue
            # The next task starts (attempts.start, TaskTable.start).
            end_ms = now_ms + planned[task]
            state[task] = RUNNING
            on_node[task] = node
            started[task] = now_ms
            ended[task] = end_ms
            start_entry[task] = len(log_times)
            here.add(task)
            counts = job.counts
            counts[ACTIVE] -= 1
            counts[RUNNING] += 1
            when(now_ms)
            shape_of(start)
            row_a(task)
            row_b(node)
            heapreplace(ends, (end_ms, calendar.next_number(), task, 0))
            if needs_care:
                look_elsewhere(ended_task)
            elif not has_outputs and turns and turns[0] & ROW_MASK == job.row:
                # Just served and still the first, it stays so: among equals it would be the last (Pool.turn_key).
                follow(pool, job, queue, slots, _TOGETHER)

    return end_tasks


def follower_of_jobs(world: World) -> Callable[[Pool, Job, ReadyQueue, int, int], bool]:  # noqa: C901, PLR0915  # long on purpose
    """Return a function that handles ends of tasks as long as each is plain and one job's next task takes the slots.

    A task of that job that fails begins again where it is, and takes none from the queue. What the next entry depends
    on is written at once, and everything else for all tasks together. The function takes the pool, the job whose turn
    it is, its queue for these task slots, how many slots they are, and how many entries it may handle. It returns at
    the first entry that the loop of ``ender_of_tasks`` has to handle; False if it has handled none.
    """
    calendar, log, tasks, nodes, instances = world.calendar, world.log, world.tasks, world.nodes, world.instances
    state, planned, on_node, code = tasks.state, tasks.planned, tasks.node, tasks.code
    started, ended, start_entry = tasks.started, tasks.ended, tasks.start_entry
    profile_of, briefs = tasks.profile, tasks.briefs
    is_open, free, ran, running, records = nodes.open, nodes.free, nodes.ran, nodes.running, nodes.records.rows
    nodes_dirty = nodes.dirty[BUSY]
    jobs, flags, instance_rows = world.jobs.rows, instances.flags, instances.rows
    heap, others = calendar.ends, calendar.others
    shapes = [tasks.first_success, tasks.first_start]

    def follow(pool: Pool, job: Job, queue: ReadyQueue, slots: int, most: int) -> bool:  # noqa: C901, PLR0912, PLR0915
        first = queue.next
        profile = profile_of[first]  # all tasks of a range have the same brief
        # The last task of the queue is left to the other loop. So one task of the job stays active and another one
        # runs, and no completion here can be one that matters to the job (``Job.reports_from``).
        last = min(queue.end - 1, first + calendar.left, first + most)
        _, _, ends_plainly, has_outputs = brief = briefs[profile]
        if first >= last or has_outputs or not ends_plainly:
            return False
        pool_row, next_number = pool.row, calendar.next_number
        limit_ms = min(calendar.limit_ms, others[0][0]) if others else calendar.limit_ms
        needed = (SETTLED if job.has_release else PREPARED) if job.has_prep else 0
        rows = instance_rows.get(job.row, _NO_ROWS)
        completed_of_others = 0
        times_ms: list[int] = []
        done_tasks: list[int] = []
        used_nodes: list[int] = []
        retried: list[int] = []  # which of these tasks begin again
        particular: list[tuple[int, Sequence[int]]] = []  # other shapes than usual, by their place in the log
        state[first:last] = _STATE_RUNNING * (last - first)  # those that do not start are active again below
        task = first
        for number in range(last - first):
            now_ms, _, done, token = heap[0]
            is_particular = token or code[done]
            if now_ms > limit_ms or (is_particular and briefs[profile_of[done]] != brief):
                break
            node = on_node[done]
            if not first <= done < task:  # else it started in this loop, on a node that was looked at before
                if (
                    state[done] != RUNNING
                    or ended[done] != now_ms
                    or records[node].pool != pool_row
                    or not is_open[node]
                    or (slots > 1 and free[node])
                ):
                    break
                if needed and (node >= len(rows) or rows[node] < 0 or flags[rows[node]] & needed != needed):
                    break
                ended_profile = profile_of[done]
                if ended_profile != profile:
                    job_row, ended_slots, _, has_outputs = briefs[ended_profile]
                    if ended_slots != slots or has_outputs:
                        break
                    if job_row != job.row:
                        other = jobs[job_row]
                        counts = other.counts
                        if (
                            other.max_parallel >= 0
                            or other.state is not _JOB_ACTIVE
                            or counts[COMPLETED] + 1 >= other.reports_from
                        ):
                            break
                        counts[RUNNING] -= 1
                        counts[COMPLETED] += 1
                        completed_of_others += 1
            if is_particular:
                changed = end_retried(world, done) if token else begin_again(world, job, done, node)
                if changed is None:
                    break
                particular.append((2 * number, changed))
            times_ms.append(now_ms)
            done_tasks.append(done)
            used_nodes.append(node)
            if is_particular and not token:
                retried.append(number)
                continue
            ended[task] = end_ms = now_ms + planned[task]
            on_node[task] = node
            heapreplace(heap, (end_ms, next_number(), task, 0))
            state[done] = COMPLETED
            here = running[node]
            here.discard(done)
            here.add(task)
            task += 1
        count = task - first
        state[task:last] = bytes(last - task)
        if not times_ms:
            return False
        calendar.now_ms = times_ms[-1]
        calendar.left -= len(times_ms)
        # TaskTable.start; and TaskTable.succeed, which finds the planned end in its column already.
        at = len(log.when)
        begun = list(range(first, task))
        for number in retried:
            begun.insert(number, done_tasks[number])
        if retried:
            for number, row in enumerate(begun):
                started[row], start_entry[row] = times_ms[number], at + 1 + 2 * number
        else:
            started[first:task] = array(started.typecode, times_ms)
            start_entry[first:task] = array("i", range(at + 1, at + 2 * count, 2))
        kinds = shapes * len(times_ms)
        for place, found in particular:
            kinds[place : place + len(found)] = found
        log.extend(
            _interleaved(times_ms, times_ms),
            kinds,
            _interleaved(done_tasks, begun),
            _interleaved(used_nodes, used_nodes),
        )
        for node in used_nodes:
            ran[node] += 1
            nodes_dirty[node >> PAGE_BITS] = 1
        counts = job.counts
        counts[ACTIVE] -= count
        counts[RUNNING] += completed_of_others
        counts[COMPLETED] += count - completed_of_others
        # ReadyQueue.take, Pool.end_turn
        queue.next += count
        queue.size -= count
        job.ready_count -= count
        pool.served += len(times_ms)
        job.served = pool.served
        heapreplace(pool.turns, pool.turn_key(job))
        return True

    return follow


def _interleaved(some: Sequence[int], others: Sequence[int]) -> list[int]:
    """Return the numbers of two sequences of the same length, one of each in turns."""
    both = [0] * (2 * len(some))
    both[::2], both[1::2] = some, others
    return both
