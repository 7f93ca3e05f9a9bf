"""A number that changes in the course of a run, with its value at any moment."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import NamedTuple


class Peak(NamedTuple):
    """The highest value before the change with this number: see ``CountsOverTime.highest``."""

    number: int
    value: int


class CountsOverTime:
    """A number that begins with 0. Kept are its values at the end of each millisecond in which it changed."""

    def __init__(self) -> None:
        """Begin with 0 at all times."""
        self._now = 0
        self._when = array("q")
        self._values = array("q")

    def add(self, when_ms: int, change: int) -> None:
        """Change it at a moment that is not before the last one."""
        self._now += change
        if self._when and self._when[-1] == when_ms:
            self._values[-1] = self._now
        else:
            self._when.append(when_ms)
            self._values.append(self._now)

    def at(self, when_ms: int) -> int:
        """Return its value at a moment."""
        number = bisect_right(self._when, when_ms)
        return self._values[number - 1] if number else 0

    def highest(self, begin_ms: int, end_ms: int, known: Peak | None = None) -> tuple[int, Peak]:
        """Return the highest value from ``begin_ms`` to before ``end_ms``, and what the next call can go on from.

        With ``known`` from an earlier call, only later changes are read. The last change is always read again: its
        millisecond may not be over.
        """
        number, settled = known or (max(0, bisect_right(self._when, begin_ms) - 1), 0)
        last = bisect_right(self._when, end_ms - 1)
        over = max(number, min(last, len(self._when) - 1))
        settled = max(settled, max(self._values[number:over], default=0))
        return max(settled, max(self._values[over:last], default=0)), Peak(over, settled)
