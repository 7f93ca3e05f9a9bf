"""Reading a command that somebody types: its body as YAML or JSON, with all mistakes at their places in the text.

A body is read as in a scenario file: in the form that creates the thing, as a resource, or as the service returns it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from engine.base.errors import Position, Problem, ScenarioError
from engine.base.terms import Plain
from engine.scenario.acting_processes import processes_wait
from engine.scenario.bodies import report_refusals
from engine.scenario.document import Document, DocumentPlace
from engine.scenario.pasted import as_created
from engine.scenario.timeline import read_command
from engine.scenario.tree import ReadingStopped, Tree, parse
from engine.specs.account import Account
from engine.specs.command import Command
from engine.specs.commands import COMMANDS, AddTasks, CreateJob, CreateJobSchedule, CreatePool
from engine.specs.job import JobSpec
from engine.specs.pool import PoolSpec
from engine.specs.refusals.job import job_refusals, schedule_refusals, task_refusals
from engine.specs.refusals.pool import PoolSetting, pool_refusals
from engine.specs.schedule import JobScheduleSpec
from engine.specs.task import TaskSpec


class TypedCommand(NamedTuple):
    """A command as it was typed.

    ``command`` is None if it has mistakes. ``body`` is its body in the form that creates the thing, without the names
    that stand beside it, and None if the text cannot be read at all. ``refusals`` are the mistakes for which the
    service would reject the command.
    """

    command: Command | None
    body: dict[str, Plain] | None
    mistakes: tuple[Problem, ...]
    refusals: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


class AccountInForce(NamedTuple):
    """The account at this moment and the settings of its pools, by which the service refuses pools."""

    account: Account
    setting: PoolSetting


def read_typed(
    name: str, text: str, beside: Mapping[str, Plain] | None = None, account: AccountInForce | None = None
) -> TypedCommand:
    """Return the command of this name with the body in ``text``.

    Args:
        name: The name of the command on the wire.
        text: YAML or JSON. A whole entry of a timeline may be pasted, a list of one body, or a list of tasks to add.
        beside: The ids that stand beside the body, such as ``poolId``.
        account: Needed to find what the service would refuse in a pool.
    """
    document = Document("")
    known = dict(beside or {})
    command, place = None, None
    with suppress(ReadingStopped):
        tree = parse(text, document.report)
        if tree is not None and tree.value is not None:
            place = _body_place(DocumentPlace(document, tree), name)
            place = place._replace(tree=_with_names(place.tree, known))
            place = as_created(place, COMMANDS[name], known)
            if not isinstance(place.tree.value, dict):
                place.report("must be a mapping, such as id: nightly")
            else:
                given = read_command(name, place)
                command = None if document.problems or given is None else given[0]
        elif not document.problems:
            document.report("there is nothing here yet", Position(1, 1))
    if command is not None:
        try:
            processes_wait(command)
        except ScenarioError as error:
            document.problems += error.problems
            command = None
    body = None
    if place is not None and isinstance(place.plain, dict):
        body = {key: value for key, value in place.plain.items() if key not in known}
    refusals = tuple(_refusals(place, command, account)) if command is not None and place is not None else ()
    mistakes = sorted(document.problems, key=lambda problem: (problem.line, problem.column))
    return TypedCommand(command, body, tuple(mistakes), refusals, tuple(document.warnings))


def _body_place(place: DocumentPlace, name: str) -> DocumentPlace:
    """Return the body in what was pasted: an entry of a timeline, a list of one body, or one or several tasks."""
    value = place.tree.value
    adds_tasks = issubclass(COMMANDS[name], AddTasks)
    if isinstance(value, list) and len(value) == 1 and not adds_tasks:
        place = next(place.entries())
        value = place.tree.value
    if isinstance(value, dict) and (entry := place.get(name)) is not None:
        place = entry
        value = place.tree.value
    if adds_tasks and isinstance(value, dict) and "commandLine" in value:
        return _as_tasks(place, Tree(place.tree.position, [place.tree], size=place.tree.size + 1))
    if adds_tasks and isinstance(value, list):
        return _as_tasks(place, place.tree)
    return place


def _as_tasks(place: DocumentPlace, tasks: Tree) -> DocumentPlace:
    position = place.tree.position
    tree = Tree(position, {"tasks": tasks}, {"tasks": position}, {"tasks": place.path}, size=tasks.size + 1)
    return place._replace(tree=tree)


def _with_names(tree: Tree, beside: Mapping[str, Plain]) -> Tree:
    """Return a mapping with the names that stand beside the body; what was typed does not change them."""
    if not isinstance(tree.value, dict) or not beside:
        return tree
    names = {key: Tree(tree.position, value) for key, value in beside.items() if not isinstance(value, dict | list)}
    keys = {**tree.keys, **dict.fromkeys(names, tree.position)}
    return Tree(tree.position, {**tree.value, **names}, keys, tree.origins, tree.size + len(names))


def _refusals(place: DocumentPlace, command: Command, account: AccountInForce | None) -> Iterator[Problem]:
    """Yield what the service would refuse in a body, as ``check`` reports it."""
    found = Document("")
    place = place._replace(document=found)
    with suppress(ReadingStopped):
        match command:
            case CreatePool() if account is not None:
                report_refusals(place, PoolSpec, pool_refusals(command.spec, *account))
            case CreateJob():
                spec = command.spec
                report_refusals(place, JobSpec, job_refusals(spec))
                _report_tasks(place, command.tasks, spec)
            case CreateJobSchedule():
                report_refusals(place, JobScheduleSpec, schedule_refusals(command.spec))
    yield from found.problems


def _report_tasks(place: DocumentPlace, tasks: tuple[TaskSpec, ...], job: JobSpec) -> None:
    written = place.get("tasks")
    for task, body in zip(tasks, written.entries() if written is not None else (), strict=False):
        report_refusals(body, TaskSpec, task_refusals(task, job))
