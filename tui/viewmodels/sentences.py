"""The run in sentences: news, and the answers to the key w.

News while time passes are the concerns that the present view does not show. The answers are explanations of a
row's state, as lines.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.base.values import SECOND_MS
from engine.run.agenda import basis_words
from engine.views.diagnosis.concerns import about_item, with_advice
from engine.views.diagnosis.model import Next, Severity, earliest
from engine.views.diagnosis.questions import expected, explain, explain_oldest_wait
from tui.viewmodels import format as fmt
from tui.viewmodels.text import Line, Role, Span, line, wrapped
from tui.viewmodels.watch.attention import VIEWS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from engine.views.diagnosis.model import Explanation, Finding
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Kind


class Notices:
    """Tells what has come to need attention since the last call, unless the view tells it anyway."""

    def __init__(self, session: Session) -> None:
        """Start now: earlier concerns are not told."""
        self._session = session
        self._jumps = -1
        self._counts: dict[tuple[object, ...], int] = {}  # of the items that a concern is about
        self.skip()

    def skip(self) -> None:
        """Do not tell what needs attention already."""
        self._news()

    def take(self, view: str = "") -> str:
        """Return the worst concern that is news, and how many others are; empty if none is."""
        news = [one for one in self._news() if view not in ("watch", "events", VIEWS.get(one.about))]
        if not news:
            return ""
        others = f"; {fmt.counted(len(news) - 1, 'other concern')}: press 1" if news[1:] else ""
        return self._session.text(" ".join(news[0].full_text.split()) + others)

    def _news(self) -> list[Finding]:
        """Return the concerns that are new, or about ten times as many items as before; none after a jump."""
        simulation, news = self._session.simulation, []
        if has_jumped := self._jumps != simulation.jumps:
            self._counts.clear()
        self._jumps = simulation.jumps
        for one in self._session.attention.concerns():
            key = one.condition, one.cause, one.items.jobs, one.items.pools, one.items.schedules, one.items.named
            before, now = self._counts.get(key, 0), max(len(one.items.tasks), len(one.items.nodes), 1)
            if one.severity <= Severity.SHORTAGE and (not before or len(str(before)) < len(str(now))):
                news.append(one)
            self._counts[key] = max(before, now)
        return [] if has_jumped else news


HOOK_VIEWS = "preparation", "release"  # in the order of the answers about a node
_COUNT_CELLS = 7
_BAR_CELLS = 13
_BARS_FROM = 60  # cells; narrower sheets have no bars


def answers_to(session: Session, kind: Kind, key: int | str, view: str, job_id: str = "") -> list[Explanation]:
    """Explain a node or task (by row number), or anything else (by id), as seen from a view, for the job in focus.

    Watch shows the oldest wait of the job in focus beside its nodes, so that is explained after a node. What is asked
    about preparation or release on a node is answered first.
    """
    found = explain(session.simulation, kind, key, job_id or session.job_id)
    found = with_advice(session.simulation, found, about_item(session.attention.concerns(), kind, key))
    if kind == "node" and view == "watch":
        return [*found, *explain_oldest_wait(session.simulation, session.job_id)]
    if kind == "node" and view in HOOK_VIEWS:
        asked = HOOK_VIEWS.index(view) + 1
        return [*found[asked : asked + 1], *found[:asked], *found[asked + 1 :]]
    return found


def expected_of(session: Session, kind: Kind, key: int | str) -> Next | None:
    """Return what ends the waiting if nobody intervenes, and when. An engine error on the way is reported."""
    try:
        return expected(session.simulation, kind, key)
    except Exception as error:  # the trial is undone in any case
        return Next(f"internal error on the way: {type(error).__name__}: {error}", session.now_ms)
    finally:
        session.update()


def next_change(answers: Sequence[Explanation]) -> Next | None:
    """Return the first event that can change one of the answers."""
    return earliest(answer.next_change for answer in answers)


def plain_text(session: Session, answers: Sequence[Explanation], coming: Next | None = None) -> str:
    """Return the answers as plain text."""
    parts = ["\n".join(answer.lines()) for answer in answers]
    if coming is not None:
        rule = f" [{coming.rule}]" if coming.rule else ""
        parts.append(f"Expected: {_expected(session, coming, session.clock)}{rule}")
    return "\n\n".join(parts)


def _expected(session: Session, coming: Next, clock: Callable[[int], str]) -> str:
    basis = basis_words(coming.basis, session.clock)
    return ", ".join(filter(None, (coming.text, clock(coming.when_ms), basis)))


def why_lines(session: Session, answers: Sequence[Explanation], cells: int, coming: Next | None = None) -> list[Line]:
    """Return the answers in ``cells`` cells. What is expected follows the first answer."""
    lines: list[Line] = []
    when = partial(_when, session)
    for number, answer in enumerate(answers):
        if lines:
            lines.append(())
        lines += [line(Span(each, Role.STRONG)) for each in wrapped(answer.question, cells)]
        label_cells = min(max((len(one.label) for one in answer.findings), default=0), cells // 2)
        most = max((one.size for one in answer.findings), default=0)
        for one in answer.findings:
            if one.label:
                lines += _check(session, one, label_cells, cells)
            elif one.size:
                lines += _reason(session, one, most, cells)
            else:
                lines += _told("", Span(one.text), one.rule, cells)
        expects = coming if number == 0 else None
        following = answer.following(session.clock if answer.next_change is None else when)
        if following is not None and (answer.next_change is not None or expects is None or not expects.rule):
            lines += _told("Next: ", Span(following.text, Role.KEY), following.rule, cells)
        if expects is not None:
            lines += _told("Expected: ", Span(_expected(session, expects, when)), expects.rule, cells)
    return lines


def _when(session: Session, when_ms: int, *, is_brief: bool = False) -> str:
    """Return a moment, and how far it lies in the future, or that the run does not reach it."""
    end_ms = session.last_known_ms
    if end_ms is not None and when_ms > end_ms:
        return f"{session.clock(when_ms)}, after the end of the run"
    wait_ms = when_ms - session.now_ms
    is_told = wait_ms >= SECOND_MS and not is_brief
    return f"{session.clock(when_ms)} (in {fmt.span(wait_ms)})" if is_told else session.clock(when_ms)


def _check(session: Session, check: Finding, label_cells: int, cells: int) -> list[Line]:
    glyphs = session.glyphs
    signs = {True: Span(glyphs.good, Role.OK), False: Span(glyphs.bad, Role.FAILED), None: Span(glyphs.dot, Role.DIM)}
    first, *rest = _told(" " * (label_cells + 4), Span(check.text), check.rule, cells)
    label = Span(f" {check.label:<{label_cells}}"[: label_cells + 1], Role.DIM)
    return [(signs[check.ok], label, Span("  "), *first[1:]), *rest]


def _reason(session: Session, reason: Finding, most: int, cells: int) -> list[Line]:
    """Return a reason with the number of items as a number and bar, and the first of them to change."""
    bar_cells = _BAR_CELLS if cells >= _BARS_FROM else 0
    size = max(1, reason.size * (bar_cells - 1) // most) if bar_cells else 0
    said = Span(reason.said(partial(_when, session, is_brief=True)))
    first, *rest = _told(" " * (_COUNT_CELLS + bar_cells), said, reason.rule, cells)
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
