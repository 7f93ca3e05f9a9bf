"""Metrics of a pool that scales itself: their present values, and the samples that have arrived (AS-41 to AS-54).

Metrics of the use of nodes are processor, memory, disk and network (AS-41, AS-53). The use of the processor is that of
the usable nodes. The others are means over the nodes that have their VM, whatever their state: an offline or unusable
node keeps its disk, and one that boots downloads. What scenarios do not say of a process counts as nothing, except for
the processor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple, cast

from engine.autoscale.values import LIVE, NODE_METRICS, SAMPLE_PERIOD_MS, SAMPLED, SampleSeries
from engine.base.lifecycles import READY, UNBILLED
from engine.base.terms import InstanceState, JobState, NodeState
from engine.base.values import SECOND_MS, LazyRows
from engine.rules.decisions import capacity
from engine.specs.common import DiskRates, NetworkRates, Simulate
from engine.state.files import Traffic
from engine.state.nodes import GONE
from engine.state.task_records import Load
from engine.state.tasks import COMPLETED, PREPARING, RUNNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from engine.state.pools import Pool
    from engine.world import World


_GIB = 1 << 30
# DECISION: an operation of a disk moves 256 KiB, the unit in which Azure counts them.
_OPERATION_BYTES = 256 * 1024
_NO_LOAD = Load()
_READY = frozenset(map(int, READY))
_WITHOUT_VM = frozenset(map(int, (NodeState.CREATING, *UNBILLED, GONE)))


def load_of(simulate: Simulate | None, defaults: Simulate | None = None) -> Load | None:
    """Return what a ``simulate:`` says of the load of its process; None if it says nothing."""
    own, others = simulate or Simulate(), defaults or Simulate()
    cpu = others.cpu if own.cpu is None else own.cpu
    memory = others.memory if own.memory is None else own.memory
    disk, network = own.disk or others.disk, own.network or others.network
    if cpu is None and memory is None and disk is None and network is None:
        return None
    disk, network = disk or DiskRates(), network or NetworkRates()
    return Load(cpu, memory or 0, disk.read, disk.write, network.in_, network.out)


def node_metrics(world: World, pool: Pool, busy_slot_ms: int) -> Iterable[float]:
    """Return ``NODE_METRICS`` of a sample taken now; ``busy_slot_ms`` adds up the slots in use in its half minute.

    DECISION: the wall clock is the seconds since the run began. A task slot in use keeps its share of the node's CPU
    busy. Where tasks that run now say how much of the node they use, all slots in use count with the average of that.
    """
    found = dict.fromkeys(NODE_METRICS, 0.0) | {"$WallClockSeconds": world.now_ms / SECOND_MS}
    state = world.nodes.state
    here = [node for node in pool.nodes if state[node] not in _WITHOUT_VM]
    if not here:
        return found.values()
    slots_ms = pool.slots * sum(state[node] in _READY for node in here) * SAMPLE_PERIOD_MS
    load = _load(world, pool, here)
    moved = _moved(world, here)
    busy_slot_s, count = busy_slot_ms / SECOND_MS, len(here)
    read = moved[Traffic.UPLOAD] + load.tasks.disk_read * busy_slot_s + load.others.disk_read
    write = (
        moved[Traffic.DOWNLOAD] + moved[Traffic.WRITE] + load.tasks.disk_write * busy_slot_s + load.others.disk_write
    )
    received = moved[Traffic.DOWNLOAD] + load.tasks.network_in * busy_slot_s + load.others.network_in
    sent = moved[Traffic.UPLOAD] + load.tasks.network_out * busy_slot_s + load.others.network_out
    found |= {
        "$CPUPercent": min(100.0, 100 * busy_slot_ms / slots_ms * load.cpu) if slots_ms else 0.0,
        "$SampleNodeCount": count,
        "$MemoryBytes": load.memory_percent / 100 * pool.size.memory_gib * _GIB / count,
        "$DiskBytes": sum(world.disks[node].used_bytes for node in here) / count if world.disks else 0,
        "$DiskReadBytes": read / count,
        "$DiskWriteBytes": write / count,
        "$DiskReadOps": read / _OPERATION_BYTES / count,
        "$DiskWriteOps": write / _OPERATION_BYTES / count,
        "$NetworkInBytes": received / count,
        "$NetworkOutBytes": sent / count,
    }
    return found.values()


def _moved(world: World, here: Sequence[int]) -> dict[Traffic, float]:
    """Return the bytes that these nodes have moved in the last half minute."""
    moved = dict.fromkeys(Traffic, 0.0)
    if world.traffic:
        until_ms = world.now_ms
        for node in here:
            for transfer in world.traffic[node]:
                moved[transfer.kind] += transfer.between(until_ms - SAMPLE_PERIOD_MS, until_ms)
    return moved


class _PoolLoad(NamedTuple):
    """The load of the processes that run now on the nodes of a pool."""

    cpu: float = 1  # what tasks use, as a multiple of their slots' share
    memory_percent: float = 0  # of all nodes together
    tasks: Load = _NO_LOAD  # bytes a second for each task slot in use
    others: Load = _NO_LOAD  # bytes of start, preparation and release tasks in the last half minute


def _load(world: World, pool: Pool, here: Sequence[int]) -> _PoolLoad:
    """Return the load of what runs on these nodes. Processes of which nothing is said are not looked for."""
    jobs = {job.row for job in world.jobs_of(pool)}
    tasks = world.tasks
    memory: defaultdict[int, float] = defaultdict(float)
    cpu, of_tasks, of_others = 1.0, _NO_LOAD, _NO_LOAD
    if any(profile.load is not None for profile in tasks.profiles if profile.job in jobs):
        used = share = slots = 0.0
        rates: list[Load] = []
        for node in here:
            for task in sorted(world.nodes.running[node]):
                profile = tasks.profile_of(task)
                own = 100 * profile.required_slots / pool.slots
                said = profile.load or _NO_LOAD
                slots += profile.required_slots
                share += own
                used += own if said.cpu is None else said.cpu
                memory[node] += said.memory
                rates.append(said)
        cpu = used / share if share else 1.0
        of_tasks = _sum((rate, 1 / slots) for rate in rates)
    others = list(_other_processes(world, pool, here))
    for node, said, _ in others:
        memory[node] += said.memory
    if others:
        of_others = _sum((said, seconds) for _, said, seconds in others)
    return _PoolLoad(cpu, sum(min(100.0, percent) for percent in memory.values()), of_tasks, of_others)


def _sum(rates: Iterable[tuple[Load, float]]) -> Load:
    """Return the sums of what moves, each rate times its factor."""
    given = list(rates)
    return Load(
        disk_read=sum(rate.disk_read * factor for rate, factor in given),
        disk_write=sum(rate.disk_write * factor for rate, factor in given),
        network_in=sum(rate.network_in * factor for rate, factor in given),
        network_out=sum(rate.network_out * factor for rate, factor in given),
    )


def _other_processes(world: World, pool: Pool, here: Sequence[int]) -> Iterator[tuple[int, Load, float]]:
    """Yield for each running start, preparation and release task on these nodes its node, load, and seconds so far.

    Those of the last half minute count.
    """
    longest_s = SAMPLE_PERIOD_MS / SECOND_MS
    instances, counted = world.instances, frozenset(here)
    for job in world.jobs_of(pool):
        hooks = (
            (job.spec.job_preparation_task, instances.prep_state, instances.prep_start),
            (job.spec.job_release_task, instances.release_state, instances.release_start),
        )
        for spec, states, starts in hooks:
            said = load_of(spec.simulate) if spec is not None else None
            if said is None:
                continue
            for row in instances.rows_of_job(job.row):
                node = instances.node[row]
                if states[row] == InstanceState.RUNNING and node in counted:
                    yield node, said, min(longest_s, (world.now_ms - starts[row]) / SECOND_MS)
    if pool.spec.start_task is None:
        return
    for node in here:
        record = world.nodes[node]
        started, starting = record.start_task, record.start_spec
        is_running = starting is not None and started is not None and started.running
        said = load_of(starting.simulate) if starting is not None and is_running else None
        if said is not None and started is not None:
            yield node, said, min(longest_s, (world.now_ms - started.start_ms) / SECOND_MS)


class _Column(LazyRows[float]):
    """One column of the samples. Only those that a formula asks for are read, since a day of samples is long."""

    def __init__(self, samples: Sequence[tuple[float, ...]], column: int) -> None:
        super().__init__(len(samples))
        self._samples = samples
        self._column = column

    def _at(self, at: int) -> float:
        return self._samples[at][self._column]


def arrived(world: World, pool: Pool, now_ms: int) -> dict[str, SampleSeries]:
    """Return the samples of each metric that have arrived by now (AS-54)."""
    latest_ms = now_ms - world.scenario.simulate.auto_scale.sample_delay
    here = bisect_right(pool.samples, latest_ms, key=itemgetter(0))
    samples = pool.samples if here == len(pool.samples) else pool.samples[:here]
    times_ms = cast("Sequence[int]", _Column(samples, 0))  # the one column of whole numbers
    return {name: SampleSeries(times_ms, _Column(samples, 1 + column)) for column, name in enumerate(SAMPLED)}


# -- values ----------------------------------------------------------------------------------------------------------


def now(world: World, pool: Pool) -> dict[str, int]:
    """Return the metrics that a formula can also have as they are now, in the order of ``LIVE`` (AS-46)."""
    states = [world.nodes.state[node] for node in capacity.present_nodes(world, pool)]
    preempted, usable = states.count(NodeState.PREEMPTED), sum(map(states.count, READY))
    counts = (*capacity.current_counts(world, pool), preempted, usable, pool.slots)
    return dict(zip(LIVE, counts, strict=True))


def task_counts(world: World, pool: Pool) -> tuple[int, ...]:
    """Return the numbers of active, running, pending, succeeded and failed tasks (AS-41, AS-42).

    A multi-instance task counts once for each of its nodes, waiting, preparing or running.
    """
    active = running = succeeded = failed = 0
    for job in world.jobs_of(pool):
        if job.state is JobState.ACTIVE:
            active += job.ready_count + sum(queue.size * (-key - 1) for key, queue in job.ready.items() if key < 0)
        running += job.busy
        succeeded += job.counts[COMPLETED] - job.failed
        failed += job.failed
    for task in world.gangs.tasks():
        there = world.tasks.state[task] in (PREPARING, RUNNING)
        if there and world.nodes[world.tasks.node[task]].pool == pool.row:
            running += len(world.gangs[task].nodes) - 1
    return active, running, active + running, succeeded, failed
