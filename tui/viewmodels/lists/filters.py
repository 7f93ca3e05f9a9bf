"""The filter language of the lists.

A word matches ids, those of nodes from five characters on, and states that begin with it; ``!word`` excludes.
``field:value`` matches the text of a column, ``field:!value`` excludes it; ``field:>5m`` and ``field:<5m`` compare
numbers, durations and times. A cell without text has no quantity: ``exit:!0`` matches other exit codes only.
``node:n7`` matches this node only; ``*`` stands for any text, so ``node:n7*`` matches n70 to n79 too. Quotes hold a
text with blanks together, as in ``command:"render --fast"``. All terms must hold.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lazy import lazy_regex
from engine.scenario.wording import did_you_mean
from tui.viewmodels.text.styled import Line, Role, Span, line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.views.pages.instances import InstancePage
    from engine.views.pages.nodes import NodePage

_TERM = lazy_regex(r'(!?)(?:([a-z]\w*):(!?)([<>]?))?(?:"([^"]*)"?|(\S*))')
_NUMBER = lazy_regex(r"[-+]?\$?(\d[\d,]*(?:\.\d+)?)%?(?= of \d|$)")
_CLOCK = lazy_regex(r"([-+]?)(?:(\d\d)-(\d\d)[ t]|(\d+)d )?(\d{1,2}):(\d{2})(?::(\d{2}))?")
_SPAN = lazy_regex(r"(?:pt?)?(?:(\d+)d)?t?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_ALIASES = {"slots": ("runningtasks", "requiredslots"), "job": ("focusjob",), "retries": ("retrycount",)}
# Results as the lists name them, with the words of the counts above the lists.
RESULTS = {"success": "success succeeded", "failure": "failure failed"}
_DAY_S = 86_400
_LEAST_OF_NODE_ID = 5  # characters
_FIRST = frozenset("0123456789+-$pt")  # of a text that is a quantity


class Term(NamedTuple):
    """One term of a filter."""

    field: str  # empty: the id
    operator: str  # "", "<" or ">"
    value: str
    is_excluded: bool


def field_name(column: str) -> str:
    """Return a column's name as a field: lower case, without spaces."""
    return re.sub(r"\W", "", column.lower())


def parse_filter(text: str) -> tuple[Term, ...]:
    """Return the terms of a filter. Any text is a valid filter."""
    terms = []
    for before, field, after, operator, with_blanks, word in _TERM.findall(text.lower()):
        if value := with_blanks or word:
            terms.append(Term(field, operator, value, bool(before or after)))
    return tuple(terms)


def as_value(text: str) -> str:
    """Return a text as the value of a term: in quotes if it has blanks."""
    return f'"{text}"' if " " in text else text


def unknown_field(text: str, columns: Sequence[str]) -> str:
    """Return a sentence about the first field of a filter that no column has; empty if there is none."""
    fields = [field_name(name) for name in columns if name]
    for term in parse_filter(text):
        if term.field and column_of(term.field, columns) is None:
            return f"No field {term.field}{did_you_mean(term.field, fields) or '.'}"
    return ""


def column_of(field: str, columns: Sequence[str]) -> int | None:
    """Return the index of the column that a field names, in full or by prefix; None if there is none."""
    fields = [field_name(name) for name in columns]
    for wanted in (field, *_ALIASES.get(field, ())):
        if wanted in fields:
            return fields.index(wanted)
        begun = [at for at, name in enumerate(fields) if name.startswith(wanted)]
        if begun:
            return begun[0]
    return None


def names_of_nodes(page: InstancePage | NodePage, keys: Sequence[int], word: str) -> list[str]:
    """Return the names of nodes in which a word is looked for, with their ids unless it is short.

    The ids are not shown, and a short word is in many of them by chance.
    """
    if len(word) < _LEAST_OF_NODE_ID:
        return [f"n{page.position_of(key)}" for key in keys]
    return [f"n{page.position_of(key)} {page.id_of(key)}" for key in keys]


def matcher(term: Term, *, is_name: bool = False) -> Callable[[str], bool]:
    """Return the test that a term sets for the text of a cell.

    Args:
        term: The term.
        is_name: Whether the cells are names, of which only a whole one matches a value without ``*``.
    """
    value = term.value
    if "*" in value:
        holds = _pattern(value)
    elif term.operator:
        holds = _comparison(term)
    elif is_name:
        holds = _name(value)
    else:
        return _search(term)
    if term.operator and quantity(value) is not None:
        return lambda text: bool(text := text.strip().lower()) and holds(text) is not term.is_excluded
    return lambda text: holds(text.strip().lower()) is not term.is_excluded


def begins_with(value: str) -> Callable[[str], bool]:
    """Return the test for a text that begins with a value, or of which a word does."""

    def holds(text: str) -> bool:
        text = text.strip().lower()
        text = RESULTS.get(text, text)
        return text.startswith(value) or any(word.startswith(value) for word in text.split())

    return holds


def _search(term: Term) -> Callable[[str], bool]:
    """Return the test for a text that contains a value, or is the same quantity. A single call: lists can be long."""
    wanted, right, is_excluded = term.value, quantity(term.value), term.is_excluded
    if right is None:
        return lambda text: (wanted in text.lower()) is not is_excluded

    def holds(text: str) -> bool:
        text = text.strip().lower()
        left = None if text[:1] not in _FIRST else quantity(text)
        return bool(text) and (wanted in text if left is None else left == right) is not is_excluded

    return holds


def _pattern(value: str) -> Callable[[str], bool]:
    """Return the test for a text, or a word of it, that a pattern matches."""
    matches = re.compile(translate(value.replace("[", "[[]").replace("?", "[?]"))).match
    return lambda text: bool(matches(text)) or any(map(matches, text.split()))


def _name(value: str) -> Callable[[str], bool]:
    """Return the test for a text, or a word of it, that is a value."""
    return lambda text: value == text or value in text.split()


def _comparison(term: Term) -> Callable[[str], bool]:
    """Return the test for a text that is less or more than a value, as a quantity if both are."""
    wanted, right, operator = term.value, quantity(term.value), term.operator

    def holds(text: str) -> bool:
        left = quantity(text)
        if left is None or right is None:
            return bool(text) and (text < wanted if operator == "<" else text > wanted)
        return left < right if operator == "<" else left > right

    return holds


def quantity(text: str) -> float | None:
    """Return a comparable value: a number (``1,234``, ``3 of 4``, ``$0.12``), else a time or duration in seconds.

    Accepts times as the lists show them (``10:42``, ``00:41:50``, ``-00:03:12``, ``2d 03:04:05``, ``01-06 10:42:17``)
    and durations as users type them (``5m``, ``1h30m``, ``45s``, ``PT5M``). None for anything else.
    """
    if text[:1] not in _FIRST:  # most texts are names
        return None
    number = _NUMBER.match(text)
    if number:
        return float(number[1].replace(",", "")) * (-1 if text.startswith("-") else 1)
    clock = _CLOCK.fullmatch(text)
    if clock:
        sign, month, day, days, hours, minutes, seconds = clock.groups()
        whole_days = int(month) * 31 + int(day) if month else int(days or 0)  # only the order of dates matters
        value = whole_days * _DAY_S + int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0)
        return -value if sign == "-" else value
    span = _SPAN.fullmatch(text)
    if span and any(span.groups()):
        days, hours, minutes, seconds = (float(part or 0) for part in span.groups())
        return days * _DAY_S + hours * 3600 + minutes * 60 + seconds
    return None


def filter_hint(text: str, columns: Sequence[str]) -> Line:
    """Return what can be typed next, or the problem with what was typed."""
    fields = [field_name(name) for name in columns if name]
    if wrong := unknown_field(text, columns):
        return line(Span(f" {wrong}", Role.FAILED))
    word = text.lower().split(" ")[-1].lstrip("!")
    begun = [field for field in fields if word and field.startswith(word)]
    language = [] if begun else [Span(' word  "a b"  !word  field:value  field:!value  field:>5m  node:n7* ', Role.KEY)]
    return line(*language, Span(f" fields: {' '.join(begun or fields)}", Role.DIM))
