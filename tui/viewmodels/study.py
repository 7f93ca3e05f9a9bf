"""A study that is shown: what is studied, its results so far, and how its table was left.

The request holds factors, seeds and a file of results as they were typed. Values have short names: a formula or a body
is too long for a cell. Sentences say how far the study is, what it recommends, and what its marks mean.
The axes of its plot are here, too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import chain, count
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engine import load_scenario
from engine.base.errors import Problem, ScenarioError
from engine.base.values import shortened
from engine.scenario.locations import locate, tree_at
from engine.scenario.record import flow_text, values_text
from engine.scenario.tree import parse_valid
from engine.studies.outcome import DAY_S, TIME_STEPS_S, Tally, pace_text, recommendation, short_names
from engine.studies.runs import Run, StudyState, Variants, installed_version, planned
from tui.viewmodels.format import counted
from tui.viewmodels.glyphs import (
    VARIANT_BREAKS,
    VARIANT_FAILED,
    VARIANT_KEEPS,
    VARIANT_PARETO,
    VARIANT_PARETO_BREAKS,
    VARIANT_PENDING,
    VARIANT_RECOMMENDED,
    Glyph,
)
from tui.viewmodels.text import Line, Role, Span, bar, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.base.terms import Plain
    from engine.scenario.locations import Factor
    from engine.scenario.model import ChosenVariant, Scenario
    from engine.scenario.tree import Tree
    from engine.studies.outcome import StudySummary, VariantSummary
    from engine.studies.runs import Result, Study
    from tui.viewmodels.glyphs import GlyphSet
    from tui.workers.background import BackgroundStudy


_LONGEST = 24  # characters of a value that is shown as it is
_AS_IS, _LEFT_OUT = "as is", "left out"
_NOUNS = {"autoScaleFormula": "formula", "commandLine": "command"}
_ANY = "value"
_SHORT_HEADS = {
    "targetDedicatedNodes": "dedicated",
    "targetLowPriorityNodes": "Spot",
    "autoScaleFormula": "formula",
    "autoScaleEvaluationInterval": "interval",
    "taskSlotsPerNode": "slots",
    "maxTaskRetryCount": "retries",
    "maxWallClockTime": "time limit",
    "commandLine": "command",
}


class ValueNames:
    """The names of all values of a study, by factor."""

    def __init__(self, study: Study) -> None:
        """Read the document of the scenario, for the values that are as they are there."""
        root = parse_valid(study.source.text)
        self.heads = short_names([factor.path for factor in study.factors])
        self._paths = [factor.path for factor in study.factors]
        self._names = [_names_of(factor, root) for factor in study.factors]
        self._places = [{text: at for at, text in enumerate(names)} for names in self._names]

    def of(self, values: dict[str, Plain]) -> list[str]:
        """Return the names of the values of a variant, in the order of the factors."""
        return [names[flow_text(values[path])] for path, names in zip(self._paths, self._names, strict=True)]

    def place(self, at: int, values: dict[str, Plain]) -> int:
        """Return the number of a variant's value among those of a factor, in the order in which they were written."""
        return self._places[at][flow_text(values[self._paths[at]])]

    def line_of(self, variant: VariantSummary) -> str:
        """Return the values of a variant in a line, each with the short name of its factor."""
        return " ".join(f"{head}={name}" for head, name in zip(self.heads, self.of(variant.values), strict=True))


def factor_lines(factors: Iterable[Factor]) -> list[str]:
    """Return a line for each factor, with its values: ``pools.render.vmSize  a, b``."""
    named = {one.path: (shortened(flow_text(each.written.plain), 40) for each in one.values) for one in factors}
    return [f"{path}  {', '.join(values)}" for path, values in named.items()]


def short_head(head: str) -> str:
    """Return a head for a narrow column: ``dedicated`` for ``targetDedicatedNodes``; empty if there is none."""
    owner, dot, name = head.rpartition(".")
    return f"{owner}{dot}{_SHORT_HEADS[name]}" if name in _SHORT_HEADS else ""


def _names_of(factor: Factor, root: Tree) -> dict[str, str]:
    """Return the names of the values of a factor, by their texts."""
    own = tree_at(root, locate(root, factor.steps).at)
    noun = _NOUNS.get(factor.steps[-1], _ANY)
    found: dict[str, str] = {}
    for number, one in enumerate(factor.values, start=1):
        written = one.written.plain
        text = flow_text(written)
        kind = "formula" if isinstance(written, dict) and "autoScaleFormula" in written else noun
        if written is None:
            found[text] = _LEFT_OUT
        elif isinstance(written, str) and len(written) <= _LONGEST and written.isprintable():
            found[text] = written
        elif len(text) <= _LONGEST:
            found[text] = text
        elif kind == _ANY and own is not None and own.plain == one.value.plain:
            found[text] = _AS_IS
        else:
            found[text] = f"{kind} {number}"
    return found


CONFIDENCE = 0.95
RUN_LIMIT = 100_000
"""More runs than these are for the command line."""
SEEDS, RESULTS = "seeds", "results"


@dataclass(frozen=True, slots=True)
class StudyRequest:
    """The factors, each ``PATH=VALUES``, seeds such as ``20`` or ``1..20``, and a file; as the command takes them."""

    vary: tuple[str, ...] = ()
    seeds: str = ""
    results: str = ""

    @property
    def path(self) -> Path | None:
        """The file that collects the results."""
        return Path(self.results).expanduser() if self.results else None


def first_request(scenario: Scenario) -> StudyRequest:
    """Return the factors of a variant's study that the file does not have."""
    return StudyRequest(() if scenario.variant is None else scenario.variant.options)


def plan(scenario: Scenario, request: StudyRequest) -> Study:
    """Return the study that is wanted.

    Raises:
        ScenarioError: What was typed has mistakes. The path of each problem is the option that has it.
    """
    study = planned(scenario, request.vary, seeds=request.seeds or None, version=installed_version())
    runs = study.variants * len(study.seeds)
    if runs > RUN_LIMIT:
        said = f"{study.variants:,} variants make {runs:,} runs; here at most {RUN_LIMIT:,} are played"
        raise ScenarioError([Problem(f"{said}: `batchdeck study --yes` plays so many", "")])
    return study


def field_of(problem: Problem, request: StudyRequest) -> str | int | None:
    """Return the field of a form that has a problem: the index of a factor, or ``SEEDS``; None for any other."""
    if problem.path.startswith("--seeds "):
        return SEEDS
    options = (at for at, option in enumerate(request.vary) if problem.path == f"--vary {shortened(option)}")
    return next(options, None)


def size_text(study: Study) -> str:
    """Return how large a study is: ``10 variants, 20 seeds: 200 runs``."""
    variants, seeds = study.variants, len(study.seeds)
    return f"{counted(variants, 'variant')}, {counted(seeds, 'seed')}: {counted(variants * seeds, 'run')}"


_IDLE_SHARE = 9  # the summary is computed again after nine times as long as that took
_WORTH_S = 10.0  # results that took longer to play are not thrown away without a question


def without_variant(scenario: Scenario) -> Scenario:
    """Return the scenario of the file, if this is a variant of it."""
    source = scenario.source
    return scenario if scenario.variant is None else load_scenario(source.path, text=source.text, prices=source.prices)


class StudyModel:
    """A study that is played in the background, with the summary of its results so far."""

    def __init__(self, scenario: Scenario, background: BackgroundStudy) -> None:
        """Create the model of a study of this scenario, which is not a variant of another one."""
        study = background.study
        self.scenario = scenario
        self.study = study
        self.background = background
        self.names = ValueNames(study)
        self.tally = Tally(study, scenario.name, confidence=CONFIDENCE, currency=scenario.currency)
        self.cursor: int | None = None  # the variant under the cursor when the table was left
        self.arrangement: dict[str, object] = {}  # of the table
        self._next_s = 0.0
        self._variants: Variants | None = None

    def update(self) -> bool:
        """Take new results; return True if the summary is another one. It waits if computing it takes long."""
        background = self.background
        is_under_way = background.is_under_way  # before the results are taken, so that the last ones are not missed
        self.tally.add(background.take())
        began_s = time.monotonic()
        if is_under_way and began_s < self._next_s:
            return False
        before = self.tally.summary
        self.tally.update()
        ended_s = time.monotonic()
        self._next_s = ended_s + _IDLE_SHARE * (ended_s - began_s)
        return self.tally.summary is not before

    @property
    def summary(self) -> StudySummary:
        """The summary of the results so far."""
        return self.tally.summary

    @property
    def is_complete(self) -> bool:
        """True once every run has a result that the summary has taken in."""
        return self.background.state is StudyState.DONE and self.tally.count == self.background.done

    @property
    def share(self) -> float:
        """The share of the runs that have results."""
        return self.tally.count / self.background.total

    @property
    def would_be_lost(self) -> bool:
        """True if runs that took a while would be lost, since no file collects them."""
        background = self.background
        return background.results is None and background.done > 0 and background.pace[1] > _WORTH_S

    def glyph(self, one: VariantSummary) -> Glyph:
        """Return the mark of a variant."""
        summary = self.tally.summary
        if not one.runs:
            return VARIANT_PENDING
        if one.errors == one.runs:
            return VARIANT_FAILED
        if one.variant in summary.all_recommended and self.is_complete:
            return VARIANT_RECOMMENDED
        keeps = not summary.has_expectations or one.met.share >= summary.confidence
        if one.pareto:
            return VARIANT_PARETO if keeps else VARIANT_PARETO_BREAKS
        return VARIANT_KEEPS if keeps else VARIANT_BREAKS

    def played(self, run: Run) -> Scenario:
        """Return the scenario of a run, which says which variant it is. Raises ScenarioError."""
        if self._variants is None:
            self._variants = Variants(self.study)
        return self._variants.chosen(run.variant, self.scenario)

    def results_by_end(self, variant: int) -> list[Result]:
        """Return the results of a variant, the earliest end first, those without one last."""
        return sorted(self.tally.results_of(variant), key=_by_end)


def _by_end(result: Result) -> tuple[bool, float, int]:
    end_s = None if result["summary"] is None else result["summary"]["makespanSeconds"]
    return end_s is None, end_s or 0.0, result["seed"]


_BAR_CELLS, SPREAD = 20, "p5–p95"


def progress_line(study: StudyModel, glyphs: GlyphSet, stop_key: str) -> Line:
    """Return how far a study is, how fast, and when it will be done."""
    background = study.background
    total, done = background.total, study.tally.count
    runs = f"{done:,} of {total:,} runs"
    failed = study.summary.errors
    errors = [Span(f"   {failed:,} failed", Role.FAILED)] if failed else []
    kept = [Span(f"   in {background.results}", Role.DIM)] if background.results is not None else []
    match background.state:
        case StudyState.CHECKING:
            said = f" {runs}   reading {study.study.variants:,} variants, starting workers"
            return line(Span(said, Role.PREPARING), *kept)
        case StudyState.PLAYING:
            played, elapsed_s = background.pace
            pace = f"the first ones have been playing for {elapsed_s:.0f} s"
            if played and elapsed_s:
                pace = pace_text(played, played + total - done, elapsed_s)
            parts = [(done, Role.RUNNING, glyphs.meter), (total - done, Role.DIM, glyphs.meter_rest)]
            return line(" ", *bar(parts, _BAR_CELLS), Span(f" {runs}   {pace}"), *errors, *kept)
        case StudyState.STOPPED:
            stopped = Span(f" Stopped after {runs}.", Role.WARNING)
            return line(stopped, Span(f" {stop_key}", Role.KEY), " continues.", *kept)
        case StudyState.FAILED:
            return line(Span(f" {glyphs.bad} Failed after {runs}.", Role.FAILED), *errors)
    return line(Span(f" {glyphs.good} {runs}", Role.OK), *errors, *kept)


def said_lines(study: StudyModel, cursor: int | None, glyphs: GlyphSet, cells: int, most: int) -> list[Line]:
    """Return at the end the recommendation, and the values of the variant under the cursor.

    The recommendation is whole; the values have the rest of ``most`` lines.
    """
    lines: list[Line] = []
    if study.background.state is StudyState.FAILED:
        said = glyphs.text(study.background.reason or "The values of some variants are not valid.")
        lines += [line(Span(f" {each}", Role.FAILED)) for each in wrapped(said, cells - 2)]
    if study.is_complete:
        said = glyphs.text(recommendation(study.summary, study.names.line_of))
        lines += [line(Span(f" {each}", Role.STRONG)) for one in said.splitlines() for each in wrapped(one, cells - 2)]
    if cursor is not None and not (lines and cursor in (study.summary.recommended, study.summary.nearest)):
        one = study.tally.variant(cursor)
        named = study.names.line_of(one)
        text = glyphs.text(f"Variant {cursor:,}{': ' if named else ''}{named}")
        room = max(1 - len(lines), most - len(lines), 0)
        lines += [line(Span(f" {each}", Role.DIM)) for each in wrapped(text, cells - 2)][:room]
    return lines


def legend_line(study: StudyModel, glyphs: GlyphSet) -> Line:
    """Return what the marks in the plot mean, those that are there."""
    marks: list[tuple[Glyph, str]] = [(VARIANT_PARETO, "Pareto"), (VARIANT_KEEPS, "other")]
    if study.scenario.expect:
        marks = [
            (VARIANT_RECOMMENDED, "best"),
            (VARIANT_PARETO, "Pareto, keeps"),
            (VARIANT_PARETO_BREAKS, "Pareto, breaks"),
            (VARIANT_KEEPS, "keeps"),
            (VARIANT_BREAKS, "breaks"),
        ]
    there = {study.glyph(one) for one in study.summary.variants}
    known = [(glyph, word) for glyph, word in marks if glyph in there]
    spread = (Span(f"{glyphs.wide}{glyphs.high} {SPREAD}", Role.DIM),) if known else ()
    return (*(span for glyph, word in known for span in (glyphs.span(glyph), Span(f" {word}  ", Role.DIM))), *spread)


def reloaded_note(before: ChosenVariant | None, now: ChosenVariant | None) -> str:
    """Return the message after the file of a scenario was read again, with the variant that is shown."""
    if before is None:
        return "Reloaded."
    if now is None:
        return "Reloaded. The scenario has no variants any more."
    if now.values != before.values:
        return f"Reloaded. Variant {now.number:,} has other values now: {values_text(now.values)}"
    was = "" if now.number == before.number else f", which was variant {before.number:,}"
    return f"Reloaded variant {now.number:,}{was}."


def end_note(study: StudyModel, key: str) -> str:
    """Return the message when a study has ended while something else is shown."""
    name, background = study.scenario.name, study.background
    if background.state is StudyState.DONE:
        best = " and ".join(f"variant {one:,}" for one in study.summary.all_recommended) or "no variant"
        said = f"{best} {'are' if ' and ' in best else 'is'} recommended"
        return f"The study of {name} is complete, {said}. {key} shows it."
    if background.state is StudyState.FAILED:
        reason = background.reason or "the values of some variants are not valid"
        return f"The study of {name} has failed: {reason}. {key} shows it."
    return f"The study of {name} is stopped. {key} shows it."


_ROWS_FOR_MARK = 4  # between two marks of an axis


class Scale(NamedTuple):
    """A range of values on a number of cells. A deadline in it has a cell of its own, with others on both sides."""

    low: float
    high: float
    cells: int
    due: float | None = None

    def cell(self, value: float) -> int:
        """Return the cell of a value; that after the last one if it is beyond the range."""
        share = (value - self.low) / (self.high - self.low)
        at = max(0, min(self.cells - (value <= self.high), round(share * (self.cells - 1))))
        if self.due is None:
            return at
        if value == self.due:
            return max(1, min(self.cells - 2, at))
        due = self.cell(self.due)
        return max(due + 1, at) if value > self.due else min(due - 1, at)


def scale_of_ends(low_s: float, high_s: float, rows: int, due_s: float | None) -> tuple[Scale, list[int]]:
    """Return the rows of ends, between the first and the last of the round times that mark the axis."""
    least = min(_ROWS_FOR_MARK, rows - 1)
    for step_s in chain(TIME_STEPS_S, count(DAY_S, DAY_S)):
        first, last = floor(low_s / step_s), max(floor(low_s / step_s) + 1, ceil(high_s / step_s))
        if (last - first) * least < rows:
            break
    marks = [at * step_s for at in range(first, last + 1)]
    return Scale(marks[0], marks[-1], rows, due_s), marks
