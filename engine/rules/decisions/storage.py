"""What Azure Storage answers: blobs and containers by url, as ``simulate.storage`` has them (TASK-6, TASK-8).

They are known by whether they are there and how large they are, not by what is in them. What the scenario does not
mention is there and takes no time.
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
    """What the scenario says of a blob, a container, or whatever else is fetched by a name."""
    known = world.scenario.simulate.storage
    return next((blob for glob, blob in known if fnmatchcase(url, glob)), _NOT_MENTIONED)


def is_out(world: World) -> bool:
    """Whether storage does not answer at this moment (fault ``storageOutage``)."""
    now_ms = world.now_ms
    return any(start <= now_ms and (end is None or now_ms < end) for start, end in world.faults.outages)


def url_of(file: ResourceFile) -> str:
    """What a resource file is fetched by: the url of a blob or container, or the name of a container."""
    return file.http_url or file.storage_container_url or file.auto_storage_container_name or ""


def download_failure(world: World, file: ResourceFile) -> FailureInfo | None:
    """Why a resource file cannot be downloaded at this moment; None if it can (TASK-6, RETRY-1, table ERR-T)."""
    place = ("FilePath", file.file_path or url_of(file))
    if is_out(world):
        return failure("BlobDownloadTimedOut" if file.http_url else "ResourceContainerListTimedOut", place)
    if found(world, url_of(file)).missing:
        return failure("BlobNotFound" if file.http_url else "ResourceContainerNotFound", place)
    return None


def upload_failure(world: World, container_url: str) -> FailureInfo | None:
    """Why nothing can be uploaded to a container at this moment; None if it can (TASK-8, RETRY-1)."""
    if is_out(world):
        return failure("FileUploadTimedOut", ("Container", container_url))
    if found(world, container_url).missing:
        return failure("FileUploadContainerNotFound", ("Container", container_url))
    return None
