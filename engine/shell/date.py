"""The Linux programs about time: ``sleep``, ``timeout``, ``time``, and ``date``.

``date`` prints the simulated time in UTC and the C locale. With ``-d`` it counts as an unknown program (TASK-22).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from engine.base.values import lazy_regex
from engine.shell.call import Call, NotSimulated, Program, ProgramOptions
from engine.shell.files import TimeIsUp

FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip

_USUAL = "%a %b %e %H:%M:%S %Z %Y"
_COMPOSED = {"F": "%Y-%m-%d", "D": "%m/%d/%y", "T": "%H:%M:%S", "R": "%H:%M", "c": "%a %b %e %H:%M:%S %Y"}
_FIELD = lazy_regex(r"%(?P<flag>[-_]?)(?P<width>\d{0,3})(?P<letter>[^-_\d])")


@Program("date", "u/utc/universal")
def _date(call: Call, options: ProgramOptions) -> int:
    """Print the simulated time."""
    given = options.operands
    if len(given) > 1:
        return call.misuse(f"extra operand '{given[1]}'")
    if given and not given[0].startswith("+"):
        return call.fail(f"date: invalid date '{given[0]}'")
    call.say(formatted(call.process.run.clock_ms, given[0][1:] if given else _USUAL))
    return 0


def formatted(clock_ms: int, form: str) -> str:
    """Return a moment in a format of ``date``.

    Raises:
        NotSimulated: The format has a field that is not known here.
    """
    seconds, fraction_ms = divmod(clock_ms, 1000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        moment = FIRST
    month, day_name = _MONTHS[moment.month - 1], _WEEKDAYS[moment.weekday()]  # of the C locale on every machine
    texts = {
        "Y": f"{moment.year:04}", "e": f"{moment.day:2}", "k": f"{moment.hour:2}", "s": str(seconds),
        "a": day_name[:3], "A": day_name, "b": month[:3], "h": month[:3], "B": month, "z": "+0000", "Z": "UTC",
        "p": "AM" if moment.hour < 12 else "PM", "%": "%", "n": "\n", "t": "\t",
    }  # fmt: skip

    def one(found: re.Match[str]) -> str:
        flag, width, letter = found.groups()
        if letter == "N" and not flag:
            return f"{fraction_ms * 1_000_000:09}"[: int(width or 9)]
        if letter in _COMPOSED:
            return formatted(clock_ms, _COMPOSED[letter])
        text = moment.strftime(f"%{letter}") if letter in "ymdjHIMSuwVGUW" else texts.get(letter)
        if text is None or width:
            raise NotSimulated
        if flag == "_":
            return (text.lstrip("0") or "0").rjust(len(text))
        return text.lstrip("0 ") or "0" if flag else text

    return _FIELD.sub(one, form)


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


@Program("time", "p/portability v/verbose a/append q/quiet", stops=True, runs=0)
def _time(call: Call, options: ProgramOptions) -> int:
    """Run a command and print how long it took to standard error."""
    run = call.process.run
    begin_ms = run.clock_ms
    status = call.process.runner.run_words(options.operands, functions=False) if options.operands else 0
    minutes, rest_ms = divmod(run.clock_ms - begin_ms, 60_000)
    call.err.append(f"\nreal\t{minutes}m{rest_ms / 1000:.3f}s\nuser\t0m0.000s\nsys\t0m0.000s\n")
    return status
