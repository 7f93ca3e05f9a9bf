"""Checks of pools, their machines and nodes, and of the account's applications, packages and certificates.

The rules of pools are POOL-9 and those it refers to, of machines POOL-4, POOL-23 and FILE-13, of the account APP-1,
ACC-5 and CERT-1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from engine import autoscale
from engine.autoscale.values import FormulaError
from engine.base.terms import OsFamily
from engine.base.values import HOUR_MS, MINUTE_MS, format_duration, lazy_regex, quoted
from engine.specs import images
from engine.specs.account import Account, Application, Certificate, CertificateFormat, PoolAllocationMode
from engine.specs.base import wire_name
from engine.specs.bodies import PoolSpec, PoolSpecification, StartTask, UserAccount
from engine.specs.catalogue import allowed_by_classic_size_rules, is_cloud_service_size, nearest_sizes, vm_size
from engine.specs.commands import (
    CreateApplicationPackage,
    CreateNodeUser,
    EnablePoolAutoScale,
    EvaluatePoolAutoScale,
    RemoveNodes,
    ResizePool,
    UpdateNodeUser,
)
from engine.specs.images import FAMILIES, is_version
from engine.specs.machine import (
    ImageReference,
    MountConfiguration,
    Networks,
    NodePlacementPolicy,
    RollingUpgradePolicy,
    VirtualMachineConfiguration,
)
from engine.specs.refusals import (
    Path,
    Refusal,
    at_least_refusals,
    command_line_refusals,
    display_name_refusals,
    exactly_one_refusals,
    id_refusals,
    invalid,
    length_refusals,
    metadata_refusals,
    missing,
    most_refusals,
    network_refusals,
    range_refusals,
    repeats,
)

_MOUNTS = tuple(MountConfiguration.model_fields)
_MARKETPLACE = ("publisher", "offer", "sku")
_IMAGE_IDS = ("virtual_machine_image_id", "shared_gallery_image_id", "community_gallery_image_id")


def machine_refusals(spec: PoolSpecification) -> Iterator[Refusal]:
    """Yield what the service refuses in the virtual machine configuration (POOL-4)."""
    machine = spec.virtual_machine_configuration
    if machine is None:
        return
    path: Path = ("virtualMachineConfiguration",)
    yield from _image(machine.image_reference, (*path, "imageReference"))
    yield from _node_agent(machine, (*path, "nodeAgentSKUId"))
    if machine.windows_configuration is not None and spec.os_family is OsFamily.LINUX:
        yield invalid((*path, "windowsConfiguration"), "must be absent from a Linux pool")
    yield from _disks(machine, (*path, "dataDisks"))


def _image(image: ImageReference, path: Path) -> Iterator[Refusal]:
    parts = [name for name in _MARKETPLACE if getattr(image, name) is not None]
    ids = [wire_name(name) for name in _IMAGE_IDS if getattr(image, name) is not None]
    if ids and (parts or len(ids) > 1):
        yield invalid((*path, ids[-1]), f"excludes {(parts + ids)[0]}, which is also given")
    elif not ids:
        for name in _MARKETPLACE:
            if name not in parts:
                yield missing((*path, name), "a marketplace image needs publisher, offer and sku")


def _node_agent(machine: VirtualMachineConfiguration, path: Path) -> Iterator[Refusal]:
    """Check that the node agent fits an image that the catalogue knows; others are accepted (POOL-26)."""
    reference, agent = machine.image_reference, machine.node_agent_sku_id
    image = images.find(reference.publisher or "", reference.offer or "", reference.sku or "")
    if image is not None and not image.takes(agent):
        name = f"{image.publisher} {image.offer} {image.sku}"
        yield invalid(path, f"is {quoted(agent)}, must be {image.node_agent_sku_id!r} for the image {name}")


def _disks(machine: VirtualMachineConfiguration, path: Path) -> Iterator[Refusal]:
    twice = repeats(disk.lun for disk in machine.data_disks)
    for index, disk in enumerate(machine.data_disks):
        yield from range_refusals(disk.lun, 0, 63, (*path, index, "lun"))
        if index in twice:
            yield invalid((*path, index, "lun"), f"another disk also has {disk.lun}")
        yield from at_least_refusals(disk.disk_size_gb, 1, (*path, index, "diskSizeGB"))


def mounts_refusals(mounts: tuple[MountConfiguration, ...]) -> Iterator[Refusal]:
    """Yield what the service refuses in the mounts (FILE-13)."""
    path: Path = ("mountConfiguration",)
    yield from most_refusals(len(mounts), "file systems", 10, path)
    for index, mount in enumerate(mounts):
        yield from exactly_one_refusals(mount, _MOUNTS, (*path, index))


def upgrade_policy_refusals(spec: PoolSpecification) -> Iterator[Refusal]:
    """Yield what the service refuses in the upgrade policy (POOL-23)."""
    policy, machine = spec.upgrade_policy, spec.virtual_machine_configuration
    if policy is None:
        return
    automatic = policy.automatic_os_upgrade_policy
    windows = machine.windows_configuration if machine else None
    if automatic and automatic.enable_automatic_os_upgrade and windows and windows.enable_automatic_updates:
        path: Path = ("upgradePolicy", "automaticOSUpgradePolicy", "enableAutomaticOSUpgrade")
        yield invalid(path, "excludes windowsConfiguration.enableAutomaticUpdates, which is true")
    if policy.rolling_upgrade_policy is not None:
        placement = machine.node_placement_configuration if machine else None
        zonal = placement is not None and placement.policy is NodePlacementPolicy.ZONAL
        yield from _rolling(policy.rolling_upgrade_policy, ("upgradePolicy", "rollingUpgradePolicy"), zonal=zonal)


def _rolling(policy: RollingUpgradePolicy, path: Path, *, zonal: bool) -> Iterator[Refusal]:
    for name, least in (
        ("max_batch_instance_percent", 5),
        ("max_unhealthy_instance_percent", 5),
        ("max_unhealthy_upgraded_instance_percent", 0),
    ):
        yield from range_refusals(getattr(policy, name), least, 100, (*path, wire_name(name)))
    if policy.enable_cross_zone_upgrade is not None and not zonal:
        yield invalid((*path, "enableCrossZoneUpgrade"), "is for pools with zonal node placement only")


_LICENSES = ("maya", "vray", "3dsmax", "arnold")
_START_TASK_MAX = 32_768
_TARGETS = ("target_dedicated_nodes", "target_low_priority_nodes")


class PoolSetting(NamedTuple):
    """The part of a scenario, beside the account, that decides whether a pool is refused: two options, and subnets."""

    classic_size_rules: bool = False
    classic_packages: bool = False
    networks: Networks = ()


_USUAL = PoolSetting()


class AccountInForce(NamedTuple):
    """The account at this moment and the settings of its pools, by which the service refuses pools."""

    account: Account
    setting: PoolSetting


def pool_refusals(spec: PoolSpecification, account: Account, setting: PoolSetting = _USUAL) -> list[Refusal]:
    """Return what the service refuses in a pool; an auto pool has no id (POOL-2, POOL-4, POOL-5, POOL-9, ACC-5)."""
    return [
        *(id_refusals(spec.id, ("id",)) if isinstance(spec, PoolSpec) else ()),
        *display_name_refusals(spec.display_name, ("displayName",)),
        *_size(spec, classic_size_rules=setting.classic_size_rules),
        *_scale(spec),
        *machine_refusals(spec),
        *_cloud_service(spec, account),
        *network_refusals(spec, account, setting.networks),
        *_start_task(spec.start_task, spec.user_accounts),
        *_packages(spec, account, classic=setting.classic_packages),
        *_certificates(spec, account),
        *_users(spec),
        *metadata_refusals(spec.metadata),
        *mounts_refusals(spec.mount_configuration),
        *upgrade_policy_refusals(spec),
        *_licenses(spec),
    ]


def pool_update_refusals(
    given: Mapping[str, object], spec: PoolSpec, account: Account, setting: PoolSetting = _USUAL
) -> list[Refusal]:
    """Return what the service refuses in a change of the pool ``spec``, given its other properties (POOL-14)."""
    changed = spec.model_copy(update=given)
    places = {wire_name(name) for name in given}
    refusals = pool_refusals(changed, account, setting)
    return [refusal for refusal in refusals if refusal.path and refusal.path[0] in places]


def resize_refusals(command: ResizePool, os_family: OsFamily) -> Iterator[Refusal]:
    """Yield what the service refuses in a resize of a pool with this operating system (RSZ-1, POOL-27)."""
    yield from _targets(command)
    yield from _timeout(command.resize_timeout)
    if os_family is OsFamily.CLOUD_SERVICE and command.target_low_priority_nodes:
        yield _no_spot(command.target_low_priority_nodes)
    if command.target_dedicated_nodes is None and command.target_low_priority_nodes is None:
        yield missing(("targetDedicatedNodes",), "a resize needs targetDedicatedNodes or targetLowPriorityNodes")


def remove_nodes_refusals(command: RemoveNodes) -> Iterator[Refusal]:
    """Yield what the service refuses in a removal of nodes (RSZ-8, ACC-5)."""
    yield from _timeout(command.resize_timeout)
    if not 1 <= len(command.node_list) <= 100:
        yield invalid(("nodeList",), f"has {len(command.node_list)} nodes, must have 1 to 100")


def auto_scale_refusals(command: EnablePoolAutoScale | EvaluatePoolAutoScale) -> list[Refusal]:
    """Return what the service refuses in a formula and its interval (POOL-9, ACC-5, AS-72)."""
    interval = command.auto_scale_evaluation_interval if isinstance(command, EnablePoolAutoScale) else None
    return [*_formula(command.auto_scale_formula), *_interval(interval)]


def node_user_refusals(command: CreateNodeUser | UpdateNodeUser, os_family: OsFamily) -> Iterator[Refusal]:
    """Yield what the service refuses in a node user (NOP-9)."""
    yield from id_refusals(command.name, ("name",))
    if os_family is not OsFamily.LINUX:
        if command.ssh_public_key is not None:
            yield invalid(("sshPublicKey",), "is for Linux nodes only")
        if not command.password:
            yield missing(("password",), "a user of a Windows node needs a password")


def _size(spec: PoolSpecification, *, classic_size_rules: bool) -> Iterator[Refusal]:
    size = vm_size(spec.vm_size)
    if size is None:
        near = nearest_sizes(spec.vm_size)
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        yield invalid(("vmSize",), f"{quoted(spec.vm_size)} is not a known VM size{hint}")
        return
    cloud_service = spec.cloud_service_configuration is not None
    if classic_size_rules and not allowed_by_classic_size_rules(spec.vm_size, cloud_service=cloud_service):
        yield invalid(("vmSize",), f"{quoted(spec.vm_size)} cannot be used with this configuration")
    if not 1 <= spec.task_slots_per_node <= size.max_task_slots:
        reason = f"is {spec.task_slots_per_node}, must be 1 to {size.max_task_slots} for {spec.vm_size}"
        yield invalid(("taskSlotsPerNode",), reason)


def _scale(spec: PoolSpecification) -> Iterator[Refusal]:
    yield from _targets(spec)
    yield from _timeout(spec.resize_timeout)
    yield from _interval(spec.auto_scale_evaluation_interval)
    yield from _formula(spec.auto_scale_formula or None)
    given = [wire_name(name) for name in _TARGETS if getattr(spec, name) is not None]
    if spec.enable_auto_scale:
        for name in given:
            yield invalid((name,), "must be absent from a pool with enableAutoScale, whose formula sets it")
        if not spec.auto_scale_formula:
            yield missing(("autoScaleFormula",), "a pool with enableAutoScale needs a formula")
        return
    if spec.auto_scale_formula is not None:
        yield invalid(("autoScaleFormula",), "is only for a pool with enableAutoScale: true")
    # The service accepts an auto pool without targets and answers 0 for both; other pools need one.
    if not given and isinstance(spec, PoolSpec):
        reason = "a pool needs targetDedicatedNodes, targetLowPriorityNodes or enableAutoScale"
        yield missing(("targetDedicatedNodes",), reason)


def _targets(body: PoolSpecification | ResizePool) -> Iterator[Refusal]:
    for name in _TARGETS:
        yield from at_least_refusals(getattr(body, name), 0, (wire_name(name),))


def _timeout(timeout_ms: int) -> Iterator[Refusal]:
    if timeout_ms < 5 * MINUTE_MS:
        yield invalid(("resizeTimeout",), f"is {format_duration(timeout_ms)}, must be PT5M or more")


def _interval(interval_ms: int | None) -> Iterator[Refusal]:
    if interval_ms is not None and not 5 * MINUTE_MS <= interval_ms <= 168 * HOUR_MS:
        reason = f"is {format_duration(interval_ms)}, must be PT5M to PT168H"
        yield invalid(("autoScaleEvaluationInterval",), reason)


def _formula(formula: str | None) -> Iterator[Refusal]:
    """Check the size and syntax of a formula; everything else shows when it is evaluated (AS-72)."""
    if formula is None:
        return
    try:
        autoscale.parse(formula)
    except FormulaError as error:
        yield Refusal(error.code, ("autoScaleFormula",), str(error))


def _cloud_service(spec: PoolSpecification, account: Account) -> Iterator[Refusal]:
    cloud_service = spec.cloud_service_configuration
    place = "cloudServiceConfiguration"
    if cloud_service is None:
        return
    if spec.virtual_machine_configuration is not None:
        yield invalid((place,), "excludes virtualMachineConfiguration, which is also given")
    if account.pool_allocation_mode is PoolAllocationMode.USER_SUBSCRIPTION:
        yield invalid((place,), "cannot be used in an account of pool allocation mode UserSubscription")
    family, version = cloud_service.os_family, cloud_service.os_version
    if family not in FAMILIES:
        yield invalid((place, "osFamily"), f"is {quoted(family)}, must be '2' to '6'")
    elif not is_version(version, family):
        example = f"WA-GUEST-OS-{family}.20_201806-01"
        reason = f"family {family} has no version {quoted(version)}: use '*' or a name like {example}"
        yield Refusal("OSVersionNotFound", (place, "osVersion"), reason)
    yield from _virtual_machines_only(spec)


def _virtual_machines_only(spec: PoolSpecification) -> Iterator[Refusal]:
    """Check that a cloud service pool asks for nothing that only virtual machines have (POOL-27)."""
    if vm_size(spec.vm_size) is not None and not is_cloud_service_size(spec.vm_size):
        yield invalid(("vmSize",), f"is {quoted(spec.vm_size)}, which cloud services do not have")
    if spec.target_low_priority_nodes:
        yield _no_spot(spec.target_low_priority_nodes)
    if spec.upgrade_policy is not None:
        yield invalid(("upgradePolicy",), "is for virtual machines only, not for cloud services")
    network = spec.network_configuration
    for name in ("endpoint_configuration", "public_ip_address_configuration"):
        if network is not None and getattr(network, name) is not None:
            path = ("networkConfiguration", wire_name(name))
            yield invalid(path, "is for virtual machines only, not for cloud services")


def _no_spot(target: int) -> Refusal:
    return invalid(("targetLowPriorityNodes",), f"is {target}, but cloud services have no Spot nodes")


def _start_task(task: StartTask | None, accounts: tuple[UserAccount, ...]) -> Iterator[Refusal]:
    if task is None:
        return
    path: Path = ("startTask",)
    yield from command_line_refusals(task, path)
    yield from at_least_refusals(task.max_task_retry_count, -1, (*path, "maxTaskRetryCount"))
    username = task.user_identity.username
    if username is not None and username not in {account.name for account in accounts}:
        yield invalid((*path, "userIdentity", "username"), f"{quoted(username)} is none of the pool's userAccounts")
    yield from most_refusals(len(json.dumps(task.wire())), "characters", _START_TASK_MAX, path)


def _packages(spec: PoolSpecification, account: Account, *, classic: bool) -> Iterator[Refusal]:
    """Check application package references (APP-3, APP-5, ACC-5)."""
    references = spec.application_package_references
    path: Path = ("applicationPackageReferences",)
    if references and classic and spec.os_family is OsFamily.LINUX:
        reason = "Linux nodes have no application packages: options.classicPackages is true"
        yield Refusal("InvalidApplicationPackageReferences", path, reason)
    yield from most_refusals(len(references), "references", 10, path)
    for index, reference in enumerate(references):
        verdict = account.package_verdict(reference)
        if isinstance(verdict, str):
            yield Refusal("InvalidApplicationPackageReferences", (*path, index), verdict)


def _certificates(spec: PoolSpecification, account: Account) -> Iterator[Refusal]:
    known = {certificate.thumbprint.lower() for certificate in account.certificates}
    for index, reference in enumerate(spec.certificate_references):
        if reference.thumbprint.lower() not in known:
            reason = f"the account has no certificate {quoted(reference.thumbprint)}"
            yield Refusal("InvalidCertificateReferences", ("certificateReferences", index, "thumbprint"), reason)


def _users(spec: PoolSpecification) -> Iterator[Refusal]:
    """Check user accounts (USER-2)."""
    twice = repeats(user.name.lower() for user in spec.user_accounts)
    for index, user in enumerate(spec.user_accounts):
        path: Path = ("userAccounts", index)
        yield from length_refusals(user.name, 20, (*path, "name"))
        if index in twice:
            yield invalid((*path, "name"), f"there is another user {quoted(user.name)}")
        linux = user.linux_user_configuration
        if linux is not None and (linux.uid is None) != (linux.gid is None):
            yield invalid((*path, "linuxUserConfiguration"), "uid and gid must be given together")
        if user.windows_user_configuration is not None and spec.os_family is OsFamily.LINUX:
            yield invalid((*path, "windowsUserConfiguration"), "is for Windows pools only")


def _licenses(spec: PoolSpecification) -> Iterator[Refusal]:
    for index, license_name in enumerate(spec.application_licenses):
        if license_name.lower() not in _LICENSES:
            yield invalid(("applicationLicenses", index), f"{quoted(license_name)} is none of {', '.join(_LICENSES)}")


_MOST_APPLICATIONS, _MOST_PACKAGES, _VERSION_MAX = 20, 40, 64
_THUMBPRINT = lazy_regex(r"[0-9a-fA-F]+")


def account_refusals(account: Account) -> Iterator[Refusal]:
    """Yield what is wrong with the account of a scenario."""
    yield from _application_refusals(account.applications)
    path: Path = ("certificates",)
    yield from _duplicates([each.thumbprint for each in account.certificates], path, "certificate", ("thumbprint",))
    for index, certificate in enumerate(account.certificates):
        yield from certificate_refusals(certificate, (*path, index))


def certificate_refusals(certificate: Certificate, path: Path = ()) -> Iterator[Refusal]:
    """Yield what the service refuses in a certificate (CERT-1)."""
    if not _THUMBPRINT.fullmatch(certificate.thumbprint):
        reason = f"{quoted(certificate.thumbprint)} is not a thumbprint: use hexadecimal digits"
        yield invalid((*path, "thumbprint"), reason)
    if certificate.thumbprint_algorithm.lower() != "sha1":
        reason = f"is {quoted(certificate.thumbprint_algorithm)}, only sha1 is supported"
        yield invalid((*path, "thumbprintAlgorithm"), reason)
    if certificate.password is not None and certificate.certificate_format is CertificateFormat.CER:
        yield invalid((*path, "password"), "is for the format pfx only: a cer file has no private key")


def package_refusals(command: CreateApplicationPackage, account: Account) -> Iterator[Refusal]:
    """Yield what the service refuses in an upload of a package (APP-1, ACC-5)."""
    yield from id_refusals(command.application_id, ("applicationId",))
    yield from length_refusals(command.version, _VERSION_MAX, ("version",))
    application = account.application(command.application_id)
    if application is None:
        if len(account.applications) >= _MOST_APPLICATIONS:
            yield invalid(("applicationId",), f"is new, and {_MOST_APPLICATIONS} applications are allowed")
    elif application.spelling_of(command.version) is None and len(application.versions) >= _MOST_PACKAGES:
        yield invalid(("version",), f"is new, and {_MOST_PACKAGES} versions are allowed")


def _application_refusals(applications: Sequence[Application]) -> Iterator[Refusal]:
    path: Path = ("applications",)
    yield from most_refusals(len(applications), "applications", _MOST_APPLICATIONS, path)
    yield from _duplicates([application.id for application in applications], path, "application", ("id",))
    for index, application in enumerate(applications):
        place: Path = (*path, index)
        yield from id_refusals(application.id, (*place, "id"))
        yield from display_name_refusals(application.display_name, (*place, "displayName"))
        versions = application.versions
        yield from most_refusals(len(versions), "versions", _MOST_PACKAGES, (*place, "versions"))
        yield from _duplicates(versions, (*place, "versions"), "version")
        for number, version in enumerate(versions):
            yield from length_refusals(version, _VERSION_MAX, (*place, "versions", number))


def _duplicates(names: Sequence[str], path: Path, what: str, key: Path = ()) -> Iterator[Refusal]:
    for index in sorted(repeats(name.lower() for name in names)):
        yield invalid((*path, index, *key), f"there is another {what} {quoted(names[index])}")
