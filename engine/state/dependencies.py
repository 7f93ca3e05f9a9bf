"""Dependencies between the tasks of a job (DEP), as counts of what each task still waits for.

A task waits for *requirements*: an id, or a range of whole numbers. Equal requirements are shared, so a thousand tasks
that wait for the same range of ten thousand need one count.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.state.columns import NEVER_MS
from engine.state.tasks import ACTIVE

if TYPE_CHECKING:
    from engine.specs.task import TaskDependencies
    from engine.state.tasks import TaskTable

_DECIMAL = re.compile(r"[0-9]{1,18}", re.ASCII)


def number_of(task_id: str) -> int | None:
    """Return the number by which a range selects this id, leading zeros ignored; None for any other id (DEP-3)."""
    return int(task_id) if _DECIMAL.fullmatch(task_id) else None


class _Requirement:
    """An id or a range, and the tasks that wait for it."""

    __slots__ = ("dependents", "high", "low", "missing")

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        self.missing = high - low + 1
        self.dependents: list[int] = []


class DependencyBook:
    """The dependencies of one job. They follow from the tasks, which know whether their dependents are satisfied."""

    def __init__(self, job: int) -> None:
        """Make a book without tasks for the job in this row."""
        self.job = job
        self._ids: dict[str, _Requirement] = {}
        self._ranges: dict[tuple[int, int], _Requirement] = {}
        self._lows: list[tuple[int, int]] = []  # the ranges in order of their beginning
        self._satisfied_ids: set[str] = set()
        self._satisfied_numbers: set[int] = set()
        self._needs: dict[int, list[_Requirement]] = {}  # task -> all it asks for
        self._missing: dict[int, int] = {}  # waiting task -> requirements not met yet

    def add(self, task: int, wanted: TaskDependencies) -> bool:
        """Enter a new task; returns whether it must wait (DEP-4)."""
        needs: list[_Requirement] = []
        for task_id in dict.fromkeys(name.lower() for name in wanted.task_ids):
            requirement = self._ids.get(task_id)
            if requirement is None:
                requirement = self._ids[task_id] = _Requirement(0, 0)
                requirement.missing = 0 if task_id in self._satisfied_ids else 1
            needs.append(requirement)
        for span in dict.fromkeys((part.start, part.end) for part in wanted.task_id_ranges):
            needs.append(self._range(span))
        self._needs[task] = needs
        missing = 0
        for requirement in needs:
            requirement.dependents.append(task)
            missing += requirement.missing > 0
        if missing:
            self._missing[task] = missing
        return missing > 0

    def _range(self, span: tuple[int, int]) -> _Requirement:
        requirement = self._ranges.get(span)
        if requirement is None:
            requirement = self._ranges[span] = _Requirement(*span)
            at = bisect_right(self._lows, span)
            self._lows.insert(at, span)
            requirement.missing -= self._satisfied_within(*span)
        return requirement

    def _satisfied_within(self, low: int, high: int) -> int:
        if high - low < len(self._satisfied_numbers):
            return sum(number in self._satisfied_numbers for number in range(low, high + 1))
        return sum(low <= number <= high for number in self._satisfied_numbers)

    def satisfy(self, task_id: str) -> list[int]:
        """Satisfy the dependents of this task; returns those that now wait for nothing, in creation order."""
        freed: list[int] = []
        lowered = task_id.lower()
        if lowered not in self._satisfied_ids:
            self._satisfied_ids.add(lowered)
            requirement = self._ids.get(lowered)
            if requirement is not None:
                self._meet(requirement, freed)
        number = number_of(task_id)
        if number is not None and number not in self._satisfied_numbers:
            self._satisfied_numbers.add(number)
            for span in self._lows[: bisect_right(self._lows, (number, 1 << 62))]:
                if number <= span[1]:
                    self._meet(self._ranges[span], freed)
        return sorted(freed)

    def _meet(self, requirement: _Requirement, freed: list[int]) -> None:
        requirement.missing -= 1
        if requirement.missing:
            return
        for task in requirement.dependents:
            left = self._missing.get(task, 0)
            if left == 1:
                del self._missing[task]
                freed.append(task)
            elif left:
                self._missing[task] = left - 1

    def is_waiting(self, task: int) -> bool:
        """Return whether something that the task depends on is not satisfied."""
        return task in self._missing

    @property
    def waiting_count(self) -> int:
        """The number of tasks that wait."""
        return len(self._missing)

    def first_waiting(self) -> int:
        """Return a task that waits; there must be one."""
        return next(iter(self._missing))

    def unmet(self, wanted: TaskDependencies) -> tuple[list[str], int]:
        """Return the ids that a task still waits for, in its order, and how many numbers of its ranges."""
        ids = [task_id for task_id in wanted.task_ids if task_id.lower() not in self._satisfied_ids]
        spans = dict.fromkeys((part.start, part.end) for part in wanted.task_id_ranges)
        return ids, sum(self._ranges[span].missing for span in spans)

    def missing_in(self, low: int, high: int) -> int:
        """Return how many numbers of a range are not satisfied."""
        return self._ranges[low, high].missing

    def dependents_of(self, task_id: str) -> list[int]:
        """Return the tasks that depend on this one, by id or by a range, in creation order."""
        found: set[int] = set()
        by_id = self._ids.get(task_id.lower())
        if by_id is not None:
            found.update(by_id.dependents)
        number = number_of(task_id)
        if number is not None:
            for low, high in self._lows[: bisect_right(self._lows, (number, 1 << 62))]:
                if number <= high:
                    found.update(self._ranges[low, high].dependents)
        return sorted(found)

    def waiting(self) -> Iterable[int]:
        """Return all tasks that wait, in creation order."""
        return sorted(self._missing)

    @classmethod
    def of(cls, job: int, tasks: TaskTable) -> DependencyBook:
        """Make the book of a job from its tasks, after the run has been moved to another moment."""
        book = cls(job)
        rows = list(tasks.rows_of(job))
        for row in rows:
            if tasks.satisfied[row]:
                book.satisfy(tasks.task_id(row))
        for row in rows:
            wanted = tasks.spec(row).depends_on
            if wanted is not None and book.add(row, wanted):
                has_begun = tasks.started[row] != NEVER_MS or tasks.state[row] != ACTIVE
                if has_begun:
                    del book._missing[row]
        return book
