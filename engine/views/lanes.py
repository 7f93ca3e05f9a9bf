"""Lanes: what each node did when, read from the log, that which was recorded after the present moment included.

Two steps keep this quick for ten thousand nodes. ``Lanes`` notes for every entry which node it concerns, looking only
at entries that are new; a ``Lane`` reads a node's own entries when somebody looks at that node.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from engine.terms import InstanceState, JobState, NodeState, TaskResult, TaskState

if TYPE_CHECKING:
    from engine import Simulation
    from engine.log import EventLog, Shape


class Doing(Enum):
    """What a node does."""

    ABSENT = auto()  # not in its pool yet, or no more
    CHANGING = auto()  # neither idle nor running: its state says what
    IDLE = auto()
    BARRED = auto()  # idle, and a job may not come here before a reimage (PREP-9)
    PREPARING = auto()
    RETRYING = auto()  # preparation, not its first try (PREP-12)
    WORKING = auto()
    RELEASING = auto()
    FAILED = auto()  # lasts no time: preparation, release or start task failed, or the node did


class Stretch(NamedTuple):
    """From ``begin_ms`` on, until the next one begins, a node does this; ``state`` is the node's own."""

    begin_ms: int
    doing: Doing
    state: NodeState | None


_NOWHERE = Stretch(0, Doing.ABSENT, None)
_READY = (NodeState.IDLE, NodeState.RUNNING)
_BROKEN = (NodeState.UNUSABLE, NodeState.START_TASK_FAILED, NodeState.UNKNOWN, NodeState.PREEMPTED)
# What always shows, however short it was, and which of them first.
_ALWAYS_SHOWN = (Doing.FAILED, Doing.RETRYING, Doing.PREPARING)


class _Step(Enum):
    """What an entry of the log does to a node."""

    STATE = auto()
    TASK_BEGINS = auto()
    TASK_ENDS = auto()
    PREPARATION_BEGINS = auto()
    PREPARATION_ENDS = auto()
    RELEASE_BEGINS = auto()
    RELEASE_ENDS = auto()
    JOB_CHANGES = auto()  # the state of a job, which ends the bars that it had put up


class _Meaning(NamedTuple):
    step: _Step
    state: NodeState | JobState | None = None
    has_failed: bool = False
    bars: bool = False


_HOOKS = {
    "JobPreparationTaskStateChanged": (_Step.PREPARATION_BEGINS, _Step.PREPARATION_ENDS),
    "JobReleaseTaskStateChanged": (_Step.RELEASE_BEGINS, _Step.RELEASE_ENDS),
}


def _meaning(shape: Shape) -> _Meaning | None:
    """What entries of a shape do to a node; None where nothing."""
    fields = dict(shape.fields)
    old, new = fields.get("from"), fields.get("to")
    match shape.event:
        case "NodeStateChanged":
            state = new if isinstance(new, NodeState) else None
            return _Meaning(_Step.STATE, state, has_failed=state in _BROKEN)
        case "TaskStateChanged" | "SubtaskStateChanged" if TaskState.RUNNING in (old, new):
            return _Meaning(_Step.TASK_BEGINS if new == TaskState.RUNNING else _Step.TASK_ENDS)
        case "JobStateChanged":
            return _Meaning(_Step.JOB_CHANGES, new if isinstance(new, JobState) else None)
        case hook if hook in _HOOKS:
            has_failed = fields.get("result") is TaskResult.FAILURE
            step = _HOOKS[hook][new is not InstanceState.RUNNING]
            return _Meaning(step, None, has_failed, fields.get("rule") == "PREP-9")
    return None


_NOTHING, _OF_NODE, _FAILS, _BARS, _OF_JOB = range(5)
_JOB_IS_OVER = (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING, None)


def _interest(meaning: _Meaning | None) -> int:
    """What is to be done with entries of this meaning when they are read first."""
    if meaning is None:
        return _NOTHING
    if meaning.step is _Step.JOB_CHANGES:
        return _OF_JOB
    return _BARS if meaning.bars else _FAILS if meaning.has_failed else _OF_NODE


class Lane:
    """One node's stretches, in order. It goes on where it stopped when the log has grown."""

    def __init__(self) -> None:
        """A node of which nothing has been read."""
        self.begins = array("q")  # when each stretch began
        self.stretches: list[Stretch] = []
        self.task_begins = array("q")
        self.read = 0  # entries of this node that have been read
        self._state: NodeState | None = None
        self._tasks = 0
        self._preparing: dict[int, bool] = {}  # job -> whether it is a retry
        self._releasing: set[int] = set()
        self._barred: set[int] = set()

    def take(self, when_ms: int, meaning: _Meaning, row: int) -> None:
        """The next entry: what it means, and the job or task that it is about."""
        match meaning.step:
            case _Step.TASK_BEGINS:
                self._tasks += 1
                self.task_begins.append(when_ms)
            case _Step.TASK_ENDS:
                self._tasks -= 1
            case _Step.PREPARATION_BEGINS:
                self._preparing[row] = row in self._preparing
            case _Step.PREPARATION_ENDS:
                self._preparing.pop(row, None)
                if meaning.bars:
                    self._barred.add(row)
            case _Step.RELEASE_BEGINS:
                self._releasing.add(row)
            case _Step.RELEASE_ENDS:
                self._releasing.discard(row)
            case _Step.JOB_CHANGES:
                self._barred.discard(row)
            case _Step.STATE:
                self._enter(meaning.state if isinstance(meaning.state, NodeState) else None)
        if meaning.has_failed:
            self._add(Stretch(when_ms, Doing.FAILED, self._state))
        doing = self._doing()
        last = self.stretches[-1] if self.stretches else _NOWHERE
        if doing is not last.doing or self._state is not last.state:
            self._add(Stretch(when_ms, doing, self._state))

    def _add(self, stretch: Stretch) -> None:
        self.begins.append(stretch.begin_ms)
        self.stretches.append(stretch)

    def _enter(self, state: NodeState | None) -> None:
        self._state = state
        if state not in _READY:  # whatever ran there runs no more
            self._preparing.clear()
            self._releasing.clear()
        if state is NodeState.REIMAGING:
            self._barred.clear()

    def _doing(self) -> Doing:
        if self._state is None:
            return Doing.ABSENT
        if self._state not in _READY:
            return Doing.CHANGING
        if self._preparing:
            return Doing.RETRYING if any(self._preparing.values()) else Doing.PREPARING
        if self._tasks > 0:
            return Doing.WORKING
        if self._releasing:
            return Doing.RELEASING
        return Doing.BARRED if self._barred else Doing.IDLE

    # -- looked at -----------------------------------------------------------------------------------------------

    def at(self, when_ms: int) -> Stretch:
        """What the node did at a moment."""
        number = bisect_right(self.begins, when_ms)
        return self.stretches[number - 1] if number else _NOWHERE

    def until_ms(self, when_ms: int) -> int | None:
        """When the stretch of this moment ended; None while it has not."""
        number = bisect_right(self.begins, when_ms)
        return self.begins[number] if number < len(self.begins) else None

    def shown(self, begin_ms: int, end_ms: int) -> Stretch:
        """What filled most of a time; a failure always shows, and so does preparation that began there."""
        number = bisect_right(self.begins, begin_ms - 1)
        if number == len(self.begins) or self.begins[number] >= end_ms:  # one stretch fills all of it
            return self.stretches[number - 1] if number else _NOWHERE
        filled: dict[Doing, int] = {}
        last: dict[Doing, Stretch] = {}
        present = self.stretches[number - 1] if number else _NOWHERE
        from_ms = begin_ms
        while True:
            is_last = number == len(self.begins) or self.begins[number] >= end_ms
            to_ms = end_ms if is_last else self.begins[number]
            filled[present.doing] = filled.get(present.doing, 0) + to_ms - from_ms
            last[present.doing] = present
            if is_last:
                break
            present, from_ms, number = self.stretches[number], to_ms, number + 1
            if present.doing in _ALWAYS_SHOWN:
                filled[present.doing] = end_ms * (len(_ALWAYS_SHOWN) - _ALWAYS_SHOWN.index(present.doing))
        return last[max(filled, key=filled.__getitem__)]

    def tasks_begun(self, begin_ms: int, end_ms: int) -> int:
        """How many tasks began in this time."""
        return bisect_right(self.task_begins, end_ms - 1) - bisect_right(self.task_begins, begin_ms - 1)


class JobStretch(NamedTuple):
    """From ``begin_ms`` on, until the next one begins, a job is in this state; None is deleted."""

    begin_ms: int
    state: JobState | None


class Lanes:
    """All nodes of a run, and its jobs."""

    def __init__(self, simulation: Simulation) -> None:
        """Nothing is read before ``refresh``."""
        self._simulation = simulation
        self._entries: list[array[int]] = []  # node -> numbers of its entries
        self._meanings: list[_Meaning | None] = []  # by shape
        self._lanes: dict[int, Lane] = {}
        self._jobs: dict[int, array[int]] = {}  # job -> numbers of its entries
        self._barred_by: dict[int, list[int]] = {}  # job -> nodes
        self._failed_at: dict[int, int] = {}  # node -> number of the first entry that tells of a failure there
        self._read = 0
        self._cuts_seen = 0
        self.version = 0  # raised when something that was read is no more

    @property
    def _log(self) -> EventLog:
        return self._simulation.log

    def refresh(self) -> None:
        """Read what has been recorded since."""
        log = self._log
        if self._cuts_seen < len(log.cuts):
            self._forget(min(log.cuts[self._cuts_seen :]))
            self._cuts_seen = len(log.cuts)
        if self._read == log.recorded:
            return
        self._meanings += [_meaning(shape) for shape in log.shapes[len(self._meanings) :]]
        interest = bytes(map(_interest, self._meanings))
        _, shape_of, rows, nodes = log.recorded_columns(self._read)
        entries = self._entries
        entries.extend(array("I") for _ in range(self._simulation.world.nodes.length - len(entries)))
        for number, (shape, row, node) in enumerate(zip(shape_of, rows, nodes, strict=True), self._read):
            wanted = interest[shape]
            if not wanted or (node < 0 and wanted != _OF_JOB):
                continue
            if wanted == _OF_JOB:
                self._note_job(number, row)
                continue
            if wanted != _OF_NODE:
                self._failed_at.setdefault(node, number)
                if wanted == _BARS:
                    self._barred_by.setdefault(row, []).append(node)
            if node >= len(entries):
                entries.extend(array("I") for _ in range(node + 1 - len(entries)))
            entries[node].append(number)
        self._read = log.recorded

    def _note_job(self, number: int, job: int) -> None:
        self._jobs.setdefault(job, array("I")).append(number)
        meaning = self._meanings[self._log.recorded_entry(number)[1]]
        if meaning is not None and meaning.state in _JOB_IS_OVER:
            for node in self._barred_by.get(job, ()):
                self._entries[node].append(number)

    def _forget(self, length: int) -> None:
        if length >= self._read:
            return
        self._read = length
        for entries in (*self._entries, *self._jobs.values()):
            del entries[bisect_right(entries, length - 1) :]
        self._failed_at = {node: number for node, number in self._failed_at.items() if number < length}
        self._lanes.clear()
        self.version += 1

    def lane(self, node: int) -> Lane:
        """One node's lane, up to what is recorded."""
        lane = self._lanes.setdefault(node, Lane())
        entries = self._entries[node] if node < len(self._entries) else array("I")
        log, meanings = self._log, self._meanings
        for number in entries[lane.read :]:
            when_ms, shape, row, _ = log.recorded_entry(number)
            meaning = meanings[shape]
            assert meaning is not None
            lane.take(when_ms, meaning, row)
        lane.read = len(entries)
        return lane

    def job(self, job_id: str) -> list[JobStretch]:
        """The states of a job, in order; empty while there is no job of this id."""
        job = self._simulation.world.jobs.find(job_id)
        found = []
        for number in () if job is None else self._jobs.get(job.row, ()):
            when_ms, shape, _, _ = self._log.recorded_entry(number)
            meaning = self._meanings[shape]
            assert meaning is not None
            found.append(JobStretch(when_ms, meaning.state if isinstance(meaning.state, JobState) else None))
        return found

    def has_failed(self, node: int) -> bool:
        """Whether the node, or preparation or release there, has failed in what is recorded."""
        return node in self._failed_at

    @property
    def recorded_ms(self) -> int:
        """How far the recording goes, in ms since the start."""
        log = self._log
        last_ms = log.recorded_entry(log.recorded - 1)[0] if log.recorded else 0
        return max(last_ms, self._simulation.now_ms)

    def tasks_at(self, node: int, when_ms: int) -> list[int]:
        """The tasks that ran on a node at a moment, in the order of their starts."""
        entries = self._entries[node] if node < len(self._entries) else array("I")
        wanted = bisect_right(entries, when_ms, key=lambda number: self._log.recorded_entry(number)[0])
        found: dict[int, None] = {}
        for number in entries[:wanted]:
            _, shape, task, _ = self._log.recorded_entry(number)
            meaning = self._meanings[shape]
            if meaning is not None and meaning.step is _Step.TASK_BEGINS:
                found[task] = None
            elif meaning is not None and meaning.step is _Step.TASK_ENDS:
                found.pop(task, None)
        return list(found)
