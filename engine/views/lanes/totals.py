"""Totals by node and by pool over time, counted while the log is read."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_states import READY
from engine.views.lanes.lane import Step

if TYPE_CHECKING:
    from engine.views.lanes.lane import Meaning

_NEVER_MS = -1
_BLOCK = 256  # values of which the highest is kept


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

    def highest(self, begin_ms: int, end_ms: int, known: Peak | None = None) -> tuple[int, Peak]:
        """Return the highest value from ``begin_ms`` to before ``end_ms``, and what the next call can go on from.

        With ``known`` from an earlier call, only later changes are read. The last change is always read again: its
        millisecond may not be over.
        """
        number, settled = known or (max(0, bisect_right(self._when, begin_ms) - 1), 0)
        last = bisect_right(self._when, end_ms - 1)
        over = max(number, min(last, len(self._when) - 1))
        settled = max(settled, self._peak(number, over))
        return max(settled, max(self._values[over:last], default=0)), Peak(over, settled)

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
    """Totals by node, and numbers over time by pool."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self._pools = array("i")  # by node
        self._working: list[int] = []  # tasks and subtasks that run, by node
        self.failures: dict[int, int] = {}  # by node: failures of it, and of preparation or release there
        self.retries: dict[int, int] = {}  # by node
        self._busy_since = array("q")
        self._busy = array("q")
        self._first_work = array("q")
        self._came = array("q")
        self._left = array("q")
        self._preparing: dict[int, dict[int, None]] = {}  # node -> jobs
        self.of_pool: defaultdict[int, PoolCounts] = defaultdict(_nothing)  # by pool

    # -- counting ------------------------------------------------------------------------------------------------

    def begin_task(self, when_ms: int, node: int) -> None:
        """Count a task that begins on a node."""
        self._begin_work(when_ms, node)
        self.of_pool[self._pools[node]][1].add(when_ms, 1)

    def end_task(self, when_ms: int, node: int) -> None:
        """Count a task that has ended on a node."""
        self._end_work(when_ms, node)
        self.of_pool[self._pools[node]][1].add(when_ms, -1)

    def _begin_work(self, when_ms: int, node: int) -> None:
        if not self._working[node]:
            self._busy_since[node] = when_ms
            if self._first_work[node] == _NEVER_MS:
                self._first_work[node] = when_ms
        self._working[node] += 1

    def _end_work(self, when_ms: int, node: int) -> None:
        self._working[node] -= 1
        if not self._working[node]:
            self._busy[node] += when_ms - self._busy_since[node]

    def take(self, when_ms: int, meaning: Meaning, row: int, node: int) -> None:
        """Count an entry that is not about a plain task; a new node's pool is its ``row``."""
        if node >= len(self._pools):
            self._grow(when_ms, pool=row)
        if meaning.has_failed:
            self.failures[node] = self.failures.get(node, 0) + 1
        match meaning.step:
            case Step.TASK_BEGINS:
                self._begin_work(when_ms, node)
            case Step.TASK_ENDS:
                self._end_work(when_ms, node)
            case Step.PREPARATION_BEGINS:
                self._begin_preparation(when_ms, node, row)
            case Step.PREPARATION_ENDS:
                self._end_preparation(when_ms, node, row)
            case Step.STATE if meaning.state is None:
                self._left[node] = when_ms
                self.of_pool[self._pools[node]][0].add(when_ms, -1)
                self._end_preparation(when_ms, node, None)
            case Step.STATE if meaning.state not in READY:
                self._end_preparation(when_ms, node, None)

    def _grow(self, when_ms: int, *, pool: int) -> None:
        self._pools.append(pool)
        self._working.append(0)
        for column in (self._busy_since, self._busy):
            column.append(0)
        for column in (self._first_work, self._left):
            column.append(_NEVER_MS)
        self._came.append(when_ms)
        self.of_pool[pool][0].add(when_ms, 1)

    def _begin_preparation(self, when_ms: int, node: int, job: int) -> None:
        jobs = self._preparing.setdefault(node, {})
        if job in jobs:
            self.retries[node] = self.retries.get(node, 0) + 1
        elif not jobs:
            self.of_pool[self._pools[node]][2].add(when_ms, 1)
        jobs[job] = None

    def _end_preparation(self, when_ms: int, node: int, job: int | None) -> None:
        """Count the end of one job's preparation on a node; of all of them where no job is named."""
        jobs = self._preparing.get(node)
        if not jobs:
            return
        if job is None:
            jobs.clear()
        else:
            jobs.pop(job, None)
        if not jobs:
            del self._preparing[node]
            self.of_pool[self._pools[node]][2].add(when_ms, -1)

    # -- queries -------------------------------------------------------------------------------------------------

    def first_work_ms(self, node: int) -> int | None:
        """Return the start of the first task on a node; None while there was none."""
        when_ms = self._first_work[node] if node < len(self._first_work) else _NEVER_MS
        return None if when_ms == _NEVER_MS else when_ms

    def busy_share(self, node: int, until_ms: int) -> float:
        """Return the share of its time in the pool, up to ``until_ms``, in which tasks ran on a node: 0 to 1."""
        if node >= len(self._came):
            return 0.0
        left_ms = until_ms if self._left[node] == _NEVER_MS else self._left[node]
        busy_ms = self._busy[node]
        if self._working[node]:
            busy_ms += until_ms - self._busy_since[node]
        return busy_ms / max(1, left_ms - self._came[node])
