"""What a scenario can make: the pools, jobs and tasks that conditions may name, and ids given twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from engine.scenario.bodies import shown
from engine.scenario.factory import TaskFactory
from engine.scenario.model import Subject
from engine.scenario.nearest import did_you_mean
from engine.specs.job import JobSpecification
from engine.specs.task import TaskSpec

_SHOWN_TASKS = 1_000  # of a factory, when the nearest name is looked for
_GUID = re.compile(r"[0-9A-F]{8}(-?[0-9A-F]{4}){3}-?[0-9A-F]{12}", re.IGNORECASE)
_SCHEDULED = re.compile(r"(?P<schedule>.+):job-[1-9]\d*", re.IGNORECASE | re.ASCII)


@dataclass(slots=True)
class _Tasks:
    """The tasks that a job may come to have; ids are folded (GEN-1), with their spelling."""

    ids: dict[str, str] = field(default_factory=dict)
    factories: list[TaskFactory] = field(default_factory=list)

    def has(self, task_id: str) -> bool:
        return task_id.casefold() in self.ids or any(made.ordinal_of(task_id) is not None for made in self.factories)

    def shown(self) -> Iterator[str]:
        yield from self.ids.values()
        for factory in self.factories:
            yield from (factory.task_id(k) for k in range(min(factory.count, _SHOWN_TASKS)))


@dataclass(slots=True)
class Names:
    """Everything that some part of the scenario can make."""

    _pools: dict[str, str] = field(default_factory=dict)
    _prefixes: set[str] = field(default_factory=set)
    _jobs: dict[str, str] = field(default_factory=dict)
    _schedules: dict[str, str] = field(default_factory=dict)
    _tasks: dict[str, _Tasks] = field(default_factory=dict)

    def add_pool(self, pool_id: str) -> None:
        """A pool is created under this id."""
        self._pools[pool_id.casefold()] = pool_id

    def add_job(self, job_id: str, spec: JobSpecification) -> None:
        """A job is created under this id."""
        self._jobs[job_id.casefold()] = job_id
        self._add_parts(job_id, spec)

    def add_schedule(self, schedule_id: str, spec: JobSpecification) -> None:
        """A job schedule is created under this id, or changed; it makes jobs (JS-11)."""
        self._schedules[schedule_id.casefold()] = schedule_id
        self._add_parts(schedule_id, spec)

    def add_tasks(self, job_id: str, tasks: Iterable[TaskSpec], factory: TaskFactory | None = None) -> None:
        """Tasks are added to this job, whoever makes the job."""
        known = self._tasks.setdefault(job_id.casefold(), _Tasks())
        known.ids.update((task.id.casefold(), task.id) for task in tasks)
        if factory is not None:
            known.factories.append(factory)

    def _add_parts(self, owner_id: str, spec: JobSpecification) -> None:
        known = self._tasks.setdefault(owner_id.casefold(), _Tasks())
        if spec.job_manager_task is not None:
            known.ids[spec.job_manager_task.id.casefold()] = spec.job_manager_task.id
        if spec.pool_info.auto_pool_specification is not None:
            self._prefixes.add((spec.pool_info.auto_pool_specification.auto_pool_id_prefix or "").casefold())

    def missing(self, subject: Subject) -> tuple[str, str] | None:
        """The key whose id nothing in the scenario can make, and the reason; None when all can be made."""
        if subject.pool_id is not None and not self._makes_pool(subject.pool_id):
            return "poolId", _reason("pool", subject.pool_id, self._pools.values())
        if subject.job_id is None:
            return None
        if not self._makes_job(subject.job_id):
            near = [*self._jobs.values(), *(f"{schedule}:job-1" for schedule in self._schedules.values())]
            return "jobId", _reason("job", subject.job_id, near)
        if subject.task_id is None:
            return None
        sources = self._tasks_of(subject.job_id)
        if any(tasks.has(subject.task_id) for tasks in sources):
            return None
        near = [task_id for tasks in sources for task_id in tasks.shown()]
        return "taskId", _reason("task", subject.task_id, near)

    def _makes_pool(self, pool_id: str) -> bool:
        folded = pool_id.casefold()
        if folded in self._pools:
            return True
        # AUTO-5: the prefix and a GUID that only the run will tell.
        return any(
            folded.startswith(prefix) and _GUID.fullmatch(folded.removeprefix(prefix)) for prefix in self._prefixes
        )

    def _makes_job(self, job_id: str) -> bool:
        return job_id.casefold() in self._jobs or self._schedule_of(job_id) in self._schedules

    def _tasks_of(self, job_id: str) -> list[_Tasks]:
        owners = (job_id.casefold(), self._schedule_of(job_id))
        return [self._tasks[owner] for owner in owners if owner in self._tasks]

    def _schedule_of(self, job_id: str) -> str:
        match = _SCHEDULED.fullmatch(job_id)
        return match["schedule"].casefold() if match else ""


def _reason(kind: str, word: str, names: Iterable[str]) -> str:
    return f"no part of the scenario can make the {kind} {shown(word)}" + did_you_mean(word, names)


@dataclass(slots=True)
class Ids:
    """Ids taken so far, compared without regard to case (GEN-1); jobs and job schedules share one (GEN-2)."""

    _taken: dict[str, str] = field(default_factory=dict)

    def take(self, new_id: str, what: str) -> str | None:
        """Take an id; what is wrong with it when it is taken already."""
        folded = new_id.casefold()
        if folded in self._taken:
            return f"the id {new_id!r} is taken by {self._taken[folded]} (case does not count)"
        self._taken[folded] = what
        return None
