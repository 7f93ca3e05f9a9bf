"""Entries of the log that follow one another and are alike, taken together: ``completed × 206, running × 206``."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from engine.events.log import plain
from engine.views.pages.events import is_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation

# States that change many times. Failures stand alone, whatever they tell of.
_FOLDED = (
    "TaskStateChanged",
    "SubtaskStateChanged",
    "NodeStateChanged",
    "StartTaskStateChanged",
    "JobPreparationTaskStateChanged",
    "JobReleaseTaskStateChanged",
)
_ALONE = 0
_MOST = 1_000  # entries in a fold: what is in one is counted when it is drawn
_RUNS = re.compile(rb"\x00|([^\x00])\1{0,%d}" % (_MOST - 1), re.DOTALL)


class EventFolds:
    """The folds of the log up to now; looks only at what is new."""

    def __init__(self, simulation: Simulation) -> None:
        """Nothing has been looked at."""
        self._simulation = simulation
        self._kinds: list[int] = []  # of each shape: whether, and with which others, it is folded
        self._starts = array("q")
        self._looked_at = 0
        self._jumps = -1

    def starts(self) -> Sequence[int]:
        """The first entry of each fold, in order."""
        log = self._simulation.log
        if self._jumps != self._simulation.jumps or self._looked_at > len(log):
            self._jumps, self._looked_at = self._simulation.jumps, 0
            self._starts = array("q")
        if self._looked_at < len(log):
            for shape in log.shapes[len(self._kinds) :]:
                folds = shape.event in _FOLDED and not is_failure(shape)
                self._kinds.append(_FOLDED.index(shape.event) + 1 if folds else _ALONE)
            at = self._starts.pop() if self._starts else 0
            kinds = bytes(map(self._kinds.__getitem__, log.shape_of[at:]))
            self._starts.extend(at + run.start() for run in _RUNS.finditer(kinds))
            self._looked_at = len(log)
        return self._starts

    def stop(self, start: int) -> int:
        """The number behind the last entry of the fold that begins with this one."""
        at = bisect_right(self._starts, start)
        return self._starts[at] if at < len(self._starts) else self._looked_at

    def states(self, start: int) -> list[tuple[str, int]]:
        """What the entries of a fold came to, and how many of them, the most frequent first."""
        log = self._simulation.log
        counts: Counter[str] = Counter()
        for shape, number in Counter(log.shape_of[start : self.stop(start)]).items():
            new = plain(dict(log.shapes[shape].fields).get("to"))
            counts["gone" if new is None else str(new)] += number
        return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
