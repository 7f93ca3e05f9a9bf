"""What is brought to a node before something can run there: packages, container images, resource files (TIME-10).

One thing after the other, at the rate of TIME-10. What is on the node already, or on its way, is not fetched again
(APP-2). Everything is decided when the delivery begins, by what storage answers then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.failures import failure
from engine.base.paths import name_of, package_directory
from engine.executors.protocol import Setup
from engine.rules.decisions import storage
from engine.rules.decisions.packages import blob_name
from engine.rules.processes import disk_space
from engine.specs.catalogue import DOWNLOAD_BYTES_PER_SECOND

if TYPE_CHECKING:
    from engine.base.failures import FailureInfo
    from engine.specs.account import Package
    from engine.specs.common import ResourceFile
    from engine.world.world import World


class Delivery:
    """A delivery that begins now; once something fails the rest is left out."""

    def __init__(self, world: World, node: int) -> None:
        """Begin with nothing to wait for."""
        self._world, self._node = world, node
        self._ready_ms = world.now_ms
        self._failure: FailureInfo | None = None

    @property
    def setup(self) -> Setup:
        """When all is there, from now, or why it will not be."""
        return Setup(self._ready_ms - self._world.now_ms, self._failure)

    def refuse(self, why: FailureInfo | None) -> None:
        """Something stands in the way, unless ``why`` is None."""
        self._failure = self._failure or why

    def bring_package(self, package: Package) -> None:
        """An application package, into a directory that all tasks on the node share (APP-2, APP-4, APP-7)."""
        directory = package_directory(package.application.id, package.version)
        if self._failure is not None or self._is_known(directory):
            return
        blob = storage.found(self._world, blob_name(package))
        if storage.is_out(self._world) or blob.missing:
            why = "storage does not answer" if storage.is_out(self._world) else f"{blob_name(package)} is not found"
            self._failure = package_failure(package.application.id, package.version, why)
        elif self._take(f"{directory}/{package.application.id}.zip", blob.size or package.size):
            self._arrives(directory)

    def bring_image(self, image: str, registry: str | None) -> None:
        """A container image, by its full name; the node keeps it (CONT-2). Registries are no storage accounts."""
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
        """A resource file into a directory, or the blobs of a container, which one file stands for (TASK-6)."""
        if self._failure is not None:
            return
        self._failure = storage.download_failure(self._world, file)
        if self._failure is not None:
            return
        path = file.file_path or ""
        if not file.http_url:  # then the path is that of a directory
            path = f"{path}/{name_of(storage.url_of(file).rstrip('/'))}"
        root = self._world.root_of(self._world.pool_of(self._node))
        self._take(root.key(path.strip("/\\"), directory), storage.found(self._world, storage.url_of(file)).size or 0)

    def _is_known(self, name: str) -> bool:
        """Whether a package or image is on the node, or arrives by itself: then it is waited for."""
        arrival_ms = self._world.nodes[self._node].arrivals.get(name)
        self._ready_ms = max(self._ready_ms, arrival_ms or 0)
        return arrival_ms is not None

    def _arrives(self, name: str) -> None:
        self._world.nodes.edit(self._node).arrivals[name] = self._ready_ms

    def _take(self, key: str, size: int) -> bool:
        """Put a file on the disk, or as much of it as there is room for (VM-4)."""
        fits = disk_space.take(self._world, self._node, key, size)
        self._takes_time(self._world.disks[self._node].size(key))
        if not fits:
            self._failure = failure("DiskFull", ("FilePath", key))
        return fits

    def _takes_time(self, size: int) -> None:
        self._ready_ms += size * 1000 // DOWNLOAD_BYTES_PER_SECOND


def package_failure(application_id: str, version: str | None, why: str) -> FailureInfo:
    """Why a package is not installed (APP-3, APP-4)."""
    named = (("ApplicationId", application_id), *((("Version", version),) if version else ()))
    return failure("ApplicationPackageError", *named, ("Message", why))
