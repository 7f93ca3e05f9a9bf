"""The rules of the service as lines: their text, where they come from, and the code behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.rulebook import Chapter
from tui.viewmodels.text.styled import Line, Role, Span, labelled, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.base.rulebook import Rule

_ID_CELLS, _NOTE_CELLS = 11, 8
_NARROWEST = 10


def rule_lines(parts: Sequence[Chapter | Rule], cells: int, *, with_code: bool = False) -> list[Line]:
    """Return chapters and rules in so many cells: a chapter as the texts of its rules, a rule with all about it.

    The modules behind a rule are named if ``with_code``.
    """
    lines: list[Line] = []
    for part in parts:
        if lines:
            lines.append(())
        lines += _chapter(part, cells) if isinstance(part, Chapter) else _rule(part, cells, with_code=with_code)
    return lines


def _chapter(chapter: Chapter, cells: int) -> list[Line]:
    lines = [line(Span(f"{chapter.prefix}: {chapter.title}", Role.STRONG))]
    lines += [line(each) for each in wrapped(_plain(chapter.about), cells)]
    lines.append(())
    for rule in chapter.rules:
        lines += _text(rule, cells) + _note("Option", _plain(rule.option), cells)
    return lines


def _rule(rule: Rule, cells: int, *, with_code: bool) -> list[Line]:
    code = ", ".join(rule.modules) or rule.reason
    return [
        *_text(rule, cells),
        *_note("Source", ", ".join(rule.sources), cells),
        *_note("Option", _plain(rule.option), cells),
        *_note("Code", code if with_code else "", cells),
    ]


def _text(rule: Rule, cells: int) -> list[Line]:
    """Return the id, and beside it what the rule says."""
    return labelled(Span(rule.id, Role.STRONG), _ID_CELLS, _plain(rule.text), cells)


def _note(name: str, said: str, cells: int) -> list[Line]:
    """Return a remark under a rule, in dim letters; nothing where there is nothing to say."""
    lead_cells = _ID_CELLS + _NOTE_CELLS
    texts = wrapped(said, max(_NARROWEST, cells - lead_cells)) if said else []
    leads = [f"{'':{_ID_CELLS}}{name:<{_NOTE_CELLS}}", *[" " * lead_cells] * len(texts)]
    return [line(Span(lead + text, Role.DIM)) for lead, text in zip(leads, texts, strict=False)]


def _plain(markdown: str) -> str:
    return markdown.replace("`", "")
