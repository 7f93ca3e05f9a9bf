"""Packages, images, certificates and users on a node, and what its processes wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import BatchError
from engine.base.paths import APPLICATIONS, package_directory, task_directory
from engine.base.terms import TaskState
from engine.rules.decisions import containers
from engine.rules.decisions.storage import url_of
from engine.rules.processes import disk_space, setup
from engine.views.rest.nodes import remote_desktop_file, remote_login_settings

if TYPE_CHECKING:
    from engine import Simulation
    from engine.specs.common import CommandLine
    from engine.world.world import World


class InstalledItem(NamedTuple):
    """A package or an image on a node, or on its way there; ``ready_ms`` is ms since the start."""

    name: str
    ready_ms: int
    is_image: bool
    is_pools: bool  # the pool asked for it when the node booted


class LoginUser(NamedTuple):
    """A user for remote login (NOP-9)."""

    name: str
    is_admin: bool
    expiry_ms: int


class NodeContents(NamedTuple):
    """The contents of a node beside its tasks."""

    login_address: str  # for remote login (NOP-10), or why there is none
    rdp_file: str | None  # the text of the file that opens a session, on Windows
    supplies: tuple[InstalledItem, ...]
    certificates: tuple[str, ...]
    accounts: tuple[str, ...]  # user accounts of the pool (USER-2)
    logins: tuple[LoginUser, ...]
    is_behind: bool  # the pool's packages or certificates have changed since (POOL-15)
    used_bytes: int
    capacity_bytes: int

    def next_ms(self, now_ms: int) -> int | None:
        """Return the next moment at which something is installed, or a login expires; None if nothing of it is left."""
        moments = (*(item.ready_ms for item in self.supplies), *(login.expiry_ms for login in self.logins))
        return min((moment for moment in moments if moment > now_ms), default=None)


class Needs(NamedTuple):
    """The needs of a command line, in words."""

    packages: tuple[str, ...]
    image: str | None
    files: tuple[str, ...]
    user: str | None
    ready_ms: int | None  # when all is there; None if no process waits


def packages_and_images(world: World, node: int) -> tuple[InstalledItem, ...]:
    """Return the packages, then the images on a node, each in alphabetical order."""
    record, configuration = world.nodes[node], containers.configuration_of(world.pool_of(node).spec)
    of_pool = {package_directory(package.application_id, package.version) for package in record.packages}
    if configuration is not None:
        of_pool.update(map(containers.full_name, configuration.container_image_names))
    found = []
    for name, ready_ms in record.arrivals.items():
        is_package = name.startswith(f"{APPLICATIONS}/")
        words = " ".join(name.split("/", 2)[1:]) if is_package else name
        found.append(InstalledItem(words, ready_ms, not is_package, name in of_pool))
    return tuple(sorted(found, key=lambda supply: (supply.is_image, supply.name)))


def is_behind(world: World, node: int) -> bool:
    """Return whether the pool asks for other packages or certificates than when the node booted (POOL-15, APP-5)."""
    record, pool = world.nodes[node], world.pool_of(node)
    if record.boot_ms is None:
        return False
    packages = [
        package
        for reference in pool.spec.application_package_references
        if not isinstance(package := world.account.package_verdict(reference), str)
    ]
    asked = [(package.application.id, package.version) for package in packages]
    has = [(package.application_id, package.version) for package in record.packages]
    if sorted(asked) != sorted(has) or pool.spec.certificate_references != record.certificates:
        return True
    revisions = ((package_directory(each.application.id, each.version), each) for each in packages)
    return record.is_set_up and any(
        record.revisions.get(directory, 0) != world.account_table.revision(package) for directory, package in revisions
    )


def node_contents(sim: Simulation, node: int) -> NodeContents:
    """Return the contents of one node."""
    world = sim.world
    record, pool = world.nodes[node], world.pool_of(node)
    logins = (LoginUser(name, is_admin, expiry_ms) for name, (is_admin, expiry_ms) in sorted(record.users.items()))
    rdp_file = _rdp_file(world, node)
    return NodeContents(
        _login_address(world, node, rdp_file),
        rdp_file,
        packages_and_images(world, node),
        tuple(reference.thumbprint for reference in record.certificates),
        tuple(account.name for account in pool.spec.user_accounts),
        tuple(login for login in logins if login.expiry_ms > sim.now_ms),
        is_behind(world, node),
        world.disks[node].used_bytes,
        disk_space.capacity_bytes(pool),
    )


def _rdp_file(world: World, node: int) -> str | None:
    try:
        return remote_desktop_file(world, node)
    except BatchError:
        return None


def _login_address(world: World, node: int, rdp_file: str | None) -> str:
    try:
        settings = remote_login_settings(world, node)
    except BatchError as refusal:
        return "RDP, with the file below" if rdp_file is not None else f"none: {refusal.values['Reason']}"
    protocol = "SSH" if rdp_file is None else "RDP"
    return f"{protocol} to {settings['remoteLoginIPAddress']} port {settings['remoteLoginPort']}"


def task_needs(sim: Simulation, task: int) -> Needs:
    """Return the needs of a task, and until when its process waits for them."""
    world = sim.world
    tasks, spec = world.tasks, world.tasks.spec(task)
    if tasks.state_of(task) is not TaskState.RUNNING:
        return needs_of(spec, None)
    directory = task_directory(world.jobs[tasks.profile_of(task).job].id, tasks.task_id(task))
    when_ms = ready_ms(world, tasks.node[task], directory, tasks.started[task])
    return needs_of(spec, when_ms if when_ms > sim.now_ms else None)


def ready_ms(world: World, node: int, directory: str, started_ms: int) -> int:
    """Return the moment when a started process has or had all that it needs (TASK-7)."""
    return started_ms + setup.setup_of(world, node, directory).delay_ms


def needs_of(spec: CommandLine, ready: int | None) -> Needs:
    """Return the needs of a command line; ``ready`` is when its process has them, None if nothing waits."""
    packages = tuple(
        f"{reference.application_id} {reference.version or '(default version)'}"
        for reference in setup.references_of(spec)
    )
    image = spec.container_settings.image_name if spec.container_settings is not None else None
    files = (
        f"{file.file_path} from {url_of(file)}" if file.file_path else url_of(file) for file in spec.resource_files
    )
    return Needs(packages, image, tuple(files), spec.user_identity.username, ready)
