"""A history: what an account really did, as the objects that the service returned, put together from many files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from engine.base import gc_pause
from engine.base.errors import Problem, ScenarioError, Severity
from engine.base.shortening import quoted
from engine.histories.checks import Checks, epoch_ms
from engine.histories.objects import Body, Kind, Recognized, recognized
from engine.histories.reading import Source, json_files

MOST_OBJECTS = 1_000_000
"""A history has at most so many objects."""
_MOST_WARNINGS = 1_000
_MOST_STRANGERS = 1_000  # objects in one file before the first one that means something
_KINDS = "a pool, job, job schedule, task, node, or entry of the preparation and release status"


class Record(NamedTuple):
    """An object with the names of the REST API and its origin. ``is_former`` marks a node that has left its pool."""

    body: Body
    source: Source
    is_former: bool = False


class History(NamedTuple):
    """The record of an account: what was there, and what it really did.

    Bodies have the names and the spelling of the REST API, without nulls, URLs and other properties that only locate
    an object. Their times are valid; those of a task are in order. Tasks and instances (entries of the preparation and
    release status) are listed by the id of their job, nodes by the id of their pool, as the job or pool spells it.
    A job has a body with nothing but its id and pool if there are only tasks of it.
    """

    pools: tuple[Record, ...]
    jobs: tuple[Record, ...]
    schedules: tuple[Record, ...]
    tasks: Mapping[str, tuple[Record, ...]]
    instances: Mapping[str, tuple[Record, ...]]
    nodes: Mapping[str, tuple[Record, ...]]
    warnings: tuple[Problem, ...] = ()


def read_history(paths: Iterable[Path]) -> History:
    """Return the history in JSON files, or in folders of such files.

    Each file has one object, a list, an answer with ``value``, or the state document of ``batchdeck run``.

    Raises:
        ScenarioError: A file cannot be read or has nothing of a history; all such files are named.
    """
    reader = _Reader()
    with gc_pause.paused():
        given = list(paths)
        for path in given:
            reader.read(path)
        return reader.history(", ".join(map(str, given)))


class _Reader:
    """A reader of files, which puts the objects together at the end."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._warnings: list[Problem] = []
        self._checks = Checks(self._warn)
        self._count = 0
        self._pool_ids: dict[str, str] = {}  # of the pools that are there or that a job uses
        self._ids: dict[Source, str] = {}  # of the jobs and pools that have lists
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
        self._pool_ids = dict(self._used_pools())
        self._pool_ids |= {name: str(record.body["id"]) for name, record in self._pools.items()}
        nodes = self._listed(Kind.NODE, "id", self._pool_of)
        tasks = self._listed(Kind.TASK, "id", self._job_of)
        instances = self._listed(Kind.INSTANCE, "nodeId", self._job_of)
        return History(
            tuple(self._pools.values()),
            tuple(self._jobs.values()),
            tuple(self._schedules.values()),
            tasks,
            instances,
            nodes,
            tuple(self._warnings),
        )

    def _read_file(self, file: Path) -> None:
        before = self._count
        strangers: list[Source] = []
        for one in recognized(file):
            if one.kind is Kind.UNKNOWN:
                strangers.append(one.source)
                if self._count == before and len(strangers) >= _MOST_STRANGERS:
                    break
            elif one.kind is not Kind.ENVELOPE:
                self._count += 1
                if self._count > MOST_OBJECTS:
                    raise ScenarioError([one.source.problem(f"more than {MOST_OBJECTS:,} objects")])
                self._take(one)
        if strangers and self._count == before:
            raise ScenarioError([strangers[0].problem(f"is none of these: {_KINDS}")])
        for source in strangers:
            self._warn(source.problem(f"is left out, since it is none of these: {_KINDS}"))

    def _take(self, one: Recognized) -> None:
        """Keep an object; those that belong to another one wait until all files are read."""
        self._checks.check(one.body, one.source)
        if one.kind in self._loose:
            self._loose[one.kind].append(one)
            return
        table = {Kind.POOL: self._pools, Kind.JOB: self._jobs, Kind.SCHEDULE: self._schedules}[one.kind]
        object_id = _text(one.body, "id")
        if object_id is None:
            self._warn(one.source.problem(f"the {one.kind.value} has no id: it is left out", "id"))
            return
        self._ids[one.source] = object_id
        _put(table, object_id, Record(one.body, one.source))

    def _assume_jobs(self) -> None:
        """Make jobs of which there are only tasks, if there is no body of any job."""
        if self._jobs:
            return
        for one in self._loose[Kind.TASK]:
            if one.owner is not None and one.owner.casefold() not in self._jobs:
                pool_id = _text(one.body.get("nodeInfo"), "poolId")
                pool = {} if pool_id is None else {"poolInfo": {"poolId": pool_id}}
                self._jobs[one.owner.casefold()] = Record({"id": one.owner} | pool, one.source)
                self._warn(one.source.problem(f"there is no body of the job {quoted(one.owner)}, only its tasks"))

    def _listed(
        self, kind: Kind, key: str, owner_of: Callable[[Recognized], str | None]
    ) -> dict[str, tuple[Record, ...]]:
        """Return the objects of a kind by the job or pool to which they belong."""
        lists: dict[str, dict[str, Record]] = {}
        twice: list[Source] = []
        for one in self._loose[kind]:
            owner = owner_of(one)
            own_id = _text(one.body, key)
            if own_id is None:
                self._warn(one.source.problem(f"the {kind.value} has no {key}: it is left out", key))
            elif owner is not None:
                record = Record(one.body, one.source, one.list_name == "formerNodes")
                if not _put(lists.setdefault(owner, {}), own_id, record):
                    twice.append(one.source)
        if twice:
            more = f", and {len(twice) - 1:,} more" if len(twice) > 1 else ""
            self._warn(twice[0].problem(f"the {kind.value} is there twice{more}: the latest state of each counts"))
        return {owner: tuple(records.values()) for owner, records in lists.items()}

    def _job_of(self, one: Recognized) -> str | None:
        """Return the id of the job of a task or instance; a job that is not there is reported."""
        owner = self._ids.get(one.parent) if one.parent is not None else None
        if owner is None and one.owner is None and len(self._jobs) == 1:
            (owner,) = (record.body["id"] for record in self._jobs.values())
        owner = owner or one.owner
        if owner is None:
            self._warn(one.source.problem(f"nothing tells the job of this {one.kind.value}: it is left out"))
            return None
        first_of_schedule = f"{owner}:job-1"  # directories name it like the only job of another
        job = self._jobs.get(owner.casefold()) or self._jobs.get(first_of_schedule.casefold())
        if job is None:
            message = (
                f"the {one.kind.value} belongs to the job {quoted(owner)}, of which there is no body: it is left out"
            )
            self._warn(one.source.problem(message))
            return None
        return str(job.body["id"])

    def _pool_of(self, one: Recognized) -> str | None:
        """Return the id of the pool of a node; a pool that no job uses and that is not there is reported."""
        owner = self._ids.get(one.parent) if one.parent is not None else None
        owner = owner or one.owner
        pools = self._pool_ids
        if owner is None and len(pools) == 1:
            (owner,) = pools.values()
        if owner is None:
            self._warn(one.source.problem("nothing tells the pool of this node: it is left out"))
            return None
        if owner.casefold() not in pools:
            message = f"the node belongs to the pool {quoted(owner)}, of which there is no body: it is left out"
            self._warn(one.source.problem(message))
            return None
        return pools[owner.casefold()]

    def _used_pools(self) -> Iterator[tuple[str, str]]:
        for record in self._jobs.values():
            for part in ("poolInfo", "executionInfo"):
                pool_id = _text(record.body.get(part), "poolId")
                if pool_id is not None:
                    yield pool_id.casefold(), pool_id

    def _warn(self, problem: Problem) -> None:
        if len(self._warnings) < _MOST_WARNINGS:
            self._warnings.append(problem._replace(severity=Severity.WARNING))


def _text(body: object, name: str) -> str | None:
    value = body.get(name) if isinstance(body, Mapping) else None
    return value if isinstance(value, str) and value else None


def _put(table: dict[str, Record], own_id: str, record: Record) -> bool:
    """Keep the latest state of an object; return whether it is new, or exactly what there is already."""
    known = table.setdefault(own_id.casefold(), record)
    if _changed(record) > _changed(known):
        table[own_id.casefold()] = record
    return known.body == record.body


def _changed(record: Record) -> int:
    return epoch_ms(record.body.get("stateTransitionTime")) or 0
