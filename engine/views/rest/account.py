"""The account, its applications and certificates, and the images and usage that the service lists (CERT-1, CERT-4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import CertificateState
from engine.base.units import HOUR_MS
from engine.views.rest.common import account_url, certificate_path, previous_state, utc

if TYPE_CHECKING:
    from engine.specs.account import Application
    from engine.specs.images import Image
    from engine.state.certificates import CertificateRecord
    from engine.state.pools import Pool
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
    body: dict[str, object] = {
        "thumbprint": spec.thumbprint,
        "thumbprintAlgorithm": spec.thumbprint_algorithm,
        "url": f"{account_url(world)}/{certificate_path(spec)}",
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


def application_body(application: Application) -> dict[str, object]:
    """Return the REST body of an application (APP-1)."""
    name = application.id if application.display_name is None else application.display_name
    return {"id": application.id, "displayName": name, "versions": list(application.versions)}


def image_body(image: Image) -> dict[str, object]:
    """Return the REST body of a supported image (POOL-26)."""
    reference = {"publisher": image.publisher, "offer": image.offer, "sku": image.sku, "version": "latest"}
    has_containers = "container" in f"{image.offer} {image.sku}"
    return {
        "nodeAgentSKUId": image.node_agent_sku_id,
        "imageReference": reference,
        "osType": image.os.value,
        "capabilities": ["DockerCompatible"] if has_containers else [],
        "batchSupportEndOfLife": f"{image.end_of_support}T00:00:00Z",
        "verificationType": "verified",
    }


def usage_body(world: World, pool: Pool, now_ms: int) -> dict[str, object]:
    """Return the usage of a pool from its creation on. DECISION: in one piece, where the service has half hours."""
    core_ms = pool.size.cores * sum(world.nodes.billed_in_all_ms(pool.nodes, now_ms))
    return {
        "poolId": pool.id,
        "startTime": utc(world, pool.created_ms),
        "endTime": utc(world, now_ms if pool.gone_ms is None else pool.gone_ms),
        "vmSize": pool.spec.vm_size,
        "totalCoreHours": round(core_ms / HOUR_MS, 6),
    }
