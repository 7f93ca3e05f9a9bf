"""Reading ``timeline``: commands and faults by time or condition."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from engine.base.lazy import lazy_regex
from engine.base.shortening import quoted
from engine.scenario.added_tasks import addition
from engine.scenario.bodies import read_body
from engine.scenario.conditions import Asked, read_condition, read_time
from engine.scenario.document import DocumentPlace
from engine.scenario.factory import TaskFactory
from engine.scenario.model import TimelineEntry
from engine.scenario.pasted import command_as_created
from engine.scenario.sweep import read_factory
from engine.scenario.tree import Tree
from engine.scenario.wording import one_of, shown
from engine.specs.command import Command
from engine.specs.commands import COMMANDS, AddTasks, CreateJob
from engine.specs.conditions import Condition
from engine.specs.task import TaskSpec

_TIMING = ("at", "when", "after", "refused")
_CODE = lazy_regex(r"[A-Z][A-Za-z0-9]{1,79}", re.ASCII)


def read_timeline(
    place: DocumentPlace, start: datetime, asked: Asked
) -> Iterator[tuple[DocumentPlace, TimelineEntry | None]]:
    """Yield each entry with its place; None for one with a mistake, which is reported.

    Subjects of ``when`` are added to ``asked``.
    """
    if not isinstance(place.tree.value, list):
        place.report("must be a list of entries such as {at: PT5M, rebootNode: {poolId: shared, node: 0}}")
    for index, written in enumerate(place.entries()):
        added = addition(written.tree, start)
        if added is not None:
            command = added.command
            yield written, TimelineEntry(index, command, added.at_ms, tasks=command.tasks, line=written.line)
            continue
        entry = command_as_created(written)
        yield entry, _read_entry(entry, index, start, asked)


def _read_entry(place: DocumentPlace, index: int, start: datetime, asked: Asked) -> TimelineEntry | None:
    if not isinstance(place.tree.value, dict):
        place.report("must be a mapping such as {at: PT5M, rebootNode: {poolId: shared, node: 0}}")
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
    if refused is None:
        return None
    code = refused.plain
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        refused.report("must be the code of the refusal that is expected, such as PoolBeingResized")
        return None
    return code


def read_command(name: str, place: DocumentPlace) -> Given | None:
    """Return the command with this body, or None if it has a mistake, which is reported."""
    if place.plain is None:
        place = DocumentPlace(place.document, Tree(place.tree.position, {}), place.path, place.key_position)
    command = read_body(place, COMMANDS[name])
    factory = None
    listed: tuple[TaskSpec, ...] = ()
    if issubclass(COMMANDS[name], CreateJob | AddTasks) and (inner := place.get("taskFactory")) is not None:
        factory, collected = read_factory(inner)
        listed = tuple(task for _, task in collected)
    if command is None:
        return None
    return command, (*getattr(command, "tasks", ()), *listed), factory
