"""Filters and sort keys of many rows: rows that show the same text in a column are judged together."""

from __future__ import annotations

from itertools import compress
from operator import gt, or_
from typing import TYPE_CHECKING, Any, Protocol

from engine.base.natural import natural_key
from tui.viewmodels.lists.filters import begins_with, matcher, quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from tui.viewmodels.lists.columns import Column
    from tui.viewmodels.lists.filters import Term

_MOST_KNOWN = 200_000  # groups that are remembered
Value = tuple[bool, float, str]


class Texts(Protocol):
    """The texts of a list, by which it is filtered and sorted."""

    @property
    def columns(self) -> Sequence[Column]: ...
    def text_of(self, key: int, column: int) -> str: ...
    def texts_of(self, keys: Sequence[int], column: int) -> Sequence[str]: ...
    def groups_of(self, keys: Sequence[int], column: int) -> Sequence[Hashable] | None: ...
    def names_of(self, keys: Sequence[int], word: str) -> Sequence[str]: ...


class Judged:
    """A function of the text in a column, computed once for each group of rows that show the same."""

    def __init__(self, texts: Texts, column: int, judge: Callable[[str], Any]) -> None:
        """Judge the texts of one column; the judgements hold for one moment."""
        self._texts = texts
        self._column = column
        self._judge = judge
        self._known: dict[Hashable, Any] = {}

    def of(self, keys: Sequence[int]) -> Iterable[Any]:
        """Return the value of each row, in order."""
        if not keys:
            return ()
        column, judge, known = self._column, self._judge, self._known
        groups = self._texts.groups_of(keys, column)
        if groups is None:
            return map(judge, self._texts.texts_of(keys, column))
        if len(known) > _MOST_KNOWN:
            known.clear()
        try:
            return list(map(known.__getitem__, groups))
        except KeyError:
            for group, key in zip(groups, keys, strict=True):
                if group not in known:
                    known[group] = judge(self._texts.text_of(key, column))
            return map(known.__getitem__, groups)


class Filter:
    """The terms of a filter, for the rows of one list at one moment."""

    def __init__(self, texts: Texts, terms: Iterable[tuple[Term, int | None]]) -> None:
        """Prepare the terms, each with its column. A term on an unknown column never holds."""
        self._texts = texts
        self._words: list[tuple[Term, list[Judged]]] = []  # each with the states among which it is looked for
        self._judged: list[Judged] = []
        self._never = False
        for term, column in terms:
            if not term.field:
                states = [at for at, each in enumerate(texts.columns) if each.has_word(term.value)]
                test = matcher(term._replace(is_excluded=False)) if "*" in term.value else begins_with(term.value)
                self._words.append((term, [Judged(texts, at, test) for at in states]))
            elif column is None:
                self._never = True
            else:
                test = matcher(term, is_name=texts.columns[column].is_name)
                self._judged.append(Judged(texts, column, test))

    def keep(self, rows: Sequence[int]) -> Sequence[int]:
        """Return the rows that satisfy all terms, with the cheapest tests first."""
        if self._never:
            return ()
        for term, states in self._words:
            names = self._texts.names_of(rows, term.value)
            if "*" in term.value:
                found = list(map(matcher(term), names))
            else:
                found = [(term.value in name.lower()) is not term.is_excluded for name in names]
            for judged in states:
                found = list(map(gt if term.is_excluded else or_, found, judged.of(rows)))  # or found, and not that
            rows = list(compress(rows, found))
        for judged in self._judged:
            rows = list(compress(rows, judged.of(rows)))
        return rows


def sort_value(text: str) -> Value:
    """Return the sort key of a text: empty ones last; numbers, times and durations by value; names as people count."""
    text = text.strip()
    number = quantity(text.lower())
    return (not text, 0.0, natural_key(text)) if number is None else (False, number, "")
