"""``date`` of Linux: simulated time, or the moment that ``-d`` describes, in UTC and the C locale."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from engine.base.lazy import lazy_regex
from engine.executors.shell.programs.call import Call, WrongUsage
from engine.executors.shell.programs.moments import FIRST, MONTHS, WEEKDAYS, NotMoment, read_moment
from engine.executors.shell.programs.options import OptionTable, ProgramOptions

_OPTIONS = OptionTable(
    "uR",
    "drs3",
    {
        "date": "d", "reference": "r", "set": "s", "utc": "u", "universal": "u", "rfc-email": "R", "iso-8601": "I",
        "rfc-3339": "3", "file": "f", "debug": "", "resolution": "",
    },
    optional="I",
    others="f",
)  # fmt: skip
_USUAL = "%a %b %e %H:%M:%S %Z %Y"
_FORMS = {
    "date": "%F", "hours": "%FT%H%:z", "minutes": "%FT%H:%M%:z", "seconds": "%FT%T%:z", "ns": "%FT%T,%N%:z",
}  # fmt: skip
_COMPOSED = {
    "F": "%Y-%m-%d", "D": "%m/%d/%y", "x": "%m/%d/%y", "T": "%H:%M:%S", "X": "%H:%M:%S", "R": "%H:%M",
    "r": "%I:%M:%S %p", "c": "%a %b %e %H:%M:%S %Y",
}  # fmt: skip
_FIELD = lazy_regex(r"%(?P<flags>[-_0^#+]*)(?P<width>\d{0,3})(?P<colons>:{0,3})[EO]?(?P<letter>[A-Za-z%])")


def date(call: Call) -> int:
    """Print a moment."""
    options = ProgramOptions(call, _OPTIONS)
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
        if not call.process.files.exists(call.process.key(path)):  # its time is not kept: the present one (decided)
            return call.fail(f"date: {path}: No such file or directory")
    if "d" in options or "s" in options:
        try:
            clock_ms = read_moment(options.values.get("d", options.values.get("s", "")), clock_ms)
        except NotMoment:
            return call.fail(f"date: invalid date '{options.values.get('d', options.values.get('s', ''))}'")
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
    values = _values(clock_ms)

    def one(found: re.Match[str]) -> str:
        flags, width, letter = found["flags"], int(found["width"] or 0), found["letter"]
        if letter in _COMPOSED:
            text = formatted(clock_ms, _COMPOSED[letter])
            return _cased(text, flags).rjust(width)
        if letter == "z":
            return ("+0000", "+00:00", "+00:00:00", "+00")[len(found["colons"])]
        if letter not in values or found["colons"]:
            return found[0]
        value, usual, pad = values[letter]
        if letter == "N":
            return f"{value:09}"[: width or 9]
        if isinstance(value, str):
            return _cased(value, flags).rjust(width, "0" if flags.endswith("0") else " ")
        for flag in flags:
            pad = {"-": "", "_": " ", "0": "0"}.get(flag, pad)
        return str(value).rjust(width or usual, pad) if pad else str(value)

    return _FIELD.sub(one, form)


def _cased(text: str, flags: str) -> str:
    if "^" in flags:
        return text.upper()
    return text if "#" not in flags else text.lower() if text in ("AM", "PM", "UTC") else text.upper()


def _values(clock_ms: int) -> dict[str, tuple[int | str, int, str]]:
    """Return the value of each letter with its usual width, and the character that fills it up."""
    seconds, fraction_ms = divmod(clock_ms, 1000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        moment = FIRST
    weekday, hour = moment.weekday(), moment.hour % 12 or 12
    month = MONTHS[moment.month - 1].capitalize()
    day_name = WEEKDAYS[weekday].capitalize()
    year, week, iso_day = moment.isocalendar()
    day_of_year = moment.timetuple().tm_yday
    numbers = {
        "Y": (moment.year, 4), "y": (moment.year % 100, 2), "C": (moment.year // 100, 2), "m": (moment.month, 2),
        "d": (moment.day, 2), "j": (day_of_year, 3), "H": (moment.hour, 2), "I": (hour, 2), "M": (moment.minute, 2),
        "S": (moment.second, 2), "s": (seconds, 1), "N": (fraction_ms * 1_000_000, 9), "u": (iso_day, 1),
        "w": (iso_day % 7, 1), "V": (week, 2), "G": (year, 4), "g": (year % 100, 2),
        "U": ((day_of_year + 6 - iso_day % 7) // 7, 2), "W": ((day_of_year + 6 - weekday) // 7, 2),
        "q": ((moment.month + 2) // 3, 1),
    }  # fmt: skip
    half = "AM" if moment.hour < 12 else "PM"
    texts = {
        "%": "%", "n": "\n", "t": "\t", "p": half, "P": half.lower(),
        "a": day_name[:3], "A": day_name, "b": month[:3], "h": month[:3], "B": month, "Z": "UTC",
    }  # fmt: skip
    blanks = {"e": (moment.day, 2), "k": (moment.hour, 2), "l": (hour, 2)}
    return (
        {letter: (value, width, "0") for letter, (value, width) in numbers.items()}
        | {letter: (value, width, " ") for letter, (value, width) in blanks.items()}
        | {letter: (text, 0, " ") for letter, text in texts.items()}
    )
