"""The hardware and the operating system of nodes (VM-3, POOL-5, POOL-26)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.shortening import shortened
from engine.specs import images
from engine.specs.catalogue import vm_size
from engine.specs.guest_os import FAMILIES, NEWEST
from tui.viewmodels.text.blocks import Block, row
from tui.viewmodels.text.styled import Role, Span

if TYPE_CHECKING:
    from datetime import datetime

    from engine.specs.machine import ImageReference
    from engine.specs.pool import PoolSpec

_Row = tuple[str, Span]


def hardware(size_name: str) -> list[_Row]:
    """Return the cores, memory and local disk of a VM size (VM-3, VM-4)."""
    size = vm_size(size_name)
    if size is None:
        return []
    disk = f"{size.temp_disk_gib:,g} GiB" if size.temp_disk_gib else f"none, {size.task_disk_gib:g} GiB of OS disk"
    return [
        row("Cores", size.cores),
        row("Memory", f"{size.memory_gib:,g} GiB"),
        row("Local disk", disk),
    ]


def operating_system(spec: PoolSpec, start: datetime) -> Block:
    """Return the operating system of a pool's nodes; ``start`` is the moment at which its support counts."""
    title = "Operating system"
    service = spec.cloud_service_configuration
    if service is not None:
        family = FAMILIES[service.os_family]
        follows = service.os_version == NEWEST
        version = "newest, upgrades itself (POOL-28)" if follows else "fixed (POOL-5)"
        return Block(
            title,
            (
                row("OS family", f"{service.os_family}, Windows Server {family.server}"),
                row(".NET Framework", family.dot_net),
                row("OS version", f"{service.os_version}  {version}"),
            ),
        )
    machine = spec.virtual_machine_configuration
    if machine is None:
        image = images.DEFAULT_IMAGE
        rows = [*_marketplace(image.publisher, image.offer, image.sku, start)]
        return Block(title, (*rows, row("Node agent SKU ID", image.node_agent_sku_id)))
    return Block(title, (*_image(machine.image_reference, start), row("Node agent SKU ID", machine.node_agent_sku_id)))


def _image(image: ImageReference, start: datetime) -> list[_Row]:
    if image.publisher and image.offer and image.sku:
        return _marketplace(image.publisher, image.offer, image.sku, start)
    image_id = image.virtual_machine_image_id or image.shared_gallery_image_id or image.community_gallery_image_id
    return [row("Image", shortened(image_id or ""))]


def _marketplace(publisher: str, offer: str, sku: str, start: datetime) -> list[_Row]:
    known = images.find(publisher, offer, sku)
    name = row("Image", " ".join(map(shortened, (publisher, offer, sku))))
    if known is None:
        return [name, row("Support", "not in the catalogue (POOL-26)", Role.DIM)]
    has_ended = known.has_ended(start)
    said = f"{'ended on' if has_ended else 'until'} {known.end_of_support}"
    return [name, row("Support", said, Role.FAILED if has_ended else Role.PLAIN)]
