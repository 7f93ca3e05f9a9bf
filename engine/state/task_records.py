"""Records beside the columns of tasks: properties that few have, shared profiles, bodies, and queues of ready tasks.

A queue has the ready tasks of one job that need the same number of slots, in the order of SCHED-6. A million queued
tasks take a few ranges. Tasks that return (a retry, a requeue) go first, in the order in which they returned. Tasks
that become ready late (a dependency was satisfied) are merged in by number.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, NamedTuple, Protocol

from engine.base.values import natural_key
from engine.state.tables import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.base.errors import FailureInfo
    from engine.shell.protocol import PlainOutputs, PlainProcess
    from engine.specs.bodies import TaskSpec


class TaskExtra(NamedTuple):
    """Properties of a task beyond a first attempt that ends with exit code 0; most tasks have none."""

    attempts: int = 1  # starts so far
    retry_count: int = 0
    requeue_count: int = 0
    system_retries: int = 0  # EVT-2: systemTaskVersion
    node_retries: int = 0  # RETRY-7: service retries on the present node
    last_retry_ms: int | None = None
    last_requeue_ms: int | None = None
    awaits_retry: bool = False  # active again because of a retry: prefers its node (RETRY-5)
    exit_code: int | None = None
    failure: FailureInfo | None = None
    ended_waiting: bool = False  # it was ended while it waited for another attempt (TASK-13)


PLAIN = TaskExtra()
UNTRIED = TaskExtra(attempts=0)


class TaskSource(Protocol):
    """The source of the bodies of a block of tasks: a factory or a list."""

    @property
    def count(self) -> int: ...  # noqa: D102
    @property
    def id_prefix(self) -> str: ...  # noqa: D102
    @property
    def varies(self) -> bool:  # noqa: D102
        return True

    @property
    def ids_rise(self) -> bool: ...  # noqa: D102
    @property
    def command_lines_rise(self) -> bool: ...  # noqa: D102
    def task_id(self, ordinal: int) -> str: ...  # noqa: D102
    def task_ids(self, ordinals: Sequence[int], before: str = "", after: str = "") -> list[str]:  # noqa: D102
        return [f"{before}{self.task_id(ordinal)}{after}" for ordinal in ordinals]

    def spec(self, ordinal: int) -> TaskSpec: ...  # noqa: D102
    def command_line(self, ordinal: int) -> str:  # noqa: D102
        return self.spec(ordinal).command_line

    def command_lines(self, ordinals: Sequence[int]) -> list[str]:  # noqa: D102
        return [self.command_line(ordinal) for ordinal in ordinals]

    def output_path(self, ordinal: int, output: int) -> str:  # noqa: D102
        return self.spec(ordinal).output_files[output].destination.container.path or ""

    def ordinal_of(self, task_id: str) -> int | None: ...  # noqa: D102


def _rise(texts: Iterable[str]) -> bool:
    return all(one <= other for one, other in pairwise(map(natural_key, texts)))


class ListedTasks(TaskSource):
    """A list of task bodies as the source of a block."""

    def __init__(self, specs: Sequence[TaskSpec]) -> None:
        """Hold the bodies in the order given."""
        self._specs = tuple(specs)
        self.ordinals = {spec.id.lower(): ordinal for ordinal, spec in enumerate(self._specs)}

    @property
    def count(self) -> int:
        """The number of tasks."""
        return len(self._specs)

    @cached_property
    def id_prefix(self) -> str:
        """The text in lower case with which all ids begin."""
        ends = zip(min(self.ordinals, default=""), max(self.ordinals, default=""), strict=False)
        return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], ends))

    @cached_property
    def ids_rise(self) -> bool:
        """True if the ids rise from task to task as people count."""
        return _rise(spec.id for spec in self._specs)

    @cached_property
    def command_lines_rise(self) -> bool:
        """True if the command lines rise from task to task as people count, or are equal."""
        return _rise(spec.command_line for spec in self._specs)

    def task_id(self, ordinal: int) -> str:
        """Return the id of a task."""
        return self._specs[ordinal].id

    def spec(self, ordinal: int) -> TaskSpec:
        """Return the body of a task."""
        return self._specs[ordinal]

    def ordinal_of(self, task_id: str) -> int | None:
        """Return the ordinal of the task with this id; None if there is none. Case is ignored (GEN-1)."""
        return self.ordinals.get(task_id.lower())


class Load(NamedTuple):
    """The load that a process puts on its node while it runs, as far as the scenario says (AS-41).

    ``cpu`` and ``memory`` are percent of the node, the others bytes a second.
    """

    cpu: float | None = None  # None: as much as its slots are of all
    memory: float = 0
    disk_read: float = 0
    disk_write: float = 0
    network_in: float = 0
    network_out: float = 0


class TaskProfile(NamedTuple):
    """The properties of a task that the scheduler needs; tasks with equal properties share one profile."""

    job: int
    required_slots: int
    max_retries: int | None  # None: the job's value, which may change
    wall_clock_ms: int | None
    retention_ms: int | None
    process: PlainProcess | None  # plain; its first duration and exit code stand in the columns
    affinity: str | None = None
    conditions: bool = False  # exit conditions are given (EXIT-1)
    ends_plainly: bool = False  # plain, and nothing follows from its success: see rules/fast_path.py
    manager: bool = False
    exclusive: bool = False
    dedicated_only: bool = False
    load: Load | None = None
    own_duration: bool = False  # the one in the task's body counts, not that of the process, which such tasks share
    outputs: PlainOutputs | None = None  # what a plain process leaves and uploads after exit code 0
    instances: int = 0  # nodes at once of a multi-instance task (MI-1); 0 for any other
    modified_ms: int | None = None  # of the last update; None: not since it was added (GEN-6)

    @property
    def queue_key(self) -> int:
        """The key of the queue of its job that the task waits in: required slots, or instances as a negative number."""
        return -self.instances or self.required_slots


class TaskBlock(NamedTuple):
    """Tasks added together: ``source.count`` rows from ``first`` on."""

    first: int
    job: int
    created_ms: int
    source: TaskSource

    @property
    def rows(self) -> range:
        """The rows of the tasks, deleted ones included."""
        return range(self.first, self.first + self.source.count)


@dataclass(slots=True, eq=False)
class ReadyQueue(Record):
    """A queue of task numbers; ``size`` is how many there are."""

    size: int = 0
    # What comes back: its stamp and the task, in order. An empty deque takes 800 bytes, and most queues need none.
    returned: deque[tuple[int, int]] | tuple[()] = ()
    next: int = 0  # the first range of new tasks
    end: int = 0
    _ranges: deque[tuple[int, int]] | tuple[()] = ()  # the others
    late: list[int] = field(default_factory=list)  # new tasks out of order, as a heap

    def add_range(self, first: int, count: int, *, joins: bool = False) -> None:
        """Queue new tasks ``first`` ... in creation order; they come after all earlier ranges.

        With ``joins`` the fast path may treat the task before the first like them. Then its range goes on, if it is the
        only one.
        """
        self.size += count
        if joins and self.end == first and not self._ranges:
            self.end += count
        elif self.next == self.end:
            self.next, self.end = first, first + count
        else:
            self._ranges = self._ranges or deque()
            self._ranges.append((first, first + count))

    def add_late(self, task: int) -> None:
        """Queue a new task whose turn by creation order may have passed."""
        self.size += 1
        heappush(self.late, task)

    def add_returned(self, task: int, stamp: int) -> None:
        """Queue a task that has run before, behind those that returned earlier and ahead of all new ones."""
        self.size += 1
        self.returned = self.returned or deque()
        self.returned.append((stamp, task))

    def add_first(self, task: int) -> None:
        """Queue a task ahead of everything: a job manager task."""
        self.size += 1
        self.returned = self.returned or deque()
        self.returned.appendleft((-1, task))

    def head(self) -> int:
        """Return the first task; the queue must not be empty."""
        if self.returned:
            return self.returned[0][1]
        if self.late and (self.next == self.end or self.late[0] < self.next):
            return self.late[0]
        return self.next

    def head_rank(self) -> tuple[int, int]:
        """Return what orders the heads of a job's queues: returned tasks by their stamps, then new ones by creation."""
        return (0, self.returned[0][0]) if self.returned else (1, self.head())

    def take(self) -> int:
        """Remove and return the head."""
        self.size -= 1
        if self.returned:
            return self.returned.popleft()[1]
        if self.late and (self.next == self.end or self.late[0] < self.next):
            return heappop(self.late)
        task = self.next
        self.next = task + 1
        if self.next == self.end and self._ranges:
            self.next, self.end = self._ranges.popleft()
        return task

    def holds(self, task: int) -> bool:
        """Return whether the task is in the queue."""
        ranges = [(self.next, self.end), *self._ranges]
        return self._has_returned(task) or task in self.late or any(low <= task < high for low, high in ranges)

    def discard(self, task: int) -> None:
        """Remove a task wherever it is in the queue; it must be there."""
        self.size -= 1
        if self._has_returned(task):
            self.returned = deque(entry for entry in self.returned if entry[1] != task)
        elif task in self.late:
            self.late.remove(task)
            self.late.sort()
        else:
            kept: list[tuple[int, int]] = []
            for low, high in [(self.next, self.end), *self._ranges]:
                parts = [(low, task), (task + 1, high)] if low <= task < high else [(low, high)]
                kept += [(start, end) for start, end in parts if start < end]
            self._ranges = deque(kept)
            self.next, self.end = self._ranges.popleft() if self._ranges else (0, 0)

    def _has_returned(self, task: int) -> bool:
        return any(entry[1] == task for entry in self.returned)

    def tasks(self) -> list[int]:
        """Return all tasks in the order in which they would be taken."""
        twin = ReadyQueue.thaw(self.freeze())
        return [twin.take() for _ in range(self.size)]
