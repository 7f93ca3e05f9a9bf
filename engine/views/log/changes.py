"""The changes of tasks and nodes in a part of the log, and the buckets that keep them.

Changes are counted for each job and pool at once. Buckets are equal spans of time, of which a bounded number is kept.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from enum import IntEnum
from itertools import compress
from typing import TYPE_CHECKING

from engine.base.lifecycles import COMING_UP
from engine.base.log import LogSubject
from engine.base.terms import NodeState, TaskResult, TaskState
from engine.views.log.reader import block_of_all, kinds_of, tally

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from engine import Simulation
    from engine.base.log import EventLog, Shape


class Measure(IntEnum):
    """A number that changes over time. The first ones belong to a job, those from ``NODES_RUNNING`` on to a pool."""

    WAITING = 0  # tasks in state active
    PREPARING = 1  # tasks
    RUNNING = 2  # tasks
    SUCCEEDED = 3  # tasks so far
    FAILED = 4  # tasks so far
    NODES_RUNNING = 5
    NODES_IDLE = 6
    NODES_STARTING = 7
    NODES_DOWN = 8  # in any other state: offline, failed, preempted, deallocated, leaving


_FEW_PROFILES = 32
ALL = -1  # as a row: all jobs, or all pools

# By measure and row of the job or pool, and by measure and ``ALL``.
Changes = dict[tuple[Measure, int], int]
_Effect = tuple[tuple[Measure, int], ...]

_NODE_MEASURES = {NodeState.RUNNING: Measure.NODES_RUNNING, NodeState.IDLE: Measure.NODES_IDLE} | dict.fromkeys(
    COMING_UP, Measure.NODES_STARTING
)
_TASK_MEASURES = {
    TaskState.ACTIVE: (Measure.WAITING,),
    TaskState.PREPARING: (Measure.PREPARING,),
    TaskState.RUNNING: (Measure.RUNNING,),
    TaskState.COMPLETED: (),
}


def kind_of_node(state: NodeState) -> Measure:
    """Return the measure that counts nodes in this state."""
    return _NODE_MEASURES.get(state, Measure.NODES_DOWN)


class ChangeCounter:
    """Counts the changes in parts of the log of one run."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._effects: list[_Effect] = []  # by shape
        self._is_task: list[bool] = []
        self._is_node: list[bool] = []
        self._added: set[int] = set()  # shapes of blocks of new tasks
        self._pools = array("i")  # by node

    def forget_rows(self) -> None:
        """Forget which pools nodes belong to: after a branch others may have their rows."""
        del self._pools[:]

    def count(self, start: int, stop: int) -> Changes:
        """Return the changes in the entries from number ``start`` to before ``stop``, without those that cancel out."""
        log, world = self._simulation.log, self._simulation.world
        self._learn(log.shapes)
        found: defaultdict[tuple[Measure, int], int] = defaultdict(int)
        shapes = log.shape_of[start:stop]
        counts = tally(shapes, len(self._effects))
        if tasks := {shape: times for shape, times in counts.items() if self._is_task[shape]}:
            for (shape, number), times in self._by_profile(tasks, shapes, log.row_a[start:stop]).items():
                _add(found, self._effects[shape], world.tasks.profiles[number].job, times)
        if nodes := {shape: times for shape, times in counts.items() if self._is_node[shape]}:
            for (shape, pool), times in self._by_pool(nodes, shapes, log.row_b[start:stop]).items():
                _add(found, self._effects[shape], pool, times)
        if not self._added.isdisjoint(counts):
            for at in (at for at, shape in enumerate(shapes, start) if shape in self._added):
                found[Measure.WAITING, world.tasks.block_of(log.row_a[at]).job] += log.row_b[at]
        for (measure, _), change in tuple(found.items()):
            found[measure, ALL] += change
        return {key: change for key, change in found.items() if change}

    def _by_profile(
        self, counts: Mapping[int, int], shapes: array[int], rows: array[int]
    ) -> Mapping[tuple[int, int], int]:
        """Return how often each of the tasks' shapes, which have these ``counts``, occurs with each profile."""
        tasks = self._simulation.world.tasks
        if len(tasks.profiles) == 1:
            return _all_with(0, counts)
        flags = kinds_of(self._is_task, shapes)
        only = self._only_profile(rows, flags)
        if only is not None:  # nearly always; counting pairs takes ten times as long
            return _all_with(only, counts)
        profiles = map(tasks.profile.__getitem__, compress(rows, flags))
        return Counter(zip(compress(shapes, flags), profiles, strict=True))

    def _only_profile(self, rows: array[int], flags: bytes) -> int | None:
        """Return the only profile that the flagged ones of these tasks can have; None if they may have several.

        Tasks that were added together belong to one job, which most often has one profile.
        """
        tasks = self._simulation.world.tasks
        if len(tasks.profiles) > _FEW_PROFILES:
            return None
        block = block_of_all(tasks, rows, flags)
        if block is None:
            changed = list(compress(rows, flags))
            block = tasks.block_of(min(changed))
            if max(changed) >= block.rows.stop:
                return None
        found = [number for number, profile in enumerate(tasks.profiles) if profile.job == block.job]
        return found[0] if len(found) == 1 else None

    def _by_pool(
        self, counts: Mapping[int, int], shapes: array[int], rows: Sequence[int]
    ) -> Mapping[tuple[int, int], int]:
        """Return how often each of the nodes' shapes, which have these ``counts``, occurs with nodes of each pool."""
        nodes = self._simulation.world.nodes
        if len(self._simulation.world.pools) == 1:
            return _all_with(0, counts)
        flags = kinds_of(self._is_node, shapes)
        self._pools.extend(nodes[node].pool for node in range(len(self._pools), len(nodes.state)))
        pools = map(self._pools.__getitem__, compress(rows, flags))
        return Counter(zip(compress(shapes, flags), pools, strict=True))

    def _learn(self, shapes: Sequence[Shape]) -> None:
        for shape in shapes[len(self._effects) :]:
            is_task = shape.subject is LogSubject.TASK and shape.event == "TaskStateChanged"
            self._is_task.append(is_task)
            self._is_node.append(shape.event == "NodeStateChanged")
            if shape.subject is LogSubject.TASKS_ADDED:
                self._added.add(len(self._effects))
            self._effects.append(_effect(shape, is_task=is_task))


def _all_with(number: int, counts: Mapping[int, int]) -> dict[tuple[int, int], int]:
    """Return how often each shape occurs with a profile or pool, if it never does with another one."""
    return {(shape, number): times for shape, times in counts.items()}


def _add(found: Changes, effect: _Effect, row: int, times: int) -> None:
    for measure, change in effect:
        found[measure, row] += change * times


def _effect(shape: Shape, *, is_task: bool) -> _Effect:
    """Return the change of each measure that an entry of this shape stands for; blocks of tasks are counted apart."""
    fields: Mapping[str, Hashable] = dict(shape.fields)
    old, new = fields.get("from"), fields.get("to")
    if shape.event == "NodeStateChanged":
        left: Iterable[Measure] = (kind_of_node(old),) if isinstance(old, NodeState) else ()
        entered: Iterable[Measure] = (kind_of_node(new),) if isinstance(new, NodeState) else ()
    elif is_task:
        left = _TASK_MEASURES[old] if isinstance(old, TaskState) else ()
        entered = _TASK_MEASURES[new] if isinstance(new, TaskState) else ()
    else:
        return ()
    change = Counter(entered)
    change.subtract(left)
    if is_task and new is TaskState.COMPLETED:
        change[Measure.FAILED if fields.get("result") is TaskResult.FAILURE else Measure.SUCCEEDED] += 1
    return tuple((measure, by) for measure, by in change.items() if by)


_NOTHING: Changes = {}
_EMPTY_COST, _COST = 16, 512  # entries that take about as long as a bucket without any, and as one with some


class Buckets:
    """Changes in consecutive spans of ``every_ms``.

    Bucket ``n`` has the changes after ``(n - 1) * every_ms`` up to and including ``n * every_ms``. A bucket is complete
    when its time is over, so it stays valid while an earlier moment is shown. The one after the last complete bucket is
    counted bit by bit.
    """

    def __init__(self, log: EventLog, counter: ChangeCounter, every_ms: int, most: int) -> None:
        """Create empty buckets from the start of the run on, of which at most ``most`` are kept."""
        self._log = log
        self._counter = counter
        self._most = most
        self.every_ms = every_ms
        self._changes: list[Changes] = []
        self._ends = array("q")  # the number of entries up to the end of each bucket
        self._begun: Changes = {}  # of the first bucket that is not complete
        self._reached = 0  # entries that are counted
        # By measure and row: the values before the first bucket and at the end of each that was asked for, and their
        # sums up to each. They follow from the complete buckets, which only ``cut`` and ``double`` change.
        self._known: dict[tuple[Measure, int], tuple[list[int], list[int]]] = {}

    @property
    def stop(self) -> int:
        """The number of the first bucket that is not complete."""
        return len(self._changes)

    def widen(self, until_ms: int) -> None:
        """Double the length of empty buckets until those up to a moment are not too many."""
        while not self._changes and not self._reached and until_ms > self.every_ms * self._most:
            self.every_ms *= 2

    def is_behind(self, until_ms: int) -> bool:
        """Return True while there are entries up to a moment that are not counted."""
        return self.stop * self.every_ms < until_ms or self._reached < self._log.index_at(until_ms)

    def known_until_ms(self, until_ms: int) -> int:
        """Return the moment up to which buckets are complete; that is ``until_ms`` if nothing is left to count."""
        return max(0, (self.stop - 1) * self.every_ms + 1) if self.is_behind(until_ms) else until_ms

    def go_on(self, until_ms: int, most: int) -> int:
        """Count entries of one bucket, at most so many; complete it if its time is over. Return what that cost."""
        is_over = self.stop * self.every_ms < until_ms
        end = self._log.index_at(self.stop * self.every_ms if is_over else until_ms)
        begin, self._reached = self._reached, min(end, self._reached + most)
        if begin < self._reached:
            _merge(self._begun, self._counter.count(begin, self._reached))
        if is_over and self._reached == end:
            self._changes.append(self._begun or _NOTHING)
            self._ends.append(end)
            self._begun = {}
        return self._reached - begin + (_COST if begin < self._reached else _EMPTY_COST)

    def double(self) -> None:
        """Join pairs of buckets, if there are as many as are kept."""
        if len(self._changes) < self._most:
            return
        self._known.clear()
        joined = [self._changes[0]]
        for at in range(1, len(self._changes) - 1, 2):
            both = dict(self._changes[at])
            _merge(both, self._changes[at + 1])
            joined.append(both)
        if len(self._changes) % 2 == 0:  # the last one is the first half of the next bucket
            _merge(self._begun, self._changes[-1])
        self._changes, self._ends, self.every_ms = joined, self._ends[::2][: len(joined)], self.every_ms * 2

    def cut(self, length: int, from_ms: int) -> None:
        """Forget the buckets that end at ``from_ms`` or later, or have entries beyond a length of the log."""
        kept = bisect_right(self._ends, length)
        kept = max(0, min(kept, -(-from_ms // self.every_ms)))
        if kept < len(self._changes) or self._reached > length:
            self._begun, self._reached = {}, self._ends[kept - 1] if kept else 0
        del self._changes[kept:]
        del self._ends[kept:]
        self._known.clear()

    # -- queries -------------------------------------------------------------------------------------------------

    def values(self, measure: Measure, row: int, stop: int) -> Sequence[int]:
        """Return a measure before the first bucket, then at the end of each one, at least of those before ``stop``."""
        return self._history(measure, row, stop)[0]

    def totals(self, measure: Measure, row: int, stop: int) -> Sequence[int]:
        """Return the sums of these values, up to and including each."""
        return self._history(measure, row, stop)[1]

    def _history(self, measure: Measure, row: int, stop: int) -> tuple[list[int], list[int]]:
        key = measure, row
        if key not in self._known:
            self._known[key] = [0], [0]
        values, totals = known = self._known[key]
        if len(values) <= stop:
            for changes in self._changes[len(values) - 1 : stop]:
                values.append(values[-1] + changes.get(key, 0))
                totals.append(totals[-1] + values[-1])
        return known

    def value_at(self, measure: Measure, row: int, when_ms: int) -> int:
        """Return a measure at a moment, up to which entries are known; inside a bucket they are counted anew."""
        number = min(when_ms // self.every_ms, self.stop - 1)
        value = self.values(measure, row, number + 1)[number + 1]
        begin, end = self._ends[number] if number >= 0 else 0, self._log.index_at(when_ms)
        if begin < end:
            is_last = number == self.stop - 1 and end == self._reached
            value += (self._begun if is_last else self._counter.count(begin, end)).get((measure, row), 0)
        return value


def _merge(into: Changes, other: Changes) -> None:
    for key, change in other.items():
        into[key] = into.get(key, 0) + change
