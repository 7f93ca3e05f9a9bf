"""The actions offered for the item under the cursor or for the marked ones, with their commands and effects."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from engine.views.results.document import script_line
from tui.viewmodels.actions.action import ActionType, Better, Choice, Document
from tui.viewmodels.actions.fields import Body, Field
from tui.viewmodels.actions.form_text import FormMistake, FormResult, read_bodies, read_form, texts_of
from tui.viewmodels.actions.targets import ACTION_TYPES, ActionTarget, target_of
from tui.viewmodels.text.styled import ItemRef

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from engine.specs.command import Command
    from tui.viewmodels.session.session import Session
    from tui.viewmodels.text.styled import Kind

_MOST_SHOWN = 3


class Action(NamedTuple):
    """An action on one or several items: one command for each, or one for all."""

    title: str
    command: str
    bodies: tuple[Body, ...]  # without choices and fields
    choices: tuple[Choice, ...]
    entries: tuple[Field[Any], ...]
    defaults: Mapping[str, str]  # the text of each entry at first, by the name of its property
    options: Mapping[str, Sequence[str]]  # of the entries that are chosen from
    document: Document | None  # the body, if it can be written as a whole
    asks: Callable[[Mapping[str, str]], bool]  # whether the choices matter for these texts
    counts: tuple[tuple[str, int], ...]  # affected items, at present
    effects: tuple[str, ...]
    choice_effects: tuple[str, ...]  # only where the choices matter
    unavailable: str  # why the service would refuse it for every item; else empty
    better: tuple[Better, ...]
    cannot_be_undone: bool
    to_type: str  # the text that confirms it; empty if none is needed
    opens_formula: bool

    def commands(self, choice: Choice | None = None, answers: Mapping[str, str] | None = None) -> list[Command]:
        """Return the commands for a choice, by default the first. Raises ValueError with a sentence."""
        read = self.read(choice, answers)
        if read.mistakes:
            raise ValueError(read.mistakes[0].sentence)
        return list(read.commands)

    def read(self, choice: Choice | None = None, answers: Mapping[str, str] | None = None) -> FormResult:
        """Return what was typed into the fields as commands, with all mistakes."""
        texts = self.defaults if answers is None else answers
        if self.document is not None:
            return read_form(self.command, self.bodies, self.document, self.entries, texts)
        mistakes = [
            FormMistake("is required", each.name, each.label)
            for each in self.entries
            if each.is_required and not texts[each.name].strip()
        ]
        added: dict[str, object] = {}
        for each in self.entries:
            try:
                added = each.put_into(added, texts[each.name])
            except ValueError as error:
                mistakes.append(FormMistake(str(error), each.name, each.label))
        if self.asks(texts):
            chosen = choice or next(iter(self.choices), None)
            added |= {} if chosen is None else chosen.body
        if mistakes:
            return FormResult((), tuple(mistakes))
        return read_bodies(self.command, [{**body, **added} for body in self.bodies], self.entries)


def script_of(commands: Sequence[Command], now_ms: int) -> list[str]:
    """Return the timeline lines that record these commands if given now. Only the first few are shown."""
    shown = [script_line(now_ms + 1, command) for command in commands[: _MOST_SHOWN + 1]]
    rest = len(commands) - _MOST_SHOWN
    return shown if rest <= 1 else [*shown[:_MOST_SHOWN], f"and {rest:,} more"]


def actions_for(session: Session, subjects: Sequence[ItemRef]) -> list[Action]:
    """Return the actions on items of one kind. Items that no longer exist are left out."""
    targets = [target for subject in subjects if (target := target_of(session, subject)) is not None]
    if not targets:
        return []
    kind = subjects[0].kind
    return offer(session, ACTION_TYPES[kind], targets, kind)


class ActionGroup(NamedTuple):
    """Actions on the same items; the heading names the pool or job of the items under the cursor."""

    heading: str
    actions: Sequence[Action]


def grouped_actions(session: Session, subjects: Sequence[ItemRef]) -> list[ActionGroup]:
    """Return the actions on items of one kind, then those on the pool and on the job in focus."""
    own = actions_for(session, subjects)
    if not own:
        return []
    related: dict[Kind, str] = {}
    if subjects[0].kind in ("node", "task", "job"):
        related["pool"] = session.pool_id
    if subjects[0].kind in ("node", "task", "pool"):
        related["job"] = session.job_id
    groups = [ActionGroup(f"{kind} {key}", actions_for(session, [ItemRef(kind, key)])) for kind, key in related.items()]
    return [ActionGroup("", own), *(group for group in groups if group.actions)]


NEW = ("pool", "job", "tasks", "schedule", "certificate", "package", "user")
"""The words for what can be created, as typed after ``new``."""
CREATING = {
    "pool": "createPool",
    "job": "createJob",
    "schedule": "createJobSchedule",
    "certificate": "addCertificate",
    "package": "createApplicationPackage",
    "tasks": "addTasks",
    "user": "createNodeUser",
}
"""The command that creates each of them."""


def action_for_new(session: Session, what: str, here: ItemRef | None) -> Action | str:
    """Return the action that creates something, one of ``NEW``; a sentence if there is nothing to create it in.

    Tasks are added to the job in focus, and users to the node under the cursor.
    """
    on = ItemRef("account", "account")
    if what == "tasks":
        if not session.job_id:
            return "There is no job yet to add tasks to; create one first."
        on = here if here is not None and here.kind == "job" else ItemRef("job", session.job_id)
    elif what == "user":
        if here is None or here.kind != "node":
            return "A user account is added to a node: put the cursor on one."
        on = here
    found = (each for each in actions_for(session, [on]) if each.command == CREATING[what])
    return next(found, f"Nothing can be added to this {on.kind} any more.")


def offer(
    session: Session, types: Sequence[ActionType[Any]], targets: Sequence[ActionTarget], kind: Kind
) -> list[Action]:
    """Return those actions of some types that are possible on targets of one kind."""
    fitting = [(action, [each for each in targets if action.offered(each.row)]) for action in types]
    return [
        _action(session, action, those, kind)
        for action, those in fitting
        if those and not (action.is_for_one and len(those) > 1)
    ]


def _action(session: Session, action: ActionType[Any], targets: Sequence[ActionTarget], kind: Kind) -> Action:
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
    first = targets[0].row
    document = None if action.document is None else action.document(first, session)
    if document is None:
        defaults = {entry.name: entry.default(first) for entry in action.fields}
    else:
        defaults = texts_of(action.fields, document, document.start)
    confirms_many = len(targets) > 1 and (action.asks_for_id or action.asks_for_count)
    return Action(
        title=action.title.format(name),
        command=action.command,
        bodies=_bodies(action, targets),
        choices=action.choices,
        entries=action.fields,
        defaults=defaults,
        options={entry.name: tuple(entry.options(session)) for entry in action.fields},
        document=document,
        asks=partial(action.asks, first),
        counts=tuple((label, number) for label, number in counts.items() if number),
        effects=tuple(_told(effect, names, len(targets)) for effect, names in effects.items()),
        choice_effects=action.choice_effects,
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
