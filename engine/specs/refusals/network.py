"""Checks of a pool's network (NET-1, NET-2)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.base.lazy import lazy_regex
from engine.base.shortening import quoted, shortened
from engine.specs.account import Account
from engine.specs.network import InboundNatPool, IpAddressProvisioning, PublicIpAddressConfiguration
from engine.specs.pool import PoolSpecification
from engine.specs.refusals.parts import Path, Refusal, invalid, missing
from engine.specs.subnets import Networks, SimulateNetwork, subnet_settings

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
        subnet_path: Path = (*path, "subnetId")
        yield from subnet_refusals(network.subnet_id, subnet_path, is_cloud_service=is_cloud_service)
        yield from _subscription(network.subnet_id, account, subnet_path)
        settings = subnet_settings(networks, network.subnet_id)
        if settings is not None:
            yield from _vnet(settings, account, subnet_path, is_classic=_is_classic(network.subnet_id))
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


def _is_classic(subnet_id: str) -> bool:
    form = _SUBNET_ID.fullmatch(subnet_id)
    return form is not None and form["kind"] is not None


def _subscription(subnet_id: str, account: Account, path: Path) -> Iterator[Refusal]:
    """Check that the VNet is in the account's subscription, where the scenario says which that is (NET-2)."""
    form, wanted = _SUBNET_ID.fullmatch(subnet_id), account.subscription_id
    if form is not None and wanted is not None and form["subscription"].lower() != wanted.lower():
        found = shortened(form["subscription"])
        yield invalid(path, f"its VNet is in subscription {found}, must be in {shortened(wanted)} like the account")


def _vnet(settings: SimulateNetwork, account: Account, path: Path, *, is_classic: bool) -> Iterator[Refusal]:
    """Check that the VNet is in the account's region and that Batch may join nodes to it (NET-2)."""
    if settings.location is not None and _region(settings.location) != _region(account.location):
        yield invalid(path, f"its VNet is in {settings.location}, must be in {account.location} like the account")
    if not settings.role_assignment:
        role = "Classic Virtual Machine Contributor" if is_classic else "one"
        yield invalid(path, f"the principal MicrosoftAzureBatch has no role on its VNet, must be assigned {role}")


def _region(name: str) -> str:
    """Return the service's spelling of a region: ``West Europe`` is ``westeurope``."""
    return name.lower().replace(" ", "")


def _nat_pools(pools: tuple[InboundNatPool, ...], path: Path) -> Iterator[Refusal]:
    rules = sum(len(pool.network_security_group_rules) for pool in pools)
    if len(pools) > 5:
        yield invalid(path, f"has {len(pools)} endpoints, 5 are allowed")
    if rules > 25:
        yield invalid(path, f"has {rules} network security group rules, 25 are allowed")
    priorities: set[int] = set()
    for index, pool in enumerate(pools):
        yield from _nat_pool(pool, (*path, index))
        yield from _unlike_earlier(pool, pools[:index], (*path, index))
        for number, rule in enumerate(pool.network_security_group_rules):
            place = (*path, index, "networkSecurityGroupRules", number, "priority")
            if not 150 <= rule.priority <= 4096:
                yield invalid(place, f"is {rule.priority}, must be 150 to 4096")
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
        if not 1 <= port <= 65_534:
            yield invalid((*path, name), f"is {port}, must be 1 to 65534")
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
