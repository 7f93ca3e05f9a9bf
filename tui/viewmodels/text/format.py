"""Formats of numbers, times and ids."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from engine.base.units import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, format_time, parse_duration, parse_utc

_CLASSIC_NODE = re.compile(r"(tvm)-\d+_(\d+)-.*")
_NODE = re.compile(r"(tvmps_)([0-9a-f]{6})[0-9a-f]*(_[a-z]+)?")
_SECONDS = re.compile(r"\d+(\.\d+)?")
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")


def clock(start: datetime, ms: int | None) -> str:
    """Return the time of day, ``10:42:17``, with the date after the first day. Empty for None."""
    return "" if ms is None else format_time(start, ms)


def date_and_clock(start: datetime, ms: int) -> str:
    """Return date and time, ``2026-01-05 10:42:17``."""
    return (start + timedelta(milliseconds=ms)).strftime("%Y-%m-%d %H:%M:%S")


def span(ms: int | None) -> str:
    """Return a duration, ``00:41:50`` or ``2d 03:04:05``. Empty for None."""
    if ms is None:
        return ""
    days, rest = divmod(ms, DAY_MS)
    hours, rest = divmod(rest, HOUR_MS)
    minutes, rest = divmod(rest, MINUTE_MS)
    return f"{f'{days}d ' if days else ''}{hours:02d}:{minutes:02d}:{rest // SECOND_MS:02d}"


def in_words(ms: int) -> str:
    """Return a duration in its largest unit that divides it: ``7 days``, ``90 minutes``; else as ``span``."""
    for unit_ms, name in ((DAY_MS, "day"), (HOUR_MS, "hour"), (MINUTE_MS, "minute"), (SECOND_MS, "second")):
        if ms % unit_ms == 0 and ms:
            count = ms // unit_ms
            return f"{count:,} {name}{'' if count == 1 else 's'}"
    return span(ms)


def size(count: int) -> str:
    """Return a number of bytes in units of 1000: ``58 B``, ``4.8 KB``, ``12 GB``."""
    value, unit = float(count), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if round(value, 1) < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}" if unit != "B" and value < 99.95 else f"{value:.0f} {unit}"


def optional(value: object) -> str:
    """Return the value as text; empty for None."""
    return "" if value is None else str(value)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 node``, ``1,234 nodes``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short_node(node_id: str) -> str:
    """Return a node id without its middle: ``tvm-…_117``, ``tvmps_0ae939…_d``."""
    classic = _CLASSIC_NODE.fullmatch(node_id)
    if classic:
        return f"{classic[1]}-…_{classic[2]}"
    modern = _NODE.fullmatch(node_id)
    return f"{modern[1]}{modern[2]}…{modern[3] or ''}" if modern else node_id


def node_name(position: int, node_id: str) -> str:
    """Return a node's index in its pool, as scenarios use it, and its shortened id."""
    return f"{f'n{position}':<4} {short_node(node_id)}"


def parse_moment(text: str, start: datetime, now_ms: int) -> int:
    """Return the ms after the start that ``text`` names. Raises ValueError with a sentence for the user.

    ``+5m`` and ``-30s`` count from now, ``300`` and ``PT5M`` from the start. ``10:42`` is a time on the present day.
    Anything else must be a UTC time.
    """
    text = text.strip()
    if text[:1] in ("+", "-"):
        sign = 1 if text[0] == "+" else -1
        return max(0, now_ms + sign * _plain_duration(text[1:]))
    if _SECONDS.fullmatch(text):
        return int(float(text) * SECOND_MS)
    if text[:1].upper() == "P":
        return parse_duration(text) or 0
    of_day = _CLOCK.fullmatch(text)
    if of_day:
        today = (start + timedelta(milliseconds=now_ms)).replace(hour=0, minute=0, second=0, microsecond=0)
        moment = today + timedelta(hours=int(of_day[1]), minutes=int(of_day[2]), seconds=int(of_day[3] or 0))
        return max(0, (moment - start) // timedelta(milliseconds=1))
    moment = parse_utc(text)
    return max(0, (moment - start) // timedelta(milliseconds=1))


def _plain_duration(text: str) -> int:
    """Return the ms of ``5m``, ``1h30m``, ``45`` (seconds) or an ISO 8601 duration."""
    if _SECONDS.fullmatch(text):
        return int(float(text) * SECOND_MS)
    if text[:1].upper() == "P":
        return parse_duration(text) or 0
    days, separator, rest = text.upper().rpartition("D")
    iso = f"P{days}D" if separator else "P"
    return parse_duration(f"{iso}T{rest}" if rest else iso) or 0
