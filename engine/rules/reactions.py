"""What follows from what: the table of reactions to facts, and the table of due entries.

This is the only module that knows the actions of several chapters. A chapter that has changed something emits a fact
(``engine.world.facts``); the handlers listed here run at once, in this order, each for the rules named beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.events.calendar import DueKind
from engine.rules import (
    autoscaling,
    certificates,
    faults,
    hand_over,
    interruptions,
    job_schedules,
    jobs,
    multi_instance,
    node_operations,
    nodes,
    outcomes,
    pool_samples,
    preparation,
    release,
    resizing,
    scheduling,
    spot,
    start_task,
    tasks,
)
from engine.world import facts

if TYPE_CHECKING:
    from engine.events.calendar import Due
    from engine.world.facts import Fact
    from engine.world.world import World

Reaction = tuple[Callable[["World", Any], None], str]

REACTIONS: dict[type[Fact], tuple[Reaction, ...]] = {
    facts.TaskAssigned: ((preparation.task_assigned, "PREP-3"), (outcomes.task_assigned, "SCHED-7")),
    facts.GangAssigned: ((preparation.gang_assigned, "PREP-3"), (multi_instance.assigned, "MI-3")),
    facts.TaskDisplaced: ((interruptions.task_displaced, "SCHED-16"),),
    facts.NodeDrained: ((node_operations.node_drained, "NOP-2"),),
    facts.NodeBroken: ((faults.node_broken, "NODE-11"),),
    facts.TaskLeftNode: ((scheduling.task_left_node, "SCHED-15"),),
}

# In the order in which entries of the same millisecond fall due. Commands and faults are inputs of the simulation.
DUE: dict[DueKind, Callable[[World, Due], None]] = {
    DueKind.GANG_STEP: multi_instance.step,
    DueKind.PREPARATION_ENDED: preparation.preparation_ended,
    DueKind.RELEASE_ENDED: release.release_ended,
    DueKind.START_TASK_ENDED: start_task.start_task_ended,
    DueKind.NODE_STEP: nodes.node_step,
    DueKind.NODE_ALLOCATED: resizing.node_allocated,
    DueKind.EVICTION: faults.notice_is_over,
    DueKind.JOB_STEP: jobs.job_step,
    DueKind.POOL_STEP: resizing.stopped,
    DueKind.CERTIFICATE_STEP: certificates.deletion_is_over,
    DueKind.JOB_TIMEOUT: jobs.job_timeout,
    DueKind.RESIZE_TIMEOUT: resizing.resize_timeout,
    DueKind.RELEASE_TIMEOUT: release.waited_long_enough,
    DueKind.SCHEDULE_STEP: job_schedules.schedule_step,
    DueKind.DATA_EXPIRED: node_operations.data_expired,
    DueKind.LIFETIME_OVER: tasks.lifetime_is_over,
    DueKind.SPOT_REFILL: spot.refill,
    DueKind.AUTOSCALE_SAMPLE: pool_samples.take,
    DueKind.AUTOSCALE: autoscaling.evaluate_when_due,
    DueKind.NODES_WANTED: resizing.ask_for_wanted_nodes,
    DueKind.TASKS_READY: scheduling.tasks_are_ready,
    DueKind.STARVING: scheduling.report_again,
    DueKind.PASS: scheduling.run_pass,
}


def install(world: World) -> None:
    """Let the world react to facts, and to due entries other than inputs, as the tables say."""
    world.reactions = {fact: tuple(handler for handler, _ in entries) for fact, entries in REACTIONS.items()}
    for kind, rule in DUE.items():
        world.calendar.on(kind, partial(rule, world))
    world.calendar.on(DueKind.TASK_ENDED, hand_over.task_ended(world))
