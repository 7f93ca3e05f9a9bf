"""Patterns of the POSIX shell, and regular expressions of POSIX, none of which takes exponential time.

In a pattern, which matches whole texts, prefixes and suffixes, a backslash makes the next character ordinary. A
pattern becomes a regular expression of Python that backtracks for at most one ``*``. A regular expression, basic or
extended, becomes a nondeterministic automaton; sets of its states are cached while it runs, so matching takes linear
time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial, reduce
from itertools import chain

from engine.base.values import lazy_regex
from engine.shell.call import NotSimulated

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


_STATE_LIMIT = 1_000
_DEPTH_LIMIT = 40
_CACHE_LIMIT = 10_000
_ESCAPED_CLASSES = {"w": "[A-Za-z0-9_]", "W": "[^A-Za-z0-9_]", "s": r"\s", "S": r"\S"}
_EXTENDED_TIMES = lazy_regex(r"\{(\d{0,3})(,?)(\d{0,3})\}")
_BASIC_TIMES = lazy_regex(r"\\\{(\d{0,3})(,?)(\d{0,3})\\\}")

_ANYWHERE, _BEGIN, _END = "", "^", "$"


class NotExpression(Exception):
    """A text that is no regular expression."""


States = frozenset[int]
Fragment = Callable[[int], int]
"""A part of an expression: adds its states so that they lead to a given one, and returns the first of them."""


def _in_a_row(parts: Sequence[Fragment]) -> Fragment:
    return lambda after: reduce(lambda following, part: part(following), reversed(parts), after)


class Expression:
    """A compiled regular expression."""

    def __init__(
        self,
        sources: Sequence[str],
        extended: bool = False,
        *,
        ignore_case: bool = False,
        fixed: bool = False,
        whole: bool = False,
    ) -> None:
        """Compile alternatives, which match a part of a line, or only ``whole`` lines.

        Raises:
            NotExpression: One of them is none.
            NotSimulated: One of them looks at the edges of words, or back at a group.
        """
        self._flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
        # What each state needs to lead on, a character or a place, and where it leads.
        self._states: list[tuple[re.Pattern[str] | str, list[int]]] = []
        self._source = ""
        self._at = 0
        self._depth = 0
        self._extended = extended
        self._accept = self._state(_ANYWHERE)
        end = self._state(_END if whole else _ANYWHERE, self._accept)
        read = self._literal if fixed else self._expression
        alternatives = [read(source)(end) for source in sources]
        self._start = frozenset({self._state(_BEGIN if whole else _ANYWHERE, *alternatives)})
        self._stepped = lru_cache(_CACHE_LIMIT)(self._step)
        self._closed = lru_cache(_CACHE_LIMIT)(self._closure)

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self._states)

    def found_in(self, line: str) -> bool:
        """Return whether some part of the line matches."""
        states = self._start
        for index, sign in enumerate(line):
            closed = self._closed(states, _ANYWHERE if index else _BEGIN)
            if self._accept in closed:
                return True
            states = self._stepped(closed, sign) | self._start
        return self._accept in self._closed(states, _END if line else _BEGIN + _END)

    def _step(self, states: States, sign: str) -> States:
        """Return the states after a character, without their closure."""
        moves = map(self._states.__getitem__, states)
        return frozenset(
            chain.from_iterable(after for test, after in moves if not isinstance(test, str) and test.match(sign))
        )

    def _closure(self, states: States, places: str) -> States:
        """Return the closure of the states: all that are reached without a character where these places are."""
        found, pending = set(states), list(states)
        while pending:
            test, following = self._states[pending.pop()]
            if isinstance(test, str) and test in places:
                new = set(following) - found
                found |= new
                pending += new
        return frozenset(found)

    # -- compiling ---------------------------------------------------------------------------------------------------

    def _state(self, test: re.Pattern[str] | str, *after: int) -> int:
        if len(self._states) >= _STATE_LIMIT:
            raise NotExpression("Regular expression too big")
        self._states.append((test, list(after)))
        return len(self._states) - 1

    def _character(self, expression: str) -> Fragment:
        return partial(self._state, _compiled(expression, self._flags))

    def _literal(self, source: str) -> Fragment:
        return _in_a_row([self._character(re.escape(sign)) for sign in source])

    def _expression(self, source: str) -> Fragment:
        self._source, self._at = source, 0
        one = self._alternatives()
        if self._at < len(source):
            raise NotExpression("Unmatched ) or \\)")
        return one

    def _ahead(self, sign: str) -> bool:
        """Return whether an operator comes, which a basic expression writes with a backslash."""
        return self._source.startswith(sign if self._extended else "\\" + sign, self._at)

    def _skip(self) -> None:
        self._at += 1 if self._extended else 2

    def _alternatives(self) -> Fragment:
        alternatives = [self._sequence()]
        while self._ahead("|"):
            self._skip()
            alternatives.append(self._sequence())
        return lambda after: self._state(_ANYWHERE, *(one(after) for one in alternatives))

    def _sequence(self) -> Fragment:
        parts: list[Fragment] = []
        first = True
        while self._at < len(self._source) and not self._ahead("|") and not (self._ahead(")") and self._depth):
            start = self._at
            one = self._atom(first=first)
            first = first and self._source[start] == "^"
            parts.append(self._repetitions(one, start))
        return _in_a_row(parts)

    def _atom(self, *, first: bool) -> Fragment:
        source, at = self._source, self._at
        sign = source[at]
        if self._ahead("("):
            return self._group()
        self._at += 1
        if sign == "^" and (self._extended or first):
            return partial(self._state, _BEGIN)
        if sign == "$" and (self._extended or self._at == len(source) or self._ahead(")") or self._ahead("|")):
            return partial(self._state, _END)
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
        if sign.isdigit() or sign in "bB<>`'":
            raise NotSimulated
        return self._character(_ESCAPED_CLASSES.get(sign) or re.escape(sign))

    def _repetitions(self, one: Fragment, start: int) -> Fragment:
        """Apply the operators ``*``, ``+``, ``?`` and ``{n,m}`` after an atom, which begins at ``start``."""
        source, times = self._source, _EXTENDED_TIMES if self._extended else _BASIC_TIMES
        while True:
            if source.startswith("*", self._at) and (self._extended or start > 0 or source[start] != "*"):
                self._at += 1
                one = self._repeated(one, optional=True)
            elif self._ahead("+") or self._ahead("?"):
                self._skip()
                one = self._repeated(one, optional=False) if source[self._at - 1] == "+" else self._optional(one)
            elif (found := times.match(source, self._at)) and found[1] + found[2]:
                self._at = found.end()
                low = int(found[1] or 0)
                high = int(found[3] or 0) if found[2] else low
                if max(low, high) > 255:
                    raise NotExpression("Regular expression too big")
                more = [self._optional(one)] * (high - low)
                endless = [self._repeated(one, optional=True)] if found[2] and not found[3] else []
                one = _in_a_row([one] * low + more + endless)
            else:
                return one

    def _optional(self, one: Fragment) -> Fragment:
        return lambda after: self._state(_ANYWHERE, one(after), after)

    def _repeated(self, one: Fragment, *, optional: bool) -> Fragment:
        def states(after: int) -> int:
            fork = self._state(_ANYWHERE, after)
            first = one(fork)
            self._states[fork][1].append(first)
            return fork if optional else first

        return states


_compiled = lru_cache(maxsize=512)(re.compile)
