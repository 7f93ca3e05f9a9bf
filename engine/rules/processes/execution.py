"""Processes on nodes, from launch to end: their directory, their environment, the commands they give, their files.

The rules are TASK-4, TASK-6, FILE and ENV. The chapters decide when a process starts and what its end means. A launch
is what the executor must know of a process of a task, a coordination command or a start task. Processes of preparation
and release tasks are one command of a job that runs on many nodes.

A process that acts gives commands while it runs, and may wait for something (JM-11, JM-12); the commands themselves are
given in ``engine.rules.commands``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.calendar import DueKind
from engine.base.errors import FAILURE_EXIT_CODE, STOPPED_EXIT_CODE
from engine.base.paths import (
    SHARED,
    STARTUP,
    MultiInstanceFacts,
    NodeFacts,
    TaskFacts,
    TaskKind,
    settings_of,
    subtask_directory,
    task_directory,
    variables,
    working_directory,
)
from engine.base.terms import OsFamily
from engine.rules.facts import WaitOver
from engine.rules.processes import node_disk, setup
from engine.rules.processes.setup import Work, packages_of
from engine.shell.protocol import READY, HookProcess, Launch
from engine.specs.common import CertificateVisibility
from engine.specs.images import DEFAULT_IMAGE, LinuxSystem
from engine.state.acting import NO_JOB, Acting, Process, ProcessKind, adds_tasks
from engine.state.files import Traffic
from engine.state.instances import ENDED_WELL, Ending
from engine.state.tasks import COMPLETED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.base.paths import NodeRoot
    from engine.shell.files import SystemText
    from engine.shell.protocol import Output, Plan, Seen
    from engine.specs.base import Distribution
    from engine.specs.common import ResourceFile
    from engine.state.jobs import Job
    from engine.world import World


_INSTANCES = (TaskKind.PRIMARY, TaskKind.SUBTASK)


def begin(
    world: World, node: int, launch: Launch, work: Work, further: Sequence[tuple[ResourceFile, str]] = ()
) -> Launch:
    """Make the process's directory with empty output files (FILE-4, RETRY-12), and begin its setup.

    ``further`` files come before its own, each with the directory that it goes to. Return the launch with its setup:
    how long that takes, or why the process never starts.
    """
    files = world.disks.edit(node)
    files.mkdir(f"{launch.directory}/wd")
    files.write(f"{launch.directory}/stdout.txt", "")
    files.write(f"{launch.directory}/stderr.txt", "")
    _show_certificates(world, node, launch)
    launch = launch._replace(setup=setup.set_up(world, node, launch, work, further))
    if launch.setup.failure is not None or launch.kind in _INSTANCES or not world.executor.must_rehearse(launch):
        return launch
    return _rehearsed(world, node, launch, work)


def _rehearsed(world: World, node: int, launch: Launch, work: Work) -> Launch:
    """Find out how long a script sleeps, by a run on a copy of the node's files, and keep it until the process ends.

    The end of a process has to be known at its start, and by its end others may have changed the files (TASK-24).
    """
    environment = environment_of(world, node, launch, work)
    files = world.disks.edit(node).copy()
    with files.guarded(_read_only(world, node, launch, work), system=_system(world, node, launch, work)):
        root = world.root_of(world.pool_of(node))
        slept_ms = world.executor.rehearse(launch, environment, root, files, world.now_ms)
    kept = launch.setup._replace(slept_ms=slept_ms)
    world.nodes.keep_setup(node, launch.directory, kept)
    return launch._replace(setup=kept)


def _read_only(world: World, node: int, launch: Launch, work: Work) -> tuple[str, ...]:
    identity = work.spec.user_identity
    return setup.read_only_directories(world, node, work.job, launch.kind, identity, launch.directory)


def _system(world: World, node: int, launch: Launch, work: Work) -> SystemText | None:
    """Return the files of the operating system that a process sees; None on Windows and in a container (FILE-15)."""
    pool = world.pool_of(node)
    if pool.os is not OsFamily.LINUX or work.spec.container_settings is not None:
        return None

    def text(path: str) -> str | None:
        machine, size = pool.spec.virtual_machine_configuration, pool.size
        agent = DEFAULT_IMAGE.node_agent_sku_id if machine is None else machine.node_agent_sku_id
        user = setup.user_name_of(pool.spec, work.spec.user_identity, launch.directory)
        return LinuxSystem(agent, size.cores, size.memory_gib, world.nodes[node].id, user).text(path)

    return text


def _show_certificates(world: World, node: int, launch: Launch) -> None:
    """Put the node's certificates that are visible to a process on Linux into its own directory (CERT-3).

    The directory is AZ_BATCH_CERTIFICATES_DIR. DECISION: a file is called ``<algorithm>-<thumbprint>.<format>``.
    """
    references = world.nodes[node].certificates
    if not references or launch.os is not OsFamily.LINUX:
        return
    visible_to = CertificateVisibility.START_TASK if launch.kind is TaskKind.START else CertificateVisibility.TASK
    for reference in references:
        record = world.certificates.find(reference.thumbprint)
        if record is not None and visible_to in reference.visibility:
            name = f"{reference.thumbprint_algorithm}-{reference.thumbprint}.{record.spec.form}"
            world.disks.edit(node).write(f"{launch.directory}/certs/{name}", "")


def finish(world: World, node: int, launch: Launch, plan: Plan, work: Work) -> Output:
    """Write the files and the output of a process that has ended by itself to the node's disk.

    The output of a primary follows that of its coordination command.
    """
    environment = environment_of(world, node, launch, work)
    files = world.disks.edit(node)
    used_bytes = files.used_bytes
    root = world.root_of(world.pool_of(node))
    room, system = node_disk.room_of(world, node), _system(world, node, launch, work)
    with files.guarded(_read_only(world, node, launch, work), room, system):
        output = world.executor.finish(launch, plan, environment, root, files, world.now_ms)
    if launch.kind is TaskKind.START and not output.is_known:
        for place in (SHARED, working_directory(STARTUP)):  # where nobody knows what it has installed (FILE-15)
            files.mkdir(place, known=False)
    put = files.append if launch.kind is TaskKind.PRIMARY else files.write
    put(f"{launch.directory}/stdout.txt", output.stdout)
    put(f"{launch.directory}/stderr.txt", output.stderr)
    world.note_traffic(node, Traffic.WRITE, max(0, files.used_bytes - used_bytes), world.now_ms, world.now_ms)
    return output


def environment_of(world: World, node: int, launch: Launch, work: Work, root: NodeRoot | None = None) -> dict[str, str]:
    """Return the environment variables of a process (JOB-4, ENV-1, MI-9); all see the pool's packages (APP-6).

    ``root`` is where the node really is, if it is anywhere.
    """
    record = world.nodes[node]
    pool = world.pool_of(node)
    account = world.account
    spec, job, task_id, _ = work
    facts = NodeFacts(
        account_name=account.name,
        account_url=f"https://{account.name}.{account.location}.batch.azure.com",
        pool_id=pool.id,
        node_id=record.id,
        root=root or world.root_of(pool),
        dedicated=record.dedicated,
        cores=pool.size.cores,
    )
    prep = job.spec.job_preparation_task if job is not None else None
    of_task = TaskFacts(
        launch.kind,
        launch.directory,
        task_id=task_id,
        job_id=job.id if job is not None else "",
        prep_directory=task_directory(job.id, prep.id) if job is not None and prep is not None else None,
        user=setup.user_name_of(pool.spec, spec.user_identity, launch.directory),
    )
    common = job.spec.common_environment_settings if job is not None else ()
    return variables(
        facts,
        of_task,
        job_settings=settings_of((setting.name, setting.value) for setting in common),
        task_settings=settings_of((setting.name, setting.value) for setting in spec.environment_settings),
        packages=(*record.packages, *(launch.setup.packages or packages_of(account, setup.references_of(spec)))),
        multi_instance=_several(world, node, job, task_id) if launch.kind in _INSTANCES and job is not None else None,
    )


def _several(world: World, node: int, job: Job, task_id: str) -> MultiInstanceFacts:
    """Return what the processes of a multi-instance task are to know about its nodes (MI-9)."""
    task = world.tasks.find(job.row, task_id)
    assert task is not None
    cores = world.pool_of(node).size.cores
    addresses = tuple((world.nodes[each].ip_address, cores) for each in world.nodes_of(task))
    return MultiInstanceFacts(addresses, world.nodes[node].ip_address, task_directory(job.id, task_id))


class Start(NamedTuple):
    """The start of a process that is not plain: its planned end, its launch and its plan."""

    end_ms: int
    launch: Launch
    plan: Plan


def start_of(world: World, launch: Launch) -> Start:
    """Plan the start of a process now."""
    plan = world.executor.plan(launch)
    return Start(planned_end_ms(world, world.now_ms, plan), launch, plan)


def planned_end_ms(world: World, started_ms: int, plan: Plan) -> int:
    """Return the planned end of a process that started at this moment; the latest moment if it is not known."""
    return world.latest_ms if plan.is_open else min(started_ms + plan.total_ms, world.latest_ms)


def begin_acting(world: World, process: Process, start: Start, job: int = NO_JOB) -> None:
    """Let a process act whose start is recorded; its timed commands count from now (JM-11).

    A process that starts twice in one millisecond counts from the next one the second time, so that two processes that
    restart each other cannot keep the clock from going on (JM-14).
    """
    if not start.plan.ran:
        return
    text = world.executor.acts(start.launch)
    if text is None:
        return
    acts = world.acts_of(text)
    now_ms = world.now_ms
    from_ms = now_ms + world.acting.has_begun_in(now_ms, process)
    waiting = tuple(index for index, act in enumerate(acts.commands) if act.when is not None)
    to_come = sum(act.when is None and adds_tasks(act) for act in acts.commands)
    if acts.until_others and not world.acting.waiting_for_others(job):
        _report_at(world, job, -1)
    number = world.acting.begin(Acting(process, job, now_ms, acts, waiting, to_come))
    for index, act in enumerate(acts.commands):
        if act.when is None:
            world.calendar.at(from_ms + act.after_ms, DueKind.ACT, number, index)
    check_others(world, number)


def _report_at(world: World, job_row: int, change: int) -> None:
    """Let so many completed tasks more matter to the job, or fewer if negative: processes wait for them."""
    job = world.jobs.edit(job_row)
    job.assign(reports_from=job.reports_from + change)


def check_others(world: World, number: int, *, is_settled: bool = False) -> None:
    """End the process if it waits for the other tasks of its job, and all of them are completed (JM-12, JM-13).

    If a condition of its commands may come true at the end of this instant, that is seen to first: ``is_settled``.
    """
    acting = world.acting.get(number)
    if acting is None or not acting.waits or not acting.acts.until_others or acting.tasks_to_come:
        return
    if (acting.waiting and not is_settled) or not world.acting.may_notice(acting.job):
        return
    job = world.jobs.rows[acting.job]
    is_task = acting.process.kind in (ProcessKind.TASK, ProcessKind.COORDINATION)
    others = job.total - is_task
    if others and job.counts[COMPLETED] == others:
        end_wait(world, number)


def end_wait(world: World, number: int, seen: Seen | None = None) -> None:
    """Let a process end for which what it waits for has come true; ``seen`` is how one that really ran behaved."""
    acting = world.acting.get(number)
    assert acting is not None
    world.acting.finish_waiting(number, world.now_ms, seen)
    world.emit(WaitOver(acting.process))


def end_acting(world: World, process: Process) -> None:
    """Forget what a process still had to do: it has ended or was interrupted (JM-11)."""
    if not world.acting:
        return
    acting = world.acting.end(process)
    if acting is not None and acting.acts.until_others and not world.acting.waiting_for_others(acting.job):
        _report_at(world, acting.job, 1)


def end_acting_of_task(world: World, task: int, instances: int) -> None:
    """Forget what the processes of a task still had to do, on all its nodes."""
    if world.acting:
        end_acting(world, Process(ProcessKind.TASK, task))
        for subtask in range(instances):
            end_acting(world, Process(ProcessKind.COORDINATION, task, subtask))


def _on_node(world: World, launch: Launch, node: int, process: Process) -> Launch:
    """Return the launch with what the node and the process add to it."""
    ready, until_ms = setup.setup_of(world, node, launch.directory), world.acting.until_ms(process)
    launch = world.executor.read(launch, world.pool_of(node).os)
    position, seen = world.nodes[node].position, world.acting.seen(process)
    return launch._replace(node=position, setup=ready, until_ms=until_ms, seen=seen)


def task_launch(world: World, task: int, node: int, attempt: int) -> Launch:
    """Return the launch of a task's attempt on a node."""
    spec = world.tasks.spec(task)
    profile = world.tasks.profile_of(task)
    job = world.jobs[profile.job]
    launch = Launch(
        TaskKind.MANAGER if profile.manager else TaskKind.PRIMARY if profile.instances else TaskKind.TASK,
        spec.line_to_run,
        spec.simulate,
        ("task", job.id.lower(), spec.id.lower()),
        attempt,
        task_directory(job.id, spec.id),
        spec.resource_files,
        profile.wall_clock_ms,
        execute=spec.execute,
    )
    return _on_node(world, launch, node, Process(ProcessKind.TASK, task))


def application_launch(world: World, task: int, nodes: Sequence[int], attempt: int) -> Launch:
    """Return the launch of a multi-instance task's own command by its primary, which is set up by then (MI-4)."""
    launch = task_launch(world, task, nodes[0], attempt)
    return launch._replace(resource_files=(), setup=READY)


def coordination_launch(world: World, task: int, nodes: Sequence[int], subtask: int, attempt: int) -> Launch:
    """Return the launch of a coordination command; the primary downloads the task's own files before it (MI-4)."""
    spec = world.tasks.spec(task)
    settings = spec.multi_instance_settings
    assert settings is not None
    job = world.jobs[world.tasks.profile_of(task).job]
    launch = Launch(
        TaskKind.SUBTASK,
        settings.coordination_command_line,
        settings.simulate,
        ("coordination", job.id.lower(), spec.id.lower(), str(subtask)),
        attempt,
        subtask_directory(task_directory(job.id, spec.id), subtask),
        () if subtask else spec.resource_files,
        execute=settings.execute,
    )
    return _on_node(world, launch, nodes[subtask], Process(ProcessKind.COORDINATION, task, subtask))


def start_task_launch(world: World, node: int) -> Launch:
    """Return the launch of the start task on a node."""
    record = world.nodes[node]
    spec = record.start_spec
    assert spec is not None
    subject = "start task", world.pool_of(node).id.lower(), str(record.position)
    launch = Launch(
        TaskKind.START,
        spec.line_to_run,
        spec.simulate,
        subject,
        record.start_runs,
        STARTUP,
        spec.resource_files,
        execute=spec.execute,
    )
    return _on_node(world, launch, node, Process(ProcessKind.START_TASK, node))


# The kind of process, and that of the calendar's entry for its end: of preparation, then of release.
_KINDS = ((ProcessKind.PREPARATION, DueKind.PREPARATION_ENDED), (ProcessKind.RELEASE, DueKind.RELEASE_ENDED))


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
    return (
        None
        if task is None or pool is None
        else world.executor.special_duration(task.line_to_run, pool.os, task.simulate)
    )


def _shared(world: World, job: Job, hook: HookProcess) -> HookProcess:
    """Return the process with what is the same for all its starts."""
    pool = world.pools.find(job.pool_id)
    os = pool.os if pool is not None else OsFamily.LINUX
    special = setup.may_matter(pool, hook.kind, hook.spec)
    plain = None if special else world.executor.plain(world.executor.read(_hook_launch(hook), os))
    fixed = plain.plan(0, (), 1) if plain is not None and plain.is_certain else None
    return hook._replace(plain=plain, fixed=fixed)


def _hook_launch(hook: HookProcess, subject: tuple[str, ...] = (), run: int = 1, directory: str = "") -> Launch:
    spec = hook.spec
    files, limit_ms = spec.resource_files, hook.wall_clock_ms
    return Launch(
        hook.kind, spec.line_to_run, spec.simulate, subject, run, directory, files, limit_ms, execute=spec.execute
    )


def hook_launch(world: World, job: Job, hook: HookProcess, node: int, run: int) -> Launch:
    """Return the launch of a preparation or release task on a node; ``run`` counts its starts there."""
    launch = _hook_launch(hook, _hook_subject(world, job, hook, node), run, task_directory(job.id, hook.task_id))
    return _on_node(world, launch, node, process_on(world, job, hook, node))


def process_on(world: World, job: Job, hook: HookProcess, node: int) -> Process:
    """Return the process of a preparation or release task on a node."""
    kind, _ = _KINDS[hook.kind is TaskKind.RELEASE]
    return Process(kind, world.instances.row(job.row, node))


def _hook_subject(world: World, job: Job, hook: HookProcess, node: int) -> tuple[str, ...]:
    return hook.kind.name, job.id.lower(), world.pool_of(node).id.lower(), str(world.nodes[node].position)


def start_hook(world: World, job: Job, hook: HookProcess, node: int, run: int, now_ms: int) -> tuple[int, Start | None]:
    """Start a preparation or release task on the node; return its planned end, and its start unless it is plain."""
    if hook.plain is not None:
        plan = hook.fixed or hook.plain.plan(world.seed, _hook_subject(world, job, hook, node), run)
        return min(now_ms + plan.total_ms, world.latest_ms), None
    launch = hook_launch(world, job, hook, node, run)
    start = start_of(world, begin(world, node, launch, Work(hook.spec, job, hook.task_id)))
    return start.end_ms, start


def enter_end(world: World, row: int, end_ms: int, start: Start | None, *, is_release: bool) -> None:
    """Enter the planned end of an instance's process whose start is recorded, if it is known, and let it act."""
    kind, due = _KINDS[is_release]
    if start is None or not start.plan.is_open:
        world.calendar.at(end_ms, due, row)
    if start is not None:
        begin_acting(world, Process(kind, row), start, world.instances.job[row])


def hook_wait_over(world: World, over: WaitOver) -> None:
    """End a preparation or release for which what it waits for has come true (JM-12)."""
    kind, row, _ = over.process
    if kind not in (ProcessKind.PREPARATION, ProcessKind.RELEASE):
        return
    instances, is_release = world.instances, kind is ProcessKind.RELEASE
    job, node = world.jobs[instances.job[row]], instances.node[row]
    runs = instances.release_runs if is_release else instances.prep_runs
    starts = instances.release_start if is_release else instances.prep_start
    hook = process_of(world, job, is_release=is_release)
    plan = world.executor.plan(hook_launch(world, job, hook, node, runs[row]))
    end_ms = max(world.now_ms, planned_end_ms(world, starts[row], plan))
    instances.move_end(row, end_ms, is_release=is_release)
    world.calendar.at(end_ms, _KINDS[is_release][1], row)


def end_hook(world: World, job: Job, hook: HookProcess, node: int, run: int) -> Ending:
    """End the process of a preparation or release task: write its files, and return how it ended."""
    if hook.plain is None:
        launch, work = hook_launch(world, job, hook, node, run), Work(hook.spec, job, hook.task_id)
        return end(world, process_on(world, job, hook, node), node, launch, work)
    plan = hook.fixed or hook.plain.plan(world.seed, _hook_subject(world, job, hook, node), run)
    return _ending(plan, plan.exit_code or 0)


def end(world: World, process: Process, node: int, launch: Launch, work: Work) -> Ending:
    """End a process at its planned moment: write its files unless it failed before, and return how it ended."""
    plan = world.executor.plan(launch)
    world.nodes.forget_setup(node, launch.directory)
    end_acting(world, process)
    return _ending(plan, finish(world, node, launch, plan, work).exit_code if plan.failure is None else 0)


def _ending(plan: Plan, exit_code: int) -> Ending:
    if plan.failure is not None:
        return Ending(STOPPED_EXIT_CODE if plan.ran else None, plan.failure)
    return Ending(exit_code, FAILURE_EXIT_CODE) if exit_code else ENDED_WELL
