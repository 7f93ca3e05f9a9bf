"""The ids that a scenario declares, the nodes on which its tasks run, and what tasks need of nodes and other tasks.

Subjects of conditions are checked against the ids, and duplicates are reported. Ids are taken from the values as
written, so that a mistake in a job is not also reported for every condition on it. The nodes follow from the bodies of
pools and jobs.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from math import inf
from typing import Any, NamedTuple, TypeVar

from engine.base.terms import OsFamily, Plain
from engine.base.values import format_duration, lazy_regex, shortened, text_at, value_at, walk
from engine.scenario.document import PROBLEM_LIMIT, DocumentPlace, Path
from engine.scenario.factory import TaskFactory
from engine.scenario.text import did_you_mean, shown
from engine.specs.catalogue import os_of
from engine.specs.conditions import ConditionSubject

_SHOWN_TASKS = 1_000  # per factory, when searching for the nearest name, and of a range
_CREATED = {"createPool": "poolId", "createJob": "jobId", "createJobSchedule": "jobScheduleId"}
_MOST_DIGITS = 12  # of padded ids
_MOST_DEPENDENT = 1_000  # of the tasks of a factory
_NEVER = " to the job, and the task waits for it for ever (DEP-5)"
_GUID = lazy_regex(r"[0-9A-F]{8}(-?[0-9A-F]{4}){3}-?[0-9A-F]{12}", re.IGNORECASE)
_SCHEDULED = lazy_regex(r"(?P<schedule>.+):job-[1-9]\d*", re.IGNORECASE | re.ASCII)


_CHANGES = tuple((name, "applicationId") for name in ("createApplicationPackage", "updateApplication"))


def changed_applications(value: Plain) -> Iterator[str]:
    """Return the ids of the applications that commands change anywhere in a document, in processes too."""
    return (text for path, text in walk(value) if path[-2:] in _CHANGES and isinstance(text, str))


Told = TypeVar("Told", int, float, str, bool)


class PoolNodes(NamedTuple):
    """The nodes of a pool, as its body tells of them: a formula may want any number."""

    os: OsFamily
    slots: int = 1  # of each node
    communicates: bool = False
    size: str = ""
    dedicated: float = 0.0
    spot: float = 0.0

    @property
    def hosts_gangs(self) -> bool:
        """True if multi-instance tasks can run there (MI-2)."""
        return self.communicates and self.slots == 1

    @property
    def most(self) -> float:
        """The most nodes that the pool is to have."""
        return self.dedicated + self.spot


class NodeOwner(NamedTuple):
    """The owner of the nodes on which a task runs: a pool, the pool of a job, or the job with a pool of its own."""

    pool_id: str | None = None
    job_id: str | None = None
    nodes: PoolNodes | None = None


def nodes_in(body: Plain, before: PoolNodes | None = None) -> PoolNodes:
    """Return what a pool's body tells of its nodes, as written; what an update leaves out is as ``before``."""
    given: dict[str, Any] = body if isinstance(body, dict) else {}
    agent = text_at(body, "virtualMachineConfiguration", "nodeAgentSKUId")
    os = os_of(node_agent_sku_id=agent, cloud_service=given.get("cloudServiceConfiguration") is not None)
    old = before or PoolNodes(os)

    def told(default: Told, kind: type, *names: str) -> Told:
        found: list[Told] = [given[name] for name in names if type(given.get(name)) is kind]
        return found[0] if found else default

    return PoolNodes(
        old.os,
        told(old.slots, int, "taskSlotsPerNode", "maxTasksPerNode"),
        told(old.communicates, bool, "enableInterNodeCommunication"),
        told(old.size, str, "vmSize"),
        inf if given.get("autoScaleFormula") else told(old.dedicated, int, "targetDedicatedNodes", "targetDedicated"),
        told(old.spot, int, "targetLowPriorityNodes"),
    )


def owner_in(specification: Plain) -> NodeOwner:
    """Return the owner of the nodes on which the tasks of a job with this body run."""
    pool = value_at(specification, "poolInfo", "autoPoolSpecification", "pool")
    pool_id = text_at(specification, "poolInfo", "poolId")
    return NodeOwner(pool_id, nodes=nodes_in(pool) if isinstance(pool, dict) else None)


def _number_in(task_id: str) -> int | None:
    """Return the number that an id is, as ranges name it (DEP-3), or None."""
    return int(task_id) if len(task_id) <= 64 and task_id.isascii() and task_id.isdecimal() else None


@dataclass
class _Tasks:
    """The tasks that a job may have; ids by their folded spelling (GEN-1)."""

    ids: dict[str, str] = field(default_factory=dict)
    factories: list[TaskFactory] = field(default_factory=list)
    is_open: bool = False  # an unreadable factory may create any task
    come: bool = False  # some of them are added, or can be

    @cached_property
    def numbers(self) -> set[int]:
        """The numbers that are ids."""
        return {number for task_id in self.ids if (number := _number_in(task_id)) is not None}

    def has_number(self, number: int) -> bool:
        """Return whether a task has this number as its id, with or without leading zeros."""
        return number in self.numbers or any(
            self.is_open or factory.ordinal_of(str(number).zfill(width)) is not None
            for factory in self.factories
            for width in range(1, _MOST_DIGITS)
        )

    def has(self, task_id: str) -> bool:
        return (
            self.is_open
            or task_id.casefold() in self.ids
            or any(factory.ordinal_of(task_id) is not None for factory in self.factories)
        )

    def shown(self) -> Iterator[str]:
        yield from self.ids.values()
        for factory in self.factories:
            yield from (factory.task_id(k) for k in range(min(factory.count, _SHOWN_TASKS)))


@dataclass(slots=True)
class DeclaredIds:
    """All that some part of the scenario may create: its ids, and the nodes on which tasks run."""

    _pools: dict[str, str] = field(default_factory=dict)
    _prefixes: set[str] = field(default_factory=set)
    _jobs: dict[str, str] = field(default_factory=dict)
    _schedules: dict[str, str] = field(default_factory=dict)
    _tasks: dict[str, _Tasks] = field(default_factory=dict)
    _nodes: dict[str, list[PoolNodes]] = field(default_factory=dict)  # by pool, as created and after updates
    _owners: dict[str, NodeOwner] = field(default_factory=dict)  # by job or job schedule
    _moves: dict[str, list[NodeOwner]] = field(default_factory=dict)  # other pools of jobs (JOB-14)
    absent: set[str] = field(default_factory=set)  # folded ids of pools whose condition is false
    _since: dict[tuple[str, ...], int] = field(default_factory=dict)  # when pools, jobs, schedules and tasks come first
    any_task: bool = False  # any job may have any task, since processes of unknown jobs may add tasks
    anything: bool = False  # anything may be there, since more processes act than are looked at

    def add_command(
        self,
        name: str,
        body: Plain,
        factory: TaskFactory | None = None,
        *,
        at_ms: int | None = None,
        is_refused: bool = False,
    ) -> None:
        """Declare what a command may create, at a time if it is known; a job schedule creates jobs (JS-11)."""
        if not isinstance(body, dict):
            return
        own_id, pool_id, job_id = (text_at(body, key) for key in ("id", "poolId", "jobId"))
        specification = body.get("jobSpecification")
        if own_id is not None:
            key = _CREATED.get(name, "").casefold(), own_id.casefold()
            self._since[key] = min(self._since.get(key, at_ms or 0), at_ms or 0)
        match name:
            case "createPool" if own_id is not None:
                self._pools[own_id.casefold()] = own_id
                self._nodes.setdefault(own_id.casefold(), []).append(nodes_in(body))
            case "updatePool" | "resizePool" | "enablePoolAutoScale" if pool_id is not None and not is_refused:
                known = self._nodes.setdefault(pool_id.casefold(), [])
                known.append(nodes_in(body, known[-1] if known else None))
            case "createJob" if own_id is not None:
                self._jobs[own_id.casefold()] = own_id
                self._owners[own_id.casefold()] = owner_in(body)
                self._add_parts(own_id, body)
                self.add_tasks(own_id, body, factory, come=not is_refused)
            case "addTasks" if job_id is not None:
                self.add_tasks(job_id, body, factory, at_ms or 0, come=not is_refused)
            case "updateJob" if job_id and not is_refused:
                moved = text_at(body, "poolInfo", "poolId")
                self._moves.setdefault(job_id.casefold(), []).extend([] if moved is None else [NodeOwner(moved)])
            case "createJobSchedule" if own_id is not None:
                self._schedules[own_id.casefold()] = own_id
                self._owners[own_id.casefold()] = owner_in(specification)
                self._add_parts(own_id, specification)
            case "updateJobSchedule" if (schedule_id := text_at(body, "jobScheduleId")) is not None:
                self._add_parts(schedule_id, specification)

    def too_early(self, subject: ConditionSubject, at_ms: int) -> tuple[str, str] | None:
        """Return the key whose id is created only after a time and a sentence, or None."""
        job_id, task_id = subject.job_id, subject.task_id
        named = {"poolId": (subject.pool_id,), "jobScheduleId": (subject.job_schedule_id,), "jobId": (job_id,)}
        for key, ids in (named | {"taskId": (job_id, task_id)}).items():
            since_ms = self._since.get((key.casefold(), *((each or "").casefold() for each in ids)), 0)
            if since_ms > at_ms:
                return key, f"{shown(ids[-1])} is created only at {format_duration(since_ms)}"
        return None

    def add_tasks(
        self, job_id: str, body: Mapping[str, Plain], factory: TaskFactory | None, at_ms: int = 0, *, come: bool
    ) -> None:
        """Declare the tasks that a body adds to a job, at a time; ``come`` if the service accepts them."""
        folded_job = job_id.casefold()
        known = self._tasks.get(folded_job) or self._tasks.setdefault(folded_job, _Tasks())
        written = body.get("taskFactory")
        if factory is not None:
            known.factories.append(factory)
        elif isinstance(written, dict):
            known.is_open |= "tasks" not in written
        collected = written.get("tasks") if isinstance(written, dict) else None
        for listed in (body.get("tasks"), body.get("value"), collected):
            for task in listed if isinstance(listed, list) else ():
                task_id = task.get("id") if isinstance(task, dict) else None
                if isinstance(task_id, str):
                    folded = task_id.casefold()
                    key = ("taskid", folded_job, folded) if at_ms else ()
                    if key and (folded not in known.ids or key in self._since):
                        self._since[key] = min(self._since.get(key, at_ms), at_ms)
                    known.ids[folded] = task_id
        known.come |= come and bool(known.ids or known.factories or known.is_open)

    def _add_parts(self, owner_id: str, specification: Plain) -> None:
        """Declare the job manager task and the auto pool of a job or job schedule."""
        task_id = text_at(specification, "jobManagerTask", "id")
        if task_id is not None:
            tasks = self._tasks.setdefault(owner_id.casefold(), _Tasks())
            tasks.ids[task_id.casefold()] = task_id
            tasks.come = True
        pool = value_at(specification, "poolInfo", "autoPoolSpecification")
        if pool is not None:
            prefix = text_at(pool, "autoPoolIdPrefix")
            self._prefixes.add(f"{prefix.casefold()}_" if prefix else "")

    def missing(self, subject: ConditionSubject) -> tuple[str, str] | None:
        """Return the key whose id nothing in the scenario creates and the reason, or None."""
        if self.anything:
            return None
        if subject.pool_id is not None and (reason := self.missing_pool(subject.pool_id)) is not None:
            return "poolId", reason
        if subject.job_schedule_id is not None and subject.job_schedule_id.casefold() not in self._schedules:
            return "jobScheduleId", _reason("job schedule", subject.job_schedule_id, self._schedules.values())
        if subject.job_id is None:
            return None
        if subject.job_id.casefold() not in self._jobs and _schedule_of(subject.job_id) not in self._schedules:
            near = [*self._jobs.values(), *(f"{schedule}:job-1" for schedule in self._schedules.values())]
            return "jobId", _reason("job", subject.job_id, near)
        if subject.task_id is None or self.any_task:
            return None
        sources = self._tasks_of(subject.job_id)
        if any(tasks.has(subject.task_id) for tasks in sources):
            return None
        near = [task_id for tasks in sources for task_id in tasks.shown()]
        return "taskId", _reason("task", subject.task_id, near)

    def missing_node(self, pool_id: str, index: int) -> tuple[str, str] | None:
        """Return the key and a sentence if the pool never has a node with this index, else None."""
        most = sum(form.most for form in self._nodes.get(pool_id.casefold(), [])) or inf
        if self.anything or index < most:
            return None
        return "node", f"the pool {shown(pool_id)} has no node {index}: they count from 0 to {most - 1:.0f}"

    def missing_pool(self, pool_id: str) -> str | None:
        """Return a sentence if nothing in the scenario creates this pool, else None."""
        if pool_id.casefold() in self.absent and not self._makes_pool(pool_id):
            return f"the pool {shown(pool_id)} is not created: its condition is false"
        return None if self.anything or self._makes_pool(pool_id) else _reason("pool", pool_id, self._pools.values())

    def _makes_pool(self, pool_id: str) -> bool:
        folded = pool_id.casefold()
        if folded in self._pools:
            return True
        # An id has the prefix and a GUID, which only the run knows (AUTO-5).
        return any(
            folded.startswith(prefix) and _GUID.fullmatch(folded.removeprefix(prefix)) for prefix in self._prefixes
        )

    def nodes_of(self, owner: NodeOwner) -> PoolNodes | None:
        """Return the nodes of an owner; None if nothing that has been read yet tells of them."""
        return next(iter(self._forms_of(owner)), None)

    def all_nodes_of(self, owner: NodeOwner) -> list[PoolNodes]:
        """Return the forms of all nodes on which a task may ever run; none if some pool is not known."""
        found = [self._forms_of(each) for each in (owner, *self._moves.get((owner.job_id or "").casefold(), ()))]
        return list(chain.from_iterable(found)) if all(found) else []

    def resolved(self, owner: NodeOwner) -> NodeOwner:
        """Return the owner with the pool of its job, if only the job is known."""
        if owner.pool_id is None and owner.nodes is None and owner.job_id is not None:
            job_id = owner.job_id.casefold()
            found = self._owners.get(job_id) or self._owners.get(job_id.rpartition(":")[0]) or owner
            return found._replace(job_id=owner.job_id)
        return owner

    def task_count(self, pool_id: str) -> int:
        """Return the number of tasks of the jobs in a pool."""
        jobs = [job for job, owner in self._owners.items() if (owner.pool_id or "").casefold() == pool_id.casefold()]
        tasks = [self._tasks[job] for job in jobs if job in self._tasks]
        return sum(len(each.ids) + sum(factory.count for factory in each.factories) for each in tasks)

    def _forms_of(self, owner: NodeOwner) -> list[PoolNodes]:
        owner = self.resolved(owner)
        return [owner.nodes] if owner.nodes is not None else self._nodes.get((owner.pool_id or "").casefold(), [])

    def gets_tasks(self, job_id: str) -> bool:
        """Return whether a job, or a job of a schedule, has a task, a job manager, or gets tasks from anything."""
        folded = job_id.casefold()
        of_jobs = (tasks for name, tasks in self._tasks.items() if folded in (name, _schedule_of(name)))
        return self.anything or self.any_task or any(tasks.come for tasks in of_jobs)

    def missing_dependencies(self, job_id: str, needs: Plain) -> Iterator[tuple[str, int, str]]:
        """Yield what a task depends on that nothing adds to its job: the list, the place in it, and a sentence."""
        tasks = self._tasks_of(job_id)
        if self.anything or self.any_task or not isinstance(needs, dict) or any(each.is_open for each in tasks):
            return
        ids, ranges = needs.get("taskIds"), needs.get("taskIdRanges")
        for index, task_id in enumerate(ids if isinstance(ids, list) else ()):
            if isinstance(task_id, str) and not any(each.has(task_id) for each in tasks):
                near = list(islice((name for each in tasks for name in each.shown()), _SHOWN_TASKS))
                yield "taskIds", index, f"nothing adds the task {shown(task_id)}{_NEVER}" + did_you_mean(task_id, near)
        for index, numbers in enumerate(ranges if isinstance(ranges, list) else ()):
            start, end = (value_at(numbers, name) for name in ("start", "end"))
            if not isinstance(start, int) or not isinstance(end, int):
                continue
            looked_at = chain(range(start, min(end, start + _SHOWN_TASKS) + 1), (end,))
            lacks = next((one for one in looked_at if not any(each.has_number(one) for each in tasks)), None)
            if lacks is not None:
                yield "taskIdRanges", index, f"nothing adds the task {lacks} of the range{_NEVER}"

    def _tasks_of(self, job_id: str) -> list[_Tasks]:
        owners = (job_id.casefold(), _schedule_of(job_id))
        return [self._tasks[owner] for owner in owners if owner in self._tasks]


def _schedule_of(job_id: str) -> str:
    match = _SCHEDULED.fullmatch(job_id)
    return match["schedule"].casefold() if match else ""


def circles(graph: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """Yield circles of a graph, none of which shares a node with another one."""
    done: set[str] = set()
    for root in graph:
        path = {} if root in done else {root: iter(graph[root])}
        while path:
            name = next(reversed(path))
            following = next(path[name], None)
            if following is None:
                done.add(name)
                del path[name]
            elif following in path:
                names = list(path)
                circle = names[names.index(following) :]
                yield circle
                done.update(circle)
                for each in circle:
                    del path[each]
            elif following in graph and following not in done:
                path[following] = iter(graph[following])


def _reason(kind: str, word: str, names: Iterable[str]) -> str:
    return f"no part of the scenario creates the {kind} {shown(word)}" + did_you_mean(word, names)


Owner = str | DocumentPlace  # of an id: its words, or the place of a task, whose line is only needed for a report


def owner_text(owner: Owner) -> str:
    """Return what has an id, for a message."""
    return owner if isinstance(owner, str) else f"the task in line {owner.line}"


@dataclass(slots=True)
class Ids:
    """Ids taken so far, compared without regard to case (GEN-1); jobs and job schedules share one set (GEN-2)."""

    names: dict[str, Owner] = field(default_factory=dict)

    def take(self, new_id: str, what: Owner, place: DocumentPlace) -> None:
        """Take an id for ``what``, whose body is at a place; report it if it is taken already."""
        owner = self.names.get(new_id.casefold())
        if owner is not None:
            taken = f"the id {shown(new_id)} is taken by {owner_text(owner)} (case does not count)"
            (place.get("id") or place).report(taken)
        else:
            self.names[new_id.casefold()] = what


class TaskNeeds:
    """The slots, the kind of pool and the other tasks that the tasks of a document need."""

    def __init__(self, names: DeclaredIds) -> None:
        """Create it for a document whose ``names`` are being read."""
        self._names = names
        # How many tasks in a list require as many slots, and where the first one says so.
        self._alike: Counter[tuple[Path, int, NodeOwner]] = Counter()
        self._first: dict[tuple[Path, int, NodeOwner], DocumentPlace] = {}
        self._gangs: dict[tuple[Path, NodeOwner], DocumentPlace] = {}  # the first multi-instance task of each list
        # Tasks that depend on others, by job: their ids, what they need, and their places.
        self._dependent: defaultdict[str, list[tuple[str, Plain, DocumentPlace]]] = defaultdict(list)

    def take(self, place: DocumentPlace, owner: NodeOwner, factory: TaskFactory | None = None) -> None:
        """Note what a task, or each task of a factory, needs of its pool and of other tasks."""
        body = place.plain if isinstance(place.plain, dict) else {}
        if body.get("multiInstanceSettings"):
            self._gangs.setdefault((place.path[:-1], owner), place.get("multiInstanceSettings") or place)
        if body.get("dependsOn") and owner.job_id is not None:
            tasks = [body] if factory is None else map(factory.body, range(min(factory.count, _MOST_DEPENDENT)))
            self._dependent[owner.job_id].extend(
                (str(task.get("id")).casefold(), task["dependsOn"], place) for task in tasks
            )
        required = body.get("requiredSlots")
        if not isinstance(required, int) or required <= 1:
            return
        alike = place.path[:-1], required, owner
        self._alike[alike] += 1 if factory is None else factory.count
        if alike not in self._first and (written := place.get("requiredSlots")) is not None:
            self._first[alike] = written

    def finish(self) -> Counter[str]:
        """Report what tasks need and never get; return the slots that those of pools require beyond one each."""
        self._check_dependencies()
        more_slots: Counter[str] = Counter()
        for alike, place in self._first.items():
            _, required, owner = alike
            slots = max((nodes.slots for nodes in self._names.all_nodes_of(owner)), default=None)
            if slots is not None and required > slots:
                more = f" ({self._alike[alike] - 1:,} more like it)" if self._alike[alike] > 1 else ""
                place.warn(
                    f"the task requires {required:,} slots and never runs, since a node of its pool has {slots:,}"
                    f" (SCHED-10): give the pool taskSlotsPerNode: {required}{more}",
                    "too-few-slots",
                )
            if (pool_id := self._names.resolved(owner).pool_id) is not None and slots is not None:
                more_slots[pool_id.casefold()] += (min(required, slots) - 1) * self._alike[alike]
        for (_, owner), place in self._gangs.items():
            forms = self._names.all_nodes_of(owner)
            if forms and not any(nodes.hosts_gangs for nodes in forms):
                place.warn(
                    "the pool of this multi-instance task needs enableInterNodeCommunication: true and one task slot"
                    " per node: it never runs (MI-2)",
                    "multi-instance-pool",
                )
        return more_slots

    def _check_dependencies(self) -> None:
        """Warn of tasks that wait for a task that never comes, or for each other."""
        for job_id, dependents in self._dependent.items():
            if len(dependents[0][2].document.warnings) >= PROBLEM_LIMIT:
                return
            wrong: dict[tuple[Path, str, int], tuple[DocumentPlace, str]] = {}  # the tasks of a factory share places
            for _, needs, place in dependents:
                for name, index, reason in self._names.missing_dependencies(job_id, needs):
                    wrong.setdefault((place.path, name, index), (place, reason))
            for (_, name, index), (place, reason) in wrong.items():
                written = place.at("dependsOn", name)
                found = None if written is None else next(islice(written.entries(), index, None), written)
                (found or place).warn(reason, "unknown-dependency")
            at = {task_id: number for number, (task_id, *_) in enumerate(dependents)}
            numbers = sorted((number, each) for each in at if (number := _number_in(each)) is not None)
            if len(at) < len(dependents) or not any(
                at.get(each, -1) >= number
                for number, (_, needs, _) in enumerate(dependents)
                for each in _needed(needs, numbers)
            ):
                continue  # without one that depends on a later one there is no circle
            for circle in circles({task_id: list(_needed(needs, numbers)) for task_id, needs, _ in dependents}):
                place = dependents[at[circle[0]]][2]
                listed = " -> ".join(map(shortened, (*circle[:6], circle[0])))
                (place.get("dependsOn") or place).warn(
                    f"tasks that wait for each other never run (DEP-7): {listed}", "dependency-circle"
                )


def _needed(needs: Plain, numbers: Sequence[tuple[int, str]]) -> Iterator[str]:
    """Yield the ids, in lower case, on which a task depends; those with numbers are given in order."""
    ids, ranges = value_at(needs, "taskIds"), value_at(needs, "taskIdRanges")
    yield from (each.casefold() for each in (ids if isinstance(ids, list) else ()) if isinstance(each, str))
    for each in ranges if isinstance(ranges, list) else ():
        start, end = value_at(each, "start"), value_at(each, "end")
        if isinstance(start, int) and isinstance(end, int):
            first, behind = bisect_left(numbers, (start, "")), bisect_left(numbers, (end + 1, ""))
            yield from (task_id for _, task_id in numbers[first:behind])
