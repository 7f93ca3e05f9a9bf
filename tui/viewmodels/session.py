"""The session: a simulation, the job and pool in focus, and how they are displayed."""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar, TypeVarTuple, cast

from engine.base.values import called, format_utc
from engine.run.ahead import Ahead, next_event_ms
from engine.views.diagnosis.concerns import Attention
from engine.views.diagnosis.estimates import Forecast, Forecaster
from engine.views.diagnosis.expectations import foreseen
from engine.views.diagnosis.foretold import EndsAhead, Foretold
from engine.views.diagnosis.stuck import NEVER_RUN
from engine.views.log.reader import FirstStarts, Kept
from engine.views.log.series import RunSeries
from engine.views.resources.account import account_page, last_job_like, schedule_row, stored_blobs
from engine.views.resources.events import EventPage
from engine.views.resources.instances import pages_of
from engine.views.resources.jobs import (
    JobsProgress,
    cost_an_hour,
    cost_so_far,
    count_deleted_jobs,
    has_preparation,
    job_ids,
    job_row,
    jobs_after,
    jobs_worst_first,
    pool_ids,
    pool_of_job,
    pool_row,
)
from engine.views.resources.nodes import NodePage
from engine.views.resources.tasks import TaskPage
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import GlyphSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from engine import Simulation
    from engine.scenario.model import Options
    from engine.views.diagnosis.model import Finding
    from engine.views.resources.account import AccountPage, JobScheduleRow, StoredBlob
    from engine.views.resources.instances import InstancePage
    from engine.views.resources.jobs import JobProgress, JobRow, PoolRow
    from tui.viewmodels.text import ItemRef


_MOST_HISTORIES = 4
SERIES_ENTRIES = 24_576  # read in a few milliseconds; a busy frame has fewer, even with the cost of its buckets
_SOON_MS = 30_000  # what is due so soon is waited for
HistoryT = TypeVar("HistoryT")
FoundT = TypeVar("FoundT")
IdentityTs = TypeVarTuple("IdentityTs")


class JobEnd(NamedTuple):
    """The end of a job, or of its tasks if it stays active then, in ms after the start; estimated or simulated."""

    when_ms: int
    is_simulated: bool
    is_of_tasks: bool


class Session:
    """A simulation and the choices of its viewer. Every view model reads from it."""

    def __init__(self, simulation: Simulation, *, ascii_only: bool = False) -> None:
        """Start with the first job and its pool in focus, as soon as they exist."""
        self.simulation = simulation
        self.ahead = Ahead(simulation)
        self._ends_ahead = EndsAhead(simulation, self.ahead)
        self.glyphs = GlyphSet(ascii_only=ascii_only)
        self.time_format = "clock"  # or "elapsed"; "utc" in files, with date and milliseconds
        self.events = EventPage(simulation)
        self.series = RunSeries(simulation, SERIES_ENTRIES)
        self.attention = Attention(simulation)
        self._progress = JobsProgress(simulation)
        self._foretold = Foretold(simulation, self.ahead)
        self._concerns: Kept[Sequence[Finding]] = Kept()
        self.newest_ms = simulation.now_ms
        self.is_playing = False  # playback lets time go by
        self.awaits_end = False  # the run has just begun to be played ahead: no estimate stands in for its end
        self.crossed: list[tuple[int, int]] = []  # stretches without events that playback has crossed at once
        self.bookmarked_ms: list[int] = []  # in the order in which they were set
        self.marks: dict[ItemRef, None] = {}  # in the order of marking
        self._job_id = ""
        self._pool_id = ""
        self._moment: tuple[object, ...] = ()
        self._pages: dict[str, tuple[InstancePage, InstancePage]] = {}
        self._jobs: dict[str, JobRow | None] = {}
        self._found: dict[tuple[object, tuple[object, ...]], object] = {}
        self._tasks = TaskPage(simulation, "")
        self._nodes: NodePage | None = None
        self._first_jobs: dict[str, str] = {}  # by chosen pool: the job in focus while none is chosen
        self._forecaster: Forecaster | None = None
        self.first_starts = FirstStarts(simulation)
        self._forecast: tuple[str, Forecast] | None = None
        self._later_events: Kept[EventPage] = Kept()
        self._tried: tuple[tuple[int, int], int | None] = ((-1, -1), None)
        self._last_event = (-1, -1)  # where the run is over, if a trial has found that
        self._history = lru_cache(_MOST_HISTORIES)(lambda kind, row: kind(simulation, row))

    @property
    def now_ms(self) -> int:
        """The displayed moment, in ms since the start."""
        return self.simulation.now_ms

    @property
    def is_past(self) -> bool:
        """True if more has been recorded after the displayed moment."""
        return self.simulation.is_past

    @property
    def moment(self) -> tuple[object, ...]:
        """A value that differs when other things have happened, or other ones are known to come."""
        simulation, known = self.simulation, self.ahead.generation
        return *simulation.moment, simulation.is_past, known, self.awaits_end

    def update(self) -> None:
        """Drop what was cached for another moment, and note how far the run has come."""
        simulation, moment = self.simulation, self.moment
        if simulation.is_past:
            self.newest_ms = max(self.newest_ms, simulation.present_ms)
        if moment == self._moment:
            return
        self._moment = moment
        kept = self.job_id  # its pages read only what has changed
        self._pages = {job_id: pages for job_id, pages in self._pages.items() if job_id == kept}
        self._forecast = None
        self._keep_first_jobs()
        self._jobs.clear()
        self._found.clear()
        self.newest_ms = max(self.newest_ms, self.now_ms) if self.is_past else self.now_ms

    @contextmanager
    def at(self, when_ms: int) -> Iterator[None]:
        """Go to another moment inside the ``with`` block."""
        here_ms = self.now_ms
        if when_ms == here_ms:
            yield
            return
        self.update()
        self.simulation.seek(when_ms)
        try:
            self.update()
            yield
        finally:
            self.simulation.seek(here_ms)
            self.update()

    # -- the end -------------------------------------------------------------------------------------------------

    @property
    def end_ms(self) -> int | None:
        """The end of the run in ms after the start, None while it is not known."""
        simulation, known_ms = self.simulation, self.ahead.end_ms
        if known_ms is not None:
            return known_ms
        if simulation.finished:
            return simulation.last_ms
        return self.previous_ms if self._last_event == (simulation.jumps, len(simulation.log)) else None

    @property
    def last_known_ms(self) -> int | None:
        """The end of the run in ms after the start, as far as it is known or set; None before that."""
        return self.simulation.scenario.until_ms if self.end_ms is None else self.end_ms

    @property
    def is_over(self) -> bool:
        """True at the end of the run: nothing more can happen, or is known to happen."""
        end_ms = self.end_ms
        return self.simulation.finished or (end_ms is not None and self.now_ms >= end_ms)

    @property
    def previous_ms(self) -> int:
        """The moment of the last event up to now."""
        return self.simulation.log.last_ms

    def next_ms(self) -> int | None:
        """Return the next moment at which something may happen, or the end of the run; None if neither is known.

        Something does happen then if the run has been played ahead, or cannot be and it is long until then.
        """
        ahead, due_ms = self.ahead, self.events.next_ms()
        if ahead.is_complete:
            next_ms = ahead.next_event_ms()
            return ahead.end_ms if next_ms is None else next_ms
        if not ahead.is_given_up or self.is_past or due_ms is None or due_ms - self.now_ms < _SOON_MS:
            return due_ms
        return self._next_by_trial()

    def later_events(self) -> EventPage | None:
        """Return the events of the whole run; None while it has not been played ahead."""
        future = self.ahead.future
        return None if future is None else self._later_events.get(future, lambda: EventPage(future))

    def _next_by_trial(self) -> int | None:
        here = self.simulation.jumps, len(self.simulation.log)
        if self._tried[0] != here:
            next_ms = next_event_ms(self.simulation)
            here = self.simulation.jumps, len(self.simulation.log)
            self._tried = here, next_ms
            if next_ms is None and self.simulation.scenario.until_ms is None and not self.simulation.awaits_commands:
                self._last_event = here
        return self.end_ms if self._tried[1] is None else self._tried[1]

    # -- focus ---------------------------------------------------------------------------------------------------

    @property
    def job_id(self) -> str:
        """The job in focus. Until one is chosen it is a job of the pool that is not completed, if there is one.

        A job with a preparation task is preferred, then the worst one, which is at the top of the strip. It stays in
        focus until it is deleted. If a job schedule created it, the newest job of the schedule is in focus.
        """
        if not self._job_id and self._pool_id not in self._first_jobs:
            self._first_jobs[self._pool_id] = self._first_job_here()
        return self._job_id or self._first_jobs[self._pool_id]

    def choose_first_job(self) -> None:
        """Put the job that needs it most now in focus, unless one was chosen."""
        self._first_jobs.clear()

    def _keep_first_jobs(self) -> None:
        """Keep each job that nobody has chosen in focus while it exists."""
        kept = {pool_id: self._newest_like(job_id, pool_id) for pool_id, job_id in self._first_jobs.items()}
        self._first_jobs = {
            pool_id: job_id
            for pool_id, job_id in kept.items()
            if self.progress(job_id) is not None and pool_id in ("", pool_of_job(self.simulation, job_id))
        }

    def _newest_like(self, job_id: str, pool_id: str) -> str:
        """Return the newest job of the schedule that made this one, if it runs in the pool; else the job itself."""
        newest = last_job_like(self.simulation, job_id)
        return newest if pool_id in ("", pool_of_job(self.simulation, newest)) else job_id

    def _first_job_here(self) -> str:
        jobs = job_ids(self.simulation)
        here = [job for job in jobs if pool_of_job(self.simulation, job) == self._pool_id] if self._pool_id else jobs
        live = [job for job in jobs_worst_first(self.simulation)[0] if job in here]
        found = live or here or jobs
        prepared = (job for job in found if has_preparation(self.simulation, job))
        return self._newest_like(next(prepared, next(iter(found), "")), self._pool_id)

    @property
    def pool_id(self) -> str:
        """The pool in focus: the chosen one, else that of the job in focus, which may be deleted.

        Without a job it is the first pool. It is empty if the job has no pool, or there is none.
        """
        if self._pool_id:
            return self._pool_id
        if self.job_id:
            return pool_of_job(self.simulation, self.job_id)
        return next(iter(pool_ids(self.simulation)), "")

    def focus_job(self, job_id: str) -> None:
        """Put the job and its pool in focus."""
        self._job_id = job_id
        self._pool_id = pool_of_job(self.simulation, job_id)

    def focus_pool(self, pool_id: str) -> None:
        """Put the pool in focus, and its first job unless the job in focus runs there."""
        self._pool_id = pool_id
        if pool_of_job(self.simulation, self._job_id) != pool_id:
            self._job_id = ""

    @property
    def focus(self) -> tuple[str, str]:
        """The chosen job and pool, each empty if none was chosen."""
        return self._job_id, self._pool_id

    @focus.setter
    def focus(self, chosen: tuple[str, str]) -> None:
        self._job_id, self._pool_id = chosen

    @property
    def has_focus(self) -> bool:
        """True unless the chosen job or pool does not exist."""
        job_id, pool_id = self.focus
        return not (job_id and self.job(job_id) is None) and not (pool_id and self.pool(pool_id) is None)

    # -- looked up once for each moment --------------------------------------------------------------------------

    def pages(self, job_id: str) -> tuple[InstancePage, InstancePage]:
        """Return the preparation and the release page of a job."""
        found = self._pages.get(job_id)
        if found is None:
            found = self._pages[job_id] = pages_of(self.simulation, job_id)
        return found

    def job(self, job_id: str) -> JobRow | None:
        """Return a job's row, or None if it does not exist."""
        if job_id not in self._jobs:
            self._jobs[job_id] = job_row(self.simulation, *self.pages(job_id))
        return self._jobs[job_id]

    def progress(self, job_id: str) -> JobProgress | None:
        """Return the counts of a job that are cheap to read, or None if it does not exist."""
        return self._progress.of(job_id)

    def job_end(self, job_id: str) -> JobEnd | None:
        """Return when a job will end, or its tasks if it stays active then; None if it is not known."""
        ends = self._ends_ahead.of(job_id)
        if ends is None and job_id != self.job_id:
            return None
        forecast = self.forecast() if ends is None else ends.seen_at(self.now_ms)
        end_ms = forecast.end_ms
        return None if end_ms is None else JobEnd(end_ms, forecast.is_simulated, forecast.job_ms is None)

    @property
    def has_several_jobs(self) -> bool:
        """True if there is more than one job, so that a task's id alone does not say which one it is."""
        return len(job_ids(self.simulation)) > 1

    def pool(self, pool_id: str) -> PoolRow | None:
        """Return a pool's row, also of a deleted one, which has no state; None if there never was one."""
        return self._look_up(pool_row, pool_id)

    def cost(self, pool_id: str | None = None) -> float:
        """Return the cost of the nodes of a pool, or of all pools, so far."""
        return self._look_up(cost_so_far, pool_id)

    def cost_an_hour(self) -> float:
        """Return the price of an hour with the VMs that the pools have or have requested."""
        return self._look_up(cost_an_hour)

    def money(self, amount: float) -> str:
        """Return an amount in the currency of the prices."""
        return fmt.money(amount, self.simulation.scenario.currency)

    def cost_by_the_end(self, pool_id: str | None = None) -> float | None:
        """Return the cost of a pool, or of all pools, by the simulated end; None at the end, and before it is known."""
        future = self.ahead.future
        return None if future is None or self.is_over else self._look_up(cost_so_far, pool_id, future)

    def blobs(self) -> list[StoredBlob]:
        """Return the blobs in storage, sorted by container and name."""
        return self._look_up(stored_blobs)

    def account(self) -> AccountPage:
        """Return the account with its quotas, applications and certificates."""
        return self._look_up(account_page)

    def schedule(self, schedule_id: str) -> JobScheduleRow | None:
        """Return a job schedule's row, or None if it does not exist."""
        return self._look_up(schedule_row, schedule_id)

    def _look_up(self, read: Callable[[Simulation, *IdentityTs], FoundT], *identity: *IdentityTs) -> FoundT:
        if (read, identity) not in self._found:
            self._found[read, identity] = read(self.simulation, *identity)
        return cast("FoundT", self._found[read, identity])

    def nodes(self) -> NodePage:
        """Return the nodes of the pool in focus, with their state in the job in focus."""
        pages = self.pages(self.job_id)
        if self._nodes is None or not self._nodes.is_of(self.pool_id, *pages):
            self._nodes = NodePage(self.simulation, self.pool_id, *pages)
        return self._nodes

    def tasks(self, job_id: str) -> TaskPage:
        """Return the tasks of a job. The page of the last job asked for is cached."""
        if self._tasks.job_id != job_id:
            self._tasks = TaskPage(self.simulation, job_id)
        return self._tasks

    def forecast(self) -> Forecast:
        """Return the ends of the job in focus and of its phases: simulated if they are known, else estimated."""
        job_id = self.job_id
        if self._forecast is None or self._forecast[0] != job_id:
            ends = self._ends_ahead.of(job_id)
            self._forecast = job_id, self._estimate(job_id) if ends is None else ends.seen_at(self.now_ms)
        return self._forecast[1]

    def _estimate(self, job_id: str) -> Forecast:
        if self.awaits_end:
            return Forecast()
        pages, tasks = self.pages(job_id), self.tasks(job_id)
        if self._forecaster is None or not self._forecaster.is_of(tasks, *pages):
            self._forecaster = Forecaster(self.simulation, tasks, *pages, self.first_starts)
        job = self.job(job_id)
        has_stuck = job is not None and job.record.spec.uses_task_dependencies  # else it is not worth a look
        never_run = has_stuck and any(one.condition in NEVER_RUN for one in self.attention.about(job_id))
        return self._forecaster.estimate(has_stuck=never_run)

    def concerns(self) -> Sequence[Finding]:
        """Return what needs attention in the whole run, or will once it is played ahead, the worst and newest first."""
        now, simulation = self.attention.concerns(), self.simulation
        sources = *simulation.moment, simulation.finished, self.ahead.generation
        return self._concerns.get(sources, lambda: self._with_coming(now))

    def _with_coming(self, now: Sequence[Finding]) -> Sequence[Finding]:
        ahead = self.ahead
        expected = foreseen(self.simulation, ahead.expectations, end_ms=ahead.end_ms, is_over=self.is_over)
        coming = [*expected, *self._foretold.concerns(now)]
        return sorted([*now, *coming], key=lambda concern: concern.order) if coming else now

    def history(self, kind: Callable[[Simulation, int], HistoryT], row: int) -> HistoryT:
        """Return the log's history of one item. The last few histories are cached."""
        return cast("HistoryT", self._history(kind, row))

    # -- words ---------------------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """True if nothing has happened and nothing will, unless something is created by hand."""
        is_idle = self.events.next_ms() is None and not self.simulation.awaits_commands
        return is_idle and not self.is_past and not self.simulation.log

    def none_yet(self, noun: str) -> tuple[str, str]:
        """Return sentences that say there are no items of a kind, and whether more can come."""
        is_over = self.is_over and not self.is_past
        if self.is_empty:
            return f"There is no {noun} yet.", "ctrl+n creates a pool or a job; a offers more."
        deleted = count_deleted_jobs(self.simulation) if noun == "job" else 0
        if deleted:
            said = "The job was deleted." if deleted == 1 else f"All {deleted:,} jobs were deleted."
        else:
            said = f"There was no {noun}." if is_over else f"There is no {noun} yet."
        if is_over:
            return said, "The run is over: nothing more will come."
        if noun == "job" and (coming := self.coming_jobs):
            said += f" {coming}"
        elif self.ahead.future is not None and noun == "job":
            said = f"{said.removesuffix(' yet.').removesuffix('.')}, and none is added in the rest of the run."
        return said, "space runs and pauses, . goes on to the next moment."

    @property
    def coming_jobs(self) -> str:
        """A sentence that says when the next job is added; empty if none is, or if that is not known."""
        future = self.ahead.future
        number, next_ms = (0, 0) if future is None else jobs_after(future, self.now_ms)
        if number == 1:
            return f"The next job is added at {self.clock(next_ms)}."
        return f"{number:,} jobs are still added, the next at {self.clock(next_ms)}." if number else ""

    def no_pool(self) -> tuple[str, str]:
        """Return sentences that say why no pool is in focus."""
        if self.job_id and pool_ids(self.simulation):
            return f"{called('Job', self.job_id)} has no pool.", "P chooses a pool."
        return self.none_yet("pool")

    @property
    def options(self) -> Options:
        """The options of the scenario, which change what some rules say."""
        return self.simulation.scenario.options

    def clock(self, ms: int | None) -> str:
        """Return a moment in the chosen format of times."""
        if ms is None or self.time_format == "clock":
            return fmt.clock(self.simulation.scenario.start, ms)
        if self.time_format == "utc":
            return format_utc(self.simulation.scenario.start, ms)
        return fmt.span(ms)

    def text(self, text: str) -> str:
        """Return the text in the chosen character set."""
        return self.glyphs.text(text)
