"""The subnets of ``simulate.network``: addresses, closed ports, and what Batch needs of them."""

from fnmatch import fnmatchcase
from ipaddress import IPv4Network
from typing import Annotated, Any

from pydantic import Field, PlainValidator, WithJsonSchema

from engine.base.shortening import quoted
from engine.specs.base import Bool, Int, Spec, Text

# The number of addresses of a subnet that Azure reserves.
_RESERVED_ADDRESSES = 5


def _parse_prefix(value: object) -> str:
    try:
        return str(IPv4Network(str(value)))
    except ValueError:
        raise ValueError(f"{quoted(value)} is not an address range such as 10.1.0.0/24") from None


def _parse_blocked(value: object) -> bool | tuple[int, ...]:
    if isinstance(value, bool):
        return value
    ports = tuple(value) if isinstance(value, list | tuple) else ()
    if ports and all(type(port) is int and 1 <= port <= 65_535 for port in ports):
        return ports
    raise ValueError(f"must be true, false or a list of ports such as [29876, 29877], not {quoted(value)}")


AddressPrefix = Annotated[str, PlainValidator(_parse_prefix), WithJsonSchema({"type": "string"})]
_PORTS: dict[str, Any] = {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 65_535}, "minItems": 1}
Blocked = Annotated[
    bool | tuple[int, ...], PlainValidator(_parse_blocked), WithJsonSchema({"anyOf": [{"type": "boolean"}, _PORTS]})
]


class SimulateNetwork(Spec):
    """A subnet by id glob: its addresses (NET-3), its closed ports (NET-4), and what Batch needs of it (NET-2).

    ``blocked`` is true for all ports, or lists the closed ones. ``free_addresses`` wins over ``address_prefix``.
    """

    free_addresses: Annotated[Int, Field(ge=0)] | None = None
    address_prefix: AddressPrefix | None = None
    blocked: Blocked = False
    location: Text | None = None
    role_assignment: Bool = True

    @property
    def addresses(self) -> int | None:
        """The number of nodes that get an address: 2^(32-n) - 5 for a /n subnet (NET-3); None if unknown."""
        if self.free_addresses is None and self.address_prefix is not None:
            return max(0, IPv4Network(self.address_prefix).num_addresses - _RESERVED_ADDRESSES)
        return self.free_addresses

    def blocks(self, port: int) -> bool:
        """Return whether the port is closed between Batch and the nodes (NET-4)."""
        return self.blocked if isinstance(self.blocked, bool) else port in self.blocked


Networks = tuple[tuple[str, SimulateNetwork], ...]


def subnet_settings(networks: Networks, subnet_id: str) -> SimulateNetwork | None:
    """Return the settings of a subnet by the first glob that matches, without regard to case."""
    return next((settings for glob, settings in networks if fnmatchcase(subnet_id.lower(), glob.lower())), None)
