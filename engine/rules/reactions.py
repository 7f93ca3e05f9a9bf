"""Reactions to facts, and handlers of due entries: the two tables that connect the chapters.

No other module knows the actions of several chapters. A chapter that has changed something emits a fact
(``engine.rules.facts``); the handlers listed here run at once, in this order, each for the rules named beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.base.calendar import DueKind
from engine.rules import (
    account,
    autoscaling,
    commands,
    facts,
    fast_path,
    faults,
    job_schedules,
    jobs,
    multi_instance,
    node_operations,
    nodes,
    pools,
    preparation,
    release,
    resizing,
    scheduling,
)
from engine.rules.processes import execution
from engine.rules.tasks import attempts, interruptions, operations

if TYPE_CHECKING:
    from engine.base.calendar import Due
    from engine.world import World

Reaction = tuple[Callable[["World", Any], None], str]

REACTIONS: dict[type, tuple[Reaction, ...]] = {
    # -- tasks
    facts.TaskAssigned: ((preparation.task_assigned, "PREP-3"), (attempts.task_assigned, "SCHED-7")),
    facts.GangAssigned: ((preparation.gang_assigned, "PREP-3"), (multi_instance.assigned, "MI-3")),
    facts.WaitOver: (
        (attempts.wait_over, "JM-12"),
        (multi_instance.wait_over, "JM-12"),
        (execution.hook_wait_over, "JM-12"),
        (nodes.wait_over, "JM-12"),
    ),
    facts.TaskDisplaced: ((interruptions.task_displaced, "SCHED-16"),),
    facts.TaskLimitChanged: ((attempts.limit_changed, "TASK-12"), (multi_instance.limit_changed, "TASK-12")),
    facts.GangAttemptEnded: ((attempts.gang_attempt_ended, "MI-6"),),
    facts.PrimaryEnded: ((multi_instance.primary_ended, "MI-8"),),
    facts.TaskCompleted: ((scheduling.task_completed, "DEP-4"), (jobs.task_completed, "EXIT-5")),
    facts.TaskStopped: (
        (jobs.task_stopped, "JOB-7"),
        (scheduling.task_stopped, "JOB-2"),
        (commands.task_stopped, "JM-12"),
    ),
    facts.TaskLeftNode: ((scheduling.task_left_node, "SCHED-15"),),
    # -- preparation and release
    facts.NodePrepared: ((attempts.node_prepared, "PREP-7"),),
    facts.GangNodePrepared: ((multi_instance.node_prepared, "PREP-7"),),
    facts.PreparationFailed: ((interruptions.preparation_failed, "PREP-8"),),
    facts.InstanceInterrupted: (
        (preparation.instance_interrupted, "PREP-15"),
        (release.instance_interrupted, "REL-10"),
        (preparation.void_after_interruption, "PREP-16"),
    ),
    facts.ReleasesEnded: ((jobs.releases_ended, "REL-6"),),
    # -- jobs and job schedules
    facts.JobAdded: ((pools.job_added, "AUTO-2"),),
    facts.JobBegun: ((operations.add_manager, "JM-2"),),
    facts.JobDisabled: ((interruptions.job_disabled, "JOB-11"),),
    facts.JobEnding: (
        (interruptions.job_ending, "JOB-15"),
        (preparation.job_ending, "PREP-23"),
        (release.job_ending, "REL-2"),
    ),
    facts.JobEnded: ((pools.job_ended, "AUTO-3"), (job_schedules.job_ended, "JS-3")),
    facts.OccurrenceDue: ((jobs.occurrence_due, "JS-11"),),
    facts.ScheduledJobTerminated: ((jobs.scheduled_job_terminated, "JS-8"),),
    facts.ScheduledJobDeleted: ((jobs.scheduled_job_deleted, "JS-8"),),
    facts.JobScheduleEnded: ((pools.schedule_ended, "AUTO-3"),),
    # -- nodes
    facts.VmAllocated: ((nodes.vm_allocated, "NODE-2"),),
    facts.VmReplaced: ((nodes.vm_replaced, "SPOT-5"), (faults.vm_replaced, "SPOT-10")),
    facts.NodeAdded: ((faults.node_added, "NODE-18"),),
    facts.FailureDrawn: ((faults.failure_drawn, "NODE-18"),),
    facts.EvictionDrawn: ((faults.eviction_drawn, "SPOT-10"),),
    facts.VmStarted: ((nodes.vm_started, "NOP-8"),),
    facts.NodeCutOff: ((faults.node_cut_off, "NET-4"),),
    facts.NodeBooted: ((nodes.node_booted, "START-3"),),
    facts.NodeUsable: (
        (nodes.node_usable, "NODE-9"),
        (node_operations.node_drained, "NOP-2"),
        (release.node_usable, "REL-10"),
        (pools.node_at_rest, "POOL-22"),
    ),
    facts.StartTaskFailed: (
        (nodes.start_task_failed, "START-6"),
        (release.start_task_failed, "REL-13"),
        (node_operations.node_drained, "NOP-2"),
        (pools.node_at_rest, "POOL-22"),
    ),
    facts.NodeBroken: ((faults.node_broken, "NODE-11"),),
    facts.ContactWaitEnded: ((faults.contact_wait_ended, "NODE-14"),),
    facts.NodeUnreachable: ((release.node_unreachable, "REL-13"),),
    facts.NodeUnusable: ((pools.node_at_rest, "POOL-22"),),
    facts.NodePreempted: ((resizing.node_preempted, "SPOT-5"), (pools.node_at_rest, "POOL-22")),
    facts.NodeLost: (
        (nodes.node_stopped, "START-8"),
        (interruptions.node_lost, "NODE-13"),
        (nodes.clear_disk, "NOP-12"),
    ),
    facts.NodeStopped: (
        (nodes.node_stopped, "START-8"),
        (interruptions.node_stopped, "NOP-1"),
        (nodes.clear_disk, "NOP-12"),
    ),
    facts.SchedulingDisabled: ((interruptions.scheduling_disabled, "NOP-6"),),
    facts.NodeDrainBegun: ((interruptions.drain_begun, "NOP-14"),),
    facts.NodeDrained: ((node_operations.node_drained, "NOP-2"),),
    facts.NodeRemovalRequested: ((node_operations.removal_requested, "NOP-5"),),
    facts.NodeUpgradeDue: ((node_operations.upgrade_due, "POOL-22"),),
    facts.NodeKept: ((node_operations.node_kept, "RSZ-5"),),
    facts.NodeLeaving: ((node_operations.node_leaving, "RSZ-7"), (pools.node_at_rest, "POOL-22")),
    facts.NodeGone: ((resizing.node_gone, "RSZ-2"), (pools.node_gone, "RSZ-10")),
    # -- account
    facts.QuotasChanged: ((job_schedules.quotas_changed, "ACC-9"),),
    # -- pools
    facts.PoolCreated: ((autoscaling.pool_created, "AS-84"), (resizing.pool_created, "POOL-8")),
    facts.TargetsSet: ((resizing.targets_set, "AS-80"),),
}

# In the order in which entries of the same millisecond fall due. Commands and faults are inputs of the simulation.
DUE: dict[DueKind, Callable[[World, Due], None]] = {
    DueKind.GANG_STEP: multi_instance.step,
    DueKind.PREPARATION_ENDED: preparation.preparation_ended,
    DueKind.RELEASE_ENDED: release.release_ended,
    DueKind.START_TASK_ENDED: nodes.start_task_ended,
    DueKind.NODE_STEP: nodes.node_step,
    DueKind.NODE_ALLOCATED: resizing.node_allocated,
    DueKind.FAILURE: faults.failure_due,
    DueKind.EVICTION_NOTICE: faults.notice_due,
    DueKind.EVICTION: faults.eviction_due,
    DueKind.ACT: commands.act_due,
    DueKind.JOB_STEP: jobs.job_step,
    DueKind.POOL_STEP: resizing.resize_stopped,
    DueKind.CERTIFICATE_STEP: account.certificate_deletion_ended,
    DueKind.JOB_TIMEOUT: jobs.job_timeout,
    DueKind.RESIZE_TIMEOUT: resizing.resize_timed_out,
    DueKind.RELEASE_TIMEOUT: release.waited_long_enough,
    DueKind.SCHEDULE_STEP: job_schedules.schedule_step,
    DueKind.OCCURRENCE_LOST: job_schedules.occurrence_lost,
    DueKind.DATA_EXPIRED: node_operations.data_expired,
    DueKind.LIFETIME_OVER: operations.lifetime_is_over,
    DueKind.SPOT_REFILL: resizing.refill_pools,
    DueKind.AUTOSCALE_SAMPLE: autoscaling.take_sample,
    DueKind.AUTOSCALE: autoscaling.evaluate_when_due,
    DueKind.NODES_WANTED: resizing.request_wanted_nodes,
    DueKind.TASKS_READY: scheduling.tasks_are_ready,
    DueKind.STARVING: scheduling.report_again,
    DueKind.PASS: scheduling.run_pass,
}


def install(world: World) -> None:
    """Let the world react to facts, and to due entries other than inputs, as the tables say."""
    world.reactions = {fact: tuple(handler for handler, _ in entries) for fact, entries in REACTIONS.items()}
    for kind, rule in DUE.items():
        world.calendar.on(kind, partial(rule, world))
    world.calendar.on(DueKind.PREPARATION_ENDED, fast_path.ender_of_preparations(world))
    world.calendar.on_task_ends(fast_path.ender_of_tasks(world))
