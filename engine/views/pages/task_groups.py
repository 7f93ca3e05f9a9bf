"""Tasks grouped by what a column shows of them, so that a million of them are filtered by a few texts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import repeat
from math import inf
from operator import floordiv, sub
from typing import TYPE_CHECKING

from engine.base.units import SECOND_MS
from engine.state.columns import NEVER_MS, PAGE_BITS
from engine.state.task_records import TaskExtra
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.pages.bulk import picked

if TYPE_CHECKING:
    from engine import Simulation

Groups = Sequence[Hashable]

_NOWHERE, _NEVER = -1, -1
# What the columns show of a task beyond a plain first attempt.
_OF_EXTRA: dict[str, Callable[[TaskExtra], Hashable]] = {
    "Result": lambda extra: (extra.exit_code, extra.failure),
    "Exit code": lambda extra: (extra.exit_code, extra.failure is None),
    "Retries": lambda extra: extra.retry_count,
    "Requeues": lambda extra: extra.requeue_count,
    "Failure category": lambda extra: extra.failure,
    "Failure code": lambda extra: extra.failure,
}


class TaskGroups:
    """For each of some tasks a value. Two tasks with the same value show the same text in a column."""

    def __init__(self, simulation: Simulation) -> None:
        """Read the tables of a simulation."""
        self._simulation = simulation
        self._tasks = simulation.world.tasks
        self._columns: dict[str, Callable[[Sequence[int], int], Groups]] = {
            "State": lambda rows, _: picked(self._tasks.state, rows),
            "Node": lambda rows, _: self._nodes(rows),
            "Created": lambda rows, _: self._created(rows),
            "Start time": lambda rows, from_ms: [
                abs(ms - from_ms) // SECOND_MS if ms != NEVER_MS else _NEVER for ms in picked(self._tasks.started, rows)
            ],
            "End time": lambda rows, from_ms: [
                abs(ms - from_ms) // SECOND_MS if state == COMPLETED else _NEVER
                for state, ms in zip(picked(self._tasks.state, rows), picked(self._tasks.ended, rows), strict=True)
            ],
            "Duration": lambda rows, _: self.durations(rows),
            "Required slots": lambda rows, _: picked(self._tasks.profile, rows),
            "Waiting for": lambda rows, _: self._waits(rows),
            "Depends on": lambda rows, _: self._wishes(rows),
            "Affinity": lambda rows, _: self._wishes(rows),
            "Attempts": lambda rows, _: self._attempts(rows),
            **{name: partial(self._by_extra, of_extra) for name, of_extra in _OF_EXTRA.items()},
        }

    def of(self, column: str, rows: Sequence[int], from_ms: int) -> Groups | None:
        """Return a value for each task, in order; None for a column whose texts depend on more than the tables.

        Args:
            column: The name of the column.
            rows: The tasks, in any order.
            from_ms: The moment from which the column counts its times, in ms since the start.
        """
        values = self._columns.get(column)
        return None if values is None else values(rows, from_ms)

    def _extras(self, rows: Sequence[int], of_extra: Callable[[TaskExtra], Hashable]) -> Groups:
        """Return the state of each task, with what the column shows of the few that have more than a plain attempt."""
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
        extras = self._extras(rows, lambda extra: extra.attempts)
        return list(zip(has_begun, extras, strict=True))

    def _by_extra(self, of_extra: Callable[[TaskExtra], Hashable], rows: Sequence[int], _: int) -> Groups:
        return self._extras(rows, of_extra)

    def _nodes(self, rows: Sequence[int]) -> Groups:
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

    def durations(self, rows: Sequence[int]) -> Sequence[float]:
        """Return for how many whole seconds each task has run, or runs; infinity where it has not."""
        tasks, now_ms = self._tasks, self._simulation.now_ms
        states, begun, ended = picked(tasks.state, rows), picked(tasks.started, rows), picked(tasks.ended, rows)
        present = set(states)
        if present == {ACTIVE}:
            return [inf] * len(rows)
        if present in ({COMPLETED}, {RUNNING}) and NEVER_MS not in begun:  # most often, of a million
            ends = ended if COMPLETED in present else repeat(now_ms)
            return list(map(floordiv, map(sub, ends, begun), repeat(SECOND_MS)))
        return [
            inf
            if begun_ms == NEVER_MS or state == ACTIVE
            else ((ended_ms if state == COMPLETED else now_ms) - begun_ms) // SECOND_MS
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
