"""The entry to the rules: one action for each operation of the service and each fault, whoever gives the command.

The resource that a command names is looked up first (ERR-2), then its body is checked, then the states. A command that
is refused has changed nothing.

Processes that act give commands too (JM-3). These follow from the starts of the processes, so they are no inputs of the
run: a replay makes them again. They take effect after the faults and commands of the same millisecond, in the order in
which they were set (JM-14). ``processes.execution`` begins and ends what a process does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from engine.base.calendar import Due, DueKind
from engine.base.errors import BatchError, PartlyRefused, raise_refusal
from engine.base.log import Json, LateJson, LogSubject, to_json
from engine.rules import account, autoscaling, faults, job_schedules, jobs, node_operations, pools, resizing
from engine.rules.decisions.verdicts import (
    check_job_command,
    job_named,
    node_named,
    pool_named,
    schedule_named,
    task_named,
)
from engine.rules.processes import execution, node_disk
from engine.rules.tasks import operations
from engine.specs import commands as c
from engine.specs.command import Command, OnApplication, OnJob, OnJobSchedule, OnNode, OnPool, OnTask
from engine.specs.conditions import OWN_JOB
from engine.specs.job_refusals import (
    add_tasks_refusals,
    job_refusals,
    job_update_refusals,
    schedule_refusals,
    schedule_update_refusals,
    task_refusals,
)
from engine.specs.pool_refusals import (
    auto_scale_refusals,
    certificate_refusals,
    node_user_refusals,
    package_refusals,
    remove_nodes_refusals,
    resize_refusals,
)
from engine.specs.refusals import constraint_refusals, display_name_refusals
from engine.state.acting import NO_JOB, Acting, ProcessKind
from engine.state.nodes import Operation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.rules.facts import TaskStopped
    from engine.specs.account import Application
    from engine.specs.base import Spec
    from engine.specs.bodies import TaskSpec
    from engine.specs.conditions import ConditionSubject, Wanted
    from engine.specs.refusals import Refusal
    from engine.state.jobs import Job, JobSchedule
    from engine.state.pools import Pool
    from engine.state.task_records import TaskSource
    from engine.world import World


class Extras(NamedTuple):
    """Tasks to be added with a command, whose body holds them in another form."""

    tasks: Sequence[TaskSpec] = ()
    factory: TaskSource | None = None


NOTHING = Extras()

Action: TypeAlias = "Callable[[World, Any, Any], None]"
"""Called with the resource that a command names, and the command."""


class Giver(NamedTuple):
    """The subject that the log names with a command: of a process that gives it, the ids; else none."""

    subject: LogSubject = LogSubject.RUN
    row_a: int = -1
    row_b: int = -1


NOBODY = Giver()


def give(world: World, command: Command, extras: Extras = NOTHING, giver: Giver = NOBODY) -> BatchError | None:
    """Carry a command or fault out and log it; return why the service has refused it, or None.

    What is refused as a whole leaves only its refusal in the log; addTasks may have added some tasks (TASK-3).
    """
    log = world.log
    body = LateJson(command, Command.logged)
    event = "FaultInjected" if type(command) in c.FAULTS else "CommandAccepted"
    rule = () if command.RULE is None else (("rule", command.RULE),)
    subject, *rows = giver
    before = len(log.when)
    shape = log.shape(event, subject, ("command", command.NAME), ("body", body), *rule)
    log.append(world.calendar.now_ms, shape, *rows)
    try:
        execute(world, command, extras)
    except BatchError as refusal:
        if not isinstance(refusal, PartlyRefused) or len(log) == before + 1:
            log.cut(before)
        values = (("values", Json(to_json(refusal.listed()))),) if refusal.values else ()
        why = (("code", refusal.code), ("message", refusal.message), *values)
        shape = log.shape("CommandRefused", subject, ("command", command.NAME), ("body", body), *why)
        log.append(world.now_ms, shape, *rows)
        return refusal
    return None


def execute(world: World, command: Command, extras: Extras = NOTHING) -> None:
    """Carry a command out. Raises BatchError when the service refuses it; then nothing has changed."""
    kind, subject = type(command), _subject_of(world, command)
    if kind in _REFUSALS:
        _refuse(_REFUSALS[kind](world, subject, command), command)
    if kind in ADDITIONS:
        ADDITIONS[kind](world, subject, command, extras)
    else:
        ACTIONS[kind](world, subject, command)
    resizing.enter_refills(world)


def _subject_of(world: World, command: Command) -> Pool | Job | JobSchedule | Application | int | None:
    """Return the resource that a command names, to be changed: of a node or task its row, None where there is none."""
    match command:
        case OnNode(node_id=node_id, node=index):
            name = index if node_id is None else node_id
            assert name is not None
            return node_named(world, pool_named(world, command.pool_id), name)
        case OnPool():
            return world.pools.edit(pool_named(world, command.pool_id).row)
        case OnTask():
            return task_named(world, world.jobs.edit(job_named(world, command.job_id).row), command.task_id)
        case OnJob():
            return world.jobs.edit(job_named(world, command.job_id).row)
        case OnJobSchedule():
            return world.job_schedules.edit(schedule_named(world, command.job_schedule_id).row)
        case OnApplication() if not isinstance(command, c.CreateApplicationPackage):
            return account.find_application(world, command.application_id)
    return None


def _refuse(found: Iterable[Refusal], body: Spec) -> None:
    """Refuse a command whose ``body`` has refusals, with the first of them."""
    for refusal in found:
        raise refusal.error(body)


def _create_job(world: World, _: None, command: c.CreateJob, extras: Extras) -> None:
    spec = command.spec
    _refuse(job_refusals(spec), spec)
    for task in extras.tasks:
        _refuse(task_refusals(task, spec), task)
    _add(world, jobs.create(world, spec), extras)


def _create_job_schedule(world: World, _: None, command: c.CreateJobSchedule) -> None:
    spec = command.spec
    _refuse(schedule_refusals(spec), spec)
    job_schedules.create(world, spec)


def _remove_nodes(world: World, pool: Pool, command: c.RemoveNodes) -> None:
    raise_refusal(resizing.resize_verdict(pool))
    victims = list(dict.fromkeys(node_named(world, pool, name) for name in command.node_list))
    resizing.remove_nodes(world, pool, victims, command.resize_timeout, command.node_deallocation_option)


def _add_tasks(world: World, job: Job, command: c.AddTasks, extras: Extras) -> None:
    _refuse(add_tasks_refusals(extras.tasks), command)
    check_job_command("add", job)
    _add(world, job, extras)


def _add(world: World, job: Job, extras: Extras) -> None:
    """Add tasks, each of which is accepted or refused by itself; raises the first refusal (TASK-3)."""
    listed = operations.add_listed(world, job, extras.tasks)
    refused = list(listed.values())
    if extras.factory is not None:
        refused += operations.add_factory(world, job, extras.factory)
    if refused:
        raise PartlyRefused(refused[0], listed)


def _operation(name: Operation, option: str) -> Action:
    """Return what begins an operation on a node; ``option``, a property of the command, says what becomes of tasks."""
    return lambda world, node, command: node_operations.operate(world, node, name, getattr(command, option))


_REFUSALS: dict[type[Command], Callable[[World, Any, Any], Iterable[Refusal]]] = {
    c.AddCertificate: lambda _, __, command: certificate_refusals(command),
    c.CreateApplicationPackage: lambda world, _, command: package_refusals(command, world.account),
    c.UpdateApplication: lambda _, __, command: display_name_refusals(command.display_name, ("displayName",)),
    c.ResizePool: lambda _, pool, command: resize_refusals(command, pool.os),
    c.EnablePoolAutoScale: lambda _, __, command: auto_scale_refusals(command),
    c.EvaluatePoolAutoScale: lambda _, __, command: auto_scale_refusals(command),
    c.RemoveNodes: lambda _, __, command: remove_nodes_refusals(command),
    c.CreateNodeUser: lambda world, node, command: node_user_refusals(command, world.pool_of(node).os),
    c.UpdateNodeUser: lambda world, node, command: node_user_refusals(command, world.pool_of(node).os),
    c.UpdateJob: lambda _, job, command: job_update_refusals(command, job.spec),
    c.UpdateTask: lambda _, __, command: constraint_refusals(command.constraints),
    c.UpdateJobSchedule: lambda _, __, command: schedule_update_refusals(command),
}
"""Return the refusals of a command's body, by kind of command; its subject is there, its state is not looked at."""

ACTIONS: dict[type[Command], Action] = {
    # -- account
    c.AddCertificate: lambda world, _, command: account.add_certificate(world, command.spec),
    c.DeleteCertificate: lambda world, _, command: account.delete_certificate(world, command.thumbprint),
    c.CancelCertificateDeletion: account.cancel_certificate_deletion,
    c.CreateApplicationPackage: lambda world, _, command: account.create_package(world, command),
    c.DeleteApplicationPackage: lambda world, of, command: account.delete_package(world, of, command.version),
    c.UpdateApplication: account.update_application,
    c.Quota: lambda world, _, command: account.set_quotas(world, command),
    c.Capacity: lambda world, _, of: world.region.set_capacity(of.vm_size, of.nodes, of.code.value),
    c.StorageOutage: lambda world, _, command: world.region.add_outage(world.now_ms, command.for_ms),
    c.GuestOSRelease: lambda world, _, command: pools.guest_os_released(world, command.os_version),
    # -- pools
    c.CreatePool: lambda world, _, command: pools.create(world, command.spec),
    c.DeletePool: lambda world, pool, _: pools.delete(world, pool),
    c.UpdatePool: lambda world, pool, command: pools.update(world, pool, command.given_values("pool_id")),
    c.ReplacePoolProperties: lambda world, pool, command: pools.update(world, pool, pools.replaced(pool, command)),
    c.ResizePool: resizing.resize,
    c.StopPoolResize: lambda world, pool, _: resizing.stop(world, pool),
    c.EnablePoolAutoScale: autoscaling.enable,
    c.DisablePoolAutoScale: lambda world, pool, _: autoscaling.disable(world, pool),
    c.EvaluatePoolAutoScale: autoscaling.try_out,
    c.UpgradePoolOS: lambda world, pool, command: pools.upgrade_os(world, pool, command.os_version),
    c.RemoveNodes: _remove_nodes,
    # -- nodes
    c.RebootNode: _operation(Operation.REBOOT, "node_reboot_option"),
    c.ReimageNode: _operation(Operation.REIMAGE, "node_reimage_option"),
    c.DeallocateNode: _operation(Operation.DEALLOCATE, "node_deallocate_option"),
    c.StartNode: lambda world, node, _: node_operations.start_node(world, node),
    c.DisableNodeScheduling: node_operations.disable_scheduling,
    c.EnableNodeScheduling: lambda world, node, _: node_operations.enable_scheduling(world, node),
    c.FailNode: faults.fail_node,
    c.EvictNode: lambda world, node, _: faults.evict_node(world, node),
    c.CreateNodeUser: node_operations.put_user,
    c.UpdateNodeUser: node_operations.put_user,
    c.DeleteNodeUser: lambda world, node, command: node_operations.delete_user(world, node, command.name),
    c.UploadNodeLogs: node_operations.upload_logs,
    c.DeleteNodeFile: lambda world, node, command: node_disk.delete_file(
        world, node, command.file_path, recursive=command.recursive
    ),
    # -- jobs and tasks
    c.UpdateJob: jobs.update,
    c.DisableJob: lambda world, job, command: jobs.disable(world, job, command.disable_tasks),
    c.EnableJob: lambda world, job, _: jobs.enable(world, job),
    c.TerminateJob: lambda world, job, command: jobs.terminate(
        world, job, command.terminate_reason, force=command.force
    ),
    c.DeleteJob: lambda world, job, command: jobs.delete(world, job, force=command.force),
    c.UpdateTask: lambda world, task, command: operations.update(world, task, command.constraints),
    c.TerminateTask: lambda world, task, _: operations.terminate(world, task),
    c.ReactivateTask: lambda world, task, _: operations.reactivate(world, task),
    c.DeleteTask: lambda world, task, _: operations.delete(world, task),
    c.DeleteTaskFile: node_disk.delete_task_file,
    # -- job schedules
    c.CreateJobSchedule: _create_job_schedule,
    c.UpdateJobSchedule: job_schedules.update,
    c.DisableJobSchedule: lambda world, schedule, _: job_schedules.disable(world, schedule),
    c.EnableJobSchedule: lambda world, schedule, _: job_schedules.enable(world, schedule),
    c.TerminateJobSchedule: job_schedules.terminate,
    c.DeleteJobSchedule: job_schedules.delete,
}
"""Carry a command or fault out, by kind of command."""

ADDITIONS: dict[type[Command], Callable[[World, Any, Any, Extras], None]] = {
    c.CreateJob: _create_job,
    c.AddTasks: _add_tasks,
}
"""Carry a command out that brings tasks, by kind of command."""


# In place of a command's number: the end of the process.
_END = -1


def act_due(world: World, due: Due) -> None:
    """Give a command of a process that still runs; a refusal is logged and changes nothing else (JM-11)."""
    number, index = due.key, due.token
    acting = world.acting.get(number)
    if acting is None:
        return
    act = acting.acts.commands[index]
    give(world, command_of(world, acting, act.command), Extras(act.tasks, act.factory), _giver(world, acting))
    if world.acting.get(number) is not None:
        world.acting.give(number, index)
        execution.check_others(world, number)


def command_of(world: World, acting: Acting, command: Command) -> Command:
    """Return a command of a process with the job that it is about, which is its own if none is named."""
    if isinstance(command, OnJob) and command.job_id == OWN_JOB and acting.job != NO_JOB:
        return command.model_copy(update={"job_id": world.jobs.rows[acting.job].id})
    return command


def _giver(world: World, acting: Acting) -> Giver:
    """Return the ids under which the log has a command: those of the task, or of the node and the job."""
    kind, row, part = acting.process
    if kind is ProcessKind.START_TASK:
        return Giver(LogSubject.INSTANCE, -1, row)
    if kind in (ProcessKind.PREPARATION, ProcessKind.RELEASE):
        return Giver(LogSubject.INSTANCE, acting.job, world.instances.node[row])
    return Giver(LogSubject.TASK, row, world.nodes_of(row)[part])


def task_stopped(world: World, stopped: TaskStopped) -> None:
    """End the processes that wait for the other tasks of the job, if all of those are completed (JM-12)."""
    for number in world.acting.waiting_for_others(stopped.job):
        execution.check_others(world, number)


def instant_over(world: World) -> None:
    """End the processes that wait for other tasks, after the conditions of their commands were seen to (JM-13)."""
    for number, _ in world.acting:
        execution.check_others(world, number, is_settled=True)


class Awaited(NamedTuple):
    """A condition that a process waits for: with a command, or to end."""

    number: int  # of the start of the process
    act: int  # the number of its command, or _END
    subject: ConditionSubject
    wanted: dict[str, Wanted]


def awaited(world: World) -> Iterator[Awaited]:
    """Yield the conditions that running processes wait for, in the order of their starts and of the file (JM-11)."""
    for number, acting in world.acting:
        job_id = "" if acting.job == NO_JOB else world.jobs.rows[acting.job].id
        for index in acting.waiting:
            when = acting.acts.commands[index].when
            assert when is not None
            yield Awaited(number, index, when.subject.within(job_id), dict(when.wanted))
        until = acting.acts.until
        if until is not None and acting.waits:
            yield Awaited(number, _END, until.subject.within(job_id), dict(until.wanted))


def has_come_true(world: World, awaited: Awaited) -> None:
    """Give the command that waited for the condition, at its time, or end the process (JM-11, JM-12)."""
    number, index, *_ = awaited
    acting = world.acting.get(number)
    if acting is None:
        return
    if index == _END:
        execution.end_wait(world, number)
        return
    world.acting.come_true(number, index)
    world.calendar.at(world.now_ms + acting.acts.commands[index].after_ms, DueKind.ACT, number, index)
