"""Words of the POSIX shell: quotes, parameters and substitutions, read into the parts of the syntax tree."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from engine.base.values import lazy_regex
from engine.shell.syntax import TILDE, Arithmetic, Parameter, Part, Piece, Script, Substitution, Word

if TYPE_CHECKING:
    pass


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
