"""The shell cmd of Windows: reading of its scripts, and its built-in commands (TASK-4).

A script is a list of and-or chains of pipelines of commands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from engine.base.paths import WILDCARD, name_of, parent
from engine.base.values import lazy_regex
from engine.shell.call import Builtin, Call, ScriptExit, copy_into, succeed
from engine.shell.syntax import AndOr, Pipeline, Redirect, Script, ShellCommand, literal

BATCH_FILES = (".bat", ".cmd")
WINDOWS_ARGUMENT = lazy_regex(r'(?:"[^"]*"?|[^\s"])+')


_PERCENT = lazy_regex(r"%([^%=\s]+)%")
_PARAMETER = lazy_regex(r"%(?:(?P<percent>%)|(?P<all>\*)|(?P<directory>~dp0)|~?(?P<number>[0-9]))")
_NOT_RUN = lazy_regex(r"@?\s*(?:rem(?:\s|$)|:|echo\s+(?:off|on)\s*$|setlocal\b|endlocal\b)", re.IGNORECASE)


class _BeyondGrammarError(Exception):
    """A construct outside the grammar, which makes the script an unknown program."""


def read_cmd_script(script: str) -> Script | None:
    """Read a script of cmd; return None if it is outside the small shell's grammar."""
    try:
        return _CmdReader(script).chains()
    except _BeyondGrammarError:
        return None


def percent_expanded(script: str, variables: Mapping[str, str]) -> str:
    """Replace ``%NAME%`` by the variable of that name in any case; unknown ones stay as written."""
    folded = {name.upper(): value for name, value in variables.items()}
    return _PERCENT.sub(lambda found: folded.get(found[1].upper(), found[0]), script)


def batch_lines(text: str) -> list[str] | None:
    """Return the lines of a batch file that do something; None if one is outside the small shell's grammar.

    The lines are not printed before they run, as after ``@echo off`` (decided here).
    """
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not _NOT_RUN.match(line)]
    return None if any(read_cmd_script(line) is None for line in lines) else lines


def batch_line(line: str, arguments: Sequence[str], variables: Mapping[str, str]) -> str:
    """Replace ``%1``, ``%*``, ``%~dp0`` and variables in a line of a batch file; ``arguments`` begin with its path."""

    def parameter(found: re.Match[str]) -> str:
        if found["percent"]:
            return "%"
        if found["all"]:
            return " ".join(arguments[1:])
        if found["directory"]:
            head, backslash, _ = arguments[0].rpartition("\\")
            return head + backslash
        number = int(found["number"])
        return arguments[number] if number < len(arguments) else ""

    pieces = re.split(r"(%[^%=\s0-9~*]+%)", line)
    return "".join(
        percent_expanded(piece, variables) if at % 2 else _PARAMETER.sub(parameter, piece)
        for at, piece in enumerate(pieces)
    )


_CMD_TOKEN = lazy_regex(
    r"""(?P<escaped>\^.?)
    |(?P<quoted>"[^"]*"?)
    |(?P<operator>&&|\|\||[&|\n])
    |(?P<redirect>(?:(?:(?<=[\s"])|^)(?P<handle>[0-9]))?(?P<sign>>>|>|<)(?:&(?P<same>[12])|\s*(?P<target>(?:"[^"]*"?|[^\s"&|<>])+)))
    |(?P<beyond>[<>]) |(?P<plain>[^\^"&|<>\n0-9]+|[0-9]+?)""",
    re.VERBOSE | re.DOTALL,
)
_CMD_NAME = lazy_regex(
    r"""@*\s*(?P<name>"[^"]*"|(?:echo|cd|chdir|md|mkdir|rd|rmdir|dir|type|del)(?=[.\\/:(,;+=\[\]"\s]|$)|[^\s"]+)""",
    re.I,
)
_CMD_KEYWORDS = frozenset({"call", "for", "goto", "if", "rem", "start"})


class _CmdReader:
    """The words of cmd: escapes with ``^``, double quotes only, redirections anywhere in the command."""

    def __init__(self, script: str) -> None:
        self.script = script
        self.at = 0
        self._operator = ""

    def chains(self) -> Script:
        """Return the lists of the script."""
        found: list[AndOr] = []
        while True:
            parts, operator = self._chain()
            if parts:
                found.append(AndOr(tuple(parts)))
            if not operator:
                return tuple(found)

    def _chain(self) -> tuple[list[tuple[str, Pipeline]], str]:
        parts: list[tuple[str, Pipeline]] = []
        joined_by = "&&"
        while True:
            pipeline, operator = self._pipeline()
            if pipeline.commands:
                parts.append((joined_by, pipeline))
            elif parts or operator in ("&&", "||"):
                raise _BeyondGrammarError
            if operator not in ("&&", "||"):
                return parts, operator
            joined_by = operator

    def _pipeline(self) -> tuple[Pipeline, str]:
        commands: list[ShellCommand] = []
        while True:
            command = self._command()
            operator = self._operator
            if command is not None:
                commands.append(command)
            elif commands or operator == "|":
                raise _BeyondGrammarError
            if operator != "|":
                return Pipeline(tuple(commands)), operator

    def _command(self) -> ShellCommand | None:
        text, redirects = "", []
        self._operator = ""
        while self.at < len(self.script):
            token = _CMD_TOKEN.match(self.script, self.at)
            if token is None or token["beyond"]:
                raise _BeyondGrammarError
            self.at = token.end()
            if token["operator"]:
                self._operator = token["operator"]
                break
            if token["redirect"]:
                redirects.append(_cmd_redirect(token))
            else:
                text += token[0].removeprefix("^") if token["escaped"] else token[0]
        return _cmd_command(text, tuple(redirects))


def _cmd_redirect(token: re.Match[str]) -> Redirect:
    handle = int(token["handle"]) if token["handle"] else int(token["sign"] != "<")
    if token["same"]:
        return Redirect(handle, same_as=int(token["same"]))
    return Redirect(
        handle, literal(token["target"].replace('"', "")), append=token["sign"] == ">>", reads=token["sign"] == "<"
    )


def _cmd_command(text: str, redirects: tuple[Redirect, ...]) -> ShellCommand | None:
    """Return the command without trailing blanks, though cmd prints those before ``>>`` and ``&`` (decided here)."""
    text = text.lstrip(" \t,;=").rstrip()
    found = _CMD_NAME.match(text)
    if found is None:
        if redirects:
            return ShellCommand((), redirects)
        return None
    name, rest = found["name"].replace('"', ""), text[found.end() :]
    if name.startswith("(") or name.lower() in _CMD_KEYWORDS:
        raise _BeyondGrammarError
    words = [name, *(word.replace('"', "") for word in WINDOWS_ARGUMENT.findall(rest))]
    return ShellCommand(tuple(literal(word) for word in words), redirects, rest=rest)


def _switches(args: Sequence[str]) -> tuple[set[str], list[str]]:
    """Return the letters of the switches in lower case, and the operands."""
    letters = {argument[1:2].lower() for argument in args if argument.startswith("/")}
    return letters, [argument for argument in args if not argument.startswith("/")]


def _cmd_echo(call: Call) -> int:
    """Print what follows the name after one separating character, as written."""
    text = call.rest[1:]
    if not text and not call.rest.strip():
        call.say("ECHO is on.")
    elif text.strip().lower() not in ("on", "off"):
        call.say(text)
    return 0


def _cmd_cd(call: Call) -> int:
    _, paths = _switches(call.args)
    if not paths:
        call.say(call.process.root.native(call.process.cwd))
        return 0
    if call.process.enter(paths[0]):
        return 0
    return call.fail("The system cannot find the path specified.")


def _cmd_mkdir(call: Call) -> int:
    code = 0
    for path in call.args:
        key = call.process.key(path)
        if call.process.files.exists(key):
            code = call.fail(f"A subdirectory or file {path} already exists.")
        elif not call.process.make_directory(key):
            code = call.fail("The system cannot find the path specified.")
    return code


def _cmd_rmdir(call: Call) -> int:
    letters, paths = _switches(call.args)
    files, code = call.process.files, 0
    for path in paths:
        key = call.process.key(path)
        if not files.is_dir(key):
            code = call.fail("The system cannot find the file specified.", 2)
        elif files.listdir(key) and "s" not in letters:
            code = call.fail("The directory is not empty.", 145)
        else:
            files.delete(key)
    return code


def _cmd_del(call: Call) -> int:
    _, paths = _switches(call.args)
    files = call.process.files
    for path in paths:
        key = call.process.key(path)
        pattern = f"{path}\\*" if files.is_dir(key) else path
        found = [call.process.key(match) for match in _sources(call, pattern)]
        gone = [files.delete(match) for match in found if not files.is_dir(match)]
        if not any(gone) and not files.is_dir(key):
            call.fail(f"Could Not Find {call.process.root.native(key)}")
    return 0


def _sources(call: Call, path: str) -> list[str]:
    return call.process.matches(path) if WILDCARD.search(path) else [path]


def _cmd_copy(call: Call) -> int:
    _, paths = _switches(call.args)
    process, move = call.process, call.name.lower() == "move"
    if not paths:
        return call.fail("The syntax of the command is incorrect.")
    target = process.key(paths[1] if len(paths) > 1 else ".")
    if not process.holds(target):
        return call.fail("The system cannot find the path specified.")
    done = [source for source in _sources(call, paths[0]) if copy_into(call, source, target, move=move)]
    if not done:
        return call.fail("The system cannot find the file specified.")
    call.say(f"        {len(done)} file(s) {'moved' if move else 'copied'}.")
    return 0


def _cmd_ren(call: Call) -> int:
    if len(call.args) != 2:
        return call.fail("The syntax of the command is incorrect.")
    source, name = call.args
    directory = parent(call.process.key(source))
    target = f"{directory}/{name}" if directory else name
    if call.process.files.exists(target):
        return call.fail("A duplicate file name exists, or the file cannot be found.")
    if copy_into(call, source, target, move=True):
        return 0
    return call.fail("The system cannot find the file specified.")


def _cmd_type(call: Call) -> int:
    code = 0
    for path in call.args:
        text = call.process.read(path)
        if text is None:
            code = call.fail("The system cannot find the file specified.")
        else:
            call.out.append(text)
    return code


def _cmd_dir(call: Call) -> int:
    letters, paths = _switches(call.args)
    process, code = call.process, 0
    for path in paths or ["."]:
        key = process.key(path)
        if process.files.is_dir(key):
            _list_directory(call, key, bare="b" in letters, deep="s" in letters)
        elif process.files.exists(key):
            call.say(name_of(key))
        else:
            code = call.fail("File Not Found")
    return code


def _list_directory(call: Call, key: str, *, bare: bool, deep: bool) -> None:
    files, root, pending = call.process.files, call.process.root, [key]
    while pending:
        key = pending.pop()
        inner = [(name, f"{key}/{name}" if key else name) for name in files.listdir(key)]
        if not bare:
            call.say(f" Directory of {root.native(key)}\n")
        for name, below in inner:
            size = "<DIR>" if files.is_dir(below) else str(len((files.read(below) or "").encode(errors="replace")))
            call.say((root.native(below) if deep else name) if bare else f"{size:>14} {name}")
        if not bare:
            call.say("")
        if deep:
            pending += [below for _, below in reversed(inner) if files.is_dir(below)]


def _cmd_set(call: Call) -> int:
    text = call.rest.strip().strip('"')
    name, assigned, value = text.partition("=")
    env = call.process.env
    if not assigned:
        chosen = sorted(key for key in env if key.upper().startswith(name.upper()))
        for key in chosen:
            call.say(f"{key}={env[key]}")
        return int(not chosen)
    if not name.startswith("/"):
        env[name] = value
    return 0


def _cmd_exit(call: Call) -> int:
    _, codes = _switches(call.args)
    if codes and re.fullmatch(r"[-+]?[0-9]{1,10}", codes[0]):
        raise ScriptExit((int(codes[0]) + 2**31) % 2**32 - 2**31)
    raise ScriptExit(call.process.status)


CMD_COMMANDS: dict[str, Builtin] = {
    **dict.fromkeys(("cd", "chdir"), _cmd_cd),
    **dict.fromkeys(("copy", "move"), _cmd_copy),
    **dict.fromkeys(("del", "erase"), _cmd_del),
    "dir": _cmd_dir,
    "echo": _cmd_echo,
    "exit": _cmd_exit,
    **dict.fromkeys(("md", "mkdir"), _cmd_mkdir),
    **dict.fromkeys(("rd", "rmdir"), _cmd_rmdir),
    **dict.fromkeys(("ren", "rename"), _cmd_ren),
    "set": _cmd_set,
    "timeout": succeed,
    "type": _cmd_type,
}
