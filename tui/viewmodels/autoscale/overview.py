"""A pool's autoscale: formula, last evaluation, history, and the evaluation of a formula in the editor."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.autoscale import FormulaError
from engine.views.pages.autoscale import dry_run, refusal_of, scale_page
from engine.views.pages.jobs import pool_row
from tui.viewmodels.autoscale.formula import around, numbered
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Line, Role, Span, beside, cut, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.base.errors import Position
    from engine.views.pages.autoscale import AutoScaleRun, Sampled, ScalePage
    from engine.views.pages.jobs import PoolRow
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.glyphs import GlyphSet

# From this width on, formula and evaluation are side by side.
_WIDE = 96
_MOST_ROWS = 12  # rows of the history
_LABEL_CELLS = 9
_SERVICE_ITEMS = 3  # service variables in the results; the formula's own follow

FIRST_FORMULA = """\
// As many nodes as the queue needs, at most 10; a new pool has no samples yet.
sampled = $PendingTasks.GetSamplePercent(TimeInterval_Minute * 3);
waiting = sampled < 70 ? 1 : max($PendingTasks.GetSample(TimeInterval_Minute * 3));
$TargetDedicatedNodes = min(10, ceil(waiting / $TaskSlotsPerNode));
$NodeDeallocationOption = taskcompletion;
"""


def autoscale_lines(session: Session, pool_id: str, cells: int) -> list[Line]:
    """Return formula, last evaluation and history of a pool's autoscale."""
    pool = pool_row(session.simulation, pool_id)
    if pool is None or pool.state is None:
        return [line("There is no pool yet, or it has been deleted.")]
    page = scale_page(session.simulation, pool_id)
    if page is None:
        targets = f"Its targets, {pool.target_dedicated} dedicated and {pool.target_spot} Spot nodes, are fixed."
        ways = "e opens the formula editor, which also enables autoscale."
        return [
            line("Autoscale is off."),
            *(line(Span(each, Role.DIM)) for text in (targets, ways) for each in wrapped(text, cells)),
        ]
    schedule, samples, history = _schedule(session, page, cells), _sampled(page.samples), _history(session, page, cells)
    is_wide, run = cells >= _WIDE, page.runs[-1]
    room = cells // 2 - 1 if is_wide else cells
    fault = None if run.error is None else (run.error.position, run.error.reason)
    formula = [line(Span("Formula", Role.STRONG)), *numbered(page.formula, room, fault)]
    last = [line(Span(f"Last evaluation, {session.clock(run.when_ms)}", Role.STRONG)), *_outcome(session, run, room)]
    if is_wide:
        head, rows = samples[:1], samples[1:]
        half = (len(rows) + 1) // 2
        samples = [*head, *beside(rows[:half], rows[half:], room, 2)]
        lines = [*schedule, (), *beside(formula, last, room, 2), (), *samples, (), *history]
    else:
        lines = [*schedule, (), *formula, (), *last, (), *history, (), *samples]
    return [cut(each, cells) for each in lines]


def _schedule(session: Session, page: ScalePage, cells: int) -> list[Line]:
    waits = max(0, page.next_ms - session.now_ms)
    text = (
        f"The formula is evaluated every {fmt.span(page.interval_ms)},"
        f" next at {session.clock(page.next_ms)}, in {fmt.span(waits)}."
    )
    return [line(Span(each, Role.DERIVED)) for each in wrapped(text, cells)]


def _outcome(session: Session, run: AutoScaleRun, cells: int) -> list[Line]:
    """Return the result of an evaluation, and its variables."""
    glyphs = session.glyphs
    if run.error is None:
        lines = [line(Span(f"{glyphs.good} succeeded", Role.OK))]
        option = run.items[_SERVICE_ITEMS - 1][1]
        rows = [
            ("dedicated nodes", f"{run.current_dedicated} {glyphs.arrow} {run.target_dedicated}"),
            ("Spot nodes", f"{run.current_spot} {glyphs.arrow} {run.target_spot}"),
            ("deallocation", option),
        ]
    else:
        said = f"{glyphs.bad} {run.error.code}. {run.error.position}: {run.error.reason}"
        lines = [line(Span(each, Role.FAILED)) for each in wrapped(said, cells)]
        rows = [("targets remain", f"{run.target_dedicated} dedicated, {run.target_spot} Spot")]
    lines += _table(rows, Role.PLAIN)
    own = run.items[_SERVICE_ITEMS:]
    return [*lines, line(Span("Variables", Role.DIM)), *_table(own, Role.DERIVED)] if own else lines


def _sampled(samples: Sequence[Sampled]) -> list[Line]:
    if not samples:
        return [line(Span("No samples yet. Each metric is sampled every 30 s.", Role.DIM))]
    lines = [line(Span(f"Newest samples, {samples[0].number:,} of each", Role.DIM))]
    return lines + _table([(each.name, _number(each.newest)) for each in samples], Role.PLAIN)


def _number(value: float) -> str:
    """Return a metric's value: bytes in full, shares with six digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def _table(rows: Sequence[tuple[str, str]], role: Role) -> list[Line]:
    longest = max(len(name) for name, _ in rows)
    return [
        line(Span(f"  {name:<{longest}}  ", Role.DIM), Span(" ".join(text.splitlines()), role)) for name, text in rows
    ]


# -- history ---------------------------------------------------------------------------------------------------------


def _history(session: Session, page: ScalePage, cells: int) -> list[Line]:
    """Return targets and nodes at each evaluation, as two rows of bars and as a table, newest first."""
    runs = page.runs[-max(1, cells - _LABEL_CELLS) :]
    most = max(max(_wanted(run), _present(run)) for run in runs)
    glyphs = session.glyphs
    failed = Span(glyphs.failure, Role.FAILED)
    rows = {
        "target": [failed if run.error else Span(_level(glyphs, _wanted(run), most), Role.KEY) for run in runs],
        "nodes": [Span(_level(glyphs, _present(run), most), Role.RUNNING) for run in runs],
    }
    first, last = session.clock(runs[0].when_ms), session.clock(runs[-1].when_ms)
    lines = [line(Span("History", Role.STRONG), Span(f"  {first} to {last}, most: {most}", Role.DIM))]
    lines += [(Span(f"{name:<{_LABEL_CELLS}}", Role.DIM), *spans) for name, spans in rows.items()]
    listed = runs[-_MOST_ROWS:]
    cells_of_time = max(len(session.clock(run.when_ms)) for run in listed) + 1
    heads = f"{'':<{_LABEL_CELLS}}{'time':<{cells_of_time}} dedicated   Spot     result"
    lines.append(line(Span(heads, Role.DIM)))
    return [*lines, *(_row(session, run, cells_of_time) for run in reversed(listed))]


def _wanted(run: AutoScaleRun) -> int:
    return run.target_dedicated + run.target_spot


def _present(run: AutoScaleRun) -> int:
    return run.current_dedicated + run.current_spot


def _level(glyphs: GlyphSet, value: int, most: int) -> str:
    """Return a bar for a share of the largest value. Anything but zero is visible."""
    levels = glyphs.densities
    return levels[-(-value * (len(levels) - 1) // most)] if value else glyphs.rest


def _row(session: Session, run: AutoScaleRun, cells_of_time: int) -> Line:
    arrow = session.glyphs.arrow
    dedicated = f"{run.current_dedicated} {arrow} {run.target_dedicated}"
    spot = f"{run.current_spot} {arrow} {run.target_spot}" if run.current_spot or run.target_spot else ""
    when = f"{session.clock(run.when_ms):<{cells_of_time}} {dedicated:<11} {spot:<8} "
    if run.error is not None:
        result = Span(run.error.code, Role.FAILED)
    else:
        own = ", ".join(f"{name} {text}" for name, text in run.items[_SERVICE_ITEMS:])
        result = Span(" ".join(own.split()) or "succeeded", Role.DERIVED)
    return line(" " * _LABEL_CELLS, when, result)


# -- a formula that is being written ---------------------------------------------------------------------------------


class FormulaTrial(NamedTuple):
    """The evaluation of a formula in the editor: its lines, whether the service accepts it, and its error."""

    lines: list[Line]
    is_taken: bool
    fault: Position | None


def try_out(session: Session, pool_id: str, formula: str, cells: int) -> FormulaTrial:
    """Evaluate a formula on the pool as it is now. Nothing changes (AS-87)."""
    refused = refusal_of(session.simulation, pool_id, formula)
    lines: list[Line] = []
    if refused is not None:
        said = f"{session.glyphs.bad} The service would reject it now: {refused}"
        lines = [*(line(Span(each, Role.FAILED)) for each in wrapped(said, cells)), ()]
    try:
        run = dry_run(session.simulation, pool_id, formula)
    except FormulaError as error:
        said = f"{session.glyphs.bad} The service rejects it: {error.code}."
        return FormulaTrial(_fault(formula, said, error.position, error.reason, cells), False, error.position)
    pool = pool_row(session.simulation, pool_id)
    if run is None or pool is None:
        return FormulaTrial(lines, False, None)
    if run.error is not None:
        said = f"{session.glyphs.bad} It would fail: {run.error.code}. The targets remain."
        lines += _fault(formula, said, run.error.position, run.error.reason, cells)
        own = run.items[_SERVICE_ITEMS:]
        lines += [(), line(Span("Variables up to the error", Role.DIM)), *_table(own, Role.DERIVED)] if own else []
        return FormulaTrial(lines, refused is None, run.error.position)
    page = scale_page(session.simulation, pool_id)
    lines += [*_outcome(session, run, cells), *_change(pool, run, cells), ()]
    return FormulaTrial([*lines, *_sampled(page.samples if page is not None else ())], refused is None, None)


def _fault(formula: str, said: str, position: Position, reason: str, cells: int) -> list[Line]:
    shown, at = around(formula, position, max(8, cells - 2))
    return [
        *(line(Span(each, Role.FAILED)) for each in wrapped(said, cells)),
        *(line(each) for each in wrapped(f"{position}: {reason}", cells)),
        line(Span(f"  {shown}", Role.DIM)),
        line(Span(f"  {' ' * at}^", Role.FAILED)),
    ]


def _change(pool: PoolRow, run: AutoScaleRun, cells: int) -> list[Line]:
    """Return the effect of the targets that the formula sets."""
    if (run.target_dedicated, run.target_spot) == (pool.target_dedicated, pool.target_spot):
        said = "The pool already has these targets: no resize (AS-80)."
    else:
        now = f"{pool.target_dedicated} dedicated and {pool.target_spot} Spot nodes"
        said = f"The present targets are {now}: a resize would start (AS-80)."
    return [line(Span(each, Role.KEY)) for each in wrapped(said, cells)]
