"""The network of a pool (NET-1) and of a job."""

from typing import Annotated, Literal

from engine.base.terms import WireOption
from engine.specs.base import NO_EFFECT, AnyCase, Bool, Int, Occasional, Text

# Options of a network that have no effect on a simulation (NET-1).
DynamicVNetAssignmentScope = Annotated[Literal["none", "job"], AnyCase]
InboundEndpointProtocol = Annotated[Literal["tcp", "udp"], AnyCase]
NetworkSecurityGroupRuleAccess = Annotated[Literal["allow", "deny"], AnyCase]
IpFamily = Annotated[Literal["IPv4", "IPv6"], AnyCase]


class IpAddressProvisioning(WireOption):
    """The origin of public IP addresses (NET-1)."""

    BATCH_MANAGED = "batchmanaged"
    USER_MANAGED = "usermanaged"
    NO_PUBLIC_IP_ADDRESSES = "nopublicipaddresses"


class NetworkSecurityGroupRule(Occasional):
    """A rule for access to an inbound endpoint."""

    priority: Int
    access: NetworkSecurityGroupRuleAccess
    source_address_prefix: Text
    source_port_ranges: tuple[Text, ...] = ()


class InboundNatPool(Occasional):
    """A port of every node behind a range of public ports."""

    name: Text
    protocol: InboundEndpointProtocol
    backend_port: Int
    frontend_port_range_start: Int
    frontend_port_range_end: Int
    network_security_group_rules: Annotated[tuple[NetworkSecurityGroupRule, ...], NO_EFFECT] = ()


class PoolEndpointConfiguration(Occasional):
    """The inbound endpoints of the nodes."""

    inbound_nat_pools: tuple[InboundNatPool, ...]


class IpTag(Occasional):
    """A tag of public IP addresses."""

    ip_tag_type: Text | None = None
    tag: Text | None = None


class PublicIpAddressConfiguration(Occasional):
    """The public IP addresses of the nodes."""

    provision: IpAddressProvisioning = IpAddressProvisioning.BATCH_MANAGED
    ip_families: Annotated[tuple[IpFamily, ...], NO_EFFECT] = ()
    ip_address_ids: tuple[Text, ...] = ()
    ip_tags: Annotated[tuple[IpTag, ...], NO_EFFECT] = ()


class NetworkConfiguration(Occasional):
    """The network of a pool (NET-1)."""

    subnet_id: Text | None = None
    dynamic_vnet_assignment_scope: Annotated[DynamicVNetAssignmentScope, NO_EFFECT] = "none"
    endpoint_configuration: PoolEndpointConfiguration | None = None
    public_ip_address_configuration: PublicIpAddressConfiguration | None = None
    enable_accelerated_networking: Annotated[Bool, NO_EFFECT] = False


class JobNetworkConfiguration(Occasional):
    """The network that a job's nodes join while it runs (JOB-2)."""

    subnet_id: Text
    skip_withdraw_from_vnet: Bool = False
