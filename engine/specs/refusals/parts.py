"""Refusals, and the checks of parts that several bodies share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from engine.base.errors import BatchError
from engine.base.lazy import lazy_regex
from engine.base.shortening import quoted
from engine.specs.base import MASK, Spec, wire_name
from engine.specs.common import CommandLine, MetadataItem, ResourceFile, UserIdentity

Path = tuple[str | int, ...]

MISSING = "MissingRequiredProperty"

_ID = lazy_regex(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
# GEN-9 gives no limit; metadata may have as many characters as a start task (ACC-5, decided here).
_METADATA_MAX = 32_768


class Refusal(NamedTuple):
    """The reason why the service refuses a body: code, property by wire names and indexes, and explanation."""

    code: str
    path: Path
    reason: str

    def error(self, body: Spec) -> BatchError:
        """Return the answer of the service to ``body``, with the name and value of the property (GEN-10)."""
        values = {"PropertyName": ".".join(map(str, self.path))} if self.path else {}
        value = _value_at(body.wire(), self.path) if self.path and self.code != MISSING else None
        if value is not None and _value_at(body.masked(), self.path) != MASK:
            values["PropertyValue"] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return BatchError(self.code, self.reason, **values)


def _value_at(body: object, path: Path) -> object:
    """Return the value of a property as the service writes it; None if it is absent or a secret."""
    for part in path:
        if isinstance(body, dict):
            body = body.get(part)
        elif isinstance(body, list) and isinstance(part, int) and part < len(body):
            body = body[part]
        else:
            return None
    return body


def invalid(path: Path, reason: str) -> Refusal:
    """Return the refusal of a value."""
    return Refusal("InvalidPropertyValue", path, reason)


def missing(path: Path, reason: str) -> Refusal:
    """Return the refusal of a body without a required property."""
    return Refusal(MISSING, path, reason)


def id_refusals(value: str, path: Path) -> Iterator[Refusal]:
    """Check an id (GEN-1)."""
    if not _ID.fullmatch(value):
        yield invalid(path, f"{quoted(value)} is not an id: use 1 to 64 letters, digits, hyphens and underscores")


def display_name_refusals(value: str | None, path: Path) -> Iterator[Refusal]:
    """Check a display name (GEN-3)."""
    if value is not None and len(value) > 1024:
        yield invalid(path, f"has {len(value)} characters, 1024 are allowed")


def metadata_refusals(items: Iterable[MetadataItem], path: Path) -> Iterator[Refusal]:
    """Check metadata; only printable characters are allowed (GEN-9, decided here)."""
    size = 0
    for index, item in enumerate(items):
        size += len(item.name) + len(item.value)
        if not item.name:
            yield Refusal("EmptyMetadataKey", (*path, index, "name"), "a metadata item needs a name")
        for name, text in (("name", item.name), ("value", item.value)):
            if not text.isprintable():
                yield Refusal(
                    "InvalidMetadata", (*path, index, name), f"{quoted(text)} has characters that are not allowed"
                )
    if size > _METADATA_MAX:
        yield Refusal("MetadataTooLarge", path, f"has {size} characters, {_METADATA_MAX} are allowed")


def exactly_one_refusals(body: Spec, names: tuple[str, ...], path: Path) -> Iterator[Refusal]:
    """Check that exactly one of the properties ``names`` (in Python's spelling) is given."""
    given = [name for name in names if getattr(body, name) is not None]
    if not given:
        yield missing(path, f"one of {', '.join(map(wire_name, names))} is required")
    elif len(given) > 1:
        yield invalid((*path, wire_name(given[1])), f"excludes {wire_name(given[0])}, which is also given")


def user_identity_refusals(user: UserIdentity, path: Path) -> Iterator[Refusal]:
    """Check a user identity (USER-1)."""
    yield from exactly_one_refusals(user, ("username", "auto_user"), path)


def resource_files_refusals(files: Iterable[ResourceFile], path: Path) -> Iterator[Refusal]:
    """Check resource files (TASK-6)."""
    for index, file in enumerate(files):
        place = (*path, index)
        yield from exactly_one_refusals(
            file, ("http_url", "storage_container_url", "auto_storage_container_name"), place
        )
        if file.http_url is not None and not file.file_path:
            yield missing((*place, "filePath"), "a file by httpUrl needs a filePath to go to")
        if file.http_url is not None and file.blob_prefix is not None:
            yield invalid((*place, "blobPrefix"), "selects blobs of a container, but httpUrl is a single blob")


def command_line_refusals(body: CommandLine, path: Path = ()) -> Iterator[Refusal]:
    """Check the resource files and the user of a command line."""
    yield from resource_files_refusals(body.resource_files, (*path, "resourceFiles"))
    yield from user_identity_refusals(body.user_identity, (*path, "userIdentity"))


def constraint_refusals(retries: int | None, path: Path) -> Iterator[Refusal]:
    """Check a retry count: -1 is unlimited, 0 is none (RETRY-3)."""
    if retries is not None and retries < -1:
        reason = f"is {retries}; -1 (unlimited) and above are allowed"
        yield Refusal("InvalidConstraintValue", (*path, "maxTaskRetryCount"), reason)


def at_least_refusals(value: int, least: int, path: Path) -> Iterator[Refusal]:
    """Check that a number is not smaller than ``least``."""
    if value < least:
        yield invalid(path, f"is {value}, must be {least} or more")
