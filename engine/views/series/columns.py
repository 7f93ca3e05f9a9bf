"""The columns of a series: their times, and the mean or growth of a number in each."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from engine.base.units import MINUTE_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def in_a_minute(axis: Axis, buckets: Buckets, measure: Measure, row: int) -> list[float]:
    """Return the growth of a measure in the minute before the end of each column, or a minute's share of a column."""
    if not axis.edges:
        return []
    minute = max(1, round(MINUTE_MS / axis.every_ms))
    begin = max(buckets.first, axis.edges[0] - minute)
    values = buckets.values(measure, row, begin, axis.edges[-1] + 1)
    found = []
    for start, end in pairwise(axis.edges):
        since = max(begin, min(start, end - minute))
        spent = max(MINUTE_MS, (end - since) * axis.every_ms)
        found.append((values[end - begin] - values[since - begin]) * MINUTE_MS / spent)
    return found


def means(axis: Axis, buckets: Buckets, measure: Measure, row: int) -> list[float]:
    """Return the mean of a measure at the ends of the buckets of each column."""
    if not axis.edges:
        return []
    begin = axis.edges[0]
    sums = list(accumulate(buckets.values(measure, row, begin, axis.edges[-1] + 1)))
    return [(sums[end - begin] - sums[start - begin]) / (end - start) for start, end in pairwise(axis.edges)]


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
