"""The Batch account of a scenario, and the storage that it describes.

The account has its name, quotas, applications and certificates (ACC-1 to ACC-5). Storage is described by the entries of
``simulate.storage``, which are found by URLs (TASK-18 to TASK-20).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, ClassVar, NamedTuple, Self
from urllib.parse import parse_qsl, unquote

from pydantic import (
    AfterValidator,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from engine.base.paths import WILDCARD
from engine.base.terms import WireOption
from engine.base.values import (
    SECOND_MS,
    first_of,
    format_duration,
    format_utc,
    lazy_regex,
    parse_duration,
    parse_utc,
    quoted,
    shortened,
    words,
)
from engine.specs.base import Bool, Identified, Int, Occasional, Secret, Size, Spec, Text

_STORAGE_ACCOUNT = lazy_regex("[a-z0-9]{3,24}")


class PoolAllocationMode(WireOption):
    """The owner of the pools' virtual machines (ACC-2)."""

    BATCH_SERVICE = "BatchService"
    USER_SUBSCRIPTION = "UserSubscription"


class CertificateFormat(WireOption):
    """The format of a certificate (CERT-1)."""

    PFX = "pfx"
    CER = "cer"


Count = Annotated[Int, Field(ge=0)]


class Quotas(Spec):
    """The quotas of the account. Without values per VM series only the total of dedicated cores counts (ACC-4)."""

    dedicated_cores: Count = 100
    low_priority_cores: Count = 100
    pools: Count = 100
    active_jobs_and_schedules: Count = 300
    dedicated_cores_per_vm_series: dict[str, Count] | None = None


_SEPARATORS = str.maketrans("", "", " _-")


def series_key(name: str) -> str:
    """Return one spelling for ``DSv3`` and ``standardDSv3Family``: quota page, resource provider and VM size differ."""
    key = name.lower().translate(_SEPARATORS)
    return key.removeprefix("standard").removesuffix("family")


class Application(Identified):
    """An application and its packages, one for each version (APP-1).

    ``size`` is the bytes of each package; ``sizes`` are those of single versions, and win.
    """

    display_name: Text | None = None
    versions: tuple[Text, ...] = ()
    default_version: Text | None = None
    allow_updates: Bool = True
    size: Size | None = None
    sizes: dict[Text, Size] | None = None
    source: Text | None = Field(default=None, description="A folder or archive: what real nodes have of each package.")

    @field_validator("default_version")
    @classmethod
    def _is_a_version(cls, version: str | None, info: ValidationInfo) -> str | None:
        versions = info.data.get("versions")
        if version is not None and versions is not None and version not in versions:
            raise ValueError(f"{quoted(version)} is none of the versions {first_of(versions) or '(there are none)'}")
        return version

    @field_validator("sizes")
    @classmethod
    def _are_of_versions(cls, sizes: dict[str, int] | None, info: ValidationInfo) -> dict[str, int] | None:
        for version in sizes or ():
            cls._is_a_version(version, info)
        return sizes

    def spelling_of(self, version: str) -> str | None:
        """Return the version as the application has it, compared without regard to case; None if it has none."""
        return next((known for known in self.versions if known.lower() == version.lower()), None)


class ApplicationPackageReference(Occasional):
    """An application to install, by default in its default version (APP-2, APP-3)."""

    application_id: Text
    version: Text | None = None


class Package(NamedTuple):
    """One version of an application (APP-1)."""

    application: Application
    version: str

    @property
    def size(self) -> int:
        """Bytes; 0 if not given."""
        sizes = self.application.sizes or {}
        return sizes.get(self.version, self.application.size or 0)


class Certificate(Occasional):
    """A certificate of the account (CERT-1)."""

    SERVICE_NAMES: ClassVar[tuple[str, ...]] = words(
        "url state stateTransitionTime previousState previousStateTransitionTime publicData deleteCertificateError"
    )

    thumbprint: Text
    thumbprint_algorithm: Text = "sha1"
    certificate_format: CertificateFormat | None = None
    data: Secret | None = None
    password: Secret | None = None

    @property
    def form(self) -> str:
        """The extension of its file; ``pfx`` is the default."""
        return (self.certificate_format or CertificateFormat.PFX).value


class Account(Spec):
    """The Batch account; ``storage_account`` is the name of the storage account that is linked to it (ACC-3).

    Without ``subscription_id`` the account is in the subscription of every virtual network (NET-2). ``prices`` names
    the file with the prices of nodes (VM-7).
    """

    SERVICE_NAMES: ClassVar[tuple[str, ...]] = ("accountEndpoint",)

    name: Text = "batchdeck"
    location: Text = "westeurope"
    subscription_id: Text | None = None
    storage_account: Text | None = None
    pool_allocation_mode: PoolAllocationMode = PoolAllocationMode.BATCH_SERVICE
    quotas: Quotas = Quotas.model_construct()
    prices: Text | None = None
    applications: tuple[Application, ...] = ()
    certificates: tuple[Certificate, ...] = ()

    def application(self, application_id: str) -> Application | None:
        """Return the application of this id, in any case (GEN-1); None if there is none."""
        wanted = application_id.lower()
        return next((each for each in self.applications if each.id.lower() == wanted), None)

    @field_validator("storage_account")
    @classmethod
    def _is_a_name(cls, name: str | None) -> str | None:
        if name is not None and not _STORAGE_ACCOUNT.fullmatch(name):
            raise ValueError(
                f"{quoted(name)} is no name of a storage account: use 3 to 24 lower-case letters and digits"
            )
        return name

    def container_url(self, name: str) -> str:
        """Return the URL of a container of the linked storage account; only the name without one (ACC-3)."""
        if self.storage_account is None:
            return name
        return f"https://{self.storage_account}.blob.core.windows.net/{name}"

    def package_verdict(self, reference: ApplicationPackageReference) -> Package | str:
        """Return the package that a reference means, or the reason why there is none (APP-3).

        Without a version the default one is meant. Application ids are compared without regard to case (GEN-1).
        """
        wanted, version = reference.application_id.lower(), reference.version
        application = self.application(wanted)
        if application is None:
            near = get_close_matches(wanted, [each.id.lower() for each in self.applications], n=1)
            hint = f"; did you mean {quoted(near[0])}?" if near else ""
            return f"the account has no application {quoted(reference.application_id)}{hint}"
        if version is None and application.default_version is None:
            return f"{shortened(application.id)} has no default version, so one has to be named"
        if version is not None and version not in application.versions:
            known = first_of(application.versions) or "none"
            return f"{shortened(application.id)} has no version {quoted(version)}; it has {known}"
        return Package(application, version or application.default_version or "")


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
        self._start = start
        self._entries = tuple(_entry(glob, settings, start) for glob, settings in entries)
        self._find = lru_cache(_MOST_KNOWN)(self._search)
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
        """Return when the access to a URL expires, in ms since the start; None if it does not (TASK-20).

        The first of two ends counts: what the scenario says, and the end of the signature in the URL.
        """
        entry = self._find(name) or self._find_container(parts_of(name))
        ends = (None if entry is None else entry.until_ms, _signature_ends_ms(name, self._start))
        return min((end for end in ends if end is not None), default=None)

    def is_missing(self, name: str) -> bool:
        """Return whether a blob or container is missing, as the scenario says; a blob is missing with its container."""
        entry = self._find(name) or self._find_container(parts_of(name))
        return entry is not None and entry.settings.missing

    def is_always_open(self, container_url: str, end_ms: int, *, strict: bool) -> bool:
        """Return whether a container is there, and access to it does not expire, up to the end of a run."""
        is_there = not self.is_missing(container_url) and (not strict or self.names_container(container_url))
        until_ms = self.until_ms(container_url) if is_there else None
        return is_there and (until_ms is None or until_ms > end_ms)

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

    def _search(self, name: str) -> _Entry | None:
        url = parts_of(name)
        return next((entry for entry in self._entries if _matches(entry, name, url)), None)

    def _find_container(self, url: UrlParts) -> _Entry | None:
        return self._find(url.container) if url.name else None


@lru_cache(maxsize=4096)
def _signature_ends_ms(url: str, start: datetime) -> int | None:
    """Return when the signature in a URL (``se=``) expires, in ms since the start; None if it has none."""
    query = url.partition("?")[2].partition("#")[0].replace("+", "%2B")
    end = {name.lower(): value for name, value in parse_qsl(query)}.get("se")
    try:
        return None if end is None else (parse_utc(end) - start) // timedelta(milliseconds=1)
    except ValueError:
        return None


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
