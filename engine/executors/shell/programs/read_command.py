"""``read`` of the Linux shell."""

from __future__ import annotations

import re

from engine.base.lazy import lazy_regex
from engine.executors.shell.programs.call import Call, NotSimulated, check_name

_NAME = lazy_regex(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)
_ESCAPED_BASE = 0xF0000  # characters that a backslash keeps from splitting, until the fields are made


def read(call: Call) -> int:
    """Read a line and give its fields to variables; the last one gets the rest."""
    args, raw = list(call.args), False
    while args and args[0].startswith("-") and args[0] != "-":
        option = args.pop(0)
        if option == "--":
            break
        if option == "-p" and args:
            args.pop(0)
        elif option == "-r":
            raw = True
        else:
            raise NotSimulated
    if not args and not call.process.bash:
        return call.complain("arg count", 2)
    names = args or ["REPLY"]
    for name in names:
        if not _NAME.fullmatch(name):
            return call.complain(f"{name[:80]}: bad variable name", 2)
        check_name(call, name)
    line = call.stdin.line()
    while not raw and re.search(r"(?<!\\)(?:\\\\)*\\\n\Z", line):
        line = line[:-2] + (following := call.stdin.line())
        if not following:
            break
    call.process.run.step(len(line) >> 6)
    ended = not line.endswith("\n")
    values = _line_fields(line.removesuffix("\n"), call.process.env.get("IFS", " \t\n"), len(names), raw=raw)
    call.process.env.update(zip(names, values, strict=True))
    return int(ended)


def _line_fields(line: str, ifs: str, count: int, *, raw: bool) -> list[str]:
    if not raw:
        line = re.sub(
            r"\\(.?)",
            lambda found: chr(_ESCAPED_BASE + ord(found[1])) if found[1] in " \t,:;|=-/" and found[1] else found[1],
            line,
        )
    blanks = "".join(sign for sign in ifs if sign in " \t\n")
    others = "".join(sign for sign in ifs if sign not in " \t\n")
    values: list[str] = []
    rest = line.strip(blanks) if blanks else line
    while len(values) < count - 1:
        at = next((index for index, sign in enumerate(rest) if sign in ifs), len(rest))
        values.append(rest[:at])
        rest = rest[at:].lstrip(blanks) if blanks else rest[at:]
        if rest[:1] and rest[0] in others:
            rest = rest[1:].lstrip(blanks) if blanks else rest[1:]
    if rest[-1:] and rest[-1] in others and not any(sign in ifs for sign in rest[:-1]):
        rest = rest[:-1]
    values.append(rest)
    return values if raw else [_restored(value) for value in values]


def _restored(value: str) -> str:
    return "".join(chr(ord(sign) - _ESCAPED_BASE) if _ESCAPED_BASE <= ord(sign) < 0xF0080 else sign for sign in value)
