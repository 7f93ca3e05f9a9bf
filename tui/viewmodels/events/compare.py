"""The comparison of two runs or moments: two columns with their difference, at the same moment and at both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.views.log.tally import Measure, node_use, tally
from tui.viewmodels.events.command_words import summed_up
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Line, Role, Span, fit, line, squeeze, wrapped

if TYPE_CHECKING:
    from engine.views.log.tally import NodeUse, Tally
    from tui.viewmodels.events.bookmarks import Recording
    from tui.viewmodels.session.session import Session

_VALUE_CELLS, _DIFFERENCE_CELLS, _PERCENT_CELLS = 12, 11, 8
_MOST_LABEL = 40
_LEAST_DIFFERENCE = 0.005  # half of what two decimals show


class _Row(NamedTuple):
    """A line of the table: the label, both values as text, their difference as text and in percent."""

    label: str
    here: str
    there: str
    difference: str = ""
    percent: str = ""


def compare_lines(session: Session, one: Recording, other: Recording, cells: int) -> list[Line]:
    """Return the comparison of two runs at the same moment and at their ends, or of two moments of one run."""
    parted = _parting(one, other)
    if parted is None:
        heads = (_moment(session, one), _moment(session, other))
        table = _table(session, one, one.until_ms, other, other.until_ms)
        return [*_heads(heads, cells), *_lines(table, cells), (), line("Both are moments of the same run.")]
    when_ms, here, there = parted
    texts = [
        f"The runs part at {session.clock(when_ms)}.",
        f"A: this run, {_done(here)}.",
        f"B: the earlier run, {_done(there)}.",
    ]
    lines = [line(each) for text in texts for each in wrapped(session.text(text), cells)]
    same_ms = min(one.until_ms, other.end_ms)
    lines += [(), *_heads(("A", "B"), cells, f"At {session.clock(same_ms)}, the same moment")]
    lines += _lines(_table(session, one, same_ms, other, same_ms), cells)
    ends = one.end_ms, other.end_ms
    heading = "At the end of each run" if one.is_whole and other.is_whole else "As far as each run was played"
    if one.is_whole and one.end_ms > session.newest_ms:
        heading += ", simulated"
    lines += [(), *_heads(("A", "B"), cells, heading)]
    return lines + _lines([_span_row(session, "until", *ends), *_table(session, one, ends[0], other, ends[1])], cells)


def _moment(session: Session, run: Recording) -> str:
    return session.clock(run.until_ms)


def _done(commands: str) -> str:
    return f"after: {commands}" if commands else "in which nothing else was done by hand"


def _parting(one: Recording, other: Recording) -> tuple[int, str, str] | None:
    """Return when two runs part, and what was done by hand in each from there on; None for moments of one run."""
    both = min(len(one.by_hand), len(other.by_hand))
    same = next((at for at in range(both) if one.by_hand[at] != other.by_hand[at]), both)
    here, there = one.by_hand[same:], other.by_hand[same:]
    if not here and not there:
        return None
    when_ms = min(when_ms for when_ms, _ in (*here[:1], *there[:1]))
    return when_ms, summed_up([command for _, command in here]), summed_up([command for _, command in there])


# -- the table ---------------------------------------------------------------------------------------------------


def _table(session: Session, one: Recording, one_ms: int, other: Recording, other_ms: int) -> list[_Row]:
    """Return the counts that are not zero in both, the ends of jobs, node hours and cost, each up to its moment."""
    (left, left_use), (right, right_use) = _facts(one, one_ms), _facts(other, other_ms)
    counts = ((measure, left.counts[measure], right.counts[measure]) for measure in Measure)
    rows = [_number_row(measure.value, here, there) for measure, here, there in counts if here or there]
    for job in {**left.completed_ms, **right.completed_ms}:
        rows.append(_span_row(session, f"{job} completed", left.completed_ms.get(job), right.completed_ms.get(job)))
    rows.append(_number_row("node hours", left_use.hours, right_use.hours, decimals=2))
    if left_use.usd or right_use.usd:
        rows.append(_money_row("cost", left_use.usd, right_use.usd))
    return rows


def _facts(run: Recording, until_ms: int) -> tuple[Tally, NodeUse]:
    counts = tally(run.simulation, run.columns, 0, run.stop(until_ms), run.jobs)
    return counts, node_use(run.simulation, run.columns, until_ms, run.prices)


def _number_row(label: str, here: float, there: float, *, decimals: int = 0) -> _Row:
    difference = here - there
    texts = f"{here:,.{decimals}f}", f"{there:,.{decimals}f}"
    if abs(difference) < _LEAST_DIFFERENCE:
        return _Row(label, *texts)
    percent = f"{difference / there:+,.0%}" if there else ""
    return _Row(label, *texts, f"{difference:+,.{decimals}f}", percent)


def _money_row(label: str, here: float, there: float) -> _Row:
    row, change = _number_row(label, here, there, decimals=2), fmt.more_dollars(here - there)
    return row._replace(here=fmt.dollars(here), there=fmt.dollars(there), difference=change if row.difference else "")


def _span_row(session: Session, label: str, here_ms: int | None, there_ms: int | None) -> _Row:
    """Return a row of two moments; the percent are of the time since the start."""
    texts = session.clock(here_ms) or "not yet", session.clock(there_ms) or "not yet"
    if here_ms is None or there_ms is None or here_ms == there_ms:
        return _Row(label, *texts)
    difference = here_ms - there_ms
    sign = "+" if difference > 0 else "-"
    percent = f"{difference / there_ms:+,.0%}" if there_ms else ""
    return _Row(label, *texts, f"{sign}{fmt.span(abs(difference))}", percent)


def _heads(names: tuple[str, str], cells: int, heading: str = "") -> list[Line]:
    """Return the heads of the columns, beside a heading."""
    heads = [fit(name, _VALUE_CELLS, right=True) for name in names]
    heads += [fit("difference", _DIFFERENCE_CELLS, right=True), fit("percent", _PERCENT_CELLS, right=True)]
    label_cells = _label_cells(cells)
    above = [line(Span(heading, Role.STRONG))] if len(heading) > label_cells else []
    shown = "" if above else heading
    return [*above, line(Span(fit(shown, label_cells), Role.STRONG), Span("".join(heads), Role.DIM))]


def _lines(rows: list[_Row], cells: int) -> list[Line]:
    label_cells = _label_cells(cells)
    lines: list[Line] = []
    for row in rows:
        role = Role.KEY if row.here != row.there else Role.PLAIN
        values = fit(row.here, _VALUE_CELLS, right=True) + fit(row.there, _VALUE_CELLS, right=True)
        change = fit(row.difference, _DIFFERENCE_CELLS, right=True) + fit(row.percent, _PERCENT_CELLS, right=True)
        label = fit(squeeze(row.label, label_cells - 1), label_cells)
        lines.append(line(Span(label, Role.DIM), Span(values), Span(change, role)))
    return lines


def _label_cells(cells: int) -> int:
    return max(8, min(_MOST_LABEL, cells - 2 * _VALUE_CELLS - _DIFFERENCE_CELLS - _PERCENT_CELLS))
