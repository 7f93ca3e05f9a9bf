"""Nodes over REST beside their operations: users, login, logs, extensions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import a_job, a_pool, a_task, events, node, run
from tests.rest.test_files import WINDOWS
from tests.rest.wire import BASE

NO_ADDRESSES = {"publicIPAddressConfiguration": {"provision": "noPublicIPAddresses"}}
MONITOR = {
    "name": "Monitor",
    "publisher": "Microsoft.Azure.Monitor",
    "type": "AzureMonitorLinuxAgent",
    "typeHandlerVersion": "1.2",
    "settings": {"a": "b"},
    "protectedSettings": {"key": "secret"},
}
LINUX = {
    "imageReference": {"publisher": "Canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"},
    "nodeAgentSKUId": "batch.node.ubuntu 22.04",
}


@pytest.fixture
def pool_of(account):
    """An account with a pool of one node that is ready, and the path of the node."""

    def begin(**more):
        batch = account(pool=a_pool(**more))
        run(batch.simulation, minutes=15)
        return batch, f"/pools/p/nodes/{node(batch.simulation).id}"

    return begin


# -- users (NOP-9) ---------------------------------------------------------------------------------------------------


def users(batch):
    return node(batch.simulation).users


def test_nop_9_a_user_is_added_changed_and_deleted(pool_of):
    batch, path = pool_of()
    start = batch.simulation.scenario.start
    body = {"name": "Ann", "isAdmin": "TRUE", "sshPublicKey": "ssh-rsa A", "expiryTime": "2026-01-06T08:00:00.1234567Z"}
    made = batch.post(f"{path}/users", body)
    assert (made.status, made.content) == (201, b"")
    assert made.headers["Location"] == made.headers["DataServiceId"] == f"{BASE}{path}/users/Ann"
    assert users(batch) == {"Ann": (True, 86_400_123)}
    assert batch.post(f"{path}/users", body | {"name": "ann"}).code == "NodeUserExists"
    later = (start + timedelta(days=2)).isoformat()
    changed = batch.put(f"{path}/users/ANN", {"password": "s3cret!", "expiryTime": later})
    assert (changed.status, changed.content) == (200, b"")
    assert users(batch) == {"Ann": (True, 2 * 86_400_000)}
    assert batch.put(f"{path}/users/bob", {"password": "s3cret!"}).code == "NodeUserNotFound"
    assert batch.delete(f"{path}/users/Ann").status == 200
    assert users(batch) == {}
    assert batch.delete(f"{path}/users/Ann").code == "NodeUserNotFound"


def test_the_user_that_is_replaced_is_the_one_in_the_path(pool_of):
    batch, path = pool_of()
    for name in ("ann", "bob"):
        batch.post(f"{path}/users", {"name": name, "password": "s3cret!"})
    expiry = "2026-01-08T08:00:00Z"
    assert batch.put(f"{path}/users/ann", {"name": "bob", "password": "x", "expiryTime": expiry}).status == 200
    assert users(batch)["ann"][1] > users(batch)["bob"][1]


def test_a_user_needs_a_node_and_a_name(pool_of):
    batch, path = pool_of()
    assert batch.post("/pools/p/nodes/x/users", {"name": "ann"}).code == "NodeNotFound"
    assert batch.post("/pools/x/nodes/x/users", {"name": "ann"}).code == "PoolNotFound"
    assert batch.post(f"{path}/users", {}).code == "MissingRequiredProperty"
    assert batch.post(f"{path}/users", {"name": "a b", "password": "x"}).status == 400
    assert users(batch) == {}


# -- login (NOP-10) --------------------------------------------------------------------------------------------------


def test_nop_10_a_linux_node_has_an_address_and_no_rdp_file(pool_of):
    batch, path = pool_of()
    (endpoint,) = batch.get(path).json["endpointConfiguration"]["inboundEndpoints"]
    found = batch.get(f"{path}/remoteloginsettings").json
    assert found["remoteLoginIPAddress"] == endpoint["publicIPAddress"]
    assert found["remoteLoginPort"] == endpoint["frontendPort"]
    refused = batch.get(f"{path}/rdp")
    assert (refused.status, refused.code) == (409, "OperationNotValidOnNode")


def test_nop_10_a_windows_node_has_an_rdp_file_too(pool_of):
    batch, path = pool_of(virtualMachineConfiguration=WINDOWS)
    reply = batch.get(f"{path}/rdp")
    assert reply.headers["Content-Type"] == "application/octet-stream"
    address = batch.get(f"{path}/remoteloginsettings").json["remoteLoginIPAddress"]
    assert reply.content.decode().startswith(f"full address:s:{address}:")


def test_nop_10_a_node_without_public_address_cannot_be_reached(pool_of):
    subnet = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/v/subnets/n"
    batch, path = pool_of(networkConfiguration=NO_ADDRESSES | {"subnetId": subnet})
    for what in ("remoteloginsettings", "rdp"):
        assert batch.get(f"{path}/{what}").code == "OperationNotValidOnNode"


def test_nop_10_a_node_of_a_pool_with_ipv6_is_reached_by_both(pool_of):
    batch, path = pool_of(networkConfiguration={"publicIPAddressConfiguration": {"ipFamilies": ["IPv4", "IPv6"]}})
    found = batch.get(f"{path}/remoteloginsettings").json
    assert (found["ipv6RemoteLoginIPAddress"], found["ipv6RemoteLoginPort"]) == ("2001:db8::1", 50_000)


# -- reimaging -------------------------------------------------------------------------------------------------------


def test_older_versions_reimage_no_virtual_machines(pool_of):
    batch, path = pool_of()
    refused = batch.request("POST", f"{path}/reimage", **{"api-version": "2024-02-01.19.0"})
    assert (refused.status, refused.code) == (409, "OperationNotValidOnNode")
    assert batch.post(f"{path}/reimage").status == 202


# -- logs and extensions ---------------------------------------------------------------------------------------------


def test_nop_11_the_answer_to_an_upload_names_the_directory_in_the_container(pool_of):
    batch, path = pool_of()
    body = {"containerUrl": "https://acc.blob.core.windows.net/logs?sig=x", "startTime": "2026-01-05T08:00:00Z"}
    reply = batch.post(f"{path}/uploadbatchservicelogs", body)
    assert reply.json["numberOfFilesUploaded"] == 3
    pool_id, node_id, guid = reply.json["virtualDirectoryName"].split("/")
    assert (pool_id, node_id, len(guid)) == ("p", node(batch.simulation).id, 36)
    (log, *_) = events(batch.simulation, "BlobUploaded")
    assert reply.json["virtualDirectoryName"] in log["url"]
    assert batch.post(f"{path}/uploadbatchservicelogs", {}).code == "MissingRequiredProperty"


def test_the_extensions_of_a_node_come_without_their_secrets(pool_of):
    batch, path = pool_of(virtualMachineConfiguration=LINUX | {"extensions": [MONITOR]})
    found, own = batch.get(f"{path}/extensions").json["value"]
    assert own["vmExtension"]["name"] == "batchNodeExtension"
    assert found["provisioningState"] == "Succeeded"
    assert found["vmExtension"] == {name: value for name, value in MONITOR.items() if name != "protectedSettings"}
    assert found["instanceView"]["statuses"][0]["level"] == "Info"
    one = batch.get(f"{path}/extensions/monitor").json
    assert one.pop("odata.metadata") == f"{BASE}/$metadata#extensions/@Element"
    assert one == found
    assert batch.get(f"{path}/extensions/Monitor", _select="provisioningState").json.keys() == {
        *("odata.metadata", "provisioningState")
    }
    assert batch.get(f"{path}/extensions/other").status == 404
    assert b"secret" not in batch.get(f"{path}/extensions").content + batch.get("/pools/p").content


def test_a_node_without_extensions_has_none(pool_of):
    batch, path = pool_of()
    assert batch.get(f"{path}/extensions").json["value"] == []


# -- lists -----------------------------------------------------------------------------------------------------------


def test_node_6_a_list_of_nodes_has_their_recent_tasks_newest_first(account):
    batch = account(a_job(tasks=[a_task(f"t{n}", seconds=20) for n in range(30)]), pool=a_pool(nodes=2))
    run(batch.simulation, minutes=30)
    listed = {each["id"]: each for each in batch.get("/pools/p/nodes").json["value"]}
    assert len(listed) == 2
    for node_id, body in listed.items():
        one = batch.get(f"/pools/p/nodes/{node_id}").json
        one.pop("odata.metadata")
        assert body == one
        assert len(body["recentTasks"]) == 10
        ended = [task["executionInfo"]["endTime"] for task in body["recentTasks"]]
        assert ended == sorted(ended, reverse=True)
    batch.delete(f"/jobs/j/tasks/{listed[node_id]['recentTasks'][0]['taskId']}")
    (body,) = batch.get("/pools/p/nodes", _filter=f"id eq '{node_id}'").json["value"]
    assert body["recentTasks"][0] == listed[node_id]["recentTasks"][1]
    assert len(body["recentTasks"]) == 10
