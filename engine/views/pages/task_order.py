"""The order of a list of a million tasks, kept between calls: the cost is that of what has changed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import compress, filterfalse
from typing import TYPE_CHECKING

from engine.base.terms import TaskState
from engine.events.log import LogSubject
from engine.state.tasks import RUNNING
from engine.views.log.reader import perhaps
from engine.views.pages.bulk import LazyRows, places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.events.log import Shape

_MOST_CHANGES = 50_000  # with more new log entries it is cheaper to read all tasks
_FEW_CHANGES = 200  # with more tasks it is cheaper to filter the order than to look for each of them


class RunningTasks:
    """The running tasks of some ranges of rows."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin without tasks; ``update`` finds them."""
        self._simulation = simulation
        self._updated_at: tuple[int, int, Sequence[range]] = (-1, 0, ())
        self._is_change: list[bool] = []  # by shape
        self.newest_first: list[int] = []  # in the order of their addition where they started together

    def update(self, ranges: Sequence[range]) -> None:
        """Bring the order up to date for the tasks of these ranges."""
        tasks, log = self._simulation.world.tasks, self._simulation.log
        state, started = tasks.state, tasks.started
        jumps, since, known = self._updated_at
        self._updated_at = self._simulation.jumps, len(log), ranges
        if jumps != self._simulation.jumps or known != ranges or len(log) - since > _MOST_CHANGES:
            runs = (places(state[rows.start : rows.stop].tobytes(), RUNNING) for rows in ranges)
            self.newest_first = self._sorted(rows[at] for rows, found in zip(ranges, runs, strict=True) for at in found)
            return
        changed = self._changed(since)
        if not changed or (len(changed) <= _FEW_CHANGES and self._put_in_place(since, ranges)):
            return
        is_running = map(RUNNING.__eq__, map(state.__getitem__, changed))
        new = list(_within(ranges, sorted(compress(changed, is_running))))
        stay = list(filterfalse(changed.__contains__, self.newest_first))
        oldest_new_ms = min(map(started.__getitem__, new), default=self._simulation.end_ms + 1)
        mixed = bisect_right(stay, -oldest_new_ms, key=lambda task: -started[task])
        self.newest_first = self._sorted([*new, *stay[:mixed]]) + stay[mixed:]

    def _changed(self, since: int) -> set[int]:
        """Return the tasks that have started or stopped in the entries from a number on, and perhaps a few others."""
        log = self._simulation.log
        self._is_change.extend(map(_starts_or_stops, log.shapes[len(self._is_change) :]))
        flags = perhaps(self._is_change, log.shape_of[since:])
        return set(compress(log.row_a[since:], flags))

    def _put_in_place(self, since: int, ranges: Sequence[range]) -> bool:
        """Take out the tasks that have stopped in the entries from a number on, and put in those that run.

        Return False, with nothing changed, if a task that ran at that entry has started again since: its place in the
        order is that of a start which is no longer known.
        """
        log, tasks, order = self._simulation.log, self._simulation.world.tasks, self.newest_first
        has_run: dict[int, bool] = {}  # before these entries, by changed task
        for at in range(since, len(log)):
            if self._is_change[log.shape_of[at]]:
                before = dict(log.shapes[log.shape_of[at]].fields).get("from")
                has_run.setdefault(log.row_a[at], before is TaskState.RUNNING)
        changed = list(_within(ranges, sorted(has_run)))
        places = {task: self._place(task) for task in changed if has_run[task]}
        if any(order[at : at + 1] != [task] for task, at in places.items()):
            return False
        for at in sorted(places.values(), reverse=True):
            del order[at]
        for task in changed:
            if tasks.state[task] == RUNNING:
                order.insert(self._place(task), task)
        return True

    def _place(self, task: int) -> int:
        """Return the place of a task in the order by its last start."""
        started = self._simulation.world.tasks.started
        return bisect_left(self.newest_first, (-started[task], task), key=lambda each: (-started[each], each))

    def _sorted(self, found: Iterable[int]) -> list[int]:
        in_order = sorted(found)
        in_order.sort(key=self._simulation.world.tasks.started.__getitem__, reverse=True)
        return in_order


def _within(ranges: Sequence[range], tasks: Sequence[int]) -> Iterator[int]:
    """Yield those of some tasks, which are in ascending order, that lie in one of the ranges."""
    for rows in ranges:
        yield from tasks[bisect_left(tasks, rows.start) : bisect_left(tasks, rows.stop)]


def _starts_or_stops(shape: Shape) -> bool:
    """Return whether an event says that a task begins or ceases to run."""
    fields = dict(shape.fields)
    return shape.subject is LogSubject.TASK and TaskState.RUNNING in (fields.get("from"), fields.get("to"))


class TasksInOrder(LazyRows):
    """Some tasks before all others, which follow as they were added; nothing is copied for them."""

    def __init__(self, first: Sequence[int], ranges: Sequence[range], without: Sequence[int] = ()) -> None:
        """Put ``first`` before the other tasks of ``ranges``, and leave out those in ``without``."""
        super().__init__(sum(map(len, ranges)) - len(without))
        self._first = first
        self._ranges = ranges
        self._deleted = without

    @cached_property
    def _without(self) -> list[int]:
        """The tasks that do not follow in their place; sorted only on first use."""
        return sorted([*self._first, *self._deleted])

    def _staying_before(self, number: int) -> int:
        """Return how many tasks that stay come before the one that is left out as this number."""
        return self._place(self._without[number]) - number

    def _place(self, task: int) -> int:
        """Return the place of a task among all tasks of the ranges."""
        before = 0
        for tasks in self._ranges:
            if task < tasks.stop:
                return before + task - tasks.start
            before += len(tasks)
        return before

    def _at(self, at: int) -> int:
        if at < len(self._first):
            return self._first[at]
        at -= len(self._first)
        at += bisect_right(range(len(self._without)), at, key=self._staying_before)
        for tasks in self._ranges:
            if at < len(tasks):
                return tasks[at]
            at -= len(tasks)
        raise IndexError(at)

    def __iter__(self) -> Iterator[int]:
        yield from self._first
        without = set(self._without)
        for tasks in self._ranges:
            yield from (task for task in tasks if task not in without) if without else tasks

    def index(self, task: int, *_: int) -> int:
        """Return the place of a task.

        Raises:
            ValueError: The task is not among them.
        """
        at = bisect_left(self._without, task)
        if at < len(self._without) and self._without[at] == task:
            return self._first.index(task)
        if not any(task in tasks for tasks in self._ranges):
            raise ValueError(task)
        return len(self._first) + self._place(task) - at
