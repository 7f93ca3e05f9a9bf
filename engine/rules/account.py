"""The account while a run goes on: its quotas, applications with their packages, and certificates (ACC, APP, CERT).

Nodes and tasks look at the account when they need it: at a request for nodes, at a boot, before a process. So a change
reaches what begins afterwards and nothing else. Nodes get their certificates when they boot, processes in
``processes.execution``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.calendar import Due, DueKind
from engine.base.errors import BatchError
from engine.base.terms import CertificateState
from engine.base.values import shortened
from engine.rules.decisions.verdicts import existing
from engine.rules.facts import QuotasChanged
from engine.specs.account import Application
from engine.specs.catalogue import TRANSITION_MS
from engine.state.account import Use

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.specs.account import Certificate
    from engine.specs.commands import CancelCertificateDeletion, CreateApplicationPackage, Quota, UpdateApplication
    from engine.specs.common import CertificateReference
    from engine.state.account import CertificateRecord
    from engine.world import World


def set_quotas(world: World, command: Quota) -> None:
    """Set quotas from now on; nothing is taken away where more is used than they allow (ACC-11)."""
    world.account_table.set_quotas(command.changes)
    world.emit(QuotasChanged())


def find_application(world: World, application_id: str) -> Application:
    """Return the application of this id. Raises BatchError if there is none."""
    return existing(world.account.application(application_id), "ApplicationNotFound", applicationId=application_id)


def _find_version(application: Application, version: str, key: str) -> str:
    """Return a version as the application spells it. Raises BatchError, which names ``key``, if it has none such."""
    known = application.spelling_of(version)
    if known is None:
        versions = ", ".join(application.versions) or "none"
        reason = f"{shortened(application.id)} has no package of this version; its versions: {shortened(versions)}"
        raise BatchError("ApplicationPackageNotFound", reason, PropertyName=key, PropertyValue=version)
    return known


def _check_updates(application: Application, version: str, what: str) -> None:
    """Refuse to touch the packages of an application that allows no updates (APP-8, APP-9).

    DECISION: the code is OperationInvalidForCurrentState, since no document names it.
    """
    if not application.allow_updates:
        reason = (
            f"{shortened(application.id)} has allowUpdates: false, so its version {shortened(version)} cannot be {what}"
        )
        raise BatchError("OperationInvalidForCurrentState", reason)


def create_package(world: World, command: CreateApplicationPackage) -> None:
    """Upload a package: of a new application, a new version, or in place of one that is there (APP-8)."""
    application = world.account.application(command.application_id)
    if application is None:
        created = Application(id=command.application_id, versions=(command.version,))
        if command.size is not None:
            created = created.model_copy(update={"size": command.size})
        world.account_table.put_application(created)
        world.account_table.count_upload(created.id, command.version)
        return
    known = application.spelling_of(command.version)
    if known is not None:
        _check_updates(application, known, "replaced")
    version = known or command.version
    versions = application.versions if known is not None else (*application.versions, version)
    sizes = {name: size for name, size in (application.sizes or {}).items() if name != version}
    if command.size is not None and command.size != application.size:
        sizes[version] = command.size
    _change(world, application, versions=versions, sizes=sizes or None)
    world.account_table.count_upload(application.id, version)


def delete_package(world: World, application: Application, version: str) -> None:
    """Delete a package, also one that pools and tasks refer to; without its default version an application has none.

    What is installed stays on the nodes (APP-7, APP-9).
    """
    version = _find_version(application, version, "version")
    _check_updates(application, version, "deleted")
    versions = tuple(each for each in application.versions if each != version)
    sizes = {name: size for name, size in (application.sizes or {}).items() if name != version}
    default = None if application.default_version == version else application.default_version
    _change(world, application, versions=versions, sizes=sizes or None, default_version=default)


def update_application(world: World, application: Application, command: UpdateApplication) -> None:
    """Change what is given; what is absent or null stays (APP-10)."""
    given = command.given_values("application_id")
    if command.default_version is not None:
        given["default_version"] = _find_version(application, command.default_version, "defaultVersion")
    _change(world, application, **{name: value for name, value in given.items() if value is not None})


def _change(world: World, application: Application, **changes: object) -> None:
    world.account_table.put_application(application.model_copy(update=changes))


_S = CertificateState


def use_of_certificate(world: World, thumbprint: str) -> Use | None:
    """Return the pools and nodes that use a certificate, so that it cannot be deleted (CERT-4); None if there are none.

    A node keeps a certificate until it boots again (CERT-2).
    """

    def names_it(references: Iterable[CertificateReference]) -> bool:
        return any(reference.thumbprint.lower() == thumbprint.lower() for reference in references)

    pools = tuple(pool.id for pool in world.pools.present() if names_it(pool.spec.certificate_references))
    present = (node for pool in world.pools.present() for node in pool.nodes if world.nodes.state_of(node) is not None)
    nodes = tuple(world.nodes[node].id for node in present if names_it(world.nodes[node].certificates))
    return Use(pools, nodes) if pools or nodes else None


def add_certificate(world: World, spec: Certificate) -> None:
    """Add a certificate to the account (CERT-1)."""
    known = world.certificates.find(spec.thumbprint)
    if known is not None:
        raise BatchError("CertificateBeingDeleted" if known.state is _S.DELETING else "CertificateExists")
    world.certificates.create(world.now_ms, spec)


def find_certificate(world: World, thumbprint: str) -> CertificateRecord:
    """Return the certificate with this thumbprint; refuses with CertificateNotFound."""
    return existing(world.certificates.find(thumbprint), "CertificateNotFound", thumbprint=thumbprint)


def delete_certificate(world: World, thumbprint: str) -> None:
    """Begin to delete a certificate; a little later it is found out whether it is in use (CERT-4)."""
    record = find_certificate(world, thumbprint)
    if record.state is _S.DELETING:
        raise BatchError("CertificateBeingDeleted")
    world.certificates.set_state(world.now_ms, record.row, _S.DELETING)
    world.calendar.at(world.now_ms + TRANSITION_MS, DueKind.CERTIFICATE_STEP, record.row)


def cancel_certificate_deletion(world: World, _: None, command: CancelCertificateDeletion) -> None:
    """Make a certificate that could not be deleted active again (CERT-4)."""
    record = find_certificate(world, command.thumbprint)
    if record.state is _S.DELETING:
        raise BatchError("CertificateBeingDeleted")
    if record.state is not _S.DELETE_FAILED:
        raise BatchError("CertificateStateActive")
    world.certificates.set_state(world.now_ms, record.row, _S.ACTIVE)


def certificate_deletion_ended(world: World, due: Due) -> None:
    """Delete the certificate, or fail to because a pool or node uses it (CERT-4)."""
    record = world.certificates[due.key]
    use = use_of_certificate(world, record.spec.thumbprint)
    world.certificates.set_state(world.now_ms, record.row, None if use is None else _S.DELETE_FAILED, use)
