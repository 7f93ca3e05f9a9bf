"""A pool's autoscale: formula, last evaluation, history, and the evaluation of a formula in the editor.

A formula is shown as lines: highlighted, numbered, and with a caret at its error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len, chop_cells

from engine.autoscale.values import METRICS, OPTION, TARGETS, FormulaError
from engine.base.values import lazy_regex, printable
from engine.views.resources.jobs import dry_run, pool_row, refusal_of, retries_resize, scale_page
from tui.viewmodels import format as fmt
from tui.viewmodels.text import Line, Role, Span, beside, cut, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.base.errors import Position
    from engine.views.resources.jobs import AutoScaleRun, PoolRow, Sampled, ScalePage
    from tui.viewmodels.session import Session


_PIECE = lazy_regex(
    r"(?P<comment>//.*)"
    r'|(?P<string>"[^"]*"?)'
    r"|(?P<called>[A-Za-z_]\w*(?=\s*\())"
    r"|(?P<name>\$?[A-Za-z_]\w*)"
    r"|(?P<other>\s+|[0-9.]+|.)",
    re.ASCII,
)
_WORD = lazy_regex(r"\s+|\S+")
_ROLES = {"comment": Role.DIM, "string": Role.OK, "called": Role.DERIVED, "other": Role.PLAIN}
_NUMBER_CELLS = 4


def coloured(text: str) -> Line:
    """Return a line of a formula with comments, strings, calls and the service's names highlighted."""
    return tuple(Span(found[0], _role(found)) for found in _PIECE.finditer(printable(text, " ")))


def _role(found: re.Match[str]) -> Role:
    kind = found.lastgroup or "other"
    if kind == "name":
        name = found[0]
        return Role.KEY if name in METRICS or name in TARGETS or name == OPTION else Role.PLAIN
    return _ROLES[kind]


def around(text: str, position: Position, widest: int) -> tuple[str, int]:
    """Return the part of a line around a column, and the cell of that column in it."""
    lines = text.split("\n")
    line = lines[position.line - 1].rstrip("\r") if position.line <= len(lines) else ""
    column = position.column - 1
    first = max(0, column - widest // 2) if len(line) > widest else 0
    before = cell_len(printable(line[first:column], " ")) + max(0, column - len(line))
    return printable(line[first : first + widest], " "), before


def numbered(text: str, cells: int, fault: tuple[Position, str] | None = None) -> list[Line]:
    """Return a formula with line numbers, long lines wrapped, and a caret and message at its error."""
    room = max(8, cells - _NUMBER_CELLS)
    lines: list[Line] = []
    for number, each in enumerate(text.rstrip().split("\n"), 1):
        if fault is not None and fault[0].line == number:
            lines += _faulty(text, number, fault, room)
            continue
        lead = f"{number:>{_NUMBER_CELLS - 1}} "
        for piece in _broken(coloured(each.rstrip()), room):
            lines.append((Span(lead, Role.DIM), *piece))
            lead = " " * _NUMBER_CELLS
    return lines


def _broken(spans: Line, room: int) -> list[Line]:
    """Return a line in pieces of at most ``room`` cells, each as many whole names, numbers and words as fit."""
    pieces: list[list[Span]] = [[]]
    left = room
    for span in spans:
        for word in _WORD.findall(span.text):
            if cell_len(word) > left and left < room:
                pieces.append([])
                left = room
            whole, *parts = chop_cells(word, left) if cell_len(word) > left else [word]
            pieces[-1].append(span._replace(text=whole))
            pieces += [[span._replace(text=part)] for part in parts]
            left = (room if parts else left) - cell_len(parts[-1] if parts else whole)
    return [tuple(piece) for piece in pieces]


def _faulty(text: str, number: int, fault: tuple[Position, str], room: int) -> list[Line]:
    position, reason = fault
    shown, at = around(text, position, room)
    lead = Span(" " * _NUMBER_CELLS)
    lines: list[Line] = [(Span(f"{number:>{_NUMBER_CELLS - 1}} ", Role.FAILED), *coloured(shown))]
    lines.append((lead, Span(" " * at + "^", Role.FAILED)))
    return lines + [(lead, Span(each, Role.FAILED)) for each in wrapped(reason, room)]


# From this width on, formula and evaluation are side by side.
_WIDE = 96
_MOST_ROWS = 12  # rows of the history
_SERVICE_ITEMS = 3  # service variables in the results; the formula's own follow

FIRST_FORMULA = """\
// As many nodes as the queue needs, at most 10; a new pool has no samples yet.
sampled = $PendingTasks.GetSamplePercent(TimeInterval_Minute * 3);
waiting = sampled < 70 ? 1 : max($PendingTasks.GetSample(TimeInterval_Minute * 3));
$TargetDedicatedNodes = min(10, ceil(waiting / $TaskSlotsPerNode));
$NodeDeallocationOption = taskcompletion;
"""


def autoscale_lines(session: Session, pool_id: str, cells: int) -> list[Line]:
    """Return formula, last evaluation and history of a pool's autoscale; nothing without a formula."""
    page = scale_page(session.simulation, pool_id)
    if page is None:
        return []
    schedule, samples, history = _schedule(session, page, cells), _sampled(page.samples), _history(session, page)
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
    often, clock = fmt.span(page.interval_ms), session.clock(page.next_ms)
    text = f"The formula is evaluated every {often}, next at {clock}, in {fmt.span(waits)}."
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


def _history(session: Session, page: ScalePage) -> list[Line]:
    """Return targets and nodes at each of the last evaluations, newest first."""
    listed = page.runs[-_MOST_ROWS:]
    cells_of_time = max(len(session.clock(run.when_ms)) for run in listed) + 1
    heads = f"{'time':<{cells_of_time}} dedicated   Spot     result"
    lines = [line(Span("History", Role.STRONG)), line(Span(heads, Role.DIM))]
    return [*lines, *(_row(session, run, cells_of_time) for run in reversed(listed))]


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
    return line(when, result)


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
    retries = retries_resize(session.simulation, pool_id)
    lines += [*_outcome(session, run, cells), *_change(pool, run, cells, retries=retries), ()]
    return FormulaTrial([*lines, *_sampled(page.samples if page is not None else ())], refused is None, None)


def _fault(formula: str, said: str, position: Position, reason: str, cells: int) -> list[Line]:
    shown, at = around(formula, position, max(8, cells - 2))
    return [
        *(line(Span(each, Role.FAILED)) for each in wrapped(said, cells)),
        *(line(each) for each in wrapped(f"{position}: {reason}", cells)),
        line(Span(f"  {shown}", Role.DIM)),
        line(Span(f"  {' ' * at}^", Role.FAILED)),
    ]


def _change(pool: PoolRow, run: AutoScaleRun, cells: int, *, retries: bool) -> list[Line]:
    """Return the effect of the targets that the formula sets; with ``retries`` old ones begin a resize too (AS-80)."""
    if (run.target_dedicated, run.target_spot) == (pool.target_dedicated, pool.target_spot):
        effect = "its failed resize would begin again" if retries else "no resize"
        said = f"The pool already has these targets: {effect} (AS-80)."
    else:
        now = f"{pool.target_dedicated} dedicated and {pool.target_spot} Spot nodes"
        said = f"The present targets are {now}: a resize would start (AS-80)."
    return [line(Span(each, Role.KEY)) for each in wrapped(said, cells)]
