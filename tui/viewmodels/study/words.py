"""A study in words: how far it is, what it recommends, and what its marks mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.studies.wording import pace_text, recommendation
from tui.viewmodels.text.glyphs import (
    VARIANT_BREAKS,
    VARIANT_KEEPS,
    VARIANT_PARETO,
    VARIANT_PARETO_BREAKS,
    VARIANT_RECOMMENDED,
)
from tui.viewmodels.text.styled import Line, Role, Span, bar, line, wrapped
from tui.workers.background import StudyState

if TYPE_CHECKING:
    from tui.viewmodels.study.model import StudyModel
    from tui.viewmodels.text.glyphs import Glyph, GlyphSet

_BAR_CELLS = 20
_PATIENCE_S = 1.0  # before the time that is left is said
HELP_TEXT = (
    "A study plays a scenario many times: every combination of the values of its factors is a variant, and each "
    "variant is played with the same seeds.\n"
    "What the scenario expects is what a variant has to achieve. The cheapest variant that keeps all expectations in "
    "95 % of its runs is recommended. No other variant is both cheaper and earlier than one with the mark Pareto.\n"
    "Times with + count from the start. A job ends after its last task, once its releases have ended.\n"
    "Enter lists the runs of a variant, one for each seed, and opens one of them. The numbers are those of "
    "`batchdeck study`."
)


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
            pace = f"   {pace_text(played, played + total - done, elapsed_s)}" if played and elapsed_s else ""
            parts = [(done, Role.RUNNING, glyphs.meter), (total - done, Role.DIM, glyphs.meter_rest)]
            return line(" ", *bar(parts, _BAR_CELLS), Span(f" {runs}{pace}"), *errors, *kept)
        case StudyState.STOPPED:
            return line(
                Span(f" Stopped after {runs}.", Role.WARNING), Span(f" {stop_key}", Role.KEY), " continues.", *kept
            )
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
        lines += [line(Span(f" {each}", Role.STRONG)) for each in wrapped(said, cells - 2)]
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
    return tuple(span for glyph, word in known for span in (glyphs.span(glyph), Span(f" {word} ", Role.DIM)))


def short_progress(study: StudyModel) -> str:
    """Return the progress for a key hint: ``study 63%``."""
    return f"study {study.share:.0%}"


def end_note(study: StudyModel, key: str) -> str:
    """Return what is said when a study has ended while something else is shown."""
    name, background = study.scenario.name, study.background
    if background.state is StudyState.DONE:
        best = study.summary.recommended
        said = f"variant {best:,} is recommended" if best is not None else "no variant is recommended"
        return f"The study of {name} is complete, {said}. {key} shows it."
    if background.state is StudyState.FAILED:
        reason = background.reason or "the values of some variants are not valid"
        return f"The study of {name} has failed: {reason}. {key} shows it."
    return f"The study of {name} is stopped. {key} shows it."
