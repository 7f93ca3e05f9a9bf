"""``env`` and ``printenv`` of Linux."""

from __future__ import annotations

import re

from engine.base.lazy import lazy_regex
from engine.executors.shell.programs.call import Call
from engine.executors.shell.programs.options import OptionTable, ProgramOptions

_ENV = OptionTable(
    "i0v",
    "uC",
    {"ignore-environment": "i", "null": "0", "unset": "u", "chdir": "C", "debug": "v", "split-string": ""},
    others="Sv",
    usage=125,
    stops=True,
)
_PRINTENV = OptionTable("0", "", {"null": "0"}, usage=2, stops=True)
_ASSIGNMENT = lazy_regex(r"([^=]+)=(.*)", re.DOTALL)


def env(call: Call) -> int:
    """Print the exported variables, or run a command with some more of them."""
    process = call.process
    options = ProgramOptions(call, _ENV)
    args = options.operands
    empties = "i" in options
    if args[:1] == ["-"]:
        args, empties = args[1:], True
    shown = {name: text for name, text in process.env.items() if name in process.exported and not empties}
    for letter, name in options.all:
        if letter == "u":
            shown.pop(name, None)
    while args and (found := _ASSIGNMENT.fullmatch(args[0])):
        shown[found[1]] = found[2]
        args = args[1:]
    if not args:
        _show(call, shown, options)
        return 0
    if "0" in options:
        return call.misuse("cannot specify --null (-0) with command", 125)
    assert process.runner is not None
    before = process.env, process.exported, process.cwd
    process.env, process.exported = shown, set(shown)
    try:
        if "C" in options and not process.enter(options.values["C"]):
            return call.fail(f"env: cannot change directory to '{options.values['C']}': No such file or directory", 125)
        return process.runner.run_words(args, functions=False)
    finally:
        process.env, process.exported, process.cwd = before


def printenv(call: Call) -> int:
    """Print the values of exported variables: 1 if one is not set."""
    process = call.process
    options = ProgramOptions(call, _PRINTENV)
    exported = {name: text for name, text in process.env.items() if name in process.exported}
    if not options.operands:
        _show(call, exported, options)
        return 0
    for name in options.operands:
        if name in exported:
            call.out.append(exported[name] + _end(options))
    return int(any(name not in exported for name in options.operands))


def _show(call: Call, variables: dict[str, str], options: ProgramOptions) -> None:
    for name, text in variables.items():
        call.out.append(f"{name}={text}{_end(options)}")


def _end(options: ProgramOptions) -> str:
    return "\0" if "0" in options else "\n"
