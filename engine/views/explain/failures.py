"""Causes of failures: the blob or container that could not be had and why, or what the service says besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.shortening import shortened
from engine.rules.decisions.storage import url_of
from engine.specs.storage import without_query
from engine.views.explain.explanation import Note, moment

if TYPE_CHECKING:
    from engine.base.failures import FailureInfo
    from engine.specs.common import CommandLine
    from engine.world.world import World

_DENIED = ("BlobAccessDenied", "ResourceContainerAccessDenied", "FileUploadAccessDenied")
_NOT_FOUND = ("BlobNotFound", "ResourceContainerNotFound", "FileUploadContainerNotFound")
_LONGEST = 160


def cause_notes(world: World, failure: FailureInfo, spec: CommandLine) -> list[Note]:
    """Return the cause of a failure; nothing if the service gives no details.

    Details are the service's: of a resource file they name the path on the node. The URL follows from ``spec``.
    """
    details = dict(failure.details)
    if not details:
        return []
    url = _url(world, details, spec)
    if url is not None and failure.code in _DENIED:
        until_ms = world.storage.until_ms(url)
        if until_ms is not None:
            return [Note(f"Cause: access to {_short(url)} expired at {moment(world, until_ms)}.", "TASK-20")]
    if url is not None and failure.code in _NOT_FOUND:
        if world.storage.is_missing(url):
            return [Note(f"Cause: {_short(url)} is missing, as the scenario says.", "TASK-6")]
        is_blob = failure.code == "BlobNotFound"
        why = "was neither named by the scenario nor uploaded" if is_blob else "is no container that the scenario names"
        return [Note(f"Cause: {_short(url)} {why} (strictStorage).", "TASK-19")]
    return [Note(f"Cause: {details.get('Message') or ', '.join(details.values())}.", "RETRY-1")]


def _url(world: World, details: dict[str, str], spec: CommandLine) -> str | None:
    """Return the URL, or the name of the container, that the details of a failure are about; None if it is unknown."""
    for output in getattr(spec, "output_files", ()):
        container = output.destination.container.container_url
        if without_query(container) == details.get("Container"):
            return str(container)
    for file in spec.resource_files:
        url = url_of(file)
        auto = file.auto_storage_container_name
        known = {file.file_path, url} | (set() if auto is None else {world.account.container_url(auto)})
        if details.get("FilePath") in known:
            return url
    return None


def _short(url: str) -> str:
    return shortened(without_query(url), _LONGEST)
