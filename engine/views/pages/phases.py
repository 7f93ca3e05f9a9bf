"""The progress of a job: preparation, tasks and release, counted by status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING

if TYPE_CHECKING:
    from engine import Simulation
    from engine.state.jobs import Job
    from engine.views.pages.instances import HookStatus, InstancePage


@dataclass(frozen=True, slots=True)
class HookCounts:
    """The nodes of a job by their status in preparation, or in release."""

    is_specified: bool
    by_status: dict[HookStatus, int]
    without_record: int  # nodes in the pool that have no record

    def __getitem__(self, status: HookStatus) -> int:
        """Return the number of nodes with this status."""
        return self.by_status.get(status, 0)

    @property
    def total(self) -> int:
        """The number of nodes with a record, with one to come, and without."""
        return sum(self.by_status.values()) + self.without_record


class TaskCounts(NamedTuple):
    """The tasks of a job (TASK-16)."""

    active: int
    preparing: int
    running: int
    succeeded: int
    failed: int
    oldest_wait_ms: int | None  # how long the first task in the queue has been active

    @property
    def total(self) -> int:
        """The number of tasks that have not been deleted."""
        return self.active + self.preparing + self.running + self.succeeded + self.failed


class Phases(NamedTuple):
    """A job's three phases."""

    preparation: HookCounts
    tasks: TaskCounts
    release: HookCounts


def phases_of(simulation: Simulation, job: Job, preparation: InstancePage, release: InstancePage) -> Phases:
    """Return the phases of a job, whose pages these are."""
    done = job.counts[COMPLETED]
    tasks = TaskCounts(
        active=job.counts[ACTIVE],
        preparing=job.counts[PREPARING],
        running=job.counts[RUNNING],
        succeeded=done - job.failed,
        failed=job.failed,
        oldest_wait_ms=_oldest_wait_ms(simulation, job),
    )
    return Phases(_counts(preparation), tasks, _counts(release))


def _counts(page: InstancePage) -> HookCounts:
    return HookCounts(page.definition() is not None, page.counts(), page.nodes_without_record())


def _oldest_wait_ms(simulation: Simulation, job: Job) -> int | None:
    world = simulation.world
    for number in job.blocks if job.counts[ACTIVE] else ():
        block = world.tasks.blocks[number]
        if world.tasks.state[block.first : block.first + block.source.count].tobytes().find(ACTIVE) >= 0:
            return simulation.now_ms - block.created_ms
    return None
