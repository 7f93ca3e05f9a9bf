"""The account, and what all requests have in common, through a client library."""

from __future__ import annotations

import pytest

from tests.clients.sdk.bodies import WINDOWS, job, pool, task
from tests.clients.sdk.speaker import VERSION, either, refused, speaker, until

THUMBPRINT = "cff2ab63c8c955aaf71989efa641b906558d9fb7"
CERTIFICATE = {
    "thumbprint": THUMBPRINT,
    "thumbprintAlgorithm": "sha1",
    "data": "MIIGMQIBAzCCBe0GCSqGSIb3DQEHAaCCBd4=",
    "certificateFormat": "pfx",
    "password": "nodesdk",
}


def tag_of(found):
    return either(found, "e_tag", "etag")


def test_images_are_listed(client):
    found = client.list_supported_images()
    assert len(found) > 5
    assert {each.verification_type for each in found} <= {"verified", "unverified"}
    verified = client.list_supported_images(filter="verificationType eq 'verified'")
    assert 0 < len(verified) <= len(found)
    assert verified[0].image_reference.publisher
    assert verified[0].node_agent_sku_id.startswith("batch.node.")
    assert verified[0].os_type in ("linux", "windows")
    assert client.page_sizes("list_supported_images", max_results=3)[0] == 3


def test_applications_are_listed_and_read(client):
    assert {each.id for each in client.list_applications()} == {"pricer", "loader"}
    found = client.get_application("pricer")
    assert (found.display_name, list(found.versions)) == ("The pricer", ["1.0", "1.1"])
    missing = refused(client.get_application, "nobody")
    assert (missing.status, missing.code) == (404, "ApplicationNotFound")


@pytest.mark.skipif(VERSION >= 15, reason="azure-batch 15 does not have certificates")
def test_certificates_are_added_listed_and_deleted(client):
    client.add_certificate(body=CERTIFICATE)
    again = refused(client.add_certificate, body=CERTIFICATE)
    assert (again.status, again.code) == (409, "CertificateExists")
    found = client.get_certificate("sha1", THUMBPRINT)
    assert (found.thumbprint, found.state, found.delete_certificate_error) == (THUMBPRINT, "active", None)
    assert [each.thumbprint for each in client.list_certificates()] == [THUMBPRINT]
    early = refused(client.cancel_certificate_deletion, "sha1", THUMBPRINT)
    assert (early.status, early.code) == (409, "CertificateStateActive")
    client.delete_certificate("sha1", THUMBPRINT)
    until(lambda: client.list_certificates() == [])
    missing = refused(client.get_certificate, "sha1", THUMBPRINT)
    assert (missing.status, missing.code) == (404, "CertificateNotFound")


@pytest.mark.skipif(VERSION >= 15, reason="azure-batch 15 does not have it")
def test_a_windows_node_has_a_remote_desktop_file(client, shared, name):
    client.create_pool(body=pool(name, 1, virtualMachineConfiguration=WINDOWS))
    (node,) = until(lambda: client.list_nodes(name, filter="state eq 'idle'"))
    assert b"full address" in client.get_remote_desktop_file(name, node.id)
    linux = client.list_nodes(shared)[0]
    assert refused(client.get_remote_desktop_file, shared, linux.id).code == "OperationNotValidOnNode"


def test_a_write_depends_on_the_entity_tag(client, name):
    client.create_pool(body=pool(name))
    old = tag_of(client.get_pool(name))
    client.update_pool(name, body={"metadata": []}, if_match=old)
    new = tag_of(client.get_pool(name))
    assert new != old
    stale = refused(client.update_pool, name, body={"metadata": []}, if_match=old)
    assert (stale.status, stale.code) == (412, "ConditionNotMet")
    known = refused(client.update_pool, name, body={"metadata": []}, if_none_match=new)
    assert (known.status, known.code) == (412, "ConditionNotMet")
    assert tag_of(client.get_pool(name)) == new


def test_a_read_depends_on_entity_tag_and_date(client, shared):
    found = client.get_pool(shared)
    assert refused(client.get_pool, shared, if_none_match=tag_of(found)).status == 304
    assert client.get_pool(shared, if_match=tag_of(found)).id == shared
    assert refused(client.get_pool, shared, if_match="0x8D0000000000000").status == 412
    assert refused(client.get_pool, shared, if_modified_since=found.last_modified).status == 304
    assert client.get_pool(shared, if_unmodified_since=found.last_modified).id == shared


def test_a_job_and_a_task_have_entity_tags_of_their_settings(client, shared, name):
    client.create_job(body=job(name, shared))
    client.create_task(name, body=task("t", "sleep 30"))
    made = client.get_task(name, "t")
    until(lambda: client.get_task(name, "t").state == "completed")
    assert tag_of(client.get_task(name, "t")) == tag_of(made)
    tag = tag_of(client.get_job(name))
    client.update_job(name, body={"priority": 3}, if_match=tag)
    assert tag_of(client.get_job(name)) != tag
    stale = refused(client.delete_task, name, "t", if_match="0x8D0000000000000")
    assert (stale.status, stale.code) == (412, "ConditionNotMet")
    client.delete_task(name, "t", if_match=tag_of(made))


@pytest.mark.parametrize("text", ["state is 'active'", "id eq 'a", "id", "(id eq 'a'"])
def test_a_filter_that_is_not_understood_is_refused(client, text):
    found = refused(client.list_pools, filter=text)
    assert (found.status, found.code) == (400, "InvalidQueryParameterValue")
    assert (found.values["QueryParameterName"], found.values["QueryParameterValue"]) == ("$filter", text)
    assert found.values["Reason"]


@pytest.mark.parametrize("size", [0, 1001])
def test_the_size_of_a_page_has_limits(client, size):
    """One of the libraries knows them itself."""
    with pytest.raises(Exception, match=r"max_results|OutOfRangeQueryParameterValue"):
        client.list_pools(max_results=size)


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("id eq '{}-1'", ["1"]),
        ("id eq '{}-1' or id eq '{}-2'", ["1", "2"]),
        ("startswith(id,'{}') and not (id eq '{}-1')", ["0", "2"]),
        ("startswith(id, '{}') and (id ne '{}-2' and state eq 'active')", ["0", "1"]),
        ("startswith(id,'{}') and creationTime gt DateTime'2020-01-01T00:00:00Z'", ["0", "1", "2"]),
        ("startswith(id,'{}') and creationTime lt datetime'2020-01-01T00:00:00Z'", []),
        ("startswith(id,'{}') and targetDedicatedNodes ge 1", []),
        ("startswith(id,'{}') and enableAutoScale eq false", ["0", "1", "2"]),
    ],
)
def test_a_list_is_filtered(client, condition, found):
    for number in range(3):
        if not client.exists("pool_exists", f"filtered-{number}"):
            client.create_pool(body=pool(f"filtered-{number}"))
    listed = client.list_pools(filter=condition.replace("{}", "filtered"))
    assert [each.id for each in listed] == [f"filtered-{number}" for number in found]


def test_a_wrong_key_is_refused(client):
    endpoint = client.client.config.batch_url if VERSION < 15 else client.client._config.endpoint
    stranger = speaker(endpoint, "localbatch", "YW5vdGhlciBrZXk=")
    found = refused(stranger.get_pool, "shared")
    assert (found.status, found.code) == (403, "AuthenticationFailed")


def test_ids_are_found_in_any_case_and_keep_their_own(client, name):
    client.create_pool(body=pool(name.upper()))
    assert client.get_pool(name).id == name.upper()
