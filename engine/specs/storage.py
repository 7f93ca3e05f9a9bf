"""Storage as a scenario describes it: the entries of ``simulate.storage``, found by URLs (TASK-18 to TASK-20)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, NamedTuple, Self
from urllib.parse import unquote

from pydantic import (
    AfterValidator,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from engine.base.lazy import lazy_regex
from engine.base.paths import WILDCARD
from engine.base.shortening import quoted
from engine.base.units import SECOND_MS, format_duration, format_utc, parse_duration, parse_utc
from engine.specs.base import Bool, Occasional, Size, Spec, Text

_SECONDS = lazy_regex(r"\+?\d{1,12}(?:\.\d{1,12})?", re.ASCII)
# A query in a pattern; a question mark before anything else stands for one character.
_QUERY = lazy_regex(r"\?[\w-]+=.*|\?\*$", re.ASCII | re.DOTALL)
_MOST_KNOWN = 4096  # URLs whose entries are kept
_LONGEST_MS = 100 * 366 * 86_400_000


def _parse_until(value: object) -> int | datetime:
    """Return a TIME as ms from the start of the scenario, or as an absolute time, which may lie before it."""
    wrong = f"{quoted(value)} is not a time: use a duration from the start (PT5M), seconds (300) or a UTC time"
    if isinstance(value, bool) or not isinstance(value, str | int | float | datetime):
        raise ValueError(wrong)
    if isinstance(value, datetime):
        return parse_utc(value.isoformat())
    text = str(value).strip()
    ms: int | None
    if _SECONDS.fullmatch(text):
        ms = round(float(text) * SECOND_MS)
    elif text[:1].upper() == "P":
        ms = parse_duration(text)
    elif isinstance(value, str) and not text.startswith("-"):
        try:
            return parse_utc(text)
        except ValueError:
            raise ValueError(wrong) from None
    else:
        raise ValueError(wrong)
    if ms is None or ms > _LONGEST_MS:
        raise ValueError(f"{value} lies more than a century after the start of the scenario")
    return ms


def _write_until(value: int | datetime | None) -> str | None:
    return format_utc(value, 0) if isinstance(value, datetime) else None if value is None else format_duration(value)


Until = Annotated[
    int | datetime,
    PlainValidator(_parse_until),
    PlainSerializer(_write_until),
    WithJsonSchema({"type": ["string", "number"]}),
]


def _checked_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be text that UTF-8 can hold; half of a surrogate pair is none") from None
    return text


BlobText = Annotated[Text, AfterValidator(_checked_text)]


def _check_size(size: int | None, text: str | None) -> None:
    if size is not None and text is not None and size != len(text.encode()):
        raise ValueError(f"size is {size} bytes, but text has {len(text.encode())}: leave out size")


class SimulateBlob(Spec):
    """A blob in a container: its size in bytes, or its text, of which the size follows."""

    size: Size | None = None
    text: BlobText | None = None

    @model_validator(mode="before")
    @classmethod
    def _size_alone(cls, given: object) -> object:
        if given is None or isinstance(given, list | bool | float):
            raise ValueError(f"must be a size such as 4 GB, or {{size: 4 GB}} or {{text: ...}}, not {quoted(given)}")
        return given if isinstance(given, dict | SimulateBlob) else {"size": given}

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        _check_size(self.size, self.text)
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        definition = handler(schema)
        return {"anyOf": [{"type": ["string", "integer"]}, definition]}


class SimulateStorage(Occasional):
    """A blob or container by URL glob: its size in bytes, its text, its blobs by name, and whether it is missing.

    ``until`` is the end of the access to it, when its shared access signature expires.
    """

    size: Size | None = None
    missing: Bool = False
    text: BlobText | None = None
    blobs: dict[Text, SimulateBlob] | None = None
    until: Until | None = None

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        _check_size(self.size, self.text)
        if self.blobs is not None and self.text is not None:
            raise ValueError("text is of a blob, blobs are of a container: say either")
        if self.blobs is not None and self.size is not None:
            raise ValueError("the size of a container is that of its blobs: leave out size")
        if self.blobs is not None and self.missing:
            raise ValueError("a container that is missing has no blobs: leave out either")
        return self


class BlobContent(NamedTuple):
    """A blob as far as it is known: its bytes, and its text or None."""

    size: int
    text: str | None = None


class UrlParts(NamedTuple):
    """A URL, without its query, as it is compared: the container, and the name of the blob; empty for a container."""

    container: str
    name: str

    @property
    def url(self) -> str:
        """The whole URL."""
        return f"{self.container}/{self.name}" if self.name else self.container


def without_query(url: str) -> str:
    """Return a URL without its query, which holds the signature, and without slashes at its end."""
    return url.partition("?")[0].partition("#")[0].rstrip("/")


@lru_cache(maxsize=4096)
def parts_of(url: str) -> UrlParts:
    """Return a URL as it is compared (TASK-18).

    The case of scheme and host does not matter, nor do the query and the escapes (``%20``) of the path. DECISION: the
    container is the first segment of the path.
    """
    bare = without_query(url)
    scheme, separator, rest = bare.partition("://")
    if not separator:
        return UrlParts(bare, "")
    host, _, path = rest.partition("/")
    container, _, name = (unquote(path) if "%" in path else path).partition("/")
    root = f"{scheme.lower()}://{host.lower()}"
    return UrlParts(f"{root}/{container}" if container else root, name)


class _Entry(NamedTuple):
    glob: str
    without_query: str
    settings: SimulateStorage
    until_ms: int | None
    exact: UrlParts | None  # of a pattern without wildcards
    container: str  # the pattern of the container that a pattern of blobs is about


class NamedStorage:
    """The entries of ``simulate.storage``; of those that match a URL the first one wins."""

    def __init__(self, entries: Sequence[tuple[str, SimulateStorage]], start: datetime) -> None:
        """Take the entries of a scenario that begins at ``start``."""
        self._entries = tuple(_entry(glob, settings, start) for glob, settings in entries)
        self._known: dict[str, _Entry | None] = {}
        self._exact: dict[str, dict[str, BlobContent]] = {}
        for entry in reversed(self._entries):
            settings = entry.settings
            if entry.exact is not None and entry.exact.name and not settings.missing:
                content = _content(settings.size, settings.text)
                self._exact.setdefault(entry.exact.container, {})[entry.exact.name] = content

    def find(self, name: str) -> SimulateStorage | None:
        """Return the settings of a URL or name; None if the scenario does not mention it."""
        entry = self._find(name)
        return None if entry is None else entry.settings

    def until_ms(self, name: str) -> int | None:
        """Return when the access to a URL expires, in ms since the start; None if it does not (TASK-20)."""
        entry = self._find(name) or self._find_container(parts_of(name))
        return None if entry is None else entry.until_ms

    def is_missing(self, name: str) -> bool:
        """Return whether a blob or container is missing, as the scenario says; a blob is missing with its container."""
        entry = self._find(name) or self._find_container(parts_of(name))
        return entry is not None and entry.settings.missing

    def is_always_open(self, container_url: str, strict: bool) -> bool:
        """Return whether a container is there as long as the run lasts, and access to it never expires."""
        is_there = not self.is_missing(container_url) and (not strict or self.names_container(container_url))
        return is_there and self.until_ms(container_url) is None

    def names_container(self, name: str) -> bool:
        """Return whether the scenario mentions a container, or blobs in it (TASK-19)."""
        container = parts_of(name).container
        return self._find(name) is not None or any(fnmatchcase(container, each.container) for each in self._entries)

    def blob(self, url: str) -> BlobContent | None:
        """Return what a blob is according to the scenario; None if it is missing or not mentioned."""
        entry = self._find(url)
        if entry is None or entry.settings.missing:
            return None
        if entry.settings.blobs is not None:
            named = entry.settings.blobs.get(parts_of(url).name)
            return None if named is None else _content(named.size, named.text)
        return _content(entry.settings.size, entry.settings.text)

    def blobs_in(self, name: str) -> dict[str, BlobContent]:
        """Return the blobs of a container that the scenario names, by name."""
        settings = self.find(name)
        exact = self._exact.get(parts_of(name).container, {})
        if settings is None or settings.blobs is None:
            return exact
        return exact | {blob: _content(each.size, each.text) for blob, each in settings.blobs.items()}

    def contents(self) -> Iterator[tuple[UrlParts, BlobContent]]:
        """Yield every blob that the scenario names without a wildcard and gives a size or text, with its URL."""
        for container, blobs in self._exact.items():
            yield from ((UrlParts(container, name), content) for name, content in blobs.items())
        for entry in reversed(self._entries):
            if entry.exact is not None:
                for name, each in (entry.settings.blobs or _NO_BLOBS).items():
                    yield UrlParts(entry.exact.container, name), _content(each.size, each.text)

    def _find(self, name: str) -> _Entry | None:
        if not self._entries:
            return None
        if name not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            url = parts_of(name)
            self._known[name] = next((entry for entry in self._entries if _matches(entry, name, url)), None)
        return self._known[name]

    def _find_container(self, url: UrlParts) -> _Entry | None:
        return self._find(url.container) if url.name else None


_NO_BLOBS: Mapping[str, SimulateBlob] = MappingProxyType({})


def _entry(glob: str, settings: SimulateStorage, start: datetime) -> _Entry:
    until = settings.until
    until_ms = (until - start) // timedelta(milliseconds=1) if isinstance(until, datetime) else until
    scheme, separator, rest = glob.partition("://")
    host, slash, path = rest.partition("/")
    if separator:
        glob = f"{scheme.lower()}://{host.lower()}{slash}{path}"
    bare = _QUERY.sub("", glob).rstrip("/") or glob
    exact = None if WILDCARD.search(bare) else parts_of(bare)
    container = "/".join(bare.split("/")[:4]) if separator and not settings.missing else bare
    return _Entry(glob, bare, settings, until_ms, exact, container)


def _matches(entry: _Entry, name: str, url: UrlParts) -> bool:
    """Return whether an entry is about a URL: its pattern fits, or it is the container's and names the blob."""
    whole = url.url
    if fnmatchcase(whole, entry.without_query) or fnmatchcase(name, entry.glob) or entry.exact == url:
        return True
    blobs = entry.settings.blobs
    return blobs is not None and url.name in blobs and fnmatchcase(url.container, entry.without_query)


def _content(size: int | None, text: str | None) -> BlobContent:
    return BlobContent(size or 0 if text is None else len(text.encode()), text)
