"""The shell cmd of Windows: reading of its scripts, and its built-in commands (TASK-4).

A script is a list of and-or chains of pipelines of commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial

from engine.base.paths import WILDCARD, name_of
from engine.base.values import lazy_regex
from engine.shell.call import CMD_COMMANDS, Call, NotSimulated, ScriptExit, command, succeed
from engine.shell.expansion import copy_into, matching_paths
from engine.shell.syntax import AndOr, Pipeline, Redirect, Script, ShellCommand, literal

_ARGUMENT = lazy_regex(r'(?:"[^"]*"?|[^\s"])+')


_PERCENT = lazy_regex(r"%([^%=\s]+)%")


def windows_arguments(text: str) -> list[str]:
    """Return the arguments of a command line without their quotes."""
    return [word.replace('"', "") for word in _ARGUMENT.findall(text)]


class _BeyondGrammarError(Exception):
    """A construct outside the grammar, which makes the script an unknown program."""


@lru_cache(maxsize=1024)
def read_cmd_script(script: str) -> Script | None:
    """Read a script of cmd; return None if it is outside the small shell's grammar."""
    try:
        return _lists(script)
    except _BeyondGrammarError:
        return None


def percent_expanded(script: str, variables: Mapping[str, str]) -> str:
    """Replace ``%NAME%`` by the variable of that name in any case; unknown ones stay as written."""
    folded = {name.upper(): value for name, value in variables.items()}
    return _PERCENT.sub(lambda found: folded.get(found[1].upper(), found[0]), script)


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
_JOINING = ("&&", "||")
_CMD_KEYWORDS = frozenset({"call", "for", "goto", "if", "rem", "start"})


def _lists(script: str) -> Script:
    """Return the lists of a script."""
    chains: list[AndOr] = []
    parts: list[tuple[str, Pipeline]] = []
    commands: list[ShellCommand] = []
    joined_by = "&&"
    for found, operator in _commands(script):
        if found is not None:
            commands.append(found)
        elif commands or parts or operator in ("|", *_JOINING):
            raise _BeyondGrammarError
        if operator == "|":
            continue
        if commands:
            parts.append((joined_by, Pipeline(tuple(commands))))
        if operator in _JOINING:
            joined_by = operator
        else:
            chains += [AndOr(tuple(parts))] if parts else []
            parts, joined_by = [], "&&"
        commands = []
    return tuple(chains)


def _commands(script: str) -> Iterator[tuple[ShellCommand | None, str]]:
    """Yield each command, or None where there is none, with the operator after it; "" at the end.

    Escapes begin with ``^``, quotes are double, and redirections stand anywhere in the command.
    """
    text, redirects, at = "", list[Redirect](), 0
    while at < len(script):
        token = _CMD_TOKEN.match(script, at)
        if token is None or token["beyond"]:
            raise _BeyondGrammarError
        at = token.end()
        if token["operator"]:
            yield _cmd_command(text, tuple(redirects)), token["operator"]
            text, redirects = "", []
        elif token["redirect"]:
            redirects.append(_cmd_redirect(token))
        else:
            text += token[0].removeprefix("^") if token["escaped"] else token[0]
    yield _cmd_command(text, tuple(redirects)), ""


def _cmd_redirect(token: re.Match[str]) -> Redirect:
    handle = int(token["handle"]) if token["handle"] else int(token["sign"] != "<")
    if token["same"]:
        return Redirect(handle, same_as=int(token["same"]))
    target, sign = literal(token["target"].replace('"', "")), token["sign"]
    return Redirect(handle, target, append=sign == ">>", reads=sign == "<")


def _cmd_command(text: str, redirects: tuple[Redirect, ...]) -> ShellCommand | None:
    """Return the command without trailing blanks, though cmd prints those before ``>>`` and ``&`` (decided here)."""
    text = text.lstrip(" \t,;=").rstrip()
    found = _CMD_NAME.match(text)
    if found is None:
        return ShellCommand((), redirects) if redirects else None
    name, rest = found["name"].replace('"', ""), text[found.end() :]
    if name.startswith("(") or name.lower() in _CMD_KEYWORDS:
        raise _BeyondGrammarError
    words = [name, *windows_arguments(rest)]
    return ShellCommand(tuple(map(literal, words)), redirects, rest=rest)


_command = partial(command, CMD_COMMANDS)

CMD_COMMANDS["timeout"] = succeed


def _switches(args: Sequence[str]) -> tuple[set[str], list[str]]:
    """Return the letters of the switches in lower case, and the operands."""
    letters = {argument[1:2].lower() for argument in args if argument.startswith("/")}
    return letters, [argument for argument in args if not argument.startswith("/")]


@_command("echo")
def _echo(call: Call) -> int:
    """Print what follows the name after one separating character, as written."""
    text = call.rest[1:]
    if not text and not call.rest.strip():
        call.say("ECHO is on.")
    elif text.strip().lower() not in ("on", "off"):
        call.say(text)
    return 0


@_command("cd", "chdir")
def _cd(call: Call) -> int:
    _, paths = _switches(call.args)
    if not paths:
        call.say(call.process.root.native(call.process.cwd))
    elif not call.process.enter(paths[0]):
        return call.fail("The system cannot find the path specified.")
    return 0


@_command("md", "mkdir")
def _mkdir(call: Call) -> int:
    for path, key in call.keys(call.args):
        if call.process.files.exists(key):
            call.fail(f"A subdirectory or file {path} already exists.")
        elif not call.process.make_directory(key):
            call.fail("The system cannot find the path specified.")
    return call.status


@_command("rd", "rmdir")
def _rmdir(call: Call) -> int:
    letters, paths = _switches(call.args)
    files = call.process.files
    for _, key in call.keys(paths):
        if not files.is_dir(key):
            call.fail("The system cannot find the file specified.", 2)
        elif files.listdir(key) and "s" not in letters:
            call.fail("The directory is not empty.", 145)
        else:
            files.delete(key)
    return call.status


@_command("del", "erase")
def _del(call: Call) -> int:
    _, paths = _switches(call.args)
    files = call.process.files
    for path, key in call.keys(paths):
        pattern = f"{path}\\*" if files.is_dir(key) else path
        found = [call.process.key(match) for match in _sources(call, pattern)]
        gone = [files.delete(match) for match in found if not files.is_dir(match)]
        if not any(gone) and not files.is_dir(key):
            call.fail(f"Could Not Find {call.process.root.native(key)}")
    return 0


def _sources(call: Call, path: str) -> list[str]:
    """Return the paths that a pattern means, or the path itself."""
    if not WILDCARD.search(path):
        return [path]
    return [found.replace("/", "\\") for found in matching_paths(call.process, path.replace("\\", "/"))]


@_command("copy", "move")
def _copy(call: Call) -> int:
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


@_command("type")
def _type(call: Call) -> int:
    for path in call.args:
        text = call.process.read(path)
        if text is None:
            call.fail("The system cannot find the file specified.")
        else:
            call.out.append(text)
    return call.status


@_command("dir")
def _dir(call: Call) -> int:
    letters, paths = _switches(call.args)
    if "s" in letters:
        raise NotSimulated
    for _, key in call.keys(paths or ["."]):
        if call.process.files.is_dir(key):
            _list_directory(call, key, bare="b" in letters)
        elif call.process.files.exists(key):
            call.say(name_of(key))
        else:
            call.fail("File Not Found")
    return call.status


def _list_directory(call: Call, key: str, *, bare: bool) -> None:
    files = call.process.files
    if not bare:
        call.say(f" Directory of {call.process.root.native(key)}\n")
    for name in files.listdir(key):
        below = f"{key}/{name}" if key else name
        size = "<DIR>" if files.is_dir(below) else str(files.size(below))
        call.say(name if bare else f"{size:>14} {name}")
    if not bare:
        call.say("")


@_command("set")
def _set(call: Call) -> int:
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


@_command("exit")
def _exit(call: Call) -> int:
    _, codes = _switches(call.args)
    if codes and re.fullmatch(r"[-+]?[0-9]{1,10}", codes[0]):
        raise ScriptExit((int(codes[0]) + 2**31) % 2**32 - 2**31)
    raise ScriptExit(call.process.status)
