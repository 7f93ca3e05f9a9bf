"""The trace of a run in the format of Chrome's trace viewer, which Perfetto and the browsers open.

Each node is a process of the trace and each of its task slots a thread; boots, start tasks, preparations and releases
have threads of their own. A process for the run has resizes and faults as instants, and curves as counters: the same
series that the dashboard draws. Times are microseconds of simulated time since the start of the run.

The spans of time that nodes spend on processes and in states are read from the log in one pass. Each attempt of a task,
subtask, preparation, release or start task is a span of its own, and so is each time that a node was neither idle nor
running. A span lies on one or more *tracks* of its node, on which no other span overlaps it.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import READY
from engine.base.log import LogSubject, to_json
from engine.base.terms import InstanceState, NodeState, TaskState
from engine.base.values import format_utc, visible_json
from engine.views.log.reader import is_event, matching
from engine.views.log.series import RunSeries
from engine.views.resources.jobs import cost_so_far

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engine import Simulation
    from engine.base.log import Shape
    from engine.views.log.series import Axis


_COLUMNS = 1_000
_DECIMALS, _COST_DECIMALS = 3, 6


class CounterSample(NamedTuple):
    """The values of a counter from ``when_ms`` on, in ms since the start."""

    name: str
    when_ms: int
    values: Mapping[str, float]


def counters(simulation: Simulation) -> Iterator[CounterSample]:
    """Yield the samples of each counter, where its values change.

    Numbers of nodes and tasks are means over a thousandth of the run, from its begin; the cost is that so far, at the
    end of each thousandth and now.
    """
    series = RunSeries(simulation)
    for pool_id in dict.fromkeys(pool.id for pool in simulation.world.pools.rows):
        nodes = series.of_pool(pool_id, _COLUMNS)
        curves = {"running": nodes.running, "idle": nodes.idle, "starting": nodes.starting, "down": nodes.down}
        yield from _changes(f"nodes of {pool_id}", nodes.axis, curves)
        yield from _changes(f"target nodes of {pool_id}", nodes.axis, {"target": nodes.target})
    tasks = series.of_job(None, _COLUMNS)
    yield from _changes("running tasks", tasks.axis, {"running": tasks.running})
    yield from _changes("waiting tasks", tasks.axis, {"waiting": tasks.waiting})
    whole, currency = series.of_pool(None, _COLUMNS), simulation.scenario.currency
    for edge, usd in zip(whole.axis.edges[1:], whole.usd, strict=True):
        yield CounterSample("cost", edge * whole.axis.every_ms, {currency: round(usd, _COST_DECIMALS)})
    yield CounterSample("cost", simulation.now_ms, {currency: round(cost_so_far(simulation), _COST_DECIMALS)})


def _changes(name: str, axis: Axis, curves: Mapping[str, Sequence[float]]) -> Iterator[CounterSample]:
    before: tuple[float, ...] = ()
    for edge, *values in zip(axis.edges, *curves.values(), strict=False):  # the last edge begins no column
        rounded = tuple(round(value, _DECIMALS) for value in values)
        if rounded != before:
            yield CounterSample(name, edge * axis.every_ms, dict(zip(curves, rounded, strict=True)))
        before = rounded


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
    named = [name for name in (_OF_BEGIN if begins else _OF_END) if name in fields]
    details = "".join(f',"{name}":{to_json(fields[name])}' for name in named)
    return _Meaning(category, begins, subtask, details=details)


_Key = tuple[SpanCategory, int, int]  # the category, and the two numbers that tell apart what can be open at a time


class SpanReader:
    """Reads the spans of a run."""

    def __init__(self, simulation: Simulation) -> None:
        """Create an empty reader."""
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
    is_task = meaning.category in (SpanCategory.TASK, SpanCategory.SUBTASK)
    owner = -1 if meaning.category is SpanCategory.STATE else row
    return meaning.category, owner, meaning.subtask if is_task else node


_US = 1_000  # in a ms
_RUN = 1  # the process of the run itself; viewers treat process and thread 0 in a way of their own
_INSTANTS = {"PoolResizeStart": "resize", "PoolResizeComplete": "resize", "FaultInjected": "fault"}
_GROUP_ORDER = {group: number for number, group in enumerate(TrackGroup)}
_MOST_TRACKS = 1_000  # of a group, for the order of threads
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def trace_lines(simulation: Simulation) -> Iterator[str]:
    """Yield the trace as JSON text without line ends, one event a line: a million tasks need no more memory."""
    yield '{"traceEvents":['
    yield from _separated(_Trace(simulation).events())
    start = format_utc(simulation.scenario.start, 0)
    about = {"scenario": simulation.scenario.name, "seed": simulation.seed, "startTime": start}
    yield f'],"displayTimeUnit":"ms","otherData":{visible_json(_encode(about))}}}'


def _separated(lines: Iterable[str]) -> Iterator[str]:
    last: str | None = None
    for line in lines:
        if last is not None:
            yield f"{last},"
        last = line
    if last is not None:
        yield last


def _metadata(name: str, pid: int, tid: int | None, args: Mapping[str, object]) -> str:
    thread = {} if tid is None else {"tid": tid}
    return _encode({"ph": "M", "name": name, "pid": pid, **thread, "args": args})


class _Trace:
    """Makes the events of one run."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        world = simulation.world
        in_order = (node for pool in world.pools.rows for node in pool.nodes)
        self._pids = {node: pid for pid, node in enumerate(in_order, start=_RUN + 1)}
        # Threads are numbered through all processes: some viewers take equal numbers for the same thread.
        self._tids: dict[tuple[int, TrackGroup, int], int] = {}

    def events(self) -> Iterator[str]:
        """Yield the events, each as one JSON object."""
        yield _metadata("process_name", _RUN, None, {"name": "run"})
        yield _metadata("process_sort_index", _RUN, None, {"sort_index": _RUN})
        yield _metadata("thread_name", _RUN, 1, {"name": "resizes and faults"})
        nodes = self._simulation.world.nodes
        for node, pid in self._pids.items():
            name = self._simulation.names.node(node)
            yield _metadata("process_name", pid, None, {"name": name})
            yield _metadata("process_labels", pid, None, {"labels": nodes[node].id})
            yield _metadata("process_sort_index", pid, None, {"sort_index": pid})
        yield from self._instants()
        for counter in counters(self._simulation):
            ts = counter.when_ms * _US
            yield _encode({"ph": "C", "name": counter.name, "pid": _RUN, "ts": ts, "args": counter.values})
        for span in SpanReader(self._simulation).read():
            yield from self._span(span)

    # -- instants ------------------------------------------------------------------------------------------------

    def _instants(self) -> Iterator[str]:
        log = self._simulation.log
        for at in matching(log, is_event(*_INSTANTS)):
            shape = log.shapes[log.shape_of[at]]
            fields = dict(shape.fields)
            name = str(fields.get("command", shape.event))
            ids = self._simulation.names.ids(shape.subject, log.row_a[at], log.row_b[at])
            args = f"{{{(ids + shape.tail).removeprefix(',')}}}"
            instant = {"ph": "i", "s": "g", "cat": _INSTANTS[shape.event], "name": name, "pid": _RUN, "tid": 1}
            yield f'{_encode(instant).removesuffix("}")},"ts":{log.when[at] * _US},"args":{args}}}'

    # -- spans ---------------------------------------------------------------------------------------------------

    def _span(self, span: NodeSpan) -> Iterator[str]:
        """Yield a span on each of its tracks: one has its own category, further ones are ``slot``."""
        pid = self._pids[span.node]
        name = _encode(self._name(span))
        job = self._job(span)
        ids = f"{job}{self._simulation.names.node_ids(span.node)}{span.details}".removeprefix(",")
        begin = f'"ts":{span.begin_ms * _US}'
        times = begin if span.end_ms is None else f'{begin},"dur":{(span.end_ms - span.begin_ms) * _US}'
        phase = "B" if span.end_ms is None else "X"
        for place, track in enumerate(span.tracks):
            key = span.node, span.group, track
            if key not in self._tids:
                yield from self._thread(pid, key)
            category = span.category.value if place == 0 else "slot"
            yield (
                f'{{"ph":"{phase}","cat":"{category}","name":{name},"pid":{pid},"tid":{self._tids[key]},{times},'
                f'"args":{{{ids}}}}}'
            )

    def _thread(self, pid: int, key: tuple[int, TrackGroup, int]) -> Iterator[str]:
        _, group, track = key
        tid = self._tids[key] = len(self._tids) + 2  # after the one of the run
        name = f"{group.value} {track + 1}" if group is TrackGroup.SLOT or track else group.value
        yield _metadata("thread_name", pid, tid, {"name": name})
        order = _GROUP_ORDER[group] * _MOST_TRACKS + track
        yield _metadata("thread_sort_index", pid, tid, {"sort_index": order})

    def _name(self, span: NodeSpan) -> str:
        world = self._simulation.world
        match span.category:
            case SpanCategory.STATE:
                assert span.state is not None
                return span.state.wire
            case SpanCategory.START_TASK:
                return "start task"
            case SpanCategory.PREPARATION | SpanCategory.RELEASE:
                spec = world.jobs[span.row].spec
                hook = spec.job_preparation_task if span.category is SpanCategory.PREPARATION else spec.job_release_task
                assert hook is not None
                return hook.id
            case _:
                return world.tasks.task_id(span.row)

    def _job(self, span: NodeSpan) -> str:
        """Return the id of the span's job as a JSON member."""
        match span.category:
            case SpanCategory.STATE | SpanCategory.START_TASK:
                return ""
            case SpanCategory.PREPARATION | SpanCategory.RELEASE:
                job = span.row
            case _:
                job = self._simulation.world.tasks.profile_of(span.row).job
        return self._simulation.names.job_ids(job)
