"""Changes in equal spans of time, of which a bounded number is kept."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.events.log import EventLog
    from engine.views.series.changes import ChangeCounter, Changes, Measure

_NOTHING: Changes = {}
_EMPTY_COST, _COST = 16, 512  # entries that take about as long as a bucket without any, and as one with some


class Buckets:
    """Changes in consecutive spans of ``every_ms``.

    Bucket ``n`` has the changes after ``(n - 1) * every_ms`` up to and including ``n * every_ms``. Those before the
    bucket ``first`` are summed up. A bucket is complete when its time is over, so it stays valid while an earlier
    moment is shown. The one after the last complete bucket is counted bit by bit.
    """

    def __init__(self, log: EventLog, counter: ChangeCounter, every_ms: int, most: int) -> None:
        """Begin at the start of the run; ``most`` buckets are kept at most."""
        self._log = log
        self._counter = counter
        self._most = most
        self.every_ms = every_ms
        self.first = 0
        self._before: Changes = {}  # the changes before the first bucket
        self._read = 0  # entries before the first bucket
        self._changes: list[Changes] = []
        self._ends = array("q")  # the number of entries up to the end of each bucket
        self._begun: Changes = {}  # of the first bucket that is not complete
        self._reached = 0  # entries that are counted
        # By measure and row: the values before the first bucket and at the end of each that was asked for, and their
        # sums up to each. They follow from the complete buckets, which only ``cut``, ``double`` and ``drop`` change.
        self._known: dict[tuple[Measure, int], tuple[list[int], list[int]]] = {}

    @property
    def stop(self) -> int:
        """The number of the first bucket that is not complete."""
        return self.first + len(self._changes)

    def begin_at(self, first: int, other: Buckets) -> None:
        """Begin anew with another first bucket. What was before it follows from the buckets of another size."""
        until_ms = (first - 1) * self.every_ms
        number = min(until_ms // other.every_ms, other.stop - 1)
        before, read = (dict(other.sums(number)), other.end(number)) if number >= other.first else ({}, 0)
        self.first, self._read = first, self._log.index_at(until_ms)
        _merge(before, self._counter.count(read, self._read))
        self._before, self._changes = before, []
        self._begun, self._reached = {}, self._read
        del self._ends[:]
        self._known.clear()

    def widen(self, until_ms: int) -> None:
        """Let buckets that are still empty be so long that those up to a moment are not too many."""
        while not self._changes and not self._reached and until_ms > self.every_ms * self._most:
            self.every_ms *= 2

    def is_behind(self, until_ms: int) -> bool:
        """Return True while there are entries up to a moment that are not counted."""
        return self.stop * self.every_ms < until_ms or self._reached < self._log.index_at(until_ms)

    def known_until_ms(self, until_ms: int) -> int:
        """Return the moment up to which buckets are complete; that is ``until_ms`` if nothing is left to count."""
        return max(0, (self.stop - 1) * self.every_ms + 1) if self.is_behind(until_ms) else until_ms

    def go_on(self, until_ms: int, most: int) -> int:
        """Count entries of one bucket, at most so many; complete it if its time is over. Return what that cost."""
        is_over = self.stop * self.every_ms < until_ms
        end = self._log.index_at(self.stop * self.every_ms if is_over else until_ms)
        begin, self._reached = self._reached, min(end, self._reached + most)
        if begin < self._reached:
            _merge(self._begun, self._counter.count(begin, self._reached))
        if is_over and self._reached == end:
            self._changes.append(self._begun or _NOTHING)
            self._ends.append(end)
            self._begun = {}
        return self._reached - begin + (_COST if begin < self._reached else _EMPTY_COST)

    def double(self) -> None:
        """Join pairs of buckets, if there are as many as are kept. Only for buckets from the start on."""
        if len(self._changes) < self._most:
            return
        self._known.clear()
        joined = [self._changes[0]]
        for at in range(1, len(self._changes) - 1, 2):
            both = dict(self._changes[at])
            _merge(both, self._changes[at + 1])
            joined.append(both)
        if len(self._changes) % 2 == 0:  # the last one is the first half of the next bucket
            _merge(self._begun, self._changes[-1])
        self._changes, self._ends, self.every_ms = joined, self._ends[::2][: len(joined)], self.every_ms * 2

    def drop(self) -> None:
        """Sum up the older half of the buckets, if there are as many as are kept."""
        if len(self._changes) < self._most:
            return
        self._known.clear()
        half = self._most // 2
        for changes in self._changes[:half]:
            _merge(self._before, changes)
        self._read = self._ends[half - 1]
        self.first += half
        del self._changes[:half]
        del self._ends[:half]

    def cut(self, length: int, from_ms: int) -> bool:
        """Forget the buckets that end at ``from_ms`` or later, or have entries beyond a length of the log.

        Return False if what was before the first bucket is not valid any more.
        """
        kept = bisect_right(self._ends, length)
        kept = max(0, min(kept, -(-from_ms // self.every_ms) - self.first))
        if kept < len(self._changes) or self._reached > length:
            self._begun, self._reached = {}, self._ends[kept - 1] if kept else self._read
        del self._changes[kept:]
        del self._ends[kept:]
        self._known.clear()
        return self._read <= length and (self.first == 0 or (self.first - 1) * self.every_ms < from_ms)

    # -- queries -------------------------------------------------------------------------------------------------

    def end(self, number: int) -> int:
        """Return the number of entries up to the end of a bucket."""
        return self._ends[number - self.first] if number >= self.first else self._read

    def sums(self, number: int) -> Changes:
        """Return all changes up to the end of a bucket."""
        found: defaultdict[tuple[Measure, int], int] = defaultdict(int, self._before)
        for changes in self._changes[: number - self.first + 1]:
            for key, change in changes.items():
                found[key] += change
        return found

    def values(self, measure: Measure, row: int, stop: int) -> Sequence[int]:
        """Return a measure before the first bucket, then at the end of each one, at least of those before ``stop``."""
        return self._history(measure, row, stop)[0]

    def totals(self, measure: Measure, row: int, stop: int) -> Sequence[int]:
        """Return the sums of these values, up to and including each."""
        return self._history(measure, row, stop)[1]

    def _history(self, measure: Measure, row: int, stop: int) -> tuple[list[int], list[int]]:
        key = measure, row
        if key not in self._known:
            before = self._before.get(key, 0)
            self._known[key] = [before], [before]
        values, totals = known = self._known[key]
        if len(values) <= stop - self.first:
            for changes in self._changes[len(values) - 1 : stop - self.first]:
                values.append(values[-1] + changes.get(key, 0))
                totals.append(totals[-1] + values[-1])
        return known

    def value_at(self, measure: Measure, row: int, when_ms: int) -> int:
        """Return a measure at a moment, up to which entries are known; inside a bucket they are counted anew."""
        number = min(when_ms // self.every_ms, self.stop - 1)
        value = self.values(measure, row, number + 1)[number - self.first + 1]
        begin, end = self.end(number), self._log.index_at(when_ms)
        if begin < end:
            is_last = number == self.stop - 1 and end == self._reached
            value += (self._begun if is_last else self._counter.count(begin, end)).get((measure, row), 0)
        return value

    def changes(self, stop: int) -> Iterator[Changes]:
        """Yield the changes in the buckets before ``stop``."""
        yield from self._changes[: stop - self.first]


def _merge(into: Changes, other: Changes) -> None:
    for key, change in other.items():
        into[key] = into.get(key, 0) + change
