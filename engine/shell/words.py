"""Words of the POSIX shell: quotes, parameters, substitutions, and integer arithmetic in 64 bits.

Words are read into the parts of the syntax tree; the text of ``$((...))`` is evaluated when it has been expanded.
"""

from __future__ import annotations

import operator
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.base.values import lazy_regex
from engine.shell.syntax import TILDE, Arithmetic, Parameter, Part, Piece, Script, Substitution, Word

if TYPE_CHECKING:
    from collections.abc import MutableMapping


NESTING_LIMIT = 40
"""The most levels of commands, substitutions and expansions inside each other; each takes some Python frames."""


class _AtPlaceError(Exception):
    """The reason why a script cannot be read, and its place in the text."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.at = at


class ShellSyntaxError(_AtPlaceError):
    """A mistake that a shell reports too."""


class NotReadable(_AtPlaceError):
    """A construct that the small shell does not know."""


class NestedTooDeep(Exception):
    """A script with more levels inside each other than the small shell reads."""


_BARE = lazy_regex(r"""[^ \t\n'"\\$`;&|<>()]+""")
_NAME = lazy_regex(r"[A-Za-z_][A-Za-z_0-9]*|[0-9@*#?$!-]", re.ASCII)
_BRACED_NAME = lazy_regex(r"[A-Za-z_][A-Za-z_0-9]*|[0-9]+|[@*#?$!-]", re.ASCII)
_OPERATOR = lazy_regex(r":?[-=?+]|%%?|##?")
_OF_BASH = lazy_regex(r"[\[/^,:@!]|[A-Za-z_]")
_BACKQUOTED = lazy_regex(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_BRACES = lazy_regex(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
_WILDCARD = lazy_regex(r"[*?]|\[.")
# Ordinary text up to a character that may end the part or mean something in it, by the end of the part.
_PLAIN = {
    '"': lazy_regex(r'[^"\\$`]+'),
    "": lazy_regex(r"[^\\$`]+"),
    "}": lazy_regex(r"[^}\"'\\$`]+"),
    ")": lazy_regex(r"[^()\\$`\"]+"),
}
_ESCAPED = {'"': '$`"\\\n', "": "$`\\\n", "}": '$`"\\}\n', ")": "$`\\\n"}
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "\\": "\\", "'": "'", '"': '"', "0": "\0"}
_ANSI_QUOTED = lazy_regex(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)


class WordReader(ABC):
    """A position in a text, and the words from there on; ``depth`` counts the levels around it."""

    def __init__(self, text: str, at: int = 0, depth: int = 0, *, bash: bool = False) -> None:
        self.text = text
        self.at = at
        self.depth = depth
        self.bash = bash

    @abstractmethod
    def inner_script(self, text: str, at: int, *, closes: bool) -> tuple[Script, int]:
        """Read a script inside this one; return it, and the place after the parenthesis that ``closes`` it."""

    def peek(self, length: int = 1) -> str:
        """Return the next characters."""
        return self.text[self.at : self.at + length]

    def deeper(self) -> None:
        """Count one level more.

        Raises:
            NestedTooDeep: There are too many.
        """
        self.depth += 1
        if self.depth > NESTING_LIMIT:
            raise NestedTooDeep

    def word(self, *, follows_equals: bool = False) -> Word | None:
        """Read a word; return None if there is none here."""
        text, begin = self.text, self.at
        if (found := _BARE.match(text, begin)) and text[found.end() : found.end() + 1] in _ENDS:
            self.at = found.end()
            return self._of_bare(found[0])
        parts: list[Part] = []
        while self.at < len(text):
            sign = text[self.at]
            if found := _BARE.match(text, self.at):
                self.at = found.end()
                parts.append(Piece(found[0], quoted=False))
            elif sign in "'\"\\$`":
                parts += self._special(sign)
            else:
                break
        if self.at == begin and not follows_equals:
            return None
        if parts and isinstance(first := parts[0], Piece) and not first.quoted:
            parts[:1] = _with_tilde(first.text)
        return self._checked(tuple(parts), begin)

    def _of_bare(self, text: str) -> Word:
        if text[0] == "~" or _WILDCARD.search(text) or "{" in text:
            return self._checked(tuple(_with_tilde(text)), self.at - len(text))
        return Word((Piece(text, quoted=False),), text)

    def _checked(self, parts: tuple[Part, ...], at: int) -> Word:
        constant: str | None = ""
        for part in parts:
            if not isinstance(part, Piece):
                constant = None
                break
            bare = not part.quoted
            if bare and self.bash and _BRACES.search(part.text):
                raise NotReadable("brace expansion", at)
            if bare and _WILDCARD.search(part.text):
                constant = None
                break
            constant = (constant or "") + part.text
        return Word(parts, constant)

    def _special(self, sign: str) -> list[Part]:
        """Read a quotation or an expansion outside double quotes."""
        at = self.at
        if sign == "'":
            end = self.text.find("'", at + 1)
            if end < 0:
                raise ShellSyntaxError("Unterminated quoted string", at)
            self.at = end + 1
            return [Piece(self.text[at + 1 : end])]
        if sign == '"':
            self.at += 1
            return self.parts_until('"') or [Piece("")]
        if sign == "\\":
            self.at = min(at + 2, len(self.text))
            escaped = self.text[at + 1 : at + 2]
            return [] if escaped == "\n" else [Piece(escaped or "\\")]
        return [self._expansion(quoted=False)]

    def parts_until(self, end: str, *, quoted: bool = True) -> list[Part]:
        """Read text in which blanks and operators are ordinary characters, and the end of it.

        ``end`` is a double quote, a brace, a parenthesis (of arithmetic), or "" for all the rest (a here document).
        """
        parts: list[Part] = []
        plain, level, begin = _PLAIN[end], 0, self.at
        while self.at < len(self.text):
            sign = self.text[self.at]
            if found := plain.match(self.text, self.at):
                self.at = found.end()
                parts.append(Piece(found[0], quoted))
            elif sign == end and not level:
                self.at += 1
                return parts
            elif end == ")" and sign in '()"':
                level += {"(": 1, ")": -1}.get(sign, 0)
                self.at += 1
                parts.append(Piece(sign if sign != '"' else "", quoted))
            elif sign == "\\" and (quoted or end == ")"):
                parts += self._escaped(_ESCAPED[end])
            elif sign in "$`":
                parts.append(self._expansion(quoted=quoted))
            elif sign == "'" and quoted:
                self.at += 1
                parts.append(Piece(sign))
            else:
                parts += self._special(sign)
        if end:
            missing = {'"': "Unterminated quoted string", "}": 'Missing "}"', ")": "Missing '))'"}
            raise ShellSyntaxError(missing[end], begin)
        return parts

    def _escaped(self, escapes: str) -> list[Part]:
        escaped = self.text[self.at + 1 : self.at + 2]
        self.at = min(self.at + 2, len(self.text))
        if escaped == "\n":
            return []
        return [Piece(escaped)] if escaped and escaped in escapes else [Piece("\\" + escaped)]

    def _expansion(self, *, quoted: bool) -> Part:
        """Read what begins with a dollar sign or a backquote."""
        at = self.at
        self.deeper()
        if self.text[at] == "`":
            part: Part = self._backquoted(quoted=quoted)
        elif self.text.startswith("$((", at):
            self.at += 3
            expression = Word(tuple(self.parts_until(")")))
            if self.peek() != ")":
                raise ShellSyntaxError("Missing '))'", at)
            self.at += 1
            part = Arithmetic(expression, quoted)
        elif self.text.startswith("$(", at):
            script, self.at = self.inner_script(self.text, at + 2, closes=True)
            part = Substitution(script, quoted)
        elif self.text.startswith("${", at):
            self.at += 2
            part = self._braced(at, quoted=quoted)
        elif found := _NAME.match(self.text, at + 1):
            self.at = found.end()
            part = Parameter(found[0], quoted)
        elif self.bash and not quoted and (found := _ANSI_QUOTED.match(self.text, at)):
            self.at = found.end()
            part = Piece(re.sub(r"\\(.)", lambda each: _ANSI.get(each[1], each[0]), found[1], flags=re.DOTALL))
        else:
            self.at += 1
            part = Piece("$", quoted)
        self.depth -= 1
        return part

    def _backquoted(self, *, quoted: bool) -> Part:
        found = _BACKQUOTED.match(self.text, self.at)
        if found is None:
            raise ShellSyntaxError("EOF in backquote substitution", self.at)
        self.at = found.end()
        inner = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", found[1])
        return Substitution(self.inner_script(inner, 0, closes=False)[0], quoted)

    def _braced(self, at: int, *, quoted: bool) -> Part:
        """Read ``${...}`` after its opening brace."""
        counted = self.peek() == "#" and self.peek(2) != "#}"
        self.at += counted
        name = _BRACED_NAME.match(self.text, self.at)
        if name is None:
            raise ShellSyntaxError("Bad substitution", at)
        self.at = name.end()
        if self.peek() == "}":
            self.at += 1
            return Parameter(name[0], quoted, "length" if counted else "")
        operator = None if counted else _OPERATOR.match(self.text, self.at)
        if operator is None:
            if _OF_BASH.match(self.text, self.at):
                raise NotReadable("${...} in the form of bash", at)
            raise ShellSyntaxError("Bad substitution", at)
        self.at = operator.end()
        is_pattern = operator[0][0] in "%#"
        word = Word(tuple(self.parts_until("}", quoted=quoted and not is_pattern)))
        return Parameter(name[0], quoted, operator[0], word)


_ENDS = ("", " ", "\t", "\n", ";", "&", "|", "<", ">", ")")


def _with_tilde(text: str) -> list[Part]:
    if text == "~" or text.startswith("~/"):
        return [TILDE, Piece(text[1:], quoted=False)] if len(text) > 1 else [TILDE]
    return [Piece(text, quoted=False)]


_TOKEN = lazy_regex(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|[0-9]+)(?![A-Za-z_])|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign><<=|>>=|&&|\|\||\+\+|--|\*\*|<<|>>|[-+*/%&|^<>=!]=|[-+*/%&|^<>=!~?:()])|(?P<bad>\S))",
    re.ASCII,
)
_NUMBER = lazy_regex(r"\s*([-+]?)(0[xX][0-9a-fA-F]+|[0-9]+)\s*", re.ASCII)
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_DEPTH_LIMIT = 40


class ArithmeticMistake(Exception):
    """An expression without a value; the text says why."""


class IllegalNumber(ArithmeticMistake):
    """A variable in an expression whose value is no number."""


def divided(left: int, right: int) -> int:
    """Divide towards zero, as C does."""
    if right == 0:
        raise ArithmeticMistake("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def remainder(left: int, right: int) -> int:
    """Return what a division leaves, with the sign of the dividend."""
    return left - right * divided(left, right)


def power(base: int, exponent: int) -> int:
    """Return a power in 64 bits, as bash does."""
    if exponent < 0:
        raise ArithmeticMistake("exponent less than 0")
    return pow(base, exponent, 2**64)


_BINARY: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "|": (3, operator.or_),
    "^": (4, operator.xor),
    "&": (5, operator.and_),
    "==": (6, operator.eq),
    "!=": (6, operator.ne),
    "<": (7, operator.lt),
    "<=": (7, operator.le),
    ">": (7, operator.gt),
    ">=": (7, operator.ge),
    "<<": (8, lambda left, right: left << (right & 63)),
    ">>": (8, lambda left, right: left >> (right & 63)),
    "+": (9, operator.add),
    "-": (9, operator.sub),
    "*": (10, operator.mul),
    "/": (10, divided),
    "%": (10, remainder),
    "**": (11, power),
}
_LOGICAL = {"||": 1, "&&": 2}
_ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="})


def number(text: str) -> int | None:
    """Return the value of a number in decimal, octal or hexadecimal notation, or None if it is none."""
    found = _NUMBER.fullmatch(text)
    if found is None or len(text) > 100:
        return None
    sign, digits = found.groups()
    try:
        value = int(digits, 8 if digits[0] == "0" and digits.isdecimal() else 0)
    except ValueError:
        return None
    return max(_LOWEST, min(_HIGHEST, -value if sign == "-" else value))


def evaluate(text: str, variables: MutableMapping[str, str], *, bash: bool = False) -> int:
    """Return the value of an expression and do its assignments.

    Raises:
        ArithmeticMistake: It has no value.
    """
    return _Evaluation(text, variables, bash).value()


class _Evaluation:
    """An expression that is evaluated while it is read; what ``?:``, ``&&`` and ``||`` leave out has no effect."""

    def __init__(self, text: str, variables: MutableMapping[str, str], bash: bool) -> None:
        self.tokens: list[tuple[str, str]] = []
        for found in _TOKEN.finditer(text):
            kind = found.lastgroup or ""
            if kind == "bad":
                raise ArithmeticMistake("expecting EOF")
            token = found[kind]
            if token in ("++", "--", "**") and not bash:
                self.tokens += [("sign", token[0]), ("sign", token[0])]
            else:
                self.tokens.append((kind, token))
        self.at = 0
        self.variables = variables
        self.bash = bash
        self.skipping = 0
        self.depth = 0

    def value(self) -> int:
        if not self.tokens and self.bash:
            return 0
        value = self._choice()
        if self.at < len(self.tokens):
            raise self._unexpected()
        return value

    def _peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def _unexpected(self) -> ArithmeticMistake:
        return ArithmeticMistake("expecting EOF" if self._peek() else "expecting primary")

    def _take(self, sign: str) -> None:
        if self._peek() != sign:
            raise ArithmeticMistake(f"expecting '{sign}'")
        self.at += 1

    def _choice(self, *, skips: bool = False) -> int:
        """Read an assignment, or a condition with its alternatives; ``skips`` if it has no effect."""
        self.skipping, self.depth = self.skipping + skips, self.depth + 1
        if self.depth > _DEPTH_LIMIT:
            raise ArithmeticMistake(f"the expression is nested more than {_DEPTH_LIMIT} levels deep")
        value = self._assignment_or_condition()
        self.skipping, self.depth = self.skipping - skips, self.depth - 1
        return value

    def _assignment_or_condition(self) -> int:
        if self.at + 1 < len(self.tokens) and self.tokens[self.at][0] == "name":
            name, sign = self._peek(), self.tokens[self.at + 1][1]
            if sign in _ASSIGNING:
                self.at += 2
                value = self._choice()
                if sign != "=":
                    value = self._applied(sign[:-1], self._variable(name), value)
                return self._assign(name, value)
        value = self._operation(1)
        if self._peek() == "?":
            self.at += 1
            first = self._choice(skips=not value)
            self._take(":")
            second = self._choice(skips=bool(value))
            value = first if value else second
        return value

    def _operation(self, lowest: int) -> int:
        """Read operands and operators of at least this precedence."""
        left = self._operand()
        while True:
            sign = self._peek()
            if (precedence := _LOGICAL.get(sign, 0)) >= lowest:
                self.at += 1
                decided = bool(left) is (sign == "||")
                self.skipping += decided
                right = self._operation(precedence + 1)
                self.skipping -= decided
                left = int(bool(left) if decided else bool(right))
            elif sign in _BINARY and _BINARY[sign][0] >= lowest:
                self.at += 1
                left = self._applied(sign, left, self._operation(_BINARY[sign][0] + (sign != "**")))
            else:
                return left

    def _applied(self, sign: str, left: int, right: int) -> int:
        if self.skipping:
            return 0
        return _wrapped(_BINARY[sign][1](left, right))

    def _operand(self) -> int:
        signs: list[str] = []
        while self._peek() in ("-", "+", "!", "~"):
            signs.append(self._peek())
            self.at += 1
        value = self._primary()
        for sign in reversed(signs):
            value = {"-": -value, "+": value, "!": int(not value), "~": ~value}[sign]
        return _wrapped(value)

    def _primary(self) -> int:
        if self.at >= len(self.tokens):
            raise self._unexpected()
        kind, token = self.tokens[self.at]
        if kind == "number":
            self.at += 1
            value = number(token)
            if value is None:
                raise ArithmeticMistake("expecting EOF")
            return value
        if kind == "name":
            self.at += 1
            value = self._variable(token)
            if (sign := self._peek()) in ("++", "--"):
                self.at += 1
                self._assign(token, value + (1 if sign == "++" else -1))
            return value
        if token in ("++", "--"):
            self.at += 2
            name = self.tokens[self.at - 1][1] if self.at <= len(self.tokens) else ""
            return self._assign(name, self._variable(name) + (1 if token == "++" else -1))
        if token != "(":
            raise ArithmeticMistake("expecting primary")
        self.at += 1
        value = self._choice()
        self._take(")")
        return value

    def _variable(self, name: str) -> int:
        text = self.variables.get(name, "").strip()
        value = number(text) if text else 0
        if value is None and (self.bash or self.skipping):
            return 0
        if value is None:
            raise IllegalNumber(f"Illegal number: {text[:80]}")
        return value

    def _assign(self, name: str, value: int) -> int:
        value = _wrapped(value)
        if not self.skipping:
            self.variables[name] = str(value)
        return value


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63
