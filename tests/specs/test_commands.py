"""Tests of commands and faults: bodies with path parameters, and their timeline entries."""

import pytest
from pydantic import ValidationError

from engine.base.terms import Deallocation, DisableTasks
from engine.rules import commands as carrying_out
from engine.specs import commands
from engine.specs.bodies import JobConstraints, JobSpec, PoolSpec, TaskSpec
from engine.specs.commands import (
    COMMANDS,
    FAULTS,
    AddTasks,
    CreateJob,
    CreateJobSchedule,
    CreatePool,
    RemoveNodes,
    UpdateJob,
    UpdatePool,
)

ON_NODE = {"poolId": "p", "node": 1}
ENTRIES = {
    "createPool": {"id": "p", "vmSize": "small", "startTask": {"commandLine": "x", "simulate": {"duration": "PT3S"}}},
    "deletePool": {"poolId": "p"},
    "updatePool": {"poolId": "p", "metadata": [], "startTask": {"commandLine": "y"}},
    "resizePool": {"poolId": "p", "targetDedicatedNodes": 2, "nodeDeallocationOption": "taskcompletion"},
    "stopPoolResize": {"poolId": "p"},
    "enablePoolAutoScale": {"poolId": "p", "autoScaleFormula": "$a=1", "autoScaleEvaluationInterval": "PT6M"},
    "disablePoolAutoScale": {"poolId": "p"},
    "evaluatePoolAutoScale": {"poolId": "p", "autoScaleFormula": "$a=1"},
    "replacePoolProperties": {"poolId": "p", "metadata": []},
    "upgradePoolOS": {"poolId": "p", "osVersion": "*"},
    "removeNodes": {"poolId": "p", "nodeList": ["tvm-1", 2]},
    "rebootNode": ON_NODE | {"nodeRebootOption": "terminate"},
    "reimageNode": ON_NODE | {"nodeReimageOption": "retaineddata"},
    "deallocateNode": ON_NODE | {"nodeDeallocateOption": "requeue"},
    "startNode": {"poolId": "p", "nodeId": "tvm-1"},
    "disableNodeScheduling": ON_NODE | {"nodeDisableSchedulingOption": "taskcompletion"},
    "enableNodeScheduling": ON_NODE,
    "createNodeUser": ON_NODE | {"name": "u", "password": "s", "expiryTime": "2026-01-06T08:00:00Z"},
    "updateNodeUser": ON_NODE | {"name": "u", "sshPublicKey": "ssh-rsa A"},
    "uploadNodeLogs": ON_NODE | {"containerUrl": "https://acc/logs", "startTime": "2026-01-05T08:00:00Z"},
    "deleteNodeFile": ON_NODE | {"filePath": "shared/x", "recursive": True},
    "deleteNodeUser": ON_NODE | {"name": "u"},
    "createJob": {
        "id": "j",
        "poolInfo": {"poolId": "p"},
        "tasks": [{"id": "t", "commandLine": "x", "simulate": {"exitCode": 1}}],
        "taskFactory": {"type": "parametricSweep"},
    },
    "updateJob": {"jobId": "j", "priority": 5},
    "disableJob": {"jobId": "j", "disableTasks": "wait"},
    "enableJob": {"jobId": "j"},
    "terminateJob": {"jobId": "j", "terminateReason": "enough", "force": True},
    "deleteJob": {"jobId": "j"},
    "addTasks": {"jobId": "j", "tasks": [{"id": "t", "commandLine": "x"}]},
    "updateTask": {"jobId": "j", "taskId": "t", "constraints": {"maxTaskRetryCount": 3}},
    "terminateTask": {"jobId": "j", "taskId": "t"},
    "reactivateTask": {"jobId": "j", "taskId": "t"},
    "deleteTask": {"jobId": "j", "taskId": "t"},
    "deleteTaskFile": {"jobId": "j", "taskId": "t", "filePath": "wd/x"},
    "createJobSchedule": {"id": "s", "schedule": {}, "jobSpecification": {"poolInfo": {"poolId": "p"}}},
    "updateJobSchedule": {"jobScheduleId": "s", "schedule": {"recurrenceInterval": "PT2H"}},
    "disableJobSchedule": {"jobScheduleId": "s"},
    "enableJobSchedule": {"jobScheduleId": "s"},
    "terminateJobSchedule": {"jobScheduleId": "s"},
    "deleteJobSchedule": {"jobScheduleId": "s", "force": True},
    "addCertificate": {"thumbprint": "ab", "certificateFormat": "pfx", "data": "AAAA", "password": "s"},
    "deleteCertificate": {"thumbprint": "ab"},
    "cancelCertificateDeletion": {"thumbprint": "ab"},
    "failNode": ON_NODE | {"state": "unknown", "for": "PT20M"},
    "evictNode": ON_NODE,
    "capacity": {"vmSize": "small", "nodes": 3},
    "quota": {"dedicatedCores": 50, "dedicatedCoresPerVMSeries": {"DSv3": 8}},
    "storageOutage": {"for": "PT5M"},
    "guestOSRelease": {"osVersion": "WA-GUEST-OS-5.20_201806-01"},
    "createApplicationPackage": {"applicationId": "a", "version": "1.0", "size": 800_000},
    "deleteApplicationPackage": {"applicationId": "a", "version": "1.0"},
    "updateApplication": {"applicationId": "a", "defaultVersion": "1.0", "allowUpdates": False, "displayName": "A"},
}


def test_every_command_has_an_entry_here():
    assert COMMANDS.keys() == ENTRIES.keys()
    faults = {"failNode", "evictNode", "capacity", "quota", "guestOSRelease", "storageOutage"}
    assert {fault.NAME for fault in FAULTS} == faults


def test_every_command_and_fault_is_carried_out():
    assert {*carrying_out.ACTIONS, *carrying_out.ADDITIONS} == {*COMMANDS.values(), *FAULTS}


@pytest.mark.parametrize("name", ENTRIES)
def test_an_entry_is_read_and_written_back_as_it_was(name):
    assert COMMANDS[name].from_wire(ENTRIES[name]).wire() == ENTRIES[name]


def test_a_command_made_in_python_is_written_in_the_services_names():
    command = commands.RebootNode(pool_id="p", node=2, node_reboot_option=Deallocation.TERMINATE)
    assert command.wire() == {"poolId": "p", "node": 2, "nodeRebootOption": "terminate"}
    assert commands.FailNode(pool_id="p", node=0, for_ms=90_000).wire()["for"] == "PT1M30S"
    assert commands.DisableJob(job_id="j", disable_tasks=DisableTasks.WAIT).disable_tasks == "wait"


def test_a_created_object_is_the_plain_spec():
    assert CreatePool.from_wire(ENTRIES["createPool"]).spec == PoolSpec.from_wire(ENTRIES["createPool"])
    job = CreateJob.from_wire(ENTRIES["createJob"])
    assert job.spec == JobSpec.from_wire({"id": "j", "poolInfo": {"poolId": "p"}})
    assert job.tasks[0].simulate.exit_code == 1


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (CreatePool, {"vmSize": "small", "maxTasksPerNode": 2, "id": "p", "startTask": {"commandLine": "true"}}),
        (CreateJobSchedule, {"jobSpecification": {"poolInfo": {"poolId": "p"}}, "id": "s", "schedule": {}}),
    ],
)
def test_a_pool_or_job_schedule_that_has_been_read_is_created_as_if_it_were_read_again(kind, body):
    spec = kind.__bases__[0].from_wire(body)
    command, read = kind.model_construct(spec.model_fields_set, **vars(spec)), kind.from_wire(spec.written())
    assert command == read
    assert command.model_fields_set == read.model_fields_set
    assert list(command.written().items()) == list(read.written().items())
    assert command.spec == spec
    assert list(command.spec.wire().items()) == list(spec.wire().items())


def test_a_job_that_has_been_read_is_created_as_if_it_were_read_again():
    spec = JobSpec.from_wire({"priority": 5, "id": "j", "displayName": "J", "poolInfo": {"poolId": "p"}})
    command, read = CreateJob.of(spec), CreateJob.from_wire(spec.written())
    assert command.spec is spec
    assert command == read
    assert list(command.written().items()) == list(read.written().items())
    bare = JobSpec.from_wire({"id": "k", "poolInfo": {"poolId": "p"}})
    assert CreateJob.of(bare).written() == bare.written()  # nothing is left of the job before


def test_an_update_knows_what_was_given():
    update = UpdateJob.from_wire({"jobId": "j", "constraints": {"maxTaskRetryCount": 2}, "priority": None})
    assert update.model_fields_set == {"job_id", "constraints"}
    assert update.constraints == JobConstraints(max_task_retry_count=2)
    assert "metadata" in UpdatePool.from_wire(ENTRIES["updatePool"]).model_fields_set


def test_task_3_the_services_own_name_for_the_tasks():
    tasks = [{"id": "t", "commandLine": "x"}]
    assert AddTasks.from_wire({"jobId": "j", "value": tasks}).tasks == (TaskSpec(id="t", command_line="x"),)


@pytest.mark.parametrize("body", [{"poolId": "p"}, {"poolId": "p", "node": 1, "nodeId": "a"}])
def test_a_node_is_named_in_one_way(body):
    with pytest.raises(ValidationError, match="name one node"):
        commands.RebootNode.from_wire(body)


@pytest.mark.parametrize("node", [-1, True, 1.0, None])
def test_rsz_8_a_node_of_a_list_is_an_id_or_an_index(node):
    with pytest.raises(ValidationError, match="neither the id") as caught:
        RemoveNodes.from_wire({"poolId": "p", "nodeList": ["a", node]})
    assert caught.value.errors()[0]["loc"] == ("nodeList", 1)


def test_nop_1_disabling_scheduling_keeps_no_data():
    with pytest.raises(ValidationError, match="taskcompletion"):
        commands.DisableNodeScheduling.from_wire(ON_NODE | {"nodeDisableSchedulingOption": "retaineddata"})


def test_job_11_what_happens_to_running_tasks_must_be_said():
    with pytest.raises(ValidationError, match="disableTasks"):
        commands.DisableJob.from_wire({"jobId": "j"})
