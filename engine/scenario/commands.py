"""Commands with the processes that act in them: finding ``does`` and ``until``, and reading a command that is typed.

``does`` and ``until`` may stand beside any command line of a scenario file. The body of a typed command is YAML or
JSON, and all mistakes are reported at their places in the text; it is read as in a scenario file: in the form that
creates the object, as a resource, or as the service returns it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.base.errors import Position, Problem, ScenarioError
from engine.base.terms import Plain
from engine.base.values import lazy_regex, text_at
from engine.scenario.bodies import report_refusals
from engine.scenario.conditions import Asked
from engine.scenario.document import Document, DocumentPlace, read_text
from engine.scenario.factory import TaskFactory
from engine.scenario.model import TimelineEntry
from engine.scenario.names import DeclaredIds
from engine.scenario.pasted import as_created, command_as_created
from engine.scenario.timeline import factory_for, read_command, read_does, read_factory, read_until
from engine.scenario.tree import ReadingStopped, Tree, parse, tree_of
from engine.specs.bodies import JobScheduleSpec, JobSpec, PoolSpec, TaskSpec
from engine.specs.command import Command
from engine.specs.commands import COMMANDS, AddTasks, CreateJob, CreateJobSchedule, CreatePool
from engine.specs.conditions import OWN_JOB, Unread, is_others_completed
from engine.specs.job_refusals import job_refusals, schedule_refusals, task_refusals
from engine.specs.pool_refusals import AccountInForce, pool_refusals

if TYPE_CHECKING:
    from engine.scenario.warnings import WarningCollector

# So many tasks of a factory are looked at for what they may make.
_MOST_TASKS = 1_000
_ACTS = lazy_regex(r"\"(?:does|until)\":")  # in JSON


class Owner(NamedTuple):
    """The job to which a process belongs: its id as conditions name it, and as it is declared; empty if not known."""

    job_id: str = ""
    declared: str = ""


UNKNOWN_OWNER = Owner()


@dataclass(slots=True)
class Given:
    """A reader of what a document gives beside its bodies: the ids that they declare, warnings, and processes that act.

    The walk through a body finds the processes in it, whose commands have bodies of their own. Without a ``collector``
    there are no warnings.
    """

    names: DeclaredIds
    asked: Asked
    collector: WarningCollector | None = None
    has_acts: bool = True  # false if no process of the document acts
    acts: dict[str, tuple[TimelineEntry, ...]] = field(default_factory=dict)  # what was read, by its text
    waits: bool = False  # some process waits for a condition

    def take(
        self,
        name: str,
        place: DocumentPlace,
        factory: TaskFactory | None = None,
        at_ms: int | None = None,
        *,
        is_refused: bool = False,
        own: Owner | None = None,
    ) -> None:
        """Read what a command brings that is given at a moment, unknown if it is None, or by a process of a job."""
        owner = _owner_in(name, place.plain, own)
        if self.collector is not None and not is_refused and name in COMMANDS:
            self.collector.name(place, at_ms)
        if own is not None and isinstance(place.plain, dict) and "jobId" not in place.plain:
            place = place._replace(tree=place.tree.with_names({"jobId": own.declared}))
            self.names.any_task |= name == "addTasks" and not own.declared
        self.names.add_command(name, place.plain, factory, at_ms=at_ms, is_refused=is_refused)
        if self.collector is not None:
            self.collector.command(name, place, factory, at_ms, is_refused=is_refused)
        if self.has_acts and name in COMMANDS:
            self._walk(place, owner)

    def _walk(self, place: DocumentPlace, owner: Owner | None) -> None:
        """Read the processes in a value; those that belong to no job are start tasks."""
        for item in place.entries():
            self._walk(item, owner)
        for name, inner in place.items():
            if not isinstance(inner.tree.value, list | dict):
                continue
            if name == "simulate":
                self.read_block(inner, owner)
            elif name == "repeatTask" and place.get("parameterSets") is not None:
                self._template(place, inner, owner)
            else:
                self._walk(inner, None if name == "startTask" else owner)

    def read_block(self, place: DocumentPlace, owner: Owner | None) -> None:
        """Read the ``simulate`` of a process, and those of its attempts and nodes."""
        asked: Asked = []
        does, until = place.get("does"), place.get("until")
        before = len(place.document.problems)
        if does is not None and isinstance(does.tree.value, list):
            found = read_does(does, asked, own_job=owner is not None)
            if len(place.document.problems) == before:
                self.acts[Unread.of(does.plain).text] = found
            factories = {entry.index: entry.factory for entry in found}
            for index, entry in enumerate(map(command_as_created, does.entries())):
                for name, body in entry.items():
                    self.take(name, body, factories.get(index), own=owner)
        if until is not None and (isinstance(until.plain, dict) or is_others_completed(until.plain)):
            read_until(until, asked, own_job=owner is not None)
        self.waits |= bool(asked)
        for inner, subject in asked:
            if owner != UNKNOWN_OWNER or subject.job_id != OWN_JOB:
                self.asked.append((inner, subject if owner is None else subject.within(owner.job_id)))
        for name in ("attempts", "onNode"):
            overrides = place.get(name)
            if overrides is not None:
                for override in (*overrides.entries(), *(value for _, value in overrides.items())):
                    self.read_block(override, owner)

    def _template(self, factory_place: DocumentPlace, place: DocumentPlace, owner: Owner | None) -> None:
        """Read the processes of a factory's tasks: mistakes of some of them, and what all of them may make."""
        if not isinstance(place.plain, dict) or not _ACTS.search(json.dumps(place.plain)):
            return
        scratch = Document(place.document.file)
        factory, _ = read_factory(DocumentPlace(scratch, factory_place.tree, factory_place.path))
        if factory is None:  # which has been reported
            factory, self.names.anything = factory_for(place), True
        before = len(place.document.problems)
        for k in factory.samples():
            if len(place.document.problems) == before:
                self._walk(DocumentPlace(place.document, _filled(place.tree, factory, k), place.path), owner)
        quiet = Given(self.names, [], acts=self.acts)
        for k in range(min(factory.count, _MOST_TASKS)):
            quiet._walk(DocumentPlace(scratch, _filled(place.tree, factory, k), place.path), owner)
        if factory.count > _MOST_TASKS:
            self.names.anything = True


def _owner_in(name: str, body: Plain, own: Owner | None) -> Owner | None:
    """Return the job of the processes in the body of a command.

    Those in a job schedule belong to its jobs, whose ids follow from the schedule's (JS-11).
    """
    own_id, job_id = text_at(body, "id"), text_at(body, "jobId")
    if name == "createJob":
        return UNKNOWN_OWNER if own_id is None else Owner(own_id, own_id)
    if name in ("createJobSchedule", "updateJobSchedule"):
        schedule_id = own_id or text_at(body, "jobScheduleId")
        return UNKNOWN_OWNER if schedule_id is None else Owner(f"{schedule_id}:job-1", schedule_id)
    return own if job_id is None else Owner(job_id, job_id)


def _filled(tree: Tree, factory: TaskFactory, k: int) -> Tree:
    """Return a template with the placeholders of task ``k`` replaced, at the positions of the template."""
    if isinstance(tree.value, dict):
        value = {name: _filled(inner, factory, k) for name, inner in tree.value.items()}
        return Tree(tree.position, value, tree.keys)
    if isinstance(tree.value, list):
        return Tree(tree.position, [_filled(inner, factory, k) for inner in tree.value])
    return Tree(tree.position, factory.filled(tree.value, k) if isinstance(tree.value, str) else tree.value)


def processes_wait(command: Command) -> bool:
    """Return whether a process in a command given as an object waits for a condition.

    Raises:
        ScenarioError: What a process does has mistakes; all of them are listed.
    """
    if not _ACTS.search(command.model_dump_json(by_alias=True, exclude_unset=True)):
        return False

    def read(place: DocumentPlace) -> Given:
        given = Given(DeclaredIds(), [])
        for name, body in place.items():
            given.take(name, body)
        return given

    text = json.dumps({command.NAME: command.wire()}, separators=(",", ":"))
    return read_text(command.NAME, text, read).waits


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


def read_typed(
    name: str,
    body: str | Mapping[str, Any],
    beside: Mapping[str, Any] | None = None,
    account: AccountInForce | None = None,
) -> TypedCommand:
    """Return the command of this name with a body.

    Args:
        name: The name of the command on the wire.
        body: The body, or its YAML or JSON. As text, a whole entry of a timeline may be pasted, a list of one body, or
            a list of tasks to add.
        beside: The ids that stand beside the body, such as ``poolId``.
        account: Needed to find what the service would refuse in a pool.
    """
    document = Document("")
    known = dict(beside or {})
    command, place = None, None
    with suppress(ReadingStopped):
        tree = parse(body, document.report) if isinstance(body, str) else tree_of(dict(body))
        if tree is not None and tree.value is not None:
            place = _body_place(DocumentPlace(document, tree), name)
            if known and isinstance(place.tree.value, dict):  # what was typed does not change them
                place = place._replace(tree=place.tree.with_names(known))
            place = as_created(place, COMMANDS[name], known)
            if place.is_a(dict, "must be a mapping, such as id: nightly"):
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
    read = None
    if place is not None and isinstance(place.plain, dict):
        read = {key: value for key, value in place.plain.items() if key not in known}
    refusals = tuple(_refusals(place, command, account)) if command is not None and place is not None else ()
    mistakes = sorted(document.problems, key=lambda problem: (problem.line, problem.column))
    return TypedCommand(command, read, tuple(mistakes), refusals, tuple(document.warnings))


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
    is_task = isinstance(value, dict) and "commandLine" in value
    if not adds_tasks or not (is_task or isinstance(value, list)):
        return place
    position = place.tree.position
    tasks = Tree(position, [place.tree]) if is_task else place.tree
    return place._replace(tree=Tree(position, {"tasks": tasks}, {"tasks": position}, {"tasks": place.path}))


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
                for task, body in zip(command.tasks, place.listed("tasks"), strict=False):
                    report_refusals(body, TaskSpec, task_refusals(task, spec))
            case CreateJobSchedule():
                report_refusals(place, JobScheduleSpec, schedule_refusals(command.spec))
    yield from found.problems
