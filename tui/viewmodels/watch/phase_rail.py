"""The phase rail: the progress of preparation, tasks and release of the job in focus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.terms import JobState
from engine.views.pages.instances import HookStatus
from tui.viewmodels.properties.pool import node_words, slot_words
from tui.viewmodels.text.glyphs import HOOK_STATUSES, JOB, PREPARATION, RELEASE, TASK_GLYPHS
from tui.viewmodels.text.styled import Line, Role, Span, bar, between, cut, line, width
from tui.viewmodels.watch.estimates import estimate_line, estimates

if TYPE_CHECKING:
    from engine.views.pages.jobs import JobRow
    from engine.views.pages.phases import HookCounts, Phases, TaskCounts
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.glyphs import Glyph, GlyphSet

_LABELS = ("Preparation tasks  ", "Tasks              ", "Release tasks      ")
_SMALL = 72  # cells; narrower rails have short bars
_SHORT_LABELS = ("Prep    ", "Tasks   ", "Release ")


def title(session: Session) -> str:
    """Return the heading: job, state, priority, pool."""
    job = session.job(session.job_id)
    if job is None:
        return "no job yet"
    pool = session.pool(session.pool_id)
    words = [job.job_id, JOB[job.state].name]
    if job.terminate_reason:
        words.append(job.terminate_reason)
    if job.priority:
        words.append(f"priority {job.priority}")
    if pool is not None:
        allocation = pool.allocation.wire if pool.allocation is not None else "deleted"
        words.append(f"pool {pool.pool_id} {allocation} {node_words(pool)}")
        others = sum(session.is_unfinished(other) for other in pool.jobs if other != job.job_id)
        if others:
            words.append(f"{others} other {'job' if others == 1 else 'jobs'} here")
    return session.text(" · ".join(words))


def subtitle(session: Session) -> str:
    """Return the pool's autoscale and the use of its slots."""
    pool = session.pool(session.pool_id)
    if pool is None:
        return ""
    words = [f"autoscale {'on' if pool.auto_scale else 'off'}", slot_words(pool)]
    return session.text(" · ".join(filter(None, words)))


def rail(session: Session, cells: int, lines: int) -> list[Line]:
    """Return three bars with counts; with more than three ``lines``, the estimated ends on a line of their own."""
    job = session.job(session.job_id)
    if job is None:
        empty = "There is no job yet. Press space to run, or . for one event."
        return [line(Span(empty, Role.DIM)), (), ()]
    is_narrow = cells < 96
    labels = _SHORT_LABELS if is_narrow else _LABELS
    bar_cells = max(10, cells * (46 if not is_narrow else 34 if cells >= _SMALL else 20) // 100)
    glyphs = session.glyphs
    phases = job.phases
    parts = (
        (_hook_bar(phases.preparation, PREPARATION, glyphs, bar_cells), _preparation_text(phases, glyphs, is_narrow)),
        (_task_bar(phases.tasks, glyphs, bar_cells), _task_text(phases.tasks, glyphs, is_narrow)),
        (_hook_bar(phases.release, RELEASE, glyphs, bar_cells), _release_text(job, glyphs, is_narrow)),
    )
    ends = estimates(session, job) if lines <= len(parts) else ((), (), ())
    found = []
    for label, (drawn, text), end in zip(labels, parts, ends, strict=True):
        gap = Span(" " * (bar_cells - width(drawn)))
        role = Role.STRONG if not is_narrow else Role.PLAIN
        whole = (Span(label, role), *drawn, gap, Span("  "), *text)
        found.append(between(whole, end, cells) if end else cut(whole, cells))
    if lines > len(parts):
        found.append(estimate_line(session, job, cells))
    return found


def _hook_bar(counts: HookCounts, table: dict[HookStatus, Glyph], glyphs: GlyphSet, cells: int) -> Line:
    if not counts.is_specified or not counts.total:
        return (Span(glyphs.rest * cells, Role.OFF),)
    full, shade, rest = glyphs.full, glyphs.shade, glyphs.rest
    bad = glyphs.of(table[HookStatus.FAILED]) if glyphs.ascii_only else full
    other = counts.without_record
    running_role = table[HookStatus.RUNNING].role
    return bar(
        (
            (counts[HookStatus.SUCCEEDED], Role.OK, full),
            (counts[HookStatus.SUPERSEDED], Role.TRANSITION, shade),
            (counts[HookStatus.RUNNING] + counts[HookStatus.RETRYING], running_role, shade),
            (counts[HookStatus.FAILED], Role.FAILED, bad),
            (counts[HookStatus.WILL_RUN], Role.QUIET, rest),
            (counts[HookStatus.SKIPPED] + counts[HookStatus.GONE] + other, Role.OFF, rest),
        ),
        cells,
    )


def _task_bar(counts: TaskCounts, glyphs: GlyphSet, cells: int) -> Line:
    if not counts.total:
        return (Span(glyphs.rest * cells, Role.OFF),)
    bad = "x" if glyphs.ascii_only else glyphs.full
    return bar(
        (
            (counts.succeeded, Role.OK, glyphs.full),
            (counts.failed, Role.FAILED, bad),
            (counts.running, Role.RUNNING, glyphs.shade),
            (counts.preparing, Role.PREPARING, glyphs.shade),
            (counts.active, Role.QUIET, glyphs.rest),
        ),
        cells,
    )


def _counted(glyphs: GlyphSet, glyph: Glyph, number: int) -> Line:
    return (Span(f"{glyphs.of(glyph)}{number:,}", glyph.role), Span("  ")) if number else ()


def _hook_counts(glyphs: GlyphSet, table: dict[HookStatus, Glyph], counts: HookCounts) -> list[Span]:
    statuses = (each for each in HOOK_STATUSES if each in table and each is not HookStatus.WILL_RUN)
    return [span for status in statuses for span in _counted(glyphs, table[status], counts[status])]


def _preparation_text(phases: Phases, glyphs: GlyphSet, is_narrow: bool) -> Line:
    counts = phases.preparation
    if not counts.is_specified:
        return line(Span("none: the job has no preparation task", Role.DIM))
    spans = _hook_counts(glyphs, PREPARATION, counts)
    if counts.without_record:
        of_all = "" if is_narrow else f" of {counts.total:,} nodes"
        spans.append(Span(f"{counts.without_record:,}{of_all} not prepared yet", Role.DIM))
    return tuple(spans)


def _task_text(counts: TaskCounts, glyphs: GlyphSet, is_narrow: bool) -> Line:
    if not counts.total:
        return line(Span("no tasks yet", Role.DIM))
    active, preparing, running, succeeded, failed, *_ = TASK_GLYPHS
    spans = [
        *_counted(glyphs, succeeded, counts.succeeded),
        *_counted(glyphs, failed, counts.failed),
        *_counted(glyphs, running, counts.running),
        *_counted(glyphs, preparing, counts.preparing),
    ]
    if counts.active:
        spans.append(Span(f"{'wait' if is_narrow else 'waiting'} {counts.active:,}", active.role))
    return tuple(spans)


def _release_text(job: JobRow, glyphs: GlyphSet, is_narrow: bool) -> Line:
    counts = job.phases.release
    if not counts.is_specified:
        return line(Span("none: the job has no release task", Role.DIM))
    spans = _hook_counts(glyphs, RELEASE, counts)
    owed = counts[HookStatus.WILL_RUN]
    if job.state not in (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING):
        number, when = f"{owed:,}" if owed else "none", "" if is_narrow else " when the job ends"
        return line(Span(f"{number} will run{when}", Role.DIM))
    if owed:
        spans.append(Span(f"{owed:,} pending", Role.DIM))
    return tuple(spans) or line(Span("nothing to release", Role.DIM))
