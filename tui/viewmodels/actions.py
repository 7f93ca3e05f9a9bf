"""What can be done to what is under the cursor or marked: verbs with their commands, and what follows from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from engine.specs.commands import COMMANDS
from engine.units import format_duration
from tui.viewmodels.verbs.cases import VERBS, Case, case_of
from tui.viewmodels.verbs.verb import Body, Choice, Verb

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from engine.specs.commands import Command
    from tui.viewmodels.session import Session
    from tui.viewmodels.subject import Kind, Subject

_NO = Choice({}, "No, go back")
_MOST_SHOWN = 3


class Action(NamedTuple):
    """A verb on one or several subjects: one command for each, or one for all."""

    title: str
    command: str
    bodies: tuple[Body, ...]  # without the choice
    choices: tuple[Choice, ...]
    asks: str  # the property whose whole number is typed; empty where nothing is
    in_minutes: bool  # what is typed stands for a duration
    prompt: str
    effects: tuple[str, ...]
    unavailable: str  # why none of the subjects is in a state for it; the service would refuse it
    cannot_be_undone: bool
    has_form: bool

    def typed(self, text: str) -> Choice:
        """The choice that was typed. Raises ValueError where that is no whole number."""
        number = int(text)
        return Choice({self.asks: f"PT{number}M" if self.in_minutes else number}, text)

    def commands(self, choice: Choice) -> list[Command]:
        """What is given to the service."""
        return [COMMANDS[self.command].from_wire({**body, **choice.body}) for body in self.bodies]

    def script(self, now_ms: int, choice: Choice) -> list[str]:
        """The timeline entries that this will be recorded as, the first ones of many."""
        at = format_duration(now_ms + 1)
        shown = [f"at: {at}, {self.command}: {json.dumps({**body, **choice.body})}" for body in self.bodies]
        rest = len(shown) - _MOST_SHOWN
        return shown if rest <= 1 else [*shown[:_MOST_SHOWN], f"and {rest:,} more"]


def actions_for(session: Session, subjects: Sequence[Subject]) -> list[Action]:
    """The verbs on subjects of one kind; those that are gone are left out."""
    cases = [case for subject in subjects if (case := case_of(session, subject)) is not None]
    if not cases:
        return []
    offered = [verb for verb in VERBS[subjects[0].kind] if any(verb.offered(case.row) for case in cases)]
    return [_action(verb, cases, subjects[0].kind) for verb in offered]


def _action(verb: Verb[Any], cases: Sequence[Case], kind: Kind) -> Action:
    reasons = [verb.unavailable(case.row) for case in cases]
    effects: dict[str, list[str]] = {}
    for case in cases:
        for effect in filter(None, verb.effects(case.row)):
            effects.setdefault(effect, []).append(case.name)
    return Action(
        title=verb.title.format(_named(cases, kind)),
        command=verb.command,
        bodies=_bodies(verb, cases),
        choices=verb.choices,
        asks=verb.asks,
        in_minutes=verb.in_minutes,
        prompt=verb.prompt(cases[0].row),
        effects=tuple(_told(effect, names, len(cases)) for effect, names in effects.items()),
        unavailable=reasons[0] if all(reasons) else "",
        cannot_be_undone=verb.cannot_be_undone,
        has_form=verb.has_form,
    )


def _named(cases: Sequence[Case], kind: Kind) -> str:
    return cases[0].name if len(cases) == 1 else f"{len(cases):,} {kind}s"


def _told(effect: str, names: Sequence[str], cases: int) -> str:
    """An effect, and for how many of the subjects it is to be expected where it is not for all."""
    if len(names) == cases:
        return effect
    return f"{effect} ({', '.join(names)})" if len(names) <= _MOST_SHOWN else f"{effect} ({len(names):,} of {cases:,})"


def _bodies(verb: Verb[Any], cases: Sequence[Case]) -> tuple[Body, ...]:
    if verb.body is not None:
        return tuple(verb.body(case.row) for case in cases[:1])
    if not verb.lists:
        return tuple({**case.body, **verb.adds} for case in cases)
    return ({"poolId": cases[0].body["poolId"], verb.lists: [case.listed for case in cases], **verb.adds},)


def choices_of(action: Action) -> Sequence[Choice]:
    """The choices of a verb; where it cannot be undone, going back comes first."""
    back = (_NO,) if action.cannot_be_undone else ()
    return (*back, *(action.choices or (Choice({}, f"Yes: {action.title}"),)))


def is_no(choice: Choice) -> bool:
    """Whether it is the choice of doing nothing."""
    return choice is _NO
