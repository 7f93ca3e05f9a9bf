"""The actions offered for the item under the cursor or for the marked ones, with their commands and effects.

The target of an action is an item with its state and its part of a command's body. The action sheet shows better
actions, the tasks affected, the effects by the rules, and the result of a trial.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.terms import JobState
from engine.base.values import called, format_utc
from engine.specs.base import wire_names
from engine.specs.commands import COMMANDS
from engine.views.diagnosis.concerns import about_item
from engine.views.hook_status import HookStatus, eligible_again
from engine.views.resources.account import core_quotas
from engine.views.resources.jobs import pool_of_job, scale_page
from engine.views.resources.nodes import pool_of_node
from engine.views.resources.tasks import job_of_task
from engine.views.results import script_line
from tui.viewmodels.actions.action import ActionType, Better, Body
from tui.viewmodels.actions.forms import Form
from tui.viewmodels.actions.on_jobs import ACCOUNT, JOB, JOB_SCHEDULE, TASK
from tui.viewmodels.actions.on_pools import NODE, POOL, AccountTarget, NodeTarget, PoolTarget
from tui.viewmodels.actions.trial import heading, trial_lines
from tui.viewmodels.text import ItemRef, Line, Role, Span, line, paragraph, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.specs.command import Command
    from engine.views.resources.jobs import PoolRow
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


def target_of(session: Session, item: ItemRef) -> ActionTarget | str:
    """Return the target for an item; a sentence if the item is gone, empty if there has never been one."""
    key = str(item.key)
    match item.kind:
        case "node":
            return _node_target(session, int(item.key))
        case "task":
            task = session.tasks(session.job_id).row(int(item.key))
            task_id = task.brief.task_id
            if task.brief.state is None:
                return f"{called('Task', task_id)} was deleted. {_AFTER}"
            return ActionTarget(task_id, {"jobId": task.job_id, "taskId": task_id}, task)
        case "job":
            job = session.job(key)
            return "" if job is None else ActionTarget(job.job_id, {"jobId": job.job_id}, job)
        case "job schedule":
            one = session.schedule(key)
            return "" if one is None else ActionTarget(one.schedule_id, {"jobScheduleId": one.schedule_id}, one)
        case "pool":
            pool = session.pool(key)
            return "" if pool is None else _pool_target(session, pool)
        case "account":
            page = session.account()
            return ActionTarget(page.account.name, {}, AccountTarget(page, core_quotas(session.simulation)))


def _pool_target(session: Session, pool: PoolRow) -> ActionTarget | str:
    if pool.state is None:
        return f"{called('Pool', pool.pool_id)} was deleted at {session.clock(pool.record.gone_ms)}. {_AFTER}"
    scale = scale_page(session.simulation, pool.pool_id)
    row = PoolTarget(pool, None if scale is None else scale.interval_ms, core_quotas(session.simulation))
    return ActionTarget(pool.pool_id, {"poolId": pool.pool_id}, row)


_AFTER = "Nothing can be done with it any more."
_ENDING = (JobState.TERMINATING, JobState.COMPLETED, JobState.DELETING)


def _node_target(session: Session, node: int) -> ActionTarget | str:
    page = session.nodes()
    row = page.row(node)
    if row.state is None:
        return f"Node n{row.record.position} left its pool at {session.clock(row.since_ms)}. {_AFTER}"
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


@dataclass(frozen=True, eq=False)
class Action(Form):
    """An action on one or several items: one command for each, or one for all."""

    title: str
    options: Mapping[str, Sequence[str]]  # of the fields that are chosen from
    counts: tuple[tuple[str, int], ...]  # affected items, at present
    effects: tuple[str, ...]
    unavailable: str  # why the service would refuse it for every item; else empty
    better: tuple[Better, ...]
    to_type: str  # the text that confirms it; empty if none is needed
    advice: str = ""  # what a concern advises that asks for it, and why; empty if none does


def script_of(commands: Sequence[Command], now_ms: int) -> list[str]:
    """Return the timeline lines that record these commands if given now. Only the first few are shown."""
    shown = [script_line(now_ms + 1, command) for command in commands[: _MOST_SHOWN + 1]]
    rest = len(commands) - _MOST_SHOWN
    return shown if rest <= 1 else [*shown[:_MOST_SHOWN], f"and {rest:,} more"]


def actions_for(session: Session, subjects: Sequence[ItemRef]) -> list[Action]:
    """Return the actions that are possible on items of one kind. Items that no longer exist are left out."""
    if not subjects:
        return []
    found = (target_of(session, subject) for subject in subjects)
    targets = [target for target in found if isinstance(target, ActionTarget)]
    fitting = [(each, [one for one in targets if each.offered(one.row)]) for each in ACTION_TYPES[subjects[0].kind]]
    return [
        _action(session, each, those, subjects[0].kind)
        for each, those in fitting
        if those and (len(those) == 1 or each.document is None or each.is_for_many)
    ]


class ActionGroup(NamedTuple):
    """Actions on the same items; the heading names the pool or job of the items under the cursor."""

    heading: str
    actions: list[Action]


def grouped_actions(session: Session, subjects: Sequence[ItemRef]) -> list[ActionGroup]:
    """Return the actions on items of one kind, then those on the pool and on the job of the first."""
    own = actions_for(session, subjects)
    if not own:
        return []
    pool_id, job_id = _pool_and_job(session, subjects[0])
    related: dict[Kind, str] = {}
    if subjects[0].kind in ("node", "task", "job"):
        related["pool"] = pool_id
    if subjects[0].kind in ("node", "task", "pool"):
        related["job"] = job_id
    groups = [ActionGroup(f"{kind} {key}", actions_for(session, [ItemRef(kind, key)])) for kind, key in related.items()]
    groups = [ActionGroup("", own), *(group for group in groups if group.actions)]
    able = [(group, at) for group in groups for at, each in enumerate(group.actions) if not each.unavailable]
    about = about_item(session.concerns(), *subjects[0])
    fits = ((one, *each) for one in about for each in able if each[0].actions[each[1]].command == one.command)
    for one, group, at in islice(fits, 1):
        why = "; ".join(filter(None, (one.full_text, one.effect)))
        group.actions[at] = replace(group.actions[at], advice=f"Advised: {one.remedy}. The reason: {why}.")
    return groups


def _pool_and_job(session: Session, item: ItemRef) -> tuple[str, str]:
    """Return the pool and the job of an item; of a node and a pool the job in focus, if it runs there."""
    simulation, key = session.simulation, item.key
    match item.kind:
        case "job" | "task":
            job_id = job_of_task(simulation, int(key)) if item.kind == "task" else str(key)
            return pool_of_job(simulation, job_id), job_id
        case "node" | "pool":
            pool_id = pool_of_node(simulation, int(key)) if item.kind == "node" else str(key)
            return pool_id, session.job_id if pool_of_job(simulation, session.job_id) == pool_id else ""
        case _:
            return "", ""


CREATING = {
    "pool": "createPool",
    "job": "createJob",
    "tasks": "addTasks",
    "schedule": "createJobSchedule",
    "certificate": "addCertificate",
    "package": "createApplicationPackage",
    "user": "createNodeUser",
}
"""The command that creates something, by the word for it."""
NEW = tuple(CREATING)
"""The words for what can be created, as typed after ``new``."""


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
    confirms_many = len(targets) > 1 and (action.asks_for_id or action.asks_for_count)
    return Action(
        type=action,
        bodies=_bodies(action, targets),
        document=action.document_for(first, session),
        title=action.title.format(name),
        options={entry.name: entry.options_in(action.command, session) for entry in action.fields},
        counts=tuple((label, number) for label, number in counts.items() if number),
        effects=tuple(_told(effect, names, len(targets)) for effect, names in effects.items()),
        unavailable=reasons[0] if all(reasons) else "",
        better=tuple(better.values()),
        to_type=str(len(targets)) if confirms_many else targets[0].name if action.asks_for_id else "",
    )


def _told(effect: str, names: Sequence[str], targets: int) -> str:
    """Return an effect, with the names or number of the items it concerns if not all."""
    if len(names) == targets:
        return effect
    told = ", ".join(names) if len(names) <= _MOST_SHOWN else f"{len(names):,} of {targets:,}"
    return f"{effect} ({told})"


def _bodies(action: ActionType[Any], targets: Sequence[ActionTarget]) -> tuple[Body, ...]:
    """Return the part of each command's body that nobody types: one for all if it does not name the items, or all."""
    accepted = wire_names(COMMANDS[action.command])
    bodies = [{name: value for name, value in each.body.items() if name in accepted} for each in targets]
    if "nodeList" in accepted:
        bodies = [{**bodies[0], "nodeList": [each.body["node"] for each in targets]}]
    elif not bodies[0]:
        bodies = bodies[:1]
    return tuple({**body, **action.adds(each.row)} for body, each in zip(bodies, targets, strict=False))


PAST = "This is the past. Press b to branch here first."


def effect_lines(session: Session, action: Action, cells: int) -> list[Line]:
    """Return advice, better actions, items affected now, and effects by the rules."""
    advice = [session.text(action.advice), *(f"Better: {one.why}" for one in action.better)]
    better = [each for text in filter(None, advice) for each in paragraph(text, cells, Role.WARNING)]
    if action.unavailable:
        said = f"Not now: {action.unavailable}. The service would refuse it."
        return [*better, *paragraph(said, cells, Role.FAILED)]
    lines: list[Line] = []
    if action.counts:
        touched = f" {session.glyphs.dot} ".join(f"{label}: {number:,}" for label, number in action.counts)
        lines += paragraph(f"at present   {touched}", cells, Role.DIM)
    for effect in action.effects:
        lines += paragraph(f"{session.glyphs.dot} {session.text(effect)}", cells)
    return [*better, line(Span("Effects", Role.STRONG)), *lines] if lines else better


def trial_result_lines(session: Session, trial: TrialResult, cells: int) -> list[Line]:
    """Return the result of a trial, and how far it went."""
    title = line(Span("What would happen from now on", Role.STRONG))
    return [title, *trial_lines(session, trial, cells), *paragraph(heading(session, trial), cells, Role.DIM, "  ")]


def record_lines(session: Session, commands: Sequence[Command], cells: int) -> list[Line]:
    """Return the lines that record commands."""
    texts = (each for script in script_of(commands, session.now_ms) for each in wrapped(script, cells))
    lines = [line(Span(each, Role.DERIVED)) for each in texts]
    return [line(Span("Recorded as", Role.STRONG)), *lines] if lines else []


def notice_lines(title: str, notices: Sequence[str], cells: int) -> list[Line]:
    """Return notices under a title; nothing without any."""
    lines = [each for notice in notices for each in paragraph(notice, cells, Role.WARNING, "  ")]
    return [line(Span(title, Role.STRONG)), *lines] if lines else []


def joined(*parts: Sequence[Line]) -> list[Line]:
    """Return parts of a text with an empty line between them; empty parts are left out."""
    lines: list[Line] = []
    for part in filter(None, parts):
        lines += [(), *part] if lines else part
    return lines
