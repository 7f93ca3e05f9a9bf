"""Tests of bodies in another form: pools as the resource manager has them, and bodies as the service returns them."""

from __future__ import annotations

import functools
import json
import re
from copy import deepcopy
from typing import Any

import pytest

from engine.base.errors import ScenarioError
from engine.base.terms import NodeFillType
from engine.base.values import MINUTE_MS
from engine.scenario import pasted
from engine.scenario.load import load
from engine.scenario.model import Scenario
from engine.specs.bodies import PoolSpec
from engine.specs.commands import CreatePool

SIZE = "vmSize: standard_d2s_v3"
ACCOUNT = {
    "applications": [{"id": "pricer", "versions": ["1.2"], "defaultVersion": "1.2"}],
    "certificates": [{"thumbprint": "0a0e4f50d51beadeac1d35afc5116098e7902e6e"}],
}
RESOURCES = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Batch/batchAccounts/contoso"

# A pool as a template has it, with every part that is named otherwise than on the data plane.
RESOURCE: dict[str, Any] = {
    "type": "Microsoft.Batch/batchAccounts/pools",
    "apiVersion": "2024-07-01",
    "name": "contoso/shared",
    "dependsOn": ["[resourceId('Microsoft.Batch/batchAccounts', 'contoso')]"],
    "identity": {"type": "UserAssigned", "userAssignedIdentities": {f"{RESOURCES}/id": {"clientId": "c"}}},
    "properties": {
        "vmSize": "STANDARD_D4S_V3",
        "displayName": "Shared",
        "interNodeCommunication": "Disabled",
        "taskSlotsPerNode": 2,
        "taskSchedulingPolicy": {"nodeFillType": "Pack"},
        "deploymentConfiguration": {
            "virtualMachineConfiguration": {
                "imageReference": {
                    "publisher": "canonical",
                    "offer": "0001-com-ubuntu-server-jammy",
                    "sku": "22_04-lts",
                    "version": "latest",
                },
                "nodeAgentSkuId": "batch.node.ubuntu 22.04",
            }
        },
        "scaleSettings": {
            "fixedScale": {"targetDedicatedNodes": 2, "targetLowPriorityNodes": 1, "resizeTimeout": "PT20M"}
        },
        "networkConfiguration": {"dynamicVnetAssignmentScope": "none"},
        "applicationPackages": [{"id": f"{RESOURCES}/applications/pricer", "version": "1.2"}],
        "certificates": [
            {
                "id": f"{RESOURCES}/certificates/sha1-0a0e4f50d51beadeac1d35afc5116098e7902e6e",
                "storeLocation": "LocalMachine",
                "visibility": ["StartTask"],
            }
        ],
        "userAccounts": [{"name": "worker", "elevationLevel": "NonAdmin", "password": "secret"}],
        "startTask": {"commandLine": "/bin/sh -c 'echo hi'", "userIdentity": {"userName": "worker"}},
        "mountConfiguration": [
            {
                "azureBlobFileSystemConfiguration": {
                    "accountName": "data",
                    "containerName": "market",
                    "relativeMountPath": "market",
                    "accountKey": "key",
                }
            }
        ],
    },
}


def scenario(**parts: object) -> Scenario:
    return load("s.json", text=json.dumps({"scenario": "s", **parts}))


def pool(body: object) -> PoolSpec:
    return scenario(account=ACCOUNT, pools=[body]).pools[0].spec


def mistakes(body: str) -> list[tuple[str, str]]:
    with pytest.raises(ScenarioError) as caught:
        load("s.yaml", text=f"scenario: s\npools:\n  - {body}\n")
    return [(problem.path, problem.message) for problem in caught.value.problems]


# --- resources


def test_gen_20_a_resource_is_the_same_pool_as_on_the_data_plane():
    properties = RESOURCE["properties"]
    machine = properties["deploymentConfiguration"]["virtualMachineConfiguration"]
    assert pool(RESOURCE) == pool(
        {
            "id": "shared",
            "vmSize": "STANDARD_D4S_V3",
            "displayName": "Shared",
            "enableInterNodeCommunication": False,
            "taskSlotsPerNode": 2,
            "taskSchedulingPolicy": {"nodeFillType": "pack"},
            "virtualMachineConfiguration": {
                "imageReference": machine["imageReference"],
                "nodeAgentSKUId": "batch.node.ubuntu 22.04",
            },
            "targetDedicatedNodes": 2,
            "targetLowPriorityNodes": 1,
            "resizeTimeout": "PT20M",
            "networkConfiguration": {"dynamicVNetAssignmentScope": "none"},
            "applicationPackageReferences": [{"applicationId": "pricer", "version": "1.2"}],
            "certificateReferences": [
                {
                    "thumbprint": "0a0e4f50d51beadeac1d35afc5116098e7902e6e",
                    "thumbprintAlgorithm": "sha1",
                    "storeLocation": "localmachine",
                    "visibility": ["starttask"],
                }
            ],
            "userAccounts": properties["userAccounts"],
            "startTask": {"commandLine": "/bin/sh -c 'echo hi'", "userIdentity": {"username": "worker"}},
            "mountConfiguration": properties["mountConfiguration"],
            "identity": {
                "type": "UserAssigned",
                "userAssignedIdentities": [{"resourceId": f"{RESOURCES}/id", "clientId": "c"}],
            },
        }
    )


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"id": "own", "name": "contoso/other"}, "own"),
        ({"id": f"{RESOURCES}/pools/shared", "name": "other"}, "shared"),
        ({"id": f"{RESOURCES}/pools/shared/"}, "shared"),
        ({"name": "shared"}, "shared"),
        ({"name": "contoso/shared"}, "shared"),
    ],
)
def test_gen_20_the_id_of_a_resource(names, expected):
    assert pool({**names, "properties": {"vmSize": "standard_d2s_v3"}}).id == expected


def test_gen_20_a_resource_with_a_formula():
    scale = {"autoScale": {"formula": "$TargetDedicatedNodes = 1", "evaluationInterval": "PT6M"}}
    spec = pool({"name": "p", "properties": {"vmSize": "standard_d2s_v3", "scaleSettings": scale}})
    assert (spec.enable_auto_scale, spec.auto_scale_formula) == (True, "$TargetDedicatedNodes = 1")
    assert spec.auto_scale_evaluation_interval == 6 * MINUTE_MS
    assert spec.target_dedicated_nodes is None


def test_gen_20_a_resource_without_scale_settings_has_no_nodes():
    assert pool({"name": "p", "properties": {"vmSize": "standard_d2s_v3"}}).target_dedicated_nodes == 0


def test_gen_20_the_parts_of_a_resource_may_stand_without_properties():
    spec = pool(
        {
            "id": "p",
            "vmSize": "standard_d2_v3",
            "deploymentConfiguration": {"cloudServiceConfiguration": {"osFamily": "6"}},
            "scaleSettings": {"fixedScale": {"targetDedicatedNodes": 3}},
            "interNodeCommunication": "Enabled",
        }
    )
    assert spec.cloud_service_configuration is not None
    assert (spec.target_dedicated_nodes, spec.enable_inter_node_communication) == (3, True)


def test_gen_20_a_custom_image_is_named_by_its_id():
    machine = {"imageReference": {"id": f"{RESOURCES}/images/i"}, "nodeAgentSkuId": "batch.node.ubuntu 22.04"}
    configuration = {"virtualMachineConfiguration": machine}
    spec = pool(
        {"name": "p", "properties": {"vmSize": "standard_d2s_v3", "deploymentConfiguration": configuration}}
    ).virtual_machine_configuration
    assert spec is not None
    assert spec.image_reference.virtual_machine_image_id == f"{RESOURCES}/images/i"


def test_gen_20_a_package_may_be_named_by_the_id_of_its_version():
    packages = [{"id": f"{RESOURCES}/applications/pricer/versions/1.2"}, {"id": f"{RESOURCES}/applications/pricer"}]
    spec = pool({"name": "p", "properties": {"vmSize": "standard_d2s_v3", "applicationPackages": packages}})
    assert [(one.application_id, one.version) for one in spec.application_package_references] == [
        ("pricer", "1.2"),
        ("pricer", None),
    ]


def test_gen_20_a_resource_stands_wherever_a_pool_does():
    own = {
        "name": "a/later",
        "properties": {"vmSize": "standard_d2s_v3", "taskSchedulingPolicy": {"nodeFillType": "Pack"}},
    }
    automatic = {"poolLifetimeOption": "job", "pool": {"properties": own["properties"]}}
    loaded = scenario(
        jobs=[{"id": "j", "poolInfo": {"autoPoolSpecification": automatic}}],
        timeline=[{"at": 5, "createPool": own}],
        expect=[{"poolId": "later", "state": "active"}],
    )
    command = loaded.timeline[0].command
    assert isinstance(command, CreatePool)
    assert command.id == "later"
    specification = loaded.jobs[0].spec.pool_info.auto_pool_specification
    assert specification is not None
    assert specification.pool is not None
    assert specification.pool.task_scheduling_policy.node_fill_type is NodeFillType.PACK


def test_gen_20_a_resource_that_was_read_back_is_warned_of():
    resource = deepcopy(RESOURCE) | {"etag": "W/x", "kind": None}
    resource["properties"] |= {"provisioningState": "Succeeded", "currentDedicatedNodes": 2}
    del resource["properties"]["userAccounts"][0]["password"]
    loaded = scenario(account=ACCOUNT, pools=[resource])
    assert {warning.message for warning in loaded.warnings} == {
        "what only the service writes is left out: etag, provisioningState, currentDedicatedNodes",
    }
    assert loaded.pools[0].spec.user_accounts[0].password == ""


@pytest.mark.parametrize(
    ("body", "path", "message"),
    [
        (f"{{name: p, properties: {{{SIZE}, scaleSetings: {{}}}}}}", "properties.scaleSetings", "'scaleSettings'?"),
        (
            f"{{name: p, properties: {{{SIZE}, scaleSettings: {{fixedScale: {{targetDedicatedNode: 1}}}}}}}}",
            "properties.scaleSettings.fixedScale.targetDedicatedNode",
            "did you mean 'targetDedicatedNodes'?",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, scaleSettings: {{fixedScale: {{targetDedicatedNodes: -1}}}}}}}}",
            "properties.scaleSettings.fixedScale.targetDedicatedNodes",
            "is -1, must be 0 or more",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, scaleSettings: {{fixedScale: {{}}, autoScale: {{formula: x}}}}}}}}",
            "properties.scaleSettings.autoScale",
            "not both",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, scaleSettings: {{autoScale: {{}}}}}}}}",
            "properties.scaleSettings.autoScale.formula",
            "'formula' is missing",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, scaleSettings: {{autoScale: {{formula: $x=}}}}}}}}",
            "properties.scaleSettings.autoScale.formula",
            "Unexpected end of the formula",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, scaleSettings: {{fixedScale: {{nodeDeallocationOption: requeu}}}}}}}}",
            "properties.scaleSettings.fixedScale.nodeDeallocationOption",
            "did you mean 'requeue'?",
        ),
        (f"{{name: p, properties: {{{SIZE}, scaleSettings: []}}}}", "properties.scaleSettings", "must be a mapping"),
        (
            f"{{name: p, properties: {{{SIZE}, targetDedicatedNodes: 1}}}}",
            "properties.targetDedicatedNodes",
            "the resource has it in scaleSettings.fixedScale",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, interNodeCommunication: Enable}}}}",
            "properties.interNodeCommunication",
            "did you mean 'Enabled'?",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, interNodeCommunication: true}}}}",
            "properties.interNodeCommunication",
            "can be Enabled, Disabled",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, deploymentConfiguration: "
            "{virtualMachineConfiguration: {imageReference: {id: x}}}}}",
            "properties.deploymentConfiguration.virtualMachineConfiguration.nodeAgentSkuId",
            "'nodeAgentSkuId' is missing",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, deploymentConfiguration: {{virtualMachineConfiguration: "
            "{imageReference: {idd: x}, nodeAgentSkuId: batch.node.ubuntu 22.04}}}}",
            "properties.deploymentConfiguration.virtualMachineConfiguration.imageReference.idd",
            "did you mean 'id'?",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, applicationPackages: [{{version: '1'}}]}}}}",
            "properties.applicationPackages[0].id",
            "'id' is missing",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, certificates: [{{id: sha1-xx}}]}}}}",
            "properties.certificates[0].id",
            "no certificate 'xx'",
        ),
        (
            f"{{name: p, properties: {{{SIZE}, startTask: {{commandLine: x, simulate: {{duratio: 5}}}}}}}}",
            "properties.startTask.simulate.duratio",
            "did you mean 'duration'?",
        ),
        ("{name: p, properties: {}}", "properties.vmSize", "'vmSize' is missing"),
        ("{name: p, properties: 5}", "properties", "must be a mapping"),
        (f"{{properties: {{{SIZE}}}}}", "name", "the pool needs a name or an id"),
        (f"{{name: [a], properties: {{{SIZE}}}}}", "name", "is not text"),
        (f"{{id: a b, properties: {{{SIZE}}}}}", "id", "is not an id"),
        (f"{{name: p, taskSlotsPerNode: 2, properties: {{{SIZE}}}}}", "taskSlotsPerNode", "belongs in 'properties'"),
        (f"{{name: p, propertys: {{}}, properties: {{{SIZE}}}}}", "propertys", "did you mean 'properties'?"),
        (f"{{name: p, identity: {{type: x}}, properties: {{{SIZE}}}}}", "identity.type", "can be UserAssigned, None"),
        (f"{{name: p, identity: 5, properties: {{{SIZE}}}}}", "identity", "must be a mapping"),
        (
            f"{{type: Microsoft.Batch/batchAccounts, name: p, properties: {{{SIZE}}}}}",
            "type",
            "is no pool: only resources of the type Microsoft.Batch/batchAccounts/pools can stand here",
        ),
        ("{resources: [], $schema: x}", "", "is a whole template: put its pools here"),
        (
            f"{{name: \"[concat('a', '/p')]\", properties: {{{SIZE}}}}}",
            "name",
            "is an expression of a template: write the id of the pool, or 'account/pool'",
        ),
        (
            "{name: p, properties: {vmSize: \"[parameters('size')]\"}}",
            "properties.vmSize",
            "is an expression of a template: write its value",
        ),
        (
            f"{{id: p, {SIZE}, scaleSettings: {{fixedScale: {{targetDedicatedNodes: 1}}}}, targetDedicatedNodes: 2}}",
            "targetDedicatedNodes",
            "already given here",
        ),
    ],
)
def test_gen_20_a_mistake_stands_where_the_user_wrote_it(body, path, message):
    (found,) = mistakes(body)
    assert found[0] == f"pools[0].{path}".rstrip(".")
    assert message in found[1]


QUOTED = """
scenario: s
pools:
  - {id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: "2", maxTasksPerNode: "4", enableAutoScale: "False"}
  - name: a/q
    properties:
      {vmSize: standard_d2s_v3, taskSlotsPerNode: "2", scaleSettings: {fixedScale: {targetDedicatedNodes: "1"}}}
jobs:
  - id: j
    priority: "-5"
    usesTaskDependencies: "true"
    poolInfo: {poolId: p}
    constraints: {maxTaskRetryCount: "2"}
    tasks:
      - {id: t, commandLine: x, requiredSlots: "2"}
      - {id: "5", commandLine: x, dependsOn: {taskIdRanges: [{start: "1", end: "2"}]}, simulate: {exitCode: 0}}
  - id: k
    poolInfo:
      {autoPoolSpecification: {poolLifetimeOption: job, pool: {vmSize: standard_d2s_v3, targetDedicatedNodes: "1"}}}
    taskFactory:
      {type: parametricSweep, parameterSets: [{start: 1, end: 2}], repeatTask: {commandLine: x, requiredSlots: "1"}}
timeline:
  - {at: PT5M, resizePool: {poolId: p, targetDedicatedNodes: "3"}}
  - {at: PT6M, addTasks: {jobId: j, tasks: [{id: u, commandLine: x, requiredSlots: "2"}]}}
until: PT1H
"""


def test_numbers_in_quotes_are_read_with_a_warning():
    """As the Azure CLI and the resource manager read them."""
    loaded = load("s", text=QUOTED)
    told = [warning for warning in loaded.warnings if warning.code == "quoted-number"]
    assert len(told) == QUOTED.count('"') // 2 - 1  # all but the id
    assert str(told[0]).endswith("pools[0].targetDedicatedNodes: '2' is read as 2: leave out the quotes")
    plain = re.sub(r'"(-?\d|true|False)"(?!, commandLine: x, dep)', lambda found: found[1].lower(), QUOTED)
    again = load("s", text=plain)
    assert not [warning for warning in again.warnings if warning.code == "quoted-number"]
    assert [entry.spec for entry in loaded.pools] == [entry.spec for entry in again.pools]
    assert [(entry.spec, entry.tasks) for entry in loaded.jobs] == [(entry.spec, entry.tasks) for entry in again.jobs]
    assert [entry.command for entry in loaded.timeline] == [entry.command for entry in again.timeline]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ('Nodes: "2"', 'Nodes: "two"', "pools[0].targetDedicatedNodes"),
        ('Nodes: "2"', 'Nodes: "2.5"', "pools[0].targetDedicatedNodes"),
        ('Nodes: "2"', 'Nodes: ""', "pools[0].targetDedicatedNodes"),
        ('"true"', '"yes"', "jobs[0].usesTaskDependencies"),
        ("exitCode: 0", 'exitCode: "0"', "jobs[0].tasks[1].simulate.exitCode"),
        ('start: "1"', 'start: "1a"', "jobs[0].tasks[1].dependsOn.taskIdRanges[0].start"),
    ],
)
def test_other_text_in_place_of_a_number_stays_a_mistake(old, new, path):
    with pytest.raises(ScenarioError) as caught:
        load("s", text=QUOTED.replace(old, new, 1))
    assert [problem.path for problem in caught.value.problems] == [path]


TEMPLATED = """
scenario: s
pools:
  - {name: a/never, type: T, condition: CONDITION, properties: {vmSize: standard_d2s_v3}}
  - {id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1, displayName: "[[not(one)]"}
jobs:
  - {id: j, poolInfo: {poolId: POOL}, displayName: NAME, tasks: [{id: t, commandLine: LINE}]}
until: PT1H
expect: [{poolId: never, state: null}]
""".replace("T,", "Microsoft.Batch/batchAccounts/pools,")


def templated(condition="false", pool="p", name="x", line="work"):
    changes = {"CONDITION": condition, "POOL": pool, "NAME": name, "LINE": line}
    return functools.reduce(lambda text, each: text.replace(*each), changes.items(), TEMPLATED)


def test_gen_20_a_resource_whose_condition_is_false_is_not_there():
    for condition in ("false", '"False"'):
        loaded = load("s", text=templated(condition))
        assert [entry.spec.id for entry in loaded.pools] == ["p"]
    (warning,) = [each for each in load("s", text=templated(pool="never")).warnings if "never" in each.message]
    assert warning.message == "the pool 'never' is not created: its condition is false"
    assert [entry.spec.id for entry in load("s", text=templated("true")).pools] == ["never", "p"]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"condition": "\"[parameters('deploy')]\""}, "pools[0].condition"),
        ({"pool": "\"[variables('pool')]\""}, "jobs[0].poolInfo.poolId"),
        ({"name": "\"[concat('a', 'b')]\""}, "jobs[0].displayName"),
        ({"line": "\"[format('{0} x', parameters('a'))]\""}, "jobs[0].tasks[0].commandLine"),
    ],
)
def test_an_expression_is_told_wherever_it_stands(changes, path):
    with pytest.raises(ScenarioError, match="is an expression of a template: write its value") as caught:
        load("s", text=templated(**changes))
    assert [problem.path for problem in caught.value.problems] == [path]


@pytest.mark.parametrize("line", ['"[ -f x ] && (y)"', '"[[ $(x) ]]"', '"[f(x) for x in y]"', '"[[parameters(1)]"'])
def test_other_text_in_brackets_is_no_expression(line):
    load("s", text=templated(line=line))


def test_copies_of_a_resource_are_to_be_written():
    text = templated().replace("properties: {", "copy: {name: loop, count: 3}, properties: {copy: [], ", 1)
    text = text.replace("condition: false", "condition: true")
    with pytest.raises(ScenarioError) as caught:
        load("s", text=text)
    assert [problem.path for problem in caught.value.problems] == ["pools[0].copy", "pools[0].properties.copy"]
    assert all("write each copy as an entry of its own" in problem.message for problem in caught.value.problems)


def test_tasks_as_the_service_takes_them_are_not_searched_for_names_of_clients(monkeypatch):
    spelled, calls = pasted.wire_spelled, []
    monkeypatch.setattr(pasted, "wire_spelled", lambda *given: calls.append(given) or spelled(*given))
    tasks = [{"id": f"t{k}", "commandLine": "/bin/sh -c 'a'"} for k in range(300)]
    job = {"id": "j", "poolInfo": {"poolId": "p"}, "tasks": tasks}
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}
    load("many.json", text=json.dumps({"scenario": "s", "pools": [pool], "jobs": [job]}))
    assert len(calls) < 50
