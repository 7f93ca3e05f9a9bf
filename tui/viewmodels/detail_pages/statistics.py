"""The statistics of a job: durations and waits of its tasks, failures by exit code, cost beside other jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.jobs import row_of_job
from engine.views.pages.statistics import JobStatistics
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, beside, cut, line, link, squeeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.statistics import Distribution
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.glyphs import GlyphSet

_TWO_COLUMNS_FROM = 96
_GAP = 3
_MOST_BINS, _FEWEST_BINS = 12, 6
_MOST_ROWS = 8  # of failures and of jobs
_NUMBER_CELLS = 10
_EIGHTHS = "▏▎▍▌▋▊▉█"
_Row = tuple[Span, int | float, str, Role]  # a label, a value, the value as text, the role of the bar


def statistics_lines(session: Session, job_id: str, cells: int, rows: int) -> list[Line]:
    """Return all statistics of a job, in two columns where there is room."""
    job = row_of_job(session.simulation, job_id)
    if job is None:
        return []
    is_wide = cells >= _TWO_COLUMNS_FROM
    room = (cells - _GAP) // 2 if is_wide else cells
    bins = max(_FEWEST_BINS, min(_MOST_BINS, rows // 2 - 4))
    found = session.history(JobStatistics, job).with_bins(bins)
    glyphs = session.glyphs
    times = [
        _histogram("Run times", found.durations, Role.OK, glyphs, room),
        _histogram("Waiting times", found.waits, Role.QUIET, glyphs, room),
    ]
    failures: list[_Row] = [
        (
            Span(each.name),
            each.attempts,
            f"{each.attempts:,}" + (f" ({each.final:,} final)" if each.final != each.attempts else ""),
            Role.FAILED,
        )
        for each in found.failures[:_MOST_ROWS]
    ]
    more = len(found.failures) - _MOST_ROWS
    below = [
        [*_bars("Failed attempts by exit code", "", failures, "None has failed.", glyphs, room), *_left_out(more)],
        _costs(session, job_id, room),
    ]
    if is_wide:
        return [*beside(times[0], times[1], room, _GAP), (), *beside(below[0], below[1], room, _GAP)]
    return [each for block in (*times, *below) for each in (*block, ())]


def _left_out(count: int) -> list[Line]:
    return [line(Span(f"and {count:,} more", Role.DIM))] if count > 0 else []


def _histogram(title: str, found: Distribution | None, role: Role, glyphs: GlyphSet, cells: int) -> list[Line]:
    """Return the bins below one another, with the quantiles above them."""
    if found is None:
        return _bars(title, "", [], "No task has been completed yet.", glyphs, cells)
    named = (("p50", found.median_ms), ("p95", found.p95_ms), ("max", found.max_ms))
    spread = "  ".join(f"{name} {_time(ms)}" for name, ms in named)
    rows: list[_Row] = []
    for each in found.bins:
        from_ = fmt.span(each.low_ms)
        label = f"{from_} and more" if each.high_ms is None else f"{from_} to {fmt.span(each.high_ms)}"
        rows.append((Span(label, Role.DIM), each.tasks, f"{each.tasks:,}", role))
    return _bars(title, spread, rows, "", glyphs, cells)


def _time(ms: int) -> str:
    """Return a duration; short ones with a tenth of a second."""
    return f"{ms / 1000:.1f} s" if ms < 60_000 else fmt.span(ms)


def _costs(session: Session, job_id: str, cells: int) -> list[Line]:
    """Return what the slots used by each job have cost, the highest first, and what nodes without tasks have cost."""
    session.series.read_all()
    costs = session.series.costs_by_job()
    in_order = sorted(costs, key=lambda each: (-costs[each], each))
    shown = in_order[:_MOST_ROWS]
    if job_id in costs and job_id not in shown:
        shown[-1] = job_id
    room = max(8, cells // 3)
    rows: list[_Row] = []
    for each in shown:
        role = Role.KEY if each == job_id else Role.OFF
        rows.append((link(squeeze(each, room), ItemRef("job", each)), costs[each], fmt.dollars(costs[each]), role))
    others = [each for each in in_order if each not in shown]
    if others:
        usd = sum(costs[each] for each in others)
        rows.append((Span(f"{len(others):,} more jobs", Role.DIM), usd, fmt.dollars(usd), Role.OFF))
    in_all = session.series.usd()
    rest = max(0.0, in_all - sum(costs.values()))
    rows.append((Span("no task on the slot", Role.DIM), rest, fmt.dollars(rest), Role.QUIET))
    note = f"{fmt.dollars(in_all)} in all, by slots in use"
    return _bars("Cost by job", note, rows if in_all else [], "No cost yet.", session.glyphs, cells)


def _bars(title: str, note: str, rows: Sequence[_Row], otherwise: str, glyphs: GlyphSet, cells: int) -> list[Line]:
    """Return a bar for each row, all on one scale, below a title."""
    lines = [line(Span(title, Role.STRONG), Span(f"  {note}" if note else "", Role.DERIVED))]
    if not rows:
        return [*lines, line(Span(otherwise, Role.DIM))]
    label_cells = max(len(label.text) for label, *_ in rows)
    number_cells = max(_NUMBER_CELLS, *(len(text) for _, _, text, _ in rows)) + 1
    room = max(4, cells - label_cells - number_cells - 2)
    most = max(value for _, value, _, _ in rows) or 1
    for label, value, text, role in rows:
        drawn = bar_of(value / most, room, glyphs)
        gap = Span(" " * (label_cells - len(label.text) + 1))
        lines.append(line(label, gap, Span(drawn, role), Span(f" {text}")))
    return [cut(each, cells) for each in lines]


def bar_of(share: float, cells: int, glyphs: GlyphSet) -> str:
    """Return a bar for a share from 0 to 1, in eighths of a cell where possible; what is not zero is visible."""
    if glyphs.ascii_only:
        return glyphs.full * max(round(share * cells), share > 0)
    eighths = max(round(share * cells * 8), 1 if share > 0 else 0)
    rest = eighths % 8
    return glyphs.full * (eighths // 8) + (_EIGHTHS[rest - 1] if rest else "")
