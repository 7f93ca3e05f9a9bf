"""Levels that change rarely, kept exactly: billed nodes and targets of pools, preparing nodes of jobs."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from enum import Enum, auto
from typing import TYPE_CHECKING

from engine.base.node_states import READY, UNBILLED
from engine.base.terms import InstanceState, NodeState
from engine.events.log import LogSubject
from engine.views.lanes.totals import CountsOverTime
from engine.views.log.reader import Cuts, where
from engine.views.series.changes import ALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.events.log import Shape

_COST = 16  # entries of other kinds are skipped in the time that one takes
_TARGETS = ("targetDedicatedNodes", "targetLowPriorityNodes")


class _Step(Enum):
    """The effect of a log entry on the levels."""

    PREPARATION = auto()  # begins or ends on a node
    TARGET = auto()
    BILL = auto()
    INTERRUPTION = auto()  # the node is not ready: preparations on it end


class Level(CountsOverTime):
    """A number over time, and the area below it."""

    def __init__(self) -> None:
        """Begin with 0 at all times."""
        super().__init__()
        self._areas = array("q")  # up to each change

    def add(self, when_ms: int, change: int) -> None:
        """Change it at a moment that is not before the last one."""
        if self._when and self._when[-1] < when_ms:
            self._areas.append(self._areas[-1] + self._now * (when_ms - self._when[-1]))
        elif not self._when:
            self._areas.append(0)
        super().add(when_ms, change)

    def set(self, when_ms: int, value: int) -> None:
        """Give it a value at a moment that is not before the last change."""
        self.add(when_ms, value - self._now)

    def area(self, when_ms: int) -> int:
        """Return the sum of its values in each millisecond before a moment."""
        number = bisect_right(self._when, when_ms) - 1
        return self._areas[number] + self._values[number] * (when_ms - self._when[number]) if number >= 0 else 0

    def areas(self, moments_ms: Sequence[int]) -> list[int]:
        """Return the area up to each of these moments."""
        last_ms, last = self.latest()
        area = self.area(last_ms)
        return [area + last * (each - last_ms) if each >= last_ms else self.area(each) for each in moments_ms]


class RareLevels:
    """The levels of each pool and job by row, of all jobs also together by ``ALL``.

    They hold what has been recorded, so ask for moments up to now only.
    """

    def __init__(self, simulation: Simulation) -> None:
        """Begin with nothing read; ``update`` reads."""
        self._simulation = simulation
        self._cuts = Cuts(simulation.log)
        self._meanings: list[tuple[_Step | None, int]] = []  # by shape
        self._is_rare: list[bool] = []  # by shape
        self._read = 0
        self._found = array("I")  # the rare entries among those that were read
        self._begin()

    def _begin(self) -> None:
        self._taken = 0
        self._preparing_on: dict[int, dict[int, None]] = {}  # node -> jobs
        self.preparing: defaultdict[int, Level] = defaultdict(Level)  # nodes by job
        self.dedicated: defaultdict[int, Level] = defaultdict(Level)  # billed dedicated nodes by pool
        self.spot: defaultdict[int, Level] = defaultdict(Level)  # billed Spot nodes by pool
        self.target: defaultdict[int, Level] = defaultdict(Level)  # dedicated and Spot nodes by pool

    def update(self, at_most: int) -> None:
        """Read what is new in the log, but not more than so many entries."""
        length = self._cuts.shortest()
        if length is not None and length < self._read:
            self._read = length
            del self._found[bisect_left(self._found, length) :]
            if self._taken > len(self._found):
                self._begin()
        log = self._simulation.log
        new = list(map(_meaning_of, log.shapes[len(self._meanings) :]))
        self._meanings += new
        self._is_rare += (step is not None for step, _ in new)
        stop = min(len(log), self._read + at_most)
        if self._read < stop:
            self._found.extend(where(self._is_rare, log.shape_of[self._read : stop], self._read))
            self._read = stop
        self._take(self._found[self._taken : self._taken + at_most // _COST])

    def known_until_ms(self, now_ms: int) -> int:
        """Return the moment up to which all is read, at most ``now_ms``."""
        log = self._simulation.log
        unread = self._found[self._taken] if self._taken < len(self._found) else self._read
        return min(now_ms, log.when[unread] - 1) if unread < len(log) else now_ms

    def _take(self, entries: Sequence[int]) -> None:
        log = self._simulation.log
        for at in entries:
            step, value = self._meanings[log.shape_of[at]]
            when_ms, row, node = log.when[at], log.row_a[at], log.row_b[at]
            if step is _Step.PREPARATION:
                self._take_preparation(when_ms, row, node, is_begin=bool(value))
            elif step is _Step.TARGET:
                self.target[row].set(when_ms, value)
            elif step is not None:
                if value:
                    record = self._simulation.world.nodes[node]
                    (self.dedicated if record.dedicated else self.spot)[record.pool].add(when_ms, value)
                if step is _Step.INTERRUPTION:
                    for job in self._preparing_on.pop(node, ()):
                        self._prepare(when_ms, job, -1)
        self._taken += len(entries)

    def _take_preparation(self, when_ms: int, job: int, node: int, *, is_begin: bool) -> None:
        jobs = self._preparing_on.setdefault(node, {})
        if is_begin and job not in jobs:  # else it is retried
            jobs[job] = None
            self._prepare(when_ms, job, 1)
        elif not is_begin and job in jobs:
            del jobs[job]
            self._prepare(when_ms, job, -1)

    def _prepare(self, when_ms: int, job: int, change: int) -> None:
        self.preparing[job].add(when_ms, change)
        self.preparing[ALL].add(when_ms, change)


def _meaning_of(shape: Shape) -> tuple[_Step | None, int]:
    """Return the effect of entries of a shape: a change of billed nodes, the new target, or 1 for a beginning."""
    fields = dict(shape.fields)
    if shape.event == "NodeStateChanged":
        is_ready = isinstance(fields["to"], NodeState) and fields["to"] in READY
        change = _is_billed(fields["to"]) - _is_billed(fields["from"])
        return (None if is_ready and not change else _Step.BILL if is_ready else _Step.INTERRUPTION), change
    if shape.event == "JobPreparationTaskStateChanged":
        return _Step.PREPARATION, fields["to"] is InstanceState.RUNNING
    if shape.event == "PoolResizeStart" and shape.subject is LogSubject.POOL:
        return _Step.TARGET, sum(value for name in _TARGETS if isinstance(value := fields[name], int))
    return None, 0


def _is_billed(state: object) -> bool:
    return state is not None and state not in UNBILLED
