"""Long lists of which each item is a line of JSON, as an import writes them: they are read with the JSON parser.

Such lines, ``- {"at": 5, ...}``, are lifted out of the text before it is parsed as YAML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from engine.base.lazy import lazy_regex
from engine.scenario.json_text import json_value

FEWEST_LINES = 100
"""Shorter lists are not worth it."""

_LINE = lazy_regex('^(?P<indent> *)- (?P<json>\\{"[^\\\\\n\t\ufeff]*\\})$', re.MULTILINE)
_OTHER_BREAKS = ("\r", "\x85", "\u2028", "\u2029")  # which count as ends of lines in YAML
_MOST_BRACKETS = 60
_TOKEN = "lines of JSON, "


class JsonLine(NamedTuple):
    """A line of JSON: its value, and its place in the text."""

    plain: object
    start: int
    end: int


class Lifted(NamedTuple):
    """A text with a short item in place of each long list, and the lines of these lists by the text of the item."""

    text: str
    runs: dict[str, list[JsonLine]]


def lifted(text: str) -> Lifted | None:
    """Return the text without its long lists of lines of JSON; None if it has none.

    The lines that are lifted become empty ones, so that the others keep their positions.
    """
    if '- {"' not in text or _TOKEN in text or any(end in text for end in _OTHER_BREAKS):
        return None
    pieces: list[str] = []
    runs: dict[str, list[JsonLine]] = {}
    done = 0
    for run in _runs(text):
        found = _read(run)
        if found is None:
            continue
        name = f"{_TOKEN}{len(runs)}"
        pieces += [text[done : run[0].start()], f'{run[0]["indent"]}- "{name}"', "\n" * (len(run) - 1)]
        runs[name] = found
        done = run[-1].end()
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


def _read(run: list[re.Match[str]]) -> list[JsonLine] | None:
    """Return the lines of a run; None if YAML could read one of them in another way."""
    found = []
    for match in run:
        text = match["json"]
        if text.count("{") + text.count("[") > _MOST_BRACKETS:
            return None
        try:
            found.append(JsonLine(json_value(text), match.start("json"), match.end()))
        except ValueError:
            return None
    return found
