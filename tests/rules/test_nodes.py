"""Chapter 5, nodes: their life from allocation to their end, and what goes wrong with them by itself."""

from __future__ import annotations

import re

import pytest

from engine.base.lifecycles import NODE
from engine.base.terms import NodeState
from tests.builders import (
    AGAIN_S,
    ALLOCATION_S,
    BOOT_S,
    READY_S,
    REMOVAL_S,
    STARTING_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    evict,
    node,
    node_state,
    node_states,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_state,
    times,
)
from tests.rules.nodes import ON_NODE, SPOT, idle

N = NodeState


# -- identity --------------------------------------------------------------------------------------------------------


def test_node_2_ids_and_addresses_are_unique_and_given_back(start):
    sim = idle(start, pool=a_pool(nodes=3))
    assert len({node(sim, index).id for index in range(3)}) == 3
    assert [node(sim, index).ip for index in range(3)] == [0, 1, 2]
    do(sim, "removeNodes", poolId="p", nodeList=[1])
    run(sim, seconds=REMOVAL_S + 1)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=4)
    run(sim, seconds=READY_S)
    assert [node(sim, index).ip for index in (3, 4)] == [1, 3]  # NODE-4: lowest free first


def test_node_3_ids_of_vm_pools_tell_the_kind(start):
    sim = idle(start, pool=a_pool(nodes=1, targetLowPriorityNodes=1))
    ids = sorted((node(sim, index).dedicated, node(sim, index).id) for index in range(2))
    assert re.fullmatch(r"tvmps_[0-9a-f]{64}_p", ids[0][1])
    assert re.fullmatch(r"tvmps_[0-9a-f]{64}_d", ids[1][1])


@pytest.mark.parametrize(
    ("pool", "options"),
    [
        (a_pool(nodes=2), {"classicNodeIds": True}),
        (a_pool(nodes=2, vmSize="small", cloudServiceConfiguration={"osFamily": "5"}), {}),
    ],
)
def test_node_3_classic_ids_count_and_tell_the_time(start, pool, options):
    sim = idle(start, pool=pool, options=options)
    stamp = "20260105t080010z"  # allocated ten seconds after the start
    for index in (0, 1):
        assert re.fullmatch(rf"tvm-\d{{10}}_{index + 1}-{stamp}", node(sim, index).id)


def test_node_5_allocation_time_is_set_once(start):
    sim = idle(start)
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    do(sim, "failNode", **ON_NODE, **{"for": "PT1M"})
    run_to_end(sim)
    assert node(sim).allocation_ms == ALLOCATION_S * 1000


def test_node_5_counts_tasks_that_ran_and_that_succeeded(start):
    sim = start(
        a_job(tasks=[a_task("t1"), a_task("t2", exit_code=1)], prep=a_line(5)), pool=a_pool(startTask=a_line(5))
    )
    run_to_end(sim)
    assert (sim.world.nodes.ran[0], sim.world.nodes.succeeded(0)) == (2, 1)


def test_node_5_a_task_that_went_back_to_the_queue_has_neither_failed_nor_succeeded(start):
    sim = start(a_job(tasks=[a_task("t1", 600)]))
    run_to(sim, minutes=5)
    do(sim, "rebootNode", **ON_NODE, nodeRebootOption="requeue")
    nodes = sim.world.nodes
    assert (nodes.ran[0], nodes.succeeded(0), nodes.failed[0], nodes.interrupted[0]) == (1, 0, 0, 1)


def test_node_10_boot_time_moves_and_the_counts_survive_a_reboot(start):
    sim = start(a_job())
    run_to(sim, minutes=5)
    assert node(sim).boot_ms == (ALLOCATION_S + STARTING_S) * 1000
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert node(sim).boot_ms > 300_000
    assert sim.world.nodes.ran[0] == 1


def test_node_10_the_counts_begin_anew_with_a_preemption(start):
    sim = start(a_job(), pool=SPOT)
    run_to(sim, minutes=5)
    assert sim.world.nodes.ran[0] == 1
    evict(sim)
    assert (sim.world.nodes.ran[0], sim.world.nodes.succeeded(0)) == (0, 0)


def test_node_7_scheduling_is_enabled_at_first(start):
    sim = start()
    run_to(sim, seconds=ALLOCATION_S)
    assert node(sim).scheduling.wire == "enabled"


# -- the way to work -------------------------------------------------------------------------------------------------


def test_node_9_creating_starting_idle(start):
    sim = idle(start)
    assert node_states(sim) == ["creating", "starting", "idle"]
    assert times(sim, "NodeStateChanged") == [ALLOCATION_S, ALLOCATION_S + STARTING_S, READY_S]
    assert events(sim, "NodeStateChanged")[0]["from"] is None


@pytest.mark.parametrize("waits", [True, False])
def test_node_9_with_a_start_task(start, waits):
    sim = start(pool=a_pool(startTask=a_line(20, waitForSuccess=waits)))
    run_to_end(sim)
    between = ["waitingforstarttask"] if waits else []
    assert node_states(sim) == ["creating", "starting", *between, "idle"]


def test_node_9_running_from_the_first_task_to_the_last(start):
    sim = start(a_job(tasks=[a_task("t1", 100), a_task("t2", 200)]), pool=a_pool(taskSlotsPerNode=2))
    run_to_end(sim)
    assert node_states(sim) == ["creating", "starting", "idle", "running", "idle"]
    assert times(sim, "NodeStateChanged", to="idle") == [READY_S, READY_S + 201]


def test_node_9_no_idle_moment_between_two_tasks(start):
    sim = start(a_job(tasks=3))
    run_to_end(sim)
    assert node_states(sim).count("running") == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (N.CREATING, N.IDLE),
        (N.IDLE, N.STARTING),
        (N.WAITING_FOR_START_TASK, N.RUNNING),
        (N.START_TASK_FAILED, N.IDLE),
        (N.REBOOTING, N.IDLE),
        (N.UNUSABLE, N.IDLE),
        (N.OFFLINE, N.RUNNING),
        (N.LEAVING_POOL, N.IDLE),
        (N.DEALLOCATED, N.IDLE),
        (N.PREEMPTED, N.IDLE),
        (N.UNKNOWN, N.REBOOTING),
        (N.IDLE, None),
        (None, N.IDLE),
    ],
)
def test_node_9_moves_that_do_not_exist(old, new):
    assert (old, new) not in NODE


@pytest.mark.parametrize("state", NodeState)
def test_node_9_any_present_state_may_leave_the_pool(state):
    if state is not N.LEAVING_POOL:
        assert (state, N.LEAVING_POOL) in NODE


@pytest.mark.parametrize(
    ("second", "state"),
    [(12, "creating"), (25, "starting"), (60, "waitingforstarttask")],
)
def test_node_8_no_task_before_the_node_is_ready(start, second, state):
    sim = start(a_job(), pool=a_pool(startTask=a_line(30)))
    run_to(sim, seconds=second)
    assert (node_state(sim), task_state(sim)) == (state, "active")


def test_node_8_nodes_work_one_by_one_as_they_come(start):
    sim = start(
        a_job(tasks=some_tasks(2)),
        pool=a_pool(nodes=2, startTask=a_line(5, simulate={"onNode": {1: {"duration": 500}}})),
    )
    run_to(sim, minutes=4)
    assert node_state(sim, 1) == "waitingforstarttask"
    assert [task_state(sim, f"t{n}") for n in (1, 2)] == ["completed", "completed"]


def test_node_9_a_reboot_takes_what_simulate_says(start):
    sim = idle(start, simulate={"nodes": {"reboot": "PT5M", "ready": BOOT_S}})
    do(sim, "rebootNode", **ON_NODE)
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="idle")[-1] == READY_S + 0.001 + 300 + AGAIN_S
