"""Objects of the service in files, recognized by what they contain, with the names of the REST API."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from engine.histories.names import Normalizer, wire_spelling
from engine.histories.reading import Source, objects_in
from engine.scenario.spelling import PRINTED_BY_AZ

Body = Mapping[str, Any]
"""An object with the names of the REST API."""


class Kind(Enum):
    """The kind of an object."""

    POOL = "pool"
    JOB = "job"
    SCHEDULE = "job schedule"
    TASK = "task"
    NODE = "node"
    INSTANCE = "preparation and release status"
    ENVELOPE = "answer or state document around other objects"
    UNKNOWN = "unknown"


class Recognized(NamedTuple):
    """An object with its kind, and what says to which job or pool it belongs.

    ``owner`` is the id that its URLs and paths tell, None where they do not. ``list_name`` is the list in which it
    stands, in the object ``parent``.
    """

    kind: Kind
    body: dict[str, Any]
    source: Source
    owner: str | None = None
    parent: Source | None = None
    list_name: str = ""


_INFOS = ("jobPreparationTaskExecutionInfo", "jobReleaseTaskExecutionInfo")
_ENVELOPE = ("odata.", "@odata.", PRINTED_BY_AZ)  # the names in an answer beside its list
_JOB_URL = re.compile(r"/jobs/([^/?]+)/tasks/", re.IGNORECASE)
_POOL_URL = re.compile(r"/pools/([^/?]+)/nodes/", re.IGNORECASE)
_WORK_ITEM = re.compile(r"workitems[/\\]([^/\\]+)[/\\]([^/\\]+)[/\\]", re.IGNORECASE)


def recognized(path: Path) -> Iterator[Recognized]:
    """Yield the objects of a JSON file.

    Raises:
        ScenarioError: The file cannot be read, or is not JSON from here on.
    """
    normalizer = Normalizer()
    for found in objects_in(path):
        names = {wire_spelling(name): name for name, value in found.body.items() if value is not None}
        kind = _kind(names)
        body = normalizer.normalized(found.body)
        owner = _owner(kind, found.body, names)
        yield Recognized(kind, body, found.source, owner, found.parent, found.list_name)


def _kind(names: Mapping[str, str]) -> Kind:
    if any(name in names for name in _INFOS) or ("nodeUrl" in names and "nodeId" in names):
        return Kind.INSTANCE
    if "jobSpecification" in names:
        return Kind.SCHEDULE
    if "poolInfo" in names:
        return Kind.JOB
    if "commandLine" in names:
        return Kind.TASK
    if "schedulingState" in names or "isDedicated" in names or ("affinityId" in names and "id" in names):
        return Kind.NODE
    if "vmSize" in names:
        return Kind.POOL
    if all(name.startswith(_ENVELOPE) for name in names) or "scenario" in names:
        return Kind.ENVELOPE
    return Kind.UNKNOWN


def _owner(kind: Kind, body: Mapping[str, Any], names: Mapping[str, str]) -> str | None:
    """Return the id of the job of a task or instance, or of the pool of a node."""
    if kind is Kind.TASK:
        info = body.get(names.get("nodeInfo", ""))
        return _matched(_JOB_URL, body.get(names.get("url", ""))) or _job_of_directory(info)
    if kind is Kind.INSTANCE:
        infos = (_job_of_directory(body.get(names.get(name, ""))) for name in _INFOS)
        return next(filter(None, infos), None)
    return _matched(_POOL_URL, body.get(names.get("url", ""))) if kind is Kind.NODE else None


def _matched(pattern: re.Pattern[str], text: object) -> str | None:
    match = pattern.search(text) if isinstance(text, str) else None
    return unquote(match[1]) if match else None


def _job_of_directory(info: object) -> str | None:
    """Return the id of a job in the path of a task's directory; jobs of a schedule have their number apart."""
    for name, value in info.items() if isinstance(info, dict) else ():
        if wire_spelling(name) == "taskRootDirectory" and isinstance(value, str):
            match = _WORK_ITEM.search(value)
            return match and (match[1] if match[2] == "job-1" else f"{match[1]}:{match[2]}")
    return None
