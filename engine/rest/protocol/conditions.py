"""Conditional requests: entity tags and dates of modification (GEN-7)."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from engine.base.errors import BatchError

if TYPE_CHECKING:
    from engine.rest.protocol.requests import Request


class NotModified(Exception):
    """A conditional read whose resource has not changed: the answer is 304 without a body."""


def check(request: Request, etag: str | None, modified: datetime | None) -> None:
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
    try:
        moment = parsedate_to_datetime(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, IndexError):
        reason = "must be a date such as Mon, 05 Jan 2026 08:00:00 GMT"
        raise BatchError("InvalidHeaderValue", reason, HeaderName=name, HeaderValue=text) from None
