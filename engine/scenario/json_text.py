"""JSON in the text of a scenario: its values, and the places of their parts, which few readers ask for.

JSON is YAML too and has the same meaning, but the parser of YAML takes twenty times as long. Texts that it would read
in another way, or with a mistake, are left to it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from math import isfinite
from typing import NamedTuple

from engine.base.errors import Position
from engine.base.lazy import lazy_regex
from engine.scenario.scalars import DIGIT_LIMIT

_BLANK = lazy_regex(r"[ \t\r\n]*")
# Ends of lines in YAML alone, a mark that it drops, and escapes of half a character.
_OTHERWISE = lazy_regex(r"[\x85\u2028\u2029\ufeff]|\r(?!\n)|\\u[dD][89a-fA-F]")


class JsonPart(NamedTuple):
    """A member of an object or an item of a list: where its key and its value begin. An item has no key."""

    key: str
    key_start: int
    start: int


class JsonText:
    """A text with JSON in it, with the positions of its characters."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _lines(self) -> list[int]:
        """The beginnings of the lines."""
        return [0, *(end.end() for end in re.finditer("\n", self._text))]

    def position(self, at: int) -> Position:
        """Return line and column of a character."""
        line = bisect_right(self._lines, at)
        return Position(line, at - self._lines[line - 1] + 1)

    def parts(self, start: int) -> Iterator[JsonPart]:
        """Yield the parts of the object or list that begins there."""
        has_keys = self._text[start] == "{"
        at = self._after_blanks(start + 1)
        while self._text[at] not in "]}":
            key, key_start = "", at
            if has_keys:
                key, at = _PLAIN.raw_decode(self._text, at)
                at = self._after_blanks(self._after_blanks(at) + 1)  # behind the colon
            yield JsonPart(key, key_start, at)
            at = self._after_blanks(_PLAIN.raw_decode(self._text, at)[1])
            if self._text[at] == ",":
                at = self._after_blanks(at + 1)

    def _after_blanks(self, at: int) -> int:
        blank = _BLANK.match(self._text, at)
        assert blank is not None
        return blank.end()


def json_value(text: str) -> object:
    """Return the value of a text of JSON. Raises ValueError if it is none, or if YAML could read it otherwise."""
    if _OTHERWISE.search(text):
        raise ValueError("YAML reads it in another way")
    try:
        return _STRICT.decode(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def counted(value: object) -> tuple[int, int]:
    """Return the number of values in a value, itself included, and how many levels they are nested."""
    size, depth = 1, 0
    level = [value]
    while level := [one for one in level if isinstance(one, dict | list)]:
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
        size += len(level)
        depth += 1
    return size, depth


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs) or "" in mapping:
        raise ValueError("a key is empty or a duplicate")
    return mapping


def _whole(text: str) -> int:
    if len(text) > DIGIT_LIMIT:
        raise ValueError("too many digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if len(text) > DIGIT_LIMIT or not isfinite(number):
        raise ValueError("too many digits, or not a finite number")
    return number


_PLAIN = json.JSONDecoder()
_STRICT = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_whole, parse_float=_finite, parse_constant=_finite)
