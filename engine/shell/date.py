"""The Linux programs about time: ``sleep``, ``timeout``, ``time``, and ``date``.

``date`` prints the simulated time, or the moment that ``-d`` describes, in UTC and the C locale.

Such moments are written as ``@86400``, ``2026-01-05 08:00``, ``tomorrow``, ``2 hours ago``, or several of these.
The real ``date`` knows other ways too: with one of these the line counts as an unknown program (TASK-22).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from engine.base.values import lazy_regex
from engine.shell.call import Call, NotSimulated, Program, ProgramOptions, WrongUsage
from engine.shell.files import TimeIsUp

FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip

_LONGEST = 400  # characters
_UNITS = {
    "year": (12, 0), "month": (1, 0), "fortnight": (0, 1_209_600), "week": (0, 604_800), "day": (0, 86_400),
    "hour": (0, 3_600), "minute": (0, 60), "min": (0, 60), "second": (0, 1), "sec": (0, 1),
    "yesterday": (0, -86_400), "today": (0, 0), "now": (0, 0), "tomorrow": (0, 86_400),
}  # fmt: skip
"""Each unit in months and in seconds, and the days that have a name, which are counted from today."""
_COUNTS = {"last": -1, "this": 0, "next": 1}

_EPOCH = lazy_regex(r"@(-?\d{1,12})(?:[.,](\d{1,9}))?", re.ASCII)
_START = lazy_regex(
    r"(?P<day>\d{4}-\d\d-\d\d|\d{8})?"
    r"(?:[t\s]*(?P<time>\d\d:\d\d(?::\d\d(?:[.,]\d{1,6})?)?)\s*(?P<zone>[-+]\d{1,2}(?::?\d\d)?)?(?!\d))?"
    r"(?:\s*(?:z|utc|gmt)(?!\w))?\s*",
    re.ASCII,
)
_OFFSET = lazy_regex(
    r"(?:(?P<count>[-+]?\s*\d{1,9}|last|this|next)\s*)?(?P<unit>[a-z]+?)s?(?P<ago>\s+ago)?(?!\w)\s*", re.ASCII
)


def read_moment(text: str, now_ms: int) -> int:
    """Return the moment that a text describes, as Unix time in ms.

    Raises:
        NotSimulated: It describes none, or one in a way that is not known here.
        ValueError: There is no such day or time.
    """
    text = text[:_LONGEST].lower().strip()
    if found := _EPOCH.fullmatch(text):
        return int(found[1]) * 1000 + int((found[2] or "0")[:3].ljust(3, "0"))
    moment = FIRST + timedelta(milliseconds=now_ms)
    start = _START.match(text)
    assert start is not None  # each part may be left out
    offsets, at = [], start.end()
    while at < len(text):
        found = _OFFSET.match(text, at)
        if found is None or found["unit"] not in _UNITS:
            raise NotSimulated
        offsets.append(_offset(found))
        at = found.end()
    if start["day"] or start["time"] or not offsets:
        moment = datetime.fromisoformat(f"{start['day'] or moment.date()}T{start['time'] or '00:00'}Z")
        sign, digits = (start["zone"] or "+0")[0], (start["zone"] or "+0")[1:].replace(":", "")
        hours, minutes = (digits, "0") if len(digits) < 3 else (digits[:-2], digits[-2:])
        moment -= timedelta(hours=int(f"{sign}{hours}"), minutes=int(f"{sign}{minutes}"))
    months = moment.year * 12 + moment.month - 1 + sum(months for months, _ in offsets)
    first = moment.replace(year=months // 12, month=months % 12 + 1, day=1)
    moment = first + timedelta(days=moment.day - 1, seconds=sum(seconds for _, seconds in offsets))
    return (moment - FIRST) // timedelta(milliseconds=1)


def _offset(found: re.Match[str]) -> tuple[int, int]:
    """Return the months and seconds that an offset adds."""
    months, seconds = _UNITS[found["unit"]]
    count = re.sub(r"\s", "", found["count"] or "1")
    times = _COUNTS[count] if count in _COUNTS else int(count)
    if found["ago"]:
        times = -times
    return months * times, seconds * times


_USUAL = "%a %b %e %H:%M:%S %Z %Y"
_FORMS = {
    "date": "%F", "hours": "%FT%H%:z", "minutes": "%FT%H:%M%:z", "seconds": "%FT%T%:z", "ns": "%FT%T,%N%:z",
}  # fmt: skip
_COMPOSED = {
    "F": "%Y-%m-%d", "D": "%m/%d/%y", "x": "%m/%d/%y", "T": "%H:%M:%S", "X": "%H:%M:%S", "R": "%H:%M",
    "r": "%I:%M:%S %p", "c": "%a %b %e %H:%M:%S %Y",
}  # fmt: skip
_WIDTHS = {
    **dict.fromkeys("CyHIMSUVWdgm", (2, "0")), **dict.fromkeys("GY", (4, "0")), **dict.fromkeys("qsuw", (1, "0")),
    "j": (3, "0"), **dict.fromkeys("ekl", (2, " ")),
}  # fmt: skip
"""The usual width of each number, and the character that fills it up."""
_FIELD = lazy_regex(r"%(?P<flags>[-_0^#+]*)(?P<width>\d{0,3})(?P<colons>:{0,3})[EO]?(?P<letter>[A-Za-z%])")


@Program(
    "date", "u/utc/universal R/rfc-email d=/date I?/iso-8601 r!/reference s!/set f!/file /rfc-3339 /debug /resolution"
)
def _date(call: Call, options: ProgramOptions) -> int:
    """Print a moment."""
    forms = [operand[1:] for operand in options.operands if operand.startswith("+")]
    forms += _forms_of_options(options)
    if len(options.operands) > 1:
        return call.misuse(f"extra operand '{options.operands[1]}'")
    if len(forms) > 1:
        return call.fail("date: multiple output formats specified")
    clock_ms = call.process.run.clock_ms
    if "d" in options:
        try:
            clock_ms = read_moment(options.values["d"], clock_ms)
        except (ValueError, OverflowError):
            return call.fail(f"date: invalid date '{options.values['d']}'")
    elif options.operands and not forms:
        return call.fail(f"date: invalid date '{options.operands[0]}'")
    call.say(formatted(clock_ms, forms[0] if forms else _USUAL))
    return 0


def _forms_of_options(options: ProgramOptions) -> list[str]:
    """Return the formats that ``-I`` and ``-R`` stand for."""
    forms = []
    for letter, value in options.all:
        if letter == "R":
            forms.append("%a, %d %b %Y %H:%M:%S %z")
        elif letter == "I":
            names = [name for name in _FORMS if name.startswith(value or "date")]
            if not names:
                raise WrongUsage(f"invalid argument '{value}' for '--iso-8601'")
            forms.append(_FORMS[names[0]])
    return forms


def formatted(clock_ms: int, form: str) -> str:
    """Return a moment in a format of ``date``."""

    def one(found: re.Match[str]) -> str:
        flags, letter = found["flags"], found["letter"]
        if set(flags) & set("^#+") or (found["width"] and letter != "N"):
            raise NotSimulated
        if letter in _COMPOSED:
            return formatted(clock_ms, _COMPOSED[letter])
        if letter == "z":
            return ("+0000", "+00:00", "+00:00:00", "+00")[len(found["colons"])]
        value = _value(clock_ms, letter)
        if value is None or found["colons"]:
            return found[0]
        if letter == "N":
            return f"{value:09}"[: int(found["width"] or 9)]
        if isinstance(value, str):
            return value
        width, pad = _WIDTHS[letter]
        for flag in flags:
            pad = {"-": "", "_": " ", "0": "0"}.get(flag, pad)
        return str(value).rjust(width, pad) if pad else str(value)

    return _FIELD.sub(one, form)


def _value(clock_ms: int, letter: str) -> int | str | None:
    """Return the value of a letter, or None if it means nothing. Names are those of the C locale on every machine."""
    seconds, fraction_ms = divmod(clock_ms, 1000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        moment = FIRST
    if letter in "YymdjHIMSuwVGUW":
        return int(moment.strftime(f"%{letter}"))
    month, day_name = _MONTHS[moment.month - 1], _WEEKDAYS[moment.weekday()]
    half = "AM" if moment.hour < 12 else "PM"
    others: dict[str, int | str] = {
        "C": moment.year // 100, "e": moment.day, "k": moment.hour, "l": moment.hour % 12 or 12,
        "s": seconds, "N": fraction_ms * 1_000_000, "g": moment.isocalendar().year % 100, "q": (moment.month + 2) // 3,
        "%": "%", "n": "\n", "t": "\t", "p": half, "P": half.lower(),
        "a": day_name[:3], "A": day_name, "b": month[:3], "h": month[:3], "B": month, "Z": "UTC",
    }  # fmt: skip
    return others.get(letter)


_SLEEP = lazy_regex(r"(?P<number>\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?P<unit>[smhd]?)", re.ASCII)
_UNIT_MS = {"": 1_000, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LONGEST_MS = 3_650 * 86_400_000


def slept_ms(arguments: list[str]) -> int | None:
    """Return the time that ``sleep`` takes with these arguments, or None if one of them is no time."""
    total = 0
    for argument in arguments:
        if argument == "infinity":
            return _LONGEST_MS
        found = _SLEEP.fullmatch(argument)
        if found is None:
            return None
        total += round(float(found["number"]) * _UNIT_MS[found["unit"]])
    return min(total, _LONGEST_MS)


@Program("sleep", least=1)
def _sleep(call: Call, options: ProgramOptions) -> int:
    """Let the simulated time of the process pass."""
    total = slept_ms(options.operands)
    if total is None:
        wrong = next(argument for argument in options.operands if slept_ms([argument]) is None)
        return call.misuse(f"invalid time interval '{wrong[:80]}'")
    run = call.process.run
    run.wait_until(min(run.clock_ms + total, run.start_ms + _LONGEST_MS))
    return 0


@Program(
    "timeout",
    "k=/kill-after s=/signal v/verbose f/foreground p/preserve-status",
    usage=125,
    stops=True,
    least=2,
    runs=1,
)
def _timeout(call: Call, options: ProgramOptions) -> int:
    """Run a command and end it when its time is up: 124."""
    limit, *words = options.operands
    limit_ms, run = slept_ms([limit]), call.process.run
    if limit_ms is None:
        return call.misuse(f"invalid time interval '{limit[:80]}'", 125)
    before, ends_ms = run.deadline_ms, run.clock_ms + limit_ms
    if limit_ms and (before is None or ends_ms < before):
        run.deadline_ms = ends_ms
    try:
        return call.process.runner.run_program(call.name, words)
    except TimeIsUp as up:
        if up.args[0] == before:
            raise
        if options.values.get("s", "").upper().removeprefix("SIG") in ("KILL", "9"):
            return 137
        return 143 if "p" in options else 124
    finally:
        run.deadline_ms = before


@Program("time", "p/portability v/verbose a/append q/quiet o!/output f!/format", usage=125, stops=True, runs=0)
def _time(call: Call, options: ProgramOptions) -> int:
    """Run a command and print how long it took to standard error."""
    run = call.process.run
    begin_ms = run.clock_ms
    status = call.process.runner.run_words(options.operands, functions=False) if options.operands else 0
    minutes, rest_ms = divmod(run.clock_ms - begin_ms, 60_000)
    call.err.append(f"\nreal\t{minutes}m{rest_ms / 1000:.3f}s\nuser\t0m0.000s\nsys\t0m0.000s\n")
    return status
