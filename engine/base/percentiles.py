"""Percentiles, for measures of a run and their spread over many runs."""

from __future__ import annotations

from collections.abc import Sequence


def percentile(in_order: Sequence[float], share: float) -> float | None:
    """Return the value below which a share, 0 to 1, of sorted values lies; None without values.

    Between two values it is interpolated linearly: the share 0 is the first value, 1 the last.
    """
    if not in_order:
        return None
    place = share * (len(in_order) - 1)
    below = int(place)
    low, high = in_order[below], in_order[min(below + 1, len(in_order) - 1)]
    return low + (high - low) * (place - below)
