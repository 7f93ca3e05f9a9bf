"""Warnings: things that a scenario may say, but that its author has probably not meant.

The collector is given what is read. Each ``*_warnings`` module has one idea of what may be wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.scenario.added_tasks import is_ordinary
from engine.scenario.command_line_warnings import CommandLines
from engine.scenario.known_nodes import KnownNodes, NodeOwner, nodes_in, owner_in
from engine.scenario.names import DeclaredIds, text_at
from engine.scenario.property_warnings import BodySearch
from engine.scenario.slot_warnings import RequiredSlots
from engine.specs.command import OnJob, OnPool
from engine.specs.commands import COMMANDS, AddTasks, CreateJob
from engine.specs.job import JobSpec
from engine.specs.schedule import JobScheduleSpec
from engine.specs.task import TaskSpec

if TYPE_CHECKING:
    from datetime import datetime

    from engine.scenario.document import DocumentPlace
    from engine.scenario.factory import TaskFactory
    from engine.specs.account import Quotas
    from engine.specs.base import Spec


class WarningCollector:
    """A collector of the warnings about one document."""

    def __init__(
        self,
        start: datetime,
        *,
        tasks_are_simulated: bool = False,
        has_storage_account: bool = False,
        quotas: Quotas | None = None,
    ) -> None:
        """Create it.

        Args:
            start: The start of the scenario, at which the support of an image counts.
            tasks_are_simulated: A default ``simulate`` speaks for all tasks of jobs.
            has_storage_account: The account has a storage account for containers that are given by name.
            quotas: What the account allows; None where a pool may want more than that.
        """
        self._nodes = KnownNodes()
        self._lines = CommandLines(self._nodes, tasks_are_simulated=tasks_are_simulated)
        self._slots = RequiredSlots(self._nodes)
        self._bodies = BodySearch(start, has_storage_account, self._lines, self._slots, quotas)
        self._pool_ids: list[DocumentPlace] = []

    def pool(self, place: DocumentPlace, model: type[Spec]) -> None:
        """Search the body that creates a pool."""
        pool_id = text_at(place.plain, "id")
        if pool_id is not None:
            self._nodes.add_pool(pool_id, nodes_in(place.plain))
        self._bodies.search(place, model, NodeOwner())

    def job(self, place: DocumentPlace, model: type[Spec], factory: TaskFactory | None) -> None:
        """Search the body that creates a job, and its tasks."""
        owner = owner_in(place.plain)
        job_id = text_at(place.plain, "id")
        if job_id is not None:
            self._nodes.add_job(job_id, owner)
        self._bodies.search(place, model, owner)
        self._search_tasks(place, owner, factory)

    def schedule(self, place: DocumentPlace, model: type[Spec]) -> None:
        """Search the body that creates a job schedule."""
        specification = place.get("jobSpecification")
        owner = owner_in(specification.plain if specification is not None else None)
        schedule_id = text_at(place.plain, "id")
        if schedule_id is not None:
            self._nodes.add_job(schedule_id, owner)
        self._bodies.search(place, model, owner)

    def command(
        self,
        name: str,
        place: DocumentPlace,
        factory: TaskFactory | None,
        *,
        is_refused: bool = False,
        own_job: str | None = None,
    ) -> None:
        """Search the body of a command.

        One that is expected to be refused may name a pool that does not exist. A process's command without ``jobId``
        is about ``own_job``.
        """
        model = COMMANDS.get(name)
        if model is None:
            return
        if name == "createPool":
            self.pool(place, model)
        elif issubclass(model, CreateJob):
            self.job(place, JobSpec, factory)
        elif name == "createJobSchedule":
            self.schedule(place, JobScheduleSpec)
        else:
            owner = NodeOwner(text_at(place.plain, "poolId"), text_at(place.plain, "jobId") or own_job)
            pool = place.get("poolId")
            if name == "updatePool" and owner.pool_id is not None:
                self._nodes.add_pool(owner.pool_id, nodes_in(place.plain))
            if issubclass(model, OnPool) and pool is not None and not is_refused:
                self._pool_ids.append(pool)
            if issubclass(model, AddTasks):
                self._search_tasks(place, owner, factory)
            elif issubclass(model, OnPool | OnJob) or name == "updateJobSchedule":
                self._bodies.search(place, model, owner)

    def finish(self, names: DeclaredIds) -> None:
        """Report what could be decided only now that all pools and jobs are known."""
        for place in (*self._pool_ids, *self._bodies.pool_ids):
            reason = names.missing_pool(str(place.plain)) if isinstance(place.plain, str) else None
            if reason is not None:
                place.warn(reason)
        self._lines.finish()
        self._slots.finish()

    def _search_tasks(self, place: DocumentPlace, owner: NodeOwner, factory: TaskFactory | None) -> None:
        for name in ("tasks", "value"):
            listed = place.get(name)
            for task in listed.entries() if listed is not None else ():
                if is_ordinary(task.plain):
                    self._slots.visit(task, owner)
                else:
                    self._bodies.search(task, TaskSpec, owner)
        written = place.get("taskFactory")
        template = written.get("repeatTask") if written is not None else None
        if template is not None and factory is not None:
            self._bodies.search(template, TaskSpec, owner, line=factory.command_line(0))
        listed = written.get("tasks") if written is not None else None
        if listed is not None:
            self._bodies.search_alike(listed, TaskSpec, owner)
