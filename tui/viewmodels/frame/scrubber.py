"""The scrubber: the whole run as a line, with the density of events, what happened when, and now."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from engine.views.pages.job_schedules import schedule_ids
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Line, Role, Span, merged, squeeze

if TYPE_CHECKING:
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.glyphs import GlyphSet

_WIDE = 100  # cells
_LEAST_CELLS = 8
_JOB_CELLS = 20  # of the id of the job whose end is estimated
_FIRST_SPAN_MS = 600_000
_COVERED = 0, 0
_BEYOND = 50  # a fiftieth of the run is shown beyond its end


class _Scale(NamedTuple):
    """The scale of the scrubber: its labels, the cells between them, and the time that these cover."""

    first: str
    last: str
    cells: int
    span_ms: int
    planned_ms: int | None  # the end of the run if it is known, else the estimated end of the job in focus

    def cell(self, when_ms: int) -> int:
        """Return the cell of a moment."""
        return min(self.cells - 1, when_ms * self.cells // max(1, self.span_ms))


def _scale(session: Session, cells: int) -> _Scale:
    start, known_ms = session.simulation.scenario.start, session.end_ms
    planned_ms = session.forecast().end_ms if known_ms is None else known_ms
    span_ms = _span_ms(session, planned_ms) if known_ms is None else max(known_ms, session.newest_ms)
    span_ms = min(span_ms + span_ms // _BEYOND, session.simulation.end_ms) if known_ms is not None else span_ms
    first, last = f" {fmt.clock(start, 0)} ", f" {fmt.clock(start, span_ms)} "
    if planned_ms is not None and cells >= _WIDE:
        is_recorded = known_ms is not None and session.newest_ms >= known_ms
        how = "estimated " if known_ms is None else "" if is_recorded else "simulated "
        whose = _whose(session) if known_ms is None else ""
        last = f" {how}end{whose} {fmt.clock(start, planned_ms)} " + (last if known_ms is None else "")
    elif known_ms is not None:
        last = f" {fmt.clock(start, known_ms)} "
    return _Scale(first, last, cells - len(first) - len(last), span_ms, planned_ms)


def _whose(session: Session) -> str:
    """Return the job in focus, to which an estimate belongs, where its end need not be that of the run."""
    is_alone = not session.has_several_jobs and not schedule_ids(session.simulation)
    return "" if is_alone else session.text(f" of {squeeze(session.job_id, _JOB_CELLS)}")


def _span_ms(session: Session, planned_ms: int | None) -> int:
    """Return a little more than the recorded and planned time, at most the whole run."""
    seen_ms = max(session.newest_ms, session.now_ms)
    shown_ms = _FIRST_SPAN_MS
    while shown_ms * 3 < seen_ms * 4 or (planned_ms is not None and shown_ms < planned_ms):
        shown_ms *= 2
    return min(shown_ms, session.simulation.end_ms)


def scrubber(session: Session, cells: int) -> Line:
    """Return the density of events over the run, with failures, commands by hand, bookmarks, now, and the end.

    While the past is shown, what is recorded after it is dimmed. Stretches that were crossed at once are marked.
    """
    scale = _scale(session, cells)
    if scale.cells < _LEAST_CELLS:
        return ()
    counts = session.events.density(scale.cells, scale.span_ms)
    now_cell, newest_cell = scale.cell(session.now_ms), scale.cell(session.newest_ms)
    if later := _later_counts(session, scale):
        counts[now_cell + 1 : newest_cell + 1] = later[now_cell + 1 : newest_cell + 1]
    top, signs = max(count for count, _ in counts) or 1, _signs(session, scale)
    for at in signs:
        counts[at] = _COVERED  # so that the same cells are drawn while only the number at this moment grows
    end_cell = scale.cells if scale.planned_ms is None else scale.planned_ms * scale.cells // max(1, scale.span_ms)
    seen, crossed = (now_cell, newest_cell, end_cell), _crossed_cells(session, scale)
    drawn = _drawn(tuple(counts), top, tuple(signs.items()), crossed, seen, session.glyphs)
    return (Span(scale.first, Role.DIM), *drawn, Span(scale.last, Role.DIM))


@lru_cache(maxsize=4)
def _drawn(
    counts: tuple[tuple[int, int], ...],
    top: int,
    covered: tuple[tuple[int, Span], ...],
    crossed: frozenset[int],
    seen: tuple[int, int, int],
    glyphs: GlyphSet,
) -> list[Span]:
    """Draw the cells; ``seen`` are those of this moment, of the newest one and of the expected end."""
    signs, (now_cell, newest_cell, end_cell) = dict(covered), seen
    levels = len(glyphs.densities) - 1
    spans = []
    for at, (count, failures) in enumerate(counts):
        is_later = now_cell < at <= newest_cell
        if at in signs:
            spans.append(signs[at])
        elif failures:
            spans.append(Span(glyphs.failure, Role.DIM if is_later else Role.FAILED))
        elif at in crossed and not count:
            spans.append(Span(glyphs.crossed, Role.DIM))
        elif at < now_cell or (is_later and count):
            level = -(-count * levels // top)
            spans.append(Span(glyphs.densities[level], Role.OFF if is_later else Role.RUNNING))
        else:
            is_known = at <= newest_cell or at <= end_cell
            role = Role.QUIET if at <= newest_cell else Role.OFF
            spans.append(Span(glyphs.planned if is_known else " ", role))
    return merged(spans)


def _later_counts(session: Session, scale: _Scale) -> list[tuple[int, int]]:
    """Return the density of what is recorded after the shown moment, if it has been played ahead; empty otherwise."""
    events = session.later_events() if session.is_past else None
    return [] if events is None else events.density(scale.cells, scale.span_ms)


def _signs(session: Session, scale: _Scale) -> dict[int, Span]:
    """Return the signs that cover everything else: commands, bookmarks, and now."""
    signs = {scale.cell(when_ms): Span(session.glyphs.bookmark, Role.KEY) for when_ms in session.bookmarked_ms}
    signs |= {scale.cell(when_ms): Span(session.glyphs.by_hand, Role.KEY) for when_ms in session.events.by_hand_ms()}
    signs[scale.cell(session.now_ms)] = Span(session.glyphs.now, Role.STRONG)
    return signs


def _crossed_cells(session: Session, scale: _Scale) -> frozenset[int]:
    """Return the cells that lie in stretches that were crossed at once."""
    return frozenset(
        cell
        for from_ms, to_ms in session.crossed
        for cell in range(scale.cell(from_ms) + 1, scale.cell(min(to_ms, scale.span_ms)) + 1)
    )


def scrubber_ms(session: Session, cell: int, cells: int) -> int | None:
    """Return the moment at a cell of the scrubber, or None."""
    scale = _scale(session, cells)
    at = cell - len(scale.first)
    return at * scale.span_ms // scale.cells if 0 <= at < scale.cells else None
