"""Job preparation tasks (chapter 11): one instance for each job and node, before the first task there.

Verdicts decide what a task that is assigned to a node must wait for, and when a preparation runs again. The service
shows the row of ``state.instances``.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from engine.base.errors import FAILURE_EXIT_CODE, STOPPED_EXIT_CODE, FailureInfo, ended
from engine.base.terms import InstanceState, ReleaseAfter, TaskResult
from engine.rules.decisions.verdicts import is_final_failure, may_retry
from engine.rules.facts import NodePrepared, PreparationFailed
from engine.rules.processes import execution, node_disk
from engine.state.acting import Process, ProcessKind
from engine.state.instances import ENDED_WELL, Ending, PrepFlag

if TYPE_CHECKING:
    from engine.base.calendar import Due
    from engine.rules.facts import GangAssigned, InstanceInterrupted, JobEnding, TaskAssigned
    from engine.specs.bodies import JobPreparationTask
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.world import World


class PrepVerdict(Enum):
    """The condition of a node for a task of a job: it may start, must wait, or is refused."""

    GO = auto()
    PREPARE = auto()
    PREPARE_AND_GO = auto()
    WAIT = auto()
    REFUSE = auto()


def prep_verdict(flags: int, state: int, prep: JobPreparationTask) -> PrepVerdict:
    """Return what a task of this job must wait for on a node, given the node's flags and record.

    A preparation runs where no valid success is recorded (PREP-3); tasks wait for a running one (PREP-6), unless
    waitForSuccess is false (PREP-13). A final failure refuses the node (PREP-9). A reboot may have voided a success
    (PREP-16): then the flag is gone.
    """
    if flags & PrepFlag.VALID:
        return PrepVerdict.GO
    if flags & PrepFlag.INELIGIBLE:
        return PrepVerdict.REFUSE
    if state == InstanceState.RUNNING:
        return PrepVerdict.WAIT if prep.wait_for_success else PrepVerdict.GO
    return PrepVerdict.PREPARE if prep.wait_for_success else PrepVerdict.PREPARE_AND_GO


def prep_retry_verdict(prep: JobPreparationTask, retries: int) -> bool:
    """Return whether a preparation that exited nonzero runs again on its node (PREP-12).

    The job's own count of retries does not apply.
    """
    return may_retry(prep.constraints.max_task_retry_count, retries)


def voided_by_reboot(flags: int, state: int, prep: JobPreparationTask, *, retries_failure: bool) -> int:
    """Return the flags that a reboot takes from a node, so that the preparation runs again; 0 for none.

    One that was running always runs again (PREP-15), a success unless the job says otherwise (PREP-16). A final failure
    stays what it is, unless it is to be tried again after a reboot (PREP-17).
    """
    if state == InstanceState.RUNNING:
        return PrepFlag.VALID
    if retries_failure:
        return PrepFlag.VALID | PrepFlag.INELIGIBLE
    if flags & PrepFlag.INELIGIBLE or not prep.rerun_on_node_reboot_after_success:
        return 0
    return PrepFlag.VALID


def start_rule(flags: int, before: InstanceView | None, *, retries_failure: bool) -> str:
    """Return the rule by which the preparation starts for a task, given the node's flags and its last record.

    There was none (PREP-3), the disk is new (PREP-18), a reboot has voided a success (PREP-16), or a final failure that
    is to be tried again (PREP-17), or it was stopped (PREP-15).
    """
    if before is None:
        return "PREP-3"
    if not flags & PrepFlag.PREPARED_ONCE:
        return "PREP-18"
    if retries_failure and is_final_failure(before):
        return "PREP-17"
    return "PREP-16" if before.result is TaskResult.SUCCESS else "PREP-15"


_RUNNING = InstanceState.RUNNING
STOPPED_BY_JOB = ended("the job was ended")


# -- start -----------------------------------------------------------------------------------------------------------


def task_assigned(world: World, assigned: TaskAssigned) -> None:
    """Prepare the node for a task of a job with preparation, not before the task is assigned (PREP-3, SCHED-14)."""
    if assigned.instance >= 0:
        _prepare(world, world.jobs.rows[assigned.job], assigned.instance)


def gang_assigned(world: World, assigned: GangAssigned) -> None:
    """Prepare every node of a multi-instance task, each for itself (PREP-3)."""
    job = world.jobs.rows[assigned.job]
    if job.has_prep:
        for row in [world.instances.need(job.row, node) for node in assigned.nodes]:
            _prepare(world, job, row)


def _prepare(world: World, job: Job, row: int) -> None:
    """Start the preparation of an instance if a task of the job needs it (PREP-3)."""
    instances = world.instances
    prep = job.spec.job_preparation_task
    assert prep is not None
    flags = instances.flags[row]
    verdict = prep_verdict(flags, instances.prep_state[row], prep)
    if verdict is PrepVerdict.PREPARE or verdict is PrepVerdict.PREPARE_AND_GO:
        retries = world.options.reboot_retries_failed_preparation
        rule = start_rule(flags, instances.prep(row), retries_failure=retries)
        _start(world, job, instances.node[row], row, rule)


def _start(world: World, job: Job, node: int, row: int, rule: str, *, failed_code: int | None = None) -> None:
    """Start the preparation's process on the node (PREP-4), beside those of other jobs (PREP-22)."""
    instances, now_ms = world.instances, world.calendar.now_ms
    hook = execution.process_of(world, job, is_release=False)
    end_ms, start = execution.start_hook(world, job, hook, node, instances.prep_runs[row] + 1, now_ms)
    instances.prep_start_run(now_ms, row, end_ms, rule, failed_code=failed_code)
    if world.options.release_after is ReleaseAfter.PREPARATION:
        instances.set_flags(row, PrepFlag.PREPARED_ONCE)
    execution.enter_end(world, row, end_ms, start, is_release=False)


# -- the end of an instance ------------------------------------------------------------------------------------------


def preparation_ended(world: World, due: Due) -> None:
    """End a preparation whose process has come to its planned end; it may run again (PREP-12)."""
    row = due.key
    instances = world.instances
    if instances.prep_state[row] != _RUNNING or instances.prep_end[row] != world.calendar.now_ms:
        return
    job, node = world.jobs[instances.job[row]], instances.node[row]
    prep = job.spec.job_preparation_task
    assert prep is not None
    hook = execution.process_of(world, job, is_release=False)
    ending = execution.end_hook(world, job, hook, node, instances.prep_runs[row])
    if ending.failure is None:
        _succeeded(world, job, node, row)
    elif ending.failure is not FAILURE_EXIT_CODE:
        _failed(world, job, node, row, ending, rule="PREP-12")
    elif prep_retry_verdict(prep, instances.prep_retries[row]):
        _start(world, job, node, row, rule="PREP-12", failed_code=ending.exit_code)
    else:
        _failed(world, job, node, row, ending, rule="PREP-9" if prep.wait_for_success else "PREP-14")
    if hook.plain is None:
        node_disk.report_if_full(world, node)


def _succeeded(world: World, job: Job, node: int, row: int) -> None:
    """Complete a preparation that exited 0: every task that waits for it on this node may start (PREP-7)."""
    world.instances.prep_complete(world.calendar.now_ms, row, ENDED_WELL, rule="PREP-5", flags=PrepFlag.VALID)
    job.assign(prepared=job.prepared | world.position_bit(job, node))
    world.emit(NodePrepared(job.row, node, row))


def _failed(world: World, job: Job, node: int, row: int, ending: Ending, rule: str) -> None:
    """Complete a preparation that has failed for good.

    With waitForSuccess the node gets no more task of this job, and tasks that waited are active again (PREP-8, PREP-9).
    Otherwise none waited, and the failure has no influence (PREP-13, PREP-14).
    """
    prep = job.spec.job_preparation_task
    assert prep is not None
    flags = PrepFlag.INELIGIBLE if prep.wait_for_success else PrepFlag.VALID
    world.instances.prep_complete(world.now_ms, row, ending, rule, flags=flags)
    if prep.wait_for_success:
        job.assign(ineligible=job.ineligible | world.position_bit(job, node))
        world.emit(PreparationFailed(job.row, node))


# -- interruptions ---------------------------------------------------------------------------------------------------


def job_ending(world: World, ending: JobEnding) -> None:
    """Stop the job's running preparations (PREP-23)."""
    instances = world.instances
    for row in instances.rows_of_job(ending.job):
        if instances.prep_state[row] == _RUNNING:
            _stop(world, row, STOPPED_BY_JOB, "PREP-23")


def instance_interrupted(world: World, interrupted: InstanceInterrupted) -> None:
    """Stop the preparation with its node (PREP-15, PREP-18, PREP-19)."""
    if interrupted.was_preparing:
        _stop(world, interrupted.row, interrupted.why, interrupted.rule)


def _stop(world: World, row: int, why: FailureInfo, rule: str) -> None:
    """Stop a running instance: it has failed, but the node stays eligible for the job (PREP-9)."""
    execution.end_acting(world, Process(ProcessKind.PREPARATION, row))
    world.instances.prep_complete(world.now_ms, row, Ending(STOPPED_EXIT_CODE, why), rule)


def void_after_interruption(world: World, interrupted: InstanceInterrupted) -> None:
    """Void what must be done again before the job's next task on the node (PREP-15, PREP-18).

    A wiped disk voids everything, the final failure too (PREP-9): nothing is to be released unless a task runs again
    (REL-4). After a reboot a success may stay valid (PREP-16), and a final failure too, unless the scenario lets it be
    tried again (PREP-17).
    """
    row, instances = interrupted.row, world.instances
    job = world.jobs[instances.job[row]]
    prep = job.spec.job_preparation_task
    assert prep is not None
    state = _RUNNING if interrupted.was_preparing else instances.prep_state[row]
    if interrupted.wipes_disk:
        _void(world, job, row, PrepFlag.VALID | PrepFlag.INELIGIBLE | PrepFlag.RAN | PrepFlag.PREPARED_ONCE)
    else:
        retries = world.options.reboot_retries_failed_preparation
        has_failed = retries and is_final_failure(instances.prep(row))
        flags = voided_by_reboot(instances.flags[row], state, prep, retries_failure=has_failed)
        if flags:
            _void(world, job, row, flags)


def _void(world: World, job: Job, row: int, flags: int) -> None:
    bit = world.position_bit(job, world.instances.node[row])
    if flags & PrepFlag.VALID:
        job.assign(prepared=job.prepared & ~bit)
    if flags & PrepFlag.INELIGIBLE and job.ineligible & bit:
        job.assign(ineligible=job.ineligible & ~bit)
        world.scheduler.let_job_take_turns(job)
    world.instances.clear_flags(row, flags)
