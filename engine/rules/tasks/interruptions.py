"""Interruptions of tasks: operations on, faults and evictions of their nodes, the end of their job, preemption.

A node that stops interrupts the preparation and release tasks on it too, in the same order for every cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import STOPPED_EXIT_CODE, ErrorCategory, FailureInfo, ended, failure
from engine.base.terms import Deallocation, DisableTasks, InstanceState
from engine.rules.facts import InstanceInterrupted, TaskLeftNode
from engine.rules.tasks import attempts
from engine.state.tasks import PREPARING, RUNNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.rules.facts import (
        JobDisabled,
        JobEnding,
        NodeDrainBegun,
        NodeLost,
        NodeStopped,
        PreparationFailed,
        SchedulingDisabled,
        TaskDisplaced,
    )
    from engine.state.task_records import TaskExtra
    from engine.world import World

# RETRY-7: how often the service tries again by itself.
MAX_INTERNAL_RETRIES = 10

_BY_USER = ended("the node was taken for another purpose")
_BY_SERVICE = ended("the node was lost", ErrorCategory.SERVER_ERROR)
_BY_JOB = ended("the job was ended")
_BY_DISABLE = ended("the job was disabled")


# -- on one node -----------------------------------------------------------------------------------------------------


def _stop_tasks(world: World, node: int, option: Deallocation, rule: str) -> None:
    """Requeue or terminate the running tasks of a node that an operation takes from them (RSZ-4, NOP-1, RETRY-6).

    Preparing ones are active again, and no counter changes (NOP-14).
    """
    for task in _each_still_there(world, world.nodes.tasks_on(node)):
        if world.tasks.state[task] == PREPARING:
            _give_back(world, task, rule="NOP-14")
        elif option is Deallocation.TERMINATE:
            terminate_task(world, task, rule)
        else:
            _requeue(world, task, rule)


def drain_begun(world: World, begun: NodeDrainBegun | SchedulingDisabled) -> None:
    """Make tasks that prepare on the node active again (NOP-14)."""
    for task in sorted(world.nodes.preparing.get(begun.node, ())):
        _give_back(world, task, rule="NOP-14")


def _lose_tasks(world: World, node: int, rule: str) -> None:
    """Requeue the tasks of a node that fails or is preempted (NODE-13, SPOT-4, RETRY-7).

    A multi-instance task loses the whole attempt with one of its nodes (SPOT-9).
    """
    for task in _each_still_there(world, world.nodes.tasks_on(node)):
        if world.tasks.state[task] == PREPARING:
            _give_back(world, task, rule="PREP-19")
            continue
        extra = world.tasks.extra(task)
        if extra.system_retries >= MAX_INTERNAL_RETRIES:
            terminate_task(world, task, "RETRY-7", failure("MaxInternalRetryCountReached"))
            continue
        extra = extra._replace(
            system_retries=extra.system_retries + 1, node_retries=extra.node_retries + 1, awaits_retry=False
        )
        several = bool(world.tasks.profile_of(task).instances)
        _queue_again(world, task, extra, "SPOT-9" if several and rule == "SPOT-3" else rule)


def preparation_failed(world: World, failed: PreparationFailed) -> None:
    """Make tasks that waited for the job's preparation on the node active again, and log each refusal (PREP-10)."""
    why = failure("JobPreparationTaskFailed")
    for task in world.preparing_tasks(failed.job, failed.node):
        _give_back(world, task, rule="PREP-8")
        world.tasks.log_not_scheduled(world.now_ms, task, why, "PREP-10", failed.node)


def _each_still_there(world: World, tasks: Iterable[int]) -> Iterator[int]:
    """Yield each task that is on its node when its turn comes: the end of one may end others (EXIT-5, JM-4)."""
    return (task for task in tasks if world.tasks.state[task] in {PREPARING, RUNNING})


# -- of one job ------------------------------------------------------------------------------------------------------


def job_disabled(world: World, disabled: JobDisabled) -> None:
    """Stop the tasks of a job that is being disabled as the option says; preparing ones are active again (JOB-11)."""
    for task in _each_still_there(world, world.tasks.on_nodes(disabled.job)):
        if world.tasks.state[task] == PREPARING:
            _give_back(world, task, rule="JOB-11")
        elif disabled.option is DisableTasks.REQUEUE:
            _requeue(world, task, "JOB-11")
        elif disabled.option is DisableTasks.TERMINATE:
            terminate_task(world, task, "JOB-11", _BY_DISABLE)


def job_ending(world: World, ending: JobEnding) -> None:
    """Terminate the running tasks of a job that ends; preparing ones could not start (JOB-15)."""
    for task in world.tasks.on_nodes(ending.job):
        if world.tasks.state[task] == RUNNING:
            terminate_task(world, task, "JOB-15", _BY_JOB)
        elif world.tasks.state[task] == PREPARING:
            refuse_task(world, task, "JOB-15", failure("JobBeingTerminated"))


# -- one task --------------------------------------------------------------------------------------------------------


def _give_back(world: World, task: int, rule: str) -> None:
    """Make a preparing task active again, its counters unchanged; it waits for another node (PREP-8, PREP-19)."""
    _queue_again(world, task, world.tasks.extra(task), rule)


def _requeue(world: World, task: int, rule: str) -> None:
    """Stop a running task and queue it again because a user asked for it (RETRY-6, EVT-4)."""
    extra = world.tasks.extra(task)
    extra = extra._replace(requeue_count=extra.requeue_count + 1, last_requeue_ms=world.now_ms, awaits_retry=False)
    _queue_again(world, task, extra, rule)


def task_displaced(world: World, displaced: TaskDisplaced) -> None:
    """Queue a running task again that gives way to another; no counter of retries or requeues changes (SCHED-16)."""
    task, rule = displaced
    extra = world.tasks.extra(task)
    extra = extra._replace(system_retries=extra.system_retries + 1, awaits_retry=False)
    _queue_again(world, task, extra, rule)


def _queue_again(world: World, task: int, extra: TaskExtra, rule: str) -> None:
    left = _take_off_nodes(world, task, well=None)
    attempts.back_to_queue(world, task, extra, rule)
    _free_slots(world, task, left)


def terminate_task(world: World, task: int, rule: str, why: FailureInfo = _BY_USER) -> None:
    """Stop a running task for good (RETRY-8)."""
    left = _take_off_nodes(world, task, well=False)
    attempts.complete_failed(world, task, world.tasks.profile_of(task), STOPPED_EXIT_CODE, why, rule)
    _free_slots(world, task, left)


def refuse_task(world: World, task: int, rule: str, why: FailureInfo) -> None:
    """Complete a task that prepares on a node, or waits in the queue, without having run it (JOB-15, TASK-13)."""
    profile = world.tasks.profile_of(task)
    prepares = world.tasks.state[task] == PREPARING
    left = _take_off_nodes(world, task, well=False) if prepares else ()
    if not prepares:
        world.scheduler.remove_from_queue(task, profile)
    attempts.complete_failed(world, task, profile, None, why, rule)
    _free_slots(world, task, left)


def _take_off_nodes(world: World, task: int, *, well: bool | None) -> tuple[int, ...]:
    """Remove a running or preparing task from its nodes before its state changes; the caller frees its slots there.

    ``well`` is as in ``attempts.leave_node``.
    """
    left = world.nodes_of(task)
    profile = world.tasks.profile_of(task)
    for node in left:
        if world.tasks.state[task] == RUNNING:
            attempts.leave_node(world, task, node, profile, well=well)
            continue
        world.nodes.stop_preparing(task, node)
        if profile.exclusive:
            world.scheduler.update_eligibility(node)
    return left


def _free_slots(world: World, task: int, left: Iterable[int]) -> None:
    slots = world.tasks.profile_of(task).required_slots
    for node in left:
        world.emit(TaskLeftNode(node, slots))


# -- preparation and release tasks -----------------------------------------------------------------------------------


def _stop_instances(world: World, node: int, rule: str, *, wipes_disk: bool, by_user: bool) -> None:
    """Interrupt the preparations and releases on a node that stops (NOP-12).

    ``rule`` is why a running preparation ends: PREP-15 a reboot, PREP-18 a reimage, PREP-19 the node is lost or leaves.
    """
    why = _BY_USER if by_user else _BY_SERVICE
    instances = world.instances
    for row in instances.rows_on(node):
        was_preparing = instances.prep_state[row] == InstanceState.RUNNING
        world.emit(InstanceInterrupted(row, wipes_disk, why, rule, was_preparing))


# -- facts about nodes -----------------------------------------------------------------------------------------------


def node_stopped(world: World, stopped: NodeStopped) -> None:
    """Requeue or terminate the tasks, and interrupt preparations and releases (NOP-1, RSZ-4, NOP-12)."""
    _stop_tasks(world, stopped.node, stopped.option, stopped.rule)
    _stop_instances(world, stopped.node, stopped.prep_rule, wipes_disk=stopped.wipes_disk, by_user=True)


def node_lost(world: World, lost: NodeLost) -> None:
    """Run the tasks again elsewhere, and interrupt preparations and releases (NODE-13, SPOT-4)."""
    _lose_tasks(world, lost.node, lost.rule)
    _stop_instances(world, lost.node, "PREP-19", wipes_disk=lost.wipes_disk, by_user=False)


def scheduling_disabled(world: World, disabled: SchedulingDisabled) -> None:
    """Deal with the tasks as the option says; with ``taskcompletion`` those that run go on (NOP-6)."""
    if disabled.option is Deallocation.TASK_COMPLETION:
        drain_begun(world, disabled)
    else:
        _stop_tasks(world, disabled.node, disabled.option, "NOP-6")
