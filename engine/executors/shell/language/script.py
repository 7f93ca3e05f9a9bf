"""Reading scripts of the POSIX shell, and the errors for a text that does not follow its grammar (TASK-22)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.executors.shell.language.lexer import Lexer
from engine.executors.shell.language.syntax import AndOr, Pipeline
from engine.executors.shell.language.words import NestedTooDeep, NotReadable, ShellSyntaxError

if TYPE_CHECKING:
    from engine.executors.shell.language.lexer import Token
    from engine.executors.shell.language.syntax import Script


class ScriptText(NamedTuple):
    """A script as it was read.

    ``error`` is a syntax error, before which the lines in ``script`` run, as a shell reads line by line;
    ``not_readable`` is a construct that the small shell does not know, with its place. A script that is ``too_deep``
    exceeds a bound of the small shell (TASK-23).
    """

    script: Script
    error: str | None = None
    not_readable: str | None = None
    too_deep: bool = False


def read_script(text: str, *, bash: bool = False, depth: int = 0) -> ScriptText:
    """Read a script; never raise."""
    lexer = Lexer(text, _build, depth=depth, bash=bash)
    tokens = lexer.tokens
    try:
        lexer.read()
        return ScriptText(_build(tokens))
    except NotReadable as found:
        return ScriptText((), not_readable=f"{_place(text, found.at)}: {found.reason}")
    except NestedTooDeep:
        return ScriptText((), too_deep=True)
    except ShellSyntaxError as found:
        error, count = found, len(tokens)
        for index, token in enumerate(tokens):
            if token.at >= error.at:
                count = index
                break
    whole = max((number for number in lexer.lines if number <= count), default=0)
    return ScriptText(_up_to(tokens[:whole]), f"{_line(text, error.at)}: Syntax error: {error.reason}")


def _up_to(tokens: list[Token]) -> Script:
    try:
        return _build(tokens)
    except ShellSyntaxError:  # an earlier line is wrong as well
        return ()


def _build(tokens: list[Token]) -> Script:
    if len(tokens) == 1 and tokens[0].kind == "COMMAND":  # most scripts, which need no grammar
        return (AndOr((("&&", Pipeline((tokens[0].value,))),)),)
    from engine.executors.shell.language.grammar import parse

    return parse(tokens)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _place(text: str, at: int) -> str:
    return f"line {_line(text, at)}, column {at - (text.rfind(chr(10), 0, at) + 1) + 1}"
