"""Chapter 4: how a pool goes."""

from __future__ import annotations

import pytest

from engine.base.terms import PoolState
from tests.builders import (
    ALLOCATION_S,
    READY_S,
    REMOVAL_S,
    a_pool,
    do,
    node_rows,
    node_state,
    refusal,
    run,
    run_to,
    run_to_end,
    task_extra,
    task_state,
    times,
)
from tests.rules.resizing import busy, pool, ready, resize


def test_rsz_10_a_deleted_pool_requeues_its_tasks_and_disappears_with_its_last_node(start):
    sim = busy(start)
    do(sim, "deletePool", poolId="p")
    assert [node_state(sim, index) for index in (0, 1)] == ["leavingpool"] * 2
    assert (task_state(sim, "t1"), task_extra(sim, "t1").requeue_count) == ("active", 1)
    run_to_end(sim)
    assert pool(sim) is None
    assert times(sim, "PoolStateChanged", to=None) == times(sim, "NodeStateChanged", to=None)[-1:]
    assert refusal(sim, "deletePool", poolId="p") == "PoolNotFound"


def test_rsz_10_a_running_resize_stops(start):
    sim = start(pool=a_pool(nodes=5))
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    assert (pool(sim), node_rows(sim)) == (None, [])


def test_rsz_10_a_pool_that_drains_is_emptied_at_once(start):
    sim = busy(start)
    resize(sim, 0, nodeDeallocationOption="taskcompletion")
    do(sim, "deletePool", poolId="p")
    run(sim, seconds=REMOVAL_S)
    assert pool(sim) is None
    assert task_extra(sim, "t1").requeue_count == 1


def test_rsz_10_a_stopping_pool_can_be_deleted(start):
    sim = start(pool=a_pool(nodes=2))
    run_to(sim, seconds=ALLOCATION_S)
    resize(sim, 4)
    do(sim, "stopPoolResize", poolId="p")
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    assert pool(sim) is None


@pytest.mark.parametrize("name", ["failNode", "rebootNode", "deallocateNode", "disableNodeScheduling"])
def test_rsz_10_whatever_state_its_nodes_are_in(start, name):
    sim = ready(start)
    do(sim, name, poolId="p", node=0)
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    assert pool(sim) is None


def test_rsz_11_the_pool_is_deleting_while_it_takes(start):
    sim = ready(start)
    do(sim, "deletePool", poolId="p")
    run(sim, seconds=REMOVAL_S - 1)
    assert pool(sim).state is PoolState.DELETING
    assert pool(sim).since_ms == READY_S * 1000 + 1
