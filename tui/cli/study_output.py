"""The output of ``batchdeck study``: a table with a line for each variant, CSV with a line for each run, a list."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from rich.text import Text

from engine.base.shortening import shortened
from engine.scenario.record import flow_text, values_text
from engine.scenario.study import MEASURES
from engine.studies.labels import heading, short_names, shown_measures, spread_of, text_of
from engine.studies.wording import interval_text, recommendation
from tui.cli.output import parts_text, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rich.console import Console

    from engine.base.terms import Plain
    from engine.scenario.study import JobEnd
    from engine.studies.plan import Study
    from engine.studies.results import Result
    from engine.studies.summary import StudySummary, VariantSummary

_LONGEST_VALUE = 40


def study_text(summary: StudySummary, shown: Sequence[str | JobEnd], target: Console) -> str:
    """Return the table of a study and its recommendation, as ``target`` would show them."""
    columns = shown_measures(shown)
    paths = [path for path, _ in summary.factors]
    heads = [">#", *short_names(paths), ">met", *(f">{heading(one)}" for one in columns), ""]
    words = [_value_words(values) for _, values in summary.factors]
    rows = [_row(one, words, columns, summary.recommended) for one in summary.variants]
    title = f"{shortened(summary.scenario)}: {len(rows):,} variants, {len(summary.seeds):,} seeds"
    made = table("", heads, rows, target)
    text = parts_text([Text(title), *([made] if made else [])], target)
    return f"{text}\n\n{_legend(summary)}\n\n{recommendation(summary)}"  # no width breaks these lines


def _value_words(values: Sequence[Plain]) -> dict[str, str]:
    """Return the cells of the values of a factor by their texts; those that look alike when cut get numbers."""
    texts = [flow_text(value) for value in values]
    cut = [shortened(text, _LONGEST_VALUE) for text in texts]
    if len(set(cut)) < len(cut):
        cut = [f"{number}: {text}" for number, text in enumerate(cut, start=1)]
    return dict(zip(texts, cut, strict=True))


def _row(
    one: VariantSummary, words: Sequence[dict[str, str]], columns: Iterable[str | JobEnd], recommended: int | None
) -> tuple[Text, ...]:
    marks = [word for word, is_on in (("pareto", one.pareto), ("recommended", one.variant == recommended)) if is_on]
    return (
        Text(f"{one.variant:,}"),
        *(Text(known[flow_text(value)]) for known, value in zip(words, one.values.values(), strict=True)),
        _met(one),
        *(Text(_spread_text(one, column)) for column in columns),
        Text("\n".join(marks)),
    )


def _met(one: VariantSummary) -> Text:
    """Return how many runs kept all expectations, the interval of their share, and how many failed."""
    met = Text(f"{round(one.met.share * one.runs):,}/{one.runs:,}\n{interval_text(one.met)}" if one.each else "")
    return met.append(f"\n{one.errors:,} failed", "red") if one.errors else met


def _spread_text(one: VariantSummary, column: str | JobEnd) -> str:
    spread, text = spread_of(one, column), text_of(column)
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


def csv_text(study: Study, results: Iterable[Result]) -> str:
    """Return a line for each run, by variant and seed; what a run does not have is empty."""
    stream = io.StringIO()
    paths = [factor.path for factor in study.factors]
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["variant", "seed", *paths, *MEASURES])
    for result in sorted(results, key=lambda one: (one["variant"], one["seed"])):
        measured = result["summary"] or {}
        values = [_cell(result["values"][path]) for path in paths]
        writer.writerow([result["variant"], result["seed"], *values, *(measured.get(name) for name in MEASURES)])
    return stream.getvalue()


def _cell(value: Plain) -> object:
    """Return a number or a text as it is, anything else as JSON."""
    is_plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return value if is_plain else json.dumps(value)
