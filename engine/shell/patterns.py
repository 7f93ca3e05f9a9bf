"""Patterns of the POSIX shell, and regular expressions of POSIX, none of which takes exponential time.

In a pattern, which matches whole texts, prefixes and suffixes, a backslash makes the next character ordinary. A
pattern becomes a regular expression of Python that backtracks for at most one ``*``. A regular expression, basic or
extended, becomes a nondeterministic automaton; sets of its states are cached while it runs, so matching takes linear
time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import lru_cache

from engine.base.values import lazy_regex

_STAR = ""  # the token of `*` among the regular expressions of single characters
_CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r"\s",
    "blank": r" \t",
    "punct": re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    "xdigit": "0-9A-Fa-f",
    "cntrl": r"\x00-\x1f\x7f",
    "print": r"\x20-\x7e",
    "graph": r"\x21-\x7e",
}
_ESCAPE = lazy_regex(r"[*?\[\]\\!^-]")


def escaped(text: str) -> str:
    """Return a pattern that matches this text only."""
    return _ESCAPE.sub(r"\\\g<0>", text)


def unescaped(pattern: str) -> str:
    """Return a pattern without the backslashes that make characters ordinary."""
    return re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL) if "\\" in pattern else pattern


def matches(pattern: str, text: str) -> bool:
    """Return whether the pattern matches the whole text."""
    return _whole(pattern).match(text) is not None


def prefix_end(pattern: str, text: str, *, longest: bool) -> int | None:
    """Return the end of the shortest or longest prefix that matches, or None."""
    found = _prefix(pattern, longest, False).match(text)
    return None if found is None else found.end()


def suffix_start(pattern: str, text: str, *, longest: bool) -> int | None:
    """Return the start of the shortest or longest suffix that matches, or None."""
    found = _prefix(pattern, longest, True).match(text[::-1])
    return None if found is None else len(text) - found.end()


@lru_cache(maxsize=1024)
def _whole(pattern: str) -> re.Pattern[str]:
    return re.compile(_expression(_tokens(pattern), longest=True) + r"\Z", re.DOTALL)


@lru_cache(maxsize=1024)
def _prefix(pattern: str, longest: bool, backwards: bool) -> re.Pattern[str]:
    tokens = _tokens(pattern)
    return re.compile(_expression(tokens[::-1] if backwards else tokens, longest=longest), re.DOTALL)


def _expression(tokens: list[str], *, longest: bool) -> str:
    """Return the regular expression of tokens. After a ``*`` the first match of a middle part suffices."""
    chunks: list[list[str]] = [[]]
    for token in tokens:
        if token == _STAR:
            chunks.append([])
        else:
            chunks[-1].append(token)
    first, *others = ["".join(chunk) for chunk in chunks]
    if not others:
        return first
    *middle, last = others
    steps = "".join(f"(?>.*?{chunk})" for chunk in middle if chunk)
    if longest:
        return f"{first}{steps}.*{last}"
    return first + steps + (f"(?>.*?{last})" if last else "")


def _tokens(pattern: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        at += 1
        if sign == "*":
            if not tokens or tokens[-1] != _STAR:
                tokens.append(_STAR)
        elif sign == "?":
            tokens.append(".")
        elif sign == "[" and (found := bracket(pattern, at)):
            token, at = found
            tokens.append(token)
        elif sign == "\\" and at < len(pattern):
            tokens.append(re.escape(pattern[at]))
            at += 1
        else:
            tokens.append(re.escape(sign))
    return tokens


def bracket(text: str, at: int, *, escapes: bool = True) -> tuple[str, int] | None:
    """Return the regular expression of a bracket expression after its ``[``, and its end; None if it has none.

    ``escapes`` tells whether a backslash makes the next character ordinary, as in a pattern of the shell.
    """
    negated = text[at : at + 1] in ("!", "^") and (escapes or text[at] == "^")
    at += negated
    members: list[str] = []
    first = True
    while at < len(text):
        sign = text[at]
        if sign == "]" and not first:
            inside = "".join(members)
            if not inside:
                return ("." if negated else "(?!)"), at + 1
            return f"[{'^' if negated else ''}{inside}]", at + 1
        first = False
        if named := re.compile(r"\[:([a-z]+):\]").match(text, at):
            members.append(_CLASSES.get(named[1], ""))
            at = named.end()
            continue
        low, at = _member(text, at, escapes=escapes)
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in ("", "]"):
            high, at = _member(text, at + 1, escapes=escapes)
            if low <= high:
                members.append(f"{re.escape(low)}-{re.escape(high)}")
        else:
            members.append(re.escape(low))
    return None


def _member(text: str, at: int, *, escapes: bool) -> tuple[str, int]:
    if escapes and text[at] == "\\" and at + 1 < len(text):
        return text[at + 1], at + 2
    return text[at], at + 1


_STATE_LIMIT = 2_000
_DEPTH_LIMIT = 40
_CACHE_LIMIT = 10_000
_ESCAPED_CLASSES = {"w": "[A-Za-z0-9_]", "W": "[^A-Za-z0-9_]", "s": r"\s", "S": r"\S"}
_REPEATED = lazy_regex(r"(\d{0,3})(,?)(\d{0,3})")

# What stands beside a position in a line: its begin or end, a character of a word, or another character.
_EDGE, _WORD, _OTHER = 0, 1, 2
_BEGIN, _END, _NO_WORD_BEFORE, _NO_WORD_AFTER = "^", "$", "(?<!w)", "(?!w)"
_PLACES: dict[str, Callable[[int, int], bool]] = {
    _BEGIN: lambda before, _: before == _EDGE,
    _END: lambda _, after: after == _EDGE,
    "b": lambda before, after: (before == _WORD) is not (after == _WORD),
    "B": lambda before, after: (before == _WORD) is (after == _WORD),
    "<": lambda before, after: before != _WORD and after == _WORD,
    ">": lambda before, after: before == _WORD and after != _WORD,
    _NO_WORD_BEFORE: lambda before, _: before != _WORD,
    _NO_WORD_AFTER: lambda _, after: after != _WORD,
}
"""The conditions of positions between characters, by what stands before and after."""


class Whole(Enum):
    """The part of a line that has to match: any part, a word that stands alone, or the line."""

    PART = ("", "")
    WORD = (_NO_WORD_BEFORE, _NO_WORD_AFTER)
    LINE = (_BEGIN, _END)


class NotExpression(Exception):
    """A text that is no regular expression, or one that is not simulated."""


Fragment = tuple[int, int]


class Expression:
    """A compiled regular expression."""

    def __init__(
        self,
        sources: Sequence[str],
        *,
        extended: bool = False,
        ignore_case: bool = False,
        fixed: bool = False,
        whole: Whole = Whole.PART,
    ) -> None:
        """Compile alternatives.

        Raises:
            NotExpression: One of them is none.
        """
        self._flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
        self._free: list[list[int]] = []
        self._signs: list[tuple[re.Pattern[str] | str, int] | None] = []
        self._source = ""
        self._at = 0
        self._depth = 0
        self._extended = extended
        self._sees_words = whole is Whole.WORD
        begin, self._accept = self._new(), self._new()
        after, before = begin, self._accept
        if whole is not Whole.PART:
            after, before = self._new(), self._new()
            self._signs[begin], self._signs[before] = (whole.value[0], after), (whole.value[1], self._accept)
        for source in sources:
            self._source, self._at = source, 0
            one = self._literal() if fixed else self._alternatives()
            if self._at < len(self._source):
                raise NotExpression("Unmatched ) or \\)")
            self._free[after].append(one[0])
            self._free[one[1]].append(before)
        self._start = frozenset({begin})
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        self._closures: dict[tuple[frozenset[int], int, int], frozenset[int]] = {}

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self._free)

    # -- matching ----------------------------------------------------------------------------------------------------

    def found_in(self, line: str) -> bool:
        """Return whether some part of the line matches."""
        states, before = self._start, _EDGE
        for sign in line:
            after = self._side(sign)
            closed = self._closed(states, before, after)
            if self._accept in closed:
                return True
            states = self._step(closed, sign) | self._start
            before = after
        return self._accept in self._closed(states, before, _EDGE)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Return the spans that match, leftmost and longest first, without empty ones."""
        spans: list[tuple[int, int]] = []
        at = 0
        while at < len(line):
            end = self.match_end(line, at)
            if end is not None and end > at:
                spans.append((at, end))
                at = end
            else:
                at += 1
        return spans

    def match_end(self, line: str, at: int) -> int | None:
        """Return the end of the longest match that begins at this index, or None."""
        return max(self.ends(line, at), default=None)

    def ends(self, line: str, at: int) -> Iterator[int]:
        """Yield the ends of all matches that begin at this index, in ascending order."""
        states = self._start
        before = self._side(line[at - 1]) if at else _EDGE
        for index in range(at, len(line)):
            sign = line[index]
            after = self._side(sign)
            closed = self._closed(states, before, after)
            if self._accept in closed:
                yield index
            states = self._step(closed, sign)
            if not states:
                return
            before = after
        if self._accept in self._closed(states, before, _EDGE):
            yield len(line)

    def _side(self, sign: str) -> int:
        return _WORD if self._sees_words and (sign == "_" or sign.isalnum()) else _OTHER

    def _step(self, states: frozenset[int], sign: str) -> frozenset[int]:
        """Return the states after a character, without their closure."""
        key = (states, sign)
        known = self._steps.get(key)
        if known is None:
            after = set()
            for state in states:
                move = self._signs[state]
                if move is not None and not isinstance(move[0], str) and move[0].match(sign):
                    after.add(move[1])
            known = frozenset(after)
            if len(self._steps) < _CACHE_LIMIT:
                self._steps[key] = known
        return known

    def _closed(self, states: frozenset[int], before: int, after: int) -> frozenset[int]:
        """Return the closure of the states: all that are reached without a character at a position with these sides."""
        key = (states, before, after)
        known = self._closures.get(key)
        if known is None:
            found = set(states)
            pending = list(states)
            while pending:
                state = pending.pop()
                following = list(self._free[state])
                move = self._signs[state]
                if move is not None and isinstance(move[0], str) and _PLACES[move[0]](before, after):
                    following.append(move[1])
                for other in following:
                    if other not in found:
                        found.add(other)
                        pending.append(other)
            known = frozenset(found)
            if len(self._closures) < _CACHE_LIMIT:
                self._closures[key] = known
        return known

    # -- compiling ---------------------------------------------------------------------------------------------------

    def _new(self) -> int:
        if len(self._free) >= _STATE_LIMIT:
            raise NotExpression("Regular expression too big")
        self._free.append([])
        self._signs.append(None)
        return len(self._free) - 1

    def _single(self, expression: str | re.Pattern[str]) -> Fragment:
        begin, end = self._new(), self._new()
        self._signs[begin] = (expression, end)
        return begin, end

    def _character(self, expression: str) -> Fragment:
        return self._single(_compiled(expression, self._flags))

    def _literal(self) -> Fragment:
        begin = end = self._new()
        for sign in self._source:
            first, last = self._character(re.escape(sign))
            self._free[end].append(first)
            end = last
        self._at = len(self._source)
        return begin, end

    def _ahead(self, sign: str) -> bool:
        """Return whether an operator comes, which a basic expression writes with a backslash."""
        return self._source.startswith(sign if self._extended else "\\" + sign, self._at)

    def _skip(self) -> None:
        self._at += 1 if self._extended else 2

    def _alternatives(self) -> Fragment:
        begin, end = self._new(), self._new()
        while True:
            one = self._sequence()
            self._free[begin].append(one[0])
            self._free[one[1]].append(end)
            if not self._ahead("|"):
                return begin, end
            self._skip()

    def _sequence(self) -> Fragment:
        begin = end = self._new()
        first = True
        while self._at < len(self._source) and not self._ahead("|") and not (self._ahead(")") and self._depth):
            start = self._at
            one = self._atom(first=first)
            first = first and self._source[start] == "^"
            one = self._repetitions(one, start)
            self._free[end].append(one[0])
            end = one[1]
        return begin, end

    def _atom(self, *, first: bool) -> Fragment:
        source, at = self._source, self._at
        sign = source[at]
        if self._ahead("("):
            return self._group()
        self._at += 1
        if sign == "^" and (self._extended or first):
            return self._single(_BEGIN)
        if sign == "$" and (self._extended or self._at == len(source) or self._ahead(")") or self._ahead("|")):
            return self._single(_END)
        if sign == ".":
            return self._character(".")
        if sign == "[":
            found = bracket(source, self._at, escapes=False)
            if found is None:
                raise NotExpression("Unmatched [, [^, [:, [., or [=")
            self._at = found[1]
            return self._character(found[0])
        return self._escaped() if sign == "\\" else self._character(re.escape(sign))

    def _group(self) -> Fragment:
        self._skip()
        self._depth += 1
        if self._depth > _DEPTH_LIMIT:
            raise NotExpression(f"more than {_DEPTH_LIMIT} groups inside each other")
        inner = self._alternatives()
        if not self._ahead(")"):
            raise NotExpression("Unmatched ( or \\(")
        self._skip()
        self._depth -= 1
        return inner

    def _escaped(self) -> Fragment:
        if self._at >= len(self._source):
            raise NotExpression("Trailing backslash")
        sign = self._source[self._at]
        self._at += 1
        if sign in "bB<>":
            self._sees_words = True
            return self._single(sign)
        if sign.isdigit() or sign in "`'":
            raise NotExpression(f"\\{sign} is not simulated")
        return self._character(_ESCAPED_CLASSES.get(sign) or re.escape(sign))

    def _repetitions(self, one: Fragment, start: int) -> Fragment:
        """Apply the operators ``*``, ``+``, ``?`` and ``{n,m}`` after an atom."""
        source = self._source
        while self._at < len(source):
            sign = source[self._at]
            if sign == "*" and (self._extended or start > 0 or source[start] != "*"):
                self._at += 1
                one = self._repeated(one, optional=True, again=True)
            elif (self._ahead("+") or self._ahead("?")) and sign in "+?\\":
                kind = source[self._at + (not self._extended)]
                self._skip()
                one = self._repeated(one, optional=kind == "?", again=kind == "+")
            elif self._ahead("{") and (found := _REPEATED.match(source, self._at + 1 + (not self._extended))):
                closing = "}" if self._extended else "\\}"
                if not source.startswith(closing, found.end()) or not found[1] + found[2]:
                    return one
                after = found.end() + len(closing)
                low = int(found[1] or 0)
                high = int(found[3]) if found[3] else None if found[2] else low
                one = self._times(start, low, high)
                self._at = after
            else:
                return one
        return one

    def _repeated(self, one: Fragment, *, optional: bool, again: bool) -> Fragment:
        begin, end = self._new(), self._new()
        self._free[begin].append(one[0])
        self._free[one[1]].append(end)
        if optional:
            self._free[begin].append(end)
        if again:
            self._free[one[1]].append(one[0])
        return begin, end

    def _times(self, start: int, low: int, high: int | None) -> Fragment:
        """Read the atom again for each of its repetitions."""
        if max(low, high or 0) > 255:
            raise NotExpression("Regular expression too big")
        begin = end = self._new()
        count = low + 1 if high is None else max(high, low)
        for index in range(count):
            self._at = start
            one = self._atom(first=False)
            if index >= low:
                one = self._repeated(one, optional=True, again=high is None)
            self._free[end].append(one[0])
            end = one[1]
        return begin, end


@lru_cache(maxsize=512)
def _compiled(expression: str, flags: int) -> re.Pattern[str]:
    return re.compile(expression, flags)
