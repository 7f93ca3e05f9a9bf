"""Requests and answers as plain data: query parameters, headers, conditions, ranges and JSON bodies.

Answers have the status, headers and JSON that the service writes (GEN-10, GEN-11). Conditional requests have entity
tags and dates of modification (GEN-7); the header ``ocp-range`` asks for a part of a file (FILE-10).

Bodies of requests are read as leniently as the service reads them (GEN-5, GEN-14): names and options are compared
without regard to case, numbers and booleans may be text, nulls and unknown names are ignored. What is left is read by
the same classes of commands as an entry of a timeline.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from functools import cache
from typing import Any, NoReturn, Protocol, TypeVar, get_args, get_origin
from urllib.parse import parse_qsl

from pydantic import ValidationError
from pydantic_core import to_json

from engine.base.errors import BatchError
from engine.base.values import words
from engine.scenario.bodies import bare, fields_of, mistake_text
from engine.specs.base import Spec, is_duration
from engine.specs.bodies import TaskDependencies
from engine.specs.common import UserIdentity

_API_VERSIONS = frozenset(
    words(
        "2015-12-01.2.2 2016-02-01.3.0 2016-07-01.3.1 2017-01-01.4.0 2017-05-01.5.0 2017-06-01.5.1 2017-09-01.6.0 "
        "2018-02-01.6.1 2018-03-01.6.1 2018-08-01.7.0 2018-12-01.8.0 2019-06-01.9.0 2019-08-01.10.0 2020-03-01.11.0 "
        "2020-09-01.12.0 2021-06-01.14.0 2022-01-01.15.0 2022-10-01.16.0 2023-05-01.17.0 2023-11-01.18.0 "
        "2024-02-01.19.0 2024-07-01.20.0 2025-06-01 2026-08-01"
    )
)
_MOST_PARAMETERS = 64


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request.

    ``path`` and ``query_string`` are as they stood in the request line, percent-encoded. Names of headers are in lower
    case. ``base`` is the scheme and host that the client has used, without a slash at the end.
    """

    method: str
    path: str
    query_string: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    base: str = "http://127.0.0.1"

    @property
    def reads(self) -> bool:
        """True for methods that change nothing."""
        return self.method in ("GET", "HEAD")


def parameters(query_string: str) -> list[tuple[str, str]]:
    """Return names and values of a query, decoded, in their order.

    Raises:
        BatchError: InvalidQueryParameterValue if it is too long or not UTF-8.
    """
    if sum(map(bool, query_string.split("&"))) > _MOST_PARAMETERS:
        raise BatchError("InvalidQueryParameterValue", f"there are more than {_MOST_PARAMETERS} parameters")
    try:
        return parse_qsl(query_string, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise BatchError("InvalidQueryParameterValue", "the query is not UTF-8") from None


def query_of(request: Request) -> dict[str, str]:
    """Return the query parameters by name in lower case; of several of one name the first counts."""
    found: dict[str, str] = {}
    for name, value in parameters(request.query_string):
        found.setdefault(name.lower(), value)
    return found


def check_version(query: Mapping[str, str]) -> None:
    """Refuse a request without an ``api-version`` that the service has or had.

    Raises:
        BatchError: MissingRequiredQueryParameter or InvalidQueryParameterValue.
    """
    version = query.get("api-version")
    if not version:
        raise BatchError("MissingRequiredQueryParameter", QueryParameterName="api-version")
    if version not in _API_VERSIONS:
        raise bad_parameter("api-version", version, "the service has no such version; 2025-06-01 is one")


def bad_parameter(name: str, value: str, reason: str, code: str = "InvalidQueryParameterValue") -> BatchError:
    """Return the refusal of a query parameter."""
    return BatchError(code, reason, QueryParameterName=name, QueryParameterValue=value)


def flag(query: Mapping[str, str], name: str) -> bool:
    """Return the value of a boolean query parameter, false where it is absent.

    Raises:
        BatchError: InvalidQueryParameterValue.
    """
    value = query.get(name, "false")
    if value.lower() not in ("true", "false"):
        raise bad_parameter(name, value, "must be true or false")
    return value.lower() == "true"


def count(query: Mapping[str, str], name: str, most: int) -> int:
    """Return a query parameter that counts from 1 to ``most``, which is the default.

    Raises:
        BatchError: InvalidQueryParameterValue or OutOfRangeQueryParameterValue.
    """
    value = query.get(name)
    if value is None:
        return most
    if not re.fullmatch(r"[+-]?\d{1,18}", value, re.ASCII):
        raise bad_parameter(name, value, "must be a whole number")
    if not 1 <= int(value) <= most:
        raise bad_parameter(name, value, f"must be from 1 to {most}", "OutOfRangeQueryParameterValue")
    return int(value)


Body = Mapping[str, Any]

JSON = "application/json; odata=minimalmetadata"
ERRORS = "Microsoft.Azure.Batch.Protocol.Entities.Container.errors/@Element"

_ALWAYS = {"DataServiceVersion": "3.0", "Server": "Microsoft-HTTPAPI/2.0", "X-Content-Type-Options": "nosniff"}
RETRY_AFTER_S = 1
"""Real seconds after which a client may repeat a request that was refused because of the service's own state."""

# Names whose values are addresses that only the service writes.
_ADDRESSES = ("url", "nodeUrl", "taskUrl", "taskRootDirectoryUrl")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer. ``length`` is the length of a body that HEAD leaves out, ``code`` the code of an error.

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


class Answering(Protocol):
    """Whatever answers requests: the account, or doors in front of it."""

    def answer(self, request: Request, refused: BatchError | None = None) -> Answer:
        """Return the answer to a request, or to one that is refused with this error before it has been read whole."""


def http_date(moment: datetime) -> str:
    """Return a moment as HTTP headers have it, in whole seconds."""
    return format_datetime(moment.astimezone(UTC).replace(microsecond=0), usegmt=True)


def moment_of(date: str) -> datetime | None:
    """Return the moment of a date as HTTP headers have it, None for another text."""
    try:
        moment = parsedate_to_datetime(date)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


A_DATE = "a date such as Mon, 05 Jan 2026 08:00:00 GMT"
LONGEST_DATE = 64
"""The characters of a date that are read."""

_LONGEST_ID = 128


def common_headers(request_id: str, now: datetime, request_headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of every answer; the client's id of the request is returned where it asks for that."""
    headers = {"request-id": request_id, "Date": http_date(now), **_ALWAYS}
    client_id = request_headers.get("client-request-id")
    if client_id and request_headers.get("return-client-request-id", "").lower() == "true":
        headers["client-request-id"] = "".join(filter(str.isprintable, client_id))[:_LONGEST_ID]
    return headers


def json_body(status: int, body: Body, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer with a JSON body."""
    # A quarter of the time that ``json.dumps`` takes, which was a third of that of a page.
    return Answer(status, to_json(body), {"Content-Type": JSON, **(headers or {})})


def json_answer(body: Body, status: int = 200, code: str = "", **headers: str) -> Answer:
    """Return an answer with a JSON body as services beside Batch write it: the resource manager, and logins."""
    head = {"Content-Type": "application/json; charset=utf-8", "X-Content-Type-Options": "nosniff"}
    return Answer(status, json.dumps(body).encode(), head | headers, code=code)


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


class NotModified(Exception):
    """A conditional read whose resource has not changed: the answer is 304 without a body."""


def check_preconditions(request: Request, etag: str | None, modified: datetime | None) -> None:
    """Compare the conditions of a request with the present entity tag and date of modification of its resource.

    A resource without an entity tag, such as a file, has a date only.

    Raises:
        NotModified: The request reads, and the client's copy is the present one.
        BatchError: ConditionNotMet, or InvalidHeaderValue for a date that cannot be read.
    """
    headers = request.headers
    match, none_match = headers.get("if-match"), headers.get("if-none-match")
    since, unmodified_since = _date(request, "if-modified-since"), _date(request, "if-unmodified-since")
    if match is not None and etag is not None and not _has(match, etag):
        raise BatchError("ConditionNotMet", "the entity tag is another one")
    if unmodified_since is not None and modified is not None and _second(modified) > unmodified_since:
        raise BatchError("ConditionNotMet", "the resource has been modified since")
    is_known = none_match is not None and etag is not None and _has(none_match, etag)
    is_old = none_match is None and since is not None and modified is not None and _second(modified) <= since
    if is_known or is_old:
        if request.reads:
            raise NotModified
        raise BatchError("ConditionNotMet", "the resource is the one that the client knows")


def _has(header: str, etag: str) -> bool:
    """Return whether a header names the entity tag; clients put it in quotes or not."""
    return any(tag in ("*", etag) for tag in (part.strip().removeprefix("W/").strip('"') for part in header.split(",")))


def _second(moment: datetime) -> datetime:
    """Return a moment as ``Last-Modified`` shows it, in whole seconds."""
    return moment.replace(microsecond=0)


def _date(request: Request, name: str) -> datetime | None:
    text = request.headers.get(name)
    if text is None:
        return None
    moment = moment_of(text[:LONGEST_DATE])
    if moment is None:
        raise BatchError("InvalidHeaderValue", f"must be {A_DATE}", HeaderName=name, HeaderValue=text)
    return moment


_RANGE = re.compile(r"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.ASCII | re.IGNORECASE)


def asked_range(request: Request, size: int) -> range:
    """Return the bytes of a file of this size that a request asks for: by default all.

    ``bytes=5-9`` are five bytes, ``bytes=5-`` all from the sixth on, and ``bytes=-5`` the last five.

    Raises:
        BatchError: InvalidHeaderValue for a header that is no range, InvalidRange for one outside the file.
    """
    text = request.headers.get("ocp-range")
    if text is None:
        return range(size)
    found = _RANGE.fullmatch(text)
    first, last = found.groups() if found is not None else ("", "")
    if not (first or last) or (first and last and int(last) < int(first)):
        reason = "must be a range such as bytes=0-1023"
        raise BatchError("InvalidHeaderValue", reason, HeaderName="ocp-range", HeaderValue=text)
    begin = int(first) if first else max(0, size - int(last))
    end = min(size, int(last) + 1) if first and last else size
    if begin >= size:
        raise BatchError("InvalidRange", f"the file has {size} bytes", HeaderName="ocp-range", HeaderValue=text)
    return range(begin, end)


Model = TypeVar("Model", bound=Spec)
Convert = Callable[[Any], Any]
_NAMING = ("id", "Id", "Url", "Name", "Path", "Mode", "name")  # the ends of properties that, empty, name nothing

LONGEST_BODY = 1 << 20
"""The most bytes of a body; with more the request is refused with RequestBodyTooLarge."""

_WHOLE_NUMBER = re.compile(r"\s*[+-]?\d{1,18}\s*", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?\d{1,18}(\.\d{0,18})?([eE][+-]?\d{1,3})?\s*", re.ASCII)
_YEARS_AND_MONTHS = re.compile(r"P(?:(\d{1,4})Y)?(?:(\d{1,6})M)?(?:(\d{1,8})D)?(T.*)?", re.ASCII | re.IGNORECASE)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def json_object(raw: bytes) -> dict[str, Any]:
    """Return the JSON object of a body; an absent body is an empty one.

    Raises:
        BatchError: InvalidRequestBody if it is no JSON object.
    """
    if not raw.strip():
        return {}
    try:
        body = json.loads(raw, parse_constant=_refuse_constant)
        if _SURROGATE.search(raw):
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, json.JSONDecodeError) else "it is no JSON text in UTF-8"
        raise BatchError("InvalidRequestBody", reason) from None
    if not isinstance(body, dict):
        raise BatchError("InvalidRequestBody", "must be a JSON object")
    return body


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def read_body(model: type[Model], body: Mapping[str, Any], names: Mapping[str, object] | None = None) -> Model:
    """Return a command, or a part of one, with the properties of a body.

    Args:
        model: The class of the command.
        body: The body as it was sent.
        names: Properties that stand beside the body, such as ``poolId``; the body does not change them.

    Raises:
        BatchError: MissingRequiredProperty or InvalidPropertyValue, naming the property.
    """
    try:
        return model.from_wire(lenient(model, body) | dict(names or {}))
    except ValidationError as error:
        raise refusal_of(error) from None


def refusal_of(error: ValidationError) -> BatchError:
    """Return the refusal of a malformed body: its first mistake."""
    first = error.errors(include_url=False)[0]
    names = [str(part) for part in first["loc"] if isinstance(part, str)]
    name = names[-1] if names else "body"
    if first["type"] == "missing":
        return BatchError("MissingRequiredProperty", PropertyName=name)
    given = first["input"]
    value = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
    return BatchError("InvalidPropertyValue", mistake_text(first), PropertyName=name, PropertyValue=value)


def lenient(model: type[Spec], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body in the spelling and with the types of ``model``, without nulls and unknown properties."""
    known, spelling = _conversions(model), _spelling(model)
    found: dict[str, Any] = {}
    for key, value in body.items():
        name = key if key in known else spelling.get(key.lower())
        if name is None or value is None or (name in found and key != name):
            continue
        convert = known[name]
        if ((value == "" and name.endswith(_NAMING)) or value == {}) and name in _left_out(model):
            continue  # as the service's own serializer leaves it out
        found[name] = value if convert is None else convert(value)
    return found


@cache
def _left_out(model: type[Spec]) -> frozenset[str]:
    """Return the names of the properties that may be absent, and of which an empty object would be a mistake."""
    return frozenset(
        name
        for name, field in fields_of(model).items()
        if not field.is_required() and not _may_be_empty(bare(field.annotation))
    )


def _may_be_empty(wanted: object) -> bool:
    if not (isinstance(wanted, type) and issubclass(wanted, Spec)) or wanted in (UserIdentity, TaskDependencies):
        return False
    try:
        wanted.from_wire({})
    except ValidationError:
        return False
    return True


@cache
def _spelling(model: type[Spec]) -> dict[str, str]:
    return {name.lower(): name for name in reversed(fields_of(model))}


@cache
def _conversions(model: type[Spec]) -> dict[str, Convert | None]:
    """Return the functions that convert the values of properties, by names; None where any value is kept."""
    return {
        name: _duration if is_duration(field) else _conversion(field.annotation)
        for name, field in fields_of(model).items()
    }


def _conversion(annotation: Any) -> Convert | None:  # noqa: ANN401 - annotations have no common type
    """Return the function that makes the type that is annotated out of a value, or keeps what cannot be converted."""
    wanted = bare(annotation)
    if isinstance(wanted, type) and issubclass(wanted, Spec):
        return lambda value: lenient(wanted, value) if isinstance(value, dict) else value
    if get_origin(wanted) is tuple:
        convert = _conversion(get_args(wanted)[0])
        return convert and (lambda value: [convert(one) for one in value] if isinstance(value, list) else value)
    return {bool: _bool, int: _int, float: _float}.get(wanted) if isinstance(wanted, type) else None


def _bool(value: Any) -> Any:  # noqa: ANN401 - any JSON
    is_name = isinstance(value, str) and value.strip().lower() in ("true", "false")
    return value.strip().lower() == "true" if is_name else value


def _int(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _float(value: Any) -> Any:  # noqa: ANN401 - any JSON
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def _duration(text: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a duration without years and months, which count 365 and 30 days, as in the service's own library."""
    if not isinstance(text, str):
        return text
    match = _YEARS_AND_MONTHS.fullmatch(text.strip())
    if match is None or (match[1] is None and match[2] is None):
        return text.strip()
    days = int(match[1] or 0) * 365 + int(match[2] or 0) * 30 + int(match[3] or 0)
    return f"P{days}D{match[4] or ''}"
