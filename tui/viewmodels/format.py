"""Formats of numbers, times and ids."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache

from engine.base.values import (
    DAY_MS,
    HOUR_MS,
    MINUTE_MS,
    SECOND_MS,
    format_dollars,
    format_time,
    lazy_regex,
    parse_duration,
    parse_utc,
    quoted,
)

dollars = format_dollars  # ``$12.50``, ``$0.064``
_time = lru_cache(maxsize=4096)(format_time)  # a frame shows the times of the one before
_CLASSIC_NODE = lazy_regex(r"(tvm)-\d+_(\d+)-.*")
_NODE = lazy_regex(r"(tvmps_)([0-9a-f]{6})[0-9a-f]*(_[a-z]+)?")
_SECONDS = lazy_regex(r"\d+(\.\d+)?")
_CLOCK = lazy_regex(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_CLOCK_SPAN = lazy_regex(r"(?:(\d+)d )?(\d{1,3}):(\d{2}):(\d{2})", re.ASCII)
_NUMBER = r"(\d+(?:\.\d+)?)"
_IN_UNITS = lazy_regex(
    rf"(?:{_NUMBER} *d(?:ays?)?)? *(?:{_NUMBER} *h(?:ours?)?)? *(?:{_NUMBER} *m(?:in(?:utes?)?)?)?"
    rf" *(?:{_NUMBER} *s(?:ec(?:onds?)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_SHORT_OF_UNIT = lazy_regex(r".*\d *([dhm])\d+", re.ASCII | re.IGNORECASE)
_NEXT_UNIT = {"d": "h", "h": "m", "m": "s"}
_UNITS_MS = (DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS)
_LIKE_CLOCK = lazy_regex(r"\d+(:\d+){1,2}", re.ASCII)
_NAMED_MOMENTS = ("start", "end", "failure", "next failure")
_MOMENTS = "write +5m, -30s, 10:42, PT5M, start, end or failure"


def clock(start: datetime, ms: int | None) -> str:
    """Return the time of day, ``10:42:17``, with the date after the first day. Empty for None."""
    return "" if ms is None else _time(start, ms)


def date_and_clock(start: datetime, ms: int) -> str:
    """Return date and time, ``2026-01-05 10:42:17``."""
    return (start + timedelta(milliseconds=ms)).strftime("%Y-%m-%d %H:%M:%S")


def span(ms: int | None) -> str:
    """Return a duration, ``00:41:50`` or ``2d 03:04:05``. Empty for None."""
    return "" if ms is None else _span(ms // SECOND_MS)


@lru_cache(maxsize=4096)
def _span(seconds: int) -> str:
    """Return a duration. Most of those in a list are among the last ones asked for."""
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{f'{days}d ' if days else ''}{hours:02d}:{minutes:02d}:{seconds:02d}"


def short_span(ms: int) -> str:
    """Return a duration in few cells: ``8 s``, ``2:05``, ``1:02:05``, ``2d 03:04``."""
    seconds = ms // SECOND_MS
    if seconds < 60:
        return f"{seconds} s"
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d}"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    days, hours = divmod(hours, 24)
    return f"{days}d {hours:02d}:{minutes:02d}"


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


def dollars_apart(one: float, other: float) -> tuple[str, str]:
    """Return two amounts in US dollars, with as many digits as their difference needs to be seen."""
    decimals = len(format_dollars(abs(one - other)).partition(".")[2])
    return f"${one:,.{decimals}f}", f"${other:,.{decimals}f}"


def more_dollars(value: float) -> str:
    """Return a difference in US dollars: ``+$12.50``, ``-$0.064``."""
    return f"{'+' if value >= 0 else ''}{format_dollars(value)}"


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


def parse_moment(text: str, start: datetime, now_ms: int, end_ms: int | None = None) -> int:
    """Return the ms after the start that ``text`` names.

    ``+5m`` and ``-30s`` count from now, and may lead out of the run; ``300``, ``5m`` and ``PT5M`` count from the start.
    ``10:42`` is a time of day: if several are inside the run, that of the present day, else the nearest one. Anything
    else must be a UTC time.

    Args:
        text: What was typed.
        start: The start of the run.
        now_ms: The present moment, in ms after the start.
        end_ms: The end of the run, or as far as it has come, in ms after the start; None while neither is known.

    Raises:
        ValueError: The text is no time, or a time before the run. The message is a sentence for the user.
    """
    text = text.strip()
    if not text:
        raise ValueError(f"No time was typed: {_MOMENTS}.")
    if text[:1] in ("+", "-"):
        sign = 1 if text[0] == "+" else -1
        return now_ms + sign * duration_ms(text[1:])
    of_day = _CLOCK.fullmatch(text)
    if of_day:
        hours, minutes, seconds = (int(part or 0) for part in of_day.groups())
        today = (start + timedelta(milliseconds=now_ms)).replace(hour=0, minute=0, second=0, microsecond=0)
        moment = today + timedelta(hours=hours, minutes=minutes, seconds=seconds)
        when_ms = _inside_run((moment - start) // timedelta(milliseconds=1), now_ms, end_ms)
        if when_ms < 0:
            since_start = f"{hours}m{minutes}s" if of_day[3] is None else f"{hours}h{minutes}m{seconds}s"
            raise ValueError(
                f"{text} is before the run, which begins at {clock(start, 0)}; {since_start} counts from it."
            )
        return when_ms
    with suppress(ValueError):
        return duration_ms(text)
    try:
        when_ms = (parse_utc(text) - start) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        raise ValueError(f"{quoted(text)} is not a time: {_MOMENTS}.") from None
    if when_ms < 0:
        raise ValueError(f"{text} is before the run, which begins at {date_and_clock(start, 0)}.")
    return when_ms


def names_moment(text: str) -> bool:
    """Return whether ``text`` is written like a moment to go to, be it inside the run or not."""
    text = text.strip()
    if text in _NAMED_MOMENTS or _LIKE_CLOCK.fullmatch(text):
        return True
    for read in (duration_ms, parse_utc):
        with suppress(ValueError, OverflowError):
            read(text[1:] if text[:1] in ("+", "-") else text)
            return True
    return False


def _inside_run(today_ms: int, now_ms: int, end_ms: int | None) -> int:
    """Return the moment of the present day, or on the nearest day where the same time of day is inside the run."""
    inside = range(today_ms % DAY_MS, (today_ms if end_ms is None else end_ms) + 1, DAY_MS)
    return today_ms if today_ms in inside else min(inside, key=lambda ms: abs(ms - now_ms), default=today_ms)


def duration_ms(text: str) -> int:
    """Return the ms of ``5m``, ``1h30m``, ``1h30``, ``90s``, ``45`` (seconds), ``00:02:00`` or an ISO 8601 duration.

    Raises:
        ValueError: The text is no such duration. The message is a sentence for the user.
    """
    text = text.strip()
    if _SECONDS.fullmatch(text):
        return int(float(text) * SECOND_MS)
    if text[:1].upper() == "P":
        with suppress(ValueError):
            return parse_duration(text) or 0
    as_clock = _CLOCK_SPAN.fullmatch(text)
    if as_clock:
        days, hours, minutes, seconds = (int(part or 0) for part in as_clock.groups())
        return days * DAY_MS + hours * HOUR_MS + minutes * MINUTE_MS + seconds * SECOND_MS
    short = _SHORT_OF_UNIT.fullmatch(text)
    in_units = _IN_UNITS.fullmatch(f"{text}{_NEXT_UNIT[short[1].lower()]}" if short else text)
    if in_units and text:
        return int(sum(float(part or 0) * unit for part, unit in zip(in_units.groups(), _UNITS_MS, strict=True)))
    raise ValueError(f"{quoted(text)} is not a duration: write 90s, 2m, 1h30m or PT2M")
