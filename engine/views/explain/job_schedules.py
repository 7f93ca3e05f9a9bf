"""Reasons why a job schedule makes no job now, is still ending, or has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import JobScheduleState, OnAllTasksComplete
from engine.rules import job_schedules
from engine.rules.decisions import occurrences, quotas
from engine.rules.job_schedules import active_job
from engine.views.explain.explanation import Check, Note, answer, due, earliest, moment, some, time_in_state
from engine.views.explain.jobs import why_job

if TYPE_CHECKING:
    from engine.state.job_schedules import JobSchedule
    from engine.views.explain.explanation import Explanation, Next
    from engine.world.world import World

_S = JobScheduleState


def why_schedule(world: World, schedule: JobSchedule, now_ms: int) -> Explanation:
    """Explain the schedule's state at ``now_ms``, and what it waits for."""
    match schedule.state:
        case _S.ACTIVE:
            return _active(world, schedule, now_ms)
        case _S.DISABLED:
            return _disabled(world, schedule, now_ms)
        case _S.TERMINATING | _S.DELETING:
            return _ending(world, schedule, now_ms)
        case _S.COMPLETED:
            return _completed(world, schedule)
        case None:
            note = Note("It has been deleted, with all its jobs.", "JS-8")
            return answer(world, f"Where is job schedule {schedule.id}?", notes=(note,))


def _active(world: World, schedule: JobSchedule, now_ms: int) -> Explanation:
    job = active_job(world, schedule)
    is_free = job is None or job.state is None
    has_room = quotas.has_unit(world)
    timing = job_schedules.timing_of(world, schedule)
    occurrence = occurrences.due_occurrence(timing, schedule.turn, now_ms)
    held_up = None if is_free and has_room else occurrence
    is_short = is_free and held_up is not None
    next_run = _next_run(world, schedule, now_ms)
    changes = [
        None if held_up is None else due("this occurrence is lost", timing.lost_ms(held_up), "JS-15"),
        None if is_short else next_run,
        None if job is None else why_job(world, job).next_change,
    ]
    if job is None or job.state is None:
        before = "the one before has ended" if schedule.jobs_made else "it has created none yet"
    else:
        before = f"{job.id} has been {job.state.wire} since {moment(world, job.since_ms)}"
    # A schedule short of the quota tries each minute once there may be room (ACC-9).
    used, limit = quotas.active_jobs_and_schedules(world), world.account.quotas.active_jobs_and_schedules
    checks = (
        _due(world, schedule, now_ms),
        Check("no active job", is_free, before, "JS-3"),
        Check("quota", has_room, f"{used:,} of {limit:,} active jobs and schedules", "ACC-9"),
    )
    last = None if timing.last_ms is None else Note(f"No job is created after {moment(world, timing.last_ms)}.", "JS-5")
    room = Note("It is created soon after a job or schedule has ended, or the quota is raised.", "ACC-9")
    after = None if held_up is None else _after_loss(world, next_run)
    notes = (room if is_short else None, after, _missed(world, schedule, now_ms), _unattended(schedule), last)
    question = f"Why does job schedule {schedule.id} create no job now?"
    return answer(world, question, checks, (), earliest(changes), notes)


def _due(world: World, schedule: JobSchedule, now_ms: int) -> Check:
    """Check that an occurrence waits for its job, since when and until when."""
    timing = job_schedules.timing_of(world, schedule)
    occurrence = occurrences.due_occurrence(timing, schedule.turn, now_ms)
    label = "an occurrence is due"
    if occurrence is None:
        when_ms = occurrences.next_due_ms(timing, schedule.turn, now_ms)
        value = "none left" if when_ms is None else f"the next one at {moment(world, when_ms)}"
        return Check(label, False, value, "JS-4" if timing.interval_ms is None else "JS-13")
    closes_ms = timing.closes_ms(occurrence)
    until = "" if closes_ms is None else f", until {moment(world, closes_ms)}"
    return Check(label, True, f"since {moment(world, timing.due_ms(occurrence))}{until}", "JS-3")


def _after_loss(world: World, next_run: Next | None) -> Note | None:
    """Note when the next job is due if the occurrence that waits is lost."""
    return next_run and Note(
        f"If this occurrence is lost, the next job is due at {moment(world, next_run.when_ms)}.", "JS-13"
    )


def _next_run(world: World, schedule: JobSchedule, now_ms: int) -> Next | None:
    return due("the next job is due", job_schedules.next_run_ms(world, schedule, now_ms), "JS-13")


def _missed(world: World, schedule: JobSchedule, now_ms: int) -> Note | None:
    """Note how many occurrences made no job, and why the last one did not (JS-15)."""
    count = job_schedules.missed(world, schedule, now_ms)
    text = f"{some(count, 'occurrence')} created no job before {'its' if count == 1 else 'their'} start window ended."
    last = "" if schedule.missed_ms is None else f" The last was lost at {moment(world, schedule.missed_ms)}."
    return Note(text + last, "JS-15") if count else None


def _unattended(schedule: JobSchedule) -> Note | None:
    """Warn of jobs that nothing ends; the service accepts such a schedule (JS-12)."""
    job = schedule.spec.job_specification
    manager = job.job_manager_task
    ends_itself = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
    if manager is None and ends_itself:
        return Note("Its jobs have no job manager task: without tasks each ends at once.", "JM-3")
    if ends_itself or (manager is not None and manager.kill_job_on_completion):
        return None
    return Note("Nothing ends its jobs. Until one ends, no other is created.", "JS-12")


def _disabled(world: World, schedule: JobSchedule, now_ms: int) -> Explanation:
    notes = [Note("No job is created until it is enabled. Occurrences until then are skipped.", "JS-13")]
    run = _next_run(world, schedule, now_ms)
    if run is not None:
        notes.append(Note(f"If enabled by then, it creates the next job at {moment(world, run.when_ms)}.", "JS-7"))
    job = active_job(world, schedule)
    if job is not None:
        notes.append(Note(f"Job {job.id} continues.", "JS-6"))
    question = f"Why is job schedule {schedule.id} disabled?"
    since = Check("disabled", True, f"since {moment(world, schedule.since_ms)}", "JS-6")
    return answer(world, question, (since,), notes=(*notes, _missed(world, schedule, now_ms)))


def _ending(world: World, schedule: JobSchedule, now_ms: int) -> Explanation:
    assert schedule.state is not None
    waited = now_ms >= schedule.waits_until_ms
    is_deleting = schedule.state is _S.DELETING
    active = active_job(world, schedule)
    left = list(world.jobs_under(schedule)) if is_deleting else [active] if active is not None else []
    value = f"{some(len(left), 'job')} left" + (f", {left[0].id} first" if left else "")
    checks = (
        time_in_state(is_over=waited),
        Check("jobs are deleted" if is_deleting else "its job has ended", not left, value, "JS-8"),
    )
    changes = [why_job(world, job).next_change for job in left[:1]]
    if not left and not waited:
        target = "deleted" if is_deleting else "completed"
        changes.append(due(f"the job schedule can be {target}", schedule.waits_until_ms, "TIME-19"))
    question = f"Why is job schedule {schedule.id} still {schedule.state.wire}?"
    return answer(world, question, checks, next_change=earliest(changes))


def _completed(world: World, schedule: JobSchedule) -> Explanation:
    assert schedule.end_ms is not None
    assert schedule.previous is not None
    timing = job_schedules.timing_of(world, schedule)
    if schedule.previous[0] is _S.TERMINATING:
        note = Note("It was terminated.", "JS-8")
    elif timing.interval_ms is None:
        single = "It was for one job, and that has ended." if schedule.jobs_made else "Its only occurrence was missed."
        note = Note(single, "JS-4")
    else:
        assert timing.last_ms is not None
        note = Note(f"No job is created after {moment(world, timing.last_ms)}, and none is left.", "JS-5")
    ended = f"at {moment(world, schedule.end_ms)}, with {some(schedule.jobs_made, 'job')} created"
    notes = (note, _missed(world, schedule, schedule.end_ms))
    question = f"Why has job schedule {schedule.id} ended?"
    return answer(world, question, (Check("ended", True, ended, "JS-7"),), notes=notes)
