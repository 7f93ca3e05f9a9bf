"""Records beside the columns of tasks: properties that few have, profiles that equal ones share, and bodies."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

from engine.base.failures import FailureInfo
from engine.base.natural import natural_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engine.executors.protocol import PlainOutputs, PlainProcess
    from engine.specs.task import TaskSpec


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


PLAIN = TaskExtra()
UNTRIED = TaskExtra(attempts=0)


class TaskSource(Protocol):
    """The source of the bodies of a block of tasks: a factory or a list."""

    @property
    def count(self) -> int: ...  # noqa: D102
    @property
    def id_prefix(self) -> str: ...  # noqa: D102
    @property
    def ids_rise(self) -> bool: ...  # noqa: D102
    @property
    def command_lines_rise(self) -> bool: ...  # noqa: D102
    def task_id(self, ordinal: int) -> str: ...  # noqa: D102
    def task_ids(self, ordinals: Sequence[int], before: str = "", after: str = "") -> list[str]: ...  # noqa: D102
    def spec(self, ordinal: int) -> TaskSpec: ...  # noqa: D102
    def command_line(self, ordinal: int) -> str: ...  # noqa: D102
    def command_lines(self, ordinals: Sequence[int]) -> list[str]: ...  # noqa: D102
    def output_path(self, ordinal: int, output: int) -> str: ...  # noqa: D102
    def ordinal_of(self, task_id: str) -> int | None: ...  # noqa: D102


def _rise(texts: Iterable[str]) -> bool:
    return all(one <= other for one, other in pairwise(map(natural_key, texts)))


class ListedTasks:
    """A list of task bodies as the source of a block."""

    def __init__(self, specs: Sequence[TaskSpec]) -> None:
        """Hold the bodies in the order given."""
        self._specs = tuple(specs)
        self.ordinals = {spec.id.lower(): ordinal for ordinal, spec in enumerate(self._specs)}
        self._prefix: str | None = None

    @property
    def count(self) -> int:
        """The number of tasks."""
        return len(self._specs)

    @property
    def id_prefix(self) -> str:
        """The text in lower case with which all ids begin."""
        if self._prefix is None:
            first, last = min(self.ordinals, default=""), max(self.ordinals, default="")
            self._prefix = first[
                : next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
            ]
        return self._prefix

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

    def task_ids(self, ordinals: Sequence[int], before: str = "", after: str = "") -> list[str]:
        """Return the ids of many tasks, each between two texts."""
        return [f"{before}{self._specs[ordinal].id}{after}" for ordinal in ordinals]

    def spec(self, ordinal: int) -> TaskSpec:
        """Return the body of a task."""
        return self._specs[ordinal]

    def command_line(self, ordinal: int) -> str:
        """Return the command line of a task."""
        return self._specs[ordinal].command_line

    def command_lines(self, ordinals: Sequence[int]) -> list[str]:
        """Return the command lines of many tasks."""
        return [self._specs[ordinal].command_line for ordinal in ordinals]

    def output_path(self, ordinal: int, output: int) -> str:
        """Return the path in the container that an output file of a task names; empty without one."""
        return self._specs[ordinal].output_files[output].destination.container.path or ""

    def ordinal_of(self, task_id: str) -> int | None:
        """Return the ordinal of the task with this id; None if there is none. Case is ignored (GEN-1)."""
        return self.ordinals.get(task_id.lower())


class SelectedTasks:
    """Some tasks of another source as the source of a block."""

    def __init__(self, source: TaskSource, ordinals: Sequence[int]) -> None:
        """Hold the tasks with these ordinals, which ascend."""
        self._source = source
        self._ordinals = ordinals

    @property
    def count(self) -> int:
        """The number of tasks."""
        return len(self._ordinals)

    @property
    def id_prefix(self) -> str:
        """The text in lower case with which all ids begin."""
        return self._source.id_prefix

    @property
    def ids_rise(self) -> bool:
        """True if the ids certainly rise from task to task as people count."""
        return self._source.ids_rise

    @property
    def command_lines_rise(self) -> bool:
        """True if the command lines certainly rise from task to task as people count, or are equal."""
        return self._source.command_lines_rise

    def task_id(self, ordinal: int) -> str:
        """Return the id of a task."""
        return self._source.task_id(self._ordinals[ordinal])

    def task_ids(self, ordinals: Sequence[int], before: str = "", after: str = "") -> list[str]:
        """Return the ids of many tasks, each between two texts."""
        return self._source.task_ids([self._ordinals[ordinal] for ordinal in ordinals], before, after)

    def spec(self, ordinal: int) -> TaskSpec:
        """Return the body of a task."""
        return self._source.spec(self._ordinals[ordinal])

    def command_line(self, ordinal: int) -> str:
        """Return the command line of a task."""
        return self._source.command_line(self._ordinals[ordinal])

    def command_lines(self, ordinals: Sequence[int]) -> list[str]:
        """Return the command lines of many tasks."""
        return self._source.command_lines([self._ordinals[ordinal] for ordinal in ordinals])

    def output_path(self, ordinal: int, output: int) -> str:
        """Return the path in the container that an output file of a task names; empty without one."""
        return self._source.output_path(self._ordinals[ordinal], output)

    def ordinal_of(self, task_id: str) -> int | None:
        """Return the ordinal of the task with this id; None if there is none. Case is ignored (GEN-1)."""
        ordinal = self._source.ordinal_of(task_id)
        at = -1 if ordinal is None else bisect_left(self._ordinals, ordinal)
        return at if 0 <= at < len(self._ordinals) and self._ordinals[at] == ordinal else None


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
