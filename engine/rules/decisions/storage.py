"""Answers of Azure Storage about blobs and containers (TASK-6, TASK-8, TASK-18 to TASK-20).

What was uploaded is in storage with its size, and its text where the node's file had one. What the scenario names is as
``simulate.storage`` describes it. Anything else is there and empty, or with ``options.strictStorage`` missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.failures import failure
from engine.base.paths import name_of
from engine.specs.storage import BlobContent, SimulateStorage, without_query

if TYPE_CHECKING:
    from engine.base.failures import FailureInfo
    from engine.specs.common import ResourceFile
    from engine.world.world import World

_NOT_MENTIONED = SimulateStorage()
_EMPTY = BlobContent(0, "")


class FoundFile(NamedTuple):
    """A file to download: its path below that of the resource file, empty for a single blob, and its content."""

    path: str
    content: BlobContent


def found(world: World, url: str) -> SimulateStorage:
    """Return the description of a blob, container or image; the first pattern that matches wins."""
    return world.storage.find(url) or _NOT_MENTIONED


def is_missing(world: World, url: str) -> bool:
    """Return whether the scenario says that something is missing."""
    return world.storage.is_missing(url)


def is_out(world: World) -> bool:
    """Return whether storage does not answer at this moment (fault ``storageOutage``)."""
    return world.region.is_out(world.now_ms)


def is_expired(world: World, url: str) -> bool:
    """Return whether the access to a URL has expired, as that of a shared access signature does (TASK-20)."""
    until_ms = world.storage.until_ms(url)
    return until_ms is not None and until_ms <= world.now_ms


def url_of(file: ResourceFile) -> str:
    """Return the URL of the blob or container, or the name of the container, that a resource file stands for."""
    return file.http_url or file.storage_container_url or file.auto_storage_container_name or ""


def download(world: World, file: ResourceFile) -> list[FoundFile] | FailureInfo:
    """Return what a resource file brings now, or why it cannot be downloaded (TASK-6, RETRY-1, table ERR-T)."""
    if file.http_url:
        return _download_blob(world, file.http_url, ("FilePath", file.file_path or file.http_url))
    return _download_container(world, file)


def _download_blob(world: World, url: str, place: tuple[str, str]) -> list[FoundFile] | FailureInfo:
    if is_out(world):
        return failure("BlobDownloadTimedOut", place)
    if is_expired(world, url):
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
    if is_out(world):
        return failure("ResourceContainerListTimedOut", place)
    if is_expired(world, named):
        return failure("ResourceContainerAccessDenied", place)
    if is_container_missing(world, named):
        return failure("ResourceContainerNotFound", place)
    settings, prefix = found(world, named), file.blob_prefix or ""
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
    if is_out(world):
        return failure("FileUploadTimedOut", place)
    if is_expired(world, container_url):
        return failure("FileUploadAccessDenied", place)
    if is_container_missing(world, container_url):
        return failure("FileUploadContainerNotFound", place)
    return None
