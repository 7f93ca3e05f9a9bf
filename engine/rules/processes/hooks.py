"""Processes of preparation and release tasks: one command of a job that runs on many nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.environment import TaskKind
from engine.base.failures import FAILURE_EXIT_CODE, STOPPED_EXIT_CODE
from engine.base.paths import task_directory
from engine.base.terms import OsFamily
from engine.events.calendar import DueKind
from engine.executors.protocol import HookProcess, Launch
from engine.executors.simulated import special_duration
from engine.rules.processes import acts, execution, setup
from engine.rules.processes.acts import Start
from engine.rules.processes.setup import Work
from engine.state.acting import Process, ProcessKind
from engine.state.instances import ENDED_WELL, Ending

if TYPE_CHECKING:
    from engine.specs.distributions import Distribution
    from engine.state.jobs import Job
    from engine.world.world import World

# The kind of process, and that of the calendar's entry for its end: of preparation, then of release.
_KINDS = (
    (ProcessKind.PREPARATION, DueKind.PREPARATION_ENDED),
    (ProcessKind.RELEASE, DueKind.RELEASE_ENDED),
)


def process_of(world: World, job: Job, *, is_release: bool) -> HookProcess:
    """Return the process of the job's preparation or release task; it is worked out once."""
    hooks = world.release_hooks if is_release else world.prep_hooks
    known = hooks.get(job.row)
    if known is None:
        prep, release = job.spec.job_preparation_task, job.spec.job_release_task
        if is_release:
            assert release is not None
            hook = HookProcess(TaskKind.RELEASE, release.id, release, release.max_wall_clock_time)
        else:
            assert prep is not None
            hook = HookProcess(TaskKind.PREP, prep.id, prep, prep.constraints.max_wall_clock_time)
        known = hooks[job.row] = _shared(world, job, hook)
    return known


def release_duration(world: World, job: Job) -> Distribution | None:
    """Return the duration that the scenario gives the job's release task; None without release task or pool."""
    task, pool = job.spec.job_release_task, world.pools.find(job.pool_id)
    return None if task is None or pool is None else special_duration(task.command_line, pool.os, task.simulate)


def _shared(world: World, job: Job, hook: HookProcess) -> HookProcess:
    """Return the process with what is the same for all its starts."""
    pool = world.pools.find(job.pool_id)
    os = pool.os if pool is not None else OsFamily.LINUX
    special = setup.may_matter(pool, hook.kind, hook.spec)
    plain = None if special else world.executor.plain(_launch(hook, os, (), 1, -1, ""))
    fixed = plain.plan(0, (), 1) if plain is not None and plain.is_certain else None
    return hook._replace(plain=plain, fixed=fixed)


def hook_launch(world: World, job: Job, hook: HookProcess, node: int, run: int) -> Launch:
    """Return the launch of a preparation or release task on a node; ``run`` counts its starts there."""
    directory = task_directory(job.id, hook.task_id)
    subject = _hook_subject(world, job, hook, node)
    position = world.nodes[node].position
    launch = _launch(hook, world.pool_of(node).os, subject, run, position, directory)
    until_ms = world.acting.until_ms(process_on(world, job, hook, node))
    return launch._replace(setup=setup.setup_of(world, node, directory), until_ms=until_ms)


def process_on(world: World, job: Job, hook: HookProcess, node: int) -> Process:
    """Return the process of a preparation or release task on a node."""
    kind, _ = _KINDS[hook.kind is TaskKind.RELEASE]
    return Process(kind, world.instances.row(job.row, node))


def _hook_subject(world: World, job: Job, hook: HookProcess, node: int) -> tuple[str, ...]:
    return hook.kind.name, job.id.lower(), world.pool_of(node).id.lower(), str(world.nodes[node].position)


def _launch(
    hook: HookProcess, os: OsFamily, subject: tuple[str, ...], run: int, position: int, directory: str
) -> Launch:
    spec = hook.spec
    return Launch(
        hook.kind,
        spec.command_line,
        spec.simulate,
        subject,
        run,
        position,
        os,
        directory,
        spec.resource_files,
        hook.wall_clock_ms,
    )


def start_hook(world: World, job: Job, hook: HookProcess, node: int, run: int, now_ms: int) -> tuple[int, Start | None]:
    """Start a preparation or release task on the node; return its planned end, and its start unless it is plain."""
    if hook.plain is not None:
        plan = hook.fixed or hook.plain.plan(world.seed, _hook_subject(world, job, hook, node), run)
        return min(now_ms + plan.total_ms, world.latest_ms), None
    launch = hook_launch(world, job, hook, node, run)
    start = acts.start_of(world, execution.begin(world, node, launch, Work(hook.spec, job, hook.task_id)))
    return start.end_ms, start


def enter_end(world: World, row: int, end_ms: int, start: Start | None, *, is_release: bool) -> None:
    """Enter the planned end of an instance's process whose start is recorded, if it is known, and let it act."""
    kind, due = _KINDS[is_release]
    if start is None or not start.is_open:
        world.calendar.at(end_ms, due, row)
    if start is not None:
        acts.begin(world, Process(kind, row), start, world.instances.job[row])


def end_after_wait(world: World, row: int, *, is_release: bool) -> None:
    """Enter the end of an instance's process, now that what it waited for has come true (JM-12)."""
    instances = world.instances
    job, node = world.jobs[instances.job[row]], instances.node[row]
    if is_release:
        runs, starts, move_end = instances.release_runs, instances.release_start, instances.move_release_end
    else:
        runs, starts, move_end = instances.prep_runs, instances.prep_start, instances.move_prep_end
    hook = process_of(world, job, is_release=is_release)
    plan = world.executor.plan(hook_launch(world, job, hook, node, runs[row]))
    end_ms = max(world.now_ms, acts.end_ms(world, starts[row], plan))
    move_end(row, end_ms)
    world.calendar.at(end_ms, _KINDS[is_release][1], row)


def end_hook(world: World, job: Job, hook: HookProcess, node: int, run: int) -> Ending:
    """End the process of a preparation or release task: write its files, and return how it ended."""
    if hook.plain is not None:
        plan = hook.fixed or hook.plain.plan(world.seed, _hook_subject(world, job, hook, node), run)
        code = plan.exit_code or 0
    else:
        launch = hook_launch(world, job, hook, node, run)
        plan = world.executor.plan(launch)
        world.nodes.forget_setup(node, launch.directory)
        acts.end(world, process_on(world, job, hook, node))
        code = 0
        if plan.failure is None:
            code = execution.finish(world, node, launch, plan, Work(hook.spec, job, hook.task_id)).exit_code
    if plan.failure is not None:
        return Ending(STOPPED_EXIT_CODE if plan.ran else None, plan.failure)
    return Ending(code, FAILURE_EXIT_CODE) if code else ENDED_WELL
