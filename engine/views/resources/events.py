"""The event log as a list: one row for each entry, and one for tasks that were added together."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

from engine.base.log import Json, LateJson, LogSubject, Shape, plain, to_json
from engine.base.terms import CertificateState, JobState
from engine.base.values import values
from engine.scenario.record import timeline_line
from engine.specs.commands import EvictNode
from engine.state.files import NO_TASK
from engine.views.log.reader import LogReader, of_kind
from engine.views.log.tally import lacks_nodes
from engine.views.resources.jobs import BAD_ENDS

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from engine import Simulation
    from engine.base.terms import Plain


_OF_COMMANDS = ("CommandAccepted", "CommandRefused", "FaultInjected")
_FAILURES = ("CommandRefused", "TaskScheduleFail", "FaultInjected", "JobScheduleOccurrenceMissed")
_BAD_NODE_STATES = frozenset(("unusable", "starttaskfailed", "unknown"))


class EventRow(NamedTuple):
    """One entry. ``tasks`` is more than 1 where several tasks were added at once."""

    seq: int
    t_ms: int
    event: str
    pool_id: str | None
    node_id: str | None
    node: int | None
    position: int | None  # the node's index in its pool
    job_id: str | None
    schedule_id: str | None
    task: int | None  # the first of several that were added at once
    task_id: str | None
    tasks: int
    fields: dict[str, object]
    is_failure: bool


class EventPage:
    """All entries up to now."""

    def __init__(self, simulation: Simulation) -> None:
        """List the log of a simulation."""
        self._simulation = simulation
        self._failures = LogReader(simulation, of_kind(is_failure))
        self._alarms = LogReader(simulation, of_kind(is_alarm))
        self._edges: tuple[object, list[tuple[int, int]]] = (None, [])  # for which parts, and the counts before each

    @property
    def count(self) -> int:
        """The number of entries."""
        return len(self._simulation.log)

    @property
    def lines(self) -> int:
        """The number of lines in the event log: tasks that were added together have one each."""
        log = self._simulation.log
        return log.seq_of(len(log)) - 1

    def failures(self) -> Sequence[int]:
        """Return the entries that report a failure, in order."""
        return self._failures.entries()

    def is_failure(self, index: int) -> bool:
        """Return whether an entry reports a failure."""
        log = self._simulation.log
        return is_failure(log.shapes[log.shape_of[index]])

    def when_ms(self, index: int) -> int:
        """Return the moment of an entry, in ms since the start."""
        return self._simulation.log.when[index]

    def moments_ms(self, entries: Sequence[int]) -> Sequence[int]:
        """Return the moments of many entries, in ms since the start."""
        return values(self._simulation.log.when, entries)

    def row(self, index: int) -> EventRow:
        """Return one entry's row."""
        log = self._simulation.log
        world = self._simulation.world
        shape = log.shapes[log.shape_of[index]]
        row_a, row_b = log.row_a[index], log.row_b[index]
        pool = node = job = task = schedule = None
        count = 1
        own: dict[str, object] = {}  # fields that the entry does not share with others
        match shape.subject:
            case LogSubject.POOL:
                pool = row_a
            case LogSubject.NODE:
                node = row_b
            case LogSubject.JOB:
                job = row_a
            case LogSubject.TASK:
                task, node = row_a, row_b if row_b >= 0 else None
            case LogSubject.TASKS_ADDED:
                task, count = row_a, row_b
            case LogSubject.SCHEDULE:
                schedule = row_a
            case LogSubject.INSTANCE:
                job, node = row_a if row_a >= 0 else None, row_b
            case LogSubject.UPLOAD:
                blob = world.blobs[row_a]
                task, node = None if blob.task == NO_TASK else blob.task, row_b
                own = {"url": blob.url, "bytes": blob.content.size}
        if task is not None:
            job = world.tasks.block_of(task).job
        if node is not None:
            pool = world.nodes[node].pool
        return EventRow(
            seq=log.seq_of(index),
            t_ms=log.when[index],
            event=shape.event,
            pool_id=None if pool is None else world.pools[pool].id,
            node_id=None if node is None else world.nodes[node].id,
            node=node,
            position=None if node is None else world.nodes[node].position,
            job_id=None if job is None else world.jobs[job].id,
            schedule_id=None if schedule is None else world.job_schedules[schedule].id,
            task=task,
            task_id=None if task is None else world.tasks.task_id(task),
            tasks=count,
            fields=own | {name: _value(value) for name, value in shape.fields},
            is_failure=is_failure(shape),
        )

    def density(self, bins: int, until_ms: int) -> list[tuple[int, int]]:
        """Count entries, and failures but for evictions, in each of ``bins`` equal parts of the time to ``until_ms``.

        Parts that lie before the last entry are counted once, as no more entries can come there.
        """
        log, failures, asked = self._simulation.log, self._alarms.entries(), (bins, until_ms, self._simulation.jumps)
        edges = self._edges[1] if self._edges[0] == asked else [(0, 0)]
        last_ms, last = log.last_ms, (len(log), len(failures))
        while len(edges) <= bins and (edge_ms := until_ms * len(edges) // bins) < last_ms:
            entries = log.index_at(edge_ms)
            edges.append((entries, bisect_left(failures, entries)))
        self._edges = asked, edges
        rest = [last] * (bins + 1 - len(edges))
        return [(high[0] - low[0], high[1] - low[1]) for low, high in pairwise(edges + rest)]

    def by_hand_ms(self) -> list[int]:
        """Return the moments of the commands given by hand, in ms since the start."""
        return [one.when_ms for one in self._simulation.journal.by_hand()]

    def by_hand(self) -> list[int]:
        """Return the entries of the commands given by hand, in order, up to now."""
        log, found = self._simulation.log, []
        given: dict[int, Counter[tuple[str, str]]] = {}
        for one in self._simulation.journal.by_hand():
            command = one.command.NAME, to_json(one.command.masked())
            given.setdefault(one.when_ms, Counter())[command] += 1
        for when_ms, commands in given.items():
            for index in range(log.index_at(when_ms - 1), log.index_at(when_ms)):
                shape = log.shapes[log.shape_of[index]]
                if shape.event in _OF_COMMANDS:
                    fields = dict(shape.fields)
                    command = str(fields["command"]), _text(fields["body"])
                    if commands[command]:
                        commands[command] -= 1
                        found.append(index)
        return found

    def script_line(self, index: int) -> str | None:
        """Return the timeline entry that a command or fault comes from, or is saved as; None for other events."""
        event = self.row(index)
        if event.event not in _OF_COMMANDS:
            return None
        code = str(event.fields["code"]) if event.event == "CommandRefused" else None
        return timeline_line(event.t_ms, str(event.fields["command"]), cast("Plain", event.fields["body"]), code)

    def next_ms(self) -> int | None:
        """Return the next moment at which something is due; None where nothing is."""
        return self._simulation.world.calendar.peek_ms()

    def previous_ms(self) -> int | None:
        """Return the last moment before now at which something happened; None at the beginning."""
        log = self._simulation.log
        before = log.index_at(self._simulation.now_ms - 1)
        return log.when[before - 1] if before else None


def is_failure(shape: Shape) -> bool:
    """Return whether an event reports that something went wrong."""
    if shape.event in _FAILURES:
        return True
    fields = dict(shape.fields)
    if plain(fields.get("result")) == "failure" or fields.get("error") is not None:
        return True
    match shape.event:
        case "NodeStateChanged":
            return plain(fields.get("to")) in _BAD_NODE_STATES
        case "PoolResizeComplete":
            return bool(fields.get("resizeErrors")) and lacks_nodes(fields)
        case "JobStateChanged":
            return _ended_badly(fields)
        case "CertificateStateChanged":
            return fields.get("to") is CertificateState.DELETE_FAILED
    return False


def is_alarm(shape: Shape) -> bool:
    """Return whether an event is a failure that Batch does not make good by itself, as it does with evictions."""
    return is_failure(shape) and not (shape.event == "FaultInjected" and ("command", EvictNode.NAME) in shape.fields)


def _ended_badly(fields: Mapping[str, Hashable]) -> bool:
    """Return whether a job ends before its work is done; one without a pool completes as soon as it is added."""
    if fields["from"] is JobState.ACTIVE and fields["to"] is JobState.COMPLETED:
        return True
    return fields["to"] is JobState.TERMINATING and fields.get("reason") in BAD_ENDS


def _text(body: Hashable) -> str:
    assert isinstance(body, Json | LateJson)
    return body.text


def _value(value: object) -> object:
    return json.loads(value.text) if isinstance(value, Json | LateJson) else plain(value)
