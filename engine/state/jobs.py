"""Jobs with the counters of their tasks, and job schedules with the occurrences that have had their turn.

The state of a job or a job schedule changes only here.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple, Self

from engine.base.lifecycles import JOB, JOB_SCHEDULE
from engine.base.log import EventLog, LogSubject
from engine.base.terms import JobScheduleState, JobState, OnAllTasksComplete, TaskResult
from engine.base.values import words
from engine.state.tables import Named, NamedRecords, Values
from engine.state.task_records import ReadyQueue

if TYPE_CHECKING:
    from engine.specs.bodies import JobScheduleSpec, JobSpec
    from engine.specs.commands import UpdateJob
    from engine.specs.common import MetadataItem


UNBOUND = -1
NO_SCHEDULE = -1
_FINISHED = (None, JobState.COMPLETED)
# What changes in a job without ``JobTable.edit``, since it changes with each task. Its ready queues change as well, but
# not without ``ready_count`` or ``served``.
_CHANGES_OFTEN = words("counts ready_count served in_turn prepared ineligible releases_open uploaded_bytes")


# What a PATCH replaces, and its name in the record (JOB-2).
_PATCHED = {"priority": "priority", "max_parallel_tasks": "max_parallel", "allow_task_preemption": "preemptible"}


class SchedulingError(NamedTuple):
    """The reason why a job was accepted but ended at once (JOB-20)."""

    category: str
    code: str
    message: str
    cause: str  # why its pool was refused


@dataclass(slots=True, eq=False)
class Job(Named):
    """A job (JOB-1). What a PATCH may change stands beside ``spec``, which stays as it was added."""

    row: int
    spec: JobSpec
    created_ms: int
    schedule: int = NO_SCHEDULE  # the job schedule that has made it
    id: str = field(init=False)
    state: JobState | None = None
    previous: tuple[JobState, int] | None = None  # the state before and since when
    since_ms: int = field(init=False)
    modified_ms: int = field(init=False)
    end_ms: int | None = None
    pool_id: str = field(init=False)
    pool: int = UNBOUND
    keeps_pool: bool = field(init=False)  # its own pool outlives it (AUTO-3)
    priority: int = field(init=False)
    max_parallel: int = field(init=False)
    preemptible: bool = field(init=False)
    max_retries: int = field(init=False)
    max_wall_clock_ms: int | None = field(init=False)
    on_all_tasks_complete: OnAllTasksComplete = field(init=False)
    metadata: tuple[MetadataItem, ...] = field(init=False)
    has_prep: bool = field(init=False)
    waits_for_prep: bool = field(init=False)
    has_release: bool = field(init=False)
    terminate_reason: str | None = None
    scheduling_error: SchedulingError | None = None
    forced: bool = False  # it ends without waiting for its release tasks (JOB-18)
    token: int = 0  # calendar entries of the job with another token are void
    waits_until_ms: int = 0  # TIME-19: not before this moment out of the intermediate state
    releases_open: int = 0  # release instances the job waits for (REL-6)
    # Tasks: blocks in the task table, how many are in each TaskState, how many of the completed have failed.
    blocks: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    failed: int = 0
    total: int = 0
    reports_from: int = 0  # so many completed tasks have consequences: all, or all but one whose process waits for them
    deleted: dict[TaskResult | None, int] = field(default_factory=dict)  # tasks deleted so far by their result
    downloaded_bytes: int = 0  # by its tasks, preparations and releases (TASK-21)
    uploaded_bytes: int = 0
    # Scheduling: the last turn, nodes by position in the pool as bits, and ready tasks by required slots.
    ready_count: int = 0
    in_turn: bool = False
    served: int = 0
    prepared: int = 0  # the preparation is valid there
    ineligible: int = 0  # the preparation has failed there for good (PREP-9)
    ready: dict[int, ReadyQueue] = field(default_factory=dict)  # stays the last: see ``freeze``

    def __post_init__(self) -> None:
        spec = self.spec
        self.id = spec.id
        self.since_ms = self.modified_ms = self.created_ms
        self.pool_id = spec.pool_info.pool_id or ""
        auto_pool = spec.pool_info.auto_pool_specification
        self.keeps_pool = auto_pool is not None and auto_pool.keep_alive
        self.priority = spec.priority
        self.max_parallel = spec.max_parallel_tasks
        self.preemptible = spec.allow_task_preemption
        self.max_retries = spec.constraints.max_task_retry_count
        self.max_wall_clock_ms = spec.constraints.max_wall_clock_time
        self.on_all_tasks_complete = spec.on_all_tasks_complete
        self.metadata = spec.metadata
        prep = spec.job_preparation_task
        self.has_prep = prep is not None
        self.waits_for_prep = prep is not None and prep.wait_for_success
        self.has_release = spec.job_release_task is not None

    def freeze(self) -> Values:
        """Return the values of all attributes, ready queues included."""
        values = Named.freeze(self)  # a class with generated slots has no super()
        return (*values[:-1], {slots: queue.freeze() for slots, queue in self.ready.items()})

    @classmethod
    def thaw(cls, values: Values) -> Self:
        """Return a job with these values."""
        job = super(Job, cls).thaw(values[:-1])
        job.ready = {slots: ReadyQueue.thaw(queue) for slots, queue in values[-1].items()}
        return job

    def queue_of(self, key: int) -> ReadyQueue:
        """Return the queue of ready tasks with this key (``TaskProfile.queue_key``), made when it is needed first."""
        queue = self.ready.get(key)
        if queue is None:
            queue = self.ready[key] = ReadyQueue()
        return queue

    def queues_in_order(self) -> list[tuple[int, ReadyQueue]]:
        """Return the queues that hold tasks, with their keys, in the order in which heads are placed (SCHED-6)."""
        queues = [(key, queue) for key, queue in self.ready.items() if queue.size]
        if len(queues) > 1:
            queues.sort(key=lambda item: item[1].head_rank())
        return queues

    def take_head(self, queue: ReadyQueue) -> int:
        """Remove and return the head of one of the job's queues, which is placed now."""
        self.ready_count -= 1
        return queue.take()

    def count_bytes(self, *, downloaded: int = 0, uploaded: int = 0) -> None:
        """Count bytes of resource files or output files (TASK-21)."""
        self.downloaded_bytes += downloaded
        self.uploaded_bytes += uploaded

    def count_tasks(self, change: int) -> None:
        """Count so many tasks more, or fewer if negative."""
        self.total += change
        self.reports_from += change

    def update(self, now_ms: int, command: UpdateJob) -> None:
        """Replace what a PATCH gives, apart from the pool and ``onAllTasksComplete`` (JOB-2)."""
        self.modified_ms = now_ms
        for name, own in _PATCHED.items():
            value = getattr(command, name)
            if value is not None:
                setattr(self, own, value)
        if command.constraints is not None:
            self.max_retries = command.constraints.max_task_retry_count
            self.max_wall_clock_ms = command.constraints.max_wall_clock_time
        if "metadata" in command.model_fields_set:
            self.metadata = command.metadata

    @property
    def busy(self) -> int:
        """The number of tasks preparing or running, which maxParallelTasks limits (JOB-2)."""
        return self.counts[1] + self.counts[2]


_often = attrgetter(*_CHANGES_OFTEN)
_often_saved = itemgetter(*map(Job.__slots__.index, _CHANGES_OFTEN))


class JobTable(NamedRecords[Job]):
    """All jobs, deleted ones included, in the order in which they were added."""

    EVENT = ("JobStateChanged", LogSubject.JOB)
    LIFECYCLE = ("job", JOB)

    def __init__(self, log: EventLog) -> None:
        """Create an empty table."""
        super().__init__(Job, log)
        self._unfinished: set[int] = set()
        self.moves = 0  # changes of states, whatever time they were made at
        self._bound: dict[int, list[int]] = {}  # pool -> the jobs bound to it, oldest first

    @property
    def unfinished(self) -> int:
        """The number of jobs that are there and not completed: what the quota counts."""
        return len(self._unfinished)

    def bound_to(self, pool: int) -> list[Job]:
        """Return the jobs bound to a pool, oldest first."""
        return [self.rows[row] for row in self._bound.get(pool, ())]

    def bind(self, row: int, pool: int) -> None:
        """Bind a job to a pool, or to none: ``UNBOUND``."""
        job = self.edit(row)
        if job.pool != UNBOUND:
            self._bound[job.pool].remove(row)
        job.pool = pool
        if pool != UNBOUND:
            insort(self._bound.setdefault(pool, []), row)

    def create(self, now_ms: int, job: Job) -> None:
        """Add a job, ``active`` (JOB-6)."""
        self.add(job)
        self.set_state(now_ms, job.row, JobState.ACTIVE)

    def terminate(self, now_ms: int, row: int, reason: str) -> None:
        """Begin to terminate the job for this reason (JOB-10)."""
        self.edit(row).terminate_reason = reason
        self.set_state(now_ms, row, JobState.TERMINATING, reason)

    def complete(self, now_ms: int, row: int, reason: str | None) -> None:
        """Complete the job, which ends now."""
        self.edit(row).end_ms = now_ms
        self.set_state(now_ms, row, JobState.COMPLETED, reason)

    def set_state(self, now_ms: int, row: int, new: JobState | None, reason: str | None = None) -> None:
        """Change the state (JOB-5) and log it; ``reason`` is the terminate reason. The move must be a legal one."""
        job = self.edit(row)
        if job.state is not None:
            job.previous = (job.state, job.since_ms)
        self.moves += 1
        (self._unfinished.discard if new in _FINISHED else self._unfinished.add)(row)
        job.token += 1
        self._change_state(now_ms, job, new, *((("reason", reason),) if reason else ()))

    def copy(self) -> list[Values]:
        """Return the jobs as they are now, those included whose tasks alone have changed since the last copy."""
        rows, saved = self.rows, self._saved
        unedited = self._unfinished - self._edited
        self._edited.update([row for row in unedited if _often(rows[row]) != _often_saved(saved[row])])
        return super().copy()

    def restore(self, copy: list[Values]) -> None:
        """Make the jobs as they were when ``copy`` was taken."""
        self._edited |= self._unfinished
        super().restore(copy)
        self._unfinished = {job.row for job in self.rows if job.state not in _FINISHED}
        self._bound = {}
        for job in self.rows:
            if job.pool != UNBOUND:
                self._bound.setdefault(job.pool, []).append(job.row)


NO_JOB = -1


class Shortage(NamedTuple):
    """An occurrence that found the quota full (ACC-9): its number, and when it was tried first."""

    occurrence: int
    since_ms: int


@dataclass(slots=True, eq=False)
class JobSchedule(Named):
    """A job schedule (JS-1). ``spec`` holds the body as it is now (JS-9)."""

    row: int
    spec: JobScheduleSpec
    created_ms: int
    id: str = field(init=False)
    state: JobScheduleState | None = None
    previous: tuple[JobScheduleState, int] | None = None  # the state before and since when
    since_ms: int = field(init=False)
    modified_ms: int = field(init=False)
    end_ms: int | None = None
    token: int = 0  # calendar entries of the schedule with another token are void
    waits_until_ms: int = 0  # TIME-19: not before this moment out of terminating or deleting
    # Occurrences are numbered from 0 (JS-13): the first that has not had its turn, and those that made no job.
    turn: int = 0
    missed: int = 0
    missed_ms: int | None = None  # when the last one was lost (JS-15)
    shortage: Shortage | None = None
    jobs_made: int = 0
    recent_job: int = NO_JOB
    pool_id: str = ""  # of the pool that its jobs share (AUTO-2)
    keeps_pool: bool = False  # that pool outlives the schedule (AUTO-3)

    def __post_init__(self) -> None:
        self.id = self.spec.id
        self.since_ms = self.modified_ms = self.created_ms

    def update(self, now_ms: int, changed: dict[str, object]) -> None:
        """Replace parts of the body (JS-9)."""
        self.spec = self.spec.model_copy(update=changed)
        self.modified_ms = now_ms

    def make_job(self, job: int) -> str:
        """Let the present occurrence make the job of this row; returns its id, ``<schedule>:job-<n>`` (JS-11)."""
        self.turn += 1
        self.jobs_made += 1
        self.recent_job = job
        return f"{self.id}:job-{self.jobs_made}"

    def next_token(self) -> int:
        """Make earlier entries of the calendar void; returns the token of the next one."""
        self.token += 1
        return self.token


class JobScheduleTable(NamedRecords[JobSchedule]):
    """All job schedules, deleted ones included, in the order in which they were added."""

    EVENT = ("JobScheduleStateChanged", LogSubject.SCHEDULE)
    LIFECYCLE = ("job schedule", JOB_SCHEDULE)

    def __init__(self, log: EventLog) -> None:
        """Create an empty table."""
        super().__init__(JobSchedule, log)

    def create(self, now_ms: int, schedule: JobSchedule) -> None:
        """Add a schedule, ``active`` (JS-6)."""
        self.add(schedule)
        self.set_state(now_ms, schedule.row, JobScheduleState.ACTIVE)

    def lose(self, now_ms: int, row: int, turn: int, reason: str, rule: str) -> None:
        """Give up all occurrences before ``turn`` that have made no job, and log each (JS-15)."""
        schedule = self.edit(row)
        for occurrence in range(schedule.turn, turn):
            fields = (("occurrence", occurrence), ("reason", reason), ("rule", rule))
            self.log.append(now_ms, self.log.shape("JobScheduleOccurrenceMissed", LogSubject.SCHEDULE, *fields), row)
            schedule.missed_ms = now_ms
        schedule.assign(missed=schedule.missed + turn - schedule.turn, turn=turn, shortage=None)

    def complete(self, now_ms: int, row: int) -> None:
        """Complete the schedule, which ends now."""
        self.edit(row).end_ms = now_ms
        self.set_state(now_ms, row, JobScheduleState.COMPLETED)

    def set_state(self, now_ms: int, row: int, new: JobScheduleState | None) -> None:
        """Change the state (JS-6) and log it. The move must be a legal one."""
        schedule = self.edit(row)
        if schedule.state is not None:
            schedule.previous = (schedule.state, schedule.since_ms)
        schedule.token += 1
        self._change_state(now_ms, schedule, new)
