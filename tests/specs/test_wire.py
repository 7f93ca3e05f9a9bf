"""Tests of serialization: ``wire`` is what the service answers, ``written`` what a scenario contains."""

import pytest

from engine.base.values import UNLIMITED_WIRE
from engine.specs.bodies import JobScheduleSpec, JobSpec, PoolSpec, TaskSpec

A_USER = {"autoUser": {"scope": "pool", "elevationLevel": "nonadmin"}}
BODIES = [
    (
        PoolSpec,
        {
            "id": "p",
            "vmSize": "standard_d2s_v3",
            "virtualMachineConfiguration": {
                "imageReference": {"publisher": "Canonical", "offer": "ubuntu-24_04-lts", "sku": "server"},
                "nodeAgentSKUId": "batch.node.ubuntu 24.04",
                "dataDisks": [{"lun": 1, "diskSizeGB": 32, "caching": "readonly"}],
                "containerConfiguration": {"type": "dockerCompatible", "containerRegistries": [{"password": "s"}]},
            },
            "targetLowPriorityNodes": 3,
            "resizeTimeout": "PT10M",
            "taskSchedulingPolicy": {"nodeFillType": "Pack"},
            "startTask": {
                "commandLine": "install",
                "maxTaskRetryCount": 2,
                "simulate": {
                    "duration": {"lognormal": ["PT3M", 0.4]},
                    "exitCode": {"0": 0.9, "1": 0.1},
                    "attempts": [{"exitCode": 1}],
                    "onNode": {"1": {"duration": "PT5S"}},
                },
            },
            "userAccounts": [{"name": "u", "password": "secret", "elevationLevel": "admin"}],
            "metadata": [{"name": "a", "value": "b"}],
        },
    ),
    (PoolSpec, {"id": "p", "vmSize": "small", "enableAutoScale": True, "autoScaleFormula": "$TargetDedicatedNodes=1"}),
    (
        JobSpec,
        {
            "id": "j",
            "priority": 5,
            "constraints": {"maxWallClockTime": UNLIMITED_WIRE, "maxTaskRetryCount": 1},
            "jobPreparationTask": {"commandLine": "prepare", "constraints": {"maxTaskRetryCount": 3}},
            "jobReleaseTask": {"commandLine": "release", "maxWallClockTime": "PT5M"},
            "poolInfo": {"autoPoolSpecification": {"poolLifetimeOption": "job", "pool": {"vmSize": "small"}}},
            "metadata": [],
        },
    ),
    (
        TaskSpec,
        {
            "id": "t",
            "commandLine": "price",
            "dependsOn": {"taskIds": ["a"], "taskIdRanges": [{"start": 1, "end": 3}]},
            "exitConditions": {
                "exitCodes": [{"code": 3, "exitOptions": {"jobAction": "terminate"}}],
                "default": {"dependencyAction": "satisfy"},
            },
            "outputFiles": [
                {
                    "filePattern": "*.txt",
                    "destination": {"container": {"containerUrl": "https://a.blob/c"}},
                    "uploadOptions": {"uploadCondition": "taskSuccess"},
                }
            ],
            "multiInstanceSettings": {"numberOfInstances": 3, "coordinationCommandLine": "c", "simulate": {"cpu": 50}},
        },
    ),
    (
        JobScheduleSpec,
        {
            "id": "s",
            "schedule": {"recurrenceInterval": "PT1H", "doNotRunUntil": "2026-01-05T08:00:00Z"},
            "jobSpecification": {"poolInfo": {"poolId": "p"}},
        },
    ),
]


@pytest.mark.parametrize(("model", "body"), BODIES)
def test_what_is_written_makes_an_equal_spec(model, body):
    spec = model.from_wire(body)
    assert model.from_wire(spec.written()) == spec
    assert spec.written().keys() == body.keys()


def test_written_keeps_simulate_and_secrets_and_wire_does_not():
    pool = PoolSpec.from_wire(BODIES[0][1])
    assert pool.written()["startTask"]["simulate"] == BODIES[0][1]["startTask"]["simulate"]
    assert pool.written()["userAccounts"][0]["password"] == "secret"
    assert "simulate" not in pool.wire()["startTask"]
    assert pool.wire()["userAccounts"] == [{"name": "u", "elevationLevel": "admin"}]
    registries = pool.wire()["virtualMachineConfiguration"]["containerConfiguration"]["containerRegistries"]
    assert registries == [{}]


def test_the_answer_of_a_pool_has_the_services_defaults():
    assert PoolSpec.from_wire({"id": "p", "vmSize": "small", "targetDedicatedNodes": 2}).wire() == {
        "id": "p",
        "vmSize": "small",
        "resizeTimeout": "PT15M",
        "targetDedicatedNodes": 2,
        "targetLowPriorityNodes": 0,
        "enableAutoScale": False,
        "enableInterNodeCommunication": False,
        "taskSlotsPerNode": 1,
        "taskSchedulingPolicy": {"nodeFillType": "Spread", "jobDefaultOrder": "none"},
    }


def test_the_answer_of_a_pool_that_scales_itself():
    answer = PoolSpec.from_wire(BODIES[1][1]).wire()
    assert answer["autoScaleEvaluationInterval"] == "PT15M"
    assert "targetDedicatedNodes" not in answer


def test_the_answer_of_a_job_has_the_services_defaults():
    body = {
        "id": "j",
        "jobPreparationTask": {"commandLine": "prepare"},
        "jobReleaseTask": {"commandLine": "release"},
        "poolInfo": {"poolId": "p"},
    }
    assert JobSpec.from_wire(body).wire() == {
        "id": "j",
        "priority": 0,
        "allowTaskPreemption": False,
        "maxParallelTasks": -1,
        "usesTaskDependencies": False,
        "constraints": {"maxWallClockTime": UNLIMITED_WIRE, "maxTaskRetryCount": 0},
        "jobPreparationTask": {
            "id": "jobpreparation",
            "commandLine": "prepare",
            "userIdentity": A_USER,
            "constraints": {"maxWallClockTime": UNLIMITED_WIRE, "retentionTime": "P7D", "maxTaskRetryCount": 0},
            "waitForSuccess": True,
            "rerunOnNodeRebootAfterSuccess": True,
        },
        "jobReleaseTask": {
            "id": "jobrelease",
            "commandLine": "release",
            "userIdentity": A_USER,
            "maxWallClockTime": "PT15M",
            "retentionTime": "P7D",
        },
        "poolInfo": {"poolId": "p"},
        "onAllTasksComplete": "noaction",
        "onTaskFailure": "noaction",
    }


def test_the_answer_of_a_task_leaves_the_jobs_retry_count_to_the_job():
    assert TaskSpec(id="t", command_line="x").wire() == {
        "id": "t",
        "commandLine": "x",
        "userIdentity": A_USER,
        "constraints": {"maxWallClockTime": UNLIMITED_WIRE, "retentionTime": "P7D"},
        "requiredSlots": 1,
    }
