"""Pools over REST."""

from __future__ import annotations

import pytest

from tests import builders
from tests.builders import a_pool, run

IMAGE = {"publisher": "Canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"}
MACHINE = {"imageReference": IMAGE, "nodeAgentSKUId": "batch.node.ubuntu 22.04"}


def pool(pool_id="p", nodes=1, **more):
    return a_pool(pool_id, nodes, virtualMachineConfiguration=MACHINE, **more)


def test_a_created_pool_is_where_the_answer_says_and_resizes(account):
    batch = account()
    created = batch.post("/pools", pool("Shared", 2))
    assert created.status == 201
    assert created.content == b""
    assert created.headers["Location"] == "http://127.0.0.1:8100/pools/Shared"
    assert created.headers["DataServiceId"] == created.headers["Location"]
    found = batch.get("/pools/shared")
    assert found.headers["ETag"] == created.headers["ETag"] == found.json["eTag"]
    assert found.json["url"] == "http://127.0.0.1:8100/pools/Shared"
    assert (found.json["state"], found.json["allocationState"]) == ("active", "resizing")
    run(batch.simulation, minutes=5)
    assert batch.get("/pools/shared").json["currentDedicatedNodes"] == 2


def test_targets_that_a_client_leaves_out_are_0_unless_a_formula_sets_them(account):
    batch = account()
    without = {"vmSize": "standard_d2s_v3", "virtualMachineConfiguration": MACHINE}
    assert batch.post("/pools", without | {"id": "p", "targetLowPriorityNodes": None}).status == 201
    found = batch.get("/pools/p").json
    assert (found["targetDedicatedNodes"], found["targetLowPriorityNodes"]) == (0, 0)
    scaled = {"id": "q", "ENABLEAUTOSCALE": "true", "autoScaleFormula": "$TargetDedicatedNodes = 1"}
    assert batch.post("/pools", without | scaled).status == 201
    assert batch.get("/pools/q").json["enableAutoScale"] is True


SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers"
SUBNET = f"{SUBSCRIPTION}/Microsoft.Network/virtualNetworks/v/subnets/s"


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"networkConfiguration": {"subnetId": SUBNET}}, "subnetId"),
        ({"virtualMachineConfiguration": MACHINE | {"imageReference": {"virtualMachineImageId": "/images/i"}}},
         "virtualMachineImageId"),
    ],
)  # fmt: skip
def test_a_pool_that_names_what_cannot_exist_is_refused(account, more, name):
    refused = account().post("/pools", pool() | more)
    assert (refused.status, refused.code) == (400, "InvalidPropertyValue")
    assert {"key": "PropertyName", "value": name} in refused.json["values"]


def test_net_2_the_nil_subscription_is_the_accounts_only_if_the_scenario_says_so(account):
    nil = SUBSCRIPTION.split("/")[2]
    body = pool() | {"networkConfiguration": {"subnetId": SUBNET}}
    assert account(account={"subscriptionId": nil}).post("/pools", body).status == 201
    other = nil.replace("0", "1")
    refused = account(account={"subscriptionId": other}).post("/pools", body)
    assert (refused.status, refused.code) == (400, "InvalidPropertyValue")
    elsewhere = {"networkConfiguration": {"subnetId": SUBNET.replace(nil, other)}}
    assert account().post("/pools", pool() | elsewhere).status == 201
    assert account(account={"subscriptionId": nil}).post("/pools", pool() | elsewhere).status == 400


def test_a_pool_may_name_a_subnet_and_an_image_of_a_gallery(account):
    batch = account()
    image = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/corp/images/risk/versions/1.0.0"
    machine = MACHINE | {"imageReference": {"virtualMachineImageId": image}}
    subnet = SUBNET.replace("00000000-", "10000000-")
    body = pool() | {"networkConfiguration": {"subnetId": subnet}, "virtualMachineConfiguration": machine}
    assert batch.post("/pools", body).status == 201


def test_a_pool_that_exists_is_not_created_again(account):
    batch = account(pool=pool())
    run(batch.simulation, seconds=1)
    again = batch.post("/pools", pool("P"))
    assert (again.status, again.code) == (409, "PoolExists")
    assert again.json["message"]["value"].startswith("The specified pool already exists.\nRequestId:")


def test_a_pool_that_does_not_exist_is_told_with_its_id(account):
    missing = account().get("/pools/nobody")
    assert (missing.status, missing.code) == (404, "PoolNotFound")
    assert missing.json["values"] == [
        {"key": "PropertyName", "value": "poolId"},
        {"key": "PropertyValue", "value": "nobody"},
    ]


def test_head_says_whether_a_pool_exists_without_a_body(account):
    batch = account(pool=pool())
    run(batch.simulation, seconds=1)
    there, missing = batch.head("/pools/p"), batch.head("/pools/q")
    assert (there.status, there.content, missing.status, missing.content) == (200, b"", 404, b"")
    assert there.headers["ETag"]


def test_a_resize_is_under_way_when_the_answer_comes(account):
    batch = account(pool=pool(nodes=3))
    run(batch.simulation, minutes=5)
    before = batch.get("/pools/p").json
    answer = batch.post("/pools/p/resize", {"targetLowPriorityNodes": "2", "resizeTimeout": "PT06M00S"})
    assert (answer.status, answer.headers["DataServiceId"]) == (202, "http://127.0.0.1:8100/pools/p/resize")
    after = batch.get("/pools/p").json
    assert after["allocationState"] == "resizing"
    # A target that is left out is 0; numbers may be text.
    assert (after["targetDedicatedNodes"], after["targetLowPriorityNodes"]) == (0, 2)
    assert after["eTag"] == answer.headers["ETag"] != before["eTag"]


def test_stopping_a_resize_leaves_targets_and_entity_tag(account):
    batch = account(pool=pool(nodes=3))
    run(batch.simulation, seconds=1)
    before = batch.get("/pools/p").json
    assert batch.post("/pools/p/stopresize").status == 202
    after = batch.get("/pools/p").json
    assert (after["allocationState"], after["targetDedicatedNodes"]) == ("stopping", 3)
    assert after["eTag"] == before["eTag"]


def test_a_patch_changes_what_is_named_and_updateproperties_replaces_all(account):
    start = {"commandLine": "install"}
    batch = account(pool=pool(startTask=start, metadata=[{"name": "team", "value": "risk"}]))
    run(batch.simulation, minutes=5)
    assert batch.patch("/pools/p", {"metadata": [{"name": "team", "value": "desk"}]}).status == 200
    found = batch.get("/pools/p").json
    assert found["metadata"] == [{"name": "team", "value": "desk"}]
    assert found["startTask"]["commandLine"] == "install"
    replacement = {"metadata": [], "applicationPackageReferences": [], "certificateReferences": []}
    assert batch.post("/pools/p/updateproperties", replacement).status == 204
    found = batch.get("/pools/p").json
    assert "startTask" not in found
    assert "metadata" not in found


def test_autoscale_is_enabled_evaluated_and_disabled(account):
    batch = account(pool=pool())
    run(batch.simulation, minutes=5)
    formula = "$TargetDedicatedNodes = 3;"
    refused = batch.post("/pools/p/evaluateautoscale", {"autoScaleFormula": formula})
    assert refused.status == 409
    assert batch.post("/pools/p/enableautoscale", {"autoScaleFormula": formula}).status == 200
    assert batch.get("/pools/p").json["autoScaleFormula"] == formula
    run(batch.simulation, minutes=5)
    tried = batch.post("/pools/p/evaluateautoscale", {"autoScaleFormula": "$TargetDedicatedNodes = 1 + 1;"})
    assert tried.json["results"].startswith(
        "$TargetDedicatedNodes=2;$TargetLowPriorityNodes=0;$NodeDeallocationOption="
    )
    wrong = batch.post("/pools/p/evaluateautoscale", {"autoScaleFormula": "$TargetDedicatedNodes = ;"})
    assert (wrong.status, wrong.code) == (400, "AutoScalingFormulaSyntaxError")
    assert batch.post("/pools/p/disableautoscale").status == 200
    assert "autoScaleFormula" not in batch.get("/pools/p").json


def test_named_nodes_are_removed(account):
    batch = account(pool=pool(nodes=2))
    run(batch.simulation, minutes=5)
    (first, second) = batch.get("/pools/p/nodes").ids
    assert batch.post("/pools/p/removenodes", {"nodeList": [first]}).status == 202
    run(batch.simulation, minutes=5)
    assert batch.get("/pools/p/nodes").ids == [second]


def test_nodes_are_counted_by_state(account):
    batch = account(pool=pool(nodes=2))
    run(batch.simulation, minutes=5)
    (counts,) = batch.get("/nodecounts").json["value"]
    assert (counts["poolId"], counts["dedicated"]["idle"], counts["lowPriority"]["total"]) == ("p", 2, 0)


def test_a_deleted_pool_is_deleting_then_gone(account):
    batch = account(pool=pool())
    run(batch.simulation, minutes=5)
    assert batch.delete("/pools/p").status == 202
    assert batch.get("/pools/p").json["state"] == "deleting"
    run(batch.simulation, minutes=5)
    assert batch.get("/pools/p").status == 404


def test_statistics_are_returned_where_expand_asks(account):
    batch = account(pool=pool())
    run(batch.simulation, minutes=5)
    assert "stats" not in batch.get("/pools/p").json
    assert batch.get("/pools/p", _expand="stats").json["stats"]["url"].startswith("http://127.0.0.1:8100/pools/p/")
    (listed,) = batch.get("/pools", _expand="stats").json["value"]
    assert listed["stats"]["usageStats"]["dedicatedCoreTime"]


@pytest.mark.parametrize(
    ("body", "code", "name"),
    [
        ({"vmSize": "standard_d2s_v3"}, "MissingRequiredProperty", "id"),
        (pool(nodes="two"), "InvalidPropertyValue", "targetDedicatedNodes"),
        (pool("a b"), "InvalidPropertyValue", "id"),
        (pool(taskSlotsPerNode=1000), "InvalidPropertyValue", "taskSlotsPerNode"),
    ],
)
def test_a_malformed_pool_is_refused_by_the_name_of_the_property(account, body, code, name):
    refused = account().post("/pools", body)
    assert (refused.status, refused.code) == (400, code)
    assert {"key": "PropertyName", "value": name} in refused.json["values"]


def test_commands_over_rest_are_in_the_journal_and_replay_to_the_same_log(account):
    from engine import Simulation, load_scenario
    from engine.views.recording import recorded

    batch = account()
    batch.post("/pools", pool(nodes=2))
    run(batch.simulation, minutes=5)
    batch.post("/pools/p/resize", {"targetDedicatedNodes": 1})
    batch.post("/pools/q/resize", {"targetDedicatedNodes": 1})
    run(batch.simulation, minutes=5)
    replay = Simulation(load_scenario("saved", text=recorded(batch.simulation)))
    replay.run_until(batch.simulation.now_ms)
    assert list(replay.json_lines()) == list(batch.simulation.json_lines())
    assert builders.events(replay, "CommandRefused", code="PoolNotFound")
