"""The Linux programs about time, names and the environment."""

from __future__ import annotations

import re

from engine.base.lazy import lazy_regex
from engine.executors.shell.language.syntax import SHELL_OPTIONS
from engine.executors.shell.programs.call import Builtin, Call, NotSimulated
from engine.executors.shell.programs.date_command import date
from engine.executors.shell.programs.env_commands import env, printenv
from engine.executors.shell.programs.expr_command import expr
from engine.executors.shell.programs.name_commands import basename, dirname
from engine.executors.shell.programs.options import OptionTable, ProgramOptions

_SLEEP = lazy_regex(r"(?P<number>\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})(?P<unit>[smhd]?)", re.ASCII)
_SLEEP_OPTIONS = OptionTable()
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


def sleep(call: Call) -> int:
    """Let the simulated time of the process pass."""
    times = ProgramOptions(call, _SLEEP_OPTIONS).operands
    if not times:
        return call.misuse("missing operand")
    total = slept_ms(times)
    if total is None:
        wrong = next(argument for argument in times if slept_ms([argument]) is None)
        return call.misuse(f"invalid time interval '{wrong[:80]}'")
    run = call.process.run
    run.clock_ms = min(run.clock_ms + total, run.start_ms + _LONGEST_MS)
    return 0


def _hostname(call: Call) -> int:
    """Print the id of the node, which stands for the name of its machine (decided here)."""
    if call.args:
        raise NotSimulated
    call.say(call.process.env.get("AZ_BATCH_NODE_ID", "localhost"))
    return 0


def _which(call: Call) -> int:
    """Print the path of programs: every program exists."""
    for name in call.args:
        call.say(name if "/" in name else f"/usr/bin/{name}")
    return int(not call.args)


def _shell(call: Call) -> int:
    """Run a script in a new shell: from ``-c``, from a file whose text is known, or from standard input."""
    process, args = call.process, list(call.args)
    bash, options, script, reads = call.name == "bash", set[str](), False, False
    while args and len(args[0]) > 1 and args[0][0] == "-":
        letters = args.pop(0)[1:]
        if not set(letters) <= set("ceuxfls"):
            raise NotSimulated
        reads |= "s" in letters
        options |= {SHELL_OPTIONS[letter] for letter in letters if letter in SHELL_OPTIONS}
        script |= "c" in letters
    assert process.runner is not None
    if script:
        if not args:
            return call.fail(f"{call.name}: 0: -c requires an argument", 2)
        name, arguments = (args[1], args[2:]) if len(args) > 1 else (call.name, [])
        return process.runner.run_child(args[0], name, arguments, bash=bash, options=options)
    if args and not reads:
        key = process.key(args[0])
        text = process.files.read(key)
        if text is None and process.in_script and process.must_know(key):
            if bash:
                return call.fail(f"bash: {args[0]}: No such file or directory", 127)
            return call.fail(f"{call.name}: 0: cannot open {args[0]}: No such file", 2)
        if not text:
            raise NotSimulated
        return process.runner.run_child(text, args[0], args[1:], bash=bash, options=options)
    if not call.stdin.text:
        raise NotSimulated
    return process.runner.run_child(call.stdin.read(), call.name, args, bash=bash, options=options)


_UNAME = OptionTable("snmo", others="arvpi")


def _uname(call: Call) -> int:
    options = ProgramOptions(call, _UNAME)
    known = {"s": "Linux", "n": call.process.env.get("AZ_BATCH_NODE_ID", "localhost"), "m": "x86_64", "o": "GNU/Linux"}
    call.say(" ".join(known[letter] for letter in "snmo" if letter in options) or "Linux")
    return 0


def _exit_of_false(_: Call) -> int:
    return 1


PROGRAM_COMMANDS: dict[str, Builtin] = {
    "basename": basename,
    "bash": _shell,
    "dash": _shell,
    "date": date,
    "dirname": dirname,
    "env": env,
    "expr": expr,
    "false": _exit_of_false,
    "hostname": _hostname,
    "printenv": printenv,
    "sh": _shell,
    "sleep": sleep,
    "uname": _uname,
    "which": _which,
}
