"""The entry to the rules: one case for each operation of the service and each fault, whoever gives the command.

The resource that a command names is looked up first (ERR-2), then its body is checked, then the states. A command that
is refused has changed nothing.

Processes that act give commands too (JM-3). These follow from the starts of the processes, so they are no inputs of the
run: a replay makes them again. They take effect after the faults and commands of the same millisecond, in the order in
which they were set (JM-14). ``processes.execution`` begins and ends what a process does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from engine.base.calendar import Due, DueKind
from engine.base.errors import BatchError, PartlyRefused
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
    body = LateJson(command, Command.masked)
    event = "FaultInjected" if isinstance(command, c.FAULTS) else "CommandAccepted"
    rule = () if command.RULE is None else (("rule", command.RULE),)
    subject, *rows = giver
    before = len(log)
    shape = log.shape(event, subject, ("command", command.NAME), ("body", body), *rule)
    log.append(world.now_ms, shape, *rows)
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
    match command:
        case OnNode(node_id=node_id, node=index):
            name = index if node_id is None else node_id
            assert name is not None
            _on_node(world, node_named(world, pool_named(world, command.pool_id), name), command)
        case OnPool():
            _on_pool(world, world.pools.edit(pool_named(world, command.pool_id).row), command)
        case OnTask():
            job = world.jobs.edit(job_named(world, command.job_id).row)
            _on_task(world, job, task_named(world, job, command.task_id), command)
        case OnJob():
            _on_job(world, world.jobs.edit(job_named(world, command.job_id).row), command, extras)
        case OnApplication():
            _on_application(world, command)
        case OnJobSchedule():
            schedule = schedule_named(world, command.job_schedule_id)
            _on_schedule(world, world.job_schedules.edit(schedule.row), command)
        case _:
            _on_account(world, command, extras)
    resizing.enter_refills(world)


def _refuse(found: Iterable[Refusal], body: Spec) -> None:
    """Refuse a command whose ``body`` has refusals, with the first of them."""
    for refusal in found:
        raise refusal.error(body)


def _on_account(world: World, command: Command, extras: Extras) -> None:
    """Carry out a command that names no pool, job or job schedule which exists."""
    match command:
        case c.CreatePool():
            pools.create(world, command.spec)
        case c.CreateJob():
            spec = command.spec
            _refuse(job_refusals(spec), spec)
            for task in extras.tasks:
                _refuse(task_refusals(task, spec), task)
            _add(world, jobs.create(world, spec), extras)
        case c.CreateJobSchedule():
            schedule = command.spec
            _refuse(schedule_refusals(schedule), schedule)
            job_schedules.create(world, schedule)
        case c.AddCertificate():
            _refuse(certificate_refusals(command), command)
            account.add_certificate(world, command.spec)
        case c.DeleteCertificate():
            account.delete_certificate(world, command.thumbprint)
        case c.CancelCertificateDeletion():
            account.cancel_certificate_deletion(world, command.thumbprint)
        case c.Capacity():
            world.region.set_capacity(command.vm_size, command.nodes, command.code.value)
        case c.Quota():
            account.set_quotas(world, command)
        case c.GuestOSRelease():
            pools.guest_os_released(world, command.os_version)
        case c.StorageOutage():
            world.region.add_outage(world.now_ms, command.for_ms)


def _on_application(world: World, command: OnApplication) -> None:
    match command:
        case c.CreateApplicationPackage():
            _refuse(package_refusals(command, world.account), command)
            account.create_package(world, command)
        case c.DeleteApplicationPackage():
            application = account.find_application(world, command.application_id)
            account.delete_package(world, application, command.version)
        case c.UpdateApplication():
            application = account.find_application(world, command.application_id)
            _refuse(display_name_refusals(command.display_name, ("displayName",)), command)
            account.update_application(world, application, command)


def _on_pool(world: World, pool: Pool, command: OnPool) -> None:
    match command:
        case c.DeletePool():
            pools.delete(world, pool)
        case c.UpdatePool():
            pools.update(world, pool, command.given_values("pool_id"))
        case c.ReplacePoolProperties():
            pools.update(world, pool, pools.replaced(pool, command))
        case c.ResizePool():
            _refuse(resize_refusals(command, pool.os), command)
            resizing.resize(world, pool, command)
        case c.StopPoolResize():
            resizing.stop(world, pool)
        case c.EnablePoolAutoScale():
            _refuse(auto_scale_refusals(command), command)
            autoscaling.enable(world, pool, command)
        case c.DisablePoolAutoScale():
            autoscaling.disable(world, pool)
        case c.EvaluatePoolAutoScale():
            _refuse(auto_scale_refusals(command), command)
            autoscaling.try_out(world, pool, command)
        case c.UpgradePoolOS():
            pools.upgrade_os(world, pool, command.os_version)
        case c.RemoveNodes():
            _refuse(remove_nodes_refusals(command), command)
            resizing.check(pool)
            victims = list(dict.fromkeys(node_named(world, pool, name) for name in command.node_list))
            resizing.remove_nodes(world, pool, victims, command.resize_timeout, command.node_deallocation_option)


def _on_node(world: World, node: int, command: OnNode) -> None:
    match command:
        case c.RebootNode():
            node_operations.operate(world, node, Operation.REBOOT, command.node_reboot_option)
        case c.ReimageNode():
            node_operations.operate(world, node, Operation.REIMAGE, command.node_reimage_option)
        case c.DeallocateNode():
            node_operations.operate(world, node, Operation.DEALLOCATE, command.node_deallocate_option)
        case c.StartNode():
            node_operations.start_node(world, node)
        case c.DisableNodeScheduling():
            node_operations.disable_scheduling(world, node, command.node_disable_scheduling_option)
        case c.EnableNodeScheduling():
            node_operations.enable_scheduling(world, node)
        case c.FailNode():
            faults.fail_node(world, node, command)
        case c.EvictNode():
            faults.evict_node(world, node)
        case _:
            _within_node(world, node, command)


def _within_node(world: World, node: int, command: OnNode) -> None:
    """Carry out a command on the users and files of a node, which leaves its state as it is."""
    match command:
        case c.CreateNodeUser() | c.UpdateNodeUser():
            _refuse(node_user_refusals(command, world.pool_of(node).os), command)
            node_operations.check_users(world, node)
            node_operations.put_user(world, node, command)
        case c.DeleteNodeUser():
            node_operations.check_users(world, node)
            node_operations.delete_user(world, node, command.name)
        case c.UploadNodeLogs():  # only the container changes
            node_operations.upload_logs(world, node, command)
        case c.DeleteNodeFile():
            node_disk.delete_file(world, node, command.file_path, recursive=command.recursive)


def _on_job(world: World, job: Job, command: OnJob, extras: Extras) -> None:
    match command:
        case c.UpdateJob():
            _refuse(job_update_refusals(command, job.spec), command)
            jobs.update(world, job, command)
        case c.DisableJob():
            jobs.disable(world, job, command.disable_tasks)
        case c.EnableJob():
            jobs.enable(world, job)
        case c.TerminateJob():
            jobs.terminate(world, job, command.terminate_reason, force=command.force)
        case c.DeleteJob():
            jobs.delete(world, job, force=command.force)
        case c.AddTasks():
            _refuse(add_tasks_refusals(extras.tasks), command)
            check_job_command("add", job)
            _add(world, job, extras)


def _add(world: World, job: Job, extras: Extras) -> None:
    """Add tasks, each of which is accepted or refused by itself; raises the first refusal (TASK-3)."""
    malformed: dict[int, BatchError] = {}
    taken: dict[int, TaskSpec] = {}
    for place, spec in enumerate(extras.tasks):
        found = task_refusals(spec, job.spec)
        if found:
            malformed[place] = found[0].error(spec)
        else:
            taken[place] = spec
    listed = malformed | operations.add_listed(world, job, taken)
    refused = list(listed.values())
    if extras.factory is not None:
        refused += operations.add_factory(world, job, extras.factory)
    if refused:
        raise PartlyRefused(refused[0], listed)


def _on_task(world: World, job: Job, task: int, command: OnTask) -> None:
    match command:
        case c.UpdateTask():
            _refuse(constraint_refusals(command.constraints), command)
            operations.update(world, task, command.constraints)
        case c.TerminateTask():
            operations.terminate(world, task)
        case c.ReactivateTask():
            operations.reactivate(world, job, task)
        case c.DeleteTask():
            operations.delete(world, job, task)
        case c.DeleteTaskFile():
            node_disk.delete_task_file(world, task, command.file_path, recursive=command.recursive)


def _on_schedule(world: World, schedule: JobSchedule, command: OnJobSchedule) -> None:
    match command:
        case c.UpdateJobSchedule():
            _refuse(schedule_update_refusals(command), command)
            job_schedules.update(world, schedule, command)
        case c.DisableJobSchedule():
            job_schedules.disable(world, schedule)
        case c.EnableJobSchedule():
            job_schedules.enable(world, schedule)
        case c.TerminateJobSchedule():
            job_schedules.terminate(world, schedule, force=command.force)
        case c.DeleteJobSchedule():
            job_schedules.delete(world, schedule, force=command.force)


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
