"""The filter language of the lists, and its evaluation on many rows and on the event log.

A word matches ids, those of nodes from five characters on, and states that begin with it; ``!word`` excludes.
``field:value`` matches the text of a column, ``field:!value`` excludes it; ``field:>5m`` and ``field:<5m`` compare
numbers, durations and times. A cell without text has no quantity: ``exit:!0`` matches other exit codes only.
``node:n7`` matches this node only; ``*`` stands for any text, so ``node:n7*`` matches n70 to n79 too. Quotes hold a
text with blanks together, as in ``command:"render --fast"``. All terms must hold.

Rows that show the same text in a column are judged together. A log of millions is searched from both ends.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from fnmatch import translate
from itertools import compress
from operator import gt, or_
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from engine.base.values import SECOND_MS, LazyRows, lazy_regex, natural_key
from engine.scenario.text import did_you_mean
from engine.views.log.reader import KeptByKey
from engine.views.resources.event_matching import EventMatcher
from tui.viewmodels.lists.columns import RESULTS
from tui.viewmodels.text import Line, Role, Span, line

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from engine.views.resources.events import EventRow
    from tui.viewmodels.lists.columns import Column
    from tui.viewmodels.session import Session

    EventTexts = Callable[[EventRow], Sequence[str]]


_TERM = lazy_regex(r'(!?)(?:([a-z]\w*):(!?)([<>]?))?(?:"([^"]*)"?|(\S*))')
_NUMBER = lazy_regex(r"[-+]?\$?(\d[\d,]*(?:\.\d+)?)%?(?= of \d|$)")
_CLOCK = lazy_regex(r"([-+]?)(?:(\d\d)-(\d\d)[ t]|(\d+)d )?(\d{1,2}):(\d{2})(?::(\d{2}))?")
_SPAN = lazy_regex(r"(?:pt?)?(?:(\d+)d)?t?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")
_ALIASES = {"slots": ("runningtasks", "requiredslots"), "job": ("focusjob",), "retries": ("retrycount",)}
_DAY_S = 86_400
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


_MOST_KNOWN = 200_000  # groups that are remembered
Value = tuple[bool, float, str]


class ListTexts(Protocol):
    """The texts of a list, by which it is filtered and sorted."""

    @property
    def columns(self) -> Sequence[Column[Any]]: ...
    def texts_of(self, keys: Sequence[int], column: int) -> Sequence[str]: ...
    def groups_of(self, keys: Sequence[int], column: int) -> Sequence[Hashable] | None: ...
    def names_of(self, keys: Sequence[int], word: str) -> Sequence[str]: ...


class Judged:
    """A function of the text in a column, computed once for each group of rows that show the same."""

    def __init__(self, texts: ListTexts, column: int, judge: Callable[[str], Any]) -> None:
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
                    known[group] = judge(self._texts.texts_of((key,), column)[0])
            return map(known.__getitem__, groups)


class Filter:
    """The terms of a filter, for the rows of one list at one moment."""

    def __init__(self, texts: ListTexts, terms: Iterable[tuple[Term, int | None]]) -> None:
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


PIECE = 2000  # entries that are judged together, in less than a millisecond if their ids are known
_OTHERS = bytes((1, 0)) + bytes(254)
_TIME, _WHAT_HAPPENED = 0, 2  # the numbers of these columns


class EventFilter:
    """The terms of a filter. It remembers what it has judged, so it holds until time goes back or texts change."""

    def __init__(self, session: Session, terms: Sequence[Term], columns: Sequence[str], texts: EventTexts) -> None:
        """Prepare the terms.

        Args:
            session: The session.
            terms: The terms, all of which must hold. A word without a field is looked for in all columns but the time.
                It, and one in the column of what happened, may also be how the name of the event in the log begins.
            columns: The names of the columns, that of the time first.
            texts: Makes the texts of an event in the other columns.
        """
        self._session = session
        self._keepers: list[Callable[[Sequence[int]], Sequence[int]]] = []
        self.looks_at_time = False
        for term in terms:
            column = column_of(term.field, columns) if term.field else None
            if term.field and column is None:
                self._keepers.append(lambda _: ())
            elif column == _TIME:
                self.looks_at_time = True
                self._keepers.append(_Times(session, matcher(term)).keep)
            else:
                judged = texts if column is None else _one_of(texts, column - 1)
                is_named = column in (None, _WHAT_HAPPENED) and not term.operator
                self._keepers.append(_TextTerm(session, term, judged, is_named=is_named).keep)

    def keep(self, entries: Sequence[int]) -> Sequence[int]:
        """Return the entries that satisfy all terms."""
        for keep in self._keepers:
            if not entries:
                break
            entries = keep(entries)
        return entries


def _one_of(texts: EventTexts, at: int) -> EventTexts:
    return lambda event: (texts(event)[at],)


class _TextTerm:
    """A term on texts of events, and on their names in the log if it may be one."""

    def __init__(self, session: Session, term: Term, texts: EventTexts, *, is_named: bool) -> None:
        # Of many texts none may match; but a single one that is empty is no other quantity either.
        self._is_inverted = term.is_excluded and not (term.field and quantity(term.value) is not None)
        holds = matcher(term._replace(is_excluded=term.is_excluded and not self._is_inverted))
        is_word = not term.field and "*" not in term.value
        has_blanks = " " in term.value

        def words(event: EventRow) -> Sequence[str]:
            """Return the words of an event, which more events share than whole texts; those if a word has blanks."""
            return texts(event) if has_blanks else " ".join(texts(event)).split()

        def contain(words: Sequence[str]) -> Sequence[bool]:
            if term.value not in " ".join(words).lower():
                return [False] * len(words)  # most words are in few events
            return [term.value in word for word in map(str.lower, words)]

        def match(texts: Sequence[str]) -> Sequence[bool]:
            return list(map(holds, texts))

        made, judge = (words, contain) if is_word else (texts, match)
        self._matcher = EventMatcher(session.simulation, session.events, made, judge)
        self._names: EventMatcher | None = None
        if is_named:
            begins = matcher(term._replace(is_excluded=False)) if "*" in term.value else begins_with(term.value)
            events = session.simulation, session.events
            self._names = EventMatcher(*events, lambda event: (event.event,), lambda names: list(map(begins, names)))

    def keep(self, entries: Sequence[int]) -> Sequence[int]:
        flags = self._matcher.flags(entries)
        named = b"" if self._names is None else self._names.flags(entries)
        if 1 in named:
            flags = bytes(map(or_, flags, named))
        return list(compress(entries, flags.translate(_OTHERS) if self._is_inverted else flags))


class _Times:
    """A term on the time of events; those of a second show the same one, or of a millisecond."""

    def __init__(self, session: Session, holds: Callable[[str], bool]) -> None:
        self._session = session
        self._holds = holds
        self._known: KeptByKey[bool] = KeptByKey()

    def keep(self, entries: Sequence[int]) -> Sequence[int]:
        session, moments = self._session, self._session.events.moments_ms(entries)
        if session.time_format == "relative":
            now_ms = session.now_ms
            shown, asked = [(now_ms - ms) // SECOND_MS if ms < now_ms else -1 for ms in moments], now_ms
        else:
            unit = 1 if session.time_format == "utc" else SECOND_MS
            shown, asked = [ms // unit for ms in moments], None
        known = self._known.at(asked)
        for key, ms in dict(zip(shown, moments, strict=True)).items():
            if key not in known:
                known[key] = self._holds(session.clock(ms))
        return list(compress(entries, map(known.__getitem__, shown)))


class BothEnds(LazyRows[int]):
    """Numbers that are found from both ends, in their order. They grow in the middle."""

    def __init__(self) -> None:
        """Create an empty sequence."""
        super().__init__(0)
        self.first = array("q")
        self.last = array("q")  # the last one first

    def __len__(self) -> int:
        return len(self.first) + len(self.last)

    def _at(self, at: int) -> int:
        return self.first[at] if at < len(self.first) else self.last[len(self) - 1 - at]


class SearchFromEnds:
    """The entries that pass a filter, in order, found from the first one on and from the last one back, in turns.

    So nothing moves under a reader at the beginning of the list, nor under one who follows the newest event at its end.
    """

    def __init__(
        self,
        entries: Sequence[int],
        keep: Callable[[Sequence[int]], Sequence[int]],
        known: Sequence[int] = (),
        searched: int = 0,
    ) -> None:
        """Search all entries but so many oldest ones that were ``searched`` before, of which ``known`` have passed."""
        self.total = len(entries)
        self.found: array[int] | None = None
        self.early = BothEnds()
        self._entries = entries
        self._keep = keep
        self._known = known
        self._begin, self._end = searched, len(entries)  # of those that are still to be searched
        self._is_at_end = False  # the next ones to be searched

    @property
    def progress(self) -> float:
        """The part of the entries that is searched, from 0 to 1."""
        return 1 - (self._end - self._begin) / max(1, self.total)

    def go_on(self) -> bool:
        """Search some entries. Return True if there are more."""
        if self._is_at_end:
            start = max(self._begin, self._end - PIECE)
            self.early.last.extend(reversed(self._keep(self._entries[start : self._end])))
            self._end = start
        else:
            stop = min(self._begin + PIECE, self._end)
            self.early.first.extend(self._keep(self._entries[self._begin : stop]))
            self._begin = stop
        self._is_at_end = not self._is_at_end
        if self._begin < self._end:
            return True
        found = self.early.first + self.early.last[::-1]
        self.found = array("q", self._known) + found if self._known else found
        return False
