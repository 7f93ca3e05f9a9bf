"""Patterns of the POSIX shell: matching of whole texts, prefixes and suffixes.

A backslash makes the next character ordinary. A pattern becomes a regular expression that tries again for at most one
``*``, so that no pattern takes exponential time.
"""

from __future__ import annotations

import re
from functools import lru_cache

from engine.base.lazy import lazy_regex

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
    """Return the regular expression of tokens. The first text that fits after a ``*`` is as good as any later one."""
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
