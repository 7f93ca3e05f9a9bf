"""What the loop of ``fast_path`` asks for at an end of a task: whose turn is next, and what becomes of failed attempts.

A plain task that fails begins again at once where it is, and succeeds later. ``tasks.attempts`` and ``scheduling`` do
the same in many steps.
"""

from __future__ import annotations

from heapq import heapreplace
from typing import TYPE_CHECKING

from engine.base.terms import JobState, PoolState
from engine.rules.decisions.verdicts import retry_verdict
from engine.rules.tasks import attempts
from engine.state.instances import PrepFlag
from engine.state.pools import ROW_MASK
from engine.state.tables import PAGE_BITS
from engine.state.task_records import PLAIN
from engine.state.tasks import TIME_LIMIT_CODE

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import ReadyQueue
    from engine.world import World


# A job's preparation is valid on the node; with a release task it also counts that a task has run there.
PREPARED = PrepFlag.VALID
SETTLED = PrepFlag.VALID | PrepFlag.RAN
_JOB_ACTIVE, _POOL_ACTIVE = JobState.ACTIVE, PoolState.ACTIVE


def next_queue(world: World, pool: Pool, node: int, slots: int) -> tuple[Job, ReadyQueue] | None:
    """Return the job and the queue whose first task takes free slots of a node.

    Returns None if ``scheduling.fill_after_task`` has to choose.
    """
    nodes, turns = world.nodes, pool.turns
    if not turns or not nodes.open[node] or pool.pass_due or not pool.fills_at_once:
        return None
    job = world.jobs.rows[turns[0] & ROW_MASK]
    queue = job.ready.get(slots)
    # There may be room for more than one task, if not for every one (SCHED-11).
    if queue is None or queue.late or not queue.size or len(job.ready) > 1 or (slots > 1 and nodes.free[node]):
        return None
    is_active = job.state is _JOB_ACTIVE and pool.state is _POOL_ACTIVE
    return (job, queue) if is_active and not job.ineligible and job.max_parallel < 0 else None


def begin_again(world: World, job: Job, task: int, node: int) -> tuple[int, int] | None:
    """Start a plain task again on its node whose first attempt has failed; return the shapes of its end and the start.

    The end of the attempt is the first in the calendar; that of the next one takes its place. The caller writes the
    log, the time of the start, and that a task has run on the node. Returns None, and has changed nothing, if the task
    needs more than that.
    """
    calendar, tasks, nodes = world.calendar, world.tasks, world.nodes
    extras, exit_code, profile = tasks.sparse[task >> PAGE_BITS], tasks.code[task], tasks.profile_of(task)
    if task in extras or exit_code == TIME_LIMIT_CODE or not retry_verdict(profile, job, PLAIN, exit_code):
        return None
    now_ms = calendar.ends[0][0]
    # The attempt ends (attempts.end_with_care, TaskTable.back_to_active), and the next one starts (attempts.start).
    end_ms = min(now_ms + attempts.plan_of_attempt(world, task, profile, 2).total_ms, world.latest_ms)
    extras[task] = PLAIN._replace(attempts=2, retry_count=1, last_retry_ms=now_ms)
    tasks.ended[task] = end_ms
    nodes.failed[node] += 1
    nodes.running[node].discard(task)
    nodes.running[node].add(task)  # among the others it comes last
    heapreplace(calendar.ends, (end_ms, calendar.next_number(), task, 1))
    return tasks.retry_shapes(exit_code)


def end_retried(world: World, task: int) -> tuple[int] | None:
    """Note what is particular about a plain task that succeeds in a later attempt; return its shape of the log.

    Returns None, and has changed nothing, if the attempt has ended otherwise.
    """
    tasks = world.tasks
    extra, plan = tasks.sparse_of(task), world.plans.get(task)
    is_known = extra is not None and plan is not None and plan[:2] == (extra.attempts, tasks.profile_of(task))
    if extra is None or plan is None or not is_known or plan[2].failure is not None or plan[2].exit_code != 0:
        return None
    del world.plans[task]
    tasks.set_extra(task, extra._replace(exit_code=0, failure=None))
    return (tasks.success_shape(extra.attempts),)
