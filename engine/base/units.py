"""Conversion between whole milliseconds and ISO 8601 durations and UTC times, and the form of amounts of money.

Simulated time is an integer number of milliseconds since the scenario's start. Every other form of it is derived
here (GEN-4).
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from engine.base.lazy import lazy_regex
from engine.base.shortening import quoted

SECOND_MS = 1_000
MINUTE_MS = 60_000
HOUR_MS = 3_600_000
DAY_MS = 86_400_000

_MOST_DECIMALS = 5  # of an amount of money

# The service's "no limit"; None inside the simulator (GEN-4).
UNLIMITED_WIRE = "P10675199DT2H48M5.4775807S"

_DURATION = lazy_regex(
    r"(-)?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
_UNITS_MS = 7 * DAY_MS, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS  # of weeks, days, hours, minutes and seconds
UNLIMITED_FROM_MS = 10_675_199 * DAY_MS  # longer durations mean "no limit"


def parse_duration(text: str) -> int | None:
    """Return the milliseconds of an ISO 8601 duration such as ``PT1M30.5S``, or None for "no limit" (GEN-4).

    Digits beyond the millisecond are cut off.

    Raises:
        ValueError: The text is no such duration, or has years or months, which have no fixed length.
    """
    match = _DURATION.fullmatch(text)
    sign, *parts, fraction = match.groups() if match else (None, None)
    if not any(parts):
        raise ValueError(f"{quoted(text)} is not an ISO 8601 duration such as PT15M, PT1H30M or P7D")
    ms = 0
    for part, unit_ms in zip(parts, _UNITS_MS, strict=True):
        if part:
            ms += int(part) * unit_ms
    if fraction:
        ms += int((fraction + "000")[:3])
    if ms >= UNLIMITED_FROM_MS:
        return None
    return -ms if sign else ms


def format_duration(ms: int | None) -> str:
    """Return the ISO 8601 duration as the service writes it: ``PT15M``, ``P7D``, ``PT0S``. None is "no limit"."""
    if ms is None:
        return UNLIMITED_WIRE
    if ms < 0:
        return "-" + format_duration(-ms)
    days, rest = divmod(ms, DAY_MS)
    hours, rest = divmod(rest, HOUR_MS)
    minutes, rest = divmod(rest, MINUTE_MS)
    seconds, fraction = divmod(rest, SECOND_MS)
    time = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    if fraction:
        time += f"{seconds}.{fraction:03d}".rstrip("0") + "S"
    elif seconds:
        time += f"{seconds}S"
    text = "P" + (f"{days}D" if days else "") + (f"T{time}" if time else "")
    return text if text != "P" else "PT0S"


def parse_utc(text: str) -> datetime:
    """Return the moment of an ISO 8601 time such as ``2026-01-05T08:00:00Z``. Without an offset it is UTC.

    Raises:
        ValueError: The text is no such time.
    """
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{quoted(text)} is not an ISO 8601 time such as 2026-01-05T08:00:00Z") from None


# The end of a UTC time by its milliseconds.
_UTC_FRACTIONS = tuple(f".{ms:03d}".rstrip("0") + "Z" if ms else "Z" for ms in range(SECOND_MS))


@lru_cache(maxsize=4096)
def _second(start: datetime, second: int) -> str:
    return (start + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")


def format_utc(start: datetime, ms: int) -> str:
    """Return the UTC time ``ms`` milliseconds after ``start`` as the service writes it, ``2026-01-05T08:00:01.5Z``.

    The fraction has no trailing zeros and is left out if zero.
    """
    second, fraction = divmod(ms + start.microsecond // 1000, SECOND_MS)
    return _second(start.replace(microsecond=0) if start.microsecond else start, second) + _UTC_FRACTIONS[fraction]


def format_dollars(value: float) -> str:
    """Return an amount in US dollars with cents, below ten cents with two digits: ``$1,234.50``, ``$0.064``."""
    amount = round(abs(value), 6)  # so that sums in another order have the same form
    decimals = min(_MOST_DECIMALS, max(2, 1 - math.floor(math.log10(amount)))) if amount else 2
    return f"{'-' if value < 0 else ''}${amount:,.{decimals}f}"


def format_time(start: datetime, ms: int) -> str:
    """Return the time of day ``ms`` milliseconds after ``start``, ``10:42:58``, with the date on other days."""
    moment = start + timedelta(milliseconds=ms)
    return moment.strftime("%H:%M:%S" if moment.date() == start.date() else "%m-%d %H:%M:%S")


def format_clock(ms: int) -> str:
    """Return elapsed time for people, ``+00:42:17`` or ``+1d 02:03:04``."""
    days, rest = divmod(ms, DAY_MS)
    hours, rest = divmod(rest, HOUR_MS)
    minutes, rest = divmod(rest, MINUTE_MS)
    return f"+{f'{days}d ' if days else ''}{hours:02d}:{minutes:02d}:{rest // SECOND_MS:02d}"
