"""Certificates of the account (CERT). Nodes get theirs when they boot, processes in ``processes.execution``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.base.terms import CertificateState
from engine.events.calendar import Due, DueKind
from engine.specs.catalogue import TRANSITION_MS
from engine.state.certificates import Use

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.specs.account import Certificate
    from engine.specs.common import CertificateReference
    from engine.state.certificates import CertificateRecord
    from engine.world.world import World

_S = CertificateState


def use_of(world: World, thumbprint: str) -> Use | None:
    """Return the pools and nodes that use a certificate, so that it cannot be deleted (CERT-4); None if there are none.

    A node keeps a certificate until it boots again (CERT-2).
    """

    def names_it(references: Iterable[CertificateReference]) -> bool:
        return any(reference.thumbprint.lower() == thumbprint.lower() for reference in references)

    pools = tuple(pool.id for pool in world.pools.present() if names_it(pool.spec.certificate_references))
    present = (node for pool in world.pools.present() for node in pool.nodes if world.nodes.state_of(node) is not None)
    nodes = tuple(world.nodes[node].id for node in present if names_it(world.nodes[node].certificates))
    return Use(pools, nodes) if pools or nodes else None


def add(world: World, spec: Certificate) -> None:
    """Add a certificate to the account (CERT-1)."""
    known = world.certificates.find(spec.thumbprint)
    if known is not None:
        raise BatchError("CertificateBeingDeleted" if known.state is _S.DELETING else "CertificateExists")
    world.certificates.create(world.now_ms, spec)


def find(world: World, thumbprint: str) -> CertificateRecord:
    """Return the certificate with this thumbprint; refuses with CertificateNotFound."""
    record = world.certificates.find(thumbprint)
    if record is None:
        raise BatchError("CertificateNotFound", thumbprint=thumbprint)
    return record


def delete(world: World, thumbprint: str) -> None:
    """Begin to delete a certificate; a little later it is found out whether it is in use (CERT-4)."""
    record = find(world, thumbprint)
    if record.state is _S.DELETING:
        raise BatchError("CertificateBeingDeleted")
    world.certificates.set_state(world.now_ms, record.row, _S.DELETING)
    world.calendar.at(world.now_ms + TRANSITION_MS, DueKind.CERTIFICATE_STEP, record.row)


def cancel_deletion(world: World, thumbprint: str) -> None:
    """Make a certificate that could not be deleted active again (CERT-4)."""
    record = find(world, thumbprint)
    if record.state is _S.DELETING:
        raise BatchError("CertificateBeingDeleted")
    if record.state is not _S.DELETE_FAILED:
        raise BatchError("CertificateStateActive")
    world.certificates.set_state(world.now_ms, record.row, _S.ACTIVE)


def deletion_ended(world: World, due: Due) -> None:
    """Delete the certificate, or fail to because a pool or node uses it (CERT-4)."""
    record = world.certificates[due.key]
    use = use_of(world, record.spec.thumbprint)
    world.certificates.set_state(world.now_ms, record.row, None if use is None else _S.DELETE_FAILED, use)
