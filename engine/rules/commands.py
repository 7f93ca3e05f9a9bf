"""The entry to the rules: one function for each operation of the service and each fault.

The body itself is checked first, then whether the resources exist and their states (ERR-2). A command that is refused
has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.errors import BatchError
from engine.rules import (
    autoscaling,
    certificates,
    faults,
    job_schedules,
    jobs,
    node_operations,
    os_upgrade,
    pools,
    resizing,
    service_logs,
    spot,
    users,
)
from engine.rules.decisions.jobs import check
from engine.rules.tasks import operations
from engine.specs import commands as c
from engine.specs import refusals
from engine.state.nodes import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.specs.commands import Command, OnNode
    from engine.specs.task import TaskSpec
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.state.task_records import TaskSource
    from engine.world.world import World


class Extras(NamedTuple):
    """Tasks to be added with a command, whose body holds them in another form."""

    tasks: Sequence[TaskSpec] = ()
    factory: TaskSource | None = None


NOTHING = Extras()


def execute(world: World, command: Command, extras: Extras = NOTHING) -> None:
    """Carry a command out. Raises BatchError when the service refuses it; then nothing has changed."""
    rule = _RULES.get(type(command))
    if rule is None:
        raise BatchError("UnsupportedRequestVersion", f"{command.NAME} is not simulated")
    rule(world, command, extras)
    spot.enter_attempts(world)


def _refuse(found: Sequence[refusals.Refusal]) -> None:
    if found:
        raise found[0].error()


def node_of(world: World, pool: Pool, name: str | int) -> int:
    """Return the row of a node, named by id or by its index in the pool's history.

    Raises BatchError if there is no such node now.
    """
    if isinstance(name, int):
        found = pool.nodes[name] if name < len(pool.nodes) else None
    else:
        wanted = name.lower()
        found = next((node for node in pool.nodes if world.nodes[node].id.lower() == wanted), None)
    if found is None or world.nodes.state_of(found) is None:
        raise BatchError("NodeNotFound", node=str(name))
    return found


def _node(world: World, command: OnNode) -> int:
    name = command.node_id if command.node_id is not None else command.node
    assert name is not None
    return node_of(world, pools.find(world, command.pool_id), name)


# -- pools -----------------------------------------------------------------------------------------------------------


def _create_pool(world: World, command: c.CreatePool, _: Extras) -> None:
    pools.create(world, command.spec)


def _delete_pool(world: World, command: c.DeletePool, _: Extras) -> None:
    pools.delete(world, pools.find(world, command.pool_id))


def _update_pool(world: World, command: c.UpdatePool, _: Extras) -> None:
    pool = pools.find(world, command.pool_id)
    pools.update(world, pool, pools.patched(command))


def _replace_properties(world: World, command: c.ReplacePoolProperties, _: Extras) -> None:
    pool = pools.find(world, command.pool_id)
    pools.update(world, pool, pools.replaced(pool, command))


def _resize_pool(world: World, command: c.ResizePool, _: Extras) -> None:
    pool = pools.find(world, command.pool_id)
    _refuse(refusals.resize_refusals(command))
    resizing.resize(
        world,
        pool,
        command.target_dedicated_nodes,
        command.target_low_priority_nodes,
        command.resize_timeout,
        command.node_deallocation_option,
    )


def _stop_resize(world: World, command: c.StopPoolResize, _: Extras) -> None:
    resizing.stop(world, pools.find(world, command.pool_id))


def _enable_auto_scale(world: World, command: c.EnablePoolAutoScale, _: Extras) -> None:
    pool = pools.find(world, command.pool_id)
    _refuse(refusals.auto_scale_refusals(command))
    autoscaling.enable(world, pool, command)


def _disable_auto_scale(world: World, command: c.DisablePoolAutoScale, _: Extras) -> None:
    autoscaling.disable(world, pools.find(world, command.pool_id))


def _evaluate_auto_scale(world: World, command: c.EvaluatePoolAutoScale, _: Extras) -> None:
    pool = pools.find(world, command.pool_id)
    _refuse(refusals.auto_scale_refusals(command))
    autoscaling.try_out(world, pool, command)


def _upgrade_os(world: World, command: c.UpgradePoolOS, _: Extras) -> None:
    os_upgrade.upgrade(world, pools.find(world, command.pool_id), command.os_version)


def _remove_nodes(world: World, command: c.RemoveNodes, _: Extras) -> None:
    pool = pools.find(world, command.pool_id)
    _refuse(refusals.remove_nodes_refusals(command))
    resizing.check(pool)
    victims = list(dict.fromkeys(node_of(world, pool, name) for name in command.node_list))
    resizing.remove_nodes(world, pool, victims, command.resize_timeout, command.node_deallocation_option)


# -- nodes -----------------------------------------------------------------------------------------------------------


def _reboot(world: World, command: c.RebootNode, _: Extras) -> None:
    node_operations.operate(world, _node(world, command), Operation.REBOOT, command.node_reboot_option)


def _reimage(world: World, command: c.ReimageNode, _: Extras) -> None:
    node_operations.operate(world, _node(world, command), Operation.REIMAGE, command.node_reimage_option)


def _deallocate(world: World, command: c.DeallocateNode, _: Extras) -> None:
    option = command.node_deallocate_option
    node_operations.operate(world, _node(world, command), Operation.DEALLOCATE, option)


def _start_node(world: World, command: c.StartNode, _: Extras) -> None:
    node_operations.start_node(world, _node(world, command))


def _disable_scheduling(world: World, command: c.DisableNodeScheduling, _: Extras) -> None:
    option = command.node_disable_scheduling_option
    node_operations.disable_scheduling(world, _node(world, command), option)


def _enable_scheduling(world: World, command: c.EnableNodeScheduling, _: Extras) -> None:
    node_operations.enable_scheduling(world, _node(world, command))


def _create_user(world: World, command: c.CreateNodeUser, _: Extras) -> None:
    node = _node(world, command)
    _refuse(refusals.node_user_refusals(command, world.pool_of(node).os))
    node_operations.check_users(world, node)
    users.create(world, node, command)


def _update_user(world: World, command: c.UpdateNodeUser, _: Extras) -> None:
    node = _node(world, command)
    _refuse(refusals.node_user_refusals(command, world.pool_of(node).os))
    node_operations.check_users(world, node)
    users.update(world, node, command)


def _delete_user(world: World, command: c.DeleteNodeUser, _: Extras) -> None:
    node = _node(world, command)
    node_operations.check_users(world, node)
    users.delete(world, node, command.name)


def _upload_logs(world: World, command: c.UploadNodeLogs, _: Extras) -> None:
    """Upload the logs: only the container changes; ``service_logs.upload`` returns the answer of the service."""
    service_logs.upload(world, _node(world, command), command)


# -- jobs ------------------------------------------------------------------------------------------------------------


def _create_job(world: World, command: c.CreateJob, extras: Extras) -> None:
    spec = command.spec
    _refuse(refusals.job_refusals(spec))
    for task in extras.tasks:
        _refuse(refusals.task_refusals(task, spec))
    job = jobs.create(world, spec)
    _add(world, job, extras)


def _update_job(world: World, command: c.UpdateJob, _: Extras) -> None:
    job = jobs.find(world, command.job_id)
    _refuse(refusals.job_update_refusals(command, job.spec))
    jobs.update(world, command)


def _disable_job(world: World, command: c.DisableJob, _: Extras) -> None:
    jobs.disable(world, jobs.find(world, command.job_id), command.disable_tasks)


def _enable_job(world: World, command: c.EnableJob, _: Extras) -> None:
    jobs.enable(world, jobs.find(world, command.job_id))


def _terminate_job(world: World, command: c.TerminateJob, _: Extras) -> None:
    jobs.terminate(world, jobs.find(world, command.job_id), command.terminate_reason, force=command.force)


def _delete_job(world: World, command: c.DeleteJob, _: Extras) -> None:
    jobs.delete(world, jobs.find(world, command.job_id), force=command.force)


# -- tasks -----------------------------------------------------------------------------------------------------------


def _add_tasks(world: World, command: c.AddTasks, extras: Extras) -> None:
    job = jobs.find(world, command.job_id)
    _refuse(refusals.add_tasks_refusals(extras.tasks))
    check("add", job)
    _add(world, job, extras)


def _add(world: World, job: Job, extras: Extras) -> None:
    """Add tasks, each of which is accepted or refused by itself; raises the first refusal (TASK-3)."""
    refused: list[BatchError] = []
    taken: list[TaskSpec] = []
    for spec in extras.tasks:
        found = refusals.task_refusals(spec, job.spec)
        if found:
            refused.append(found[0].error())
        else:
            taken.append(spec)
    refused += operations.add_listed(world, job, taken)
    if extras.factory is not None:
        operations.add_factory(world, job, extras.factory)
    if refused:
        raise PartlyRefused(refused[0])


class PartlyRefused(BatchError):
    """Some tasks of a collection were refused; the others have been added."""

    def __init__(self, first: BatchError) -> None:
        """Report the first refusal."""
        super().__init__(first.code, **first.values)


def _task(world: World, command: Any) -> tuple[Job, int]:  # noqa: ANN401  # any of the commands on a task
    job = jobs.find(world, command.job_id)
    return job, operations.find(world, job, command.task_id)


def _update_task(world: World, command: c.UpdateTask, _: Extras) -> None:
    task = _task(world, command)[1]
    _refuse(refusals.task_constraints_refusals(command.constraints))
    operations.update(world, task, command.constraints)


def _terminate_task(world: World, command: c.TerminateTask, _: Extras) -> None:
    operations.terminate(world, _task(world, command)[1])


def _reactivate_task(world: World, command: c.ReactivateTask, _: Extras) -> None:
    operations.reactivate(world, *_task(world, command))


def _delete_task(world: World, command: c.DeleteTask, _: Extras) -> None:
    operations.delete(world, *_task(world, command))


# -- job schedules ---------------------------------------------------------------------------------------------------


def _create_schedule(world: World, command: c.CreateJobSchedule, _: Extras) -> None:
    spec = command.spec
    _refuse(refusals.schedule_refusals(spec))
    job_schedules.create(world, spec)


def _update_schedule(world: World, command: c.UpdateJobSchedule, _: Extras) -> None:
    job_schedules.find(world, command.job_schedule_id)
    _refuse(refusals.schedule_update_refusals(command))
    job_schedules.update(world, command)


def _disable_schedule(world: World, command: c.DisableJobSchedule, _: Extras) -> None:
    job_schedules.disable(world, job_schedules.find(world, command.job_schedule_id))


def _enable_schedule(world: World, command: c.EnableJobSchedule, _: Extras) -> None:
    job_schedules.enable(world, job_schedules.find(world, command.job_schedule_id))


def _terminate_schedule(world: World, command: c.TerminateJobSchedule, _: Extras) -> None:
    job_schedules.terminate(world, job_schedules.find(world, command.job_schedule_id), force=command.force)


def _delete_schedule(world: World, command: c.DeleteJobSchedule, _: Extras) -> None:
    job_schedules.delete(world, job_schedules.find(world, command.job_schedule_id), force=command.force)


# -- certificates ----------------------------------------------------------------------------------------------------


def _add_certificate(world: World, command: c.AddCertificate, _: Extras) -> None:
    _refuse(refusals.certificate_refusals(command))
    certificates.add(world, command.spec)


def _delete_certificate(world: World, command: c.DeleteCertificate, _: Extras) -> None:
    certificates.delete(world, command.thumbprint)


def _cancel_certificate_deletion(world: World, command: c.CancelCertificateDeletion, _: Extras) -> None:
    certificates.cancel_deletion(world, command.thumbprint)


# -- faults ----------------------------------------------------------------------------------------------------------


def _fail_node(world: World, command: c.FailNode, _: Extras) -> None:
    faults.fail_node(world, _node(world, command), command)


def _evict_node(world: World, command: c.EvictNode, _: Extras) -> None:
    faults.evict_node(world, _node(world, command))


def _capacity(world: World, command: c.Capacity, _: Extras) -> None:
    faults.set_capacity(world, command)


def _outage(world: World, command: c.StorageOutage, _: Extras) -> None:
    faults.storage_outage(world, command)


_RULES: dict[type, Callable[[World, Any, Extras], None]] = {
    c.CreatePool: _create_pool,
    c.DeletePool: _delete_pool,
    c.UpdatePool: _update_pool,
    c.ReplacePoolProperties: _replace_properties,
    c.ResizePool: _resize_pool,
    c.StopPoolResize: _stop_resize,
    c.EnablePoolAutoScale: _enable_auto_scale,
    c.DisablePoolAutoScale: _disable_auto_scale,
    c.EvaluatePoolAutoScale: _evaluate_auto_scale,
    c.UpgradePoolOS: _upgrade_os,
    c.RemoveNodes: _remove_nodes,
    c.RebootNode: _reboot,
    c.ReimageNode: _reimage,
    c.DeallocateNode: _deallocate,
    c.StartNode: _start_node,
    c.DisableNodeScheduling: _disable_scheduling,
    c.EnableNodeScheduling: _enable_scheduling,
    c.CreateNodeUser: _create_user,
    c.UpdateNodeUser: _update_user,
    c.UploadNodeLogs: _upload_logs,
    c.DeleteNodeUser: _delete_user,
    c.CreateJob: _create_job,
    c.UpdateJob: _update_job,
    c.DisableJob: _disable_job,
    c.EnableJob: _enable_job,
    c.TerminateJob: _terminate_job,
    c.DeleteJob: _delete_job,
    c.AddTasks: _add_tasks,
    c.UpdateTask: _update_task,
    c.TerminateTask: _terminate_task,
    c.ReactivateTask: _reactivate_task,
    c.DeleteTask: _delete_task,
    c.CreateJobSchedule: _create_schedule,
    c.UpdateJobSchedule: _update_schedule,
    c.DisableJobSchedule: _disable_schedule,
    c.EnableJobSchedule: _enable_schedule,
    c.TerminateJobSchedule: _terminate_schedule,
    c.DeleteJobSchedule: _delete_schedule,
    c.AddCertificate: _add_certificate,
    c.DeleteCertificate: _delete_certificate,
    c.CancelCertificateDeletion: _cancel_certificate_deletion,
    c.FailNode: _fail_node,
    c.EvictNode: _evict_node,
    c.Capacity: _capacity,
    c.StorageOutage: _outage,
}
