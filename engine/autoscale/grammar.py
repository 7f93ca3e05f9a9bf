"""The grammar (AS-6 to AS-15), and how its phrases become instructions.

This is the only module that knows the parser generator.
"""

from __future__ import annotations

from typing import Any

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, v_args

from engine.autoscale.errors import SYNTAX, FormulaError
from engine.autoscale.program import Called, Does, Instruction, Program
from engine.base.errors import Position

# A method belongs to a name, not to a value (AS-33); so a bare name is no `value`, or its dot would be ambiguous.
_GRAMMAR = r"""
formula: statement? (";" statement?)*

statement: NAME "=" expression   -> assignment
         | expression            -> bare

?expression: either
           | either QUESTION expression ":" expression   -> choice
?either: both
       | either OR both                                  -> disjunction
?both: equality
     | both AND equality                                 -> conjunction
?equality: relation
         | equality (EQUAL | UNEQUAL) relation           -> binary
?relation: sum
         | relation (LESS | LESS_OR_EQUAL | MORE | MORE_OR_EQUAL) sum   -> binary
?sum: product
    | sum (PLUS | MINUS) product                         -> binary
?product: unary
        | product (TIMES | OVER) unary                   -> binary
?unary: MINUS unary                                      -> negation
      | NOT unary                                        -> denial
      | NAME                                             -> name
      | value

?value: NUMBER                                           -> number
      | STRING                                           -> string
      | NAME LEFT_PARENTHESIS arguments? ")"             -> call
      | LEFT_BRACKET arguments? "]"                      -> vector
      | "(" expression ")"
      | NAME "." NAME                                    -> member_of_name
      | value "." NAME                                   -> member
      | NAME "." NAME LEFT_PARENTHESIS arguments? ")"    -> method
      | value "." NAME LEFT_PARENTHESIS arguments? ")"   -> method_of_value

arguments: expression ("," expression)*

QUESTION: "?"
OR: "||"
AND: "&&"
EQUAL: "=="
UNEQUAL: "!="
LESS_OR_EQUAL: "<="
MORE_OR_EQUAL: ">="
LESS: "<"
MORE: ">"
PLUS: "+"
MINUS: "-"
TIMES: "*"
OVER: "/"
NOT: "!"
LEFT_PARENTHESIS: "("
LEFT_BRACKET: "["

NAME: /\$?[A-Za-z_][A-Za-z0-9_]*/
NUMBER: /([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?/
STRING: /"[^"\r\n]*"/

%ignore /[ \t\r\n\f]+/
%ignore /\/\/[^\r\n]*/
"""

# What an unexpected token could have been, for people; in this order.
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


def _position(token: Token) -> Position:
    assert token.line is not None
    assert token.column is not None
    return Position(token.line, token.column)


@v_args(inline=True)
class _Compiler(Transformer[Token, Any]):
    """Makes of every phrase the instructions that push its value, as the parser comes across it."""

    def formula(self, *statements: Program) -> list[Program]:
        return list(statements)

    def assignment(self, name: Token, value: Program) -> Program:
        value.append(Instruction(Does.ASSIGN, str(name), _position(name)))
        return value

    def bare(self, value: Program) -> Program:
        value.append(Instruction(Does.DROP, None, value[-1].position))
        return value

    def choice(self, condition: Program, question: Token, chosen: Program, other: Program) -> Program:
        position = _position(question)
        condition.append(Instruction(Does.BRANCH, len(chosen) + 1, position))
        condition += chosen
        condition.append(Instruction(Does.JUMP, len(other), position))
        condition += other
        return condition

    def disjunction(self, left: Program, sign: Token, right: Program) -> Program:
        return self._short_circuit(Does.OR, left, sign, right)

    def conjunction(self, left: Program, sign: Token, right: Program) -> Program:
        return self._short_circuit(Does.AND, left, sign, right)

    def _short_circuit(self, does: Does, left: Program, sign: Token, right: Program) -> Program:
        position = _position(sign)
        left.append(Instruction(does, len(right) + 1, position))
        left += right
        left.append(Instruction(Does.TRUTH, None, position))
        return left

    def binary(self, left: Program, sign: Token, right: Program) -> Program:
        left += right
        left.append(Instruction(Does.COMBINE, str(sign), _position(sign)))
        return left

    def negation(self, sign: Token, value: Program) -> Program:
        value.append(Instruction(Does.NEGATE, None, _position(sign)))
        return value

    def denial(self, sign: Token, value: Program) -> Program:
        value.append(Instruction(Does.NOT, None, _position(sign)))
        return value

    def name(self, name: Token) -> Program:
        return [Instruction(Does.READ, str(name), _position(name))]

    def number(self, number: Token) -> Program:
        return [Instruction(Does.PUSH, float(number), _position(number))]

    def string(self, string: Token) -> Program:
        return [Instruction(Does.PUSH, string[1:-1], _position(string))]

    def arguments(self, *values: Program) -> list[Program]:
        return list(values)

    def call(self, name: Token, parenthesis: Token, arguments: list[Program] | None = None) -> Program:
        values = arguments or []
        called = Called(str(name), len(values), _position(parenthesis))
        position = _position(name)
        program = [Instruction(Does.FIND_FUNCTION, str(name), position)]
        for value in values:
            program += value
        program.append(Instruction(Does.CALL_FUNCTION, called, position))
        return program

    def vector(self, bracket: Token, arguments: list[Program] | None = None) -> Program:
        values = arguments or []
        program = [step for value in values for step in value]
        program.append(Instruction(Does.MAKE_VECTOR, len(values), _position(bracket)))
        return program

    def member_of_name(self, name: Token, member: Token) -> Program:
        return self.member(self.name(name), member)

    def member(self, value: Program, member: Token) -> Program:
        value.append(Instruction(Does.MEMBER, str(member), _position(member)))
        return value

    def method(self, name: Token, method: Token, parenthesis: Token, arguments: list[Program] | None = None) -> Program:
        values = arguments or []
        called = Called(str(method), len(values), _position(parenthesis))
        program = [
            Instruction(Does.FIND_METRIC, str(name), _position(name)),
            Instruction(Does.FIND_METHOD, str(method), _position(method)),
        ]
        for value in values:
            program += value
        program.append(Instruction(Does.CALL_METHOD, called, _position(method)))
        return program

    def method_of_value(
        self, value: Program, method: Token, _parenthesis: Token, _arguments: list[Program] | None = None
    ) -> Program:
        value.append(Instruction(Does.REFUSE_METHOD, str(method), _position(method)))
        return value


_PARSER = Lark(
    _GRAMMAR, start="formula", parser="lalr", lexer="basic", transformer=_Compiler(), maybe_placeholders=False
)


def compile_formula(text: str) -> list[Program]:
    """The statements of a formula in order, empty ones left out; raises FormulaError (AS-72)."""
    try:
        statements: list[Program] = _PARSER.parse(text)  # type: ignore[assignment]  # what the transformer made of it
    except UnexpectedInput as error:
        raise _refused(error, text) from None
    return statements


def _refused(error: UnexpectedInput, text: str) -> FormulaError:
    if isinstance(error, UnexpectedCharacters):
        character = error.char
        hint = _HINTS.get(character)
        reason = f"Unexpected character {character!r}" + (f"; {hint}" if hint else "")
        return FormulaError(SYNTAX, Position(error.line, error.column), reason)
    assert isinstance(error, UnexpectedToken)
    token = error.token
    wanted = " or ".join(word for terminal, word in _WORDS.items() if terminal in error.accepts)
    if token.type == "$END":
        # The end has the place of the last token; what is missing is missing after it.
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
    return FormulaError(SYNTAX, _position(token), f"Unexpected {str(token)!r}; {hint}")
