"""The fast path of preparation: a job's first task comes to a node, waits for the preparation there, and starts.

This happens on each node for each job, one after the other, so that nothing can be done for many at once. Both steps
write the columns of the tables themselves. ``preparation`` and ``tasks.attempts`` do the same in many steps, and
everything that is not plain.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from engine.base.terms import InstanceState, ReleaseAfter
from engine.events.calendar import Due, DueKind
from engine.rules import preparation
from engine.state.columns import PAGE_BITS
from engine.state.instances import FLAGS, PREP, PrepFlag
from engine.state.tasks import ACTIVE, PREPARING, RUNNING

if TYPE_CHECKING:
    from engine.executors.protocol import Plan
    from engine.state.jobs import Job
    from engine.world.world import World

_PREPARED = PrepFlag.VALID | PrepFlag.PREPARED_ONCE
_PREP_RUNNING, _PREP_COMPLETED = int(InstanceState.RUNNING), int(InstanceState.COMPLETED)
_NOBODY: set[int] = set()
_PREPARATION_ENDED = DueKind.PREPARATION_ENDED


def preparer_of_nodes(world: World) -> Callable[[Job, int, int], bool]:
    """Return a function that lets a job's first task on a node wait there while the node is prepared.

    The task has never begun, and the end of the one before it is still the first in the calendar; it is removed.
    Returns False, and has changed nothing, if the preparation is not plain.
    """
    calendar, log, tasks, nodes, instances = world.calendar, world.log, world.tasks, world.nodes, world.instances
    state, on_node, copied_whole, preparing = tasks.state, tasks.node, tasks.copied_whole, nodes.preparing
    runs, first, started, ended = instances.prep_runs, instances.prep_first, instances.prep_start, instances.prep_end
    prep_state, ends, latest_ms = instances.prep_state, calendar.ends, world.latest_ms
    when, shape_of, row_a, row_b = (column.append for column in (log.when, log.shape_of, log.row_a, log.row_b))
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
        when(now_ms)
        shape_of(prep_start)
        row_a(job.row)
        row_b(node)
        heappop(ends)
        calendar.at(end_ms, _PREPARATION_ENDED, row)
        # The task waits (attempts.task_assigned, TaskTable.prepare).
        state[task] = PREPARING
        on_node[task] = node
        copied_whole.add(task)
        preparing.setdefault(node, set()).add(task)
        counts = job.counts
        counts[ACTIVE] -= 1
        counts[PREPARING] += 1
        when(now_ms)
        shape_of(wait)
        row_a(task)
        row_b(node)
        return True

    return prepare


def ender_of_preparations(world: World) -> Callable[[Due], None]:  # noqa: PLR0915  # long on purpose
    """Return the rule for ends of preparations."""
    calendar, log, tasks, nodes, instances = world.calendar, world.log, world.tasks, world.nodes, world.instances
    state, started, ended, planned = tasks.state, tasks.started, tasks.ended, tasks.planned
    profile_of, briefs, sparse, copied_whole = tasks.profile, tasks.briefs, tasks.sparse, tasks.copied_whole
    preparing, running, records = nodes.preparing, nodes.running, nodes.records.rows
    job_of, node_of, flags = instances.job, instances.node, instances.flags
    prep_state, prep_runs = instances.prep_state, instances.prep_runs
    flags_dirty, prep_dirty = instances.dirty[FLAGS], instances.dirty[PREP]
    when, shape_of, row_a, row_b = (column.append for column in (log.when, log.shape_of, log.row_a, log.row_b))
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
        flags[row] |= (_PREPARED | PrepFlag.RAN) if job.has_release else _PREPARED
        page = row >> PAGE_BITS
        flags_dirty[page] = prep_dirty[page] = 1
        instances.changes += 1
        when(now_ms)
        shape_of(prep_success)
        row_a(job.row)
        row_b(node)
        record = records[node]
        if record.pool == job.pool:
            job.prepared |= 1 << record.position
        # The task starts (attempts.start, TaskTable.start).
        end_ms = now_ms + planned[task]
        state[task] = RUNNING
        copied_whole.discard(task)
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
        when(now_ms)
        shape_of(start)
        row_a(task)
        row_b(node)
        pools[record.pool].change_busy_slots(now_ms, slots)
        heappush(ends, (end_ms, calendar.next_number(), task, 0))

    return end_preparation


def _fixed_plan(world: World, job: Job) -> Plan | None:
    """Return the plan of every start of the job's preparation; None if they differ, or if there was none yet."""
    hook = world.prep_hooks.get(job.row)
    return None if hook is None else hook.fixed
