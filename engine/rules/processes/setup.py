"""Setup of a process on its node, and the reasons for which it never starts (TASK-7, RETRY-1).

In the order of the node agent: user, container settings, application packages, image, resource files. The setup is
decided when the process is to start, and kept with the node until it ends.

A user identity says which user runs a command, and which directories that user cannot write to. Users for remote login
are in ``node_operations``; the two have nothing to do with each other (USER-3). A task may run in a container, whose
image has a source (CONT).

Packages, images and resource files are delivered one after the other, at the rate of TIME-10. What is on the node
already, or on its way, is not fetched again (APP-2). Everything is decided when the delivery begins, by the answers of
Azure Storage at that moment (TASK-6, TASK-8, TASK-18 to TASK-20). What was uploaded is in storage with its size, and
its text where the node's file had one. What the scenario names is as ``simulate.storage`` describes it. Anything else
is there and empty, or with ``options.strictStorage`` missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import FailureInfo, failure
from engine.base.paths import (
    APPLICATIONS,
    STARTUP,
    InstalledPackage,
    TaskKind,
    name_of,
    package_directory,
    task_directory,
)
from engine.base.terms import OsFamily
from engine.rules.processes import node_disk
from engine.shell.protocol import READY, Setup
from engine.specs.account import BlobContent, SimulateStorage, without_query
from engine.specs.catalogue import DOWNLOAD_BYTES_PER_SECOND
from engine.specs.common import AutoUserScope, ElevationLevel
from engine.state.files import NO_TASK, Traffic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.shell.protocol import Launch
    from engine.specs.account import Account, ApplicationPackageReference, Package
    from engine.specs.bodies import PoolSpec, UserAccount
    from engine.specs.common import CommandLine, ContainerSettings, ResourceFile, UserIdentity
    from engine.specs.machine import ContainerConfiguration
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.world import World


_JOB_TASKS = (TaskKind.TASK, TaskKind.MANAGER, TaskKind.PRIMARY, TaskKind.SUBTASK)


def container_configuration_of(spec: PoolSpec) -> ContainerConfiguration | None:
    """Return the container configuration of a pool; None if it is no container pool."""
    machine = spec.virtual_machine_configuration
    return machine.container_configuration if machine is not None else None


def container_settings_verdict(
    pool: PoolSpec, kind: TaskKind, settings: ContainerSettings | None
) -> FailureInfo | None:
    """Return why a command cannot run with these container settings in the pool; None if it can (CONT-1, TASK-2).

    On a container pool every normal and job manager task needs them, and start, preparation and release tasks may have
    them; elsewhere no task may. The service accepts such a task and fails it when it is to start, since its job may
    still change its pool.
    """
    has_containers = container_configuration_of(pool) is not None
    if settings is not None and not has_containers:
        return failure("ContainerInvalidSettings", ("Message", "the pool has no containerConfiguration"))
    if settings is None and has_containers and kind in _JOB_TASKS:
        return failure("ContainerInvalidSettings", ("Message", "tasks of a container pool need containerSettings"))
    return None


def full_image_name(image: str) -> str:
    """Return the image with its tag, ``latest`` where none is given (CONT-1)."""
    last = image.rpartition("/")[2]
    return image if ":" in last or "@" in last else f"{image}:latest"


def registry_of_image(image: str, settings: ContainerSettings | None = None) -> str | None:
    """Return the registry server of the settings, or the one in the image's name; None is the public one."""
    if settings is not None and settings.registry is not None and settings.registry.registry_server is not None:
        return settings.registry.registry_server
    server, slash, _ = image.partition("/")
    return server if slash and ("." in server or ":" in server) else None


_NOT_MENTIONED = SimulateStorage.model_construct()
_EMPTY = BlobContent(0, "")


class FoundFile(NamedTuple):
    """A file to download: its path below that of the resource file, empty for a single blob, and its content."""

    path: str
    content: BlobContent


def description_in_storage(world: World, url: str) -> SimulateStorage:
    """Return the description of a blob, container or image; the first pattern that matches wins."""
    return world.storage.find(url) or _NOT_MENTIONED


def is_storage_out(world: World) -> bool:
    """Return whether storage does not answer at this moment (fault ``storageOutage``)."""
    return world.region.is_out(world.now_ms)


def is_access_expired(world: World, url: str) -> bool:
    """Return whether the access to a URL or package has expired, as that of a signature does (TASK-20).

    Where programs really run, storage decides that itself.
    """
    until_ms = world.storage.until_ms(url)
    return not world.scenario.executes and until_ms is not None and until_ms <= world.now_ms


def url_of_resource_file(file: ResourceFile) -> str:
    """Return the URL of the blob or container, or the name of the container, that a resource file stands for."""
    return file.http_url or file.storage_container_url or file.auto_storage_container_name or ""


def download(world: World, file: ResourceFile) -> list[FoundFile] | FailureInfo:
    """Return what a resource file brings now, or why it cannot be downloaded (TASK-6, RETRY-1, table ERR-T)."""
    if file.http_url:
        return _download_blob(world, file.http_url, ("FilePath", file.file_path or file.http_url))
    return _download_container(world, file)


def _download_blob(world: World, url: str, place: tuple[str, str]) -> list[FoundFile] | FailureInfo:
    if is_storage_out(world):
        return failure("BlobDownloadTimedOut", place)
    if is_access_expired(world, url):
        return failure("BlobAccessDenied", place)
    content = world.blobs.find(url)
    if content is None and world.storage.is_missing(url):
        return failure("BlobNotFound", place)
    content = content or world.storage.blob(url)
    if content is None and world.options.strict_storage:
        return failure("BlobNotFound", place)
    return [FoundFile("", content or _EMPTY)]


def _download_container(world: World, file: ResourceFile) -> list[FoundFile] | FailureInfo:
    """Return the blobs of a container that begin with the prefix, by name.

    A container of which the scenario only says the size is one file of that size with the container's name.
    """
    auto = file.auto_storage_container_name or ""
    url = file.storage_container_url or world.account.container_url(auto)
    # A scenario may name an automatic container by its name alone.
    named = auto if auto and world.storage.find(url) is None else url
    place = ("FilePath", file.file_path or url)
    if is_storage_out(world):
        return failure("ResourceContainerListTimedOut", place)
    if is_access_expired(world, named):
        return failure("ResourceContainerAccessDenied", place)
    if is_container_missing(world, named):
        return failure("ResourceContainerNotFound", place)
    settings, prefix = description_in_storage(world, named), file.blob_prefix or ""
    blobs = world.storage.blobs_in(named) | world.blobs.blobs_in(url)
    files = [FoundFile(name, blobs[name]) for name in sorted(blobs) if name.startswith(prefix)]
    if settings.size is not None:
        files.append(FoundFile(name_of(without_query(url)), BlobContent(settings.size)))
    return files


def is_container_missing(world: World, url: str) -> bool:
    """Return whether there is no such container: the scenario says so, or is strict and names none (TASK-19)."""
    return world.storage.is_missing(url) or (world.options.strict_storage and not world.storage.names_container(url))


def upload_failure(world: World, container_url: str) -> FailureInfo | None:
    """Return why nothing can be uploaded to a container now; None if it can (TASK-8, RETRY-1)."""
    place = ("Container", without_query(container_url))
    if is_storage_out(world):
        return failure("FileUploadTimedOut", place)
    if is_access_expired(world, container_url):
        return failure("FileUploadAccessDenied", place)
    if is_container_missing(world, container_url):
        return failure("FileUploadContainerNotFound", place)
    return None


class Delivery:
    """A delivery that begins now. After a failure the rest is left out."""

    def __init__(self, world: World, node: int) -> None:
        """Create a delivery that is complete already."""
        self._world, self._node = world, node
        self._ready_ms = world.now_ms
        self._failure: FailureInfo | None = None
        self.downloaded_bytes = 0  # of resource files (TASK-21)

    @property
    def setup(self) -> Setup:
        """The time from now until everything is there, or why it never will be."""
        return Setup(self._ready_ms - self._world.now_ms, self._failure)

    def refuse(self, why: FailureInfo | None) -> None:
        """Fail the delivery, unless ``why`` is None."""
        self._failure = self._failure or why

    def bring_reference(self, reference: ApplicationPackageReference) -> None:
        """Bring the package that a reference means; fail if there is none, or none any more (APP-3, APP-9)."""
        package = self._world.account.package_verdict(reference)
        if isinstance(package, str):
            self.refuse(package_failure(reference.application_id, reference.version, package))
        else:
            self._bring_package(package)

    def _bring_package(self, package: Package) -> None:
        """Bring an application package into a directory that all tasks on the node share (APP-2, APP-4, APP-7)."""
        directory = package_directory(package.application.id, package.version)
        revision = self._world.account_table.revision(package)
        is_current = self._world.nodes[self._node].revisions.get(directory, 0) == revision
        if self._failure is not None or (is_current and self._is_known(directory)):
            return
        blob = description_in_storage(self._world, blob_name(package))
        why = None
        if is_storage_out(self._world):
            why = "storage does not answer"
        elif blob.missing:
            why = f"{blob_name(package)} is not found"
        elif is_access_expired(self._world, blob_name(package)):
            why = f"access to {blob_name(package)} has expired"
        if why is not None:
            self._failure = package_failure(package.application.id, package.version, why)
        elif self._take(f"{directory}/{package.application.id}.zip", blob.size or package.size):
            self._arrives(directory)
            self._world.nodes.note_revision(self._node, directory, revision)

    def bring_image(self, image: str, registry: str | None) -> None:
        """Bring a container image, by its full name; the node keeps it (CONT-2). A storage outage does not matter."""
        if self._failure is not None or self._is_known(image):
            return
        if registry is not None and description_in_storage(self._world, registry).missing:
            self._failure = failure("ContainerInvalidRegistry", ("Registry", registry))
        elif description_in_storage(self._world, image).missing:
            self._failure = failure("ContainerInvalidImage", ("Image", image))
        else:
            self._takes_time(description_in_storage(self._world, image).size or 0)
            self._arrives(image)

    def bring_file(self, file: ResourceFile, directory: str) -> None:
        """Bring a resource file, or the blobs of a container each under its name, into a directory (TASK-6)."""
        if self._failure is not None:
            return
        files = download(self._world, file)
        if isinstance(files, FailureInfo):
            self._failure = files
            return
        root = self._world.root_of(self._world.pool_of(self._node))
        place = (file.file_path or "").strip("/\\")
        if not file.http_url:  # then the path names a directory
            known = self._world.storage.names_container(url_of_resource_file(file))
            self._world.disks.edit(self._node).mkdir(root.key(place, directory), known=known or bool(files))
        for name, content in files:
            key = root.key("/".join((place or ".", *_inner_names(name))), directory)
            if name and not self._world.disks[self._node].can_hold(key):  # blobs `a` and `a/b` cannot both be files
                self._failure = failure("BlobDownloadMiscError", ("FilePath", name))
                return
            is_whole = self._take(key, content.size, content.text)
            self.downloaded_bytes += self._world.disks[self._node].size(key)
            if not is_whole:
                return

    def _is_known(self, name: str) -> bool:
        """Return whether a package or image is on the node or on its way; if so, wait for it."""
        arrival_ms = self._world.nodes[self._node].arrivals.get(name)
        self._ready_ms = max(self._ready_ms, arrival_ms or 0)
        return arrival_ms is not None

    def _arrives(self, name: str) -> None:
        self._world.nodes.note_arrival(self._node, name, self._ready_ms)

    def _take(self, key: str, size: int, text: str | None = None) -> bool:
        """Put a file on the disk, or as much of it as fits; return whether all of it did (VM-4)."""
        fits = node_disk.take_space(self._world, self._node, key, size, text)
        self._takes_time(self._world.disks[self._node].size(key))
        if not fits:
            self._failure = failure("DiskFull", ("FilePath", key))
        return fits

    def _takes_time(self, size: int) -> None:
        begin_ms = self._ready_ms
        self._ready_ms += size * 1000 // DOWNLOAD_BYTES_PER_SECOND
        self._world.note_traffic(self._node, Traffic.DOWNLOAD, size, begin_ms, self._ready_ms)


def _inner_names(blob: str) -> list[str]:
    """Return the names of directories and file of a blob; none leads out of the directory that it goes to."""
    return [name for name in blob.replace("\\", "/").split("/") if name not in ("", ".", "..")]


def packages_of(account: Account, references: Iterable[ApplicationPackageReference]) -> tuple[InstalledPackage, ...]:
    """Return the packages of these references (APP-3, APP-6); a reference without a package is left out."""
    found = ((reference, account.package_verdict(reference)) for reference in references)
    return tuple(
        InstalledPackage(package.application.id, package.version, pinned=reference.version is not None)
        for reference, package in found
        if not isinstance(package, str)
    )


def blob_name(package: Package) -> str:
    """Return the name of a package in ``simulate.storage``. DECISION: ``app-<application id>/<version>``.

    Packages are blobs of the linked storage account (APP-1); a size given there wins over the application's.
    """
    return f"app-{package.application.id.lower()}/{package.version}"


def package_failure(application_id: str, version: str | None, why: str) -> FailureInfo:
    """Return the failure of a package that is not installed (APP-3, APP-4)."""
    named = (("ApplicationId", application_id), *((("Version", version),) if version else ()))
    return failure("ApplicationPackageError", *named, ("Message", why))


def discard_unfinished_packages(world: World, node: int) -> None:
    """Delete the packages whose delivery was cut short from the disk of a node that boots."""
    arrivals = world.nodes[node].arrivals
    for application in world.disks[node].listdir(APPLICATIONS):
        for version in world.disks[node].listdir(f"{APPLICATIONS}/{application}"):
            directory = f"{APPLICATIONS}/{application}/{version}"
            if directory not in arrivals:
                world.disks.edit(node).delete(directory)


class User(NamedTuple):
    """The user that runs a command on a node."""

    name: str
    is_admin: bool


def user_of(pool: PoolSpec, identity: UserIdentity, directory: str) -> User:
    """Return the user that a command with this directory runs as (USER-1).

    Without a scope an auto user has the task's on Windows and the pool's on Linux. A node has two auto users of the
    pool's scope, one of them an administrator.
    """
    account = account_of(pool, identity)
    if account is not None:
        return User(account.name, account.elevation_level is ElevationLevel.ADMIN)
    of_pool, is_admin = _auto_user(pool, identity)
    return User(f"{'pool' if of_pool else directory} ({'admin' if is_admin else 'nonadmin'})", is_admin)


def _auto_user(pool: PoolSpec, identity: UserIdentity) -> tuple[bool, bool]:
    """Return whether an auto user has the scope of the pool, and whether it is an administrator."""
    auto = identity.auto_user
    is_admin = auto is not None and auto.elevation_level is ElevationLevel.ADMIN
    if auto is not None and "scope" in auto.model_fields_set and auto.scope is not None:
        return auto.scope is AutoUserScope.POOL, is_admin
    return pool.os_family is OsFamily.LINUX, is_admin


def user_name_of(pool: PoolSpec, identity: UserIdentity, directory: str) -> str:
    """Return the name of the user that a command runs as, as its processes see it (ENV-4)."""
    account = account_of(pool, identity)
    if account is not None:
        return account.name
    of_pool, is_admin = _auto_user(pool, identity)
    if pool.os_family is not OsFamily.LINUX:
        return f"{'Pool' if of_pool else 'Task'}{'Admin' if is_admin else 'NonAdmin'}"
    if of_pool:
        return "_azbatchsudo" if is_admin else "_azbatch"
    return f"_azbatchtask_{'start' if directory == STARTUP else '1'}"


def account_of(pool: PoolSpec, identity: UserIdentity) -> UserAccount | None:
    """Return the pool's user account that an identity names, which every node has (USER-2); None if there is none."""
    wanted = (identity.username or "").lower()
    return next((account for account in pool.user_accounts if account.name.lower() == wanted), None)


def user_verdict(pool: PoolSpec, identity: UserIdentity) -> FailureInfo | None:
    """Return why a command cannot run as this user; None if it can (USER-1). DECISION for the code."""
    if identity.username is None or account_of(pool, identity) is not None:
        return None
    return failure("CommandLaunchFailed", ("Message", f"the pool has no user account {identity.username}"))


def read_only_directories(
    world: World, node: int, job: Job | None, kind: TaskKind, identity: UserIdentity, directory: str
) -> tuple[str, ...]:
    """Return the directories of start and preparation task that a process cannot write to (FILE-12).

    It can if it runs as their user, or as an administrator.
    """
    pool, start = world.pool_of(node).spec, world.nodes[node].start_spec
    prep = job.spec.job_preparation_task if job is not None else None
    if start is None and prep is None:
        return ()
    user = user_of(pool, identity, directory)
    owners: list[tuple[str, User]] = []
    if start is not None and kind is not TaskKind.START:
        owners.append((STARTUP, user_of(pool, start.user_identity, STARTUP)))
    if job is not None and prep is not None and kind is not TaskKind.PREP:
        place = task_directory(job.id, prep.id)
        owners.append((place, user_of(pool, prep.user_identity, place)))
    return tuple(place for place, owner in owners if owner != user and not user.is_admin)


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
            pool is not None and (pool.spec.certificate_references or container_settings_verdict(pool.spec, kind, None))
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
    delivery.refuse(user_verdict(pool.spec, spec.user_identity))
    delivery.refuse(container_settings_verdict(pool.spec, launch.kind, spec.container_settings))
    for reference in references_of(spec):
        if world.options.classic_packages and pool.os is OsFamily.LINUX:  # APP-5
            why = "Linux nodes have no application packages"
            delivery.refuse(package_failure(reference.application_id, reference.version, why))
        else:
            delivery.bring_reference(reference)
    if spec.container_settings is not None:
        image = full_image_name(spec.container_settings.image_name)
        delivery.bring_image(image, registry_of_image(image, spec.container_settings))
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
