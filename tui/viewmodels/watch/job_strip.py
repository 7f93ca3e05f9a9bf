"""The jobs strip, the phase rail, and the tabs of the job in focus.

The strip has a line for each job with its phases as bars, its end, and its problems; the worst job first. The rail is
the progress of preparation, tasks and release of the job in focus. One of the tabs over its lists matters now.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from engine.base.terms import JobState
from engine.base.values import called
from engine.views.diagnosis.model import Severity
from engine.views.hook_status import HookStatus
from engine.views.resources.jobs import is_unfinished, jobs_worst_first
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import HOOK_STATUSES, JOB, PREPARATION, RELEASE, TASK_GLYPHS, glyph_of_job
from tui.viewmodels.properties import awaited, cost_words, node_words, own_slot_words, pool_cost_words
from tui.viewmodels.text import Line, Role, Span, bar, between, cut, fit, line, squeeze, squeezed, width
from tui.viewmodels.watch.attention import END_WORDS, estimate_line, estimates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.views.resources.instances import HookCounts, TaskCounts
    from engine.views.resources.jobs import JobProgress, JobRow, NodeCounts, PoolRow
    from tui.viewmodels.glyphs import Glyph, GlyphSet
    from tui.viewmodels.session import JobEnd, Session


PREPARATION_TAB, TASKS_TAB, RELEASE_TAB = "preparation", "tasks", "release"
EVENTS_TAB, EXPECTATIONS_TAB = "events", "expectations"
_TAB_TITLES = {
    PREPARATION_TAB: ("Preparation tasks", "Preparation", "Prep"),
    TASKS_TAB: ("Tasks", "Tasks", "Tasks"),
    RELEASE_TAB: ("Release tasks", "Release", "Rel"),
    EVENTS_TAB: ("Events", "Events", "Events"),
    EXPECTATIONS_TAB: ("Expectations", "Expect", "Expect"),
}
_TAB_GAP = 2  # cells between tabs


def tabs_of(job: JobRow | None, *, has_expectations: bool) -> tuple[str, ...]:
    """Return the lists of a job and the expectations of the scenario; what neither has is left out."""
    phases = None if job is None else job.phases
    has = {
        PREPARATION_TAB: phases is not None and phases.preparation.is_specified,
        TASKS_TAB: phases is not None,
        RELEASE_TAB: phases is not None and phases.release.is_specified,
        EXPECTATIONS_TAB: has_expectations,
    }
    return tuple(name for name in _TAB_TITLES if has.get(name, True))


def tab_that_matters(job: JobRow | None) -> str:
    """Return the list that shows what happens now: preparation before most tasks, release at the end."""
    if job is None:
        return EVENTS_TAB
    preparation, tasks, release = job.phases
    if release.is_specified and job.state in (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING):
        return RELEASE_TAB
    preparing = preparation[HookStatus.RUNNING] + preparation[HookStatus.RETRYING]
    if preparing and preparing >= tasks.running + tasks.succeeded + tasks.failed:
        return PREPARATION_TAB
    return TASKS_TAB if tasks.total else EVENTS_TAB


def tab_spans(names: Sequence[str], shown: str, counts: Mapping[str, str], cells: int) -> Line:
    """Return the titles of the tabs in the longest form that fits, with a count beside each that has one."""
    forms = [[f"{_TAB_TITLES[name][form]} {counts.get(name, '')}".rstrip() for name in names] for form in range(3)]
    forms.append([_TAB_TITLES[name][2] for name in names])
    titles = next((each for each in forms if sum(map(len, each)) + _TAB_GAP * len(each) <= cells), forms[-1])
    spans: list[Span] = []
    for name, title in zip(names, titles, strict=True):
        role = Role.STRONG if name == shown else Role.DIM
        spans += [Span(title, role, is_underlined=name == shown, leads_to=name), Span(" " * _TAB_GAP)]
    return tuple(spans[:-1]) if width(spans) else ()


_LABELS = ("Preparation tasks  ", "Tasks              ", "Release tasks      ")
_POOL_CELLS = (24, 12, 8)  # of the id of a pool, the first that fits
_SMALL_RAIL = 72  # cells; narrower rails have short bars
_SHORT_LABELS = ("Prep    ", "Tasks   ", "Release ")


def rail_title(session: Session, cells: int) -> str:
    """Return the heading: job, state, priority, pool; the names are shortened if they must be."""
    job = session.job(session.job_id)
    if job is None:
        return "no job"
    about = [JOB[job.state].name]
    if job.record.terminate_reason:
        about.append(job.record.terminate_reason)
    if job.record.priority:
        about.append(f"priority {job.record.priority}")
    names, words = [job.job_id], ["", *about]
    pool = session.pool(session.pool_id)
    if pool is not None:
        names.append(pool.pool_id)
        words.append(f"pool  {_size_words(pool)}")
        others = sum(is_unfinished(session.simulation, other) for other in pool.jobs if other != job.job_id)
        if others:
            words.append(f"{others} other {'job' if others == 1 else 'jobs'} here")
    said = squeezed(names, cells - len(" · ".join(words)))
    words[0] = said[0]
    if len(said) > 1:
        words[1 + len(about)] = words[1 + len(about)].replace("pool ", called("pool", said[1]), 1)
    return session.text(" · ".join(words))


def rail_subtitle(session: Session, cells: int, *, has_pool: bool) -> str:
    """Return the cost of the run and what the pool in focus does, its size first if ``has_pool``.

    The cost stays where there is little room; the pool's name is shortened for it.
    """
    pool, cost = session.pool(session.pool_id), cost_words(session)
    if pool is None:
        return cost
    scales = "autoscale on" if pool.state is not None and pool.record.auto_scale else ""
    more = [own_slot_words(session, pool), pool_cost_words(session, pool.pool_id), scales]
    size = _size_words(pool)
    named = [f"{called('pool', squeeze(pool.pool_id, most))} {size}" for most in _POOL_CELLS] if has_pool else []
    whole = [*named[:1], cost, *more]
    forms = [whole[:end] for end in range(len(whole), len(named[:1]), -1)] + [[each, cost] for each in named[1:]]
    texts = [" · ".join(filter(None, form)) for form in forms]
    return session.text(next((text for text in texts if len(text) <= cells), cost))


def _size_words(pool: PoolRow) -> str:
    return "deleted" if pool.allocation is None else f"{pool.allocation.wire} {node_words(pool)}"


def rail(session: Session, cells: int, lines: int) -> list[Line]:
    """Return a bar with counts for each phase that the job has, and the ends.

    The ends stand on a line of their own if there are more ``lines`` than bars.
    """
    job = session.job(session.job_id)
    if job is None:
        return [line(Span(" ".join(session.none_yet("job")), Role.DIM))]
    is_narrow = cells < 96
    bar_cells = max(10, cells * (46 if not is_narrow else 34 if cells >= _SMALL_RAIL else 20) // 100)
    bars = _bars(session, job, bar_cells, is_narrow=is_narrow)
    has_ends = lines <= len(bars)
    found = []
    for (label, drawn, text), end in zip(bars, _ends_of(session, job), strict=True):
        gap = Span(" " * (bar_cells - width(drawn) + 2))
        role = Role.STRONG if not is_narrow else Role.PLAIN
        whole = (Span(label, role), *drawn, gap, *text)
        found.append(between(whole, end, cells) if end and has_ends else cut(whole, cells))
    return found if has_ends else [*found, estimate_line(session, job, cells)]


def phases_of(job: JobRow | None) -> int:
    """Return the number of bars on the rail of a job."""
    return 1 if job is None else 1 + job.phases.preparation.is_specified + job.phases.release.is_specified


def _ends_of(session: Session, job: JobRow) -> list[Line]:
    """Return the ends beside the bars."""
    preparation, tasks, release = estimates(session, job)
    phases = job.phases
    if not phases.release.is_specified:
        tasks = release or tasks
    return [*[preparation] * phases.preparation.is_specified, tasks, *[release] * phases.release.is_specified]


def _bars(session: Session, job: JobRow, cells: int, *, is_narrow: bool) -> list[tuple[str, Line, Line]]:
    """Return label, bar and counts of each phase that the job has."""
    glyphs = session.glyphs
    labels, phases = _SHORT_LABELS if is_narrow else _LABELS, job.phases
    said = _task_text(phases.tasks, glyphs, is_narrow, is_live=job.is_live)
    bars = [(labels[1], _task_meter(phases.tasks, glyphs, cells), said)]
    if phases.preparation.is_specified:
        drawn = _hook_bar(phases.preparation, PREPARATION, glyphs, cells)
        bars.insert(0, (labels[0], drawn, _preparation_text(job, glyphs)))
    if phases.release.is_specified:
        drawn = _hook_bar(phases.release, RELEASE, glyphs, cells)
        bars.append((labels[2], drawn, _release_text(session, job)))
    return bars


def _meter(glyphs: GlyphSet, cells: int, *parts: tuple[int, Role]) -> Line:
    """Return a bar of parts in their roles: what is done, what has failed, what waits or never comes, and what runs."""
    rest = glyphs.meter_rest
    signs = {Role.OK: glyphs.meter, Role.FAILED: glyphs.meter_failed, Role.QUIET: rest, Role.OFF: rest}
    drawn = bar([(count, role, signs.get(role, glyphs.meter_running)) for count, role in parts], cells)
    return drawn or (Span(rest * cells, Role.OFF),)


def _hook_bar(counts: HookCounts, table: dict[HookStatus, Glyph], glyphs: GlyphSet, cells: int) -> Line:
    others = HookStatus.SKIPPED, HookStatus.STOPPED, HookStatus.LEAVING, HookStatus.GONE
    return _meter(
        glyphs,
        cells,
        (counts[HookStatus.SUCCEEDED], Role.OK),
        (counts[HookStatus.SUPERSEDED], Role.TRANSITION),
        (counts[HookStatus.RUNNING] + counts[HookStatus.RETRYING], table[HookStatus.RUNNING].role),
        (counts[HookStatus.FAILED], Role.FAILED),
        (counts[HookStatus.WILL_RUN], Role.QUIET),
        (sum(map(counts.__getitem__, others)) + counts.without_record, Role.OFF),
    )


def _task_meter(counts: TaskCounts, glyphs: GlyphSet, cells: int) -> Line:
    """Return a bar of tasks in ``cells``: succeeded, failed, running, preparing, waiting."""
    done = (counts.succeeded, Role.OK), (counts.failed, Role.FAILED)
    going_on = (counts.running, Role.RUNNING), (counts.preparing, Role.PREPARING), (counts.active, Role.QUIET)
    return _meter(glyphs, cells, *done, *going_on)


def _counted(glyphs: GlyphSet, glyph: Glyph, number: int) -> Line:
    return (Span(f"{glyphs.of(glyph)}{number:,}", glyph.role), Span("  ")) if number else ()


def _hook_counts(glyphs: GlyphSet, table: dict[HookStatus, Glyph], counts: HookCounts) -> list[Span]:
    statuses = (each for each in HOOK_STATUSES if each in table and each is not HookStatus.WILL_RUN)
    return [span for status in statuses for span in _counted(glyphs, table[status], counts[status])]


def _preparation_text(job: JobRow, glyphs: GlyphSet) -> Line:
    counts = job.phases.preparation
    spans = _hook_counts(glyphs, PREPARATION, counts)
    if counts.without_record:
        yet = " yet" if job.is_live and job.phases.tasks.active else ""
        spans.append(Span(f"{counts.without_record:,} not prepared{yet}", Role.DIM))
    return tuple(spans)


def _task_text(counts: TaskCounts, glyphs: GlyphSet, is_narrow: bool, *, is_live: bool) -> Line:
    if not counts.total:
        return line(Span("no tasks yet" if is_live else "no tasks", Role.DIM))
    active, preparing, running, succeeded, failed, *_ = TASK_GLYPHS
    begun = (succeeded, counts.succeeded), (failed, counts.failed), (running, counts.running)
    numbers = *begun, (preparing, counts.preparing)
    spans = [span for glyph, number in numbers for span in _counted(glyphs, glyph, number)]
    if counts.active:
        waits = f"{'wait' if is_narrow else 'waiting'} {counts.active:,}"
        spans.append(Span(waits if is_live else f"{counts.active:,} never completed", active.role))
    return tuple(spans)


def _release_text(session: Session, job: JobRow) -> Line:
    counts = job.phases.release
    spans = _hook_counts(session.glyphs, RELEASE, counts)
    owed = counts[HookStatus.WILL_RUN]
    if job.state not in (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING):
        return line(Span(f"{owed:,} owed so far" if owed else "none owed so far", Role.DIM))
    if owed:
        spans.append(Span(f"{owed:,} {awaited(session, session.pages(job.job_id)[1])}", Role.DIM))
    return tuple(spans) or line(Span("nothing to release", Role.DIM))


_WIDE, _SMALL = 96, 70  # cells; narrower strips have two bars at most, and then short labels and bare times
_NAME_CELLS = (8, 30)
_END_CELLS = (14, 13, 8)  # at least, in a wide strip, in a narrower and in a small one
_LEAST_BAR = 3
_FAIR_BAR = 10  # cells of a bar of nodes where tasks have enough room
_LEAST_TASK_BAR = 4
_RUNNING_TASK = TASK_GLYPHS[2]
_KEPT = 256  # lines and bars: more than a screen has


class JobStripModel:
    """All jobs of the run: the live ones, the worst first, then the completed ones, those with problems first."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.job_ids: list[str] = []
        self.rows: list[str] = []  # the jobs with a line
        self._live = 0
        self._troubled: set[str] = set()  # of the completed ones

    def update(self) -> None:
        """Read the simulation again."""
        live, completed = jobs_worst_first(self.session.simulation)
        attention = self.session.attention
        live.sort(key=attention.worst)
        self._troubled = set(filter(attention.problems, completed))
        completed.sort(key=lambda job_id: job_id not in self._troubled)  # among themselves the newest first
        self.job_ids, self._live = [*live, *completed], len(live)
        self.fold(len(self.job_ids))

    def fold(self, lines: int) -> None:
        """Leave out completed jobs while others are live and not all have room: a line at the end counts them.

        The job in focus is never left out.
        """
        live, completed = self.job_ids[: self._live], self.job_ids[self._live :]
        is_folded = bool(live) and len(completed) > 1 and len(self.job_ids) > lines
        self.rows = [*live, *(each for each in completed if not is_folded or each == self.session.job_id)]

    @property
    def line_count(self) -> int:
        """The number of lines of all jobs."""
        return len(self.rows) + (len(self.rows) < len(self.job_ids))

    def room(self, lines: int) -> int:
        """Return how many jobs have a line: the one that counts the others always stands below them."""
        return max(1, lines - (len(self.rows) < len(self.job_ids)))

    @property
    def is_single(self) -> bool:
        """True if there is only one job, which then has a line for each phase."""
        return len(self.job_ids) < 2

    @property
    def row(self) -> int:
        """The row of the job in focus."""
        job_id = self.session.job_id
        return self.rows.index(job_id) if job_id in self.rows else 0

    def lines_wanted(self) -> int:
        """Return how many lines are worth their room: while others are live, completed jobs out of focus have one."""
        if self.is_single:
            return phases_of(self.session.job(self.session.job_id)) + 1
        completed = len(self.job_ids) - self._live
        return self._live + (min(completed, 1 + (self.row >= self._live)) if self._live else completed) + 1

    def title(self, lines: int, cells: int) -> str:
        """Return the number of jobs, those that are not visible among them; of a single job its state."""
        session = self.session
        if self.is_single:
            return rail_title(session, cells)
        completed = len(self.job_ids) - self._live
        words = [f"{number:,} {word}" for number, word in ((self._live, "live"), (completed, "completed")) if number]
        words += [f"{len(self._troubled):,} of them with problems"] if self._troubled else []
        hidden = len(self.rows) - self.room(lines)
        more = [f"+{hidden:,} more"] if hidden > 0 else []
        return session.text(" · ".join([f"Jobs: {', '.join(words)}", *more]))

    def subtitle(self, cells: int) -> str:
        """Return what the pool of the job in focus does and costs."""
        return rail_subtitle(self.session, cells, has_pool=not self.is_single)

    def lines(self, cells: int, lines: int, first: int) -> list[Line]:
        """Return the visible lines, beginning with a row; the ends of the job in focus on a line that is left."""
        if self.is_single:
            return rail(self.session, cells, lines)
        self.fold(lines)
        rows = [self.session.progress(job_id) for job_id in self.rows[first : first + self.room(lines)]]
        shown = [row for row in rows if row is not None]
        ends = [self._end(row, is_told=cells >= _SMALL) for row in shown]
        end_cells = max([_END_CELLS[(cells < _WIDE) + (cells < _SMALL)], *(len(end.text) for end in ends)])
        problems = [self._problems(row, is_told=cells >= _WIDE) for row in shown]
        problem_cells = max((len(each.text) for each in problems), default=0)
        pairs = zip(problems, ends, strict=True)
        tails = [line("  ", _right(each, problem_cells), "  ", _right(end, end_cells)) for each, end in pairs]
        found = [self._line(row, shown, cells, tail) for row, tail in zip(shown, tails, strict=True)]
        if len(found) < lines and len(self.rows) < len(self.job_ids):
            found.append(_filled(self._folded(), cells))
        if (job := self.session.job(self.session.job_id)) is not None and self.line_count < lines:
            whose = line("  ", Span(self.session.text(squeeze(job.job_id, _NAME_CELLS[1])), Role.STRONG), "  ")
            found.append((*whose, *estimate_line(self.session, job, max(0, cells - width(whose)))))
        return found

    # -- one line ------------------------------------------------------------------------------------------------

    def _line(self, job: JobProgress, shown: list[JobProgress], cells: int, tail: Line) -> Line:
        """Return a job's name, its phases, and ``tail``: its problems and end."""
        session, (least, most) = self.session, _NAME_CELLS
        name_cells = min(max(least, *(len(row.job_id) for row in shown)), most, max(least, cells // 5))
        name = fit(squeeze(session.text(job.job_id), name_cells), name_cells)
        # The bars of preparation stand below each other, so all jobs that are shown decide their room.
        every = tuple(row.preparation for row in shown if row.preparation is not None)
        return _job_line(job, name, every, tail, cells, session.glyphs, is_focus=job.job_id == session.job_id)

    def _folded(self) -> Line:
        """Return the line that counts the completed jobs without a line, and names those with problems."""
        session, folded = self.session, set(self.job_ids).difference(self.rows)
        names = [each for each in self.job_ids if each in folded & self._troubled]
        completed = JOB[JobState.COMPLETED]
        counts = line(session.glyphs.span(completed), Span(f" {len(folded):,} completed", Role.DIM))
        with_problems = f"  {len(names):,} with problems: {', '.join(names)}" if names else ""
        return (*counts, Span(session.text(with_problems), Role.FAILED))

    def _problems(self, job: JobProgress, *, is_told: bool) -> Span:
        """Return the number of problems, in the colour of the worst: that of failed tasks stands at their bar."""
        attention = self.session.attention
        count = attention.problems(job.job_id)
        has_failed = attention.has_failed(job.job_id) or attention.worst(job.job_id) <= Severity.FAILURE
        said = fmt.counted(count, "problem") if is_told else f"!{count:,}"
        return Span(said if count else "", Role.FAILED if has_failed else Role.WARNING)

    def _end(self, job: JobProgress, *, is_told: bool) -> Span:
        clock = self.session.clock
        if job.end_ms is not None:
            return Span(f"{'ended ' if is_told else ''}{clock(job.end_ms)}", Role.DIM)
        end = self.session.job_end(job.job_id)
        if end is None:
            return Span("")
        return Span(f"{_end_words(end) if is_told else ''}{clock(end.when_ms)}", Role.DERIVED)


@lru_cache(maxsize=_KEPT)
def _job_line(
    job: JobProgress,
    name: str,
    every: tuple[NodeCounts, ...],
    tail: Line,
    cells: int,
    glyphs: GlyphSet,
    *,
    is_focus: bool,
) -> Line:
    """Return the line of a job; ``every`` has the preparations of all jobs that are shown."""
    role = Role.STRONG if is_focus else Role.PLAIN if job.is_live else Role.DIM
    glyph = glyph_of_job(job)
    head = line(glyphs.span(glyph), " ", Span(name, role, is_underlined=is_focus), "  ")
    room = cells - width(head) - width(tail)
    return (*head, *_phases(job, every, room, cells, glyphs), *tail)


def _phases(job: JobProgress, every: tuple[NodeCounts, ...], cells: int, of: int, glyphs: GlyphSet) -> Line:
    """Return the bars of the phases that the job has in ``cells``, in a strip ``of`` so many.

    Release is shown once it begins, in a narrow strip in place of preparation. Tasks get what the others leave.
    """
    is_wide = of >= _WIDE
    labels = ("prep ", "tasks ", "release ") if of >= _SMALL else ("P ", "T ", "R ")
    has_release = job.release is not None and (job.state is JobState.TERMINATING or (is_wide and not job.is_live))
    preparation: Line = ()
    release: Line = ()
    if job.preparation is not None and (is_wide or not has_release):
        wanted = max(_fair_cells(labels[0], each, cells, share=0.3 if has_release else 0.4) for each in every)
        preparation = _of_nodes(labels[0], job.preparation, glyphs, wanted, Role.PREPARING)
    if job.release is not None and has_release:
        wanted = _fair_cells(labels[2], job.release, cells, share=0.3)
        release = _of_nodes(labels[2], job.release, glyphs, wanted, Role.RELEASING)
    room = cells - width(preparation) - width(release)
    tasks = _of_tasks(labels[1], job.tasks, glyphs, room, is_live=job.is_live)
    return (*preparation, *tasks, *release)


def _end_words(end: JobEnd) -> str:
    """Return the words before an end: ``ends ``, or ``tasks end `` of a job that stays active."""
    if not end.is_of_tasks:
        return END_WORDS[end.is_simulated]
    return "tasks end " if end.is_simulated else f"tasks {END_WORDS[0]}"


def _fair_cells(label: str, counts: NodeCounts, cells: int, *, share: float) -> int:
    """Return a quarter of ``cells``, up to a larger ``share`` beside large counts, and more for the least bar."""
    said = len(label) + len(_ran_words(counts)) + (len(f" !{counts.failed:,}") if counts.failed else 0) + 2
    return max(cells // 4, said + _LEAST_BAR, min(said + _FAIR_BAR, round(cells * share)))


def _ran_words(counts: NodeCounts) -> str:
    """Return the number of nodes on which it has run, and of all while it may still run on others."""
    return f" on {counts.ran:,}" + (f"/{counts.total:,}" if counts.total > counts.ran else "")


@lru_cache(maxsize=_KEPT)
def _of_nodes(label: str, counts: NodeCounts, glyphs: GlyphSet, cells: int, role: Role) -> Line:
    """Return a bar of nodes with its label, those on which it has run, and failed ones.

    The line takes ``cells``, or more if those are few.
    """
    said = _ran_words(counts)
    failed = f" {glyphs.bad}{counts.failed:,}" if counts.failed else ""
    bar_cells = max(_LEAST_BAR, cells - len(label) - len(said + failed) - 2)
    waiting = counts.total - counts.done - counts.running - counts.failed
    done, failures = (counts.done, Role.OK), (counts.failed, Role.FAILED)
    drawn = _meter(glyphs, bar_cells, done, (counts.running, role), failures, (waiting, Role.QUIET))
    spans = line(Span(label, Role.DIM), *drawn, Span(said), Span(failed, Role.FAILED))
    return _filled(spans, max(cells, width(spans) + 2))


def _of_tasks(label: str, counts: TaskCounts, glyphs: GlyphSet, cells: int, *, is_live: bool) -> Line:
    """Return the bar of tasks with its label, ``done/total``, running and failed ones, in exactly ``cells``.

    Where there is no room for all of them, those that run are left out.
    """
    done, most = counts.succeeded + counts.failed, cells - len(label) - _LEAST_TASK_BAR - 2
    number = f" {done:,}/{counts.total:,}" if counts.total else " none yet" if is_live else " none"
    running = (Span(f" {glyphs.of(_RUNNING_TASK)}{counts.running:,}", _RUNNING_TASK.role),) if counts.running else ()
    failed = (Span(f" {glyphs.bad}{counts.failed:,}", Role.FAILED),) if counts.failed else ()
    forms: list[Line] = [(Span(each), *running, *failed) for each in (f"{number:>6}", number)]
    said = next((form for form in forms if width(form) <= most), (Span(number), *failed))
    room = cells - len(label) - 2
    bar_cells = max(min(_LEAST_TASK_BAR, room - width(said)), room - max(width(said), min(18, cells // 3)))
    drawn = _task_meter(counts, glyphs, bar_cells)
    return _filled((Span(label, Role.DIM), *drawn, *said), cells)


def _right(span: Span, cells: int) -> Span:
    """Return the span at the right of so many cells."""
    return span._replace(text=fit(span.text, cells, right=True))


def _filled(spans: Line, cells: int) -> Line:
    """Return the line in exactly ``cells``."""
    spans = cut(spans, cells)
    return (*spans, Span(" " * (cells - width(spans))))
