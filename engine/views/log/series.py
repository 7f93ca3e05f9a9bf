"""The time series of a run: nodes, tasks, preparation and cost of a pool or a job, read from the log as it grows.

A series has as many columns as a drawing has room for. A column has its times, and the mean or growth of a number.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise, repeat
from operator import mul, sub, truediv
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from engine.base.values import MINUTE_MS
from engine.run.conditions import price_of
from engine.state.tasks import RUNNING
from engine.views.log.changes import ALL, Buckets, ChangeCounter, Measure
from engine.views.log.levels import RareLevels
from engine.views.log.reader import Cuts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine import Simulation
    from engine.state.pools import Pool
    from engine.views.log.levels import Level


class Axis(NamedTuple):
    """The times of a series: column ``n`` covers the buckets after ``edges[n]`` up to ``edges[n + 1]``."""

    every_ms: int
    edges: tuple[int, ...]

    @property
    def begin_ms(self) -> int:
        """The beginning of the first column, in ms since the start."""
        return self.edges[0] * self.every_ms if self.edges else 0

    @property
    def end_ms(self) -> int:
        """The end of the last column, in ms since the start."""
        return self.edges[-1] * self.every_ms if self.edges else 0


class ColumnReader:
    """Reads measures column by column. A column takes the same time however many buckets it covers."""

    def __init__(self, axis: Axis, buckets: Buckets) -> None:
        self._axis = axis
        self._buckets = buckets
        self._edges = [edge + 1 for edge in axis.edges]  # places in what ``Buckets`` answers
        self._widths = list(map(sub, axis.edges[1:], axis.edges))

    def means(self, measure: Measure, row: int) -> list[float]:
        """Return the mean of a measure at the ends of the buckets of each column."""
        if not self._widths:
            return []
        totals = self._buckets.totals(measure, row, self._axis.edges[-1] + 1)
        at_edges = list(map(totals.__getitem__, self._edges))
        return list(map(truediv, map(sub, at_edges[1:], at_edges), self._widths))

    def in_a_minute(self, measure: Measure, row: int) -> list[float]:
        """Return the growth of a measure in the minute before the end of each column.

        In a longer column it is the average growth in a minute.
        """
        if not self._widths:
            return []
        value_at = self._buckets.values(measure, row, self._axis.edges[-1] + 1).__getitem__
        begins, spent_ms = self._minutes
        grown = map(sub, map(value_at, self._edges[1:]), map(value_at, begins))
        return list(map(truediv, map(mul, grown, repeat(MINUTE_MS)), spent_ms))

    @cached_property
    def _minutes(self) -> tuple[list[int], list[int]]:
        """The place of the bucket before the last minute of each column, and the ms since then, at least 60,000."""
        edges, every_ms = self._axis.edges, self._axis.every_ms
        minute = max(1, round(MINUTE_MS / every_ms))
        begin = max(0, edges[0] - minute)
        since = [max(begin, min(start, end - minute)) for start, end in pairwise(edges)]
        spent_ms = [max(MINUTE_MS, (end - start) * every_ms) for start, end in zip(since, edges[1:], strict=True)]
        return [place + 1 for place in since], spent_ms


def peaks(axis: Axis, level: Level) -> list[int]:
    """Return the highest value of a level in each column: a mean would hide what is short."""
    moments = [edge * axis.every_ms for edge in axis.edges]
    last_ms, last = level.latest()
    return [last if begin_ms >= last_ms else level.highest(begin_ms, end_ms) for begin_ms, end_ms in pairwise(moments)]


_FIRST_BUCKET_MS = 125  # doubled whenever there are too many buckets
MOST_BUCKETS = 1024
_EVERYTHING = 1 << 62
_NO_MOMENT = (-1, -1, -1)


class PoolSeries(NamedTuple):
    """The nodes of a pool, or of all pools: means over each column. Cost is in US dollars."""

    axis: Axis
    running: Sequence[float]
    idle: Sequence[float]
    starting: Sequence[float]
    down: Sequence[float]
    target: Sequence[float]  # at the end of each column
    usd: Sequence[float]  # so far, at the end of each column


class JobSeries(NamedTuple):
    """The tasks of a job, or of all jobs: means over each column, and rates. Of preparing nodes it is the most."""

    axis: Axis
    waiting: Sequence[float]  # tasks in state active or preparing; none of a job that has ended
    preparing: Sequence[float]  # of the waiting tasks: those in state preparing
    running: Sequence[float]
    succeeded_a_minute: Sequence[float]  # in the minute before the end of each column, or on average if it is longer
    failed_a_minute: Sequence[float]
    preparing_nodes: Sequence[int]  # the highest number in each column


SeriesT = TypeVar("SeriesT")


class RunSeries:
    """The series of all pools and jobs of a run, up to the moment that is shown.

    If more has happened at once than may be read at once, they end earlier until ``go_on`` has read it.
    """

    def __init__(self, simulation: Simulation, at_most: int | None = None) -> None:
        """Create empty series; the log is read when they are asked for.

        Args:
            simulation: The run.
            at_most: The number of entries to read at each new moment, and each time to go on; None reads all, and
                so does a log that is not twice as long.
        """
        self._simulation = simulation
        self._at_most = _EVERYTHING if at_most is None else at_most
        self._cuts = Cuts(simulation.log)
        self._counter = ChangeCounter(simulation)
        self._all = Buckets(simulation.log, self._counter, _FIRST_BUCKET_MS, MOST_BUCKETS)
        self._levels = RareLevels(simulation)
        self._moment = _NO_MOMENT
        self._until_ms = 0
        self._found: dict[tuple[object, ...], object] = {}
        self._found_at: tuple[object, ...] = ()

    @property
    def _most(self) -> int:
        """The number of entries to read at once."""
        return self._at_most if len(self._simulation.log) > 2 * self._at_most else _EVERYTHING

    # -- reading -------------------------------------------------------------------------------------------------

    @property
    def until_ms(self) -> int:
        """The moment up to which all is read."""
        self._update()
        return self._until_ms

    @property
    def is_behind(self) -> bool:
        """True while something that was asked for may not be read up to the moment that is shown."""
        return self.until_ms < self._simulation.now_ms

    def go_on(self) -> None:
        """Read on, if more happened than was read at once."""
        self._moment = _NO_MOMENT
        self._update()

    def read_all(self) -> None:
        """Read everything up to the moment that is shown."""
        if self.is_behind:
            at_most, self._at_most = self._at_most, _EVERYTHING
            self.go_on()
            self._at_most = at_most

    def _update(self) -> None:
        simulation = self._simulation
        length = self._cuts.shortest()
        if length is not None:
            log = simulation.log
            from_ms = log.when[length] if length < len(log) else simulation.now_ms
            self._counter.forget_rows()
            self._all.cut(length, from_ms)
        moment = simulation.moment
        if moment == self._moment and length is None:
            return
        self._moment = moment
        left = self._most
        self._levels.update(left)
        self._all.widen(simulation.now_ms)
        while left > 0 and self._all.is_behind(simulation.now_ms):
            self._all.double()
            left -= self._all.go_on(simulation.now_ms, left)
        self._until_ms = min(
            self._levels.known_until_ms(simulation.now_ms), self._all.known_until_ms(simulation.now_ms)
        )
        self._forget_series(length is not None)

    def _forget_series(self, is_cut: bool) -> None:
        """Forget the series of another moment, unless they have the same columns: these do not change any more."""
        until_ms = self._until_ms
        here = self._all.every_ms, (until_ms - 1) // self._all.every_ms, self._simulation.jumps
        if is_cut or here != self._found_at:
            self._found.clear()
        self._found_at = here

    def _axis(self, columns: int) -> Axis:
        """Return the axis of at most so many columns."""
        every_ms = self._all.every_ms
        last = max(0, self._until_ms - 1) // every_ms
        count = min(columns, last)
        return Axis(every_ms, tuple(at * last // count for at in range(count + 1)) if count else ())

    def _once(self, key: tuple[object, ...], make: Callable[[], SeriesT]) -> SeriesT:
        self._update()
        if key not in self._found:
            self._found[key] = make()
        return self._found[key]  # type: ignore[return-value]

    # -- queries -------------------------------------------------------------------------------------------------

    def of_pool(self, pool_id: str | None, columns: int) -> PoolSeries:
        """Return the series of a pool, or of all pools, with at most so many columns; empty for an unknown pool."""
        pools = self._simulation.world.pools
        pool = None if pool_id is None else pools.find(pool_id)
        chosen = len(pools.rows), pool_id, pool.row if pool is not None else None
        return self._once(("pool", *chosen, columns), lambda: self._pool(pool_id, columns))

    def of_job(self, job_id: str | None, columns: int) -> JobSeries:
        """Return the series of a job, or of all jobs, with at most so many columns; empty for an unknown job."""
        job = None if job_id is None else self._simulation.world.jobs.find(job_id)
        chosen = (job_id,) if job is None else (job.row, job.end_ms)
        return self._once(("job", *chosen, columns), lambda: self._job(job_id, columns))

    def running_of_all(self, columns: int) -> Sequence[float]:
        """Return the running tasks of all jobs in the columns of ``of_job``."""

        def running() -> list[float]:
            return ColumnReader(self._axis(columns), self._all).means(Measure.RUNNING, ALL)

        return self._once(("running", columns), running)

    def preparation_ms(self, job_id: str | None) -> int:
        """Return for how long the preparation of a job, or of all jobs, has run, all nodes together."""
        self._update()
        found = None if job_id is None else self._simulation.world.jobs.find(job_id)
        row = ALL if job_id is None else -2 if found is None else found.row
        return self._levels.preparing[row].area(self._until_ms)

    def succeeded_in_a_minute(self, job_id: str) -> float:
        """Return how many tasks of a job have succeeded in the last minute, or a minute's share of a longer bucket."""
        self._update()
        job, buckets, until_ms = self._simulation.world.jobs.find(job_id), self._all, self._until_ms
        if job is None:
            return 0.0
        since_ms = max(0, until_ms - MINUTE_MS) // buckets.every_ms * buckets.every_ms
        grown = buckets.value_at(Measure.SUCCEEDED, job.row, until_ms)
        grown -= buckets.value_at(Measure.SUCCEEDED, job.row, since_ms)
        return grown * MINUTE_MS / max(MINUTE_MS, until_ms - since_ms)

    def running_tasks(self) -> int:
        """Return the number of tasks of all jobs that run now."""
        return sum(job.counts[RUNNING] for job in self._simulation.world.jobs.rows)

    def _pool(self, pool_id: str | None, columns: int) -> PoolSeries:
        axis = self._axis(columns)
        world = self._simulation.world
        pool = None if pool_id is None else world.pools.latest(pool_id)
        if pool_id is not None and pool is None:
            return PoolSeries(Axis(0, ()), (), (), (), (), (), ())
        chosen = world.pools.rows if pool is None else [pool]
        row = ALL if pool is None else pool.row
        moments = [edge * axis.every_ms for edge in axis.edges]
        costs = [self._usd_at(each, moments) for each in chosen]
        usd = [sum(each) for each in zip(*costs, strict=True)] if costs else [0.0] * len(moments)
        reader = ColumnReader(axis, self._all)
        running, idle, starting, down = (
            reader.means(measure, row)
            for measure in (Measure.NODES_RUNNING, Measure.NODES_IDLE, Measure.NODES_STARTING, Measure.NODES_DOWN)
        )
        targets = [[self._target(each, end_ms) for end_ms in moments[1:]] for each in chosen]
        target = [sum(each) for each in zip(*targets, strict=True)]
        return PoolSeries(axis, running, idle, starting, down, target, usd[1:])

    def _job(self, job_id: str | None, columns: int) -> JobSeries:
        axis = self._axis(columns)
        job = None if job_id is None else self._simulation.world.jobs.find(job_id)
        if job_id is not None and job is None:
            return JobSeries(Axis(0, ()), (), (), (), (), (), ())
        row = ALL if job is None else job.row
        reader = ColumnReader(axis, self._all)
        waiting, preparing, running = (
            reader.means(measure, row) for measure in (Measure.WAITING, Measure.PREPARING, Measure.RUNNING)
        )
        succeeded, failed = (reader.in_a_minute(measure, row) for measure in (Measure.SUCCEEDED, Measure.FAILED))
        ended_ms = _EVERYTHING if job is None or job.end_ms is None else job.end_ms  # what has ended waits for nothing
        ends = [end * axis.every_ms for end in axis.edges[1:]]
        return JobSeries(
            axis,
            [sum(each) if end <= ended_ms else 0.0 for *each, end in zip(waiting, preparing, ends, strict=True)],
            [each if end <= ended_ms else 0.0 for each, end in zip(preparing, ends, strict=True)],
            running,
            succeeded,
            failed,
            peaks(axis, self._levels.preparing[row]),
        )

    def _target(self, pool: Pool, when_ms: int) -> int:
        is_gone = pool.gone_ms is not None and pool.gone_ms <= when_ms
        return 0 if is_gone else self._levels.target[pool.row].at(when_ms)

    def _usd_at(self, pool: Pool, moments_ms: Sequence[int]) -> list[float]:
        dedicated, spot = (level[pool.row].areas(moments_ms) for level in (self._levels.dedicated, self._levels.spot))
        return [price_of(pool, *each) for each in zip(dedicated, spot, strict=True)]
