"""Tests of names on the wire: the service's spelling, both API generations, and unknown names."""

import pytest
from pydantic import ValidationError

from engine.specs.base import wire_name, wire_names
from engine.specs.bodies import (
    JobPreparationTask,
    JobReleaseTask,
    JobSpec,
    NodeCommunicationMode,
    PoolSpec,
    PoolUpdate,
    StartTask,
    TaskSpec,
)
from engine.specs.common import AutoUser, ElevationLevel, ResourceFile, UserIdentity


def mistakes(model, body):
    """Return the mistakes of form in a body as (location, type)."""
    with pytest.raises(ValidationError) as caught:
        model.from_wire(body)
    return [(error["loc"], error["type"]) for error in caught.value.errors()]


@pytest.mark.parametrize(
    ("name", "spelling"),
    [
        ("task_slots_per_node", "taskSlotsPerNode"),
        ("node_agent_sku_id", "nodeAgentSKUId"),
        ("disk_size_gb", "diskSizeGB"),
        ("public_ip_address_configuration", "publicIPAddressConfiguration"),
        ("inbound_nat_pools", "inboundNATPools"),
        ("dynamic_vnet_assignment_scope", "dynamicVNetAssignmentScope"),
        ("ephemeral_os_disk_settings", "ephemeralOSDiskSettings"),
        ("in_vm_access_control_profile_reference_id", "inVMAccessControlProfileReferenceId"),
        ("v_tpm_enabled", "vTpmEnabled"),
        ("os_disk", "osDisk"),
        ("vm_size", "vmSize"),
        ("uid", "uid"),
    ],
)
def test_the_services_spelling(name, spelling):
    assert wire_name(name) == spelling


def test_gen_14_older_names_of_a_pool():
    older = {"id": "p", "vmSize": "small", "maxTasksPerNode": 4, "targetDedicated": 2, "currentDedicated": 1}
    newer = {"id": "p", "vmSize": "small", "taskSlotsPerNode": 4, "targetDedicatedNodes": 2, "currentDedicatedNodes": 1}
    assert PoolSpec.from_wire(older) == PoolSpec.from_wire(newer)
    assert PoolSpec.from_wire(older).task_slots_per_node == 4
    assert PoolUpdate.from_wire({"maxTasksPerNode": 4}).task_slots_per_node == 4


def test_gen_14_blob_source_is_http_url():
    file = ResourceFile.from_wire({"blobSource": "https://a.blob/x", "filePath": "x"})
    assert file.http_url == "https://a.blob/x"
    assert file.wire() == {"httpUrl": "https://a.blob/x", "filePath": "x"}


@pytest.mark.parametrize("model", [TaskSpec, JobPreparationTask, StartTask])
def test_gen_14_run_elevated_is_an_admin_auto_user(model):
    body = {"commandLine": "x", "runElevated": True} | ({"id": "t"} if model is TaskSpec else {})
    assert model.from_wire(body).user_identity == UserIdentity(auto_user=AutoUser(elevation_level=ElevationLevel.ADMIN))
    plain = model.from_wire(body | {"runElevated": False}).user_identity.auto_user
    assert plain.elevation_level is ElevationLevel.NON_ADMIN
    assert model.from_wire(body | {"runElevated": None}).user_identity.auto_user == plain


def test_gen_14_both_spellings_at_once_are_a_mistake():
    body = {"id": "p", "vmSize": "small", "taskSlotsPerNode": 4, "maxTasksPerNode": 4}
    assert mistakes(PoolSpec, body) == [(("maxTasksPerNode",), "extra_forbidden")]
    assert "maxTasksPerNode" in wire_names(PoolSpec)
    body = {"commandLine": "x", "runElevated": True, "userIdentity": {"username": "a"}}
    assert mistakes(StartTask, body) == [(("runElevated",), "extra_forbidden")]
    assert "runElevated" in wire_names(StartTask)


def test_gen_14_run_elevated_is_true_or_false():
    assert mistakes(StartTask, {"commandLine": "x", "runElevated": "yes"}) == [(("runElevated",), "bool_type")]


def test_gen_15_classic_properties_of_a_pool_are_kept():
    body = {
        "id": "p",
        "vmSize": "small",
        "cloudServiceConfiguration": {"osFamily": "5"},
        "certificateReferences": [{"thumbprint": "ab", "visibility": ["startTask"], "storeLocation": "LocalMachine"}],
        "targetNodeCommunicationMode": "Simplified",
        "resourceTags": {"team": "risk"},
        "applicationLicenses": ["maya"],
        "targetDedicatedNodes": 1,
    }
    pool = PoolSpec.from_wire(body)
    assert pool.cloud_service_configuration.os_version == "*"
    assert pool.target_node_communication_mode is NodeCommunicationMode.SIMPLIFIED
    answer = pool.wire()
    assert answer["resourceTags"] == {"team": "risk"}
    assert answer["applicationLicenses"] == ["maya"]
    assert answer["certificateReferences"] == [
        {
            "thumbprint": "ab",
            "thumbprintAlgorithm": "sha1",
            "storeLocation": "localmachine",
            "storeName": "My",
            "visibility": ["starttask"],
        }
    ]


def test_gen_15_authentication_token_of_a_task_and_a_job_manager():
    token = {"authenticationTokenSettings": {"access": ["job"]}}
    task = {"id": "t", "commandLine": "x"} | token
    job = JobSpec.from_wire({"id": "j", "poolInfo": {"poolId": "p"}, "jobManagerTask": task})
    assert TaskSpec.from_wire(task).authentication_token_settings.access == ("job",)
    assert job.job_manager_task.authentication_token_settings.access == ("job",)


def test_an_unknown_name_is_a_mistake_where_it_stands():
    body = {"id": "t", "commandLine": "x", "constraints": {"maxRetries": 1}}
    assert mistakes(TaskSpec, body) == [(("constraints", "maxRetries"), "extra_forbidden")]


@pytest.mark.parametrize("name", ["waitForSuccess", "rerunOnNodeRebootAfterSuccess", "constraints"])
def test_rel_1_it_has_no_property_of_a_preparation_task(name):
    given = {"waitForSuccess": True, "rerunOnNodeRebootAfterSuccess": True, "constraints": {"maxTaskRetryCount": 1}}[
        name
    ]
    assert JobPreparationTask.from_wire({"commandLine": "x", name: given})
    assert mistakes(JobReleaseTask, {"commandLine": "x", name: given}) == [((name,), "extra_forbidden")]


def test_pythons_names_are_unknown_on_the_wire_and_known_in_python():
    assert (("command_line",), "extra_forbidden") in mistakes(TaskSpec, {"id": "t", "command_line": "x"})
    assert TaskSpec(id="t", command_line="x") == TaskSpec.from_wire({"id": "t", "commandLine": "x"})


def test_all_names_of_a_model():
    names = wire_names(ResourceFile)
    assert {"httpUrl", "blobSource", "autoStorageContainerName"} <= set(names)
    assert "http_url" not in names
