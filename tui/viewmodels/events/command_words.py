"""Commands in words: ``resize pool shared to 20``, ``terminate job risk``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.base.lazy import lazy_regex
from tui.viewmodels.text import format as fmt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engine.specs.command import Command

_CAPITAL = lazy_regex(r"(?<=[a-z])([A-Z])")
_KINDS = ("pool", "node", "job schedule", "job", "task", "certificate", "application package", "application")
_IDS = ("poolId", "jobScheduleId", "jobId", "taskId", "applicationId", "thumbprint", "id")
_MOST_NAMED = 2


def command_words(command: Command) -> str:
    """Return what a command does, to what, as a person would say it."""
    return words_of(command.NAME, command.wire())


def words_of(name: str, body: Mapping[str, Any]) -> str:
    """Return a command, by its name on the wire and its body, in words."""
    verb = _CAPITAL.sub(lambda found: " " + found[1].lower(), name).replace("auto scale", "autoscale")
    match name:
        case "resizePool":
            return f"resize pool {body['poolId']} to {_size(body)}"
        case "addTasks":
            return f"add {_number_of_tasks(body)} to {body['jobId']}"
        case "removeNodes":
            return f"remove {fmt.counted(len(body.get('nodeList', ())), 'node')} from {body['poolId']}"
    subject = _subject(body)
    kind = next((kind for kind in _KINDS if f" {kind}" in verb), "")
    if kind and subject:
        before, _, after = verb.partition(f" {kind}")
        return f"{before} {kind} {subject}{after}"
    return f"{verb} {subject}".strip()


def summed_up(commands: Sequence[Command]) -> str:
    """Return what was done: the first commands in words, and the number of the others; empty for none."""
    named = [command_words(command) for command in commands[:_MOST_NAMED]]
    rest = len(commands) - len(named)
    return ", ".join([*named, f"{rest:,} more"] if rest else named)


def _size(body: Mapping[str, Any]) -> str:
    dedicated, spot = body.get("targetDedicatedNodes"), body.get("targetLowPriorityNodes")
    if spot is None:
        return f"{dedicated:,}" if dedicated is not None else "the same size"
    return f"{spot:,} Spot nodes" if dedicated is None else f"{dedicated:,} dedicated and {spot:,} Spot nodes"


def _number_of_tasks(body: Mapping[str, Any]) -> str:
    tasks = body.get("tasks")
    return fmt.counted(len(tasks), "task") if tasks else "tasks"


def _subject(body: Mapping[str, Any]) -> str:
    if "node" in body or "nodeId" in body:
        node = f"n{body['node']}" if "node" in body else fmt.short_node(str(body["nodeId"]))
        return f"{node} of {body['poolId']}"
    if "taskId" in body and "jobId" in body:
        return f"{body['taskId']} of {body['jobId']}"
    return next((str(body[name]) for name in _IDS if name in body), "")
