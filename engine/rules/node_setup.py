"""The setup of a booting node (START-3): packages, container images and file systems, then the start task (START).

The references are those of the pool at the moment of the boot (POOL-15, APP-5). What cannot be had makes the node
unusable, and only a reboot tries again (APP-4, CONT-2, FILE-13).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.failures import FAILURE_EXIT_CODE, FailureInfo, failure
from engine.base.paths import MOUNTS, STARTUP, working_directory
from engine.base.terms import NodeState
from engine.events.calendar import Due, DueKind
from engine.rules.decisions import containers, storage
from engine.rules.decisions.tasks import start_retry_verdict
from engine.rules.processes import acts, disk_space, execution, launches
from engine.rules.processes.deliveries import Delivery
from engine.rules.processes.setup import Work
from engine.specs.machine import AzureBlobFileSystemConfiguration, AzureFileShareConfiguration
from engine.state.acting import Process, ProcessKind
from engine.state.node_records import StartTaskRecord
from engine.world.facts import NodeBroken, NodeUsable, StartTaskFailed

if TYPE_CHECKING:
    from engine.specs.machine import MountConfiguration
    from engine.world.facts import NodeBooted, NodeLost, NodeStopped, WaitOver
    from engine.world.world import World


def node_booted(world: World, booted: NodeBooted) -> None:
    """Bring to the node what its pool asks for, which takes a while if it has to be downloaded (START-3, CERT-2)."""
    node = booted.node
    if world.nodes[node].is_set_up:
        _run_start_task(world, node)
        return
    world.nodes.edit(node).assign(is_set_up=True)
    pool = world.pool_of(node)
    delivery = Delivery(world, node)
    if disk_space.is_full(world, node):
        delivery.refuse(failure("DiskFull"))
    for reference in pool.spec.application_package_references:
        delivery.bring_reference(reference)
    configuration = containers.configuration_of(pool.spec)
    for name in configuration.container_image_names if configuration is not None else ():
        image = containers.full_name(name)
        delivery.bring_image(image, containers.registry_of(image))
    for mount in pool.spec.mount_configuration:
        delivery.refuse(_mount(world, node, mount))
    ready = delivery.setup
    if ready.failure is not None:
        world.emit(NodeBroken(node, ready.failure.code, ready.failure.details))
    elif ready.delay_ms:
        world.enter_node_step(node, ready.delay_ms)
    else:
        _run_start_task(world, node)


def _mount(world: World, node: int, mount: MountConfiguration) -> FailureInfo | None:
    """Make one file system available below ``fsmounts``; return why it cannot be, or None (FILE-13).

    What tasks write there stays on the node: other nodes do not see it. DECISION.
    """
    given = mount.given
    assert given is not None  # checked when the pool was created
    is_missing = storage.is_missing
    match given:
        case AzureBlobFileSystemConfiguration():
            source, is_azure, is_missing = given.url, True, storage.is_container_missing
        case AzureFileShareConfiguration():
            source, is_azure = given.azure_file_url, True
        case _:
            source, is_azure = given.source, False
    if (is_azure and storage.is_out(world)) or is_missing(world, source):
        path = given.relative_mount_path
        return failure("MountConfigurationError", ("Source", source), ("RelativeMountPath", path))
    world.disks.edit(node).mkdir(f"{MOUNTS}/{given.relative_mount_path.strip('/')}")
    return None


# -- the start task: on every node each time it boots, before the node is ready or beside its tasks ------------------


def _run_start_task(world: World, node: int) -> None:
    """Start the start task, if there is one; the node is usable afterwards, or at once (START-2 to START-5)."""
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
    launch = launches.start_task_launch(world, node)
    start = acts.start_of(world, execution.begin(world, node, launch, Work(spec)))
    last_retry_ms = now_ms if retries else None
    end_ms = None if start.is_open else start.end_ms
    task = StartTaskRecord(True, now_ms, end_ms, retry_count=retries, last_retry_ms=last_retry_ms)
    world.nodes.set_start_task(now_ms, node, task, run, rule)
    if end_ms is not None:
        world.calendar.at(end_ms, DueKind.START_TASK_ENDED, node)
    acts.begin(world, Process(ProcessKind.START_TASK, node), start)


def wait_over(world: World, over: WaitOver) -> None:
    """End a start task for which what it waits for has come true (JM-12)."""
    if over.process.kind is not ProcessKind.START_TASK:
        return
    node = over.process.row
    task = world.nodes[node].start_task
    assert task is not None
    plan = world.executor.plan(launches.start_task_launch(world, node))
    end_ms = max(world.now_ms, acts.end_ms(world, task.start_ms, plan))
    world.nodes.move_start_task_end(node, end_ms)
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
    acts.end(world, Process(ProcessKind.START_TASK, node))
    if plan.failure is not None:
        _complete(world, node, task, None, plan.failure, rule="START-4")
        return
    output = execution.finish(world, node, launch, plan, Work(spec))
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
    acts.end(world, Process(ProcessKind.START_TASK, stopped.node))
    world.nodes.drop_start_task(stopped.node)
