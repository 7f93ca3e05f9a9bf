"""What holds for every request: routing, versions, authentication, headers, conditions and errors."""

from __future__ import annotations

import base64
import hmac
import json
from dataclasses import replace

import pytest

from engine.base.errors import BatchError
from engine.rest import messages, service
from engine.rest.messages import Request
from engine.rest.service import Credentials
from tests.builders import a_job, a_pool, run
from tests.rest.wire import BASE, DATE, DATE_S, SCHEMA, Account

GUID = r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}"


@pytest.fixture
def batch(account):
    """An account with a pool."""
    batch = account(pool=a_pool())
    run(batch.simulation, seconds=1)
    return batch


# -- routing ---------------------------------------------------------------------------------------------------------


def test_gen_11_and_18_the_routing_table_has_the_operations_of_the_schema():
    schema = {
        (method.upper(), path, operation["operationId"], min(map(int, set(operation["responses"]) - {"default"})))
        for path, methods in SCHEMA["paths"].items()
        for method, operation in methods.items()
    }
    assert {route[:4] for route in service.CURRENT} == schema
    assert len(service.CURRENT) == 72
    assert len({route.operation for route in service.ROUTES}) == len(service.ROUTES)


@pytest.mark.parametrize(
    ("path", "operation", "names"),
    [
        ("/pools/", "list_pools", {}),
        ("//POOLS/a%2Fb", "get_pool", {"poolId": "a/b"}),
        ("/jobs/s%3Ajob-1", "get_job", {"jobId": "s:job-1"}),
        ("/jobs/j/tasks/t/files/wd%2Fout.txt", "download_task_file", {"filePath": "wd/out.txt"}),
        ("/jobs/j/tasks/t/files/wd/a%5Cb.txt", "download_task_file", {"filePath": "wd/a\\b.txt"}),
        (
            "/certificates(thumbprintAlgorithm=sha1,thumbprint=ab)",
            "get_certificate",
            {"thumbprintAlgorithm": "sha1", "thumbprint": "ab"},
        ),
    ],
)
def test_paths_are_split_before_they_are_decoded(path, operation, names):
    route, found = service.find_route("GET", path)
    assert route.operation == operation
    assert names.items() <= found.items()


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/", "ResourceNotFound"),
        ("GET", "/nothing", "ResourceNotFound"),
        ("GET", "/pools//nodes", "ResourceNotFound"),
        ("PATCH", "/pools", "UnsupportedHttpVerb"),
        ("GET", "/pools/%ff", "InvalidUri"),
        ("GET", "/pools/" + "x" * 10_000, "InvalidUri"),
        ("GET", "pools", "PoolNotFound"),
    ],
)
def test_a_path_that_no_operation_has_is_refused(batch, method, path, code):
    refused = batch.request(method, path)
    if code == "PoolNotFound":
        assert refused.status == 200  # a path without its first slash
    else:
        assert refused.code == code


def test_every_answer_has_the_headers_of_the_service(batch):
    for reply in (batch.get("/pools"), batch.get("/pools/x"), batch.get("/x")):
        assert reply.headers["DataServiceVersion"] == "3.0"
        assert reply.headers["Server"] == "Microsoft-HTTPAPI/2.0"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Content-Type"] == "application/json; odata=minimalmetadata"
        assert reply.headers["Date"] == "Mon, 05 Jan 2026 08:00:01 GMT"


def test_the_id_of_the_request_comes_back_where_the_client_asks(batch):
    sent = {"client-request-id": "abc", "return-client-request-id": "true"}
    assert batch.request("GET", "/pools", headers=sent).headers["client-request-id"] == "abc"
    assert (
        "client-request-id"
        not in batch.request("GET", "/pools", headers=sent | {"return-client-request-id": "false"}).headers
    )


def test_gen_10_an_error_has_code_message_and_request_id(batch):
    reply = batch.get("/jobs/x")
    first, request_id, time = reply.json["message"]["value"].split("\n")
    assert first == "The specified job does not exist."
    assert request_id == f"RequestId:{reply.headers['request-id']}"
    assert time == "Time:2026-01-05T08:00:01Z"
    assert reply.json["odata.metadata"].endswith("#Microsoft.Azure.Batch.Protocol.Entities.Container.errors/@Element")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "MissingRequiredQueryParameter"),
        ("api-version=", "MissingRequiredQueryParameter"),
        ("api-version=new", "InvalidQueryParameterValue"),
        ("api-version=2025-06-01&x=%ff", "InvalidQueryParameterValue"),
        ("api-version=2025-06-01" + "&x=1" * 100, "InvalidQueryParameterValue"),
    ],
)
def test_a_request_needs_a_version(batch, query, code):
    assert batch.send("GET", "/pools", query, b"", {}).code == code


@pytest.mark.parametrize("version", ["2025-06-01", "2024-02-01.19.0", "2020-09-01.12.0"])
def test_any_version_is_answered_and_the_timeout_ignored(batch, version):
    assert batch.send("GET", "/pools", f"Api-Version={version}&timeOut=30", b"", {}).status == 200


# -- authentication --------------------------------------------------------------------------------------------------

QUERY = "api-version=2025-06-01&%24filter=id%20eq%20%27a%2Bb%27&timeOut=30"
REQUEST = Request("GET", "/jobs/s%3Ajob-1", QUERY, {"ocp-date": DATE}, b"", BASE)


def check(request, credentials=Credentials(), now_s=DATE_S):  # noqa: B008 - it does not change
    service.check_credentials(request, credentials, now_s)


def signed(request: Request, text: str | None = None) -> Request:
    key = service.DEFAULT_KEY
    value = service.signature(request, "localbatch", key)
    if text is not None:
        value = base64.b64encode(hmac.digest(base64.b64decode(key), text.encode(), "sha256")).decode()
    return replace(request, headers={**request.headers, "authorization": f"SharedKey localbatch:{value}"})


def test_the_text_that_clients_sign():
    request = replace(
        REQUEST, headers={"ocp-date": DATE, "if-match": "M", "content-length": "0", "Accept": "x", "ocp-a": "A"}
    )
    text = (
        f"GET\n\n\n0\n\n\n\n\nM\n\n\n\nocp-a:A\nocp-date:{DATE}\n/localbatch/jobs/s%3Ajob-1\n"
        "$filter:id eq 'a+b'\napi-version:2025-06-01\ntimeOut:30"
    )
    assert next(service.texts_to_sign(request, "localbatch")) == text
    check(signed(request, text))


def test_names_may_be_signed_in_lower_case_and_a_plus_read_either_way():
    request = replace(REQUEST, query_string="api-version=1&timeOut=a+b")
    head = "GET" + "\n" * 12 + f"ocp-date:{DATE}\n/localbatch/jobs/s%3Ajob-1\napi-version:1\n"
    for line in ("timeOut:a b", "timeOut:a+b", "timeout:a b", "timeout:a+b"):
        check(signed(request, head + line))


@pytest.mark.parametrize(
    ("header", "status", "code"),
    [
        (None, 401, "Unauthorized"),
        ("SharedKey localbatch:c2lnbmF0dXJl", 403, "AuthenticationFailed"),
        ("SharedKey other:c2lnbmF0dXJl", 403, "AuthenticationFailed"),
        ("SharedKey localbatch:***", 400, "InvalidAuthenticationInfo"),
        ("SharedKey", 400, "InvalidAuthenticationInfo"),
        ("Basic abc", 400, "InvalidAuthenticationInfo"),
        ("Bearer", 400, "InvalidAuthenticationInfo"),
        ("Bearer x", 401, "AuthenticationFailed"),
    ],
)
def test_a_request_that_is_not_signed_is_refused(header, status, code):
    headers = {"ocp-date": DATE} | ({} if header is None else {"authorization": header})
    with pytest.raises(BatchError) as refused:
        check(replace(REQUEST, headers=headers))
    assert (refused.value.code, refused.value.status) == (code, status)


def test_with_any_key_every_signature_is_valid():
    any_key = Credentials(any_key=True)
    check(REQUEST, any_key)
    check(replace(REQUEST, headers={"authorization": "SharedKey other:AAAA"}), any_key)
    check(replace(REQUEST, headers={"authorization": "Bearer x"}), any_key)


def test_a_token_is_accepted_if_this_server_has_issued_it():
    issuer = Credentials(token_fault=lambda token: "" if token == "issued" else "not issued")
    check(replace(REQUEST, headers={"authorization": "bearer  issued "}), issuer)
    with pytest.raises(BatchError):
        check(replace(REQUEST, headers={"authorization": "Bearer other"}), issuer)


# -- conditions ------------------------------------------------------------------------------------------------------


def test_gen_7_a_write_whose_condition_does_not_hold_changes_nothing(batch):
    found = batch.get("/pools/p")
    etag, date = found.headers["ETag"], found.headers["Last-Modified"]
    body = {"metadata": [{"name": "a", "value": "b"}]}
    for headers in (
        {"If-Match": "0x0"},
        {"If-Unmodified-Since": "Mon, 05 Jan 2026 07:59:59 GMT"},
        {"If-None-Match": "*"},
    ):
        refused = batch.request("PATCH", "/pools/p", body, headers=headers)
        assert (refused.status, refused.code) == (412, "ConditionNotMet")
    assert batch.get("/pools/p").headers["ETag"] == etag
    for headers in ({"If-Match": f'"{etag}"'}, {"If-Unmodified-Since": date}, {"If-Match": "*"}):
        assert batch.request("POST", "/pools/p/stopresize", headers=headers).status in (202, 409)


def test_gen_7_a_read_of_what_the_client_has_is_not_modified(batch):
    found = batch.get("/pools/p")
    for headers in ({"If-None-Match": found.headers["ETag"]}, {"If-Modified-Since": found.headers["Last-Modified"]}):
        answer = batch.request("GET", "/pools/p", headers=headers)
        assert (answer.status, answer.content) == (304, b"")
    assert batch.request("GET", "/pools/p", headers={"If-None-Match": "0x0"}).status == 200
    assert batch.request("GET", "/pools/p", headers={"If-Match": "0x0"}).status == 412


def test_a_date_that_cannot_be_read_is_refused(batch):
    refused = batch.request("GET", "/pools/p", headers={"If-Modified-Since": "yesterday"})
    assert (refused.status, refused.code) == (400, "InvalidHeaderValue")


def test_a_condition_on_what_does_not_exist_is_refused_as_missing(batch):
    assert batch.request("DELETE", "/pools/x", headers={"If-Match": "*"}).status == 404


# -- bodies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"1",
        b'"x"',
        b'{"id": NaN}',
        b"\xff",
        b"[" * 100_000,
        b'{"id": "\\ud800"}',
        b"1" * 5000,
        b"{'id': 1}",
    ],
    ids=range(10),
)
def test_what_is_no_json_object_is_refused(batch, content):
    refused = batch.post("/pools", content)
    assert (refused.status, refused.code) == (400, "InvalidRequestBody")


def test_a_body_that_is_too_large_is_refused(batch):
    refused = batch.post("/pools", b'{"id": "' + b"x" * messages.LONGEST_BODY + b'"}')
    assert (refused.status, refused.code) == (413, "RequestBodyTooLarge")


def test_every_command_over_rest_needs_its_journal(account):
    batch = account(a_job())
    run(batch.simulation, seconds=1)
    before = len(batch.simulation.journal.by_hand())
    batch.get("/jobs")
    batch.post("/jobs/j/disable", {"disableTasks": "wait"})
    assert len(batch.simulation.journal.by_hand()) == before + 1


def test_with_a_step_only_reads_move_time(account):
    batch = account(a_job(), step_ms=10_000)
    batch.get("/jobs")
    batch.get("/jobs/j")
    assert batch.simulation.now_ms == 20_000
    batch.post("/jobs/j/disable", {"disableTasks": "wait"})
    assert batch.simulation.now_ms == 20_001


def test_the_same_requests_give_the_same_log_whenever_they_are_sent(account):
    logs = []
    for _ in range(2):
        batch = account(step_ms=10_000)
        batch.post("/pools", a_pool())
        batch.post("/jobs", {"id": "j", "poolInfo": {"poolId": "p"}})
        batch.post("/jobs/j/tasks", {"id": "t", "commandLine": "work"})
        while batch.get("/jobs/j/tasks/t").json["state"] != "completed":
            pass
        logs.append(list(batch.simulation.json_lines()))
    assert logs[0] == logs[1]


def test_the_schema_check_of_these_tests_finds_a_property_that_the_service_does_not_have(batch, monkeypatch):
    answer = batch.service.answer

    def wrong(request):
        right = answer(request)
        return replace(right, body=json.dumps(json.loads(right.body) | {"colour": "red"}).encode())

    monkeypatch.setattr(batch.service, "answer", wrong)
    with pytest.raises(AssertionError, match="colour"):
        Account.get(batch, "/pools/p")
