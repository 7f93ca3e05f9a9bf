"""The grammar of scripts of the POSIX shell (TASK-22), which is in ``script.lark``, and the trees that it makes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from lark import Lark, Transformer, UnexpectedInput, UnexpectedToken
from lark import Token as LarkToken
from lark.lexer import Lexer as LarkLexer

from engine.shell.syntax import AndOr, Case, Command, For, Function, Group, If, Loop, Pipeline, Redirect, Script
from engine.shell.words import ShellSyntaxError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.shell.lexer import Token


_EXPECTED = {"THEN": "then", "FI": "fi", "DO": "do", "DONE": "done", "ESAC": "esac", "RPAR": ")", "RBRACE": "}"}


class _Tokens(LarkLexer):
    """A lexer that passes on existing tokens."""

    def __init__(self, _: object) -> None:
        """Ignore the configuration of the lexer: the tokens exist already."""

    def lex(self, data: list[Token]) -> Iterator[LarkToken]:  # type: ignore[override]  # lark wraps such a lexer
        for token in data:
            made = LarkToken(token.kind, "", start_pos=token.at)
            made.value = token.value  # the tree is made of values, not of texts
            yield made


class _Builder(Transformer[LarkToken, Any]):
    """Builds the syntax tree of a script bottom-up."""

    def script(self, children: list[Any]) -> Script:
        return children[0] if children else ()

    def lists(self, children: list[Any]) -> Script:
        chains: list[AndOr] = []
        for child in children:
            if isinstance(child, AndOr):
                chains.append(child)
            elif child.value == "&":
                chains[-1] = chains[-1]._replace(background=True)
        return tuple(chains)

    def and_or(self, children: list[Any]) -> AndOr:
        operators = ["&&", *(token.value for token in children[1::2])]
        return AndOr(tuple(zip(operators, children[::2], strict=True)))

    def pipeline(self, children: list[Any]) -> Pipeline:
        negated = isinstance(children[0], LarkToken)
        return Pipeline(tuple(each for each in children if not isinstance(each, LarkToken)), negated)

    def simple(self, children: list[Any]) -> Command:
        command: Command = children[0].value
        return command

    def redirected(self, children: list[Any]) -> Command:
        command: Group | If | Loop | For | Case = children[0]
        redirects: tuple[Redirect, ...] = tuple(token.value for token in children[1:])
        return command._replace(redirects=redirects) if redirects else command

    def function(self, children: list[Any]) -> Function:
        return Function(children[0].value, children[1])

    def group(self, children: list[Any]) -> Group:
        return Group(children[1], subshell=children[0].type == "LPAR")

    def if_clause(self, children: list[Any]) -> If:
        bodies = [child for child in children if not isinstance(child, LarkToken)]
        pairs = len(bodies) // 2
        branches = tuple((bodies[2 * index], bodies[2 * index + 1]) for index in range(pairs))
        return If(branches, bodies[-1] if len(bodies) % 2 else ())

    def loop(self, children: list[Any]) -> Loop:
        return Loop(children[1], children[3], ends_when=children[0].type == "UNTIL")

    def for_loop(self, children: list[Any]) -> For:
        name, words = children[0].value
        return For(name, words, children[2])

    def case_clause(self, children: list[Any]) -> Case:
        return Case(children[0].value, tuple(child for child in children if not isinstance(child, LarkToken)))

    def item(self, children: list[Any]) -> tuple[Any, Script]:
        return children[0].value, children[1] if len(children) > 1 else ()


_PARSER = Lark.open(
    "script.lark", rel_to=__file__, start="script", parser="lalr", lexer=_Tokens, transformer=_Builder()
)


def parse(tokens: list[Token]) -> Script:
    """Return the tree of a script. Raises ShellSyntaxError if the tokens do not follow the grammar."""
    try:
        return _PARSER.parse(tokens)  # type: ignore[return-value]  # the builder makes a script of it
    except UnexpectedInput as error:
        raise _syntax_error(error) from None


def _syntax_error(error: UnexpectedInput) -> ShellSyntaxError:
    if not isinstance(error, UnexpectedToken) or error.token.type == "$END":
        at = sys.maxsize
        seen = "end of file"
    else:
        token = error.token
        at = token.start_pos or 0
        seen = _written(token)
    accepts = error.accepts or set() if isinstance(error, UnexpectedToken) else set()
    expected = [word for kind, word in _EXPECTED.items() if kind in accepts]
    ending = f' (expecting "{expected[0]}")' if len(expected) == 1 else ""
    return ShellSyntaxError(f"{seen} unexpected{ending}", at)


def _written(token: LarkToken) -> str:
    value: object = token.value
    if token.type in ("FOR", "CASE"):
        return f'"{token.type.lower()}"'
    if not isinstance(value, str):
        return {"REDIRECT": "redirection"}.get(token.type, "word")
    return "newline" if value == "\n" else f'"{value}"'
