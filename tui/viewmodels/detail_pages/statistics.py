"""The statistics of a job: durations and waits of its tasks, failures by exit code, cost beside other jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.pages.jobs import row_of_job
from engine.views.pages.statistics import JobStatistics
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, beside, cut, line, link, squeeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.pages.statistics import Distribution, Statistics
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.glyphs import GlyphSet

_TWO_COLUMNS_FROM, _THREE_COLUMNS_FROM = 96, 150
_GAP = 3
_FEWEST_BINS = 6
_MOST_ROWS = 8  # of failures and of jobs
_LEAST_TASKS = 3  # of the slowest ones; fewer are left out
_NUMBER_CELLS = 10
_EIGHTHS = "▏▎▍▌▋▊▉█"
_Row = tuple[Span, int | float, str, Role]  # a label, a value, the value as text, the role of the bar


def statistics_lines(session: Session, job_id: str, cells: int, rows: int) -> list[Line]:
    """Return all statistics of a job in the columns there is room for, which fill so many rows."""
    job = row_of_job(session.simulation, job_id)
    if job is None:
        return []
    columns = 1 + (cells >= _TWO_COLUMNS_FROM) + (cells >= _THREE_COLUMNS_FROM)
    room = (cells - _GAP * (columns - 1)) // columns
    bins = max(_FEWEST_BINS, rows - 1 if columns > 2 else (rows - 3) // 2)  # below the titles
    found = session.history(JobStatistics, job).with_bins(bins)
    glyphs = session.glyphs
    durations = _histogram("Run times", found.durations, Role.OK, glyphs, room)
    waits = _histogram("Waiting times", found.waits, Role.QUIET, glyphs, room)
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
    others = [
        *_bars("Failed attempts by exit code", "", failures, "None has failed.", glyphs, room),
        *_left_out(more),
        (),
        *_costs(session, job_id, room),
    ]
    # Where all stands below one another it is scrolled anyway.
    rest = rows - len(others) if columns > 1 else 2 * (_MOST_ROWS + 2)
    others += _longest(session, job_id, found, room, rest)
    if columns == 1:
        return [*durations, (), *waits, (), *others]
    if columns == 2:
        return beside([*durations, (), *waits], others, room, _GAP)
    return beside(durations, beside(waits, others, room, _GAP), room, _GAP)


def _longest(session: Session, job_id: str, found: Statistics, cells: int, rows: int) -> list[Line]:
    """Return the tasks that took longest and those that waited longest, in so many rows."""
    lines: list[Line] = []
    page = session.tasks(job_id)
    most = (rows - 4) // 2  # below two titles, each after an empty line
    for title, tasks, role in (
        ("Slowest tasks", found.slowest, Role.OK),
        ("Longest waits", found.longest_waits, Role.QUIET),
    ):
        shown = tasks[:most] if most >= _LEAST_TASKS else ()
        bars: list[_Row] = [
            (
                link(squeeze(page.id_of(each.task), max(8, cells // 3)), ItemRef("task", each.task)),
                each.time_ms,
                _time(each.time_ms),
                role,
            )
            for each in shown
        ]
        if bars:
            note = "w explains the one at the cursor" if not lines else ""
            lines += [(), *_bars(title, note, bars, "", session.glyphs, cells)]
    return lines


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
