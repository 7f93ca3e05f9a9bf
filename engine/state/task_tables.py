"""Tables beside that of the tasks: their dependencies (DEP), and gangs (chapter 16).

Dependencies are counts of what each task still waits for. A task waits for *requirements*: an id, or a range of whole
numbers. Equal requirements are shared, so a thousand tasks that wait for the same range of ten thousand need one count.

A gang is the nodes of a multi-instance task with the subtasks on them. A subtask's state changes only here. The service
reports the primary in the task itself (MI-7), so only subtasks have a record.
"""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from collections.abc import Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import end_fields, result_of
from engine.base.lifecycles import SUBTASK
from engine.base.log import LogSubject
from engine.base.terms import SubtaskState, TaskResult
from engine.state.tables import NEVER_MS, Kept, rule_of_move
from engine.state.tasks import ACTIVE

if TYPE_CHECKING:
    from engine.base.log import EventLog
    from engine.specs.bodies import TaskDependencies
    from engine.state.instances import Ending
    from engine.state.tasks import TaskTable


_DECIMAL = re.compile(r"[0-9]{1,18}", re.ASCII)


def number_of(task_id: str) -> int | None:
    """Return the number by which a range selects this id, leading zeros ignored; None for any other id (DEP-3)."""
    return int(task_id) if _DECIMAL.fullmatch(task_id) else None


class _Requirement:
    """An id or a range, and the tasks that wait for it."""

    __slots__ = ("dependents", "missing")

    def __init__(self, missing: int) -> None:
        self.missing = missing  # numbers, or 1 for an id
        self.dependents: list[int] = []


class DependencyBook:
    """The dependencies of one job. They follow from the tasks, which know whether their dependents are satisfied."""

    def __init__(self, job: int) -> None:
        """Create an empty book for the job in this row."""
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
                requirement = self._ids[task_id] = _Requirement(0 if task_id in self._satisfied_ids else 1)
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
            requirement = self._ranges[span] = _Requirement(span[1] - span[0] + 1 - self._satisfied_within(*span))
            insort(self._lows, span)
        return requirement

    def _satisfied_within(self, low: int, high: int) -> int:
        if high - low < len(self._satisfied_numbers):
            return sum(number in self._satisfied_numbers for number in range(low, high + 1))
        return sum(low <= number <= high for number in self._satisfied_numbers)

    def _ranges_with(self, number: int) -> list[_Requirement]:
        spans = self._lows[: bisect_right(self._lows, (number, 1 << 62))]
        return [self._ranges[span] for span in spans if number <= span[1]]

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
            for requirement in self._ranges_with(number):
                self._meet(requirement, freed)
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

    def unmet(self, wanted: TaskDependencies) -> tuple[list[str], int]:
        """Return the ids that a task still waits for, in its order, and how many numbers of its ranges."""
        ids = [task_id for task_id in wanted.task_ids if task_id.lower() not in self._satisfied_ids]
        spans = dict.fromkeys((part.start, part.end) for part in wanted.task_id_ranges)
        return ids, sum(self._ranges[span].missing for span in spans)

    def unmet_ids(self) -> Iterator[str]:
        """Yield the ids, in lower case, that tasks still wait for, those in ranges left out."""
        return (task_id for task_id, requirement in self._ids.items() if requirement.missing > 0)

    @property
    def spans(self) -> Iterable[tuple[int, int]]:
        """The ranges that tasks depend on, each by its first and last number."""
        return self._ranges.keys()

    def unmet_numbers(self, spans: Iterable[tuple[int, int]], most: int) -> list[int]:
        """Return the first numbers of some ranges that tasks still wait for."""
        open_spans = [span for span in spans if self._ranges[span].missing > 0]
        numbers = dict.fromkeys(number for low, high in open_spans for number in range(low, min(high, low + most) + 1))
        return [number for number in numbers if number not in self._satisfied_numbers][:most]

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
            for requirement in self._ranges_with(number):
                found.update(requirement.dependents)
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


class Subtask(NamedTuple):
    """A subtask. Times are ms since the start."""

    state: SubtaskState
    since_ms: int
    previous: tuple[SubtaskState, int] | None = None  # the state before and since when
    start_ms: int | None = None
    ending: Ending | None = None

    @property
    def result(self) -> TaskResult | None:
        """Success or failure of a completed subtask; None before."""
        return None if self.ending is None else result_of(*self.ending)


class Gang(NamedTuple):
    """The latest attempt of a multi-instance task: its nodes by subtask id, the primary's first (MI-3)."""

    nodes: tuple[int, ...]
    attempt: int
    subtasks: tuple[Subtask, ...]  # from id 1 on
    returns_ms: tuple[int, ...] = ()  # when each coordination command returns; empty while the nodes are prepared
    stepped_ms: int = NEVER_MS  # what was due up to this moment has happened
    due_ms: int = NEVER_MS  # when something happens next while the task runs
    application_ms: int = NEVER_MS  # when the primary began with the application command (MI-4)
    has_exited: bool = False  # the application has, whatever its exit code

    def has_returned(self, subtask: int) -> bool:
        """Return whether a coordination command has returned, successfully or not."""
        return bool(self.returns_ms) and self.returns_ms[subtask] <= self.stepped_ms


class GangTable(Kept):
    """The gangs of all multi-instance tasks that were assigned to nodes. Gangs are immutable: a copy shares them."""

    KEPT = ("_gangs",)

    def __init__(self, log: EventLog) -> None:
        """Create an empty table."""
        self._log = log
        self._gangs: dict[int, Gang] = {}

    def __getitem__(self, task: int) -> Gang:
        return self._gangs[task]

    def __contains__(self, task: int) -> bool:
        return task in self._gangs

    def find(self, task: int) -> Gang | None:
        """Return the gang of a task; None if it never had nodes, or left them before it ran."""
        return self._gangs.get(task)

    def tasks(self) -> list[int]:
        """Return the tasks that have a gang, in the order in which each got its first one."""
        return list(self._gangs)

    # -- changes -------------------------------------------------------------------------------------------------

    def prepare(self, now_ms: int, task: int, nodes: tuple[int, ...], attempt: int) -> None:
        """Assign the task to these nodes, where it waits for the job's preparation (PREP-6)."""
        new = Subtask(SubtaskState.PREPARING, now_ms)
        self._gangs[task] = Gang(nodes, attempt, (new,) * (len(nodes) - 1))
        for number in range(1, len(nodes)):
            self._record(now_ms, task, number, None, SubtaskState.PREPARING)

    def start(self, now_ms: int, task: int, nodes: tuple[int, ...], attempt: int, returns_ms: tuple[int, ...]) -> None:
        """Start the primary and all subtasks; their coordination commands return at these moments."""
        before = self._gangs.get(task)
        waiting = before.subtasks[0] if before is not None and before.subtasks else None
        previous = None
        if waiting is not None and waiting.state is SubtaskState.PREPARING:
            previous = (waiting.state, waiting.since_ms)
        new = Subtask(SubtaskState.RUNNING, now_ms, previous, start_ms=now_ms)
        self._gangs[task] = Gang(nodes, attempt, (new,) * (len(nodes) - 1), returns_ms, stepped_ms=now_ms)
        for number in range(1, len(nodes)):
            self._record(now_ms, task, number, previous and previous[0], SubtaskState.RUNNING)

    def step(self, now_ms: int, task: int, due_ms: int, application_ms: int) -> None:
        """Note that the present step is done; ``due_ms`` is the moment of the next one."""
        gang = self._gangs[task]
        self._gangs[task] = gang._replace(stepped_ms=now_ms, due_ms=due_ms, application_ms=application_ms)

    def move_return(self, task: int, subtask: int, when_ms: int) -> None:
        """Move the moment at which a coordination command returns."""
        gang = self._gangs[task]
        returns_ms = (*gang.returns_ms[:subtask], when_ms, *gang.returns_ms[subtask + 1 :])
        self._gangs[task] = gang._replace(returns_ms=returns_ms)

    def exit(self, task: int) -> None:
        """Note that the application command has ended by itself."""
        self._gangs[task] = self._gangs[task]._replace(has_exited=True)

    def complete(self, now_ms: int, task: int, number: int, ending: Ending) -> None:
        """Complete a subtask (MI-6, MI-8)."""
        gang = self._gangs[task]
        old = gang.subtasks[number - 1]
        new = old._replace(
            state=SubtaskState.COMPLETED, since_ms=now_ms, previous=(old.state, old.since_ms), ending=ending
        )
        subtasks = (*gang.subtasks[: number - 1], new, *gang.subtasks[number:])
        self._gangs[task] = gang._replace(subtasks=subtasks)
        self._record(now_ms, task, number, old.state, SubtaskState.COMPLETED, *end_fields(*ending))

    def unassign(self, now_ms: int, task: int) -> None:
        """Remove the subtasks of a task that waits for other nodes before it has run (PREP-8)."""
        for number, subtask in enumerate(self._gangs[task].subtasks, start=1):
            self._record(now_ms, task, number, subtask.state, None)
        del self._gangs[task]

    def _record(
        self,
        now_ms: int,
        task: int,
        number: int,
        old: SubtaskState | None,
        new: SubtaskState | None,
        *more: tuple[str, Hashable],
    ) -> None:
        gang = self._gangs[task]
        rule = rule_of_move(SUBTASK, old, new, "subtask of task", task)
        shape = self._log.shape(
            "SubtaskStateChanged",
            LogSubject.TASK,
            ("subtaskId", number),
            ("from", old),
            ("to", new),
            ("attempt", gang.attempt),
            *more,
            ("rule", rule),
        )
        self._log.append(now_ms, shape, task, gang.nodes[number])
