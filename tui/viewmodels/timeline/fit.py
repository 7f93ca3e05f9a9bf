"""The part of the run that a timeline shows unless somebody zooms: all there is, in at least 80 % of the width."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.timeline.columns import TimeColumns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.viewmodels.timeline.columns import Extent

_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000
_AHEAD_SHARE = 0.1  # of the time so far, for what is planned

_UP_TO_EIGHT = (1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8)
_UP_TO_SIXTY = (*_UP_TO_EIGHT, 10, 12, 15, 18, 20, 25, 30, 36, 45, 50)
# The round durations of a column. Each is at most a quarter longer than the one before, so that at least 80 % of the
# columns are used.
ROUND_STEPS_MS = tuple(
    round(each * unit_ms)
    for unit_ms, numbers in (
        (_SECOND / 10, _UP_TO_EIGHT),
        (_SECOND, _UP_TO_SIXTY),
        (_MINUTE, _UP_TO_SIXTY),
        (_HOUR, (*_UP_TO_EIGHT, 10, 12, 15, 18, 20)),
        (_DAY, _UP_TO_SIXTY),
    )
    for each in numbers
)


def fitted(extent: Extent, cells: int) -> TimeColumns:
    """Return columns of a round duration that show the whole extent, with some room for what is planned after it."""
    span_ms = extent.end_ms - extent.begin_ms
    if not extent.is_over:
        span_ms = round(span_ms * (1 + _AHEAD_SHARE))
    for step_ms in ROUND_STEPS_MS:
        found = TimeColumns(extent.begin_ms // step_ms, cells, step_ms)
        if found.column_at(extent.begin_ms + span_ms) < cells:
            return found
    return found


def ticks(columns: TimeColumns, least_cells: int) -> Iterator[int]:
    """Yield the round moments that stand above the columns, at least so many cells apart, in ms since the start."""
    wanted_ms = columns.step_ms * least_cells
    every_ms = next((each for each in _ROUND_MS if each >= wanted_ms), wanted_ms)
    when_ms = -(-columns.begin_ms(0) // every_ms) * every_ms
    while columns.column_at(when_ms) < columns.number:
        yield when_ms
        when_ms += every_ms


_ROUND_MS = (
    *(each * _SECOND for each in (1, 2, 5, 10, 15, 20, 30)),
    *(each * _MINUTE for each in (1, 2, 5, 10, 15, 20, 30)),
    *(each * _HOUR for each in (1, 2, 3, 6, 12)),
    *(each * _DAY for each in (1, 2, 7, 14, 28)),
)
