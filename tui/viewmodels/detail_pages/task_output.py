"""The output of a task on its detail page: the last lines of both files of its last attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.base.paths import task_directory
from engine.views.log.task_history import TaskHistory
from engine.views.pages.output import output_ends
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import ItemRef, Line, Role, Span, line, link, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.log.task_history import Attempt
    from engine.views.pages.output import OutputEnd
    from engine.views.pages.tasks import TaskRow
    from tui.viewmodels.session.session import Session

_MOST_LINES = 200  # of each file
_FILES = link("Open all its files", "files", Role.KEY)


def output_lines(session: Session, task: int, row: TaskRow, cells: int) -> list[Line]:
    """Return the last lines of both output files of the last attempt, as they are at this moment."""
    started = _last_started(session, task)
    if started is None:
        return [line(Span("It has not started on a node yet: no output. w explains why.", Role.DIM))]
    node = session.nodes().row(started.node)
    lines = [
        line(
            Span(f"Attempt {started.number:,} on "),
            link(fmt.node_name(node.position, node.node_id), ItemRef("node", started.node)),
            Span("   "),
            _FILES,
        )
    ]
    ends = _ends(session, row, started, _MOST_LINES)
    for each in ends:
        above = f"  {fmt.counted(each.above, 'line')} above" if each.above else ""
        empty = "  empty so far" if started.end_ms is None else "  empty"
        lines += [(), line(_heading(each), Span(above if each.lines else empty, Role.DIM)), *_text(each, cells)]
    return lines if ends else [*lines, (), line(Span("Its files have been deleted.", Role.DIM))]


def output_tail(session: Session, task: int, row: TaskRow, cells: int, rows: int) -> list[Line]:
    """Return the end of the output in at most so many rows; nothing where the task has written nothing."""
    started = _last_started(session, task)
    ends = [] if started is None else [each for each in _ends(session, row, started, rows) if each.lines]
    lines: list[Line] = []
    texts = sorted(((each, _text(each, cells)) for each in ends), key=lambda each: len(each[1]))
    for number, (each, text) in enumerate(texts):  # short files leave their room to long ones
        share = (rows - len(lines)) // (len(texts) - number) - 1
        if share > 0:
            lines += [line(_heading(each), Span("   "), _FILES), *text[-share:]]
    return lines


def _last_started(session: Session, task: int) -> Attempt | None:
    attempts = session.history(TaskHistory, task).attempts()
    return next((each for each in reversed(attempts) if each.start_ms is not None), None)


def _ends(session: Session, row: TaskRow, attempt: Attempt, most_lines: int) -> Sequence[OutputEnd]:
    return output_ends(session.simulation, attempt.node, task_directory(row.job_id, row.brief.task_id), most_lines)


def _heading(end: OutputEnd) -> Span:
    return Span(end.path.rpartition("/")[2], Role.STRONG)


def _text(end: OutputEnd, cells: int) -> list[Line]:
    return [line(Span(part)) for text in end.lines for part in wrapped(text.expandtabs(), cells)]
