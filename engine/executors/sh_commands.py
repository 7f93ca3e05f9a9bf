"""The commands of the Linux shell, and those of them that are programs of their own (TASK-4)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from engine.executors.commands import Builtin, Call, ScriptExit, ShellProcess, copy_into, succeed

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "a": "\a", "0": "\0"}


def _options(args: Sequence[str]) -> tuple[set[str], list[str]]:
    """Return the letters of the options (of a long one the first letter) and the operands."""
    letters: set[str] = set()
    for index, argument in enumerate(args):
        if argument == "--":
            return letters, [*(other for other in args[:index] if not _is_option(other)), *args[index + 1 :]]
        if _is_option(argument):
            letters.update(argument[2:3] if argument.startswith("--") else argument[1:])
    return letters, [argument for argument in args if not _is_option(argument)]


def _is_option(argument: str) -> bool:
    return len(argument) > 1 and argument.startswith("-")


def _unescaped(text: str) -> str:
    return re.sub(r"\\([ntra0\\])", lambda found: _ESCAPES[found[1]], text)


def _for_each(one: Callable[[Call, set[str], str], int], default: Sequence[str] = ()) -> Builtin:
    """Return a command that runs ``one`` for each operand; the exit code is that of the last operand that failed."""

    def run(call: Call) -> int:
        letters, paths = _options(call.args)
        code = 0
        for path in paths or default:
            code = one(call, letters, path) or code
        return code

    return run


def _echo(call: Call) -> int:
    words, newline, escapes = call.args, "\n", False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        newline = "" if "n" in words[0] else newline
        escapes |= "e" in words[0]
        words = words[1:]
    text = " ".join(words)
    call.out.append((_unescaped(text) if escapes else text) + newline)
    return 0


_FIELD = re.compile(r"%[sd%]")


def _printf(call: Call) -> int:
    if not call.args:
        return call.fail("printf: usage: printf format [arguments]", 2)
    form, arguments = _unescaped(call.args[0]), call.args[1:]
    fields = sum(found != "%%" for found in _FIELD.findall(form))
    while True:
        taken, arguments = iter(arguments[:fields]), arguments[fields:]
        call.out.append(_FIELD.sub(partial(_filled, taken), form))
        if not arguments or not fields:
            return 0


def _filled(arguments: Iterator[str], found: re.Match[str]) -> str:
    return "%" if found[0] == "%%" else next(arguments, "")


def _cat(call: Call, _: set[str], path: str) -> int:
    text = call.stdin if path == "-" else call.process.read(path)
    if text is None:
        return call.fail(f"cat: {path}: No such file or directory")
    call.out.append(text)
    return 0


def _cd(call: Call) -> int:
    path = call.args[0] if call.args else call.process.env.get("HOME", ".")
    if call.process.enter(path):
        return 0
    return call.fail(f"cd: {path}: No such file or directory")


def _cp(call: Call) -> int:
    letters, paths = _options(call.args)
    files = call.process.files
    if len(paths) < 2:
        return call.fail(f"{call.name}: missing file operand")
    *sources, target = paths
    key, code = call.process.key(target), 0
    if len(sources) > 1 and not files.is_dir(key):
        return call.fail(f"{call.name}: target '{target}' is not a directory")
    if not call.process.holds(key):
        return call.fail(f"{call.name}: cannot create '{target}': No such file or directory")
    for source in sources:
        if call.name == "cp" and not letters & {"r", "R", "a"} and files.is_dir(call.process.key(source)):
            code = call.fail(f"cp: -r not specified; omitting directory '{source}'")
        elif not copy_into(call, source, key, move=call.name == "mv"):
            code = call.fail(f"{call.name}: cannot stat '{source}': No such file or directory")
    return code


def _rm(call: Call, letters: set[str], path: str) -> int:
    files, key = call.process.files, call.process.key(path)
    if files.is_dir(key) and not letters & {"r", "R"}:
        return call.fail(f"rm: cannot remove '{path}': Is a directory")
    if not files.delete(key) and "f" not in letters and not call.process.after_unknown:
        return call.fail(f"rm: cannot remove '{path}': No such file or directory")
    return 0


def _mkdir(call: Call) -> int:
    letters, paths = _options(call.args)
    files, code = call.process.files, 0
    for path in paths[1:] if "m" in letters else paths:
        key = call.process.key(path)
        if "p" not in letters and files.exists(key):
            code = call.fail(f"mkdir: cannot create directory '{path}': File exists")
        elif "p" not in letters and not call.process.holds(key):
            code = call.fail(f"mkdir: cannot create directory '{path}': No such file or directory")
        elif not call.process.make_directory(key):
            code = call.fail(f"mkdir: cannot create directory '{path}': Not a directory")
    return code


def _rmdir(call: Call, _: set[str], path: str) -> int:
    files, key = call.process.files, call.process.key(path)
    if not files.is_dir(key):
        return call.fail(f"rmdir: failed to remove '{path}': No such file or directory")
    if files.listdir(key):
        return call.fail(f"rmdir: failed to remove '{path}': Directory not empty")
    files.delete(key)
    return 0


def _touch(call: Call, _: set[str], path: str) -> int:
    files, key = call.process.files, call.process.key(path)
    if not call.process.holds(key):
        return call.fail(f"touch: cannot touch '{path}': No such file or directory")
    if not files.is_dir(key):
        files.append(key, "")
    return 0


def _ls(call: Call, letters: set[str], path: str) -> int:
    files, key = call.process.files, call.process.key(path)
    if not files.exists(key):
        return call.fail(f"ls: cannot access '{path}': No such file or directory", 2)
    names = files.listdir(key) if files.is_dir(key) else [path]
    shows_all = not files.is_dir(key) or letters & {"a", "A"}
    for name in names:
        if shows_all or not name.startswith("."):
            call.say(name)
    return 0


def _pwd(call: Call) -> int:
    call.say(call.process.root.native(call.process.cwd))
    return 0


def _exit(call: Call) -> int:
    if not call.args:
        raise ScriptExit(call.process.status)
    if not _NUMBER.fullmatch(call.args[0]):
        call.fail(f"exit: {call.args[0]}: numeric argument required")
        raise ScriptExit(2)
    raise ScriptExit(int(call.args[0]) & 0xFF)


def _export(call: Call) -> int:
    for argument in call.args:
        name, assigned, value = argument.partition("=")
        if assigned:
            call.process.env[name] = value
    return 0


def _unset(call: Call) -> int:
    for name in call.args:
        call.process.env.pop(name, None)
    return 0


def _set(call: Call) -> int:
    for argument in call.args:
        if argument == "errexit" or (argument[:1] in ("-", "+") and "e" in argument):
            call.process.stop_at_error = not argument.startswith("+")
    return 0


_NUMBER = re.compile(r"-?[0-9]{1,18}")
_NUMERIC: dict[str, Callable[[int, int], bool]] = {
    "-eq": operator.eq,
    "-ne": operator.ne,
    "-lt": operator.lt,
    "-le": operator.le,
    "-gt": operator.gt,
    "-ge": operator.ge,
}
_UNARY: dict[str, Callable[[ShellProcess, str], bool]] = {
    "-n": lambda _, text: bool(text),
    "-z": lambda _, text: not text,
    "-d": lambda process, path: process.files.is_dir(process.key(path)),
    "-e": lambda process, path: process.files.exists(process.key(path)),
    "-f": lambda process, path: process.files.read(process.key(path)) is not None,
    "-r": lambda process, path: process.files.exists(process.key(path)),
    "-s": lambda process, path: bool(process.files.read(process.key(path))),
}


def _test(call: Call) -> int:
    words = list(call.args)
    if call.name == "[" and (not words or words.pop() != "]"):
        return call.fail("[: missing `]'", 2)
    negated = len(words) > 1 and words[0] == "!"
    outcome = _test_outcome(call.process, words[1:] if negated else words)
    if outcome is None:
        return call.fail(f"{call.name}: {' '.join(words)}: unexpected expression", 2)
    return int(outcome is negated)


def _test_outcome(process: ShellProcess, words: list[str]) -> bool | None:
    """Return the value of an expression, or None if it is not valid; a single word is true unless empty."""
    match words:
        case [] | [_]:
            return any(words)
        case [asked, operand] if asked in _UNARY:
            return _UNARY[asked](process, operand)
        case [left, "=" | "==" | "!=" as relation, right]:
            return (left == right) is (relation != "!=")
        case [left, relation, right] if relation in _NUMERIC and _NUMBER.fullmatch(left) and _NUMBER.fullmatch(right):
            return _NUMERIC[relation](int(left), int(right))
    return None


LINUX_PROGRAMS: dict[str, Builtin] = {
    "[": _test,
    "cat": _for_each(_cat, ["-"]),
    "cp": _cp,
    "echo": _echo,
    "false": lambda _: 1,
    "ls": _for_each(_ls, ["."]),
    "mkdir": _mkdir,
    "mv": _cp,
    "printf": _printf,
    "pwd": _pwd,
    "rm": _for_each(_rm),
    "rmdir": _for_each(_rmdir),
    "sleep": succeed,
    "test": _test,
    "touch": _for_each(_touch),
    "true": succeed,
}
SH_COMMANDS: dict[str, Builtin] = LINUX_PROGRAMS | {
    ":": succeed,
    "cd": _cd,
    "exit": _exit,
    "export": _export,
    "set": _set,
    "unset": _unset,
    "wait": succeed,
}
