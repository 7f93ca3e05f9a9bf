"""Forms as bodies and bodies as forms: what was typed is kept, and mistakes stand at their places.

A form begins with the body of a new item, of a copy of a present one, or of what can change of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from engine.base.errors import Problem
from engine.base.terms import Plain
from engine.base.values import lazy_regex
from engine.scenario.commands import TypedCommand, read_typed
from engine.scenario.record import block_text, flow_text
from engine.scenario.text import shown
from engine.specs.command import Command
from engine.specs.commands import COMMANDS, AddTasks
from engine.views.resources.account import account_in_force, schedule_ids
from engine.views.resources.jobs import job_ids, pool_ids
from engine.views.rest.lookup import (
    job_as_created,
    pool_as_created,
    schedule_as_created,
    task_as_created,
    task_constraints,
    tasks_as_created,
)
from tui.viewmodels.actions.action import (
    COUNT,
    EACH,
    FIRST_ID,
    Body,
    Document,
    Field,
    cautions_about_job,
    cautions_about_schedule,
    cautions_about_tasks,
    fold_tasks,
    pool_for_jobs,
    property_at,
    unfold_tasks,
    with_property,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tui.viewmodels.session import Session


_DEFAULT_SIZE = "standard_d2s_v3"
_POOL_CHANGES = (
    "displayName",
    "taskSlotsPerNode",
    "taskSchedulingPolicy",
    "targetNodeCommunicationMode",
    "enableInterNodeCommunication",
    "startTask",
    "applicationPackageReferences",
    "certificateReferences",
    "metadata",
)
_POOL_PROPERTIES = (
    "startTask",
    "applicationPackageReferences",
    "certificateReferences",
    "metadata",
    "targetNodeCommunicationMode",
)
_JOB_CHANGES = (
    "priority",
    "poolInfo",
    "maxParallelTasks",
    "onAllTasksComplete",
    "constraints",
    "allowTaskPreemption",
    "networkConfiguration",
    "metadata",
)
_SCHEDULE_CHANGES = ("schedule", "jobSpecification", "metadata")


# -- ids


def free_id(taken: Sequence[str], stem: str) -> str:
    """Return the first id that is not taken: ``pool-1``, ``pool-2`` and so on."""
    known = {each.lower() for each in taken}
    number = 1
    while f"{stem}-{number}".lower() in known:
        number += 1
    return f"{stem}-{number}"


def taken_ids(session: Session) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    """Return the ids of pools, jobs and job schedules."""
    simulation = session.simulation
    return pool_ids(simulation), job_ids(simulation), schedule_ids(simulation)


def with_id(body: Body, new_id: str) -> dict[str, Any]:
    """Return a body under another id."""
    return {"id": new_id, **{name: value for name, value in with_property(body, "id", None).items() if name != "id"}}


def _some(body: Body | None, names: Iterable[str]) -> dict[str, Any]:
    return {name: body[name] for name in names if name in body} if body is not None else {}


# -- new items


def new_pool(session: Session, beginning: Body | None = None) -> Document:
    """Return the body of a new pool of two nodes, or of one like ``beginning``."""
    pools, _, _ = taken_ids(session)
    start: Body = beginning or {"id": free_id(pools, "pool"), "vmSize": _DEFAULT_SIZE, "targetDedicatedNodes": 2}
    return Document(start, account=account_in_force(session.simulation))


def new_job(session: Session, pool_id: str = "") -> Document:
    """Return the body of a new job in this pool, else in the one in focus."""
    _, jobs, schedules = taken_ids(session)
    pool = pool_id or pool_for_jobs(session)
    start: dict[str, Any] = {"id": free_id((*jobs, *schedules), "job")}
    return _job(session, {**start, **({"poolInfo": {"poolId": pool}} if pool else {})})


def _job(session: Session, start: Body) -> Document:
    return Document(
        start,
        unfold=unfold_tasks,
        fold=partial(fold_tasks, default_id=FIRST_ID),
        cautions=lambda body: cautions_about_job(session, body),
    )


def new_tasks(session: Session, job_id: str, beginning: Body | None = None) -> Document:
    """Return the body that adds a task to a job."""
    page = session.tasks(job_id)
    stem = "task"
    while page.find(f"{stem}-1") is not None or page.find(stem) is not None:
        stem += "-new"
    task = beginning or {"id": stem, "commandLine": "work", "simulate": {"duration": "PT1M"}}
    return Document(
        {"tasks": [task]},
        unfold=unfold_one_task,
        fold=fold_tasks,
        cautions=lambda _: cautions_about_tasks(session, job_id),
    )


def unfold_one_task(body: Body) -> Body:
    """Return a body that adds tasks with its task as a description; one without any describes none yet."""
    found = unfold_tasks(body)
    return found if EACH in found or {"tasks", "taskFactory"} & set(found) else {**found, EACH: {}, COUNT: 1}


def new_certificate(number: int) -> Document:
    """Return the body of a new certificate, with a thumbprint of forty hexadecimal digits."""
    return Document({"thumbprint": f"{number:040x}", "thumbprintAlgorithm": "sha1"})


def new_schedule(session: Session) -> Document:
    """Return the body of a new job schedule whose jobs run in the pool in focus."""
    _, jobs, schedules = taken_ids(session)
    pool_id = pool_for_jobs(session)
    pool = {"poolInfo": {"poolId": pool_id}} if pool_id else {}
    return _schedule(
        session,
        {
            "id": free_id((*schedules, *jobs), "schedule"),
            "schedule": {"recurrenceInterval": "PT1H"},
            "jobSpecification": {**pool, "onAllTasksComplete": "terminatejob"},
        },
    )


def _schedule(session: Session, start: Body) -> Document:
    return Document(start, cautions=lambda body: cautions_about_schedule(session, body))


# -- copies


def _copy_id(taken: Iterable[str], old: str) -> str:
    known = {each.lower() for each in taken}
    new, number = f"{old}-copy", 2
    while new.lower() in known:
        new, number = f"{old}-copy-{number}", number + 1
    return new


def pool_like(session: Session, pool_id: str) -> Document:
    """Return the body of a pool like this one, under a new id."""
    body = pool_as_created(session.simulation, pool_id) or {}
    return new_pool(session, with_id(body, _copy_id(taken_ids(session)[0], pool_id)))


def job_like(session: Session, job_id: str) -> Document:
    """Return the body of a job like this one, with the tasks that it was created with, under a new id."""
    _, jobs, schedules = taken_ids(session)
    body = job_as_created(session.simulation, job_id) or {}
    start = with_id(body, _copy_id((*jobs, *schedules), job_id)) | tasks_as_created(session.simulation, job_id)
    return _job(session, start)


def task_like(session: Session, job_id: str, task: int) -> Document:
    """Return the body that adds a task like this one, under a new id."""
    page = session.tasks(job_id)
    body = task_as_created(session.simulation, task) or {}
    old = str(body.get("id", "task"))
    new, number = f"{old}-copy", 2
    while page.find(new) is not None:
        new, number = f"{old}-copy-{number}", number + 1
    return new_tasks(session, job_id, with_id(body, new))


def schedule_like(session: Session, schedule_id: str) -> Document:
    """Return the body of a job schedule like this one, under a new id."""
    _, jobs, schedules = taken_ids(session)
    body = schedule_as_created(session.simulation, schedule_id) or {}
    return _schedule(session, with_id(body, _copy_id((*schedules, *jobs), schedule_id)))


# -- changes


def changes_of_pool(session: Session, pool_id: str) -> Document:
    """Return what can change of a pool; what differs is sent."""
    return Document(_some(pool_as_created(session.simulation, pool_id), _POOL_CHANGES), is_patch=True)


def properties_of_pool(session: Session, pool_id: str) -> Document:
    """Return the properties of a pool that are replaced as a whole."""
    return Document(_some(pool_as_created(session.simulation, pool_id), _POOL_PROPERTIES))


def changes_of_job(session: Session, job_id: str) -> Document:
    """Return what can change of a job; what differs is sent."""
    return Document(_some(job_as_created(session.simulation, job_id), _JOB_CHANGES), is_patch=True)


def changes_of_task(session: Session, task: int) -> Document:
    """Return the constraints of a task, which are replaced as a whole."""
    limits = task_constraints(session.simulation, task)
    shown = {name: value for name, value in limits.items() if not str(value).startswith("P10675199D")}
    return Document({"constraints": shown})


def changes_of_schedule(session: Session, schedule_id: str) -> Document:
    """Return what can change of a job schedule; what differs is sent."""
    return Document(_some(schedule_as_created(session.simulation, schedule_id), _SCHEDULE_CHANGES), is_patch=True)


# The service takes so many tasks in one request, and so many bytes (TASK-3).
_MOST_TASKS = 100
_MOST_BYTES = 900_000
_ONE_TASK = lazy_regex(r"^(?:tasks\[0\]|taskFactory\.repeatTask)(?=\.|$)")


class FormMistake(NamedTuple):
    """A mistake in a form: of a field if ``name`` is that of one, else of the body; ``line`` 0 is nowhere in a text."""

    message: str
    name: str = ""
    label: str = ""
    line: int = 0
    column: int = 0

    @property
    def sentence(self) -> str:
        """The mistake with its place, in words."""
        if self.label:
            return f"{self.label}: {self.message}"
        place = f"{self.line}:{self.column}: " if self.line else ""
        return f"{place}{f'{self.name}: ' if self.name else ''}{self.message}"


class FormResult(NamedTuple):
    """The typed text as commands; there are none while there are mistakes. ``refusals`` are the service's."""

    commands: tuple[Command, ...]
    mistakes: tuple[FormMistake, ...] = ()
    refusals: tuple[FormMistake, ...] = ()
    warnings: tuple[FormMistake, ...] = ()


def texts_of(fields: Sequence[Field[Any]], document: Document, body: Body) -> dict[str, str]:
    """Return the texts of the fields for a body."""
    unfolded = document.unfold(body)
    return {field.name: field.text_in(unfolded) for field in fields}


def body_of(
    command: str, fields: Sequence[Field[Any]], document: Document, base: Body, texts: Mapping[str, str]
) -> tuple[dict[str, Any], list[FormMistake]]:
    """Return the body for what was typed into the fields, and mistakes of single fields.

    Properties of ``base`` that have no field, or whose field was not changed, stay as they are.
    """
    body: dict[str, Any] = dict(document.unfold(base))
    before = {field.name: field.text_in(body) for field in fields}
    mistakes = []
    for field in fields:
        text = texts.get(field.name, "")
        if text.strip() == before[field.name].strip():
            continue
        try:
            body = field.put_into(body, text, command)
        except ValueError as error:
            mistakes.append(FormMistake(str(error), field.name, field.label))
    for field in fields:
        is_given = bool(texts.get(field.name, "").strip())
        if field.is_required and not is_given and not _is_listed(field, body):
            mistakes.append(FormMistake("is required", field.name, field.label))
    return dict(document.fold(body)), mistakes


def _is_listed(field: Field[Any], body: Body) -> bool:
    """Return whether a body has what the field describes in a form that the fields do not show."""
    if field.name.startswith(EACH):
        return bool({"tasks", "taskFactory"} & set(body))
    return property_at(body, field.name) is not None or "autoPoolSpecification" in json.dumps(body.get("poolInfo", ""))


def text_of(body: Body) -> str:
    """Return a body as YAML, to be edited."""
    return block_text(cast("Plain", body)) if body else ""


def read_form(
    command: str,
    beside: Sequence[Body],
    document: Document,
    fields: Sequence[Field[Any]],
    texts: Mapping[str, str],
    base: Body | None = None,
) -> FormResult:
    """Return what was typed into the fields as commands; ``base`` has the properties without a field."""
    body, mistakes = body_of(command, fields, document, document.start if base is None else base, texts)
    if mistakes:
        return FormResult((), tuple(mistakes))
    result = read_text(command, beside, document, text_of(body) or "{}")
    labels = {field.name: field.label for field in fields}

    def placed(found: Sequence[FormMistake]) -> tuple[FormMistake, ...]:
        return tuple(_of_field(each, labels) for each in found)

    return result._replace(
        mistakes=placed(result.mistakes), refusals=placed(result.refusals), warnings=placed(result.warnings)
    )


def _of_field(mistake: FormMistake, labels: Mapping[str, str]) -> FormMistake:
    """Return a mistake of a body as one of the field that sets the property, or the first one inside it."""
    name = _ONE_TASK.sub(EACH, mistake.name)
    name = COUNT if name.startswith("taskFactory") else name
    inner = next((label for label in labels if label.startswith(f"{name}.")), "") if name else ""
    while name and name not in labels:
        name = name.rpartition(".")[0]
    name = name or inner
    if not name:
        return mistake._replace(line=0, column=0)
    return FormMistake(mistake.message, name, labels[name])


def read_text(command: str, beside: Sequence[Body], document: Document, text: str) -> FormResult:
    """Return a body that was typed as commands, one for each of ``beside``, the ids beside it."""
    commands: list[Command] = []
    typed = TypedCommand(None, None, ())
    for names in beside:
        typed = read_typed(command, text, cast("Mapping[str, Plain]", names), document.account)
        if typed.command is None:
            return FormResult((), tuple(map(_mistake, typed.mistakes)))
        given: Command = typed.command
        if document.is_patch:
            changed = _changes(document.start, typed.body or {})
            if not changed:
                return FormResult((), (FormMistake("Nothing differs yet: change a property first."),))
            given = COMMANDS[command].from_wire({**names, **changed})
        commands += in_requests(given)
    refusals, warnings = (tuple(map(_mistake, each)) for each in (typed.refusals, typed.warnings))
    cautions = tuple(FormMistake(said, path) for path, said in document.cautions(typed.body or {}))
    return FormResult(tuple(commands), (), refusals, (*warnings, *cautions))


def _changes(before: Body, after: Body) -> dict[str, object]:
    return {name: value for name, value in after.items() if before.get(name) != value}


def _mistake(problem: Problem) -> FormMistake:
    return FormMistake(problem.message, problem.path, "", problem.line, problem.column)


def read_bodies(command: str, bodies: Sequence[Mapping[str, object]], fields: Sequence[Field[Any]]) -> FormResult:
    """Return bodies that differ in the ids beside them as commands, with mistakes at the fields."""
    labels = {field.name: field.label for field in fields}
    typed = read_typed(command, flow_text(cast("Plain", bodies[0])))
    if typed.command is None:
        return FormResult((), tuple(_of_field(_mistake(each), labels) for each in typed.mistakes))
    return FormResult((typed.command, *(COMMANDS[command].from_wire(body) for body in bodies[1:])))


def in_requests(command: Command) -> list[Command]:
    """Return a command as the requests that the service takes: so many tasks in each (TASK-3)."""
    if not isinstance(command, AddTasks) or not command.tasks:
        return [command]
    body = command.wire()
    tasks = body.pop("tasks", None) or body.pop("value", [])
    factory = {name: value for name, value in body.items() if name == "taskFactory"}
    rest = {name: value for name, value in body.items() if name != "taskFactory"}
    cuts, size = [0], 0
    for at, task in enumerate(tasks):
        bytes_of_task = len(json.dumps(task))
        if at - cuts[-1] >= _MOST_TASKS or (size + bytes_of_task > _MOST_BYTES and at > cuts[-1]):
            cuts.append(at)
            size = 0
        size += bytes_of_task
    if len(cuts) == 1:
        return [command]
    requests = [{**rest, "tasks": tasks[begin:end]} for begin, end in pairwise([*cuts, len(tasks)])]
    requests += [{**rest, **factory}] if factory else []
    return [AddTasks.from_wire(each) for each in requests]


def first_lines(mistakes: Sequence[FormMistake], most: int) -> list[str]:
    """Return the first mistakes as sentences, and how many more there are."""
    said = [each.sentence for each in mistakes[:most]]
    rest = len(mistakes) - most
    return said if rest <= 0 else [*said, f"and {rest:,} more"]


def base_for(typed: str, command: str, beside: Sequence[Body], document: Document) -> Body | str:
    """Return the body in a text, in the form that creates the thing; a sentence if the text cannot be read as one."""
    found = read_typed(
        command, typed or "{}", cast("Mapping[str, Plain]", beside[0] if beside else {}), document.account
    )
    if found.body is None:
        first = found.mistakes[0]
        return f"Line {first.line}: {first.message}"
    unfolded = document.unfold(found.body)
    if {"tasks", "taskFactory"} & set(unfolded) and EACH not in unfolded and command == "addTasks":
        return f"Several tasks of their own, {shown('tasks')}, can be edited only as a body."
    return found.body
