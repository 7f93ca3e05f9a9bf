"""The progress of jobs in numbers that are cheap to read, for a list of many of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from engine.base.terms import InstanceState, JobState
from engine.state.instances import ABSENT
from engine.state.nodes import GONE
from engine.state.tasks import ACTIVE, COMPLETED, PREPARING, RUNNING
from engine.views.pages.bulk import places, values
from engine.views.pages.hook_status import OVER, Hook
from engine.views.pages.instance_statuses import failed_places, version_of
from engine.views.pages.jobs import bad_end
from engine.views.pages.phases import TaskCounts

if TYPE_CHECKING:
    from engine import Simulation
    from engine.state.jobs import Job


class NodeCounts(NamedTuple):
    """The nodes on which a job prepares, or releases."""

    done: int  # without the failures
    running: int
    failed: int
    total: int


class JobProgress(NamedTuple):
    """A job's state and the counts of its phases. Times are ms since the start."""

    job_id: str
    state: JobState | None
    bad_end: str  # why it ended before its work was done; empty if it did not
    preparation: NodeCounts | None  # None: the job has no preparation task
    tasks: TaskCounts
    release: NodeCounts | None  # None: the job has no release task
    problems: int  # failed tasks, nodes on which preparation failed for good, errors of the job itself
    created_ms: int
    end_ms: int | None

    @property
    def is_live(self) -> bool:
        """True until the job is completed or deleted."""
        return self.state not in (None, JobState.COMPLETED)


def jobs_worst_first(simulation: Simulation) -> tuple[list[str], list[str]]:
    """Return the jobs that are not completed, those with problems first, and the completed ones, newest first."""
    live: list[Job] = []
    completed: list[Job] = []
    for job in simulation.world.jobs.present():
        (completed if job.state is JobState.COMPLETED else live).append(job)
    live.sort(key=lambda job: (not _problems(job), -job.priority))
    completed.sort(key=lambda job: -(job.end_ms or 0))
    return [job.id for job in live], [job.id for job in completed]


class JobsProgress:
    """The progress of jobs. Nodes are counted again only when an instance or a node has changed."""

    def __init__(self, simulation: Simulation) -> None:
        """Begin with nothing counted."""
        self._simulation = simulation
        self._counted: dict[int, tuple[object, NodeCounts | None, NodeCounts | None]] = {}  # by job, with the version

    def of(self, job_id: str) -> JobProgress | None:
        """Return the progress of a job; None while there is no job of this id."""
        job = self._simulation.world.jobs.find(job_id)
        if job is None:
            return None
        counts = job.counts
        succeeded = counts[COMPLETED] - job.failed
        preparation, release = self._nodes(job)
        return JobProgress(
            job_id=job.id,
            state=job.state,
            bad_end=bad_end(job),
            preparation=preparation,
            tasks=TaskCounts(counts[ACTIVE], counts[PREPARING], counts[RUNNING], succeeded, job.failed, None),
            release=release,
            problems=_problems(job),
            created_ms=job.created_ms,
            end_ms=job.end_ms,
        )

    def _nodes(self, job: Job) -> tuple[NodeCounts | None, NodeCounts | None]:
        """Return where the job prepares and where it releases; None for a task that it does not have."""
        version = version_of(self._simulation.world, job), job.releases_open
        known = self._counted.get(job.row)
        if known is None or known[0] != version:
            preparation = _preparation(self._simulation, job) if job.has_prep else None
            release = _release(self._simulation, job) if job.has_release else None
            known = self._counted[job.row] = version, preparation, release
        return known[1:]


def _problems(job: Job) -> int:
    return job.failed + job.ineligible.bit_count() + bool(bad_end(job))


def _preparation(simulation: Simulation, job: Job) -> NodeCounts:
    """Return where preparation has run to its end, by its last result there, also on nodes that have left since.

    Until the job has ended, the nodes of its pool on which it has never been count to the total.
    """
    world = simulation.world
    instances, nodes = world.instances, world.nodes.state
    rows = instances.rows_of_job(job.row)
    states = bytes(values(instances.prep_state, rows))
    failed = sum(states[at] == InstanceState.COMPLETED for at in failed_places(instances, rows, Hook.PREPARATION))
    done, running = states.count(InstanceState.COMPLETED) - failed, states.count(InstanceState.RUNNING)
    pool = () if job.pool < 0 or job.state in OVER else world.pools[job.pool].nodes
    present = len(pool) - bytes(values(nodes, pool)).count(GONE)
    seen = len(states) - states.count(ABSENT)
    if nodes.find(GONE) >= 0:  # nodes that have left are among those of the job
        gone = [states[at] for at in places(bytes(values(nodes, values(instances.node, rows))), GONE)]
        seen -= len(gone) - gone.count(ABSENT)
        running -= gone.count(InstanceState.RUNNING)
    return NodeCounts(done, running, failed, done + running + failed + max(0, present - seen))


def _release(simulation: Simulation, job: Job) -> NodeCounts:
    instances = simulation.world.instances
    rows = instances.rows_of_job(job.row)
    states = bytes(values(instances.release_state, rows))
    done, running = states.count(InstanceState.COMPLETED), states.count(InstanceState.RUNNING)
    return NodeCounts(done, running, 0, done + max(running, job.releases_open))
