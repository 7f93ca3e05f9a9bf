"""How a task starts, ends, and is retried (chapters 13 and 14), and what its end means for the job.

``retry_verdict`` and ``exit_options`` decide. Dependents are in ``dependencies``, the end of a job in ``jobs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.failures import FAILURE_EXIT_CODE, STOPPED_EXIT_CODE, FailureInfo
from engine.base.terms import DependencyAction, JobState, OnTaskFailure
from engine.events.calendar import Due, DueKind
from engine.executors.protocol import TIME_LIMIT, Plan
from engine.rules import dependencies, jobs, multi_instance, scheduling
from engine.rules.decisions.preparation import may_run
from engine.rules.decisions.tasks import exit_options, retry_verdict
from engine.rules.processes import disk_space, execution, launches, setup, uploads
from engine.state.columns import PAGE_BITS
from engine.state.instances import Mark
from engine.state.task_records import TaskExtra, TaskProfile
from engine.state.tasks import COMPLETED, NEVER_MS, PREPARING, RUNNING, TIME_LIMIT_CODE
from engine.world.facts import TaskLeftNode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.executors.protocol import Launch
    from engine.state.jobs import Job
    from engine.world.facts import TaskAssigned
    from engine.world.world import World

# RETRY-9: why a task has failed whose process exited nonzero, and the rule.
EXITED_NONZERO = (FAILURE_EXIT_CODE, "RETRY-9")

# -- start -----------------------------------------------------------------------------------------------------------


def task_assigned(world: World, assigned: TaskAssigned) -> None:
    """Start a task that was assigned to a node, or let it wait there for the job's preparation (PREP-6).

    PREP-13 it need not wait for one that runs. PREP-21 either way it holds its slots.
    """
    task, node = assigned
    profile = world.tasks.profile_of(task)
    job = world.jobs.rows[profile.job]
    if not job.has_prep or world.instances.mark[world.instances.row(job.row, node)] & Mark.VALID:
        start_task(world, task, node, profile)
    elif may_run(world, job, node):
        start_task(world, task, node, profile, rule="PREP-13")
    else:
        world.nodes.preparing.setdefault(node, set()).add(task)
        world.tasks.prepare(world.now_ms, task, node)


def start_task(world: World, task: int, node: int, profile: TaskProfile, rule: str = "SCHED-7") -> None:
    """The task runs on the node; when its process will end is known now and entered in the calendar."""
    tasks = world.tasks
    now_ms = world.calendar.now_ms
    if profile.process is not None:
        first = tasks.started[task] == NEVER_MS
        end_ms = now_ms + (tasks.planned[task] if first else _again(world, task, profile, 1).total_ms)
    else:
        launch = launches.task_launch(world, task, node, tasks.extra(task).attempts + 1, now_ms)
        launch = execution.begin(world, node, launch, tasks.spec(task))
        end_ms = now_ms + world.executor.plan(launch).total_ms
    end_ms = min(end_ms, world.latest_ms)
    tasks.start(now_ms, task, node, end_ms, rule)
    preparing = world.nodes.preparing
    if preparing and node in preparing:
        preparing[node].discard(task)
    world.nodes.running[node].add(task)
    pools = world.pools.rows
    pools[world.nodes.records.rows[node].pool].run_on(now_ms, profile.required_slots)
    world.calendar.at(end_ms, DueKind.TASK_ENDED, task, tasks.end_token(task))
    if world.jobs.rows[profile.job].has_release:
        world.instances.remember_run(profile.job, node)


def limit_anew(world: World, task: int, profile: TaskProfile) -> None:
    """The task's time limit has changed: its first attempt is planned anew, a running one ends by it (TASK-12)."""
    tasks = world.tasks
    extra = tasks.extra(task)
    limit_ms = profile.wall_clock_ms
    if profile.process is not None and extra.attempts <= 1:
        if tasks.code[task] == TIME_LIMIT_CODE:  # how long it would have taken by itself is not known any more
            plan = _again(world, task, profile, 1 - extra.attempts)
            total_ms = min(plan.total_ms, world.longest_ms)
            tasks.plan(task, total_ms, TIME_LIMIT_CODE if plan.failure else plan.exit_code or 0)
        elif limit_ms is not None and tasks.planned[task] > limit_ms:
            tasks.plan(task, limit_ms, TIME_LIMIT_CODE)
    if tasks.state[task] == RUNNING and profile.instances:
        multi_instance.limit_anew(world, task, profile)
    elif tasks.state[task] == RUNNING:
        end_ms = max(world.now_ms, tasks.started[task] + _present_plan(world, task, profile, extra).total_ms)
        end_ms = min(end_ms, world.latest_ms)
        tasks.move_end(task, end_ms)
        world.calendar.at(end_ms, DueKind.TASK_ENDED, task, tasks.end_token(task))


# -- end -------------------------------------------------------------------------------------------------------------


def task_ended(world: World, due: Due) -> None:
    """The process of a task has come to the end that was planned for it."""
    task = due.key
    tasks = world.tasks
    now_ms = world.calendar.now_ms
    if tasks.state[task] != RUNNING or tasks.ended[task] != now_ms:
        return
    node = tasks.node[task]
    profile = tasks.profiles[tasks.profile[task]]
    if profile.process is not None and not tasks.code[task] and task not in tasks.sparse[task >> PAGE_BITS]:
        _leave_node(world, task, node, profile, well=True)
        tasks.succeed(now_ms, task, node)
        after_completion(world, task, profile, 0, None)
        scheduling.fill_after_task(world, node, profile.required_slots)
    else:
        end_with_care(world, task, node, profile)
        scheduling.fill_after_task(world, node, profile.required_slots)
        world.scheduler.look_elsewhere(task)


def end_with_care(world: World, task: int, node: int, profile: TaskProfile) -> None:
    """The end of a task that may have failed, or has files; its slots are the caller's to give to others."""
    extra = world.tasks.extra(task)
    plan = _present_plan(world, task, profile, extra)
    world.plans.pop(task, None)
    if profile.process is None:
        launch = launches.task_launch(world, task, node, extra.attempts, world.tasks.started[task])
        setup.forget(world, node, launch.directory)
        plan = finished(world, task, node, launch, plan) if plan.failure is None else plan
    conclude(world, task, profile, plan)
    if profile.process is None:
        disk_space.look(world, node)


def finished(world: World, task: int, node: int, launch: Launch, plan: Plan) -> Plan:
    """The plan that has come true, with the process's own exit code (RETRY-2); its files are written and uploaded.

    RETRY-10 an upload that failed shows only after exit code 0. MI-7 of a multi-instance task only the primary comes
    here: nothing of its subtasks is uploaded.
    """
    spec = world.tasks.spec(task)
    job = world.jobs[world.tasks.profile_of(task).job]
    code = execution.finish(world, node, launch, plan, job, spec.id, spec).exit_code
    failure = uploads.upload(world, node, launch, job, spec, code)
    return plan._replace(exit_code=code, failure=failure if code == 0 else None)


def conclude(
    world: World, task: int, profile: TaskProfile, plan: Plan, final: tuple[FailureInfo, str] = EXITED_NONZERO
) -> None:
    """An attempt has ended as planned: the task has left its nodes and is completed, or runs again.

    ``final`` is why the task has failed, and the rule, if the attempt was the last one that may exit nonzero.
    """
    tasks = world.tasks
    exit_code = plan.exit_code
    well = plan.failure is None and exit_code == 0
    extra = tasks.extra(task)
    node = tasks.node[task]
    for each in world.nodes_of(task):
        _leave_node(world, task, each, profile, well=well)
    if plan.failure is not None:
        if exit_code is not None:
            rule = "RETRY-10"
        else:
            exit_code, rule = (STOPPED_EXIT_CODE, "RETRY-8") if plan.ran else (None, "RETRY-4")
        complete_failed(world, task, profile, exit_code, plan.failure, rule)
    elif well:
        tasks.succeed(world.now_ms, task, node)
        multi_instance.end_subtasks(world, task, profile)
        after_completion(world, task, profile, 0, None)
    elif retry_verdict(profile, world.jobs[profile.job], extra, exit_code):
        extra = extra._replace(retry_count=extra.retry_count + 1, awaits_retry=True)
        back_to_queue(world, task, extra, "RETRY-5", exit_code, at_once=not profile.instances)
    else:
        complete_failed(world, task, profile, exit_code, *final)


def _present_plan(world: World, task: int, profile: TaskProfile, extra: TaskExtra) -> Plan:
    """How the present attempt of a running task will end, or has ended."""
    tasks = world.tasks
    if profile.process is None:
        launch = launches.task_launch(world, task, tasks.node[task], extra.attempts, tasks.started[task])
        return world.executor.plan(launch)
    if extra.attempts > 1:
        return _again(world, task, profile, 0)
    total_ms, code = tasks.planned[task], tasks.code[task]
    return Plan(total_ms, None, TIME_LIMIT) if code == TIME_LIMIT_CODE else Plan(total_ms, code)


def _again(world: World, task: int, profile: TaskProfile, further: int) -> Plan:
    """The plan of a later attempt of a plain task: the present one, or with ``further`` 1 the next."""
    assert profile.process is not None
    attempt = world.tasks.extra(task).attempts + further
    known = world.plans.get(task)
    if known is not None and known[:2] == (attempt, profile):
        return known[2]
    subject = ("task", world.jobs.rows[profile.job].id.lower(), world.tasks.task_id(task).lower())
    plan = profile.process._replace(wall_clock_ms=profile.wall_clock_ms).plan(world.seed, subject, attempt)
    world.plans[task] = attempt, profile, plan
    return plan


def complete_failed(
    world: World, task: int, profile: TaskProfile, exit_code: int | None, failure: FailureInfo | None, rule: str
) -> None:
    """The task has failed for good (RETRY-11); it is no longer on its node."""
    tasks = world.tasks
    node = tasks.node[task] if tasks.state[task] in (PREPARING, RUNNING) else -1
    tasks.fail(world.now_ms, task, exit_code, failure, rule, node)
    multi_instance.end_subtasks(world, task, profile)
    after_completion(world, task, profile, exit_code, failure)


def after_completion(
    world: World, task: int, profile: TaskProfile, exit_code: int | None, failure: FailureInfo | None
) -> None:
    """A task is completed: dependents, exit conditions, the job's end (DEP-4, EXIT-5, JOB-7)."""
    job = world.jobs.rows[profile.job]
    if job.spec.uses_task_dependencies or exit_code != 0 or failure is not None or profile.conditions:
        conditions = world.tasks.spec(task).exit_conditions if profile.conditions else None
        job_action, dependency_action = exit_options(conditions, exit_code, failure)
        if dependency_action is DependencyAction.SATISFY:
            dependencies.satisfied(world, job, task)
        if job.spec.on_task_failure is OnTaskFailure.PERFORM_EXIT_OPTIONS_JOB_ACTION:
            jobs.perform(world, job, job_action)
    if profile.manager:
        jobs.manager_completed(world, job)
    task_left(world, job)


def task_left(world: World, job: Job) -> None:
    """A task of the job is no longer running or preparing: what does that allow?"""
    if job.counts[COMPLETED] == job.total:
        jobs.all_tasks_complete(world, job)
    if job.state is JobState.DISABLING:
        jobs.look_at_disabling(world, job)
    elif job.max_parallel >= 0:
        world.scheduler.let_job_take_turns(job)


def _leave_node(world: World, task: int, node: int, profile: TaskProfile, *, well: bool) -> None:
    """The task's process is gone from the node; its slots are given back by the caller."""
    nodes = world.nodes
    nodes.running[node].discard(task)
    nodes.ran[node] += 1
    if not well:
        nodes.failed[node] += 1
    world.pools.rows[nodes.records.rows[node].pool].run_on(world.calendar.now_ms, -profile.required_slots)
    if profile.exclusive:
        world.scheduler.update_eligibility(node)


def back_to_queue(
    world: World, task: int, extra: TaskExtra, rule: str, exit_code: int | None = None, *, at_once: bool = False
) -> None:
    """A task that has left its nodes is active again, with these counters, and waits for its turn."""
    profile = world.tasks.profile_of(task)
    world.tasks.back_to_active(world.now_ms, task, extra, rule, exit_code)
    multi_instance.end_subtasks(world, task, profile)
    world.scheduler.queue_again(task, profile, len(world.log), fills_at_once=at_once)
    task_left(world, world.jobs[profile.job])


# -- taken off a node ------------------------------------------------------------------------------------------------


def take_off_nodes(world: World, task: int) -> tuple[int, ...]:
    """Remove a running or preparing task from its nodes before its state changes; the caller frees its slots there."""
    tasks, nodes = world.tasks, world.nodes
    left = world.nodes_of(task)
    profile = tasks.profile_of(task)
    for node in left:
        if tasks.state[task] == RUNNING:
            _leave_node(world, task, node, profile, well=False)
            continue
        nodes.preparing[node].discard(task)
        if not nodes.preparing[node]:
            del nodes.preparing[node]
        if profile.exclusive:
            world.scheduler.update_eligibility(node)
    return left


def free_slots(world: World, nodes: Iterable[int], profile: TaskProfile) -> None:
    """The slots of a task that has left these nodes are free."""
    for node in nodes:
        world.emit(TaskLeftNode(node, profile.required_slots))
