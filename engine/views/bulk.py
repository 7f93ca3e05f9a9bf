"""Reads of many rows at once: a frame must not loop over ten thousand nodes for each question."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Sequence
from itertools import compress
from operator import itemgetter
from typing import overload

from engine.base.values import equals, lowest_bytes, where_set

_MOST_COUNTED = 16
_SPARSE = 12  # one place in so many is found in the same time by looking for it as by judging all
_FEW = 16  # one in so many places is found in the same time by counting between them as among all
_COUNTED = 1024  # places of which those with a state are counted at once


class LazyRows(Sequence[int]):
    """Row numbers that are looked up when they are asked for."""

    def __init__(self, length: int) -> None:
        """Hold so many rows."""
        self._length = length

    @abstractmethod
    def _at(self, at: int) -> int:
        """Return the row at a place between 0 and the length."""

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return [self._at(each) for each in range(*at.indices(self._length))]
        if not -self._length <= at < self._length:
            raise IndexError(at)
        return self._at(at % self._length)


def values(column: Sequence[int], rows: Sequence[int]) -> Sequence[int]:
    """Return the values of a column in these rows, which are in ascending order."""
    if not rows:
        return ()
    first, last = rows[0], rows[-1]
    if last - first + 1 == len(rows):
        return column[first : last + 1]
    return picked(column, rows)


def picked(column: Sequence[int], rows: Sequence[int]) -> Sequence[int]:
    """Return the values of a column in these rows, which are in any order."""
    return itemgetter(*rows)(column) if len(rows) > 1 else [column[row] for row in rows]


def side_by_side(high: bytes, low: bytes, low_bits: int) -> bytes:
    """Combine two columns in one: the bits of ``high`` above the ``low_bits`` bits of ``low``."""
    together = int.from_bytes(high) << low_bits | int.from_bytes(low)
    return together.to_bytes(len(low))


def sum_where(flags: bytes, column: Sequence[int], most: int) -> int:
    """Return the sum of the values, ``most`` at most, at places where ``flags`` has one.

    Small values are counted, a tenth of the time.
    """
    if most > _MOST_COUNTED or not isinstance(column, array):
        return sum(compress(column, flags))
    kept = where_set(lowest_bytes(column), flags)
    return sum(value * kept.count(value) for value in range(1, most + 1))


def count_bits(flags: bytes, bits: int) -> int:
    """Count the ones in ``flags`` at places where ``bits`` has one; both begin with place 0."""
    if bits.bit_count() == len(flags):
        return flags.count(1)
    written = f"{bits:0{len(flags)}b}"[::-1].encode()  # the codes of 0 and 1 differ in their lowest bit
    return (int.from_bytes(flags) & int.from_bytes(written)).bit_count()


def rows_in_state(column: bytearray, ranges: Sequence[range], state: int) -> list[int]:
    """Return the rows of these ranges whose value in a column of states is this one."""
    found: list[int] = []
    for rows in ranges:
        found += places(column, state, rows.start, rows.stop)
    return found


def every_row_in_state(column: bytearray, ranges: Sequence[range], state: int, step: int) -> list[int]:
    """Return ``rows_in_state(...)[::step]``; rows between them are only counted, not listed."""
    if step < _FEW:
        return rows_in_state(column, ranges, state)[::step]
    found: list[int] = []
    skipped = 0  # until the next one is wanted
    for rows in ranges:
        first, stop = column.find(state, rows.start, rows.stop), column.rfind(state, rows.start, rows.stop) + 1
        for begin in range(max(0, first), stop, _COUNTED):
            end = min(begin + _COUNTED, stop)
            count = column.count(state, begin, end)
            found += [_nth_place(column, state, number, begin, end) for number in range(skipped, count, step)]
            skipped = (skipped - count) % step
    return found


def _nth_place(states: bytearray, state: int, number: int, start: int, stop: int) -> int:
    """Return the place of a state that so many others precede from ``start`` on, and which is before ``stop``."""
    while stop - start > 1:
        middle = (start + stop) // 2
        before = states.count(state, start, middle)
        if number < before:
            stop = middle
        else:
            start, number = middle, number - before
    return start


def places(states: bytes | bytearray, state: int, start: int = 0, stop: int | None = None) -> list[int]:
    """Return the places of a state, from ``start`` to before ``stop``. They are looked for, unless they are dense."""
    at, end = states.find(state, start, stop), states.rfind(state, start, stop) + 1
    if end - at < _SPARSE * states.count(state, at, end):
        return list(compress(range(at, end), states[at:end].translate(equals(state))))
    found: list[int] = []
    find, add = states.find, found.append
    while at >= 0:
        add(at)
        at = find(state, at + 1, stop)
    return found
