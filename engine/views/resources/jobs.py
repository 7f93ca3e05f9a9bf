"""Jobs and pools: one row each, in the order in which they were added.

The progress of many jobs is given in numbers that are cheap to read. Pools have autoscale: a formula, past evaluations,
and trials of other formulas.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from engine.base.errors import BatchError
from engine.base.lifecycles import READY, UNBILLED
from engine.base.terms import AllocationState, InstanceState, JobState, NodeState, PoolState
from engine.base.values import HOUR_MS, count_bits, places, sum_where, tally, values
from engine.rules import autoscaling
from engine.rules.decisions import capacity, metrics
from engine.rules.jobs import MAX_WALL_CLOCK_TIME_EXPIRY, TASK_FAILED
from engine.run.conditions import cost_of_nodes, price_of
from engine.specs.commands import EnablePoolAutoScale
from engine.state.instances import ABSENT, PrepFlag
from engine.state.nodes import GONE
from engine.state.pools import AutoScaleRun
from engine.views.hook_status import OVER, Hook, HookStatus, badly_ended, version_of
from engine.views.resources.instances import Phases, TaskCounts, phases_of, task_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Simulation
    from engine.state.jobs import Job
    from engine.state.pools import Pool
    from engine.views.resources.instances import InstancePage
    from engine.world import World


_PRESENT = bytes(state != GONE for state in range(256))
_BILLED = bytes(state != GONE and state not in UNBILLED for state in range(256))
_UNBILLED, _LEAVING = (GONE, *UNBILLED), NodeState.LEAVING_POOL
_READY = bytes(state in READY for state in range(256))


class JobRow(NamedTuple):
    """A job as the service shows it: its record, and what follows from others."""

    job_id: str
    state: JobState | None
    record: Job
    phases: Phases
    bad_end: str  # why it ended before its work was done; empty if it did not

    @property
    def is_live(self) -> bool:
        """True while its tasks may still run."""
        return self.state in (JobState.ACTIVE, JobState.DISABLING, JobState.DISABLED, JobState.ENABLING)


class NetworkRow(NamedTuple):
    """The network of a pool's nodes."""

    subnet_id: str | None  # None outside any VNet
    communication: str  # the mode in force (NET-7)
    closed_ports: tuple[int, ...]  # needed, but blocked (NET-4)
    free_addresses: int | None  # None: no limit
    load_balancers: int  # as many as network security groups and public addresses (NET-8)
    between_nodes: str | None  # ports between the nodes (POOL-12); None: none are open


class PoolRow(NamedTuple):
    """A pool as the service shows it, or showed it last: its record, and what follows from others."""

    pool_id: str
    state: PoolState | None  # None: it has been deleted
    record: Pool
    allocation: AllocationState | None
    current_dedicated: int
    target_dedicated: int
    current_spot: int
    target_spot: int
    node_counts: tuple[tuple[NodeState, int], ...]
    used_slots: int
    usable_slots: int  # of ready nodes, and those that tasks still hold on other nodes
    jobs: tuple[str, ...]
    network: NetworkRow | None  # None where the pool has no network settings

    @property
    def nodes(self) -> int:
        """The number of nodes in any state."""
        return sum(number for _, number in self.node_counts)

    @property
    def live_nodes(self) -> int:
        """The number of nodes that have a VM: neither preempted nor deallocated."""
        return self.current_dedicated + self.current_spot

    @property
    def target(self) -> int:
        """The number of nodes that it is to have; none once it has been deleted."""
        return 0 if self.state is None else self.target_dedicated + self.target_spot


# Terminate reasons of jobs whose work was not done.
BAD_ENDS = (TASK_FAILED, MAX_WALL_CLOCK_TIME_EXPIRY)


def bad_end(job: Job) -> str:
    """Return why the job ended although its work was not done: a terminate reason or an error code; else empty."""
    if job.scheduling_error is not None:
        return job.scheduling_error.code
    return job.terminate_reason if job.terminate_reason in BAD_ENDS else ""


def job_ids(simulation: Simulation) -> list[str]:
    """Return the jobs that have not been deleted, oldest first."""
    return [job.id for job in simulation.world.jobs.present()]


def jobs_after(simulation: Simulation, now_ms: int) -> tuple[int, int]:
    """Return the number of jobs that are added after a moment, and when the next one is, in ms since the start."""
    jobs = simulation.world.jobs.rows  # in the order in which they were added
    first = bisect_right(jobs, now_ms, key=attrgetter("created_ms"))
    return len(jobs) - first, jobs[first].created_ms if first < len(jobs) else 0


def count_deleted_jobs(simulation: Simulation) -> int:
    """Return the number of jobs that have been deleted."""
    return sum(job.state is None for job in simulation.world.jobs.rows)


def pool_ids(simulation: Simulation) -> list[str]:
    """Return the pools that have not been deleted, oldest first."""
    return [pool.id for pool in simulation.world.pools.present()]


def users_pool_ids(simulation: Simulation) -> list[str]:
    """Return the pools that a user has created, oldest first: no auto pools, which live no longer than a job."""
    return [pool.id for pool in simulation.world.pools.present() if not pool.is_auto]


def deleted_pool_ids(simulation: Simulation) -> list[str]:
    """Return the ids of deleted pools that no other pool has by now, oldest first, each once."""
    pools = simulation.world.pools
    gone = dict.fromkeys(pool.id for pool in pools.rows if pool.state is None)
    return [pool_id for pool_id in gone if pools.find(pool_id) is None]


def has_had_several_pools(simulation: Simulation) -> bool:
    """Return whether there was more than one pool: the cost of one is not that of the run, n0 is not one node only."""
    return len(simulation.world.pools.rows) > 1


def row_of_job(simulation: Simulation, job_id: str) -> int | None:
    """Return the row number of the job with this id; None while there is none."""
    job = simulation.world.jobs.find(job_id)
    return None if job is None else job.row


def has_preparation(simulation: Simulation, job_id: str) -> bool:
    """Return whether there is a job of this id that has a preparation task."""
    job = simulation.world.jobs.find(job_id)
    return job is not None and job.has_prep


def is_unfinished(simulation: Simulation, job_id: str) -> bool:
    """Return whether there is a job of this id that is not completed."""
    job = simulation.world.jobs.find(job_id)
    return job is not None and job.state not in (None, JobState.COMPLETED)


def pool_of_job(simulation: Simulation, job_id: str) -> str:
    """Return the id of the pool on which a job runs or ran, which may be deleted; empty where there never was one."""
    job = simulation.world.jobs.find(job_id)
    if job is None:
        return ""
    pool = simulation.world.pools[job.pool] if job.pool >= 0 else simulation.world.pools.latest(job.pool_id)
    return "" if pool is None else pool.id


def job_row(simulation: Simulation, preparation: InstancePage, release: InstancePage) -> JobRow | None:
    """Return the row of the job of these pages; None while there is no such job."""
    job = simulation.world.jobs.find(preparation.job_id)
    if job is None:
        return None
    return JobRow(job.id, job.state, job, phases_of(simulation, job, preparation, release), bad_end(job))


def pool_row(simulation: Simulation, pool_id: str) -> PoolRow | None:
    """Return the row of the pool of this id, or of the last deleted one; None if there never was one."""
    world = simulation.world
    pool = world.pools.latest(pool_id)
    if pool is None:
        return None
    is_there, lower = pool.state is not None, pool.id.lower()
    states = bytes(values(world.nodes.state, pool.nodes))
    counts = {NodeState(state): count for state, count in tally(states).items() if state != GONE}
    free_slots = values(world.nodes.free, pool.nodes)
    jobs = world.jobs_of(pool) if is_there else [job for job in world.jobs.present() if job.pool_id.lower() == lower]
    present, ready = states.translate(_PRESENT), states.translate(_READY)
    free = sum_where(present, free_slots, pool.slots)
    used_slots = sum(counts.values()) * pool.slots - free
    there = states.translate(_BILLED)
    dedicated = count_bits(there, pool.dedicated_bits)
    return PoolRow(
        pool_id=pool.id,
        state=pool.state,
        record=pool,
        allocation=pool.allocation if is_there else None,
        current_dedicated=dedicated,
        target_dedicated=pool.target_dedicated if is_there else 0,
        current_spot=there.count(1) - dedicated,
        target_spot=pool.target_spot if is_there else 0,
        node_counts=tuple(counts.items()),
        used_slots=used_slots,
        usable_slots=used_slots + (free if ready == present else sum_where(ready, free_slots, pool.slots)),
        jobs=tuple(job.id for job in jobs),
        network=_network(world, pool),
    )


def _network(world: World, pool: Pool) -> NetworkRow | None:
    spec = pool.spec
    asked_for = (spec.network_configuration, spec.target_node_communication_mode)
    if asked_for == (None, None) and not spec.enable_inter_node_communication:
        return None
    return NetworkRow(
        None if spec.network_configuration is None else spec.network_configuration.subnet_id,
        capacity.communication_mode(spec).value,
        capacity.blocked_ports(world, pool),
        capacity.free_addresses(world, pool),
        capacity.load_balancers(world, pool),
        capacity.ports_between_nodes(spec),
    )


def cost_so_far(simulation: Simulation, pool_id: str | None = None, at: Simulation | None = None) -> float:
    """Return the cost of a pool, also of a deleted one, or of all pools, up to the moment that is shown (ACC-10).

    With ``at``, the same run at another moment, it is the cost up to then.
    """
    run = simulation if at is None else at
    pool = None if pool_id is None else simulation.world.pools.latest(pool_id)
    chosen = run.world.pools.rows if pool_id is None else [] if pool is None else [run.world.pools[pool.row]]
    return cost_of_nodes(chosen, run.now_ms)


def cost_an_hour(simulation: Simulation) -> float:
    """Return the price of an hour with the VMs that the pools have or have requested (VM-2).

    Those that are to leave do not count, nor do preempted nodes, which have no VM.
    """
    world, cost = simulation.world, 0.0
    for pool in world.pools.present():
        if pool.state is not PoolState.ACTIVE:
            continue
        kinds = Counter(dict(zip((False, True), pool.billed_vms, strict=True)))
        if pool.allocation is not AllocationState.STEADY:
            leaving = (node for node in pool.nodes if node in pool.victims or world.nodes.state[node] == _LEAVING)
            kinds.subtract(world.nodes[node].dedicated for node in leaving if world.nodes.state[node] not in _UNBILLED)
        kinds.update(pool.pending.values())
        for dedicated, count in pool.wanted:
            kinds[dedicated] += count
        cost += price_of(pool, HOUR_MS * kinds[True], HOUR_MS * kinds[False])
    return cost


class NodeCounts(NamedTuple):
    """The nodes on which a job prepares, or releases."""

    done: int  # without the failures
    running: int
    failed: int
    total: int  # without the stopped ones
    stopped: int = 0  # preparation was stopped there, with the node or the job, and does not run again

    @property
    def ran(self) -> int:
        """The number of nodes on which it has run to its end, failed or not."""
        return self.done + self.failed


class JobProgress(NamedTuple):
    """A job's state and the counts of its phases. Times are ms since the start."""

    job_id: str
    state: JobState | None
    bad_end: str  # why it ended before its work was done; empty if it did not
    preparation: NodeCounts | None  # None: the job has no preparation task
    tasks: TaskCounts
    release: NodeCounts | None  # None: the job has no release task
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
    live.sort(key=lambda job: (not failures_of(simulation.world, job), -job.priority))
    completed.sort(key=lambda job: -(job.end_ms or 0))
    return [job.id for job in live], [job.id for job in completed]


class JobsProgress:
    """The progress of jobs. Nodes are counted again only when an instance or a node has changed."""

    def __init__(self, simulation: Simulation) -> None:
        """Create an empty cache."""
        self._simulation = simulation
        self._counted: dict[int, tuple[object, NodeCounts | None, NodeCounts | None]] = {}  # by job, with the version

    def of(self, job_id: str) -> JobProgress | None:
        """Return the progress of a job; None while there is no job of this id."""
        job = self._simulation.world.jobs.find(job_id)
        if job is None:
            return None
        preparation, release = self._nodes(job)
        return JobProgress(
            job_id=job.id,
            state=job.state,
            bad_end=bad_end(job),
            preparation=preparation,
            tasks=task_counts(job),
            release=release,
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


def failures_of(world: World, job: Job) -> int:
    """Return the number of failures of a job: tasks, preparation for good and release on nodes, and the job itself."""
    released = len(nodes_of_failed_releases(world, job))
    return job.failed + job.ineligible.bit_count() + released + bool(bad_end(job))


def nodes_of_failed_releases(world: World, job: Job) -> list[int]:
    """Return the nodes on which the last release of the job has failed, in order."""
    instances = world.instances
    if not job.has_release or job.state not in OVER or not any(instances.sparse):
        return []
    rows = instances.rows_of_job(job.row)
    failed = (rows[at] for at, _ in badly_ended(instances, rows, Hook.RELEASE))
    return sorted(instances.node[row] for row in failed if instances.release_state[row] == InstanceState.COMPLETED)


def _preparation(simulation: Simulation, job: Job) -> NodeCounts:
    """Return where preparation has run to its end, by its last result there, also on nodes that have left since.

    Until the job has ended, the nodes of its pool on which it has never been count to the total, and so do those on
    which it has ended badly and would run again. Stopped with its node or job it has neither succeeded nor failed.
    """
    world = simulation.world
    instances, nodes = world.instances, world.nodes.state
    rows = instances.rows_of_job(job.row)
    states = bytes(values(instances.prep_state, rows))
    ended = badly_ended(instances, rows, Hook.PREPARATION)
    bad = [(rows[at], status) for at, status in ended if states[at] == InstanceState.COMPLETED]
    counts = 0 if job.state in OVER else PrepFlag.VALID | PrepFlag.INELIGIBLE
    again = [row for row, _ in bad if counts and not instances.flags[row] & counts]
    again = [row for row in again if nodes[instances.node[row]] != GONE]
    failed = [status for row, status in bad if not counts or instances.flags[row] & counts].count(HookStatus.FAILED)
    done, running = states.count(InstanceState.COMPLETED) - len(bad), states.count(InstanceState.RUNNING)
    pool = () if job.pool < 0 or job.state in OVER else world.pools[job.pool].nodes
    present = len(pool) - bytes(values(nodes, pool)).count(GONE)
    seen = len(states) - states.count(ABSENT) - len(again)
    if nodes.find(GONE) >= 0:  # nodes that have left are among those of the job
        gone = [states[at] for at in places(bytes(values(nodes, values(instances.node, rows))), GONE)]
        seen -= len(gone) - gone.count(ABSENT)
        running -= gone.count(InstanceState.RUNNING)
    total, stopped = done + running + failed + max(0, present - seen), len(bad) - failed - len(again)
    return NodeCounts(done, running, failed, total, stopped)


def _release(simulation: Simulation, job: Job) -> NodeCounts:
    instances = simulation.world.instances
    rows = instances.rows_of_job(job.row)
    states = bytes(values(instances.release_state, rows))
    ended, running = states.count(InstanceState.COMPLETED), states.count(InstanceState.RUNNING)
    failed = len(nodes_of_failed_releases(simulation.world, job)) if ended else 0
    return NodeCounts(ended - failed, running, failed, ended + max(running, job.releases_open))


__all__ = ["AutoScaleRun", "Sampled", "ScalePage", "dry_run", "refusal_of", "scale_page"]


class Sampled(NamedTuple):
    """A metric that has samples: how many, and the newest."""

    name: str
    number: int
    newest: float


class ScalePage(NamedTuple):
    """Autoscale of one pool. Times are ms since the start; ``runs``, at least one, end with the newest."""

    formula: str
    interval_ms: int
    next_ms: int
    samples: tuple[Sampled, ...]
    runs: Sequence[AutoScaleRun]


def scale_page(simulation: Simulation, pool_id: str) -> ScalePage | None:
    """Return the autoscale of a pool; None where it is off, and while there is no pool of this id."""
    pool = simulation.world.pools.find(pool_id)
    if pool is None or pool.scaling is None or pool.scaling.run is None:
        return None
    scaling = pool.scaling
    series = metrics.arrived(simulation.world, pool, simulation.now_ms)
    samples = tuple(Sampled(name, len(values), values[-1]) for name, (_, values) in series.items() if values)
    return ScalePage(scaling.formula, scaling.interval_ms, scaling.next_ms, samples, scaling.runs)


def dry_run(simulation: Simulation, pool_id: str, formula: str) -> AutoScaleRun | None:
    """Evaluate a formula on a pool now without changing anything (AS-87); return None while there is no such pool.

    A pool without autoscale has no samples.

    Raises:
        FormulaError: The text is no formula (AS-72).
    """
    pool = simulation.world.pools.find(pool_id)
    return None if pool is None else autoscaling.evaluate(simulation.world, pool, formula, simulation.now_ms)


def retries_resize(simulation: Simulation, pool_id: str) -> bool:
    """Return whether an evaluation that leaves the targets as they are begins the failed resize anew (AS-80)."""
    pool = simulation.world.pools.find(pool_id)
    return pool is not None and autoscaling.retries_resize(simulation.world, pool)


def refusal_of(simulation: Simulation, pool_id: str, formula: str) -> BatchError | None:
    """Return why the service would refuse any formula for the pool now; None if it would not (AS-72, AS-85)."""
    pool = simulation.world.pools.find(pool_id)
    if pool is None:
        return BatchError("PoolNotFound", poolId=pool_id)
    command = EnablePoolAutoScale(pool_id=pool_id, auto_scale_formula=formula)
    return autoscaling.enable_verdict(pool, command, simulation.now_ms + 1)
