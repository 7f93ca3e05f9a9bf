"""The trace of a run in the format of Chrome's trace viewer, which Perfetto and the browsers open.

Each node is a process of the trace and each of its task slots a thread; boots, start tasks, preparations and releases
have threads of their own. A process for the run has resizes and faults as instants, and curves as counters. Times are
microseconds of simulated time since the start of the run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from engine.base.units import format_utc
from engine.events.log import LogSubject
from engine.views.exports.counters import counters
from engine.views.exports.spans import SpanCategory, SpanReader, TrackGroup
from engine.views.log.reader import matching

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from engine import Simulation
    from engine.events.log import Shape
    from engine.views.exports.spans import NodeSpan

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
    yield f'],"displayTimeUnit":"ms","otherData":{_encode(about)}}}'


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
        for at in matching(log, lambda shape: shape.event in _INSTANTS):
            shape = log.shapes[log.shape_of[at]]
            fields = dict(shape.fields)
            name = str(fields.get("command", shape.event))
            ids = self._ids(shape, log.row_a[at], log.row_b[at])
            args = f"{{{(ids + shape.tail).removeprefix(',')}}}"
            instant = {"ph": "i", "s": "g", "cat": _INSTANTS[shape.event], "name": name, "pid": _RUN, "tid": 1}
            yield f'{_encode(instant).removesuffix("}")},"ts":{log.when[at] * _US},"args":{args}}}'

    def _ids(self, shape: Shape, row_a: int, row_b: int) -> str:
        names = self._simulation.names
        match shape.subject:
            case LogSubject.POOL:
                return names.pool_ids(row_a)
            case LogSubject.NODE:
                return names.node_ids(row_b)
            case _:
                return ""

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
