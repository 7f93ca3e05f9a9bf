"""Deliveries to nodes before a process can run: packages, container images and resource files.

They come one after the other, at the rate of TIME-10. What is on the node already, or on its way, is not fetched again
(APP-2). Everything is decided when the delivery begins, by what storage answers then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.environment import InstalledPackage
from engine.base.failures import FailureInfo, failure
from engine.base.paths import APPLICATIONS, package_directory
from engine.executors.protocol import Setup
from engine.rules.decisions import storage
from engine.rules.processes import disk_space
from engine.specs.catalogue import DOWNLOAD_BYTES_PER_SECOND
from engine.state.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.specs.account import Account, Package
    from engine.specs.common import ApplicationPackageReference, ResourceFile
    from engine.world.world import World


class Delivery:
    """A delivery that begins now. After a failure the rest is left out."""

    def __init__(self, world: World, node: int) -> None:
        """Begin without anything to wait for."""
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
        blob = storage.found(self._world, blob_name(package))
        if storage.is_out(self._world) or blob.missing:
            why = "storage does not answer" if storage.is_out(self._world) else f"{blob_name(package)} is not found"
            self._failure = package_failure(package.application.id, package.version, why)
        elif self._take(f"{directory}/{package.application.id}.zip", blob.size or package.size):
            self._arrives(directory)
            self._world.nodes.note_revision(self._node, directory, revision)

    def bring_image(self, image: str, registry: str | None) -> None:
        """Bring a container image, by its full name; the node keeps it (CONT-2). A storage outage does not matter."""
        if self._failure is not None or self._is_known(image):
            return
        if registry is not None and storage.found(self._world, registry).missing:
            self._failure = failure("ContainerInvalidRegistry", ("Registry", registry))
        elif storage.found(self._world, image).missing:
            self._failure = failure("ContainerInvalidImage", ("Image", image))
        else:
            self._takes_time(storage.found(self._world, image).size or 0)
            self._arrives(image)

    def bring_file(self, file: ResourceFile, directory: str) -> None:
        """Bring a resource file, or the blobs of a container each under its name, into a directory (TASK-6)."""
        if self._failure is not None:
            return
        files = storage.download(self._world, file)
        if isinstance(files, FailureInfo):
            self._failure = files
            return
        root = self._world.root_of(self._world.pool_of(self._node))
        place = (file.file_path or "").strip("/\\")
        if not file.http_url:  # then the path names a directory
            self._world.disks.edit(self._node).mkdir(root.key(place, directory))
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
        fits = disk_space.take(self._world, self._node, key, size, text)
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
