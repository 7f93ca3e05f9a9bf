"""A form as a body and a body as a form: what was typed is kept, and mistakes stand at their places."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

from engine.base.errors import Problem
from engine.base.lazy import lazy_regex
from engine.base.terms import Plain
from engine.scenario.record import block_text, flow_text
from engine.scenario.typed import TypedCommand, read_typed
from engine.scenario.wording import shown
from engine.specs.command import Command
from engine.specs.commands import COMMANDS, AddTasks
from tui.viewmodels.actions.action import Document
from tui.viewmodels.actions.fields import Body, Field, property_at
from tui.viewmodels.actions.many_tasks import COUNT, EACH

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
    fields: Sequence[Field[Any]], document: Document, base: Body, texts: Mapping[str, str]
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
            body = field.put_into(body, text)
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
    body, mistakes = body_of(fields, document, document.start if base is None else base, texts)
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
