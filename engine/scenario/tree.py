"""A scenario file as a tree of values with their positions.

Scalars follow the core schema of YAML 1.2, which is JSON's: ``on``, ``no``, ``08:30``, ``1_000`` and times are text.
Keys of mappings are text, as in JSON. The tree is built from parser events without recursion, and nesting, size and the
expansion of aliases are limited: any input is read quickly, to a tree or to a problem with line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import NoReturn, Protocol, cast

import yaml

from engine.base.errors import Position
from engine.base.terms import Plain
from engine.base.values import shortened
from engine.scenario.text import (
    MESSAGE_LIMIT,
    JsonLine,
    JsonText,
    Scalar,
    as_yaml,
    counted,
    did_you_mean,
    json_value,
    lifted,
    scalar_of,
    shown,
    syntax_message,
    unprintable,
)

VALUE_LIMIT = 2_000_000
"""A scenario has at most so many values, counted after aliases are followed."""
_CHARACTERS_PER_VALUE = 100  # of a line of JSON, which takes so much less to read
DEPTH_LIMIT = 100

_COLLECTION_TAGS = (None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq")

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_NO_KEYS: dict[str, Position] = {}  # of all values that are not mappings
_NO_ORIGINS: dict[str, tuple[str | int, ...]] = {}  # of all values that are read as they are written


@dataclass(slots=True, eq=False)
class Tree:
    """A value of the document.

    ``keys`` are the positions of the keys of a mapping, and of the items of a list that are aliases, by their numbers.
    ``origins`` are the paths of keys that the document has elsewhere or by another name. ``size`` counts the values in
    it, itself included, while the document is parsed.
    """

    position: Position
    value: Scalar | list[Tree] | dict[str, Tree]
    keys: dict[str, Position] = field(default_factory=lambda: _NO_KEYS)
    origins: dict[str, tuple[str | int, ...]] = field(default_factory=lambda: _NO_ORIGINS)
    size: int = 1
    is_open: bool = False
    _plain: Plain = None
    _has_plain: bool = False

    @property
    def plain(self) -> Plain:
        """The value as JSON. It is cached, and shared between aliases, so it must not be changed."""
        if not self._has_plain:
            if isinstance(self.value, list):
                self._plain = [inner.plain for inner in self.value]
            elif isinstance(self.value, dict):
                self._plain = {key: inner.plain for key, inner in self.value.items()}
            else:
                self._plain = self.value
            self._has_plain = True
        return self._plain

    def with_names(self, names: Mapping[str, Plain]) -> Tree:
        """Return the mapping with these values, which are not written in the document; null is an empty mapping."""
        value = self.value if isinstance(self.value, dict) else {}
        made = {key: tree_of(inner) for key, inner in names.items()}
        added = {key: Tree(self.position, inner.value, inner.keys) for key, inner in made.items()}
        return Tree(self.position, value | added, self.keys | dict.fromkeys(names, self.position), self.origins)


class JsonTree(Tree):
    """A value that is written as JSON. Its parts, with their positions, are only made where they are needed."""

    __slots__ = ("_inside", "_start", "_text")

    def __init__(self, text: JsonText, start: int | JsonTree, plain: object, size: int = 1) -> None:
        """Create the value ``plain``, which begins at ``start``. ``size`` is what it counts in a list around it.

        Of an item of a list, ``start`` is that list: where its items begin is only looked for if one is reported.
        """
        self.origins = _NO_ORIGINS
        self.size = size
        self.is_open = False
        self._plain = plain  # type: ignore[assignment] # JSON is plain
        self._has_plain = True
        self._text = text
        self._start = start
        self._inside: tuple[Scalar | list[Tree] | dict[str, Tree], dict[str, Position]] | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Return what it is made of: copies for other processes make their parts anew where they need them."""
        return JsonTree, (self._text, self._begin, self._plain, self.size)

    @property
    def _begin(self) -> int:
        """The index of the first character."""
        if isinstance(self._start, JsonTree):
            around, items = self._start, self._start.value
            for part, item in zip(self._text.parts(around._begin), cast("list[JsonTree]", items), strict=True):
                item._start = part.start
        assert isinstance(self._start, int)
        return self._start

    @property
    def position(self) -> Position:  # type: ignore[override]
        """The line and column at which the value begins."""
        return self._text.position(self._begin)

    @property
    def value(self) -> Scalar | list[Tree] | dict[str, Tree]:  # type: ignore[override]
        """The parts of the value, or itself."""
        return self._look_inside()[0]

    @property
    def keys(self) -> dict[str, Position]:  # type: ignore[override]
        """The positions of the keys."""
        return self._look_inside()[1]

    def _look_inside(self) -> tuple[Scalar | list[Tree] | dict[str, Tree], dict[str, Position]]:
        if self._inside is None:
            plain, text = self._plain, self._text
            if isinstance(plain, dict):
                parts = list(text.parts(self._begin))
                keys = {part.key: text.position(part.key_start) for part in parts}
                self._inside = {part.key: JsonTree(text, part.start, plain[part.key]) for part in parts}, keys
            elif isinstance(plain, list):
                self._inside = [JsonTree(text, self, inner) for inner in plain], _NO_KEYS
            else:
                self._inside = plain, _NO_KEYS
        return self._inside


class ReadingStopped(Exception):
    """Reading cannot go on; the problem is already reported."""


@dataclass(slots=True)
class _Open:
    """A list or mapping that is not complete. ``key`` waits for its value; its text is None for ``<<``."""

    tree: Tree
    key: tuple[str | None, Position] | None = None
    merged: list[tuple[Tree, Position]] = field(default_factory=list)


class _Builder:
    """A builder of a tree from parser events; it reports mistakes instead of raising them."""

    def __init__(self, report: Callable[[str, Position], None], runs: dict[str, list[Tree]]) -> None:
        self._report = report
        self._runs = runs  # the items of long lists, by the text that stands for them; those that are used are gone
        self._stack: list[_Open] = []
        self._anchors: dict[str, Tree] = {}
        self._documents = 0
        self._taken = 0
        self.root: Tree | None = None

    def feed(self, event: yaml.Event) -> None:
        """Process the next event of the parser. Raises ReadingStopped if it cannot go on."""
        if isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event, _position(event.start_mark))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close()
        elif isinstance(event, yaml.CollectionStartEvent):
            self._open(event, _position(event.start_mark))
        elif isinstance(event, yaml.AliasEvent):
            self._take_alias(event.anchor or "", _position(event.start_mark))
        elif isinstance(event, yaml.DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                message = "a scenario is one document: remove this '---' and what follows"
                self._stop(message, _position(event.start_mark))

    def _stop(self, message: str, position: Position) -> NoReturn:
        self._report(message, position)
        raise ReadingStopped

    def _awaits_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].tree.value, dict) and self._stack[-1].key is None

    def _take_scalar(self, event: yaml.ScalarEvent, position: Position) -> None:
        if not self._awaits_key():
            if event.value in self._runs and self._stack and isinstance(self._stack[-1].tree.value, list):
                for item in self._runs.pop(event.value):
                    self._add(item, item.position)
                return
            tree = Tree(position, scalar_of(event, position, self._report))
            if event.anchor:
                self._anchors[event.anchor] = tree
            self._add(tree, position)
            return
        if event.anchor:
            self._anchors[event.anchor] = Tree(position, event.value)
        if not event.value:
            self._report("a key is missing before this ':'", position)
        is_merge = event.value == "<<" and event.implicit[0]
        self._stack[-1].key = (None if is_merge else event.value, position)

    def _take_alias(self, name: str, position: Position) -> None:
        tree = self._anchors.get(name)
        if tree is None:
            self._report(
                f"no anchor {shown(name)} is defined before this alias" + did_you_mean(name, self._anchors), position
            )
            tree = Tree(position, None)
        elif tree.is_open:
            self._stop(f"the alias {shown(name)} is inside the value that it repeats, without end", position)
        if not self._awaits_key():
            self._add(tree, position)
        elif isinstance(tree.value, str):
            self._stack[-1].key = (tree.value, position)
        else:
            self._stop("a key must be a word, not an alias of something else", position)

    def _open(self, event: yaml.CollectionStartEvent, position: Position) -> None:
        if self._awaits_key():
            self._stop("a key must be a word, not a list or a mapping", position)
        if event.tag not in _COLLECTION_TAGS:
            self._report(f"the tag {shown(event.tag)} has no meaning here: remove it", position)
        if len(self._stack) >= DEPTH_LIMIT:
            self._stop(f"nested more than {DEPTH_LIMIT} levels deep", position)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        tree = Tree(position, {}, {}, is_open=True) if is_mapping else Tree(position, [], is_open=True)
        if event.anchor:
            self._anchors[event.anchor] = tree
        self._stack.append(_Open(tree))

    def _close(self) -> None:
        closed = self._stack.pop()
        for source, position in closed.merged:
            self._merge(closed.tree, source, position)
        closed.tree.is_open = False
        self._add(closed.tree, closed.tree.position)

    def _add(self, tree: Tree, position: Position) -> None:
        """Add a finished value to the open list or mapping, or make it the document."""
        if not self._stack:
            self.root = tree
            return
        parent = self._stack[-1]
        if isinstance(parent.tree.value, list):
            if position != tree.position:
                parent.tree.keys = parent.tree.keys or {}
                parent.tree.keys[str(len(parent.tree.value))] = position
            parent.tree.value.append(tree)
            self._grow(parent.tree, tree, position)
            return
        assert parent.key is not None
        (key, key_position), parent.key = parent.key, None
        if key is None:
            parent.merged.append((tree, position))
        else:
            self._put(parent.tree, key, key_position, tree)

    def _put(self, parent: Tree, key: str, key_position: Position, tree: Tree) -> None:
        assert isinstance(parent.value, dict)
        if key in parent.value:
            self._report(
                f"the key {shown(key)} is a duplicate, first used on line {parent.keys[key].line}", key_position
            )
            return
        parent.value[key] = tree
        parent.keys[key] = key_position
        self._grow(parent, tree, key_position)

    def _merge(self, target: Tree, source: Tree, position: Position) -> None:
        """Add the entries of ``source`` that ``target`` lacks; in a list the earlier mapping wins."""
        assert isinstance(target.value, dict)
        for mapping in source.value if isinstance(source.value, list) else [source]:
            if not isinstance(mapping.value, dict):
                self._report("'<<' takes a mapping or a list of mappings", position)
                continue
            for key, inner in mapping.value.items():
                self._count(0, position)
                if key not in target.value:
                    self._put(target, key, mapping.keys[key], inner)

    def _grow(self, parent: Tree, tree: Tree, position: Position) -> None:
        parent.size += tree.size
        self._count(parent.size, position)

    def _count(self, size: int, position: Position) -> None:
        self._taken += 1
        if max(size, self._taken) > VALUE_LIMIT:
            self._stop(f"more than {VALUE_LIMIT:,} values, counted with what aliases repeat", position)


class _YamlMark(Protocol):
    """A position of PyYAML's, which has two classes for it; both count from 0."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


def _position(position: _YamlMark | None) -> Position:
    return Position(position.line + 1, position.column + 1) if position else Position(1, 1)


def parse(text: str, report: Callable[[str, Position], None]) -> Tree | None:
    """Return the tree of a YAML text, or None if it is empty or cannot be read to its end, which is reported."""
    text = text.removeprefix("\ufeff")
    wrong = unprintable(text)
    if wrong is not None:
        report(*wrong)
        return None
    tree = _json_tree(text)
    if tree is not None:
        return tree
    text = as_yaml(text)
    lines = lifted(text)
    if lines is not None:
        problems: list[str] = []
        written = JsonText(text)
        runs = {name: [_line_tree(written, line) for line in run] for name, run in lines.runs.items()}
        tree = _built(lines.text, lambda message, _: problems.append(message), runs)
        if tree is not None and not problems and not runs:
            return tree
    return _built(text, report)


def parse_valid(text: str) -> Tree:
    """Return the tree of a text that has been read without mistakes before."""
    tree = parse(text, lambda *_: None)
    assert tree is not None
    return tree


def parse_value(text: str) -> tuple[Tree | None, list[str]]:
    """Return the tree of a text, None if there is nothing in it, and the mistakes in it."""
    problems: list[str] = []
    return parse(text, lambda message, _: problems.append(message)), problems


def tree_of(value: Plain, lines: Iterator[int] | None = None) -> Tree:
    """Return the tree of a value that is not written yet. Each part and key stands on a line of its own."""
    lines = count(1) if lines is None else lines
    position = Position(next(lines), 1)
    if isinstance(value, dict):
        tree = Tree(position, inner := {}, keys := {})
        for name, each in value.items():
            keys[name] = Position(next(lines), 1)
            inner[name] = tree_of(each, lines)
            tree.size += inner[name].size
        return tree
    if isinstance(value, list | tuple):
        items = [tree_of(each, lines) for each in value]
        return Tree(position, items, size=1 + sum(each.size for each in items))
    return Tree(position, value)


def _json_tree(text: str) -> Tree | None:
    """Return the tree of a text that is JSON; None if it is another text, or one that YAML reads otherwise."""
    start = len(text) - len(text.lstrip())
    if not text.startswith(("{", "["), start):
        return None
    try:
        plain = json_value(text)
    except ValueError:
        return None
    size, depth = counted(plain)
    return None if size > VALUE_LIMIT or depth > DEPTH_LIMIT else JsonTree(JsonText(text), start, plain)


def _line_tree(text: JsonText, line: JsonLine) -> Tree:
    return JsonTree(text, line.start, line.plain, 1 + (line.end - line.start) // _CHARACTERS_PER_VALUE)


def _built(
    text: str, report: Callable[[str, Position], None], runs: dict[str, list[Tree]] | None = None
) -> Tree | None:
    builder = _Builder(report, {} if runs is None else runs)
    try:
        for event in yaml.parse(text, Loader=LOADER):
            builder.feed(event)
    except ReadingStopped:
        return None
    except yaml.MarkedYAMLError as error:
        position = _position(error.problem_mark or error.context_mark)
        report(syntax_message(error, position, text), position)
        return None
    except (yaml.YAMLError, ValueError) as error:  # odd escapes and directives have no position
        report(f"this is not YAML: {shortened(str(error), MESSAGE_LIMIT)}", Position(1, 1))
        return None
    return builder.root
