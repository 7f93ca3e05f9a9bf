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

PAST = "This is the past. Press b to branch here first."


def effect_lines(session: Session, action: Action, cells: int) -> list[Line]:
    """Return better actions, the items affected now, and the effects by the rules."""
    lines: list[Line] = [()]
    for better in action.better:
        lines += [line(Span(each, Role.TRANSITION)) for each in wrapped(f"Better: {better.why}", cells)]
    if action.unavailable:
        said = f"Not now: {action.unavailable}. The service would refuse it."
        return [*lines, *(line(Span(each, Role.FAILED)) for each in wrapped(said, cells))]
    lines.append(line(Span("Effects", Role.STRONG)))
    if action.counts:
        touched = f" {session.glyphs.dot} ".join(f"{label}: {number:,}" for label, number in action.counts)
        lines += [line(Span(each, Role.DIM)) for each in wrapped(f"at present   {touched}", cells)]
    for effect in action.effects:
        lines += [line(Span(each)) for each in wrapped(f"{session.glyphs.dot} {session.text(effect)}", cells)]
    return lines


def trial_result_lines(session: Session, commands: Sequence[Command], trial: TrialResult, cells: int) -> list[Line]:
    """Return the result of a trial of these commands, and the lines that record them."""
    lines: list[Line] = [(), line(Span(heading(session, trial), Role.STRONG)), *trial_lines(session, trial, cells)]
    lines += [(), line(Span("Recorded as", Role.DIM))]
    for script in script_of(commands, session.now_ms):
        lines += [line(Span(each, Role.DERIVED)) for each in wrapped(script, cells)]
    return lines


def problem_lines(problem: str, cells: int) -> list[Line]:
    """Return the problem with what was typed."""
    return [(), *(line(Span(each, Role.FAILED)) for each in wrapped(problem, cells))]
