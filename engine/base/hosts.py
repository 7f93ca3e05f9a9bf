"""Names and addresses of hosts: Azure's in all of its clouds, and those of this machine."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address

CLOUDS = ("windows.net", "chinacloudapi.cn", "usgovcloudapi.net", "cloudapi.de")
"""The ends of the names that services have in each cloud of Azure."""

DOMAINS = tuple(f"{begin}{cloud}" for begin in ("core.", "") for cloud in CLOUDS)
"""What stands behind the name of a service in the audiences of tokens: newer clouds have it without ``core``."""

ANY_CLOUD = f"(?:{'|'.join(map(re.escape, CLOUDS))})"
"""Matches what ``CLOUDS`` has."""

STORAGE = (
    r"[a-z0-9-]+(?:\.z[0-9]+)?\.(?P<service>blob|queue|table|file|dfs)"
    rf"\.(?:core\.{ANY_CLOUD}|storage\.azure\.net)"
)
"""Matches the host of a storage account, which may lie in a zone of names."""

LOCALHOST = "localhost"
LOOPBACK = "127.0.0.1"


def address_of(text: str) -> str:
    """Return an IP address in its shortest form, "" for anything else; IPv4 within IPv6 is IPv4."""
    try:
        address = ip_address(text)
    except ValueError:
        return ""
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(mapped or address)


def is_loopback(host: str) -> bool:
    """Return whether a name or address leads to this machine and cannot be reached from another."""
    address = address_of(host)
    return host == LOCALHOST or (bool(address) and ip_address(address).is_loopback)
