"""Start and end of a process on a node: its directory, its environment, and the files that it leaves.

The rules are TASK-4, TASK-6, FILE and ENV. The chapters decide when a process starts and what its end means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.environment import MultiInstanceFacts, NodeFacts, TaskFacts, TaskKind, settings_of, variables
from engine.base.paths import task_directory
from engine.base.terms import OsFamily
from engine.rules.processes import identities, setup
from engine.rules.processes.deliveries import packages_of
from engine.specs.common import CertificateVisibility
from engine.state.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.executors.protocol import Launch, Output, Plan
    from engine.rules.processes.setup import Work
    from engine.specs.common import ResourceFile
    from engine.state.jobs import Job
    from engine.world.world import World

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
    with files.guarded(_read_only(world, node, launch, work)):
        root = world.root_of(world.pool_of(node))
        slept_ms = world.executor.rehearse(launch, environment, root, files, world.now_ms)
    kept = launch.setup._replace(slept_ms=slept_ms)
    world.nodes.keep_setup(node, launch.directory, kept)
    return launch._replace(setup=kept)


def _read_only(world: World, node: int, launch: Launch, work: Work) -> tuple[str, ...]:
    identity = work.spec.user_identity
    return identities.read_only_directories(world, node, work.job, launch.kind, identity, launch.directory)


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
    with files.guarded(_read_only(world, node, launch, work)):
        output = world.executor.finish(launch, plan, environment, root, files, world.now_ms)
    put = files.append if launch.kind is TaskKind.PRIMARY else files.write
    put(f"{launch.directory}/stdout.txt", output.stdout)
    put(f"{launch.directory}/stderr.txt", output.stderr)
    world.note_traffic(node, Traffic.WRITE, max(0, files.used_bytes - used_bytes), world.now_ms, world.now_ms)
    return output


def environment_of(world: World, node: int, launch: Launch, work: Work) -> dict[str, str]:
    """Return the environment variables of a process (JOB-4, ENV-1, MI-9); all see the pool's packages (APP-6)."""
    record = world.nodes[node]
    pool = world.pool_of(node)
    account = world.account
    spec, job, task_id, _ = work
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
