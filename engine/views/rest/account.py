"""The account and its certificates as the service returns them (CERT-1, CERT-4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import CertificateState
from engine.views.rest.common import account_url, previous_state, utc

if TYPE_CHECKING:
    from engine.state.certificates import CertificateRecord
    from engine.world.world import World


def account_body(world: World) -> dict[str, object]:
    """Return the account as it is at this moment: its address (ACC-1), quotas, applications and certificates."""
    certificates = [certificate_body(world, record) for record in world.certificates.present()]
    body = {"accountEndpoint": account_url(world).removeprefix("https://")} | {
        name: value for name, value in world.account.wire().items() if name != "certificates"
    }
    return body | ({"certificates": certificates} if certificates else {})


def certificate_body(world: World, record: CertificateRecord) -> dict[str, object]:
    """Return the REST body of a certificate that is not deleted (CERT-4)."""
    assert record.state is not None
    spec = record.spec
    place = f"certificates(thumbprintAlgorithm={spec.thumbprint_algorithm},thumbprint={spec.thumbprint})"
    body: dict[str, object] = {
        "thumbprint": spec.thumbprint,
        "thumbprintAlgorithm": spec.thumbprint_algorithm,
        "url": f"{account_url(world)}/{place}",
        "state": record.state.wire,
        "stateTransitionTime": utc(world, record.since_ms),
    }
    if record.previous is not None and record.previous_since_ms is not None:
        body |= previous_state(world, (record.previous, record.previous_since_ms))
    if record.state is CertificateState.DELETE_FAILED and record.use is not None:
        users = [("Pool", pool) for pool in record.use.pools] + [("Node", node) for node in record.use.nodes]
        body["deleteCertificateError"] = {
            "code": "CertificateDeleteFailed",
            "message": "The specified certificate is in use.",
            "values": [{"name": name, "value": value} for name, value in users],
        }
    return body
