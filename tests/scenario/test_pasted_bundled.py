"""Tests of the bundled scenarios in both forms: each of their bodies as a resource, and as the service returns it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine import Simulation
from engine.base.values import MINUTE_MS
from engine.scenario.load import load
from engine.scenario.text import bundled
from engine.specs.command import OnApplication
from engine.views import results
from tests.scenario.test_pasted import RESOURCES, scenario

MOVED = {
    "virtualMachineConfiguration": ("deploymentConfiguration",),
    "cloudServiceConfiguration": ("deploymentConfiguration",),
    "targetDedicatedNodes": ("scaleSettings", "fixedScale"),
    "targetLowPriorityNodes": ("scaleSettings", "fixedScale"),
    "resizeTimeout": ("scaleSettings", "fixedScale"),
}
RENAMED = {"nodeAgentSKUId": "nodeAgentSkuId", "username": "userName"}


def renamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {RENAMED.get(name, name): renamed(inner) for name, inner in value.items()}
    return [renamed(inner) for inner in value] if isinstance(value, list) else value


def resource_of(body: dict[str, Any]) -> dict[str, Any]:
    """A pool's body as the resource manager has it, made the other way round than the loader reads it."""
    properties: dict[str, Any] = {}
    auto = {}
    for name, value in body.items():
        if name == "autoScaleFormula":
            auto["formula"] = value
        elif name == "autoScaleEvaluationInterval":
            auto["evaluationInterval"] = value
        elif name == "enableInterNodeCommunication":
            properties["interNodeCommunication"] = "Enabled" if value else "Disabled"
        elif name == "applicationPackageReferences":
            packages = [{**one, "id": f"{RESOURCES}/applications/{one['applicationId']}"} for one in value]
            properties["applicationPackages"] = [without(one, "applicationId") for one in packages]
        elif name == "certificateReferences":
            certificates = [{**one, "id": f"{RESOURCES}/certificates/sha1-{one['thumbprint']}"} for one in value]
            properties["certificates"] = [without(one, "thumbprint", "thumbprintAlgorithm") for one in certificates]
        elif name not in ("id", "enableAutoScale"):
            inner = properties
            for part in MOVED.get(name, ()):
                inner = inner.setdefault(part, {})
            inner[name] = renamed(value)
    if auto:
        properties["scaleSettings"] = {"autoScale": auto}
    return {"name": f"contoso/{body['id']}", "properties": properties}


def without(body: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in names}


@pytest.mark.parametrize("name", bundled())
def test_gen_20_every_bundled_pool_is_the_same_as_a_resource(name):
    own = load(name)
    given = [entry for entry in own.timeline if isinstance(entry.command, OnApplication)]
    parts = {
        "account": own.account.written(),
        "timeline": [{"at": entry.at_ms / 1000, entry.command.NAME: entry.command.wire()} for entry in given],
    }
    for entry in own.pools:
        body = entry.spec.written()
        again = scenario(pools=[resource_of(body) | {"at": entry.at_ms / 1000}], **parts).pools[0].spec
        assert without(again.wire(), "targetDedicatedNodes") == without(entry.spec.wire(), "targetDedicatedNodes")
        assert (again.target_dedicated_nodes or 0) == (entry.spec.target_dedicated_nodes or 0)


@pytest.mark.parametrize(
    "name",
    ["shared-pool-two-jobs", "preparation-retries", "mpi-on-four-nodes", "storage-trouble", "spot-evictions"],
)
def test_gen_21_every_bundled_body_can_be_pasted_as_it_is_returned(name):
    own = load(name)
    simulation = Simulation(own)
    simulation.run_until(20 * MINUTE_MS)
    state = json.loads("".join(results.json_text(simulation)))
    again = scenario(account=state["account"], pools=state["pools"], jobs=state["jobs"])
    specs = {entry.spec.id: entry.spec for entry in own.jobs}
    assert again.jobs
    for entry, shown in zip(again.jobs, state["jobs"], strict=True):
        lines = [(task["id"], task["commandLine"]) for task in shown["tasks"]]
        assert [(task.id, task.command_line) for task in entry.tasks] == lines
        assert entry.spec.wire() == specs[entry.spec.id].wire()
