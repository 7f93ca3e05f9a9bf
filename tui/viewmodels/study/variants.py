"""The table of a study: a line for each variant, as ``batchdeck study`` prints it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.scenario.record import flow_text
from engine.scenario.study import JobEnd
from engine.studies.labels import heading, shown_measures, spread_of, text_of
from engine.studies.wording import interval_text
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.lists.rows import RowsModel
from tui.viewmodels.study.names import short_head
from tui.viewmodels.text.blocks import Block, row
from tui.viewmodels.text.styled import Role, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from engine.studies.summary import VariantSummary
    from tui.viewmodels.lists.sorting import SortValues
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.study.model import StudyModel

NUMBER, MET, RUNS, SPREAD = "#", "Met", "Runs", "p5–p95"
_FACTOR_CELLS = 14
_LEAST_FACTOR, _LEAST_OF_MANY, _MANY = 12, 6, 3  # cells of a factor, and of each if there are more than so many
_MEASURE_CELLS, _SPREAD_CELLS = 9, 19
_WITHOUT_SPREAD, _MORE_MEASURES, _RUNS_FROM = 60, 70, 40  # from these widths on columns are shown


class VariantsModel(RowsModel):
    """The variants of a study, by number. The key of a row is the number of its variant."""

    title = "Variants"
    own_order = "number"
    columns: tuple[Column, ...] = ()

    def __init__(self, session: Session, study: StudyModel) -> None:
        """Show the results of a study so far."""
        self.study = study
        self._names: list[list[str] | None] = [None] * study.study.variants  # of values, as they are drawn
        self._measures = shown_measures(study.scenario.study.shown)
        self.columns = tuple(self._made_columns())
        super().__init__(session)
        self.recall(study.arrangement)

    def _made_columns(self) -> Iterable[Column]:
        study = self.study
        yield Column("", 1)
        yield Column(NUMBER, len(str(study.study.variants)), "the number of the variant", is_right=True, is_whole=True)
        least = _LEAST_FACTOR if len(study.study.factors) <= _MANY else _LEAST_OF_MANY
        for head, factor in zip(study.names.heads, study.study.factors, strict=True):
            said, short = f"the value of {factor.path}", short_head(head)
            yield Column(head, _FACTOR_CELLS, said, least=least, is_id=True, short=short)
        if study.scenario.expect:
            said = "runs that kept all expectations, and the 95 % interval of their share"
            yield Column(MET, 13, said, is_whole=True)
        for at, measure in enumerate(self._measures):
            name = heading(measure)
            from_width = 0 if at < 2 else _MORE_MEASURES
            said = f"{name}: the median over the seeds"
            yield Column(_head(measure), _MEASURE_CELLS, said, from_width, is_right=True, is_whole=True)
            said = f"{name}: 5th to 95th percentile over the seeds"
            whole_from = max(from_width, _WITHOUT_SPREAD) + at
            yield Column(_spread(measure), _SPREAD_CELLS, said, whole_from, is_whole=True, short=SPREAD)
        yield Column(RUNS, 4, "runs that have results, and those of them that failed inside", _RUNS_FROM, is_whole=True)

    def order(self) -> Sequence[int]:
        return range(1, self.study.study.variants + 1)

    def moment(self) -> object:
        return self.study.summary

    def _variant(self, key: int) -> VariantSummary:
        return self.study.tally.variant(key)

    def _values(self, key: int) -> list[str]:
        known = self._names[key - 1]
        if known is None:
            known = self._names[key - 1] = self.study.names.of(self._variant(key).values)
        return known

    def cells(self, key: int) -> tuple[Span, ...]:
        one = self._variant(key)
        glyph = self.study.glyph(one)
        is_best = one.variant == self.study.summary.recommended and self.study.is_complete
        role = Role.STRONG if is_best else Role.PLAIN
        met = [_met(one, glyph.role)] if self.study.scenario.expect else []
        return (
            self.session.glyphs.span(glyph),
            Span(f"{key}", role),
            *(Span(name, role) for name in self._values(key)),
            *met,
            *(span for measure in self._measures for span in _measured(one, measure, role)),
            self._runs(one),
        )

    def _runs(self, one: VariantSummary) -> Span:
        if one.errors:
            return Span(f"{one.runs:,}, {one.errors:,} failed", Role.FAILED)
        return Span(f"{one.runs:,}", Role.DIM if one.runs == len(self.study.study.seeds) else Role.PLAIN)

    def identity_of(self, key: int) -> str:
        return f"{key}"

    def is_failed(self, key: int) -> bool:
        return self._variant(key).errors > 0

    def empty(self) -> Sequence[str]:
        return ("The study has no variants.",)

    def sort_values(self, name: str) -> SortValues:
        value = self._sorting(name)

        def values(keys: Sequence[int]) -> list[tuple[bool, float]]:
            found = [value(self._variant(key)) for key in keys]
            return [(one is None, one or 0.0) for one in found]  # what is not known comes last

        return values

    def _sorting(self, name: str) -> Callable[[VariantSummary], float | None]:
        """Return the function that gives the number by which a column sorts a variant."""
        simple: dict[str, Callable[[VariantSummary], float | None]] = {
            NUMBER: lambda one: one.variant,
            MET: lambda one: one.met.share if one.runs else None,
            RUNS: lambda one: one.runs,
        }
        if name in simple:
            return simple[name]
        for measure in self._measures:
            if name == _head(measure):
                return partial(_median, measure)
            if name == _spread(measure):
                return partial(_width, measure)
        at = self.study.names.heads.index(name)
        return lambda one: self.study.names.place(at, one.values)

    def blocks(self, key: int) -> list[Block]:
        """Return all that is known of a variant: its whole values, and each measure."""
        one = self._variant(key)
        values = tuple(row(path, text) for path, text in self._whole_values(one))
        kept = f"{round(one.met.share * one.runs):,} of {one.runs:,} runs, {interval_text(one.met)}"
        rows = [row("All expectations", kept)] if one.each else []
        rows += [row(f"Expectation {at}", f"{share:.0%} of the runs") for at, share in enumerate(one.each, start=1)]
        for measure in (*self._measures, *(name for name in one.measures if name not in self._measures)):
            spread, text = spread_of(one, measure), text_of(measure)
            if spread.median is not None:
                said = f"{text(spread.median)}, {text(spread.p5)} to {text(spread.p95)}"
                rows.append(row(_head(measure), said))
        failed = row("Failed runs", f"{one.errors:,}", Role.FAILED)
        return [Block("Values", values)] * bool(values) + [
            Block("Median, and 5th to 95th percentile over the seeds", (*rows, *([failed] if one.errors else [])))
        ]

    def _whole_values(self, one: VariantSummary) -> Iterable[tuple[str, str]]:
        for path, name in zip(one.values, self._values(one.variant), strict=True):
            value = one.values[path]
            text = value if isinstance(value, str) else flow_text(value)
            yield path, text if text == name else f"{name}: {text}"


def _head(measure: str | JobEnd) -> str:
    """Return the head of a measure's column. A job's id keeps its letters."""
    text = heading(measure)
    return text if isinstance(measure, JobEnd) else text[:1].upper() + text[1:]


def _spread(measure: str | JobEnd) -> str:
    return f"{_head(measure)} {SPREAD}"


def _met(one: VariantSummary, role: Role) -> Span:
    """Return how many runs kept all expectations, with the interval of their share."""
    if not one.runs:
        return Span("")
    return Span(f"{round(one.met.share * one.runs):,}/{one.runs:,} {interval_text(one.met)}", role)


def _measured(one: VariantSummary, measure: str | JobEnd, role: Role) -> tuple[Span, Span]:
    """Return the median of a measure, and its 5th to 95th percentile."""
    spread, text = spread_of(one, measure), text_of(measure)
    if spread.median is None:
        return Span(""), Span("")
    return Span(text(spread.median), role), Span(f"{text(spread.p5)}–{text(spread.p95)}", Role.DIM)


def _median(measure: str | JobEnd, one: VariantSummary) -> float | None:
    return spread_of(one, measure).median


def _width(measure: str | JobEnd, one: VariantSummary) -> float | None:
    spread = spread_of(one, measure)
    return None if spread.p5 is None or spread.p95 is None else spread.p95 - spread.p5
