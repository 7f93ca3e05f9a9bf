"""The durations of preparation or release on the nodes where it has succeeded."""

from __future__ import annotations

from bisect import insort
from itertools import compress
from operator import eq
from typing import TYPE_CHECKING, NamedTuple

from engine.base.byte_columns import equals
from engine.base.percentiles import percentile
from engine.views.pages.bulk import places, values
from engine.views.pages.hook_status import HookStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.views.pages.instances import InstancePage

_SUCCEEDED = equals(HookStatus.SUCCEEDED.value)


class Spread(NamedTuple):
    """The spread of some durations, in ms."""

    median_ms: int
    p95_ms: int
    slowest_ms: int


class Durations:
    """The durations of the last successful runs, in order; each call reads only what is new."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin with no page."""
        self._simulation = simulation
        self._known: tuple[int, InstancePage | None] = (-1, None)
        self._counted = b""  # a byte for each instance of the page, 1 if it is among the durations
        self._starts: Sequence[int] = ()  # of all instances of the page
        self._sorted_ms: list[int] = []

    def spread(self, page: InstancePage) -> Spread | None:
        """Return the spread of the successful runs so far; None where there are none."""
        self._update(page)
        found = self._sorted_ms
        if not found:
            return None
        median_ms, p95_ms = (round(percentile(found, share) or 0) for share in (0.5, 0.95))
        return Spread(median_ms, p95_ms, found[-1])

    def _update(self, page: InstancePage) -> None:
        rows, (_, all_starts, ends) = page.rows(), page.columns()
        starts = values(all_starts, rows)
        counted = page.codes().translate(_SUCCEEDED)
        known = self._simulation.jumps, page
        if (self._known, self._counted, self._starts) == (known, counted, starts):
            return
        before = self._counted.ljust(len(counted), b"\0")
        # Whether all runs that were counted are still successful in the same run.
        is_prefix = len(before) == len(counted) and not int.from_bytes(before) & ~int.from_bytes(counted)
        still_holds = is_prefix and all(map(eq, compress(starts, before), compress(self._starts, before)))
        if self._known != known or not still_holds:
            before = bytes(len(counted))
            self._sorted_ms = []
        new = places((int.from_bytes(counted) ^ int.from_bytes(before)).to_bytes(len(counted)), 1)
        taken_ms = (ends[rows[at]] - starts[at] for at in new)
        if len(new) > len(self._sorted_ms):
            self._sorted_ms = sorted([*self._sorted_ms, *taken_ms])
        else:
            for took_ms in taken_ms:
                insort(self._sorted_ms, took_ms)
        self._known, self._counted, self._starts = known, counted, starts
