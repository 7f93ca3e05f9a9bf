"""The text of the action sheet: better actions, tasks affected, effects by the rules, and the result of a trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.viewmodels.actions.menu import script_of
from tui.viewmodels.actions.trial import heading, trial_lines
from tui.viewmodels.text.styled import Line, Role, Span, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.specs.command import Command
    from tui.viewmodels.actions.menu import Action
    from tui.viewmodels.actions.trial import TrialResult
    from tui.viewmodels.session.session import Session

_MOST_FOLDED = 3

PAST = "This is the past. Press b to branch here first."


def effect_lines(session: Session, action: Action, cells: int, *, asks: bool = False) -> list[Line]:
    """Return better actions, the items affected now, and the effects by the rules; ``asks`` if the choices matter."""
    lines: list[Line] = []
    for better in action.better:
        lines += [line(Span(each, Role.WARNING)) for each in wrapped(f"Better: {better.why}", cells)]
    if action.unavailable:
        said = f"Not now: {action.unavailable}. The service would refuse it."
        return [*lines, *(line(Span(each, Role.FAILED)) for each in wrapped(said, cells))]
    heading = line(Span("Effects", Role.STRONG))
    better_lines, lines = lines, []
    if action.counts:
        touched = f" {session.glyphs.dot} ".join(f"{label}: {number:,}" for label, number in action.counts)
        lines += [line(Span(each, Role.DIM)) for each in wrapped(f"at present   {touched}", cells)]
    for effect in (*action.effects, *(action.choice_effects if asks else ())):
        lines += [line(Span(each)) for each in wrapped(f"{session.glyphs.dot} {session.text(effect)}", cells)]
    return [*better_lines, heading, *lines] if lines else better_lines


def trial_result_lines(session: Session, trial: TrialResult, cells: int) -> list[Line]:
    """Return the result of a trial."""
    return [line(Span("What would happen from now on", Role.STRONG)), *_heading_lines(session, trial, cells)]


def _heading_lines(session: Session, trial: TrialResult, cells: int) -> list[Line]:
    said = [line(Span(f"  {each}", Role.DIM)) for each in wrapped(heading(session, trial), cells - 2)]
    return [*trial_lines(session, trial, cells), *said]


def record_lines(
    session: Session, commands: Sequence[Command], cells: int, *, is_folded: bool, key: str, rows: int = 0
) -> list[Line]:
    """Return the lines that record commands, only the first ones if folded and more than ``rows``.

    ``key`` shows the others.
    """
    if not commands:
        return []
    texts = [each for script in script_of(commands, session.now_ms) for each in wrapped(script, cells)]
    rest = len(texts) - _MOST_FOLDED
    if is_folded and rest > 1 and len(texts) >= rows:
        more = line(Span(f"and {rest:,} more lines, ", Role.DIM), Span(key, Role.KEY), Span(" shows them", Role.DIM))
        return [line(Span("Recorded as", Role.STRONG)), *_derived(texts[:_MOST_FOLDED]), more]
    return [line(Span("Recorded as", Role.STRONG)), *_derived(texts)]


def _derived(texts: Sequence[str]) -> list[Line]:
    return [line(Span(each, Role.DERIVED)) for each in texts]


def problem_lines(problems: Sequence[str], cells: int) -> list[Line]:
    """Return the problems with what was typed."""
    return [*(line(Span(each, Role.FAILED)) for problem in problems for each in wrapped(problem, cells))]


def notice_lines(title: str, notices: Sequence[str], cells: int) -> list[Line]:
    """Return notices under a title; nothing without any."""
    if not notices:
        return []
    texts = [f"  {each}" for notice in notices for each in wrapped(notice, cells - 2)]
    return [line(Span(title, Role.STRONG)), *(line(Span(each, Role.WARNING)) for each in texts)]


def joined(*parts: Sequence[Line]) -> list[Line]:
    """Return parts of a text with an empty line between them; empty parts are left out."""
    lines: list[Line] = []
    for part in filter(None, parts):
        lines += [(), *part] if lines else part
    return lines
