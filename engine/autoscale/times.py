"""Time strings and the members of a timestamp (AS-20, AS-63)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from engine.autoscale.errors import EvaluationError
from engine.autoscale.inputs import Dialect
from engine.autoscale.values import Timestamp
from engine.base.lazy import lazy_regex
from engine.base.shortening import shortened

_W3C = lazy_regex(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:"
    r"T(?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<fraction>\d{1,7}))?)?"
    r"(?P<zone>Z|[+-]\d\d:\d\d)?)?)?)?",
    re.ASCII,
)
_RFC_1123 = lazy_regex(
    r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?"
    r"(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]{2}) (?P<year>\d{4}) (?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
    r" (?P<zone>GMT|UTC|[+-]\d\d:?\d\d)",
    re.ASCII,
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TICK_DIGITS = 7

MEMBERS = ("year", "month", "day", "weekday", "hour", "minute", "second")


def parse_time(text: str) -> Timestamp:
    """Return the time of a W3C date-time or an RFC 1123 date (AS-63)."""
    found = _W3C.fullmatch(text) or _RFC_1123.fullmatch(text)
    if found is None:
        raise EvaluationError(f'"{text}" is no time such as 2026-03-11T10:00:00Z or Wed, 11 Mar 2026 10:00:00 GMT')
    parts = found.groupdict()
    month = parts["month"] or "1"
    try:
        moment = datetime(
            int(parts["year"]),
            int(month) if month.isdigit() else _MONTHS.index(month) + 1,
            int(parts["day"] or 1),
            int(parts["hour"] or 0),
            int(parts["minute"] or 0),
            int(parts["second"] or 0),
            tzinfo=_zone(parts["zone"] or "Z"),
        ).astimezone(UTC)
    except (ValueError, OverflowError):
        raise EvaluationError(f'"{text}" names a time that does not exist') from None
    return Timestamp.of(moment, int((parts.get("fraction") or "").ljust(_TICK_DIGITS, "0")))


def _zone(text: str) -> timezone:
    if text in {"Z", "GMT", "UTC"}:
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def member(moment: Timestamp, name: str, dialect: Dialect) -> float:
    """Return a member of a timestamp; Monday is 1 (AS-20)."""
    if name not in MEMBERS:
        raise EvaluationError(f"Unknown member {shortened(name)}; a timestamp has {', '.join(MEMBERS)}")
    if name != "weekday":
        return float(getattr(moment.moment, name))
    weekday = moment.moment.isoweekday()
    return float(dialect.sunday if weekday == 7 else weekday)
