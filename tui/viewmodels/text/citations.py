"""Citations of rules in a text, such as ``(PREP-16)``: dimmed, so that the sentence can be read without them."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from engine.base import rulebook
from engine.base.lazy import lazy_regex
from tui.viewmodels.text.styled import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.viewmodels.text.styled import Line, Span

_LIKE_AN_ID = lazy_regex(r"[A-Z]-[1-9]")  # without it the rulebook need not be read


def dim_citations(spans: Line) -> Line:
    """Return the line with the ids of rules dimmed, where they stand in brackets; ids of jobs and tasks do not."""
    if not any("-" in span.text and _LIKE_AN_ID.search(span.text) and _citation().search(span.text) for span in spans):
        return spans
    return tuple(piece for span in spans for piece in _pieces(span))


def _pieces(span: Span) -> Iterator[Span]:
    if span.is_fill or span.role is Role.DIM:
        yield span
        return
    for number, text in enumerate(_citation().split(span.text)):
        if text:
            yield span._replace(text=text, role=Role.DIM) if number % 2 else span._replace(text=text)


@cache
def _citation() -> re.Pattern[str]:
    """Return the pattern of an id with its brackets; a list of ids may begin on the line before."""
    prefixes = "|".join(chapter.prefix for chapter in rulebook.chapters())
    return re.compile(rf"((?:^ *|[(\[]|(?<=, ))(?:{prefixes})-[1-9][0-9]*[)\],])")
