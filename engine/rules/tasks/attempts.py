"""Attempts of tasks: how one starts and ends, and whether the task runs again or is completed (chapters 13 and 14).

``decisions.verdicts`` decides on retries and exit conditions. What stops an attempt from outside is in
``interruptions``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import FAILURE_EXIT_CODE, STOPPED_EXIT_CODE, FailureInfo
from engine.base.terms import JobState
from engine.rules.decisions.verdicts import exit_options, retry_verdict
from engine.rules.facts import (
    GangNodePrepared,
    PrimaryEnded,
    TaskCompleted,
    TaskLeftNode,
    TaskLimitChanged,
    TaskStopped,
)
from engine.rules.processes import execution, node_disk, output_files
from engine.rules.processes.setup import Work
from engine.shell.protocol import TIME_LIMIT, Plan
from engine.state.acting import Process, ProcessKind
from engine.state.instances import PrepFlag
from engine.state.tables import NEVER_MS, PAGE_BITS
from engine.state.tasks import COMPLETED, PREPARING, RUNNING, TIME_LIMIT_CODE

if TYPE_CHECKING:
    from engine.rules.facts import GangAttemptEnded, NodePrepared, TaskAssigned, WaitOver
    from engine.shell.protocol import Launch
    from engine.state.task_records import TaskExtra, TaskProfile
    from engine.world import World

# RETRY-9: why a task has failed whose process exited nonzero, and the rule.
_EXITED_NONZERO = (FAILURE_EXIT_CODE, "RETRY-9")


# -- start -----------------------------------------------------------------------------------------------------------


def task_assigned(world: World, assigned: TaskAssigned) -> None:
    """Start a task on the node that it was assigned to, or let it wait there for the job's preparation (PREP-6).

    It need not wait for a preparation without waitForSuccess (PREP-13). Either way it holds its slots (PREP-21).
    """
    job, task, node, instance = assigned
    if instance < 0 or world.instances.flags[instance] & PrepFlag.VALID:
        start(world, task, node, instance)
    elif not world.jobs.rows[job].waits_for_prep:
        start(world, task, node, instance, "PREP-13")
    else:
        world.nodes.prepare_task(task, node)
        world.tasks.prepare(world.calendar.now_ms, task, node)


def node_prepared(world: World, prepared: NodePrepared) -> None:
    """Start every task of the job that waited for its preparation on this node, in creation order (PREP-7)."""
    for task in world.preparing_tasks(prepared.job, prepared.node):
        if world.tasks.profile_of(task).instances:
            world.emit(GangNodePrepared(task))
        else:
            start(world, task, prepared.node, prepared.instance, "PREP-7")


def start(world: World, task: int, node: int, instance: int, rule: str = "SCHED-7") -> None:
    """Start the task's process and enter when it will end, which is known now."""
    tasks = world.tasks
    profile = tasks.profiles[tasks.profile[task]]
    now_ms = world.calendar.now_ms
    if profile.process is not None:
        first = tasks.started[task] == NEVER_MS
        if profile.outputs is not None and not first:  # its directory may be there already (RETRY-12)
            _begin(world, task, node, profile)
        if first:
            length_ms = tasks.planned[task]
        else:
            length_ms = plan_of_attempt(world, task, profile, tasks.extra(task).attempts + 1).total_ms
        begun, end_ms = None, min(now_ms + length_ms, world.latest_ms)
    else:
        begun = execution.start_of(world, _begin(world, task, node, profile))
        end_ms = begun.end_ms
    tasks.start(now_ms, task, node, end_ms, rule)
    world.nodes.start_task(task, node)
    pools = world.pools.rows
    pools[world.nodes.records.rows[node].pool].change_busy_slots(now_ms, profile.required_slots)
    if begun is None or not begun.plan.is_open:
        world.calendar.at_task_end(end_ms, task, tasks.end_token(task))
    if instance >= 0 and world.jobs.rows[profile.job].has_release:
        world.instances.remember_run(instance)
    if begun is not None:
        execution.begin_acting(world, Process(ProcessKind.TASK, task), begun, profile.job)


def _begin(world: World, task: int, node: int, profile: TaskProfile) -> Launch:
    """Begin the next attempt of a task's process in its directory; return its launch."""
    launch = execution.task_launch(world, task, node, world.tasks.extra(task).attempts + 1)
    spec = world.tasks.spec(task)
    return execution.begin(world, node, launch, Work(spec, world.jobs.rows[profile.job], spec.id, task))


def limit_changed(world: World, changed: TaskLimitChanged) -> None:
    """Plan the first attempt anew within the task's new time limit; a running attempt ends by it (TASK-12)."""
    task, tasks = changed.task, world.tasks
    profile = tasks.profile_of(task)
    extra = tasks.extra(task)
    limit_ms = profile.wall_clock_ms
    if profile.process is not None and extra.attempts <= 1:
        if tasks.code[task] == TIME_LIMIT_CODE:  # how long it would have taken by itself is not known any more
            plan = plan_of_attempt(world, task, profile, 1)
            total_ms = min(plan.total_ms, world.longest_ms)
            tasks.plan(task, total_ms, TIME_LIMIT_CODE if plan.failure else plan.exit_code or 0)
        elif limit_ms is not None and tasks.planned[task] > limit_ms:
            tasks.plan(task, limit_ms, TIME_LIMIT_CODE)
    if tasks.state[task] == RUNNING and not profile.instances:
        _plan_end(world, task, profile, extra)


def wait_over(world: World, over: WaitOver) -> None:
    """End a task for which what it waits for has come true (JM-12)."""
    kind, task, _ = over.process
    profile = world.tasks.profile_of(task) if kind is ProcessKind.TASK else None
    if profile is not None and not profile.instances:
        _plan_end(world, task, profile, world.tasks.extra(task))


def _plan_end(world: World, task: int, profile: TaskProfile, extra: TaskExtra) -> None:
    """Move the end of a running attempt to where it is now expected."""
    tasks = world.tasks
    plan = _present_plan(world, task, profile, extra)
    end_ms = max(world.now_ms, execution.planned_end_ms(world, tasks.started[task], plan))
    tasks.move_end(task, end_ms)
    if not plan.is_open:
        world.calendar.at_task_end(end_ms, task, tasks.end_token(task))


# -- end -------------------------------------------------------------------------------------------------------------


def task_ended(world: World, task: int) -> None:
    """End a task whose process has come to its planned end, and give its slots to others."""
    tasks = world.tasks
    now_ms = world.calendar.now_ms
    if tasks.state[task] != RUNNING or tasks.ended[task] != now_ms:
        return
    node = tasks.node[task]
    profile = tasks.profiles[tasks.profile[task]]
    if (
        profile.process is not None
        and not tasks.code[task]
        and task not in tasks.sparse[task >> PAGE_BITS]
        and (profile.outputs is None or output_files.leave_plain_outputs(world, task, node, profile))
    ):
        leave_node(world, task, node, profile, well=True)
        tasks.succeed(now_ms, task, node)
        _complete(world, task, profile, 0, None)
        world.emit(TaskLeftNode(node, profile.required_slots))
    else:
        end_with_care(world, task, node, profile)
        world.emit(TaskLeftNode(node, profile.required_slots))
        world.scheduler.look_elsewhere(task)


def end_with_care(world: World, task: int, node: int, profile: TaskProfile) -> None:
    """End a task that may have failed, or has files; the caller gives its slots to others."""
    extra = world.tasks.extra(task)
    plan = _present_plan(world, task, profile, extra)
    world.plans.pop(task, None)
    leaves_files = profile.process is None or profile.outputs is not None
    if leaves_files:
        launch = execution.task_launch(world, task, node, extra.attempts)
        world.nodes.forget_setup(node, launch.directory)
        plan = output_files.finish_task(world, task, node, launch, plan) if plan.failure is None else plan
    _end_attempt(world, task, profile, extra, plan)
    if leaves_files:
        node_disk.report_if_full(world, node)


def gang_attempt_ended(world: World, ended: GangAttemptEnded) -> None:
    """End the attempt of a multi-instance task on all its nodes."""
    task, plan, final = ended
    extra = world.tasks.extra(task)
    _end_attempt(world, task, world.tasks.profile_of(task), extra, plan, final or _EXITED_NONZERO)


def _end_attempt(
    world: World,
    task: int,
    profile: TaskProfile,
    extra: TaskExtra,
    plan: Plan,
    final: tuple[FailureInfo, str] = _EXITED_NONZERO,
) -> None:
    """Take a task whose attempt has ended as planned off its nodes; it is completed, or runs again.

    ``final`` is why the task has failed, and the rule, if the attempt was the last one that may exit nonzero.
    """
    tasks = world.tasks
    exit_code = plan.exit_code
    well = plan.failure is None and exit_code == 0
    node = tasks.node[task]
    for each in world.nodes_of(task):
        leave_node(world, task, each, profile, well=well)
    if plan.failure is not None:
        if exit_code is not None:
            rule = "RETRY-10"
        else:
            exit_code, rule = (STOPPED_EXIT_CODE, "RETRY-8") if plan.ran else (None, "RETRY-4")
        complete_failed(world, task, profile, exit_code, plan.failure, rule)
    elif well:
        tasks.succeed(world.now_ms, task, node)
        _end_primary(world, task, profile)
        _complete(world, task, profile, 0, None)
    elif retry_verdict(profile, world.jobs[profile.job], extra, exit_code):
        extra = extra._replace(retry_count=extra.retry_count + 1, awaits_retry=True)
        back_to_queue(world, task, extra, "RETRY-5", exit_code, fills_at_once=not profile.instances)
    else:
        complete_failed(world, task, profile, exit_code, *final)


def _present_plan(world: World, task: int, profile: TaskProfile, extra: TaskExtra) -> Plan:
    """Return how the present attempt of a running task will end, or has ended."""
    tasks = world.tasks
    if profile.process is None:
        launch = execution.task_launch(world, task, tasks.node[task], extra.attempts)
        return world.executor.plan(launch)
    if extra.attempts > 1:
        return plan_of_attempt(world, task, profile, extra.attempts)
    total_ms, code = tasks.planned[task], tasks.code[task]
    return Plan(total_ms, None, TIME_LIMIT) if code == TIME_LIMIT_CODE else Plan(total_ms, code)


def plan_of_attempt(world: World, task: int, profile: TaskProfile, attempt: int) -> Plan:
    """Return the plan of an attempt of a plain task, counted from 1."""
    assert profile.process is not None
    known = world.plans.get(task)
    if known is not None and known[:2] == (attempt, profile):
        return known[2]
    subject = ("task", world.jobs.rows[profile.job].id.lower(), world.tasks.task_id(task).lower())
    process = profile.process
    if profile.wall_clock_ms is not None:  # the process has no limit, since that of a task may change (TASK-12)
        process = process._replace(wall_clock_ms=profile.wall_clock_ms)
    simulate = world.tasks.spec(task).simulate if profile.own_duration else None
    if simulate is not None and simulate.duration is not None:
        process = process._replace(duration=simulate.duration)
    plan = process.plan(world.seed, subject, attempt)
    world.plans[task] = attempt, profile, plan
    return plan


def complete_failed(
    world: World, task: int, profile: TaskProfile, exit_code: int | None, failure: FailureInfo | None, rule: str
) -> None:
    """Complete a task that has failed for good and has left its nodes (RETRY-11)."""
    tasks = world.tasks
    node = tasks.node[task] if tasks.state[task] in (PREPARING, RUNNING) else -1
    tasks.fail(world.now_ms, task, exit_code, failure, rule, node)
    _end_primary(world, task, profile)
    _complete(world, task, profile, exit_code, failure)


def _complete(
    world: World, task: int, profile: TaskProfile, exit_code: int | None, failure: FailureInfo | None
) -> None:
    """Emit what the completion of a task means for its dependents and its job (DEP-4, EXIT-5, JM-4)."""
    failed = exit_code != 0 or failure is not None
    if failed or profile.conditions or profile.manager or world.jobs.rows[profile.job].spec.uses_task_dependencies:
        conditions = world.tasks.spec(task).exit_conditions if profile.conditions else None
        world.emit(TaskCompleted(task, *exit_options(conditions, exit_code, failure)))
    _emit_stop(world, profile.job)


def _emit_stop(world: World, job_row: int) -> None:
    """Emit that a task of the job has stopped, unless that cannot matter to the job: mostly it does not."""
    job = world.jobs.rows[job_row]
    if job.state is not JobState.ACTIVE or job.max_parallel >= 0 or job.counts[COMPLETED] >= job.reports_from:
        world.emit(TaskStopped(job_row))


def _end_primary(world: World, task: int, profile: TaskProfile) -> None:
    if profile.instances:
        world.emit(PrimaryEnded(task))


def leave_node(world: World, task: int, node: int, profile: TaskProfile, *, well: bool | None) -> None:
    """Remove the process of a task from the node; the caller gives back its slots.

    ``well`` is None for a task that has not ended: it goes back to the queue.
    """
    if profile.process is None:
        execution.end_acting_of_task(world, task, profile.instances)
    world.nodes.end_task(task, node, well=well)
    world.pools.rows[world.nodes.records.rows[node].pool].change_busy_slots(
        world.calendar.now_ms, -profile.required_slots
    )
    if profile.exclusive:
        world.scheduler.update_eligibility(node)


def back_to_queue(
    world: World, task: int, extra: TaskExtra, rule: str, exit_code: int | None = None, *, fills_at_once: bool = False
) -> None:
    """Make a task that has left its nodes active again, with these counters; it waits for its turn."""
    profile = world.tasks.profile_of(task)
    world.tasks.back_to_active(world.now_ms, task, extra, rule, exit_code)
    _end_primary(world, task, profile)
    world.scheduler.queue_again(task, profile, len(world.log), fills_at_once=fills_at_once)
    _emit_stop(world, profile.job)
