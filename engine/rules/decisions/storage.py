"""Answers of Azure Storage about blobs and containers, as ``simulate.storage`` describes them (TASK-6, TASK-8).

Only existence and size are known, not the content. A blob that the scenario does not mention exists and is empty.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from engine.base.failures import failure
from engine.specs.simulate import SimulateStorage

if TYPE_CHECKING:
    from engine.base.failures import FailureInfo
    from engine.specs.common import ResourceFile
    from engine.world.world import World

_NOT_MENTIONED = SimulateStorage()


def found(world: World, url: str) -> SimulateStorage:
    """Return the description of a blob, container or image; the first pattern that matches wins."""
    known = world.scenario.simulate.storage
    return next((blob for glob, blob in known if fnmatchcase(url, glob)), _NOT_MENTIONED)


def is_out(world: World) -> bool:
    """Return whether storage does not answer at this moment (fault ``storageOutage``)."""
    now_ms = world.now_ms
    return any(start <= now_ms and (end is None or now_ms < end) for start, end in world.faults.outages)


def url_of(file: ResourceFile) -> str:
    """Return the URL of the blob or container, or the name of the container, that a resource file stands for."""
    return file.http_url or file.storage_container_url or file.auto_storage_container_name or ""


def download_failure(world: World, file: ResourceFile) -> FailureInfo | None:
    """Return why a resource file cannot be downloaded now; None if it can (TASK-6, RETRY-1, table ERR-T)."""
    place = ("FilePath", file.file_path or url_of(file))
    if is_out(world):
        return failure("BlobDownloadTimedOut" if file.http_url else "ResourceContainerListTimedOut", place)
    if found(world, url_of(file)).missing:
        return failure("BlobNotFound" if file.http_url else "ResourceContainerNotFound", place)
    return None


def upload_failure(world: World, container_url: str) -> FailureInfo | None:
    """Return why nothing can be uploaded to a container now; None if it can (TASK-8, RETRY-1)."""
    if is_out(world):
        return failure("FileUploadTimedOut", ("Container", container_url))
    if found(world, container_url).missing:
        return failure("FileUploadContainerNotFound", ("Container", container_url))
    return None
