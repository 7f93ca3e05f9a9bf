"""Answers: status, headers and JSON as the service writes them (GEN-10, GEN-11)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from pydantic_core import to_json

from engine.base.errors import BatchError

Body = Mapping[str, Any]

JSON = "application/json; odata=minimalmetadata"
ERRORS = "Microsoft.Azure.Batch.Protocol.Entities.Container.errors/@Element"

_ALWAYS = {
    "DataServiceVersion": "3.0",
    "Server": "Microsoft-HTTPAPI/2.0",
    "X-Content-Type-Options": "nosniff",
}
RETRY_AFTER_S = 1
"""Real seconds after which a client may repeat a request that was refused because of the service's own state."""

# Names whose values are addresses that only the service writes.
_ADDRESSES = ("url", "nodeUrl", "taskUrl", "taskRootDirectoryUrl")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. ``length`` is that of a body which HEAD leaves out, ``code`` that of an error.

    So many ``zeros`` follow the body: the content of a file of which only the size is known. The answer is sent after
    ``delay_s`` real seconds.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    code: str = ""
    zeros: int = 0
    delay_s: float = 0.0


def http_date(moment: datetime) -> str:
    """Return a moment as HTTP headers have it, in whole seconds."""
    return format_datetime(moment.astimezone(UTC).replace(microsecond=0), usegmt=True)


def common_headers(request_id: str, now: datetime, request_headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of every answer; the client's id of the request is returned where it asks for that."""
    headers = {"request-id": request_id, "Date": http_date(now), **_ALWAYS}
    client_id = request_headers.get("client-request-id")
    if client_id and request_headers.get("return-client-request-id", "").lower() == "true":
        headers["client-request-id"] = client_id
    return headers


def json_body(status: int, body: Body, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer with a JSON body."""
    # A quarter of the time that ``json.dumps`` takes, which was a third of that of a page.
    return Answer(status, to_json(body), {"Content-Type": JSON, **(headers or {})})


def with_base(answer: Answer, account_url: str, base: str) -> Answer:
    """Return an answer whose addresses begin with the host of the request instead of the account's address.

    The text ``"url":"https:`` is a key and its value wherever it stands in JSON: quotes within text have a backslash.
    """
    body = answer.body
    for name in _ADDRESSES:
        body = body.replace(f'"{name}":"{account_url}'.encode(), f'"{name}":{json.dumps(base)[:-1]}'.encode())
    return replace(answer, body=body)


def metadata(base: str, name: str) -> str:
    """Return ``odata.metadata`` of a set or type."""
    return f"{base}/$metadata#{name}"


def modified_headers(etag: str | None, modified: datetime) -> dict[str, str]:
    """Return the headers that say when a resource was modified; files have no entity tag."""
    return ({} if etag is None else {"ETag": etag}) | {"Last-Modified": http_date(modified)}


def refused(error: BatchError, base: str, request_id: str, now: str) -> Answer:
    """Return the answer that refuses a request; ``now`` is the time as the service writes it."""
    text = f"{error.message}\nRequestId:{request_id}\nTime:{now}"
    body: dict[str, Any] = {
        "odata.metadata": metadata(base, ERRORS),
        "code": error.code,
        "message": {"lang": "en-US", "value": text},
    }
    if error.values:
        body["values"] = error.listed()
    headers = {"WWW-Authenticate": "SharedKey"} if error.status == 401 else {}
    if error.status >= 500:
        headers["Retry-After"] = str(RETRY_AFTER_S)
    return json_body(error.status, body, headers)
