"""Gangs: the nodes of multi-instance tasks and the subtasks on them (chapter 16). A subtask's state changes only here.

The service reports the primary in the task itself (MI-7), so only subtasks have a record.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, NamedTuple

from engine.base.failures import end_fields, result_of
from engine.base.lifecycles import SUBTASK, rule_of_move
from engine.base.terms import SubtaskState, TaskResult
from engine.events.log import LogSubject
from engine.state.columns import NEVER_MS

if TYPE_CHECKING:
    from engine.events.log import EventLog
    from engine.state.instances import Ending


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


class GangTable:
    """The gangs of all multi-instance tasks that were assigned to nodes. Gangs are immutable: a copy shares them."""

    def __init__(self, log: EventLog) -> None:
        """Make a table without gangs."""
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

    # -- checkpoints ---------------------------------------------------------------------------------------------

    def copy(self) -> dict[int, Gang]:
        """Return the gangs as they are now."""
        return self._gangs.copy()

    def restore(self, copy: dict[int, Gang]) -> None:
        """Make the gangs as they were when ``copy`` was taken."""
        self._gangs = copy.copy()
