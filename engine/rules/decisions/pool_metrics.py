"""Metrics of a pool that scales itself: their present values, and the samples that have arrived (AS-41 to AS-54).

Those of the use of nodes are in ``node_metrics``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, cast, overload

from engine.autoscale import LIVE, SampleSeries
from engine.base.node_states import READY
from engine.base.terms import JobState, NodeState
from engine.rules.decisions import membership
from engine.rules.decisions.node_metrics import NODE_METRICS
from engine.state.tasks import COMPLETED, PREPARING, RUNNING

if TYPE_CHECKING:
    from engine.state.pools import Pool
    from engine.world.world import World

# The values of a sample, after its time.
_SAMPLED = (
    "$ActiveTasks",
    "$RunningTasks",
    "$PendingTasks",
    "$SucceededTasks",
    "$FailedTasks",
    *LIVE,
    *NODE_METRICS,
)


class _Column(Sequence[float]):
    """One column of the samples. Only those that a formula asks for are read, since a day of samples is long."""

    def __init__(self, samples: Sequence[tuple[float, ...]], column: int) -> None:
        self._samples = samples
        self._column = column

    def __len__(self) -> int:
        return len(self._samples)

    @overload
    def __getitem__(self, at: int) -> float: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[float]: ...
    def __getitem__(self, at: int | slice) -> float | Sequence[float]:
        if isinstance(at, slice):
            return [sample[self._column] for sample in self._samples[at]]
        return self._samples[at][self._column]


def arrived(world: World, pool: Pool, now_ms: int) -> dict[str, SampleSeries]:
    """Return the samples of each metric that have arrived by now (AS-54)."""
    latest_ms = now_ms - world.scenario.simulate.auto_scale.sample_delay
    here = bisect_right(pool.samples, latest_ms, key=itemgetter(0))
    samples = pool.samples if here == len(pool.samples) else pool.samples[:here]
    times_ms = cast("Sequence[int]", _Column(samples, 0))  # the one column of whole numbers
    return {name: SampleSeries(times_ms, _Column(samples, 1 + column)) for column, name in enumerate(_SAMPLED)}


# -- values ----------------------------------------------------------------------------------------------------------


def now(world: World, pool: Pool) -> dict[str, int]:
    """Return the metrics that a formula can also have as they are now, in the order of ``LIVE`` (AS-46)."""
    states = [world.nodes.state[node] for node in membership.present_nodes(world, pool)]
    preempted, usable = states.count(NodeState.PREEMPTED), sum(map(states.count, READY))
    counts = (*membership.current_counts(world, pool), preempted, usable, pool.slots)
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
