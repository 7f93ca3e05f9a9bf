"""The output of ``batchdeck compare``: a table, what it lacks, and the report card of a prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from engine.base.shortening import shortened
from engine.comparison.rows import largest
from engine.comparison.wording import agreement, change_text, label, notable, percent_text, report_card, value_text
from tui.cli.output import parts_text, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.table import Table

    from engine.comparison.rows import Row
    from engine.comparison.sides import Side

_MOST_JOBS = 40  # in the table
_LONGEST_NAME = 60


def comparison_text(a: Side, b: Side, rows: Sequence[Row], target: Console) -> str:
    """Return the table and all sentences, as ``target`` would show them."""
    heads = [Text(line) for line in _heads(a, b)]
    marked = {row.what for row in notable(rows)}
    shown = list(_shown(rows))
    made = table(
        "", ["", "", ">A", ">B", ">B - A", ">percent"], [_row(row, row.what in marked) for row in shown], target
    )
    parts: list[Text | Table] = [Text("\n").join(heads), *([made] if made else [])]
    sentences = list(_sentences(a, b, rows, left_out=len(rows) - len(shown), has_marks=bool(marked)))
    return "\n\n".join(
        filter(None, (parts_text(parts, target), "\n".join(sentences), "\n".join(report_card(a, b, rows))))
    )


def _heads(a: Side, b: Side) -> Iterator[str]:
    is_prediction = a.is_observed != b.is_observed
    for letter, side in (("A", a), ("B", b)):
        role = ""
        if is_prediction:
            role = ", observed" if side.is_observed else ", predicted"
        yield f"{letter}: {shortened(side.given, _LONGEST_NAME)}, {side.about}{role}"


def _shown(rows: Sequence[Row]) -> Iterator[Row]:
    """Yield all measures, and of the jobs those that differ most, in their order."""
    jobs = [row for row in rows if row.job_id is not None]
    differing = {row.what for row in largest(jobs, _MOST_JOBS)}
    chosen = differing | {row.what for row in jobs[: _MOST_JOBS - len(differing)]}
    return (row for row in rows if row.job_id is None or row.what in chosen)


def _row(row: Row, is_marked: bool) -> tuple[Text, ...]:
    style = "bold" if is_marked else "" if row.difference else "dim"
    change = "" if row.difference is None else change_text(row, row.difference)
    return (
        Text("*" if is_marked else "", style),
        Text(label(row), "bold" if is_marked else ""),
        Text(value_text(row, row.a)),
        Text(value_text(row, row.b)),
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
    if left_out:
        yield f"{left_out:,} more jobs differ less: --output json has all."
    for letter, side in (("A", a), ("B", b)):
        yield from (f"{letter}: {note}" for note in side.notes)
    if a.is_observed != b.is_observed:
        yield "Times of a run count from its start, those of a history from the creation of its first job."
