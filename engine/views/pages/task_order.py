"""The order of a list of a million tasks, of which only the rows that are shown are looked up."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from contextlib import suppress
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

from engine.state.tasks import RUNNING
from engine.views.pages.bulk import LazyRows, rows_in_state

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine import Simulation

# Entries of the log that are read for the tasks that started last. With more it is cheaper to read all tasks.
_FIRST_ENTRIES, _MOST_ENTRIES = 256, 65_536


class RunningTasks(LazyRows):
    """The running tasks of a job, those that started last first; those that started together as they were added.

    They are found from the end of the log, as far as they are asked for: a list shows only a few of them. A list that
    is not made again when time has moved on may name a task twice in place of those that have stopped since.
    """

    def __init__(self, simulation: Simulation, ranges: Sequence[range], count: int) -> None:
        """List the ``count`` running tasks of these ranges of rows."""
        super().__init__(count)
        self._simulation = simulation
        self._ranges = ranges
        self._entries = _FIRST_ENTRIES // 2  # of the log, from its end, that were read
        self._newest: Sequence[int] = ()  # the tasks that started in them

    def _at(self, at: int) -> int:
        while at >= len(self._newest) and self._entries <= _MOST_ENTRIES:
            self._entries *= 2
            self._newest = self._started_in_last(self._entries) if self._entries <= _MOST_ENTRIES else self._all()
        return self._newest[min(at, len(self._newest) - 1)] if self._newest else self._ranges[0].start

    def __iter__(self) -> Iterator[int]:
        return iter(self._all())

    def index(self, task: int, *_: int) -> int:
        """Return the place of a task.

        Raises:
            ValueError: The task does not run.
        """
        tasks = self._simulation.world.tasks
        if task not in self._newest and tasks.state[task] == RUNNING:
            log, started_ms = self._simulation.log, tasks.started[task]
            entries = len(log) - log.index_at(started_ms - 1)
            self._newest = self._started_in_last(entries) if entries <= _MOST_ENTRIES else self._all()
            self._entries = max(self._entries, entries)
        return self._newest.index(task)

    def _started_in_last(self, entries: int) -> list[int]:
        """Return the tasks that started in the last entries of the log, or in the same millisecond as the first one."""
        log, tasks = self._simulation.log, self._simulation.world.tasks
        if entries >= len(log):
            return self._all()
        from_ms = log.when[-entries]
        named = sorted(set(log.row_a[log.index_at(from_ms - 1) :]))  # also rows of pools and jobs
        started, state = tasks.started, tasks.state
        found = [task for task in within(self._ranges, named) if state[task] == RUNNING and started[task] >= from_ms]
        found.sort(key=started.__getitem__, reverse=True)
        return found

    def _all(self) -> list[int]:
        return sorted(self.as_added(), key=self._simulation.world.tasks.started.__getitem__, reverse=True)

    def as_added(self) -> list[int]:
        """Return the tasks in the order in which they were added, which is faster."""
        return rows_in_state(self._simulation.world.tasks.state, self._ranges, RUNNING)


def within(ranges: Sequence[range], tasks: Sequence[int]) -> Iterator[int]:
    """Yield those of some tasks, which are in ascending order, that lie in one of the ranges."""
    for rows in ranges:
        yield from tasks[bisect_left(tasks, rows.start) : bisect_left(tasks, rows.stop)]


class TasksInOrder(LazyRows):
    """Some tasks before all others, which follow as they were added; nothing is copied for them."""

    def __init__(self, first: Sequence[Sequence[int]], ranges: Sequence[range], without: Sequence[int] = ()) -> None:
        """Put the parts of ``first`` before the other tasks of ``ranges``, and leave out those in ``without``."""
        super().__init__(sum(map(len, ranges)) - len(without))
        self._first = first
        self._ranges = ranges
        self._deleted = without

    @cached_property
    def _without(self) -> list[int]:
        """The tasks that do not follow in their place; sorted only on first use."""
        parts = (part.as_added() if isinstance(part, RunningTasks) else part for part in self._first)
        return sorted(chain(*parts, self._deleted))  # of parts that are in order

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
        for part in self._first:
            if at < len(part):
                return part[at]
            at -= len(part)
        at += bisect_right(range(len(self._without)), at, key=self._staying_before)
        for tasks in self._ranges:
            if at < len(tasks):
                return tasks[at]
            at -= len(tasks)
        raise IndexError(at)

    def __iter__(self) -> Iterator[int]:
        return chain(*self._first, *self._stretches())

    def _stretches(self) -> Iterator[range]:
        """Yield the tasks that follow, in stretches from one that is left out to the next."""
        for tasks in self._ranges:
            start = tasks.start
            for task in self._without[bisect_left(self._without, start) : bisect_left(self._without, tasks.stop)]:
                if start < task:
                    yield range(start, task)
                start = task + 1
            yield range(start, tasks.stop)

    def index(self, task: int, *_: int) -> int:
        """Return the place of a task.

        Raises:
            ValueError: The task is not among them.
        """
        before = 0
        for part in self._first:
            with suppress(ValueError):
                return before + part.index(task)
            before += len(part)
        at = bisect_left(self._without, task)
        if task in self._without[at : at + 1] or not any(task in tasks for tasks in self._ranges):
            raise ValueError(task)
        return before + self._place(task) - at
