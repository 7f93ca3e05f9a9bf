"""The progress of a job: preparation, tasks and release, counted by status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.pages.instances import HookStatus

if TYPE_CHECKING:
    from engine import Simulation
    from engine.views.pages.instances import InstancePage


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


def approximate_counts(tasks: TaskCounts) -> dict[str, int]:
    """Return the counts of the service for a job, where preparing tasks count as running (PREP-21)."""
    return {
        "active": tasks.active,
        "running": tasks.running + tasks.preparing,
        "completed": tasks.succeeded + tasks.failed,
        "succeeded": tasks.succeeded,
        "failed": tasks.failed,
    }


_NOTHING = HookCounts(False, {}, 0)
_NO_TASKS = TaskCounts(0, 0, 0, 0, 0, None)


def phases_of(simulation: Simulation, preparation: InstancePage, release: InstancePage) -> Phases:
    """Return the phases of the job of these pages; all counts are 0 while there is no such job."""
    job_id = preparation.job_id
    job = simulation.world.jobs.find(job_id)
    if job is None:
        return Phases(_NOTHING, _NO_TASKS, _NOTHING)
    done = job.counts[COMPLETED]
    tasks = TaskCounts(
        active=job.counts[ACTIVE],
        preparing=job.counts[PREPARING],
        running=job.counts[RUNNING],
        succeeded=done - job.failed,
        failed=job.failed,
        oldest_wait_ms=_oldest_wait_ms(simulation, job_id),
    )
    return Phases(_counts(preparation), tasks, _counts(release))


def _counts(page: InstancePage) -> HookCounts:
    counts = page.counts()
    with_record = sum(counts.values()) - counts.get(HookStatus.GONE, 0)
    is_specified = page.definition() is not None
    return HookCounts(is_specified, counts, max(0, page.nodes_present() - with_record))


def _oldest_wait_ms(simulation: Simulation, job_id: str) -> int | None:
    world = simulation.world
    job = world.jobs.find(job_id)
    if job is None or not job.counts[ACTIVE]:
        return None
    for number in job.blocks:
        block = world.tasks.blocks[number]
        if world.tasks.state[block.first : block.first + block.source.count].tobytes().find(ACTIVE) >= 0:
            return simulation.now_ms - block.created_ms
    return None
