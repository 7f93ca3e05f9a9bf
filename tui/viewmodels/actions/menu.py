"""The actions offered for the item under the cursor or for the marked ones, with their commands and effects."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from engine.specs.commands import COMMANDS
from engine.views.results.document import script_line
from tui.viewmodels.actions.action import ActionType, Better, Body, Choice
from tui.viewmodels.actions.targets import ACTION_TYPES, ActionTarget, target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from engine.specs.commands import Command
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef, Kind

_MOST_SHOWN = 3


class FormField(NamedTuple):
    """A field of a form for certain rows: property, label, hint and default."""

    name: str
    label: str
    hint: str
    default: str
    read: Callable[[str], object]

    def value(self, text: str) -> object:
        """Return what was typed as the property's value. Raises ValueError with a sentence."""
        try:
            return self.read(text)
        except ValueError as error:
            raise ValueError(f"{self.label}: {error}") from None


class Action(NamedTuple):
    """An action on one or several items: one command for each, or one for all."""

    title: str
    command: str
    bodies: tuple[Body, ...]  # without choices and fields
    choices: tuple[Choice, ...]
    entries: tuple[FormField, ...]
    compose: Callable[[Body], Body]
    counts: tuple[tuple[str, int], ...]  # affected items, at present
    effects: tuple[str, ...]
    unavailable: str  # why the service would refuse it for every item; else empty
    better: tuple[Better, ...]
    cannot_be_undone: bool
    to_type: str  # the text that confirms it; empty if none is needed
    opens_formula: bool

    @property
    def defaults(self) -> dict[str, str]:
        """The default text of each field, by the name of its property."""
        return {entry.name: entry.default for entry in self.entries}

    def commands(self, choice: Choice | None = None, answers: Mapping[str, str] | None = None) -> list[Command]:
        """Return the commands for a choice, by default the first. Raises ValueError with a sentence."""
        texts = self.defaults if answers is None else answers
        values = {entry.name: entry.value(texts[entry.name]) for entry in self.entries if texts[entry.name].strip()}
        chosen = choice or next(iter(self.choices), None)
        added = {**(self.compose(values) if self.entries else {}), **({} if chosen is None else chosen.body)}
        return [COMMANDS[self.command].from_wire({**body, **added}) for body in self.bodies]


def script_of(commands: Sequence[Command], now_ms: int) -> list[str]:
    """Return the timeline lines that record these commands if given now. Only the first few are shown."""
    shown = [script_line(now_ms + 1, command) for command in commands[: _MOST_SHOWN + 1]]
    rest = len(commands) - _MOST_SHOWN
    return shown if rest <= 1 else [*shown[:_MOST_SHOWN], f"and {rest:,} more"]


def first_problem(error: ValueError) -> str:
    """Return the first problem in one sentence. The models' own messages are longer."""
    problems = getattr(error, "errors", None)
    if problems is None:
        return str(error)
    first = problems()[0]
    place = ".".join(str(part) for part in first["loc"] if not isinstance(part, int) and part != "tasks")
    return f"{place}: {first['msg']}".removeprefix(": ")


def actions_for(session: Session, subjects: Sequence[ItemRef]) -> list[Action]:
    """Return the actions on items of one kind. Items that no longer exist are left out."""
    cases = [case for subject in subjects if (case := target_of(session, subject)) is not None]
    if not cases:
        return []
    offered = [verb for verb in ACTION_TYPES[subjects[0].kind] if any(verb.offered(case.row) for case in cases)]
    return [_action(verb, cases, subjects[0].kind) for verb in offered]


def _action(verb: ActionType[Any], cases: Sequence[ActionTarget], kind: Kind) -> Action:
    cases = [case for case in cases if verb.offered(case.row)]
    reasons = [verb.unavailable(case.row) for case in cases]
    effects: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    better: dict[str, Better] = {}
    for case in cases:
        for effect in filter(None, verb.effects(case.row)):
            effects.setdefault(effect, []).append(case.name)
        for label, number in verb.counts(case.row).items():
            counts[label] += number
        fitter = verb.better(case.row)
        if fitter is not None:
            better.setdefault(fitter.command, fitter)
    many = len(cases) > 1
    return Action(
        title=verb.title.format(f"{len(cases):,} {kind}s" if many else cases[0].name),
        command=verb.command,
        bodies=_bodies(verb, cases),
        choices=verb.choices,
        entries=tuple(
            FormField(one.name, one.label, one.hint, one.default(cases[0].row), one.read) for one in verb.fields
        ),
        compose=verb.compose,
        counts=tuple((label, number) for label, number in counts.items() if number),
        effects=tuple(_told(effect, names, len(cases)) for effect, names in effects.items()),
        unavailable=reasons[0] if all(reasons) else "",
        better=tuple(better.values()),
        cannot_be_undone=verb.cannot_be_undone,
        to_type=_to_type(verb, cases),
        opens_formula=verb.opens_formula,
    )


def _to_type(verb: ActionType[Any], cases: Sequence[ActionTarget]) -> str:
    if len(cases) > 1 and (verb.asks_for_id or verb.asks_for_count):
        return str(len(cases))
    return cases[0].name if verb.asks_for_id else ""


def _told(effect: str, names: Sequence[str], cases: int) -> str:
    """Return an effect, with the names or number of the items it concerns if not all."""
    if len(names) == cases:
        return effect
    return f"{effect} ({', '.join(names)})" if len(names) <= _MOST_SHOWN else f"{effect} ({len(names):,} of {cases:,})"


def _bodies(verb: ActionType[Any], cases: Sequence[ActionTarget]) -> tuple[Body, ...]:
    if verb.body is not None:
        return tuple({**verb.body(case.row), **verb.adds} for case in cases[:1])
    if not verb.lists:
        return tuple({**case.body, **verb.adds} for case in cases)
    return ({"poolId": cases[0].body["poolId"], verb.lists: [case.listed for case in cases], **verb.adds},)
