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


_STATE, _START_TASK, _SLOT = "node", "startTask", "slot"
_HOOKS = {
    "StartTaskStateChanged": _START_TASK,
    "JobPreparationTaskStateChanged": "preparation",
    "JobReleaseTaskStateChanged": "release",
}
_TASKS = {"TaskStateChanged": "task", "SubtaskStateChanged": "subtask"}
# The groups of tracks of a node, in the order in which they are shown, and the categories of spans in each.
_GROUPS = {
    "state": (_STATE,),
    "start task": (_START_TASK,),
    "preparation and release": ("preparation", "release"),
    _SLOT: ("task", "subtask"),
}
_GROUP_OF = {category: group for group, categories in _GROUPS.items() for category in categories}
# The start task runs on, or has ended by itself, when its node comes into these states; others interrupt it (START-8).
_START_TASK_GOES_ON = (
    *READY,
    NodeState.OFFLINE,
    NodeState.UNKNOWN,
    NodeState.WAITING_FOR_START_TASK,
    NodeState.START_TASK_FAILED,
)
_OF_BEGIN, _OF_END = ("subtaskId", "attempt"), ("exitCode", "result", "failureInfo", "rule")


class _Meaning(NamedTuple):
    """The effect of all entries of one shape on the spans of a node."""

    category: str
    begins: bool
    subtask: int
    state: object  # that the node has come into
    details: str  # attempt, exit code and so on as JSON members, each with a leading comma


def _meaning(shape: Shape) -> _Meaning | None:
    fields: dict[str, object] = dict(shape.fields)
    new = fields.get("to")
    if shape.event == "NodeStateChanged":
        return _Meaning(_STATE, new not in (*READY, None), 0, new, "")
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
    return _Meaning(category, begins, subtask, None, details)


class _Span(NamedTuple):
    """A span of time on a node that has not ended."""

    meaning: _Meaning  # of the entry that began it
    row: int  # the task, or the job of a preparation or release; -1 without either
    node: int
    tracks: Sequence[int]  # numbers within the group, from 0
    begin_ms: int


_US = 1_000  # in a ms
_RUN = 1  # the process of the run itself; viewers treat process and thread 0 in a way of their own
_INSTANTS = {"PoolResizeStart": "resize", "PoolResizeComplete": "resize", "FaultInjected": "fault"}
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
        self._tids: dict[tuple[int, str, int], int] = {}
        self._taken: dict[tuple[int, str], list[bool]] = {}  # by node and group: which tracks are in use

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
        yield from self._spans()

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

    def _spans(self) -> Iterator[str]:
        """Yield each span when it ends, in the order of the log, then those that last until now, by their begin."""
        log = self._simulation.log
        meanings = [_meaning(shape) for shape in log.shapes]
        lasting: dict[tuple[str, int, int], _Span] = {}  # by category and the two numbers that tell those of it apart
        for when_ms, shape, row_a, node in zip(log.when, log.shape_of, log.row_a, log.row_b, strict=True):
            meaning = meanings[shape]
            if meaning is None:
                continue
            row = row_a
            if meaning.category == _STATE:
                row = -1
                if meaning.state not in _START_TASK_GOES_ON:
                    stopped = lasting.pop((_START_TASK, -1, node), None)
                    yield from self._written(stopped, when_ms, ',"interrupted":true')
            is_task = _GROUP_OF[meaning.category] == _SLOT
            key = meaning.category, row, meaning.subtask if is_task else node
            yield from self._written(lasting.pop(key, None), when_ms, "" if meaning.begins else meaning.details)
            if meaning.begins:
                count = self._simulation.world.tasks.profile_of(row).required_slots if is_task else 1
                lasting[key] = _Span(meaning, row, node, self._take(node, _GROUP_OF[meaning.category], count), when_ms)
        for span in lasting.values():
            yield from self._written(span, None, "")

    def _take(self, node: int, group: str, count: int) -> Sequence[int]:
        """Return the first free tracks of a node, and mark them as taken."""
        taken = self._taken.setdefault((node, group), [])
        taken += [False] * (count - taken.count(False))
        tracks = [number for number, is_taken in enumerate(taken) if not is_taken][:count]
        for track in tracks:
            taken[track] = True
        return tracks

    def _written(self, span: _Span | None, end_ms: int | None, details: str) -> Iterator[str]:
        """Yield a span, if there is one, on each of its tracks: one has its category, further ones are ``slot``."""
        if span is None:
            return
        pid, group, category = self._pids[span.node], _GROUP_OF[span.meaning.category], span.meaning.category
        name, job = self._name_and_job(span)
        ids = f"{job}{self._simulation.names.node_ids(span.node)}{span.meaning.details}{details}".removeprefix(",")
        begin = f'"ts":{span.begin_ms * _US}'
        times = begin if end_ms is None else f'{begin},"dur":{(end_ms - span.begin_ms) * _US}'
        phase = "B" if end_ms is None else "X"
        for track in span.tracks:
            key = span.node, group, track
            if key not in self._tids:
                yield from self._thread(pid, key)
            yield (
                f'{{"ph":"{phase}","cat":"{category}","name":{_encode(name)},"pid":{pid},"tid":{self._tids[key]},'
                f'{times},"args":{{{ids}}}}}'
            )
            self._taken[span.node, group][track] = False
            category = _SLOT

    def _thread(self, pid: int, key: tuple[int, str, int]) -> Iterator[str]:
        _, group, track = key
        tid = self._tids[key] = len(self._tids) + 2  # after the one of the run
        name = f"{group} {track + 1}" if group == _SLOT or track else group
        yield _metadata("thread_name", pid, tid, {"name": name})
        order = list(_GROUPS).index(group) * _MOST_TRACKS + track
        yield _metadata("thread_sort_index", pid, tid, {"sort_index": order})

    def _name_and_job(self, span: _Span) -> tuple[str, str]:
        """Return the name of a span, and the id of its job as a JSON member."""
        world, state = self._simulation.world, span.meaning.state
        match span.meaning.category:
            case "node":
                assert isinstance(state, NodeState)
                return state.wire, ""
            case "startTask":
                return "start task", ""
            case "preparation" | "release" as category:
                spec = world.jobs[span.row].spec
                hook = spec.job_preparation_task if category == "preparation" else spec.job_release_task
                assert hook is not None
                return hook.id, self._simulation.names.job_ids(span.row)
            case _:
                job = world.tasks.profile_of(span.row).job
                return world.tasks.task_id(span.row), self._simulation.names.job_ids(job)
