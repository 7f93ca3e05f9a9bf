"""Levels over time, kept exactly at each change.

Totals by node and by pool are counted while the log is read for lanes. Levels that change rarely are the billed nodes
and targets of pools, and the preparing nodes of jobs.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import READY, WITHOUT_BILL
from engine.base.log import LogSubject
from engine.base.terms import InstanceState
from engine.views.log.changes import ALL
from engine.views.log.node_lane import Step
from engine.views.log.reader import Cuts, where

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.base.log import Shape
    from engine.views.log.node_lane import Meaning


_BLOCK = 256  # values of which the highest is kept


class CountsOverTime:
    """A number that begins with 0. Kept are its values at the end of each millisecond in which it changed."""

    def __init__(self) -> None:
        self._now = 0
        self._when = array("q")
        self._values = array("q")
        self._block_peaks = array("q")  # of the first full blocks of values that cannot change any more

    def add(self, when_ms: int, change: int) -> None:
        """Change it at a moment that is not before the last one."""
        self._now += change
        if self._when and self._when[-1] == when_ms:
            self._values[-1] = self._now
        else:
            self._when.append(when_ms)
            self._values.append(self._now)

    def extent(self) -> tuple[int, int | None] | None:
        """Return when it first changed, and when it became 0 at last, None if it is not 0; None if it never changed."""
        if not self._when:
            return None
        return self._when[0], None if self._now else self._when[-1]

    def latest(self) -> tuple[int, int]:
        """Return when it last changed, and its value since then."""
        return (self._when[-1], self._now) if self._when else (0, 0)

    def at(self, when_ms: int) -> int:
        """Return its value at a moment."""
        number = bisect_right(self._when, when_ms)
        return self._values[number - 1] if number else 0

    def highest(self, begin_ms: int, end_ms: int) -> int:
        """Return the highest value from ``begin_ms`` to before ``end_ms``.

        The last change is read apart from the others: its millisecond may not be over.
        """
        number = max(0, bisect_right(self._when, begin_ms) - 1)
        last = bisect_right(self._when, end_ms - 1)
        over = max(number, min(last, len(self._when) - 1))
        return max(self._peak(number, over), max(self._values[over:last], default=0))

    def _peak(self, start: int, stop: int) -> int:
        """Return the highest of some values, of which the last one of all is none: that may still change."""
        values, peaks = self._values, self._block_peaks
        first, last = -(-start // _BLOCK), stop // _BLOCK
        if first >= last:
            return max(values[start:stop], default=0)
        for at in range(len(peaks) * _BLOCK, last * _BLOCK, _BLOCK):
            peaks.append(max(values[at : at + _BLOCK]))
        return max(values[start : first * _BLOCK] + peaks[first:last] + values[last * _BLOCK : stop])


# The nodes, running tasks and preparing nodes of a pool over time.
PoolCounts = tuple[CountsOverTime, CountsOverTime, CountsOverTime]


def _nothing() -> PoolCounts:
    return CountsOverTime(), CountsOverTime(), CountsOverTime()


class LaneTotals:
    """Failures by node, and numbers over time by pool."""

    def __init__(self) -> None:
        self._pools = array("i")  # by node
        self.failures: dict[int, int] = {}  # by node: failures of it, and of preparation or release there
        self.of_pool: defaultdict[int, PoolCounts] = defaultdict(_nothing)  # by pool

    def count_task(self, when_ms: int, node: int, change: int) -> None:
        """Count a task that begins or ends on a node."""
        self.of_pool[self._pools[node]][1].add(when_ms, change)

    def take(self, when_ms: int, meaning: Meaning, row: int, node: int) -> None:
        """Count an entry that is not about a plain task; a new node's pool is its ``row``."""
        if node >= len(self._pools):
            self._pools.append(row)
            self.of_pool[row][0].add(when_ms, 1)
        if meaning.has_failed:
            self.failures[node] = self.failures.get(node, 0) + 1
        if meaning.step is Step.STATE and meaning.state is None:
            self.of_pool[self._pools[node]][0].add(when_ms, -1)

    def count_preparation(self, when_ms: int, node: int, change: int) -> None:
        """Count a node on which preparation begins or ends; without a ``change`` it goes on."""
        if change:
            self.of_pool[self._pools[node]][2].add(when_ms, change)


_COST = 16  # entries of other kinds are skipped in the time that one takes
_TARGETS = ("targetDedicatedNodes", "targetLowPriorityNodes")


class Level(CountsOverTime):
    """A number over time, and the area below it."""

    def __init__(self) -> None:
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
        """Create empty levels, which ``update`` fills."""
        self._simulation = simulation
        self._cuts = Cuts(simulation.log)
        self._effects: list[_Effect] = []  # by shape
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
        kept = self._cuts.kept(self._read)
        if kept < self._read:
            self._read = kept
            del self._found[bisect_left(self._found, kept) :]
            if self._taken > len(self._found):
                self._begin()
        log = self._simulation.log
        new = list(map(_effect_of, log.shapes[len(self._effects) :]))
        self._effects += new
        self._is_rare += (effect != _NO_EFFECT for effect in new)
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

    def billed_ms(self, pool: int, when_ms: int) -> tuple[int, int]:
        """Return for how long dedicated and Spot VMs of a pool had been billed, as ``Pool.billed_ms_at``."""
        return self.dedicated[pool].area(when_ms), self.spot[pool].area(when_ms)

    def _take(self, entries: Sequence[int]) -> None:
        log = self._simulation.log
        for at in entries:
            effect = self._effects[log.shape_of[at]]
            when_ms, row, node = log.when[at], log.row_a[at], log.row_b[at]
            if effect.prepares is not None:
                self._take_preparation(when_ms, row, node, is_begin=effect.prepares)
            if effect.target is not None:
                self.target[row].set(when_ms, effect.target)
            if effect.billed:
                record = self._simulation.world.nodes[node]
                (self.dedicated if record.dedicated else self.spot)[record.pool].add(when_ms, effect.billed)
            if effect.interrupts:
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


class _Effect(NamedTuple):
    """The effect of all entries of a shape on the levels."""

    prepares: bool | None = None  # a preparation begins, or ends
    target: int | None = None  # of the pool
    billed: int = 0  # nodes more
    interrupts: bool = False  # the node is not ready: preparations on it end


_NO_EFFECT = _Effect()


def _effect_of(shape: Shape) -> _Effect:
    fields = dict(shape.fields)
    if shape.event == "NodeStateChanged":
        billed = (fields["to"] not in WITHOUT_BILL) - (fields["from"] not in WITHOUT_BILL)
        return _Effect(billed=billed, interrupts=fields["to"] not in READY)
    if shape.event == "JobPreparationTaskStateChanged":
        return _Effect(prepares=fields["to"] is InstanceState.RUNNING)
    if shape.event == "PoolResizeStart" and shape.subject is LogSubject.POOL:
        return _Effect(target=sum(value for name in _TARGETS if isinstance(value := fields[name], int)))
    return _NO_EFFECT
