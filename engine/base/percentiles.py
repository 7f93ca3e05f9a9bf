"""Percentiles, for measures of a run and their spread over many runs."""

from __future__ import annotations

from typing import Protocol


class InOrder(Protocol):
    """Sorted values: a list, or a view that has each value only once with its count."""

    def __len__(self) -> int:
        """Return the number of values."""
        ...

    def __getitem__(self, at: int, /) -> float:
        """Return one value by its place in the order."""
        ...


def percentile(in_order: InOrder, share: float) -> float | None:
    """Return the value below which a share, 0 to 1, of sorted values lies; None without values.

    Between two values it is interpolated linearly: the share 0 is the first value, 1 the last.
    """
    if not len(in_order):
        return None
    place = share * (len(in_order) - 1)
    below = int(place)
    low, high = in_order[below], in_order[min(below + 1, len(in_order) - 1)]
    return low + (high - low) * (place - below)
