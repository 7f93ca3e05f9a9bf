"""Job preparation tasks (chapter 11): one instance for each job and node, before the first task there.

``prep_verdict`` says what a task that is about to go to a node must wait for; ``assign`` does it. What a
reboot, a reimage or a lost node does to an instance is in ``node_was_rebooted``, ``node_was_wiped`` and
``stop``. The record that the service shows is the row of ``state.instances``.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

from engine.base.failures import FAILURE_EXIT_CODE, STOPPED_EXIT_CODE, FailureInfo, failure
from engine.base.terms import InstanceState, TaskResult
from engine.events.calendar import Due, DueKind
from engine.rules import multi_instance, outcomes, scheduling
from engine.rules.decisions.retries import may_retry
from engine.rules.processes import disk_space, hooks
from engine.state.instances import ENDED_WELL, Ending, InstanceTable, Mark
from engine.state.task_records import TaskProfile

if TYPE_CHECKING:
    from engine.specs.job import JobPreparationTask
    from engine.state.instances import InstanceView
    from engine.state.jobs import Job
    from engine.world.world import World


# -- decisions -------------------------------------------------------------------------------------------------------


class PrepVerdict(Enum):
    """What a task of a job must wait for on a node."""

    GO = auto()
    PREPARE = auto()
    PREPARE_AND_GO = auto()
    WAIT = auto()
    REFUSE = auto()


def prep_verdict(mark: int, state: int, prep: JobPreparationTask) -> PrepVerdict:
    """What a task of this job must wait for on this node, given the node's marks and record.

    PREP-3 prepare where no valid success is recorded. PREP-6 wait for a running instance. PREP-9 a final
    failure refuses the node. PREP-13 nobody waits if waitForSuccess is false. PREP-16 a reboot may have voided
    a success: then the mark is gone.
    """
    if mark & Mark.VALID:
        return PrepVerdict.GO
    if mark & Mark.BARRED:
        return PrepVerdict.REFUSE
    if state == InstanceState.RUNNING:
        return PrepVerdict.WAIT if prep.wait_for_success else PrepVerdict.GO
    return PrepVerdict.PREPARE if prep.wait_for_success else PrepVerdict.PREPARE_AND_GO


def prep_retry_verdict(prep: JobPreparationTask, retries: int) -> bool:
    """PREP-12: whether a preparation that exited nonzero runs again on its node; the job's own count does not apply."""
    return may_retry(prep.constraints.max_task_retry_count, retries)


def stays_valid_after_reboot(mark: int, state: int, prep: JobPreparationTask) -> bool:
    """Whether the instance need not run again after a reboot.

    PREP-15 one that was running always reruns. PREP-16 a success reruns unless the job says otherwise. PREP-17 a
    final failure stays what it is.
    """
    if state == InstanceState.RUNNING:
        return False
    return bool(mark & Mark.BARRED) or not prep.rerun_on_node_reboot_after_success


def start_rule(mark: int, before: InstanceView | None) -> str:
    """Which rule has the preparation start for a task, given the node's marks and the record of the run before.

    PREP-3 there was none. PREP-18 the disk is new. PREP-16 a reboot has voided a success. PREP-15 it was stopped.
    """
    if before is None:
        return "PREP-3"
    if not mark & Mark.PREPARED_ONCE:
        return "PREP-18"
    return "PREP-16" if before.result is TaskResult.SUCCESS else "PREP-15"


# -- assignment ------------------------------------------------------------------------------------------------------


def assign(world: World, job: Job, task: int, node: int, profile: TaskProfile) -> None:
    """A task of a job with preparation has been assigned to the node: only now it prepares (PREP-3, SCHED-14).

    PREP-6 the task waits for it, or PREP-13 does not. PREP-21 either way it holds its slots.
    """
    instances = world.instances
    row = instances.need(job.row, node)
    if instances.mark[row] & Mark.VALID:
        outcomes.start_task(world, task, node, profile)
        return
    if may_start(world, job, row):
        outcomes.start_task(world, task, node, profile, rule="PREP-13")
    else:
        world.nodes.preparing.setdefault(node, set()).add(task)
        world.tasks.prepare(world.now_ms, task, node)


def may_start(world: World, job: Job, row: int) -> bool:
    """Whether a task that comes to the instance's node may start now; the preparation does, if it must (PREP-3)."""
    instances = world.instances
    prep = job.spec.job_preparation_task
    assert prep is not None
    mark = instances.mark[row]
    verdict = prep_verdict(mark, instances.prep_state[row], prep)
    if verdict is PrepVerdict.PREPARE or verdict is PrepVerdict.PREPARE_AND_GO:
        start(world, job, instances.node[row], row, start_rule(mark, instances.prep(row)))
    return verdict is PrepVerdict.GO or verdict is PrepVerdict.PREPARE_AND_GO


def start(world: World, job: Job, node: int, row: int, rule: str, *, retry: bool = False) -> None:
    """The preparation's process starts on the node (PREP-4), beside those of other jobs (PREP-22)."""
    instances, now_ms = world.instances, world.now_ms
    hook = hooks.prep_process(world, job)
    end_ms = hooks.start_hook(world, job, hook, node, instances.prep_runs[row] + 1, now_ms)
    instances.prep_start_run(now_ms, row, end_ms, rule, retry=retry)
    world.calendar.at(end_ms, DueKind.PREPARATION_ENDED, row)


# -- the end of an instance ------------------------------------------------------------------------------------------


def preparation_ended(world: World, due: Due) -> None:
    """The process of a preparation has come to the end that was planned for it."""
    row = due.key
    instances = world.instances
    if instances.prep_state[row] != InstanceState.RUNNING or instances.prep_end[row] != world.now_ms:
        return
    job, node = world.jobs[instances.job[row]], instances.node[row]
    prep = job.spec.job_preparation_task
    assert prep is not None
    hook = hooks.prep_process(world, job)
    ending = hooks.end_hook(world, job, hook, node, instances.prep_runs[row], instances.prep_start[row])
    if ending.failure is None:
        succeeded(world, job, node, row)
    elif ending.failure is not FAILURE_EXIT_CODE:
        failed(world, job, node, row, ending, rule="PREP-12")
    elif prep_retry_verdict(prep, instances.prep_retries[row]):
        start(world, job, node, row, rule="PREP-12", retry=True)
    else:
        failed(world, job, node, row, ending, rule="PREP-9" if prep.wait_for_success else "PREP-14")
    if hook.plain is None:
        disk_space.look(world, node)


def succeeded(world: World, job: Job, node: int, row: int) -> None:
    """The instance exited 0: every task waiting for it on this node starts (PREP-7)."""
    world.instances.prep_complete(world.now_ms, row, ENDED_WELL, rule="PREP-5", mark=Mark.VALID)
    job.prepared |= _bit(world, job, node)
    for task in waiting_tasks(world, job, node):
        profile = world.tasks.profile_of(task)
        if profile.instances:
            multi_instance.node_is_prepared(world, job, task, profile)
        else:
            outcomes.start_task(world, task, node, profile, rule="PREP-7")
    _forget_empty(world, node)


def failed(world: World, job: Job, node: int, row: int, ending: Ending, rule: str) -> None:
    """The instance has failed for good: with waitForSuccess the node gets no more task of this job (PREP-8, PREP-9).

    Tasks that waited are active again, each refusal is an event (PREP-10). Without waitForSuccess nobody waited,
    and the failure has no influence (PREP-13, PREP-14).
    """
    instances = world.instances
    prep = job.spec.job_preparation_task
    assert prep is not None
    bars = prep.wait_for_success
    instances.prep_complete(world.now_ms, row, ending, rule, mark=Mark.BARRED if bars else Mark.VALID)
    if not bars:
        return
    job.barred |= _bit(world, job, node)
    for task in waiting_tasks(world, job, node):
        give_back(world, task, rule="PREP-8")
        outcomes.not_scheduled(world, task, failure("JobPreparationTaskFailed"), "PREP-10", node)


def waiting_tasks(world: World, job: Job, node: int) -> list[int]:
    """The job's tasks that are preparing on the node, in creation order."""
    profiles, profile_of = world.tasks.profiles, world.tasks.profile
    waiting = world.nodes.preparing.get(node, ())
    return sorted([task for task in waiting if profiles[profile_of[task]].job == job.row])


def give_back(world: World, task: int, rule: str) -> None:
    """A preparing task is active again, its counters unchanged, and waits for another node (PREP-8, PREP-19)."""
    left = outcomes.take_off_nodes(world, task)
    outcomes.back_to_queue(world, task, world.tasks.extra(task), rule)
    outcomes.free_slots(world, left, world.tasks.profile_of(task))


def _forget_empty(world: World, node: int) -> None:
    if node in world.nodes.preparing and not world.nodes.preparing[node]:
        del world.nodes.preparing[node]


def remember_nodes(world: World, job: Job) -> None:
    """The job is bound to a pool: what it has found on the pool's nodes before still holds (PREP-7, PREP-9)."""
    job.prepared = job.barred = 0
    instances = world.instances
    for row in instances.rows_of_job(job.row):
        bit = _bit(world, job, instances.node[row])
        job.prepared |= bit if instances.mark[row] & Mark.VALID else 0
        job.barred |= bit if instances.mark[row] & Mark.BARRED else 0


def _bit(world: World, job: Job, node: int) -> int:
    """The node among those of the job's pool; 0 for a node of a pool that the job has left."""
    record = world.nodes[node]
    return 1 << record.position if record.pool == job.pool else 0


# -- what happens to the node ----------------------------------------------------------------------------------------


def stop(world: World, row: int, why: FailureInfo, rule: str) -> None:
    """The running instance is stopped: a failure, but not the mark of PREP-9 (PREP-15, PREP-19, PREP-23)."""
    if world.instances.prep_state[row] == InstanceState.RUNNING:
        world.instances.prep_complete(world.now_ms, row, Ending(STOPPED_EXIT_CODE, why), rule)


def node_was_rebooted(world: World, job: Job, node: int, row: int, *, was_running: bool) -> None:
    """Void a success if preparation must run again before the job's next task here (PREP-15, PREP-16, PREP-17)."""
    prep = job.spec.job_preparation_task
    assert prep is not None
    instances = world.instances
    state = InstanceState.RUNNING if was_running else instances.prep_state[row]
    if not stays_valid_after_reboot(instances.mark[row], state, prep):
        _void(world, job, node, instances, row, Mark.VALID)


def node_was_wiped(world: World, job: Job, node: int, row: int) -> None:
    """The disk is new: the preparation runs again, even where it had failed, and nothing is to be released.

    PREP-9 reimage, deallocate and start, preemption clear the mark. PREP-18 always runs again. REL-4 no release
    unless a task runs here again.
    """
    everything = Mark.VALID | Mark.BARRED | Mark.RAN | Mark.PREPARED_ONCE
    _void(world, job, node, world.instances, row, everything)


def _void(world: World, job: Job, node: int, instances: InstanceTable, row: int, mark: int) -> None:
    bit = _bit(world, job, node)
    if mark & Mark.VALID:
        job.prepared &= ~bit
    if mark & Mark.BARRED and job.barred & bit:
        job.barred &= ~bit
        scheduling.let_job_take_turns(world, job)
    instances.clear_mark(row, mark)
