"""Networks of pools (NET): addresses, and ports that must be open.

The scenario describes subnets under ``simulate.network``; they do not change during a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import OsFamily
from engine.specs.network import IpAddressProvisioning
from engine.specs.pool import NodeCommunicationMode
from engine.specs.subnets import subnet_settings

if TYPE_CHECKING:
    from engine.specs.pool import PoolSpecification
    from engine.specs.subnets import SimulateNetwork
    from engine.state.pools import Pool
    from engine.world.world import World

# NET-5, NET-7: ports that must be open between Batch and a node.
CLASSIC_PORTS = (29_876, 29_877)  # inbound
HTTPS_PORT = 443  # outbound, to storage and to Batch
# NET-1: nodes of each kind behind one public address that the user provides.
NODES_PER_ADDRESS = 100
# NET-8: nodes in a VNet that share a network security group, a public address and a load balancer.
NODES_PER_LOAD_BALANCER = 50


def communication_mode(spec: PoolSpecification) -> NodeCommunicationMode:
    """Return the mode in which nodes and Batch communicate (NET-7).

    DECISION: the default is ``simplified``, except for cloud services, which never had it.
    """
    if spec.os_family is OsFamily.CLOUD_SERVICE:
        return NodeCommunicationMode.CLASSIC
    wanted = spec.target_node_communication_mode
    return NodeCommunicationMode.SIMPLIFIED if wanted in (None, NodeCommunicationMode.DEFAULT) else wanted


def needed_ports(mode: NodeCommunicationMode) -> tuple[int, ...]:
    """Return the ports without which a node and Batch do not reach each other (NET-5, NET-7)."""
    return (*CLASSIC_PORTS, HTTPS_PORT) if mode is NodeCommunicationMode.CLASSIC else (HTTPS_PORT,)


def ports_between_nodes(spec: PoolSpecification) -> str | None:
    """Return the ports on which nodes reach one another (POOL-12); None without inter-node communication."""
    if not spec.enable_inter_node_communication:
        return None
    return "above 1100" if spec.os_family is OsFamily.CLOUD_SERVICE else "any"


def blocked_ports(world: World, pool: Pool) -> tuple[int, ...]:
    """Return the ports that the pool needs and its subnet blocks (NET-4)."""
    settings = _subnet(world, pool)
    if settings is None:
        return ()
    needed = needed_ports(communication_mode(pool.spec))
    return tuple(port for port in needed if settings.blocks(port))


def is_open_if_simplified(world: World, pool: Pool) -> bool:
    """Return whether the subnet blocks no port that the pool would need in ``simplified`` mode (NET-7)."""
    settings = _subnet(world, pool)
    can_change = pool.spec.os_family is not OsFamily.CLOUD_SERVICE
    ports = needed_ports(NodeCommunicationMode.SIMPLIFIED)
    return can_change and (settings is None or not any(map(settings.blocks, ports)))


def free_addresses(world: World, pool: Pool) -> int | None:
    """Return for how many more nodes the subnet has addresses, with all its pools (NET-3); None: any number."""
    settings = _subnet(world, pool)
    most = None if settings is None else settings.addresses
    if most is None:
        return None
    subnet = subnet_id(pool)
    return most - sum(machines(world, other) for other in world.pools.present() if subnet_id(other) == subnet)


def free_public_places(world: World, pool: Pool, *, dedicated: bool) -> int | None:
    """Return how many more nodes of a kind fit behind the pool's public addresses (NET-1); None: any number."""
    network = pool.spec.network_configuration
    addresses = network.public_ip_address_configuration if network is not None else None
    if addresses is None or addresses.provision is not IpAddressProvisioning.USER_MANAGED:
        return None
    return NODES_PER_ADDRESS * len(addresses.ip_address_ids) - machines(world, pool, dedicated=dedicated)


def load_balancers(world: World, pool: Pool) -> int:
    """Return how many load balancers, public addresses and security groups a pool in a VNet has (NET-8)."""
    return 0 if subnet_id(pool) is None else -(-machines(world, pool) // NODES_PER_LOAD_BALANCER)


def machines(world: World, pool: Pool, *, dedicated: bool | None = None) -> int:
    """Return the number of the pool's VMs of one kind, or of both, including those requested.

    A preempted node has no VM, also while it leaves the pool (SPOT-3).
    """
    kinds = (True, False) if dedicated is None else (dedicated,)
    requested = sum(kind in kinds for kind in pool.pending.values())
    records = map(world.nodes.__getitem__, pool.nodes)
    return requested + sum(record.has_vm and record.dedicated in kinds for record in records)


def subnet_id(pool: Pool) -> str | None:
    """Return the subnet that the pool joins, in lower case; None outside any VNet (NET-6)."""
    network = pool.spec.network_configuration
    return network.subnet_id.lower() if network is not None and network.subnet_id is not None else None


def _subnet(world: World, pool: Pool) -> SimulateNetwork | None:
    subnet = subnet_id(pool)
    return None if subnet is None else subnet_settings(world.scenario.simulate.network, subnet)
