"""The management plane: the account, pools and applications as ARM has them, and that both planes are one account."""

from __future__ import annotations

import json

import pytest

from engine.base.errors import BatchError
from engine.base.values import HOUR_MS
from engine.rest.management import Management, Uploads
from engine.rest.messages import Request
from engine.rest.service import Credentials
from tests.rest.wire import BASE

PLACE = "/subscriptions/11111111-2222-4333-8444-555555555555/resourceGroups/rg/providers"
ACCOUNT = f"{PLACE}/Microsoft.Batch/batchAccounts/localbatch"
LOCATION = "/subscriptions/s/providers/Microsoft.Batch/locations/westeurope"
MACHINE = {
    "imageReference": {"publisher": "canonical", "offer": "0001-com-ubuntu-server-jammy", "sku": "22_04-lts"},
    "nodeAgentSkuId": "batch.node.ubuntu 22.04",
}


def pool(**properties):
    scale = {"fixedScale": {"targetDedicatedNodes": 2}}
    deployment = {"virtualMachineConfiguration": MACHINE}
    return {
        "properties": {"vmSize": "standard_d2s_v3", "deploymentConfiguration": deployment, "scaleSettings": scale}
        | properties
    }


class Plane:
    """The management plane of an account, and its data plane."""

    def __init__(self, batch, fault=lambda token: "" if token == "good" else "bad"):
        self.batch = batch
        self.plane = Management(batch.service, fault)

    def ask(self, method, path, body=None, query="api-version=2025-06-01", **headers):
        content = b"" if body is None else json.dumps(body).encode()
        given = {"authorization": "Bearer good"} | {name.replace("_", "-"): text for name, text in headers.items()}
        answer = self.plane.answer(Request(method, path, query, given, content, BASE))
        return answer.status, json.loads(answer.body) if answer.body else None, answer.headers

    def code(self, method, path, body=None, **more):
        status, found, _ = self.ask(method, path, body, **more)
        return status, found["error"]["code"]


@pytest.fixture
def plane(account):
    return Plane(account())


def run(plane, ms=HOUR_MS):
    simulation = plane.batch.simulation
    simulation.run_until(simulation.now_ms + ms)


OPERATIONS = [
    ("GET", "/providers/Microsoft.Batch/operations"),
    ("GET", ACCOUNT),
    ("PUT", ACCOUNT),
    ("PATCH", ACCOUNT),
    ("DELETE", ACCOUNT),
    ("GET", f"{PLACE}/Microsoft.Batch/batchAccounts"),
    ("GET", "/subscriptions/s/providers/Microsoft.Batch/batchAccounts"),
    *(("POST", f"{ACCOUNT}/{what}") for what in ("syncAutoStorageKeys", "regenerateKeys", "listKeys")),
    *(("GET", f"{ACCOUNT}/{what}") for what in ("outboundNetworkDependenciesEndpoints", "detectors", "detectors/x")),
    *((method, f"{ACCOUNT}/applications/a/versions/1") for method in ("GET", "PUT", "DELETE")),
    ("GET", f"{ACCOUNT}/applications/a/versions"),
    ("POST", f"{ACCOUNT}/applications/a/versions/1/activate"),
    *((method, f"{ACCOUNT}/applications/a") for method in ("GET", "PUT", "PATCH", "DELETE")),
    ("GET", f"{ACCOUNT}/applications"),
    *(("GET", f"{ACCOUNT}/privateLinkResources{end}") for end in ("", "/x")),
    *((method, f"{ACCOUNT}/privateEndpointConnections/x") for method in ("GET", "PATCH", "DELETE")),
    ("GET", f"{ACCOUNT}/privateEndpointConnections"),
    *((method, f"{ACCOUNT}/pools/p") for method in ("GET", "PUT", "PATCH", "DELETE")),
    ("GET", f"{ACCOUNT}/pools"),
    *(("POST", f"{ACCOUNT}/pools/p/{what}") for what in ("disableAutoScale", "stopResize")),
    *(("GET", f"{ACCOUNT}/networkSecurityPerimeterConfigurations{end}") for end in ("", "/x")),
    ("POST", f"{ACCOUNT}/networkSecurityPerimeterConfigurations/x/reconcile"),
    *(("GET", f"{LOCATION}/{kind}") for kind in ("quotas", "virtualMachineSkus")),
    ("POST", f"{LOCATION}/checkNameAvailability"),
]  # fmt: skip


def test_each_of_the_42_operations_answers_and_none_fails(plane):
    assert len(OPERATIONS) == len(set(OPERATIONS)) == 42
    for body in ({}, None, {"properties": {}}, {"properties": []}, {"properties": {"scaleSettings": 7}}, {"tags": 1}):
        for method, path in OPERATIONS:
            status, _, _ = plane.ask(method, path, body)
            assert status < 500, (method, path, body)


def test_a_pool_made_here_is_the_data_planes_and_the_other_way_round(plane):
    status, made, headers = plane.ask("PUT", f"{ACCOUNT}/pools/p", pool(startTask={"commandLine": "/bin/true"}))
    assert (status, made["name"], made["type"]) == (200, "p", "Microsoft.Batch/batchAccounts/pools")
    assert headers["ETag"] == made["etag"]
    assert made["properties"]["deploymentConfiguration"]["virtualMachineConfiguration"]["nodeAgentSkuId"].endswith(
        "22.04"
    )
    found = plane.batch.get("/pools/p").json
    assert (found["vmSize"], found["targetDedicatedNodes"]) == ("standard_d2s_v3", 2)
    assert found["startTask"]["commandLine"] == "/bin/true"
    other = {
        "id": "q",
        "vmSize": "standard_d4s_v3",
        "virtualMachineConfiguration": {**MACHINE, "nodeAgentSKUId": MACHINE["nodeAgentSkuId"]},
    }
    assert plane.batch.post("/pools", {**other, "targetDedicatedNodes": 1}).status == 201
    run(plane)
    _, listed, _ = plane.ask("GET", f"{ACCOUNT}/pools")
    assert [(one["name"], one["properties"]["currentDedicatedNodes"]) for one in listed["value"]] == [
        ("p", 2),
        ("q", 1),
    ]
    assert {one["properties"]["allocationState"] for one in listed["value"]} == {"Steady"}


def test_what_a_pool_is_read_as_can_be_put_again(plane):
    plane.ask(
        "PUT", f"{ACCOUNT}/pools/p", pool(metadata=[{"name": "a", "value": "b"}], interNodeCommunication="Enabled")
    )
    run(plane)
    _, found, _ = plane.ask("GET", f"{ACCOUNT}/pools/p")
    before = len(plane.batch.simulation.journal.by_hand())
    status, again, _ = plane.ask("PUT", f"{ACCOUNT}/pools/p", found)
    assert status == 200
    assert again["properties"]["scaleSettings"] == found["properties"]["scaleSettings"]
    assert len(plane.batch.simulation.journal.by_hand()) == before  # nothing was changed


def test_a_patch_resizes_sets_a_formula_and_takes_it_back(plane):
    path = f"{ACCOUNT}/pools/p"
    plane.ask("PUT", path, pool())
    run(plane)
    fixed = {"fixedScale": {"targetDedicatedNodes": 5, "targetLowPriorityNodes": 1, "resizeTimeout": "PT20M"}}
    _, changed, _ = plane.ask("PATCH", path, {"properties": {"scaleSettings": fixed}})
    assert changed["properties"]["allocationState"] == "Resizing"
    assert plane.batch.get("/pools/p").json["targetLowPriorityNodes"] == 1
    run(plane)
    auto = {"autoScale": {"formula": "$TargetDedicatedNodes = 1;", "evaluationInterval": "PT10M"}}
    status, changed, _ = plane.ask("PATCH", path, {"properties": {"scaleSettings": auto}})
    assert (status, changed["properties"]["scaleSettings"]) == (200, auto)
    run(plane)
    _, steady, _ = plane.ask("POST", f"{path}/disableAutoScale")
    assert steady["properties"]["scaleSettings"]["fixedScale"]["targetDedicatedNodes"] == 1
    _, named, _ = plane.ask("PATCH", path, {"properties": {"metadata": [{"name": "team", "value": "risk"}]}})
    assert named["properties"]["metadata"] == [{"name": "team", "value": "risk"}]


def test_conditions_of_requests_hold_or_change_nothing(plane):
    path = f"{ACCOUNT}/pools/p"
    assert plane.code("PUT", path, pool(), if_match='"0x1"') == (412, "ConditionNotMet")
    _, made, _ = plane.ask("PUT", path, pool())
    assert plane.code("PUT", path, pool(), if_none_match="*") == (412, "ConditionNotMet")
    assert plane.code("PATCH", path, {"properties": {}}, if_match='W/"0x1"') == (412, "ConditionNotMet")
    assert plane.ask("PATCH", path, {"properties": {}}, if_match=made["etag"])[0] == 200
    assert plane.code("DELETE", path, if_match='"0x1"') == (412, "ConditionNotMet")


def test_a_deletion_is_polled_until_the_pool_is_gone(plane):
    plane.ask("PUT", f"{ACCOUNT}/pools/p", pool())
    run(plane)
    status, _, headers = plane.ask("DELETE", f"{ACCOUNT}/pools/p")
    assert status == 202
    place, _, query = headers["Location"].removeprefix(BASE).partition("?")
    assert plane.ask("GET", place, query=query)[0] == 202
    assert plane.ask("GET", f"{ACCOUNT}/pools/p")[1]["properties"]["provisioningState"] == "Deleting"
    run(plane)
    assert plane.ask("GET", place, query=query)[0] == 204
    assert plane.code("GET", f"{ACCOUNT}/pools/p") == (404, "PoolNotFound")
    assert plane.ask("DELETE", f"{ACCOUNT}/pools/p")[0] == 204


def test_a_mistake_in_a_pool_is_refused_with_a_sentence(plane):
    status, refused, _ = plane.ask("PUT", f"{ACCOUNT}/pools/p", pool(taskSlotPerNode=2))
    assert (status, refused["error"]["code"]) == (400, "InvalidRequestBody")
    assert "taskSlotsPerNode" in refused["error"]["message"]


def test_a_package_counts_once_it_is_activated(plane):
    application = f"{ACCOUNT}/applications/blender"
    assert plane.code("GET", application) == (404, "ApplicationNotFound")
    plane.ask("PUT", application, {"properties": {"displayName": "Blender"}})
    assert plane.batch.get("/applications").ids == []
    _, pending, _ = plane.ask("PUT", f"{application}/versions/3.0")
    assert pending["properties"]["state"] == "Pending"
    _, active, _ = plane.ask("POST", f"{application}/versions/3.0/activate", {"format": "zip"})
    assert active["properties"]["state"] == "Active"
    assert plane.batch.get("/applications").json["value"] == [
        {"id": "blender", "displayName": "Blender", "versions": ["3.0"]}
    ]
    _, changed, _ = plane.ask("PATCH", application, {"properties": {"defaultVersion": "3.0"}})
    assert changed["properties"]["defaultVersion"] == "3.0"
    assert plane.code("DELETE", application) == (409, "ApplicationNotEmpty")
    plane.ask("PATCH", application, {"properties": {"defaultVersion": None}})
    assert [one["name"] for one in plane.ask("GET", f"{application}/versions")[1]["value"]] == ["3.0"]


def test_a_resource_id_of_an_application_leads_to_its_package(plane):
    application = f"{ACCOUNT}/applications/blender"
    plane.ask("PUT", f"{ACCOUNT}/applications/blender")
    plane.ask("PUT", f"{application}/versions/3.0")
    plane.ask("POST", f"{application}/versions/3.0/activate")
    _, made, _ = plane.ask(
        "PUT", f"{ACCOUNT}/pools/p", pool(applicationPackages=[{"id": application, "version": "3.0"}])
    )
    assert made["properties"]["applicationPackages"] == [{"id": application, "version": "3.0"}]
    assert plane.batch.get("/pools/p").json["applicationPackageReferences"] == [
        {"applicationId": "blender", "version": "3.0"}
    ]


def test_clients_find_their_way_to_the_account(plane):
    _, found, _ = plane.ask(
        "GET",
        "/subscriptions/s/resources",
        query="api-version=1&%24filter=resourceType%20eq%20'Microsoft.Batch/batchAccounts'",
    )
    assert [one["name"] for one in found["value"]] == ["localbatch"]
    plane.ask("PATCH", ACCOUNT, {"tags": {"team": "risk"}})
    for value, names in (("risk", ["localbatch"]), ("other", [])):
        query = f"api-version=1&%24filter=tagName%20eq%20'team'%20and%20tagValue%20eq%20'{value}'"
        assert [one["name"] for one in plane.ask("GET", "/subscriptions/s/resources", query=query)[1]["value"]] == names
    assert plane.ask("GET", "/subscriptions")[1]["value"][0]["state"] == "Enabled"
    assert plane.ask("PUT", "/subscriptions/s/resourceGroups/mine")[0] == 201
    assert (
        "/resourceGroups/mine/"
        in plane.ask("GET", "/subscriptions/s/providers/Microsoft.Batch/batchAccounts")[1]["value"][0]["id"]
    )
    storage = f"{PLACE}/Microsoft.Storage/storageAccounts/store"
    assert (
        plane.ask("GET", storage)[1]["properties"]["primaryEndpoints"]["blob"] == "https://store.blob.core.windows.net/"
    )
    assert plane.ask("POST", f"{storage}/listKeys")[1]["keys"][0]["value"]


@pytest.mark.parametrize(
    ("method", "path", "more", "status", "code"),
    [
        ("GET", f"{PLACE}/Microsoft.Batch/batchAccounts/other", {}, 404, "ResourceNotFound"),
        ("PUT", f"{PLACE}/Microsoft.Batch/batchAccounts/other", {}, 409, "OperationInvalidForCurrentState"),
        ("PATCH", f"{PLACE}/Microsoft.Batch/batchAccounts/other", {}, 404, "ResourceNotFound"),
        ("PUT", f"{PLACE}/Microsoft.Batch/batchAccounts/other/pools/p", {"body": pool()}, 404, "ResourceNotFound"),
        ("PUT", f"{PLACE}/Microsoft.Batch/batchAccounts/other/applications/a", {}, 404, "ResourceNotFound"),
        ("GET", f"{PLACE}/Microsoft.Compute/virtualMachines/v", {}, 404, "ResourceNotFound"),
        ("TRACE", ACCOUNT, {}, 405, "UnsupportedHttpVerb"),
        ("GET", ACCOUNT, {"query": ""}, 400, "MissingApiVersionParameter"),
        ("GET", ACCOUNT, {"authorization": "Bearer other"}, 401, "AuthenticationFailed"),
        ("GET", ACCOUNT, {"authorization": "SharedKey a:b"}, 401, "Unauthorized"),
        ("DELETE", ACCOUNT, {}, 409, "OperationInvalidForCurrentState"),
        ("POST", f"{ACCOUNT}/regenerateKeys", {}, 409, "OperationInvalidForCurrentState"),
    ],
)
def test_what_is_not_there_or_not_allowed_is_refused_as_arm_refuses(plane, method, path, more, status, code):
    assert plane.code(method, path, **more) == (status, code)


def test_with_any_key_no_token_is_wanted(account):
    plane = Plane(account(credentials=Credentials(any_key=True)))
    assert plane.ask("GET", ACCOUNT, authorization="")[0] == 200


def test_other_paths_are_left_to_the_data_plane(plane):
    for path in ("/pools", "/jobs/subscriptions", "/"):
        assert plane.plane.door(Request("GET", path)) is None


def test_a_package_is_uploaded_to_where_the_account_says_whatever_its_length(plane):
    application = f"{ACCOUNT}/applications/blender"
    plane.ask("PUT", application)
    _, pending, _ = plane.ask("PUT", f"{application}/versions/3.0")
    url = pending["properties"]["storageUrl"]
    host, path = "https://localbatch.westeurope.batch.azure.com", "/packages/blender/3.0"
    assert url.partition("?")[0] == host + path
    account = Uploads(plane.batch.service)
    for refused in (None, BatchError("RequestBodyTooLarge")):
        assert account.answer(Request("PUT", path, "sig=none", {}, b"PK", host), refused).status == 201
    assert account.answer(Request("PUT", "/pools/p", "", {}, b"", host)).status != 201
    assert account.answer(Request("GET", path, "", {}, b"", host)).status == 404
    assert plane.ask("POST", f"{application}/versions/3.0/activate", {"format": "zip"})[0] == 200


def test_the_account_has_the_storage_account_that_clients_ask_for_before_packages(plane):
    storage = plane.ask("GET", ACCOUNT)[1]["properties"]["autoStorage"]["storageAccountId"]
    assert storage == f"{PLACE}/Microsoft.Storage/storageAccounts/localbatch"
    assert plane.ask("GET", storage)[1]["id"] == storage
