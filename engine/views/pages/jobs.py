"""Jobs and pools: one row each, in the order in which they were added."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from engine.base.byte_columns import tally
from engine.base.node_states import READY, UNBILLED
from engine.base.terms import AllocationState, JobState, NodeState, PoolState
from engine.rules.decisions import network
from engine.rules.jobs import MAX_WALL_CLOCK_TIME_EXPIRY, TASK_FAILED
from engine.run.observe import cost_usd, pool_cost_usd
from engine.state.nodes import GONE
from engine.views.pages.bulk import count_bits, sum_where, values
from engine.views.pages.phases import Phases, phases_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine import Simulation
    from engine.specs.job import JobSpec
    from engine.specs.pool import PoolSpec, StartTask
    from engine.state.jobs import Job, SchedulingError
    from engine.state.pools import Pool
    from engine.views.pages.instances import InstancePage
    from engine.world.world import World


_PRESENT = bytes(state != GONE for state in range(256))
_BILLED = bytes(state != GONE and state not in UNBILLED for state in range(256))
_STAYING = frozenset(NodeState).difference(UNBILLED, [NodeState.LEAVING_POOL])
_READY = bytes(state in READY for state in range(256))


class JobRow(NamedTuple):
    """A job as the service shows it. Times are ms since the start."""

    job_id: str
    state: JobState | None
    since_ms: int
    previous: JobState | None
    priority: int
    pool_id: str
    phases: Phases
    created_ms: int
    end_ms: int | None
    max_parallel_tasks: int
    on_all_tasks_complete: str
    max_task_retry_count: int
    max_wall_clock_ms: int | None
    terminate_reason: str | None
    scheduling_error: SchedulingError | None
    bad_end: str  # why it ended before its work was done; empty if it did not
    is_preemptible: bool
    spec: JobSpec

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
    """A pool as the service shows it, or showed it last. Times are ms since the start."""

    pool_id: str
    state: PoolState | None  # None: it has been deleted
    allocation: AllocationState | None
    allocation_since_ms: int
    vm_size: str
    current_dedicated: int
    target_dedicated: int
    current_spot: int
    target_spot: int
    node_counts: tuple[tuple[NodeState, int], ...]
    slots: int
    used_slots: int
    usable_slots: int  # of ready nodes, and those that tasks still hold on other nodes
    fill: str
    auto_scale: bool
    created_ms: int
    gone_ms: int | None  # when it was deleted
    resize_errors: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...]  # code, message, values
    jobs: tuple[str, ...]
    start_task: StartTask | None
    is_upgrading: bool  # an OS upgrade is under way (POOL-22)
    network: NetworkRow | None  # None where the pool has no network settings
    spec: PoolSpec

    @property
    def nodes(self) -> int:
        """The number of nodes in any state."""
        return sum(number for _, number in self.node_counts)

    @property
    def live_nodes(self) -> int:
        """The number of nodes that have a VM: neither preempted nor deallocated."""
        return self.current_dedicated + self.current_spot


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


def next_job_ms(simulation: Simulation, now_ms: int) -> int | None:
    """Return when the next job after a moment is added, in ms since the start; None if the run adds no more."""
    return min((job.created_ms for job in simulation.world.jobs.rows if job.created_ms > now_ms), default=None)


def count_deleted_jobs(simulation: Simulation) -> int:
    """Return the number of jobs that have been deleted."""
    return sum(job.state is None for job in simulation.world.jobs.rows)


def pool_ids(simulation: Simulation) -> list[str]:
    """Return the pools that have not been deleted, oldest first."""
    return [pool.id for pool in simulation.world.pools.present()]


def users_pool_ids(simulation: Simulation) -> list[str]:
    """Return the pools that a user has created, oldest first: no auto pools, which live no longer than a job."""
    return [pool.id for pool in simulation.world.pools.present() if pool.auto_job < 0 and pool.auto_schedule < 0]


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
    return JobRow(
        job_id=job.id,
        state=job.state,
        since_ms=job.since_ms,
        previous=job.previous[0] if job.previous else None,
        priority=job.priority,
        pool_id=job.pool_id,
        phases=phases_of(simulation, job, preparation, release),
        created_ms=job.created_ms,
        end_ms=job.end_ms,
        max_parallel_tasks=job.max_parallel,
        on_all_tasks_complete=job.on_all_tasks_complete.value,
        max_task_retry_count=job.max_retries,
        max_wall_clock_ms=job.max_wall_clock_ms,
        terminate_reason=job.terminate_reason,
        scheduling_error=job.scheduling_error,
        bad_end=bad_end(job),
        is_preemptible=job.preemptible,
        spec=job.spec,
    )


def pool_row(simulation: Simulation, pool_id: str) -> PoolRow | None:
    """Return the row of the pool of this id, or of the last deleted one; None if there never was one."""
    world = simulation.world
    pool = world.pools.latest(pool_id)
    if pool is None:
        return None
    is_there = pool.state is not None
    states = bytes(values(world.nodes.state, pool.nodes))
    counts = {NodeState(state): count for state, count in tally(states).items() if state != GONE}
    free_slots = values(world.nodes.free, pool.nodes)
    present, ready = states.translate(_PRESENT), states.translate(_READY)
    free = sum_where(present, free_slots, pool.slots)
    used_slots = sum(counts.values()) * pool.slots - free
    there = states.translate(_BILLED)
    dedicated = count_bits(there, pool.dedicated_bits)
    return PoolRow(
        pool_id=pool.id,
        state=pool.state,
        allocation=pool.allocation if is_there else None,
        allocation_since_ms=pool.allocation_since_ms,
        vm_size=pool.spec.vm_size,
        current_dedicated=dedicated,
        target_dedicated=pool.target_dedicated if is_there else 0,
        current_spot=there.count(1) - dedicated,
        target_spot=pool.target_spot if is_there else 0,
        node_counts=tuple(counts.items()),
        slots=pool.slots,
        used_slots=used_slots,
        usable_slots=used_slots + (free if ready == present else sum_where(ready, free_slots, pool.slots)),
        fill=pool.fill.value,
        auto_scale=pool.auto_scale,
        created_ms=pool.created_ms,
        gone_ms=pool.gone_ms,
        resize_errors=tuple((error.code, error.message, error.values) for error in pool.resize_errors),
        jobs=tuple(job.id for job in (world.jobs_of(pool) if is_there else _jobs_that_ran(world, pool))),
        start_task=pool.spec.start_task,
        is_upgrading=bool(pool.upgrade),
        network=_network(world, pool),
        spec=pool.spec,
    )


def _jobs_that_ran(world: World, pool: Pool) -> Iterator[Job]:
    """Yield the jobs that had a pool which is gone."""
    return (job for job in world.jobs.present() if job.pool_id.lower() == pool.id.lower())


def _network(world: World, pool: Pool) -> NetworkRow | None:
    spec = pool.spec
    asked_for = (spec.network_configuration, spec.target_node_communication_mode)
    if asked_for == (None, None) and not spec.enable_inter_node_communication:
        return None
    return NetworkRow(
        None if spec.network_configuration is None else spec.network_configuration.subnet_id,
        network.communication_mode(spec).value,
        network.blocked_ports(world, pool),
        network.free_addresses(world, pool),
        network.load_balancers(world, pool),
        network.ports_between_nodes(spec),
    )


def cost_of_run(simulation: Simulation, after_ms: int = 0) -> float:
    """Return the cost of all nodes so far, in US dollars, or what it is after a time in which none comes or goes."""
    return cost_usd(simulation.world, simulation.now_ms + after_ms)


def usd_an_hour(simulation: Simulation) -> float:
    """Return the price of an hour with the VMs that the pools have or have requested, in US dollars (VM-2).

    Those that are to leave do not count, nor do preempted nodes, which have no VM.
    """
    world, usd = simulation.world, 0.0
    for pool in world.pools.present():
        if pool.state is not PoolState.ACTIVE:
            continue
        staying = (node for node in pool.nodes if world.nodes.state[node] in _STAYING and node not in pool.victims)
        kinds = Counter(world.nodes[node].dedicated for node in staying)
        kinds.update(pool.pending.values())
        for dedicated, count in pool.wanted:
            kinds[dedicated] += count
        usd += sum(count * pool.size.price_usd(pool.os, dedicated=kind) for kind, count in kinds.items())
    return usd


def cost_of_pool(simulation: Simulation, pool_id: str) -> float:
    """Return the cost of a pool's nodes so far in US dollars (ACC-10), also of a deleted one; 0 without any."""
    pool = simulation.world.pools.latest(pool_id)
    return 0.0 if pool is None else pool_cost_usd(simulation.world, pool, simulation.now_ms)
