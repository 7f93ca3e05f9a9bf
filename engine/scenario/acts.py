"""Reading ``does`` and ``until``: the commands that a process gives while it runs, and what ends it (JM-11)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from engine.base.errors import ScenarioError
from engine.base.lazy import lazy_regex
from engine.scenario.conditions import Asked, read_condition, read_time
from engine.scenario.document import Document, DocumentPlace
from engine.scenario.model import TimelineEntry
from engine.scenario.pasted import command_as_created
from engine.scenario.timeline import Given, read_command, read_given
from engine.scenario.tree import Tree, parse
from engine.scenario.wording import shown
from engine.specs.command import OnJob
from engine.specs.commands import COMMANDS
from engine.specs.conditions import OWN_JOB, Condition
from engine.specs.unread import OTHERS_COMPLETED, Unread, is_others_completed

Read = TypeVar("Read")

_TIMING = ("after", "when")
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
    if not isinstance(place.tree.value, dict):
        place.report("must be a mapping such as {after: PT10S, addTasks: {tasks: [...]}}")
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
    given = read_given(place, (*_TIMING, "at", "refused"), read)
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
        job = Tree(place.tree.position, OWN_JOB)
        keys = place.tree.keys | {"jobId": job.position}
        tree = Tree(place.tree.position, (value or {}) | {"jobId": job}, keys, place.tree.origins)
        place = place._replace(tree=tree)
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
    return _of("does", text, lambda place: read_does(place, [], own_job=True))


def until_of(text: Unread) -> ProcessEnd:
    """Return the end of an ``until`` given as data. Raises ScenarioError if it has mistakes."""
    end = _of("until", text, lambda place: read_until(place, [], own_job=True))
    assert end is not None
    return end


def _of(what: str, text: Unread, read: Callable[[DocumentPlace], Read]) -> Read:
    document = Document(what)
    tree = parse(text.text, document.report)
    found = read(DocumentPlace(document, tree)) if tree is not None else None
    if document.problems or found is None:
        raise ScenarioError(document.problems)
    return found
