"""The jobs strip: a line for each job with its phases as bars, its end, and its problems; the worst job first."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from engine.base.terms import JobState
from engine.views.attention.concern import Severity
from engine.views.pages.progress import jobs_worst_first
from tui.viewmodels.text.glyphs import TASK_GLYPHS, job_glyph
from tui.viewmodels.text.styled import Line, Role, Span, bar, cut, fit, line, squeeze, width
from tui.viewmodels.watch import phase_rail
from tui.viewmodels.watch.estimates import END_WORDS, estimate_line

if TYPE_CHECKING:
    from engine.views.pages.phases import TaskCounts
    from engine.views.pages.progress import JobProgress, NodeCounts
    from tui.viewmodels.session.session import JobEnd, Session
    from tui.viewmodels.text.glyphs import GlyphSet

_WIDE, _SMALL = 96, 70  # cells; narrower strips have two bars at most, and then short labels and bare times
_NAME_CELLS = (8, 30)
_END_CELLS = (14, 13, 8)  # at least, in a wide strip, in a narrower and in a small one
_LEAST_BAR = 3
_FAIR_BAR = 10  # cells of a bar of nodes where tasks have enough room
_LEAST_TASK_BAR = 4
_RUNNING_TASK = TASK_GLYPHS[2]
_KEPT = 256  # lines and bars: more than a screen has
_COMPLETED = 3  # lines for completed jobs below the live ones


class JobStripModel:
    """All jobs of the run: the live ones, the worst first, then the completed ones, those with failures first."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.job_ids: list[str] = []
        self._live = 0

    def update(self) -> None:
        """Read the simulation again."""
        live, completed = jobs_worst_first(self.session.simulation)
        worst = self.session.attention.worst
        live.sort(key=worst)
        completed.sort(key=lambda job_id: worst(job_id) > Severity.FAILURE)  # among themselves the newest first
        self.job_ids, self._live = [*live, *completed], len(live)

    @property
    def is_single(self) -> bool:
        """True if there is only one job, which then has a line for each phase."""
        return len(self.job_ids) < 2

    @property
    def row(self) -> int:
        """The row of the job in focus."""
        job_id = self.session.job_id
        return self.job_ids.index(job_id) if job_id in self.job_ids else 0

    def line_count(self) -> int:
        """Return how many lines are worth their room: completed jobs have few of them while others are live."""
        if self.is_single:
            return phase_rail.phases_of(self.session.job(self.session.job_id)) + 1
        completed = len(self.job_ids) - self._live
        return self._live + (min(completed, _COMPLETED) if self._live else completed) + 1

    def title(self, lines: int, cells: int) -> str:
        """Return the number of jobs, those that are not visible among them; of a single job its state."""
        session = self.session
        if self.is_single:
            return phase_rail.title(session, cells)
        completed = len(self.job_ids) - self._live
        words = [f"{number:,} {word}" for number, word in ((self._live, "live"), (completed, "completed")) if number]
        worst = session.attention.worst
        failed = sum(worst(job_id) <= Severity.FAILURE for job_id in self.job_ids[self._live :])
        words += [f"{failed:,} of them with failures"] if failed else []
        hidden = len(self.job_ids) - lines
        more = [f"+{hidden:,} more"] if hidden > 0 else []
        return session.text(" · ".join([f"Jobs: {', '.join(words)}", *more]))

    def subtitle(self, cells: int) -> str:
        """Return what the pool of the job in focus does and costs."""
        return phase_rail.subtitle(self.session, cells, has_pool=not self.is_single)

    def lines(self, cells: int, lines: int, first: int) -> list[Line]:
        """Return the visible lines, beginning with a row; the ends of the job in focus on a line that is left."""
        if self.is_single:
            return phase_rail.rail(self.session, cells, lines)
        rows = [self.session.progress(job_id) for job_id in self.job_ids[first : first + lines]]
        shown = [row for row in rows if row is not None]
        ends = [self._end(row, is_told=cells >= _SMALL) for row in shown]
        end_cells = max([_END_CELLS[(cells < _WIDE) + (cells < _SMALL)], *(len(end.text) for end in ends)])
        problems = [self._problems(row) for row in shown]
        problem_cells = max((len(each.text) for each in problems), default=0)
        tails = [
            line("  ", _right(each, problem_cells), "  ", _right(end, end_cells))
            for each, end in zip(problems, ends, strict=True)
        ]
        found = [self._line(row, shown, cells, tail) for row, tail in zip(shown, tails, strict=True)]
        job = self.session.job(self.session.job_id)
        if job is not None and len(self.job_ids) < lines:
            found.append((Span("  "), *estimate_line(self.session, job, cells - 2)))
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

    def _problems(self, job: JobProgress) -> Span:
        """Return the number of problems, in the colour of the worst: that of failed tasks stands at their bar."""
        attention = self.session.attention
        count = job.problems or attention.problems(job.job_id)
        has_failed = job.problems > 0 or attention.worst(job.job_id) <= Severity.FAILURE
        return Span(f"!{count:,}" if count else "", Role.FAILED if has_failed else Role.WARNING)

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
    glyph = job_glyph(job.state, ended_badly=bool(job.bad_end))
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
    """Return a quarter of ``cells``, or up to a larger ``share`` if large counts leave the bar of nodes little room."""
    wanted = len(label) + _FAIR_BAR + len(_ran_words(counts)) + 2
    return max(cells // 4, min(wanted, round(cells * share)))


def _ran_words(counts: NodeCounts) -> str:
    """Return the number of nodes on which it has run, and of all while it may still run on others."""
    ran = counts.done + counts.failed
    return f" on {ran:,}" + (f"/{counts.total:,}" if counts.total > ran else "")


@lru_cache(maxsize=_KEPT)
def _of_nodes(label: str, counts: NodeCounts, glyphs: GlyphSet, cells: int, role: Role) -> Line:
    """Return a bar of nodes with its label, those on which it has run, and failed ones.

    The line takes ``cells``, or more if those are few.
    """
    said = _ran_words(counts)
    failed = f" {glyphs.bad}{counts.failed:,}" if counts.failed else ""
    bar_cells = max(_LEAST_BAR, cells - len(label) - len(said + failed) - 2)
    rest = counts.total - counts.done - counts.running - counts.failed
    parts = (
        (counts.done, Role.OK, glyphs.meter),
        (counts.running, role, glyphs.meter_running),
        (counts.failed, Role.FAILED, glyphs.meter_failed),
        (rest, Role.QUIET, glyphs.meter_rest),
    )
    drawn = bar(parts, bar_cells) or (Span(glyphs.meter_rest * bar_cells, Role.OFF),)
    spans = line(Span(label, Role.DIM), *drawn, Span(said), Span(failed, Role.FAILED))
    return _filled(spans, max(cells, width(spans) + 2))


def _of_tasks(label: str, counts: TaskCounts, glyphs: GlyphSet, cells: int, *, is_live: bool) -> Line:
    """Return the bar of tasks with its label, ``done/total``, running and failed ones, in exactly ``cells``.

    Where there is no room for all of them, those that run are left out.
    """
    done, most = counts.succeeded + counts.failed, cells - len(label) - _LEAST_TASK_BAR - 1
    said: Line = (Span(f" {done:,}/{counts.total:,}" if counts.total else " none yet" if is_live else " none"),)
    running = (Span(f" {glyphs.of(_RUNNING_TASK)}{counts.running:,}", _RUNNING_TASK.role),) if counts.running else ()
    failed = (Span(f" {glyphs.bad}{counts.failed:,}", Role.FAILED),) if counts.failed else ()
    said = (*said, *running, *failed) if width((*said, *running, *failed)) <= most else (*said, *failed)
    room = cells - len(label) - 2
    bar_cells = max(min(_LEAST_TASK_BAR, room - width(said)), room - max(width(said), min(18, cells // 3)))
    drawn = phase_rail.task_meter(counts, glyphs, bar_cells)
    return _filled((Span(label, Role.DIM), *drawn, *said), cells)


def _right(span: Span, cells: int) -> Span:
    """Return the span at the right of so many cells."""
    return span._replace(text=fit(span.text, cells, right=True))


def _filled(spans: Line, cells: int) -> Line:
    """Return the line in exactly ``cells``."""
    spans = cut(spans, cells)
    return (*spans, Span(" " * (cells - width(spans))))
