"""Writing what was imported as a scenario file: in lines, so that long lists need no memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from engine.scenario.record import block_text, flow_text

if TYPE_CHECKING:
    from engine.base.terms import Plain
    from engine.histories.imported import Imported

_LISTS_OF_ITEMS = ("tasks", "timeline")
"""Keys of lists that may be long: each item is one line."""


def scenario_lines(imported: Imported) -> Iterator[str]:
    """Yield the lines of a scenario file, without line ends; the first ones are the assumptions, as comments."""
    for assumption in imported.assumptions:
        yield from (f"# {_shown(line)}".rstrip() for line in assumption.splitlines() or [""])
    if imported.assumptions:
        yield ""
    for key, value in imported.document.items():
        yield from _entry(key, value, "")


def _shown(text: str) -> str:
    """Return text for a comment, in which YAML allows no control characters."""
    return text if text.isprintable() else "".join(each if each.isprintable() else "\ufffd" for each in text)


def _entry(key: str, value: object, indent: str) -> Iterator[str]:
    """Yield a key with its value, in block style if a list that may be long is somewhere in it."""
    name = flow_text(key)
    if isinstance(value, Iterator) or (key in _LISTS_OF_ITEMS and isinstance(value, list | tuple)):
        yield from _items(name, iter(value), indent)
    elif isinstance(value, list | tuple) and any(map(_has_long_list, value)):
        yield f"{indent}{name}:"
        for item in value:
            yield from _listed(item, indent + "  ")
    elif isinstance(value, Mapping) and _has_long_list(value):
        yield f"{indent}{name}:"
        for inner, part in value.items():
            yield from _entry(inner, part, indent + "  ")
    else:
        plain: Plain = {key: value}  # type: ignore[dict-item]
        yield from block_text(plain, indent).removesuffix("\n").split("\n")


def _items(name: str, items: Iterator[object], indent: str) -> Iterator[str]:
    """Yield a list with one line for each item; an empty list stands behind its key."""
    head = f"{indent}{name}:"
    for item in items:
        if head:
            yield head
            head = ""
        yield f"{indent}  - {_line(item)}"
    if head:
        yield f"{head} []"


def _listed(item: object, indent: str) -> Iterator[str]:
    """Yield an item of a list in block style."""
    if not isinstance(item, Mapping) or not item:
        yield f"{indent}- {_line(item)}"
        return
    lines = (line for key, value in item.items() for line in _entry(key, value, indent + "  "))
    yield f"{indent}- {next(lines).lstrip(' ')}"
    yield from lines


def _has_long_list(value: object) -> bool:
    if isinstance(value, Mapping):
        return any(
            isinstance(inner, Iterator) or key in _LISTS_OF_ITEMS or _has_long_list(inner)
            for key, inner in value.items()
        )
    return isinstance(value, list | tuple) and any(map(_has_long_list, value))


def _line(item: object) -> str:
    """Return a value in one line of JSON, which is YAML too; text that JSON does not show is escaped as in YAML."""
    text = json.dumps(item, ensure_ascii=False)
    return text if text.isprintable() else flow_text(json.loads(text))
