"""Reasons why a job has not ended, is still terminating, or has ended, and why its task counts are approximate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import InstanceState, JobState, OnAllTasksComplete
from engine.state.instances import PrepFlag
from engine.state.jobs import NO_SCHEDULE
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.explain.autoscale import next_evaluation
from engine.views.explain.candidates import Fit, candidates, first_end, state_passes_ms
from engine.views.explain.explanation import (
    Check,
    Explanation,
    Next,
    Note,
    Reason,
    earliest,
    moment,
    name_of,
    plural,
    some,
)
from engine.world.agenda import Agenda

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.world.world import World

_J = JobState
_MOST_NAMED = 8  # of the nodes whose release tasks hold a job
# Nodes that owe a release, and until when, by the node's state and the rule by which the job waits.
_Waiting = dict[tuple[str, str], list[tuple[int | None, int]]]


def why_job(world: World, job: Job) -> Explanation:
    """Explain the job's state, and what it waits for."""
    match job.state:
        case _J.ACTIVE:
            return _active(world, job)
        case _J.DISABLING | _J.DISABLED | _J.ENABLING:
            return _suspended(world, job)
        case _J.TERMINATING | _J.DELETING:
            return _ending(world, job)
        case _J.COMPLETED:
            return _completed(world, job)
        case None:
            note = Note("It has been deleted, with all its tasks.", "JOB-16")
            return Explanation(world.scenario.start, f"Where is job {job.id}?", notes=(note,))


def _active(world: World, job: Job) -> Explanation:
    agenda = Agenda(world)
    begun = job.busy or job.counts[COMPLETED]
    ends_itself = job.on_all_tasks_complete is OnAllTasksComplete.TERMINATE_JOB
    left = job.total - job.counts[COMPLETED]
    progress = f"{job.counts[COMPLETED]:,} of {job.total:,} completed"
    checks = [
        Check("onAllTasksComplete", ends_itself, job.on_all_tasks_complete.value, "JOB-7"),
        Check("tasks", not left, f"{progress}; {_counts(job)}" if left else progress, "JOB-7"),
        _pool(world, job),
    ]
    checks += _obstacles(world, job)
    nodes = world.pools[job.pool].nodes if job.pool >= 0 else []
    seen = [agenda.tasks_seen.get(world.tasks.blocks[number].first) for number in job.blocks]
    timeout_ms = agenda.job_timeouts.get(job.row)
    fit = _room(world, agenda, job)
    changes = [
        first_end(world, nodes, job) if fit is None else fit.next_change,
        next_evaluation(world.pools[job.pool]) if fit is not None else None,
        _first_preparation(world, job),
        *(Next("the scheduler sees new tasks", when_ms, "TIME-9") for when_ms in seen if when_ms is not None),
        Next("the job's time limit is reached", timeout_ms, "JOB-9") if timeout_ms is not None else None,
    ]
    verb = "ended" if begun else "started"
    notes = [] if ends_itself else [Note("Only a user or its time limit ends it.", "JOB-7")]
    if job.schedule != NO_SCHEDULE:
        schedule_id = world.job_schedules[job.schedule].id
        notes.append(Note(f"Job schedule {schedule_id} creates no other job until it ends.", "JS-3"))
    following = earliest(changes)
    is_stuck = following is None and (not ends_itself or left > 0)
    return Explanation(
        world.scenario.start,
        f"Why has job {job.id} not {verb}?",
        tuple(checks),
        () if fit is None else fit.reasons,
        following,
        tuple(notes),
        nothing=("JOB-8" if left else "JOB-7") if is_stuck else "",
    )


def _room(world: World, agenda: Agenda, job: Job) -> Fit | None:
    """Find nodes for the task whose turn it is; return None if no task waits for one."""
    queues = job.queues_in_order()
    if job.pool < 0 or not queues:
        return None
    return candidates(world, agenda, world.pools[job.pool], job, world.tasks.profile_of(queues[0][1].head()))


def _first_preparation(world: World, job: Job) -> Next | None:
    instances = world.instances
    ends = (
        (instances.prep_end[row], instances.node[row])
        for row in instances.rows_of_job(job.row)
        if instances.prep_state[row] == InstanceState.RUNNING
    )
    when_ms, node = min(ends, default=(0, -1))
    return None if node < 0 else Next(f"preparation ends on {name_of(world, node)}", when_ms, "PREP-5")


def _counts(job: Job) -> str:
    return f"{job.counts[ACTIVE]:,} active, {job.counts[PREPARING]:,} preparing, {job.counts[RUNNING]:,} running"


def _pool(world: World, job: Job) -> Check:
    if job.pool < 0:
        return Check("pool", False, f"{job.pool_id} does not exist", "POOL-18")
    pool = world.pools[job.pool]
    ready = sum(bits.bit_count() for bits in pool.buckets)
    present = sum(world.nodes.state[node] != GONE for node in pool.nodes)
    return Check("nodes that take tasks", ready > 0, f"{ready:,} of {present:,} in pool {pool.id}", "SCHED-8")


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
            value = f"{some(too_large, 'task')} too large for any node"
            checks.append(Check("size", False, value, "SCHED-10"))
        if job.ineligible:
            here = [node for node in pool.nodes if world.nodes.state[node] != GONE]
            ineligible = sum(job.ineligible >> world.nodes[node].position & 1 for node in here)
            value = f"{ineligible:,} of {len(here):,}: preparation failed there for good"
            checks.append(
                Check(
                    "ineligible nodes", ineligible < len(here), value, "PREP-9" if ineligible < len(here) else "PREP-11"
                )
            )
    return checks


def _suspended(world: World, job: Job) -> Explanation:
    assert job.state is not None
    agenda = Agenda(world)
    checks = []
    notes = []
    nodes = world.pools[job.pool].nodes if job.pool >= 0 else []
    step_ms = agenda.job_steps.get(job.row)
    change = None
    if job.state is _J.DISABLED:
        notes.append(Note("None of its tasks runs until it is enabled.", "JOB-12"))
    else:
        waited = step_ms is None
        checks.append(Check("minimum time in this state", waited, "over" if waited else "not over yet", "TIME-19"))
        target = "disabled" if job.state is _J.DISABLING else "active"
        change = Next(f"the job can be {target}", step_ms, "TIME-19") if step_ms is not None else None
    if job.state is _J.DISABLING:
        checks.append(Check("tasks on nodes", not job.busy, f"{job.busy:,} preparing or running", "JOB-11"))
        change = earliest([change, first_end(world, nodes, job)])
    question = f"Why is job {job.id} {job.state.wire}?"
    nothing = "JOB-12" if job.state is _J.DISABLED else ""
    return Explanation(
        world.scenario.start, question, tuple(checks), next_change=change, notes=tuple(notes), nothing=nothing
    )


def _ending(world: World, job: Job) -> Explanation:
    """Explain which release tasks hold the job, and until when (REL-6, REL-10, REL-13)."""
    assert job.state is not None
    agenda, instances = Agenda(world), world.instances
    running: list[tuple[int, int]] = []
    waiting: _Waiting = {}
    for row in instances.rows_of_job(job.row):
        node = instances.node[row]
        if instances.release_state[row] == InstanceState.RUNNING:
            running.append((instances.release_end[row], node))
        elif instances.flags[row] & PrepFlag.RELEASE_OWED:
            state = world.nodes.state_of(node)
            when_ms = agenda.release_timeouts.get(row, state_passes_ms(world, agenda, node))
            why = "gone" if state is None else state.wire, "REL-10" if instances.release_runs[row] else "REL-13"
            waiting.setdefault(why, []).append((when_ms, node))
    holds = bool(job.releases_open) and not job.forced
    value = f"{job.releases_open:,} open" + (", not waited for: forced" if job.forced and job.releases_open else "")
    step_ms = agenda.job_steps.get(job.row)
    checks = (
        Check("running tasks", not job.busy, "ended" if not job.busy else f"{job.busy:,}", "JOB-15"),
        Check("minimum time in this state", step_ms is None, "over" if step_ms is None else "not over yet", "TIME-19"),
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
        notes.append(
            Note(
                f"The last running release task ends on {name_of(world, last)} at {moment(world, last_ms)}.",
                "REL-6",
            )
        )
    return Explanation(
        world.scenario.start,
        f"Why is job {job.id} still {job.state.wire}?",
        checks,
        tuple(_release_reasons(world, running, waiting)),
        earliest(_release_changes(world, running, waiting)) if holds else _step(job, step_ms),
        tuple(notes),
    )


def _release_reasons(world: World, running: list[tuple[int, int]], waiting: _Waiting) -> list[Reason]:
    reasons = []
    if running:
        first_ms, node = min(running)
        reasons.append(
            Reason(
                len(running), f"{plural(len(running), 'release task')} running", first_ms, "REL-6", name_of(world, node)
            )
        )
    for (state, rule), owed in sorted(waiting.items()):
        known = sorted((when_ms, node) for when_ms, node in owed if when_ms is not None)
        text = f"{plural(len(owed), 'release task')} waiting for a node that is {state}"
        if known:
            reasons.append(Reason(len(owed), text, known[0][0], rule, name_of(world, known[0][1])))
        else:
            reasons.append(Reason(len(owed), text, None, rule))
    return reasons


def _release_changes(world: World, running: list[tuple[int, int]], waiting: _Waiting) -> list[Next]:
    changes = [Next(f"release ends on {name_of(world, node)}", when_ms, "REL-6") for when_ms, node in running]
    for (state, rule), owed in waiting.items():
        for when_ms, node in owed:
            if when_ms is not None:
                where = name_of(world, node)
                is_lost = state in ("unknown", "unusable")
                what = f"the wait for {where} ends" if is_lost else f"{where} is no longer {state}"
                changes.append(Next(what, when_ms, rule))
    return changes


def _step(job: Job, step_ms: int | None) -> Next | None:
    target = "completed" if job.state is _J.TERMINATING else "deleted"
    return None if step_ms is None else Next(f"the job can be {target}", step_ms, "TIME-19")


def _completed(world: World, job: Job) -> Explanation:
    assert job.end_ms is not None
    checks = (Check("ended", True, f"{job.terminate_reason} at {moment(world, job.end_ms)}", "JOB-10"),)
    notes = [Note("Tasks that are active stay active.", "JOB-15")] if job.counts[ACTIVE] else []
    if job.scheduling_error is not None:
        _, code, message = job.scheduling_error
        notes.append(Note(f"{code}: {message}", "JOB-20"))
    return Explanation(world.scenario.start, f"Why has job {job.id} ended?", checks, notes=tuple(notes))


def why_counts(world: World, job: Job, following: Next | None) -> Explanation | None:
    """Explain which tasks are counted as something else; return None while none is."""
    preparing, running = job.counts[PREPARING], job.counts[RUNNING]
    if not preparing:
        return None
    return Explanation(
        world.scenario.start,
        f"Why do the approximate task counts of job {job.id} differ from the exact ones?",
        (
            Check("running, approximate", False, f"{running + preparing:,}", "TASK-16"),
            Check("running, exact", True, f"{running:,}, and {preparing:,} preparing", "TASK-16"),
        ),
        next_change=following,
        notes=(Note(f"The service counts {some(preparing, 'preparing task')} as running.", "TASK-16"),),
    )
