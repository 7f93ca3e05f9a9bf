"""Reasons why a node is idle, busy, or out of order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.failures import FAILURE_EXIT_CODE
from engine.base.node_states import NODE_STATES, READY
from engine.base.terms import InstanceState, JobState, NodeState, SchedulingState
from engine.state.instances import PrepFlag
from engine.views.explain.autoscale import next_evaluation
from engine.views.explain.candidates import first_end, is_cut_off, occupancy, state_passes_ms
from engine.views.explain.explanation import Check, Next, Note, answer, due, earliest, moment, name_of, some, until_cut
from engine.views.explain.pools import network_checks, network_notes
from engine.views.pages.instances import given_up_ms
from engine.views.pages.nodes import BY_CHANCE
from engine.views.pages.option_words import eligible_again
from engine.views.pages.provisioning import is_behind, packages_and_images
from engine.world.agenda import Agenda

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.state.node_records import Node, NodeError
    from engine.views.explain.explanation import Explanation
    from engine.views.pages.provisioning import InstalledItem
    from engine.world.world import World

_N = NodeState
_MOST_JOBS = 8  # jobs of the pool that are explained at most

_TRY_AGAIN = "Reboot the node when it is available again."
_REMEDIES_BY_CODE = {
    "ApplicationPackageError": Note(_TRY_AGAIN, "APP-4"),
    "ContainerInvalidImage": Note(_TRY_AGAIN, "CONT-2"),
    "ContainerInvalidRegistry": Note(_TRY_AGAIN, "CONT-2"),
    "MountConfigurationError": Note(_TRY_AGAIN, "FILE-13"),
    "DiskFull": Note("Delete jobs or tasks with files on it, then reboot it; or reimage it.", "NODE-15"),
}


_EVICTED_BY_CHANCE = ", by chance (evictionRate)"


def why_node(world: World, node: int) -> Explanation:
    """Explain the node's state, and which jobs' tasks may come."""
    state = world.nodes.state_of(node)
    where, pool = name_of(world, node), world.pool_of(node)
    if state is None:
        gone = Note(f"It left pool {pool.id} at {moment(world, world.nodes.since[node])}.", "RSZ-7")
        return answer(world, f"Where is {where}?", notes=(gone,))
    meaning = NODE_STATES[state]
    checks = [Check("state", state in READY, f"{state.wire} since {moment(world, world.nodes.since[node])}", "NODE-8")]
    checks += _node_checks(world, node, state)
    notes = _owed(world, node)
    if state in READY:
        jobs = list(world.jobs_of(pool))
        checks += [_job_check(world, job, node) for job in jobs[:_MOST_JOBS]]
        if not jobs:
            notes.append(Note("No job uses the pool.", "NODE-9"))
        if len(jobs) > _MOST_JOBS:
            notes.append(Note(f"{some(len(jobs) - _MOST_JOBS, 'more job')} in the pool.", "SCHED-4"))
    elif is_cut_off(world, node):
        notes += network_notes(world, pool)
    elif meaning.remedy is not None:
        notes.append(Note(*meaning.remedy))
    elif state is _N.UNUSABLE:
        notes.append(_remedy_of_unusable(world.nodes[node]))
    if is_behind(world, node):
        notes.append(Note("The pool's packages or certificates have changed: a reboot applies them.", "APP-5"))
    following = _next(world, node, state)
    nothing = meaning.rule if following is None and meaning.lasts else ""
    return answer(world, f"Why is {where} of pool {pool.id} {state.wire}?", checks, (), following, notes, nothing)


def _node_checks(world: World, node: int, state: NodeState) -> list[Check]:
    record = world.nodes[node]
    enabled = record.scheduling is SchedulingState.ENABLED
    checks = [Check("scheduling", enabled, record.scheduling.wire, "NODE-7")]
    if record.evicted_ms is not None:
        rate = _EVICTED_BY_CHANCE if record.evicted_by_chance else ""
        text = f"its VM is reclaimed at {moment(world, record.evicted_ms)}{rate}"
        checks.append(Check("eviction", False, text, "SPOT-7"))
    if record.down_by_chance and state in BY_CHANCE:
        checks.append(Check("cause", False, BY_CHANCE[state], "SPOT-10" if state is _N.PREEMPTED else "NODE-18"))
    if record.operation is not None:
        until = "it is up" if record.awaits_upgrade else "its tasks have ended"
        value = f"{record.operation.name} when {until}"
        checks.append(Check("operation", False, value, record.operation.rule))
    checks += [Check("error", False, _error(error), "NODE-12") for error in record.errors]
    if state is _N.STARTING and record.is_set_up:
        checks += [
            _arriving(world, supply) for supply in packages_and_images(world, node) if supply.ready_ms > world.now_ms
        ]
    checks += network_checks(world, world.pool_of(node))
    task = record.start_task
    if task is not None and (task.failure is not None or state is _N.WAITING_FOR_START_TASK):
        cause = "" if task.failure in (None, FAILURE_EXIT_CODE) else f", {task.failure.code}"
        code = "" if task.exit_code is None else f" with exit code {task.exit_code}"
        running = f"running since {moment(world, task.start_ms)}"
        value = running if task.running else f"failed{code}{cause}"
        checks.append(Check("start task", False, f"{value}, retry count {task.retry_count:,}", "START-4"))
    if state in READY:
        free = world.nodes.free[node]
        value = f"{free} of {world.pool_of(node).slots} free; {occupancy(world, node)}"
        checks.append(Check("slots", free > 0, value, "SCHED-10"))
    return checks


def _error(error: NodeError) -> str:
    details = ", ".join(value for _, value in error.details)
    return f"{error.code}: {error.message}" + (f" ({details})" if details else "")


def _arriving(world: World, supply: InstalledItem) -> Check:
    """Check a package or an image that the node waits for before its start task (START-3)."""
    label, rule = ("container image", "CONT-2") if supply.is_image else ("application package", "APP-2")
    return Check(label, False, f"{supply.name}, there at {moment(world, supply.ready_ms)}", rule)


def _job_check(world: World, job: Job, node: int) -> Check:
    """Check why no more tasks of the job are on the node."""
    label = f"job {job.id}"
    row = world.instances.row(job.row, node)
    counts = f"{job.counts[0]:,} active, {job.busy:,} preparing or running"
    if row >= 0 and world.instances.flags[row] & PrepFlag.INELIGIBLE:
        until = eligible_again(world.options).until
        return Check(label, False, f"ineligible until {until}: preparation failed here", "PREP-9")
    if job.state is not JobState.ACTIVE:
        return Check(label, False, "deleted" if job.state is None else job.state.wire, "SCHED-7")
    if not job.counts[0]:
        return Check(label, None, f"no task waits: {counts}", "SCHED-7")
    if not job.ready_count:
        return _not_ready(world, job, label)
    if 0 <= job.max_parallel <= job.busy:
        return Check(label, False, f"at its limit of {some(job.max_parallel, 'parallel task')}", "JOB-2")
    smallest = min(slots for slots, queue in job.ready.items() if queue.size)
    if smallest > world.nodes.free[node]:
        return Check(
            label, False, f"{some(job.ready_count, 'task')} waiting, each needs {smallest} or more slots", "SCHED-10"
        )
    return Check(label, True, f"{some(job.ready_count, 'task')} waiting", "SCHED-7")


def _not_ready(world: World, job: Job, label: str) -> Check:
    """Check why the scheduler considers none of the job's active tasks: each waits for others, or has just come."""
    book = world.dependencies.get(job.row)
    blocked = 0 if book is None else book.waiting_count
    new = job.counts[0] - blocked
    parts = [f"{some(blocked, 'task')} waiting for others"] if blocked else []
    parts += [f"{some(new, 'task')} not known to the scheduler yet"] if new > 0 else []
    return Check(label, False, ", ".join(parts), "DEP-4" if blocked else "TIME-9")


def _owed(world: World, node: int) -> list[Note]:
    """Return notes on preparation and release on the node."""
    notes = []
    for row in world.instances.rows_on(node):
        job = world.jobs[world.instances.job[row]]
        if world.instances.prep_state[row] == InstanceState.RUNNING:
            notes.append(Note(f"Preparation of job {job.id} is running here; it uses no slot.", "PREP-21"))
        if world.instances.release_state[row] == InstanceState.RUNNING:
            notes.append(Note(f"Release of job {job.id} is running here; it uses no slot.", "REL-11"))
        elif world.instances.flags[row] & PrepFlag.RELEASE_OWED:
            until_ms = given_up_ms(world, [row])
            limit = "" if until_ms is None else f", unless that is after {moment(world, until_ms)}"
            notes.append(Note(f"Release of job {job.id} runs when the node is ready{limit}.", "REL-13"))
    return notes


def _remedy_of_unusable(record: Node) -> Note:
    if record.recover_ms is not None:
        return Note("Batch recovers it by itself.", "NODE-14")
    if not record.errors:
        return Note("Batch could not recover it: reboot, reimage or remove it.", "NODE-14")
    known = Note("Batch does not recover it: reboot, reimage or remove it.", "NODE-11")
    return _REMEDIES_BY_CODE.get(record.errors[0].code, known)


def _next(world: World, node: int, state: NodeState) -> Next | None:
    where = name_of(world, node)
    eviction = due(f"{where} is preempted", world.nodes[node].evicted_ms, "SPOT-3")
    if state not in READY:
        when_ms = state_passes_ms(world, Agenda(world), node)
        text, rule = _passing(world, node, state)
        return earliest([due(f"{where} {text}", when_ms, rule), eviction])
    tasks, instances = world.tasks, world.instances
    ends = []
    for task in world.nodes.running[node]:
        ended = Next(f"a task ends on {where}", tasks.ended[task], "TASK-7")
        ends.append(until_cut(world, world.jobs[tasks.block_of(task).job], node, ended))
    for row in instances.rows_on(node):
        job = world.jobs[instances.job[row]]
        if instances.prep_state[row] == InstanceState.RUNNING:
            prepared = Next(f"preparation of job {job.id} ends", instances.prep_end[row], "PREP-5")
            ends.append(until_cut(world, job, node, prepared))
        if instances.release_state[row] == InstanceState.RUNNING:
            ends.append(Next(f"release of job {job.id} ends", instances.release_end[row], "REL-7"))
    return earliest([*ends, eviction]) or _next_of_jobs(world, node)


def _passing(world: World, node: int, state: NodeState) -> tuple[str, str]:
    """Return what happens at the end of a state, as said of the node, and its rule."""
    if is_cut_off(world, node) and state in (_N.STARTING, _N.UNUSABLE):
        return ("becomes unusable", "NET-4") if state is _N.STARTING else ("boots again in vain", "NODE-14")
    if state is _N.LEAVING_POOL:
        return "leaves the pool", "RSZ-7"
    return f"is no longer {state.wire}", NODE_STATES[state].rule


def _next_of_jobs(world: World, node: int) -> Next | None:
    """Return what can bring a task to an idle node: tasks that become known, or that end elsewhere."""
    pool, seen = world.pool_of(node), Agenda(world).tasks_seen
    changes: list[Next | None] = [next_evaluation(pool)]
    for job in list(world.jobs_of(pool))[:_MOST_JOBS]:
        is_ineligible = job.ineligible >> world.nodes[node].position & 1
        if job.state is JobState.ACTIVE and job.counts[0] and not is_ineligible:
            changes.append(first_end(world, pool.nodes, job))
            known = [when_ms for block in job.blocks if (when_ms := seen.get(world.tasks.blocks[block].first))]
            changes += [Next(f"the scheduler sees new tasks of job {job.id}", min(known), "TIME-9")] if known else []
    return earliest(changes)
