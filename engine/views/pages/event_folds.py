"""Runs of similar log entries, shown as one row: ``completed × 206, running × 206``."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from engine.events.log import plain
from engine.views.log.reader import Cuts
from engine.views.pages.events import is_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation

# States that change many times. A failure is always a row of its own, an upload goes with the states of tasks.
_FOLDED = (
    "TaskStateChanged",
    "SubtaskStateChanged",
    "NodeStateChanged",
    "StartTaskStateChanged",
    "JobPreparationTaskStateChanged",
    "JobReleaseTaskStateChanged",
)
_WITH = {"BlobUploaded": "TaskStateChanged"}
_ALONE = 0
_MOST = 1_000  # entries in a fold, which are counted when it is drawn
_RUNS = re.compile(rb"\x00|([^\x00])\1{0,%d}" % (_MOST - 1), re.DOTALL)


class EventFolds:
    """The folds of the log up to now; each entry is read once."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin with nothing read."""
        self._simulation = simulation
        self._kinds: list[int] = []  # of each shape: the event with which it is folded, or _ALONE
        self._starts = array("q")
        self._cuts = Cuts(simulation.log)
        self._read = 0

    def starts(self) -> Sequence[int]:
        """Return the first entry of each fold, in order."""
        log = self._simulation.log
        length = self._cuts.shortest()
        if length is not None:
            del self._starts[bisect_left(self._starts, length) :]
            self._read = min(self._read, length)
        if self._read < len(log):
            for shape in log.shapes[len(self._kinds) :]:
                event = _WITH.get(shape.event, shape.event)
                folds = event in _FOLDED and not is_failure(shape)
                self._kinds.append(_FOLDED.index(event) + 1 if folds else _ALONE)
            at = self._starts.pop() if self._starts else 0
            kinds = bytes(map(self._kinds.__getitem__, log.shape_of[at:]))
            self._starts.extend(at + run.start() for run in _RUNS.finditer(kinds))
            self._read = len(log)
        return self._starts if self._read == len(log) else self._starts[: bisect_left(self._starts, len(log))]

    def stop(self, start: int) -> int:
        """Return the number after the last entry of the fold that begins with this one."""
        at = bisect_right(self._starts, start)
        length = len(self._simulation.log)
        return min(self._starts[at], length) if at < len(self._starts) else length

    def states(self, start: int) -> list[tuple[str, int]]:
        """Return the new states of the entries of a fold with their counts, the most frequent first."""
        log = self._simulation.log
        counts: Counter[str] = Counter()
        for shape, number in Counter(log.shape_of[start : self.stop(start)]).items():
            new = plain(dict(log.shapes[shape].fields).get("to"))
            is_upload = log.shapes[shape].event == "BlobUploaded"
            counts["uploaded" if is_upload else "gone" if new is None else str(new)] += number
        return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
