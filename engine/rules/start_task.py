"""Start tasks (chapter 8): on every node each time it starts, before it is ready or beside its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.failures import FAILURE_EXIT_CODE, FailureInfo
from engine.base.paths import STARTUP, working_directory
from engine.base.terms import NodeState
from engine.events.calendar import Due, DueKind
from engine.rules import nodes
from engine.rules.decisions.retries import start_retry_verdict
from engine.rules.processes import disk_space, execution, launches, setup
from engine.state.nodes import StartTaskRecord

if TYPE_CHECKING:
    from engine.world.world import World


def start(world: World, node: int, rule: str, *, retries: int = 0) -> None:
    """The start task's process starts, in no slot (START-11); a retry keeps counting, a boot begins anew (START-8)."""
    now_ms = world.now_ms
    record = world.nodes.edit(node)
    record.start_runs += 1
    world.disks.edit(node).delete(working_directory(STARTUP))  # START-9
    assert record.start_spec is not None
    launch = execution.begin(world, node, launches.start_task_launch(world, node, now_ms), record.start_spec)
    end_ms = now_ms + world.executor.plan(launch).total_ms
    last_retry_ms = now_ms if retries else None
    task = StartTaskRecord(True, now_ms, end_ms, retry_count=retries, last_retry_ms=last_retry_ms)
    world.nodes.set_start_task(now_ms, node, task, record.start_runs, rule)
    world.calendar.at(end_ms, DueKind.START_TASK_ENDED, node)


def start_task_ended(world: World, due: Due) -> None:
    """The process of a start task has come to the end that was planned for it."""
    node = due.key
    record = world.nodes[node]
    task, spec = record.start_task, record.start_spec
    if task is None or spec is None or not task.running or task.end_ms != world.now_ms:
        return
    launch = launches.start_task_launch(world, node, task.start_ms)
    plan = world.executor.plan(launch)
    setup.forget(world, node, STARTUP)
    if plan.failure is not None:
        _completed(world, node, task, None, plan.failure, rule="START-4")
        return
    output = execution.finish(world, node, launch, plan, None, "", spec)
    if start_retry_verdict(spec, task.retry_count, output.exit_code):
        start(world, node, rule="START-4", retries=task.retry_count + 1)
    elif output.exit_code:
        _completed(world, node, task, output.exit_code, FAILURE_EXIT_CODE, rule="START-12")
    else:
        _completed(world, node, task, 0, None, rule="START-4")


def _completed(
    world: World, node: int, task: StartTaskRecord, exit_code: int | None, failure: FailureInfo | None, rule: str
) -> None:
    """Record the end; a node that waited for it is ready, or of no use until it is rebooted (START-4, START-6)."""
    now_ms = world.now_ms
    ended = task._replace(running=False, end_ms=now_ms, exit_code=exit_code, failure=failure)
    world.nodes.set_start_task(now_ms, node, ended, world.nodes[node].start_runs, rule)
    if world.nodes.state_of(node) is not NodeState.WAITING_FOR_START_TASK:
        pass
    elif failure is None:
        nodes.become_ready(world, node)
    else:
        nodes.start_task_failed(world, node)
    disk_space.look(world, node)


def stop(world: World, node: int) -> None:
    """The node stops: a running start task is gone with it, and its record begins anew at the next boot (START-8)."""
    task = world.nodes[node].start_task
    if task is not None and task.running:
        world.nodes.edit(node).start_task = None
