"""The spans of time that nodes spend on processes and in states, read from the log in one pass.

Each attempt of a task, subtask, preparation, release or start task is a span of its own, and so is each time that a
node was neither idle nor running. A span lies on one or more *tracks* of its node, on which no other span overlaps it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from engine.base.node_states import READY
from engine.base.terms import InstanceState, NodeState, TaskState
from engine.events.log import LogSubject, to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation
    from engine.events.log import Shape


class TrackGroup(Enum):
    """A group of tracks of a node, in the order in which they are shown."""

    STATE = "state"
    START_TASK = "start task"
    HOOK = "preparation and release"
    SLOT = "slot"


class SpanCategory(Enum):
    """The kind of a span, with its name in a trace."""

    STATE = "node"
    START_TASK = "startTask"
    PREPARATION = "preparation"
    RELEASE = "release"
    TASK = "task"
    SUBTASK = "subtask"


_GROUPS = {
    SpanCategory.STATE: TrackGroup.STATE,
    SpanCategory.START_TASK: TrackGroup.START_TASK,
    SpanCategory.PREPARATION: TrackGroup.HOOK,
    SpanCategory.RELEASE: TrackGroup.HOOK,
    SpanCategory.TASK: TrackGroup.SLOT,
    SpanCategory.SUBTASK: TrackGroup.SLOT,
}
_HOOKS = {
    "StartTaskStateChanged": SpanCategory.START_TASK,
    "JobPreparationTaskStateChanged": SpanCategory.PREPARATION,
    "JobReleaseTaskStateChanged": SpanCategory.RELEASE,
}
_TASKS = {"TaskStateChanged": SpanCategory.TASK, "SubtaskStateChanged": SpanCategory.SUBTASK}
# The start task runs on, or has ended by itself, when its node comes into these states; others interrupt it (START-8).
_START_TASK_GOES_ON = (
    *READY,
    NodeState.OFFLINE,
    NodeState.UNKNOWN,
    NodeState.WAITING_FOR_START_TASK,
    NodeState.START_TASK_FAILED,
)
_OF_BEGIN, _OF_END = ("subtaskId", "attempt"), ("exitCode", "result", "failureInfo", "rule")


class NodeSpan(NamedTuple):
    """A span of time on a node. Times are ms since the start; without an end it still lasts."""

    category: SpanCategory
    row: int  # the task, or the job of a preparation or release; -1 without either
    node: int
    group: TrackGroup
    tracks: tuple[int, ...]  # numbers within the group, from 0
    begin_ms: int
    end_ms: int | None
    state: NodeState | None  # of a span of category STATE
    details: str  # attempt, exit code and so on as JSON members, each with a leading comma


class _Meaning(NamedTuple):
    """The effect of all entries of one shape."""

    category: SpanCategory
    begins: bool
    subtask: int = 0
    state: NodeState | None = None
    details: str = ""


def _members(fields: dict[str, object], names: tuple[str, ...]) -> str:
    return "".join(f',"{name}":{to_json(fields[name])}' for name in names if name in fields)


def _meaning(shape: Shape) -> _Meaning | None:
    fields: dict[str, object] = dict(shape.fields)
    new = fields.get("to")
    if shape.event == "NodeStateChanged":
        return _Meaning(
            SpanCategory.STATE, new not in (*READY, None), state=new if isinstance(new, NodeState) else None
        )
    if shape.event in _HOOKS:
        category, begins = _HOOKS[shape.event], new in (InstanceState.RUNNING, InstanceState.RUNNING.wire)
    elif shape.event in _TASKS and shape.subject is LogSubject.TASK and TaskState.RUNNING in (fields["from"], new):
        category, begins = _TASKS[shape.event], new == TaskState.RUNNING
    else:
        return None
    subtask = fields.get("subtaskId", 0)
    assert isinstance(subtask, int)
    return _Meaning(category, begins, subtask, details=_members(fields, _OF_BEGIN if begins else _OF_END))


_Key = tuple[SpanCategory, int, int]  # the category, and the two numbers that tell apart what can be open at a time


class SpanReader:
    """Reads the spans of a run."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin with nothing read."""
        self._simulation = simulation
        self._open: dict[_Key, NodeSpan] = {}
        self._taken: dict[tuple[int, TrackGroup], list[bool]] = {}  # by node: which tracks are in use

    def read(self) -> Iterator[NodeSpan]:
        """Yield each span when it ends, in the order of the log, then those that last until now, by their begin."""
        log = self._simulation.log
        meanings = [_meaning(shape) for shape in log.shapes]
        for when_ms, shape, row, node in zip(log.when, log.shape_of, log.row_a, log.row_b, strict=True):
            meaning = meanings[shape]
            if meaning is None:
                continue
            category = meaning.category
            if category is SpanCategory.STATE:
                yield from self._interrupt_start_task(when_ms, meaning.state, node)
            key = _key(meaning, row, node)
            before = self._open.pop(key, None)
            if before is not None:
                yield self._ended(before, when_ms, "" if meaning.begins else meaning.details)
            if meaning.begins:
                self._open[key] = self._begun(when_ms, meaning, row, node)
        yield from self._open.values()

    def _interrupt_start_task(self, when_ms: int, state: NodeState | None, node: int) -> Iterator[NodeSpan]:
        if state in _START_TASK_GOES_ON:
            return
        stopped = self._open.pop((SpanCategory.START_TASK, -1, node), None)
        if stopped is not None:
            yield self._ended(stopped, when_ms, ',"interrupted":true')

    def _begun(self, when_ms: int, meaning: _Meaning, row: int, node: int) -> NodeSpan:
        category, group = meaning.category, _GROUPS[meaning.category]
        is_task = category in (SpanCategory.TASK, SpanCategory.SUBTASK)
        count = self._simulation.world.tasks.profile_of(row).required_slots if is_task else 1
        named = -1 if category is SpanCategory.STATE else row
        return NodeSpan(
            category, named, node, group, self._take(node, group, count), when_ms, None, meaning.state, meaning.details
        )

    def _ended(self, span: NodeSpan, when_ms: int, details: str) -> NodeSpan:
        taken = self._taken[span.node, span.group]
        for track in span.tracks:
            taken[track] = False
        return span._replace(end_ms=when_ms, details=span.details + details)

    def _take(self, node: int, group: TrackGroup, count: int) -> tuple[int, ...]:
        """Return the first free tracks of a node, and mark them as taken."""
        taken = self._taken.setdefault((node, group), [])
        tracks = [number for number, is_taken in enumerate(taken) if not is_taken][:count]
        while len(tracks) < count:
            tracks.append(len(taken))
            taken.append(True)
        for track in tracks:
            taken[track] = True
        return tuple(tracks)


def _key(meaning: _Meaning, row: int, node: int) -> _Key:
    match meaning.category:
        case SpanCategory.TASK | SpanCategory.SUBTASK:
            return meaning.category, row, meaning.subtask
        case SpanCategory.STATE:
            return meaning.category, -1, node
        case _:
            return meaning.category, row, node
