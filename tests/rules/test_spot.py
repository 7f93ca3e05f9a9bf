"""Chapter 7: Spot nodes are taken back, and come back when there is capacity."""

from __future__ import annotations

import pytest

from tests.builders import (
    ALLOCATION_S,
    BOOT_S,
    NOTICE_S,
    READY_S,
    STARTING_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    evict,
    from_yaml,
    node,
    node_row,
    node_rows,
    node_state,
    node_states,
    refusal,
    run,
    run_to,
    run_to_end,
    simulation,
    task_extra,
    task_history,
    task_state,
    times,
)

SIZE = "standard_d2s_v3"


def spot_pool(nodes=1, **more):
    return a_pool(nodes=0, targetLowPriorityNodes=nodes, **more)


def evicted(start, *jobs, nodes=1, index=0, seconds=5, **more):
    """A run in which a Spot node has just been taken back."""
    sim = start(*jobs, pool=spot_pool(nodes), **more)
    run_to(sim, seconds=READY_S + seconds)
    evict(sim, index)
    return sim


def states(sim):
    return [node_state(sim, index) for index in range(len(node_rows(sim)))]


def test_spot_1_a_pool_may_mix_both_kinds(start):
    sim = start(pool=a_pool(nodes=1, targetLowPriorityNodes=2))
    run_to_end(sim)
    assert sorted(node(sim, index).dedicated for index in range(3)) == [False, False, True]


def test_spot_1_the_kind_shows_in_the_id(start):
    sim = start(pool=a_pool(nodes=1, targetLowPriorityNodes=1))
    run_to_end(sim)
    assert {node(sim, index).id[-2:]: node(sim, index).dedicated for index in (0, 1)} == {"_d": True, "_p": False}


def test_spot_2_only_spot_nodes_are_evicted(start):
    sim = start(pool=a_pool(nodes=1))
    run_to(sim, seconds=READY_S)
    assert refusal(sim, "evictNode", poolId="p", node=0) == "OperationNotValidOnNode"


def test_spot_3_the_node_is_preempted_and_still_counted(start):
    sim = evicted(start)
    assert node_state(sim) == "preempted"
    do(sim, "resizePool", poolId="p", targetLowPriorityNodes=2)
    assert events(sim, "PoolResizeStart")[-1]["currentLowPriorityNodes"] == 1


def test_spot_3_its_tasks_are_requeued_and_run_elsewhere(start):
    sim = evicted(start, a_job(tasks=[a_task(seconds=300)]), nodes=2)
    run_to_end(sim)
    assert task_history(sim) == ["active", "running", "active", "running", "completed"]


def test_spot_4_a_preemption_is_neither_a_retry_nor_a_requeue_by_the_user(start):
    sim = evicted(start, a_job(tasks=[a_task(seconds=300)]))
    extra = task_extra(sim)
    assert (task_state(sim), extra.retry_count, extra.requeue_count, extra.system_retries) == ("active", 0, 0, 1)


def test_spot_4_a_preparing_task_is_active_again_without_any_counter(start):
    sim = evicted(start, a_job(prep=a_line(100)))
    extra = task_extra(sim)
    assert (task_state(sim), extra.attempts, extra.system_retries) == ("active", 0, 0)


def test_spot_5_after_five_minutes_the_node_comes_back_under_its_id(start):
    sim = evicted(start)
    before = (node(sim).id, node(sim).allocation_ms)
    gone = times(sim, "NodeStateChanged", to="preempted")[0]
    run_to_end(sim)
    assert node_states(sim) == ["creating", "starting", "idle", "preempted", "creating", "starting", "idle"]
    assert times(sim, "NodeStateChanged", to="creating")[1:] == [gone + 300]
    assert times(sim, "NodeStateChanged", to="idle")[1:] == [gone + 300 + STARTING_S + BOOT_S]
    assert (node(sim).id, node(sim).allocation_ms) == before
    assert len(node_rows(sim)) == 1


def test_spot_5_the_allocation_state_does_not_change_and_there_is_no_resize(start):
    sim = evicted(start)
    run_to_end(sim)
    assert [event["to"] for event in events(sim, "PoolAllocationStateChanged")] == ["resizing", "steady"]
    assert len(events(sim, "PoolResizeStart")) == 1
    assert sim.world.pools.find("p").resize_errors == ()


def test_spot_5_it_passes_its_start_task_and_the_preparation_again(start):
    job = a_job(tasks=[a_task(seconds=900)], prep=a_line(5))
    sim = start(job, pool=spot_pool(startTask=a_line(5)))
    run_to(sim, minutes=3)
    evict(sim)
    run_to_end(sim)
    assert task_state(sim) == "completed"
    assert len(events(sim, "StartTaskStateChanged", to="completed")) == 2
    assert len(events(sim, "JobPreparationTaskStateChanged", to="running")) == 2


def test_spot_5_without_capacity_it_is_tried_again_every_five_minutes(start):
    sim = evicted(start, timeline=[{"at": 20, "capacity": {"vmSize": SIZE, "nodes": 0}}])
    gone = times(sim, "NodeStateChanged", to="preempted")[0]
    run(sim, minutes=12)
    assert node_state(sim) == "preempted"
    do(sim, "capacity", vmSize=SIZE, nodes=5)
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="creating")[1:] == [gone + 900]
    assert sim.world.pools.find("p").resize_errors == ()


def test_spot_5_what_can_be_had_comes_the_rest_later(start):
    sim = start(pool=spot_pool(3), timeline=[{"at": 40, "capacity": {"vmSize": SIZE, "nodes": 1}}])
    run_to(sim, seconds=READY_S)
    for index in (2, 0, 1):
        do(sim, "evictNode", poolId="p", node=index)
    run(sim, seconds=NOTICE_S + 301)
    assert states(sim) == ["creating", "preempted", "preempted"]
    do(sim, "capacity", vmSize=SIZE, nodes=9)
    run(sim, seconds=300)
    assert states(sim) == ["idle", "creating", "creating"]


def test_spot_5_nodes_that_never_came_are_sought_too(start):
    """Freed cores reopen no resize, but Spot nodes are refilled (ACC-8)."""
    pools = [spot_pool(2), a_pool("q", nodes=0, targetLowPriorityNodes=2)]
    sim = start(pools=pools, account={"quotas": {"lowPriorityCores": 6}})
    run_to(sim, minutes=1)
    q = sim.world.pools.find("q")
    assert (len(node_rows(sim, "q")), q.resize_errors[0].code) == (1, "AccountLowPriorityCoreQuotaReached")
    do(sim, "resizePool", poolId="p", targetLowPriorityNodes=0)
    run_to_end(sim)
    assert len(node_rows(sim, "q")) == 2
    assert times(sim, "NodeStateChanged", poolId="q", from_=None) == [10, 310]


def test_spot_5_the_quota_holds_for_a_refill(start):
    sim = start(pools=[spot_pool(2), a_pool("q", nodes=0)], account={"quotas": {"lowPriorityCores": 4}})
    run_to(sim, seconds=READY_S)
    evict(sim)
    do(sim, "resizePool", poolId="q", targetLowPriorityNodes=1)
    run(sim, minutes=30)
    assert states(sim) == ["preempted", "idle"]
    do(sim, "deletePool", poolId="q")
    run_to_end(sim)
    assert states(sim) == ["idle", "idle"]


def test_spot_5_a_lower_target_ends_the_search(start):
    sim = evicted(start, nodes=2)
    do(sim, "resizePool", poolId="p", targetLowPriorityNodes=1)
    run_to_end(sim)
    assert states(sim) == [None, "idle"]
    assert len(node_rows(sim)) == 2


def test_spot_5_a_preempted_node_that_is_removed_does_not_come_back(start):
    sim = evicted(start, nodes=2)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run_to_end(sim)
    assert states(sim) == [None, "idle"]


def test_spot_5_a_deleted_pool_seeks_nothing(start):
    sim = evicted(start)
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    assert sim.world.pools.find("p") is None


def test_spot_5_while_the_pool_is_resizing_the_search_waits(start):
    slow = {"nodes": {"allocation": {"choice": [10, 500]}}}
    sim = start(pool=spot_pool(1), simulate=slow, seed=2)
    run_to(sim, minutes=12)
    evict(sim)
    run(sim, minutes=4)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=6)
    run_to_end(sim)
    steady = times(sim, "PoolAllocationStateChanged", to="steady")[-1]
    back = times(sim, "NodeStateChanged", from_="preempted")[0]
    assert back == steady + 300


def test_spot_5_a_second_eviction_is_sought_from_its_own_moment(start):
    sim = evicted(start)
    run(sim, minutes=10)
    evict(sim)
    run_to_end(sim)
    gone = times(sim, "NodeStateChanged", to="preempted")
    assert times(sim, "NodeStateChanged", from_="preempted") == [moment + 300 for moment in gone]


def test_spot_5_a_dedicated_node_is_not_sought(start):
    sim = start(pool=a_pool(nodes=60))
    run_to(sim, minutes=60)
    assert len(node_rows(sim)) == 50


@pytest.mark.parametrize("pools", [1, 3])
def test_spot_5_a_run_that_is_over_ends_although_nodes_are_missing(pools):
    """Without capacity nothing can happen any more; the service would seek for ever."""
    entries = [{"at": 0, "capacity": {"vmSize": SIZE, "nodes": 0}}]
    sim = simulation(pools=[a_pool(f"p{n}", nodes=0, targetLowPriorityNodes=2) for n in range(pools)], timeline=entries)
    sim.run_until(sim.end_ms)
    sim.finish()
    assert sim.finished
    assert sim.now_ms == ALLOCATION_S * 1000  # when the lack of capacity is reported


def test_spot_5_attempts_that_were_left_out_do_not_move_the_others():
    """An interactive command long after the last event replays at the same moments from a file."""
    quiet = [{"at": 60, "capacity": {"vmSize": SIZE, "nodes": 0}}, {"at": 60, "evictNode": {"poolId": "p", "node": 0}}]
    by_hand = simulation(pool=spot_pool(1), timeline=quiet)
    run_to(by_hand, minutes=48)
    do(by_hand, "capacity", vmSize=SIZE, nodes=1)
    run_to_end(by_hand)
    later = [*quiet, {"at": 48 * 60 + 0.001, "capacity": {"vmSize": SIZE, "nodes": 1}}]
    replayed = simulation(pool=spot_pool(1), timeline=later)
    run_to_end(replayed)
    assert times(by_hand, "NodeStateChanged", from_="preempted") == [60 + NOTICE_S + 10 * 300]
    assert list(by_hand.json_lines()) == list(replayed.json_lines())


def test_spot_5_going_back_in_time_changes_nothing():
    sim = simulation(a_job(tasks=20), pool=spot_pool(3))
    run_to(sim, seconds=READY_S + 5)
    for index in (0, 2):
        evict(sim, index)
    run_to_end(sim)
    lines = list(sim.json_lines())
    sim.seek(200_000)
    sim.run_until(3_600_000)
    assert list(sim.json_lines()) == lines


def test_nop_8_a_deallocated_spot_node_is_not_missing(start):
    sim = start(pool=spot_pool(2))
    run_to(sim, seconds=READY_S)
    do(sim, "deallocateNode", poolId="p", node=0)
    run(sim, minutes=30)
    assert states(sim) == ["deallocated", "idle"]
    assert len(node_rows(sim)) == 2


def test_node_10_a_node_that_comes_back_has_run_nothing(start):
    sim = evicted(start, a_job(tasks=3), seconds=130)
    assert sim.world.nodes.ran[node_row(sim)] == 0
    run_to_end(sim)
    assert sim.world.nodes.ran[node_row(sim)] == 1


def test_spot_7_the_log_shows_the_notice_half_a_minute_before(start):
    sim = start(pool=spot_pool(1), timeline=[{"at": 200, "evictNode": {"poolId": "p", "node": 0}}])
    run_to_end(sim)
    notice = events(sim, "FaultInjected")[0]
    assert (notice["t"], notice["command"], notice["rule"]) == (200, "evictNode", "SPOT-7")
    assert times(sim, "NodeStateChanged", to="preempted") == [230]


def test_spot_7_and_time_12_batch_does_nothing_for_thirty_seconds(start):
    """A task that ends in time has ended, and another begins."""
    tasks = [a_task("t1", seconds=20), a_task("t2", seconds=300)]
    sim = start(a_job(tasks=tasks), pool=spot_pool(1))
    run_to(sim, seconds=READY_S + 2)
    do(sim, "evictNode", poolId="p", node=0)
    run(sim, seconds=NOTICE_S - 0.001)
    assert (node_state(sim), task_state(sim, "t1"), task_state(sim, "t2")) == ("running", "completed", "running")
    run(sim, seconds=0.001)
    assert (node_state(sim), task_state(sim, "t2")) == ("preempted", "active")


def test_spot_7_there_is_one_notice_for_a_vm(start):
    sim = start(pool=spot_pool(1))
    run_to(sim, seconds=READY_S)
    do(sim, "evictNode", poolId="p", node=0)
    run(sim, seconds=10)
    assert refusal(sim, "evictNode", poolId="p", node=0) == "OperationNotValidOnNode"


def test_spot_7_a_node_that_leaves_meanwhile_is_not_preempted(start):
    sim = start(pool=spot_pool(1))
    run_to(sim, seconds=READY_S)
    do(sim, "evictNode", poolId="p", node=0)
    run(sim, seconds=20)
    do(sim, "resizePool", poolId="p", targetLowPriorityNodes=0)
    run_to_end(sim)
    assert node_states(sim) == ["creating", "starting", "idle", "leavingpool", None]


def test_spot_8_a_scenario_may_call_them_low_priority_nodes():
    text = "scenario: x\npools: [{id: p, vmSize: standard_d2s_v3, targetLowPriorityNodes: 2}]\n"
    sim = from_yaml(text)
    run_to_end(sim)
    assert [node(sim, index).dedicated for index in (0, 1)] == [False, False]
