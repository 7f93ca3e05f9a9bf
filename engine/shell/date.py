"""The Linux programs about time: ``sleep``, ``timeout``, ``time``, and ``date``.

``date`` prints the simulated time, or the moment that ``-d`` describes, in UTC and the C locale.

Such moments are written as ``@86400``, ``2026-01-05 08:00``, ``tomorrow``, ``2 hours ago``.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from engine.base.values import lazy_regex
from engine.shell.call import Call, Program, ProgramOptions, WrongUsage
from engine.shell.files import TimeIsUp

FIRST = datetime(1970, 1, 1, tzinfo=UTC)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip

_LONGEST = 400  # characters
_TO_MONTH = {name: index for index, full in enumerate(MONTHS, start=1) for name in (full, full[:3])} | {"sept": 9}
_TO_WEEKDAY = {name: index for index, full in enumerate(WEEKDAYS) for name in (full, full[:3])} | {
    "tues": 1, "wednes": 2, "thur": 3, "thurs": 3,
}  # fmt: skip
_UNITS = {
    "year": (12, 0), "month": (1, 0), "fortnight": (0, 1_209_600), "week": (0, 604_800), "day": (0, 86_400),
    "hour": (0, 3_600), "minute": (0, 60), "min": (0, 60), "second": (0, 1), "sec": (0, 1),
}  # fmt: skip
"""Each unit in months and in seconds."""
_DAYS = {"yesterday": -1, "today": 0, "now": 0, "tomorrow": 1}
_COUNTS = {"last": -1, "this": 0, "next": 1}
_ZONES = frozenset({"z", "utc", "gmt", "ut"})

_EPOCH = lazy_regex(r"\s*@(-?\d{1,12})(?:[.,](\d{1,9}))?\s*", re.ASCII)
_ITEM = lazy_regex(
    r"""[\s,]*(?:
    (?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})(?:t(?=\d))?
  | (?P<hour>\d{1,2}):(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:[.,](?P<fraction>\d+))?)?
        \s*(?:(?P<half>[ap])\.?m\.?(?![a-z]))?\s*(?P<zone>[-+]\d{1,2}(?::?\d\d)?(?!\d))?
  | (?P<hour12>\d{1,2})\s*(?P<half12>[ap])\.?m\.?(?![a-z])
  | (?P<us_month>\d{1,2})/(?P<us_day>\d{1,2})(?:/(?P<us_year>\d{4}|\d{2}))?
  | (?P<name_day>\d{1,2})[\s-]*(?P<name_month>jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*
        (?:[\s,-]*(?P<name_year>\d{4})(?![:\d]))?
  | (?P<first_month>jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?\s*(?P<first_day>\d{1,2})(?![\d:])
        (?:[\s,]+(?P<first_year>\d{4})(?![:\d]))?
  | (?P<compact>\d{8})(?:t(?P<compact_time>\d{4}|\d{6}))?(?!\d)
  | (?P<number>[-+]?\s*\d{1,9})(?![\d:])
  | (?P<word>[a-z]+)\.?
    )""",
    re.ASCII | re.VERBOSE,
)


class NotMoment(Exception):
    """A text that describes no moment."""


def read_moment(text: str, now_ms: int) -> int:
    """Return the moment that a text describes, as Unix time in ms.

    Raises:
        NotMoment: It describes none.
    """
    if found := _EPOCH.fullmatch(text):
        return int(found[1]) * 1000 + int((found[2] or "0")[:3].ljust(3, "0"))
    reader = _Reader(now_ms)
    try:
        reader.read(text[:_LONGEST].lower())
        return reader.result_ms()
    except (ValueError, OverflowError):
        raise NotMoment from None


class _Reader:
    """Reads the items of a text: at most one day, weekday and time of day, and offsets that are added."""

    def __init__(self, now_ms: int) -> None:
        seconds, self.fraction_ms = divmod(now_ms, 1000)
        self.now = datetime.fromtimestamp(seconds, UTC)
        self.day: tuple[int, int, int] | None = None
        self.lacks_year = False
        self.seconds: int | None = None  # of the day
        self.weekday: int | None = None
        self.weeks = 0  # before or after that day of the week
        self.zone_seconds = 0
        self.months = 0
        self.added_seconds = 0
        self.last: tuple[int, int] | None = None  # months and seconds that were added last

    def read(self, text: str) -> None:
        at = 0
        count: int | None = None  # of the unit that has to follow
        while text[at:].strip(" \t\n,"):
            found = _ITEM.match(text, at)
            if found is None:
                raise NotMoment
            at = found.end()
            if found["word"]:
                count = self._word(found["word"], count)
                continue
            if count is not None:
                raise NotMoment
            number = found["number"]
            if number and len(number) == 4 and number.isdecimal() and self.day and not text[at:].lstrip()[:1].isalpha():
                self._lone_number(number, self.day)
            elif number:
                count = int(re.sub(r"\s", "", number))
            else:
                self._date_or_time(found)
        if count is not None:
            raise NotMoment

    def _lone_number(self, number: str, day: tuple[int, int, int]) -> None:
        """Read four digits after a day: its year, or else a time."""
        if self.lacks_year:
            self.day, self.lacks_year = (int(number), *day[1:]), False
        else:
            self._set_clock(number[:2], number[2:], "0", "")

    def _word(self, word: str, count: int | None) -> int | None:
        """Read a word; return the count if the unit that it belongs to has to follow."""
        unit = _UNITS.get(word) or _UNITS.get(word.removesuffix("s"))
        if unit is not None:
            times = 1 if count is None else count
            self._add(unit[0] * times, unit[1] * times)
            return None
        if word in _TO_WEEKDAY and self.weekday is None:
            self.weekday = _TO_WEEKDAY[word]
            self.weeks = count or 0
            return None
        if count is not None:
            raise NotMoment
        if word in _COUNTS:
            return _COUNTS[word]
        if word in _DAYS:
            self._add(0, _DAYS[word] * 86_400)
        elif word == "ago" and self.last is not None:
            self._add(-2 * self.last[0], -2 * self.last[1])
        elif word not in _ZONES:
            raise NotMoment
        return None

    def _add(self, months: int, seconds: int) -> None:
        self.months += months
        self.added_seconds += seconds
        self.last = months, seconds

    def _date_or_time(self, found: re.Match[str]) -> None:
        part = found.groupdict(default="")
        for form in ("", "us_", "name_", "first_"):
            if month := part[f"{form}month"]:
                self._set_day(part[f"{form}year"], str(_TO_MONTH.get(month, month)), part[f"{form}day"])
                return
        if part["compact"]:
            self._set_day(part["compact"][:4], part["compact"][4:6], part["compact"][6:])
            if time := part["compact_time"]:
                self._set_clock(time[:2], time[2:4], time[4:], "")
        elif part["hour12"]:
            self._set_clock(part["hour12"], "0", "0", part["half12"])
        else:
            self._set_clock(part["hour"], part["minute"], part["second"], part["half"])
            self.fraction_ms = int(part["fraction"][:3].ljust(3, "0"))
            if zone := part["zone"]:
                digits = zone[1:].replace(":", "")
                hours, minutes = (digits, "0") if len(digits) < 3 else (digits[:-2], digits[-2:])
                self.zone_seconds = (int(hours) * 3600 + int(minutes) * 60) * (-1 if zone[0] == "-" else 1)

    def _set_day(self, year: str, month: str, day: str) -> None:
        if self.day is not None:
            raise NotMoment
        self.lacks_year = not year
        number = int(year or self.now.year)
        if len(year) == 2:
            number += 1900 if number > 68 else 2000
        datetime(number, int(month), int(day))  # noqa: DTZ001 (only refuses what is no day)
        self.day = number, int(month), int(day)

    def _set_clock(self, hour: str, minute: str, second: str, half: str) -> None:
        hours, minutes, seconds = int(hour), int(minute), int(second or 0)
        if half:
            if not 1 <= hours <= 12:
                raise NotMoment
            hours = hours % 12 + (12 if half == "p" else 0)
        if hours > 23 or minutes > 59 or seconds > 59 or self.seconds is not None:
            raise NotMoment
        self.seconds, self.fraction_ms = hours * 3600 + minutes * 60 + seconds, 0

    def result_ms(self) -> int:
        now = self.now
        year, month, day = self.day or (now.year, now.month, now.day)
        if self.seconds is not None:
            seconds = self.seconds
        elif self.last is not None and self.day is None and self.weekday is None:
            seconds = now.hour * 3600 + now.minute * 60 + now.second
        else:
            seconds, self.fraction_ms = 0, 0
        over, index = divmod(month - 1 + self.months, 12)
        moment = datetime(year + over, index + 1, 1, tzinfo=UTC) + timedelta(days=day - 1)
        if self.weekday is not None and self.day is None:
            ahead = (self.weekday - moment.weekday()) % 7
            moment += timedelta(days=ahead + 7 * (self.weeks - (self.weeks > 0 and ahead > 0)))
        moment += timedelta(seconds=seconds + self.added_seconds - self.zone_seconds)
        return int((moment - FIRST).total_seconds()) * 1000 + self.fraction_ms


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
    "date", "u/utc/universal R/rfc-email d=/date r=/reference s=/set 3=/rfc-3339 I?/iso-8601 f!/file /debug /resolution"
)
def _date(call: Call, options: ProgramOptions) -> int:
    """Print a moment."""
    forms = [operand[1:] for operand in options.operands if operand.startswith("+")]
    forms += _forms_of_options(options)
    if len(options.operands) > 1:
        return call.misuse(f"extra operand '{options.operands[1]}'")
    if len(forms) > 1:
        return call.fail("date: multiple output formats specified")
    if len(options.values.keys() & set("drs")) > 1:
        return call.misuse("the options to specify dates for printing are mutually exclusive")
    clock_ms = call.process.run.clock_ms
    if "r" in options:
        path = options.values["r"]
        if not call.process.exists(call.process.key(path)):  # its time is not kept: the present one (decided)
            return call.fail(f"date: {path}: No such file or directory")
    described = options.values.get("d", options.values.get("s"))
    if described is not None:
        try:
            clock_ms = read_moment(described, clock_ms)
        except NotMoment:
            return call.fail(f"date: invalid date '{described}'")
    elif options.operands and not forms:
        return call.fail(f"date: invalid date '{options.operands[0]}'")
    status = call.fail("date: cannot set date: Operation not permitted") if "s" in options else 0
    call.say(formatted(clock_ms, forms[0] if forms else _USUAL))
    return status


def _forms_of_options(options: ProgramOptions) -> list[str]:
    """Return the formats that ``-I``, ``-R`` and ``--rfc-3339`` stand for."""
    forms = []
    for letter, value in options.all:
        if letter == "R":
            forms.append("%a, %d %b %Y %H:%M:%S %z")
        elif letter in "I3":
            names = [name for name in _FORMS if name.startswith(value or "date")]
            if not names:
                name = "--iso-8601" if letter == "I" else "--rfc-3339"
                raise WrongUsage(f"invalid argument '{value}' for '{name}'")
            form = _FORMS[names[0]]
            forms.append(form if letter == "I" else form.replace("T%", " %", 1).replace(",", "."))
    return forms


def formatted(clock_ms: int, form: str) -> str:
    """Return a moment in a format of ``date``."""

    def one(found: re.Match[str]) -> str:
        flags, width, letter = found["flags"], int(found["width"] or 0), found["letter"]
        if letter in _COMPOSED:
            text = formatted(clock_ms, _COMPOSED[letter])
            return _cased(text, flags).rjust(width)
        if letter == "z":
            return ("+0000", "+00:00", "+00:00:00", "+00")[len(found["colons"])]
        value = _value(clock_ms, letter)
        if value is None or found["colons"]:
            return found[0]
        if letter == "N":
            return f"{value:09}"[: width or 9]
        if isinstance(value, str):
            return _cased(value, flags).rjust(width, "0" if flags.endswith("0") else " ")
        usual, pad = _WIDTHS[letter]
        for flag in flags:
            pad = {"-": "", "_": " ", "0": "0"}.get(flag, pad)
        return str(value).rjust(width or usual, pad) if pad else str(value)

    return _FIELD.sub(one, form)


def _cased(text: str, flags: str) -> str:
    if "^" in flags:
        return text.upper()
    return text if "#" not in flags else text.lower() if text in ("AM", "PM", "UTC") else text.upper()


def _value(clock_ms: int, letter: str) -> int | str | None:
    """Return the value of a letter, or None if it means nothing. Names are those of the C locale on every machine."""
    seconds, fraction_ms = divmod(clock_ms, 1000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        moment = FIRST
    if letter in "YymdjHIMSuwVGUW":
        return int(moment.strftime(f"%{letter}"))
    month, day_name = MONTHS[moment.month - 1].capitalize(), WEEKDAYS[moment.weekday()].capitalize()
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
