"""Tests of bodies in another form: pools as the resource manager has them, and bodies as the service returns them."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from engine import Simulation
from engine.base.errors import ScenarioError
from engine.base.terms import NodeFillType
from engine.base.units import MINUTE_MS
from engine.scenario.files import bundled
from engine.scenario.load import load
from engine.scenario.model import Scenario
from engine.scenario.schema import schema
from engine.specs.command import OnApplication
from engine.specs.commands import CreateJob, CreatePool
from engine.specs.pool import PoolSpec
from engine.views.results import document

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


# --- bodies as the service returns them

RETURNED = {
    "odata.metadata": "https://contoso.westeurope.batch.azure.com/$metadata#pools/@Element",
    "url": "https://contoso.westeurope.batch.azure.com/x",
    "eTag": "0x8DBAEB9737D2CB2",
    "lastModified": "2023-09-06T09:12:53.2823218Z",
    "creationTime": "2023-09-06T09:12:53.2823218Z",
    "state": "active",
    "stateTransitionTime": "2023-09-06T09:12:53.2823218Z",
}
RETURNED_POOL = {
    **RETURNED,
    "id": "p",
    "allocationState": "steady",
    "allocationStateTransitionTime": "2023-09-06T09:12:54.9618678Z",
    "vmSize": "standard_d2s_v3",
    "resizeTimeout": "PT15M",
    "resizeErrors": [],
    "currentDedicatedNodes": 2,
    "targetDedicatedNodes": 2,
    "currentLowPriorityNodes": 0,
    "targetLowPriorityNodes": 0,
    "enableAutoScale": True,
    "autoScaleFormula": "$TargetDedicatedNodes=2",
    "autoScaleEvaluationInterval": "PT6M",
    "autoScaleRun": {"timestamp": "2023-09-06T09:12:53Z", "results": "$TargetDedicatedNodes=2"},
    "stats": {"url": "x"},
    "userAccounts": [{"name": "task-user", "elevationLevel": "admin"}],
    "taskSlotsPerNode": 1,
}
RETURNED_TASK = {
    **RETURNED,
    "id": "t",
    "commandLine": "/bin/sh -c 'echo hi'",
    "userIdentity": {"autoUser": {"scope": "pool", "elevationLevel": "nonadmin"}},
    "constraints": {"maxWallClockTime": "P10675199DT2H48M5.4775807S", "retentionTime": "P7D", "maxTaskRetryCount": 0},
    "requiredSlots": 1,
    "executionInfo": {"exitCode": 0, "result": "success", "retryCount": 0, "requeueCount": 0},
    "nodeInfo": {"nodeId": "tvmps_1"},
}
RETURNED_JOB = {
    **RETURNED,
    "id": "j",
    "previousState": "active",
    "priority": 0,
    "constraints": {"maxWallClockTime": "P10675199DT2H48M5.4775807S", "maxTaskRetryCount": 3},
    "poolInfo": {"poolId": "p"},
    "executionInfo": {"startTime": "2023-10-17T08:48:43.1362618Z", "poolId": "p"},
    "onAllTasksComplete": "noaction",
}


def test_gen_21_a_returned_pool_is_read_without_what_the_service_writes():
    loaded = scenario(pools=[RETURNED_POOL])
    spec = loaded.pools[0].spec
    assert (spec.target_dedicated_nodes, spec.auto_scale_formula) == (None, "$TargetDedicatedNodes=2")
    assert spec.user_accounts[0].password == ""
    (warning,) = loaded.warnings
    assert warning.path == "pools[0]"
    assert warning.message == (
        "what only the service writes is left out: odata.metadata, url, eTag, lastModified, creationTime, state, "
        "stateTransitionTime, allocationState, allocationStateTransitionTime, resizeErrors, currentDedicatedNodes, "
        "currentLowPriorityNodes, autoScaleRun, stats, targetDedicatedNodes, targetLowPriorityNodes"
    )


def test_gen_21_a_pool_that_exists_may_have_an_image_whose_support_has_ended():
    image = {"publisher": "Canonical", "offer": "UbuntuServer", "sku": "18.04-LTS", "version": "latest"}
    machine = {"imageReference": image, "nodeAgentSKUId": "batch.node.ubuntu 18.04"}
    returned = scenario(pools=[RETURNED_POOL | {"virtualMachineConfiguration": machine}])
    assert len(returned.warnings) == 1
    own = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1, "virtualMachineConfiguration": machine}
    assert "ended on 2023-05-31" in scenario(pools=[own]).warnings[0].message


def test_gen_21_there_is_one_warning_for_each_body():
    schedule = {**RETURNED, "id": "s", "jobSpecification": {"poolInfo": {"poolId": "p"}}, "executionInfo": {}}
    loaded = scenario(
        pools=[RETURNED_POOL],
        jobs=[
            {**RETURNED_JOB, "tasks": [{"id": "own", "commandLine": "x"}]},
            {"id": "k", "poolInfo": {"poolId": "p"}, "tasks": [RETURNED_TASK]},
        ],
        jobSchedules=[schedule],
        timeline=[
            {"at": 5, "addTasks": {"jobId": "k", "value": [RETURNED_TASK | {"id": "u"}]}},
            {"at": 6, "createJob": RETURNED_JOB | {"id": "l"}},
        ],
        until="PT1M",
    )
    assert sorted(warning.path for warning in loaded.warnings) == [
        "jobSchedules[0]",
        "jobs[0]",
        "jobs[1].tasks[0]",
        "pools[0]",
        "timeline[0].addTasks.value[0]",
        "timeline[1].createJob",
    ]
    assert [task.id for entry in loaded.jobs for task in entry.tasks] == ["own", "t"]
    command = loaded.timeline[1].command
    assert isinstance(command, CreateJob)
    assert command.id == "l"


def test_gen_21_tasks_that_a_returned_job_lists_are_left_out():
    loaded = scenario(pools=[RETURNED_POOL], jobs=[{**RETURNED_JOB, "tasks": [RETURNED_TASK]}])
    assert loaded.jobs[0].tasks == ()
    assert loaded.warnings[-1].message.endswith("executionInfo, tasks")


def test_gen_21_the_state_of_a_run_can_be_pasted():
    tasks = [{"id": "a", "commandLine": "x"}, {"id": "b", "commandLine": "y"}]
    prepared = {"id": "j", "poolInfo": {"poolId": "shared"}, "jobPreparationTask": {"commandLine": "x"}, "tasks": tasks}
    first = scenario(account=ACCOUNT, pools=[RESOURCE], jobs=[prepared], until="PT10M")
    simulation = Simulation(first)
    simulation.run_until(10 * MINUTE_MS)
    state = json.loads("".join(document.json_text(simulation)))
    again = scenario(account=state["account"], pools=state["pools"], jobs=state["jobs"])
    before, after = first.pools[0].spec, again.pools[0].spec
    assert after.wire() == before.wire()
    assert again.jobs[0].spec.wire() == first.jobs[0].spec.wire()
    assert again.jobs[0].tasks == ()


def test_gen_21_names_and_durations_as_the_command_line_of_azure_prints_them():
    machine = {
        "nodeAgentSkuId": "batch.node.ubuntu 22.04",
        "imageReference": {"publisher": "canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"},
        "osDisk": None,
    }
    body = {**RETURNED_POOL, "enableAutoScale": False, "autoScaleFormula": None, "resizeTimeout": "0:20:00"}
    network = {"publicIpAddressConfiguration": None, "dynamicVnetAssignmentScope": "none"}
    spec = pool(body | {"virtualMachineConfiguration": machine, "networkConfiguration": network})
    assert spec.resize_timeout == 20 * MINUTE_MS
    assert spec.virtual_machine_configuration is not None
    assert spec.target_dedicated_nodes == 2
    job = RETURNED_JOB | {"constraints": {"maxWallClockTime": "10675199 days, 2:48:05.477581"}}
    assert scenario(pools=[body], jobs=[job]).jobs[0].spec.constraints.max_wall_clock_time is None


def test_gen_21_a_mistake_in_a_returned_body_stands_where_it_is():
    with pytest.raises(ScenarioError) as caught:
        scenario(pools=[RETURNED_POOL | {"taskSlotPerNode": 3, "vmSize": "huge"}])
    assert [problem.path for problem in caught.value.problems] == ["pools[0].vmSize", "pools[0].taskSlotPerNode"]
    assert "did you mean 'taskSlotsPerNode'?" in caught.value.problems[1].message


def test_gen_21_the_schema_takes_both_forms():
    from tests.scenario.test_schema import wrong

    resource = deepcopy(RESOURCE)
    del resource["properties"]["userAccounts"], resource["properties"]["certificates"]
    resource["properties"]["taskSchedulingPolicy"] = {"nodeFillType": "pack"}
    pools, jobs = (
        {name: value for name, value in body.items() if name not in ("odata.metadata", "userAccounts")}
        for body in (RETURNED_POOL, RETURNED_JOB)
    )
    assert not list(wrong({"scenario": "s", "pools": [resource, pools], "jobs": [jobs]}, schema()))
    assert list(wrong({"scenario": "s", "pools": [{"name": "p", "properties": {"scaleSetings": {}}}]}, schema()))


# --- both forms of whatever is bundled

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
    state = json.loads("".join(document.json_text(simulation)))
    again = scenario(account=state["account"], pools=state["pools"], jobs=state["jobs"])
    specs = {entry.spec.id: entry.spec for entry in own.jobs}
    assert again.jobs
    for entry in again.jobs:
        assert entry.tasks == ()
        assert entry.spec.wire() == specs[entry.spec.id].wire()
