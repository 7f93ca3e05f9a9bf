"""Requests to an account in process, each signed as a client signs it, and each answer held against the schema."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlsplit

from jsonschema import Draft7Validator

from engine.rest import service
from engine.rest.messages import Request
from engine.rest.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp

    from engine import Simulation
    from engine.rest.messages import Answer

BASE = "http://127.0.0.1:8100"
DATE, DATE_S = "Mon, 05 Jan 2026 08:00:00 GMT", 1_767_600_000.0
VERSION = "2025-06-01"
SCHEMA = json.loads((Path(__file__).parent / "data" / f"batch-{VERSION}.json").read_text(encoding="utf-8"))
# The service itself writes these with capital letters, unlike all others (GEN-5).
SCHEMA["components"]["schemas"]["BatchNodeFillType"]["enum"] += ["Spread", "Pack"]
SCHEMA["components"]["schemas"]["BatchErrorSourceCategory"]["enum"] += ["UserError", "ServerError"]
SCHEMA["components"]["schemas"]["BatchTaskAddStatus"]["enum"] += ["Success"]
# A node that has never booted has no time of its last boot, in recordings of the service too.
SCHEMA["components"]["schemas"]["BatchNode"]["required"].remove("lastBootTime")
# Required by the schema, but the service never shows them.
SECRETS = {"password", "accountKey"}
# Properties that only older API versions know (GEN-15); their values are not checked.
OLDER = ("cloudServiceConfiguration", "certificateReferences", "targetNodeCommunicationMode")
OLDER += ("currentNodeCommunicationMode", "resourceTags", "applicationLicenses", "authenticationTokenSettings")
OLDER += ("maxTasksPerNode",)
# Shown beside what the service has, of a job's stats.
OWN = ("downloadedBytes", "uploadedBytes")


class Reply(NamedTuple):
    """An answer as a client sees it."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.content)

    @property
    def code(self) -> str:
        return self.json["code"]

    @property
    def ids(self) -> list[str]:
        return [item["id"] for item in self.json["value"]]


class Account:
    """An account that is asked in process; ``seen`` are the operations that have answered with success."""

    seen: set[str] = set()  # noqa: RUF012 - of all accounts, for the test of coverage

    def __init__(self, simulation: Simulation, **options: Any) -> None:
        """Create the account; for it, it is always the date that its requests have."""
        self.simulation = simulation
        self.service = Service(simulation, utc_s=lambda: DATE_S, **options)

    def request(
        self, method: str, path: str, body: Any = None, *, headers: dict[str, str] | None = None, **query: Any
    ) -> Reply:
        """Ask with query parameters by keyword, where ``_filter`` stands for ``$filter``."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        values = {"api-version": VERSION} | {name.replace("_", "$", 1): str(value) for name, value in query.items()}
        text = "&".join(f"{quote(name, safe='$')}={quote(value, safe='')}" for name, value in values.items())
        return self.send(method, path, text, content, headers or {})

    def send(self, method: str, path: str, query: str, content: bytes, headers: dict[str, str]) -> Reply:
        """Ask with a query as it stands in the request line."""
        request = signed(method, path, query, content, headers)
        answer = self.service.answer(request)
        check_answer(request, answer)
        return Reply(answer.status, dict(answer.headers), answer.body)

    def get(self, path: str, **query: Any) -> Reply:
        return self.request("GET", path, **query)

    def head(self, path: str, **query: Any) -> Reply:
        return self.request("HEAD", path, **query)

    def post(self, path: str, body: Any = None, **query: Any) -> Reply:
        return self.request("POST", path, body, **query)

    def put(self, path: str, body: Any = None, **query: Any) -> Reply:
        return self.request("PUT", path, body, **query)

    def patch(self, path: str, body: Any = None, **query: Any) -> Reply:
        return self.request("PATCH", path, body, **query)

    def delete(self, path: str, **query: Any) -> Reply:
        return self.request("DELETE", path, **query)

    def follow(self, url: str) -> Reply:
        """Get the page that ``odata.nextLink`` names."""
        parts = urlsplit(url)
        assert f"{parts.scheme}://{parts.netloc}" == BASE
        return self.send("GET", parts.path, parts.query, b"", {})

    def pages(self, path: str, **query: Any) -> list[list[str]]:
        """Get all pages of a list, as ids."""
        reply = self.get(path, **query)
        found = [reply.ids]
        while "odata.nextLink" in reply.json:
            reply = self.follow(reply.json["odata.nextLink"])
            found.append(reply.ids)
        return found


def signed(method: str, path: str, query: str, content: bytes, headers: dict[str, str]) -> Request:
    """A request as a client signs it."""
    given = {"ocp-date": DATE} | {name.lower(): text for name, text in headers.items()}
    if content:
        given |= {"content-length": str(len(content)), "content-type": "application/json; odata=minimalmetadata"}
    request = Request(method, path, query, given, content, BASE)
    signature = service.signature(request, service.DEFAULT_ACCOUNT, service.DEFAULT_KEY)
    authorization = {"authorization": f"SharedKey {service.DEFAULT_ACCOUNT}:{signature}"}
    return Request(method, path, query, authorization | given, content, BASE)


def asked(
    app: ASGIApp,
    method: str,
    target: str,
    headers: Iterable[tuple[str, str]],
    body: bytes = b"",
    *,
    server: tuple[str, int] = ("127.0.0.1", 8100),
    receives: bool = True,
) -> Reply:
    """Ask an application in this process. Its answer must come before the body where the app is to receive none."""
    path, _, query = target.partition("?")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "raw_path": path.encode("latin-1", "replace"),
        "query_string": query.encode("latin-1", "replace"),
        "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers],
        "server": server,
    }
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        assert receives or len(sent) > 1
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    found = {name.decode().lower(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return Reply(sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent[1:]))


def check_answer(request: Request, answer: Answer) -> None:
    """Hold an answer against the schema: the status of success, and the properties of each object in the body."""
    assert answer.status < 500 or answer.code in ("ServerBusy", "TooManyEnableAutoScaleRequests"), answer
    assert answer.headers["request-id"]
    if answer.status >= 400 or answer.status == 304:
        if request.method != "HEAD" and answer.status != 304:
            _check({"$ref": "#/components/schemas/BatchError"}, json.loads(answer.body))
        return
    route = service.find_route(request.method, request.path)[0]
    assert answer.status == route.status
    Account.seen.add(route.operation)
    if "json" in answer.headers.get("Content-Type", ""):
        operation = SCHEMA["paths"].get(route.path, {}).get(request.method.lower())
        if operation is not None:
            (content,) = operation["responses"][str(route.status)]["content"].values()
            wanted = content["schema"]
            strictly = "select" not in request.query_string
            _check(wanted, json.loads(answer.body), required=strictly)


def _check(schema: dict[str, Any], body: Any, *, required: bool = True) -> None:
    found = validator(json.dumps(schema), required=required).iter_errors(body)
    mistakes = [f"{error.json_path}: {error.message[:300]}" for error in found]
    assert not mistakes, mistakes


@cache
def validator(schema: str, *, required: bool) -> Draft7Validator:
    """Checks against a schema with all components, where no object has other properties than those that are named."""
    closed = {**_close(json.loads(schema), required=required), "components": _components(required=required)}
    return Draft7Validator(closed)


@cache
def _components(*, required: bool) -> dict[str, Any]:
    return {
        "schemas": {name: _close(schema, required=required) for name, schema in SCHEMA["components"]["schemas"].items()}
    }


def _close(schema: Any, *, required: bool) -> Any:
    if isinstance(schema, list):
        return [_close(one, required=required) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-wire-format") == "str":
        return {"type": "string", "pattern": r"^-?\d+$"}
    kept = {name: value for name, value in schema.items() if name != "required"}
    if required and "required" in schema:
        kept["required"] = [name for name in schema["required"] if name not in SECRETS]
    if "properties" in schema:
        allowed = dict.fromkeys(("odata.metadata", *OLDER, *OWN), True)
        inner = {name: _close(value, required=required) for name, value in schema["properties"].items()}
        return kept | {"properties": allowed | inner, "additionalProperties": False}
    return {name: _close(value, required=required) for name, value in kept.items()}
