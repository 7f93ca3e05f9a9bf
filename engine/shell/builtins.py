"""The commands of the Linux shell itself, such as ``export`` and ``read``, and those that run others, as ``env``."""

from __future__ import annotations

import re
from functools import partial

from engine.base.values import lazy_regex
from engine.shell.call import (
    NAME,
    RUNNERS,
    SHELL_BUILTINS,
    Call,
    FunctionReturn,
    LoopExit,
    NotSimulated,
    Program,
    ProgramOptions,
    ScriptExit,
    command,
    succeed,
)
from engine.shell.expansion import delimiter
from engine.shell.syntax import KEYWORDS, SHELL_OPTIONS


def shell_error(call: Call, text: str) -> ScriptExit:
    """Report a mistake in a special command, and return the exception that ends the script."""
    call.complain(text)
    return ScriptExit(2)


def check_name(call: Call, name: str) -> None:
    """End the script if a variable cannot have this name, or is read-only."""
    if not NAME.fullmatch(name):
        raise shell_error(call, f"{name[:80]}: bad variable name")
    if name in call.process.read_only:
        raise shell_error(call, f"{name}: is read only")


_builtin = partial(command, SHELL_BUILTINS)

SHELL_BUILTINS |= dict.fromkeys((":", "hash", "times"), succeed)


@_builtin("read")
def _read(call: Call) -> int:
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
        if not NAME.fullmatch(name):
            return call.complain(f"{name[:80]}: bad variable name", 2)
        check_name(call, name)
    line = call.stdin.line()
    while not raw and line.endswith("\\\n"):
        line = line[:-2] + call.stdin.line()
    call.process.run.step(len(line) >> 6)
    ended = not line.endswith("\n")
    values = _line_fields(line.removesuffix("\n"), call.process.env.get("IFS", " \t\n"), len(names))
    if not raw:  # a backslash keeps no character from splitting, as it does in a real shell (decided here)
        values = [re.sub(r"\\(.?)", r"\1", value) for value in values]
    call.process.env.update(zip(names, values, strict=True))
    return int(ended)


def _line_fields(line: str, ifs: str, count: int) -> list[str]:
    blanks = "".join(sign for sign in ifs if sign in " \t\n")
    values = delimiter(ifs).split(line.strip(blanks), count - 1) if count > 1 else [line.strip(blanks)]
    values += [""] * (count - len(values))
    rest = values[-1]
    if rest and rest[-1] in ifs and rest[-1] not in blanks and not any(sign in ifs for sign in rest[:-1]):
        values[-1] = rest[:-1]
    return values


_NUMBER = lazy_regex(r"[-+]?[0-9]{1,18}", re.ASCII)


def _status(call: Call) -> int:
    """Return the status that the argument gives, or that of the last command."""
    if not call.args:
        return call.process.status
    if not _NUMBER.fullmatch(call.args[0]) or (call.args[0][0] == "-" and not call.process.bash):
        raise shell_error(call, f"Illegal number: {call.args[0][:80]}")
    return int(call.args[0]) & (0xFF if call.process.bash else 0xFFFFFFFF)


def _count(call: Call, least: int) -> int:
    """Return the number that the argument gives, or 1."""
    text = call.args[0] if call.args else "1"
    if not text.isdecimal() or int(text[:9]) < least:
        raise shell_error(call, f"Illegal number: {text[:80]}")
    return int(text[:9])


@_builtin("exit")
def _exit(call: Call) -> int:
    raise ScriptExit(_status(call) & 0xFF if call.args else call.process.status)


@_builtin("return")
def _return(call: Call) -> int:
    raise FunctionReturn(_status(call))


@_builtin("break", "continue")
def _leave_loop(call: Call) -> int:
    levels = _count(call, 1)
    if not call.process.loops:
        return 0
    raise LoopExit(min(levels, call.process.loops), goes_on=call.name == "continue")


@_builtin("export", "local", "readonly")
def _declare(call: Call) -> int:
    """Give variables values, and make them exported, local to the function, or read-only."""
    process = call.process
    if call.name == "local" and not process.locals:
        raise shell_error(call, "not in a function")
    for argument in call.args:
        if argument == "-p":
            raise NotSimulated
        name, assigned, value = argument.partition("=")
        check_name(call, name)
        if call.name == "local":
            process.locals[-1].setdefault(name, process.env.get(name))
        else:
            (process.exported if call.name == "export" else process.read_only).add(name)
        if assigned:
            process.env[name] = value
    return 0


@_builtin("unset")
def _unset(call: Call) -> int:
    for name in (each for each in call.args if each not in ("-f", "-v")):
        if "-f" in call.args:
            call.process.functions.pop(name, None)
        else:
            check_name(call, name)
            call.process.env.pop(name, None)
            call.process.exported.discard(name)
    return 0


@_builtin("set")
def _set(call: Call) -> int:
    process = call.process
    args = list(call.args)
    if not args:
        for name in sorted(process.env):
            quoted = process.env[name].replace("'", "'\"'\"'")
            call.say(f"{name}='{quoted}'")
    while args and args[0][:1] in ("-", "+") and len(args[0]) > 1:
        word = args.pop(0)
        if word == "--":
            process.arguments = args
            return 0
        for letter in word[1:]:
            if letter == "o":
                if not args:
                    return 0
                option = args.pop(0)
            else:
                option = SHELL_OPTIONS.get(letter, "")
            known = option in SHELL_OPTIONS.values() or (option == "pipefail" and process.bash)
            if not known and letter not in "bhmnI" and option not in ("monitor", "vi", "emacs", "ignoreeof", "notify"):
                raise shell_error(call, f"Illegal option {word[0]}{letter if letter != 'o' else f'o {option[:80]}'}")
            (process.options.add if word[0] == "-" else process.options.discard)(option)
    if args:
        process.arguments = args
    return 0


@_builtin("shift")
def _shift(call: Call) -> int:
    count = _count(call, 0)
    if count <= len(call.process.arguments):
        call.process.arguments = call.process.arguments[count:]
        return 0
    if call.process.bash:
        return 1
    raise shell_error(call, "can't shift that many")


@_builtin("eval")
def _eval(call: Call) -> int:
    return call.process.runner.run_text(" ".join(call.args), "eval: ")


_OTHER_SH = lazy_regex(r"\b(?:rhel|suse)\b")  # systems on which sh is bash


@_builtin(".", "source")
def _dot(call: Call) -> int:
    """Run the script in a file here. A file that a program may have written is empty."""
    process = call.process
    if call.name == "source" and not process.bash and not _OTHER_SH.search(process.files.read("/etc/os-release") or ""):
        return call.complain("not found", 127)
    if not call.args:
        raise shell_error(call, "filename argument required") if process.bash else ScriptExit(0)
    text = process.read(call.args[0])
    if text is None and process.bash:
        call.err.append(f"{process.place}{call.args[0][:80]}: No such file or directory\n")
        return 1
    if text is None:
        found = "/" in call.args[0]
        raise shell_error(call, f"cannot open {call.args[0]}: No such file" if found else f"{call.args[0]}: not found")
    try:
        return process.runner.run_text(text)
    except FunctionReturn as returned:
        return returned.code


RUNNERS["exec"] = Program("exec", "c l a=", stops=True, runs=0)


@_builtin("exec")
def _exec(call: Call) -> int:
    words = ProgramOptions(call.args, RUNNERS["exec"]).operands if call.process.bash else call.args
    if not words:
        return 0
    call.process.traps.clear()
    raise ScriptExit(call.process.runner.run_program(call.name, words))


@Program("nohup", usage=125, stops=True, least=1, runs=0)
def _nohup(call: Call, options: ProgramOptions) -> int:
    return call.process.runner.run_program(call.name, options.operands)


@Program("nice", "n=/adjustment 0 1 2 3 4 5 6 7 8 9", stops=True, runs=0)
def _nice(call: Call, options: ProgramOptions) -> int:
    if not options.operands:
        call.say("0")
        return 0
    return call.process.runner.run_program(call.name, options.operands)


_ASSIGNMENT = lazy_regex(r"([A-Za-z_][A-Za-z_0-9]*)=(.*)", re.DOTALL)
_SECURE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@Program(
    "sudo",
    "E?/preserve-env H/set-home n/non-interactive S/stdin b/background k/reset-timestamp u=/user g=/group p=/prompt "
    "P/preserve-groups",
    stops=True,
    least=1,
    runs=0,
)
def _sudo(call: Call, options: ProgramOptions) -> int:
    """Run a command as the administrator, who sees few of the variables unless ``-E`` keeps them."""
    process, words = call.process, options.operands
    user = options.values.get("u", "root")
    given = process.exported_variables() if "E" in options else {"TERM": "unknown"}
    given |= {"HOME": "/root" if user == "root" else f"/home/{user}", "LOGNAME": user, "USER": user}
    given |= {"PATH": _SECURE_PATH, "SUDO_USER": process.env.get("USER", "")}
    while words and (found := _ASSIGNMENT.fullmatch(words[0])):
        given[found[1]], words = found[2], words[1:]
    if not words:
        return call.misuse("a command is missing")
    with process.files.unguarded():
        return run_with(call, given, words)


@Program("env", "i/ignore-environment v u=/unset", stops=True, runs=0)
def _env(call: Call, options: ProgramOptions) -> int:
    """Print the exported variables, or run a command with some more of them."""
    process = call.process
    args = options.operands
    empties = "i" in options
    if args[:1] == ["-"]:
        args, empties = args[1:], True
    shown = {} if empties else process.exported_variables()
    for letter, name in options.all:
        if letter == "u":
            shown.pop(name, None)
    while args and "=" in args[0]:
        name, _, shown[name] = args[0].partition("=")
        args = args[1:]
    if not args:
        show_variables(call, shown)
        return 0
    return run_with(call, shown, args)


def run_with(call: Call, variables: dict[str, str], words: list[str]) -> int:
    """Run a program that sees these variables only, and return its status."""
    process = call.process
    before = process.env, process.exported
    process.env, process.exported = variables, set(variables)
    try:
        return process.runner.run_program(call.name, words)
    finally:
        process.env, process.exported = before


@Program("printenv", stops=True)
def _printenv(call: Call, options: ProgramOptions) -> int:
    """Print the values of exported variables: 1 if one is not set."""
    exported = call.process.exported_variables()
    if not options.operands:
        show_variables(call, exported)
        return 0
    for name in options.operands:
        if name in exported:
            call.say(exported[name])
    return int(any(name not in exported for name in options.operands))


def show_variables(call: Call, variables: dict[str, str]) -> None:
    """Print variables with their values."""
    for name, text in variables.items():
        call.say(f"{name}={text}")


@_builtin("trap")
def _trap(call: Call) -> int:
    """Keep the action for the end of the shell; signals do not come here."""
    args = call.args[1:] if call.args[:1] == ["--"] else call.args
    if len(args) < 2:
        for name, action in call.process.traps.items():
            call.say(f"trap -- '{action}' {name}")
        return 0
    action, *names = args
    if "EXIT" in names or "0" in names:
        if action == "-":
            call.process.traps.pop("EXIT", None)
        else:
            call.process.traps["EXIT"] = action
    return 0


_ALSO_PROGRAMS = frozenset({"[", "echo", "false", "printf", "pwd", "test", "true"})


def _is_inner(name: str) -> bool:
    """Return whether a command is part of the shell."""
    return name in SHELL_BUILTINS or name in _ALSO_PROGRAMS


RUNNERS["command"] = Program("command", "p", stops=True, runs=0)


@_builtin("command")
def _command(call: Call) -> int:
    args = list(call.args)
    runner = call.process.runner
    if args[:1] in (["-v"], ["-V"]):
        for name in args[1:]:
            inner = _is_inner(name) or name in KEYWORDS or name in call.process.functions
            call.say(name if inner or "/" in name else f"/usr/bin/{name}")
        return int(len(args) < 2)
    if args[:1] in (["-p"], ["--"]):
        args = args[1:]
    return runner.run_words(args, functions=False) if args else 0


@_builtin("type")
def _type(call: Call) -> int:
    for name in call.args:
        call.say(f"{name} is a shell builtin" if _is_inner(name) else f"{name} is /usr/bin/{name}")
    return 0


@_builtin("wait")
def _wait(call: Call) -> int:
    """Let the time pass until what runs in the background has ended; return the status of the last one named."""
    run, status = call.process.run, 0
    if not call.args:
        run.wait_until(max([run.clock_ms, *(job.ends_ms for job in run.jobs)]))
    for argument in call.args:
        if not argument.isdecimal():
            raise shell_error(call, f"Illegal number: {argument[:80]}")
        job = run.job(argument)
        status = job.status if job else 127
        run.wait_until(job.ends_ms if job else 0)
    return status


@_builtin("umask", "ulimit")
def _limit(call: Call) -> int:
    """Set a limit, which has no effect; what it prints is not known."""
    if len(call.args) < (1 if call.name == "umask" else 2):
        raise NotSimulated
    return 0
