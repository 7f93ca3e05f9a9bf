"""Pools as the resource manager writes them (GEN-20)."""

from __future__ import annotations

from tests.properties.needs import Body

_MOVED = (
    ("targetDedicatedNodes", "targetLowPriorityNodes", "resizeTimeout"),
    ("autoScaleFormula", "autoScaleEvaluationInterval"),
)
_ACCOUNT = "/subscriptions/1/resourceGroups/hub/providers/Microsoft.Batch/batchAccounts/acc"
_KINDS = ("virtualMachineConfiguration", "cloudServiceConfiguration")


def as_resource(pool: Body) -> Body:
    """Return the same pool as a resource."""
    left = dict(pool)
    resource: Body = {"type": "Microsoft.Batch/batchAccounts/pools", "name": f"acc/{left.pop('id')}"}
    deployed = {name: left.pop(name) for name in _KINDS if name in left}
    if deployed:
        left["deploymentConfiguration"] = deployed
    fixed = {name: left.pop(name) for name in _MOVED[0] if name in left}
    scale: Body = {"fixedScale": fixed} if fixed else {}
    if left.pop("enableAutoScale", False):
        names = {"autoScaleFormula": "formula", "autoScaleEvaluationInterval": "evaluationInterval"}
        scale = {"autoScale": {names[name]: left.pop(name) for name in _MOVED[1] if name in left}}
    if scale:
        left["scaleSettings"] = scale
    if "enableInterNodeCommunication" in left:
        left["interNodeCommunication"] = "Enabled" if left.pop("enableInterNodeCommunication") else "Disabled"
    if "applicationPackageReferences" in left:
        references = left.pop("applicationPackageReferences")
        left["applicationPackages"] = [_package(one) for one in references]
    if "certificateReferences" in left:
        thumbprints = (one["thumbprint"] for one in left.pop("certificateReferences"))
        left["certificates"] = [{"id": f"{_ACCOUNT}/certificates/sha1-{one}"} for one in thumbprints]
    return resource | {"properties": left}


def _package(reference: Body) -> Body:
    known = {"id": f"{_ACCOUNT}/applications/{reference['applicationId']}"}
    return known | ({"version": reference["version"]} if "version" in reference else {})
