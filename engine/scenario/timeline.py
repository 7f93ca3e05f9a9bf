"""Reading tasks, ``timeline``, and ``does`` and ``until`` of processes.

The tasks of a job are listed, or come from its ``taskFactory``: a parametric sweep or a collection of tasks. Lines of a
timeline that add ordinary tasks need no warning, so they are read without their places: a log of a cluster has hundreds
of thousands of them. ``does`` has the commands that a process gives while it runs, and ``until`` what ends it (JM-11).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import chain
from math import prod
from typing import Any, NamedTuple, TypeGuard

from pydantic import ValidationError

from engine.base.terms import Plain
from engine.base.values import lazy_regex, quoted, value_at
from engine.scenario.bodies import read_body, read_value, report_refusals
from engine.scenario.conditions import Asked, parse_time, read_condition, read_time
from engine.scenario.document import DocumentPlace, check_keys, read_text
from engine.scenario.factory import TaskFactory, parse_pattern, template_strings
from engine.scenario.model import TimelineEntry
from engine.scenario.names import Ids, Owner, owner_text
from engine.scenario.pasted import command_as_created
from engine.scenario.text import one_of, shown
from engine.scenario.tree import JsonTree, Tree
from engine.specs.base import Int, Spec
from engine.specs.bodies import JobSpec, TaskSpec
from engine.specs.command import Command, OnJob
from engine.specs.commands import COMMANDS, AddTasks, CreateJob
from engine.specs.common import Simulate
from engine.specs.conditions import OTHERS_COMPLETED, OWN_JOB, Condition, Unread, is_others_completed
from engine.specs.job_refusals import task_refusals

TASK_LIMIT = 10_000_000
_KEYS = {"parametricSweep": ("type", "parameterSets", "repeatTask"), "taskCollection": ("type", "tasks")}


def read_tasks(place: DocumentPlace) -> tuple[tuple[DocumentPlace, TaskSpec], ...]:
    """Return the valid tasks of a list with their places; report mistakes."""
    place.is_a(list, "must be a list of tasks")
    read = ((entry, read_body(entry, TaskSpec)) for entry in place.entries())
    return tuple((entry, task) for entry, task in read if task is not None)


def read_factory(place: DocumentPlace) -> tuple[TaskFactory | None, tuple[tuple[DocumentPlace, TaskSpec], ...]]:
    """Return the sweep of a task factory, or the tasks of its collection."""
    if not check_keys(place, _KEYS["parametricSweep"], only_mapping=True):
        return None, ()
    kind = place.require("type")
    given = "" if kind is None else str(kind.plain).lower()
    keys = next((keys for name, keys in _KEYS.items() if name.lower() == given), None)
    if keys is None:
        if kind is not None:
            kind.report(f"{shown(kind.plain)} is not a kind of task factory" + one_of(str(kind.plain), _KEYS))
        keys = tuple(dict.fromkeys(chain(*_KEYS.values())))
    check_keys(place, keys)
    if "tasks" in keys and ("repeatTask" not in keys or place.get("tasks") is not None):
        tasks = place.require("tasks")
        return None, read_tasks(tasks) if tasks is not None else ()
    text = json.dumps(place.plain)
    factory = place.document.sweeps.get(text)
    if factory is not None:
        return factory, ()
    factory, read = _read_sweep(place)
    if factory is not None:
        place.document.sweeps[text] = factory
    return factory, read


def factory_of(body: Mapping[str, Plain]) -> tuple[TaskFactory | None, tuple[TaskSpec, ...]]:
    """Return the sweep or the tasks of a ``taskFactory`` given as data.

    Raises:
        ScenarioError: It has mistakes; all of them are listed.
    """
    factory, listed = read_text("taskFactory", json.dumps(body), read_factory)
    return factory, tuple(task for _, task in listed)


def _read_sweep(place: DocumentPlace) -> tuple[TaskFactory | None, Listed]:
    """Return the sweep, or one task of it in which the service may refuse more; neither if it cannot be read."""
    sets, template = place.require("parameterSets"), place.require("repeatTask")
    ranges = _read_ranges(sets) if sets is not None else None
    if template is None or not check_keys(template, ("id", "commandLine"), only_mapping=True):
        return None, ()
    number = 0 if sets is None else sum(1 for _ in sets.entries())
    is_sound = _has_valid_patterns(template, number or _MOST_PARAMETERS) and ranges is not None
    factory = factory_for(template, ranges if is_sound else None)
    problem = factory.duplicate()
    if problem is not None:
        (template.get("id") or template).report(problem)
    for k in factory.samples():
        task, has_mistakes = read_value(template, TaskSpec, factory.body(k))
        if has_mistakes or not is_sound or problem is not None:
            # Other tasks may have the id that this one has.
            known = [] if task is None else [task.model_copy(update={"id": f"absent-{template.line}"})]
            return None, tuple((template, each) for each in known)
    return factory, ()


_MOST_PARAMETERS = 10_000  # that placeholders can name


def factory_for(template: DocumentPlace, ranges: list[range] | None = None) -> TaskFactory:
    """Return the factory of a template; without ranges one that makes one task, whatever parameters that has."""
    assert isinstance(template.plain, dict)
    return TaskFactory(ranges or [range(1)] * _MOST_PARAMETERS, template.plain)


def _has_valid_patterns(template: DocumentPlace, parameters: int) -> bool:
    sound = True
    for path, text in template_strings(template.plain):
        try:
            parse_pattern(text, parameters)
        except ValueError as error:
            template.find(path)[0].report(str(error))
            sound = False
    return sound


def _read_ranges(place: DocumentPlace) -> list[range] | None:
    entries = list(place.entries())
    if not entries:
        place.report("must be a list of parameter sets, such as [{start: 1, end: 200}]")
        return None
    ranges = [_read_range(entry) for entry in entries]
    found = [parameter for parameter in ranges if parameter is not None]
    if prod((each[-1] - each[0]) // each.step + 1 for each in found) > TASK_LIMIT:  # `len` takes no long ones
        place.report(f"makes more than {TASK_LIMIT:,} tasks")
        return None
    return found if len(found) == len(ranges) else None


class _ParameterSet(Spec):
    """An arithmetic progression of whole numbers, both ends included."""

    start: Int
    end: Int
    step: Int = 1


def _read_range(place: DocumentPlace) -> range | None:
    before = len(place.document.problems)
    given = read_body(place, _ParameterSet)
    if given is None or len(place.document.problems) > before:
        return None
    start, end, step = given.start, given.end, given.step
    if step == 0 or (end - start) * step < 0:
        wrong = place.get("step") or place.get("end") or place
        wrong.report(f"steps of {step} from {start} never reach {end}")
        return None
    return range(start, end + (1 if step > 0 else -1), step)


Listed = tuple[tuple[DocumentPlace, TaskSpec], ...]

# Reported for all tasks of a factory at once, by their ids.
_SAME_ID = ("TaskIdSameAsJobPreparationTask", "TaskIdSameAsJobReleaseTask")


def read_job_tasks(place: DocumentPlace, spec: JobSpec | None) -> tuple[tuple[TaskSpec, ...], TaskFactory | None]:
    """Return the listed tasks and the sweep of a job; some checks need ``spec``, which is None for a malformed job."""
    listed_place, factory_place = place.get("tasks"), place.get("taskFactory")
    listed = read_tasks(listed_place) if listed_place is not None else ()
    factory = None
    if factory_place is not None:
        factory, collected = read_factory(factory_place)
        listed += collected
    ids = _check_listed(listed, spec)
    if factory is not None and factory_place is not None:
        _check_factory(factory_place, factory, ids, spec)
    return tuple(task for _, task in listed), factory


def _check_listed(listed: Listed, spec: JobSpec | None) -> list[tuple[str, Owner]]:
    """Report mistakes in listed tasks; return the taken ids and their owners."""
    own = _special_ids(spec) if spec is not None else []
    taken = Ids()
    if spec is not None and spec.job_manager_task is not None:
        taken.names[spec.job_manager_task.id.casefold()] = "the job manager task"
    for place, task in listed:
        taken.take(task.id, place, place)
        if spec is not None:
            report_refusals(place, TaskSpec, task_refusals(task, spec))
    return own + [(task.id, place) for place, task in listed]


def _check_factory(
    place: DocumentPlace, factory: TaskFactory, taken: list[tuple[str, Owner]], spec: JobSpec | None
) -> None:
    template = place.get("repeatTask") or place
    for task_id, what in taken:
        k = factory.ordinal_of(task_id)
        if k is not None:
            at = template.get("id") or template
            own = quoted(factory.task_id(k))
            at.report(f"task {k} of the factory has the id {own}, which is taken by {owner_text(what)}")
    if spec is None:
        return
    for k in factory.samples():
        refusals = [refusal for refusal in task_refusals(factory.spec(k), spec) if refusal.code not in _SAME_ID]
        report_refusals(template, TaskSpec, refusals)
        if refusals:
            return


def _special_ids(spec: JobSpec) -> list[tuple[str, Owner]]:
    """Return the ids of the job's special tasks, which its tasks may not have, with their owners."""
    special = ((what, getattr(spec, f"job_{what}_task")) for what in ("preparation", "release", "manager"))
    return [(task.id, f"the job {what} task") for what, task in special if task is not None]


_ENTRY = {"at", "addTasks"}
_BODY = {"jobId", "tasks"}
_TASK = {"id", "commandLine", "simulate", "requiredSlots", "multiInstanceSettings", "dependsOn"}
_SETTINGS = {"numberOfInstances", "coordinationCommandLine", "simulate"}
_SIMULATE = {"duration", "exitCode"}


def _added_body(tree: Tree) -> Mapping[str, Plain] | None:
    """Return the body of a line that adds ordinary tasks at a time; None if the line is of another kind."""
    entry = tree.plain if isinstance(tree, JsonTree) else None
    if not isinstance(entry, dict) or entry.keys() != _ENTRY:
        return None
    body = entry["addTasks"]
    if not isinstance(body, dict) or body.keys() != _BODY:
        return None
    tasks = body["tasks"]
    return body if isinstance(tasks, list) and all(map(is_ordinary, tasks)) else None


def _addition(body: Mapping[str, Any], at: Plain, start: datetime) -> tuple[AddTasks, int] | None:
    """Return the command of a line that adds tasks, and its time in ms; None if anything in it is wrong."""
    if isinstance(at, bool) or not isinstance(at, str | int | float):
        return None
    try:
        body = dict(body)
        with suppress(TypeError):  # a distribution cannot be a key
            body["tasks"] = [task | {"simulate": _simulated(**task["simulate"])} for task in body["tasks"]]
        return AddTasks.from_wire(body), parse_time(at, start)
    except (ValidationError, ValueError):
        return None


@lru_cache(8192, typed=True)
def _simulated(**given: Any) -> Simulate:  # noqa: ANN401 - any JSON
    return Simulate.from_wire(given)


def is_ordinary(task: Plain) -> TypeGuard[dict[str, Plain]]:
    """Return whether a task has a simulated outcome, and no property that could be worth a warning."""
    if not isinstance(task, dict) or not task.keys() <= _TASK or not _is_outcome(task.get("simulate")):
        return False
    several = task.get("multiInstanceSettings")
    if several is None:
        return "multiInstanceSettings" not in task
    return isinstance(several, dict) and several.keys() <= _SETTINGS and _is_outcome(several.get("simulate"))


def _is_outcome(simulate: Plain) -> bool:
    return isinstance(simulate, dict) and bool(simulate) and simulate.keys() <= _SIMULATE


_TIMING = ("at", "when", "after", "refused")
_CODE = lazy_regex(r"[A-Z][A-Za-z0-9]{1,79}", re.ASCII)


def read_timeline(
    place: DocumentPlace, start: datetime, asked: Asked
) -> Iterator[tuple[DocumentPlace, TimelineEntry | None, Mapping[str, Plain] | None]]:
    """Yield each entry with its place, and its body if it only adds ordinary tasks at a time.

    An entry with a mistake, which is reported, is None. Subjects of ``when`` are added to ``asked``.
    """
    place.is_a(list, "must be a list of entries such as {at: PT5M, rebootNode: {poolId: shared, node: 0}}")
    for index, written in enumerate(place.entries()):
        body = _added_body(written.tree)
        added = None if body is None else _addition(body, value_at(written.plain, "at"), start)
        if added is not None:
            command, at_ms = added
            yield written, TimelineEntry(index, command, at_ms, tasks=command.tasks, line=written.line), body
            continue
        entry = command_as_created(written)
        yield entry, _read_entry(entry, index, start, asked), body


def _read_entry(place: DocumentPlace, index: int, start: datetime, asked: Asked) -> TimelineEntry | None:
    if not place.is_a(dict, "must be a mapping such as {at: PT5M, rebootNode: {poolId: shared, node: 0}}"):
        return None
    before = len(place.document.problems)
    at_ms, when, after_ms = _read_timing(place, start, asked)
    refused = _read_refused(place)
    given = read_given(place, _TIMING, read_command)
    if len(place.document.problems) > before or given is None:
        return None
    command, tasks, factory = given
    return TimelineEntry(index, command, at_ms, when, after_ms, refused, tasks, factory, place.line)


ReadCommand = tuple[Command, tuple[TaskSpec, ...], TaskFactory | None]
"""A command, and the tasks or the factory that it holds."""


def read_given(
    place: DocumentPlace, timing: tuple[str, ...], read: Callable[[str, DocumentPlace], ReadCommand | None]
) -> ReadCommand | None:
    """Return the one command of an entry, read with ``read``; keys in ``timing`` are read by the caller."""
    before = len(place.document.problems)
    operations = []
    for name, inner in place.items():
        if name in COMMANDS:
            operations.append((name, inner))
        elif name not in timing:
            inner.report(f"{shown(name)} is not an operation" + one_of(name, (*COMMANDS, *timing)), key=True)
    if not operations and len(place.document.problems) == before:
        place.report("names no operation, such as rebootNode: {poolId: shared, node: 0}")
    for name, inner in operations[1:]:
        inner.report(
            f"{shown(name)} is a second operation beside {quoted(operations[0][0])}: make it an entry of its own",
            key=True,
        )
    commands = [read(name, inner) for name, inner in operations]
    return commands[0] if commands else None


def _read_timing(place: DocumentPlace, start: datetime, asked: Asked) -> tuple[int | None, Condition | None, int]:
    at, when, after = place.get("at"), place.get("when"), place.get("after")
    if at is not None and when is not None:
        when.report("an entry has 'at' or 'when', not both", key=True)
    elif at is None and when is None:
        place.report("needs 'at' (a time) or 'when' (a condition)")
    if after is not None and when is None:
        after.report("'after' needs a 'when'" + (": add it to 'at'" if at else ""), key=True)
    at_ms = read_time(at, start) if at is not None else None
    after_ms = read_time(after, start) if after is not None else None
    return at_ms, read_condition(when, asked) if when is not None else None, after_ms or 0


def _read_refused(place: DocumentPlace) -> str | None:
    refused = place.get("refused")
    code = refused.plain if refused is not None else None
    if refused is not None and (not isinstance(code, str) or not _CODE.fullmatch(code)):
        refused.report("must be the code of the refusal that is expected, such as PoolBeingResized")
    return code if isinstance(code, str) else None


def read_command(name: str, place: DocumentPlace) -> ReadCommand | None:
    """Return the command with this body, or None if it has a mistake, which is reported."""
    if place.plain is None:
        place = place._replace(tree=Tree(place.tree.position, {}))
    command = read_body(place, COMMANDS[name])
    factory = None
    listed: tuple[TaskSpec, ...] = ()
    if issubclass(COMMANDS[name], CreateJob | AddTasks) and (inner := place.get("taskFactory")) is not None:
        factory, collected = read_factory(inner)
        listed = tuple(task for _, task in collected)
    if command is None:
        return None
    return command, (*getattr(command, "tasks", ()), *listed), factory


_ACT_TIMING = ("after", "when")
_AFTER = lazy_regex(r"\+?\d{1,12}(\.\d{1,12})?|P.*", re.ASCII | re.IGNORECASE)
_ANY_START = datetime(2000, 1, 1, tzinfo=UTC)  # no time here counts from the start of the scenario


class ProcessEnd(NamedTuple):
    """The end of a process by ``until``: a condition, or None for the completion of all other tasks of its job."""

    condition: Condition | None


def read_does(place: DocumentPlace, asked: Asked, *, own_job: bool) -> tuple[TimelineEntry, ...]:
    """Return the commands of a ``does`` without mistakes; the others are reported.

    With ``own_job`` the process belongs to a job, which commands and conditions mean where they name none: ``OWN_JOB``.
    """
    entries = map(command_as_created, place.entries())
    read = [_read_act(entry, index, asked, own_job=own_job) for index, entry in enumerate(entries)]
    return tuple(entry for entry in read if entry is not None)


def read_until(place: DocumentPlace, asked: Asked, *, own_job: bool) -> ProcessEnd | None:
    """Return the end that an ``until`` gives, or None if it has a mistake, which is reported."""
    if isinstance(place.plain, str):
        if not is_others_completed(place.plain):
            place.report(
                f"{shown(place.plain)} is no condition: can be {OTHERS_COMPLETED}, or a mapping such as "
                "{jobId: risk, state: completed}; a time is a 'duration'"
            )
        elif not own_job:
            place.report(f"a start task has no job, so there are no others: {OTHERS_COMPLETED} cannot end it")
        else:
            return ProcessEnd(None)
        return None
    condition = read_condition(place, asked, own_job=own_job)
    return None if condition is None else ProcessEnd(condition)


def _read_act(place: DocumentPlace, index: int, asked: Asked, *, own_job: bool) -> TimelineEntry | None:
    if not place.is_a(dict, "must be a mapping such as {after: PT10S, addTasks: {tasks: [...]}}"):
        return None
    before = len(place.document.problems)
    at, after, when = place.get("at"), place.get("after"), place.get("when")
    if at is not None:
        at.report(
            "a process does not know the time of the scenario: use 'after', which counts from its start", key=True
        )
    refused = place.get("refused")
    if refused is not None:
        refused.report("a refusal of a process's command does not count, so none is announced: leave it out", key=True)
    after_ms = _read_after(after) if after is not None else 0
    condition = read_condition(when, asked, own_job=own_job) if when is not None else None
    given = read_given(place, (*_ACT_TIMING, "at", "refused"), partial(_read_of_process, own_job=own_job))
    if len(place.document.problems) > before or given is None:
        return None
    command, tasks, factory = given
    return TimelineEntry(index, command, None, condition, after_ms or 0, None, tasks, factory, place.line)


def _read_after(place: DocumentPlace) -> int | None:
    """Return a time in ms from the start of the process, or from when the condition has become true."""
    if isinstance(place.plain, str) and not _AFTER.fullmatch(place.plain.strip()):
        place.report("must be a time from the start of the process, such as PT10S, or seconds")
        return None
    return read_time(place, _ANY_START)


def _read_of_process(name: str, place: DocumentPlace, *, own_job: bool) -> ReadCommand | None:
    """Read a command of a process. One that names no job is about the process's own, which a start task has not."""
    if issubclass(COMMANDS[name], OnJob) and place.get("jobId") is None:
        if not own_job:
            message = "'jobId' is missing and required: a start task has no job of its own"
            place.report(message, key=True, below=("jobId",))
            return None
        if place.tree.value is None or isinstance(place.tree.value, dict):
            place = place._replace(tree=place.tree.with_names({"jobId": OWN_JOB}))
    return read_command(name, place)


# -- data ------------------------------------------------------------------------------------------------------------


def does_of(text: Unread) -> tuple[TimelineEntry, ...]:
    """Return the commands of a ``does`` given as data. Raises ScenarioError if it has mistakes."""
    return read_text("does", text.text, lambda place: read_does(place, [], own_job=True))


def until_of(text: Unread) -> ProcessEnd:
    """Return the end of an ``until`` given as data. Raises ScenarioError if it has mistakes."""
    return read_text("until", text.text, lambda place: read_until(place, [], own_job=True))
