"""The syntax tree of scripts: words made of parts, simple and compound commands, and lists of them.

The readers of both shells build it, and ``interpreter`` runs it. A script of cmd and a line without a shell consist of
simple commands with literal words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from engine.base.terms import OsFamily
from engine.base.values import lazy_regex

SHELL_OPTIONS = {
    "a": "allexport", "C": "noclobber", "e": "errexit", "f": "noglob", "n": "noexec", "u": "nounset", "v": "verbose",
    "x": "xtrace",
}  # fmt: skip
"""The options of a shell by their letters."""


class Shell(Enum):
    """The shell that interprets a command line."""

    NONE = "none"
    SH = "sh"
    CMD = "cmd"


class Piece(NamedTuple):
    """Text of a word without its quotes; wildcards count only in text that was not quoted."""

    text: str
    quoted: bool = True


class Parameter(NamedTuple):
    """``$name`` or ``${name...}``. The operator is one of POSIX, or ``length`` for ``${#name}``."""

    name: str
    quoted: bool = False
    operator: str = ""
    word: Word | None = None


class Substitution(NamedTuple):
    """``$(...)`` or backquotes."""

    script: Script
    quoted: bool = False


class Arithmetic(NamedTuple):
    """``$((...))``; the expression is expanded before it is read."""

    expression: Word
    quoted: bool = False


Part: TypeAlias = Piece | Parameter | Substitution | Arithmetic


class Word(NamedTuple):
    """A word; ``constant`` is its text if nothing in it is expanded, not even a wildcard."""

    parts: tuple[Part, ...]
    constant: str | None = None

    @property
    def written(self) -> str:
        """The text without its expansions."""
        return "".join(part.text for part in self.parts if isinstance(part, Piece))


def literal(text: str) -> Word:
    """Return a word in which nothing is expanded."""
    return Word((Piece(text),), text)


TILDE = Parameter("HOME", True, "-", literal("~"))
"""An unquoted ``~`` at the start of a word."""


class HereDocument:
    """The text of a here document, which is known after its line has been read."""

    __slots__ = ("word",)

    def __init__(self) -> None:
        self.word = Word(())


NOWHERE = Word(())


class Redirect(NamedTuple):
    """A redirection of ``handle`` to a file, to the stream of ``same_as`` (-1 closes it), or from a here document."""

    handle: int
    target: Word = NOWHERE
    append: bool = False
    same_as: int | None = None
    here: HereDocument | None = None
    reads: bool = False


class ShellCommand(NamedTuple):
    """A simple command in a line of its script.

    ``rest`` is the text after the name as written, which ``echo`` of cmd prints.
    """

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...] = ()
    assignments: tuple[tuple[str, Word], ...] = ()
    rest: str = ""
    line: int = 1

    @property
    def name(self) -> str | None:
        """The name of the command: "" without words, None if it is known only when it runs."""
        return self.words[0].constant if self.words else ""


class Group(NamedTuple):
    """``{ ...; }``, or ``( ... )`` in a subshell."""

    body: Script
    subshell: bool = False
    redirects: tuple[Redirect, ...] = ()


class If(NamedTuple):
    """``if``: pairs of condition and body, and the body of ``else``."""

    branches: tuple[tuple[Script, Script], ...]
    otherwise: Script = ()
    redirects: tuple[Redirect, ...] = ()


class Loop(NamedTuple):
    """``while``, or ``until`` if ``ends_when`` is True."""

    condition: Script
    body: Script
    ends_when: bool = False
    redirects: tuple[Redirect, ...] = ()


class For(NamedTuple):
    """``for name in words``; without words the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: Script
    redirects: tuple[Redirect, ...] = ()


class Case(NamedTuple):
    """``case word in``: pairs of patterns and body."""

    word: Word
    items: tuple[tuple[tuple[Word, ...], Script], ...]
    redirects: tuple[Redirect, ...] = ()


class Function(NamedTuple):
    """The definition of a function."""

    name: str
    body: Command


Command: TypeAlias = ShellCommand | Group | If | Loop | For | Case | Function


class Pipeline(NamedTuple):
    """Commands joined by ``|``."""

    commands: tuple[Command, ...]
    negated: bool = False


class AndOr(NamedTuple):
    """Pipelines joined by ``&&`` and ``||``, the first with ``&&``; ``background`` if ``&`` follows."""

    parts: tuple[tuple[str, Pipeline], ...]
    background: bool = False


Script: TypeAlias = tuple[AndOr, ...]


def only(command: Command) -> Script:
    """Return the script of one command."""
    return (AndOr((("&&", Pipeline((command,))),)),)


def simple_commands(script: Script) -> Iterator[ShellCommand]:
    """Yield every simple command of a script in order, those of functions and substitutions too."""
    return (command for command in all_commands(script) if isinstance(command, ShellCommand))


@lru_cache(maxsize=64)  # the same script is asked about many things in a row
def all_commands(script: Script) -> tuple[Command, ...]:
    """Return every command of a script in order, the inner ones after the one that they belong to."""
    pending: list[object] = [script]
    found: list[Command] = []
    while pending:
        part = pending.pop()
        if isinstance(part, HereDocument):
            pending.append(part.word)
        elif isinstance(part, tuple) and not (isinstance(part, Word) and part.constant is not None):
            pending += reversed(part)
            if isinstance(part, Command):
                found.append(part)
    return tuple(found)


# -- names of commands ---------------------------------------------------------------------------------------------

KEYWORDS = frozenset(
    {"if", "then", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "{", "}", "!", "[["}
)
"""The words of a Linux shell that begin or end its compound commands."""

# fmt: off
# Shell built-ins that are not found as programs (TASK-4).
NO_PROGRAM_ON_LINUX = frozenset({
    "alias", "bg", "bind", "break", "builtin", "cd", "command", "continue", "declare", "eval", "exec", "exit", "export",
    "fg", "getopts", "hash", "history", "jobs", "let", "local", "read", "readonly", "return", "set", "shift", "shopt",
    "source", "trap", "type", "typeset", "ulimit", "umask", "unalias", "unset", "wait",
})
NO_PROGRAM_ON_WINDOWS = frozenset({
    "assoc", "break", "call", "cd", "chdir", "cls", "color", "copy", "date", "del", "dir", "echo", "endlocal", "erase",
    "exit", "for", "ftype", "goto", "if", "md", "mkdir", "mklink", "move", "path", "pause", "popd", "prompt", "pushd",
    "rd", "rem", "ren", "rename", "rmdir", "set", "setlocal", "shift", "start", "time", "title", "type", "ver",
    "verify", "vol",
})
# fmt: on

_NOT_ON_LINUX = lazy_regex(r"(?:cmd|powershell)(?:\.exe)?|[A-Za-z]:[\\/].*", re.IGNORECASE | re.DOTALL)
_NOT_ON_WINDOWS = lazy_regex(r"(?:ba|da|z|k|c)?sh|(?:/usr(?:/local)?)?/s?bin/.*", re.IGNORECASE | re.DOTALL)
# What only a shell reads: a file with such a name does not exist.
_FOR_SHELL_OF_LINUX = lazy_regex(r"[$`;|&<>()*?!{]|~/|[A-Za-z_][A-Za-z_0-9]*=", re.ASCII)
_FOR_SHELL_OF_WINDOWS = lazy_regex(r"%[^%\s]+%|[|&<>]")


def is_of_other_system(name: str, os: OsFamily) -> bool:
    """Return whether a program is a shell of the other operating system, or lies where only that one has programs."""
    return (_NOT_ON_LINUX if os is OsFamily.LINUX else _NOT_ON_WINDOWS).fullmatch(name) is not None


def is_of_shell(name: str, os: OsFamily) -> bool:
    """Return whether a name is a command or a word of the shell, and no program (TASK-4)."""
    if os is OsFamily.LINUX:
        return name in NO_PROGRAM_ON_LINUX or name in KEYWORDS
    return name.lower() in NO_PROGRAM_ON_WINDOWS


def is_missing(name: str, os: OsFamily, *, outside_shell: bool) -> bool:
    """Return whether no node has such a program (TASK-4)."""
    if is_of_other_system(name, os):
        return True
    signs = _FOR_SHELL_OF_LINUX if os is OsFamily.LINUX else _FOR_SHELL_OF_WINDOWS
    return outside_shell and (is_of_shell(name, os) or signs.search(name) is not None)
