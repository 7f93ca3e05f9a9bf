"""Checks of a pool's machines (POOL-4, POOL-23, FILE-13)."""

from __future__ import annotations

from collections.abc import Iterator

from engine.base.shortening import quoted
from engine.base.terms import OsFamily
from engine.specs import images
from engine.specs.machine import (
    ImageReference,
    MountConfiguration,
    NodePlacementPolicy,
    RollingUpgradePolicy,
    VirtualMachineConfiguration,
)
from engine.specs.pool import PoolSpecification
from engine.specs.refusals.parts import Path, Refusal, at_least_refusals, exactly_one_refusals, invalid, missing

_MOUNTS = tuple(MountConfiguration.model_fields)
_MARKETPLACE = ("publisher", "offer", "sku")


def machine_refusals(spec: PoolSpecification) -> Iterator[Refusal]:
    """Yield what the service refuses in the virtual machine configuration (POOL-4)."""
    machine = spec.virtual_machine_configuration
    if machine is None:
        return
    path: Path = ("virtualMachineConfiguration",)
    yield from _image(machine.image_reference, (*path, "imageReference"))
    yield from _node_agent(machine, (*path, "nodeAgentSKUId"))
    if machine.windows_configuration is not None and spec.os_family is OsFamily.LINUX:
        yield invalid((*path, "windowsConfiguration"), "must be absent from a Linux pool")
    yield from _disks(machine, (*path, "dataDisks"))


def _image(image: ImageReference, path: Path) -> Iterator[Refusal]:
    parts = [name for name in _MARKETPLACE if getattr(image, name) is not None]
    ids = [
        name
        for name, value in (
            ("virtualMachineImageId", image.virtual_machine_image_id),
            ("sharedGalleryImageId", image.shared_gallery_image_id),
            ("communityGalleryImageId", image.community_gallery_image_id),
        )
        if value is not None
    ]
    if ids and (parts or len(ids) > 1):
        yield invalid((*path, ids[-1]), f"excludes {(parts + ids)[0]}, which is also given")
    elif not ids:
        for name in _MARKETPLACE:
            if name not in parts:
                yield missing((*path, name), "a marketplace image needs publisher, offer and sku")


def _node_agent(machine: VirtualMachineConfiguration, path: Path) -> Iterator[Refusal]:
    """Check that the node agent fits an image that the catalogue knows; others are accepted (POOL-26)."""
    reference, agent = machine.image_reference, machine.node_agent_sku_id
    image = images.find(reference.publisher or "", reference.offer or "", reference.sku or "")
    if image is not None and not image.takes(agent):
        name = f"{image.publisher} {image.offer} {image.sku}"
        yield invalid(path, f"is {quoted(agent)}, must be {image.node_agent_sku_id!r} for the image {name}")


def _disks(machine: VirtualMachineConfiguration, path: Path) -> Iterator[Refusal]:
    seen: set[int] = set()
    for index, disk in enumerate(machine.data_disks):
        if not 0 <= disk.lun <= 63:
            yield invalid((*path, index, "lun"), f"is {disk.lun}, must be 0 to 63")
        if disk.lun in seen:
            yield invalid((*path, index, "lun"), f"another disk also has {disk.lun}")
        seen.add(disk.lun)
        yield from at_least_refusals(disk.disk_size_gb, 1, (*path, index, "diskSizeGB"))


def mounts_refusals(mounts: tuple[MountConfiguration, ...]) -> Iterator[Refusal]:
    """Yield what the service refuses in the mounts (FILE-13)."""
    path: Path = ("mountConfiguration",)
    if len(mounts) > 10:
        yield invalid(path, f"has {len(mounts)} file systems, 10 are allowed")
    for index, mount in enumerate(mounts):
        yield from exactly_one_refusals(mount, _MOUNTS, (*path, index))


def upgrade_policy_refusals(spec: PoolSpecification) -> Iterator[Refusal]:
    """Yield what the service refuses in the upgrade policy (POOL-23)."""
    policy, machine = spec.upgrade_policy, spec.virtual_machine_configuration
    if policy is None:
        return
    automatic = policy.automatic_os_upgrade_policy
    windows = machine.windows_configuration if machine else None
    if automatic and automatic.enable_automatic_os_upgrade and windows and windows.enable_automatic_updates:
        path: Path = ("upgradePolicy", "automaticOSUpgradePolicy", "enableAutomaticOSUpgrade")
        yield invalid(path, "excludes windowsConfiguration.enableAutomaticUpdates, which is true")
    if policy.rolling_upgrade_policy is not None:
        placement = machine.node_placement_configuration if machine else None
        zonal = placement is not None and placement.policy is NodePlacementPolicy.ZONAL
        yield from _rolling(policy.rolling_upgrade_policy, ("upgradePolicy", "rollingUpgradePolicy"), zonal=zonal)


def _rolling(policy: RollingUpgradePolicy, path: Path, *, zonal: bool) -> Iterator[Refusal]:
    for name, value, least in (
        ("maxBatchInstancePercent", policy.max_batch_instance_percent, 5),
        ("maxUnhealthyInstancePercent", policy.max_unhealthy_instance_percent, 5),
        ("maxUnhealthyUpgradedInstancePercent", policy.max_unhealthy_upgraded_instance_percent, 0),
    ):
        if value is not None and not least <= value <= 100:
            yield invalid((*path, name), f"is {value}, must be {least} to 100")
    if policy.enable_cross_zone_upgrade is not None and not zonal:
        yield invalid((*path, "enableCrossZoneUpgrade"), "is for pools with zonal node placement only")
