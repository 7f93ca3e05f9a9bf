"""Parsing of command lines: a program with arguments, or a small script for a shell (TASK-4).

A command line does not run under a shell unless it starts one: ``cmd /c ...`` on Windows, ``sh -c "..."`` or
``bash -c '...'`` on Linux. The script is parsed into lists of commands. A construct outside the small shell's grammar
(loops, substitutions, here-documents, groups) makes the whole script an unknown program. Parsing expands only
``%NAME%``, which cmd replaces before it reads a line, so callers pass the variables.
"""

from __future__ import annotations

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from engine.base.terms import OsFamily


class Shell(Enum):
    """The shell that interprets the command line."""

    NONE = "none"
    SH = "sh"
    CMD = "cmd"


class Quoting(Enum):
    """The expansions that apply to a piece of a word: all, variables only, or none."""

    BARE = "bare"
    DOUBLE = "double"
    LITERAL = "literal"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a word with its quoting, without the quotes."""

    text: str
    quoting: Quoting = Quoting.LITERAL


Word = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection of ``handle`` to a file, or to the stream of ``same_as``."""

    handle: int
    target: Word = ()
    append: bool = False
    same_as: int | None = None


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A simple command. ``rest`` is the text after the name as written, which ``echo`` of cmd prints."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()
    rest: str = ""

    @property
    def name(self) -> str:
        """The name as written, before expansion."""
        return "".join(piece.text for piece in self.words[0]) if self.words else ""


Pipeline = tuple[ShellCommand, ...]


@dataclass(frozen=True, slots=True)
class AndOr:
    """Pipelines joined by ``&&`` and ``||``; the first has the operator ``&&``."""

    parts: tuple[tuple[str, Pipeline], ...]


@dataclass(frozen=True, slots=True)
class Program:
    """A parsed command line. ``script`` is None if it is outside the small shell's grammar.

    Without a shell the script is a single command with literal words. ``stop_at_error`` is ``sh -e``.
    """

    shell: Shell
    script: tuple[AndOr, ...] | None
    stop_at_error: bool = False

    def commands(self) -> Iterator[ShellCommand]:
        """Yield every simple command of the script in order."""
        for chain in self.script or ():
            for _, pipeline in chain.parts:
                yield from pipeline


class _BeyondGrammarError(Exception):
    """A construct outside the grammar, which makes the script an unknown program."""


_CMD_INVOCATION = re.compile(
    r'\s*"?(?:[^"\s]*[\\/])?cmd(?:\.exe)?"?(?:\s*/[^\s/c][^\s/]*)*\s*/c(?P<script>.*)', re.IGNORECASE | re.DOTALL
)
_SH_INVOCATION = re.compile(r"\s*(?:/usr)?(?:/bin/)?(?:ba|da)?sh\s")
_PERCENT = re.compile(r"%([^%=\s]+)%")


def parse(command_line: str, os: OsFamily, variables: Mapping[str, str] | None = None) -> Program:
    """Parse a command line as the operating system and its shell would; never raise.

    ``variables`` replace ``%NAME%`` inside ``cmd /c``, without regard to case; unknown ones stay as written.
    """
    if os is OsFamily.LINUX:
        return _parse_linux(command_line)
    invocation = _CMD_INVOCATION.fullmatch(command_line)
    if invocation is None:
        return _without_shell([word.replace('"', "") for word in _WINDOWS_ARGUMENT.findall(command_line)])
    script = _percent_expanded(_without_outer_quotes(invocation["script"]), variables or {})
    return Program(Shell.CMD, _read(script, _CmdReader))


@lru_cache(maxsize=4096)
def _parse_linux(command_line: str) -> Program:
    argv = _split(command_line)
    if _SH_INVOCATION.match(command_line):
        stop_at_error = False
        for index, argument in enumerate(argv[1:-1], start=1):
            if not argument.startswith(("-", "+")):
                if argv[index - 1].endswith("o"):
                    continue
                break
            stop_at_error |= not argument.startswith("--") and "e" in argument
            if not argument.startswith("--") and "c" in argument:
                return Program(Shell.SH, _read(argv[index + 1], _ShReader), stop_at_error)
    return _without_shell(argv)


def _without_shell(argv: list[str]) -> Program:
    command = ShellCommand(tuple((Piece(argument),) for argument in argv))
    return Program(Shell.NONE, (AndOr((("&&", (command,)),)),) if argv else None)


_QUOTES = re.compile(r"""['"\\]""")
_WINDOWS_ARGUMENT = re.compile(r'(?:"[^"]*"?|[^\s"])+')


def _split(command_line: str) -> list[str]:
    """Return the arguments as on Linux; a line with an open quote is split at blanks only."""
    if not _QUOTES.search(command_line):
        return command_line.split()
    try:
        return shlex.split(command_line)
    except ValueError:
        return command_line.split()


def _without_outer_quotes(script: str) -> str:
    """Return the script without a leading quote and the last one, as cmd does."""
    stripped = script.strip()
    if not stripped.startswith('"'):
        return stripped
    head, quote, tail = stripped[1:].rpartition('"')
    return head + tail if quote else stripped[1:]


def _percent_expanded(script: str, variables: Mapping[str, str]) -> str:
    folded = {name.upper(): value for name, value in variables.items()}
    return _PERCENT.sub(lambda found: folded.get(found[1].upper(), found[0]), script)


def _read(script: str, reader: type[_CommandLineReader]) -> tuple[AndOr, ...] | None:
    try:
        return reader(script).chains()
    except _BeyondGrammarError:
        return None


class _CommandLineReader(ABC):
    """The grammar that both shells share: lists of and-or chains of pipelines of commands."""

    def __init__(self, script: str) -> None:
        self.script = script
        self.at = 0

    @abstractmethod
    def command(self) -> ShellCommand | None:
        """Return the next simple command, or None."""

    @abstractmethod
    def operator(self) -> str:
        """Return the operator after a command, "" at the end."""

    def chains(self) -> tuple[AndOr, ...]:
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
            if pipeline:
                parts.append((joined_by, pipeline))
            elif parts or operator in ("&&", "||"):
                raise _BeyondGrammarError
            if operator not in ("&&", "||"):
                return parts, operator
            joined_by = operator

    def _pipeline(self) -> tuple[Pipeline, str]:
        commands: list[ShellCommand] = []
        while True:
            command = self.command()
            operator = self.operator()
            if command is not None:
                commands.append(command)
            elif commands or operator == "|":
                raise _BeyondGrammarError
            if operator != "|":
                return tuple(commands), operator


_SH_BLANK = re.compile(r"(?:[ \t]|\\\n)+|#[^\n]*")
_SH_OPERATOR = re.compile(r"&&|\|\||[;&|\n]")
_SH_REDIRECT = re.compile(r"(?P<handle>\d?|&)(?P<sign>>>|>\||>|<)(?:&(?P<same>[12])(?![^\s;&|]))?")
_SH_WORD = re.compile(r"""(?:'[^']*'|"(?:[^"\\]|\\.)*"|\\.|[^\s'"\\;&|<>()`])+""", re.DOTALL)
_SH_PIECE = re.compile(
    r"""'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<bare>[^'"\\]+)""", re.DOTALL
)
_SH_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_SH_BEYOND = re.compile(r"\$\(|`|<<|\$\{(?!\w+(?::?-[^}$`]*)?\})")
_SH_INERT = re.compile(r"""\\.|'[^']*'|(?P<double>"(?:[^"\\]|\\.)*")""", re.DOTALL)
# fmt: off
_SH_KEYWORDS = frozenset({
    "!", "[[", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "eval", "fi", "for", "function", "if",
    "select", "then", "until", "while",
})
# fmt: on


class _ShReader(_CommandLineReader):
    """The words, quotes and redirections of the POSIX shell."""

    def __init__(self, script: str) -> None:
        super().__init__(script)
        if _SH_BEYOND.search(_SH_INERT.sub(lambda found: found["double"] or "", script)):
            raise _BeyondGrammarError

    def command(self) -> ShellCommand | None:
        words: list[Word] = []
        redirects: list[Redirect] = []
        assignments: list[tuple[str, Word]] = []
        while True:
            self._skip_blanks()
            if redirect := _SH_REDIRECT.match(self.script, self.at):
                self.at = redirect.end()
                redirects += self._redirects(redirect)
            elif written := _SH_WORD.match(self.script, self.at):
                self.at = written.end()
                text = written[0]
                if not words and text in _SH_KEYWORDS:
                    raise _BeyondGrammarError
                if not words and (assigned := _SH_ASSIGNMENT.match(text)):
                    assignments.append((assigned[1], _sh_word(text[assigned.end() :])))
                else:
                    words.append(_sh_word(text))
            else:
                break
        if not (words or redirects or assignments):
            return None
        return ShellCommand(tuple(words), tuple(redirects), tuple(assignments))

    def operator(self) -> str:
        if self.at >= len(self.script):
            return ""
        found = _SH_OPERATOR.match(self.script, self.at)
        if found is None:
            raise _BeyondGrammarError
        self.at = found.end()
        return found[0]

    def _skip_blanks(self) -> None:
        while blank := _SH_BLANK.match(self.script, self.at):
            if blank[0].startswith("#") and self.at and not self.script[self.at - 1].isspace():
                return
            self.at = blank.end()

    def _redirects(self, found: re.Match[str]) -> Iterator[Redirect]:
        handle, append = found["handle"], found["sign"] == ">>"
        number = int(handle) if handle.isdigit() else int(found["sign"] != "<")
        if found["same"]:
            yield Redirect(number, same_as=int(found["same"]))
            return
        self._skip_blanks()
        target = _SH_WORD.match(self.script, self.at)
        if target is None:
            raise _BeyondGrammarError
        self.at = target.end()
        yield Redirect(number, _sh_word(target[0]), append)
        if handle == "&":
            yield Redirect(2, same_as=1)


def _sh_word(text: str) -> Word:
    pieces = []
    for found in _SH_PIECE.finditer(text):
        if found["double"] is not None:
            pieces.append(Piece(found["double"], Quoting.DOUBLE))
        elif found["bare"] is not None:
            pieces.append(Piece(found["bare"], Quoting.BARE))
        else:
            pieces.append(Piece(found["single"] if found["single"] is not None else found["escaped"]))
    return tuple(pieces)


_CMD_TOKEN = re.compile(
    r"""(?P<escaped>\^.?)
    |(?P<quoted>"[^"]*"?)
    |(?P<operator>&&|\|\||[&|\n])
    |(?P<redirect>(?:(?:(?<=[\s"])|^)(?P<handle>[0-9]))?(?P<sign>>>|>|<)(?:&(?P<same>[12])|\s*(?P<target>(?:"[^"]*"?|[^\s"&|<>])+)))
    |(?P<beyond>[<>]) |(?P<plain>[^\^"&|<>\n0-9]+|[0-9]+?)""",
    re.VERBOSE | re.DOTALL,
)
_CMD_NAME = re.compile(
    r"""@*\s*(?P<name>"[^"]*"|(?:echo|cd|chdir|md|mkdir|rd|rmdir|dir|type|del)(?=[.\\/:(,;+=\[\]"\s]|$)|[^\s"]+)""",
    re.I,
)
_CMD_KEYWORDS = frozenset({"call", "for", "goto", "if", "rem", "start"})


class _CmdReader(_CommandLineReader):
    """The words of cmd: escapes with ``^``, double quotes only, redirections anywhere in the command."""

    def __init__(self, script: str) -> None:
        super().__init__(script)
        self._operator = ""

    def command(self) -> ShellCommand | None:
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

    def operator(self) -> str:
        return self._operator


def _cmd_redirect(token: re.Match[str]) -> Redirect:
    handle = int(token["handle"]) if token["handle"] else int(token["sign"] != "<")
    if token["same"]:
        return Redirect(handle, same_as=int(token["same"]))
    return Redirect(handle, (Piece(token["target"].replace('"', "")),), append=token["sign"] == ">>")


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
    words = [name, *(word.replace('"', "") for word in _WINDOWS_ARGUMENT.findall(rest))]
    return ShellCommand(tuple((Piece(word),) for word in words), redirects, rest=rest)
