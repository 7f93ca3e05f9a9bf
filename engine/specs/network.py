"""The network of a pool (NET-1) and of a job."""

from __future__ import annotations

from engine.base.terms import WireOption
from engine.specs.base import Bool, Int, Spec, Text


class DynamicVNetAssignmentScope(WireOption):
    """The scope of a dynamic VNet (NET-1)."""

    NONE = "none"
    JOB = "job"


class InboundEndpointProtocol(WireOption):
    """The protocol of an inbound endpoint (NET-1)."""

    TCP = "tcp"
    UDP = "udp"


class NetworkSecurityGroupRuleAccess(WireOption):
    """The effect of a network security group rule (NET-1)."""

    ALLOW = "allow"
    DENY = "deny"


class IpAddressProvisioning(WireOption):
    """The origin of public IP addresses (NET-1)."""

    BATCH_MANAGED = "batchmanaged"
    USER_MANAGED = "usermanaged"
    NO_PUBLIC_IP_ADDRESSES = "nopublicipaddresses"


class IpFamily(WireOption):
    """The family of public IP addresses (NET-1)."""

    IPV4 = "IPv4"
    IPV6 = "IPv6"


class NetworkSecurityGroupRule(Spec):
    """A rule for access to an inbound endpoint."""

    priority: Int
    access: NetworkSecurityGroupRuleAccess
    source_address_prefix: Text
    source_port_ranges: tuple[Text, ...] = ()


class InboundNatPool(Spec):
    """A port of every node behind a range of public ports."""

    name: Text
    protocol: InboundEndpointProtocol
    backend_port: Int
    frontend_port_range_start: Int
    frontend_port_range_end: Int
    network_security_group_rules: tuple[NetworkSecurityGroupRule, ...] = ()


class PoolEndpointConfiguration(Spec):
    """The inbound endpoints of the nodes."""

    inbound_nat_pools: tuple[InboundNatPool, ...]


class IpTag(Spec):
    """A tag of public IP addresses."""

    ip_tag_type: Text | None = None
    tag: Text | None = None


class PublicIpAddressConfiguration(Spec):
    """The public IP addresses of the nodes."""

    provision: IpAddressProvisioning = IpAddressProvisioning.BATCH_MANAGED
    ip_families: tuple[IpFamily, ...] = ()
    ip_address_ids: tuple[Text, ...] = ()
    ip_tags: tuple[IpTag, ...] = ()


class NetworkConfiguration(Spec):
    """The network of a pool (NET-1)."""

    subnet_id: Text | None = None
    dynamic_vnet_assignment_scope: DynamicVNetAssignmentScope = DynamicVNetAssignmentScope.NONE
    endpoint_configuration: PoolEndpointConfiguration | None = None
    public_ip_address_configuration: PublicIpAddressConfiguration | None = None
    enable_accelerated_networking: Bool = False


class JobNetworkConfiguration(Spec):
    """The network that a job's nodes join while it runs (JOB-2)."""

    subnet_id: Text
    skip_withdraw_from_vnet: Bool = False
