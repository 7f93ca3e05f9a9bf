"""The order and the groups of a list of a million tasks.

Only the rows that are shown are looked up. Groups join tasks that show the same text in a column, so that a million of
them are filtered by a few texts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from enum import Enum
from functools import cached_property, partial
from itertools import accumulate, chain, compress, repeat
from math import inf
from operator import attrgetter, floordiv, sub
from typing import TYPE_CHECKING

from engine.base.values import SECOND_MS, LazyRows, picked, rows_in_state
from engine.state.tables import NEVER_MS, PAGE_BITS
from engine.state.task_records import TaskExtra
from engine.state.tasks import ACTIVE, COMPLETED, GONE, PREPARING, RUNNING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation


# Entries of the log that are read for the tasks that started last. With more it is cheaper to read all tasks.
FIRST_ENTRIES, MOST_ENTRIES = 256, 65_536
CHUNK = 2048  # tasks that are counted together
_START = attrgetter("start")

_PRESENT = bytes(state != GONE for state in range(256))
AFTER_OTHERS = bytes(state in (ACTIVE, COMPLETED) for state in range(256))  # failed ones among them come first


class RunningTasks(LazyRows[int]):
    """The running tasks of a job, those that started last first; those that started together as they were added.

    They are found from the end of the log, as far as they are asked for: a list shows only a few of them. A list that
    is not made again when time has moved on may name a task twice in place of those that have stopped since.
    """

    def __init__(self, simulation: Simulation, ranges: Sequence[range], count: int) -> None:
        """List the ``count`` running tasks of these ranges of rows."""
        super().__init__(count)
        self._simulation = simulation
        self._ranges = ranges
        self._entries = FIRST_ENTRIES // 2  # of the log, from its end, that were read
        self._newest: Sequence[int] = ()  # the tasks that started in them

    def _at(self, at: int) -> int:
        while at >= len(self._newest) and self._entries <= MOST_ENTRIES:
            self._entries *= 2
            self._newest = self._started_in_last(self._entries) if self._entries <= MOST_ENTRIES else self._all()
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
            self._newest = self._started_in_last(entries) if entries <= MOST_ENTRIES else self._all()
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
        tasks = self._simulation.world.tasks
        return sorted(rows_in_state(tasks.state, self._ranges, RUNNING), key=tasks.started.__getitem__, reverse=True)


def within(ranges: Sequence[range], tasks: Sequence[int]) -> Iterator[int]:
    """Yield those of some tasks, which are in ascending order, that lie in one of the ranges."""
    for rows in ranges:
        yield from tasks[bisect_left(tasks, rows.start) : bisect_left(tasks, rows.stop)]


class TasksInOrder(LazyRows[int]):
    """Some tasks before all others, which follow as they were added.

    The others are marked in one byte each when the first of them is asked for, and counted in chunks. A list that is
    not made again when time has moved on may show a task twice in place of another.
    """

    def __init__(
        self,
        states: bytearray,
        ranges: Sequence[range],
        gone: int,
        *,
        first: Sequence[Sequence[int]] = (),
        follow: bytes = _PRESENT,
        apart: Sequence[int] = (),
    ) -> None:
        """List the tasks of these ranges of rows.

        Args:
            states: The states of all tasks.
            ranges: The rows of the tasks, in ascending order.
            gone: The number of them that are deleted.
            first: The tasks at the beginning, in several parts.
            follow: 1 for each state whose tasks follow, 0 for the others.
            apart: Tasks that do not follow, whatever their state.
        """
        super().__init__(sum(map(len, ranges)) - gone)
        self._states = states
        self._ranges = ranges
        self._first = first
        self._follow = follow
        self._apart = apart
        self._places = -1, [0]  # of the others in the chunk that was read last, with its number

    @cached_property
    def _starts(self) -> list[int]:
        """The place of the first task of each range among all tasks of the ranges."""
        return [0, *accumulate(map(len, self._ranges))]

    @cached_property
    def _flags(self) -> bytearray:
        """1 for each task of the ranges that follows, 0 for the others."""
        flags = bytearray().join([self._states[rows.start : rows.stop] for rows in self._ranges])
        flags = flags.translate(self._follow)
        for task in self._apart:
            flags[self._place(task)] = 0
        return flags

    @cached_property
    def _before(self) -> list[int]:
        """The number of tasks that follow before each chunk; the last item is that of all."""
        flags = self._flags
        return [0, *accumulate(flags.count(1, at, at + CHUNK) for at in range(0, len(flags), CHUNK))]

    def _place(self, task: int) -> int:
        """Return the place of a task among all tasks of the ranges.

        Raises:
            ValueError: It is not one of them.
        """
        number = bisect_right(self._ranges, task, key=_START) - 1
        if number < 0 or task not in self._ranges[number]:
            raise ValueError(task)
        return self._starts[number] + task - self._ranges[number].start

    def _task(self, place: int) -> int:
        """Return the task at a place among all tasks of the ranges."""
        number = bisect_right(self._starts, place) - 1
        return self._ranges[number][place - self._starts[number]]

    def _at(self, at: int) -> int:
        for part in self._first:
            if at < len(part):
                return part[at]
            at -= len(part)
        before = self._before
        at = min(at, before[-1] - 1)
        if at < 0:
            return self._ranges[0].start
        chunk = bisect_right(before, at) - 1
        if self._places[0] != chunk:
            begin = chunk * CHUNK
            flags = self._flags[begin : begin + CHUNK]
            self._places = chunk, list(compress(range(begin, begin + len(flags)), flags))
        return self._task(self._places[1][at - before[chunk]])

    def __iter__(self) -> Iterator[int]:
        return chain(*self._first, compress(chain.from_iterable(self._ranges), self._flags))

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
        place = self._place(task)
        if not self._flags[place]:
            raise ValueError(task)
        chunk = place // CHUNK
        return before + self._before[chunk] + self._flags.count(1, chunk * CHUNK, place)


Groups = Sequence[Hashable]

# Values of a task, by which many tasks are grouped and sorted.
TaskKey = Enum(
    "TaskKey",
    "ID STATE RESULT NODE CREATED START END EXIT_CODE RETRIES REQUEUES DURATION SLOTS WAITS WISHES ATTEMPTS FAILURE "
    "COMMAND_LINE",
)
_NOWHERE, _NEVER = -1, -1
# What texts show of a task beyond a plain first attempt.
_OF_EXTRA: dict[TaskKey, Callable[[TaskExtra], Hashable]] = {
    TaskKey.RESULT: lambda extra: (extra.exit_code, extra.failure),
    TaskKey.EXIT_CODE: lambda extra: (extra.exit_code, extra.failure is None),
    TaskKey.RETRIES: lambda extra: extra.retry_count,
    TaskKey.REQUEUES: lambda extra: extra.requeue_count,
    TaskKey.FAILURE: lambda extra: extra.failure,
}


class TaskGroups:
    """For each of some tasks a value. Two tasks with the same value show the same text in a column."""

    def __init__(self, simulation: Simulation) -> None:
        """Read the tables of a simulation."""
        self._simulation = simulation
        self._tasks = simulation.world.tasks
        self.in_order: dict[TaskKey, Callable[[Sequence[int]], Sequence[float]]] = {
            TaskKey.STATE: lambda rows: picked(self._tasks.state, rows),
            TaskKey.NODE: self._nodes,
            TaskKey.START: self._tasks.begun,
            TaskKey.END: self._ends,
            TaskKey.DURATION: self._durations,
        }
        """Of some values what tasks are sorted by: as their texts say, so that what is not shown counts as none."""
        self._values: dict[TaskKey, Callable[[Sequence[int]], Groups]] = {
            TaskKey.CREATED: self._created,
            TaskKey.SLOTS: lambda rows: picked(self._tasks.profile, rows),
            TaskKey.WAITS: self._waits,
            TaskKey.WISHES: self._wishes,
            TaskKey.ATTEMPTS: self._attempts,
            **{key: partial(self._extras, of_extra) for key, of_extra in _OF_EXTRA.items()},
        }

    def of(self, key: TaskKey, rows: Sequence[int]) -> Groups | None:
        """Return a value for each task; None where texts depend on more."""
        if key in self.in_order:
            found = self.in_order[key](rows)
            is_time = key in (TaskKey.START, TaskKey.END)
            return [ms // SECOND_MS if ms != NEVER_MS else _NEVER for ms in found] if is_time else found
        values = self._values.get(key)
        return None if values is None else values(rows)

    def _extras(self, of_extra: Callable[[TaskExtra], Hashable], rows: Sequence[int]) -> Groups:
        """Return the state of each task, with what its text shows of the few that have more than a plain attempt."""
        states = picked(self._tasks.state, rows)
        sparse = self._tasks.sparse
        if not any(map(sparse.__getitem__, {row >> PAGE_BITS for row in rows})):
            return states
        found = map(self._tasks.sparse_of, rows)
        return [
            state if extra is None else (state, of_extra(extra)) for state, extra in zip(states, found, strict=True)
        ]

    def _attempts(self, rows: Sequence[int]) -> Groups:
        """Return whether each task has started, with the attempts of those that count them."""
        has_begun = [ms != NEVER_MS for ms in picked(self._tasks.started, rows)]
        extras = self._extras(lambda extra: extra.attempts, rows)
        return list(zip(has_begun, extras, strict=True))

    def _nodes(self, rows: Sequence[int]) -> Sequence[int]:
        """Return the node on which each task prepares, runs or has run."""
        tasks = self._tasks
        columns = picked(tasks.node, rows), picked(tasks.started, rows), picked(tasks.state, rows)
        return [
            node if node < 0 or ms != NEVER_MS or state == PREPARING else _NOWHERE
            for node, ms, state in zip(*columns, strict=True)
        ]

    def _created(self, rows: Sequence[int]) -> Groups:
        tasks = self._tasks
        first, last = tasks.block_of(min(rows)), tasks.block_of(max(rows))
        if first.first == last.first:
            return [first.created_ms] * len(rows)
        return [tasks.block_of(row).created_ms for row in rows]

    def _ends(self, rows: Sequence[int]) -> Sequence[int]:
        """Return when each task ended; ``NEVER_MS`` before, when its end is only planned."""
        states, ended = picked(self._tasks.state, rows), picked(self._tasks.ended, rows)
        return [ms if state == COMPLETED else NEVER_MS for state, ms in zip(states, ended, strict=True)]

    def _durations(self, rows: Sequence[int]) -> Sequence[float]:
        """Return for how many whole seconds each task has run, or runs; infinity where it has not."""
        tasks, now_ms = self._tasks, self._simulation.now_ms
        states, begun, ended = picked(tasks.state, rows), tasks.begun(rows), picked(tasks.ended, rows)
        present = set(states)
        if present == {ACTIVE}:
            return [inf] * len(rows)
        if present in ({COMPLETED}, {RUNNING}) and NEVER_MS not in begun:  # most often, of a million
            ends = ended if COMPLETED in present else repeat(now_ms)
            return list(map(floordiv, map(sub, ends, begun), repeat(SECOND_MS)))
        return [
            inf if begun_ms == NEVER_MS else ((ended_ms if state == COMPLETED else now_ms) - begun_ms) // SECOND_MS
            for state, begun_ms, ended_ms in zip(states, begun, ended, strict=True)
        ]

    def _waits(self, rows: Sequence[int]) -> Groups:
        """Return what decides on the wait; a task that may depend on others stands for itself."""
        tasks, depend = self._tasks, self._simulation.world.dependencies
        columns = picked(tasks.state, rows), picked(tasks.profile, rows), picked(tasks.node, rows)
        return [
            (state, profile, node if state == PREPARING else _NOWHERE)
            if state != ACTIVE or tasks.profiles[profile].job not in depend
            else (_NEVER, row, _NOWHERE)
            for row, state, profile, node in zip(rows, *columns, strict=True)
        ]

    def _wishes(self, rows: Sequence[int]) -> Groups:
        """Return the profile, which names the preferred node; tasks that may depend on others stand for themselves."""
        tasks, depend = self._tasks, self._simulation.world.dependencies
        profiles = zip(rows, picked(tasks.profile, rows), strict=True)
        return [(_NEVER, row) if tasks.profiles[each].job in depend else each for row, each in profiles]
