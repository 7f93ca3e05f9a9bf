"""Forms as bodies and bodies as forms: what was typed is kept, and mistakes stand at their places.

A form begins with the body of a new item, of a copy of a present one, or of what can change of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from engine.base.errors import Problem
from engine.base.terms import Plain
from engine.base.values import lazy_regex, words
from engine.scenario.commands import TypedCommand, read_typed
from engine.scenario.record import block_text
from engine.scenario.text import shown
from engine.specs.base import wire_names
from engine.specs.bodies import JobScheduleUpdate, PoolReplacement
from engine.specs.command import Command
from engine.specs.commands import COMMANDS
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
    ActionType,
    Body,
    Document,
    Field,
    cautions_about_job,
    fold_tasks,
    pool_for_jobs,
    property_at,
    unfold_tasks,
)

if TYPE_CHECKING:
    from engine import Simulation
    from tui.viewmodels.session import Session


# How to read a body that each of these commands changes, and what it can change, in the order in which a body shows it.
_CHANGEABLE: dict[str, tuple[Callable[[Simulation, str], Body | None], tuple[str, ...]]] = {
    "updatePool": (
        pool_as_created,
        words(
            "displayName taskSlotsPerNode taskSchedulingPolicy targetNodeCommunicationMode enableInterNodeCommunication"
            " startTask applicationPackageReferences certificateReferences metadata"
        ),
    ),
    "replacePoolProperties": (pool_as_created, wire_names(PoolReplacement)),
    "updateJob": (
        job_as_created,
        words(
            "priority poolInfo maxParallelTasks onAllTasksComplete constraints allowTaskPreemption networkConfiguration"
            " metadata"
        ),
    ),
    "updateJobSchedule": (schedule_as_created, wire_names(JobScheduleUpdate)),
}


# -- ids


def _among(*ids: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that says whether a name is one of these ids, in any case of letters."""
    known = {each.lower() for each in chain(*ids)}
    return lambda name: name.lower() in known


def _pool_ids(session: Session) -> Callable[[str], bool]:
    return _among(pool_ids(session.simulation))


def _job_ids(session: Session) -> Callable[[str], bool]:
    """Return a function that says whether a job or a job schedule has an id."""
    return _among(job_ids(session.simulation), schedule_ids(session.simulation))


def _free_id(stem: str, is_taken: Callable[[str], bool]) -> str:
    """Return the first id that is not taken: ``pool-1``, ``pool-2`` and so on."""
    return next(name for number in count(1) if not is_taken(name := f"{stem}-{number}"))


def _copy_of(body: Body | None, old: str, is_taken: Callable[[str], bool]) -> dict[str, Any]:
    """Return a body under a new id."""
    stem = f"{old}-copy"
    names = chain((stem,), (f"{stem}-{number}" for number in count(2)))
    rest = {name: value for name, value in (body or {}).items() if name != "id"}
    return {"id": next(name for name in names if not is_taken(name)), **rest}


# -- new items


def _pool(session: Session, start: Body) -> Document:
    return Document(start, account=account_in_force(session.simulation))


def new_pool(session: Session) -> Document:
    """Return the body of a new pool of two nodes."""
    pool_id = _free_id("pool", _pool_ids(session))
    return _pool(session, {"id": pool_id, "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 2})


def _in_pool(pool_id: str) -> dict[str, Any]:
    return {"poolInfo": {"poolId": pool_id}} if pool_id else {}


def new_job(session: Session, pool_id: str = "") -> Document:
    """Return the body of a new job in this pool, else in the one in focus."""
    pool = _in_pool(pool_id or pool_for_jobs(session))
    return _job({"id": _free_id("job", _job_ids(session)), **pool})


def _job(start: Body) -> Document:
    return Document(
        start,
        unfold=unfold_tasks,
        fold=partial(fold_tasks, default_id=FIRST_ID),
        cautions=cautions_about_job,
    )


def new_tasks(session: Session, job_id: str) -> Document:
    """Return the body that adds a task to a job."""
    page = session.tasks(job_id)
    stem = "task"
    while page.find(f"{stem}-1") is not None or page.find(stem) is not None:
        stem += "-new"
    return _tasks({"id": stem, "commandLine": "work", "simulate": {"duration": "PT1M"}})


def _tasks(task: Body) -> Document:
    return Document({"tasks": [task]}, unfold=partial(unfold_tasks, needs_one=True), fold=fold_tasks)


def new_certificate(number: int) -> Document:
    """Return the body of a new certificate, with a thumbprint of forty hexadecimal digits."""
    return Document({"thumbprint": f"{number:040x}", "thumbprintAlgorithm": "sha1"})


def new_schedule(session: Session) -> Document:
    """Return the body of a new job schedule whose jobs run in the pool in focus."""
    start = {
        "id": _free_id("schedule", _job_ids(session)),
        "schedule": {"recurrenceInterval": "PT1H"},
        "jobSpecification": {**_in_pool(pool_for_jobs(session)), "onAllTasksComplete": "terminatejob"},
    }
    return _schedule(start)


def _schedule(start: Body) -> Document:
    return Document(start, cautions=partial(cautions_about_job, prefix="jobSpecification."))


# -- copies


def pool_like(session: Session, pool_id: str) -> Document:
    """Return the body of a pool like this one, under a new id."""
    return _pool(session, _copy_of(pool_as_created(session.simulation, pool_id), pool_id, _pool_ids(session)))


def job_like(session: Session, job_id: str) -> Document:
    """Return the body of a job like this one, with the tasks that it was created with, under a new id."""
    body = _copy_of(job_as_created(session.simulation, job_id), job_id, _job_ids(session))
    return _job(body | tasks_as_created(session.simulation, job_id))


def task_like(session: Session, job_id: str, task: int) -> Document:
    """Return the body that adds a task like this one, under a new id."""
    page = session.tasks(job_id)
    body = task_as_created(session.simulation, task) or {}
    copied = _copy_of(body, str(body.get("id", "task")), lambda name: page.find(name) is not None)
    return _tasks(copied)


def schedule_like(session: Session, schedule_id: str) -> Document:
    """Return the body of a job schedule like this one, under a new id."""
    body = schedule_as_created(session.simulation, schedule_id)
    return _schedule(_copy_of(body, schedule_id, _job_ids(session)))


# -- changes


def changes(session: Session, command: str, identity: str) -> Document:
    """Return what a command can change of the thing with this id; of all but a replacement, what differs is sent."""
    as_created, names = _CHANGEABLE[command]
    body = as_created(session.simulation, identity) or {}
    start = {name: body[name] for name in names if name in body}
    return Document(start, is_patch=command != "replacePoolProperties")


def changes_of_task(session: Session, task: int) -> Document:
    """Return the constraints of a task, which are replaced as a whole."""
    limits = task_constraints(session.simulation, task)
    shown = {name: value for name, value in limits.items() if not str(value).startswith("P10675199D")}
    return Document({"constraints": shown})


_MOST_SHOWN = 8  # mistakes
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


@dataclass(frozen=True)
class Form:
    """The form of an action: it makes a command of what is typed with each of ``bodies``, the ids beside it."""

    type: ActionType[Any]
    bodies: tuple[Body, ...]
    document: Document

    @property
    def command(self) -> str:
        """The name of the command on the wire."""
        return self.type.command

    @cached_property
    def defaults(self) -> dict[str, str]:
        """The texts that the fields begin with, by the names of their properties."""
        return self.texts_of(self.document.start)

    def texts_of(self, body: Body) -> dict[str, str]:
        """Return the texts of the fields for a body."""
        unfolded = self.document.unfold(body)
        return {field.name: field.text_in(unfolded) for field in self.type.fields}

    def body_of(self, base: Body, texts: Mapping[str, str]) -> tuple[dict[str, Any], list[FormMistake]]:
        """Return the body for what was typed into the fields, and mistakes of single fields.

        Properties of ``base`` that have no field, or whose field was not changed, stay as they are.
        """
        body: dict[str, Any] = dict(self.document.unfold(base))
        before = self.texts_of(base)
        mistakes = []
        for field in self.type.fields:
            text = texts.get(field.name, "")
            if text.strip() == before[field.name].strip():
                continue
            try:
                body = field.put_into(body, text, self.command)
            except ValueError as error:
                mistakes.append(FormMistake(str(error), field.name, field.label))
        for field in self.type.fields:
            is_given = bool(texts.get(field.name, "").strip())
            if field.is_required and not is_given and not _is_listed(field, body):
                mistakes.append(FormMistake("is required", field.name, field.label))
        return dict(self.document.fold(body)), mistakes

    def read_fields(self, texts: Mapping[str, str], base: Body | None = None) -> FormResult:
        """Return what was typed into the fields as commands, with all mistakes.

        Args:
            texts: What was typed, by the names of the properties.
            base: The whole body with the properties that have no field; by default the one that the form begins with.
        """
        body, mistakes = self.body_of(self.document.start if base is None else base, texts)
        if mistakes:
            return FormResult((), tuple(mistakes))
        commands, *found = self.read_body(body)
        labels = {field.name: field.label for field in self.type.fields}
        return FormResult(commands, *(tuple(_of_field(each, labels) for each in some) for some in found))

    def read_body(self, body: Body | str) -> FormResult:
        """Return a body as commands; a text is what an editor has."""
        typed = self._typed(body)
        if typed.command is None or typed.body is None:
            return FormResult((), _mistakes(typed.mistakes))
        first, sent = typed.command, typed.body
        if self.document.is_patch:
            sent = {name: value for name, value in sent.items() if self.document.start.get(name) != value}
            if not sent:
                return FormResult((), (FormMistake("Nothing differs yet: change a property first."),))
            first = COMMANDS[self.command].from_wire({**sent, **self.bodies[0]})
        commands = [first, *(COMMANDS[self.command].from_wire({**sent, **beside}) for beside in self.bodies[1:])]
        cautions = tuple(FormMistake(said, path) for path, said in self.document.cautions(typed.body))
        warnings = (*_mistakes(typed.warnings), *cautions)
        return FormResult(tuple(commands), (), _mistakes(typed.refusals), warnings)

    def _typed(self, body: Body | str) -> TypedCommand:
        return read_typed(self.command, body, self.bodies[0], self.document.account)

    def base_for(self, typed: str) -> Body | str:
        """Return the body in a text, in the form that creates the thing; a sentence if it cannot be read as one."""
        found = self._typed(typed or "{}")
        if found.body is None:
            first = found.mistakes[0]
            return f"Line {first.line}: {first.message}"
        unfolded = self.document.unfold(found.body)
        if {"tasks", "taskFactory"} & set(unfolded) and EACH not in unfolded and self.command == "addTasks":
            return f"Several tasks of their own, {shown('tasks')}, can be edited only as a body."
        return found.body


def _is_listed(field: Field[Any], body: Body) -> bool:
    """Return whether a body has what the field describes in a form that the fields do not show."""
    if field.name.startswith(EACH):
        return bool({"tasks", "taskFactory"} & set(body))
    return property_at(body, field.name) is not None or "autoPoolSpecification" in json.dumps(body.get("poolInfo", ""))


def text_of(body: Body) -> str:
    """Return a body as YAML, to be edited."""
    return block_text(cast("Plain", body)) if body else ""


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


def _mistakes(problems: Sequence[Problem]) -> tuple[FormMistake, ...]:
    return tuple(FormMistake(each.message, each.path, "", each.line, each.column) for each in problems)


def first_lines(mistakes: Sequence[FormMistake]) -> list[str]:
    """Return the first mistakes as sentences, and how many more there are."""
    said = [each.sentence for each in mistakes[:_MOST_SHOWN]]
    rest = len(mistakes) - _MOST_SHOWN
    return said if rest <= 0 else [*said, f"and {rest:,} more"]
