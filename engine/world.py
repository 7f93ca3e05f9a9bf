"""The world, which is the state of one run at one moment: tables, calendar, log, executor, draws, scheduler indices.

A rule may use everything in it. The scheduler's indices are queues of ready tasks, jobs in turn, nodes with room, and
the passes that were requested. Every method of them keeps the indices in step with the tables and requests a pass
where tasks might be placed now. Which task goes to which node is decided in ``engine.rules.scheduling``.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from engine.base.calendar import ENDLESS, Calendar, DueKind
from engine.base.lifecycles import READY
from engine.base.log import EventLog
from engine.base.paths import NodeRoot
from engine.base.terms import JobState, SchedulingState
from engine.scenario.timeline import does_of, until_of
from engine.shell.simulated import SimulatedExecutor
from engine.specs import draws
from engine.specs.account import NamedStorage
from engine.specs.catalogue import node_step
from engine.specs.command import Command, OnJob, OnJobSchedule
from engine.specs.commands import DeleteJob, DeleteJobSchedule, TerminateJob, TerminateJobSchedule
from engine.state.account import AccountTable, CertificateTable, Region
from engine.state.acting import Act, ActingTable, Acts, Process, ProcessKind
from engine.state.files import BlobTable, Disks, Traffic, TrafficTable, Transfer
from engine.state.instances import InstanceTable, PrepFlag
from engine.state.jobs import UNBOUND, Job, JobSchedule, JobScheduleTable, JobTable
from engine.state.nodes import CALM, NodeTable
from engine.state.pools import Pool, PoolTable
from engine.state.tables import Kept, time_limits
from engine.state.task_tables import DependencyBook, GangTable
from engine.state.tasks import ACTIVE, PREPARING, RUNNING, TaskTable

if TYPE_CHECKING:
    from engine.scenario.model import Scenario
    from engine.shell.protocol import ActsText, HookProcess, PlainProcess, Plan
    from engine.specs.account import Account
    from engine.specs.base import Distribution
    from engine.state.task_records import TaskProfile

Part = TypeVar("Part")

_TERMINATIONS: dict[type[Command], str] = {
    TerminateJob: "JOB-15",
    DeleteJob: "JOB-16",
    TerminateJobSchedule: "JS-8",
    DeleteJobSchedule: "JS-8",
}


class Scheduler(Kept):
    """The indices of all pools; all but ``starving`` stand in the tables."""

    KEPT = ("starving",)

    def __init__(
        self, calendar: Calendar, pools: PoolTable, jobs: JobTable, nodes: NodeTable, tasks: TaskTable
    ) -> None:
        """Create the indices, most of which stand in these tables."""
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

    def tasks_became_ready(self, job: Job, count: int, *, are_last: bool = False) -> None:
        """Count tasks that have been put into the job's queues, and let the job take turns.

        With ``are_last`` nothing later in this instant gives a node room. Then no pass is needed if none has any.
        """
        job.ready_count += count
        self.enter_turns(job)
        pool = self._pools.rows[job.pool] if job.in_turn else None
        if pool is not None and (not are_last or pool.has_preemptible or any(pool.buckets[1:])):
            self.request_pass(pool)

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


# A copy looks at each job that is not over and keeps what has changed, which takes as long as so many entries.
_ENTRIES_OF_JOB = 12


class WorldCopy(NamedTuple):
    """A copy of everything that can change, taken at ``now_ms``."""

    now_ms: int
    log_length: int
    alive: int  # the effort of a copy, in entries of the calendar
    pending: array[int]  # see ``Calendar.copy``
    parts: tuple[Any, ...]  # copies of ``World._parts``


class World:
    """The state of one run at one moment."""

    def __init__(self, scenario: Scenario, seed: int, end_ms: int) -> None:
        """Create the world of a scenario before anything has happened; the run ends at ``end_ms`` at the latest."""
        self.scenario = scenario
        self.seed = seed
        self.options = scenario.options
        self.calendar = Calendar()
        if scenario.simulate.has_chance:  # there is always another attempt to replace what chance has taken
            self.calendar.endless_kinds = ENDLESS | {DueKind.SPOT_REFILL}
        # A process that outlasts the run ends at the latest moment that the tables can hold.
        self.end_ms = end_ms
        time_code, self.latest_ms = time_limits(end_ms)
        self.longest_ms = self.latest_ms - end_ms
        self.log = EventLog(scenario.start, time_code)
        self._parts: list[Any] = []  # everything that copies and restores itself
        self.account_table = self._kept(AccountTable(scenario.account))
        self.certificates = self._kept(CertificateTable(self.log, self.account_table))
        self.pools = self._kept(PoolTable(self.log))
        self.jobs = self._kept(JobTable(self.log))
        self.job_schedules = self._kept(JobScheduleTable(self.log))
        self.nodes = self._kept(NodeTable(self.log, self.pools.bill, time_code))
        self._kept(self.nodes.records)
        self.tasks = self._kept(TaskTable(self.log, self.jobs, time_code))
        self.gangs = self._kept(GangTable(self.log))
        self.instances = self._kept(InstanceTable(self.log, time_code))
        self.disks = self._kept(Disks(self.tasks, self.calendar))
        self.blobs = self._kept(BlobTable(self.log, self.tasks))
        self.storage = NamedStorage(scenario.simulate.storage, scenario.start)
        self.acting = self._kept(ActingTable())
        self.traffic = self._kept(TrafficTable())
        self.region = self._kept(Region())
        self.scheduler = self._kept(Scheduler(self.calendar, self.pools, self.jobs, self.nodes, self.tasks))
        self.dependencies: dict[int, DependencyBook] = {}  # of jobs that use them
        self.executor = SimulatedExecutor(seed, scenario.simulate.tasks, scenario.start, executes=scenario.executes)
        # The processes of preparation and of release tasks by job; cleared when a row may mean another job.
        self.prep_hooks: dict[int, HookProcess] = {}
        self.release_hooks: dict[int, HookProcess] = {}
        # Plans of later attempts of running tasks, by task, with their attempt and profile: each is used twice.
        self.plans: dict[int, tuple[int, TaskProfile, Plan]] = {}
        # By job: the bodies of the job and its pool, and with these the profiles of short bodies, see ``operations``.
        self.short_profiles: dict[int, tuple[object, object, dict[Any, tuple[int, PlainProcess | None]]]] = {}
        # What processes do, by what their `simulate` says of it.
        self.acts_of = cache(self._read_acts)
        # Handlers of each kind of fact, in order: see ``engine.rules.reactions``.
        self.reactions: Mapping[type, Sequence[Callable[[World, Any], None]]] = {}

    def _kept(self, part: Part) -> Part:
        """Return a part of the world, which copies and restores itself from now on."""
        self._parts.append(part)
        return part

    def emit(self, fact: NamedTuple) -> None:
        """Run the handlers of this kind of fact, at once and in the order of the table of reactions."""
        for react in self.reactions[type(fact)]:
            react(self, fact)

    @property
    def now_ms(self) -> int:
        """The present moment in ms since the scenario's start."""
        return self.calendar.now_ms

    @cached_property
    def terminations(self) -> Mapping[str, Sequence[tuple[int, str]]]:
        """The moments at which the timeline ends a job or job schedule, by its id in lower case, with the rule.

        The id of a job schedule is followed by a colon. What waits for a condition has ``latest_ms``: it is not known.
        Forecasts read them, no rule looks ahead.
        """
        found: dict[str, list[tuple[int, str]]] = {}
        for entry in self.scenario.timeline:
            rule, when_ms = _TERMINATIONS.get(type(entry.command)), entry.at_ms
            if rule is not None and entry.refused is None:
                planned = self.latest_ms if when_ms is None else when_ms, rule
                match entry.command:
                    case OnJob(job_id=job_id):
                        found.setdefault(job_id.lower(), []).append(planned)
                    case OnJobSchedule(job_schedule_id=schedule_id):
                        found.setdefault(f"{schedule_id.lower()}:", []).append(planned)
        return found

    @property
    def account(self) -> Account:
        """The account with its quotas, applications and active certificates at this moment."""
        return self.account_table.account

    def is_known(self, end_ms: int) -> bool:
        """Return whether a planned end is known: that of a process that waits for something is not (JM-12)."""
        return end_ms < self.latest_ms

    def node_ms(self, pool: Pool, step: str, *key: str | int) -> int:
        """Return how long a step in a node's life takes, drawn for this key (TIME).

        The key begins with the node's index, or with a word if the step is one of several nodes together.
        """
        distribution = self.said_of_step(pool, step, key[0]) or self._by_profile(pool, step)
        return draws.draw_ms(distribution, draws.uniform(self.seed, step, pool.id.lower(), *key))

    def said_of_step(self, pool: Pool, step: str, node: str | int) -> Distribution | None:
        """Return the duration that the scenario gives: the pool's ``simulate`` wins, then ``simulate.nodes``."""
        own = pool.spec.simulate
        said = own.duration(step, node) if own is not None else None
        return said if said is not None else getattr(self.scenario.simulate.nodes, step, None)

    def _by_profile(self, pool: Pool, step: str) -> Distribution:
        own = pool.spec.simulate
        profile = (own.profile if own is not None else None) or self.scenario.simulate.nodes.profile
        return node_step(profile, step, pool.os, pool.size.cores)

    def enter_node_step(self, node: int, delay_ms: int) -> None:
        """Let the node's present state pass in ``delay_ms``; an earlier entry of the node becomes void."""
        self.calendar.at(self.now_ms + delay_ms, DueKind.NODE_STEP, node, self.nodes.next_token(node))

    def cancel_node_step(self, node: int) -> None:
        """Let the node stay in its present state: its entry in the calendar becomes void."""
        self.nodes.next_token(node)

    def note_traffic(self, node: int, kind: Traffic, size: int, begin_ms: int, end_ms: int) -> None:
        """Remember bytes that move, for the samples of a pool that scales itself; others take none (AS-41)."""
        if size and self.pool_of(node).auto_scale:
            self.traffic.add(node, Transfer(kind, begin_ms, end_ms, size))

    def root_of(self, pool: Pool) -> NodeRoot:
        """Return the root directory of the pool's nodes (FILE-1)."""
        return NodeRoot.of(pool.os, has_temp_disk=pool.size.temp_disk_gib > 0)

    def pool_of(self, node: int) -> Pool:
        """Return the pool of a node, also after the node has left it."""
        return self.pools.rows[self.nodes[node].pool]

    def nodes_of(self, task: int) -> tuple[int, ...]:
        """Return the nodes of a running or preparing task, that of its primary first (MI-3)."""
        gang = self.gangs.find(task)
        return (self.tasks.node[task],) if gang is None else gang.nodes

    def _read_acts(self, text: ActsText) -> Acts:
        """Return what a process does as ``does`` and ``until`` say."""
        does, until, executes = text
        entries = self.scenario.acts.get(does.text) if does else ()
        entries = does_of(does) if does and entries is None else entries or ()
        end = None if until is None else until_of(until)
        acts = (Act(entry.command, entry.tasks, entry.factory, entry.after_ms, entry.when) for entry in entries)
        condition = None if end is None else end.condition
        return Acts(tuple(acts), condition, end is not None and condition is None, executes)

    def position_bit(self, job: Job, node: int) -> int:
        """Return the node's bit among those of the job's pool; 0 for a node of a pool that the job has left."""
        record = self.nodes[node]
        return 1 << record.position if record.pool == job.pool else 0

    def bind_job(self, job: Job) -> None:
        """Let the job's tasks be scheduled on the pool it names, if there is one by now (POOL-18)."""
        pool = self.pools.find(job.pool_id)
        if pool is None or job.state is JobState.COMPLETED:
            return
        self.jobs.bind(job.row, pool.row)
        if job.preemptible:
            pool.allow_preemption()
        # What the job's preparation has come to on the pool's nodes before still holds (PREP-7, PREP-9).
        job.prepared = job.ineligible = 0
        for row in self.instances.rows_of_job(job.row):
            bit, flags = self.position_bit(job, self.instances.node[row]), self.instances.flags[row]
            job.prepared |= bit if flags & PrepFlag.VALID else 0
            job.ineligible |= bit if flags & PrepFlag.INELIGIBLE else 0
        self.scheduler.let_job_take_turns(job)

    def unbind_job(self, job: Job) -> None:
        """Let the job's tasks wait: its pool is gone, or the job is over or goes to another pool (POOL-19)."""
        self.jobs.bind(job.row, UNBOUND)
        for hooks in (self.prep_hooks, self.release_hooks):
            hooks.pop(job.row, None)
        job.in_turn = False
        job.prepared = job.ineligible = 0

    def preparing_tasks(self, job: int, node: int) -> list[int]:
        """Return the job's tasks that prepare on the node, in creation order."""
        preparing = self.nodes.preparing.get(node)
        if not preparing:
            return []
        profiles, profile = self.tasks.profiles, self.tasks.profile
        return sorted([task for task in preparing if profiles[profile[task]].job == job])

    def jobs_of(self, pool: Pool) -> list[Job]:
        """Return the jobs bound to a pool, oldest first; any number may share it (JOB-26)."""
        return self.jobs.bound_to(pool.row)

    def jobs_under(self, schedule: JobSchedule) -> Iterator[Job]:
        """Return the jobs that a job schedule has made, oldest first (JS-8)."""
        return (job for job in self.jobs.present() if job.schedule == schedule.row)

    def dependency_book(self, job: int) -> DependencyBook:
        """Return the job's book of dependencies, made when it is needed first."""
        book = self.dependencies.get(job)
        if book is None:
            book = self.dependencies[job] = DependencyBook(job)
        return book

    def forget_future(self) -> None:
        """Forget what was recorded after the present moment."""
        self.log.forget_future()
        self.tasks.forget_future()
        self.blobs.forget_future()

    def copy(self) -> WorldCopy:
        """Return a copy of everything."""
        return WorldCopy(
            self.now_ms,
            len(self.log),
            len(self.calendar) + _ENTRIES_OF_JOB * self.jobs.unfinished,
            self.calendar.copy(),
            tuple(part.copy() for part in self._parts),
        )

    def restore(self, copy: WorldCopy) -> None:
        """Restore everything from a copy; the log keeps what was recorded after it aside."""
        self.tasks.mark_logged()
        self.log.move_to(copy.log_length)
        for part, saved in zip(self._parts, copy.parts, strict=True):
            part.restore(saved)
        self.prep_hooks.clear()
        self.release_hooks.clear()
        self.plans.clear()
        running = self._find_tasks_on_nodes()
        self.dependencies = {
            job.row: DependencyBook.of(job.row, self.tasks)
            for job in self.jobs.present()
            if job.spec.uses_task_dependencies
        }
        inputs = (DueKind.FAULT, DueKind.COMMAND)  # the simulation enters the next one again
        self.calendar.restore(copy.now_ms, self._ends(running), copy.pending, leaving_out=inputs)

    def _find_tasks_on_nodes(self) -> list[int]:
        """Rebuild the nodes' sets of running and preparing tasks from the tasks; return the running tasks."""
        tasks, nodes = self.tasks, self.nodes
        running = tasks.rows_in(RUNNING)
        for task in running:
            nodes.running[tasks.node[task]].add(task)
        for task in tasks.rows_in(PREPARING):
            nodes.prepare_task(task, tasks.node[task])
        for task in self.gangs.tasks():
            for node in self.gangs[task].nodes:
                if tasks.state[task] == RUNNING:
                    nodes.running[node].add(task)
                elif tasks.state[task] == PREPARING:
                    nodes.prepare_task(task, node)
        return running

    def _ends(self, running: list[int]) -> Iterator[tuple[int, int, int, int]]:
        """Yield for each running task its end, its order within a millisecond, the task, and its token."""
        tasks = self.tasks
        if self.gangs.tasks():  # their entries are among the others
            running = [task for task in running if task not in self.gangs]
        if self.acting:  # one that waits for its end has no entry
            running = [task for task in running if not self._has_open_end(task)]
        ends, starts = map(tasks.ended.__getitem__, running), map(tasks.start_entry.__getitem__, running)
        return zip(ends, starts, running, map(tasks.end_token, running), strict=True)

    def _has_open_end(self, task: int) -> bool:
        return self.tasks.ended[task] == self.latest_ms and self.acting.waits(Process(ProcessKind.TASK, task))
