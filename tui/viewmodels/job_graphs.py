"""The graphs on the detail pages of jobs and tasks: dependencies, critical path, and statistics.

The dependencies of a task are listed in both directions, with the critical path that led to it. The statistics of a job
are the durations and waits of its tasks, and failures by exit code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.resources.jobs import row_of_job
from engine.views.resources.statistics import JobStatistics, critical_path, deciding_parent
from engine.views.resources.tasks import dependencies_of
from tui.viewmodels import format as fmt
from tui.viewmodels.glyphs import glyph_of_task
from tui.viewmodels.text import ItemRef, Line, Role, Span, beside, cut, line, link, squeeze, width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.resources.statistics import Distribution, Link, Statistics
    from engine.views.resources.tasks import Dependencies, Parent
    from tui.viewmodels.glyphs import GlyphSet
    from tui.viewmodels.session import Session


_MOST_LISTED = 200  # tasks that one depends on, or dependents
_MOST_NAME = 28
_LONGEST_PATH = 24  # lines
_BAR_GAP, _LEAST_BAR = 2, 16  # cells before a bar, and of it


def dependency_lines(session: Session, task: int, cells: int) -> list[Line]:
    """Return what a task depends on beside its dependents, and the critical path that led to it below them."""
    found = dependencies_of(session.simulation, task)
    if not found.is_used:
        return [line(Span("The job does not use task dependencies.", Role.DIM))]
    decides, room = deciding_parent(session.simulation, task), (cells - _GAP) // 2
    named = list(dict.fromkeys([*found.parents, *(each for part in found.ranges for each in part.tasks)]))
    parents = _parents(session, found, named[:_MOST_LISTED], decides, room)
    children = [_task(session, child, room) for child in found.children[:_MOST_LISTED]]
    left, right = (
        _listed("Depends on", parents, len(named) - _MOST_LISTED),
        _listed("Dependents", children, len(found.children) - _MOST_LISTED),
    )
    lines = beside(left, right, room, _GAP)
    if decides is not None:
        links = critical_path(session.simulation, task)
        lines += [(), line(Span("Critical path", Role.STRONG)), *path_lines(session, links, cells)]
    return [cut(each, cells) for each in lines]


def _listed(title: str, lines: list[Line], more: int) -> list[Line]:
    """Return tasks below a title, and the number of those that are left out."""
    said = [line(Span(f"and {more:,} more", Role.DIM))] if more > 0 else []
    return [line(Span(title, Role.STRONG)), *(lines or [line(Span("no task", Role.DIM))]), *said]


def _task(session: Session, task: int, cells: int, note: str = "") -> Line:
    """Return the state of a task and its id, which leads to it, with a note."""
    row = session.tasks(session.job_id).brief(task)
    name = squeeze(row.task_id, cells - len(note) - 2)
    return session.glyphs.span(glyph_of_task(row)), Span(" "), link(name, ItemRef("task", task)), Span(note, Role.DIM)


def _parents(
    session: Session, found: Dependencies, named: Sequence[Parent], decides: int | None, cells: int
) -> list[Line]:
    """Return the parents: first the one that decides, then those that are named one by one, then large ranges."""
    lines = [] if decides is None else [_task(session, decides, cells, "  decides when it begins")]
    for each in named:
        if each.task is None:
            lines.append(line(Span(f"{session.glyphs.bad} {each.task_id} does not exist", Role.FAILED)))
        elif each.task != decides:
            lines.append(_task(session, each.task, cells))
    for part in found.ranges:
        if not part.tasks:
            said = f"{part.low:,} to {part.high:,}, " + (f"{part.missing:,} to go" if part.missing else "all satisfied")
            lines.append(line(Span(said, Role.QUIET if part.missing else Role.OK)))
    return lines


def path_lines(session: Session, links: Sequence[Link], cells: int) -> list[Line]:
    """Return the tasks of a critical path below one another: state, id, wait, start and end, and these as a bar."""
    names = [_task(session, each.task, _MOST_NAME + 2) for each in links]
    times = [_when(session, each) for each in links]
    name_cells, time_cells = max(map(width, names), default=0), max(map(width, times), default=0)
    bar_cells = cells - name_cells - time_cells - 2 * _BAR_GAP
    skipped = len(links) - _LONGEST_PATH
    lines = []
    for number, (each, name, when) in enumerate(zip(links, names, times, strict=True)):
        if skipped > 0 and 1 <= number <= skipped:
            if number == 1:
                lines.append(line(Span(f"{session.glyphs.down} {skipped:,} more", Role.DIM)))
            continue
        told = (*name, Span(" " * (name_cells - width(name) + _BAR_GAP)), *when)
        if bar_cells >= _LEAST_BAR:
            gap = Span(" " * (time_cells - width(when) + _BAR_GAP))
            told = (*told, gap, *_path_bar(session, links, each, bar_cells))
        lines.append(cut(told, cells))
    return lines


def _path_bar(session: Session, links: Sequence[Link], each: Link, cells: int) -> Line:
    """Return the time of the whole path in ``cells``, with the wait of one task and its run as bars."""
    glyphs, now_ms = session.glyphs, session.now_ms
    begin_ms = links[0].ready_ms or 0
    span_ms = max(1, (links[-1].end_ms or now_ms) - begin_ms)
    if each.ready_ms is None:
        return ()
    moments = each.ready_ms, each.start_ms or now_ms, each.end_ms or now_ms
    ready, start, end = (min(cells, max(0, ms - begin_ms) * cells // span_ms) for ms in moments)
    has_run = each.start_ms is not None
    start = min(start, cells - 1) if has_run else cells
    role = Role.OK if each.end_ms is not None else Role.RUNNING
    ran = Span(glyphs.meter * max(1, end - start) if has_run else "", role)
    return (Span(" " * ready), Span(glyphs.meter_rest * (start - ready), Role.QUIET), ran)


def _when(session: Session, each: Link) -> Line:
    clock = session.clock
    if each.start_ms is None:
        return line(Span("has not begun", Role.DIM))
    ran_ms = (session.now_ms if each.end_ms is None else each.end_ms) - each.start_ms
    end = "until now" if each.end_ms is None else f"to {clock(each.end_ms)}"
    spans = [Span(f"{clock(each.start_ms)} {end}  "), Span(f"ran {fmt.span(ran_ms)}", Role.DERIVED)]
    waited_ms = 0 if each.ready_ms is None else each.start_ms - each.ready_ms
    return (*spans, Span(f"  after a wait of {fmt.span(waited_ms)}" if waited_ms >= 1000 else "", Role.DERIVED))


_TWO_COLUMNS_FROM, _THREE_COLUMNS_FROM = 96, 150
_GAP = 3
_FEWEST_BINS = 6
_MOST_ROWS = 8  # of failures
_LEAST_TASKS = 3  # of the slowest ones; fewer are left out
_NUMBER_CELLS = 10
_EIGHTHS = "▏▎▍▌▋▊▉█"
_Row = tuple[Span, int | float, str, Role]  # a label, a value, the value as text, the role of the bar


def statistics_lines(session: Session, job_id: str, cells: int, rows: int) -> list[Line]:
    """Return the statistics of a job in as many columns as have room, for this number of rows."""
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
    failures: list[_Row] = []
    for each in found.failures[:_MOST_ROWS]:
        final = f" ({each.final:,} final)" if each.final != each.attempts else ""
        failures.append((Span(each.name), each.attempts, f"{each.attempts:,}{final}", Role.FAILED))
    more = len(found.failures) - _MOST_ROWS
    others = [
        *_bars("Failed attempts by exit code", "", failures, "None has failed.", glyphs, room),
        *([line(Span(f"and {more:,} more", Role.DIM))] if more > 0 else []),
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
    """Return the tasks that took longest and those that waited longest, in at most ``rows`` rows."""
    lines: list[Line] = []
    page = session.tasks(job_id)
    most = (rows - 4) // 2  # below two titles, each after an empty line
    if most < _LEAST_TASKS:
        return lines
    for title, tasks, role in (
        ("Slowest tasks", found.slowest, Role.OK),
        ("Longest waits", found.longest_waits, Role.QUIET),
    ):
        bars: list[_Row] = []
        for each in tasks[:most]:
            name = squeeze(page.id_of(each.task), max(8, cells // 3))
            bars.append((link(name, ItemRef("task", each.task)), each.time_ms, _time(each.time_ms), role))
        if bars:
            note = "w explains the one at the cursor" if not lines else ""
            lines += [(), *_bars(title, note, bars, "", session.glyphs, cells)]
    return lines


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
