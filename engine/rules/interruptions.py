"""What becomes of everything on a node when the node stops being there for it (NOP-12, RSZ-4, NODE-13).

Tasks that run, tasks that prepare, preparation and release instances. Why the node stops is in
``node_operations``, ``resizing`` and ``faults``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.failures import STOPPED_EXIT_CODE, FailureInfo, ended, failure
from engine.base.paths import job_directory
from engine.base.terms import Deallocation, ErrorCategory, InstanceState
from engine.rules import outcomes, preparation, release
from engine.state.disks import Disk
from engine.state.instances import Mark
from engine.state.task_records import TaskExtra
from engine.state.tasks import PREPARING, RUNNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.state.jobs import Job
    from engine.world.facts import TaskDisplaced
    from engine.world.world import World

# RETRY-7: how often the service tries again by itself.
MAX_INTERNAL_RETRIES = 10

BY_USER = ended("the node was taken for another purpose")
BY_SERVICE = ended("the node was lost", ErrorCategory.SERVER_ERROR)


def stop_tasks(world: World, node: int, option: Deallocation, rule: str) -> None:
    """An operation takes the node from its tasks now: requeue or terminate those that run (RSZ-4, NOP-1).

    NOP-14 those that prepare are active again, no counter changes. RETRY-6 a requeue by the user counts.
    """
    for task in each_still_there(world, world.nodes.tasks_on(node)):
        if world.tasks.state[task] == PREPARING:
            preparation.give_back(world, task, rule="NOP-14")
        elif option is Deallocation.TERMINATE:
            terminate_task(world, task, rule)
        else:
            requeue_task(world, task, rule)


def each_still_there(world: World, tasks: Iterable[int]) -> Iterator[int]:
    """Each of these tasks that is on its node when its turn comes: the end of one may end others (EXIT-5, JM-4)."""
    return (task for task in tasks if world.tasks.state[task] in {PREPARING, RUNNING})


def stop_preparing(world: World, node: int) -> None:
    """Tasks that prepare on the node are active again (NOP-14)."""
    for task in sorted(world.nodes.preparing.get(node, ())):
        preparation.give_back(world, task, rule="NOP-14")


def requeue_task(world: World, task: int, rule: str) -> None:
    """A running task is stopped and queued again because a user asked for it (RETRY-6, EVT-4)."""
    extra = world.tasks.extra(task)
    extra = extra._replace(requeue_count=extra.requeue_count + 1, last_requeue_ms=world.now_ms, awaits_retry=False)
    _queue_again(world, task, extra, rule)


def lose_tasks(world: World, node: int, rule: str) -> None:
    """The node fails or is preempted: the service runs its tasks again elsewhere (NODE-13, SPOT-4, RETRY-7).

    SPOT-9 with one of its nodes a multi-instance task loses the whole attempt.
    """
    for task in each_still_there(world, world.nodes.tasks_on(node)):
        if world.tasks.state[task] == PREPARING:
            preparation.give_back(world, task, rule="PREP-19")
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


def task_displaced(world: World, displaced: TaskDisplaced) -> None:
    """A running task gives way to another: the service queues it again, no counter of retries or requeues changes."""
    task, rule = displaced
    extra = world.tasks.extra(task)
    extra = extra._replace(system_retries=extra.system_retries + 1, awaits_retry=False)
    _queue_again(world, task, extra, rule)


def _queue_again(world: World, task: int, extra: TaskExtra, rule: str) -> None:
    left = outcomes.take_off_nodes(world, task)
    outcomes.back_to_queue(world, task, extra, rule)
    outcomes.free_slots(world, left, world.tasks.profile_of(task))


def terminate_task(world: World, task: int, rule: str, why: FailureInfo = BY_USER) -> None:
    """A running task is stopped for good, exit code as in RETRY-8."""
    profile = world.tasks.profile_of(task)
    left = outcomes.take_off_nodes(world, task)
    outcomes.complete_failed(world, task, profile, STOPPED_EXIT_CODE, why, rule)
    outcomes.free_slots(world, left, profile)


def refuse_task(world: World, task: int, rule: str, why: FailureInfo) -> None:
    """A task that prepares on a node, or waits in the queue, is completed without ever having run (JOB-15, TASK-13)."""
    profile = world.tasks.profile_of(task)
    if world.tasks.state[task] != PREPARING:
        world.scheduler.remove_from_queue(task, profile)
        outcomes.complete_failed(world, task, profile, None, why, rule)
        return
    left = outcomes.take_off_nodes(world, task)
    outcomes.complete_failed(world, task, profile, None, why, rule)
    outcomes.free_slots(world, left, profile)


def remove_job_files(world: World, job: Job) -> None:
    """The job's directories go from all nodes, whatever their retention (JOB-16, REL-18); `shared` stays (FILE-8)."""
    directory = job_directory(job.id)
    for node in world.disks.nodes():
        if world.disks[node].exists(directory):
            world.disks.edit(node).delete(directory)


def stop_instances(world: World, node: int, disk: Disk, rule: str, *, by_user: bool) -> None:
    """What the node's end, reboot or reimage does to the preparations and releases on it (NOP-12).

    ``rule`` is why a running preparation ends: PREP-15 a reboot, PREP-18 a reimage, PREP-19 the node is lost or leaves.
    What that means for later is decided here for all: PREP-16, REL-4, REL-10, REL-14.
    """
    why = BY_USER if by_user else BY_SERVICE
    instances = world.instances
    for row in instances.rows_on(node):
        job = world.jobs[instances.job[row]]
        was_running = instances.prep_state[row] == InstanceState.RUNNING
        preparation.stop(world, row, why, rule)
        if disk is Disk.WIPED:
            release.node_is_lost(world, row, why)
            preparation.node_was_wiped(world, job, node, row)
        else:
            release.node_was_rebooted(world, row, why)
            preparation.node_was_rebooted(world, job, node, row, was_running=was_running)
    record = world.nodes.edit(node)
    if disk is Disk.WIPED:
        world.disks.wipe(node)
        record.disk_since_ms = world.now_ms
        record.users.clear()
        record.arrivals.clear()
    elif record.arrivals:  # packages that were on their way are not installed
        record.arrivals = {name: ms for name, ms in record.arrivals.items() if ms <= world.now_ms}


def owed_rows(world: World, node: int) -> list[int]:
    """The instances whose release waits for this node."""
    instances = world.instances
    return [row for row in instances.rows_on(node) if instances.mark[row] & Mark.RELEASE_OWED]
