"""The check of answers on the wire, which tests of clients rely on, finds what is wrong."""

from __future__ import annotations

import asyncio

import pytest

from engine.rest import messages
from tests.clients.validating import MISTAKE, Validating


def told(path, status, body, *, content_type=messages.JSON, request_id="1"):
    """Return what is said of an answer."""
    headers = [(b"content-type", content_type.encode()), (b"request-id", request_id.encode())]

    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": status, "headers": headers[: 2 if request_id else 1]})
        await send({"type": "http.response.body", "body": body[:5], "more_body": True})
        await send({"type": "http.response.body", "body": body[5:]})

    async def nothing(_message=None):
        return None

    said = []
    validating = Validating(app, said.append)
    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b""}
    asyncio.run(validating(scope, nothing, nothing))
    assert validating.checked == (path != "/healthz")
    return said


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/pools", 200, b'{"odata.metadata":"x","value":[{"id":7}]}'),
        ("/pools", 200, b'{"value":[],"colour":"red"}'),
        ("/pools", 200, b"no JSON"),
        ("/pools", 201, b'{"odata.metadata":"x","value":[]}'),
        ("/pools/p", 404, b'{"code":"PoolNotFound","message":7}'),
        ("/pools/p", 500, b'{"code":"InternalError","message":{"lang":"en-US","value":"x"}}'),
    ],
)
def test_an_answer_unlike_the_schema_is_told(path, status, body):
    (line,) = told(path, status, body)
    assert line.startswith(f"{MISTAKE}GET {path} {status}")


def test_an_answer_without_its_id_is_told():
    assert len(told("/pools", 200, b'{"value":[]}', request_id="")) == 1


@pytest.mark.parametrize("path", ["/pools", "/healthz"])
def test_an_answer_like_the_schema_is_not_told(path):
    assert told(path, 200, b'{"odata.metadata":"x","value":[]}') == []
