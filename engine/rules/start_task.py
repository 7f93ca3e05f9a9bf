"""Start tasks (START): on every node each time it boots, before the node is ready or beside its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.failures import FAILURE_EXIT_CODE, FailureInfo
from engine.base.paths import STARTUP, working_directory
from engine.base.terms import NodeState
from engine.events.calendar import Due, DueKind
from engine.rules.decisions.tasks import start_retry_verdict
from engine.rules.processes import disk_space, execution, launches
from engine.state.nodes import StartTaskRecord
from engine.world.facts import NodeUsable, StartTaskFailed

if TYPE_CHECKING:
    from engine.world.facts import NodeLost, NodeSetUp, NodeStopped
    from engine.world.world import World


def node_set_up(world: World, ready: NodeSetUp) -> None:
    """Start the start task, if there is one; the node is usable afterwards, or at once (START-2 to START-5)."""
    node = ready.node
    spec = world.nodes[node].start_spec
    world.cancel_node_step(node)
    if spec is not None and spec.wait_for_success:
        world.nodes.set_state(world.now_ms, node, NodeState.WAITING_FOR_START_TASK)
        _start(world, node, rule="START-4")
        return
    world.emit(NodeUsable(node))
    if spec is not None:
        _start(world, node, rule="START-5")


def _start(world: World, node: int, rule: str, *, retries: int = 0) -> None:
    """Start the process, in no slot (START-11); a retry keeps counting, a boot begins anew (START-8)."""
    now_ms = world.now_ms
    run = world.nodes.count_start_run(node)
    world.disks.edit(node).delete(working_directory(STARTUP))  # START-9
    spec = world.nodes[node].start_spec
    assert spec is not None
    launch = execution.begin(world, node, launches.start_task_launch(world, node), spec)
    end_ms = now_ms + world.executor.plan(launch).total_ms
    last_retry_ms = now_ms if retries else None
    task = StartTaskRecord(True, now_ms, end_ms, retry_count=retries, last_retry_ms=last_retry_ms)
    world.nodes.set_start_task(now_ms, node, task, run, rule)
    world.calendar.at(end_ms, DueKind.START_TASK_ENDED, node)


def start_task_ended(world: World, due: Due) -> None:
    """End the process at the moment planned for it: it has succeeded, failed, or runs again."""
    node = due.key
    record = world.nodes[node]
    task, spec = record.start_task, record.start_spec
    if task is None or spec is None or not task.running or task.end_ms != world.now_ms:
        return
    launch = launches.start_task_launch(world, node)
    plan = world.executor.plan(launch)
    world.nodes.forget_setup(node, STARTUP)
    if plan.failure is not None:
        _complete(world, node, task, None, plan.failure, rule="START-4")
        return
    output = execution.finish(world, node, launch, plan, None, "", spec)
    if start_retry_verdict(spec, task.retry_count, output.exit_code):
        _start(world, node, rule="START-4", retries=task.retry_count + 1)
    elif output.exit_code:
        _complete(world, node, task, output.exit_code, FAILURE_EXIT_CODE, rule="START-12")
    else:
        _complete(world, node, task, 0, None, rule="START-4")


def _complete(
    world: World, node: int, task: StartTaskRecord, exit_code: int | None, failure: FailureInfo | None, rule: str
) -> None:
    """Record the end; a node that waited for it is usable, or of no use until it is rebooted (START-4, START-6)."""
    now_ms = world.now_ms
    ended = task._replace(running=False, end_ms=now_ms, exit_code=exit_code, failure=failure)
    world.nodes.set_start_task(now_ms, node, ended, world.nodes[node].start_runs, rule)
    if world.nodes.state_of(node) is NodeState.WAITING_FOR_START_TASK:
        world.emit(NodeUsable(node) if failure is None else StartTaskFailed(node))
    disk_space.report_if_full(world, node)


def node_stopped(world: World, stopped: NodeStopped | NodeLost) -> None:
    """Forget a running start task: it begins anew at the next boot (START-8)."""
    world.nodes.drop_start_task(stopped.node)
