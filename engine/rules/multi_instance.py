"""Multi-instance tasks, which run on several nodes at once (chapter 16).

Such a task gets all its nodes together (``placement.choose_several``). On the first the primary task runs, on each
other node a subtask. All run the coordination command; when every one has returned with exit code 0, the primary runs
the task's own command (MI-4). If one never returns, the primary waits for ever (MI-5).

A running gang has one entry in the calendar at a time, for ``Gang.due_ms``, when ``step`` continues it. The end of an
attempt is handled in ``tasks.attempts``, the preparation of nodes in ``preparation``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.calendar import Due, DueKind
from engine.base.errors import STOPPED_EXIT_CODE, FailureInfo, ended, failure
from engine.base.paths import task_directory
from engine.base.terms import SubtaskState
from engine.rules.facts import GangAttemptEnded, TaskLeftNode
from engine.rules.processes import execution, node_disk, output_files
from engine.rules.processes.setup import Work
from engine.shell.protocol import TIME_LIMIT, Plan
from engine.state.acting import Process, ProcessKind
from engine.state.instances import ENDED_WELL, Ending, PrepFlag
from engine.state.tables import NEVER_MS
from engine.state.tasks import ACTIVE, RUNNING

if TYPE_CHECKING:
    from engine.rules.facts import GangAssigned, GangNodePrepared, PrimaryEnded, TaskLimitChanged, WaitOver
    from engine.rules.processes.execution import Start
    from engine.shell.protocol import Launch
    from engine.state.task_records import TaskProfile
    from engine.state.task_tables import Gang
    from engine.world import World

_WITH_PRIMARY = ended("the primary has ended")


# -- start -----------------------------------------------------------------------------------------------------------


def assigned(world: World, gang: GangAssigned) -> None:
    """Start a task that has got its nodes, or let it wait until all of them are prepared (PREP-3, PREP-6)."""
    job_row, task, nodes = gang
    flags, row_on = world.instances.flags, world.instances.row
    if not world.jobs[job_row].waits_for_prep or all(flags[row_on(job_row, node)] & PrepFlag.VALID for node in nodes):
        _start(world, task, nodes, world.tasks.profile_of(task), rule="MI-3")
        return
    for node in nodes:
        world.nodes.prepare_task(task, node)
    world.tasks.prepare(world.now_ms, task, nodes[0])
    world.gangs.prepare(world.now_ms, task, nodes, world.tasks.extra(task).attempts + 1)


def node_prepared(world: World, prepared: GangNodePrepared) -> None:
    """Start a task that waited for the preparation of this node if that was the last one of its nodes (PREP-7)."""
    task, nodes = prepared.task, world.nodes_of(prepared.task)
    profile = world.tasks.profile_of(task)
    flags, row_on = world.instances.flags, world.instances.row
    if all(flags[row_on(profile.job, node)] & PrepFlag.VALID for node in nodes):
        _start(world, task, nodes, profile, rule="PREP-7")


def _start(world: World, task: int, nodes: tuple[int, ...], profile: TaskProfile, rule: str) -> None:
    """Start primary and subtasks: each downloads the common files, then runs its coordination command (MI-4)."""
    now_ms = world.now_ms
    attempt = world.tasks.extra(task).attempts + 1
    starts = [_begin_coordination(world, task, nodes, subtask, attempt) for subtask in range(len(nodes))]
    returns_ms = tuple(start.end_ms for start in starts)
    world.tasks.start(now_ms, task, nodes[0], max(returns_ms), rule)
    world.pool_of(nodes[0]).change_busy_slots(now_ms, len(nodes) * profile.required_slots)
    for node in nodes:
        world.nodes.start_task(task, node)
        if world.jobs[profile.job].has_release:
            world.instances.remember_run(world.instances.row(profile.job, node))
    world.gangs.start(now_ms, task, nodes, attempt, returns_ms)
    _go_on(world, task, profile, NEVER_MS)
    for subtask, start in enumerate(starts):
        execution.begin_acting(world, Process(ProcessKind.COORDINATION, task, subtask), start, profile.job)


def _begin_coordination(world: World, task: int, nodes: tuple[int, ...], subtask: int, attempt: int) -> Start:
    """Set up the primary or a subtask; returns when its coordination command returns.

    Every node gets the common files in the task's directory, above wd (FILE-6).
    """
    spec, node = world.tasks.spec(task), nodes[subtask]
    settings = spec.multi_instance_settings
    assert settings is not None
    job = world.jobs[world.tasks.profile_of(task).job]
    directory = task_directory(job.id, spec.id)
    common = [(file, directory) for file in settings.common_resource_files]
    launch = execution.coordination_launch(world, task, nodes, subtask, attempt)
    return execution.start_of(world, execution.begin(world, node, launch, Work(spec, job, spec.id, task), common))


# -- while it runs ---------------------------------------------------------------------------------------------------


def step(world: World, due: Due) -> None:
    """Continue a gang: coordination commands have returned, the application has ended, or the time is over."""
    task = due.key
    gang = world.gangs.find(task)
    if gang is None or world.tasks.state[task] != RUNNING or gang.due_ms != world.now_ms:
        return
    profile = world.tasks.profile_of(task)
    world.gangs.step(world.now_ms, task, NEVER_MS, gang.application_ms)
    if gang.application_ms != NEVER_MS:
        _application_ended(world, task, gang, profile)
        return
    failed = _coordinated(world, task, gang)
    if failed:
        _coordination_failed(world, task, profile, failed)
    elif world.now_ms >= _limit_ms(world, task, profile):
        _conclude(world, task, profile, Plan(0, None, TIME_LIMIT))
    else:
        all_returned = max(gang.returns_ms) <= world.now_ms
        _go_on(world, task, profile, world.now_ms if all_returned else NEVER_MS)
        if all_returned:
            launch, _ = _application(world, task, gang.nodes, profile, world.now_ms)
            execution.begin_acting(
                world, Process(ProcessKind.TASK, task), execution.start_of(world, launch), profile.job
            )


def wait_over(world: World, over: WaitOver) -> None:
    """End the command of a multi-instance task, or a coordination command, for which the wait is over (JM-12)."""
    kind, task, subtask = over.process
    profile = world.tasks.profile_of(task) if kind in (ProcessKind.TASK, ProcessKind.COORDINATION) else None
    if profile is None or not profile.instances:
        return
    gang = world.gangs[task]
    if kind is ProcessKind.COORDINATION:
        launch = execution.coordination_launch(world, task, gang.nodes, subtask, gang.attempt)
        end_ms = execution.planned_end_ms(world, world.tasks.started[task], world.executor.plan(launch))
        # The commands that return in this millisecond have done so already.
        world.gangs.move_return(task, subtask, max(world.now_ms, end_ms, gang.stepped_ms + 1))
    _go_on(world, task, profile, gang.application_ms)


def _coordinated(world: World, task: int, gang: Gang) -> dict[int, Ending]:
    """Write the files of the coordination commands that return now; returns those that have failed, by subtask."""
    endings = {
        subtask: _coordination_ending(world, task, gang, subtask)
        for subtask, when_ms in enumerate(gang.returns_ms)
        if when_ms == world.now_ms
    }
    return {subtask: ending for subtask, ending in endings.items() if ending.failure is not None}


def _coordination_ending(world: World, task: int, gang: Gang, subtask: int) -> Ending:
    launch = execution.coordination_launch(world, task, gang.nodes, subtask, gang.attempt)
    spec, job = world.tasks.spec(task), world.jobs[world.tasks.profile_of(task).job]
    process = Process(ProcessKind.COORDINATION, task, subtask)
    return execution.end(world, process, gang.nodes[subtask], launch, Work(spec, job, spec.id, task))


def _coordination_failed(world: World, task: int, profile: TaskProfile, failed: dict[int, Ending]) -> None:
    """Fail the whole task because a subtask has failed (MI-6); the primary is stopped unless it has failed itself.

    A nonzero exit code is retried as the task's own (RETRY-3); a failure before the process started is final (RETRY-4).
    """
    for subtask, ending in failed.items():
        if subtask:
            world.gangs.complete(world.now_ms, task, subtask, ending)
    first = min(failed)
    code, why = failed[first]
    if code is None:
        _conclude(world, task, profile, Plan(0, None, why, ran=False))
    elif first == 0:
        _conclude(world, task, profile, Plan(0, code))
    else:
        cause = failure("FailureExitCode", ("Message", f"subtask {first} exited with code {code}"))
        _conclude(world, task, profile, Plan(0, STOPPED_EXIT_CODE), (cause, "MI-6"))


def _application_ended(world: World, task: int, gang: Gang, profile: TaskProfile) -> None:
    launch, plan = _application(world, task, gang.nodes, profile, gang.application_ms)
    if plan.failure is None:
        plan = output_files.finish_task(world, task, gang.nodes[0], launch, plan)
        world.gangs.exit(task)
    _conclude(world, task, profile, plan)


def _conclude(
    world: World, task: int, profile: TaskProfile, plan: Plan, final: tuple[FailureInfo, str] | None = None
) -> None:
    nodes = world.nodes_of(task)
    world.emit(GangAttemptEnded(task, plan, final))
    for node in nodes:
        node_disk.report_if_full(world, node)
    for node in nodes:
        world.emit(TaskLeftNode(node, profile.required_slots))


def limit_changed(world: World, changed: TaskLimitChanged) -> None:
    """Count the new time limit of a running multi-instance task from the start of its attempt (TASK-12)."""
    task = changed.task
    profile = world.tasks.profile_of(task)
    if profile.instances and world.tasks.state[task] == RUNNING:
        _go_on(world, task, profile, world.gangs[task].application_ms)


def _go_on(world: World, task: int, profile: TaskProfile, application_ms: int) -> None:
    """Enter the next step of the gang in the calendar, and plan the end of the attempt."""
    now_ms, gang = world.now_ms, world.gangs[task]
    end_ms = max(now_ms, _planned_end_ms(world, task, profile, application_ms))
    due_ms = end_ms
    if application_ms == NEVER_MS:
        to_come = min(when_ms for when_ms in gang.returns_ms if when_ms > gang.stepped_ms)
        due_ms = max(now_ms, min(to_come, _limit_ms(world, task, profile)))
    world.tasks.move_end(task, end_ms)
    world.gangs.step(gang.stepped_ms, task, due_ms, application_ms)
    if due_ms < world.latest_ms:
        world.calendar.at(due_ms, DueKind.GANG_STEP, task)


def _planned_end_ms(world: World, task: int, profile: TaskProfile, application_ms: int) -> int:
    """Return when the attempt is planned to end.

    The exit code that a shell makes of a coordination command is not known before the command returns.
    """
    gang = world.gangs[task]
    begins_ms = max(gang.returns_ms) if application_ms == NEVER_MS else application_ms
    _, plan = _application(world, task, gang.nodes, profile, begins_ms)
    ends_ms = [execution.planned_end_ms(world, begins_ms, plan), _limit_ms(world, task, profile)]
    if application_ms == NEVER_MS:
        for subtask, when_ms in enumerate(gang.returns_ms):
            launch = execution.coordination_launch(world, task, gang.nodes, subtask, gang.attempt)
            coordination = world.executor.plan(launch)
            if coordination.failure is not None or coordination.exit_code:
                ends_ms.append(when_ms)
    return min(ends_ms)


def _application(
    world: World, task: int, nodes: tuple[int, ...], profile: TaskProfile, begins_ms: int
) -> tuple[Launch, Plan]:
    """Return the launch of the task's own command, and its plan within the time left to the attempt (RETRY-8)."""
    launch = execution.application_launch(world, task, nodes, world.gangs[task].attempt)
    if profile.wall_clock_ms is not None:
        launch = launch._replace(wall_clock_ms=_limit_ms(world, task, profile) - begins_ms)
    return launch, world.executor.plan(launch)


def _limit_ms(world: World, task: int, profile: TaskProfile) -> int:
    """Return when the attempt has used up its time; without a limit, the latest moment of the run."""
    if profile.wall_clock_ms is None:
        return world.latest_ms
    return min(world.tasks.started[task] + profile.wall_clock_ms, world.latest_ms)


# -- end -------------------------------------------------------------------------------------------------------------


def primary_ended(world: World, ended: PrimaryEnded) -> None:
    """End the subtasks with the primary, which is completed or waits again (MI-6, MI-8, TASK-13, PREP-8).

    DECISION: the service does this in the background; here it happens in the same instant, after the primary. If the
    application has exited, a subtask has the exit code of its coordination command; otherwise all are stopped.
    """
    task = ended.task
    gang = world.gangs.find(task)
    if gang is None:
        return
    if not gang.returns_ms and world.tasks.state[task] == ACTIVE:
        world.gangs.unassign(world.now_ms, task)
        return
    stopped = Ending(STOPPED_EXIT_CODE if gang.returns_ms else None, _WITH_PRIMARY)
    for number, subtask in enumerate(gang.subtasks, start=1):
        if subtask.state is not SubtaskState.COMPLETED:
            world.gangs.complete(world.now_ms, task, number, ENDED_WELL if gang.has_exited else stopped)
