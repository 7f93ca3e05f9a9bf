"""Factors of a study: paths into a scenario's document, where they lead, and the document with other values there.

The values of a factor are kept as they are written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

from engine.base.errors import Position
from engine.base.values import lazy_regex, quoted, words
from engine.scenario.document import Document, DocumentPlace, Path, format_path
from engine.scenario.text import Scalar, one_of, shown
from engine.scenario.tree import Tree, parse_value
from engine.specs.commands import COMMANDS

VARIED = words("startTime until account options simulate pools jobs jobSchedules timeline expect")
"""The keys of a scenario with which the path of a factor may begin."""
VALUE_LIMIT = 1_000_000
"""The most values of one factor, and the most seeds."""
NOWHERE = Position(0, 0)
"""The position of a value that is in no file."""

_FACTOR_STEP = lazy_regex(r"\.?(?P<name>[^.\[\]\"\s=]+)|\[(?P<number>\d{1,9})\]|\[\"(?P<text>[^\"]*)\"\]")
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
    return tuple(step["name"] or step["number"] or step["text"] or "" for step in _FACTOR_STEP.finditer(text))


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
    numbers = parse_range(text.strip())
    if numbers is not None:
        return [Tree(NOWHERE, number) for number in numbers]
    tree, problems = parse_value(f"[{text}\n]")
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


def parse_range(text: str) -> list[int | float] | None:
    """Return the numbers of ``A..B`` or ``A..B:STEP``, both ends included; None for a text of another form.

    Raises:
        FactorMistake: It runs backwards, does not move, or has too many numbers.
    """
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
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
        return Tree(NOWHERE, [_without_positions(inner) for inner in tree.value])
    if isinstance(tree.value, dict):
        value = {key: _without_positions(inner) for key, inner in tree.value.items()}
        return Tree(NOWHERE, value, dict.fromkeys(value, NOWHERE))
    return Tree(NOWHERE, tree.value)


_LISTS = {"pools": "pool", "jobs": "job", "jobSchedules": "job schedule", "timeline": "entry", "expect": "expectation"}
_INDEX = lazy_regex(r"\d{1,9}", re.ASCII)
_STEP = lazy_regex(r"[^.\[\]\"\s=]+")


class Location(NamedTuple):
    """The place in a document to which a path leads: keys and indices; what is taken away by null."""

    at: Path
    removed: Path


def locate(root: Tree, steps: Sequence[str]) -> Location:
    """Return the place to which a path leads in a document; what is not there yet is named by the rest of the path.

    Ids win over numbers, and numbers count from 0.

    Raises:
        FactorMistake: It leads nowhere; the nearest right name is given.
    """
    if steps[0] not in VARIED:
        if steps[0] == "seed":
            raise FactorMistake("the seed is not a factor: --seeds and 'seeds' say which seeds each variant has")
        raise FactorMistake(f"{shown(steps[0])} cannot be varied{one_of(steps[0], VARIED)}")
    if len(steps) == 1 and steps[0] in _LISTS:
        section = root.value.get(steps[0]) if isinstance(root.value, dict) else None
        ids = map(_id_of, section.value) if section is not None and isinstance(section.value, list) else ()
        example = next(filter(None, ids), "0")
        raise FactorMistake(f"must say which of the {steps[0]}, such as {steps[0]}.{example}")
    at: list[str | int] = []
    tree: Tree | None = root
    for step in steps:
        if tree is None or tree.value is None:
            if at[0] in _LISTS and len(at) == 1:
                raise FactorMistake(f"the scenario has no {at[0]}")
            at.append(step)
            tree = None
        elif isinstance(tree.value, dict):
            at.append(step)
            tree = tree.value.get(step)
        elif isinstance(tree.value, list):
            at.append(_item(tree.value, step, at))
            tree = tree.value[int(at[-1])]
        else:
            raise FactorMistake(f"{format_path(tuple(at))} is {shown(tree.value)}, which has no {shown(step)} in it")
    where = tuple(at)
    is_command = len(where) == 3 and where[0] == "timeline" and where[2] in COMMANDS
    return Location(where, where[:2] if is_command else where)


def tree_at(root: Tree, at: Path) -> Tree | None:
    """Return the value at a place in a document; None if there is none."""
    place, rest = DocumentPlace(Document(""), root).find(at)
    return None if rest else place.tree


def completions(root: Tree, text: str) -> list[str]:
    """Return the paths that begin with a text and are one step longer than its whole steps, as far as they exist."""
    begun = text.rpartition(".")[0]
    tree: Tree | None = root
    if begun:
        try:
            tree = tree_at(root, (begun,) if begun in _LISTS else locate(root, parse_path(begun)).at)
        except FactorMistake:
            return []
    inside = None if tree is None else tree.value
    if tree is root:
        names = [name for name in VARIED if name in root.keys]
    elif isinstance(inside, dict):
        names = list(inside)
    elif isinstance(inside, list):
        names = [_id_of(item) or str(number) for number, item in enumerate(inside)]
    else:
        names = []
    paths = (f"{begun}.{name}" if begun else name for name in names if _STEP.fullmatch(name))
    return [path for path in paths if path.casefold().startswith(text.casefold())]


def _item(items: list[Tree], step: str, at: Sequence[str | int]) -> int:
    """Return the index of the item with this id, or with this number."""
    ids = [_id_of(item) for item in items]
    if step in ids:
        return ids.index(step)
    folded = [name.casefold() if name is not None else None for name in ids]
    if step.casefold() in folded:
        return folded.index(step.casefold())
    if _INDEX.fullmatch(step) and int(step) < len(items):
        return int(step)
    noun = _LISTS.get(str(at[-1]), "item") if len(at) == 1 else "item"
    if _INDEX.fullmatch(step):
        raise FactorMistake(f"{format_path(tuple(at))} has no {noun} {step}: {_numbers(len(items))}")
    known = [name for name in ids if name is not None]
    raise FactorMistake(f"no {noun} {shown(step)} in {format_path(tuple(at))}" + _named(step, known, len(items)))


def _named(step: str, known: Iterable[str], count: int) -> str:
    names = list(known)
    return one_of(step, names) if names else f": {_numbers(count)}"


def _numbers(count: int) -> str:
    return f"its items are numbered 0 to {count - 1}" if count else "it is empty"


def _id_of(item: Tree) -> str | None:
    """Return the id of a body; a pool as the resource manager has it may have a name in its place."""
    if not isinstance(item.value, dict):
        return None
    named: Iterable[Scalar | list[Tree] | dict[str, Tree]] = (
        item.value[key].value for key in ("id", "name") if key in item.value
    )
    return next((value for value in named if isinstance(value, str)), None)


# -- what a variant puts there -----------------------------------------------------------------------------------------


class Placed(NamedTuple):
    """A value and the place where a variant has it. ``position`` is that of its factor."""

    location: Location
    value: Tree
    position: Position = NOWHERE


def with_values(root: Tree, placed: Iterable[Placed]) -> Tree:
    """Return the document with these values; null takes away what is there.

    Shorter paths come first, so that a factor inside the value of another one is not lost. Entries are taken away at
    the end, so that numbers count in the document as written.
    """
    in_order = sorted(placed, key=lambda one: len(one.location.at))
    for one in in_order:
        if one.value.value is not None:
            root = _put(root, one.location.at, one)
    removed = [one.location.removed for one in in_order if one.value.value is None]
    for path in sorted(removed, key=_order, reverse=True):
        root = _taken_away(root, path)
    return root


def _order(path: Path) -> list[tuple[int, str]]:
    return [(step, "") if isinstance(step, int) else (-1, step) for step in path]


def _put(tree: Tree | None, path: Path, placed: Placed) -> Tree:
    """Return a copy of the tree with the value at a path; mappings that are missing on the way are made."""
    if not path:
        return placed.value
    step = path[0]
    if tree is not None and isinstance(tree.value, list):
        assert isinstance(step, int)
        items = list(tree.value)
        items[step] = _put(items[step], path[1:], placed)
        return Tree(tree.position, items)
    inside, keys = _mapping(tree)
    inside[str(step)] = _put(inside.get(str(step)), path[1:], placed)
    keys.setdefault(str(step), placed.position)
    return Tree(tree.position if tree is not None else placed.position, inside, keys)


def _taken_away(tree: Tree, path: Path) -> Tree:
    """Return a copy of the tree without what is at a path; the tree itself if there is nothing."""
    step = path[0]
    if isinstance(tree.value, list):
        assert isinstance(step, int)
        if step >= len(tree.value):
            return tree
        inner = [_taken_away(tree.value[step], path[1:])] if len(path) > 1 else []
        return Tree(tree.position, [*tree.value[:step], *inner, *tree.value[step + 1 :]])
    inside, keys = _mapping(tree)
    name = str(step)
    if name not in inside:
        return tree
    if len(path) > 1:
        inside[name] = _taken_away(inside[name], path[1:])
    else:
        del inside[name]
    return Tree(tree.position, inside, keys)


def _mapping(tree: Tree | None) -> tuple[dict[str, Tree], dict[str, Position]]:
    """Return copies of the values and of the positions of the keys of a mapping; empty ones for other values."""
    if tree is None or not isinstance(tree.value, dict):
        return {}, {}
    return dict(tree.value), dict(tree.keys)
