"""The filter language: words match ids, ``!word`` excludes, ``field:value`` compares, ``>`` and ``<`` for numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_NUMBER = re.compile(r"-?[\d,]+(\.\d+)?")
_TIME = re.compile(r"\d{1,2}:\d{2}(:\d{2})?")


class Term(NamedTuple):
    """One word of a filter."""

    field: str  # empty: the id
    operator: str  # "", "<" or ">"
    value: str
    is_excluded: bool


def field_name(column: str) -> str:
    """A column's name as a field: lower case, without blanks."""
    return column.lower().replace(" ", "").replace("-", "")


def parse_filter(text: str) -> tuple[Term, ...]:
    """The terms of a filter; every text is a filter."""
    terms = []
    for word in text.lower().split():
        field, colon, value = word.rpartition(":")
        if _TIME.search(word) and colon and not re.match(r"[a-z]+:", word):
            field, value = "", word
        elif _TIME.search(word) and colon:
            field, _, value = word.partition(":")
        excluded_word = not field and value.startswith("!")
        excluded = excluded_word or bool(field and value.startswith("!"))
        value = value.removeprefix("!") if excluded else value
        operator = value[:1] if field and value[:1] in ("<", ">") else ""
        if value := value.removeprefix(operator):
            terms.append(Term(field, operator, value, excluded))
    return tuple(terms)


def matches(terms: tuple[Term, ...], identity: str, cells: Mapping[str, str]) -> bool:
    """Whether a row passes: its id, and its cells by field name."""
    return all(_passes(term, identity, cells) is not term.is_excluded for term in terms)


def _passes(term: Term, identity: str, cells: Mapping[str, str]) -> bool:
    if not term.field:
        return term.value in identity.lower()
    cell = next((text for name, text in cells.items() if name.startswith(term.field)), "").strip().lower()
    if not term.operator:
        return term.value in cell if not _NUMBER.fullmatch(term.value) else term.value == cell
    if not cell:
        return False
    left, right = _comparable(cell), _comparable(term.value)
    if isinstance(left, float) and isinstance(right, float):
        return left < right if term.operator == "<" else left > right
    return str(left) < str(right) if term.operator == "<" else str(left) > str(right)


def _comparable(text: str) -> float | str:
    number = _NUMBER.match(text)
    return float(number[0].replace(",", "")) if number and ":" not in text else text
