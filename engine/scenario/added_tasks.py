"""Lines of a timeline that add ordinary tasks: nothing in them needs a warning, so they are read without their places.

A log of a cluster has hundreds of thousands of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from pydantic import ValidationError

from engine.base.terms import Plain
from engine.scenario.times import parse_time
from engine.scenario.tree import JsonTree, Tree
from engine.specs.commands import AddTasks

_ENTRY = {"at", "addTasks"}
_BODY = {"jobId", "tasks"}
_TASK = {"id", "commandLine", "simulate", "requiredSlots", "multiInstanceSettings", "dependsOn"}
_SETTINGS = {"numberOfInstances", "coordinationCommandLine", "simulate"}
_SIMULATE = {"duration", "exitCode"}


class Addition(NamedTuple):
    """The command of a line, and its time in ms."""

    command: AddTasks
    at_ms: int


def added_body(tree: Tree) -> Mapping[str, Plain] | None:
    """Return the body of a line that adds ordinary tasks at a time; None if the line is of another kind."""
    entry = tree.plain if isinstance(tree, JsonTree) else None
    if not isinstance(entry, dict) or entry.keys() != _ENTRY:
        return None
    body = entry["addTasks"]
    if not isinstance(body, dict) or body.keys() != _BODY:
        return None
    tasks = body["tasks"]
    return body if isinstance(tasks, list) and all(map(is_ordinary, tasks)) else None


def addition(tree: Tree, start: datetime) -> Addition | None:
    """Return what a line adds; None if it is of another kind, or if anything in it is wrong."""
    body = added_body(tree)
    at = tree.plain["at"] if body is not None and isinstance(tree.plain, dict) else None
    if isinstance(at, bool) or not isinstance(at, str | int | float):
        return None
    try:
        return Addition(AddTasks.from_wire(body), parse_time(at, start))
    except (ValidationError, ValueError):
        return None


def is_ordinary(task: Plain) -> bool:
    """Return whether a task has a simulated outcome, and no property that could be worth a warning."""
    if not isinstance(task, dict) or not task.keys() <= _TASK or not _is_outcome(task.get("simulate")):
        return False
    several = task.get("multiInstanceSettings")
    if several is None:
        return "multiInstanceSettings" not in task
    return isinstance(several, dict) and several.keys() <= _SETTINGS and _is_outcome(several.get("simulate"))


def _is_outcome(simulate: Plain) -> bool:
    return isinstance(simulate, dict) and bool(simulate) and simulate.keys() <= _SIMULATE
