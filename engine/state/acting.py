"""Processes that act: the commands that running processes still have to give, and the ends that some of them wait for.

A process is here from its start to its end if its ``simulate`` has ``does`` or ``until``. What it gives later has an
entry in the calendar, which is void once the process is gone from here (JM-11).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from engine.specs.command import OnJob
from engine.specs.conditions import OWN_JOB
from engine.state.tables import Kept, Values

if TYPE_CHECKING:
    from engine.shell.protocol import Seen
    from engine.specs.bodies import TaskSpec
    from engine.specs.command import Command
    from engine.specs.conditions import Condition
    from engine.state.task_records import TaskSource

NO_JOB = -1


class ProcessKind(IntEnum):
    """The kind of a process, which decides the meaning of its row."""

    TASK = 0  # the row is the task; of a multi-instance task this is its own command
    COORDINATION = 1  # the row is the task, the part its subtask
    PREPARATION = 2  # the row is the instance
    RELEASE = 3
    START_TASK = 4  # the row is the node


class Process(NamedTuple):
    """A process on a node, whichever start of it."""

    kind: ProcessKind
    row: int
    part: int = 0


class Act(NamedTuple):
    """A command that a process gives ``after_ms`` after its start, or after ``when`` has become true."""

    command: Command
    tasks: Sequence[TaskSpec] = ()
    factory: TaskSource | None = None
    after_ms: int = 0
    when: Condition | None = None


class Acts(NamedTuple):
    """Everything that one start of a process does: its commands in the order of the file, and what ends it."""

    commands: tuple[Act, ...] = ()
    until: Condition | None = None
    until_others: bool = False  # it ends when all other tasks of its job are completed
    executes: bool = False  # it ends with a program that really runs

    @property
    def is_open(self) -> bool:
        """True if the process ends when something comes true, not after a time of its own."""
        return self.until is not None or self.until_others or self.executes


class Acting(NamedTuple):
    """A running process and what it still does."""

    process: Process
    job: int  # its own, or NO_JOB
    started_ms: int
    acts: Acts
    waiting: tuple[int, ...] = ()  # its commands whose `when` has not become true, by number
    tasks_to_come: int = 0  # its commands that will add tasks to its own job at a time that is known
    until_ms: int | None = None  # when what it waits for came true
    seen: Seen | None = None  # of a program that has ended

    @property
    def waits(self) -> bool:
        """True while the process waits for its end."""
        return self.acts.is_open and self.until_ms is None


class ActingTable(Kept):
    """The processes that act, by the numbers of their starts. Records are immutable: a copy shares them."""

    KEPT = ("_acting", "_next", "_instant_ms", "_begun")

    def __init__(self) -> None:
        """Create an empty table."""
        self._acting: dict[int, Acting] = {}
        self._numbers: dict[Process, int] = {}
        # By job: the starts that wait for its other tasks, in order.
        self._for_others: defaultdict[int, list[int]] = defaultdict(list)
        self._next = 0
        self._kept_waiting = NO_JOB
        self._instant_ms = -1
        self._begun: set[Process] = set()  # what has started in that millisecond

    def __len__(self) -> int:
        return len(self._acting)

    def __iter__(self) -> Iterator[tuple[int, Acting]]:
        """Yield the number of each start and its record, in the order of the starts."""
        return iter(list(self._acting.items()))

    @property
    def starts(self) -> int:
        """The number of all starts so far."""
        return self._next

    def get(self, number: int) -> Acting | None:
        """Return the record of a start; None once that process has ended."""
        return self._acting.get(number)

    def number_of(self, process: Process) -> int | None:
        """Return the number of the present start of a process; None if it does not act now."""
        return self._numbers.get(process)

    def find(self, process: Process) -> Acting | None:
        """Return the record of a process; None if it does not act now."""
        number = self._numbers.get(process)
        return None if number is None else self._acting[number]

    def until_ms(self, process: Process) -> int | None:
        """Return how long the process has run when what it waits for came true; None before, or if it does not wait."""
        acting = self.find(process) if self._numbers else None
        return None if acting is None or acting.until_ms is None else acting.until_ms - acting.started_ms

    def seen(self, process: Process) -> Seen | None:
        """Return what was seen of a process that has really run; None before its end, or of any other."""
        acting = self.find(process) if self._numbers else None
        return None if acting is None else acting.seen

    def executing(self) -> dict[int, Acting]:
        """Return the processes for which a program really runs, by the numbers of their starts."""
        return {number: acting for number, acting in self._acting.items() if acting.acts.executes and acting.waits}

    def waits(self, process: Process) -> bool:
        """Return whether the process runs and waits for its end."""
        acting = self.find(process) if self._numbers else None
        return acting is not None and acting.waits

    def waiting_for_others(self, job: int) -> Sequence[int]:
        """Return the starts that wait for the other tasks of their job, in order."""
        return tuple(self._for_others.get(job, ()))

    def may_notice(self, job: int) -> bool:
        """Return whether the processes that wait for the other tasks of this job see how those are now."""
        return job != self._kept_waiting

    # -- changes -----------------------------------------------------------------------------------------------------

    @contextmanager
    def keeps_waiting(self, job: int) -> Iterator[None]:
        """Let no process notice the other tasks of this job while one of them is being deleted."""
        self._kept_waiting = job
        try:
            yield
        finally:
            self._kept_waiting = NO_JOB

    def has_begun_in(self, now_ms: int, process: Process) -> bool:
        """Return whether the process has started in this millisecond before, and note this start."""
        if self._instant_ms != now_ms:
            self._instant_ms = now_ms
            self._begun.clear()
        has_begun = process in self._begun
        self._begun.add(process)
        return has_begun

    def begin(self, acting: Acting) -> int:
        """Add a process that starts; return the number of this start."""
        number, self._next = self._next, self._next + 1
        self._acting[number] = acting
        self._numbers[acting.process] = number
        if acting.acts.until_others:
            self._for_others[acting.job].append(number)
        return number

    def end(self, process: Process) -> Acting | None:
        """Remove a process that has ended, with all that it had to do; return its record, None if it did not act."""
        number = self._numbers.pop(process, None)
        if number is None:
            return None
        acting = self._acting.pop(number)
        if acting.acts.until_others:
            self._for_others[acting.job].remove(number)
        return acting

    def give(self, number: int, index: int) -> None:
        """Note that a command is given."""
        acting = self._acting[number]
        if adds_tasks(acting.acts.commands[index]):
            self._acting[number] = acting._replace(tasks_to_come=acting.tasks_to_come - 1)

    def come_true(self, number: int, index: int) -> None:
        """Note that the condition of a command has become true."""
        acting = self._acting[number]
        waiting = tuple(each for each in acting.waiting if each != index)
        to_come = acting.tasks_to_come + adds_tasks(acting.acts.commands[index])
        self._acting[number] = acting._replace(waiting=waiting, tasks_to_come=to_come)

    def finish_waiting(self, number: int, now_ms: int, seen: Seen | None = None) -> None:
        """Note that what the process waits for has come true, and what was ``seen`` of it if it really ran."""
        self._acting[number] = self._acting[number]._replace(until_ms=now_ms, seen=seen)

    # -- checkpoints -------------------------------------------------------------------------------------------------

    def restore(self, copy: Values) -> None:
        """Make the table as it was when ``copy`` was taken."""
        super().restore(copy)
        self._numbers = {acting.process: number for number, acting in self._acting.items()}
        self._for_others.clear()
        for number, acting in self._acting.items():
            if acting.acts.until_others:
                self._for_others[acting.job].append(number)


def adds_tasks(act: Act) -> bool:
    """Return whether a command adds tasks to the process's own job (JM-13)."""
    return isinstance(act.command, OnJob) and act.command.NAME == "addTasks" and act.command.job_id == OWN_JOB
