"""Reasons why a job has not ended, is still terminating, or has ended, and why its task counts are approximate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import InstanceState, JobState, OnAllTasksComplete
from engine.rules.decisions.jobs import ends_with_manager
from engine.state.instances import PrepFlag
from engine.state.jobs import NO_SCHEDULE
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.explain.autoscale import next_evaluation
from engine.views.explain.candidates import Outlook, first_end, ineligible_nodes, state_passes_ms
from engine.views.explain.explanation import (
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
from engine.views.explain.priority import priority_check
from engine.views.pages.bulk import values
from engine.world.agenda import Agenda

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.views.explain.explanation import Explanation, Reason
    from engine.world.world import World

_J = JobState
_MOST_NAMED = 8  # of the nodes whose release tasks hold a job
# Nodes that owe a release, and until when, by the node's state and the rule by which the job waits.
_Waiting = dict[tuple[str, str], list[tuple[int | None, int]]]


def why_job(world: World, job: Job, outlook: Outlook | None = None) -> Explanation:
    """Explain the job's state, and what it waits for; the outlook is that of this moment."""
    match job.state:
        case _J.ACTIVE:
            return _active(world, job, outlook or Outlook(world))
        case _J.DISABLING | _J.DISABLED | _J.ENABLING:
            return _suspended(world, job)
        case _J.TERMINATING | _J.DELETING:
            return _ending(world, job)
        case _J.COMPLETED:
            return _completed(world, job)
        case None:
            note = Note("It has been deleted, with all its tasks.", "JOB-16")
            return answer(world, f"Where is job {job.id}?", notes=(note,))


def _active(world: World, job: Job, outlook: Outlook) -> Explanation:
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
        too_large = sum(queue.size for slots, queue in job.ready.items() if slots > pool.slots)
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


def _ending(world: World, job: Job) -> Explanation:
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


def _completed(world: World, job: Job) -> Explanation:
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
