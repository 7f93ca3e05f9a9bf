"""Job preparation tasks (chapter 11): one instance for each job and node, before the first task there.

``prep_verdict`` says what a task that is about to go to a node must wait for; ``assign`` does it. What a
reboot, a reimage or a lost node does to an instance is in ``node_was_rebooted``, ``node_was_wiped`` and
``stop``. The record that the service shows is the row of ``state.instances``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.failures import FAILURE_EXIT_CODE, STOPPED_EXIT_CODE, FailureInfo, failure
from engine.base.terms import InstanceState
from engine.events.calendar import Due, DueKind
from engine.rules import multi_instance, outcomes
from engine.rules.decisions.preparation import (
    PrepVerdict,
    prep_retry_verdict,
    prep_verdict,
    start_rule,
    stays_valid_after_reboot,
)
from engine.rules.processes import disk_space, hooks
from engine.state.instances import ENDED_WELL, Ending, InstanceTable, Mark

if TYPE_CHECKING:
    from engine.state.jobs import Job
    from engine.world.facts import GangAssigned, TaskAssigned
    from engine.world.world import World


# -- start -----------------------------------------------------------------------------------------------------------


def task_assigned(world: World, assigned: TaskAssigned) -> None:
    """Prepare the node for a task of a job with preparation: not before the task comes (PREP-3, SCHED-14)."""
    job = world.jobs.rows[world.tasks.profile_of(assigned.task).job]
    if job.has_prep:
        _prepare(world, job, world.instances.need(job.row, assigned.node))


def gang_assigned(world: World, assigned: GangAssigned) -> None:
    """Prepare every node of a multi-instance task, each for itself (PREP-3)."""
    job = world.jobs.rows[world.tasks.profile_of(assigned.task).job]
    if job.has_prep:
        for row in [world.instances.need(job.row, node) for node in assigned.nodes]:
            _prepare(world, job, row)


def _prepare(world: World, job: Job, row: int) -> None:
    """Start the preparation of an instance if a task of the job needs it (PREP-3)."""
    instances = world.instances
    prep = job.spec.job_preparation_task
    assert prep is not None
    mark = instances.mark[row]
    verdict = prep_verdict(mark, instances.prep_state[row], prep)
    if verdict is PrepVerdict.PREPARE or verdict is PrepVerdict.PREPARE_AND_GO:
        start(world, job, instances.node[row], row, start_rule(mark, instances.prep(row)))


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
        world.tasks.log_not_scheduled(world.now_ms, task, failure("JobPreparationTaskFailed"), "PREP-10", node)


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
        world.scheduler.let_job_take_turns(job)
    instances.clear_mark(row, mark)
