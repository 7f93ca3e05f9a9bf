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
from engine.scenario.quota_warnings import CoreQuotas, pools_at_quota
from engine.scenario.slot_warnings import RequiredSlots
from engine.specs.command import OnJob, OnPool
from engine.specs.commands import COMMANDS, AddTasks, CreateJob
from engine.specs.job import JobSpec
from engine.specs.schedule import JobScheduleSpec
from engine.specs.task import TaskSpec

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from engine.scenario.conditions import Asked
    from engine.scenario.document import DocumentPlace
    from engine.scenario.factors import Factor
    from engine.scenario.factory import TaskFactory
    from engine.specs.account import Account
    from engine.specs.base import Spec


class WarningCollector:
    """A collector of the warnings about one document."""

    def __init__(
        self, start: datetime, account: Account, *, tasks_are_simulated: bool = False, has_subnets: bool = False
    ) -> None:
        """Create it.

        Args:
            start: The start of the scenario, at which the support of an image counts.
            account: The account with its quotas and its storage account, for containers that are given by name.
            tasks_are_simulated: A default ``simulate`` speaks for all tasks of jobs.
            has_subnets: The scenario describes subnets, which may have too few addresses for a pool.
        """
        self._nodes = KnownNodes()
        self._lines = CommandLines(self._nodes, tasks_are_simulated=tasks_are_simulated)
        self._slots = RequiredSlots(self._nodes)
        self._quotas = CoreQuotas(account.quotas, has_subnets=has_subnets)
        has_storage_account = account.storage_account is not None
        self._bodies = BodySearch(start, has_storage_account, self._lines, self._slots)
        self._pool_ids: list[DocumentPlace] = []

    def pool(self, place: DocumentPlace, model: type[Spec], at_ms: int | None, *, is_refused: bool = False) -> None:
        """Search the body that creates a pool; like all of them at a moment, or at an unknown one if it is None."""
        if not is_refused:
            self._quotas.create(place, at_ms)
        pool_id = text_at(place.plain, "id")
        if pool_id is not None:
            self._nodes.add_pool(pool_id, nodes_in(place.plain))
        self._bodies.search(place, model, NodeOwner())

    def job(
        self, place: DocumentPlace, factory: TaskFactory | None, at_ms: int | None, *, is_refused: bool = False
    ) -> None:
        """Search the body that creates a job, and its tasks."""
        job_id = text_at(place.plain, "id")
        owner = owner_in(place.plain)._replace(job_id=job_id)
        if not is_refused:
            self._auto_pool(place, at_ms, f"job {job_id}")
        if job_id is not None:
            self._nodes.add_job(job_id, owner)
        self._bodies.search(place, JobSpec, owner)
        self._search_tasks(place, owner, factory)

    def schedule(self, place: DocumentPlace, *, is_refused: bool = False) -> None:
        """Search the body that creates a job schedule."""
        specification = place.get("jobSpecification")
        owner = owner_in(specification.plain if specification is not None else None)
        schedule_id = text_at(place.plain, "id")
        if schedule_id is not None:
            self._nodes.add_job(schedule_id, owner)
        if specification is not None and not is_refused:
            self._auto_pool(specification, None, f"job schedule {schedule_id}")
        self._bodies.search(place, JobScheduleSpec, owner)

    def command(
        self,
        name: str,
        place: DocumentPlace,
        factory: TaskFactory | None,
        at_ms: int | None = None,
        *,
        is_refused: bool = False,
        own_job: str | None = None,
    ) -> None:
        """Search the body of a command.

        One that is expected to be refused changes nothing, and may name a pool that does not exist. A process's
        command without ``jobId`` is about ``own_job``.
        """
        model = COMMANDS.get(name)
        if model is None:
            return
        if name == "createPool":
            self.pool(place, model, at_ms, is_refused=is_refused)
        elif issubclass(model, CreateJob):
            self.job(place, factory, at_ms, is_refused=is_refused)
        elif name == "createJobSchedule":
            self.schedule(place, is_refused=is_refused)
        else:
            if not is_refused:
                self._quotas.command(name, place, at_ms)
            owner = NodeOwner(text_at(place.plain, "poolId"), text_at(place.plain, "jobId") or own_job)
            pool = place.get("poolId")
            if name == "updatePool" and owner.pool_id is not None:
                self._nodes.add_pool(owner.pool_id, nodes_in(place.plain))
            moved = text_at(place.plain, "poolInfo", "poolId")
            if name == "updateJob" and owner.job_id and moved is not None and not is_refused:
                self._nodes.move_job(owner.job_id, moved)
            if issubclass(model, OnPool) and pool is not None and not is_refused:
                self._pool_ids.append(pool)
            if issubclass(model, AddTasks):
                self._search_tasks(place, owner, factory)
            elif issubclass(model, OnPool | OnJob) or name == "updateJobSchedule":
                self._bodies.search(place, model, owner)

    def finish(self, names: DeclaredIds, asked: Asked, factors: Iterable[Factor]) -> None:
        """Report what could be decided only now that the whole document has been read.

        Args:
            names: All that the scenario creates.
            asked: All conditions; what they ask for is meant.
            factors: What the study of the scenario varies.
        """
        for place in (*self._pool_ids, *self._bodies.pool_ids):
            reason = names.missing_pool(str(place.plain)) if isinstance(place.plain, str) else None
            if reason is not None:
                place.warn(reason)
        self._lines.finish()
        self._slots.finish()
        varied = {factor.steps[2] for factor in factors if factor.steps[:2] == ("account", "quotas")}
        self._quotas.finish(pools_at_quota(asked), varied)

    def _auto_pool(self, specification: DocumentPlace, at_ms: int | None, owner: str) -> None:
        place: DocumentPlace | None = specification
        for name in ("poolInfo", "autoPoolSpecification", "pool"):
            place = place.get(name) if place is not None else None
        if place is not None:
            self._quotas.create(place, at_ms, owner)

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
