"""Reasons for the state of jobs and job schedules.

A job has not ended, is still terminating, or has ended, and its task counts may be approximate. A job schedule makes no
job now, is still ending, or has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import InstanceState, JobScheduleState, JobState, OnAllTasksComplete
from engine.base.values import called, values
from engine.rules import job_schedules
from engine.rules.decisions import capacity
from engine.rules.decisions.verdicts import ends_with_manager
from engine.rules.job_schedules import active_job
from engine.run.agenda import Agenda, job_limit, may_act, planned_ends
from engine.state.instances import PrepFlag
from engine.state.jobs import NO_SCHEDULE
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.diagnosis.candidates import (
    Outlook,
    disabled_by,
    first_end,
    ineligible_nodes,
    network_checks,
    next_evaluation,
    passing_words,
    priority_check,
    state_passes_ms,
    too_large_tasks,
)
from engine.views.diagnosis.model import (
    Condition,
    Next,
    answer,
    check,
    due,
    earliest,
    limit_words,
    listed,
    moment,
    name_of,
    note,
    reason,
    some,
)
from engine.views.diagnosis.pools import supply_checks
from engine.views.resources.jobs import bad_end, nodes_of_failed_releases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.rules.job_schedules import Timing
    from engine.run.agenda import Cut
    from engine.state.jobs import Job, JobSchedule
    from engine.views.diagnosis.model import Explanation, Finding
    from engine.world import World


_J = JobState
_MOST_NAMED = 8  # of the nodes whose release tasks hold a job
_RUNNING = "running", "REL-6"  # words for release tasks, and their rule


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
            deleted = note("It has been deleted, with all its tasks.", "JOB-16")
            return answer(world, f"Where is {called('job', job.id)}?", (deleted,))


def _active_job(world: World, job: Job, outlook: Outlook) -> Explanation:
    agenda, limit = outlook.agenda, job_limit(world, job)
    begun = job.busy or job.counts[COMPLETED]
    ends_itself = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
    left = job.total - job.counts[COMPLETED]
    queues = job.queues_in_order()
    fit = outlook.fit(job, world.tasks.profile_of(queues[0][1].head())) if queues else None  # for the task in turn
    progress = f"{job.counts[COMPLETED]:,} of {job.total:,} completed"
    if left:
        counts = ((ACTIVE, "active"), (PREPARING, "preparing"), (RUNNING, "running"))
        progress += "; " + ", ".join(f"{job.counts[state]:,} {word}" for state, word in counts)
    nodes = world.pools[job.pool].nodes if job.pool >= 0 else []
    seen = (agenda.tasks_seen.get(world.tasks.blocks[number].first) for number in job.blocks)
    following = earliest(
        (
            first_end(world, nodes, job) if fit is None else fit.next_change,
            next_evaluation(world.pools[job.pool]) if fit is not None else None,
            _first_preparation(world, job),
            *(due("the scheduler sees new tasks", when_ms, "TIME-9") for when_ms in seen),
            None if limit is None else Next(_limit_words(job, limit), limit.when_ms, limit.rule),
        )
    )
    reasons = *_obstacles(world, job), priority_check(world, job, fit), *(() if fit is None else fit.reasons)
    is_held_up = any(one is not None and one.ok is False for one in reasons)
    findings = (
        check("onAllTasksComplete", ends_itself or (None if left else False), job.on_all_tasks_complete.value, "JOB-7"),
        check(Condition.TASKS, not left or (None if is_held_up else False), progress, "JOB-7"),
        *reasons,
        None if ends_itself else _what_ends(world, job),
        None
        if job.schedule == NO_SCHEDULE
        else note(f"Job schedule {world.job_schedules[job.schedule].id} creates no other job until it ends.", "JS-3"),
    )
    is_stuck = following is None and (not ends_itself or left > 0) and not may_act(world)
    nothing = ("JOB-8" if left else "JOB-7") if is_stuck else ""
    question = f"Why has {called('job', job.id)} not {'ended' if begun else 'started'}?"
    return answer(world, question, findings, following, nothing)


def _limit_words(job: Job, limit: Cut) -> str:
    return "the job's time limit is reached" if limit.rule == "JOB-9" else limit_words(job, limit)


def _what_ends(world: World, job: Job) -> Finding:
    """Say what ends a job that does not end with its tasks."""
    if ends_with_manager(job):
        return note("Its job manager task ends it when it completes.", "JM-4")
    if planned := planned_ends(world, job):
        when_ms, rule = planned[0]
        when = f"at {moment(world, when_ms)}" if world.is_known(when_ms) else "when its condition holds"
        return note(f"The timeline {'deletes' if rule == 'JOB-16' else 'ends'} it {when}.", rule)
    limit = " or its time limit" if job.max_wall_clock_ms is not None else ""
    return note(f"Only a user{limit} ends it.", "JOB-7")


def _first_preparation(world: World, job: Job) -> Next | None:
    instances = world.instances
    ends = (
        (instances.prep_end[row], instances.node[row])
        for row in instances.rows_of_job(job.row)
        if instances.prep_state[row] == InstanceState.RUNNING
    )
    when_ms, node = min(ends, default=(0, -1))
    return None if node < 0 else Next(f"preparation ends on {name_of(world, node)}", when_ms, "PREP-5")


def _obstacles(world: World, job: Job) -> Iterator[Finding]:
    """Yield the checks of its nodes, and of what can keep the tasks active forever (JOB-8)."""
    if job.pool < 0:
        yield check(Condition.JOB_POOL, False, f"{job.pool_id} does not exist", "POOL-18", "pool")
    else:
        pool = world.pools[job.pool]
        present = len(pool.nodes) - bytes(values(world.nodes.state, pool.nodes)).count(GONE)
        ready = sum((bits & ~job.ineligible).bit_count() for bits in pool.buckets)
        is_ready = ready > 0 or (None if any(pool.buckets) else False)  # None: those that are ready are ineligible
        yield check(Condition.NODES, is_ready, f"{ready:,} of {present:,} in {called('pool', pool.id)}", "SCHED-8")
        yield from network_checks(world, pool)
        yield from supply_checks(world, pool) if job.counts[ACTIVE] and not ready else ()
    book = world.dependencies.get(job.row)
    if book is not None and book.waiting_count:
        value = f"{some(book.waiting_count, 'task')} waiting for others"
        yield check(Condition.DEPENDENCIES, False, value, "JOB-8")
    if job.pool >= 0:
        too_large = too_large_tasks(job, pool)
        if too_large:
            yield check(Condition.SIZE, False, f"{some(too_large, 'task')} too large for any node", "SCHED-10")
        if job.ineligible:
            ineligible = sum(world.nodes.state[node] != GONE for node in ineligible_nodes(job, pool))
            value = f"{ineligible:,} of {present:,}: preparation failed there for good"
            some_left = ineligible < present  # without keeping the tasks from starting it is no good sign either
            yield check(Condition.INELIGIBLE, None if some_left else False, value, "PREP-9" if some_left else "PREP-11")


def _suspended(world: World, job: Job) -> Explanation:
    assert job.state is not None
    question = f"Why is {called('job', job.id)} {job.state.wire}?"
    if job.state is _J.DISABLED:
        by = disabled_by(world, job).removeprefix(" by ")
        because = check("disabled by", False, by, "EXIT-5" if "exit" in by else "JOB-12")
        findings = because, note("None of its tasks runs until it is enabled.", "JOB-12")
        return answer(world, question, findings, None, "JOB-12")
    step_ms = Agenda(world).job_steps.get(job.row)
    over = time_in_state(is_over=step_ms is None)
    if job.state is _J.ENABLING:
        return answer(world, question, (over,), due("the job can be active", step_ms, "TIME-19"))
    busy = check("tasks on nodes", not job.busy, f"{job.busy:,} preparing or running", "JOB-11")
    nodes = world.pools[job.pool].nodes if job.pool >= 0 else []
    following = earliest((due("the job can be disabled", step_ms, "TIME-19"), first_end(world, nodes, job)))
    return answer(world, question, (over, busy), following)


def time_in_state(*, is_over: bool) -> Finding:
    """Check that a job or job schedule has been in its state for the minimum time (TIME-19)."""
    return check(Condition.MINIMUM_TIME, is_over, "over" if is_over else "not over yet", "TIME-19")


def _ending_job(world: World, job: Job) -> Explanation:
    """Explain which release tasks hold the job, and until when (REL-6, REL-10, REL-13)."""
    assert job.state is not None
    agenda, instances = Agenda(world), world.instances
    owed: dict[tuple[str, str], list[tuple[int | None, int]]] = {}  # nodes and until when, by words and rule
    changes: list[Next | None] = []
    for row in instances.rows_of_job(job.row):
        node = instances.node[row]
        state, where = world.nodes.state_of(node), name_of(world, node)
        change: Next | None
        if instances.release_state[row] == InstanceState.RUNNING:
            why, change = _RUNNING, Next(f"release ends on {where}", instances.release_end[row], "REL-6")
        elif instances.flags[row] & PrepFlag.RELEASE_OWED:
            word, rule = "gone" if state is None else state.wire, "REL-10" if instances.release_runs[row] else "REL-13"
            why = f"waiting for a node that is {word}", rule
            passes = due(passing_words(world, node), state_passes_ms(world, agenda, node), rule)
            change = earliest((passes, due(f"the wait for {where} ends", agenda.release_timeouts.get(row), rule)))
        else:
            continue
        owed.setdefault(why, []).append((change and change.when_ms, node))
        changes.append(change)
    holds = bool(job.releases_open) and not job.forced
    value = f"{job.releases_open:,} open" + (", not waited for: forced" if job.forced and job.releases_open else "")
    step_ms = agenda.job_steps.get(job.row)
    held_by = [name_of(world, node) for node in sorted(node for found in owed.values() for _, node in found)]
    last_ms, last = max(((ms, node) for ms, node in owed.get(_RUNNING, ()) if ms is not None), default=(0, -1))
    findings = (
        check("running tasks", not job.busy, f"{job.busy:,}" if job.busy else "ended", "JOB-15"),
        time_in_state(is_over=step_ms is None),
        check(Condition.RELEASE, not holds, value, "JOB-18" if job.forced else "REL-6"),
        *(reason(world, Condition.RELEASE, found, "release task", *why) for why, found in sorted(owed.items())),
        note(f"Terminate reason: {job.terminate_reason}.", "JOB-10") if job.terminate_reason else None,
        note(f"It waits for {listed(held_by, _MOST_NAMED)}.", "REL-6") if held_by and holds else None,
        note(f"The last running release task ends on {name_of(world, last)} at {moment(world, last_ms)}.", "REL-6")
        if last >= 0
        else None,
    )
    target = "completed" if job.state is _J.TERMINATING else "deleted"
    following = earliest(changes) if holds else due(f"the job can be {target}", step_ms, "TIME-19")
    return answer(world, f"Why is {called('job', job.id)} still {job.state.wire}?", findings, following)


def _completed_job(world: World, job: Job) -> Explanation:
    assert job.end_ms is not None
    when, error = moment(world, job.end_ms), job.scheduling_error
    ended = check("ended", not bad_end(job), f"{job.terminate_reason} at {when}", "JOB-10")
    if error is not None:
        ended = check("ended", False, f"at {when}: {error.code}", "JOB-20")
    unreleased = listed([name_of(world, node) for node in nodes_of_failed_releases(world, job)], _MOST_NAMED)
    findings = (
        ended,
        check(Condition.RELEASE, False, f"failed on {unreleased}", "REL-7") if unreleased else None,
        None
        if job.total or job.deleted or error is not None
        else check(Condition.TASKS, False, "it had none", "JOB-7"),
        note("Tasks that are active stay active.", "JOB-15") if job.counts[ACTIVE] else None,
        note(error.cause, "AUTO-4") if error is not None else None,
    )
    return answer(world, f"Why has {called('job', job.id)} ended?", findings)


def why_counts(world: World, job: Job, following: Next | None) -> Explanation | None:
    """Explain which tasks are counted as something else; return None while none is."""
    preparing, running = job.counts[PREPARING], job.counts[RUNNING]
    if not preparing:
        return None
    question = f"Why do the approximate task counts of {called('job', job.id)} differ from the exact ones?"
    findings = (
        check("running, approximate", None, f"{running + preparing:,}", "TASK-16"),
        check("running, exact", True, f"{running:,}, and {preparing:,} preparing", "TASK-16"),
        note(f"The service counts {some(preparing, 'preparing task')} as running.", "TASK-16"),
    )
    return answer(world, question, findings, following)


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
            deleted = note("It has been deleted, with all its jobs.", "JS-8")
            return answer(world, f"Where is {called('job schedule', schedule.id)}?", (deleted,))


def _active_schedule(world: World, schedule: JobSchedule, now_ms: int) -> Explanation:
    job = active_job(world, schedule)
    is_free = job is None or job.state is None
    has_room = capacity.has_unit(world)
    timing = job_schedules.timing_of(world, schedule)
    occurrence = job_schedules.due_occurrence(timing, schedule.turn, now_ms)
    held_up = None if is_free and has_room else occurrence
    is_short = is_free and held_up is not None
    next_run = _next_run(world, schedule, now_ms)
    following = earliest(
        (
            None if held_up is None else due("this occurrence is lost", timing.lost_ms(held_up), "JS-15"),
            None if is_short else next_run,
            None if job is None else why_job(world, job).next_change,
        )
    )
    if job is None or job.state is None:
        before = "the one before has ended" if schedule.jobs_made else "it has created none yet"
    else:
        before = f"{job.id} has been {job.state.wire} since {moment(world, job.since_ms)}"
    # A schedule short of the quota tries each minute once there may be room (ACC-9).
    used, limit = capacity.active_jobs_and_schedules(world), world.account.quotas.active_jobs_and_schedules
    room = "It is created soon after a job or schedule has ended, or the quota is raised."
    findings = (
        _due(world, timing, schedule, now_ms),
        check("no active job", is_free, before, "JS-3"),
        check(Condition.QUOTA, has_room, f"{used:,} of {limit:,} active jobs and schedules", "ACC-9"),
        note(room, "ACC-9") if is_short else None,
        note(f"If this occurrence is lost, the next job is due at {moment(world, next_run.when_ms)}.", "JS-13")
        if held_up is not None and next_run is not None
        else None,
        _missed(world, schedule, now_ms),
        _unattended(schedule),
        None if timing.last_ms is None else note(f"No job is created after {moment(world, timing.last_ms)}.", "JS-5"),
    )
    return answer(world, f"Why does {called('job schedule', schedule.id)} create no job now?", findings, following)


def _due(world: World, timing: Timing, schedule: JobSchedule, now_ms: int) -> Finding:
    """Check that an occurrence waits for its job, since when and until when."""
    occurrence = job_schedules.due_occurrence(timing, schedule.turn, now_ms)
    label = "an occurrence is due"
    if occurrence is None:
        when_ms = job_schedules.next_due_ms(timing, schedule.turn, now_ms)
        value = "none left" if when_ms is None else f"the next one at {moment(world, when_ms)}"
        return check(label, False, value, "JS-4" if timing.interval_ms is None else "JS-13")
    closes_ms = timing.closes_ms(occurrence)
    until = "" if closes_ms is None else f", until {moment(world, closes_ms)}"
    return check(label, True, f"since {moment(world, timing.due_ms(occurrence))}{until}", "JS-3")


def _next_run(world: World, schedule: JobSchedule, now_ms: int) -> Next | None:
    return due("the next job is due", job_schedules.next_run_ms(world, schedule, now_ms), "JS-13")


def _missed(world: World, schedule: JobSchedule, now_ms: int) -> Finding | None:
    """Note how many occurrences made no job, and why the last one did not (JS-15)."""
    count = job_schedules.missed(world, schedule, now_ms)
    text = f"{some(count, 'occurrence')} created no job before {'its' if count == 1 else 'their'} start window ended."
    last = "" if schedule.missed_ms is None else f" The last was lost at {moment(world, schedule.missed_ms)}."
    return note(text + last, "JS-15") if count else None


def _unattended(schedule: JobSchedule) -> Finding | None:
    """Warn of jobs that nothing ends; the service accepts such a schedule (JS-12)."""
    job = schedule.spec.job_specification
    manager = job.job_manager_task
    ends_itself = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
    if manager is None and ends_itself:
        return note("Its jobs have no job manager task: without tasks each ends at once.", "JM-3")
    if ends_itself or (manager is not None and manager.kill_job_on_completion):
        return None
    return note("Nothing ends its jobs. Until one ends, no other is created.", "JS-12")


def _disabled(world: World, schedule: JobSchedule, now_ms: int) -> Explanation:
    run, job = _next_run(world, schedule, now_ms), active_job(world, schedule)
    findings = (
        check("enabled", False, f"disabled since {moment(world, schedule.since_ms)}", "JS-6"),
        note("No job is created until it is enabled. Occurrences until then are skipped.", "JS-13"),
        run and note(f"If enabled by then, it creates the next job at {moment(world, run.when_ms)}.", "JS-7"),
        None if job is None else note(f"{called('Job', job.id)} continues.", "JS-6"),
        _missed(world, schedule, now_ms),
    )
    return answer(world, f"Why is {called('job schedule', schedule.id)} disabled?", findings)


def _ending_schedule(world: World, schedule: JobSchedule, now_ms: int) -> Explanation:
    assert schedule.state is not None
    waited = now_ms >= schedule.waits_until_ms
    is_deleting = schedule.state is _S.DELETING
    active = active_job(world, schedule)
    left = list(world.jobs_under(schedule)) if is_deleting else [active] if active is not None else []
    value = f"{some(len(left), 'job')} left" + (f", {left[0].id} first" if left else "")
    findings = (
        time_in_state(is_over=waited),
        check("jobs are deleted" if is_deleting else "its job has ended", not left, value, "JS-8"),
    )
    target = "deleted" if is_deleting else "completed"
    following = due(f"the job schedule can be {target}", None if waited else schedule.waits_until_ms, "TIME-19")
    if left:
        following = why_job(world, left[0]).next_change
    question = f"Why is {called('job schedule', schedule.id)} still {schedule.state.wire}?"
    return answer(world, question, findings, following)


def _completed_schedule(world: World, schedule: JobSchedule) -> Explanation:
    assert schedule.end_ms is not None
    assert schedule.previous is not None
    timing = job_schedules.timing_of(world, schedule)
    if schedule.previous[0] is _S.TERMINATING:
        why = check("terminated", False, f"at {moment(world, schedule.previous[1])}", "JS-8")
    elif timing.interval_ms is None:
        single = "It was for one job, and that has ended." if schedule.jobs_made else "Its only occurrence was missed."
        why = note(single, "JS-4")
    else:
        assert timing.last_ms is not None
        last = f"no job is created after {moment(world, timing.last_ms)}, and none is left"
        why = check("doNotRunAfter", False, last, "JS-5")
    ended = f"at {moment(world, schedule.end_ms)}, with {some(schedule.jobs_made, 'job')} created"
    findings = check("ended", True, ended, "JS-7"), why, _missed(world, schedule, schedule.end_ms)
    return answer(world, f"Why has {called('job schedule', schedule.id)} ended?", findings)
