"""The tokens of a script of the POSIX shell.

The words of a shell depend on their place: ``if`` is a keyword only where a command may begin, ``a)`` a pattern only
within ``case``, and the text of a here document stands after the line that asks for it. So the tokens are made by
hand, and what is flat in the language is one token: a simple command with its words, redirections and assignments, the
head of ``for`` and ``case``, the patterns of an item. ``grammar`` says how they nest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from engine.base.values import lazy_regex
from engine.shell.syntax import HereDocument, Piece, Redirect, Script, ShellCommand, Word, literal
from engine.shell.words import NESTING_LIMIT, NestedTooDeep, NotReadable, ShellSyntaxError, WordReader

_SKIPPED = lazy_regex(r"(?:[ \t]|\\\n)+")
_COMMENT = lazy_regex(r"#[^\n]*")
_OPERATOR = lazy_regex(r"&&|\|\||;;|[;&|()\n]")
_REDIRECT = lazy_regex(r"(?P<handle>\d?)(?P<sign><<-|<<|<&|>&|>>|>\||<>|<|>)")
_BOTH = lazy_regex(r"&>>?")
ASSIGNMENT = lazy_regex(r"[A-Za-z_][A-Za-z_0-9]*=", re.ASCII)
_TIMED = lazy_regex(r"time[ \t]+(?:-p[ \t]+)?(?:[({]|(?:if|for|while|until|case)\b)")
_ARRAY = lazy_regex(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=\(|[A-Za-z_]\w*(?:\[[^\]]*\]\+?|\+)=", re.ASCII)
_FUNCTION = lazy_regex(r"([A-Za-z_][\w.-]*)[ \t]*\([ \t]*\)", re.ASCII)
_ARITHMETIC = lazy_regex(r"\(\(\s*[A-Za-z_0-9]*\s*(?:[-+*/%<>=]|\)\))")
_RESERVED = lazy_regex(r"[A-Za-z]+(?![^ \t\n;&|<>()])|[!{}](?=[ \t\n;&|<>()]|\Z)")
_IDENTIFIER = lazy_regex(r"[A-Za-z_][A-Za-z_0-9]*", re.ASCII)

_OPERATORS = {"&&": "AND", "||": "OR", ";;": "DSEMI", ";": "SEPARATOR", "&": "SEPARATOR", "|": "PIPE"}
# fmt: off
_KEYWORDS = {
    "!": "BANG", "{": "LBRACE", "}": "RBRACE", "if": "IF", "then": "THEN", "elif": "ELIF", "else": "ELSE", "fi": "FI",
    "while": "WHILE", "until": "UNTIL", "do": "DO", "done": "DONE", "for": "FOR", "case": "CASE", "esac": "ESAC",
}
_OPENING = frozenset({"LBRACE", "LPAR", "IF", "WHILE", "UNTIL", "FOR", "CASE"})
_CLOSING = frozenset({"RBRACE", "RPAR", "FI", "DONE", "ESAC"})
_OF_BASH = {
    "[[": "[[ ... ]]", "select": "select", "coproc": "coproc", "function": "function without parentheses",
}
_NOT_READ = frozenset({
    "bind", "builtin", "caller", "compgen", "complete", "declare", "dirs", "disown", "enable", "getopts", "let",
    "mapfile", "popd", "pushd", "readarray", "shopt", "typeset",
})
# fmt: on


class Token(NamedTuple):
    """A token: its kind, the text or the part of the tree that it stands for, and its place."""

    kind: str
    value: Any
    at: int


class Lexer(WordReader):
    """The tokens of one script. ``build`` makes the tree of a script inside it."""

    def __init__(
        self,
        text: str,
        build: Callable[[list[Token]], Script],
        at: int = 0,
        depth: int = 0,
        *,
        bash: bool = False,
        closes: bool = False,
    ) -> None:
        super().__init__(text, at, depth, bash=bash)
        self.build = build
        self.closes = closes  # a parenthesis ends the script
        self.tokens: list[Token] = []
        self.lines: list[int] = []  # the number of tokens at the end of each line outside all commands
        self._open: list[str] = []
        self._begins = True  # a command may begin here
        self._compound = False  # a compound command has just ended
        self._here: list[tuple[HereDocument, str, bool, bool]] = []
        self._counted = 0, 1  # a place, and the number of its line

    def inner_script(self, text: str, at: int, *, closes: bool) -> tuple[Script, int]:
        """Read a script inside this one; return it, and the place after the parenthesis that ``closes`` it."""
        inner = Lexer(text, self.build, at, self.depth + len(self._open), bash=self.bash, closes=closes)
        inner.read()
        return self.build(inner.tokens), inner.at

    def read(self) -> None:
        """Read the tokens up to the end of the script."""
        text = self.text
        while True:
            self._skip_blanks()
            if self.at >= len(text):
                break
            if text[self.at] == "#" and (found := _COMMENT.match(text, self.at)):
                self.at = found.end()
            elif text[self.at] in ";&|()\n":
                if self._operator():
                    return
            elif self._compound and (found := _REDIRECT.match(text, self.at)):
                self._put("REDIRECT", self.at, self._redirect(found))
            else:
                self._command()
        if self.closes:
            raise ShellSyntaxError('end of file unexpected (expecting ")")', self.at)
        self._here_documents()

    def _put(self, kind: str, at: int, value: object) -> None:
        self.tokens.append(Token(kind, value, at))

    def _operator(self) -> bool:
        """Read an operator or the end of a line; return True if it ends the script."""
        at = self.at
        found = _OPERATOR.match(self.text, at)
        assert found is not None
        sign = found[0]
        if sign == "(":
            return self._open_parenthesis()
        if sign == "&" and self.bash and _BOTH.match(self.text, at) and not self._compound:
            self._command()
            return False
        self.at = found.end()
        if sign == "\n":
            self._here_documents()
            if not self._begins:
                self._put("SEPARATOR", at, sign)
                if not self._open:
                    self.lines.append(len(self.tokens))
        elif sign == ")":
            if self.closes and not self._open:
                return True
            self._keyword("RPAR", at, sign)
            return False
        else:
            self._put(_OPERATORS[sign], at, sign)
        self._begins, self._compound = True, False
        if sign == ";;" and self._open and self._open[-1] == "CASE":
            self._patterns()
        return False

    def _open_parenthesis(self) -> bool:
        at = self.at
        if _ARITHMETIC.match(self.text, at):
            raise NotReadable("(( ... ))", at)
        self.at += 1
        if not self._begins:
            raise ShellSyntaxError('"(" unexpected', at)
        self._keyword("LPAR", at, "(")
        return False

    def _keyword(self, kind: str, at: int, value: object) -> None:
        self._put(kind, at, value)
        self._compound = kind in _CLOSING
        self._begins = not self._compound
        if kind in _OPENING:
            self._open.append(kind)
            if self.depth + len(self._open) > NESTING_LIMIT:
                raise NestedTooDeep
        elif self._compound and self._open:
            self._open.pop()

    # -- commands ----------------------------------------------------------------------------------------------------

    def _command(self) -> None:
        """Read a keyword, the head of a function, or a simple command."""
        text, at = self.text, self.at
        if (self._begins or self._compound) and (found := _RESERVED.match(text, at)):
            word = found[0]
            if word in _OF_BASH:
                raise NotReadable(_OF_BASH[word], at)
            if kind := _KEYWORDS.get(word):
                self.at = found.end()
                value: object = word
                if kind == "FOR":
                    value = self._head_of_for()
                elif kind == "CASE":
                    value = self._head_of_case()
                self._keyword(kind, at, value)
                if kind == "CASE":
                    self._patterns()
                return
        if self._begins and self.bash and _TIMED.match(text, at):
            raise NotReadable("time before a compound command", at)
        if text.startswith("[[", at) and text[at + 2 : at + 3] in ("", " ", "\t", "\n"):
            raise NotReadable(_OF_BASH["[["], at)
        if self._begins and (found := _FUNCTION.match(text, at)):
            self.at = found.end()
            self._put("FUNCTION", at, found[1])
            return
        self._put("COMMAND", at, self._simple_command())
        self._begins = self._compound = False

    def _simple_command(self) -> ShellCommand:
        text, begin = self.text, self.at
        words: list[Word] = []
        redirects: list[Redirect] = []
        assignments: list[tuple[str, Word]] = []
        while True:
            self._skip_blanks()
            at = self.at
            if at >= len(text) or (text[at] == "#"):
                break
            if text[at] in "<>0123456789" and (redirect := _REDIRECT.match(text, at)):
                redirects.append(self._redirect(redirect))
            elif self.bash and text[at] == "&" and (both := _BOTH.match(text, at)):
                self.at = both.end()
                redirects += [Redirect(1, self._target(), both[0] == "&>>"), Redirect(2, same_as=1)]
            elif not words and text[at] not in "'\"\\$`" and (found := ASSIGNMENT.match(text, at)):
                if _ARRAY.match(text, at):
                    raise NotReadable("an array", at)
                self.at = found.end()
                value = self.word(follows_equals=True)
                assert value is not None
                assignments.append((found[0][:-1], value))
            else:
                if not words and _ARRAY.match(text, at):
                    raise NotReadable("an array or +=", at)
                word = self.word()
                if word is None:
                    break
                words.append(word)
        if words and words[0].constant in _NOT_READ:
            raise NotReadable(f"the command {words[0].constant}", begin)
        return ShellCommand(tuple(words), tuple(redirects), tuple(assignments), line=self._line_of(begin))

    def _line_of(self, at: int) -> int:
        """Return the number of the line of a place, which is not before the last one asked for."""
        counted, line = self._counted
        self._counted = at, line + self.text.count("\n", counted, at)
        return self._counted[1]

    def _head_of_for(self) -> tuple[str, tuple[Word, ...] | None]:
        self._skip_lines()
        if self.peek(2) == "((":
            raise NotReadable("for (( ... ))", self.at)
        found = _IDENTIFIER.match(self.text, self.at)
        if found is None:
            raise ShellSyntaxError("Bad for loop variable", self.at)
        self.at = found.end()
        self._skip_lines()
        words: list[Word] | None = None
        if (head := _RESERVED.match(self.text, self.at)) and head[0] == "in":
            self.at = head.end()
            words = self._words()
        if self.peek() == ";":
            self.at += 1
        elif words is not None and self.peek() != "\n":
            raise ShellSyntaxError(f"{self._seen()} unexpected", self.at)
        self._skip_lines()
        return found[0], None if words is None else tuple(words)

    def _words(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self._skip_blanks()
            word = self.word() if self.peek() != "#" else None
            if word is None:
                return words
            words.append(word)

    def _head_of_case(self) -> Word:
        self._skip_blanks()
        word = self.word() if self.peek() != "#" else None
        self._skip_lines()
        found = _RESERVED.match(self.text, self.at)
        if word is None or found is None or found[0] != "in":
            expected = "word" if word is None else '"in"'
            raise ShellSyntaxError(f"{self._seen()} unexpected (expecting {expected})", self.at)
        self.at = found.end()
        return word

    def _patterns(self) -> None:
        """Read the patterns of the next item of a ``case``, or its end."""
        self._skip_lines()
        at = self.at
        found = _RESERVED.match(self.text, at)
        if found and found[0] == "esac":
            self.at = found.end()
            self._keyword("ESAC", at, "esac")
            return
        if self.peek() == "(":
            self.at += 1
        patterns: list[Word] = []
        while True:
            self._skip_blanks()
            word = self.word()
            self._skip_blanks()
            sign = self.peek()
            if word is None or sign not in ("|", ")"):
                raise ShellSyntaxError(f'{self._seen()} unexpected (expecting ")")', self.at)
            patterns.append(word)
            self.at += 1
            if sign == ")":
                break
        self._put("PATTERNS", at, tuple(patterns))
        self._begins, self._compound = True, False

    def _skip_blanks(self) -> None:
        if found := _SKIPPED.match(self.text, self.at):
            self.at = found.end()

    def _skip_lines(self) -> None:
        while True:
            self._skip_blanks()
            sign = self.peek()
            if sign == "#" and (found := _COMMENT.match(self.text, self.at)):
                self.at = found.end()
            elif sign == "\n":
                self.at += 1
                self._here_documents()
            else:
                return

    def _seen(self) -> str:
        """Return the next word or sign in quotes, for a message."""
        found = re.compile(r"[^ \t\n;&|<>()]+|[;&|<>()]").match(self.text, self.at)
        if found:
            return f'"{found[0][:40]}"'
        return "newline" if self.peek() == "\n" else "end of file"

    # -- redirections ------------------------------------------------------------------------------------------------

    def _redirect(self, found: re.Match[str]) -> Redirect:
        sign = found["sign"]
        self.at = found.end()
        reads = sign.startswith("<") and sign != "<>"
        handle = int(found["handle"]) if found["handle"] else int(not sign.startswith("<"))
        if self.peek() == "(" and sign in "<>":
            raise NotReadable("process substitution", found.start())
        if sign == "<<" and self.peek() == "<":
            raise NotReadable("<<<", found.start())
        if sign in ("<<", "<<-"):
            return self._here_document(handle, strips=sign == "<<-")
        target = self._target()
        if sign in ("<&", ">&"):
            same = target.constant or ""
            if same == "-":
                return Redirect(handle, same_as=-1)
            if not same.isdecimal() or len(same) > 1:
                raise ShellSyntaxError("Bad fd number", found.start())
            return Redirect(handle, same_as=int(same))
        return Redirect(handle, target, append=sign == ">>", reads=reads)

    def _target(self) -> Word:
        self._skip_blanks()
        target = self.word()
        if target is None:
            raise ShellSyntaxError(f"{self._seen()} unexpected", self.at)
        return target

    def _here_document(self, handle: int, *, strips: bool) -> Redirect:
        target = self._target()
        quoted = any(not isinstance(part, Piece) or part.quoted for part in target.parts)
        here = HereDocument()
        self._here.append((here, target.written, quoted, strips))
        return Redirect(handle, here=here, reads=True)

    def _here_documents(self) -> None:
        """Read the texts of the here documents of the line that has ended."""
        waiting, self._here = self._here, []
        for here, delimiter, quoted, strips in waiting:
            lines: list[str] = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line, self.at = self.text[self.at : end], min(end + 1, len(self.text))
                line = line.lstrip("\t") if strips else line
                if line == delimiter:
                    break
                lines.append(line + self.text[end : end + 1])
            text = "".join(lines)
            here.word = literal(text) if quoted else self._expanded_document(text)

    def _expanded_document(self, text: str) -> Word:
        inner = Lexer(text, self.build, 0, self.depth + len(self._open) + 1, bash=self.bash)
        parts = tuple(inner.parts_until(""))
        constant = "".join(part.text for part in parts if isinstance(part, Piece))
        return Word(parts, constant if all(isinstance(part, Piece) for part in parts) else None)
