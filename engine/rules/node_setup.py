"""The setup of a booting node before its start task (START-3): packages, container images and file systems.

The references are those of the pool at the moment of the boot (POOL-15, APP-5). What cannot be had makes the node
unusable, and only a reboot tries again (APP-4, CONT-2, FILE-13).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.failures import failure
from engine.base.paths import MOUNTS
from engine.rules.decisions import containers, storage
from engine.rules.processes import disk_space
from engine.rules.processes.deliveries import Delivery
from engine.specs.machine import AzureBlobFileSystemConfiguration, AzureFileShareConfiguration
from engine.world.facts import NodeBroken, NodeSetUp

if TYPE_CHECKING:
    from engine.base.failures import FailureInfo
    from engine.specs.machine import MountConfiguration
    from engine.world.facts import NodeBooted
    from engine.world.world import World


def node_booted(world: World, booted: NodeBooted) -> None:
    """Bring to the node what its pool asks for (START-3, CERT-2)."""
    node = booted.node
    world.nodes.edit(node).assign(is_set_up=True)
    pool = world.pool_of(node)
    delivery = Delivery(world, node)
    if disk_space.is_full(world, node):
        delivery.refuse(failure("DiskFull"))
    for reference in pool.spec.application_package_references:
        package = world.account.package_verdict(reference)
        assert not isinstance(package, str)  # checked when the pool was created or changed (APP-3)
        delivery.bring_package(package)
    configuration = containers.configuration_of(pool.spec)
    for name in configuration.container_image_names if configuration is not None else ():
        image = containers.full_name(name)
        delivery.bring_image(image, containers.registry_of(image))
    for mount in pool.spec.mount_configuration:
        delivery.refuse(_mount(world, node, mount))
    delay_ms, why = delivery.setup
    if why is not None:
        world.emit(NodeBroken(node, why.code, why.details))
    elif delay_ms:
        world.enter_node_step(node, delay_ms)
    else:
        world.emit(NodeSetUp(node))


def _mount(world: World, node: int, mount: MountConfiguration) -> FailureInfo | None:
    """Make one file system available below ``fsmounts``; return why it cannot be, or None (FILE-13).

    What tasks write there stays on the node: other nodes do not see it. DECISION.
    """
    given = mount.given
    assert given is not None  # checked when the pool was created
    match given:
        case AzureBlobFileSystemConfiguration():
            source, is_azure = given.url, True
        case AzureFileShareConfiguration():
            source, is_azure = given.azure_file_url, True
        case _:
            source, is_azure = given.source, False
    if (is_azure and storage.is_out(world)) or storage.found(world, source).missing:
        path = given.relative_mount_path
        return failure("MountConfigurationError", ("Source", source), ("RelativeMountPath", path))
    world.disks.edit(node).mkdir(f"{MOUNTS}/{given.relative_mount_path.strip('/')}")
    return None
