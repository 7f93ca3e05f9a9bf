"""Reasons for the state of jobs and job schedules.

A job has not ended, is still terminating, or has ended, and its task counts may be approximate. A job schedule makes no
job now, is still ending, or has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import InstanceState, JobScheduleState, JobState, OnAllTasksComplete
from engine.base.values import values
from engine.rules import job_schedules
from engine.rules.decisions import capacity
from engine.rules.decisions.verdicts import ends_with_manager
from engine.rules.job_schedules import active_job
from engine.run.agenda import Agenda
from engine.state.instances import PrepFlag
from engine.state.jobs import NO_SCHEDULE
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.diagnosis.candidates import (
    Outlook,
    first_end,
    ineligible_nodes,
    priority_check,
    state_passes_ms,
    too_large_tasks,
)
from engine.views.diagnosis.model import (
    Check,
    Next,
    Note,
    answer,
    due,
    earliest,
    moment,
    name_of,
    plural,
    reason,
    some,
    time_in_state,
)
from engine.views.diagnosis.pools import next_evaluation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.state.jobs import Job, JobSchedule
    from engine.state.pools import Pool
    from engine.views.diagnosis.model import Explanation, Reason
    from engine.world import World


_J = JobState
_MOST_NAMED = 8  # of the nodes whose release tasks hold a job
# Nodes that owe a release, and until when, by the node's state and the rule by which the job waits.
_Waiting = dict[tuple[str, str], list[tuple[int | None, int]]]


def why_job(world: World, job: Job, outlook: Outlook | None = None) -> Explanation:
    """Explain the job's state, and what it waits for; the outlook is that of this moment."""
    match job.state:
        case _J.ACTIVE:
            return _active_job(world, job, outlook or Outlook(world))
        case _J.DISABLING | _J.DISABLED | _J.ENABLING:
            return _suspended(world, job)
        case _J.TERMINATING | _J.DELETING:
            return _ending_job(world, job)
        case _J.COMPLETED:
            return _completed_job(world, job)
        case None:
            note = Note("It has been deleted, with all its tasks.", "JOB-16")
            return answer(world, f"Where is job {job.id}?", notes=(note,))


def _active_job(world: World, job: Job, outlook: Outlook) -> Explanation:
    agenda = outlook.agenda
    begun = job.busy or job.counts[COMPLETED]
    ends_itself = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
    left = job.total - job.counts[COMPLETED]
    queues = job.queues_in_order()
    fit = outlook.fit(job, world.tasks.profile_of(queues[0][1].head())) if queues else None  # for the task in turn
    progress = f"{job.counts[COMPLETED]:,} of {job.total:,} completed"
    if left:
        counts = ((ACTIVE, "active"), (PREPARING, "preparing"), (RUNNING, "running"))
        progress += "; " + ", ".join(f"{job.counts[state]:,} {word}" for state, word in counts)
    checks = (
        Check("onAllTasksComplete", ends_itself, job.on_all_tasks_complete.value, "JOB-7"),
        Check("tasks", not left, progress, "JOB-7"),
        _pool(world, job),
        *_obstacles(world, job),
        priority_check(world, job, fit),
    )
    nodes = world.pools[job.pool].nodes if job.pool >= 0 else []
    seen = (agenda.tasks_seen.get(world.tasks.blocks[number].first) for number in job.blocks)
    changes = [
        first_end(world, nodes, job) if fit is None else fit.next_change,
        next_evaluation(world.pools[job.pool]) if fit is not None else None,
        _first_preparation(world, job),
        *(due("the scheduler sees new tasks", when_ms, "TIME-9") for when_ms in seen),
        due("the job's time limit is reached", agenda.job_timeouts.get(job.row), "JOB-9"),
    ]
    verb = "ended" if begun else "started"
    notes = [] if ends_itself else [_what_ends(job)]
    if job.schedule != NO_SCHEDULE:
        schedule_id = world.job_schedules[job.schedule].id
        notes.append(Note(f"Job schedule {schedule_id} creates no other job until it ends.", "JS-3"))
    following = earliest(changes)
    is_stuck = following is None and (not ends_itself or left > 0)
    nothing = ("JOB-8" if left else "JOB-7") if is_stuck else ""
    reasons = () if fit is None else fit.reasons
    return answer(world, f"Why has job {job.id} not {verb}?", checks, reasons, following, notes, nothing)


def _what_ends(job: Job) -> Note:
    """Say what ends a job that does not end with its tasks."""
    if ends_with_manager(job):
        return Note("Its job manager task ends it when it completes.", "JM-4")
    limit = " or its time limit" if job.max_wall_clock_ms is not None else ""
    return Note(f"Only a user{limit} ends it.", "JOB-7")


def _first_preparation(world: World, job: Job) -> Next | None:
    instances = world.instances
    ends = (
        (instances.prep_end[row], instances.node[row])
        for row in instances.rows_of_job(job.row)
        if instances.prep_state[row] == InstanceState.RUNNING
    )
    when_ms, node = min(ends, default=(0, -1))
    return None if node < 0 else Next(f"preparation ends on {name_of(world, node)}", when_ms, "PREP-5")


def _pool(world: World, job: Job) -> Check:
    if job.pool < 0:
        return Check("pool", False, f"{job.pool_id} does not exist", "POOL-18")
    pool = world.pools[job.pool]
    ready = sum(bits.bit_count() for bits in pool.buckets)
    present = _present(world, pool)
    return Check("nodes that take tasks", ready > 0, f"{ready:,} of {present:,} in pool {pool.id}", "SCHED-8")


def _present(world: World, pool: Pool) -> int:
    """Return the number of the pool's nodes, without those that have left it."""
    return len(pool.nodes) - bytes(values(world.nodes.state, pool.nodes)).count(GONE)


def _obstacles(world: World, job: Job) -> list[Check]:
    """Return the checks of what can keep the tasks active forever (JOB-8)."""
    checks = []
    book = world.dependencies.get(job.row)
    if book is not None and book.waiting_count:
        checks.append(Check("dependencies", False, f"{some(book.waiting_count, 'task')} waiting for others", "JOB-8"))
    if job.pool >= 0:
        pool = world.pools[job.pool]
        too_large = too_large_tasks(job, pool)
        if too_large:
            checks.append(Check("size", False, f"{some(too_large, 'task')} too large for any node", "SCHED-10"))
        if job.ineligible:
            ineligible = sum(world.nodes.state[node] != GONE for node in ineligible_nodes(job, pool))
            present = _present(world, pool)
            value = f"{ineligible:,} of {present:,}: preparation failed there for good"
            some_left = ineligible < present
            checks.append(Check("ineligible nodes", some_left, value, "PREP-9" if some_left else "PREP-11"))
    return checks


def _suspended(world: World, job: Job) -> Explanation:
    assert job.state is not None
    question = f"Why is job {job.id} {job.state.wire}?"
    if job.state is _J.DISABLED:
        note = Note("None of its tasks runs until it is enabled.", "JOB-12")
        return answer(world, question, notes=(note,), nothing="JOB-12")
    step_ms = Agenda(world).job_steps.get(job.row)
    checks = [time_in_state(is_over=step_ms is None)]
    if job.state is _J.ENABLING:
        return answer(world, question, checks, next_change=due("the job can be active", step_ms, "TIME-19"))
    checks.append(Check("tasks on nodes", not job.busy, f"{job.busy:,} preparing or running", "JOB-11"))
    nodes = world.pools[job.pool].nodes if job.pool >= 0 else []
    changes = (due("the job can be disabled", step_ms, "TIME-19"), first_end(world, nodes, job))
    return answer(world, question, checks, next_change=earliest(changes))


def _ending_job(world: World, job: Job) -> Explanation:
    """Explain which release tasks hold the job, and until when (REL-6, REL-10, REL-13)."""
    assert job.state is not None
    agenda, instances = Agenda(world), world.instances
    running: list[tuple[int, int]] = []
    waiting: _Waiting = {}
    changes: list[Next | None] = []
    for row in instances.rows_of_job(job.row):
        node = instances.node[row]
        if instances.release_state[row] == InstanceState.RUNNING:
            running.append((instances.release_end[row], node))
            changes.append(Next(f"release ends on {name_of(world, node)}", instances.release_end[row], "REL-6"))
        elif instances.flags[row] & PrepFlag.RELEASE_OWED:
            state, where = world.nodes.state_of(node), name_of(world, node)
            why = "gone" if state is None else state.wire, "REL-10" if instances.release_runs[row] else "REL-13"
            passes = due(f"{where} is no longer {why[0]}", state_passes_ms(world, agenda, node), why[1])
            given_up = due(f"the wait for {where} ends", agenda.release_timeouts.get(row), why[1])
            change = earliest((passes, given_up))
            waiting.setdefault(why, []).append((change and change.when_ms, node))
            changes.append(change)
    holds = bool(job.releases_open) and not job.forced
    value = f"{job.releases_open:,} open" + (", not waited for: forced" if job.forced and job.releases_open else "")
    step_ms = agenda.job_steps.get(job.row)
    checks = (
        Check("running tasks", not job.busy, "ended" if not job.busy else f"{job.busy:,}", "JOB-15"),
        time_in_state(is_over=step_ms is None),
        Check("release tasks", not holds, value, "JOB-18" if job.forced else "REL-6"),
    )
    notes = [Note(f"Terminate reason: {job.terminate_reason}.", "JOB-10")] if job.terminate_reason else []
    held_by = sorted([node for _, node in running] + [node for owed in waiting.values() for _, node in owed])
    if held_by and holds:
        named = ", ".join(name_of(world, node) for node in held_by[:_MOST_NAMED])
        more = f" and {len(held_by) - _MOST_NAMED:,} more" if len(held_by) > _MOST_NAMED else ""
        notes.append(Note(f"It waits for {named}{more}.", "REL-6"))
    if running:
        last_ms, last = max(running)
        text = f"The last running release task ends on {name_of(world, last)} at {moment(world, last_ms)}."
        notes.append(Note(text, "REL-6"))
    reasons = [_reason(world, running, "running", "REL-6")] if running else []
    reasons += [
        _reason(world, owed, f"waiting for a node that is {state}", rule)
        for (state, rule), owed in sorted(waiting.items())
    ]
    target = "completed" if job.state is _J.TERMINATING else "deleted"
    following = due(f"the job can be {target}", step_ms, "TIME-19")
    if holds:
        following = earliest(changes)
    return answer(world, f"Why is job {job.id} still {job.state.wire}?", checks, reasons, following, notes)


def _reason(world: World, found: Sequence[tuple[int | None, int]], text: str, rule: str) -> Reason:
    return reason(world, found, f"{plural(len(found), 'release task')} {text}", rule)


def _completed_job(world: World, job: Job) -> Explanation:
    assert job.end_ms is not None
    notes = [Note("Tasks that are active stay active.", "JOB-15")] if job.counts[ACTIVE] else []
    when, error = moment(world, job.end_ms), job.scheduling_error
    if error is None:
        ended = Check("ended", True, f"{job.terminate_reason} at {when}", "JOB-10")
    else:
        ended = Check("ended", False, f"at {when}: {error.code}", "JOB-20")
        notes.append(Note(error.cause, "AUTO-4"))
    return answer(world, f"Why has job {job.id} ended?", (ended,), notes=notes)


def why_counts(world: World, job: Job, following: Next | None) -> Explanation | None:
    """Explain which tasks are counted as something else; return None while none is."""
    preparing, running = job.counts[PREPARING], job.counts[RUNNING]
    if not preparing:
        return None
    question = f"Why do the approximate task counts of job {job.id} differ from the exact ones?"
    checks = (
        Check("running, approximate", False, f"{running + preparing:,}", "TASK-16"),
        Check("running, exact", True, f"{running:,}, and {preparing:,} preparing", "TASK-16"),
    )
    note = Note(f"The service counts {some(preparing, 'preparing task')} as running.", "TASK-16")
    return answer(world, question, checks, (), following, (note,))


_S = JobScheduleState


def why_schedule(world: World, schedule: JobSchedule, now_ms: int) -> Explanation:
    """Explain the schedule's state at ``now_ms``, and what it waits for."""
    match schedule.state:
        case _S.ACTIVE:
            return _active_schedule(world, schedule, now_ms)
        case _S.DISABLED:
            return _disabled(world, schedule, now_ms)
        case _S.TERMINATING | _S.DELETING:
            return _ending_schedule(world, schedule, now_ms)
        case _S.COMPLETED:
            return _completed_schedule(world, schedule)
        case None:
            note = Note("It has been deleted, with all its jobs.", "JS-8")
            return answer(world, f"Where is job schedule {schedule.id}?", notes=(note,))


def _active_schedule(world: World, schedule: JobSchedule, now_ms: int) -> Explanation:
    job = active_job(world, schedule)
    is_free = job is None or job.state is None
    has_room = capacity.has_unit(world)
    timing = job_schedules.timing_of(world, schedule)
    occurrence = job_schedules.due_occurrence(timing, schedule.turn, now_ms)
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
    used, limit = capacity.active_jobs_and_schedules(world), world.account.quotas.active_jobs_and_schedules
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
    occurrence = job_schedules.due_occurrence(timing, schedule.turn, now_ms)
    label = "an occurrence is due"
    if occurrence is None:
        when_ms = job_schedules.next_due_ms(timing, schedule.turn, now_ms)
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


def _ending_schedule(world: World, schedule: JobSchedule, now_ms: int) -> Explanation:
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


def _completed_schedule(world: World, schedule: JobSchedule) -> Explanation:
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
