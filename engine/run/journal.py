"""The records that a simulation keeps beside its world: the journal, checkpoints, and names of rows for the log.

A run is determined by a scenario, a seed and the journal, which has all inputs in the order in which they take effect,
from the scenario and by hand. All commands of one millisecond are executed together, in the order of their numbers, so
that a command given by hand replays exactly from a saved scenario.

Checkpoints are copies of the world at some moments of a run, thinned out to bound memory. The names of a log entry's
subject are its ids as cached JSON members (see ``engine.base.log``).
"""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum, auto
from functools import cache
from json.encoder import encode_basestring as _quoted
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from engine.base.calendar import DueKind
from engine.base.log import LogSubject
from engine.base.values import visible_json
from engine.rules.commands import NOTHING, Extras
from engine.specs.command import Command
from engine.specs.commands import FAULTS
from engine.state.files import NO_TASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.rules.processes.setup import Work
    from engine.run.conditions import RefusedCommand
    from engine.scenario.model import TimelineEntry
    from engine.shell.protocol import Launch
    from engine.state.tables import Values
    from engine.state.task_records import TaskBlock
    from engine.world import World, WorldCopy


class Origin(Enum):
    """The origin of an input."""

    SCENARIO = auto()
    CONDITION = auto()  # a `when` of the scenario became true
    HAND = auto()
    PROCESS = auto()  # a process that really runs has ended


_OUTSIDE = (Origin.HAND, Origin.PROCESS)


class ProcessEnded(Command, abstract=True):
    """The end of a process that really ran: no command, but an input. ``start`` is the number of its start."""

    NAME = "processEnded"

    start: int
    seen: Any  # a ``Seen``, which is no body


class Pace(Protocol):
    """The pace of real programs."""

    @property
    def speed(self) -> float | None:
        """Simulated seconds per real second while programs run; None while none does."""

    def advance(self, until_ms: int, max_events: int) -> bool:
        """Process calendar entries as far as the programs have come; return whether more are due now."""

    def environment(self, node: int, launch: Launch, work: Work) -> dict[str, str]:
        """Return the variables that the program of a process sees, by name."""


class Input(NamedTuple):
    """A command or fault and the time at which it takes effect, in ms since the scenario's start."""

    when_ms: int
    number: int  # orders inputs of the same millisecond
    origin: Origin
    command: Command
    extras: Extras = NOTHING
    refused: str | None = None  # the code with which the service is expected to refuse it

    @property
    def kind(self) -> DueKind:
        """The kind of its calendar entry: faults precede commands of the same millisecond."""
        return DueKind.FAULT if type(self.command) in FAULTS else DueKind.COMMAND

    @property
    def order(self) -> tuple[int, int, int]:
        """The sort key among all inputs."""
        return self.when_ms, self.kind, self.number


class Journal:
    """All inputs in order; the first ``done`` of them have taken effect.

    ``changes`` counts the additions and removals of inputs given by hand.
    """

    def __init__(self) -> None:
        """Create an empty journal."""
        self.inputs: list[Input] = []
        self.done = 0
        self.changes = 0
        self._next_number = 0

    def next_number(self) -> int:
        """Return the next free number."""
        self._next_number += 1
        return self._next_number

    def add(self, new: Input) -> None:
        """Add an input that has not taken effect yet."""
        last = self.inputs[-1] if self.inputs else None  # a scenario is in order, mostly
        if last is None or last.when_ms < new.when_ms or last.order <= new.order:
            self.inputs.append(new)
        else:
            at = bisect_right(self.inputs, new.order, key=lambda one: one.order)
            self.inputs.insert(max(at, self.done), new)
        self.changes += new.origin is Origin.HAND

    @property
    def upcoming(self) -> tuple[int, DueKind] | None:
        """When the next input takes effect, in ms since the start, and its kind; None if none is left."""
        if self.done == len(self.inputs):
            return None
        first = self.inputs[self.done]
        return first.when_ms, first.kind

    def take_due(self, now_ms: int, kind: DueKind) -> list[Input]:
        """Return the inputs of this kind that are due, in order, and count them as done."""
        due: list[Input] = []
        while self.done < len(self.inputs):
            first = self.inputs[self.done]
            if first.when_ms > now_ms or first.kind > kind:
                break
            due.append(first)
            self.done += 1
        return due

    def pending(self) -> list[Input]:
        """Return the inputs that have not taken effect."""
        return self.inputs[self.done :]

    def by_hand(self) -> list[Input]:
        """Return the inputs given by hand, also those ahead of the shown moment: a saved scenario adds them."""
        return [one for one in self.inputs if one.origin is Origin.HAND]

    def of_scenario(self) -> list[Input]:
        """Return the inputs that the scenario gives at a time, in its order."""
        return sorted((one for one in self.inputs if one.origin is Origin.SCENARIO), key=lambda one: one.number)

    @property
    def has_ends_ahead(self) -> bool:
        """True if a process that really ran has ended later than what is shown."""
        return any(one.origin is Origin.PROCESS for one in reversed(self.inputs[self.done :]))

    def from_outside(self) -> list[Input]:
        """Return the inputs that another simulation of the scenario needs to have the same log."""
        return [one for one in self.inputs if one.origin in _OUTSIDE]

    def rewind(self, done: int, conditions: tuple[Input, ...]) -> None:
        """Return to an earlier time: keep only ``conditions`` of the inputs made by conditions, and all others."""
        kept = [one for one in self.inputs if one.origin is not Origin.CONDITION] + list(conditions)
        self.inputs = sorted(kept, key=lambda one: one.order)
        self.done = done

    def conditions(self) -> tuple[Input, ...]:
        """Return the inputs made by conditions so far."""
        return tuple(one for one in self.inputs if one.origin is Origin.CONDITION)

    def forget_future(self) -> tuple[Input, ...]:
        """Drop the future inputs given by hand, so that the past becomes the present; return those."""
        future = self.pending()
        dropped = tuple(one for one in future if one.origin is Origin.HAND)
        self.inputs = self.inputs[: self.done] + [one for one in future if one.origin not in _OUTSIDE]
        self.changes += len(dropped)
        return dropped


def common_inputs(some: Sequence[Input], others: Sequence[Input]) -> int:
    """Return how many inputs both begin with."""
    pairs = zip(some, others, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one is not other), min(len(some), len(others)))


# Beyond this number every second checkpoint is dropped and the distance doubles.
MOST_CHECKPOINTS = 192
FIRST_DISTANCE = 8192  # log entries


class Checkpoint(NamedTuple):
    """Everything that can change, as it was at ``now_ms``."""

    now_ms: int
    world: WorldCopy
    done: int
    conditions: tuple[Input, ...]
    waiting: tuple[TimelineEntry, ...]
    refusals: tuple[RefusedCommand, ...]
    expectations: Values


class Checkpoints:
    """Checkpoints in order of time. The first one, at the start of the run, is never dropped."""

    def __init__(self) -> None:
        """Create an empty collection."""
        self._all: list[Checkpoint] = []
        self._distance = FIRST_DISTANCE
        self._next_length = 0

    def __len__(self) -> int:
        return len(self._all)

    def is_due(self, log_length: int) -> bool:
        """Return whether the log has grown enough since the last checkpoint."""
        return log_length >= self._next_length

    def add(self, checkpoint: Checkpoint) -> None:
        """Add a checkpoint, unless there is a later one.

        Most of the cost of a checkpoint is copying what is alive, so the next one is the farther away the more that is.
        """
        length = checkpoint.world.log_length
        self._next_length = length + max(self._distance, checkpoint.world.alive)
        if self._all and self._all[-1].world.log_length >= length:
            return
        self._all.append(checkpoint)
        if len(self._all) > MOST_CHECKPOINTS:
            del self._all[1::2]
            self._distance *= 2

    def nearest(self, when_ms: int) -> Checkpoint:
        """Return the last checkpoint before ``when_ms``, from which that moment can be reached by replay."""
        at = bisect_right(self._all, when_ms, key=lambda one: one.now_ms)
        while at > 1 and self._all[at - 1].now_ms == when_ms:
            at -= 1
        return self._all[max(at - 1, 0)]

    def forget_after(self, when_ms: int) -> None:
        """Drop the checkpoints of a discarded future."""
        del self._all[max(1, bisect_right(self._all, when_ms, key=lambda one: one.now_ms)) :]
        self._next_length = self._all[-1].world.log_length + self._distance


class RowNames:
    """Ids by row, as JSON members for the lines of the log, and names by row."""

    def __init__(self, world: World) -> None:
        """Create the names of this world's rows."""
        self._world = world
        self.node_ids = cache(self._node_ids)
        self.job_ids = cache(self._job_ids)

    def pool_ids(self, pool: int) -> str:
        """Return the id of a pool."""
        return f',"poolId":{_quoted(self._world.pools[pool].id)}'

    def _node_ids(self, node: int) -> str:
        """Return the ids of a node and its pool."""
        record = self._world.nodes[node]
        return f'{self.pool_ids(record.pool)},"nodeId":{_quoted(record.id)}'

    def _job_ids(self, job: int) -> str:
        """Return the id of a job."""
        return f',"jobId":{_quoted(self._world.jobs[job].id)}'

    def tasks_ids(self, tasks: Sequence[int]) -> list[str]:
        """Return the ids of each of these tasks and its job."""
        return self._world.tasks.texts_of(tasks, self._of_block)

    def _of_block(self, block: TaskBlock, ordinals: list[int]) -> list[str]:
        """Return the ids of tasks that were added together; JSON escapes no character of such an id (GEN-1)."""
        return block.source.task_ids(ordinals, f'{self.job_ids(block.job)},"taskId":"', '"')

    def ids(self, subject: LogSubject, row_a: int, row_b: int) -> str:
        """Return the ids of a subject that is neither a task nor a block of them, of an upload its URL and size too."""
        match subject:
            case LogSubject.INSTANCE if row_a >= 0:
                return self.node_ids(row_b) + self.job_ids(row_a)
            case LogSubject.NODE | LogSubject.INSTANCE:
                return self.node_ids(row_b)
            case LogSubject.JOB:
                return self.job_ids(row_a)
            case LogSubject.POOL:
                return self.pool_ids(row_a)
            case LogSubject.SCHEDULE:
                return f',"scheduleId":{_quoted(self._world.job_schedules[row_a].id)}'
            case LogSubject.UPLOAD:
                blob = self._world.blobs[row_a]
                task = "" if blob.task == NO_TASK else self.tasks_ids([blob.task])[0]
                url = visible_json(_quoted(blob.url))
                return f'{self.node_ids(row_b)}{task},"url":{url},"bytes":{blob.content.size}'
        return ""

    # -- for people -------------------------------------------------------------------------------------------------

    def node(self, node: int) -> str:
        """Return the scenario's name of a node: its index in the pool."""
        record = self._world.nodes[node]
        return f"node {record.position} of {self._world.pools[record.pool].id}"

    def forget(self) -> None:
        """Clear the cache: rows may stand for something else after a branch."""
        self.node_ids.cache_clear()
        self.job_ids.cache_clear()
