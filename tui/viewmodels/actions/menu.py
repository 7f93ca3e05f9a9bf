"""The actions offered for the item under the cursor or for the marked ones, with their commands and effects."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from engine.specs.commands import COMMANDS
from engine.views.results.document import script_line
from tui.viewmodels.actions.action import ActionType, Better, Body, Choice, Field
from tui.viewmodels.actions.targets import ACTION_TYPES, ActionTarget, target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from engine.specs.command import Command
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import ItemRef, Kind

_MOST_SHOWN = 3


class Action(NamedTuple):
    """An action on one or several items: one command for each, or one for all."""

    title: str
    command: str
    bodies: tuple[Body, ...]  # without choices and fields
    choices: tuple[Choice, ...]
    entries: tuple[Field[Any], ...]
    defaults: Mapping[str, str]  # the text of each entry at first, by the name of its property
    compose: Callable[[Body], Body]
    counts: tuple[tuple[str, int], ...]  # affected items, at present
    effects: tuple[str, ...]
    unavailable: str  # why the service would refuse it for every item; else empty
    better: tuple[Better, ...]
    cannot_be_undone: bool
    to_type: str  # the text that confirms it; empty if none is needed
    opens_formula: bool

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
    targets = [target for subject in subjects if (target := target_of(session, subject)) is not None]
    if not targets:
        return []
    kind = subjects[0].kind
    offered = [(action, [each for each in targets if action.offered(each.row)]) for action in ACTION_TYPES[kind]]
    return [_action(action, fitting, kind) for action, fitting in offered if fitting]


def _action(action: ActionType[Any], targets: Sequence[ActionTarget], kind: Kind) -> Action:
    reasons = [action.unavailable(target.row) for target in targets]
    effects: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    better: dict[str, Better] = {}
    for target in targets:
        for effect in filter(None, action.effects(target.row)):
            effects.setdefault(effect, []).append(target.name)
        for label, number in action.counts(target.row).items():
            counts[label] += number
        fitter = action.better(target.row)
        if fitter is not None:
            better.setdefault(fitter.command, fitter)
    name = f"{len(targets):,} {kind}s" if len(targets) > 1 else targets[0].name
    confirms_many = len(targets) > 1 and (action.asks_for_id or action.asks_for_count)
    return Action(
        title=action.title.format(name),
        command=action.command,
        bodies=_bodies(action, targets),
        choices=action.choices,
        entries=action.fields,
        defaults={entry.name: entry.default(targets[0].row) for entry in action.fields},
        compose=action.compose,
        counts=tuple((label, number) for label, number in counts.items() if number),
        effects=tuple(_told(effect, names, len(targets)) for effect, names in effects.items()),
        unavailable=reasons[0] if all(reasons) else "",
        better=tuple(better.values()),
        cannot_be_undone=action.cannot_be_undone,
        to_type=str(len(targets)) if confirms_many else targets[0].name if action.asks_for_id else "",
        opens_formula=action.opens_formula,
    )


def _told(effect: str, names: Sequence[str], targets: int) -> str:
    """Return an effect, with the names or number of the items it concerns if not all."""
    if len(names) == targets:
        return effect
    return (
        f"{effect} ({', '.join(names)})" if len(names) <= _MOST_SHOWN else f"{effect} ({len(names):,} of {targets:,})"
    )


def _bodies(action: ActionType[Any], targets: Sequence[ActionTarget]) -> tuple[Body, ...]:
    if action.body is not None:
        return tuple({**action.body(target.row), **action.adds} for target in targets[:1])
    if not action.lists:
        return tuple({**target.body, **action.adds} for target in targets)
    return ({"poolId": targets[0].body["poolId"], action.lists: [target.listed for target in targets], **action.adds},)
