"""The output of ``batchdeck study`` and ``batchdeck compare``.

A study has a table with a line for each variant, CSV with a line for each run, and a list of its runs. A comparison
has a table, the differences that the table leaves out, and the report card of a prediction.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from rich.text import Text

from engine.base.values import USD, shortened, visible
from engine.scenario.model import MEASURES
from engine.scenario.record import flow_text, values_text
from engine.studies.measures import AMOUNT, largest
from engine.studies.outcome import (
    agreement,
    amount_of,
    change_text,
    heading,
    interval_text,
    label,
    notable,
    percent_text,
    recommendation,
    report_card,
    short_names,
    shown_measures,
    spread_of,
    text_of,
    value_text,
)
from tui.cli.output import parts_text, plain_text, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console
    from rich.table import Table

    from engine.base.terms import Plain
    from engine.scenario.model import JobEnd
    from engine.studies.measures import Row
    from engine.studies.outcome import StudySummary, VariantSummary
    from engine.studies.runs import Result, Study
    from engine.studies.sides import Side


_LONGEST_VALUE = 40


def study_text(summary: StudySummary, shown: Sequence[str | JobEnd], target: Console) -> str:
    """Return the table of a study and its recommendation, as ``target`` would show them."""
    columns = shown_measures(shown)
    paths = [path for path, _ in summary.factors]
    heads = [">#", *short_names(paths), ">met", *(f">{heading(one)}" for one in columns), ""]
    words = [_value_words(values) for _, values in summary.factors]
    rows = [_variant_row(one, words, columns, summary.recommended) for one in summary.variants]
    title = f"{shortened(summary.scenario)}: {len(rows):,} variants, {len(summary.seeds):,} seeds"
    made = table("", heads, rows, target)
    text = parts_text([plain_text(title), *([made] if made else [])], target)
    return f"{text}\n\n{_legend(summary)}\n\n{visible(recommendation(summary))}"  # no width breaks these lines


def _value_words(values: Sequence[Plain]) -> dict[str, str]:
    """Return the cells of the values of a factor by their texts; those that look alike when cut get numbers."""
    texts = [flow_text(value) for value in values]
    cut = [shortened(text, _LONGEST_VALUE) for text in texts]
    if len(set(cut)) < len(cut):
        cut = [f"{number}: {text}" for number, text in enumerate(cut, start=1)]
    return dict(zip(texts, cut, strict=True))


def _variant_row(
    one: VariantSummary, words: Sequence[dict[str, str]], columns: Iterable[str | JobEnd], recommended: int | None
) -> Sequence[Text | str]:
    marks = [word for word, is_on in (("pareto", one.pareto), ("recommended", one.variant == recommended)) if is_on]
    return (
        f"{one.variant:,}",
        *(known[flow_text(value)] for known, value in zip(words, one.values.values(), strict=True)),
        _met(one),
        *(_spread_text(one, column) for column in columns),
        "\n".join(marks),
    )


def _met(one: VariantSummary) -> Text:
    """Return how many runs kept all expectations, the interval of their share, and how many failed."""
    met = Text(f"{round(one.met.share * one.runs):,}/{one.runs:,}\n{interval_text(one.met)}" if one.each else "")
    return met.append(f"\n{one.errors:,} failed", "red") if one.errors else met


def _spread_text(one: VariantSummary, column: str | JobEnd) -> str:
    spread, text = spread_of(one, column), text_of(column, one.currency)
    return f"{text(spread.median)}\n{text(spread.p5)}–{text(spread.p95)}" if spread.median is not None else ""


def _legend(summary: StudySummary) -> str:
    lines = [
        "Medians over the seeds, below them 5th to 95th percentile.",
        "Times with + count from the start. A job ends after its last task, once its releases have ended.",
    ]
    if summary.has_expectations:
        lines.append("met: runs that kept all expectations, below them the 95 % interval of their share.")
    if len(summary.variants) > 1:
        lines.append("pareto: no other variant is both cheaper and earlier.")
    return "\n".join(lines)


def list_lines(study: Study) -> Iterator[str]:
    """Yield a line for each variant: its number and its values."""
    width = len(str(study.variants))
    for variant in range(1, study.variants + 1):
        yield f"{variant:<{width}}  {values_text(study.values(variant))}".rstrip()


def csv_text(study: Study, results: Iterable[Result], currency: str = USD) -> str:
    """Return a line for each run, by variant and seed; what a run does not have is empty.

    The cost in another ``currency`` than US dollars has a column of its own, the last one.
    """
    stream = io.StringIO()
    paths = [factor.path for factor in study.factors]
    writer = csv.writer(stream, lineterminator="\n")
    costs = [] if currency == USD else [f"cost{currency}"]
    writer.writerow(["variant", "seed", *paths, *MEASURES, *costs])
    for result in sorted(results, key=lambda one: (one["variant"], one["seed"])):
        measured = result["summary"] or {}
        values = [_cell(result["values"][path]) for path in paths]
        values += [measured.get(name) for name in MEASURES]
        values += [amount_of(measured, currency) for _ in costs] if measured else []
        writer.writerow([result["variant"], result["seed"], *values])
    return stream.getvalue()


def _cell(value: Plain) -> object:
    """Return a number or a text as it is, anything else as JSON."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return value if is_plain else json.dumps(value)


_MOST_JOBS = 40  # in the table
_LONGEST_NAME = 60


def comparison_text(a: Side, b: Side, rows: Sequence[Row], target: Console) -> str:
    """Return the table and all sentences, as ``target`` would show them."""
    heads = plain_text("\n".join(_heads(a, b)))
    if any(row.what == AMOUNT for row in rows):
        rows = [row for row in rows if row.what != "costUsd"]  # which neither side has
    marked = {row.what for row in notable(rows)}
    shown = list(_shown(rows))
    columns = ["", "", ">A", ">B", ">B - A", ">percent"]
    made = table("", columns, [_compared_row(row, row.what in marked) for row in shown], target)
    parts: list[Text | Table] = [heads, *([made] if made else [])]
    sentences = list(_sentences(a, b, rows, left_out=len(rows) - len(shown), has_marks=bool(marked)))
    texts = parts_text(parts, target), *(visible("\n".join(each)) for each in (sentences, report_card(a, b, rows)))
    return "\n\n".join(filter(None, texts))


def _heads(a: Side, b: Side) -> Iterator[str]:
    is_prediction = a.is_observed != b.is_observed
    for letter, side in (("A", a), ("B", b)):
        role = "" if not is_prediction else ", observed" if side.is_observed else ", predicted"
        yield f"{letter}: {shortened(side.given, _LONGEST_NAME)}, {side.about}{role}"


def _shown(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield all measures, and of the jobs those that differ most, in their order."""
    jobs = [row for row in rows if row.job_id is not None]
    differing = {row.what for row in largest(jobs, _MOST_JOBS)}
    chosen = differing | {row.what for row in jobs[: _MOST_JOBS - len(differing)]}
    return (row for row in rows if row.job_id is None or row.what in chosen)


def _compared_row(row: Row, is_marked: bool) -> Sequence[Text | str]:
    style = "bold" if is_marked else "" if row.difference else "dim"
    change = "" if row.difference is None else change_text(row, row.difference)
    return (
        Text("*" if is_marked else "", style),
        Text(label(row), "bold" if is_marked else ""),
        value_text(row, row.a),
        value_text(row, row.b),
        Text(change, style),
        Text(percent_text(row.percent), style),
    )


def _sentences(a: Side, b: Side, rows: Sequence[Row], *, left_out: int, has_marks: bool) -> Iterator[str]:
    if has_marks:
        yield "* the largest differences, as a share of the larger value. percent: of A."
    if said := agreement(rows):
        yield said
    if all(row.difference is None for row in rows):
        yield "The sides have no figure in common."
    if a.figures.currency != b.figures.currency:
        yield f"Costs are in {a.figures.currency} and in {b.figures.currency}: they are not compared."
    if left_out:
        yield f"{left_out:,} more jobs differ less: --output json has all."
    for letter, side in (("A", a), ("B", b)):
        yield from (f"{letter}: {note}" for note in side.notes)
    if a.is_observed != b.is_observed:
        yield "Times of a run count from its start, those of a history from the creation of its first job."
