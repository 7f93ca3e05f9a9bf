"""Pools through a client library."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.clients.sdk.bodies import FORMULA, MACHINE, pool
from tests.clients.sdk.speaker import refused, until


def steady(client, name):
    return until(lambda: client.get_pool(name).allocation_state == "steady" and client.get_pool(name))


def test_a_pool_has_what_was_given_and_the_defaults_of_the_service(client, name):
    start = {"commandLine": "/bin/sh -c 'echo ready'", "waitForSuccess": True, "maxTaskRetryCount": 2}
    more = {
        "displayName": "a pool",
        "metadata": [{"name": "team", "value": "risk"}],
        "startTask": start | {"environmentSettings": [{"name": "A", "value": "1"}]},
        "userAccounts": [{"name": "ann", "password": "secret-1", "elevationLevel": "admin"}],
        "applicationPackageReferences": [{"applicationId": "pricer", "version": "1.0"}],
        "resizeTimeout": "PT20M",
        "taskSlotsPerNode": 2,
        "taskSchedulingPolicy": {"nodeFillType": "pack"},
    }
    client.create_pool(body=pool(name, **more))
    found = client.get_pool(name)
    assert (found.id, found.state, found.display_name, found.vm_size) == (name, "active", "a pool", "standard_d2s_v3")
    assert (found.task_slots_per_node, found.resize_timeout) == (2, timedelta(minutes=20))
    assert found.task_scheduling_policy.node_fill_type.lower() == "pack"
    assert (found.metadata[0].name, found.metadata[0].value) == ("team", "risk")
    assert (found.user_accounts[0].name, found.user_accounts[0].password) == ("ann", None)
    assert found.start_task.max_task_retry_count == 2
    assert found.start_task.environment_settings[0].value == "1"
    assert found.application_package_references[0].version == "1.0"
    machine = found.virtual_machine_configuration
    assert machine.image_reference.version == "latest"
    assert machine.node_agent_sku_id == MACHINE["nodeAgentSKUId"]
    assert (found.enable_auto_scale, found.enable_inter_node_communication) == (False, False)
    assert (found.target_low_priority_nodes, found.current_low_priority_nodes) == (0, 0)
    assert found.creation_time is not None
    assert found.url.endswith(f"/pools/{name}")


def test_a_pool_is_listed_by_filter_with_selected_properties(client, name):
    for number in range(3):
        client.create_pool(body=pool(f"{name}-{number}"))
    found = client.list_pools(filter=f"startswith(id,'{name}')", select="id,state")
    assert [each.id for each in found] == [f"{name}-{number}" for number in range(3)]
    assert [(each.state, each.vm_size) for each in found] == [("active", None)] * 3
    assert client.page_sizes("list_pools", filter=f"startswith(id,'{name}')", max_results=2)[:1] == [2]
    assert sum(client.page_sizes("list_pools", filter=f"startswith(id,'{name}')", max_results=2)) == 3


def test_a_pool_exists_until_it_is_deleted(client, name):
    assert client.exists("pool_exists", name) is False
    client.create_pool(body=pool(name, 1))
    assert client.exists("pool_exists", name) is True
    until(lambda: client.list_nodes(name))
    client.begin("delete_pool", name)
    assert client.get_pool(name).state == "deleting"
    assert refused(client.begin, "resize_pool", name, body={"targetDedicatedNodes": 3}).code == "PoolBeingDeleted"
    until(lambda: client.exists("pool_exists", name) is False)
    missing = refused(client.get_pool, name)
    assert (missing.status, missing.code) == (404, "PoolNotFound")
    assert missing.message.splitlines()[0] == "The specified pool does not exist."


def test_a_pool_is_resized_and_the_resize_stopped(client, name):
    client.create_pool(body=pool(name))
    steady(client, name)
    client.begin("resize_pool", name, body={"targetDedicatedNodes": 2, "targetLowPriorityNodes": 1})
    resizing = client.get_pool(name)
    assert (resizing.allocation_state, resizing.target_dedicated_nodes) == ("resizing", 2)
    other = refused(client.begin, "resize_pool", name, body={"targetDedicatedNodes": 5})
    assert (other.status, other.code) == (409, "PoolBeingResized")
    client.begin("stop_pool_resize", name)
    assert client.get_pool(name).allocation_state in ("stopping", "steady")
    stopped = steady(client, name)
    assert (stopped.target_dedicated_nodes, stopped.target_low_priority_nodes) == (2, 1)
    client.resize_pool(name, body={"targetDedicatedNodes": 1, "resizeTimeout": "PT10M"})
    whole = steady(client, name)
    assert (whole.current_dedicated_nodes, whole.current_low_priority_nodes) == (1, 0)
    assert refused(client.begin, "stop_pool_resize", name).code in (
        "OperationInvalidForCurrentState",
        "PoolNotBeingResized",
    )


def test_a_patch_changes_what_it_names(client, name):
    given = {"metadata": [{"name": "a", "value": "1"}], "startTask": {"commandLine": "start"}}
    client.create_pool(body=pool(name, **given))
    client.update_pool(name, body={"metadata": [{"name": "b", "value": "2"}]})
    found = client.get_pool(name)
    assert [(each.name, each.value) for each in found.metadata] == [("b", "2")]
    assert found.start_task.command_line == "start"


def test_replaced_properties_are_removed_where_they_are_left_out(client, name):
    given = {"metadata": [{"name": "a", "value": "1"}], "startTask": {"commandLine": "start"}}
    client.create_pool(body=pool(name, **given))
    empty = {"applicationPackageReferences": [], "certificateReferences": [], "metadata": []}
    client.replace_pool_properties(name, body=empty)
    found = client.get_pool(name)
    assert not found.metadata
    assert found.start_task is None


def test_a_pool_scales_by_a_formula(client, name):
    client.create_pool(body=pool(name))
    early = refused(client.evaluate_pool_auto_scale, name, body={"autoScaleFormula": FORMULA})
    assert early.status == 409
    wrong = refused(client.enable_pool_auto_scale, name, body={"autoScaleFormula": "$TargetDedicatedNodes ="})
    assert (wrong.status, wrong.code) == (400, "AutoScalingFormulaSyntaxError")
    steady(client, name)
    settings = {"autoScaleFormula": FORMULA, "autoScaleEvaluationInterval": "PT6M"}
    client.enable_pool_auto_scale(name, body=settings)
    found = until(lambda: client.get_pool(name).auto_scale_run and client.get_pool(name))
    assert (found.enable_auto_scale, found.auto_scale_formula) == (True, FORMULA)
    assert found.auto_scale_evaluation_interval == timedelta(minutes=6)
    assert found.auto_scale_run.error is None
    run = client.evaluate_pool_auto_scale(name, body={"autoScaleFormula": "$TargetDedicatedNodes = 3; x = 1"})
    assert run.results.startswith("$TargetDedicatedNodes=3;$TargetLowPriorityNodes=0;$NodeDeallocationOption=")
    assert run.timestamp is not None
    failed = client.evaluate_pool_auto_scale(name, body={"autoScaleFormula": "$TargetDedicatedNodes = y;"})
    assert failed.error.code
    assert refused(client.begin, "resize_pool", name, body={"targetDedicatedNodes": 1}).status == 409
    client.disable_pool_auto_scale(name)
    off = client.get_pool(name)
    assert (off.enable_auto_scale, off.auto_scale_formula, off.auto_scale_run) == (False, None, None)


def test_a_pool_is_created_with_a_formula(client, name):
    body = pool(name) | {"enableAutoScale": True, "autoScaleFormula": FORMULA}
    del body["targetDedicatedNodes"]
    client.create_pool(body=body)
    assert client.get_pool(name).auto_scale_evaluation_interval == timedelta(minutes=15)
    until(lambda: client.get_pool(name).current_dedicated_nodes == 2)
    short = refused(client.create_pool, body=body | {"id": f"{name}-2", "autoScaleEvaluationInterval": "PT1M"})
    assert short.status == 400


@pytest.mark.parametrize(
    ("change", "code", "property_name"),
    [
        ({"vmSize": "standard_huge"}, "InvalidPropertyValue", "vmSize"),
        ({"targetDedicatedNodes": -1}, "InvalidPropertyValue", "targetDedicatedNodes"),
        ({"taskSlotsPerNode": 257}, "InvalidPropertyValue", "taskSlotsPerNode"),
        ({"id": "not an id!"}, "InvalidPropertyValue", "id"),
        ({"applicationPackageReferences": [{"applicationId": "nobody"}]}, "InvalidApplicationPackageReferences", None),
    ],
)
def test_a_pool_that_cannot_be_is_refused(client, change, code, property_name):
    found = refused(client.create_pool, body=pool("refused") | change)
    assert found.code == code, found
    assert property_name in (None, found.values.get("PropertyName")), found
    assert found.status in (400, 409)


def test_a_pool_is_refused_twice(client, name):
    client.create_pool(body=pool(name))
    found = refused(client.create_pool, body=pool(name.upper()))
    assert (found.status, found.code) == (409, "PoolExists")
    assert found.message.splitlines()[0] == "The specified pool already exists."


def test_statistics_and_usage_of_pools_are_answered(client, shared):
    assert client.get_pool(shared, expand="stats").id == shared
    assert all(each.pool_id for each in client.list_pool_usage_metrics())


def test_nodes_are_removed_from_a_pool(client, name):
    client.create_pool(body=pool(name, 2))
    steady(client, name)
    first, second = (each.id for each in client.list_nodes(name))
    client.begin("remove_nodes", name, body={"nodeList": [first], "nodeDeallocationOption": "terminate"})
    assert client.get_pool(name).allocation_state == "resizing"
    left = steady(client, name)
    assert (left.current_dedicated_nodes, left.target_dedicated_nodes) == (1, 1)
    assert [each.id for each in client.list_nodes(name)] == [second]
    gone = refused(client.get_node, name, first)
    assert (gone.status, gone.code) == (404, "NodeNotFound")
