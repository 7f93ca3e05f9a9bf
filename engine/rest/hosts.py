"""The names that lead to this server: the callers that may use them, and certificates for TLS that have them.

A web page that somebody reads on this machine can send requests to a local server: across origins, or by a name of its
own that leads here (DNS rebinding). A browser names the host and the origin in headers that the page cannot change.

Certificates are of the server's own making, for clients that send bearer tokens only over TLS.
"""

from __future__ import annotations

import re
import ssl
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.hosts import LOCALHOST, LOOPBACK, address_of, is_loopback
from engine.base.values import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_LONGEST = 300  # characters of a host with its port; names have at most 253
_HOST = re.compile(r"(?P<name>[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?", re.ASCII | re.IGNORECASE)
_ORIGIN = re.compile(r"https?://(?P<host>[^/]*)", re.ASCII | re.IGNORECASE)
_TARGET = re.compile(r"https?://(?P<host>[^/]*)(?P<path>.*)", re.ASCII | re.IGNORECASE | re.DOTALL)
_REMEMBERED = 64


def host_name(text: str) -> str:
    """Return the name or address of a host as ``Hosts`` compares it: in lower case, an address in its shortest form.

    Raises:
        ValueError: No client can name such a host.
    """
    name = text.removeprefix("[").removesuffix("]") if text.startswith("[") else text
    address = address_of(name.partition("%")[0])
    if address:
        return address
    try:
        name = name.encode("idna").decode().lower().removesuffix(".")
    except UnicodeError:
        raise ValueError(f"{quoted(text)} is no name of a host") from None
    if not name or _HOST.fullmatch(name) is None or ":" in name:
        raise ValueError(f"{quoted(text)} is no name of a host: give a name or an address, without scheme and port")
    return name


class Hosts:
    """The hosts by whose names clients may reach a server; the port of a name does not matter.

    These are localhost, every loopback address, the address at which a connection arrives, and the names that were
    given to it. An address has to be spelled as an address: ``127.1`` and ``localhost.`` are names like any other.
    """

    def __init__(self, names: Iterable[str] = (), more: Callable[[str], object] = lambda _: False) -> None:
        """Allow more names, as ``host_name`` returns them, and those that ``more`` knows."""
        self._names = dict.fromkeys((LOCALHOST, *names))
        self._more = more
        self._allows = lru_cache(_REMEMBERED)(self._decide)

    def admit(self, target: str, headers: Mapping[str, str], arrived_at: str, repeated: Iterable[str] = ()) -> str:
        """Return the path of a request, or refuse one that names another host or is sent by a page of another host.

        Args:
            target: The target of the request without its query: a path, or a whole URL as proxies are sent.
            headers: The headers by their names in lower case.
            arrived_at: The address at which the connection has arrived.
            repeated: The names of headers that the request has more than once.

        Raises:
            BatchError: MisdirectedRequest or OriginNotAllowed.
        """
        host, origin = headers.get("host", ""), headers.get("origin")
        if "host" in repeated or not self._allows(host[:_LONGEST], arrived_at):
            raise BatchError("MisdirectedRequest", self._reason(host))
        if origin is not None:
            page = _ORIGIN.fullmatch(origin[:_LONGEST])
            if "origin" in repeated or page is None or not self._allows(page["host"], arrived_at):
                raise BatchError("OriginNotAllowed", f"a web page of another origin sends it: {quoted(origin)}")
        if headers.get("sec-fetch-site", "").lower() == "cross-site":
            raise BatchError("OriginNotAllowed", "a web page of another site sends it")
        url = None if target.startswith("/") else _TARGET.fullmatch(target)
        if url is None:
            return target
        if url["host"].lower() != host.lower():
            raise BatchError("MisdirectedRequest", f"the URL names {quoted(url['host'])}, the header {quoted(host)}")
        return url["path"] or "/"

    def _decide(self, host: str, arrived_at: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None or int(found["port"] or 0) > 65535:
            return False
        name = found["name"].lower()
        address = address_of(name.strip("[]"))
        if name.startswith("[") and ":" not in name:
            return False
        if not address:
            return name in self._names or bool(self._more(name))
        is_here = address == address_of(arrived_at.partition("%")[0])
        return is_here or address in self._names or is_loopback(address)

    def _reason(self, host: str) -> str:
        known = ", ".join(name for name in self._names if name != LOCALHOST)
        named = f"the request names the host {quoted(host)}" if host else "the request names no host"
        also = f", {known}" if known else ""
        return f"{named}; allowed are localhost, loopback addresses{also}; --allow-host NAME allows another name"


_HERE = (LOOPBACK, "::1", LOCALHOST)


class Authority:
    """Makes certificates; its own, which clients have to trust, lies in a folder as long as the block lasts."""

    def __init__(self, folder: Path) -> None:
        """Make the authority, and write its own certificate as a PEM file, ``file``."""
        import trustme

        self._ca = trustme.CA()
        self._folder = folder
        self._contexts: dict[str, ssl.SSLContext] = {}
        self.file = str(folder / "ca.pem")
        self._ca.cert_pem.write_to_path(self.file)

    def certificate(self, hosts: Iterable[str]) -> str:
        """Return the PEM file with a certificate for this machine and more hosts, and its key.

        Raises:
            ValueError: No certificate can name such a host.
        """
        certificate = self._ca.issue_cert(*dict.fromkeys((*_HERE, *hosts)))
        file = str(self._folder / "server.pem")
        certificate.private_key_and_cert_chain_pem.write_to_path(file)
        return file

    def context(self, host: str) -> ssl.SSLContext:
        """Return how a server with the name of this host speaks TLS."""
        if host not in self._contexts:
            if len(self._contexts) >= _REMEMBERED:
                self._contexts.clear()
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._ca.issue_cert(host).configure_cert(context)
            context.set_alpn_protocols(["http/1.1"])
            self._contexts[host] = context
        return self._contexts[host]

    def trust_store(self) -> str:
        """Return the file in which programs in Java find the authority; its password is ``STORE_PASSWORD``."""
        from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12
        from cryptography.x509 import load_pem_x509_certificate

        own = pkcs12.PKCS12Certificate(load_pem_x509_certificate(self._ca.cert_pem.bytes()), b"batchdeck")
        file = self._folder / "trust.p12"
        file.write_bytes(pkcs12.serialize_java_truststore([own], BestAvailableEncryption(STORE_PASSWORD.encode())))
        return str(file)


STORE_PASSWORD = "changeit"
"""The usual password of such a store. It holds nothing secret, but Java wants one."""


@contextmanager
def authority() -> Iterator[Authority]:
    """Make an authority, and delete its files at the end of the block."""
    with TemporaryDirectory(prefix="batchdeck-tls-") as folder:
        yield Authority(Path(folder))
