"""Blocks of packages, images, files, certificates and users of pools, nodes and tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.views.pages.acts import task_acts
from engine.views.pages.provisioning import node_contents
from tui.viewmodels.text.blocks import Block, block_of, row
from tui.viewmodels.text.styled import Role, Span

if TYPE_CHECKING:
    from engine.specs.pool import PoolSpec
    from engine.views.pages.provisioning import InstalledItem, Needs, NodeContents
    from tui.viewmodels.session.session import Session

_GIB = 1024**3
_LINE_END = "\r\n"  # of an RDP file


def pool_blocks(spec: PoolSpec) -> list[Block]:
    """Return what the pool installs on each of its nodes; nothing if that is nothing."""
    rows = [
        row("Application package", f"{reference.application_id} {reference.version or '(default version)'}")
        for reference in spec.application_package_references
    ]
    machine = spec.virtual_machine_configuration
    configuration = machine.container_configuration if machine is not None else None
    if configuration is not None:
        rows += [row("Container image", name) for name in configuration.container_image_names or ("none prefetched",)]
    rows += [row("Certificate", reference.thumbprint) for reference in spec.certificate_references]
    rows += [row("User account", f"{user.name}, {user.elevation_level.value}") for user in spec.user_accounts]
    rows += [row("Mount", mount.given.relative_mount_path) for mount in spec.mount_configuration if mount.given]
    return block_of("On each node", rows)


def node_blocks(session: Session, found: NodeContents) -> list[Block]:
    """Return the disk of a node with these contents, what has been installed on it, and who can log in."""
    used, capacity = found.used_bytes / _GIB, found.capacity_bytes / _GIB
    disk = Block("Disk", (row("Used", f"{used:,.1f} of {capacity:,.0f} GiB"),))
    rows = [_supply(session, supply) for supply in found.supplies]
    rows += [row("Certificate", thumbprint) for thumbprint in found.certificates]
    if found.is_behind:
        rows.append(row("Outdated", "the pool has changed; applied at the next boot (POOL-15)", Role.WARNING))
    users = [row("Remote login", found.login_address)]
    if found.rdp_file is not None:
        users += [row("RDP file", found.rdp_file.partition(_LINE_END)[0]), row("", "e writes it")]
        if not found.logins:
            users.append(row("", "nobody can log in yet: a adds a user (NOP-9)", Role.WARNING))
    users += [row("User account", f"{name}, for tasks") for name in found.accounts]
    for login in found.logins:
        kind = "administrator" if login.is_admin else "user"
        users.append(row(login.name, f"{kind} until {session.clock(login.expiry_ms)}"))
    return [disk, *block_of("Installed on the node", rows), *block_of("Users", users)]


class RdpFile(NamedTuple):
    """A file that opens a Remote Desktop session; without text ``refusal`` says why there is none."""

    name: str
    text: str | None
    refusal: str


def rdp_file(session: Session, node: int) -> RdpFile:
    """Return the RDP file of a Windows node; somebody can log in with it once there is a user (NOP-9, NOP-10)."""
    here = session.nodes().row(node)
    if here.state is None:
        return RdpFile("", None, f"n{here.position} has left the pool.")
    found = node_contents(session.simulation, node)
    if found.rdp_file is None:
        return RdpFile("", None, f"No RDP file for n{here.position}. Remote login: {found.login_address}.")
    return RdpFile(f"{here.node_id}.rdp", found.rdp_file, "")


def _supply(session: Session, supply: InstalledItem) -> tuple[str, Span]:
    label = "Container image" if supply.is_image else "Application package"
    whose = "of the pool" if supply.is_pools else "of tasks"
    clock = session.clock(supply.ready_ms)
    if supply.ready_ms > session.now_ms:
        return row(label, f"{supply.name}, {whose}, ready at {clock}", Role.TRANSITION)
    return row(label, f"{supply.name}, {whose}, since {clock}")


def task_blocks(session: Session, task: int, needs: Needs) -> list[Block]:
    """Return what the task needs, and what its process does and waits for; nothing of either if there is none."""
    rows = [row("Application package", package) for package in needs.packages]
    rows += [row("Container image", needs.image)] if needs.image is not None else []
    rows += [row("Resource file", file) for file in needs.files]
    rows += [row("User", needs.user)] if needs.user is not None else []
    if needs.ready_ms is not None:
        rows.append(row("All ready", f"at {session.clock(needs.ready_ms)}: then the command starts", Role.TRANSITION))
    acts = (("", Span(sentence)) for sentence in task_acts(session.simulation, task))
    return [*block_of("Needs", rows), *block_of("While it runs", acts)]
