"""The capacity of pools: their nodes by what they count as, their networks (NET), and limits of account and region.

Nodes count as present, member, preempted or missing. A network has addresses, and ports that must be open; the scenario
describes subnets under ``simulate.network``, which do not change during a run. Limits hold for new pools, nodes, jobs
and job schedules (ACC, RSZ-12).
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import UNBILLED
from engine.base.terms import AllocationState, JobScheduleState, NodeState, OsFamily, PoolState
from engine.specs.account import PoolAllocationMode, series_key
from engine.specs.bodies import NodeCommunicationMode
from engine.specs.machine import IpAddressProvisioning, subnet_settings
from engine.state.nodes import GONE
from engine.state.pools import ResizeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.specs.bodies import PoolSpecification
    from engine.specs.machine import SimulateNetwork
    from engine.state.pools import Pool
    from engine.world import World


_IS_DEDICATED = attrgetter("dedicated")


def present_nodes(world: World, pool: Pool) -> list[int]:
    """Return the pool's nodes that have not left it, in list order."""
    states = world.nodes.state
    return [node for node in pool.nodes if states[node] != GONE]


def members(world: World, pool: Pool, *, dedicated: bool) -> list[int]:
    """Return the pool's nodes of one kind (SPOT-1), without those in state ``leavingpool``.

    Nodes that wait for their tasks before they leave are members still.
    """
    leaving = (None, NodeState.LEAVING_POOL)
    return [
        node
        for node in pool.nodes
        if world.nodes[node].dedicated is dedicated and world.nodes.state_of(node) not in leaving
    ]


def current_counts(world: World, pool: Pool) -> tuple[int, int]:
    """Return ``currentDedicatedNodes`` and ``currentLowPriorityNodes``, preempted nodes included (POOL-3)."""
    here = present_nodes(world, pool)
    dedicated = sum(map(_IS_DEDICATED, map(world.nodes.records.rows.__getitem__, here)))
    return dedicated, len(here) - dedicated


def member_counts(world: World, pool: Pool) -> tuple[int, int]:
    """Return how many dedicated and Spot nodes count towards the targets of the pool (RSZ-2)."""
    return len(members(world, pool, dedicated=True)), len(members(world, pool, dedicated=False))


def preempted_nodes(world: World, pool: Pool) -> list[int]:
    """Return the pool's nodes in state ``preempted``, in list order."""
    return [node for node in pool.nodes if world.nodes.state[node] == NodeState.PREEMPTED]


def missing_nodes(world: World, pool: Pool) -> int:
    """Return how many Spot VMs a steady pool lacks for its target; a preempted node has none (SPOT-3, SPOT-5)."""
    if not pool.target_spot or pool.state is not PoolState.ACTIVE or pool.allocation is not AllocationState.STEADY:
        return 0
    spot = members(world, pool, dedicated=False)
    return max(0, pool.target_spot - len(spot) + len(preempted_nodes(world, pool)))


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


# ACC-5: nodes of a pool with inter-node communication.
MAX_COMMUNICATING = {PoolAllocationMode.BATCH_SERVICE: 100, PoolAllocationMode.USER_SUBSCRIPTION: 80}
_UNCOUNTED = (None, *UNBILLED)


def cores_in_use(world: World, *, dedicated: bool, series: str | None = None) -> int:
    """Return the cores of the account's nodes of one kind, requested ones included (ACC-7)."""
    cores = 0
    for pool in world.pools.present():
        if series is not None and pool.size.series != series:
            continue
        count = sum(wanted is dedicated for wanted in pool.pending.values())
        for node in pool.nodes:
            if world.nodes[node].dedicated is dedicated and world.nodes.state_of(node) not in _UNCOUNTED:
                count += 1
        cores += count * pool.size.cores
    return cores


class Limit(NamedTuple):
    """A limit of how many more nodes a pool can have.

    What the service reads off its own records is known at once; machines and addresses lack only when it tries.
    """

    most: int
    code: str
    reason: str
    is_known_at_once: bool = True


class Grant(NamedTuple):
    """The answer to a request for nodes: how many come, and why not more (RSZ-16)."""

    nodes: int
    errors: tuple[ResizeError, ...] = ()  # known at once
    tried: int = 0  # nodes that are requested although they will not come, which the service does not know yet
    late_errors: tuple[ResizeError, ...] = ()  # which that shows after the time of an allocation


def granted(world: World, pool: Pool, wanted: int, *, dedicated: bool) -> Grant:
    """Return how many of the wanted nodes can be had, and why not more (ACC-6, ACC-8, POOL-11, POOL-12, RSZ-12).

    What the service knows at once is applied first; the rest is tried, and may fail for another reason. Of the limits
    that are known at the same time the tightest one is the reason.
    """
    limits = [
        *_size_limit(pool, dedicated=dedicated),
        *_quota_limits(world, pool, wanted, dedicated=dedicated),
        *_communication_limit(world, pool),
        *_network_limits(world, pool, dedicated=dedicated),
        *_capacity_limit(world, pool),
    ]
    allowed, errors = _tightest(wanted, [limit for limit in limits if limit.is_known_at_once], dedicated=dedicated)
    there, late = _tightest(allowed, [limit for limit in limits if not limit.is_known_at_once], dedicated=dedicated)
    return Grant(there, errors, allowed - there, late)


def _tightest(wanted: int, limits: Iterable[Limit], *, dedicated: bool) -> tuple[int, tuple[ResizeError, ...]]:
    """Return how many of the wanted nodes these limits leave, and the error of the limit that leaves fewest."""
    tightest = min(limits, key=lambda limit: limit.most, default=None)
    if tightest is None or tightest.most >= wanted:
        return wanted, ()
    kind = "dedicated" if dedicated else "Spot/low-priority"
    message = f"Desired number of {kind} nodes could not be allocated"
    return max(tightest.most, 0), (ResizeError(tightest.code, message, (("Reason", tightest.reason),)),)


def _size_limit(pool: Pool, *, dedicated: bool) -> Iterator[Limit]:
    """Refuse sizes that are not offered as Spot machines, and those of cloud services with Linux (VM-2)."""
    if pool.spec.virtual_machine_configuration is None and pool.size.is_classic:
        return
    if not dedicated and pool.size.has_price and not pool.size.has_spot:
        yield Limit(0, "UnsupportedVMSize", f"{pool.spec.vm_size} is not offered as Spot machine")
    elif pool.os is OsFamily.LINUX and pool.size.is_classic:
        yield Limit(0, "IncompatibleVMSize", f"{pool.spec.vm_size} is not offered with Linux")


def _quota_limits(world: World, pool: Pool, wanted: int, *, dedicated: bool) -> Iterator[Limit]:
    """Yield the limits of cores; the reason says how many the wanted nodes take (ACC-6, ACC-8)."""
    quotas = world.account.quotas
    cores = pool.size.cores
    asked = wanted * cores
    used = cores_in_use(world, dedicated=dedicated)
    if not dedicated:
        in_subscription = world.account.pool_allocation_mode is PoolAllocationMode.USER_SUBSCRIPTION
        code = "AccountSpotCoreQuotaReached" if in_subscription else "AccountLowPriorityCoreQuotaReached"
        total = quotas.low_priority_cores
        yield Limit((total - used) // cores, code, _reason(asked, "Spot/low-priority cores", used, total))
        return
    total = quotas.dedicated_cores
    yield Limit((total - used) // cores, "AccountCoreQuotaReached", _reason(asked, "dedicated cores", used, total))
    for series, most in (quotas.dedicated_cores_per_vm_series or {}).items():
        if series_key(series) == series_key(pool.size.series):
            used = cores_in_use(world, dedicated=True, series=pool.size.series)
            reason = _reason(asked, f"dedicated cores of {series}", used, most)
            yield Limit((most - used) // cores, "AccountVMSeriesCoreQuotaReached", reason)


def _reason(asked: int, cores: str, used: int, total: int) -> str:
    more = "more " if used else ""
    return f"the pool asked for {asked:,} {more}{cores}; {used:,} of {total:,} were in use"


def _communication_limit(world: World, pool: Pool) -> Iterator[Limit]:
    if pool.spec.enable_inter_node_communication:
        most = MAX_COMMUNICATING[world.account.pool_allocation_mode]
        reason = f"a pool with inter-node communication has at most {most} nodes"
        yield Limit(most - machines(world, pool), "CommunicationEnabledPoolReachedMaxVMCount", reason)


def _network_limits(world: World, pool: Pool, *, dedicated: bool) -> Iterator[Limit]:
    """Yield the limits of the subnet and of public addresses (NET-1, NET-3)."""
    for most, reason in (
        (free_addresses(world, pool), "the subnet has not enough free addresses"),
        (free_public_places(world, pool, dedicated=dedicated), "the pool has not enough public IP addresses"),
    ):
        if most is not None:
            yield Limit(most, "AllocationFailed", reason, is_known_at_once=False)


def _capacity_limit(world: World, pool: Pool) -> Iterator[Limit]:
    left = world.region.capacity_of(pool.size.name)
    if left is not None:
        reason = f"there is no capacity for {pool.spec.vm_size} in {world.account.location}"
        yield Limit(left.nodes, left.code, reason, is_known_at_once=False)


def active_jobs_and_schedules(world: World) -> int:
    """Return the number of jobs and job schedules that are not completed (ACC-9, JOB-22, JS-14)."""
    schedules = sum(one.state is not JobScheduleState.COMPLETED for one in world.job_schedules.present())
    return world.jobs.unfinished + schedules


def has_unit(world: World) -> bool:
    """Return whether the quota has room for one more job or job schedule (ACC-4)."""
    return active_jobs_and_schedules(world) < world.account.quotas.active_jobs_and_schedules
