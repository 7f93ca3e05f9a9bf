"""Processes on nodes, whoever starts them: what is launched, in which environment, and what it leaves.

Rules: TASK-4, TASK-6, FILE, ENV. When a process starts and what its end means is decided elsewhere: ``outcomes`` for
tasks, ``preparation``, ``release``, ``start_task``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.environment import MultiInstanceFacts, NodeFacts, TaskFacts, TaskKind, settings_of, variables
from engine.base.failures import FAILURE_EXIT_CODE, STOPPED_EXIT_CODE
from engine.base.paths import STARTUP, subtask_directory, task_directory
from engine.base.terms import OsFamily
from engine.executors.access import GuardedFiles
from engine.executors.protocol import READY, HookProcess, Launch, Output, Plan
from engine.executors.simulated import special_duration
from engine.rules import certificates, setups, users
from engine.rules.packages import packages_of
from engine.state.instances import ENDED_WELL, Ending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.specs.common import CommandLine, ResourceFile
    from engine.specs.simulate import Distribution
    from engine.state.jobs import Job
    from engine.world.world import World

_INSTANCES = (TaskKind.PRIMARY, TaskKind.SUBTASK)


def task_launch(world: World, task: int, node: int, attempt: int, started_ms: int) -> Launch:
    """The launch of a task's attempt on a node."""
    spec = world.tasks.spec(task)
    profile = world.tasks.profile_of(task)
    job = world.jobs[profile.job]
    kind = TaskKind.PRIMARY if profile.instances else TaskKind.TASK
    return Launch(
        TaskKind.MANAGER if profile.manager else kind,
        spec.command_line,
        spec.simulate,
        ("task", job.id.lower(), spec.id.lower()),
        attempt,
        world.nodes[node].position,
        world.pool_of(node).os,
        started_ms,
        task_directory(job.id, spec.id),
        spec.resource_files,
        profile.wall_clock_ms,
        setups.setup_of(world, node, task_directory(job.id, spec.id)),
    )


def application_launch(world: World, task: int, nodes: Sequence[int], attempt: int, started_ms: int) -> Launch:
    """The launch of a multi-instance task's own command by its primary, for which all is set up by then (MI-4)."""
    launch = task_launch(world, task, nodes[0], attempt, started_ms)
    return launch._replace(resource_files=(), setup=READY)


def coordination_launch(
    world: World, task: int, nodes: Sequence[int], subtask: int, attempt: int, started_ms: int
) -> Launch:
    """The launch of a coordination command; the primary downloads the task's own files too, before it (MI-4)."""
    spec = world.tasks.spec(task)
    settings = spec.multi_instance_settings
    assert settings is not None
    job, node = world.jobs[world.tasks.profile_of(task).job], nodes[subtask]
    directory = subtask_directory(task_directory(job.id, spec.id), subtask)
    return Launch(
        TaskKind.SUBTASK,
        settings.coordination_command_line,
        settings.simulate,
        ("coordination", job.id.lower(), spec.id.lower(), str(subtask)),
        attempt,
        world.nodes[node].position,
        world.pool_of(node).os,
        started_ms,
        directory,
        () if subtask else spec.resource_files,
        setup=setups.setup_of(world, node, directory),
    )


def may_retry(most: int, retries: int) -> bool:
    """Whether a process that has been retried so often may be retried once more; -1 is no limit (RETRY-3)."""
    return most < 0 or retries < most


def prep_process(world: World, job: Job) -> HookProcess:
    """The job's preparation task, looked at once."""
    known = world.prep_hooks.get(job.row)
    if known is None:
        prep = job.spec.job_preparation_task
        assert prep is not None
        limit_ms = prep.constraints.max_wall_clock_time
        known = world.prep_hooks[job.row] = _hook(world, job, HookProcess(TaskKind.PREP, prep.id, prep, limit_ms))
    return known


def release_process(world: World, job: Job) -> HookProcess:
    """The job's release task, looked at once."""
    known = world.release_hooks.get(job.row)
    if known is None:
        release = job.spec.job_release_task
        assert release is not None
        limit_ms = release.max_wall_clock_time
        hook = HookProcess(TaskKind.RELEASE, release.id, release, limit_ms)
        known = world.release_hooks[job.row] = _hook(world, job, hook)
    return known


def release_duration(world: World, job: Job) -> Distribution | None:
    """How long the scenario lets the job's release task take; None where it has none, or no pool."""
    task, pool = job.spec.job_release_task, world.pools.find(job.pool_id)
    return None if task is None or pool is None else special_duration(task.command_line, pool.os, task.simulate)


def _hook(world: World, job: Job, hook: HookProcess) -> HookProcess:
    """Find out whether all its starts are alike."""
    pool = world.pools.find(job.pool_id)
    os = pool.os if pool is not None else OsFamily.LINUX
    special = setups.may_matter(pool, hook.kind, hook.spec)
    plain = None if special else world.executor.plain(_launch(hook, os, (), 1, -1, 0, ""))
    fixed = plain.plan(0, (), 1) if plain is not None and plain.is_certain else None
    return hook._replace(plain=plain, fixed=fixed)


def hook_launch(world: World, job: Job, hook: HookProcess, node: int, run: int, started_ms: int) -> Launch:
    """One start of a preparation or release task on a node; ``run`` counts its starts there."""
    directory = task_directory(job.id, hook.task_id)
    subject = _hook_subject(world, job, hook, node)
    position = world.nodes[node].position
    launch = _launch(hook, world.pool_of(node).os, subject, run, position, started_ms, directory)
    return launch._replace(setup=setups.setup_of(world, node, directory))


def _hook_subject(world: World, job: Job, hook: HookProcess, node: int) -> tuple[str, ...]:
    return hook.kind.name, job.id.lower(), world.pool_of(node).id.lower(), str(world.nodes[node].position)


def _launch(
    hook: HookProcess, os: OsFamily, subject: tuple[str, ...], run: int, position: int, started_ms: int, directory: str
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
        started_ms,
        directory,
        spec.resource_files,
        hook.wall_clock_ms,
    )


def start_hook(world: World, job: Job, hook: HookProcess, node: int, run: int, now_ms: int) -> int:
    """A preparation or release task starts on the node; returns when its process will end, in ms."""
    if hook.fixed is not None:
        return min(now_ms + hook.fixed.total_ms, world.latest_ms)
    if hook.plain is not None:
        plan = hook.plain.plan(world.seed, _hook_subject(world, job, hook, node), run)
        return min(now_ms + plan.total_ms, world.latest_ms)
    launch = begin(world, node, hook_launch(world, job, hook, node, run, now_ms), hook.spec)
    return min(now_ms + world.executor.plan(launch).total_ms, world.latest_ms)


def end_hook(world: World, job: Job, hook: HookProcess, node: int, run: int, started_ms: int) -> Ending:
    """The process of a preparation or release task has come to its planned end: how, and its files written."""
    if hook.plain is not None:
        plan = hook.fixed or hook.plain.plan(world.seed, _hook_subject(world, job, hook, node), run)
        code = plan.exit_code or 0
    else:
        launch = hook_launch(world, job, hook, node, run, started_ms)
        plan = world.executor.plan(launch)
        setups.forget(world, node, launch.directory)
        code = 0
        if plan.failure is None:
            code = finish(world, node, launch, plan, job, hook.task_id, hook.spec).exit_code
    if plan.failure is not None:
        return Ending(STOPPED_EXIT_CODE if plan.ran else None, plan.failure)
    return Ending(code, FAILURE_EXIT_CODE) if code else ENDED_WELL


def start_task_launch(world: World, node: int, started_ms: int) -> Launch:
    """The launch of the start task on a node."""
    record = world.nodes[node]
    spec = record.start_spec
    assert spec is not None
    pool = world.pool_of(node)
    return Launch(
        TaskKind.START,
        spec.command_line,
        spec.simulate,
        ("start task", pool.id.lower(), str(record.position)),
        record.start_runs,
        record.position,
        pool.os,
        started_ms,
        STARTUP,
        spec.resource_files,
        setup=setups.setup_of(world, node, STARTUP),
    )


def begin(
    world: World, node: int, launch: Launch, spec: CommandLine, further: Sequence[tuple[ResourceFile, str]] = ()
) -> Launch:
    """The process's directory is there, its output files are empty (FILE-4, RETRY-12); what comes before it begins.

    ``further`` files come with the directories they go to, before its own. Returns the launch with how long all that
    takes, or why the process never starts.
    """
    files = world.disks.edit(node)
    files.mkdir(f"{launch.directory}/wd")
    files.write(f"{launch.directory}/stdout.txt", "")
    files.write(f"{launch.directory}/stderr.txt", "")
    certificates.show(world, node, launch)
    return launch._replace(setup=setups.set_up(world, node, launch, spec, further))


def finish(
    world: World,
    node: int,
    launch: Launch,
    plan: Plan,
    job: Job | None,
    task_id: str,
    spec: CommandLine,
) -> Output:
    """The process has ended by itself: its files and output are on the node's disk.

    The output of a primary follows that of its coordination command.
    """
    environment = environment_of(world, node, launch, job, task_id, spec)
    files = world.disks.edit(node)
    read_only = users.read_only_directories(world, node, job, launch.kind, spec.user_identity, launch.directory)
    seen = GuardedFiles(files, read_only) if read_only else files
    output = world.executor.finish(launch, plan, environment, world.root_of(world.pool_of(node)), seen)
    put = files.append if launch.kind is TaskKind.PRIMARY else files.write
    put(f"{launch.directory}/stdout.txt", output.stdout)
    put(f"{launch.directory}/stderr.txt", output.stderr)
    return output


def environment_of(
    world: World, node: int, launch: Launch, job: Job | None, task_id: str, spec: CommandLine
) -> dict[str, str]:
    """The environment variables of a process (JOB-4, ENV-1, MI-9); all see the pool's packages (APP-6)."""
    record = world.nodes[node]
    pool = world.pool_of(node)
    account = world.account
    facts = NodeFacts(
        account_name=account.name,
        account_url=f"https://{account.name}.{account.location}.batch.azure.com",
        pool_id=pool.id,
        node_id=record.id,
        root=world.root_of(pool),
        dedicated=record.dedicated,
    )
    prep = job.spec.job_preparation_task if job is not None else None
    of_task = TaskFacts(
        launch.kind,
        launch.directory,
        task_id=task_id,
        job_id=job.id if job is not None else "",
        prep_directory=task_directory(job.id, prep.id) if job is not None and prep is not None else None,
    )
    common = job.spec.common_environment_settings if job is not None else ()
    return variables(
        facts,
        of_task,
        job_settings=settings_of((setting.name, setting.value) for setting in common),
        task_settings=settings_of((setting.name, setting.value) for setting in spec.environment_settings),
        packages=(*record.packages, *packages_of(account, setups.references_of(spec))),
        multi_instance=_several(world, node, job, task_id) if launch.kind in _INSTANCES and job is not None else None,
    )


def _several(world: World, node: int, job: Job, task_id: str) -> MultiInstanceFacts:
    """The nodes of a multi-instance task that has an instance on this one (MI-9)."""
    task = world.tasks.find(job.row, task_id)
    assert task is not None
    cores = world.pool_of(node).size.cores
    addresses = tuple((world.nodes[each].ip_address, cores) for each in world.nodes_of(task))
    return MultiInstanceFacts(addresses, world.nodes[node].ip_address, task_directory(job.id, task_id))
