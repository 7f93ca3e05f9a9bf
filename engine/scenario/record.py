"""Writing a scenario, with the commands given by hand as entries of its timeline."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import Plain
from engine.base.values import format_duration, lazy_regex, shortened, visible
from engine.scenario.model import Scenario
from engine.scenario.tree import Tree, parse_valid, parse_value
from engine.specs.command import Command

if TYPE_CHECKING:
    from engine.specs.prices import PriceList

# Text that needs no quotes in YAML, wherever it stands.
_BARE = lazy_regex(r"(?!(?:null|true|false)\Z)[A-Za-z_][\w./-]*", re.ASCII | re.IGNORECASE)
# Text of several lines that YAML can show as it is: no line begins or ends with a blank, and not all are empty.
_LITERAL = lazy_regex(r"(?=.*\n)(?=\n*[^\n])(?:[!-~][ -~]*)?(?:\n+[!-~](?:[ -~]*[!-~])?)*\n?", re.ASCII | re.DOTALL)
_SHORT_MAPPING, _SHORT_LIST, _SHORT_ENTRY = 48, 72, 110
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class GivenCommand(NamedTuple):
    """A command given by hand: time in ms from the start, command, and the code if the service refused it."""

    at_ms: int
    command: Command
    refused: str | None = None


def timeline_line(at_ms: int, name: str, body: Plain, refused: Plain = None) -> str:
    """Return a command as a line of a timeline: ``- {at: PT5M, rebootNode: {poolId: shared, node: 1}}``."""
    return f"- {flow_text(_timeline_entry(at_ms, name, body, refused))}"


def dump(scenario: Scenario, given: Iterable[GivenCommand] = ()) -> str:
    """Return the YAML of a scenario with its seed, and with commands given since as timeline entries.

    ``load`` reads it as the same scenario with these additional entries. The text is kept, comments included, if the
    entries can simply be added; otherwise it is written anew. A variant of a study becomes a scenario of its own, whose
    first line says which variant it is.
    """
    variant = scenario.variant
    if variant is None:
        return _with_entries(scenario.source.text, scenario.seed, given)
    text = _with_entries(document_text(variant.document.plain), scenario.seed, given)
    told = f"# Variant {variant.number} of {scenario.source.path}: {values_text(variant.values)}"
    return f"{visible(told).replace(chr(10), ' ').rstrip(': ')}\n{text}"


def _with_entries(text: str, seed: int, given: Iterable[GivenCommand]) -> str:
    """Return the text of a scenario with this seed, and with more entries in its timeline."""
    entries = [_entry(command) for command in given]
    tree = parse_valid(text)
    plain = dict(tree.plain) if isinstance(tree.plain, dict) else {}
    wanted = plain | {"seed": seed}
    before = plain.get("timeline")
    if entries:
        wanted["timeline"] = [*(before if isinstance(before, list) else ()), *entries]
    if wanted.get("seed") == plain.get("seed", 0):
        wanted = {key: value for key, value in wanted.items() if key != "seed" or key in plain}
        kept = _appended(text, tree, entries) if entries else text
        if kept is not None and _reads_as(kept, wanted):
            return kept
    return document_text(wanted)


def document_text(value: Plain) -> str:
    """Return the YAML of a whole scenario, written anew."""
    assert isinstance(value, dict)
    return "".join(_block(value))


def values_text(values: Mapping[str, Plain]) -> str:
    """Return the values of a variant in a line: ``pools.render.vmSize=standard_d2s_v3 jobs.a.priority=5``."""
    return " ".join(f"{path}={shortened(flow_text(value))}" for path, value in values.items())


def keys_of(text: str) -> frozenset[str]:
    """Return the keys at the top level of a valid scenario that have a value."""
    tree = parse_valid(text)
    assert isinstance(tree.plain, dict)
    return frozenset(key for key, value in tree.plain.items() if value is not None)


def with_settings(text: str, settings: Mapping[str, Plain]) -> str:
    """Return the text of a scenario with these keys at its top level.

    The text is kept, comments included, if each key can be added at the end or replaced on its line; otherwise the
    scenario is written anew.
    """
    tree = parse_valid(text)
    plain = tree.plain if isinstance(tree.plain, dict) else {}
    wanted = {**plain, **settings}
    lines = _lines_of(text)
    for key, value in settings.items():
        line = f"{_scalar(key)}: {flow_text(value)}\n"
        if key in tree.keys:
            lines[tree.keys[key].line - 1] = line
        else:
            lines.append(line)
    kept = "".join(lines)
    return kept if _reads_as(kept, wanted) else document_text(wanted)


def with_prices(text: str, prices: PriceList | None, directory: Path) -> str:
    """Return the text of a scenario, for a file of this directory, with the price list of its run (VM-7)."""
    if prices is None:
        return text
    plain = parse_valid(text).plain
    account = plain.get("account") if isinstance(plain, dict) else None
    settings = account if isinstance(account, dict) else {}
    place = Path(os.path.relpath(prices.file.name, directory)).as_posix()
    named = settings.get("prices")
    if isinstance(named, str) and os.path.normpath(named) == os.path.normpath(place):
        return text
    return with_settings(text, {"account": {**settings, "prices": place}})


def _lines_of(text: str) -> list[str]:
    """Return the lines of a text, each with a line break at its end."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    return lines


def _reads_as(text: str, wanted: Plain) -> bool:
    tree, problems = parse_value(text)
    return tree is not None and not problems and tree.plain == wanted


def _entry(given: GivenCommand) -> dict[str, Plain]:
    return _timeline_entry(given.at_ms, given.command.NAME, given.command.masked(), given.refused)


def _timeline_entry(at_ms: int, name: str, body: Plain, refused: Plain) -> dict[str, Plain]:
    entry: dict[str, Plain] = {"at": format_duration(at_ms), name: body}
    return entry | ({"refused": refused} if refused is not None else {})


def _appended(text: str, tree: Tree, entries: Iterable[dict[str, Plain]]) -> str | None:
    """Return the text with entries added to its timeline, or None if that takes more than new lines."""
    assert isinstance(tree.value, dict)
    lines = _lines_of(text)
    timeline = tree.value.get("timeline")
    if timeline is None:
        return "".join([*lines, "\ntimeline:\n", *_entry_lines(entries, "  ")])
    if not isinstance(timeline.value, list) or not text.splitlines()[timeline.position.line - 1].lstrip().startswith(
        "-"
    ):
        return None
    key_line = tree.keys["timeline"].line
    end = min((position.line - 1 for position in tree.keys.values() if position.line > key_line), default=len(lines))
    while not lines[end - 1].strip() or lines[end - 1].startswith("#"):
        end -= 1
    indent = " " * (timeline.position.column - 1)
    lines[end:end] = _entry_lines(entries, indent)
    return "".join(lines)


def _entry_lines(entries: Iterable[dict[str, Plain]], indent: str) -> Iterator[str]:
    """Yield the lines of entries of a timeline: one for a short entry, a block for one that creates much."""
    for entry in entries:
        text = f"{indent}- {flow_text(entry)}\n"
        yield from [text] if len(text) <= _SHORT_ENTRY else (f"{line}\n" for line in block_lines([entry], indent))


def _block(value: dict[str, Plain]) -> Iterator[str]:
    """Yield the lines of a mapping in block style, one for each item of a list."""
    for key, inner in value.items():
        if isinstance(inner, list) and inner:
            yield f"{_scalar(key)}:\n"
            yield from (f"  - {flow_text(item)}\n" for item in inner)
        else:
            yield f"{_scalar(key)}: {flow_text(inner)}\n"


def block_text(value: Plain) -> str:
    """Return the YAML of a value in block style, as somebody would write it. It ends with a line break."""
    return "".join(f"{line}\n" for line in block_lines(value))


def block_lines(value: Plain, indent: str = "", rows: Collection[str] = ()) -> Iterator[str]:
    """Yield the lines of a value in block style, without line ends.

    Lists that may be long have a line of JSON for each item: those under a key of ``rows``, and iterators, which are
    read once.
    """
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _item(key, inner, indent, rows)
    elif isinstance(value, list) and value:
        for inner in value:
            lines = block_lines(inner, indent + "  ", rows)
            is_nested = isinstance(inner, dict | list) and bool(inner)
            yield f"{indent}- {next(lines).lstrip(' ') if is_nested else next(lines)}"
            yield from lines
    else:
        yield flow_text(value)


def _item(key: str, value: Plain | Iterator[object], indent: str, rows: Collection[str]) -> Iterator[str]:
    """Yield a key with its value: short lists of scalars in one line, text of several lines as it is."""
    head, below = f"{indent}{_scalar(key)}:", indent + "  "
    if isinstance(value, Iterator) or (key in rows and isinstance(value, list)):
        items = (f"{below}- {_json_line(item)}" for item in value)
        first = next(items, None)
        yield from [f"{head} []"] if first is None else chain((head, first), items)
    elif isinstance(value, str) and _LITERAL.fullmatch(value):
        yield f"{head} |{'' if value.endswith(chr(10)) else '-'}"
        yield from (f"{below}{line}" if line else "" for line in value.removesuffix("\n").split("\n"))
    elif isinstance(value, dict | list) and value and not _is_short(value, rows):
        yield head
        yield from block_lines(value, below, rows)
    else:
        yield f"{head} {flow_text(value)}"


def _json_line(item: object) -> str:
    """Return a value in one line of JSON, which is YAML too; text that JSON does not show is escaped as in YAML."""
    text = json.dumps(item, ensure_ascii=False)
    return text if text.isprintable() else flow_text(json.loads(text))


def _is_short(value: dict[str, Plain] | list[Plain], rows: Collection[str]) -> bool:
    """Return whether a mapping or list is best written in one line."""
    if isinstance(value, dict) and any(key in rows or isinstance(each, Iterator) for key, each in value.items()):
        return False
    inner = value.values() if isinstance(value, dict) else value
    is_flat = all(not isinstance(each, dict | list) or _is_short(each, rows) for each in inner)
    return is_flat and len(flow_text(value)) <= (_SHORT_MAPPING if isinstance(value, dict) else _SHORT_LIST)


def flow_text(value: Plain) -> str:
    """Return the YAML of a value in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {flow_text(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    return _scalar(value)


def _scalar(value: str | float | bool | None) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if not isinstance(value, str):
        return repr(value)
    return value if _BARE.fullmatch(value) else f'"{"".join(map(_escaped, value))}"'


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    return character if character.isprintable() else f"\\U{ord(character):08x}"
