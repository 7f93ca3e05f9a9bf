"""The answers to w: which questions a row raises, and the answers as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.views.explain.explanation import earliest
from engine.views.explain.subject import about_job, about_node, about_pool, about_schedule, about_task
from tui.viewmodels.text import Line, Role, Span, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.explain.explanation import Check, Explanation, Next, Reason
    from tui.viewmodels.session import Session
    from tui.viewmodels.subject import Kind

_COUNT_CELLS = 7


def answers_to(session: Session, kind: Kind, key: int | str, view: str) -> list[Explanation]:
    """What is to be said about a node or task (by row number), the others (by id), as seen from a view."""
    world = session.simulation.world
    match kind:
        case "task":
            return about_task(world, int(key), session.now_ms)
        case "node":
            found = about_node(world, int(key), session.job_id)
            return found[::-1] if view == "preparation" else found
        case "job":
            return about_job(world, str(key))
        case "job schedule":
            return about_schedule(world, str(key), session.now_ms)
        case "pool":
            return about_pool(world, str(key))


def next_change(answers: Sequence[Explanation]) -> Next | None:
    """The first event that can change one of the answers."""
    return earliest(answer.next_change for answer in answers)


def plain_text(answers: Sequence[Explanation]) -> str:
    """The answers as text, one below the other."""
    return "\n\n".join("\n".join(answer.lines()) for answer in answers)


def why_lines(session: Session, answers: Sequence[Explanation], cells: int) -> list[Line]:
    """The answers in so many cells; what belongs to one line goes on below it."""
    lines: list[Line] = []
    for answer in answers:
        if lines:
            lines.append(())
        lines += [line(Span(each, Role.STRONG)) for each in wrapped(answer.question, cells)]
        lines += _checks(session, answer.checks, cells)
        lines += [each for reason in answer.candidates for each in _candidate(session, reason, cells)]
        for note in answer.notes:
            lines += _told("", Span(note.text), note.rule, cells)
        if answer.next_change is not None:
            text, when_ms, rule = answer.next_change
            lines += _told("Next: ", Span(f"{text} at {session.clock(when_ms)}", Role.KEY), rule, cells)
    return lines


def _checks(session: Session, checks: Sequence[Check], cells: int) -> list[Line]:
    glyphs = session.glyphs
    label_cells = min(max((len(check.label) for check in checks), default=0), cells // 2)
    lines: list[Line] = []
    for check in checks:
        mark = Span(glyphs.good, Role.OK) if check.ok else Span(glyphs.bad, Role.FAILED)
        first, *rest = _told(" " * (label_cells + 4), Span(check.value), check.rule, cells)
        label = Span(f" {check.label:<{label_cells}}"[: label_cells + 1], Role.DIM)
        lines += [(mark, label, Span("  "), *first[1:]), *rest]
    return lines


def _candidate(session: Session, reason: Reason, cells: int) -> list[Line]:
    soonest = ""
    if reason.soonest_ms is not None:
        soonest = f"; soonest {reason.soonest_on} at {session.clock(reason.soonest_ms)}"
    first, *rest = _told(" " * _COUNT_CELLS, Span(reason.text + soonest), reason.rule, cells)
    return [(Span(f"{reason.size:>{_COUNT_CELLS - 1}} ", Role.STRONG), *first[1:]), *rest]


def _told(lead: str, said: Span, rule: str, cells: int) -> list[Line]:
    """A sentence and its rule behind a lead; what does not fit goes on below, as far in."""
    texts = wrapped(f"{said.text} [{rule}]", max(8, cells - len(lead)))
    lines = []
    for number, text in enumerate(texts):
        head, bracket, tail = text.rpartition("[") if number == len(texts) - 1 else (text, "", "")
        before = lead if number == 0 else " " * len(lead)
        lines.append(line(Span(before, Role.DIM), said._replace(text=head), Span(bracket + tail, Role.DIM)))
    return lines
