"""Files from and to URLs: resource files are fetched, containers listed, output files sent, as with the blob service.

Only what the simulation does not know goes over the wire. ``file:`` URLs are read below folders that were allowed.
"""

from __future__ import annotations

import os
import re
import shutil
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple
from urllib.parse import quote, unquote, urlencode, urlsplit, urlunsplit
from xml.etree import ElementTree

from engine.base.hosts import STORAGE, is_loopback
from engine.specs.common import Failing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from engine.execution.folders import NodeFolder

_PATIENCE_S = 60
_STORAGE = re.compile(STORAGE, re.IGNORECASE)
_VERSION = {"x-ms-version": "2021-12-02"}
_WEB = ("http", "https")
_DENIED, _MISSING = (401, 403, 409), (404, 410)


class TransferFailed(Exception):
    """A file could not be brought or sent: why, as the task has it."""

    def __init__(self, code: str, *values: tuple[str, str]) -> None:
        super().__init__(code)
        self.fails = Failing(code=code, values=dict(values))


class Wanted(NamedTuple):
    """A resource file that is to be fetched: its URL, the place that it goes to, and for a container the prefix."""

    url: str
    folder: NodeFolder
    key: str
    mode: int
    is_container: bool = False
    prefix: str = ""


class Outgoing(NamedTuple):
    """An output file that is to be sent to a container."""

    folder: NodeFolder
    key: str
    container_url: str
    blob: str


class Transfers:
    """Fetches and sends files; blocks, so it is called from threads."""

    def __init__(self, allowed: Sequence[Path], storage: str | None = None) -> None:
        """``allowed`` are the folders below which ``file:`` URLs may be read.

        ``storage`` is the URL of an emulator that stands in for storage accounts, by their names in the Host header.
        """
        self._allowed = [folder.resolve() for folder in allowed]
        self._storage = storage

    @staticmethod
    def can_fetch(url: str) -> bool:
        """Return whether a URL is one of the web or of a local file."""
        return urlsplit(url).scheme in (*_WEB, "file")

    def can_send(self, url: str) -> bool:
        """Return whether outputs really go to a container: it is on this machine, or its URL is signed."""
        parts = urlsplit(url)
        is_near = is_loopback(parts.hostname or "") or self._stands_in(parts.hostname)
        return parts.scheme in _WEB and (is_near or "sig=" in parts.query)

    def _stands_in(self, host: str | None) -> bool:
        return self._storage is not None and _STORAGE.fullmatch(host or "") is not None

    def _request(
        self, url: str, content: BinaryIO | None = None, more: Mapping[str, str] | None = None
    ) -> urllib.request.Request:
        """Return a request to a URL, or for one of a storage account to the emulator that stands in for it."""
        parts = urlsplit(url)
        headers = (_VERSION if parts.scheme in _WEB else {}) | dict(more or {})
        if self._storage is not None and self._stands_in(parts.hostname):
            emulator = urlsplit(self._storage)
            headers["Host"] = parts.netloc
            url = urlunsplit(parts._replace(scheme=emulator.scheme, netloc=emulator.netloc))
        return urllib.request.Request(url, content, headers, method="GET" if content is None else "PUT")

    def fetch(self, wanted: Wanted) -> None:
        """Bring a blob, or all blobs of a container that begin with its prefix. Raises TransferFailed."""
        if not wanted.is_container:
            self._bring(wanted.url, wanted, wanted.key)
            return
        for name in self._names_in(wanted.url, wanted.prefix):
            self._bring(_blob_url(wanted.url, name), wanted, f"{wanted.key}/{name}")

    def _bring(self, url: str, wanted: Wanted, key: str) -> None:
        where = ("FilePath", url.partition("?")[0])
        if urlsplit(url).scheme == "file":
            source = Path(unquote(urlsplit(url).path)).resolve()
            if not any(source.is_relative_to(folder) for folder in self._allowed):
                raise TransferFailed("BlobAccessDenied", where, ("Message", "see --allow-files"))
            if not source.is_file():
                raise TransferFailed("BlobNotFound", where)
        codes = ("BlobNotFound", "BlobAccessDenied", "BlobDownloadTimedOut", "BlobDownloadMiscError")
        request = self._request(url)
        try:
            with (
                urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer,
                wanted.folder.open(key, "wb") as target,
            ):
                shutil.copyfileobj(answer, target)
                os.fchmod(target.fileno(), wanted.mode)
        except OSError as error:
            raise _failed(error, codes, where) from None

    def _names_in(self, url: str, prefix: str) -> Iterator[str]:
        """Yield the names of the blobs in a container, page by page."""
        where = ("FilePath", url.partition("?")[0])
        codes = (
            *("ResourceContainerNotFound", "ResourceContainerAccessDenied"),
            *("ResourceContainerListTimedOut", "ResourceContainerListMiscError"),
        )
        marker = ""
        while True:
            query = {"restype": "container", "comp": "list", "prefix": prefix, "marker": marker}
            given, parts = urlencode({name: value for name, value in query.items() if value}), urlsplit(url)
            listing = urlunsplit(parts._replace(query=f"{parts.query}&{given}".lstrip("&")))
            try:
                request = self._request(listing)
                with urllib.request.urlopen(request, timeout=_PATIENCE_S) as answer:
                    page = ElementTree.fromstring(answer.read())
            except (OSError, ElementTree.ParseError) as error:
                raise _failed(error, codes, where) from None
            yield from (name.text or "" for name in page.iterfind("./Blobs/Blob/Name"))
            marker = page.findtext("NextMarker") or ""
            if not marker:
                return

    def send(self, outgoing: Outgoing) -> None:
        """Put a file into a container. Raises TransferFailed."""
        where = ("Container", outgoing.container_url.partition("?")[0])
        codes = ("FileUploadContainerNotFound", "FileUploadAccessDenied", "FileUploadTimedOut", "FileUploadMiscError")
        headers = {"x-ms-blob-type": "BlockBlob", "Content-Type": "application/octet-stream"}
        url = _blob_url(outgoing.container_url, outgoing.blob)
        try:
            with outgoing.folder.open(outgoing.key, "rb") as content:
                headers["Content-Length"] = str(os.fstat(content.fileno()).st_size)
                request = self._request(url, content, headers)
                with urllib.request.urlopen(request, timeout=_PATIENCE_S):
                    pass
        except OSError as error:
            raise _failed(error, codes, where) from None


def _blob_url(container_url: str, name: str) -> str:
    parts = urlsplit(container_url)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{quote(name)}"))


def _failed(error: Exception, codes: tuple[str, str, str, str], where: tuple[str, str]) -> TransferFailed:
    """Return the failure of a transfer by the answer of the other side."""
    missing, denied, timed_out, other = codes
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        code = denied if error.code in _DENIED else missing if error.code in _MISSING else other
        return TransferFailed(code, where, ("Message", f"HTTP status {error.code}"))
    reason = getattr(error, "reason", error)
    return TransferFailed(timed_out if isinstance(reason, TimeoutError) else other, where, ("Message", str(reason)))
