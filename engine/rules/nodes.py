"""The life of a node from the allocation of its VM to the moment it is ready, and its departure (NODE, START).

A state that passes by itself has one entry in the calendar, ``NODE_STEP``. Operations by users are in
``node_operations``, failures and evictions in ``faults``.

A booting node gets packages, container images and file systems (START-3), then its start task runs. The references are
those of the pool at the moment of the boot (POOL-15, APP-5). What cannot be had makes the node unusable, and only a
reboot tries again (APP-4, CONT-2, FILE-13).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from engine.base.calendar import Due, DueKind
from engine.base.errors import FAILURE_EXIT_CODE, FailureInfo, failure
from engine.base.paths import MOUNTS, STARTUP, working_directory
from engine.base.terms import NodeState, OsFamily, SchedulingState
from engine.rules.decisions import capacity
from engine.rules.decisions.verdicts import start_retry_verdict
from engine.rules.facts import (
    ContactWaitEnded,
    NodeAdded,
    NodeBooted,
    NodeBroken,
    NodeCutOff,
    NodeGone,
    NodeStopped,
    NodeUsable,
    StartTaskFailed,
)
from engine.rules.processes import execution, node_disk, setup
from engine.rules.processes.setup import Delivery, Work, discard_unfinished_packages, packages_of
from engine.specs import draws
from engine.specs.catalogue import BLOCK_NOTICED_MS, BOOT_AGAIN_MS
from engine.specs.machine import AzureBlobFileSystemConfiguration, AzureFileShareConfiguration
from engine.state.acting import Process, ProcessKind
from engine.state.nodes import Node, StartTaskRecord

if TYPE_CHECKING:
    from engine.rules.facts import NodeLost, VmAllocated, VmReplaced, VmStarted, WaitOver
    from engine.specs.machine import MountConfiguration
    from engine.state.instances import Ending
    from engine.state.pools import Pool
    from engine.world import World


# -- allocation ------------------------------------------------------------------------------------------------------


def vm_allocated(world: World, allocated: VmAllocated) -> None:
    """Add a node in state ``creating`` to the pool (NODE-2, NODE-3, NODE-4)."""
    pool, dedicated = world.pools[allocated.pool], allocated.dedicated
    position = len(pool.nodes)
    ip = pool.take_address()
    node_id = _id_of(world, pool, position, dedicated=dedicated)
    record = Node(pool.row, position, node_id, dedicated, world.now_ms, ip)
    node = world.nodes.add(record, pool.slots)
    pool.add_node(node, dedicated=dedicated)
    _enter_creating_step(world, node)
    world.emit(NodeAdded(node))


def vm_replaced(world: World, replaced: VmReplaced) -> None:
    """Let a preempted node begin anew under its id (SPOT-5)."""
    world.nodes.set_state(world.now_ms, replaced.node, NodeState.CREATING)
    _enter_creating_step(world, replaced.node)


def _enter_creating_step(world: World, node: int) -> None:
    record = world.nodes[node]
    world.enter_node_step(node, world.node_ms(world.pool_of(node), "starting", record.position, record.boots))


def _id_of(world: World, pool: Pool, position: int, *, dedicated: bool) -> str:
    if world.options.classic_node_ids or pool.os is OsFamily.CLOUD_SERVICE:
        allocated = world.scenario.start + timedelta(milliseconds=world.now_ms)
        return draws.classic_node_id(world.seed, f"{pool.id}/{pool.row}", position + 1, allocated)
    return draws.node_id(world.seed, f"{pool.id}/{pool.row}", position + 1, dedicated=dedicated)


# -- states that pass by themselves ----------------------------------------------------------------------------------


def node_step(world: World, due: Due) -> None:
    """Leave a state whose time is over, and begin what follows."""
    node = due.key
    if world.nodes[node].token != due.token:
        return
    match world.nodes.state_of(node):
        case NodeState.STARTING if capacity.blocked_ports(world, world.pool_of(node)):
            world.emit(NodeCutOff(node))
        case NodeState.STARTING:
            world.emit(NodeBooted(node))
        case NodeState.LEAVING_POOL:
            _vanish(world, node)
        case NodeState.DEALLOCATING:
            world.nodes.set_state(world.now_ms, node, NodeState.DEALLOCATED)
            world.cancel_node_step(node)
        case NodeState.UNKNOWN:
            world.emit(ContactWaitEnded(node))
        case _:
            _boot(world, node)


def vm_started(world: World, started: VmStarted) -> None:
    """Boot a node that was deallocated."""
    _boot(world, started.node)


def _boot(world: World, node: int) -> None:
    """Enter state ``starting`` (NODE-9); a machine that was set up before is ready soon (TIME-5, TIME-6, TIME-8)."""
    pool = world.pool_of(node)
    came_from = world.nodes.state_of(node)
    packages = packages_of(world.account, pool.spec.application_package_references)
    world.nodes.boot(world.now_ms, node, pool.spec, packages)
    discard_unfinished_packages(world, node)
    record = world.nodes[node]
    if capacity.blocked_ports(world, pool):
        delay_ms = BLOCK_NOTICED_MS
    elif came_from is NodeState.CREATING:
        delay_ms = world.node_ms(pool, "ready", record.position, record.boots)
    elif came_from is NodeState.DEALLOCATED:
        delay_ms = world.node_ms(pool, "start", record.position, record.boots) + BOOT_AGAIN_MS
    else:
        delay_ms = BOOT_AGAIN_MS
    world.enter_node_step(node, delay_ms)


# -- ready or not ----------------------------------------------------------------------------------------------------


def node_usable(world: World, usable: NodeUsable) -> None:
    """Enter the state in which the node runs tasks, or ``offline`` if its scheduling is disabled (NODE-9, POOL-10)."""
    node = usable.node
    if world.nodes.busy(node):
        state = NodeState.RUNNING
    else:
        disabled = world.nodes[node].scheduling is SchedulingState.DISABLED
        state = NodeState.OFFLINE if disabled else NodeState.IDLE
    world.nodes.set_state(world.now_ms, node, state)
    world.scheduler.update_eligibility(node)


def start_task_failed(world: World, failed: StartTaskFailed) -> None:
    """Enter state ``starttaskfailed``, until somebody acts (START-6)."""
    world.nodes.set_state(world.now_ms, failed.node, NodeState.START_TASK_FAILED)


def clear_disk(world: World, stopped: NodeStopped | NodeLost) -> None:
    """Wipe the disk if it is lost; else keep it without the packages that were still on their way (NOP-12)."""
    node = stopped.node
    world.traffic.forget_node(node)
    if stopped.wipes_disk:
        if world.nodes.state_of(node) is NodeState.LEAVING_POOL and world.pool_of(node).is_auto:
            world.disks.on_departure(node)
        world.disks.wipe(node)
        world.nodes.wipe_disk(world.now_ms, node)
    else:
        world.nodes.discard_arrivals(world.now_ms, node)


def _vanish(world: World, node: int) -> None:
    """Take the node out of its pool: its id and address are free again (RSZ-7)."""
    pool = world.pool_of(node)
    world.cancel_node_step(node)
    world.nodes.set_state(world.now_ms, node, None)
    world.disks.wipe(node)
    if pool.is_auto:
        world.disks.on_departure(node)
    world.traffic.forget_node(node)
    pool.remove_node(node, world.nodes[node].ip)
    world.emit(NodeGone(node))


def node_booted(world: World, booted: NodeBooted) -> None:
    """Bring to the node what its pool asks for, which takes a while if it has to be downloaded (START-3, CERT-2)."""
    node = booted.node
    if world.nodes[node].is_set_up:
        _run_start_task(world, node)
        return
    world.nodes.edit(node).assign(is_set_up=True)
    pool = world.pool_of(node)
    delivery = Delivery(world, node)
    if node_disk.is_full(world, node):
        delivery.refuse(failure("DiskFull"))
    for reference in pool.spec.application_package_references:
        delivery.bring_reference(reference)
    configuration = setup.container_configuration_of(pool.spec)
    for name in configuration.container_image_names if configuration is not None else ():
        image = setup.full_image_name(name)
        delivery.bring_image(image, setup.registry_of_image(image))
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
    signed = ""
    match given:
        case AzureBlobFileSystemConfiguration():
            source, is_azure = given.url, True
            signed = f"{source}?{(given.sas_key or '').lstrip('?')}"
        case AzureFileShareConfiguration():
            source, is_azure = given.azure_file_url, True
        case _:
            source, is_azure = given.source, False
    is_shut = is_azure and (setup.is_storage_out(world) or setup.is_access_expired(world, signed))
    is_missing = setup.is_container_missing(world, source) if signed else world.storage.is_missing(source)
    if is_shut or is_missing:
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
        _start_start_task(world, node, rule="START-4")
        return
    world.emit(NodeUsable(node))
    if spec is not None:
        _start_start_task(world, node, rule="START-5")


def _start_start_task(world: World, node: int, rule: str, *, retries: int = 0) -> None:
    """Start the process, in no slot (START-11); a retry keeps counting, a boot begins anew (START-8)."""
    now_ms = world.now_ms
    record = world.nodes.edit(node)
    record.assign(start_runs=record.start_runs + 1)
    world.disks.edit(node).delete(working_directory(STARTUP))  # START-9
    spec = record.start_spec
    assert spec is not None
    launch = execution.start_task_launch(world, node)
    start = execution.start_of(world, execution.begin(world, node, launch, Work(spec)))
    last_retry_ms = now_ms if retries else None
    end_ms = None if start.plan.is_open else start.end_ms
    task = StartTaskRecord(True, now_ms, end_ms, retry_count=retries, last_retry_ms=last_retry_ms)
    world.nodes.set_start_task(now_ms, node, task, record.start_runs, rule)
    if end_ms is not None:
        world.calendar.at(end_ms, DueKind.START_TASK_ENDED, node)
    execution.begin_acting(world, Process(ProcessKind.START_TASK, node), start)


def wait_over(world: World, over: WaitOver) -> None:
    """End a start task for which what it waits for has come true (JM-12)."""
    if over.process.kind is not ProcessKind.START_TASK:
        return
    node = over.process.row
    task = world.nodes[node].start_task
    assert task is not None
    plan = world.executor.plan(execution.start_task_launch(world, node))
    end_ms = max(world.now_ms, execution.planned_end_ms(world, task.start_ms, plan))
    world.nodes.edit(node).assign(start_task=task._replace(end_ms=end_ms))
    world.calendar.at(end_ms, DueKind.START_TASK_ENDED, node)


def start_task_ended(world: World, due: Due) -> None:
    """End the process at the moment planned for it: it has succeeded, failed, or runs again."""
    node = due.key
    record = world.nodes[node]
    task, spec = record.start_task, record.start_spec
    if task is None or spec is None or not task.running or task.end_ms != world.now_ms:
        return
    launch = execution.start_task_launch(world, node)
    ending = execution.end(world, Process(ProcessKind.START_TASK, node), node, launch, Work(spec))
    has_exited = ending.failure is FAILURE_EXIT_CODE
    if has_exited and start_retry_verdict(spec, task.retry_count, ending.exit_code):
        _start_start_task(world, node, rule="START-4", retries=task.retry_count + 1)
    else:
        _complete_start_task(world, node, task, ending, rule="START-12" if has_exited else "START-4")


def _complete_start_task(world: World, node: int, task: StartTaskRecord, ending: Ending, rule: str) -> None:
    """Record the end; a node that waited for it is usable, or of no use until it is rebooted (START-4, START-6)."""
    now_ms = world.now_ms
    ended = task._replace(running=False, end_ms=now_ms, exit_code=ending.exit_code, failure=ending.failure)
    world.nodes.set_start_task(now_ms, node, ended, world.nodes[node].start_runs, rule)
    if world.nodes.state_of(node) is NodeState.WAITING_FOR_START_TASK:
        world.emit(NodeUsable(node) if ending.failure is None else StartTaskFailed(node))
    node_disk.report_if_full(world, node)


def node_stopped(world: World, stopped: NodeStopped | NodeLost) -> None:
    """Forget a running start task: it begins anew at the next boot (START-8)."""
    execution.end_acting(world, Process(ProcessKind.START_TASK, stopped.node))
    task = world.nodes[stopped.node].start_task
    if task is not None and task.running:
        world.nodes.edit(stopped.node).assign(start_task=None)
