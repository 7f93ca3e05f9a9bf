"""The grammar of formulas (AS-6 to AS-15), and the errors for a text that does not follow it.

Methods belong to names, not to values (AS-33). The rules of the grammar are in ``formula.lark``; only this module
imports the parser generator.
"""

from __future__ import annotations

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from engine.autoscale.values import SYNTAX, TOO_LONG, FormulaError
from engine.base.errors import Position
from engine.base.values import quoted

DEPTH_LIMIT = 100
"""The most levels of calls, brackets and operators: an evaluation takes up to three Python frames for each."""

# Expected tokens as shown to people, in this order.
_WORDS = {
    "NAME": "an expression",
    "PLUS": "an operator",
    "COLON": '":"',
    "COMMA": '","',
    "RPAR": '")"',
    "RSQB": '"]"',
    "SEMICOLON": '";"',
}
_ARITHMETIC = ("+", "-", "*", "/")
_HINTS = {
    "'": 'strings stand in double quotes: "..."',
    '"': "the string does not end on its line",
    "&": "and is &&",
    "|": "or is ||",
    "{": "there are no blocks; a ? b : c chooses",
    "%": "there is no such operator",
    "^": "there is no such operator",
    "$": "a name has a letter after $",
    "#": "a comment begins with //",
    "\u201c": 'strings stand in straight double quotes: "..."',
    "\u2212": "minus is -",
}


_PARSER = Lark.open("formula.lark", rel_to=__file__, start="formula", parser="lalr", lexer="basic")


def parse_statements(text: str) -> list[Tree[Token]]:
    """Return the statements of a formula in order, without the empty ones.

    Raises:
        FormulaError: The text does not follow the grammar (AS-72), or is nested more than ``DEPTH_LIMIT`` levels deep
            (AS-2).
    """
    try:
        formula = _PARSER.parse(text)
    except UnexpectedInput as error:
        raise _refused(error, text) from None
    level: list[Tree[Token]] = [formula]
    for _ in range(DEPTH_LIMIT + 1):
        level = [inner for tree in level for inner in tree.children if isinstance(inner, Tree)]
        for tree in level:
            tree.data = str(tree.data)  # a plain string is found faster than a token, each time the formula runs
    if level:
        reason = f"The formula is nested more than {DEPTH_LIMIT} levels deep"
        raise FormulaError(TOO_LONG, first_position(level[0]), reason)
    return formula.children  # type: ignore[return-value]  # a formula has statements only


def first_position(tree: Tree[Token]) -> Position:
    """Return the position of the first token below ``tree``."""
    first: Tree[Token] | Token = tree
    while isinstance(first, Tree):
        first = first.children[0]
    return _position(first)


def _position(token: Token) -> Position:
    assert token.line is not None
    assert token.column is not None
    return Position(token.line, token.column)


def _refused(error: UnexpectedInput, text: str) -> FormulaError:
    if isinstance(error, UnexpectedCharacters):
        character = error.char
        hint = _HINTS.get(character)
        reason = f"Unexpected character {quoted(character)}" + (f"; {hint}" if hint else "")
        return FormulaError(SYNTAX, Position(error.line, error.column), reason)
    assert isinstance(error, UnexpectedToken)
    token = error.token
    wanted = " or ".join(word for terminal, word in _WORDS.items() if terminal in error.accepts)
    if token.type == "$END":
        # The end has the position of the last token; something is missing after it.
        position = Position(token.end_line or 1, token.end_column or 1)
        return FormulaError(SYNTAX, position, f"Unexpected end of the formula; {wanted} is missing")
    at = token.start_pos or 0
    hint = f"{wanted} is needed here"
    if "/*" in text[max(0, at - 1) : at + 2]:
        hint = "a comment begins with // and ends with its line"
    elif token == "=" and text[max(0, at - 1) : at] in _ARITHMETIC:
        hint = f"there is no {text[at - 1]}=, only ="
    elif token == "=":
        hint = "a comparison is ==, and an assignment is a statement by itself"
    return FormulaError(SYNTAX, _position(token), f"Unexpected {quoted(str(token))}; {hint}")
