"""The configuration of nodes: image, disks, extensions, mounts, upgrades and network.

The parts of a pool's body are those of POOL-4, POOL-5, POOL-23, FILE-13 and NET-1; a job has a network too. The subnets
of ``simulate.network`` have addresses and closed ports.
"""

from fnmatch import fnmatchcase
from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, Field, PlainValidator, WithJsonSchema

from engine.base.terms import WireOption
from engine.base.values import quoted
from engine.specs.base import (
    LEFT_OUT_OF_ANSWERS,
    NO_EFFECT,
    AnyCase,
    Bool,
    ContainerRegistry,
    IdentityReference,
    Int,
    Occasional,
    OptionalDuration,
    Secret,
    Spec,
    Text,
)

# Options of a machine that have no effect on a simulation (POOL-4, POOL-23).
CachingType = Annotated[Literal["none", "readonly", "readwrite"], AnyCase]
StorageAccountType = Annotated[Literal["standard_lrs", "premium_lrs", "standardssd_lrs"], AnyCase]
SecurityEncryptionType = Annotated[Literal["DiskWithVMGuestState", "NonPersistedTPM", "VMGuestStateOnly"], AnyCase]
ContainerType = Annotated[Literal["dockerCompatible", "criCompatible"], AnyCase]
DiskEncryptionTarget = Annotated[Literal["osdisk", "temporarydisk"], AnyCase]
DiffDiskPlacement = Annotated[Literal["cachedisk"], AnyCase]
HostEndpointMode = Annotated[Literal["Audit", "Enforce"], AnyCase]
SecurityType = Annotated[Literal["trustedLaunch", "confidentialvm"], AnyCase]
UpgradeMode = Annotated[Literal["automatic", "manual", "rolling"], AnyCase]


class NodePlacementPolicy(WireOption):
    """The placement of nodes in zones (POOL-4)."""

    REGIONAL = "regional"
    ZONAL = "zonal"


class ImageReference(Occasional):
    """A marketplace image, or an image by one of three kinds of ids."""

    publisher: Text | None = None
    offer: Text | None = None
    sku: Text | None = None
    version: Text = "latest"
    virtual_machine_image_id: Text | None = None
    shared_gallery_image_id: Text | None = None
    community_gallery_image_id: Text | None = None
    exact_version: Text | None = None


class WindowsConfiguration(Occasional):
    """Windows settings (POOL-24)."""

    enable_automatic_updates: Bool = True


class DiskEncryptionSet(Occasional):
    """A key for disk encryption."""

    id: Text | None = None


class DiskSecurityProfile(Occasional):
    """The encryption of a managed disk."""

    security_encryption_type: SecurityEncryptionType | None = None


class ManagedDisk(Occasional):
    """The storage of a disk."""

    disk_encryption_set: DiskEncryptionSet | None = None
    storage_account_type: StorageAccountType | None = None
    security_profile: DiskSecurityProfile | None = None


class DataDisk(Occasional):
    """An empty disk on each node."""

    lun: Int
    disk_size_gb: Int
    caching: CachingType = "readwrite"
    managed_disk: ManagedDisk | None = None
    storage_account_type: StorageAccountType | None = None


class ContainerConfiguration(Occasional):
    """The configuration that makes a container pool (CONT-1)."""

    type: ContainerType = "dockerCompatible"
    container_image_names: tuple[Text, ...] = ()
    container_registries: tuple[ContainerRegistry, ...] = ()


class DiskCustomerManagedKey(Occasional):
    """A customer-managed key for disks."""

    identity_reference: IdentityReference | None = None
    key_url: Text | None = None
    rotation_to_latest_key_version_enabled: Bool = False


class DiskEncryptionConfiguration(Occasional):
    """The disks to encrypt, and the key."""

    customer_managed_key: DiskCustomerManagedKey | None = None
    targets: tuple[DiskEncryptionTarget, ...] = ()


class NodePlacementConfiguration(Occasional):
    """The placement of nodes in zones."""

    policy: NodePlacementPolicy = NodePlacementPolicy.REGIONAL


class VMExtension(Occasional):
    """An extension of the virtual machine."""

    name: Text
    publisher: Text
    type: Text
    type_handler_version: Text | None = None
    auto_upgrade_minor_version: Bool | None = None
    enable_automatic_upgrade: Bool | None = None
    settings: dict[str, Any] | None = None
    protected_settings: Annotated[dict[str, Any] | None, LEFT_OUT_OF_ANSWERS] = None
    provision_after_extensions: tuple[Text, ...] = ()


class DiffDiskSettings(Occasional):
    """The ephemeral OS disk on the cache disk."""

    placement: DiffDiskPlacement | None = None


class OSDisk(Occasional):
    """The OS disk."""

    ephemeral_os_disk_settings: DiffDiskSettings | None = None
    caching: CachingType | None = None
    disk_size_gb: Int | None = None
    managed_disk: ManagedDisk | None = None
    write_accelerator_enabled: Bool | None = None


class HostEndpointSettings(Occasional):
    """Access to one endpoint of the host."""

    in_vm_access_control_profile_reference_id: Text | None = None
    mode: HostEndpointMode | None = None


class ProxyAgentSettings(Occasional):
    """Access to the endpoints of the host."""

    enabled: Bool = False
    imds: HostEndpointSettings | None = None
    wire_server: HostEndpointSettings | None = None


class UefiSettings(Occasional):
    """The boot settings."""

    secure_boot_enabled: Bool | None = None
    v_tpm_enabled: Bool | None = None


class SecurityProfile(Occasional):
    """The security settings of the virtual machine."""

    encryption_at_host: Bool | None = None
    proxy_agent_settings: ProxyAgentSettings | None = None
    security_type: SecurityType | None = None
    uefi_settings: UefiSettings | None = None


class ServiceArtifactReference(Occasional):
    """A set of image versions."""

    id: Text


class VirtualMachineConfiguration(Occasional):
    """The image of the nodes and its configuration (POOL-4)."""

    image_reference: ImageReference
    node_agent_sku_id: Text
    windows_configuration: Annotated[WindowsConfiguration | None, NO_EFFECT] = None
    data_disks: Annotated[tuple[DataDisk, ...], NO_EFFECT] = ()
    license_type: Annotated[Text | None, NO_EFFECT] = None
    container_configuration: ContainerConfiguration | None = None
    disk_encryption_configuration: Annotated[DiskEncryptionConfiguration | None, NO_EFFECT] = None
    node_placement_configuration: Annotated[NodePlacementConfiguration | None, NO_EFFECT] = None
    extensions: Annotated[tuple[VMExtension, ...], NO_EFFECT] = ()
    os_disk: Annotated[OSDisk | None, NO_EFFECT] = None
    security_profile: Annotated[SecurityProfile | None, NO_EFFECT] = None
    service_artifact_reference: Annotated[ServiceArtifactReference | None, NO_EFFECT] = None


class CloudServiceConfiguration(Occasional):
    """The configuration of classic Windows nodes (POOL-5)."""

    os_family: Text
    os_version: Text = Field(default="*", validation_alias=AliasChoices("osVersion", "targetOSVersion"))


class AzureBlobFileSystemConfiguration(Occasional):
    """A blob container, mounted with blobfuse."""

    account_name: Text
    container_name: Text
    relative_mount_path: Text
    account_key: Secret | None = None
    sas_key: Secret | None = None
    blobfuse_options: Text | None = None
    identity_reference: IdentityReference | None = None

    @property
    def url(self) -> str:
        """The URL of the container."""
        return f"https://{self.account_name}.blob.core.windows.net/{self.container_name}"


class NfsMountConfiguration(Occasional):
    """An NFS share."""

    source: Text
    relative_mount_path: Text
    mount_options: Text | None = None


class CifsMountConfiguration(Occasional):
    """A CIFS share."""

    username: Text
    source: Text
    relative_mount_path: Text
    password: Secret
    mount_options: Text | None = None


class AzureFileShareConfiguration(Occasional):
    """An Azure Files share."""

    account_name: Text
    azure_file_url: Text
    account_key: Secret
    relative_mount_path: Text
    mount_options: Text | None = None


FileSystem = (
    AzureBlobFileSystemConfiguration | NfsMountConfiguration | CifsMountConfiguration | AzureFileShareConfiguration
)


class MountConfiguration(Occasional):
    """A file system to mount on every node, of one of four kinds (FILE-13)."""

    azure_blob_file_system_configuration: AzureBlobFileSystemConfiguration | None = None
    nfs_mount_configuration: NfsMountConfiguration | None = None
    cifs_mount_configuration: CifsMountConfiguration | None = None
    azure_file_share_configuration: AzureFileShareConfiguration | None = None

    @property
    def given(self) -> FileSystem | None:
        """The file system that is given, or None if there is none, which the service refuses."""
        blob, share = self.azure_blob_file_system_configuration, self.azure_file_share_configuration
        return blob or share or self.nfs_mount_configuration or self.cifs_mount_configuration


class AutomaticOSUpgradePolicy(Occasional):
    """The policy of automatic OS upgrades (POOL-23)."""

    disable_automatic_rollback: Bool | None = None
    enable_automatic_os_upgrade: Bool | None = None
    use_rolling_upgrade_policy: Bool | None = None
    os_rolling_upgrade_deferral: Bool | None = None


class RollingUpgradePolicy(Occasional):
    """The policy of rolling OS upgrades (POOL-23)."""

    enable_cross_zone_upgrade: Bool | None = None
    max_batch_instance_percent: Int | None = None
    max_unhealthy_instance_percent: Int | None = None
    max_unhealthy_upgraded_instance_percent: Int | None = None
    pause_time_between_batches: OptionalDuration = None
    prioritize_unhealthy_instances: Bool | None = None
    rollback_failed_instances_on_policy_breach: Bool | None = None


class UpgradePolicy(Occasional):
    """The policy of OS upgrades (POOL-23)."""

    mode: UpgradeMode
    automatic_os_upgrade_policy: AutomaticOSUpgradePolicy | None = None
    rolling_upgrade_policy: RollingUpgradePolicy | None = None


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
