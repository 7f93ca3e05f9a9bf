"""A scenario file while it is checked: its values have paths, and the problems found have positions.

A document that is no scenario, such as a template or a file of another tool, is recognized by its keys or its text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import yaml

from engine.base.errors import WARNINGS, Position, Problem, ScenarioError, Severity
from engine.base.terms import Plain
from engine.base.values import first_of, lazy_regex, read_table, shortened, with_short_words
from engine.scenario.text import does_not_exist, nearest, shown
from engine.scenario.tree import LOADER, ReadingStopped, Tree, parse

if TYPE_CHECKING:
    from engine.scenario.factory import TaskFactory

PROBLEM_LIMIT = 1_000
"""The most problems that are reported of one file, and the most warnings."""

Path: TypeAlias = "tuple[str | int, ...]"

_NAME = lazy_regex(r"[A-Za-z_$][\w$-]*", re.ASCII)
_LONGEST = 60
_NOWHERE = Position(0, 0)


def format_path(path: Path) -> str:
    """Return ``jobs[0].poolInfo.poolId``; unusual keys are quoted: ``simulate.storage["https://*"]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _NAME.fullmatch(part) and len(part) <= _LONGEST:
            text += f".{part}" if text else part
        else:
            text += f'["{shortened(part, _LONGEST)}"]'
    return text


@dataclass(slots=True)
class Document:
    """A scenario file while it is checked, with the problems and warnings found.

    ``misspelt`` holds the paths of mappings with unknown keys, in which missing keys are not reported, ``mistaken``
    those of values that are missing or wrong, and ``created`` the entries of timelines with their bodies in the form
    that creates the thing. ``returned`` are the paths of bodies that the service has returned, ``templated`` those of
    values that only a template has. ``sweeps`` are the valid task factories by their text; equal ones are one object.
    """

    file: str
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    misspelt: set[Path] = field(default_factory=set)
    mistaken: set[Path] = field(default_factory=set)
    created: dict[Tree, Tree] = field(default_factory=dict)
    returned: set[Path] = field(default_factory=set)
    templated: set[Path] = field(default_factory=set)
    sweeps: dict[str, TaskFactory] = field(default_factory=dict)

    def report(self, message: str, position: Position = _NOWHERE, path: Path = ()) -> None:
        """Record a problem, one for each value that only a template has. Raises ReadingStopped at the limit."""
        if path in self.templated:
            return
        message = with_short_words(message)
        self.problems.append(Problem(message, format_path(path), position.line, position.column, self.file))
        if len(self.problems) >= PROBLEM_LIMIT:
            raise ReadingStopped

    def warn(self, message: str, position: Position, path: Path, code: str) -> None:
        """Record a warning; those beyond the limit are dropped."""
        assert code in WARNINGS, code
        if len(self.warnings) < PROBLEM_LIMIT and path not in self.templated:
            message, place = with_short_words(message), format_path(path)
            self.warnings.append(
                Problem(message, place, position.line, position.column, self.file, Severity.WARNING, code)
            )


class DocumentPlace(NamedTuple):
    """A place in the document: a value and its path."""

    document: Document
    tree: Tree
    path: Path = ()
    key_position: Position | None = None

    @property
    def plain(self) -> Plain:
        """The value as JSON."""
        return self.tree.plain

    @property
    def line(self) -> int:
        """The line where the entry begins, counted from 1."""
        return (self.key_position or self.tree.position).line

    def report(self, message: str, *, key: bool = False, below: Path = ()) -> None:
        """Report a problem with this value, or with its key; ``below`` is the path of something absent below it."""
        position = self.key_position if key and self.key_position else self.tree.position
        self.document.report(message, position, self.path_below(below))

    def warn(self, message: str, code: str) -> None:
        """Record a warning about this value, with the code of its kind."""
        self.document.warn(message, self.tree.position, self.path, code)

    def report_missing(self, name: str) -> None:
        """Report a missing required key of this mapping."""
        written = self._path_of(name)[-1]
        self.report(f"{shown(written)} is missing and required", key=True, below=(name,))

    def get(self, name: str) -> DocumentPlace | None:
        """Return the value of a key, or None if it is absent or null, which mean the same to the service."""
        if not isinstance(self.plain, dict) or self.plain.get(name) is None:
            return None
        assert isinstance(self.tree.value, dict)
        return self._below(name, self.tree.value[name])

    def _below(self, name: str, inner: Tree) -> DocumentPlace:
        return DocumentPlace(self.document, inner, self._path_of(name), self.tree.keys[name])

    def path_below(self, below: Path) -> Path:
        """Return the path of something below this value, which may be absent."""
        return self._path_of(below[0]) + below[1:] if below else self.path

    def _path_of(self, part: str | int) -> Path:
        """Return the path of a part: in a body that was written in another form, the path that the user wrote."""
        return self.tree.origins.get(str(part)) or (*self.path, part)

    def items(self) -> Iterator[tuple[str, DocumentPlace]]:
        """Yield keys and values of a mapping, nulls included; nothing for other values."""
        if isinstance(self.tree.value, dict):
            for name, inner in self.tree.value.items():
                yield name, self._below(name, inner)

    def require(self, name: str) -> DocumentPlace | None:
        """Return the value of a key; report it if it is absent or null."""
        inner = self.get(name)
        if inner is None:
            self.report_missing(name)
        return inner

    def known_items(self, known: Iterable[str]) -> Iterator[tuple[str, DocumentPlace]]:
        """Yield the keys in ``known`` with their values, nulls included; report the others."""
        names = tuple(known)
        for name, inner in self.items():
            if name in names:
                yield name, inner
            else:
                inner.report(does_not_exist(name, names), key=True)

    def entries(self) -> Iterator[DocumentPlace]:
        """Yield the items of a list; nothing for other values."""
        if isinstance(self.tree.value, list):
            for index, inner in enumerate(self.tree.value):
                yield DocumentPlace(self.document, inner, (*self.path, index))

    def listed(self, name: str, message: str = "") -> Iterator[DocumentPlace]:
        """Return the items of the list under a key; none without it. Report a value of another kind by the message."""
        inner = self.get(name)
        if inner is not None and message:
            inner.is_a(list, message)
        return inner.entries() if inner is not None else iter(())

    def at(self, *names: str) -> DocumentPlace | None:
        """Return the value at a path of keys, or None."""
        place: DocumentPlace | None = self
        for name in names:
            place = place.get(name) if place is not None else None
        return place

    def is_a(self, kind: type, message: str) -> bool:
        """Return whether the value is a list or a mapping, as ``kind`` says; report the message if it is not."""
        if not isinstance(self.tree.value, kind):
            self.report(message)
            return False
        return True

    def find(self, location: Path) -> tuple[DocumentPlace, Path]:
        """Follow a path as far as it exists; return the place reached and the rest of the path."""
        place = self
        for done, part in enumerate(location):
            value = place.tree.value
            if isinstance(value, dict) and str(part) in value:
                place = place._below(str(part), value[str(part)])
            elif isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value):
                place = DocumentPlace(self.document, value[part], (*place.path, part))
            else:
                return place, location[done:]
        return place, ()


def check_keys(place: DocumentPlace, known: tuple[str, ...], *, only_mapping: bool = False) -> bool:
    """Return whether the value is a mapping; report unknown keys."""
    is_mapping = place.is_a(dict, f"must be a mapping with {', '.join(known)}")
    if not only_mapping:
        list(place.known_items(known))
    return is_mapping


Read = TypeVar("Read")


def read_text(what: str, text: str, read: Callable[[DocumentPlace], Read | None]) -> Read:
    """Return what ``read`` finds in JSON text. Raises ScenarioError with all mistakes in it."""
    document = Document(what)
    tree = parse(text, document.report)
    found = read(DocumentPlace(document, tree)) if tree is not None else None
    if document.problems or found is None:
        raise ScenarioError(document.problems)
    return found


_BEGINS = " of a scenario, which begins with 'scenario: NAME'"
_TEMPLATE = "a template of the resource manager; batchdeck import reads it"
_TO_JSON = {"Bicep": "`az bicep build --file FILE`", "Terraform": "`terraform show -json`"}
# The beginning of a line that only another language has, with its name; a template may have comments.
_LINES = (
    (lazy_regex(r'^[ \t]*"\$schema"[ \t]*:[ \t]*"[^"\n]*/deploymentTemplate', re.MULTILINE), ""),
    (lazy_regex(r"^(resource|module|param|var)[ \t]+\w+[ \t]+'[^'\n]*'", re.MULTILINE), "Bicep"),
    (lazy_regex(r"^(param|var|targetScope|output|using)\b[^\n:{]*=", re.MULTILINE), "Bicep"),
    (lazy_regex(r'^(resource|data|module|provider|variable|output)[ \t]+"[^"\n]*"', re.MULTILINE), "Terraform"),
    (lazy_regex(r"^(terraform|locals)[ \t]*\{", re.MULTILINE), "Terraform"),
    (
        lazy_regex(r"^(process|params|profiles|azure|executor|workflow|docker)(\.\w+)*[ \t]*[{=]", re.MULTILINE),
        "Nextflow",
    ),
    (lazy_regex(r"^(task|workflow)[ \t]+\w+[ \t]*\{", re.MULTILINE), "WDL"),
    (lazy_regex(r"^--(env|input|output)\b", re.MULTILINE), "dsub"),
)
_RESOURCES = lazy_regex(
    r"""^resource[ \t]+(?:"azurerm_batch_(?:pool|job)"[ \t]+"([^"\n]+)"|(\w+)[ \t]+'Microsoft\.Batch/\w+/pools)""",
    re.MULTILINE,
)


def stranger(tree: Tree | None, text: str, known: Collection[str]) -> str | None:
    """Return what a document is that is no scenario, and what to do; None for one that may be meant as a scenario.

    Args:
        tree: What has been read, None if that is nothing.
        text: The whole text; it is searched if it is no mapping and no list.
        known: The keys of a scenario.
    """
    value = tree.value if tree is not None else None
    if tree is not None and isinstance(value, dict):
        return _with_keys(value, tree, known)
    if isinstance(value, list):
        first = value[0] if value and isinstance(value[0].value, dict) else None
        entry = stranger(first, "", known)
        return entry and f"{entry.replace('this is', 'this is a list, whose first entry is', 1)}"
    for pattern, name in _LINES if value is None or isinstance(value, str) else ():
        if pattern.search(text):
            names = [found[1] or found[2] for found in _RESOURCES.finditer(text)]
            return _of_tool(name, names) if name else f"this is {_TEMPLATE}"
    head = text.removeprefix("---").partition("\n---")[0]
    return stranger(parse(head, lambda *_: None), "", known) if tree is None and len(head) + 3 < len(text) else None


def _with_keys(keys: Collection[str], tree: Tree, known: Collection[str]) -> str | None:
    def has(alternatives: str) -> bool:
        return any(all(key in keys for key in each.split(" ")) for each in alternatives.split("|"))

    if "scenario" in keys and "summary" not in keys:
        return None
    for alternatives, tool, words in read_table("documents.csv", __file__):
        if has(alternatives):
            listed = _listed(_names(tree.plain) if "template" in words else ())
            return _of_tool(tool, []) if tool else f"this is {words}{listed}"
    strange = [key for key in keys if key not in known and not nearest(key, known)]
    if 2 * len(strange) > len(keys):
        return f"this is no scenario: it has {first_of(strange)}, and a scenario begins with 'scenario: NAME'"
    return None


def _of_tool(name: str, names: Iterable[str]) -> str:
    if name in _TO_JSON:
        return f"this is {name} source: {_TO_JSON[name]} makes JSON, which `batchdeck import` reads{_listed(names)}"
    words = f"this is a file of {name}: write its pools and jobs as bodies of Azure Batch under 'pools:' and 'jobs:'"
    return words + _BEGINS + _listed(names)


def _listed(names: Iterable[str]) -> str:
    each = list(dict.fromkeys(names))
    return f": {first_of(each)}" if each else ""


def _names(value: Plain) -> Iterator[str]:
    """Yield the names of the pools and jobs in a template, however deep."""
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _names(inner)
    if isinstance(value, dict):
        kind = str(value.get("type")).casefold()
        name = value.get("name") or value.get("id")
        is_body = any(part in value for part in ("vmSize", "poolInfo"))
        if isinstance(name, str) and (is_body or kind.endswith("/pools") or kind == "pools"):
            yield name


_COMMENT = lazy_regex(r"(?<!\S)#.*")
_IGNORES = lazy_regex(r"\bbatchdeck:\s*ignore\[(?P<codes>[^\]]{0,500})\]")
_LINE_END = lazy_regex(r"\r\n|[\n\r\x85\u2028\u2029]")  # as YAML has it


@lru_cache(maxsize=8)
def ignored_codes(text: str) -> dict[tuple[int, str], int]:
    """Return the lines and codes of warnings that comments of a YAML text silence, with the columns of the codes."""
    text = text.removeprefix("\ufeff")
    try:
        scalars = [token for token in yaml.scan(text, LOADER) if isinstance(token, yaml.ScalarToken)]
    except yaml.YAMLError:
        return {}
    found: dict[tuple[int, str], int] = {}
    for at, line in enumerate(_LINE_END.split(text)):
        for listed in _IGNORES.finditer(line):
            if _is_in_comment(line, (at, listed.start()), scalars):
                for code in _CODE.finditer(line, *listed.span("codes")):
                    found[at + 1, code[0]] = code.start() + 1
    return found


_CODE = lazy_regex(r"[^\s,]+")


def _is_in_comment(line: str, place: tuple[int, int], scalars: Sequence[yaml.ScalarToken]) -> bool:
    """Return whether a place, line and column from 0, is in a comment and not in a text."""
    at = bisect_right(scalars, place, key=lambda token: (token.start_mark.line, token.start_mark.column)) - 1
    inside = scalars[at] if at >= 0 else None
    begin = 0
    if inside is not None:
        end = inside.end_mark.line, inside.end_mark.column
        is_heading = inside.style in ("|", ">") and inside.start_mark.line == place[0]
        if place < end and not is_heading:
            return False
        begin = inside.start_mark.column if is_heading else end[1] if end[0] == place[0] else 0
    comment = _COMMENT.search(line, begin)
    return comment is not None and comment.start() < place[1]
