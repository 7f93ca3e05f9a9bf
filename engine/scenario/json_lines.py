"""Long lists of which each item is a line of JSON, as an import writes them: they are read with the JSON parser.

A line of JSON in a list, ``- {"at": 5, ...}``, is YAML too, and has the same meaning. The parser of YAML takes twenty
times as long, and a tree of all values ten times as much memory. So such lines are lifted out of the text before it is
parsed, and each becomes a tree that is only built where somebody asks for the positions in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from math import isfinite
from typing import NamedTuple

FEWEST_LINES = 100
"""Shorter lists are not worth it."""

_LINE = re.compile('^(?P<indent> *)- (?P<json>\\{"[^\\\\\n\t\ufeff]*\\})$', re.MULTILINE)
_OTHER_BREAKS = ("\r", "\x85", "\u2028", "\u2029")  # which count as ends of lines in YAML
_LONG_NUMBER = re.compile(r"[\d.eE+-]{50}")
_MOST_BRACKETS = 60
_TOKEN = "lines of JSON, "


class JsonText(NamedTuple):
    """A line of JSON: its value, its place in the text, and its line and column, counted from 1."""

    plain: dict[str, object]
    start: int
    end: int
    line: int
    column: int


class Lifted(NamedTuple):
    """A text with a short item in place of each long list, and the lines of these lists by the text of the item."""

    text: str
    runs: dict[str, list[JsonText]]


def lifted(text: str) -> Lifted | None:
    """Return the text without its long lists of lines of JSON; None if it has none.

    The lines that are lifted become empty ones, so that the others keep their positions.
    """
    if '- {"' not in text or _TOKEN in text or any(end in text for end in _OTHER_BREAKS):
        return None
    pieces: list[str] = []
    runs: dict[str, list[JsonText]] = {}
    done = 0
    line = 1
    for run in _runs(text):
        line += text.count("\n", done, run[0].start())
        found = _read(run, line)
        if found is None:
            continue
        name = f"{_TOKEN}{len(runs)}"
        pieces += [text[done : run[0].start()], f'{run[0]["indent"]}- "{name}"', "\n" * (len(run) - 1)]
        runs[name] = found
        done = run[-1].end()
        line += len(run) - 1
    return Lifted("".join([*pieces, text[done:]]), runs) if runs else None


def _runs(text: str) -> Iterator[list[re.Match[str]]]:
    """Yield the lines of JSON that follow one another with the same indentation, where they are many."""
    run: list[re.Match[str]] = []
    for match in _LINE.finditer(text):
        if run and (match.start() != run[-1].end() + 1 or match["indent"] != run[0]["indent"]):
            if len(run) >= FEWEST_LINES:
                yield run
            run = []
        run.append(match)
    if len(run) >= FEWEST_LINES:
        yield run


def _read(run: list[re.Match[str]], line: int) -> list[JsonText] | None:
    """Return the lines of a run; None if YAML could read one of them in another way."""
    column = run[0].start("json") - run[0].start() + 1
    decode: Callable[[str], dict[str, object]] = _DECODER.decode
    found = []
    try:
        for at, match in enumerate(run):
            text = match["json"]
            if text.count("{") + text.count("[") > _MOST_BRACKETS or _LONG_NUMBER.search(text):
                return None
            found.append(JsonText(decode(text), match.start("json"), match.end(), line + at, column))
    except (ValueError, RecursionError):
        return None
    return found


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs) or "" in mapping:
        raise ValueError("a key is empty or a duplicate")
    return mapping


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError("not a finite number")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite)
