"""Times as written by people: relative to the start of the scenario, or absolute."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal

from engine.base.lazy import lazy_regex
from engine.base.shortening import quoted, shortened
from engine.base.units import SECOND_MS, parse_duration, parse_utc

LATEST_MS = 100 * 366 * 86_400_000
"""A century; every later time is a slip of the pen."""

_SECONDS = lazy_regex(r"\+?\d{1,12}(?:\.\d{1,12})?", re.ASCII)
_FORMS = "a time is a duration from the start (PT5M), plain seconds (300) or a UTC time (2026-01-05T08:05:00Z)"


def parse_time(text: str | float, start: datetime) -> int:
    """Return a TIME in ms after ``start``: an ISO 8601 duration, plain seconds, or an absolute UTC time.

    Digits beyond the millisecond are cut off.

    Raises:
        ValueError: The text is not a time, or lies before ``start``. The message is for the user.
    """
    ms = _milliseconds(str(text).strip(), start)
    if ms < 0:
        raise ValueError(f"{shortened(str(text))} lies before the start of the scenario")
    if ms > LATEST_MS:
        raise ValueError(f"{shortened(str(text))} lies more than a century after the start of the scenario")
    return ms


def _milliseconds(text: str, start: datetime) -> int:
    if _SECONDS.fullmatch(text):
        return int(Decimal(text) * SECOND_MS)
    if text[:2].upper().startswith(("P", "-P")):
        ms = parse_duration(text)
        if ms is None:
            raise ValueError(f"{shortened(str(text))} lies more than a century after the start of the scenario")
        return ms
    if text.startswith("-") and _SECONDS.fullmatch(text[1:]):
        return -1
    try:
        return (parse_utc(text) - start) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise ValueError(f"{quoted(text)} is not a time: {_FORMS}") from None
