"""Reading of scripts of cmd on Windows: lists of and-or chains of pipelines of commands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from engine.base.lazy import lazy_regex
from engine.executors.shell.language.syntax import AndOr, Pipeline, Redirect, Script, ShellCommand, literal

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
