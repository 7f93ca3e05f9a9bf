"""What comes before a process on its node, and why it never starts (TASK-7, RETRY-1).

In the order in which the node agent does it: the user, the container's settings, application packages, the image,
resource files. It is decided when the process is to start and kept with the node until it ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.executors.protocol import READY
from engine.rules.decisions import containers
from engine.rules.processes import identities
from engine.rules.processes.deliveries import Delivery, package_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.base.environment import TaskKind
    from engine.executors.protocol import Launch, Setup
    from engine.specs.common import ApplicationPackageReference, CommandLine, ResourceFile
    from engine.state.pools import Pool
    from engine.world.world import World


def may_matter(pool: Pool | None, kind: TaskKind, spec: CommandLine) -> bool:
    """Whether anything but resource files can come before such a process: then it is no plain one."""
    return bool(
        references_of(spec)
        or spec.container_settings is not None
        or spec.user_identity.username is not None
        or (pool is not None and (pool.certificates or containers.settings_verdict(pool.spec, kind, None)))
    )


def references_of(spec: CommandLine) -> tuple[ApplicationPackageReference, ...]:
    """The packages a task asks for itself; start, preparation and release tasks cannot (PREP-2)."""
    references: tuple[ApplicationPackageReference, ...] = getattr(spec, "application_package_references", ())
    return references


def set_up(
    world: World, node: int, launch: Launch, spec: CommandLine, further: Sequence[tuple[ResourceFile, str]] = ()
) -> Setup:
    """Begin with what comes before this process; returns how long it takes, or why the process never starts.

    ``further`` are files beside its own, and the directories they go to.
    """
    pool = world.pool_of(node)
    forget(world, node, launch.directory)
    if not (further or spec.resource_files or may_matter(pool, launch.kind, spec)):
        return READY
    delivery = Delivery(world, node)
    delivery.refuse(identities.user_verdict(pool.spec, spec.user_identity))
    delivery.refuse(containers.settings_verdict(pool.spec, launch.kind, spec.container_settings))
    for reference in references_of(spec):
        package = world.account.package_verdict(reference)
        if isinstance(package, str):
            delivery.refuse(package_failure(reference.application_id, reference.version, package))
        else:
            delivery.bring_package(package)
    if spec.container_settings is not None:
        image = containers.full_name(spec.container_settings.image_name)
        delivery.bring_image(image, containers.registry_of(image, spec.container_settings))
    for file, directory in further:
        delivery.bring_file(file, directory)
    for file in launch.resource_files:
        delivery.bring_file(file, f"{launch.directory}/wd")
    setup = delivery.setup
    if setup != READY:
        world.nodes.edit(node).setups[launch.directory] = setup
    return setup


def forget(world: World, node: int, directory: str) -> None:
    """The process that ran in this directory has ended."""
    if directory in world.nodes[node].setups:
        del world.nodes.edit(node).setups[directory]


def setup_of(world: World, node: int, directory: str) -> Setup:
    """What came before the process that runs in this directory."""
    return world.nodes[node].setups.get(directory, READY)
