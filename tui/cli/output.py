"""The output of ``batchdeck run`` and ``batchdeck compare``.

A run has tables, or its state as JSON. A comparison has a table, the differences that the table leaves out, and the
report card of a prediction.
"""

from __future__ import annotations

import json
from itertools import compress, islice
from operator import lt
from typing import TYPE_CHECKING, BinaryIO, Literal

from rich import box
from rich.table import Table
from rich.text import Text

from engine.base.values import SECOND_MS, format_clock, format_utc, shortened, visible, visible_json
from engine.studies.measures import AMOUNT, largest
from engine.studies.outcome import agreement, change_text, label, notable, percent_text, report_card, value_text
from engine.views import results
from engine.views.diagnosis.concerns import CALM, Attention
from tui.saving.console import visible_text
from tui.saving.targets import while_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from rich.console import Console

    from engine import Simulation
    from engine.run.conditions import Outcome, RefusedCommand
    from engine.studies import measures
    from engine.studies.sides import Side
    from engine.views.diagnosis.concerns import AttentionItem
    from engine.views.diagnosis.questions import OpenJob
    from engine.views.diagnosis.waste import Restart
    from engine.views.resources.account import JobScheduleRow
    from engine.views.results import InstanceTotals, JobResult, PoolResult, Summary

    Row = Sequence[Text | str]

_COUNTS = (">tasks", ">ok", ">failed", ">left", ">prep", ">release")  # of a job
_COLUMN_GAP = 2
_PIECES_TOGETHER = 10  # encoding pieces one by one takes longer than making them
_MOST_OPEN_JOBS, _MOST_CONCERNS = 10, 20
MOST_AGAIN = 5  # tasks that began again, those that did most often
_STYLES = {"error": "bold red", "warning": "yellow", "info": ""}
_LEAST_CELLS = 8  # of a column whose words are shortened


def write_state(simulation: Simulation, stream: BinaryIO) -> None:
    """Write the whole state as JSON. Raises OSError."""
    pieces = results.json_text(simulation, [item._asdict() for item in Attention(simulation).items()])
    texts = iter(lambda: visible_json("".join(islice(pieces, _PIECES_TOGETHER))), "")
    stream.writelines(while_read(stream, map(str.encode, texts)))
    stream.write(b"\n")
    stream.flush()


def summary_text(
    summary: Summary,
    target: Console,
    open_jobs: Iterable[OpenJob] = (),
    attention: Sequence[AttentionItem] = (),
    again: Iterable[tuple[str, str, Sequence[Restart]]] = (),
) -> str:
    """Return the tables of a run that is over, as ``target`` would show them.

    They are of jobs, schedules, pools, jobs that have not ended, tasks that began ``again``, refusals, expectations and
    what needs attention.
    """
    tables: list[tuple[str, Sequence[str], Iterable[Row]]] = [
        ("Jobs", ("job", "state", "?ended", *_COUNTS), map(_job, summary.jobs)),
        ("Bytes of files", ("job", ">downloaded", ">uploaded"), _transferred(summary.jobs)),
        (
            "Job schedules",
            ("job schedule", "state", ">jobs", ">missed", "recent job", "next run"),
            (_job_schedule(row, summary.start) for row in summary.job_schedules),
        ),
        (
            "Pools",
            ("pool", "size", "state", ">nodes", ">hours", f">{summary.currency}", "resize errors"),
            map(_pool, summary.pools),
        ),
        (
            "Jobs that have not ended",
            ("job", "waits for", "what can change that"),
            _some(((job.job_id, Text(job.waits_for), Text(job.following)) for job in open_jobs), _MOST_OPEN_JOBS),
        ),
        (
            "Tasks that began again",
            ("job", "task", "how often, why and at what cost"),
            _some(_again(again), MOST_AGAIN),
        ),
        ("Refused commands", ("at", "command", "of", "code", "announced"), map(_refusal, summary.refused)),
        ("Expectations", ("met", "expected", "seen"), map(_expectation, summary.expectations)),
    ]
    concerns = attention_table("Needs attention", attention, target) if attention else plain_text(CALM)
    parts = (_run(summary), *(table(title, columns, rows, target) for title, columns, rows in tables), concerns)
    return parts_text(parts, target)


def attention_table(title: str, items: Iterable[AttentionItem], target: Console) -> Table | None:
    """Return the table of what needs attention at the end of a run; None without anything."""
    return table(title, ("severity", "since", "what"), _some(map(_item, items), _MOST_CONCERNS), target)


def parts_text(parts: Iterable[Text | Table | None], target: Console) -> str:
    """Return texts and tables with a blank line between them, as ``target`` would show them."""
    usual = target.width
    with target.capture() as capture:
        for part in filter(None, parts):
            target.width = max(usual, _width(part)) if isinstance(part, Table) else usual
            target.print(part)
            target.print()
    target.width = usual
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())


def flow(value: object) -> str:
    """Return a value as a line of YAML: ``{jobId: risk, tasks: {completed: 8}}``; long texts in it are shortened."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{shortened(str(key))}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return shortened(value if isinstance(value, str) else json.dumps(value))


def plain_text(text: str) -> Text:
    """Return a text without styles. Rich itself would leave out some control characters instead of showing them."""
    return Text(visible(text))


def _run(summary: Summary) -> Text:
    start, end_ms = summary.start, summary.end_ms
    down, up = summary.transferred
    transferred = f"\n{down:,} bytes downloaded, {up:,} bytes uploaded" if down or up else ""
    return plain_text(
        f"{shortened(summary.scenario)}, seed {shortened(str(summary.seed))}\n"
        f"{format_utc(start, 0)} to {format_utc(start, end_ms)} ({format_clock(end_ms)}): {summary.why_over}\n"
        f"{summary.events:,} events, {_amount(summary.cost)} {summary.currency}{transferred}"
    )


def table(title: str, columns: Sequence[str], rows: Iterable[Row], target: Console) -> Table | None:
    """Return a table, None without rows. A column whose name begins with ``>`` is right-aligned.

    One whose name begins with ``?`` is left out where no terminal of this width has room for it.

    Cells are styled texts, or plain ones, which are shortened: an id or another value may be long.

    No word is broken: where a table is wider than a terminal, its longest words are shortened in the middle. For
    another program it may be twice as wide as usual first.
    """
    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    made.show_edge = made.pad_edge = False
    listed = [list(map(_cell, row)) for row in rows]
    columns = [visible(name) for name in columns]
    texts = [[name.lstrip(">?"), *(row[at].plain for row in listed)] for at, name in enumerate(columns)]
    words = [max((len(word) for text in column for word in text.split()), default=1) for column in texts]
    lines = [max(len(line) for text in column for line in text.split("\n")) for column in texts]
    room = target.width - (len(columns) - 1) * _COLUMN_GAP
    needed = [not name.startswith("?") for name in columns]
    if sum(words) > room and not all(needed):
        return table(title, list(compress(columns, needed)), [list(compress(row, needed)) for row in listed], target)
    most = room if target.is_terminal else room + target.width
    while sum(words) > most and max(words) > _LEAST_CELLS:
        words[words.index(max(words))] -= 1
    for name, cells in zip(columns, _widths(words, lines, room), strict=True):
        justify: Literal["right", "left"] = "right" if name.startswith(">") else "left"
        made.add_column(name.lstrip(">?"), justify=justify, overflow="fold", width=cells)
    for row in listed:
        made.add_row(*(_with_words_of(text, longest) for text, longest in zip(row, words, strict=True)))
    return made if listed else None


def _cell(cell: Text | str) -> Text:
    return plain_text(shortened(cell)) if isinstance(cell, str) else visible_text(cell)


def _widths(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """Return the widths of columns: their longest words, and up to their longest lines as far as there is room."""
    widths = list(least)
    while sum(widths) < room and any(map(lt, widths, most)):
        growing = [at for at, width in enumerate(widths) if width < most[at]]
        widths[min(growing, key=widths.__getitem__)] += 1
    return widths


def _width(table: Table) -> int:
    return sum(column.width or 0 for column in table.columns) + (len(table.columns) - 1) * _COLUMN_GAP


def _with_words_of(text: Text, cells: int) -> Text:
    """Return the text with its longer words shortened in the middle, where they differ least."""
    for word in dict.fromkeys(text.plain.split()):
        if len(word) > cells:
            end = cells // 2
            shorter = f"{word[: cells - end - 1]}…{word[len(word) - end :]}"
            at = text.plain.index(word)
            text = Text.assemble(text[:at], shorter, text[at + len(word) :])
    return text


def _job(row: JobResult) -> Row:
    state = Text(row.state)
    if row.reason:
        state.append(f"\n{visible(shortened(row.reason))}", "dim")
    return (
        row.job_id,
        state,
        "" if row.end_ms is None else format_clock(row.end_ms),
        f"{row.tasks.total:,}",
        f"{row.tasks.succeeded:,}",
        Text(f"{row.tasks.failed:,}", "red" if row.tasks.failed else ""),
        f"{row.tasks.active:,}",
        _instances(row.preparations, row.preparations.stopped),
        _instances(row.releases, 0),
    )


def _some(rows: Iterable[Row], most: int) -> Iterator[Row]:
    """Yield the first rows; more would bury what they say."""
    shown = list(islice(rows, most + 1))
    yield from shown[:most]
    if len(shown) > most:
        yield "...", *[""] * (len(shown[0]) - 1)


def _again(found: Iterable[tuple[str, str, Sequence[Restart]]]) -> Iterator[Row]:
    for job_id, task_id, restarts in found:
        yield job_id, task_id, Text("\n".join(each.words for each in restarts))


def _item(item: AttentionItem) -> Row:
    """Return the row of a concern: what is wrong, then its effect, what helps and the rules."""
    text = Text(item.text)
    for begin, more in (("", item.effect), ("what helps: ", item.remedy), ("rules: ", ", ".join(item.rules))):
        text.append(f"\n{begin}{more}" if more else "", "dim")
    since = format_clock(round(item.since * SECOND_MS))
    return Text(item.severity, _STYLES[item.severity]), since, text


def _transferred(jobs: Iterable[JobResult]) -> Iterator[Row]:
    """Yield a row for each job that has downloaded or uploaded anything."""
    for job in jobs:
        if any(job.transferred):
            yield Text(job.job_id), *(f"{size:,}" for size in job.transferred)


def _job_schedule(row: JobScheduleRow, start: datetime) -> Row:
    next_run = "" if row.next_run_ms is None else format_utc(start, row.next_run_ms)
    missed = Text(f"{row.missed:,}", "yellow" if row.missed else "")
    return row.schedule_id, row.state_word, f"{row.record.jobs_made:,}", missed, row.recent_job, next_run


def _pool(row: PoolResult) -> Row:
    errors = Text("\n".join(row.resize_errors), "red")
    plain = (row.pool_id, row.vm_size, row.state, f"{row.nodes:,}", f"{row.node_hours:,.2f}", _amount(row.cost))
    return (*plain, errors)


def _refusal(row: RefusedCommand) -> Row:
    announced = Text("yes", "green") if row.announced else Text("no", "bold red")
    return format_clock(row.when_ms), row.command.NAME, row.subject, row.seen, announced


def _expectation(row: Outcome) -> Row:
    met = Text("yes", "green") if row.met else Text("NO", "bold red")
    met = met if row.is_reached else Text("not reached", "yellow")
    return met, plain_text(flow(row.written)), plain_text(flow(row.asked_for))


def _instances(nodes: InstanceTotals, stopped: int) -> Text:
    """Return on how many nodes one has run, has failed by itself and has been stopped, which is a failure of no job."""
    text, failed = Text(f"{nodes.count:,}"), nodes.failed - stopped
    text.append(f"\n{failed:,} failed" if failed else "", "red")
    return text.append(f"\n{stopped:,} stopped" if stopped else "")


def _amount(cost: float) -> str:
    """Return an amount with two decimals, below a dollar with four."""
    return f"{cost:,.2f}" if cost >= 1 else f"{cost:.4f}"


_MOST_JOBS = 40  # in the table
_LONGEST_NAME = 60


def comparison_text(a: Side, b: Side, rows: Sequence[measures.Row], target: Console) -> str:
    """Return the table and all sentences, as ``target`` would show them."""
    heads = plain_text("\n".join(_heads(a, b)))
    if any(row.what == AMOUNT for row in rows):
        rows = [row for row in rows if row.what != "costUsd"]  # which neither side has
    marked = {row.what for row in notable(rows)}
    shown = list(_shown(rows))
    columns = ["", "", ">A", ">B", ">B - A", ">percent"]
    made = table("", columns, [_compared_row(row, row.what in marked) for row in shown], target)
    sentences = list(_sentences(a, b, rows, left_out=len(rows) - len(shown), has_marks=bool(marked)))
    below = (visible("\n".join(each)) for each in (sentences, report_card(a, b, rows)))
    return "\n\n".join(filter(None, (parts_text([heads, made], target), *below)))


def _heads(a: Side, b: Side) -> Iterator[str]:
    is_prediction = a.is_observed != b.is_observed
    for letter, side in (("A", a), ("B", b)):
        role = "" if not is_prediction else ", observed" if side.is_observed else ", predicted"
        yield f"{letter}: {shortened(side.given, _LONGEST_NAME)}, {side.about}{role}"


def _shown(rows: Sequence[measures.Row]) -> Iterator[measures.Row]:
    """Yield all measures, and of the jobs those that differ most, in their order."""
    jobs = [row for row in rows if row.job_id is not None]
    differing = {row.what for row in largest(jobs, _MOST_JOBS)}
    chosen = differing | {row.what for row in jobs[: _MOST_JOBS - len(differing)]}
    return (row for row in rows if row.job_id is None or row.what in chosen)


def _compared_row(row: measures.Row, is_marked: bool) -> Sequence[Text | str]:
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


def _sentences(a: Side, b: Side, rows: Sequence[measures.Row], *, left_out: int, has_marks: bool) -> Iterator[str]:
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
