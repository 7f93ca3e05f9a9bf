"""Nodes and their users through a client library."""

from __future__ import annotations

import pytest

from tests.clients.sdk.bodies import job, pool, task
from tests.clients.sdk.speaker import VERSION, refused, until


@pytest.fixture
def node(client, name):
    """The pool and id of an idle node that this test may break."""
    client.create_pool(body=pool(name, 1, startTask={"commandLine": "/bin/sh -c 'echo ready'", "waitForSuccess": True}))
    return name, until(lambda: client.list_nodes(name, filter="state eq 'idle'"))[0].id


def in_state(client, node, state):
    return until(lambda: client.get_node(*node).state == state and client.get_node(*node), state)


def test_a_node_says_what_it_is(client, node):
    found = client.get_node(*node)
    assert (found.id, found.state, found.scheduling_state) == (node[1], "idle", "enabled")
    assert (found.vm_size, found.is_dedicated) == ("standard_d2s_v3", True)
    assert found.affinity_id.startswith("TVM:")
    assert found.url.endswith(f"/pools/{node[0]}/nodes/{node[1]}")
    assert found.ip_address.count(".") == 3
    assert found.last_boot_time >= found.allocation_time
    assert found.node_agent_info.version
    assert found.start_task.command_line == "/bin/sh -c 'echo ready'"
    assert (found.start_task_info.state, found.start_task_info.exit_code) == ("completed", 0)
    assert (found.start_task_info.result, found.start_task_info.retry_count) == ("success", 0)
    assert (found.total_tasks_run, found.running_tasks_count) == (0, 0)
    assert client.get_node(*node, select="id,state").vm_size is None


def test_nodes_are_listed_and_counted_by_state(client, node):
    (found,) = client.list_nodes(node[0], filter="state eq 'idle' and schedulingState eq 'enabled'", select="id")
    assert found.id == node[1]
    assert client.list_nodes(node[0], filter="state ne 'idle'") == []
    (counts,) = client.list_pool_node_counts(filter=f"poolId eq '{node[0]}'")
    assert (counts.pool_id, counts.dedicated.idle, counts.dedicated.total) == (node[0], 1, 1)
    assert (counts.low_priority.total, counts.dedicated.start_task_failed) == (0, 0)


def test_a_node_reboots_and_runs_its_start_task_again(client, node):
    before = client.get_node(*node)
    client.begin("reboot_node", *node, body={"nodeRebootOption": "requeue"})
    assert client.get_node(*node).state == "rebooting"
    again = refused(client.begin, "reboot_node", *node)
    assert (again.status, again.code) == (409, "NodeBeingRebooted")
    after = in_state(client, node, "idle")
    assert after.last_boot_time > before.last_boot_time
    assert after.start_task_info.start_time > before.start_task_info.start_time


def test_a_node_is_reimaged(client, node):
    if VERSION < 15:  # recorded so of the versions of the service that this library speaks with
        found = refused(client.reimage_node, *node, body={"nodeReimageOption": "terminate"})
        assert (found.status, found.code) == (409, "OperationNotValidOnNode")
        return
    client.begin("reimage_node", *node, body={"nodeReimageOption": "terminate"})
    assert client.get_node(*node).state == "reimaging"
    in_state(client, node, "idle")


@pytest.mark.skipif(VERSION < 15, reason="azure-batch 14 does not have them")
def test_a_node_is_deallocated_and_started(client, node):
    client.deallocate_node(*node, body={"nodeDeallocateOption": "terminate"})
    assert client.get_node(*node).state == "deallocated"
    client.start_node(*node)
    in_state(client, node, "idle")


def test_a_node_takes_no_tasks_while_scheduling_is_disabled(client, node, name):
    client.disable_node_scheduling(*node, body={"nodeDisableSchedulingOption": "taskcompletion"})
    found = client.get_node(*node)
    assert (found.state, found.scheduling_state) == ("offline", "disabled")
    again = refused(client.disable_node_scheduling, *node)
    assert (again.status, again.code) == (409, "NodeAlreadyInTargetSchedulingState")
    client.create_job(body=job(name, node[0]))
    client.create_task(name, body=task("t"))
    for _ in range(5):
        assert client.get_task(name, "t").state == "active"
    client.enable_node_scheduling(*node)
    assert refused(client.enable_node_scheduling, *node).code == "NodeAlreadyInTargetSchedulingState"
    until(lambda: client.get_task(name, "t").state == "completed")
    found = client.get_node(*node)
    assert (found.total_tasks_run, found.total_tasks_succeeded) == (1, 1)
    (recent,) = found.recent_tasks
    assert (recent.job_id, recent.task_id, recent.task_state) == (name, "t", "completed")
    assert recent.execution_info.exit_code == 0


def test_disabling_requeues_what_runs_on_the_node(client, node, name):
    client.create_job(body=job(name, node[0]))
    client.create_task(name, body=task("t", "sleep 300"))
    until(lambda: client.get_task(name, "t").state == "running")
    client.disable_node_scheduling(*node, body={"nodeDisableSchedulingOption": "requeue"})
    found = client.get_task(name, "t")
    assert (found.state, found.execution_info.requeue_count) == ("active", 1)
    assert found.execution_info.last_requeue_time is not None


def test_a_node_has_users(client, node):
    client.create_node_user(*node, body={"name": "ann", "password": "Secret-1", "isAdmin": True})
    again = refused(client.create_node_user, *node, body={"name": "ann", "password": "Secret-1"})
    assert (again.status, again.code) == (409, "NodeUserExists")
    client.replace_node_user(*node, "ann", body={"password": "Secret-2", "expiryTime": "2099-01-01T00:00:00Z"})
    client.delete_node_user(*node, "ann")
    missing = refused(client.delete_node_user, *node, "ann")
    assert (missing.status, missing.code) == (404, "NodeUserNotFound")
    missing = refused(client.replace_node_user, *node, "ann", body={"password": "Secret-2"})
    assert (missing.status, missing.code) == (404, "NodeUserNotFound")
    key = {"name": "bob", "sshPublicKey": "ssh-rsa AAAA bob", "expiryTime": "2099-01-01T00:00:00Z"}
    client.create_node_user(*node, body=key)


def test_a_node_has_an_address_for_remote_login(client, node):
    found = client.get_node_remote_login_settings(*node)
    address = found.remote_login_ip_address
    assert address.count(".") == 3
    assert found.remote_login_port > 0


def test_logs_of_a_node_are_uploaded(client, node):
    container = "https://storage.blob.core.windows.net/logs?sig=x"
    body = {"containerUrl": container, "startTime": "2026-01-01T00:00:00Z", "endTime": "2099-01-01T00:00:00Z"}
    found = client.upload_node_logs(*node, body=body)
    assert node[0] in found.virtual_directory_name
    assert found.number_of_files_uploaded > 0


def test_a_node_has_the_extensions_of_its_pool(client, shared):
    (first, _) = client.list_nodes(shared)
    (extension,) = client.list_node_extensions(shared, first.id)
    found = client.get_node_extension(shared, first.id, extension.vm_extension.name)
    assert (found.provisioning_state, found.vm_extension.publisher) == (
        "Succeeded",
        extension.vm_extension.publisher,
    )
    assert refused(client.get_node_extension, shared, first.id, "nobody").status == 404


def test_a_node_that_is_not_there_is_not_found(client, shared):
    for call in (client.get_node, client.reboot_node, client.enable_node_scheduling, client.list_node_files):
        found = refused(call, shared, "tvmps_nobody")
        assert (found.status, found.code) == (404, "NodeNotFound"), call
    found = refused(client.list_nodes, "nobody")
    assert (found.status, found.code) == (404, "PoolNotFound")
