"""Refusals: what the service refuses in a body regardless of its state, and the checks that several bodies share.

Each check is a pure function from a body to its refusals, in the order of the body. An empty list means that the body
is acceptable. Here are the checks of parts and of networks (NET-1, NET-2); ``pool_refusals`` and ``job_refusals`` check
whole bodies. Checks that need other objects (ids in use, allocation state, quotas) are in the rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import BatchError
from engine.base.values import lazy_regex, quoted, shortened, value_at
from engine.specs.base import MASK, Spec, wire_name
from engine.specs.machine import (
    InboundNatPool,
    IpAddressProvisioning,
    Networks,
    PublicIpAddressConfiguration,
    SimulateNetwork,
    subnet_settings,
)

if TYPE_CHECKING:
    from engine.specs.account import Account
    from engine.specs.bodies import JobConstraints, PoolSpecification, TaskConstraints
    from engine.specs.common import CommandLine, MetadataItem, ResourceFile

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
        value = value_at(body.wire(), *self.path) if self.path and self.code != MISSING else None
        if value is not None and value_at(body.masked(), *self.path) != MASK:
            values["PropertyValue"] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return BatchError(self.code, self.reason, **values)


_INVALID = "InvalidPropertyValue"


def invalid(path: Path, reason: str) -> Refusal:
    """Return the refusal of a value."""
    return Refusal(_INVALID, path, reason)


def missing(path: Path, reason: str) -> Refusal:
    """Return the refusal of a body without a required property."""
    return Refusal(MISSING, path, reason)


def id_refusals(value: str, path: Path) -> Iterator[Refusal]:
    """Check an id (GEN-1)."""
    if not _ID.fullmatch(value):
        yield invalid(path, f"{quoted(value)} is not an id: use 1 to 64 letters, digits, hyphens and underscores")


def display_name_refusals(value: str | None, path: Path) -> Iterator[Refusal]:
    """Check a display name (GEN-3)."""
    return most_refusals(len(value or ""), "characters", 1024, path)


def most_refusals(count: int, what: str, most: int, path: Path, code: str = _INVALID) -> Iterator[Refusal]:
    """Check that there are no more than ``most`` of something."""
    if count > most:
        yield Refusal(code, path, f"has {count} {what}, {most} are allowed")


def range_refusals(value: int | None, least: int, most: int, path: Path, code: str = _INVALID) -> Iterator[Refusal]:
    """Check that a number lies in a range, both ends included, if it is given."""
    if value is not None and not least <= value <= most:
        yield Refusal(code, path, f"is {value}, must be {least} to {most}")


def at_least_refusals(value: int | None, least: int, path: Path) -> Iterator[Refusal]:
    """Check that a number is not smaller than ``least``, if it is given."""
    if value is not None and value < least:
        yield invalid(path, f"is {value}, must be {least} or more")


def length_refusals(text: str, most: int, path: Path) -> Iterator[Refusal]:
    """Check that a text has from one character to ``most``."""
    if not 1 <= len(text) <= most:
        yield invalid(path, f"has {len(text)} characters, 1 to {most} are allowed")


def repeats(values: Iterable[str | int]) -> set[int]:
    """Return the index of each value that is equal to an earlier one."""
    first: dict[str | int, int] = {}
    return {index for index, value in enumerate(values) if first.setdefault(value, index) != index}


def metadata_refusals(items: Iterable[MetadataItem]) -> Iterator[Refusal]:
    """Check metadata; only printable characters are allowed (GEN-9, decided here)."""
    size, path = 0, ("metadata",)
    for index, item in enumerate(items):
        size += len(item.name) + len(item.value)
        if not item.name:
            yield Refusal("EmptyMetadataKey", (*path, index, "name"), "a metadata item needs a name")
        for name, text in (("name", item.name), ("value", item.value)):
            if not text.isprintable():
                yield Refusal(
                    "InvalidMetadata", (*path, index, name), f"{quoted(text)} has characters that are not allowed"
                )
    yield from most_refusals(size, "characters", _METADATA_MAX, path, "MetadataTooLarge")


def exactly_one_refusals(body: Spec, names: tuple[str, ...], path: Path) -> Iterator[Refusal]:
    """Check that exactly one of the properties ``names`` (in Python's spelling) is given."""
    given = [name for name in names if getattr(body, name) is not None]
    if not given:
        yield missing(path, f"one of {', '.join(map(wire_name, names))} is required")
    elif len(given) > 1:
        yield invalid((*path, wire_name(given[1])), f"excludes {wire_name(given[0])}, which is also given")


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
    """Check the resource files and the user of a command line (TASK-6, USER-1)."""
    yield from resource_files_refusals(body.resource_files, (*path, "resourceFiles"))
    yield from exactly_one_refusals(body.user_identity, ("username", "auto_user"), (*path, "userIdentity"))


def constraint_refusals(constraints: TaskConstraints | JobConstraints, path: Path = ()) -> Iterator[Refusal]:
    """Check the retry count of a body at ``path``: -1 is unlimited, 0 is none (RETRY-3)."""
    retries = constraints.max_task_retry_count
    if retries is not None and retries < -1:
        reason = f"is {retries}; -1 (unlimited) and above are allowed"
        yield Refusal("InvalidConstraintValue", (*path, "constraints", "maxTaskRetryCount"), reason)


_SUBNET_ID = lazy_regex(
    r"/subscriptions/(?P<subscription>[^/\s]+)/resourceGroups/[^/\s]+/providers/Microsoft\.(?P<kind>Classic)?Network"
    r"/virtualNetworks/[^/\s]+/subnets/[^/\s]+/?",
    re.IGNORECASE,
)
_SUBNET_FORM = "/subscriptions/ID/resourceGroups/NAME/providers/Microsoft.Network/virtualNetworks/NAME/subnets/NAME"
_NAT_POOL_NAME = lazy_regex(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,75}[A-Za-z0-9_])?", re.ASCII)


def network_refusals(spec: PoolSpecification, account: Account, networks: Networks) -> Iterator[Refusal]:
    """Yield what the service refuses in the network; ``networks`` describes the subnets (NET-1, NET-2, ACC-5)."""
    network = spec.network_configuration
    is_cloud_service = spec.cloud_service_configuration is not None
    if network is None:
        return
    path: Path = ("networkConfiguration",)
    if network.subnet_id is not None:
        settings = subnet_settings(networks, network.subnet_id)
        yield from subnet_refusals(network.subnet_id, (*path, "subnetId"), is_cloud_service=is_cloud_service)
        yield from _vnet(network.subnet_id, settings, account, (*path, "subnetId"))
    if network.endpoint_configuration is not None:
        nat_pools = network.endpoint_configuration.inbound_nat_pools
        yield from _nat_pools(nat_pools, (*path, "endpointConfiguration", "inboundNATPools"))
    if network.public_ip_address_configuration is not None:
        addresses = network.public_ip_address_configuration
        yield from _public_addresses(addresses, (*path, "publicIPAddressConfiguration"))


def subnet_refusals(subnet_id: str, path: Path, *, is_cloud_service: bool = False) -> Iterator[Refusal]:
    """Check that this is the id of a subnet; one of a classic VNet is for cloud services only (NET-9)."""
    form = _SUBNET_ID.fullmatch(subnet_id)
    if form is None:
        yield invalid(path, f"{quoted(subnet_id)} is not the resource id of a subnet: use {_SUBNET_FORM}")
    elif form["kind"] and not is_cloud_service:
        yield invalid(path, "is in a classic VNet, must be in one of Microsoft.Network for a pool of virtual machines")


def _vnet(subnet_id: str, settings: SimulateNetwork | None, account: Account, path: Path) -> Iterator[Refusal]:
    """Check that the VNet is in the account's subscription and region and Batch may join nodes to it (NET-2).

    The scenario need not name the subscription, nor describe the subnet.
    """
    form, wanted = _SUBNET_ID.fullmatch(subnet_id), account.subscription_id
    if form is not None and wanted is not None and form["subscription"].lower() != wanted.lower():
        found = shortened(form["subscription"])
        yield invalid(path, f"its VNet is in subscription {found}, must be in {shortened(wanted)} like the account")
    if settings is None:
        return
    if settings.location is not None and _region(settings.location) != _region(account.location):
        yield invalid(path, f"its VNet is in {settings.location}, must be in {account.location} like the account")
    if not settings.role_assignment:
        role = "Classic Virtual Machine Contributor" if form is not None and form["kind"] else "one"
        yield invalid(path, f"the principal MicrosoftAzureBatch has no role on its VNet, must be assigned {role}")


def _region(name: str) -> str:
    """Return the service's spelling of a region: ``West Europe`` is ``westeurope``."""
    return name.lower().replace(" ", "")


def _nat_pools(pools: tuple[InboundNatPool, ...], path: Path) -> Iterator[Refusal]:
    rules = sum(len(pool.network_security_group_rules) for pool in pools)
    yield from most_refusals(len(pools), "endpoints", 5, path)
    yield from most_refusals(rules, "network security group rules", 25, path)
    priorities: set[int] = set()
    for index, pool in enumerate(pools):
        yield from _nat_pool(pool, (*path, index))
        yield from _unlike_earlier(pool, pools[:index], (*path, index))
        for number, rule in enumerate(pool.network_security_group_rules):
            place = (*path, index, "networkSecurityGroupRules", number, "priority")
            yield from range_refusals(rule.priority, 150, 4096, place)
            if rule.priority in priorities:
                yield invalid(place, f"another rule also has {rule.priority}")
            priorities.add(rule.priority)


def _nat_pool(pool: InboundNatPool, path: Path) -> Iterator[Refusal]:
    first, last = pool.frontend_port_range_start, pool.frontend_port_range_end
    if not _NAT_POOL_NAME.fullmatch(pool.name):
        yield invalid((*path, "name"), f"{quoted(pool.name)} is not the name of an endpoint")
    if not 1 <= pool.backend_port <= 65_535 or pool.backend_port in {29_876, 29_877}:
        yield invalid((*path, "backendPort"), f"is {pool.backend_port}, must be 1 to 65535 but not 29876 or 29877")
    for name, port in (("frontendPortRangeStart", first), ("frontendPortRangeEnd", last)):
        yield from range_refusals(port, 1, 65_534, (*path, name))
    if first <= 55_000 and last >= 50_000:
        yield invalid((*path, "frontendPortRangeStart"), f"ports {first} to {last} touch the reserved 50000 to 55000")
    if last - first + 1 < 40:
        yield invalid((*path, "frontendPortRangeEnd"), f"ports {first} to {last} are less than 40")


def _unlike_earlier(pool: InboundNatPool, earlier: tuple[InboundNatPool, ...], path: Path) -> Iterator[Refusal]:
    for other in earlier:
        if pool.name == other.name:
            yield invalid((*path, "name"), f"another endpoint is also called {quoted(pool.name)}")
        if pool.backend_port == other.backend_port:
            yield invalid((*path, "backendPort"), f"another endpoint also has {pool.backend_port}")
        if (
            pool.frontend_port_range_start <= other.frontend_port_range_end
            and other.frontend_port_range_start <= pool.frontend_port_range_end
        ):
            yield invalid((*path, "frontendPortRangeStart"), f"the range overlaps that of {quoted(other.name)}")


def _public_addresses(addresses: PublicIpAddressConfiguration, path: Path) -> Iterator[Refusal]:
    """Check user-managed addresses; whether there are enough for all nodes shows at allocation."""
    own = addresses.provision is IpAddressProvisioning.USER_MANAGED
    if addresses.ip_address_ids and not own:
        yield invalid((*path, "ipAddressIds"), "are for provision: usermanaged only")
    if own and not addresses.ip_address_ids:
        yield missing((*path, "ipAddressIds"), "provision: usermanaged needs the ids of the addresses")
