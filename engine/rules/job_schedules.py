"""Job schedules (chapter 18): create, update, disable, enable, terminate, delete, and the jobs that they make.

The moments at which jobs are due (JS-2 to JS-5, JS-13) are decisions on plain numbers. Occurrence k is due at
``first_ms + k * interval_ms``. ``turn`` is the number of the first that has not had its turn: all before it have made a
job, or have been given up.

A schedule takes a step when an occurrence is due, when a command changes it, and when its job ends. While it waits for
its job, its only entry in the calendar is the moment at which the next occurrence is lost, which keeps no run alive.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from engine.base.calendar import Due, DueKind
from engine.base.errors import BatchError, raise_refusal
from engine.base.terms import JobScheduleState, JobState
from engine.rules.decisions import capacity
from engine.rules.decisions.verdicts import job_command_verdict as job_verdict
from engine.rules.decisions.verdicts import state_verdict
from engine.rules.facts import JobScheduleEnded, OccurrenceDue, ScheduledJobDeleted, ScheduledJobTerminated
from engine.specs.bodies import JobSpec
from engine.specs.catalogue import QUOTA_RETRY_INTERVAL_MS, TRANSITION_MS
from engine.state.jobs import NO_JOB, NO_SCHEDULE, JobSchedule, Shortage

if TYPE_CHECKING:
    from engine.rules.facts import JobEnded, QuotasChanged
    from engine.specs.bodies import JobScheduleSpec
    from engine.specs.commands import DeleteJobSchedule, TerminateJobSchedule, UpdateJobSchedule
    from engine.state.jobs import Job
    from engine.world import World


_MS = timedelta(milliseconds=1)


class Timing(NamedTuple):
    """A schedule in ms since the scenario's start."""

    first_ms: int
    interval_ms: int | None  # None: there is one occurrence only
    window_ms: int | None  # None: until the next one is due
    last_ms: int | None  # no job is created after this moment; None: there is no end

    def due_ms(self, occurrence: int) -> int:
        """Return when an occurrence is due (JS-13)."""
        return self.first_ms + occurrence * (self.interval_ms or 0)

    def latest(self, now_ms: int) -> int:
        """Return the number of the last occurrence due up to ``now_ms``; -1 before the first."""
        if self.last_ms is not None:  # none is due after the end
            now_ms = min(now_ms, self.last_ms)
        if now_ms < self.first_ms:
            return -1
        return 0 if self.interval_ms is None else (now_ms - self.first_ms) // self.interval_ms

    def closes_ms(self, occurrence: int) -> int | None:
        """Return the last moment at which an occurrence can make its job (JS-3); None if there is no limit.

        A window as long as the interval does not limit it, but no occurrence outlasts the moment the next is due.
        """
        limits = [] if self.last_ms is None else [self.last_ms]
        if self.interval_ms is not None:
            limits.append(self.due_ms(occurrence + 1) - 1)
        if self.window_ms is not None and (self.interval_ms is None or self.window_ms < self.interval_ms):
            limits.append(self.due_ms(occurrence) + self.window_ms)
        return min(limits, default=None)

    def lost_ms(self, occurrence: int) -> int | None:
        """Return when an occurrence can no longer make its job (JS-3, JS-15); None if that never comes.

        In the last moment of its window it still can, but nothing comes after that moment.
        """
        closes_ms = self.closes_ms(occurrence)
        ends_with_next = self.interval_ms is not None and closes_ms == self.due_ms(occurrence + 1) - 1
        return closes_ms + 1 if closes_ms is not None and ends_with_next else closes_ms


def due_occurrence(timing: Timing, turn: int, now_ms: int) -> int | None:
    """Return the occurrence that may make its job now (JS-3, JS-4, JS-5); None if none may."""
    occurrence = timing.latest(now_ms)
    if occurrence < turn:
        return None
    closes_ms = timing.closes_ms(occurrence)
    return occurrence if closes_ms is None or now_ms <= closes_ms else None


def next_due_ms(timing: Timing, turn: int, now_ms: int) -> int | None:
    """Return when the next occurrence after ``now_ms`` is due, ``nextRunTime`` (JS-7); None where there is none."""
    occurrence = max(turn, timing.latest(now_ms) + 1)
    if timing.interval_ms is None and occurrence > 0:
        return None
    due_ms = timing.due_ms(occurrence)
    return due_ms if timing.last_ms is None or due_ms <= timing.last_ms else None


def is_over(timing: Timing, turn: int, now_ms: int) -> bool:
    """Return whether no job will be created any more: the only one was (JS-4), or the end has passed (JS-5)."""
    if due_occurrence(timing, turn, now_ms) is not None or next_due_ms(timing, turn, now_ms) is not None:
        return False
    return timing.interval_ms is None or timing.last_ms is None or now_ms >= timing.last_ms


def next_change_ms(timing: Timing, turn: int, now_ms: int) -> int | None:
    """Return when the answers above may change next without a command; None if never."""
    due_ms = next_due_ms(timing, turn, now_ms)
    if due_ms is not None:
        return due_ms
    occurrence = due_occurrence(timing, turn, now_ms)
    if occurrence is not None:
        closes_ms = timing.closes_ms(occurrence)
        return None if closes_ms is None else closes_ms + 1
    return timing.last_ms if timing.last_ms is not None and timing.last_ms > now_ms else None


def next_turn(timing: Timing, turn: int, now_ms: int) -> int:
    """Return the turn of a schedule that is enabled again, or has another timing.

    A schedule that recurs continues with the next occurrence in the future (JS-13). Another one has a single
    occurrence, which is still due while its window is open (JS-4).
    """
    if timing.interval_ms is not None:
        return max(turn, timing.latest(now_ms) + 1)
    return turn + missed_occurrences(timing, turn, now_ms)


def first_turn(timing: Timing, turn: int, now_ms: int) -> int:
    """Return the turn in a new timing of a schedule that had come to ``turn`` in another one (JS-9, JS-13)."""
    if timing.interval_ms is not None:
        return timing.latest(now_ms) + 1
    return min(turn, 1) if now_ms >= timing.first_ms else 0


def missed_occurrences(timing: Timing, turn: int, now_ms: int) -> int:
    """Return how many occurrences from ``turn`` on have been due up to now and can no longer make a job (JS-3)."""
    return max(0, timing.latest(now_ms) + 1 - turn) - (due_occurrence(timing, turn, now_ms) is not None)


_S = JobScheduleState

_DISABLED = "the job schedule was disabled", "JS-13"  # why an occurrence was lost, and the rule

# JS-10: the code for a schedule that is past what is asked of it.
_CODES = {
    _S.DISABLED: "JobScheduleDisabled",
    _S.COMPLETED: "JobScheduleCompleted",
    _S.TERMINATING: "JobScheduleBeingTerminated",
    _S.DELETING: "JobScheduleBeingDeleted",
}


# -- decisions -------------------------------------------------------------------------------------------------------


def command_verdict(command: str, state: JobScheduleState) -> BatchError | None:
    """Return why the service refuses a command on a schedule in this state; None if it takes it (JS-6, JS-10).

    DECISION: what is disabled already, or is not disabled, is refused as with jobs (JOB-12); a schedule that is over
    can only be deleted, and that once.
    """
    allowed = {
        "disable": (_S.ACTIVE,),
        "enable": (_S.DISABLED,),
        "terminate": (_S.ACTIVE, _S.DISABLED),
        "update": (_S.ACTIVE, _S.DISABLED),
        "delete": tuple(state for state in _S if state is not _S.DELETING),
    }
    return state_verdict("job schedule", state, allowed[command], _CODES)


def timing_of(world: World, schedule: JobSchedule) -> Timing:
    """Return when the schedule's jobs are due (JS-2, JS-13)."""
    written, start, first_ms = schedule.spec.schedule, world.scenario.start, schedule.created_ms
    until, after = written.do_not_run_until, written.do_not_run_after
    if until is not None:
        first_ms = max(first_ms, (until - start) // _MS)
    last_ms = None if after is None else (after - start) // _MS
    return Timing(first_ms, written.recurrence_interval, written.start_window, last_ms)


def active_job(world: World, schedule: JobSchedule) -> Job | None:
    """Return the only job of the schedule that has not ended, if any: it keeps others waiting (JS-3, JS-12)."""
    if schedule.recent_job == NO_JOB:
        return None
    job = world.jobs[schedule.recent_job]
    return None if job.state is None or job.end_ms is not None else job


def next_run_ms(world: World, schedule: JobSchedule, now_ms: int) -> int | None:
    """Return ``nextRunTime`` (JS-7, JS-13); None once no job will be created any more."""
    if schedule.state not in (_S.ACTIVE, _S.DISABLED):
        return None
    return next_due_ms(timing_of(world, schedule), schedule.turn, now_ms)


def missed(world: World, schedule: JobSchedule, now_ms: int) -> int:
    """Return how many occurrences made no job: because of the job before, the quota, or a disabled schedule."""
    if schedule.state not in (_S.ACTIVE, _S.DISABLED):
        return schedule.missed
    return schedule.missed + missed_occurrences(timing_of(world, schedule), schedule.turn, now_ms)


# -- create and change -----------------------------------------------------------------------------------------------


def check(command: str, schedule: JobSchedule) -> None:
    """Refuse a command that the schedule's state does not allow (JS-10)."""
    assert schedule.state is not None
    raise_refusal(command_verdict(command, schedule.state))


def create(world: World, spec: JobScheduleSpec) -> JobSchedule:
    """Create a schedule, active at once; its first job may be due in the same moment (JS-1, JS-6, GEN-2, JS-14)."""
    if world.job_schedules.find(spec.id) is not None:
        raise BatchError("JobScheduleExists", jobScheduleId=spec.id)
    if world.jobs.find(spec.id) is not None:
        raise BatchError("JobWithSameIdExists", jobId=spec.id)
    if not capacity.has_unit(world):
        raise BatchError("ActiveJobAndScheduleQuotaReached")
    schedule = JobSchedule(len(world.job_schedules), spec, world.now_ms)
    world.job_schedules.create(world.now_ms, schedule)
    _enter_step(world, schedule, world.now_ms)
    _enter_loss(world, schedule)
    return schedule


def update(world: World, schedule: JobSchedule, command: UpdateJobSchedule) -> None:
    """Replace what a PATCH gives, for jobs created afterwards (JS-9)."""
    check("update", schedule)
    changed = {name: value for name, value in command.given_values("job_schedule_id").items() if value is not None}
    if "schedule" in changed:
        _skip(world, schedule, ("its schedule was changed", "JS-9"))
    schedule.update(world.now_ms, changed)
    if "schedule" in changed:
        schedule.assign(turn=first_turn(timing_of(world, schedule), schedule.turn, world.now_ms))
        _enter_step(world, schedule, world.now_ms)
        _enter_loss(world, schedule)


def disable(world: World, schedule: JobSchedule) -> None:
    """Create no new jobs; the present one goes on (JS-6). An occurrence that waits is skipped (JS-13)."""
    check("disable", schedule)
    world.job_schedules.set_state(world.now_ms, schedule.row, _S.DISABLED)
    timing = timing_of(world, schedule)
    if timing.interval_ms is not None:
        _lose(world, schedule, timing.latest(world.now_ms) + 1, _why_lost(world, schedule))
    _enter_loss(world, schedule)


def enable(world: World, schedule: JobSchedule) -> None:
    """Create jobs again, from the next occurrence on (JS-6, JS-13)."""
    check("enable", schedule)
    _skip(world, schedule, _DISABLED)
    world.job_schedules.set_state(world.now_ms, schedule.row, _S.ACTIVE)
    _enter_step(world, schedule, world.now_ms)
    _enter_loss(world, schedule)


def _skip(world: World, schedule: JobSchedule, why: tuple[str, str]) -> None:
    """Give up the occurrences that were due in the meantime (JS-13)."""
    _lose(world, schedule, next_turn(timing_of(world, schedule), schedule.turn, world.now_ms), why)
    schedule.assign(shortage=None)


def terminate(world: World, schedule: JobSchedule, command: TerminateJobSchedule) -> None:
    """Terminate a schedule: it makes no new jobs, and the present one ends too (JS-8)."""
    check("terminate", schedule)
    _give_up(world, schedule, ("the job schedule was terminated", "JS-8"))
    world.job_schedules.set_state(world.now_ms, schedule.row, _S.TERMINATING)
    _wait_in_state(world, schedule)
    job = active_job(world, schedule)
    if job is not None and job.state is not None and job_verdict("terminate", job.state) is None:
        world.emit(ScheduledJobTerminated(job.row, command.force))


def delete(world: World, schedule: JobSchedule, command: DeleteJobSchedule) -> None:
    """Delete a schedule, with all its jobs, their tasks and their files (JS-8)."""
    check("delete", schedule)
    _give_up(world, schedule, ("the job schedule was deleted", "JS-8"))
    world.job_schedules.set_state(world.now_ms, schedule.row, _S.DELETING)
    _wait_in_state(world, schedule)
    for job in world.jobs_under(schedule):
        if job.state is not JobState.DELETING:
            world.emit(ScheduledJobDeleted(job.row, command.force))


def _give_up(world: World, schedule: JobSchedule, why: tuple[str, str]) -> None:
    """Give up all occurrences up to now: no job will be made any more."""
    if schedule.state in (_S.ACTIVE, _S.DISABLED):
        _lose(world, schedule, timing_of(world, schedule).latest(world.now_ms) + 1, why)


def _wait_in_state(world: World, schedule: JobSchedule) -> None:
    """Keep the schedule in its intermediate state as long as a job's lasts (TIME-19)."""
    schedule.assign(waits_until_ms=world.now_ms + TRANSITION_MS)
    _enter_step(world, schedule, schedule.waits_until_ms)


# -- steps -----------------------------------------------------------------------------------------------------------


def _enter_step(world: World, schedule: JobSchedule, when_ms: int) -> None:
    """Enter the next step of the schedule in the calendar; earlier entries are void."""
    world.calendar.at(when_ms, DueKind.SCHEDULE_STEP, schedule.row, schedule.next_token())


def schedule_step(world: World, due: Due) -> None:
    """Make the job of an occurrence that is due, or end a schedule whose last job has ended."""
    schedule = world.job_schedules.edit(due.key)
    if schedule.token != due.token:
        return
    match schedule.state:
        case _S.ACTIVE:
            if active_job(world, schedule) is None:
                _take_turn(world, schedule)
        case _S.TERMINATING:
            if world.now_ms >= schedule.waits_until_ms and active_job(world, schedule) is None:
                _complete(world, schedule)
        case _S.DELETING:
            if world.now_ms >= schedule.waits_until_ms and next(world.jobs_under(schedule), None) is None:
                world.job_schedules.set_state(world.now_ms, schedule.row, None)
                _free_unit(world, schedule)


def _take_turn(world: World, schedule: JobSchedule) -> None:
    """Make a job if one is due and none runs; else the schedule waits, or is over (JS-3 to JS-5)."""
    timing, now_ms = timing_of(world, schedule), world.now_ms
    occurrence = due_occurrence(timing, schedule.turn, now_ms)
    if occurrence is None:
        schedule.assign(shortage=None)
        if is_over(timing, schedule.turn, now_ms):
            _complete(world, schedule)
            return
    elif capacity.has_unit(world) and _is_attempt(schedule, occurrence, now_ms):
        _make_job(world, schedule, occurrence)
        return
    elif schedule.shortage is None or schedule.shortage.occurrence != occurrence:
        schedule.assign(shortage=Shortage(occurrence, now_ms))
    changes = [next_change_ms(timing, schedule.turn, now_ms), _next_attempt_ms(world, schedule)]
    when_ms = min((change for change in changes if change is not None), default=None)
    if when_ms is not None:
        _enter_step(world, schedule, when_ms)


def _is_attempt(schedule: JobSchedule, occurrence: int, now_ms: int) -> bool:
    """Return whether the occurrence may make its job now: at once, and when short of quota each minute (ACC-9)."""
    shortage = schedule.shortage
    if shortage is None or shortage.occurrence != occurrence:
        return True
    return (now_ms - shortage.since_ms) % QUOTA_RETRY_INTERVAL_MS == 0


def _next_attempt_ms(world: World, schedule: JobSchedule) -> int | None:
    """Return when a schedule short of quota tries again (ACC-9); None while the quota is full."""
    if schedule.shortage is None or not capacity.has_unit(world):
        return None
    waited_ms = world.now_ms - schedule.shortage.since_ms
    return world.now_ms + QUOTA_RETRY_INTERVAL_MS - waited_ms % QUOTA_RETRY_INTERVAL_MS


def _make_job(world: World, schedule: JobSchedule, occurrence: int) -> None:
    """Make the job of an occurrence (JS-11)."""
    _lose(world, schedule, occurrence, _why_lost(world, schedule))
    schedule.assign(shortage=None)
    job_id = schedule.make_job(len(world.jobs))
    spec = JobSpec.model_validate({"id": job_id, **schedule.spec.job_specification.given_values()}, by_name=True)
    world.emit(OccurrenceDue(schedule.row, spec))
    _enter_loss(world, schedule)


def _complete(world: World, schedule: JobSchedule) -> None:
    """Complete a schedule without jobs under way, which makes no more (JS-4, JS-5, JS-8)."""
    _give_up(world, schedule, _why_lost(world, schedule))
    world.job_schedules.complete(world.now_ms, schedule.row)
    _free_unit(world, schedule)


def _free_unit(world: World, schedule: JobSchedule) -> None:
    """Let others have the unit of the quota of a schedule that has ended or is gone (ACC-9)."""
    world.emit(JobScheduleEnded(schedule.row))
    _wake_schedules(world)


# -- occurrences that make no job ------------------------------------------------------------------------------------


def _enter_loss(world: World, schedule: JobSchedule) -> None:
    """Enter the moment at which the next occurrence is lost, if it makes no job until then (JS-15).

    These entries keep no run alive: an active schedule behind a job that never ends loses one after the other.
    """
    when_ms = _loss_ms(world, schedule)
    if when_ms is not None:
        world.calendar.at_endless(max(when_ms, world.now_ms), DueKind.OCCURRENCE_LOST, schedule.row, schedule.turn)


def _loss_ms(world: World, schedule: JobSchedule) -> int | None:
    """Return when the next occurrence is lost: of a disabled schedule that recurs when it is due (JS-13)."""
    timing, turn = timing_of(world, schedule), schedule.turn
    due_ms = timing.due_ms(turn)
    if (timing.interval_ms is None and turn > 0) or (timing.last_ms is not None and due_ms > timing.last_ms):
        return None  # there is no such occurrence
    return due_ms if schedule.state is _S.DISABLED and timing.interval_ms is not None else timing.lost_ms(turn)


def occurrence_lost(world: World, due: Due) -> None:
    """Give up an occurrence that can no longer make its job (JS-3, JS-15), and wait for the next."""
    schedule = world.job_schedules.edit(due.key)
    if schedule.turn != due.token or schedule.state not in (_S.ACTIVE, _S.DISABLED):
        return
    if _loss_ms(world, schedule) != world.now_ms:
        return  # another timing, or enabled or disabled in the meantime
    _lose(world, schedule, schedule.turn + 1, _why_lost(world, schedule))
    _enter_loss(world, schedule)


def _lose(world: World, schedule: JobSchedule, turn: int, why: tuple[str, str]) -> None:
    """Give up the occurrences before ``turn`` that have made no job, each with an event."""
    if turn > schedule.turn:
        world.job_schedules.lose(world.now_ms, schedule.row, turn, *why)


def _why_lost(world: World, schedule: JobSchedule) -> tuple[str, str]:
    """Return why an occurrence makes no job, and the rule: see ``schedule_step``."""
    if schedule.state is _S.DISABLED:
        return _DISABLED
    if schedule.shortage is not None or schedule.recent_job == NO_JOB:
        return "the quota for active jobs and job schedules was full", "ACC-9"
    return f"{world.jobs[schedule.recent_job].id} was still active", "JS-3"


# -- what wakes a schedule -------------------------------------------------------------------------------------------


def job_ended(world: World, ended: JobEnded) -> None:
    """Let the schedule of a job that is over go on (JS-3), and others get its unit of the quota (ACC-9)."""
    _wake_schedules(world, world.jobs.rows[ended.job].schedule)


def quotas_changed(world: World, _: QuotasChanged) -> None:
    """Let schedules that are short of quota see if there is room by now (ACC-9)."""
    _wake_schedules(world)


def _wake_schedules(world: World, schedule: int = NO_SCHEDULE) -> None:
    for other in world.job_schedules.present():
        if other.row == schedule or other.shortage is not None:
            world.calendar.at(world.now_ms, DueKind.SCHEDULE_STEP, other.row, other.token)
