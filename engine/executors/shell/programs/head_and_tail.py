"""``head`` and ``tail`` of Linux."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from engine.base.lazy import lazy_regex
from engine.executors.shell.programs.call import Call, WrongUsage
from engine.executors.shell.programs.options import OptionTable, ProgramOptions
from engine.executors.shell.programs.text_input import inputs, with_ends

_WORDS = {"lines": "n", "bytes": "c", "quiet": "q", "silent": "q", "verbose": "v", "zero-terminated": "z"}
_HEAD = OptionTable("qvz", "nc", _WORDS)
_FOLLOWING = {"follow": "f", "retry": "F", "sleep-interval": "", "pid": "", "max-unchanged-stats": ""}
_TAIL = OptionTable("qvz", "nc", _WORDS | _FOLLOWING, others="fFs")
_NUMBER = lazy_regex(r"([-+]?)(\d{1,15})(?:([bkKMG])(i?B)?)?", re.ASCII)
_OLD_FORM = lazy_regex(r"([-+])(\d{1,9})")
_FACTORS = {"b": 512, "k": 1024, "K": 1024, "M": 1024**2, "G": 1024**3}


class _Part(NamedTuple):
    """The part of a text to print: its sign says from which end the number counts."""

    in_bytes: bool
    sign: str
    number: int
    end: str  # of a line


def _part(options: ProgramOptions, usual_sign: str) -> _Part:
    """Return the part that the options name.

    Raises:
        WrongUsage: The number is none.
    """
    unit = options.last_of("nc") or "n"
    given = options.values.get(unit, "10")
    found = _NUMBER.fullmatch(given)
    if found is None:
        raise WrongUsage(f"invalid number of {'bytes' if unit == 'c' else 'lines'}: '{given.lstrip('+-')[:80]}'")
    factor = _FACTORS.get(found[3], 1) if found[4] != "B" else 1000 ** ("KMG".find(found[3].upper()) + 1)
    return _Part(unit == "c", found[1] or usual_sign, int(found[2]) * factor, "\0" if "z" in options else "\n")


def _modern(call: Call) -> Call:
    """Return the call with ``-3`` as ``-n 3``."""
    args = call.args
    found = _OLD_FORM.fullmatch(args[0]) if args else None
    if found is None or (found[1] == "+" and call.name == "head"):
        return call
    number = found[0] if found[1] == "+" else found[2]
    return Call(call.process, call.name, ["-n", number, *args[1:]], "", call.stdin, call.out, call.err)


def head(call: Call) -> int:
    """Print the first part of each text."""
    options = ProgramOptions(_modern(call), _HEAD)
    try:
        part = _part(options, "+")
    except WrongUsage as mistake:
        return call.fail(f"head: {mistake}")
    if not options.operands and not part.in_bytes and part.sign == "+" and "z" not in options and "v" not in options:
        return _first_lines(call, part.number)
    return _of_each(call, options, part, _from_begin)


def tail(call: Call) -> int:
    """Print the last part of each text."""
    options = ProgramOptions(_modern(call), _TAIL)
    try:
        part = _part(options, "-")
    except WrongUsage as mistake:
        return call.fail(f"tail: {mistake}")
    return _of_each(call, options, part, _from_end)


def _from_begin(parts: Sequence[str] | bytes, part: _Part) -> Sequence[str] | bytes:
    if part.sign == "+":
        return parts[: part.number]
    return parts[: -part.number] if part.number else parts


def _from_end(parts: Sequence[str] | bytes, part: _Part) -> Sequence[str] | bytes:
    if part.sign == "+":
        return parts[max(part.number - 1, 0) :]
    return parts[-part.number :] if part.number else parts[:0]


_Chooser = Callable[[Sequence[str] | bytes, _Part], Sequence[str] | bytes]


def _of_each(call: Call, options: ProgramOptions, part: _Part, choose: _Chooser) -> int:
    status, first = 0, True
    several = options.last_of("qv") == "v" or (len(options.operands) > 1 and "q" not in options)
    for path, text in inputs(call, options.operands):
        if text is None:
            status = 1
            continue
        if several:
            name = "standard input" if path == "-" else path
            call.out.append(f"{'' if first else chr(10)}==> {name} <==\n")
        first = False
        call.out.append(_chosen(text, part, choose))
    return status


def _chosen(text: str, part: _Part, choose: _Chooser) -> str:
    if part.in_bytes and not text.isascii():
        # A character that is cut in two becomes a sign of replacement, since files hold text (decided here).
        chosen = choose(text.encode("utf-8", "surrogatepass"), part)
        return bytes(chosen).decode("utf-8", "replace") if isinstance(chosen, bytes) else ""
    if part.in_bytes:
        return "".join(choose(text, part))  # type: ignore[arg-type]  # a text is the sequence of its characters
    if part.end == "\0":
        return "".join(choose([f"{piece}\0" for piece in text.removesuffix("\0").split("\0")], part))  # type: ignore[arg-type]
    return "".join(choose(with_ends(text), part))  # type: ignore[arg-type]


def _first_lines(call: Call, number: int) -> int:
    """Print the first lines of standard input and leave a regular file after them."""
    for _ in range(number):
        line = call.stdin.line()
        if not line:
            break
        call.out.append(line)
        call.process.run.step(len(line) >> 6)
    if not call.stdin.regular:
        call.stdin.read()
    return 0
