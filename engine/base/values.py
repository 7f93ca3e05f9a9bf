"""Plain values: texts cut for messages, times, durations and amounts, percentiles, and columns read in bulk.

Simulated time is an integer number of milliseconds since the scenario's start. Every other form of it is derived here
(GEN-4).

A value may be as long as its author likes, a message may not: ids, keys and command lines are cut in the middle, since
their ends tell them apart. Logs, states and saved scenarios hold values whole. Text from outside may have control
characters: whatever shows it on a terminal shows them as escapes. The natural order of ids counts numbers by their
value: n2 comes before n10.

Many small numbers are examined together as bytes, since a frame must not loop over ten thousand of them in Python.
Regular expressions are compiled when they are first used, since most runs need only a few of them. Tables of facts are
files beside the modules that read them.
"""

from __future__ import annotations

import math
import re
import sys
from abc import abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import compress
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class LazyRegex:
    """Stands for a compiled regular expression, whose methods it takes over one by one."""

    def __init__(self, text: str, flags: int) -> None:
        """Hold the arguments of ``re.compile``."""
        self._source = text, flags

    def compiled(self) -> re.Pattern[str]:
        """Return the compiled expression. Raises ``re.error`` if the text is none."""
        return re.compile(*self._source)

    def __getattr__(self, name: str) -> Callable[..., object]:
        """Return a method of the compiled expression, and keep it: it is not asked for here again."""
        method = getattr(self.compiled(), name)
        setattr(self, name, method)
        return cast("Callable[..., object]", method)


def lazy_regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression as ``re.compile`` does, but compile it when a method of it is first used.

    For constants of modules. Functions of ``re`` do not accept it: call the methods.
    """
    return cast("re.Pattern[str]", LazyRegex(text, flags))


def read_table(name: str, beside: str) -> list[list[str]]:
    """Return the cells of a table in a file beside a module, without comments, which begin with ``#``, and the heading.

    Only the last cell of a line may have commas.
    """
    lines = Path(beside).with_name(name).read_text(encoding="utf-8").splitlines()
    heading, *rows = (line for line in lines if not line.startswith("#"))
    return [row.split(",", heading.count(",")) for row in rows]


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text, which are separated by spaces."""
    return tuple(text.split())


LONGEST = 80
"""The most characters of a value in a message or table, the dots and quotes included (GEN-19)."""

_DOTS = "..."
_LONG_WORD = lazy_regex(rf"[^\s/\\]{{{LONGEST + 11},}}")  # a quoted value has punctuation around it


def shortened(text: str, longest: int = LONGEST) -> str:
    """Return the text, cut in the middle to ``longest`` characters."""
    if len(text) <= longest:
        return text
    kept = longest - len(_DOTS)
    tail = kept // 2
    return f"{text[: kept - tail]}{_DOTS}{text[len(text) - tail :]}"


def called(noun: str, identity: str) -> str:
    """Return an item by its kind and its id, or by an id that begins with its kind: ``job risk``, but ``job-19``."""
    kind = noun.rpartition(" ")[2].casefold()
    return identity if identity.casefold().startswith(kind) and len(identity) > len(kind) else f"{noun} {identity}"


def quoted(value: object, longest: int = LONGEST) -> str:
    """Return a value as Python writes it, but null, true and false, cut in the middle to ``longest`` characters."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str) and len(value) > 2 * longest:
        value = shortened(value, 2 * longest)  # the representation of a long text takes a while
    return shortened(repr(value), longest)


def first_of(texts: Sequence[str]) -> str:
    """Return the first twelve texts, shortened, for a message."""
    return ", ".join(map(shortened, texts[:12])) + (", ..." if len(texts) > 12 else "")


def value_at(body: Any, *path: str | int) -> Any:  # noqa: ANN401 - a value of JSON
    """Return the value at a path of keys and indices in a value of JSON, None if there is none."""
    for part in path:
        if isinstance(body, dict):
            body = body.get(part)
        elif isinstance(body, list) and isinstance(part, int) and part < len(body):
            body = body[part]
        else:
            return None
    return body


def text_at(body: Any, *path: str | int) -> str | None:  # noqa: ANN401 - a value of JSON
    """Return the text at a path of keys and indices in a value of JSON, None if there is none."""
    found = value_at(body, *path)
    return found if isinstance(found, str) else None


def walk(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:  # noqa: ANN401
    """Yield a value of JSON and each value in it, however deep, with their paths."""
    yield path, value
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from walk(inner, (*path, key))


def with_short_words(message: str) -> str:
    """Return a message of another library with its long words cut; the directories of a path are words of their own."""
    return _LONG_WORD.sub(lambda word: shortened(word[0]), message)


# What a terminal acts on instead of showing it: controls but tab and line feed, separators of lines, and controls of
# the direction of text, which show it in another order. With them halves of surrogate pairs, which no stream can take.
_CONTROL = lazy_regex("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""Return the text with control characters but tab and line feed as escapes: ``\x1b``, ``\u202e``.

    All text from outside passes here on its way to a terminal. Text without them is returned as it is, at once.
    """
    return text if text.isprintable() else _CONTROL.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def printable(text: str, other: str) -> str:
    """Return the text with control characters as escapes, and ``other`` for each character that still cannot be shown.

    Among these are tabs, line feeds, unusual spaces, and what Unicode has not assigned.
    """
    return text if text.isprintable() else "".join(each if each.isprintable() else other for each in visible(text))


def visible_json(text: str) -> str:
    r"""Return JSON text with the control characters in its strings as escapes of JSON: ``\u009b``, ``\u202e``.

    Python's encoder leaves those above ``\x1f`` as they are.
    """
    is_clean = text.isascii() and "\x7f" not in text
    return text if is_clean else _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_NUMBER = lazy_regex(r"0*(\d+)")


def natural_key(text: str) -> str:
    """Return the sort key of a text: each number counts by its value, not digit by digit."""
    return _NUMBER.sub(lambda found: f"0{chr(len(found[1]))}{found[1]}", text)


SECOND_MS = 1_000
MINUTE_MS = 60_000
HOUR_MS = 3_600_000
DAY_MS = 86_400_000
LONGEST_RUN_MS = 7 * DAY_MS  # of a run without `until`

USD = "USD"  # the currency of list prices
_MOST_DECIMALS = 5  # of an amount of money

# The service's "no limit"; None inside the simulator (GEN-4).
UNLIMITED_WIRE = "P10675199DT2H48M5.4775807S"

_DURATION = lazy_regex(
    r"(-)?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?", re.ASCII | re.IGNORECASE
)
_YEARS = lazy_regex(r"-?P[\dWD]*\d[YM][\dYMWDTHS.]*", re.ASCII | re.IGNORECASE)  # or months
_UNITS_MS = 7 * DAY_MS, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS  # of weeks, days, hours, minutes and seconds
UNLIMITED_FROM_MS = 10_675_199 * DAY_MS  # longer durations mean "no limit"


@lru_cache(1024)  # long lists have few durations
def parse_duration(text: str) -> int | None:
    """Return the milliseconds of an ISO 8601 duration such as ``PT1M30.5S``, or None for "no limit" (GEN-4).

    Digits beyond the millisecond are cut off.

    Raises:
        ValueError: The text is no such duration, or has years or months, which have no fixed length.
    """
    match = _DURATION.fullmatch(text)
    sign, *parts, fraction = match.groups() if match else (None, None)
    if not any(parts):
        fault = "has years or months, but can be in days," if _YEARS.fullmatch(text) else "is not an ISO 8601 duration"
        raise ValueError(f"{quoted(text)} {fault} such as PT15M, PT1H30M or P7D")
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
def _utc_second(start: datetime, second: int) -> str:
    return (start.replace(microsecond=0) + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")


def format_utc(start: datetime, ms: int) -> str:
    """Return the UTC time ``ms`` milliseconds after ``start`` as the service writes it, ``2026-01-05T08:00:01.5Z``.

    The fraction has no trailing zeros and is left out if zero.
    """
    second, rest = divmod(ms + start.microsecond // 1000, SECOND_MS)
    return _utc_second(start, second) + _UTC_FRACTIONS[rest]


def format_utcs(start: datetime, moments: Iterable[int]) -> list[str]:
    """Return ``format_utc`` of many times, which takes less time."""
    begin = start.microsecond // 1000
    later = moments if not begin else (ms + begin for ms in moments)
    return [_utc_second(start, ms // SECOND_MS) + _UTC_FRACTIONS[ms % SECOND_MS] for ms in later]


def format_money(value: float, currency: str = USD) -> str:
    """Return an amount with cents, below ten cents with two digits: ``$1,234.50``, ``$0.064``, ``EUR 12.00``."""
    amount = round(abs(value), 6)  # so that sums in another order have the same form
    decimals = min(_MOST_DECIMALS, max(2, 1 - math.floor(math.log10(amount)))) if amount else 2
    return f"{'-' if value < 0 else ''}{currency_sign(currency)}{amount:,.{decimals}f}"


def currency_sign(currency: str) -> str:
    """Return what stands before an amount of a currency, ``$`` or its code."""
    return "$" if currency == USD else f"{currency} "


def format_time(start: datetime, ms: int) -> str:
    """Return the time of day ``ms`` milliseconds after ``start``, ``10:42:58``, with the date on other days."""
    moment = start + timedelta(milliseconds=ms)
    return moment.strftime("%H:%M:%S" if moment.date() == start.date() else "%m-%d %H:%M:%S")


def format_clock(ms: int) -> str:
    """Return elapsed time for people, ``+00:42:17`` or ``+1d 02:03:04``."""
    return f"+{format_span(ms)}"


def format_span(ms: int) -> str:
    """Return a duration for people, ``00:42:17`` or ``1d 02:03:04``."""
    days, rest = divmod(ms, DAY_MS)
    hours, rest = divmod(rest, HOUR_MS)
    minutes, rest = divmod(rest, MINUTE_MS)
    return f"{f'{days}d ' if days else ''}{hours:02d}:{minutes:02d}:{rest // SECOND_MS:02d}"


class InOrder(Protocol):
    """Sorted values: a list, or a view that has each value only once with its count."""

    def __len__(self) -> int:
        """Return the number of values."""
        ...

    def __getitem__(self, at: int, /) -> float:
        """Return one value by its place in the order."""
        ...


def percentile(in_order: InOrder, share: float) -> float | None:
    """Return the value below which a share, 0 to 1, of sorted values lies; None without values.

    Between two values it is interpolated linearly: the share 0 is the first value, 1 the last.
    """
    if not len(in_order):
        return None
    place = share * (len(in_order) - 1)
    below = int(place)
    low, high = in_order[below], in_order[min(below + 1, len(in_order) - 1)]
    return low + (high - low) * (place - below)


_LOWEST = 0 if sys.byteorder == "little" else -1
_ALL_BITS = bytes(255 * (flag == 1) for flag in range(256))


def equals(value: int) -> bytes:
    """Return a table that translates this value to 1 and all others to 0."""
    return bytes(value) + b"\1" + bytes(255 - value)


def lowest_bytes(column: array[int]) -> bytes:
    """Return the byte of each number in which most of them differ."""
    return column.tobytes()[_LOWEST % column.itemsize :: column.itemsize]


def bytes_above(column: array[int], low_bytes: int) -> bytes:
    """Return the byte of each number above so many low ones."""
    return column.tobytes()[abs(_LOWEST % column.itemsize - low_bytes) :: column.itemsize]


def where_set(values: bytes, flags: bytes) -> bytes:
    """Return the values at places where ``flags`` has one, and 0 at those where it has 0."""
    return (int.from_bytes(values) & int.from_bytes(flags.translate(_ALL_BITS))).to_bytes(len(values))


def values_above(column: array[int], low_bytes: int) -> set[int]:
    """Return the values that numbers have above so many low bytes, a negative one as if it were large.

    There may be more values than that. Where they are few, this takes a third of the time of a set of all numbers.
    """
    found = {0: bytes([1]) * len(column)}
    for place in reversed(range(low_bytes + 1, column.itemsize)):
        here = bytes_above(column, place)
        found = {
            value << 8 | byte: where_set(flags, here.translate(equals(byte)))
            for value, flags in found.items()
            for byte in set(where_set(here, flags))
        }
    here = bytes_above(column, low_bytes)
    return {value << 8 | byte for value, flags in found.items() for byte in set(where_set(here, flags))}


def tally(values: bytes) -> dict[int, int]:
    """Return how often each value occurs, in ascending order. A set of ten thousand is slower."""
    found: dict[int, int] = {}
    rest = values
    while rest:
        found[rest[0]] = rest.count(rest[0])
        rest = rest.translate(None, rest[:1])
    return dict(sorted(found.items()))


_MOST_COUNTED = 16
_SPARSE = 12  # one place in so many is found in the same time by looking for it as by judging all
T_co = TypeVar("T_co", covariant=True)


class LazyRows(Sequence[T_co]):
    """Row numbers, or other values, that are looked up when they are asked for."""

    def __init__(self, length: int) -> None:
        self._length = length

    @abstractmethod
    def _at(self, at: int) -> T_co:
        """Return the row at a place between 0 and the length."""

    def _several(self, places: range) -> Sequence[T_co]:
        """Return the rows at several places."""
        return [self._at(each) for each in places]

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> T_co: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T_co]: ...
    def __getitem__(self, at: int | slice) -> T_co | Sequence[T_co]:
        if isinstance(at, slice):
            return self._several(range(*at.indices(len(self))))
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        return self._at(at % len(self))


def values(column: Sequence[int], rows: Sequence[int]) -> Sequence[int]:
    """Return the values of a column in these rows, which are in ascending order."""
    if not rows:
        return ()
    first, last = rows[0], rows[-1]
    if last - first + 1 == len(rows):
        return column[first : last + 1]
    return picked(column, rows)


def picked(column: Sequence[int], rows: Sequence[int]) -> Sequence[int]:
    """Return the values of a column in these rows, which are in any order."""
    return itemgetter(*rows)(column) if len(rows) > 1 else [column[row] for row in rows]


def side_by_side(high: bytes, low: bytes, low_bits: int) -> bytes:
    """Combine two columns in one: the bits of ``high`` above the ``low_bits`` bits of ``low``."""
    together = int.from_bytes(high) << low_bits | int.from_bytes(low)
    return together.to_bytes(len(low))


def sum_where(flags: bytes, column: Sequence[int], most: int) -> int:
    """Return the sum of the values, ``most`` at most, at places where ``flags`` has one.

    Small values are counted, a tenth of the time.
    """
    if most > _MOST_COUNTED or not isinstance(column, array):
        return sum(compress(column, flags))
    kept = where_set(lowest_bytes(column), flags)
    return sum(value * kept.count(value) for value in range(1, most + 1))


def count_bits(flags: bytes, bits: int) -> int:
    """Count the ones in ``flags`` at places where ``bits`` has one; both begin with place 0."""
    if bits.bit_count() == len(flags):
        return flags.count(1)
    written = f"{bits:0{len(flags)}b}"[::-1].encode()  # the codes of 0 and 1 differ in their lowest bit
    return (int.from_bytes(flags) & int.from_bytes(written)).bit_count()


def rows_in_state(column: bytearray, ranges: Sequence[range], state: int) -> list[int]:
    """Return the rows of these ranges whose value in a column of states is this one."""
    found: list[int] = []
    for rows in ranges:
        found += places(column, state, rows.start, rows.stop)
    return found


def places(states: bytes | bytearray, state: int, start: int = 0, stop: int | None = None) -> list[int]:
    """Return the places of a state, from ``start`` to before ``stop``. They are looked for, unless they are dense."""
    at, end = states.find(state, start, stop), states.rfind(state, start, stop) + 1
    if end - at < _SPARSE * states.count(state, at, end):
        return list(compress(range(at, end), states[at:end].translate(equals(state))))
    found: list[int] = []
    find, add = states.find, found.append
    while at >= 0:
        add(at)
        at = find(state, at + 1, stop)
    return found
