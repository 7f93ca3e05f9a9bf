"""The phase rail: the progress of preparation, tasks and release of the job in focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import JobState
from engine.views.pages.hook_status import HookStatus
from tui.viewmodels.properties.instance import awaited
from tui.viewmodels.properties.pool import node_words, slot_words
from tui.viewmodels.session.costs import cost_words, pool_cost_words
from tui.viewmodels.text.glyphs import HOOK_STATUSES, JOB, PREPARATION, RELEASE, TASK_GLYPHS
from tui.viewmodels.text.styled import Line, Role, Span, bar, between, cut, line, squeeze, squeezed, width
from tui.viewmodels.watch.estimates import estimate_line, estimates

if TYPE_CHECKING:
    from engine.views.pages.jobs import JobRow, PoolRow
    from engine.views.pages.phases import HookCounts, TaskCounts
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.glyphs import Glyph, GlyphSet

_LABELS = ("Preparation tasks  ", "Tasks              ", "Release tasks      ")
_POOL_CELLS = (24, 12, 8)  # of the id of a pool, the first that fits
_SMALL = 72  # cells; narrower rails have short bars
_SHORT_LABELS = ("Prep    ", "Tasks   ", "Release ")


def title(session: Session, cells: int) -> str:
    """Return the heading: job, state, priority, pool; the names are shortened if they must be."""
    job = session.job(session.job_id)
    if job is None:
        return "no job"
    about = [JOB[job.state].name]
    if job.terminate_reason:
        about.append(job.terminate_reason)
    if job.priority:
        about.append(f"priority {job.priority}")
    names, words = [job.job_id], ["", *about]
    pool = session.pool(session.pool_id)
    if pool is not None:
        names.append(pool.pool_id)
        words.append(f"pool  {_size_words(pool)}")
        others = sum(session.is_unfinished(other) for other in pool.jobs if other != job.job_id)
        if others:
            words.append(f"{others} other {'job' if others == 1 else 'jobs'} here")
    said = squeezed(names, cells - len(" · ".join(words)))
    words[0] = said[0]
    if len(said) > 1:
        words[1 + len(about)] = words[1 + len(about)].replace("pool ", f"pool {said[1]}", 1)
    return session.text(" · ".join(words))


def subtitle(session: Session, cells: int, *, has_pool: bool) -> str:
    """Return the cost of the run and what the pool in focus does, its size first if ``has_pool``.

    The cost stays where there is little room; the pool's name is shortened for it.
    """
    pool, cost = session.pool(session.pool_id), cost_words(session)
    if pool is None:
        return cost
    more = [slot_words(pool), pool_cost_words(session, pool.pool_id)]
    if pool.state is not None:
        more.append(f"autoscale {'on' if pool.auto_scale else 'off'}")
    size = _size_words(pool)
    named = [f"pool {squeeze(pool.pool_id, most)} {size}" for most in _POOL_CELLS] if has_pool else []
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
    bar_cells = max(10, cells * (46 if not is_narrow else 34 if cells >= _SMALL else 20) // 100)
    bars = _bars(session, job, bar_cells, is_narrow=is_narrow)
    has_ends = lines <= len(bars)
    found = []
    for (label, drawn, text), end in zip(bars, _ends_of(session, job), strict=True):
        gap = Span(" " * (bar_cells - width(drawn)))
        role = Role.STRONG if not is_narrow else Role.PLAIN
        whole = (Span(label, role), *drawn, gap, Span("  "), *text)
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
    bars = [(labels[1], task_meter(phases.tasks, glyphs, cells), said)]
    if phases.preparation.is_specified:
        drawn = _hook_bar(phases.preparation, PREPARATION, glyphs, cells)
        bars.insert(0, (labels[0], drawn, _preparation_text(job, glyphs)))
    if phases.release.is_specified:
        drawn = _hook_bar(phases.release, RELEASE, glyphs, cells)
        bars.append((labels[2], drawn, _release_text(session, job)))
    return bars


def _hook_bar(counts: HookCounts, table: dict[HookStatus, Glyph], glyphs: GlyphSet, cells: int) -> Line:
    if not counts.total:
        return (Span(glyphs.meter_rest * cells, Role.OFF),)
    other = sum(counts[status] for status in (HookStatus.SKIPPED, HookStatus.LEAVING, HookStatus.GONE))
    running_role = table[HookStatus.RUNNING].role
    return bar(
        (
            (counts[HookStatus.SUCCEEDED], Role.OK, glyphs.meter),
            (counts[HookStatus.SUPERSEDED], Role.TRANSITION, glyphs.meter_running),
            (counts[HookStatus.RUNNING] + counts[HookStatus.RETRYING], running_role, glyphs.meter_running),
            (counts[HookStatus.FAILED], Role.FAILED, glyphs.meter_failed),
            (counts[HookStatus.WILL_RUN], Role.QUIET, glyphs.meter_rest),
            (other + counts.without_record, Role.OFF, glyphs.meter_rest),
        ),
        cells,
    )


def task_meter(counts: TaskCounts, glyphs: GlyphSet, cells: int) -> Line:
    """Return a bar of tasks in ``cells``: succeeded, failed, running, preparing, waiting."""
    parts = (
        (counts.succeeded, Role.OK, glyphs.meter),
        (counts.failed, Role.FAILED, glyphs.meter_failed),
        (counts.running, Role.RUNNING, glyphs.meter_running),
        (counts.preparing, Role.PREPARING, glyphs.meter_running),
        (counts.active, Role.QUIET, glyphs.meter_rest),
    )
    return bar(parts, cells) or (Span(glyphs.meter_rest * cells, Role.OFF),)


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
    spans = [
        *_counted(glyphs, succeeded, counts.succeeded),
        *_counted(glyphs, failed, counts.failed),
        *_counted(glyphs, running, counts.running),
        *_counted(glyphs, preparing, counts.preparing),
    ]
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
