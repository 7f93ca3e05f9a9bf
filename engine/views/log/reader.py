"""The reader of the event log that the folds share, and the ways to find entries in it.

Entries are named by their number in the log. A number stays valid while another moment is shown; a branch cuts the
log, and other entries get the numbers beyond the cut.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Literal

from engine.base import byte_columns
from engine.base.byte_columns import lowest_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from engine import Simulation
    from engine.events.log import EventLog, Shape

_BYTES = 256  # the values of a byte


class Cuts:
    """Tells a reader when entries that it has read were cut off by a branch."""

    def __init__(self, log: EventLog) -> None:
        """Count from the present length of the recording."""
        self._log = log
        self._seen = len(log.cuts)

    def shortest(self) -> int | None:
        """Return the shortest length to which the log was cut since the last call; None if it was not cut."""
        cuts = self._log.cuts[self._seen :]
        self._seen += len(cuts)
        return min(cuts, default=None)


class LogReader:
    """The entries that a function finds. Each entry of the log is read once, even if time goes back."""

    def __init__(self, simulation: Simulation, find: Callable[[EventLog, int], Iterable[int]]) -> None:
        """Begin with nothing read.

        Args:
            simulation: The run.
            find: Finds the entries from a number on, in ascending order.
        """
        self._simulation = simulation
        self._find = find
        self._cuts = Cuts(simulation.log)
        self._read = 0
        self._taken = 0  # how many of them ``news`` has returned; -1 where some of those are no more
        self.found = array("I")  # up to the latest moment that was shown

    def update(self) -> bool:
        """Read on. Return whether a branch has cut off entries that had been found."""
        log = self._simulation.log
        length = self._cuts.shortest()
        is_cut = False
        if length is not None:
            kept = bisect_left(self.found, length)
            is_cut = kept < len(self.found)
            self._taken = -1 if is_cut else self._taken
            del self.found[kept:]
            self._read = min(self._read, length)
        if self._read < len(log):
            self.found.extend(self._find(log, self._read))
            self._read = len(log)
        return is_cut

    def entries(self) -> Sequence[int]:
        """Return the numbers of the entries up to the moment that is shown."""
        self.update()
        length = len(self._simulation.log)
        if not self.found or self.found[-1] < length:
            return self.found
        return self.found[: bisect_left(self.found, length)]

    def __iter__(self) -> Iterator[tuple[int, Shape]]:
        """Yield number and shape of each entry up to the moment that is shown."""
        log = self._simulation.log
        for at in self.entries():
            yield at, log.shapes[log.shape_of[at]]

    def news(self) -> tuple[bool, Sequence[int]]:
        """Return the entries since the last call, for a state that is folded from them.

        The first item says to begin again with all entries: time has gone back, or a branch has cut some off.
        """
        entries, before = self.entries(), self._taken
        self._taken = len(entries)
        return (False, entries[before:]) if 0 <= before <= len(entries) else (True, entries)


def about(column: Literal["row_a", "row_b"], row: int) -> Callable[[EventLog, int], Iterable[int]]:
    """Find the entries that have this row number in one of the two columns, of any subject."""

    def find(log: EventLog, start: int) -> Iterator[int]:
        return numbers_of(getattr(log, column), row, start)

    return find


def of_kind(is_wanted: Callable[[Shape], bool]) -> Callable[[EventLog, int], Iterable[int]]:
    """Find the entries whose shape is wanted; each shape is judged once."""
    kinds: list[bool] = []
    table = bytearray(_BYTES)

    def find(log: EventLog, start: int) -> Iterator[int]:
        for shape in log.shapes[len(kinds) :]:
            kinds.append(is_wanted(shape))
            table[len(kinds) - 1 & 255] |= kinds[-1]
        return _where(kinds, table, log.shape_of[start:], start)

    return find


def matching(
    log: EventLog, is_wanted: Callable[[Shape], bool], start: int = 0, stop: int | None = None
) -> Iterator[int]:
    """Yield the entries from ``start`` to before ``stop`` whose shape is wanted."""
    return where(list(map(is_wanted, log.shapes)), log.shape_of[start:stop], start)


def where(kinds: Sequence[bool], shapes: array[int], start: int) -> Iterator[int]:
    """Yield the places of the wanted shapes, found by their lowest bytes, which takes 5 ms for a million."""
    return _where(kinds, _table(kinds), shapes, start)


def _where(kinds: Sequence[bool], table: bytearray, shapes: array[int], start: int) -> Iterator[int]:
    # 1 for each wanted shape, and for others with the same lowest byte
    flags = lowest_bytes(shapes).translate(table)
    at = flags.find(1)
    while at >= 0:
        if kinds[shapes[at]]:
            yield start + at
        at = flags.find(1, at + 1)


def _table(kinds: Sequence[int]) -> bytearray:
    """Return a table that translates the lowest byte of a shape to its kind, or to those of several shapes together."""
    table = bytearray(_BYTES)
    for number, kind in enumerate(kinds):
        table[number & 255] |= kind
    return table


def kinds_of(kinds: Sequence[int], shapes: array[int]) -> bytes:
    """Return the kind of each shape, a byte: 1 if it is wanted, for instance. Six times as fast with few shapes."""
    if len(kinds) > _BYTES:
        return bytes(map(kinds.__getitem__, shapes))
    return lowest_bytes(shapes).translate(_table(kinds))


def tally(shapes: array[int], kinds: int) -> Mapping[int, int]:
    """Return how often each shape occurs, of so many ``kinds``; twice as fast while these are few."""
    return Counter(shapes) if kinds > _BYTES else byte_columns.tally(lowest_bytes(shapes))


def numbers_of(column: array[int], value: int, start: int = 0, stop: int | None = None) -> Iterator[int]:
    """Yield the places of a value in a column, found in its bytes, which takes 4 ms for a million."""
    size = column.itemsize
    data, wanted = column[start:stop].tobytes(), array(column.typecode, [value]).tobytes()
    at = data.find(wanted)
    while at >= 0:
        if at % size == 0:
            yield start + at // size
        at = data.find(wanted, at + 1)


def latest_numbers_of(column: array[int], value: int) -> Iterator[int]:
    """Yield the places of a value in a column, the last first."""
    size = column.itemsize
    data, wanted = column.tobytes(), array(column.typecode, [value]).tobytes()
    at = data.rfind(wanted)
    while at >= 0:
        if at % size == 0:
            yield at // size
        at = data.rfind(wanted, 0, at + size - 1)
