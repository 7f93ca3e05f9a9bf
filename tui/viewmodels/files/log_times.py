"""Lines that begin with a time, and the distance between two of them."""

from __future__ import annotations

from datetime import date
from itertools import chain
from typing import TYPE_CHECKING

from engine.base.lazy import lazy_regex

if TYPE_CHECKING:
    from collections.abc import Callable

_DAY_S = 86_400
_TIME = lazy_regex(r"\W?(?:(\d{4})-(\d\d)-(\d\d)[T ])?([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?!\d)")


def time_of(line: str) -> tuple[int, bool] | None:
    """Return the time at the begin of a line, in seconds, and True if it has a date; None if there is none.

    Without a date the seconds count from midnight.
    """
    match = _TIME.match(line)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    seconds = hour * 3600 + minute * 60 + second
    if not year:
        return seconds, False
    try:
        return date(year, month, day).toordinal() * _DAY_S + seconds, True
    except ValueError:
        return None


def other_line(line: Callable[[int], str], count: int, here: int, seconds: int) -> int | str:
    """Return the first line that is ``seconds`` later than the one at ``here``, or the reason if there is none.

    Negative seconds search backwards. Without dates, a time in the other half of the day belongs to the next or
    previous day.
    """
    start = _timed_line(line, count, here)
    if start is None:
        return "The lines do not begin with a time."
    begun, is_dated = time_of(line(start)) or (0, False)
    step = 1 if seconds > 0 else -1
    last = begun
    for at in range(start + step, count if step > 0 else -1, step):
        found = time_of(line(at))
        if found is None or found[1] is not is_dated:
            continue
        moment = found[0] if is_dated else _near(found[0], last)
        if (moment - begun) * step >= abs(seconds):
            return at
        last = moment
    return "No line is that much later." if step > 0 else "No line is that much earlier."


def _timed_line(line: Callable[[int], str], count: int, here: int) -> int | None:
    """Return the line at or before this one that begins with a time, else the first one after it."""
    places = chain(range(min(here, count - 1), -1, -1), range(here + 1, count))
    return next((at for at in places if time_of(line(at)) is not None), None)


def _near(seconds: int, last: int) -> int:
    """Return a time of day on the day that brings it nearest to ``last``, in seconds on the scale of ``last``."""
    return last + (seconds - last + _DAY_S // 2) % _DAY_S - _DAY_S // 2
