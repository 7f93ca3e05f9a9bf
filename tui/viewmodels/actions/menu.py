"""The actions offered for the item under the cursor or for the marked ones, with their commands and effects.

The target of an action is an item with its state and its part of a command's body. The action sheet shows better
actions, the tasks affected, the effects by the rules, and the result of a trial.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.terms import JobState
from engine.base.values import format_utc
from engine.specs.base import wire_names
from engine.specs.commands import COMMANDS
from engine.views.hook_status import HookStatus, eligible_again
from engine.views.resources.account import core_quotas
from engine.views.resources.jobs import scale_page
from engine.views.results import script_line
from tui.viewmodels.actions.action import ActionType, Better, Body, Choice, Document, Field
from tui.viewmodels.actions.forms import FormMistake, FormResult, read_bodies, read_form, texts_of
from tui.viewmodels.actions.on_jobs import ACCOUNT, JOB, JOB_SCHEDULE, TASK
from tui.viewmodels.actions.on_pools import NODE, POOL, AccountTarget, NodeTarget, PoolTarget
from tui.viewmodels.actions.trial import heading, trial_lines
from tui.viewmodels.text import ItemRef, Line, Role, Span, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from engine.specs.command import Command
    from tui.viewmodels.actions.trial import TrialResult
    from tui.viewmodels.session import Session
    from tui.viewmodels.text import Kind


ACTION_TYPES: dict[Kind, tuple[ActionType[Any], ...]] = {
    "node": NODE,
    "task": TASK,
    "job": JOB,
    "job schedule": JOB_SCHEDULE,
    "pool": POOL,
    "account": ACCOUNT,
}


class ActionTarget(NamedTuple):
    """An item as the target of an action: its name, its row, and the names of the item in bodies of commands."""

    name: str
    body: Body
    row: object


def target_of(session: Session, item: ItemRef) -> ActionTarget | None:
    """Return the target for an item, or None if it no longer exists."""
    match item.kind:
        case "node":
            return _node_case(session, int(item.key))
        case "task":
            task = session.tasks(session.job_id).row(int(item.key))
            body = {"jobId": task.job_id, "taskId": task.brief.task_id}
            return None if task.brief.state is None else ActionTarget(task.brief.task_id, body, task)
        case "job":
            job = session.job(str(item.key))
            return None if job is None else ActionTarget(job.job_id, {"jobId": job.job_id}, job)
        case "job schedule":
            one = session.schedule(str(item.key))
            return None if one is None else ActionTarget(one.schedule_id, {"jobScheduleId": one.schedule_id}, one)
        case "pool":
            pool = session.pool(str(item.key))
            if pool is None or pool.state is None:
                return None
            scale = scale_page(session.simulation, pool.pool_id)
            row = PoolTarget(pool, None if scale is None else scale.interval_ms, core_quotas(session.simulation))
            return ActionTarget(pool.pool_id, {"poolId": pool.pool_id}, row)
        case "account":
            page = session.account()
            return ActionTarget(page.account.name, {}, AccountTarget(page, core_quotas(session.simulation)))


def gone_note(session: Session, item: ItemRef) -> str:
    """Return since when an item is gone, so that nothing can be done with it; empty if that is not the reason."""
    after = "Nothing can be done with it any more."
    match item.kind:
        case "pool":
            pool = session.pool(str(item.key))
            if pool is not None and pool.state is None:
                return f"Pool {pool.pool_id} was deleted at {session.clock(pool.record.gone_ms)}. {after}"
        case "node":
            node = session.nodes().row(int(item.key))
            if node.state is None:
                return f"Node n{node.record.position} left its pool at {session.clock(node.since_ms)}. {after}"
        case "task":
            task = session.tasks(session.job_id).row(int(item.key))
            if task.brief.state is None:
                return f"Task {task.brief.task_id} was deleted. {after}"
        case _:
            pass
    return ""


_ENDING = (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING)


def _node_case(session: Session, node: int) -> ActionTarget | None:
    page = session.nodes()
    row = page.row(node)
    if row.state is None:
        return None
    prepared, again, ineligible = [], [], []
    for on_node in page.jobs_on(node):
        job = session.job(on_node.job_id)
        if job is None or job.state in _ENDING:
            continue  # it needs no preparation any more
        prep = job.record.spec.job_preparation_task
        if on_node.prep is HookStatus.SUCCEEDED:
            prepared.append(job.job_id)
            again += [job.job_id] if prep is not None and prep.rerun_on_node_reboot_after_success else []
        ineligible += [job.job_id] if on_node.is_ineligible else []
    body = {"poolId": row.pool.id, "node": row.record.position}
    ends = eligible_again(session.options)
    began = format_utc(session.simulation.scenario.start, 0)
    target = NodeTarget(row, prepared, again, ineligible, began, ends)
    return ActionTarget(f"n{row.record.position}", body, target)


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

    def read(
        self, choice: Choice | None = None, answers: Mapping[str, str] | None = None, base: Body | None = None
    ) -> FormResult:
        """Return what was typed into the fields as commands, with all mistakes.

        Args:
            choice: By default the first.
            answers: What was typed, by the names of the properties; by default what the fields begin with.
            base: The whole body with the properties that have no field; by default the one that the form begins with.
        """
        texts = self.defaults if answers is None else answers
        if self.document is not None:
            return read_form(self.command, self.bodies, self.document, self.entries, texts, base)
        mistakes = [
            FormMistake("is required", each.name, each.label)
            for each in self.entries
            if each.is_required and not texts[each.name].strip()
        ]
        added: dict[str, object] = {}
        for each in self.entries:
            try:
                added = each.put_into(added, texts[each.name], self.command)
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
        if those and (len(those) == 1 or action.document is None or action.is_for_many)
    ]


def _action(session: Session, action: ActionType[Any], targets: Sequence[ActionTarget], kind: Kind) -> Action:
    reasons = [action.unavailable(target.row) for target in targets]
    effects: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    better: dict[str, Better] = {}
    for target in targets:
        found = action.effects(target.row) if callable(action.effects) else action.effects
        for effect in filter(None, found):
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
        defaults = {
            each.name: each.default(first) if callable(each.default) else each.default for each in action.fields
        }
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
        options={entry.name: entry.options_in(action.command, session) for entry in action.fields},
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
    """Return the part of each command's body that nobody types: one for all if it does not name the items, or all."""
    accepted = wire_names(COMMANDS[action.command])
    bodies = [{name: value for name, value in each.body.items() if name in accepted} for each in targets]
    if "nodeList" in accepted:
        bodies = [{**bodies[0], "nodeList": [each.body["node"] for each in targets]}]
    elif not bodies[0]:
        bodies = bodies[:1]
    return tuple({**body, **action.adds(each.row)} for body, each in zip(bodies, targets, strict=False))


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
