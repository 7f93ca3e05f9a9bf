"""Setup of a process on its node, and the reasons for which it never starts (TASK-7, RETRY-1).

In the order of the node agent: user, container settings, application packages, image, resource files. The setup is
decided when the process is to start, and kept with the node until it ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import OsFamily
from engine.executors.protocol import READY
from engine.rules.decisions import containers
from engine.rules.processes import identities
from engine.rules.processes.deliveries import Delivery, package_failure, packages_of
from engine.state.blobs import NO_TASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.base.environment import TaskKind
    from engine.executors.protocol import Launch, Setup
    from engine.specs.common import ApplicationPackageReference, CommandLine, ResourceFile
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world.world import World


class Work(NamedTuple):
    """The work of a process: the body with its command line, and the job and task that it belongs to.

    A start task has neither; a preparation or release task has a job and the id of its own.
    """

    spec: CommandLine
    job: Job | None = None
    task_id: str = ""
    task: int = NO_TASK


def may_matter(pool: Pool | None, kind: TaskKind, spec: CommandLine) -> bool:
    """Return whether anything but resource files can come before such a process; if so, it is not plain."""
    return bool(
        references_of(spec)
        or spec.container_settings is not None
        or spec.user_identity.username is not None
        or (
            pool is not None
            and (pool.spec.certificate_references or containers.settings_verdict(pool.spec, kind, None))
        )
    )


def references_of(spec: CommandLine) -> tuple[ApplicationPackageReference, ...]:
    """Return the packages that a task itself refers to; start, preparation and release tasks cannot (PREP-2)."""
    references: tuple[ApplicationPackageReference, ...] = getattr(spec, "application_package_references", ())
    return references


def set_up(
    world: World, node: int, launch: Launch, work: Work, further: Sequence[tuple[ResourceFile, str]] = ()
) -> Setup:
    """Begin the setup of a process; return how long it takes, or why the process never starts.

    ``further`` are files beside its own, with the directories that they go to.
    """
    pool, spec = world.pool_of(node), work.spec
    world.nodes.forget_setup(node, launch.directory)
    if not (further or spec.resource_files or may_matter(pool, launch.kind, spec)):
        return READY
    delivery = Delivery(world, node)
    delivery.refuse(identities.user_verdict(pool.spec, spec.user_identity))
    delivery.refuse(containers.settings_verdict(pool.spec, launch.kind, spec.container_settings))
    for reference in references_of(spec):
        if world.options.classic_packages and pool.os is OsFamily.LINUX:  # APP-5
            why = "Linux nodes have no application packages"
            delivery.refuse(package_failure(reference.application_id, reference.version, why))
        else:
            delivery.bring_reference(reference)
    if spec.container_settings is not None:
        image = containers.full_name(spec.container_settings.image_name)
        delivery.bring_image(image, containers.registry_of(image, spec.container_settings))
    for file, directory in further:
        delivery.bring_file(file, directory)
    for file in launch.resource_files:
        delivery.bring_file(file, f"{launch.directory}/wd")
    if delivery.downloaded_bytes:
        _count(world, work, delivery.downloaded_bytes)
    setup = delivery.setup._replace(packages=packages_of(world.account, references_of(spec)))
    if setup != READY:
        world.nodes.keep_setup(node, launch.directory, setup)
    return setup


def _count(world: World, work: Work, size: int) -> None:
    """Count the bytes that a process downloads; those of start tasks belong to no job (TASK-21)."""
    if work.job is None:
        world.blobs.count_start_task_download(size)
        return
    world.jobs.edit(work.job.row).count_bytes(downloaded=size)
    if work.task != NO_TASK:
        world.blobs.count_download(work.task, size)


def setup_of(world: World, node: int, directory: str) -> Setup:
    """Return the setup of the process that runs in this directory."""
    return world.nodes[node].setups.get(directory, READY)
