"""``batchdeck rules``: chapters and rules of the rulebook as text or JSON."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

from click import style

from engine.base import rulebook
from engine.base.rulebook import Chapter, Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDEST = 100  # longer lines are hard to read
_NARROWEST = 40
_ID_CELLS, _NOTE_CELLS = 11, 8


class UnknownRule(Exception):
    """There is no rule or chapter of this name; the message names the nearest."""


def chosen(names: Sequence[str]) -> list[Chapter | Rule]:
    """Return the chapters and rules of these names, each once, without regard to case. Raises UnknownRule."""
    known = _by_name()
    found = []
    for name in dict.fromkeys(each.upper() for each in names):
        if name not in known:
            raise UnknownRule(f"no rule or chapter is called {name}; the nearest is {rulebook.nearest(name)}.")
        found.append(known[name])
    return found


def completions(incomplete: str) -> list[tuple[str, str]]:
    """Return the names that begin so, with a line each: chapters, and rules once their chapter is written."""
    start = incomplete.upper()
    titles = [(chapter.prefix, chapter.title) for chapter in rulebook.chapters()]
    texts = [(rule.id, _plain(rule.text)) for rule in rulebook.rules().values()]
    complete = start.partition("-")[0] in dict(titles)
    return [(name, about) for name, about in titles + (texts if complete else []) if name.startswith(start)]


def as_json(parts: Sequence[Chapter | Rule]) -> str:
    """Return the chapters, or the given chapters and rules, as JSON. The text of a rule is Markdown."""
    listed = [asdict(part) for part in parts]
    if not parts:
        listed = [{**asdict(each), "rules": len(each.rules)} for each in rulebook.chapters()]
    return json.dumps(listed, indent=2, ensure_ascii=False)


def as_text(parts: Sequence[Chapter | Rule], columns: int) -> str:
    """Return the list of chapters, or the given chapters and rules, for so many columns; styled for a terminal."""
    columns = max(_NARROWEST, min(columns, _WIDEST))
    if not parts:
        return "\n".join(_index_line(chapter) for chapter in rulebook.chapters())
    return "\n\n".join(_chapter(part, columns) if isinstance(part, Chapter) else _rule(part, columns) for part in parts)


def _by_name() -> dict[str, Chapter | Rule]:
    return {**{chapter.prefix: chapter for chapter in rulebook.chapters()}, **rulebook.rules()}


def _index_line(chapter: Chapter) -> str:
    return f"{style(f'{chapter.prefix:<8}', bold=True)}{len(chapter.rules):>3}  {chapter.title}"


def _chapter(chapter: Chapter, columns: int) -> str:
    title = style(f"{chapter.prefix}: {chapter.title}", bold=True)
    about = textwrap.fill(_plain(chapter.about), columns)
    return "\n".join([title, about, "", *(_rule(rule, columns, ("Option",)) for rule in chapter.rules)])


def _rule(rule: Rule, columns: int, noted: Sequence[str] = ("Source", "Option", "Code")) -> str:
    """Return the rule's text, and below it what is noted of it: its source, its option and the code."""
    notes = {
        "Source": ", ".join(rule.sources),
        "Option": _plain(rule.option),
        "Code": ", ".join(rule.modules) or rule.reason,
    }
    text = _filled(_plain(rule.text), columns, _ID_CELLS)
    lines = [style(f"{rule.id:<{_ID_CELLS}}", bold=True) + text[_ID_CELLS:]]
    for name in noted:
        if notes[name]:
            note = _filled(notes[name], columns, _ID_CELLS + _NOTE_CELLS)
            lines.append(style(f"{'':{_ID_CELLS}}{name:<{_NOTE_CELLS}}{note[_ID_CELLS + _NOTE_CELLS :]}", dim=True))
    return "\n".join(lines)


def _filled(text: str, columns: int, indent: int) -> str:
    lead = " " * indent
    return textwrap.fill(text, columns, initial_indent=lead, subsequent_indent=lead, break_on_hyphens=False)


def _plain(markdown: str) -> str:
    return re.sub(r"`([^`]*)`", r"\1", markdown)
