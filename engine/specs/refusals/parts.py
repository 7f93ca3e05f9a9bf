"""A refusal, and the checks of parts that several bodies share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.base.errors import BatchError
from engine.specs.base import Spec, wire_name
from engine.specs.common import CommandLine, MetadataItem, ResourceFile, UserIdentity

Path = tuple[str | int, ...]

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
# DECISION: GEN-9 gives no limit; a list of metadata may have as many characters as a start task (ACC-5).
_METADATA_MAX = 32_768


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the service would refuse a body: its code, the property by wire names and indexes, and the reason."""

    code: str
    path: Path
    reason: str

    def error(self) -> BatchError:
        """The answer of the service (GEN-10)."""
        place = ".".join(map(str, self.path))
        return BatchError(self.code, self.reason, **({"PropertyName": place} if place else {}))


def invalid(path: Path, reason: str) -> Refusal:
    """A value the service does not take."""
    return Refusal("InvalidPropertyValue", path, reason)


def missing(path: Path, reason: str) -> Refusal:
    """A property the service needs."""
    return Refusal("MissingRequiredProperty", path, reason)


def id_refusals(value: str, path: Path) -> Iterator[Refusal]:
    """GEN-1."""
    if not _ID.fullmatch(value):
        yield invalid(path, f"{value!r} is no id: 1 to 64 letters, digits, hyphens and underscores make one")


def display_name_refusals(value: str | None, path: Path) -> Iterator[Refusal]:
    """GEN-3."""
    if value is not None and len(value) > 1024:
        yield invalid(path, f"has {len(value)} characters, 1024 are allowed")


def metadata_refusals(items: Iterable[MetadataItem], path: Path) -> Iterator[Refusal]:
    """GEN-9. DECISION: the characters that are not allowed are those that cannot be printed."""
    size = 0
    for index, item in enumerate(items):
        size += len(item.name) + len(item.value)
        if not item.name:
            yield Refusal("EmptyMetadataKey", (*path, index, "name"), "a metadata item needs a name")
        for name, text in (("name", item.name), ("value", item.value)):
            if not text.isprintable():
                yield Refusal("InvalidMetadata", (*path, index, name), f"{text!r} has characters that are not allowed")
    if size > _METADATA_MAX:
        yield Refusal("MetadataTooLarge", path, f"has {size} characters, {_METADATA_MAX} are allowed")


def exactly_one_refusals(body: Spec, names: tuple[str, ...], path: Path) -> Iterator[Refusal]:
    """One of the properties ``names`` (Python's names) must be given, and no more than one."""
    given = [wire_name(name) for name in names if getattr(body, name) is not None]
    if not given:
        yield missing(path, f"one of {', '.join(map(wire_name, names))} is needed")
    elif len(given) > 1:
        yield invalid((*path, given[1]), f"excludes {given[0]}, which is given too")


def user_identity_refusals(user: UserIdentity, path: Path) -> Iterator[Refusal]:
    """USER-1."""
    yield from exactly_one_refusals(user, ("username", "auto_user"), path)


def resource_files_refusals(files: Iterable[ResourceFile], path: Path) -> Iterator[Refusal]:
    """TASK-6."""
    for index, file in enumerate(files):
        place = (*path, index)
        yield from exactly_one_refusals(
            file, ("http_url", "storage_container_url", "auto_storage_container_name"), place
        )
        if file.http_url is not None and not file.file_path:
            yield missing((*place, "filePath"), "a file by httpUrl needs a filePath to go to")
        if file.http_url is not None and file.blob_prefix is not None:
            yield invalid((*place, "blobPrefix"), "chooses among the blobs of a container, and httpUrl is one blob")


def command_line_refusals(body: CommandLine, path: Path = ()) -> Iterator[Refusal]:
    """What can be wrong with the files and the user of any command line."""
    yield from resource_files_refusals(body.resource_files, (*path, "resourceFiles"))
    yield from user_identity_refusals(body.user_identity, (*path, "userIdentity"))


def constraint_refusals(retries: int | None, path: Path) -> Iterator[Refusal]:
    """RETRY-3: -1 is without end, 0 is none."""
    if retries is not None and retries < -1:
        reason = f"is {retries}; -1 (without end) and above are allowed"
        yield Refusal("InvalidConstraintValue", (*path, "maxTaskRetryCount"), reason)


def at_least_refusals(value: int, least: int, path: Path) -> Iterator[Refusal]:
    """A number that must not be smaller than ``least``."""
    if value < least:
        yield invalid(path, f"is {value}, should be {least} or more")
