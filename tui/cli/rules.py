"""``batchdeck rules``: chapters and rules of the rulebook as text or JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from click import style

from engine.base import rulebook
from tui.viewmodels.text import Role, rule_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.base.rulebook import Chapter, Rule
    from tui.viewmodels.text import Span

_WIDEST = 100  # longer lines are hard to read
_NARROWEST = 40


class UnknownRule(Exception):
    """A name that is not one of a rule or chapter; the message names the nearest."""


def chosen(names: Sequence[str]) -> list[Chapter | Rule]:
    """Return the chapters and rules of these names, each once, without regard to case. Raises UnknownRule."""
    found = []
    for name in dict.fromkeys(each.upper() for each in names):
        part = rulebook.find(name)
        if part is None:
            raise UnknownRule(f"no rule or chapter is called {name}; the nearest is {rulebook.nearest(name)}.")
        found.append(part)
    return found


def completions(incomplete: str) -> list[tuple[str, str]]:
    """Return the names that begin so, with a line each: chapters, and rules once their chapter is written."""
    start = incomplete.upper()
    titles = [(chapter.prefix, chapter.title) for chapter in rulebook.chapters()]
    texts = [(rule.id, rule.text) for rule in rulebook.rules().values()]
    has_chapter = start.partition("-")[0] in dict(titles)
    return [(name, about) for name, about in titles + (texts if has_chapter else []) if name.startswith(start)]


def as_json(parts: Sequence[Chapter | Rule]) -> str:
    """Return the chapters, or the given chapters and rules, as JSON. The text of a rule is Markdown."""
    listed = [asdict(part) for part in parts]
    if not parts:
        listed = [{**asdict(each), "rules": len(each.rules)} for each in rulebook.chapters()]
    return json.dumps(listed, indent=2, ensure_ascii=False)


def as_text(parts: Sequence[Chapter | Rule], columns: int) -> str:
    """Return the list of chapters, or the given chapters and rules, for so many columns; styled for a terminal."""
    if not parts:
        listed = rulebook.chapters()
        return "\n".join(
            f"{style(f'{each.prefix:<8}', bold=True)}{len(each.rules):>3}  {each.title}" for each in listed
        )
    lines = rule_lines(parts, max(_NARROWEST, min(columns, _WIDEST)), with_code=True)
    return "\n".join("".join(map(_styled, line)) for line in lines)


def _styled(span: Span) -> str:
    if span.role in (Role.STRONG, Role.DIM):
        return style(span.text, bold=span.role is Role.STRONG, dim=span.role is Role.DIM)
    return span.text
