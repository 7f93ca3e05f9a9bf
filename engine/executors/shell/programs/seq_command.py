"""``seq`` of Linux."""

from __future__ import annotations

import re
from decimal import Decimal

from engine.base.lazy import lazy_regex
from engine.executors.shell.programs.call import Call
from engine.executors.shell.programs.options import OptionTable, ProgramOptions

_OPTIONS = OptionTable("w", "sf", {"separator": "s", "equal-width": "w", "format": "f"}, stops=True)
_NUMBER = lazy_regex(r"[-+]?(?:\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})(?:[eE][-+]?\d{1,2})?", re.ASCII)
_FIELD = lazy_regex(r"%(?:%|(?P<flags>[-+ #0']*)(?P<width>\d{0,4})(?:\.(?P<places>\d{0,3}))?(?P<kind>[eEfFgGaA]))")


def seq(call: Call) -> int:
    """Print the numbers from the first to the last."""
    options = ProgramOptions(_with_operands(call), _OPTIONS)
    given = options.operands
    if not given:
        return call.misuse("missing operand")
    if len(given) > 3:
        return call.misuse(f"extra operand '{given[3][:80]}'")
    for argument in given:
        if not _NUMBER.fullmatch(argument):
            return call.misuse(f"invalid floating point argument: '{argument[:80]}'")
    if "f" in options and (mistake := _wrong_format(options.values["f"])):
        return call.fail(f"seq: format '{options.values['f'][:80]}' {mistake}")
    if "f" in options and "w" in options:
        return call.misuse("format string may not be specified when printing equal width strings")
    numbers = [Decimal(argument) for argument in given]
    first = numbers[0] if len(numbers) > 1 else Decimal(1)
    increment = numbers[1] if len(numbers) == 3 else Decimal(1)
    if not increment:
        return call.misuse(f"invalid Zero increment value: '{given[1]}'")
    count = int((numbers[-1] - first) / increment) + 1 if (numbers[-1] - first) * increment >= 0 else 0
    call.process.run.step(min(count, 10**9) >> 5)
    places = max((max(-int(number.as_tuple().exponent), 0) for number in numbers[:-1]), default=0)
    values = [first + index * increment for index in range(count)]
    if "f" in options:
        texts = [_in_format(options.values["f"], value) for value in values]
    else:
        texts = [f"{value:.{places}f}" for value in values]
    if "w" in options and texts:
        width = max(len(texts[0]), len(texts[-1]), len(f"{numbers[-1]:.{places}f}"))
        texts = [text.zfill(width) for text in texts]
    if texts:
        call.out.append(options.values.get("s", "\n").join(texts) + "\n")
    return 0


def _with_operands(call: Call) -> Call:
    """Return the call with ``--`` before the first negative number, which is no option."""
    args, at = call.args, 0
    while at < len(args) and args[at].startswith("-") and args[at] != "--":
        if _NUMBER.fullmatch(args[at]):
            return Call(call.process, call.name, [*args[:at], "--", *args[at:]], "", call.stdin, call.out, call.err)
        at += 2 if args[at] in ("-s", "-f", "--separator", "--format") else 1
    return call


def _wrong_format(form: str) -> str:
    """Return what is wrong with a format, or ""."""
    fields = [found for found in _FIELD.finditer(form) if found[0] != "%%"]
    rest = _FIELD.sub("", form)
    if "%" in rest:
        at = rest.index("%")
        kind = re.match(r"%[-+ #0']*\d*(?:\.\d*)?(.?)", rest[at:])
        return f"has unknown %{kind[1]} directive" if kind and kind[1] else "ends in %"
    if not fields:
        return "has no % directive"
    return "has too many % directives" if len(fields) > 1 else ""


def _in_format(form: str, value: Decimal) -> str:
    def one(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        places = "" if found["places"] is None else f".{found['places'] or 0}"
        kind = found["kind"].translate({ord("a"): "e", ord("A"): "E"})
        return f"%{found['flags'].replace(chr(39), '')}{found['width']}{places}{kind}" % float(value)

    return _FIELD.sub(one, form)
