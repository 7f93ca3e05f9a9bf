"""The results of a study: a table of variants, the runs of a variant, and a scatter plot.

The table has a line for each variant, as ``batchdeck study`` prints it. The runs of a variant have a text for each
seed, so that the best, the usual and the worst can be opened. The plot shows the end of each variant against its cost,
in characters.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from math import floor, log10
from typing import TYPE_CHECKING, NamedTuple

from engine.base.values import USD, currency_sign
from engine.scenario.model import JobEnd
from engine.scenario.record import flow_text
from engine.studies.measures import measures_of
from engine.studies.outcome import (
    amount_of,
    cost_text,
    end_text,
    heading,
    interval_text,
    shown_measures,
    spread_of,
    text_of,
)
from engine.views.diagnosis.expectations import ExpectationState
from tui.viewmodels.glyphs import EXPECTATION, VARIANT_GLYPHS, Canvas
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.rows import RowsModel
from tui.viewmodels.study import SPREAD, Scale, scale_of_ends, short_head
from tui.viewmodels.text import Block, Line, Role, Span, block_of, row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from engine.studies.measures import Spread
    from engine.studies.outcome import VariantSummary
    from engine.studies.runs import Result
    from tui.viewmodels.glyphs import Glyph, GlyphSet
    from tui.viewmodels.lists.order import SortValues
    from tui.viewmodels.session import Session
    from tui.viewmodels.study import StudyModel


_FACTOR_CELLS = 14
_LEAST_FACTOR, _LEAST_OF_MANY, _MANY = 12, 6, 3  # cells of a factor, and of each if there are more than so many
_MEASURE_CELLS, _SPREAD_CELLS = 9, 19
_WITHOUT_SPREAD, _MORE_MEASURES, _RUNS_FROM = 60, 70, 40  # from these widths on columns are shown


class ResultColumn(NamedTuple):
    """A column of variants, and the number by which it sorts one; None, not known, comes last."""

    column: Column[VariantSummary]
    value: Callable[[VariantSummary], float | None] = lambda _: None


class VariantsModel(RowsModel):
    """The variants of a study, by number. The key of a row is the number of its variant."""

    title = "Variants"
    own_order = "number"

    def __init__(self, session: Session, study: StudyModel) -> None:
        """Show the results of a study so far."""
        self.study = study
        self.session = session
        self._values = cache(lambda number: study.names.of(study.study.values(number)))  # as they are drawn
        self._measures = shown_measures(measures_of(study.scenario))
        self._made = tuple(self._made_columns(study))
        self.columns = tuple(each.column for each in self._made)
        super().__init__(session)
        self.recall(study.arrangement)

    def moment(self) -> object:
        return self.study.summary

    def cells(self, key: int) -> tuple[Span, ...]:
        one = self.result(key)
        return tuple([each.column.span(one) for each in self._made])

    def identity_of(self, key: int) -> str:
        return f"{key}"

    def sort_values(self, name: str) -> SortValues:
        value = next(each.value for each in self._made if each.column.name == name)
        return lambda keys: [(one is None, one or 0.0) for one in (value(self.result(key)) for key in keys)]

    def _made_columns(self, study: StudyModel) -> Iterator[ResultColumn]:
        yield ResultColumn(Column("", 1, cell=lambda one: self.session.glyphs.span(study.glyph(one))))
        cells, said = len(str(study.study.variants)), "the number of the variant"
        number = Column("#", cells, said, self._number, is_right=True, is_whole=True)
        yield ResultColumn(number, lambda one: one.variant)
        least = _LEAST_FACTOR if len(study.study.factors) <= _MANY else _LEAST_OF_MANY
        for at, (head, factor) in enumerate(zip(study.names.heads, study.study.factors, strict=True)):
            said, short, cell = f"the value of {factor.path}", short_head(head), partial(self._factor, at)
            column = Column(head, _FACTOR_CELLS, said, cell, least=least, is_id=True, short=short)
            yield ResultColumn(column, partial(self._place, at))
        if study.scenario.expect:
            said = "runs that kept all expectations, and the 95 % interval of their share"
            met = Column("Met", 13, said, self._met, is_whole=True)
            yield ResultColumn(met, lambda one: one.met.share if one.runs else None)
        for at, measure in enumerate(self._measures):
            head, name = _head(measure), heading(measure)
            from_width, cell = 0 if at < 2 else _MORE_MEASURES, partial(self._median, measure)
            said = f"{name}: the median over the seeds"
            column = Column(head, _MEASURE_CELLS, said, cell, from_width, is_right=True, is_whole=True)
            yield ResultColumn(column, partial(_middle, measure))
            said, cell = f"{name}: 5th to 95th percentile over the seeds", partial(_spread, measure)
            from_width = max(from_width, _WITHOUT_SPREAD) + at
            head = f"{head} {SPREAD}"
            column = Column(head, _SPREAD_CELLS, said, cell, from_width, is_whole=True, short=SPREAD)
            yield ResultColumn(column, partial(_width, measure))
        said = "runs that have results, and those of them that failed inside"
        yield ResultColumn(Column("Runs", 4, said, self._runs, _RUNS_FROM, is_whole=True), lambda one: one.runs)

    def order(self) -> Sequence[int]:
        return range(1, self.study.study.variants + 1)

    def result(self, key: int) -> VariantSummary:
        """Return the variant with this number."""
        return self.study.tally.variant(key)

    def _role(self, one: VariantSummary) -> Role:
        is_best = one.variant in self.study.summary.all_recommended and self.study.is_complete
        return Role.STRONG if is_best else Role.PLAIN

    def _number(self, one: VariantSummary) -> Span:
        return Span(f"{one.variant}", self._role(one))

    def _factor(self, at: int, one: VariantSummary) -> Span:
        return Span(self._values(one.variant)[at], self._role(one))

    def _place(self, at: int, one: VariantSummary) -> float:
        return self.study.names.place(at, one.values)

    def _met(self, one: VariantSummary) -> Span:
        """Return how many runs kept all expectations, with the interval of their share."""
        return Span(_kept(one), self.study.glyph(one).role) if one.runs else Span("")

    def _median(self, measure: str | JobEnd, one: VariantSummary) -> Span:
        median = _middle(measure, one)
        return Span("") if median is None else Span(text_of(measure, one.currency)(median), self._role(one))

    def _runs(self, one: VariantSummary) -> Span:
        if one.errors:
            return Span(f"{one.runs:,}, {one.errors:,} failed", Role.FAILED)
        return Span(f"{one.runs:,}", Role.DIM if one.runs == len(self.study.study.seeds) else Role.PLAIN)

    def is_failed(self, key: int) -> bool:
        return self.result(key).errors > 0

    def empty(self) -> Sequence[str]:
        return ("The study has no variants.",)

    def blocks(self, key: int) -> list[Block]:
        """Return all that is known of a variant: its whole values, and each measure."""
        one = self.result(key)
        values = (row(path, text) for path, text in self._whole_values(one))
        kept = f"{round(one.met.share * one.runs):,} of {one.runs:,} runs, {interval_text(one.met)}"
        rows = [row("All expectations", kept)] if one.each else []
        rows += [row(f"Expectation {at}", f"{share:.0%} of the runs") for at, share in enumerate(one.each, start=1)]
        for measure in (*self._measures, *(name for name in one.measures if name not in self._measures)):
            spread, text = spread_of(one, measure), text_of(measure, one.currency)
            if spread.median is not None:
                said = f"{text(spread.median)}, {text(spread.p5)} to {text(spread.p95)}"
                rows.append(row(_head(measure), said))
        rows += [row("Failed runs", f"{one.errors:,}", Role.FAILED)] if one.errors else []
        figures = Block("Median, and 5th to 95th percentile over the seeds", tuple(rows))
        return [*block_of("Values", values), figures]

    def _whole_values(self, one: VariantSummary) -> Iterable[tuple[str, str]]:
        for path, name in zip(one.values, self._values(one.variant), strict=True):
            value = one.values[path]
            text = value if isinstance(value, str) else flow_text(value)
            yield path, text if text == name else f"{name}: {text}"


def _head(measure: str | JobEnd) -> str:
    """Return the head of a measure's column. A job's id keeps its letters."""
    text = heading(measure)
    return text if isinstance(measure, JobEnd) else text[:1].upper() + text[1:]


def _kept(one: VariantSummary) -> str:
    return f"{round(one.met.share * one.runs):,}/{one.runs:,} {interval_text(one.met)}"


def _spread(measure: str | JobEnd, one: VariantSummary) -> Span:
    """Return the 5th to the 95th percentile of a measure."""
    spread, text = spread_of(one, measure), text_of(measure, one.currency)
    return Span("") if spread.median is None else Span(f"{text(spread.p5)}–{text(spread.p95)}", Role.DIM)


def _middle(measure: str | JobEnd, one: VariantSummary) -> float | None:
    return spread_of(one, measure).median


def _width(measure: str | JobEnd, one: VariantSummary) -> float | None:
    spread = spread_of(one, measure)
    return None if spread.p5 is None or spread.p95 is None else spread.p95 - spread.p5


_MARKS = {True: EXPECTATION[ExpectationState.MET], False: EXPECTATION[ExpectationState.BROKEN]}


def run_texts(study: StudyModel, variant: int, glyphs: GlyphSet) -> list[str]:
    """Return a text for each run of a variant that has results, the earliest end first: what came out, what failed."""
    results, currency = study.results_by_end(variant), study.scenario.currency
    median = (sum(one["summary"] is not None for one in results) - 1) // 2
    return [f"{_run_text(one, currency, glyphs)}{'  median' if at == median else ''}" for at, one in enumerate(results)]


def _run_text(one: Result, currency: str, glyphs: GlyphSet) -> str:
    broken = [str(at) for at, is_met in enumerate(one["expectations"], start=1) if not is_met]
    has_mark = bool(one["expectations"]) or one["error"] is not None
    mark = glyphs.of(_MARKS[not broken and one["error"] is None]) if has_mark else " "
    wrong = one["error"] or (f"breaks {', '.join(broken)} of {len(one['expectations'])}" if broken else "")
    measured = one["summary"]
    end = "" if measured is None else end_text(measured["makespanSeconds"])
    cost = "" if measured is None else cost_text(amount_of(measured, currency), currency)
    return f"{mark} seed {one['seed']:<6} {end:>9} {cost:>9}  {wrong}".rstrip()


_MOST_NUMBERS = 60  # points with their numbers; more cannot be read
_LEAST_CELLS, _LEAST_ROWS = 16, 4
_ROWS_FOR_DEADLINE = 3
_CELLS_FOR_MARK = 10  # between two marks of an axis
_FAR, _ROWS_TO_CUT = 3, 6  # times the range of the others: so far above them an end is cut off
_LATER = "later"
_UNICODE = {"upright": "│", "level": "─", "tick": "┤", "foot": "┴", "corner": "└", "line": "·", "dash": "╌"}
_ASCII = {"upright": "|", "level": "-", "tick": "+", "foot": "+", "corner": "+", "line": ".", "dash": "="}
_Cell = tuple[int, int]  # column and row
_ORDER = {glyph: at for at, glyph in enumerate(reversed(VARIANT_GLYPHS))}


class Dot(NamedTuple):
    """A variant in the plot."""

    number: int
    cost: Spread
    end: Spread
    glyph: Glyph
    line: int  # the number of the Pareto line on which it is; 0 for none
    currency: str = USD


def _highest(dots: Sequence[Dot], low_s: float, due_s: float) -> float:
    """Return the end up to which the axis goes: a few that come far later than the others are above it."""
    ends = sorted(_of(dot.end.p95) for dot in dots)
    for last in ends[-1 - len(ends) // 4 : -1][::-1]:
        if _FAR * (max(last, due_s) - low_s) < ends[-1] - low_s:
            return max(last, due_s)
    return max(ends[-1], due_s)


def dots_of(study: StudyModel) -> list[Dot]:
    """Return the variants that have an end and a cost."""
    return [
        Dot(one.variant, one.done_cost, one.measures["makespanSeconds"], study.glyph(one), one.line, one.currency)
        for one in study.summary.variants
        if one.median_cost is not None and one.end_s is not None
    ]


def scatter_lines(
    dots: Sequence[Dot],
    cursor: int | None,
    cells: int,
    rows: int,
    glyphs: GlyphSet,
    due_s: float | None = None,
    due_text: str = "",
) -> list[Line]:
    """Return the plot for so much room: the cost grows to the right, and the end upwards.

    A dashed line is the deadline ``due_s``: what is above it ends too late, what is below it in time. The variant
    ``cursor`` is highlighted and has bars from the 5th to the 95th percentile. A dotted line joins the variants that no
    other beats.
    """
    if cells < _LEAST_CELLS or rows < _LEAST_ROWS:
        return []
    if not dots:
        return [(Span("No run has ended yet.", Role.DIM),)]
    signs = _ASCII if glyphs.ascii_only else _UNICODE
    costs = [_of(value) for dot in dots for value in (dot.cost.p5, dot.cost.p95)]
    room = rows - 2  # the axis, and its labels
    due_s = due_s if room >= _ROWS_FOR_DEADLINE else None
    first_s, last_s = (bound(_of(each) for dot in dots for each in (dot.end.p5, dot.end.p95)) for bound in (min, max))
    due_or_first_s = first_s if due_s is None else due_s
    top_s = _highest(dots, first_s, due_or_first_s) if room >= _ROWS_TO_CUT else max(last_s, due_or_first_s)
    is_cut = top_s < last_s
    low_s, high_s = _range((min(first_s, due_or_first_s), top_s), 60.0)
    y, times_s = scale_of_ends(low_s, high_s, room - is_cut, due_s)
    margin = max(len(end_text(value)) for value in times_s) + 1
    x = Scale(*_range(costs, 0.0), cells - margin - 1)
    canvas = Canvas(cells, rows)
    _draw_axes(canvas, x, {room - 1 - y.cell(mark): end_text(mark) for mark in times_s}, signs, dots[0].currency)
    if is_cut:
        canvas.put(margin - len(_LATER) - 1, 0, f"{_LATER} {glyphs.crossed}", Role.DIM)
    if due_s is not None:
        canvas.put(margin + 1, room - 1 - y.cell(due_s), signs["dash"] * x.cells, Role.WARNING)
    medians = {dot.number: (_of(dot.cost.median), _of(dot.end.median)) for dot in dots}
    place = {number: (margin + 1 + x.cell(cost), room - 1 - y.cell(end)) for number, (cost, end) in medians.items()}
    for line in {dot.line for dot in dots if dot.line}:
        _draw_line(canvas, [place[dot.number] for dot in sorted(dots, key=_by_cost) if dot.line == line], signs["line"])
    for dot in (each for each in dots if each.number == cursor):
        column, row = place[dot.number]
        first, last = (x.cell(_of(value)) for value in (dot.cost.p5, dot.cost.p95))
        canvas.put(margin + 1 + first, row, glyphs.wide * (last + 1 - first), Role.KEY)
        for at in range(y.cell(_of(dot.end.p5)), y.cell(_of(dot.end.p95)) + 1):
            canvas.put(column, room - 1 - at, glyphs.high, Role.KEY)
    if due_s is not None:
        words = f" deadline {due_text} {end_text(due_s)} "
        canvas.put(max(margin + 1, cells - len(words)), room - 1 - y.cell(due_s), words, Role.WARNING)
    in_order = sorted(dots, key=lambda dot: (dot.number == cursor, _ORDER[dot.glyph], -dot.number))
    for dot in in_order:
        column, row = place[dot.number]
        canvas.put(column, row, glyphs.of(dot.glyph), dot.glyph.role, is_fill=dot.number == cursor)
    marks, numbers = set(place.values()), set[_Cell]()
    for dot in reversed(in_order) if len(dots) <= _MOST_NUMBERS else in_order[-1:]:
        role = Role.STRONG if dot.number == cursor else Role.DIM
        _draw_number(canvas, dot, place[dot.number], marks, numbers, role)
    return canvas.lines()


def _draw_axes(canvas: Canvas, x: Scale, marks: dict[int, str], signs: dict[str, str], currency: str) -> None:
    """Draw the axis of costs, and that of ends with its marks by row."""
    room, margin = canvas.rows - 2, canvas.cells - x.cells - 1
    for at_row in range(room):
        canvas.put(margin, at_row, signs["tick" if at_row in marks else "upright"], Role.DIM)
    canvas.put(margin, room, signs["corner"] + signs["level"] * x.cells, Role.DIM)
    for at_row, label in marks.items():
        canvas.put(margin - 1 - len(label), at_row, label, Role.DIM)
    step = _cost_step(x.high - x.low, max(2, x.cells // _CELLS_FOR_MARK))
    decimals, free = max(2, -floor(log10(step))), 0
    for at in range(int(-(-x.low // step)), int(x.high // step) + 1):
        column = margin + 1 + x.cell(at * step)
        label = f"{currency_sign(currency)}{at * step:,.{decimals}f}"
        first = min(column - len(label) // 2, canvas.cells - len(label))
        if first > free:
            canvas.put(first, room + 1, label, Role.DIM)
            canvas.put(column, room, signs["foot"], Role.DIM)
            free = first + len(label)


def _draw_line(canvas: Canvas, places: Sequence[tuple[int, int]], sign: str) -> None:
    """Join places with steps: at each cost the end is that of the last variant that costs no more."""
    for (column, at_row), (next_column, next_row) in pairwise(places):
        for at in range(column, next_column + 1):
            canvas.put(at, at_row, sign, Role.DIM)
        for at in range(min(at_row, next_row), max(at_row, next_row) + 1):
            canvas.put(next_column, at, sign, Role.DIM)


def _draw_number(canvas: Canvas, dot: Dot, own: _Cell, marks: set[_Cell], numbers: set[_Cell], role: Role) -> None:
    """Draw the number of a variant where it touches only its mark: beside it, below or above it, or in its place."""
    text, (column, row) = f"{dot.number}", own
    rows = [at for at in (row + 1, row - 1) if 0 <= at < canvas.rows - 2]
    for first, at_row in ((column + 1, row), (column - len(text), row), *((column, at) for at in rows), own):
        places = {(at, at_row) for at in range(first, first + len(text))}
        near = places | {(first - 1, at_row), (first + len(text), at_row)}
        is_free = not near & (marks - {own}) and not near & numbers
        if is_free and first > 0 and first + len(text) <= canvas.cells:
            canvas.put(first, at_row, text, dot.glyph.role if (first, at_row) == own else role)
            numbers |= places
            return


def _range(values: Sequence[float], least: float) -> tuple[float, float]:
    """Return a range around values that is not empty."""
    low, high = min(values), max(values)
    if high - low > least:
        return low, high
    rest = max(least, abs(high) * 0.1, 0.0001)
    return max(0.0, low - rest), high + rest


def _cost_step(extent: float, most: int) -> float:
    """Return the cost between two marks, about ``most`` at most: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(extent / most))
    return next(step * power for step in (1, 2, 5, 10) if extent / (step * power) <= most)


def _of(value: float | None) -> float:
    assert value is not None
    return value


def _by_cost(dot: Dot) -> tuple[float, float]:
    return _of(dot.cost.median), _of(dot.end.median)
