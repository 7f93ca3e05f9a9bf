"""The progress of a job: preparation, tasks and release, counted by status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import JobState
from engine.state.tasks import ACTIVE, COMPLETED, GONE, PREPARING, RUNNING
from engine.views.pages.bulk import places
from engine.views.pages.hook_status import HookStatus

if TYPE_CHECKING:
    from engine import Simulation
    from engine.state.jobs import Job
    from engine.views.pages.instances import InstancePage
    from engine.world.world import World


_NOT_YET = (HookStatus.WILL_RUN, HookStatus.SKIPPED)
_NEVER = {HookStatus.LEAVING, HookStatus.GONE, HookStatus.SKIPPED}


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
    def has_begun(self) -> bool:
        """True once it has run on a node, or runs."""
        return any(status not in _NOT_YET for status in self.by_status)

    @property
    def ran(self) -> int:
        """The number of nodes where it has run to its end, failed or not."""
        return self[HookStatus.SUCCEEDED] + self[HookStatus.FAILED]

    @property
    def due(self) -> int:
        """The number of nodes where it has run, runs or will: so far, without those that leave or have no need."""
        return sum(self.by_status[status] for status in self.by_status.keys() - _NEVER)

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


def oldest_waiting(world: World, job: Job) -> int | None:
    """Return the task that has been waiting longest; None if none waits, or none will run as the job has ended."""
    is_over = job.state not in (JobState.ACTIVE, JobState.DISABLING, JobState.DISABLED, JobState.ENABLING)
    for number in () if is_over or not job.counts[ACTIVE] else job.blocks:
        block = world.tasks.blocks[number]
        task = world.tasks.state.find(ACTIVE, block.first, block.rows.stop)
        if task >= 0:
            return task
    return None


def last_task_ms(world: World, job: Job) -> int | None:
    """Return the end of the job's last task, in ms since the start; None while a task is not completed."""
    tasks, last_ms = world.tasks, None
    for number in job.blocks:
        block = tasks.blocks[number]
        rows = slice(block.first, block.rows.stop)
        states = tasks.state[rows]
        if states.count(COMPLETED) + states.count(GONE) < len(states):
            return None
        ends = tasks.ended[rows]
        found = max(ends) if GONE not in states else max(map(ends.__getitem__, places(states, COMPLETED)), default=None)
        if found is not None:
            last_ms = max(found, last_ms or 0)
    return last_ms


def _oldest_wait_ms(simulation: Simulation, job: Job) -> int | None:
    task = oldest_waiting(simulation.world, job)
    return None if task is None else simulation.now_ms - simulation.world.tasks.block_of(task).created_ms
