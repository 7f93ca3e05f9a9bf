"""The fast path of attempts that fail: a plain task begins again at once where it is, and succeeds later.

The loop of ``fast_path`` calls it. ``tasks.attempts`` and ``scheduling`` do the same in many steps.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapreplace
from typing import TYPE_CHECKING

from engine.base.terms import JobState, PoolState
from engine.rules.decisions.verdicts import retry_verdict
from engine.rules.tasks import attempts
from engine.state.instances import PrepFlag
from engine.state.nodes import BUSY
from engine.state.pools import ROW_MASK
from engine.state.tables import PAGE_BITS
from engine.state.task_records import PLAIN
from engine.state.tasks import COMPLETED, TIME_LIMIT_CODE

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world import World


# A job's preparation is valid on the node; with a release task it also counts that a task has run there.
PREPARED = PrepFlag.VALID
SETTLED = PrepFlag.VALID | PrepFlag.RAN


def retrier_in_place(world: World) -> Callable[[Pool, Job, int, int], bool]:
    """Return a function that starts a plain task again on its node whose first attempt has failed.

    No other task comes first there. The end of the attempt is the first in the calendar; that of the next one takes its
    place. Returns False, and has changed nothing, if the task needs more than that.
    """
    calendar, log, tasks, nodes, instances = world.calendar, world.log, world.tasks, world.nodes, world.instances
    code, profile_of, briefs, sparse = tasks.code, tasks.profile, tasks.briefs, tasks.sparse
    dirty, is_open, free = nodes.dirty[BUSY], nodes.open, nodes.free

    def retry(pool: Pool, job: Job, task: int, node: int) -> bool:
        turns, extras, number, exit_code = pool.turns, sparse[task >> PAGE_BITS], profile_of[task], code[task]
        slots, profile = briefs[number][1], tasks.profiles[number]
        queue = job.ready.get(slots)
        if (
            task in extras
            or exit_code == TIME_LIMIT_CODE
            or queue is None
            or queue.returned
            or queue.late
            or len(job.ready) > 1
            or not turns
            or turns[0] & ROW_MASK != job.row
            or job.ineligible
            or job.state is not JobState.ACTIVE
            or job.counts[COMPLETED] >= job.reports_from
            or pool.state is not PoolState.ACTIVE
            or pool.pass_due
            or not pool.fills_at_once
            or not is_open[node]
            or (slots > 1 and free[node])
            or not retry_verdict(profile, job, PLAIN, exit_code)
        ):
            return False
        if job.has_prep:
            row = instances.row(job.row, node)
            needed = SETTLED if job.has_release else PREPARED
            if row < 0 or instances.flags[row] & needed != needed:
                return False
        now_ms = calendar.now_ms
        # The attempt ends (attempts.end_with_care, TaskTable.back_to_active), and the next one starts (attempts.start).
        end_ms = min(now_ms + attempts.plan_of_attempt(world, task, profile, 2).total_ms, world.latest_ms)
        extras[task] = PLAIN._replace(attempts=2, retry_count=1, last_retry_ms=now_ms)
        tasks.copied_whole.add(task)
        tasks.started[task] = now_ms
        tasks.ended[task] = end_ms
        tasks.start_entry[task] = len(log) + 1
        log.extend([now_ms] * 2, [*tasks.retry_shapes(exit_code)], [task] * 2, [node] * 2)
        here = nodes.running[node]
        here.discard(task)  # among the others it comes last
        here.add(task)
        nodes.ran[node] += 1
        nodes.failed[node] += 1
        dirty[node >> PAGE_BITS] = 1
        heapreplace(calendar.ends, (end_ms, calendar.next_number(), task, 1))
        # The job has had its turn (Pool.end_turn); its slots stay busy.
        pool.change_busy_slots(now_ms, 0)
        pool.end_turn(world.jobs.edit(job.row))
        return True

    return retry


def ender_of_retries(world: World) -> Callable[[int], int | None]:
    """Return a function that notes what is particular about a plain task that succeeds in a later attempt.

    It returns the shape of the log for that. Returns None, and has changed nothing, if the attempt has ended otherwise.
    """
    tasks, plans = world.tasks, world.plans

    def end_retried(task: int) -> int | None:
        extras, known = tasks.sparse[task >> PAGE_BITS], plans.get(task)
        extra = extras.get(task)
        if extra is None or known is None or known[:2] != (extra.attempts, tasks.profiles[tasks.profile[task]]):
            return None
        if known[2].failure is not None or known[2].exit_code != 0:
            return None
        del plans[task]
        extras[task] = extra._replace(exit_code=0, failure=None)
        tasks.copied_whole.discard(task)
        return tasks.success_shape(extra.attempts)

    return end_retried
