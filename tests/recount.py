"""A count of the whole log, entry by entry, that the series must agree with."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache, partial

from engine.base.lifecycles import UNBILLED
from engine.base.log import LogSubject
from engine.base.terms import InstanceState, NodeState, TaskResult, TaskState
from engine.base.values import HOUR_MS, MINUTE_MS
from engine.views.log.changes import Measure, kind_of_node
from engine.views.log.series import RunSeries

PREPARATION = "JobPreparationTaskStateChanged"


class Recount:
    """The state at the end of a moment, as the log tells it."""

    def __init__(self, sim, until_ms):
        self.nodes, self.tasks, self.done = {}, {}, Counter()
        self.targets, self.usd, self.preparation_ms, self.preparing = Counter(), Counter(), Counter(), {}
        world, log, last_ms = sim.world, sim.log, 0
        for entry in log.entries(0, log.index_at(until_ms)):
            self._let_pass(world, entry.t_ms - last_ms)
            last_ms = entry.t_ms
            fields = dict(entry.shape.fields)
            if entry.shape.event == "NodeStateChanged":
                self.nodes[entry.row_b] = fields["to"]
                if fields["to"] not in (NodeState.IDLE, NodeState.RUNNING):
                    self.preparing = {key: None for key in self.preparing if key[1] != entry.row_b}
            elif entry.shape.event == "TaskStateChanged":
                self.tasks[entry.row_a] = fields["to"]
                if fields["to"] is TaskState.COMPLETED:
                    job = world.tasks.block_of(entry.row_a).job
                    self.done[job, fields["result"] is TaskResult.FAILURE] += 1
            elif entry.shape.event == PREPARATION:
                if fields["to"] is InstanceState.RUNNING:
                    self.preparing[entry.row_a, entry.row_b] = None
                else:
                    self.preparing.pop((entry.row_a, entry.row_b), None)
            elif entry.shape.event == "PoolResizeStart" and entry.shape.subject is LogSubject.POOL:
                self.targets[entry.row_a] = fields["targetDedicatedNodes"] + fields["targetLowPriorityNodes"]
        self._let_pass(world, until_ms - last_ms)

    def _let_pass(self, world, ms):
        for job, _ in self.preparing:
            self.preparation_ms[job] += ms
        for node, state in self.nodes.items():
            if state is not None and state not in UNBILLED:
                pool = world.pool_of(node)
                price = pool.size.price_usd(pool.os, dedicated=world.nodes[node].dedicated)
                self.usd[pool.row] += ms / HOUR_MS * price


def check_series(sim, series: RunSeries) -> None:
    """Compare every series with recounts at some of its moments."""
    world = sim.world
    many = 10_000  # a column for each bucket
    recount = cache(partial(Recount, sim))  # the rows have moments in common
    for row, pool in enumerate(world.pools.rows):
        if world.pools.find(pool.id) is pool:
            _check_pool(sim, recount, row, series.of_pool(pool.id, many))
    for job in world.jobs.rows:
        if world.jobs.find(job.id) is job:
            _check_job(sim, recount, job.row, series.of_job(job.id, many))
    for job in world.jobs.present():
        assert series.preparation_ms(job.id) == recount(series.until_ms).preparation_ms[job.row]


def _moments(axis):
    """Yield the columns that are compared, with their ends."""
    last = len(axis.edges) - 1
    for number in sorted({last // 3 - 1, last // 2, last - 1}):
        if 0 <= number < last and axis.edges[number + 1] - axis.edges[number] == 1:
            yield number, axis.edges[number + 1] * axis.every_ms


def _check_pool(sim, recount, row, found):
    world = sim.world
    for number, end_ms in _moments(found.axis):
        there = recount(end_ms)
        states = [state for node, state in there.nodes.items() if world.nodes[node].pool == row and state is not None]
        kinds = Counter(map(kind_of_node, states))
        assert found.running[number] == kinds[Measure.NODES_RUNNING]
        assert found.idle[number] == kinds[Measure.NODES_IDLE]
        assert found.starting[number] == kinds[Measure.NODES_STARTING]
        assert found.down[number] == kinds[Measure.NODES_DOWN]
        assert math.isclose(found.usd[number], there.usd[row], abs_tol=1e-9)
        assert found.target[number] == there.targets[row]


def _check_job(sim, recount, row, found):
    world, every_ms = sim.world, found.axis.every_ms
    for number, end_ms in _moments(found.axis):
        minute_ms = max(1, round(MINUTE_MS / every_ms)) * every_ms
        begin_ms = max(0, min(found.axis.edges[number] * every_ms, end_ms - minute_ms))
        there, earlier = recount(end_ms), recount(begin_ms)
        states = Counter(state for task, state in there.tasks.items() if world.tasks.block_of(task).job == row)
        ended_ms = world.jobs[row].end_ms
        has_ended = ended_ms is not None and ended_ms < end_ms
        assert found.waiting[number] == (0 if has_ended else states[TaskState.ACTIVE] + states[TaskState.PREPARING])
        assert found.preparing[number] == (0 if has_ended else states[TaskState.PREPARING])
        assert found.running[number] == states[TaskState.RUNNING]
        for rate, has_failed in ((found.succeeded_a_minute, False), (found.failed_a_minute, True)):
            done = there.done[row, has_failed] - earlier.done[row, has_failed]
            assert math.isclose(rate[number], done * MINUTE_MS / max(end_ms - begin_ms, MINUTE_MS))
