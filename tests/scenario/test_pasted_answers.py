"""Tests of bodies as the service returns them."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest

from engine import Simulation
from engine.base.errors import ScenarioError
from engine.base.values import MINUTE_MS
from engine.scenario.schema import schema
from engine.specs.commands import CreateJob
from engine.views import results
from tests.scenario.test_pasted import ACCOUNT, RESOURCE, pool, scenario

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


def test_gen_21_tasks_that_a_returned_job_lists_stay_its_tasks():
    loaded = scenario(pools=[RETURNED_POOL], jobs=[{**RETURNED_JOB, "tasks": [RETURNED_TASK]}])
    (task,) = loaded.jobs[0].tasks
    assert (task.id, task.command_line) == ("t", RETURNED_TASK["commandLine"])
    assert [warning.path for warning in loaded.warnings] == [
        "pools[0]",
        "pools[0].autoScaleFormula",
        "jobs[0]",
        "jobs[0].tasks[0]",
    ]


def test_gen_21_the_state_of_a_run_can_be_pasted():
    tasks = [{"id": "a", "commandLine": "x"}, {"id": "b", "commandLine": "y"}]
    prepared = {"id": "j", "poolInfo": {"poolId": "shared"}, "jobPreparationTask": {"commandLine": "x"}, "tasks": tasks}
    first = scenario(account=ACCOUNT, pools=[RESOURCE], jobs=[prepared], until="PT10M")
    simulation = Simulation(first)
    simulation.run_until(10 * MINUTE_MS)
    state = json.loads("".join(results.json_text(simulation)))
    again = scenario(account=state["account"], pools=state["pools"], jobs=state["jobs"])
    before, after = first.pools[0].spec, again.pools[0].spec
    assert after.wire() == before.wire()
    assert again.jobs[0].spec.wire() == first.jobs[0].spec.wire()
    assert [(task.id, task.command_line) for task in again.jobs[0].tasks] == [("a", "x"), ("b", "y")]


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
