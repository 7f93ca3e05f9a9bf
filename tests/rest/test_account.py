"""The account over REST: images, applications, usage, and the certificates of older clients."""

from __future__ import annotations

import pytest

from tests.builders import a_job, a_pool, run
from tests.rest.wire import BASE

PRICER = {"id": "Pricer", "versions": ["1.0", "1.1"], "defaultVersion": "1.1", "displayName": "The pricer"}
TOOLS = {"id": "tools", "versions": ["2"]}
THUMBPRINT = "0A0E4F50D51BEADEAC1D35AFC5116098E7902E6E"
CERTIFICATE = {
    "thumbprint": THUMBPRINT,
    "thumbprintAlgorithm": "sha1",
    "data": "AAAA",
    "certificateFormat": "pfx",
    "password": "s",
}
PATH = f"/certificates(thumbprintAlgorithm=sha1,thumbprint={THUMBPRINT})"


# -- images ----------------------------------------------------------------------------------------------------------


def test_pool_26_the_images_with_which_a_pool_can_be_created(account):
    batch = account()
    found = batch.get("/supportedimages").json["value"]
    assert len(found) > 50
    first = found[0]
    assert first["imageReference"]["version"] == "latest"
    assert {image["osType"] for image in found} == {"linux", "windows"}
    assert all(image["batchSupportEndOfLife"] > "2026-01-05" for image in found)
    machine = {"imageReference": first["imageReference"], "nodeAgentSKUId": first["nodeAgentSKUId"]}
    assert batch.post("/pools", a_pool("q", virtualMachineConfiguration=machine)).status == 201


def test_images_are_filtered_as_samples_do_and_come_in_pages(account):
    batch = account()
    windows = batch.get("/supportedimages", _filter="verificationType eq 'verified' and osType eq 'windows'")
    assert {image["nodeAgentSKUId"] for image in windows.json["value"]} == {"batch.node.windows amd64"}
    reply = batch.get("/supportedimages", maxresults=40)
    found = reply.json["value"]
    while "odata.nextLink" in reply.json:
        reply = batch.follow(reply.json["odata.nextLink"])
        found += reply.json["value"]
    assert found == batch.get("/supportedimages").json["value"]


# -- applications ----------------------------------------------------------------------------------------------------


def test_app_1_applications_and_their_versions(account):
    batch = account(account={"applications": [TOOLS, PRICER]})
    assert batch.pages("/applications", maxresults=1) == [["Pricer"], ["tools"]]
    one = batch.get("/applications/pricer").json
    assert one["odata.metadata"] == f"{BASE}/$metadata#applications/@Element"
    assert (one["id"], one["displayName"], one["versions"]) == ("Pricer", "The pricer", ["1.0", "1.1"])
    assert batch.get("/applications/tools").json["displayName"] == "tools"
    assert (batch.get("/applications/x").status, batch.get("/applications/x").code) == (404, "ApplicationNotFound")


def test_an_account_without_applications_has_an_empty_list(account):
    assert account().get("/applications").json["value"] == []


# -- usage -----------------------------------------------------------------------------------------------------------


def test_usage_counts_the_core_hours_of_pools_also_of_deleted_ones(account):
    batch = account(pool=a_pool("p", 2))
    batch.post("/pools", a_pool("q", 1))
    run(batch.simulation, minutes=60)
    batch.delete("/pools/q")
    run(batch.simulation, minutes=30)
    assert batch.get("/poolusagemetrics").json["value"] == []  # not yet known
    run(batch.simulation, minutes=120)
    found = {usage["poolId"]: usage for usage in batch.get("/poolusagemetrics").json["value"]}
    assert set(found) == {"p", "q"}
    assert found["p"]["totalCoreHours"] == pytest.approx(2 * 2 * 3.5, rel=0.1)
    assert found["p"]["endTime"] > found["q"]["endTime"] > found["q"]["startTime"]
    assert len(batch.get("/poolusagemetrics", _filter="poolId eq 'q'").json["value"]) == 1
    assert [
        each["poolId"] for each in batch.get("/poolusagemetrics", startTime="2026-01-05T09:15:00Z").json["value"]
    ] == ["p"]
    assert batch.get("/poolusagemetrics", endtime="2026-01-01T00:00:00Z", startTime="2025-01-01").json["value"] == []


@pytest.mark.parametrize(
    "query",
    [
        {"startTime": "soon"},
        {"endtime": "\u2603"},
        {"startTime": "2026-02-01T00:00:00Z", "endtime": "2026-01-01"},
    ],
)
def test_a_time_of_usage_that_makes_no_sense_is_refused(account, query):
    refused = account().get("/poolusagemetrics", **query)
    assert (refused.status, refused.code) == (400, "InvalidQueryParameterValue")


# -- certificates ----------------------------------------------------------------------------------------------------


def test_cert_1_a_certificate_is_added_and_read(account):
    batch = account()
    made = batch.post("/certificates", CERTIFICATE)
    assert (made.status, made.content) == (201, b"")
    assert made.headers["Location"] == f"{BASE}{PATH}"
    found = batch.get(PATH).json
    assert found["odata.metadata"] == f"{BASE}/$metadata#certificates/@Element"
    assert (found["thumbprint"], found["state"], found["url"]) == (THUMBPRINT, "active", f"{BASE}{PATH}")
    assert "data" not in found
    assert batch.get(PATH.lower(), _select="state").json.keys() == {"odata.metadata", "state"}
    (listed,) = batch.get("/certificates").json["value"]
    assert listed == {name: value for name, value in found.items() if name != "odata.metadata"}
    assert (batch.post("/certificates", CERTIFICATE).status, batch.post("/certificates", CERTIFICATE).code) == (
        409,
        "CertificateExists",
    )


def test_cert_4_a_certificate_in_use_cannot_be_deleted_and_the_deletion_is_cancelled(account):
    batch = account()
    batch.post("/certificates", CERTIFICATE)
    reference = {"thumbprint": THUMBPRINT, "thumbprintAlgorithm": "sha1"}
    assert batch.post("/pools", a_pool("q", certificateReferences=[reference])).status == 201
    assert batch.delete(PATH).status == 202
    assert batch.get(PATH).json["state"] == "deleting"
    assert batch.delete(PATH).code == "CertificateBeingDeleted"
    run(batch.simulation, minutes=10)
    failed = batch.get(PATH).json
    assert (failed["state"], failed["previousState"]) == ("deletefailed", "deleting")
    assert {"name": "Pool", "value": "q"} in failed["deleteCertificateError"]["values"]
    assert batch.post(f"{PATH}/canceldelete").status == 204
    assert batch.get(PATH).json["state"] == "active"
    assert batch.post(f"{PATH}/canceldelete").code == "CertificateStateActive"


def test_cert_4_a_certificate_that_nobody_uses_is_gone_after_its_deletion(account):
    batch = account(a_job())
    batch.post("/certificates", CERTIFICATE)
    batch.delete(PATH)
    run(batch.simulation, minutes=10)
    for method, path in (("GET", PATH), ("DELETE", PATH), ("POST", f"{PATH}/canceldelete")):
        refused = batch.request(method, path)
        assert (refused.status, refused.code) == (404, "CertificateNotFound")
    assert batch.get("/certificates").json["value"] == []


@pytest.mark.parametrize(
    "path",
    [
        "/certificates()",
        "/certificates(thumbprint=a)",
        "/certificates(thumbprintAlgorithm=,thumbprint=)",
        "/certificates/a",
    ],
)
def test_a_path_that_is_no_certificate(account, path):
    assert account().get(f"/certificates{path}").code == "ResourceNotFound"


def test_another_algorithm_is_another_certificate(account):
    batch = account()
    batch.post("/certificates", CERTIFICATE)
    assert batch.get(PATH.replace("sha1", "sha256")).code == "CertificateNotFound"


def test_a_certificate_needs_a_thumbprint(account):
    assert account().post("/certificates", {"data": "AAAA"}).code == "MissingRequiredProperty"
    assert account().post("/certificates", CERTIFICATE | {"certificateFormat": "doc"}).code == "InvalidPropertyValue"
