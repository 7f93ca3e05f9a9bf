"""Analyses of a job's tasks: critical paths and statistics.

A critical path is the chain of tasks that decides when a task could begin, or when a job ends (DEP-2). Statistics say
how long tasks took and waited, and how their attempts failed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from heapq import nlargest
from itertools import accumulate, chain, compress, islice, repeat
from math import isqrt
from operator import floordiv, neg, sub
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import FailureInfo
from engine.base.log import LogSubject
from engine.base.terms import TaskState
from engine.base.values import equals, percentile, picked, places, values
from engine.state.tables import NEVER_MS
from engine.state.task_tables import number_of
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.log.reader import LogReader, is_event, matching, of_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from engine import Simulation
    from engine.base.log import Shape
    from engine.state.jobs import Job
    from engine.state.tasks import TaskTable


_LONGEST_CHAIN = 200
_MOST_LOOKED_UP = 2_000  # numbers of a range, one by one
_RANKS = {RUNNING: 1, PREPARING: 2, ACTIVE: 3, COMPLETED: 4}  # of tasks that do not satisfy their dependents yet


class Link(NamedTuple):
    """A task of a critical path. Times are ms since the start; None where they are still to come."""

    task: int
    ready_ms: int | None  # when the task before it ended, or when it was added if there is none
    start_ms: int | None
    end_ms: int | None


def deciding_parent(simulation: Simulation, task: int) -> int | None:
    """Return the task whose end decides when this one can begin; None if it depends on none.

    Of parents that are not satisfied it is the one that is farthest from its end; else it is the one that ended last.
    """
    found = max(_parents(simulation, task), default=None)
    return None if found is None else found[2]


def critical_path(simulation: Simulation, task: int) -> list[Link]:
    """Return the chain of deciding parents that ends with this task, the first one first."""
    chain = [task]
    while len(chain) < _LONGEST_CHAIN:
        parent = deciding_parent(simulation, chain[-1])
        if parent is None or parent in chain:
            break
        chain.append(parent)
    tasks = simulation.world.tasks
    links: list[Link] = []
    before: int | None = None
    for each in reversed(chain):
        created_ms = tasks.block_of(each).created_ms
        ready_ms: int | None = created_ms
        if before is not None:
            ready_ms = max(created_ms, tasks.ended[before]) if tasks.state[before] == COMPLETED else None
        end_ms = tasks.ended[each] if tasks.state[each] == COMPLETED else None
        links.append(Link(each, ready_ms, tasks.begun_ms(each), end_ms))
        before = each
    return links


def deciding_task(simulation: Simulation, job_id: str) -> int | None:
    """Return the task that ended last in a job; while some have not ended, the one that is to end last.

    Of tasks that run it is the one with the latest planned end, of those that wait the last one. None without tasks.
    """
    world = simulation.world
    job = world.jobs.find(job_id)
    if job is None:
        return None
    ranks = (_last_of(world.tasks, world.tasks.blocks[number].rows) for number in job.blocks)
    last = max(filter(None, ranks), default=None)
    return None if last is None else last[2]


def last_deletion(simulation: Simulation, job: Job) -> tuple[int, int] | None:
    """Return the task that was deleted last before a job ended, and when; None without one."""
    if not job.deleted or job.end_ms is None:
        return None
    log, blocks = simulation.log, [simulation.world.tasks.blocks[number].rows for number in job.blocks]
    deleted = ((log.row_a[at], log.when[at]) for at in matching(log, _DELETED) if log.when[at] <= job.end_ms)
    found = [each for each in deleted if any(each[0] in rows for rows in blocks)]
    return found[-1] if found else None


_DELETED = is_event("TaskStateChanged", to=None)
_Rank = tuple[int, int, int]  # how far from its end, its end, the task


def _last_of(tasks: TaskTable, rows: range) -> _Rank | None:
    """Return the last of some tasks in a row, by whole columns."""
    states, ends = tasks.state[rows.start : rows.stop], tasks.ended[rows.start : rows.stop]
    waiting = states.rfind(ACTIVE)
    if waiting >= 0:
        return 3, 0, rows[waiting]
    preparing = states.rfind(PREPARING)
    if preparing >= 0:
        return 2, 0, rows[preparing]
    running = places(states, RUNNING)
    if running:
        return max((1, ends[at], rows[at]) for at in running)
    last_ms = max(ends, default=NEVER_MS)
    return (0, last_ms, rows[ends.index(last_ms)]) if COMPLETED in states else None


def _parents(simulation: Simulation, task: int) -> Iterator[_Rank]:
    """Yield candidates for the deciding parent; ranges yield only their most important ones."""
    world = simulation.world
    tasks = world.tasks
    job = world.jobs[tasks.block_of(task).job]
    wanted = tasks.spec(task).depends_on if job.spec.uses_task_dependencies else None
    if wanted is None:
        return
    yield from _ranked(tasks, (tasks.find(job.row, task_id) for task_id in wanted.task_ids))
    for part in wanted.task_id_ranges:
        rows = _rows_between(tasks, job.row, part.start, part.end)
        if rows is None:
            numbers = range(part.start, min(part.end + 1, part.start + _MOST_LOOKED_UP))
            yield from _ranked(tasks, (tasks.find(job.row, str(number)) for number in numbers))
            continue
        unmet = places(tasks.satisfied[rows.start : rows.stop], 0)
        if unmet:
            yield from _ranked(tasks, (rows[at] for at in islice(unmet, _MOST_LOOKED_UP)))
            continue
        ends = tasks.ended[rows.start : rows.stop]
        last_ms = max(ends)
        yield 0, last_ms, rows[ends.index(last_ms)]


def _ranked(tasks: TaskTable, rows: Iterable[int | None]) -> Iterator[_Rank]:
    for row in rows:
        if row is None:
            continue
        if tasks.satisfied[row]:
            yield 0, tasks.ended[row], row
        else:
            state = tasks.state[row]
            yield _RANKS.get(state, 0), tasks.ended[row] if state in (RUNNING, COMPLETED) else 0, row


def _rows_between(tasks: TaskTable, job: int, low: int, high: int) -> range | None:
    """Return the rows of the tasks with these numbers as ids if they stand one after the other, else None."""
    first, last = tasks.find(job, str(low)), tasks.find(job, str(high))
    if first is None or last is None or last - first != high - low:
        return None
    middle = (first + last) // 2
    return range(first, last + 1) if number_of(tasks.task_id(middle)) == low + middle - first else None


_FIRST_UNIT_MS = 100  # times are counted in such units, doubled while there are too many different ones
_MOST_DIFFERENT = 2048
_MOST_EXTREMES = 40  # tasks that took or waited longest
_FEW_BINS = 12  # until so many tasks have ended that twice the root of their number is more
_COMPLETED = equals(COMPLETED)
_NICE_MS = tuple(
    step * unit
    for unit, steps in ((1000, (1, 2, 5, 10, 15, 30)), (60_000, (1, 2, 5, 10, 15, 30)), (3_600_000, (1, 2, 4, 8, 12)))
    for step in steps
)
_TAIL = 3  # times the 95th percentile: what took longer is in one last bin


class Bin(NamedTuple):
    """The tasks whose time was at least ``low_ms`` and less than ``high_ms``; None is without limit."""

    low_ms: int
    high_ms: int | None
    tasks: int


class Distribution(NamedTuple):
    """The spread of some times, to a tenth of a second; less exact if very many differ."""

    tasks: int
    median_ms: int
    p95_ms: int
    max_ms: int
    bins: Sequence[Bin]


class FailureCount(NamedTuple):
    """The failed attempts with one exit code, or with one error code if the process has none."""

    name: str
    attempts: int
    final: int  # after which the task was completed


class TaskTime(NamedTuple):
    """A task, and how long it took or waited."""

    task: int
    time_ms: int


class Statistics(NamedTuple):
    """The statistics of a job; None where there is nothing to count yet."""

    durations: Distribution | None  # of completed tasks that ran, from their last start to their end
    waits: Distribution | None  # of the same, from when they were added to their last start
    failures: Sequence[FailureCount]  # the most frequent ones first
    slowest: Sequence[TaskTime]  # the longest first, a few dozen at most
    longest_waits: Sequence[TaskTime]  # likewise


class _Times:
    """Times counted in units, of which a bounded number differ."""

    def __init__(self) -> None:
        self._unit_ms = _FIRST_UNIT_MS
        self._counts: Counter[int] = Counter()
        self._longest: list[tuple[int, int]] = []  # times, with the rows of their tasks below 0: the earlier is first

    def add(self, tasks: Iterable[int], ends: Iterable[int], starts: Iterable[int]) -> None:
        """Count the times of some tasks, between pairs of moments in ms."""
        times = list(map(sub, ends, starts))
        self._longest = nlargest(_MOST_EXTREMES, chain(self._longest, zip(times, map(neg, tasks), strict=True)))
        self._counts.update(map(floordiv, times, repeat(self._unit_ms)))
        while len(self._counts) > _MOST_DIFFERENT:
            joined = Counter[int]()
            for time, number in self._counts.items():
                joined[time // 2] += number
            self._unit_ms, self._counts = self._unit_ms * 2, joined

    def in_order(self) -> list[tuple[int, int]]:
        """Return each time, in ms, with the number of its tasks, the shortest first."""
        return [(time * self._unit_ms, number) for time, number in sorted(self._counts.items())]

    def longest(self) -> list[TaskTime]:
        """Return the tasks with the longest times, the longest first."""
        return [TaskTime(-task, time_ms) for time_ms, task in self._longest]


class JobStatistics:
    """The statistics of one job. Completed tasks are counted in bulk once, then one by one as the log grows."""

    def __init__(self, simulation: Simulation, job: int) -> None:
        """Create an empty reader; ``with_bins`` reads the log."""
        self._simulation = simulation
        self._job = job
        self._ends = LogReader(simulation, of_kind(_is_end))
        self._failed = LogReader(simulation, of_kind(_is_failure))
        self._durations = _Times()
        self._waits = _Times()
        self._failures: Counter[tuple[str, bool]] = Counter()

    def with_bins(self, at_most: int) -> Statistics:
        """Return the statistics up to now, with at most so many bins."""
        self._read_ends()
        self._read_failures()
        names = Counter[str]()
        for (name, _), count in self._failures.items():
            names[name] += count
        failures = [FailureCount(name, count, self._failures[name, True]) for name, count in names.most_common()]
        return Statistics(
            _distribution(self._durations, at_most),
            _distribution(self._waits, at_most),
            failures,
            self._durations.longest(),
            self._waits.longest(),
        )

    def _read_ends(self) -> None:
        is_new, entries = self._ends.news()
        log = self._simulation.log
        if is_new or not all(_completes(log.shapes[shape]) for shape in {log.shape_of[at] for at in entries}):
            self._count_all()
            return
        world, rows = self._simulation.world, picked(log.row_a, entries)
        tasks, blocks = world.tasks, world.jobs[self._job].blocks
        is_own = [profile.job == self._job for profile in tasks.profiles]
        own = list(compress(rows, map(is_own.__getitem__, picked(tasks.profile, rows))))
        in_one = len(blocks) == 1  # mostly all were added together
        created = repeat(tasks.blocks[blocks[0]].created_ms) if in_one else [tasks.block_of(t).created_ms for t in own]
        self._add(own, tasks.begun(own), picked(tasks.ended, own), created)

    def _count_all(self) -> None:
        """Count the completed tasks of the job in whole columns."""
        world = self._simulation.world
        tasks = world.tasks
        self._durations, self._waits = _Times(), _Times()
        for number in world.jobs[self._job].blocks:
            block = tasks.blocks[number]
            flags = tasks.state[block.first : block.rows.stop].translate(_COMPLETED)
            columns = block.rows, tasks.begun(block.rows), values(tasks.ended, block.rows)
            rows, starts, ends = (list(compress(each, flags)) for each in columns)
            self._add(rows, starts, ends, repeat(block.created_ms))

    def _add(self, tasks: Sequence[int], starts: Sequence[int], ends: Sequence[int], created: Iterable[int]) -> None:
        """Count tasks by their times; those that were ended before they ran, or between attempts, have none."""
        if NEVER_MS in starts:
            ran = [start != NEVER_MS for start in starts]
            tasks, starts, ends, created = (list(compress(each, ran)) for each in (tasks, starts, ends, created))
        self._durations.add(tasks, ends, starts)
        self._waits.add(tasks, starts, created)

    def _read_failures(self) -> None:
        is_new, entries = self._failed.news()
        if is_new:
            self._failures.clear()
        log, tasks = self._simulation.log, self._simulation.world.tasks
        for at in entries:
            if tasks.profile_of(log.row_a[at]).job == self._job:
                shape = log.shapes[log.shape_of[at]]
                self._failures[_failure_name(shape), _completes(shape)] += 1


class _Sorted:
    """The times of all tasks in order, in ms, from the number of tasks with each time."""

    def __init__(self, in_order: Sequence[tuple[int, int]]) -> None:
        self._values = [value for value, _ in in_order]
        self._up_to = list(accumulate(count for _, count in in_order))

    def __len__(self) -> int:
        return self._up_to[-1]

    def __getitem__(self, at: int, /) -> float:
        return self._values[bisect_right(self._up_to, at)]


def _distribution(times: _Times, at_most: int) -> Distribution | None:
    in_order = times.in_order()
    if not in_order:
        return None
    tasks = _Sorted(in_order)
    median_ms, p95_ms = (round(percentile(tasks, share) or 0) for share in (0.5, 0.95))
    low_ms, max_ms = in_order[0][0], in_order[-1][0]
    at_most = min(at_most, max(_FEW_BINS, isqrt(4 * len(tasks))))
    end_ms = min(max_ms, max(p95_ms * _TAIL, 1))
    return Distribution(len(tasks), median_ms, p95_ms, max_ms, _bins(in_order, low_ms, end_ms, at_most))


def _bins(in_order: Sequence[tuple[int, int]], low_ms: int, end_ms: int, at_most: int) -> list[Bin]:
    """Return bins of a round width; what is longer than ``end_ms`` is in the last one."""
    room = max(1, at_most - 1)
    wide = next((step for step in _NICE_MS if end_ms // step - low_ms // step < room), 0)
    if not wide:
        day = 24 * 3_600_000
        wide = day * (1 + (end_ms - low_ms) // (day * room))
    found = Counter[int]()
    first, last = low_ms // wide, end_ms // wide
    for value, count in in_order:
        found[min(value // wide, last + 1)] += count
    bins = [Bin(number * wide, (number + 1) * wide, found[number]) for number in range(first, last + 1)]
    return [*bins, Bin((last + 1) * wide, None, found[last + 1])] if found[last + 1] else bins


def _is_end(shape: Shape) -> bool:
    fields = dict(shape.fields)
    is_task = shape.event == "TaskStateChanged" and shape.subject is LogSubject.TASK
    return is_task and TaskState.COMPLETED in (fields["from"], fields["to"])


def _completes(shape: Shape) -> bool:
    return ("to", TaskState.COMPLETED) in shape.fields


def _is_failure(shape: Shape) -> bool:
    """Return whether an entry of this shape is about an attempt that failed."""
    fields: Mapping[str, object] = dict(shape.fields)
    if shape.event != "TaskStateChanged" or shape.subject is not LogSubject.TASK:
        return False
    return bool(fields.get("exitCode")) or isinstance(fields.get("failureInfo"), FailureInfo)


def _failure_name(shape: Shape) -> str:
    fields = dict(shape.fields)
    info, code = fields.get("failureInfo"), fields.get("exitCode")
    if isinstance(code, int) and code:
        return f"exit code {code}"
    return info.code if isinstance(info, FailureInfo) else "failed"
