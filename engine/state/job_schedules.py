"""Job schedules: records with the occurrences that have had their turn; a schedule's state changes only here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import JOB_SCHEDULE, rule_of_move
from engine.base.terms import JobScheduleState
from engine.events.log import EventLog, LogSubject
from engine.state.records import Named, NamedRecords

if TYPE_CHECKING:
    from engine.specs.schedule import JobScheduleSpec

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

    def skip_to(self, turn: int) -> None:
        """Give up all occurrences before ``turn`` that have made no job."""
        self.missed += turn - self.turn
        self.turn = turn
        self.shortage = None

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

    def __init__(self, log: EventLog) -> None:
        """Make a table without job schedules."""
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
        schedule.skip_to(turn)

    def complete(self, now_ms: int, row: int) -> None:
        """Complete the schedule, which ends now."""
        self.edit(row).end_ms = now_ms
        self.set_state(now_ms, row, JobScheduleState.COMPLETED)

    def set_state(self, now_ms: int, row: int, new: JobScheduleState | None) -> None:
        """Change the state (JS-6) and log it. The move must be a legal one."""
        schedule = self.edit(row)
        old = schedule.state
        rule = rule_of_move(JOB_SCHEDULE, old, new, "job schedule", schedule.id)
        if old is not None:
            schedule.previous = (old, schedule.since_ms)
        schedule.state = new
        schedule.since_ms = schedule.modified_ms = now_ms
        schedule.token += 1
        if new is None:
            self.give_up_id(schedule)
        shape = self.log.shape(
            "JobScheduleStateChanged", LogSubject.SCHEDULE, ("from", old), ("to", new), ("rule", rule)
        )
        self.log.append(now_ms, shape, row)
