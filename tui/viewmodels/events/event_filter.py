"""The filter of the event list, and the search for its matches through a log of millions, from both ends."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import compress
from operator import or_
from typing import TYPE_CHECKING, overload

from engine.base.units import SECOND_MS
from engine.views.pages.event_matching import EventMatcher
from tui.viewmodels.lists.filters import begins_with, column_of, matcher, quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from engine.views.pages.events import EventRow
    from tui.viewmodels.lists.filters import Term
    from tui.viewmodels.session.session import Session

    Texts = Callable[[EventRow], Sequence[str]]

PIECE = 2000  # entries that are judged together, in less than a millisecond if their ids are known
_OTHERS = bytes((1, 0)) + bytes(254)
_TIME, _WHAT_HAPPENED = 0, 2  # the numbers of these columns


class EventFilter:
    """The terms of a filter. It remembers what it has judged, so it holds until time goes back or texts change."""

    def __init__(self, session: Session, terms: Sequence[Term], columns: Sequence[str], texts: Texts) -> None:
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
                self._keepers.append(_Texts(session, term, judged, is_named=is_named).keep)

    def keep(self, entries: Sequence[int]) -> Sequence[int]:
        """Return the entries that satisfy all terms."""
        for keep in self._keepers:
            if not entries:
                break
            entries = keep(entries)
        return entries


def _one_of(texts: Texts, at: int) -> Texts:
    return lambda event: (texts(event)[at],)


def _name(event: EventRow) -> Sequence[str]:
    return (event.event,)


class _Texts:
    """A term on texts of events, and on their names in the log if it may be one."""

    def __init__(self, session: Session, term: Term, texts: Texts, *, is_named: bool) -> None:
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
            self._names = EventMatcher(
                session.simulation, session.events, _name, lambda names: list(map(begins, names))
            )

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
        self._known: tuple[object, dict[int, bool]] = None, {}

    def keep(self, entries: Sequence[int]) -> Sequence[int]:
        session, moments = self._session, self._session.events.moments_ms(entries)
        if session.time_format == "relative":
            now_ms = session.now_ms
            shown, asked = [(now_ms - ms) // SECOND_MS if ms < now_ms else -1 for ms in moments], now_ms
        else:
            unit = 1 if session.time_format == "utc" else SECOND_MS
            shown, asked = [ms // unit for ms in moments], None
        if self._known[0] != asked:
            self._known = asked, {}
        known = self._known[1]
        for key, ms in dict(zip(shown, moments, strict=True)).items():
            if key not in known:
                known[key] = self._holds(session.clock(ms))
        return list(compress(entries, map(known.__getitem__, shown)))


class BothEnds(Sequence[int]):
    """Numbers that are found from both ends, in their order. They grow in the middle."""

    def __init__(self) -> None:
        """Begin with none."""
        self.first = array("q")
        self.last = array("q")  # the last one first

    def __len__(self) -> int:
        return len(self.first) + len(self.last)

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        at = at if at >= 0 else len(self) + at
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
