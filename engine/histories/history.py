"""A history: what an account really did, as the objects that the service returned, put together from many files.

Objects are recognized by what they contain. Values that cannot be true, or that the models of the bodies do not allow,
are left out, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from engine.base import runtime
from engine.base.errors import Problem, ScenarioError, Severity
from engine.base.values import parse_utc, quoted
from engine.histories.files import LATEST_MS, conform
from engine.histories.reading import Normalizer, Source, json_files, objects_in, wire_spelling
from engine.scenario.bodies import PRINTED_BY_AZ
from engine.specs.bodies import JobSpec, PoolSpec, TaskSpec
from engine.specs.refusals import id_refusals

HOOK_INFOS = ("jobPreparationTaskExecutionInfo", "jobReleaseTaskExecutionInfo")
"""The infos of a preparation and of a release task."""

_INFOS = ("executionInfo", *HOOK_INFOS, "startTaskInfo")
_TIMES = (
    *("creationTime", "stateTransitionTime", "previousStateTransitionTime", "startTime", "endTime", "lastRetryTime"),
    *("lastRequeueTime", "allocationTime", "lastBootTime", "allocationStateTransitionTime"),
)
_MAPPINGS = (*_INFOS, "nodeInfo", "poolInfo", "constraints")
_PARTS: dict[str, tuple[type, str]] = dict.fromkeys(_MAPPINGS, (dict, "an object")) | {"subtasks": (list, "a list")}


def epoch_ms(time: object) -> int | None:
    """Return the milliseconds from 1970 to a UTC time, or None for anything else."""
    return _epoch_ms(time) if isinstance(time, str) else None


@lru_cache(maxsize=1 << 16)  # the times of one object are asked for again and again
def _epoch_ms(time: str) -> int | None:
    try:
        ms = round(parse_utc(time).timestamp() * 1000)
    except ValueError:
        return None
    return ms if 0 <= ms < LATEST_MS else None


def span_of(info: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the start and the end of a process in milliseconds from 1970; None if one of them is not known."""
    start, end = epoch_ms(info.get("startTime")), epoch_ms(info.get("endTime"))
    return None if start is None or end is None else (start, end)


Warn = Callable[[Problem], None]


def check(body: dict[str, Any], source: Source, warn: Warn) -> None:
    """Remove the values of an object that cannot be true."""

    def leave_out(part: dict[str, Any], name: str, wanted: str, *path: str | int) -> None:
        message = f"must be {wanted}, not {quoted(part.pop(name))}: it is left out"
        warn(source.problem(message, *path, name))

    for name, (kind, wanted) in _PARTS.items():
        if name in body and not isinstance(body[name], kind):
            leave_out(body, name, wanted)
    infos = {name: body[name] for name in _INFOS if name in body}
    inside = (((name,), body[name]) for name in _MAPPINGS if name in body)
    for path, part in (((), body), *inside, *_of_subtasks(body)):
        for names, is_valid, wanted in _VALUES:
            for name in names:
                if name in part and not is_valid(part[name]):
                    leave_out(part, name, wanted, *path)
    for name, info in infos.items():
        _check_order(body, name, info, source, warn)


def _check_order(body: dict[str, Any], name: str, info: dict[str, Any], source: Source, warn: Warn) -> None:
    """Leave out an end before the start, and a start before the creation."""
    created = epoch_ms(body.get("creationTime"))
    start, end = epoch_ms(info.get("startTime")), epoch_ms(info.get("endTime"))
    if start is not None and end is not None and end < start:
        times = f"ends at {info.pop('endTime')}, before it starts at {info.pop('startTime')}"
        warn(source.problem(f"it {times}: both are left out", name))
    elif start is not None and created is not None and start < created:
        times = f"starts at {info['startTime']}, before it is created at {body.pop('creationTime')}"
        warn(source.problem(f"it {times}: the creation is left out", name))


def _of_subtasks(body: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Yield the subtasks of a task and what says on which nodes they ran, each with its path."""
    for index, subtask in enumerate(body.get("subtasks", ())):
        if isinstance(subtask, dict):
            yield ("subtasks", index), subtask
            if isinstance(subtask.get("nodeInfo"), dict):
                yield ("subtasks", index, "nodeInfo"), subtask["nodeInfo"]
            else:
                subtask.pop("nodeInfo", None)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_id(value: object) -> bool:
    """Return whether Batch allows it as an id (GEN-1)."""
    return isinstance(value, str) and not any(id_refusals(value, ()))


_MOST_RETRIES = 10_000  # each is an item of the attempts of a simulated process
# Properties of any part of an object, with what their values must be.
_VALUES: tuple[tuple[tuple[str, ...], Callable[[Any], bool], str], ...] = (
    (_TIMES, lambda value: epoch_ms(value) is not None, "a UTC time such as 2026-01-05T08:00:00Z"),
    (
        ("retryCount", "requeueCount"),
        lambda value: _is_whole(value) and value >= 0,
        "a whole number that is not negative",
    ),
    (("retryCount",), lambda value: value <= _MOST_RETRIES, f"at most {_MOST_RETRIES:,}"),
    (("exitCode",), _is_whole, "a whole number"),
    (("poolId",), _is_id, "the id of a pool"),
    (("nodeId", "state", "previousState", "result", "terminateReason"), lambda value: isinstance(value, str), "text"),
)


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


_MODELS: dict[Kind, type[JobSpec | PoolSpec | TaskSpec]] = {Kind.POOL: PoolSpec, Kind.JOB: JobSpec, Kind.TASK: TaskSpec}


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
    if any(name in names for name in HOOK_INFOS) or ("nodeUrl" in names and "nodeId" in names):
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
        infos = (_job_of_directory(body.get(names.get(name, ""))) for name in HOOK_INFOS)
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


MOST_OBJECTS = 1_000_000
"""The most objects of a history."""
_MOST_WARNINGS = 1_000
_MOST_STRANGERS = 1_000  # objects in one file before the first one that means something
_KINDS = "a pool, job, job schedule, task, node, or entry of the preparation and release status"
_WHOLE = "; export whole objects, with `--output json` and without `--query`"


class Record(NamedTuple):
    """An object with the names of the REST API and its origin. ``is_former`` marks a node that has left its pool."""

    body: Body
    source: Source
    is_former: bool = False

    @property
    def id(self) -> str:
        """The id of a pool, job, job schedule, task or node."""
        return str(self.body["id"])


class History(NamedTuple):
    """The record of an account: what was there, and what it really did.

    Bodies have the names and the spelling of the REST API, without nulls, URLs and other properties that only locate
    an object. Their times are valid; those of a task are in order. Tasks and instances (entries of the preparation and
    release status) are listed by the id of their job, nodes by the id of their pool, as the job or pool spells it.
    A job has a body with nothing but its id and pool if there are only tasks of it. ``files`` names all files.
    """

    pools: tuple[Record, ...]
    jobs: tuple[Record, ...]
    schedules: tuple[Record, ...]
    tasks: Mapping[str, tuple[Record, ...]]
    instances: Mapping[str, tuple[Record, ...]]
    nodes: Mapping[str, tuple[Record, ...]]
    warnings: tuple[Problem, ...] = ()
    files: str = ""


def read_history(paths: Iterable[Path]) -> History:
    """Return the history in JSON files, or in folders of such files.

    Each file has one object, a list, an answer with ``value``, or the state document of ``batchdeck run``.

    Raises:
        ScenarioError: A file cannot be read or has nothing of a history; all such files are named.
    """
    reader = _Reader()
    with runtime.gc_paused():
        given = list(paths)
        for path in given:
            reader.read(path)
        return reader.history(", ".join(map(str, given)))


class _Reader:
    """A reader of files, which puts the objects together at the end."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._warnings: list[Problem] = []
        self._count = 0
        self._valid: dict[Kind, set[str]] = {kind: set() for kind in _MODELS}
        self._ids: dict[Source | None, str] = {}  # of the jobs and pools that have lists
        self._pools: dict[str, Record] = {}
        self._jobs: dict[str, Record] = {}
        self._schedules: dict[str, Record] = {}
        self._loose: dict[Kind, list[Recognized]] = {Kind.TASK: [], Kind.INSTANCE: [], Kind.NODE: []}

    def read(self, path: Path) -> None:
        """Read a file or the files of a folder; mistakes are kept until the end."""
        try:
            for file in json_files(path):
                self._read_file(file)
        except ScenarioError as error:
            self._problems += error.problems

    def history(self, files: str) -> History:
        """Return everything that was read. ``files`` names all files in messages."""
        if not self._problems and not self._count:
            self._problems.append(Problem(f"there is nothing in it: an export has {_KINDS}", file=files))
        if self._problems:
            raise ScenarioError(self._problems)
        self._assume_jobs()
        used = (
            _text(job.body.get(part), "poolId") for job in self._jobs.values() for part in ("poolInfo", "executionInfo")
        )
        pool_ids = {pool_id.casefold(): pool_id for pool_id in used if pool_id is not None} | _ids_of(self._pools)
        nodes = self._listed(Kind.NODE, "id", "pool", pool_ids)
        tasks = self._listed(Kind.TASK, "id", "job", _ids_of(self._jobs))
        instances = self._listed(Kind.INSTANCE, "nodeId", "job", _ids_of(self._jobs))
        pools, jobs, schedules = (tuple(table.values()) for table in (self._pools, self._jobs, self._schedules))
        return History(pools, jobs, schedules, tasks, instances, nodes, tuple(self._warnings), files)

    def _read_file(self, file: Path) -> None:
        before = self._count
        strangers: list[Recognized] = []
        for one in recognized(file):
            if one.kind is Kind.UNKNOWN:
                strangers.append(one)
                if self._count == before and len(strangers) >= _MOST_STRANGERS:
                    break
            elif one.kind is not Kind.ENVELOPE:
                self._count += 1
                if self._count > MOST_OBJECTS:
                    raise ScenarioError([one.source.problem(f"more than {MOST_OBJECTS:,} objects")])
                self._take(one)
        if strangers and self._count == before:
            first = strangers[0]
            raise ScenarioError([first.source.problem(_named(first, f"is none of these: {_KINDS}{_WHOLE}"))])
        for one in strangers:
            self._warn(one, f"is left out, since it is none of these: {_KINDS}")

    def _take(self, one: Recognized) -> None:
        """Keep an object; those that belong to another one wait until all files are read."""
        check(one.body, one.source, lambda problem: self._keep(one, problem))
        if one.kind in _MODELS:
            for message, path in conform(one.body, _MODELS[one.kind], self._valid[one.kind]):
                self._warn(one, f"{message}: it is left out", *path)
        if one.kind is Kind.TASK and "commandLine" not in one.body:
            self._warn(one, "the task has no command line: it is left out", "commandLine")
            return
        if one.kind in self._loose:
            self._loose[one.kind].append(one)
            return
        table = {Kind.POOL: self._pools, Kind.JOB: self._jobs, Kind.SCHEDULE: self._schedules}[one.kind]
        object_id = self._id_of(one, "id")
        if object_id is None:
            return
        self._ids[one.source] = object_id
        _put(table, object_id, Record(one.body, one.source))

    def _assume_jobs(self) -> None:
        """Make bodies for the jobs of tasks, if the files have no body of any job."""
        if self._jobs:
            return
        for one in self._loose[Kind.TASK]:
            if one.owner is not None and one.owner.casefold() not in self._jobs:
                pool_id = _text(one.body.get("nodeInfo"), "poolId")
                pool = {} if pool_id is None else {"poolInfo": {"poolId": pool_id}}
                self._jobs[one.owner.casefold()] = Record({"id": one.owner} | pool, one.source)
                self._warn(one, f"there is no body of the job {quoted(one.owner)}, only its tasks")

    def _listed(self, kind: Kind, key: str, what: str, ids: Mapping[str, str]) -> dict[str, tuple[Record, ...]]:
        """Return the objects of a kind by the job or pool (``what``) to which they belong, of those with these ids."""
        lists: dict[str, dict[str, Record]] = {}
        twice: list[Recognized] = []
        for one in self._loose[kind]:
            owner = self._owner_of(one, what, ids)
            own_id = self._id_of(one, key)
            if own_id is not None and owner is not None:
                record = Record(one.body, one.source, one.list_name == "formerNodes")
                if not _put(lists.setdefault(owner, {}), own_id, record):
                    twice.append(one)
        if twice:
            more = f", and {len(twice) - 1:,} more" if len(twice) > 1 else ""
            self._warn(twice[0], f"the {kind.value} is there twice{more}: the latest state of each counts")
        return {owner: tuple(records.values()) for owner, records in lists.items()}

    def _id_of(self, one: Recognized, key: str) -> str | None:
        """Return the id of an object; one without an id, or with one that Batch does not allow, is reported.

        Jobs get another id then, and nothing in a scenario has that of a node.
        """
        own_id = _text(one.body, key)
        if own_id is None:
            self._warn(one, f"the {one.kind.value} has no {key}: it is left out", key)
        elif one.kind in (Kind.POOL, Kind.TASK) and not _is_id(own_id):
            self._warn(one, f"{quoted(own_id)} is no id of Batch: the {one.kind.value} is left out", key)
            return None
        return own_id

    def _owner_of(self, one: Recognized, what: str, ids: Mapping[str, str]) -> str | None:
        """Return the id of the job or pool (``what``) of an object; one that is not known is reported."""
        owner = self._ids.get(one.parent) or one.owner
        if owner is None and len(ids) == 1:
            (owner,) = ids.values()
        if owner is None:
            self._warn(one, f"nothing tells the {what} of this {one.kind.value}: it is left out")
            return None
        # Directories name the first job of a schedule like the only job of another one.
        found = ids.get(owner.casefold()) or ids.get(f"{owner}:job-1".casefold())
        if found is None:
            belongs = f"the {one.kind.value} belongs to the {what} {quoted(owner)}"
            self._warn(one, f"{belongs}, of which there is no body: it is left out")
        return found

    def _warn(self, one: Recognized, message: str, *below: str | int) -> None:
        self._keep(one, one.source.problem(message, *below))

    def _keep(self, one: Recognized, problem: Problem) -> None:
        """Keep a warning about an object, which it names by its id."""
        if len(self._warnings) < _MOST_WARNINGS:
            message = _named(one, problem.message, self._ids.get(one.parent))
            self._warnings.append(problem._replace(message=message, severity=Severity.WARNING))


def _named(one: Recognized, message: str, parent: str | None = None) -> str:
    """Return a message about an object with its id and that of what it belongs to."""
    own_id = _text(one.body, "nodeId" if one.kind is Kind.INSTANCE else "id")
    names = subject(one.kind, own_id, parent or one.owner)
    return f"{message} ({names})" if names else message


def subject(kind: Kind, own_id: str | None, owner: str | None = None) -> str:
    """Return the words for an object and what it belongs to, as far as there are ids: ``job 'j', task 't'``."""
    word = {Kind.INSTANCE: "node", Kind.UNKNOWN: "id"}.get(kind, kind.value)
    ids = {"pool" if kind is Kind.NODE else "job": owner, word: own_id}
    return ", ".join(f"{what} {quoted(name)}" for what, name in ids.items() if name is not None)


def _text(body: object, name: str) -> str | None:
    value = body.get(name) if isinstance(body, Mapping) else None
    return value if isinstance(value, str) and value else None


def _ids_of(table: Mapping[str, Record]) -> dict[str, str]:
    return {name: record.id for name, record in table.items()}


def _put(table: dict[str, Record], own_id: str, record: Record) -> bool:
    """Keep the latest state of an object; return whether it is new, or exactly what there is already."""
    known = table.setdefault(own_id.casefold(), record)
    if _changed(record) > _changed(known):
        table[own_id.casefold()] = record
    return known.body == record.body


def _changed(record: Record) -> int:
    return epoch_ms(record.body.get("stateTransitionTime")) or 0
