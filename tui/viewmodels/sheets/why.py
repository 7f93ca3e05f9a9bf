"""The answers to the key w: explanations of a row's state, as lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.run.planned import basis_words
from engine.views.explain.expected import Expected, expected
from engine.views.explain.explanation import earliest
from engine.views.explain.questions import explain, explain_oldest_wait
from tui.viewmodels.text import format as fmt
from tui.viewmodels.text.styled import Line, Role, Span, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.views.explain.explanation import Check, Explanation, Next, Reason
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import Kind

_COUNT_CELLS = 7
_BAR_CELLS = 13
_BARS_FROM = 60  # cells; narrower sheets have no bars


def answers_to(session: Session, kind: Kind, key: int | str, view: str) -> list[Explanation]:
    """Explain a node or task (by row number), or anything else (by id), as seen from a view.

    Watch shows the oldest wait of the job in focus beside its nodes, so that is explained after a node.
    """
    found = explain(session.simulation, kind, key, session.job_id)
    if kind == "node" and view == "watch":
        return [*found, *explain_oldest_wait(session.simulation, session.job_id)]
    return found[::-1] if kind == "node" and view == "preparation" else found


def expected_of(session: Session, kind: Kind, key: int | str) -> Expected | None:
    """Return what ends the waiting if nobody intervenes, and when. An engine error on the way is reported."""
    try:
        return expected(session.simulation, kind, key)
    except Exception as error:  # the trial is undone in any case
        return Expected(f"internal error on the way: {type(error).__name__}: {error}", session.now_ms)
    finally:
        session.update()


def next_change(answers: Sequence[Explanation]) -> Next | None:
    """Return the first event that can change one of the answers."""
    return earliest(answer.next_change for answer in answers)


def plain_text(session: Session, answers: Sequence[Explanation], coming: Expected | None = None) -> str:
    """Return the answers as plain text."""
    parts = ["\n".join(answer.lines()) for answer in answers]
    if coming is not None:
        rule = f" [{coming.rule}]" if coming.rule else ""
        basis = basis_words(coming.basis, session.clock)
        said = ", ".join(filter(None, (coming.text, session.clock(coming.when_ms), basis)))
        parts.append(f"Expected: {said}{rule}")
    return "\n\n".join(parts)


def why_lines(
    session: Session, answers: Sequence[Explanation], cells: int, coming: Expected | None = None
) -> list[Line]:
    """Return the answers in ``cells`` cells. What is expected follows the first answer."""
    lines: list[Line] = []
    for number, answer in enumerate(answers):
        if lines:
            lines.append(())
        lines += [line(Span(each, Role.STRONG)) for each in wrapped(answer.question, cells)]
        lines += _checks(session, answer.checks, cells)
        most = max((reason.size for reason in answer.candidates), default=0)
        lines += [each for reason in answer.candidates for each in _candidate(session, reason, most, cells)]
        for note in answer.notes:
            lines += _told("", Span(note.text), note.rule, cells)
        if answer.next_change is not None:
            text, when_ms, rule = answer.next_change
            lines += _told("Next: ", Span(f"{text} at {_when(session, when_ms)}", Role.KEY), rule, cells)
        elif answer.nothing and not (number == 0 and coming is not None and coming.rule):
            lines += _told("Next: ", Span(answer.nothing_words(session.clock), Role.KEY), answer.nothing, cells)
        if number == 0 and coming is not None:
            basis = basis_words(coming.basis, session.clock)
            said = ", ".join(filter(None, (coming.text, _when(session, coming.when_ms), basis)))
            lines += _told("Expected: ", Span(said), coming.rule, cells)
    return lines


def _when(session: Session, when_ms: int, *, is_brief: bool = False) -> str:
    """Return a moment, and how far it lies in the future, or that the run does not reach it."""
    end_ms = session.last_known_ms
    if end_ms is not None and when_ms > end_ms:
        return f"{session.clock(when_ms)}, after the end of the run"
    wait_ms = when_ms - session.now_ms
    is_told = wait_ms > 0 and not is_brief
    return f"{session.clock(when_ms)} (in {fmt.span(wait_ms)})" if is_told else session.clock(when_ms)


def _checks(session: Session, checks: Sequence[Check], cells: int) -> list[Line]:
    glyphs = session.glyphs
    label_cells = min(max((len(check.label) for check in checks), default=0), cells // 2)
    lines: list[Line] = []
    for check in checks:
        if check.ok is None:
            sign = Span(glyphs.dot, Role.DIM)
        else:
            sign = Span(glyphs.good, Role.OK) if check.ok else Span(glyphs.bad, Role.FAILED)
        first, *rest = _told(" " * (label_cells + 4), Span(check.value), check.rule, cells)
        label = Span(f" {check.label:<{label_cells}}"[: label_cells + 1], Role.DIM)
        lines += [(sign, label, Span("  "), *first[1:]), *rest]
    return lines


def _candidate(session: Session, reason: Reason, most: int, cells: int) -> list[Line]:
    """Return a reason with the number of items as a number and bar, and the first of them to change."""
    soonest = ""
    if reason.soonest_ms is not None:
        soonest = f"; soonest {reason.soonest_on} at {_when(session, reason.soonest_ms, is_brief=True)}"
    bar_cells = _BAR_CELLS if cells >= _BARS_FROM else 0
    size = max(1, reason.size * (bar_cells - 1) // most) if bar_cells else 0
    lead = " " * (_COUNT_CELLS + bar_cells)
    first, *rest = _told(lead, Span(reason.text + soonest), reason.rule, cells)
    count = Span(f"{reason.size:>{_COUNT_CELLS - 1},} ", Role.STRONG)
    return [(count, Span(f"{session.glyphs.full * size:<{bar_cells}}", Role.OFF), *first[1:]), *rest]


def _told(lead: str, said: Span, rule: str, cells: int) -> list[Line]:
    """Return a sentence and its rule after ``lead``. Further lines are indented as far."""
    texts = wrapped(f"{said.text} [{rule}]" if rule else said.text, max(8, cells - len(lead)))
    lines = []
    for number, text in enumerate(texts):
        is_last = rule and number == len(texts) - 1
        head, bracket, tail = text.rpartition("[") if is_last else (text, "", "")
        before = lead if number == 0 else " " * len(lead)
        lines.append(line(Span(before, Role.DIM), said._replace(text=head), Span(bracket + tail, Role.DIM)))
    return lines
