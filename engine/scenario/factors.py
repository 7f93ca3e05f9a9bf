"""Factors of a study: paths into a scenario's document with the values that they take there, as they are written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from engine.base.errors import Position
from engine.base.lazy import lazy_regex
from engine.base.shortening import quoted
from engine.scenario.tree import Tree, parse

VARIED = (
    "startTime",
    "until",
    "account",
    "options",
    "simulate",
    "pools",
    "jobs",
    "jobSchedules",
    "timeline",
    "expect",
)
"""The keys of a scenario with which the path of a factor may begin."""
VALUE_LIMIT = 1_000_000
"""The most values of one factor, and the most seeds."""
NOWHERE = Position(0, 0)
"""The position of a value that is in no file."""

_STEP = lazy_regex(r"\.?(?P<name>[^.\[\]\"\s=]+)|\[(?P<number>\d{1,9})\]|\[\"(?P<text>[^\"]*)\"\]")
_PATH = lazy_regex(r"[^.\[\]\"\s=]+(?:\.[^.\[\]\"\s=]+|\[\d{1,9}\]|\[\"[^\"]*\"\])*")
_NUMBER = r"[-+]?(?:\d{1,15}(?:\.\d{1,9})?|\.\d{1,9})"
_RANGE = lazy_regex(rf"({_NUMBER})\.\.({_NUMBER})(?::({_NUMBER}))?", re.ASCII)


class Varied(NamedTuple):
    """A value of a factor: as it was written, and what it puts into the document."""

    written: Tree
    value: Tree


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """A path with its values. ``option`` is how the command line gave it, empty for a factor of the file."""

    path: str
    steps: tuple[str, ...]
    values: tuple[Varied, ...]
    position: Position = NOWHERE
    option: str = ""


class FactorMistake(ValueError):
    """A mistake in a path or in values, in words for people."""


def parse_path(text: str) -> tuple[str, ...]:
    """Return the steps of a path such as ``pools.render.vmSize`` or ``simulate.storage["https://*"].size``.

    Raises:
        FactorMistake: It is not a path.
    """
    if not _PATH.fullmatch(text):
        raise FactorMistake(f"{quoted(text)} is not a path such as pools.render.targetDedicatedNodes")
    return tuple(step["name"] or step["number"] or step["text"] or "" for step in _STEP.finditer(text))


def split_option(text: str) -> tuple[str, str]:
    """Split ``PATH=VALUES`` of the command line.

    Raises:
        FactorMistake: There is no path or no ``=``.
    """
    found = _PATH.match(text)
    end = found.end() if found is not None else 0
    if not end or text[end : end + 1] != "=":
        raise FactorMistake(f"{quoted(text)} must be PATH=VALUES, such as pools.render.targetDedicatedNodes=10,20,40")
    return text[:end], text[end + 1 :]


def parse_values(text: str) -> list[Tree]:
    """Return the values of ``10..80:10``, or YAML values that are separated by commas. They have no positions.

    Raises:
        FactorMistake: They are neither.
    """
    if is_range(text.strip()):
        return [Tree(NOWHERE, number) for number in parse_range(text.strip())]
    problems: list[str] = []
    tree = parse(f"[{text}\n]", lambda message, _: problems.append(message))
    if problems or tree is None or not isinstance(tree.value, list):
        raise FactorMistake(
            f"{quoted(text)} are not YAML values separated by commas" + "".join(f": {problems[0]}" if problems else "")
        )
    if not tree.value:
        raise FactorMistake("needs a value after '='")
    return [_without_positions(value) for value in tree.value]


def repeats(values: Iterable[Tree]) -> Iterator[int]:
    """Yield the index of each value that is equal to an earlier one."""
    known = set[str]()
    for at, value in enumerate(values):
        text = json.dumps(value.plain, sort_keys=True)
        if text in known:
            yield at
        known.add(text)


def is_range(text: str) -> bool:
    """Return whether a text has the form ``A..B`` or ``A..B:STEP``."""
    return _RANGE.fullmatch(text) is not None


def parse_range(text: str) -> list[int | float]:
    """Return the numbers of ``A..B`` or ``A..B:STEP``, both ends included.

    Raises:
        FactorMistake: It runs backwards, does not move, or has too many numbers.
    """
    found = _RANGE.fullmatch(text)
    if found is None:
        raise FactorMistake(f"{quoted(text)} must have the form A..B or A..B:STEP, such as 10..80:10")
    first, last, step = Decimal(found[1]), Decimal(found[2]), Decimal(found[3] or 1)
    if step <= 0:
        raise FactorMistake(f"{quoted(text)} must have a step above 0")
    if last < first:
        raise FactorMistake(f"{quoted(text)} runs backwards: write {last}..{first}")
    count = int((last - first) / step) + 1
    if count > VALUE_LIMIT:
        raise FactorMistake(f"{quoted(text)} has more than {VALUE_LIMIT:,} values")
    whole = all("." not in part for part in found.groups() if part is not None)
    return [int(first + at * step) if whole else float(first + at * step) for at in range(count)]


def _without_positions(tree: Tree) -> Tree:
    """Return the value with no positions, since it is in no file."""
    if isinstance(tree.value, list):
        items = [_without_positions(inner) for inner in tree.value]
        return Tree(NOWHERE, items, size=tree.size)
    if isinstance(tree.value, dict):
        value = {key: _without_positions(inner) for key, inner in tree.value.items()}
        return Tree(NOWHERE, value, dict.fromkeys(value, NOWHERE), size=tree.size)
    return Tree(NOWHERE, tree.value)
