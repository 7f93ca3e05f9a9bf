"""Reading ``timeline``, and ``does`` and ``until`` of processes: commands and faults by time or condition.

``does`` has the commands that a process gives while it runs, and ``until`` what ends it (JM-11).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from engine.base.values import lazy_regex, quoted
from engine.scenario.bodies import read_body
from engine.scenario.conditions import Asked, read_condition, read_time
from engine.scenario.document import DocumentPlace, read_text
from engine.scenario.factory import TaskFactory
from engine.scenario.model import TimelineEntry
from engine.scenario.pasted import command_as_created
from engine.scenario.tasks import addition, read_factory
from engine.scenario.text import one_of, shown
from engine.scenario.tree import Tree
from engine.specs.bodies import TaskSpec
from engine.specs.command import Command, OnJob
from engine.specs.commands import COMMANDS, AddTasks, CreateJob
from engine.specs.conditions import OTHERS_COMPLETED, OWN_JOB, Condition, Unread, is_others_completed

_TIMING = ("at", "when", "after", "refused")
_CODE = lazy_regex(r"[A-Z][A-Za-z0-9]{1,79}", re.ASCII)


def read_timeline(
    place: DocumentPlace, start: datetime, asked: Asked
) -> Iterator[tuple[DocumentPlace, TimelineEntry | None]]:
    """Yield each entry with its place; None for one with a mistake, which is reported.

    Subjects of ``when`` are added to ``asked``.
    """
    place.is_list("must be a list of entries such as {at: PT5M, rebootNode: {poolId: shared, node: 0}}")
    for index, written in enumerate(place.entries()):
        added = addition(written.tree, start)
        if added is not None:
            command, at_ms = added
            yield written, TimelineEntry(index, command, at_ms, tasks=command.tasks, line=written.line)
            continue
        entry = command_as_created(written)
        yield entry, _read_entry(entry, index, start, asked)


def _read_entry(place: DocumentPlace, index: int, start: datetime, asked: Asked) -> TimelineEntry | None:
    if not place.is_mapping("must be a mapping such as {at: PT5M, rebootNode: {poolId: shared, node: 0}}"):
        return None
    before = len(place.document.problems)
    at_ms, when, after_ms = _read_timing(place, start, asked)
    refused = _read_refused(place)
    given = read_given(place, _TIMING, read_command)
    if len(place.document.problems) > before or given is None:
        return None
    command, tasks, factory = given
    return TimelineEntry(index, command, at_ms, when, after_ms, refused, tasks, factory, place.line)


Given = tuple[Command, tuple[TaskSpec, ...], TaskFactory | None]
"""A command, and the tasks or the factory that it holds."""


def read_given(
    place: DocumentPlace, timing: tuple[str, ...], read: Callable[[str, DocumentPlace], Given | None]
) -> Given | None:
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


def read_command(name: str, place: DocumentPlace) -> Given | None:
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
    if not place.is_mapping("must be a mapping such as {after: PT10S, addTasks: {tasks: [...]}}"):
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
    read = _read_own if own_job else _read_without_job
    given = read_given(place, (*_ACT_TIMING, "at", "refused"), read)
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


def _read_own(name: str, place: DocumentPlace) -> Given | None:
    """Read a command of a process that belongs to a job, which the command is about if it names none."""
    value = place.tree.value
    if issubclass(COMMANDS[name], OnJob) and (value is None or isinstance(value, dict)) and place.get("jobId") is None:
        place = place._replace(tree=place.tree.with_names({"jobId": OWN_JOB}))
    return read_command(name, place)


def _read_without_job(name: str, place: DocumentPlace) -> Given | None:
    """Read a command of a start task, which belongs to no job."""
    if issubclass(COMMANDS[name], OnJob) and place.get("jobId") is None:
        place.report("'jobId' is missing and required: a start task has no job of its own", key=True, below=("jobId",))
        return None
    return read_command(name, place)


# -- data ------------------------------------------------------------------------------------------------------------


def does_of(text: Unread) -> tuple[TimelineEntry, ...]:
    """Return the commands of a ``does`` given as data. Raises ScenarioError if it has mistakes."""
    return read_text("does", text.text, lambda place: read_does(place, [], own_job=True))


def until_of(text: Unread) -> ProcessEnd:
    """Return the end of an ``until`` given as data. Raises ScenarioError if it has mistakes."""
    return read_text("until", text.text, lambda place: read_until(place, [], own_job=True))
