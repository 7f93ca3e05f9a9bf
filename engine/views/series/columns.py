"""The columns of a series: their times, and the mean or growth of a number in each."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise, repeat
from operator import mul, sub, truediv
from typing import TYPE_CHECKING, NamedTuple

from engine.base.units import MINUTE_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.views.series.buckets import Buckets
    from engine.views.series.changes import Measure
    from engine.views.series.levels import Level


class Axis(NamedTuple):
    """The times of a series: column ``n`` covers the buckets after ``edges[n]`` up to ``edges[n + 1]``."""

    every_ms: int
    edges: tuple[int, ...]

    @property
    def begin_ms(self) -> int:
        """The beginning of the first column, in ms since the start."""
        return self.edges[0] * self.every_ms if self.edges else 0

    @property
    def end_ms(self) -> int:
        """The end of the last column, in ms since the start."""
        return self.edges[-1] * self.every_ms if self.edges else 0


class ColumnReader:
    """Reads measures column by column. A column takes the same time however many buckets it covers."""

    def __init__(self, axis: Axis, buckets: Buckets) -> None:
        self._axis = axis
        self._buckets = buckets
        self._edges = self._places(axis.edges)
        self._widths = list(map(sub, axis.edges[1:], axis.edges))

    def _places(self, numbers: Iterable[int]) -> list[int]:
        """Return the places of buckets in what ``Buckets`` answers."""
        before = self._buckets.first - 1
        return [number - before for number in numbers]

    def means(self, measure: Measure, row: int) -> list[float]:
        """Return the mean of a measure at the ends of the buckets of each column."""
        if not self._widths:
            return []
        totals = self._buckets.totals(measure, row, self._axis.edges[-1] + 1)
        at_edges = list(map(totals.__getitem__, self._edges))
        return list(map(truediv, map(sub, at_edges[1:], at_edges), self._widths))

    def in_a_minute(self, measure: Measure, row: int) -> list[float]:
        """Return the growth of a measure in the minute before the end of each column.

        In a longer column it is the average growth in a minute.
        """
        if not self._widths:
            return []
        value_at = self._buckets.values(measure, row, self._axis.edges[-1] + 1).__getitem__
        begins, spent_ms = self._minutes
        grown = map(sub, map(value_at, self._edges[1:]), map(value_at, begins))
        return list(map(truediv, map(mul, grown, repeat(MINUTE_MS)), spent_ms))

    @cached_property
    def _minutes(self) -> tuple[list[int], list[int]]:
        """The place of the bucket before the last minute of each column, and the ms since then, at least 60,000."""
        edges, every_ms = self._axis.edges, self._axis.every_ms
        minute = max(1, round(MINUTE_MS / every_ms))
        begin = max(self._buckets.first, edges[0] - minute)
        since = [max(begin, min(start, end - minute)) for start, end in pairwise(edges)]
        spent_ms = [max(MINUTE_MS, (end - start) * every_ms) for start, end in zip(since, edges[1:], strict=True)]
        return self._places(since), spent_ms


def peaks(axis: Axis, level: Level) -> list[int]:
    """Return the highest value of a level in each column: a mean would hide what is short."""
    moments = [edge * axis.every_ms for edge in axis.edges]
    last_ms, last = level.latest()
    return [
        last if begin_ms >= last_ms else level.highest(begin_ms, end_ms)[0] for begin_ms, end_ms in pairwise(moments)
    ]


def rates(axis: Axis, values: Sequence[float]) -> list[float]:
    """Return the growth of a number in each column, per ms; the number is given at the edges."""
    return [
        (after - before) / ((end - start) * axis.every_ms)
        for (before, after), (start, end) in zip(pairwise(values), pairwise(axis.edges), strict=True)
    ]
