"""Reasons why preparation has run, has not run or runs again on a node, and the effect on the next task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.failures import FAILURE_EXIT_CODE
from engine.base.paths import task_directory
from engine.base.terms import InstanceState, JobState, TaskResult
from engine.rules.decisions.preparation import PrepVerdict, prep_verdict, start_rule
from engine.rules.preparation import STOPPED_BY_JOB
from engine.rules.processes.setup import setup_of
from engine.state.instances import PrepFlag
from engine.state.jobs import UNBOUND
from engine.views.explain.candidates import room_ms, state_passes_ms
from engine.views.explain.explanation import Check, Next, Note, answer, due, moment, name_of, some, until_cut
from engine.views.explain.failures import cause_notes
from engine.views.log.reader import matching
from engine.views.pages.provisioning import ready_ms
from engine.world.agenda import Agenda

if TYPE_CHECKING:
    from engine.events.log import Shape
    from engine.specs.job import JobPreparationTask
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.views.explain.explanation import Explanation
    from engine.world.world import World

# The reason of a run, by the rule that the log names.
_STARTS = {
    "PREP-3": "The job's first task on the node was assigned.",
    "PREP-12": "The previous attempt exited nonzero and was retried.",
    "PREP-15": "The previous run was interrupted.",
    "PREP-16": "The node rebooted after a success, and the job requires another run.",
    "PREP-17": "The node rebooted after a final failure, which is tried again (rebootRetriesFailedPreparation).",
    "PREP-18": "The node has a new disk.",
}
# How a node becomes eligible again, by options.rebootRetriesFailedPreparation; None for a job that has ended.
_INELIGIBLE = {
    None: (Note("The job has ended: none of its tasks starts any more.", "SCHED-7"),),
    False: (
        Note("The job gets no task here until the node has a new disk.", "PREP-9"),
        Note("A reboot does not help; a reimage does.", "PREP-17"),
    ),
    True: (
        Note("The job gets no task here until the node reboots.", "PREP-9"),
        Note("A reboot lets it run again (rebootRetriesFailedPreparation).", "PREP-17"),
    ),
}
_VERDICTS = {
    PrepVerdict.GO: "runs at once",
    PrepVerdict.PREPARE: "starts the preparation and waits for it",
    PrepVerdict.PREPARE_AND_GO: "starts the preparation and runs beside it",
    PrepVerdict.WAIT: "waits for the preparation",
    PrepVerdict.REFUSE: "is not assigned here",
}
# States of a job whose tasks no longer start.
_OVER = (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING, None)


def why_preparation(world: World, job: Job, node: int) -> Explanation:
    """Explain the last run of the job's preparation on the node, or why there was none."""
    where = name_of(world, node)
    prep = job.spec.job_preparation_task
    if prep is None:
        question = f"Why has preparation of job {job.id} not run on {where}?"
        note = Note("The job has no job preparation task.", "PREP-1")
        return answer(world, question, notes=(note,))
    row = world.instances.row(job.row, node)
    view = world.instances.prep(row) if row >= 0 else None
    if view is None:
        return _never_ran(world, job, node)
    flags = world.instances.flags[row]
    is_running = view.state is InstanceState.RUNNING
    verdict = prep_verdict(flags, view.state, prep)
    checks = [_outcome(world, view)]
    if job.state not in _OVER:
        comes, rule = verdict is not PrepVerdict.REFUSE, _rule_of(world, verdict, flags, view)
        checks.append(Check("next task of the job", comes, _VERDICTS[verdict], rule))
    planned = Next(f"preparation ends on {where}", world.instances.prep_end[row], "PREP-5")
    ending = until_cut(world, job, node, planned) if is_running else None
    began_by = _rule_of_start(world, job, node, view.start_ms)
    notes = (
        Note(_STARTS[began_by], began_by) if began_by in _STARTS else None,
        _delivery_note(world, node, task_directory(job.id, prep.id), view) if is_running else None,
        *_state_notes(world, job, node, prep, flags, view),
    )
    nothing = "PREP-9" if flags & PrepFlag.INELIGIBLE and job.state not in _OVER else ""
    return answer(world, _question(job, where, view, flags), checks, (), ending, notes, nothing)


def _delivery_note(world: World, node: int, directory: str, view: InstanceView) -> Note | None:
    """Note when all that the running instance needs is on the node, if it has to wait for that."""
    if setup_of(world, node, directory).failure is not None:
        return Note("Something that it needs is not available.", "PREP-12")
    when_ms = ready_ms(world, node, directory, view.start_ms)
    return None if when_ms == view.start_ms else Note(f"It downloads first, until {moment(world, when_ms)}.", "TASK-6")


def _question(job: Job, where: str, view: InstanceView, flags: int) -> str:
    if flags & PrepFlag.INELIGIBLE:
        return f"Why {'was' if job.state in _OVER else 'is'} {where} ineligible for job {job.id}?"
    again = " again" if view.runs - view.retry_count > 1 else ""
    is_running = view.state is InstanceState.RUNNING
    has_failed = not is_running and view.result is TaskResult.FAILURE
    auxiliary, verb = ("is", "running") if is_running else ("did", "fail" if has_failed else "run")
    return f"Why {auxiliary} preparation of job {job.id} {verb}{again} on {where}?"


def _outcome(world: World, view: InstanceView) -> Check:
    since = moment(world, view.start_ms)
    if view.state is InstanceState.RUNNING:
        return Check("preparation", False, f"running since {since}, run {view.runs}", "PREP-5")
    assert view.end_ms is not None
    code = "" if view.exit_code is None else f" with exit code {view.exit_code}"
    cause = f", {view.failure.code}" if view.failure is not None else ""
    succeeded = view.result is TaskResult.SUCCESS
    value = f"{'succeeded' if succeeded else 'failed'}{code} at {moment(world, view.end_ms)}{cause}"
    return Check("preparation", succeeded, value, "PREP-5")


def _rule_of(world: World, verdict: PrepVerdict, flags: int, view: InstanceView) -> str:
    if verdict in (PrepVerdict.PREPARE, PrepVerdict.PREPARE_AND_GO):
        return start_rule(flags, view, retries_failure=world.options.reboot_retries_failed_preparation)
    if verdict is PrepVerdict.GO:
        return "PREP-7" if flags & PrepFlag.VALID and view.result is TaskResult.SUCCESS else "PREP-13"
    return "PREP-6" if verdict is PrepVerdict.WAIT else "PREP-9"


def _rule_of_start(world: World, job: Job, node: int, start_ms: int) -> str:
    """Return the rule that the log names for the start of a run; reads the entries of that moment only."""
    log = world.log
    for at in matching(log, _is_start, log.index_at(start_ms - 1), log.index_at(start_ms)):
        if (log.row_a[at], log.row_b[at]) == (job.row, node):
            return str(dict(log.shapes[log.shape_of[at]].fields)["rule"])
    return ""


def _is_start(shape: Shape) -> bool:
    return shape.event == "JobPreparationTaskStateChanged" and ("to", InstanceState.RUNNING) in shape.fields


def _state_notes(
    world: World, job: Job, node: int, prep: JobPreparationTask, flags: int, view: InstanceView
) -> list[Note]:
    if flags & PrepFlag.INELIGIBLE:
        return [
            *([] if view.failure is None else cause_notes(world, view.failure, prep)),
            Note(_why_final(prep, view), "PREP-12"),
            *_INELIGIBLE[world.options.reboot_retries_failed_preparation if job.state not in _OVER else None],
        ]
    if view.state is InstanceState.RUNNING:
        waiting = len(world.preparing_tasks(job.row, node))
        if not prep.wait_for_success:
            return [Note("Tasks do not wait for it.", "PREP-13")]
        return [Note(f"{some(waiting, 'task')} of the job {'wait' if waiting > 1 else 'waits'} for it here.", "PREP-6")]
    if view.failure == STOPPED_BY_JOB and view.end_ms is not None:
        return [Note(f"It was stopped: the job was ended at {moment(world, view.end_ms)}.", "PREP-23")]
    if view.result is TaskResult.FAILURE and not prep.wait_for_success:
        return [Note("The failure has no effect: the job does not wait for success.", "PREP-13")]
    if flags & PrepFlag.VALID and not prep.rerun_on_node_reboot_after_success:
        return [Note("By the job's settings it stays valid after a reboot.", "PREP-16")]
    return []


def _why_final(prep: JobPreparationTask, view: InstanceView) -> str:
    """Return why a failed preparation is not retried any more."""
    most = prep.constraints.max_task_retry_count
    if view.failure != FAILURE_EXIT_CODE:
        return "It is not retried: only a nonzero exit code is."
    if not most:
        return "It is not retried: its maxTaskRetryCount is 0."
    return f"{view.retry_count} of {most} retries were used; then the failure is final."


def _is_in_pool_of(world: World, job: Job, node: int) -> bool:
    """Return whether the node belongs to the job's pool; a job that has ended keeps only the id of its pool."""
    if job.pool != UNBOUND:
        return world.nodes[node].pool == job.pool
    return world.pool_of(node).id.lower() == job.pool_id.lower()


def _never_ran(world: World, job: Job, node: int) -> Explanation:
    """Explain what is missing before preparation runs: a task of the job must be assigned to the node (PREP-3)."""
    nodes, agenda = world.nodes, Agenda(world)
    state = nodes.state_of(node)
    is_member = _is_in_pool_of(world, job, node)
    can_take = bool(nodes.open[node]) and state is not None
    job_state = "deleted" if job.state is None else job.state.wire
    if state is None:
        at = f"gone since {moment(world, nodes.since[node])}"
    else:
        at = f"{state.wire}, scheduling {nodes[node].scheduling.wire}"
    free, slots = nodes.free[node], world.pool_of(node).slots
    checks = (
        Check("job state", job.state is JobState.ACTIVE, job_state, "SCHED-7"),
        Check("job pool", is_member, "the node's" if is_member else "not the node's", "PREP-3"),
        Check("node takes tasks", can_take, at, "SCHED-8"),
        None if state is None else Check("free slots", free > 0, f"{free} of {slots}", "SCHED-10"),
        Check("waiting tasks of the job", job.ready_count > 0, f"{job.ready_count}", "PREP-3"),
    )
    when_ms = state_passes_ms(world, agenda, node) if not can_take else room_ms(world, node, 1) if not free else None
    where = name_of(world, node)
    what = f"{where} is no longer {state.wire}" if state is not None and not can_take else f"a task ends on {where}"
    question = f"Why has preparation of job {job.id} not run on {where}?"
    following = due(what, when_ms, "SCHED-15" if can_take else "NODE-9")
    note = Note("It runs only where a task of the job is assigned.", "PREP-3")
    return answer(world, question, checks, (), following, (note,))
