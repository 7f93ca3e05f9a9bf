"""Requests as plain data, with their query parameters read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from engine.base.errors import BatchError

if TYPE_CHECKING:
    from collections.abc import Mapping

_API_VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(\.\d{1,4}\.\d{1,4})?", re.ASCII)
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
    parts = [part for part in query_string.split("&") if part]
    if len(parts) > _MOST_PARAMETERS:
        raise BatchError("InvalidQueryParameterValue", f"there are more than {_MOST_PARAMETERS} parameters")
    try:
        pairs = (part.partition("=") for part in parts)
        return [(unquote_plus(name, errors="strict"), unquote_plus(value, errors="strict")) for name, _, value in pairs]
    except UnicodeDecodeError:
        raise BatchError("InvalidQueryParameterValue", "the query is not UTF-8") from None


def query_of(request: Request) -> dict[str, str]:
    """Return the query parameters by name in lower case; of several of one name the first counts."""
    found: dict[str, str] = {}
    for name, value in parameters(request.query_string):
        found.setdefault(name.lower(), value)
    return found


def check_version(query: Mapping[str, str]) -> None:
    """Refuse a request without a well-formed ``api-version``. The answer does not depend on its value.

    Raises:
        BatchError: MissingRequiredQueryParameter or InvalidQueryParameterValue.
    """
    version = query.get("api-version")
    if not version:
        raise BatchError("MissingRequiredQueryParameter", QueryParameterName="api-version")
    if not _API_VERSION.fullmatch(version):
        raise bad_parameter("api-version", version, "must be a date such as 2025-06-01")


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
