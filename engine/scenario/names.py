"""The ids that a scenario declares, and the nodes on which its tasks run.

Subjects of conditions are checked against the ids, and duplicates are reported. Ids are taken from the values as
written, so that a mistake in a job is not also reported for every condition on it. The nodes follow from the bodies of
pools and jobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.base.terms import OsFamily, Plain
from engine.base.values import lazy_regex, text_at, value_at
from engine.scenario.document import DocumentPlace
from engine.scenario.factory import TaskFactory
from engine.scenario.text import did_you_mean, shown
from engine.specs.catalogue import os_of
from engine.specs.conditions import ConditionSubject

_SHOWN_TASKS = 1_000  # per factory, when searching for the nearest name
_GUID = lazy_regex(r"[0-9A-F]{8}(-?[0-9A-F]{4}){3}-?[0-9A-F]{12}", re.IGNORECASE)
_SCHEDULED = lazy_regex(r"(?P<schedule>.+):job-[1-9]\d*", re.IGNORECASE | re.ASCII)


def changed_applications(value: Plain) -> Iterator[str]:
    """Yield the ids of the applications that commands change anywhere in a document, also those that processes give."""
    if isinstance(value, dict):
        for name in ("createApplicationPackage", "updateApplication"):
            application_id = text_at(value, name, "applicationId")
            if application_id is not None:
                yield application_id
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from changed_applications(part)


class PoolNodes(NamedTuple):
    """The nodes of a pool, as its body tells of them."""

    os: OsFamily
    slots: int  # of each node


class NodeOwner(NamedTuple):
    """The owner of the nodes on which a task runs: a pool, the pool of a job, or the job with a pool of its own."""

    pool_id: str | None = None
    job_id: str | None = None
    nodes: PoolNodes | None = None


def nodes_in(body: Plain) -> PoolNodes:
    """Return what a pool's body tells of its nodes, as written."""
    cloud_service = isinstance(body, dict) and body.get("cloudServiceConfiguration") is not None
    agent = text_at(body, "virtualMachineConfiguration", "nodeAgentSKUId")
    slots = body.get("taskSlotsPerNode", body.get("maxTasksPerNode")) if isinstance(body, dict) else None
    os = os_of(node_agent_sku_id=agent, cloud_service=cloud_service)
    return PoolNodes(os, slots if isinstance(slots, int) else 1)


def owner_in(specification: Plain) -> NodeOwner:
    """Return the owner of the nodes on which the tasks of a job with this body run."""
    pool = value_at(specification, "poolInfo", "autoPoolSpecification", "pool")
    pool_id = text_at(specification, "poolInfo", "poolId")
    return NodeOwner(pool_id, nodes=nodes_in(pool) if isinstance(pool, dict) else None)


@dataclass(slots=True)
class _Tasks:
    """The tasks that a job may have; ids by their folded spelling (GEN-1)."""

    ids: dict[str, str] = field(default_factory=dict)
    factories: list[TaskFactory] = field(default_factory=list)
    is_open: bool = False  # an unreadable factory may create any task

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
    _nodes: dict[str, PoolNodes] = field(default_factory=dict)  # by pool
    _owners: dict[str, NodeOwner] = field(default_factory=dict)  # by job or job schedule
    _moves: dict[str, list[NodeOwner]] = field(default_factory=dict)  # other pools of jobs (JOB-14)
    absent: set[str] = field(default_factory=set)  # folded ids of pools whose condition is false
    any_task: bool = False  # any job may have any task, since processes of unknown jobs may add tasks
    anything: bool = False  # anything may be there, since more processes act than are looked at

    def add_command(
        self, name: str, body: Plain, factory: TaskFactory | None = None, *, is_refused: bool = False
    ) -> None:
        """Declare what a command may create; a job schedule creates jobs (JS-11)."""
        if not isinstance(body, dict):
            return
        own_id, pool_id, job_id = (text_at(body, key) for key in ("id", "poolId", "jobId"))
        specification = body.get("jobSpecification")
        match name:
            case "createPool" if own_id is not None:
                self._pools[own_id.casefold()] = own_id
                self._add_nodes(own_id, body)
            case "updatePool" if pool_id is not None:
                self._add_nodes(pool_id, body)
            case "createJob" if own_id is not None:
                self._jobs[own_id.casefold()] = own_id
                self._owners[own_id.casefold()] = owner_in(body)
                self._add_parts(own_id, body)
                self._add_tasks(own_id, body, factory)
            case "addTasks" if job_id is not None:
                self._add_tasks(job_id, body, factory)
            case "updateJob" if job_id and not is_refused:
                moved = text_at(body, "poolInfo", "poolId")
                self._moves.setdefault(job_id.casefold(), []).extend([] if moved is None else [NodeOwner(moved)])
            case "createJobSchedule" if own_id is not None:
                self._schedules[own_id.casefold()] = own_id
                self._owners[own_id.casefold()] = owner_in(specification)
                self._add_parts(own_id, specification)
            case "updateJobSchedule" if (schedule_id := text_at(body, "jobScheduleId")) is not None:
                self._add_parts(schedule_id, specification)

    def _add_nodes(self, pool_id: str, body: Plain) -> None:
        """Note the nodes of a pool. An update may give them more slots: the largest number counts."""
        nodes = nodes_in(body)
        known = self._nodes.setdefault(pool_id.casefold(), nodes)
        self._nodes[pool_id.casefold()] = known._replace(slots=max(known.slots, nodes.slots))

    def _add_tasks(self, job_id: str, body: dict[str, Plain], factory: TaskFactory | None) -> None:
        known = self._tasks.setdefault(job_id.casefold(), _Tasks())
        written = body.get("taskFactory")
        if factory is not None:
            known.factories.append(factory)
        elif isinstance(written, dict):
            known.is_open |= "tasks" not in written
        collected = written.get("tasks") if isinstance(written, dict) else None
        for listed in (body.get("tasks"), body.get("value"), collected):
            for task in listed if isinstance(listed, list) else ():
                if (task_id := text_at(task, "id")) is not None:
                    known.ids[task_id.casefold()] = task_id

    def _add_parts(self, owner_id: str, specification: Plain) -> None:
        """Declare the job manager task and the auto pool of a job or job schedule."""
        task_id = text_at(specification, "jobManagerTask", "id")
        if task_id is not None:
            self._tasks.setdefault(owner_id.casefold(), _Tasks()).ids[task_id.casefold()] = task_id
        pool = value_at(specification, "poolInfo", "autoPoolSpecification")
        if pool is not None:
            prefix = text_at(pool, "autoPoolIdPrefix")
            self._prefixes.add(f"{prefix.casefold()}_" if prefix else "")

    def missing(self, subject: ConditionSubject) -> tuple[str, str] | None:
        """Return the key whose id nothing in the scenario creates and the reason, or None."""
        if self.anything or (subject.pool_id or "").casefold() in self.absent:
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

    def most_slots(self, owner: NodeOwner) -> int | None:
        """Return the most slots of a node on which a task may ever run; None if some pool is not known."""
        moves = self._moves.get((owner.job_id or "").casefold(), ())
        found = [nodes.slots for each in (owner, *moves) if (nodes := self.nodes_of(each)) is not None]
        return max(found) if len(found) > len(moves) else None

    def nodes_of(self, owner: NodeOwner) -> PoolNodes | None:
        """Return the nodes of an owner; None if nothing that has been read yet tells of them."""
        if owner.pool_id is None and owner.nodes is None and owner.job_id is not None:
            job_id = owner.job_id.casefold()
            owner = self._owners.get(job_id) or self._owners.get(job_id.rpartition(":")[0]) or NodeOwner()
        return owner.nodes or self._nodes.get((owner.pool_id or "").casefold())

    def _tasks_of(self, job_id: str) -> list[_Tasks]:
        owners = (job_id.casefold(), _schedule_of(job_id))
        return [self._tasks[owner] for owner in owners if owner in self._tasks]


def _schedule_of(job_id: str) -> str:
    match = _SCHEDULED.fullmatch(job_id)
    return match["schedule"].casefold() if match else ""


def _reason(kind: str, word: str, names: Iterable[str]) -> str:
    return f"no part of the scenario creates the {kind} {shown(word)}" + did_you_mean(word, names)


@dataclass(slots=True)
class Ids:
    """Ids taken so far, compared without regard to case (GEN-1); jobs and job schedules share one set (GEN-2)."""

    names: dict[str, str] = field(default_factory=dict)

    def take(self, new_id: str, what: str, place: DocumentPlace) -> None:
        """Take an id for ``what``, whose body is at a place; report it if it is taken already."""
        owner = self.names.get(new_id.casefold())
        if owner is not None:
            (place.get("id") or place).report(f"the id {shown(new_id)} is taken by {owner} (case does not count)")
        else:
            self.names[new_id.casefold()] = what
