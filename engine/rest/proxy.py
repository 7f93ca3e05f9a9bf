"""A forward proxy on loopback: programs find Azure's own names here, and nothing leaves the machine.

A program that is told of the proxy by ``HTTPS_PROXY`` asks it for a tunnel to a host. Where this server stands in for
that host, the proxy ends TLS with a certificate for it and passes on what it decrypts: to the server that answers for
Azure, or to a storage emulator. Any other host is refused with a sentence that names it.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from engine.base.hosts import ANY_CLOUD, LOCALHOST, LOOPBACK, STORAGE, is_loopback
from engine.base.values import shortened, visible
from engine.rest.hosts import STORE_PASSWORD, host_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from socket import socket

    from engine.base.errors import BatchError
    from engine.rest.hosts import Authority
    from engine.rest.messages import Answer, Answering, Request

DEFAULT_PORT = 8101

_HEAD_WITHIN_S = 30.0
_CONNECTED_WITHIN_S = 10.0
_LONGEST_HEAD = 16 * 1024
_BLOCK = 64 * 1024
_MOST_TUNNELS = 500
_HTTPS = 443


class Azure(Enum):
    """What stands behind a name of Azure, with the pattern of its names in all clouds."""

    BATCH = rf".+\.batch\.(?:azure\.com|{ANY_CLOUD})"
    LOGIN = (
        r"login\.microsoftonline\.(?:com|us|de)|login\.(?:partner\.microsoftonline|chinacloudapi)\.cn"
        r"|login\.windows\.net|(?:.+\.)?login\.microsoft\.com|sts\.windows\.net"
    )
    MANAGEMENT = rf"management\.(?:azure\.com|(?:core\.)?{ANY_CLOUD}|microsoftazure\.de)"
    STORAGE = STORAGE


_NAMES = {kind: re.compile(kind.value, re.ASCII) for kind in Azure}
_AFTER_BLOB = {"blob": 0, "queue": 1, "table": 2}  # the ports of Azurite, from that of blobs on


def azure_name(host: str) -> Azure | None:
    """Return what stands behind a host, None for one that is not Azure's. The host is in lower case."""
    return next((kind for kind, pattern in _NAMES.items() if pattern.fullmatch(host)), None)


class ByName:
    """Answers for all names of Azure: each request is passed to what stands behind the host that it names."""

    def __init__(self, answering: Mapping[Azure, Answering], elsewhere: Answering) -> None:
        """Answer with these, and with ``elsewhere`` for names that are not there."""
        self._answering = answering
        self._elsewhere = elsewhere

    def answer(self, request: Request, refused: BatchError | None = None) -> Answer:
        """Return the answer to a request, see ``Service.answer``."""
        kind = azure_name(request.base.partition("://")[2].partition(":")[0].lower())
        return (self._elsewhere if kind is None else self._answering.get(kind, self._elsewhere)).answer(
            request, refused
        )


class Storage(NamedTuple):
    """A storage emulator such as Azurite, which takes the account from the name of the host."""

    host: str
    port: int  # of blobs
    is_tls: bool

    @classmethod
    def at(cls, url: str) -> Storage:
        """Return the emulator at a URL. Raises ValueError."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
            raise ValueError("must be a URL such as http://127.0.0.1:10000, without a path")
        return cls(parts.hostname, parts.port or (_HTTPS if parts.scheme == "https" else 80), parts.scheme == "https")


class _RefusedError(Exception):
    """A tunnel that is not opened; the sentence names the host."""

    def __init__(self, sentence: str, status: str = "502 Bad Gateway") -> None:
        super().__init__(sentence)
        self.status = status


class Proxy:
    """Opens tunnels to what stands in for Azure."""

    def __init__(
        self, listener: socket, authority: Authority, inner_port: int, own_port: int, storage: Storage | None
    ) -> None:
        """Prepare to serve where ``listener`` listens.

        Args:
            listener: A listening socket on loopback.
            authority: Makes the certificates that programs see.
            inner_port: Where the server for Azure's names listens on loopback, without TLS.
            own_port: Where the account listens; programs may reach it through a tunnel, too.
            storage: Where names of storage accounts lead.
        """
        self.port: int = listener.getsockname()[1]
        self._listener = listener
        self._authority = authority
        self._inner_port = inner_port
        self._own_port = own_port
        self._storage = storage
        self._tunnels: set[asyncio.Task[None]] = set()
        self._ended = asyncio.Event()

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables by which programs find the proxy and trust its certificates."""
        url, file = f"http://{LOOPBACK}:{self.port}", self._authority.file
        trust = f"-Djavax.net.ssl.trustStore={self._authority.trust_store()}"
        java = f"{trust} -Djavax.net.ssl.trustStorePassword={STORE_PASSWORD} -Dhttps.proxyHost={LOOPBACK}"
        return {
            "HTTPS_PROXY": url,
            "https_proxy": url,  # curl and some others read this one alone
            "NO_PROXY": f"{LOCALHOST},{LOOPBACK}",
            "no_proxy": f"{LOCALHOST},{LOOPBACK}",
            **dict.fromkeys(("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE"), file),
            "JAVA_TOOL_OPTIONS": f"{java} -Dhttps.proxyPort={self.port}",
        }

    async def run(self) -> None:
        """Open tunnels until ``end`` is called."""
        async with await asyncio.start_server(self._accept, sock=self._listener, limit=_LONGEST_HEAD):
            await self._ended.wait()
        for task in self._tunnels:
            task.cancel()

    def end(self) -> None:
        """Let ``run`` return."""
        self._ended.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tunnels.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, ssl.SSLError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # either side has gone, or does not trust the certificate
        finally:
            self._tunnels.discard(task)
            with suppress(OSError, ssl.SSLError):
                writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEAD_WITHIN_S):
            head = await reader.readuntil(b"\r\n\r\n")
        try:
            if len(self._tunnels) > _MOST_TUNNELS:
                raise _RefusedError("too many tunnels are open", "503 Service Unavailable")
            host, port = _asked_for(head)
            place, ends_tls = self._place(host, port)
            async with asyncio.timeout(_CONNECTED_WITHIN_S):
                inner = await _connected(place)
        except _RefusedError as refusal:
            await _refuse(writer, refusal)
            return
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        try:
            if ends_tls:
                await writer.start_tls(self._authority.context(host), ssl_handshake_timeout=_HEAD_WITHIN_S)
            await _both_ways((reader, writer), inner)
        finally:
            inner[1].close()

    def _place(self, host: str, port: int) -> tuple[Storage, bool]:
        """Return where a tunnel to a host leads, and whether its TLS ends here. Raises _RefusedError."""
        kind = azure_name(host)
        if kind is None and host in ("localhost", LOOPBACK) and port == self._own_port:
            return Storage(LOOPBACK, port, is_tls=False), False
        if kind is None or port != _HTTPS:
            raise _RefusedError(
                f"{host}:{port} is not served: this proxy stands in for Azure Batch and opens no connection elsewhere"
            )
        if kind is not Azure.STORAGE:
            return Storage(LOOPBACK, self._inner_port, is_tls=False), True
        if self._storage is None:
            raise _RefusedError(
                f"{host} is a storage account: --storage URL says where an emulator such as Azurite stands in for it"
            )
        found = _NAMES[kind].fullmatch(host)
        assert found is not None
        if found["service"] not in _AFTER_BLOB:
            raise _RefusedError(f"{host} is not served: the emulator has blobs, queues and tables")
        return self._storage._replace(port=self._storage.port + _AFTER_BLOB[found["service"]]), True


def _asked_for(head: bytes) -> tuple[str, int]:
    """Return the host and port of a tunnel that is asked for. Raises _RefusedError."""
    line = head.partition(b"\r\n")[0].decode("latin-1")
    method, _, rest = line.partition(" ")
    target, _, version = rest.partition(" ")
    if not version.startswith("HTTP/1."):
        raise _RefusedError("this is no HTTP request", "400 Bad Request")
    if method != "CONNECT":
        raise _RefusedError(
            f"{shortened(target)} is not fetched: this proxy opens tunnels (CONNECT) to names of Azure alone"
        )
    name, _, port = target.rpartition(":")
    try:
        return host_name(name), int(port)
    except ValueError:
        raise _RefusedError(f"{shortened(target)} is no host with a port", "400 Bad Request") from None


async def _connected(place: Storage) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    tls = ssl.create_default_context() if place.is_tls else None
    if tls is not None and is_loopback(place.host):
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    try:
        return await asyncio.open_connection(place.host, place.port, ssl=tls)
    except (OSError, ssl.SSLError) as error:
        wrong = "there is no TLS as it should be" if isinstance(error, ssl.SSLError) else "nothing answers"
        raise _RefusedError(f"{wrong} at {place.host}:{place.port}: {error}") from None


async def _refuse(writer: asyncio.StreamWriter, refusal: _RefusedError) -> None:
    """Refuse a tunnel; libraries show the reason in the status line, and browsers and curl the body."""
    sentence = visible(str(refusal)).encode("ascii", "backslashreplace")
    status = f"HTTP/1.1 {refusal.status.partition(' ')[0]} ".encode() + sentence
    headers = f"Content-Type: text/plain\r\nContent-Length: {len(sentence) + 1}\r\nConnection: close".encode()
    writer.write(b"\r\n".join((status, headers, b"", sentence + b"\n")))
    await writer.drain()


Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _both_ways(one: Stream, other: Stream) -> None:
    """Pass on what comes from either side until both have ended."""
    ways = [asyncio.ensure_future(_pass_on(one[0], other[1])), asyncio.ensure_future(_pass_on(other[0], one[1]))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_BLOCK):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
    else:  # TLS: its end is the end of both ways
        writer.close()
