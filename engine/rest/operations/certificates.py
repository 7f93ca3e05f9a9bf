"""The operations on certificates, which only older clients know (CERT-1, CERT-4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.errors import BatchError
from engine.rest.operations.common import Target, acted, command_of, created, one
from engine.rest.protocol import paging
from engine.rest.protocol.answers import Answer
from engine.specs import commands as c
from engine.views.rest.account import certificate_body
from engine.views.rest.common import certificate_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.rest.protocol.answers import Body
    from engine.rest.protocol.calls import Call, Handler
    from engine.state.certificates import CertificateRecord


def certificate_named(call: Call) -> CertificateRecord:
    """Return the certificate that the path names. Raises BatchError: CertificateNotFound."""
    thumbprint, algorithm = call.names["thumbprint"], call.names["thumbprintAlgorithm"]
    found = call.world.certificates.find(thumbprint)
    if found is None or found.spec.thumbprint_algorithm.lower() != algorithm.lower():
        raise BatchError("CertificateNotFound", thumbprint=thumbprint)
    return found


def add_certificate(call: Call) -> Answer:
    """Add a certificate to the account."""
    command = command_of(call, c.AddCertificate)
    assert isinstance(command, c.AddCertificate)
    call.submit(command)
    return created(call, Target(f"/{certificate_path(command)}"))


def list_certificates(call: Call) -> Answer:
    """Answer with a page of the certificates."""
    world = call.world

    def after(row: int) -> Iterator[tuple[int, Body]]:
        listed = (one for one in paging.after(world.certificates.rows, row) if one.state is not None)
        return ((record.row, certificate_body(world, record)) for record in listed)

    return paging.page(call, "certificates", after, -1)


def get_certificate(call: Call) -> Answer:
    """Answer with one certificate."""
    return one(call, "certificates", certificate_body(call.world, certificate_named(call)), None)


def delete_certificate(call: Call) -> Answer:
    """Begin to delete a certificate."""
    call.submit(command_of(call, c.DeleteCertificate))
    return Answer(call.route.status)


def cancel_deletion(call: Call) -> Answer:
    """Make a certificate active again whose deletion has failed."""
    call.submit(command_of(call, c.CancelCertificateDeletion))
    return acted(call, None)


HANDLERS: dict[str, Handler] = {
    "add_certificate": add_certificate,
    "list_certificates": list_certificates,
    "get_certificate": get_certificate,
    "delete_certificate": delete_certificate,
    "cancel_certificate_deletion": cancel_deletion,
}
