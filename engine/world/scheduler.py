"""The scheduler's indices: queues of ready tasks, jobs in turn, nodes with room, and the passes that were requested.

Every method keeps the indices in step with the tables and requests a pass where tasks might be placed now. Which task
goes to which node is decided in ``engine.rules.scheduling``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.node_states import READY
from engine.base.terms import SchedulingState
from engine.events.calendar import DueKind
from engine.state.nodes import CALM
from engine.state.tasks import ACTIVE

if TYPE_CHECKING:
    from engine.events.calendar import Calendar
    from engine.state.jobs import Job, JobTable
    from engine.state.nodes import NodeTable
    from engine.state.pools import Pool, PoolTable
    from engine.state.task_records import TaskProfile
    from engine.state.tasks import TaskTable


class Scheduler:
    """The indices of all pools."""

    def __init__(
        self, calendar: Calendar, pools: PoolTable, jobs: JobTable, nodes: NodeTable, tasks: TaskTable
    ) -> None:
        """Keep the indices that stand in these tables."""
        self._calendar = calendar
        self._pools = pools
        self._jobs = jobs
        self._nodes = nodes
        self._tasks = tasks
        self.starving: dict[int, int] = {}  # task -> when it was last reported to find no room (SCHED-11)

    def request_pass(self, pool: Pool) -> None:
        """Run a pass over the pool at the end of this instant, at most one (SCHED-15)."""
        if not pool.pass_due:
            pool.pass_due = True
            self._calendar.at(self._calendar.now_ms, DueKind.PASS, pool.row)

    # -- jobs ----------------------------------------------------------------------------------------------------

    def tasks_became_ready(self, job: Job, count: int) -> None:
        """Count tasks that have been put into the job's queues, and let the job take turns."""
        job.ready_count += count
        self.let_job_take_turns(job)

    def let_job_take_turns(self, job: Job) -> None:
        """Enter the job among those that have something to place, if it may be there, and request a pass."""
        self.enter_turns(job)
        if job.in_turn:
            self.request_pass(self._pools[job.pool])

    def enter_turns(self, job: Job) -> None:
        """Enter the job among those of its pool that have something to place, if it may be there."""
        if job.pool >= 0 and not job.in_turn:
            self._pools[job.pool].enter_turns(job)

    def leave_turns(self, job: Job) -> None:
        """Take a job that is no longer active out of the turns (SCHED-7); a pass gives its slots to others."""
        pool = self._pools[job.pool] if job.in_turn or job.busy else None
        if pool is not None and job.in_turn:
            pool.leave_turns(job)
        if pool is not None and job.busy:
            self.request_pass(pool)

    def reorder_turns(self, pool: Pool) -> None:
        """Build the order of turns anew after a priority or the state of a job has changed (SCHED-3)."""
        pool.reorder_turns(self._jobs.bound_to(pool.row))
        self.request_pass(pool)

    # -- tasks ---------------------------------------------------------------------------------------------------

    def queue_again(self, task: int, profile: TaskProfile, stamp: int, *, fills_at_once: bool = False) -> None:
        """Queue a task that is active again ahead of the job's new tasks (SCHED-6), ordered by ``stamp`` among such.

        A pass follows, unless with ``fills_at_once`` the caller gives the room that the task has left to the next one.
        """
        job = self._jobs.edit(profile.job)
        queue = job.queue_of(profile.queue_key)
        if profile.manager:
            queue.add_first(task)
            if job.pool >= 0:
                self._pools[job.pool].allow_preemption()  # it may displace others now (JM-6)
        else:
            queue.add_returned(task, stamp)
        job.ready_count += 1
        if fills_at_once and not profile.manager:
            self.enter_turns(job)
        else:
            self.let_job_take_turns(job)

    def remove_from_queue(self, task: int, profile: TaskProfile) -> None:
        """Remove an active task that is ended or deleted from its queue, if it waits in one."""
        job = self._jobs.edit(profile.job)
        queue = job.ready.get(profile.queue_key)
        if queue is not None and queue.holds(task):
            queue.discard(task)
            job.ready_count -= 1

    def look_elsewhere(self, task: int) -> None:
        """Request a pass if the task, which has ended, is to run again and other nodes have room (SCHED-15)."""
        if self._tasks.state[task] != ACTIVE:
            return
        job = self._jobs[self._tasks.profile_of(task).job]
        if job.in_turn and any(self._pools[job.pool].buckets[1:]):
            self.request_pass(self._pools[job.pool])

    def remember_report(self, task: int) -> None:
        """Remember that the task was reported now to find no room (SCHED-11)."""
        self.starving[task] = self._calendar.now_ms

    def copy(self) -> dict[int, int]:
        """Return a copy of what does not stand in the tables: when tasks were reported."""
        return self.starving.copy()

    def restore(self, copy: dict[int, int]) -> None:
        """Restore what does not stand in the tables."""
        self.starving = copy.copy()

    # -- nodes ---------------------------------------------------------------------------------------------------

    def is_eligible(self, node: int) -> bool:
        """Return whether new tasks may come to the node, room and jobs aside (SCHED-8, JM-5)."""
        nodes, profile_of = self._nodes, self._tasks.profile_of
        record = nodes[node]
        return (
            nodes.state[node] in READY
            and record.scheduling is SchedulingState.ENABLED
            and record.operation is None
            and not any(profile_of(task).exclusive for task in nodes.tasks_on(node))
        )

    def update_eligibility(self, node: int) -> None:
        """Enter the node among those with room if it is eligible now, and request a pass; else take it out."""
        nodes = self._nodes
        pool = self._pools.rows[nodes[node].pool]
        is_open = self.is_eligible(node)
        if is_open != bool(nodes.open[node]):
            nodes.open[node] = is_open
            nodes.touch(node, CALM)
            pool.buckets[nodes.free[node]] ^= 1 << nodes[node].position
        if is_open:
            self.request_pass(pool)

    def take_slots(self, pool: Pool, node: int, slots: int) -> None:
        """Take slots of the node (SCHED-10)."""
        nodes = self._nodes
        before = nodes.free[node]
        nodes.free_slots(node, -slots)
        if nodes.open[node]:
            self.change_bucket(pool, node, before)

    def settle_after_pass(self, pool: Pool, node: int) -> None:
        """Request a pass, and look at the node's state after it: tasks may come to the room that one has left."""
        pool.unsettled.append(node)
        self.request_pass(pool)

    def change_bucket(self, pool: Pool, node: int, before: int) -> None:
        """Move an open node that had ``before`` free slots to the bucket of those that it has now."""
        bit = 1 << self._nodes.records.rows[node].position
        pool.buckets[before] ^= bit
        pool.buckets[self._nodes.free[node]] ^= bit
