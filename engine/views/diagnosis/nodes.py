"""Reasons for the state of a node and of preparation on it.

A node is idle, busy, or out of order. Preparation has run, has not run or runs again there, which has an effect on the
next task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import FAILURE_EXIT_CODE, exit_text
from engine.base.lifecycles import COMING_UP, NODE_STATES, READY
from engine.base.paths import task_directory
from engine.base.terms import InstanceState, JobState, NodeState, SchedulingState, TaskResult
from engine.base.values import called
from engine.rules.faults import unusable_ms
from engine.rules.preparation import STOPPED_BY_JOB, PrepVerdict, prep_verdict, start_rule
from engine.rules.processes.setup import setup_of
from engine.run.agenda import Agenda
from engine.state.instances import PrepFlag
from engine.state.jobs import UNBOUND
from engine.views.diagnosis.candidates import (
    first_end,
    is_cut_off,
    network_checks,
    network_notes,
    next_evaluation,
    next_refill,
    occupancy,
    passing_words,
    room_ms,
    state_passes_ms,
)
from engine.views.diagnosis.model import (
    Condition,
    Next,
    answer,
    cause_notes,
    check,
    due,
    earliest,
    going_on,
    helps,
    moment,
    name_of,
    note,
    some,
    until_cut,
)
from engine.views.hook_status import OVER, eligible_again, released_where
from engine.views.log.reader import is_event, matching
from engine.views.resources.instances import given_up_ms
from engine.views.resources.nodes import BY_CHANCE
from engine.views.resources.processes import is_behind, packages_and_images, ready_ms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.specs.bodies import JobPreparationTask
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.views.diagnosis.model import Explanation, Finding
    from engine.world import World


_N = NodeState
_MOST_JOBS = 8  # jobs of the pool that are explained at most


def why_node(world: World, node: int, asked: Job | None = None) -> Explanation:
    """Explain the node's state, and which jobs' tasks may come: first the one asked about, then those failed here."""
    state = world.nodes.state_of(node)
    where, pool, since = name_of(world, node), world.pool_of(node), moment(world, world.nodes.since[node])
    if state is None:
        return answer(world, f"Where is {where}?", (note(f"It left {called('pool', pool.id)} at {since}.", "RSZ-7"),))
    jobs = list(world.jobs_of(pool)) if state in READY else []
    agenda = Agenda(world)
    passes_ms = state_passes_ms(world, agenda, node) if state in COMING_UP else None
    is_up = state in READY or going_on(world.nodes.since[node], passes_ms)
    findings = (
        check(Condition.NODE_STATE, is_up, f"{state.wire} since {since}", "NODE-8"),
        *_node_checks(world, node, state),
        *(_job_check(world, job, node) for job in _first_told(world, jobs, node, asked)),
        *_owed(world, node),
        *_state_notes_of(world, node, state, len(jobs)),
        helps("The pool's packages or certificates have changed: a reboot applies them.", "APP-5")
        if is_behind(world, node)
        else None,
    )
    following, meaning = _next(world, agenda, node, state), NODE_STATES[state]
    nothing = meaning.rule if following is None and meaning.lasts else ""
    return answer(world, f"Why is {where} of {called('pool', pool.id)} {state.wire}?", findings, following, nothing)


def _node_checks(world: World, node: int, state: NodeState) -> Iterator[Finding]:
    record, pool = world.nodes[node], world.pool_of(node)
    yield check(Condition.SCHEDULING, record.scheduling is SchedulingState.ENABLED, record.scheduling.wire, "NODE-7")
    if record.evicted_ms is not None:
        rate = ", by chance (evictionRate)" if record.evicted_by_chance else ""
        text = f"its VM is reclaimed at {moment(world, record.evicted_ms)}{rate}"
        yield check(Condition.EVICTION, False, text, "SPOT-7")
    if record.down_by_chance and state in BY_CHANCE:
        yield check("cause", False, BY_CHANCE[state], "SPOT-10" if state is _N.PREEMPTED else "NODE-18")
    if record.operation is not None:
        until = "it is up" if record.awaits_upgrade else "its tasks have ended"
        yield check("operation", False, f"{record.operation.name} when {until}", record.operation.rule)
    for error in record.errors:
        details = ", ".join(value for _, value in error.details)
        value = f"{error.code}: {error.message}" + (f" ({details})" if details else "")
        yield check(Condition.NODE_ERROR, False, value, "NODE-12")
    supplies = packages_and_images(world, node) if state is _N.STARTING and record.is_set_up else ()
    for supply in supplies:  # for which the node waits before its start task (START-3)
        if supply.ready_ms > world.now_ms:
            label, rule = ("container image", "CONT-2") if supply.is_image else ("application package", "APP-2")
            yield check(
                Condition.SUPPLIES, False, f"{supply.name}, there at {moment(world, supply.ready_ms)}", rule, label
            )
    yield from network_checks(world, pool)
    task = record.start_task
    if task is not None and (task.failure is not None or state is _N.WAITING_FOR_START_TASK):
        cause = "" if task.failure in (None, FAILURE_EXIT_CODE) else f", {task.failure.code}"
        code = "" if task.exit_code is None else f" with exit code {exit_text(task.exit_code)}"
        running = f"running since {moment(world, task.start_ms)}"
        value = f"{running if task.running else f'failed{code}{cause}'}, retry count {task.retry_count:,}"
        stands = going_on(task.start_ms, task.end_ms) if task.running else False
        yield check(Condition.START_TASK, stands, value, "START-4")
        spec = pool.spec.start_task
        yield from cause_notes(world, task.failure, spec) if task.failure is not None and spec is not None else ()
    if state in READY:
        free = world.nodes.free[node]
        value = f"{free} of {pool.slots} free; {occupancy(world, node)}"
        yield check(Condition.ROOM, free > 0 or None, value, "SCHED-10", "slots")


def _job_check(world: World, job: Job, node: int) -> Finding:
    """Check why no more tasks of the job are on the node. That it has enough tasks, or has ended, is no trouble."""
    label = called("job", job.id)
    row = world.instances.row(job.row, node)
    counts, slots = f"{job.counts[0]:,} active, {job.busy:,} preparing or running", world.pool_of(node).slots
    if row >= 0 and world.instances.flags[row] & PrepFlag.INELIGIBLE:
        until = eligible_again(world.options).until
        return check(Condition.INELIGIBLE, False, f"ineligible until {until}: preparation failed here", "PREP-9", label)
    if job.state is not JobState.ACTIVE:
        state = "deleted" if job.state is None else job.state.wire
        return check(Condition.JOB_STATE, None if job.state in OVER else False, state, "SCHED-7", label)
    if not job.counts[0]:
        return check(Condition.TASKS, None, f"no task waits: {counts}", "SCHED-7", label)
    if not job.ready_count:
        return _not_ready(world, job, label)
    if 0 <= job.max_parallel <= job.busy:
        value = f"at its limit of {some(job.max_parallel, 'parallel task')}"
        return check(Condition.PARALLEL_LIMIT, None, value, "JOB-2", label)
    smallest = min(slots for slots, queue in job.ready.items() if queue.size)
    if smallest > world.nodes.free[node]:
        value = f"{some(job.ready_count, 'task')} waiting, each needs {smallest} or more slots"
        return check(Condition.ROOM, None if smallest <= slots else False, value, "SCHED-10", label)
    return check(Condition.TASKS, True, f"{some(job.ready_count, 'task')} waiting", "SCHED-7", label)


def _first_told(world: World, jobs: Sequence[Job], node: int, asked: Job | None) -> Sequence[Job]:
    """Return the jobs to explain: the one asked about, those that may not use the node, then the others."""
    position = world.nodes[node].position
    return sorted(jobs, key=lambda job: (job is not asked, not job.ineligible >> position & 1))[:_MOST_JOBS]


def _not_ready(world: World, job: Job, label: str) -> Finding:
    """Check why the scheduler considers none of the job's active tasks: each waits for others, or has just come."""
    book = world.dependencies.get(job.row)
    blocked = 0 if book is None else book.waiting_count
    new = job.counts[0] - blocked
    parts = [f"{some(blocked, 'task')} waiting for others"] if blocked else []
    parts += [f"{some(new, 'task')} not known to the scheduler yet"] if new > 0 else []
    condition, rule = (Condition.DEPENDENCIES, "DEP-4") if blocked else (Condition.KNOWN, "TIME-9")
    return check(condition, None, ", ".join(parts), rule, label)


def _owed(world: World, node: int) -> Iterator[Finding]:
    """Yield notes on preparation and release on the node."""
    instances = world.instances
    for row in instances.rows_on(node):
        job = world.jobs[instances.job[row]]
        if instances.prep_state[row] == InstanceState.RUNNING:
            takes = "; the tasks that wait for it do" if world.preparing_tasks(job.row, node) else ""
            yield note(f"Preparation of {called('job', job.id)} is running here; it uses no slot{takes}.", "PREP-21")
        if instances.release_state[row] == InstanceState.RUNNING:
            yield note(f"Release of {called('job', job.id)} is running here; it uses no slot.", "REL-11")
        elif instances.flags[row] & PrepFlag.RELEASE_OWED:
            until_ms = given_up_ms(world, [row])
            limit = "" if until_ms is None else f", unless that is after {moment(world, until_ms)}"
            yield note(f"Release of {called('job', job.id)} runs when the node is ready{limit}.", "REL-13")


def _state_notes_of(world: World, node: int, state: NodeState, jobs: int) -> Iterator[Finding]:
    """Yield what becomes of a node that is not in use; of one in use, how many jobs of its pool are not shown."""
    record = world.nodes[node]
    if state in READY:
        if not jobs:
            yield note("No job uses the pool.", "NODE-9")
        if jobs > _MOST_JOBS:
            yield note(f"{some(jobs - _MOST_JOBS, 'more job')} in the pool.", "SCHED-4")
    elif is_cut_off(world, node):
        yield from network_notes(world, world.pool_of(node))
    elif state is _N.UNUSABLE:
        how, rule = ("does not recover it", "NODE-11") if record.errors else ("could not recover it", "NODE-14")
        said, rule = ("recovers it by itself", "NODE-14") if record.recover_ms is not None else (how, rule)
        yield note(f"Batch {said}.", rule)


def _next(world: World, agenda: Agenda, node: int, state: NodeState) -> Next | None:
    where = name_of(world, node)
    eviction = due(f"{where} is preempted", world.nodes[node].evicted_ms, "SPOT-3")
    if state not in READY:
        when_ms = state_passes_ms(world, agenda, node)
        text, rule = _passing(world, node, state)
        lost = due(f"{where} becomes unusable", unusable_ms(world, node), "NODE-13")
        refill = next_refill(world.pool_of(node)) if state is _N.PREEMPTED else None
        return earliest([due(text, when_ms, rule), lost, eviction, refill])
    tasks, instances = world.tasks, world.instances
    ends = []
    for task in world.nodes.running[node]:
        ended = Next(f"a task ends on {where}", tasks.ended[task], "TASK-7")
        ends.append(until_cut(world, world.jobs[tasks.block_of(task).job], node, ended))
    for row in instances.rows_on(node):
        job = world.jobs[instances.job[row]]
        if instances.prep_state[row] == InstanceState.RUNNING:
            prepared = Next(f"preparation of {called('job', job.id)} ends", instances.prep_end[row], "PREP-5")
            ends.append(until_cut(world, job, node, prepared))
        if instances.release_state[row] == InstanceState.RUNNING:
            ends.append(Next(f"release of {called('job', job.id)} ends", instances.release_end[row], "REL-7"))
    return earliest([*ends, eviction]) or _next_of_jobs(world, agenda, node)


def _passing(world: World, node: int, state: NodeState) -> tuple[str, str]:
    """Return what happens to the node when its state ends, and the rule."""
    if is_cut_off(world, node) and state in (_N.STARTING, _N.UNUSABLE):
        text, rule = ("becomes unusable", "NET-4") if state is _N.STARTING else ("boots again in vain", "NODE-14")
        return f"{name_of(world, node)} {text}", rule
    if state is _N.LEAVING_POOL:
        return f"{name_of(world, node)} leaves the pool", "RSZ-7"
    return passing_words(world, node), NODE_STATES[state].rule


def _next_of_jobs(world: World, agenda: Agenda, node: int) -> Next | None:
    """Return what can bring a task to an idle node: tasks that become known, or that end elsewhere."""
    pool, seen = world.pool_of(node), agenda.tasks_seen
    changes: list[Next | None] = [next_evaluation(pool)]
    for job in list(world.jobs_of(pool))[:_MOST_JOBS]:
        is_ineligible = job.ineligible >> world.nodes[node].position & 1
        if job.state is JobState.ACTIVE and job.counts[0] and not is_ineligible:
            changes.append(first_end(world, pool.nodes, job))
            known = [when_ms for block in job.blocks if (when_ms := seen.get(world.tasks.blocks[block].first))]
            seen_now = f"the scheduler sees new tasks of {called('job', job.id)}"
            changes += [Next(seen_now, min(known), "TIME-9")] if known else []
    return earliest(changes)


# The reason of a run, by the rule that the log names.
_STARTS = {
    "PREP-3": "The job's first task on the node was assigned.",
    "PREP-12": "The previous attempt exited nonzero and was retried.",
    "PREP-15": "The previous run was interrupted.",
    "PREP-16": "The node rebooted after a success, and the job requires another run.",
    "PREP-17": "The node rebooted after a final failure, which is tried again (rebootRetriesFailedPreparation).",
    "PREP-18": "The node has a new disk.",
}
_VERDICTS = {
    PrepVerdict.GO: "runs at once",
    PrepVerdict.PREPARE: "starts the preparation and waits for it",
    PrepVerdict.PREPARE_AND_GO: "starts the preparation and runs beside it",
    PrepVerdict.WAIT: "waits for the preparation",
    PrepVerdict.REFUSE: "is not assigned here",
}


def why_preparation(world: World, job: Job, node: int) -> Explanation:
    """Explain the last run of the job's preparation on the node, or why there was none."""
    where = name_of(world, node)
    prep = job.spec.job_preparation_task
    if prep is None:
        question = f"Why has preparation of {called('job', job.id)} not run on {where}?"
        return answer(world, question, (note("The job has no job preparation task.", "PREP-1"),))
    row = world.instances.row(job.row, node)
    view = world.instances.prep(row) if row >= 0 else None
    if view is None:
        return _never_ran(world, job, node)
    flags, is_running = world.instances.flags[row], view.state is InstanceState.RUNNING
    verdict = prep_verdict(flags, view.state, prep)
    comes, rule = verdict is not PrepVerdict.REFUSE, _rule_of(world, verdict, flags, view)
    began_by = _rule_of_start(world, job, node, view.start_ms)
    findings = (
        _outcome(world, view, world.instances.prep_end[row]),
        check("next task of the job", comes, _VERDICTS[verdict], rule) if job.state not in OVER else None,
        note(_STARTS[began_by], began_by) if began_by in _STARTS else None,
        _delivery_note(world, node, task_directory(job.id, prep.id), view) if is_running else None,
        *_state_notes(world, job, node, prep, flags, view),
    )
    planned = Next(f"preparation ends on {where}", world.instances.prep_end[row], "PREP-5")
    ending = until_cut(world, job, node, planned) if is_running else None
    nothing = "PREP-9" if flags & PrepFlag.INELIGIBLE and job.state not in OVER else ""
    return answer(world, _question(job, where, view, flags), findings, ending, nothing)


def why_release(world: World, job: Job, node: int) -> Explanation:
    """Explain the run of the job's release task on the node, or why there was none."""
    where, release = name_of(world, node), job.spec.job_release_task
    row = world.instances.row(job.row, node)
    view = world.instances.release(row) if row >= 0 else None
    if release is None:
        none = note("The job has no job release task.", "REL-1")
        return answer(world, f"Why has release of {called('job', job.id)} not run on {where}?", (none,))
    if view is None:
        return _never_released(world, job, node, row)
    is_running, has_failed = view.state is InstanceState.RUNNING, view.result is TaskResult.FAILURE
    verb = "is release running" if is_running else f"did release {'fail' if has_failed else 'run'}"
    findings = (
        _outcome(world, view, world.instances.release_end[row], "release", "REL-15"),
        *(cause_notes(world, view.failure, release) if view.failure is not None else ()),
        note("The job completes all the same; what release should delete may be left.", "REL-7")
        if has_failed
        else None,
        note("The job waits for it.", "REL-6") if is_running and not job.forced else None,
    )
    ends = Next(f"release ends on {where}", world.instances.release_end[row], "REL-6") if is_running else None
    return answer(world, f"Why {verb} on {where}, of {called('job', job.id)}?", findings, ends)


def _never_released(world: World, job: Job, node: int, row: int) -> Explanation:
    """Explain what is missing before release runs: a job that ends, and a task of it that ran on the node (REL-3)."""
    state, where, is_ending = world.nodes.state_of(node), name_of(world, node), job.state in OVER
    has_prepared = row >= 0 and world.instances.prep(row) is not None
    is_owed = row >= 0 and bool(world.instances.flags[row] & PrepFlag.RELEASE_OWED)
    findings = (
        check(Condition.JOB_STATE, is_ending, "deleted" if job.state is None else job.state.wire, "REL-2"),
        check(Condition.PREPARATION, has_prepared, "has run" if has_prepared else "has never run", "REL-5"),
        check("due here", is_owed, "yes" if is_owed else f"release runs where {released_where(world.options)}", "REL-3")
        if has_prepared
        else None,
        check(Condition.NODE_STATE, state in READY, "gone" if state is None else state.wire, "REL-13"),
    )
    when_ms = given_up_ms(world, [row]) if is_owed else None
    following = due(f"the wait for {where} ends", when_ms, "REL-13")
    return answer(world, f"Why has release of {called('job', job.id)} not run on {where}?", findings, following)


def _delivery_note(world: World, node: int, directory: str, view: InstanceView) -> Finding | None:
    """Note when all that the running instance needs is on the node, if it has to wait for that."""
    if setup_of(world, node, directory).failure is not None:
        return note("Something that it needs is not available.", "PREP-12")
    when_ms = ready_ms(world, node, directory, view.start_ms)
    return None if when_ms == view.start_ms else note(f"It downloads first, until {moment(world, when_ms)}.", "TASK-6")


def _question(job: Job, where: str, view: InstanceView, flags: int) -> str:
    if flags & PrepFlag.INELIGIBLE:
        return f"Why {'was' if job.state in OVER else 'is'} {where} ineligible for {called('job', job.id)}?"
    again = " again" if view.runs - view.retry_count > 1 else ""
    is_running = view.state is InstanceState.RUNNING
    has_failed = not is_running and view.result is TaskResult.FAILURE
    auxiliary, verb = ("is", "running") if is_running else ("did", "fail" if has_failed else "run")
    return f"Why {auxiliary} preparation of {called('job', job.id)} {verb}{again} on {where}?"


def _outcome(world: World, view: InstanceView, end_ms: int, hook: str = "preparation", rule: str = "PREP-5") -> Finding:
    if view.state is InstanceState.RUNNING:
        value = f"running since {moment(world, view.start_ms)}, run {view.runs}"
        return check(hook, going_on(view.start_ms, end_ms), value, rule)
    assert view.end_ms is not None
    code = "" if view.exit_code is None else f" with exit code {exit_text(view.exit_code)}"
    cause = f", {view.failure.code}" if view.failure is not None else ""
    succeeded = view.result is TaskResult.SUCCESS
    value = f"{'succeeded' if succeeded else 'failed'}{code} at {moment(world, view.end_ms)}{cause}"
    return check(hook, succeeded, value, rule)


def _rule_of(world: World, verdict: PrepVerdict, flags: int, view: InstanceView) -> str:
    if verdict in (PrepVerdict.PREPARE, PrepVerdict.PREPARE_AND_GO):
        return start_rule(flags, view, retries_failure=world.options.reboot_retries_failed_preparation)
    if verdict is PrepVerdict.GO:
        return "PREP-7" if flags & PrepFlag.VALID and view.result is TaskResult.SUCCESS else "PREP-13"
    return "PREP-6" if verdict is PrepVerdict.WAIT else "PREP-9"


def _rule_of_start(world: World, job: Job, node: int, start_ms: int) -> str:
    """Return the rule that the log names for the start of a run; reads the entries of that moment only."""
    log, is_start = world.log, is_event("JobPreparationTaskStateChanged", to=InstanceState.RUNNING)
    for at in matching(log, is_start, log.index_at(start_ms - 1), log.index_at(start_ms)):
        if (log.row_a[at], log.row_b[at]) == (job.row, node):
            return str(dict(log.shapes[log.shape_of[at]].fields)["rule"])
    return ""


def _state_notes(
    world: World, job: Job, node: int, prep: JobPreparationTask, flags: int, view: InstanceView
) -> Iterator[Finding]:
    if flags & PrepFlag.INELIGIBLE:
        if view.failure is not None:
            yield from cause_notes(world, view.failure, prep)
        yield note(_why_final(prep, view), "PREP-12")
        retries = world.options.reboot_retries_failed_preparation
        if job.state in OVER:
            yield note("The job has ended: none of its tasks starts any more.", "SCHED-7")
            return
        yield note(f"The job gets no task here until the node {'reboots' if retries else 'has a new disk'}.", "PREP-9")
        boot = "lets it run again (rebootRetriesFailedPreparation)" if retries else "does not make it run again"
        yield note(f"A reboot {boot}{'' if retries else '; a reimage does'}.", "PREP-17")
    elif view.state is InstanceState.RUNNING and not prep.wait_for_success:
        yield note("Tasks do not wait for it.", "PREP-13")
    elif view.state is InstanceState.RUNNING:
        waiting = len(world.preparing_tasks(job.row, node))
        yield note(f"{some(waiting, 'task')} of the job {'wait' if waiting > 1 else 'waits'} for it here.", "PREP-6")
    elif view.failure == STOPPED_BY_JOB and view.end_ms is not None:
        yield note(f"It was stopped: the job was ended at {moment(world, view.end_ms)}.", "PREP-23")
    elif view.result is TaskResult.FAILURE and not prep.wait_for_success:
        yield note("The failure has no effect: the job does not wait for success.", "PREP-13")
    elif flags & PrepFlag.VALID and not prep.rerun_on_node_reboot_after_success:
        yield note("By the job's settings it stays valid after a reboot.", "PREP-16")


def _why_final(prep: JobPreparationTask, view: InstanceView) -> str:
    """Return why a failed preparation is not retried any more."""
    most = prep.constraints.max_task_retry_count
    if view.failure != FAILURE_EXIT_CODE:
        return "It is not retried: only a nonzero exit code is."
    if not most:
        return "It is not retried: its maxTaskRetryCount is 0."
    return f"{view.retry_count} of {most} retries were used; then the failure is final."


def _never_ran(world: World, job: Job, node: int) -> Explanation:
    """Explain what is missing before preparation runs: a task of the job must be assigned to the node (PREP-3)."""
    nodes, where = world.nodes, name_of(world, node)
    state, free, slots = nodes.state_of(node), nodes.free[node], world.pool_of(node).slots
    pool = world.pool_of(node)  # a job that has ended keeps only the id of its own
    is_member = pool.row == job.pool if job.pool != UNBOUND else pool.id.lower() == job.pool_id.lower()
    can_take = bool(nodes.open[node]) and state is not None
    job_state = "deleted" if job.state is None else job.state.wire
    if state is None:
        at = f"gone since {moment(world, nodes.since[node])}"
    else:
        at = f"{state.wire}, scheduling {nodes[node].scheduling.wire}"
    findings = (
        check(Condition.JOB_STATE, job.state is JobState.ACTIVE, job_state, "SCHED-7"),
        check(Condition.JOB_POOL, is_member, "the node's" if is_member else "not the node's", "PREP-3"),
        check(Condition.NODE_STATE, can_take, at, "SCHED-8", "node takes tasks"),
        None if state is None else check(Condition.ROOM, free > 0, f"{free} of {slots}", "SCHED-10"),
        check("waiting tasks of the job", job.ready_count > 0, f"{job.ready_count}", "PREP-3"),
        note("It runs only where a task of the job is assigned.", "PREP-3"),
    )
    if can_take:
        following = due(f"a task ends on {where}", None if free else room_ms(world, node, 1), "SCHED-15")
    else:
        passes_ms = state_passes_ms(world, Agenda(world), node)
        following = due(passing_words(world, node), passes_ms, "NODE-9")
    return answer(world, f"Why has preparation of {called('job', job.id)} not run on {where}?", findings, following)
