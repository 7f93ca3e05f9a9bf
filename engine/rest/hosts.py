"""The names that lead to this server: the callers that may use them, and certificates for TLS that have them.

A web page that somebody reads on this machine can send requests to a local server: across origins, or by a name of its
own that leads here (DNS rebinding). A browser names the host and the origin in headers that the page cannot change.

Certificates are of the server's own making, for clients that send bearer tokens only over TLS.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import BatchError
from engine.base.values import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

LOCALHOST = "localhost"
LOOPBACK = "127.0.0.1"

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


def address_of(text: str) -> str:
    """Return an IP address in its shortest form, "" for anything else; IPv4 within IPv6 is IPv4."""
    try:
        address = ip_address(text)
    except ValueError:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


class Hosts:
    """The hosts by whose names clients may reach a server; the port of a name does not matter.

    These are localhost, every loopback address, the address at which a connection arrives, and the names that were
    given to it. An address has to be spelled as an address: ``127.1`` and ``localhost.`` are names like any other.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Allow more names, as ``host_name`` returns them."""
        self._names = dict.fromkeys((LOCALHOST, *names))
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
            return name in self._names
        is_here = address == address_of(arrived_at.partition("%")[0])
        return is_here or address in self._names or ip_address(address).is_loopback

    def _reason(self, host: str) -> str:
        known = ", ".join(name for name in self._names if name != LOCALHOST)
        named = f"the request names the host {quoted(host)}" if host else "the request names no host"
        also = f", {known}" if known else ""
        return f"{named}; allowed are localhost, loopback addresses{also}; --allow-host NAME allows another name"


_HERE = (LOOPBACK, "::1", LOCALHOST)


class Files(NamedTuple):
    """PEM files: the server's certificate with its key, and that of the authority, which clients have to trust."""

    certificate: str
    authority: str


@contextmanager
def certificate_for(hosts: Iterable[str]) -> Iterator[Files]:
    """Make a certificate for this machine and more hosts, and delete its files at the end of the block.

    Raises:
        ValueError: No certificate can name such a host.
    """
    with TemporaryDirectory(prefix="batchdeck-tls-") as folder:
        import trustme

        authority = trustme.CA()
        certificate = authority.issue_cert(*dict.fromkeys((*_HERE, *hosts)))
        files = Files(str(Path(folder) / "server.pem"), str(Path(folder) / "ca.pem"))
        certificate.private_key_and_cert_chain_pem.write_to_path(files.certificate)
        authority.cert_pem.write_to_path(files.authority)
        yield files
