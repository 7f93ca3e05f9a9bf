"""The activity of all nodes over time, read from the log with the entries recorded after the present moment.

Two steps keep this quick for ten thousand nodes. ``Lanes`` notes for every new entry which node it concerns; a ``Lane``
reads a node's own entries when that node is drawn. Both go on where they stopped, so a long log is read in pieces.
The entries about one node are found from the latest one back.

The phases of a job over time follow from the lanes: preparation on all nodes, tasks, release on all nodes.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from engine.base.lifecycles import READY
from engine.base.terms import JobState
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.hook_status import OVER, Hook, eligible_again
from engine.views.log.levels import LaneTotals
from engine.views.log.node_lane import Lane, Step, TaskTracks, meaning_of
from engine.views.log.reader import Cuts, KeptByKey, kinds_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engine import Simulation
    from engine.base.log import EventLog
    from engine.state.jobs import Job
    from engine.views.log.levels import PoolCounts
    from engine.views.log.node_lane import Meaning
    from engine.views.log.reader import FirstStarts


_NONE = -1


class NodeEntries:
    """The numbers of the entries that are about each node.

    Ten thousand nodes with a list each would be slow to write, as they lie apart in memory, and few are ever drawn. So
    each entry names the one before it about the same node, and a list is made of them when a node is asked for.
    """

    def __init__(self) -> None:
        """Create an empty list of entries, without nodes."""
        self._previous = array("i")  # by entry
        self._last = array("i")  # by node
        self._shared: dict[int, list[int]] = {}  # by node: entries about several nodes that are not in its list yet
        self._shares = 0
        self._lists: dict[int, array[int]] = {}  # by node

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self._last)

    def add_node(self) -> None:
        """Add the next node."""
        self._last.append(_NONE)

    def skip(self) -> None:
        """Take the next entry, which is about no node."""
        self._previous.append(_NONE)

    def add(self, node: int) -> None:
        """Take the next entry, which is about this node."""
        self._previous.append(self._last[node])
        self._last[node] = len(self._previous) - 1

    def add_pairs(self, nodes: Sequence[int]) -> None:
        """Take the next entries, two about each of these nodes."""
        last, append = self._last, self._previous.append
        for node, number in zip(nodes, count(len(self._previous), 2)):
            append(last[node])
            append(number)
            last[node] = number + 1

    def share(self, number: int, node: int) -> None:
        """Add an entry that concerns several nodes to this node."""
        self._shared.setdefault(node, []).append(number)
        self._shares += 1

    def latest(self, nodes: Iterable[int]) -> object:
        """Return a value that differs when there are more entries about one of these nodes."""
        last, number = self._last, len(self._last)
        return self._shares, [last[node] if node < number else _NONE for node in nodes]

    def of(self, node: int) -> array[int]:
        """Return the entries about a node, in order. The list grows when it is asked for again."""
        found = self._lists.get(node)
        if found is None:
            found = self._lists[node] = array("I")
        known = found[-1] if found else _NONE
        number = self._last[node] if node < len(self._last) else _NONE
        if number > known or node in self._shared:
            new = self._shared.pop(node, [])
            while number > known:
                new.append(number)
                number = self._previous[number]
            found.extend(sorted(new))
        return found


_NOTHING, _NOTED, _TASK_BEGINS, _TASK_ENDS, _OTHER = range(5)
# Entries in which a task ends and another one begins. In most of them it does so at once, in the place of the first.
_TURNS = re.compile(b"(?:%c%c)+" % (_TASK_ENDS, _TASK_BEGINS))
_EVERYTHING = 1 << 62


def _kind(meaning: Meaning | None) -> int:
    """Return how entries of this meaning are read: nearly all are about plain tasks."""
    if meaning is None:
        return _NOTHING
    if meaning.step is Step.STATE and meaning.state in READY:
        return _NOTED
    if meaning.is_task:
        return _TASK_BEGINS if meaning.step is Step.TASK_BEGINS else _TASK_ENDS
    return _OTHER


_JobHook = tuple[Hook, int]  # with the row of the job


def _prepares(hooks: Iterable[_JobHook]) -> bool:
    return any(hook is Hook.PREPARATION for hook, _ in hooks)


class JobStretch(NamedTuple):
    """A state of a job from ``begin_ms`` on, until the next one begins; None is deleted."""

    begin_ms: int
    state: JobState | None


class InstanceSpan(NamedTuple):
    """A run of preparation or release on a node; without ``has_failed`` it still runs, or the node interrupted it."""

    begin_ms: int
    end_ms: int | None
    has_failed: bool | None


class Extent(NamedTuple):
    """From the first begin to the last end, in ms since the start; without an end it goes on."""

    begin_ms: int
    end_ms: int | None


@dataclass(slots=True)
class HookExtent:
    """When a job's preparation or release began on the first node and ended on the last one so far."""

    begin_ms: int
    end_ms: int = 0
    running: int = 0  # nodes

    def end(self, when_ms: int) -> None:
        """Count a node on which it has ended."""
        self.running -= 1
        self.end_ms = when_ms


class Lanes:
    """The lanes of all nodes of a run, and the states of its jobs."""

    def __init__(self, simulation: Simulation) -> None:
        """Create empty lanes, which ``update`` fills."""
        self._simulation = simulation
        self._eligible_again_in = eligible_again(simulation.scenario.options).states
        self._meanings: list[Meaning | None] = []  # by shape
        self._kinds = b""
        self._cuts = Cuts(simulation.log)
        self.version = 0  # raised when a branch has cut off what was read
        self._begin()

    def _begin(self) -> None:
        self._entries = NodeEntries()
        self._lanes: dict[int, Lane] = {}
        self._tracks: dict[int, TaskTracks] = {}
        self._jobs: dict[int, array[int]] = {}  # job -> numbers of its entries
        self._hooks: dict[_JobHook, dict[int, array[int]]] = {}  # numbers of its entries, by node
        self._running_hooks: dict[int, dict[_JobHook, None]] = {}  # node -> those that run there
        self._hook_extents: dict[_JobHook, HookExtent] = {}  # over all nodes
        self._ineligible_for: dict[int, list[int]] = {}  # job -> nodes
        self._read = 0
        self._may_read = _EVERYTHING
        self.totals = LaneTotals()

    @property
    def _log(self) -> EventLog:
        return self._simulation.log

    # -- reading -------------------------------------------------------------------------------------------------

    def update(self, at_most: int | None = None) -> None:
        """Read what has been recorded since the last call.

        Args:
            at_most: The number of entries to read here, and for lanes until the next ``update``; None reads all.
        """
        log = self._log
        if self._cuts.kept(self._read) < self._read:
            self._begin()
            self.version += 1
        self._may_read = _EVERYTHING if at_most is None else at_most
        if len(self._meanings) < len(log.shapes):
            self._meanings += map(meaning_of, log.shapes[len(self._meanings) :])
            self._kinds = bytes(map(_kind, self._meanings))
        length = min(self._may_read, log.recorded - self._read)
        if length:
            self._take(*log.recorded_columns(self._read, self._read + length))

    @property
    def progress(self) -> float:
        """The share of the log that has been read, 0 to 1."""
        return self._read / max(1, self._log.recorded)

    def unread_from_ms(self, node: int | None = None) -> int | None:
        """Return when the first unread entry of a node's lane, or of the log, happened, in ms; None if all are read."""
        if node is not None:
            read, entries = self.lane(node).read, self._entries.of(node)
            if read < len(entries):
                return self._log.recorded_entry(entries[read])[0]
        return self._log.recorded_entry(self._read)[0] if self._read < self._log.recorded else None

    def latest(self, nodes: Iterable[int]) -> object:
        """Return a value that differs when the log has other entries about one of these nodes, read or not."""
        return self.version, self._entries.latest(nodes)

    @property
    def recorded_ms(self) -> int:
        """The end of the recording, in ms since the start."""
        log, now_ms = self._log, self._simulation.now_ms
        return max(now_ms, log.recorded_entry(log.recorded - 1)[0]) if log.has_future else now_ms

    def _take(self, when: array[int], shape_of: array[int], rows: array[int], nodes: array[int]) -> None:
        kinds, at = kinds_of(self._kinds, shape_of), 0
        for turns in _TURNS.finditer(kinds):
            first, end = turns.span()
            ends, begins = slice(first, end, 2), slice(first + 1, end, 2)
            if nodes[ends] == nodes[begins] and when[ends] == when[begins]:
                one_by_one = slice(at, first)
                self._take_each(
                    kinds[one_by_one], when[one_by_one], shape_of[one_by_one], rows[one_by_one], nodes[one_by_one]
                )
                self._entries.add_pairs(nodes[ends])  # this changes no total
                self._read += end - first
                at = end
        self._take_each(kinds[at:], when[at:], shape_of[at:], rows[at:], nodes[at:])

    def _take_each(
        self, kinds: bytes, when: array[int], shape_of: array[int], rows: array[int], nodes: array[int]
    ) -> None:
        add, skip, count_task = self._entries.add, self._entries.skip, self.totals.count_task
        for number, kind, when_ms, shape, row, node in zip(count(self._read), kinds, when, shape_of, rows, nodes):
            if kind == _OTHER:
                self._take_other(number, when_ms, shape, row, node)
            elif kind == _NOTHING:
                skip()
            else:
                add(node)
                if kind != _NOTED:
                    count_task(when_ms, node, 1 if kind == _TASK_BEGINS else -1)
        self._read += len(kinds)

    def _take_other(self, number: int, when_ms: int, shape: int, row: int, node: int) -> None:
        """Read an entry that is not about a plain task; ``row`` is the job, or the pool of a new node."""
        meaning = self._meanings[shape]
        assert meaning is not None
        if meaning.step is Step.JOB_CHANGES:
            self._jobs.setdefault(row, array("I")).append(number)
            for ineligible in self._ineligible_for.pop(row, ()) if meaning.state in OVER else ():
                self._entries.share(number, ineligible)
        if node < 0 or meaning.step is Step.JOB_CHANGES:
            self._entries.skip()
            return
        if node == self._entries.nodes:
            self._entries.add_node()
        self._entries.add(node)
        self.totals.take(when_ms, meaning, row, node)
        if meaning.is_final_failure:
            self._ineligible_for.setdefault(row, []).append(node)
        if meaning.hook is not None or meaning.stops_hooks:
            self._note_hook(number, when_ms, meaning, row, node)

    def _note_hook(self, number: int, when_ms: int, meaning: Meaning, job: int, node: int) -> None:
        running = self._running_hooks.setdefault(node, {})
        before = _prepares(running)
        if meaning.hook is None:
            for stopped in running:
                self._hooks[stopped][node].append(number)
                self._hook_extents[stopped].end(when_ms)
            running.clear()
        else:
            own = meaning.hook, job
            if meaning.is_begin and own not in running:
                self._hook_extents.setdefault(own, HookExtent(when_ms)).running += 1
                running[own] = None
            elif not meaning.is_begin and own in running:
                del running[own]
                self._hook_extents[own].end(when_ms)
            self._hooks.setdefault(own, {}).setdefault(node, array("I")).append(number)
        self.totals.count_preparation(when_ms, node, _prepares(running) - before)

    # -- queries -------------------------------------------------------------------------------------------------

    def lane(self, node: int) -> Lane:
        """Return one node's lane, as far as ``update`` allows it to be read: see ``unread_from_ms``."""
        lane = self._lanes.get(node)
        if lane is None:
            lane = self._lanes[node] = Lane(self._eligible_again_in)
        entries = self._entries.of(node)
        if lane.read == len(entries):
            return lane
        new = entries[lane.read : lane.read + self._may_read]
        for when_ms, meaning, row in self._noted(new):
            lane.take(when_ms, meaning, row)
        lane.read += len(new)
        self._may_read -= len(new)
        return lane

    def tracks(self, node: int) -> TaskTracks:
        """Return the tasks of a node side by side, as far as its lane has been read."""
        read, tracks = self.lane(node).read, self._tracks.setdefault(node, TaskTracks())
        if tracks.read < read:
            tracks.take(self._noted(self._entries.of(node)[tracks.read : read]))
        return tracks

    def _noted(self, entries: Iterable[int]) -> Iterator[tuple[int, Meaning, int]]:
        """Yield moment, meaning and first row number of entries, all of which mean something."""
        recorded_entry, meanings = self._log.recorded_entry, self._meanings
        for number in entries:
            when_ms, shape, row, _ = recorded_entry(number)
            meaning = meanings[shape]
            assert meaning is not None
            yield when_ms, meaning, row

    def failed_among(self, nodes: Sequence[int]) -> list[int]:
        """Return those of some nodes, in ascending order, that failed, or on which preparation or release failed."""
        last = len(nodes)
        places = ((bisect_left(nodes, node), node) for node in sorted(self.totals.failures))
        return [node for at, node in places if at < last and nodes[at] == node]

    def job(self, job_id: str) -> list[JobStretch]:
        """Return the states of a job, in order; empty while there is no job of this id."""
        job = self._simulation.world.jobs.find(job_id)
        entries = () if job is None else self._jobs.get(job.row, ())
        return [
            JobStretch(when_ms, meaning.state if isinstance(meaning.state, JobState) else None)
            for when_ms, meaning, _ in self._noted(entries)
        ]

    def hook_runs(self, hook: Hook, job_id: str, node: int) -> Sequence[InstanceSpan]:
        """Return the runs of preparation or release of a job on a node, retries one by one."""
        job = self._simulation.world.jobs.find(job_id)
        found: list[InstanceSpan] = []
        entries = () if job is None else self._hooks.get((hook, job.row), {}).get(node, ())
        for when_ms, meaning, _ in self._noted(entries):
            is_open = bool(found) and found[-1].end_ms is None
            if is_open:
                has_failed = None if meaning.stops_hooks else meaning.has_failed or meaning.is_begin
                found[-1] = found[-1]._replace(end_ms=when_ms, has_failed=has_failed)
            if meaning.is_begin:
                found.append(InstanceSpan(when_ms, None, None))
        return found

    def hook_extent(self, hook: Hook, job_id: str) -> Extent | None:
        """Return the first begin and the last end of a job's preparation or release over all nodes."""
        job = self._simulation.world.jobs.find(job_id)
        found = None if job is None else self._hook_extents.get((hook, job.row))
        return None if found is None else Extent(found.begin_ms, None if found.running else found.end_ms)

    def in_pool(self, pool_id: str) -> PoolCounts:
        """Return the nodes, running tasks and preparing nodes of a pool over time."""
        pool = self._simulation.world.pools.latest(pool_id)
        return self.totals.of_pool[-1 if pool is None else pool.row]


class JobPhases(NamedTuple):
    """The phases of a job that have begun."""

    preparation: Extent | None
    tasks: Extent | None
    release: Extent | None


class PhasesOverTime:
    """The phases of all jobs. What no longer changes is read once."""

    def __init__(self, simulation: Simulation, lanes: Lanes, starts: FirstStarts) -> None:
        """Read the tables of a simulation, and the lanes of its nodes; ``starts`` is shared with estimates."""
        self._simulation = simulation
        self._lanes = lanes
        self._starts = starts
        self._last_ends: KeptByKey[int] = KeptByKey()  # of a job's completed tasks, by their number

    def of(self, job_id: str) -> JobPhases:
        """Return the phases of a job; none while there is no job of this id."""
        job = self._simulation.world.jobs.find(job_id)
        if job is None:
            return JobPhases(None, None, None)
        extent = self._lanes.hook_extent
        return JobPhases(extent(Hook.PREPARATION, job_id), self._tasks(job, job_id), extent(Hook.RELEASE, job_id))

    def _tasks(self, job: Job, job_id: str) -> Extent | None:
        if not job.counts[RUNNING] and not job.counts[COMPLETED]:
            return None
        begin_ms = self._starts.began_ms(job)
        if begin_ms is None:
            return None
        if any(job.counts[state] for state in (ACTIVE, PREPARING, RUNNING)):
            ends = (each.begin_ms for each in self._lanes.job(job_id) if each.state in OVER)
            return Extent(begin_ms, next(ends, None))
        key = job.row, job.counts[COMPLETED]
        return Extent(begin_ms, self._last_ends.get(self._simulation.jumps, key, lambda: max(self._ends(job))))

    def _ends(self, job: Job) -> list[int]:
        tasks = self._simulation.world.tasks
        ranges = tasks.ranges_of(job.blocks)
        states = (tasks.state[rows.start : rows.stop] for rows in ranges)
        ends = (tasks.ended[rows.start : rows.stop] for rows in ranges)
        return [
            ms
            for some, others in zip(states, ends, strict=True)
            for state, ms in zip(some, others, strict=True)
            if state == COMPLETED
        ]
