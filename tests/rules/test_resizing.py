"""Chapter 4: how a pool grows and shrinks, what stops it, and how it goes."""

from __future__ import annotations

import pytest

from engine.rules.resizing import resize_verdict, shrink_victims
from engine.terms import AllocationState, PoolState
from tests.builders import (
    ALLOCATION_S,
    READY_S,
    REMOVAL_S,
    a_job,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    evict,
    file,
    from_yaml,
    job_state,
    node,
    node_row,
    node_rows,
    node_state,
    node_states,
    refusal,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_extra,
    task_history,
    task_row,
    task_state,
    times,
)

AUTOSCALED = {
    "id": "p",
    "vmSize": "standard_d2s_v3",
    "enableAutoScale": True,
    "autoScaleFormula": "$TargetDedicatedNodes=0;",
}


def pool(sim, pool_id="p"):
    return sim.world.pools.find(pool_id)


def allocation(sim):
    return pool(sim).allocation.wire


def errors(sim):
    return [error.code for error in pool(sim).resize_errors]


def targets(sim):
    return pool(sim).target_dedicated, pool(sim).target_spot


def here(sim):
    """The indexes of the nodes that are there and not leaving."""
    return [index for index in range(len(node_rows(sim))) if node_state(sim, index) not in (None, "leavingpool")]


def ready(start, *jobs, nodes=2, **pool_body):
    """A run whose first nodes have just become idle."""
    sim = start(*jobs, pool=a_pool(nodes=nodes, **pool_body))
    run_to(sim, seconds=READY_S)
    return sim


def resize(sim, nodes, **more):
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=nodes, **more)


# -- preconditions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "allocation_state", "code"),
    [
        (PoolState.ACTIVE, AllocationState.STEADY, None),
        (PoolState.ACTIVE, AllocationState.RESIZING, "PoolBeingResized"),
        (PoolState.ACTIVE, AllocationState.STOPPING, "PoolBeingResized"),
        (PoolState.DELETING, AllocationState.STEADY, "PoolBeingDeleted"),
        (PoolState.DELETING, AllocationState.RESIZING, "PoolBeingDeleted"),
    ],
)
def test_rsz_1_a_resize_begins_only_on_a_steady_pool(start, state, allocation_state, code):
    sim = ready(start)
    pool(sim).state, pool(sim).allocation = state, allocation_state
    verdict = resize_verdict(pool(sim))
    assert (verdict.code if verdict else None) == code


def test_rsz_1_the_initial_sizing_refuses_a_resize_too(start):
    sim = start(pool=a_pool(nodes=1))
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=2) == "PoolBeingResized"
    run_to(sim, seconds=ALLOCATION_S)
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=2) is None


def test_rsz_1_an_omitted_target_keeps_its_value(start):
    sim = ready(start, nodes=1, targetLowPriorityNodes=1)
    do(sim, "resizePool", poolId="p", targetLowPriorityNodes=2)
    assert targets(sim) == (1, 2)
    run(sim, minutes=2)
    assert len(here(sim)) == 3


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "MissingRequiredProperty"),
        ({"targetDedicatedNodes": 3, "resizeTimeout": "PT4M59S"}, "InvalidPropertyValue"),
        ({"targetDedicatedNodes": -1}, "InvalidPropertyValue"),
    ],
)
def test_rsz_1_a_bad_body_is_refused_and_the_pool_stays_steady(start, body, code):
    sim = ready(start)
    assert refusal(sim, "resizePool", poolId="p", **body) == code
    assert (allocation(sim), targets(sim)) == ("steady", (2, 0))


def test_rsz_1_the_body_is_looked_at_before_the_pool(start):
    """ERR-2: 400 before 409."""
    sim = start(pool=a_pool(nodes=1))
    assert refusal(sim, "resizePool", poolId="p") == "MissingRequiredProperty"
    assert refusal(sim, "resizePool", poolId="q") == "PoolNotFound"


def test_rsz_1_a_resize_to_what_is_there_is_over_at_once(start):
    sim = ready(start)
    resize(sim, 2)
    assert allocation(sim) == "steady"
    assert len(events(sim, "PoolResizeComplete")) == 2


# -- growth ----------------------------------------------------------------------------------------------------------


def test_rsz_2_the_pool_is_steady_when_the_last_node_is_creating(start):
    sim = start(pool=a_pool(nodes=2))
    run_to(sim, seconds=ALLOCATION_S)
    assert [node_state(sim, 0), node_state(sim, 1)] == ["creating", "creating"]
    assert (allocation(sim), times(sim, "PoolResizeComplete")) == ("steady", [ALLOCATION_S])


def test_rsz_2_both_kinds_are_waited_for(start):
    allocation_time = {"choice": [5, 50, 100]}
    sim = start(
        pool=a_pool(nodes=3, targetLowPriorityNodes=3), simulate={"nodes": {"allocation": allocation_time}}, seed=3
    )
    run_to_end(sim)
    created = times(sim, "NodeStateChanged", from_=None)
    assert len(created) == 6
    assert times(sim, "PoolResizeComplete") == [max(created)]


def test_rsz_3_at_the_timeout_what_has_not_come_is_given_up(start):
    slow = {"nodes": {"allocation": {"choice": [10, 3000]}}}
    sim = start(pool=a_pool(nodes=8, targetLowPriorityNodes=8), simulate=slow, seed=1)
    run_to_end(sim)
    got = len(here(sim))
    assert 0 < got < 16
    assert times(sim, "PoolResizeComplete") == [900]
    assert (allocation(sim), targets(sim)) == ("steady", (8, 8))
    assert sim.now_ms < 3_100_000
    assert set(errors(sim)) == {"AllocationTimedout"}


def test_rsz_3_the_timeout_is_the_one_given(start):
    never = {"nodes": {"allocation": 100_000}}
    sim = start(pool=a_pool(nodes=1, resizeTimeout="PT7M"), simulate=never)
    run_to(sim, minutes=8)
    resize(sim, 2, resizeTimeout="PT5M")
    run(sim, minutes=10)
    assert times(sim, "PoolResizeComplete") == [420, 780.001]
    assert here(sim) == []


def test_rsz_13_dedicated_and_spot_have_an_entry_each(start):
    never = {"nodes": {"allocation": 100_000}}
    sim = start(pool=a_pool(nodes=3, targetLowPriorityNodes=3), simulate=never)
    run_to(sim, minutes=20)
    assert errors(sim) == ["AllocationTimedout"] * 2
    messages = {error.message for error in pool(sim).resize_errors}
    assert len(messages) == 2
    assert any("Spot" in message for message in messages)


def test_rsz_12_errors_undo_no_node_and_carry_their_reason(start):
    capacity = {"at": 0, "capacity": {"vmSize": "STANDARD_D2S_V3", "nodes": 2}}
    sim = start(pool=a_pool(nodes=5), timeline=[capacity])
    run_to(sim, minutes=2)
    assert (len(here(sim)), errors(sim), allocation(sim)) == (2, ["AllocationFailed"], "steady")
    assert pool(sim).resize_errors[0].values[0][0] == "Reason"
    assert pool(sim).resize_errors[0].message == "Desired number of dedicated nodes could not be allocated"


def test_rsz_14_a_steady_pool_below_its_target_is_not_topped_up(start):
    sim = start(pool=a_pool(nodes=3), timeline=[{"at": 0, "capacity": {"vmSize": "standard_d2s_v3", "nodes": 1}}])
    run_to(sim, minutes=2)
    do(sim, "capacity", vmSize="standard_d2s_v3", nodes=50)
    run(sim, minutes=120)
    assert len(here(sim)) == 1
    resize(sim, 3)
    run(sim, minutes=2)
    assert (len(here(sim)), errors(sim)) == (3, [])


# -- deallocation options --------------------------------------------------------------------------------------------


def busy(start, tasks=2, **more):
    """Two nodes, a task on each."""
    sim = ready(start, a_job(tasks=some_tasks(tasks, 100)), **more)
    run(sim, seconds=1)
    return sim


def test_rsz_4_requeue_is_the_default_and_the_task_runs_elsewhere(start):
    sim = busy(start)
    resize(sim, 1)
    victim = "t2" if task_state(sim, "t2") == "active" else "t1"
    assert task_state(sim, victim) == "active"
    assert (task_extra(sim, victim).requeue_count, task_extra(sim, victim).retry_count) == (1, 0)
    run_to_end(sim)
    assert task_history(sim, victim) == ["active", "running", "active", "running", "completed"]
    assert task_extra(sim, victim).attempts == 2


def test_rsz_4_terminate_ends_the_task_for_good(start):
    sim = busy(start)
    resize(sim, 1, nodeDeallocationOption="terminate")
    victim = next(name for name in ("t1", "t2") if task_state(sim, name) == "completed")
    assert task_extra(sim, victim).failure.code == "TaskEnded"
    assert task_extra(sim, victim).failure.category == "UserError"
    assert task_extra(sim, victim).requeue_count == 0


def test_rsz_4_taskcompletion_lets_the_task_end_and_gives_the_node_no_other(start):
    sim = busy(start, tasks=4)
    resize(sim, 1, nodeDeallocationOption="taskcompletion")
    assert [node_state(sim, index) for index in (0, 1)] == ["running", "running"]
    run_to(sim, seconds=READY_S + 102)
    leaving = next(index for index in (0, 1) if node_state(sim, index) == "leavingpool")
    run_to_end(sim)
    assert len(events(sim, "TaskStateChanged", to="running", nodeId=node(sim, leaving).id)) == 1
    assert [task_state(sim, f"t{number}") for number in (1, 2, 3, 4)] == ["completed"] * 4
    assert errors(sim) == []


def test_rsz_4_retaineddata_waits_for_the_retention_of_every_task_directory(start):
    kept = {"constraints": {"retentionTime": "PT3M"}}
    sim = ready(start, a_job(tasks=[a_task("t1", 100, **kept)]), nodes=1)
    run(sim, seconds=1)
    resize(sim, 0, nodeDeallocationOption="retaineddata")
    run_to_end(sim)
    ended = times(sim, "TaskStateChanged", to="completed")[0]
    assert times(sim, "NodeStateChanged", to="leavingpool") == [ended + 180]


def test_rsz_4_a_node_may_go_at_once_when_it_has_nothing(start):
    sim = ready(start)
    resize(sim, 0, nodeDeallocationOption="taskcompletion")
    assert [node_state(sim, index) for index in (0, 1)] == ["leavingpool"] * 2


def test_rsz_5_waiting_for_tasks_the_pool_is_resizing(start):
    sim = busy(start)
    resize(sim, 0, nodeDeallocationOption="taskcompletion")
    run(sim, seconds=50)
    assert allocation(sim) == "resizing"
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=5) == "PoolBeingResized"
    assert refusal(sim, "removeNodes", poolId="p", nodeList=[0]) == "PoolBeingResized"


def test_rsz_5_at_the_timeout_nodes_that_wait_stay_and_take_tasks_again(start):
    sim = ready(start, a_job(tasks=[a_task("long", 1200), a_task("short", 100)]))
    run(sim, seconds=1)
    resize(sim, 0, nodeDeallocationOption="taskcompletion", resizeTimeout="PT5M")
    do(sim, "addTasks", jobId="j", tasks=[a_task("late")])
    run(sim, seconds=295)
    assert (len(here(sim)), task_state(sim, "late")) == (1, "active")
    run(sim, seconds=10)
    assert (allocation(sim), errors(sim), targets(sim)) == ("steady", ["AllocationTimedout"], (0, 0))
    assert task_state(sim, "long") == "running"
    run_to_end(sim)
    assert task_state(sim, "late") == "completed"
    assert task_history(sim, "long") == ["active", "running", "completed"]
    assert len(here(sim)) == 1


def test_rsz_5_after_the_timeout_the_next_resize_can_finish_it(start):
    sim = ready(start, a_job(tasks=[a_task("long", 1200)]), nodes=1)
    run(sim, seconds=1)
    resize(sim, 0, nodeDeallocationOption="taskcompletion", resizeTimeout="PT5M")
    run(sim, minutes=6)
    resize(sim, 0, nodeDeallocationOption="requeue")
    run(sim, minutes=1)
    assert (node_state(sim), errors(sim)) == (None, [])
    assert task_extra(sim, "long").requeue_count == 1


# -- who goes --------------------------------------------------------------------------------------------------------


def victims(sim, count, *, dedicated=True):
    return [sim.world.nodes[row].position for row in shrink_victims(sim.world, pool(sim), count, dedicated=dedicated)]


def test_rsz_6_broken_nodes_go_first_then_those_on_the_way_then_idle_then_running(start):
    sim = start(a_job(tasks=some_tasks(1, 600)), pool=a_pool(nodes=4))
    run_to(sim, seconds=READY_S + 1)
    do(sim, "rebootNode", poolId="p", node=1)
    do(sim, "failNode", poolId="p", node=2)
    working = sim.world.nodes[sim.world.tasks.node[task_row(sim)]].position
    assert working == 0
    assert victims(sim, 4) == [2, 1, 3, 0]


@pytest.mark.parametrize(
    ("command", "group"),
    [
        (("failNode", {"state": "unusable"}), 0),
        (("failNode", {"state": "unknown"}), 0),
        (("deallocateNode", {}), 0),
        (("rebootNode", {}), 1),
        (("reimageNode", {}), 1),
        (("disableNodeScheduling", {}), 2),
    ],
    ids=lambda part: part[0] if isinstance(part, tuple) else "",
)
def test_rsz_6_the_group_of_each_state(start, command, group):
    """Node 0 is idle and newer by its id or not; node 1 is in the state in question."""
    sim = ready(start)
    name, body = command
    do(sim, name, poolId="p", node=1, **body)
    idle_first = sorted((0, 1), key=lambda index: node(sim, index).id, reverse=True)
    assert victims(sim, 2) == ([1, 0] if group < 2 else idle_first)


def test_rsz_6_of_running_nodes_those_with_fewest_slots_in_use_go_first(start):
    tasks = [a_task("big", 600, requiredSlots=3), a_task("small", 600)]
    sim = start(a_job(tasks=tasks), pool=a_pool(nodes=2, taskSlotsPerNode=3))
    run_to(sim, seconds=READY_S + 1)
    small = sim.world.nodes[sim.world.tasks.node[task_row(sim, "small")]].position
    assert victims(sim, 1) == [small]


def test_rsz_6_of_equals_the_newest_goes_first_then_the_greatest_id(start):
    sim = ready(start, nodes=2)
    resize(sim, 3)
    run(sim, minutes=2)
    older = sorted((0, 1), key=lambda index: node(sim, index).id, reverse=True)
    assert victims(sim, 3) == [2, *older]


def test_rsz_6_dedicated_and_spot_are_shrunk_separately(start):
    sim = ready(start, nodes=2, targetLowPriorityNodes=2)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=1, targetLowPriorityNodes=0)
    run(sim, minutes=1)
    assert [node(sim, index).dedicated for index in here(sim)] == [True]


def test_rsz_6_a_preempted_spot_node_is_the_first_to_go(start):
    sim = ready(start, nodes=0, targetLowPriorityNodes=3)
    evict(sim, 1)
    assert victims(sim, 1, dedicated=False) == [1]
    do(sim, "resizePool", poolId="p", targetLowPriorityNodes=2)
    run(sim, minutes=1)
    assert here(sim) == [0, 2]


# -- leaving ---------------------------------------------------------------------------------------------------------


def test_rsz_7_a_removed_node_is_leavingpool_and_then_gone(start):
    task = {"id": "t1"} | a_shell("echo x > $AZ_BATCH_NODE_SHARED_DIR/f")
    sim = ready(start, a_job(tasks=[task]), nodes=1)
    run(sim, minutes=3)
    gone = node(sim)
    assert file(sim, "shared/f") == "x\n"
    do(sim, "removeNodes", poolId="p", nodeList=[gone.id])
    assert node_state(sim) == "leavingpool"
    run(sim, seconds=REMOVAL_S)
    assert node_state(sim) is None
    assert file(sim, "shared/f") is None
    assert sim.world.tasks.node[task_row(sim)] == node_row(sim)
    resize(sim, 1)
    run(sim, minutes=2)
    assert node(sim, 1).ip == gone.ip


def test_rsz_8_removing_nodes_lowers_the_targets_by_kind(start):
    sim = ready(start, nodes=3, targetLowPriorityNodes=2)
    spot = next(index for index in range(5) if not node(sim, index).dedicated)
    dedicated = [index for index in range(5) if node(sim, index).dedicated][:2]
    do(sim, "removeNodes", poolId="p", nodeList=[spot, *dedicated])
    assert (allocation(sim), targets(sim)) == ("resizing", (1, 1))
    run(sim, minutes=1)
    assert (allocation(sim), len(here(sim)), errors(sim)) == ("steady", 2, [])


def test_rsz_8_an_unknown_id_removes_nothing(start):
    sim = ready(start)
    assert refusal(sim, "removeNodes", poolId="p", nodeList=[node(sim).id, "tvm-nobody"]) == "NodeNotFound"
    assert (allocation(sim), targets(sim), here(sim)) == ("steady", (2, 0), [0, 1])


def test_rsz_8_a_node_named_twice_is_removed_once(start):
    sim = ready(start, nodes=3)
    do(sim, "removeNodes", poolId="p", nodeList=[0, node(sim, 0).id.upper(), 0])
    assert targets(sim) == (2, 0)


@pytest.mark.parametrize("count", [0, 101])
def test_rsz_8_one_to_a_hundred_nodes_can_be_named(start, count):
    sim = ready(start)
    assert refusal(sim, "removeNodes", poolId="p", nodeList=[f"n{n}" for n in range(count)]) == "InvalidPropertyValue"


def test_rsz_8_a_resizing_pool_refuses_before_it_looks_for_the_nodes(start):
    """ERR-2: the state of the pool before the existence of the node."""
    sim = start(pool=a_pool(nodes=1))
    assert refusal(sim, "removeNodes", poolId="p", nodeList=["nobody"]) == "PoolBeingResized"


def test_rsz_8_options_apply_as_in_a_shrink(start):
    sim = busy(start)
    do(sim, "removeNodes", poolId="p", nodeList=[0, 1], nodeDeallocationOption="taskcompletion")
    assert task_state(sim, "t1") == task_state(sim, "t2") == "running"
    run_to_end(sim)
    assert here(sim) == []
    assert task_state(sim, "t1") == task_state(sim, "t2") == "completed"


def test_rsz_8_a_node_that_is_already_leaving_is_not_counted_again(start):
    sim = ready(start)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    do(sim, "stopPoolResize", poolId="p")
    run(sim, seconds=3)
    assert (allocation(sim), node_state(sim)) == ("steady", "leavingpool")
    do(sim, "removeNodes", poolId="p", nodeList=[0, 1])
    assert targets(sim) == (0, 0)
    run_to_end(sim)
    assert node_states(sim).count("leavingpool") == 1
    assert (here(sim), allocation(sim)) == ([], "steady")


# -- stop ------------------------------------------------------------------------------------------------------------


def test_rsz_9_the_initial_sizing_can_be_stopped(start):
    slow = {"nodes": {"allocation": {"choice": [10, 300]}}}
    sim = start(pool=a_pool(nodes=8), simulate=slow, seed=1)
    run_to(sim, seconds=20)
    got = len(here(sim))
    assert 0 < got < 8
    do(sim, "stopPoolResize", poolId="p")
    assert allocation(sim) == "stopping"
    run_to_end(sim)
    states = [event["to"] for event in events(sim, "PoolAllocationStateChanged")]
    assert states == ["resizing", "stopping", "steady"]
    assert (len(here(sim)), targets(sim), errors(sim)) == (got, (8, 0), ["ResizeStopped"])


def test_rsz_9_a_stopped_resize_is_repaired_by_resizing_to_the_pools_own_target(start):
    sim = start(pool=a_pool(nodes=3))
    do(sim, "stopPoolResize", poolId="p")
    run(sim, seconds=5)
    resize(sim, targets(sim)[0])
    run(sim, minutes=1)
    assert (len(here(sim)), errors(sim)) == (3, [])


def test_rsz_9_stopping_a_shrink_keeps_the_nodes_that_wait(start):
    sim = busy(start)
    resize(sim, 0, nodeDeallocationOption="taskcompletion")
    do(sim, "stopPoolResize", poolId="p")
    run(sim, seconds=2)
    assert (allocation(sim), errors(sim), targets(sim)) == ("steady", ["ResizeStopped"], (0, 0))
    run_to_end(sim)
    assert len(here(sim)) == 2
    assert task_history(sim) == ["active", "running", "completed"]


def test_rsz_9_a_node_that_is_leaving_goes_all_the_same(start):
    sim = ready(start)
    resize(sim, 1)
    do(sim, "stopPoolResize", poolId="p")
    run_to_end(sim)
    assert len(here(sim)) == 1


def test_rsz_9_only_a_resizing_pool_can_be_stopped(start):
    sim = ready(start)
    assert refusal(sim, "stopPoolResize", poolId="p") == "OperationInvalidForCurrentState"
    resize(sim, 5)
    do(sim, "stopPoolResize", poolId="p")
    assert refusal(sim, "stopPoolResize", poolId="p") == "OperationInvalidForCurrentState"
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=1) == "PoolBeingResized"


def test_rsz_9_the_timeout_of_a_stopped_resize_does_nothing(start):
    sim = start(pool=a_pool(nodes=1, resizeTimeout="PT5M"))
    do(sim, "stopPoolResize", poolId="p")
    run_to_end(sim)
    assert errors(sim) == ["ResizeStopped"]
    assert len(events(sim, "PoolResizeComplete")) == 1


# -- delete ----------------------------------------------------------------------------------------------------------


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


# -- events ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("nodes", "option"), [(3, "invalid"), (1, "requeue"), (2, "invalid")])
def test_rsz_15_a_resize_begins_and_ends_with_an_event(start, nodes, option):
    sim = ready(start)
    resize(sim, nodes)
    run_to_end(sim)
    begun, done = events(sim, "PoolResizeStart")[-1], events(sim, "PoolResizeComplete")[-1]
    assert begun["nodeDeallocationOption"] == done["nodeDeallocationOption"] == option
    assert (begun["currentDedicatedNodes"], begun["targetDedicatedNodes"]) == (2, nodes)
    assert (done["currentDedicatedNodes"], done["targetDedicatedNodes"]) == (nodes, nodes)
    assert done["resultCode"] == "Success"


def test_rsz_15_a_mixed_resize_says_how_the_leaving_nodes_go(start):
    sim = ready(start, targetLowPriorityNodes=1)
    do(
        sim,
        "resizePool",
        poolId="p",
        targetDedicatedNodes=1,
        targetLowPriorityNodes=2,
        nodeDeallocationOption="terminate",
    )
    assert events(sim, "PoolResizeStart")[-1]["nodeDeallocationOption"] == "terminate"


def test_rsz_1_a_pool_with_autoscale_refuses_a_resize(start):
    sim = start(pool=AUTOSCALED)
    run(sim, seconds=1)
    assert allocation(sim) == "steady"
    assert refusal(sim, "resizePool", poolId="p", targetDedicatedNodes=1) == "OperationInvalidForCurrentState"


def test_pool_19_a_job_keeps_its_state_through_all_this(start):
    sim = busy(start)
    resize(sim, 0)
    run_to_end(sim)
    assert job_state(sim) == "active"


def test_rsz_2_the_present_nodes_are_what_the_service_counts():
    """A pool may be written in the older words (GEN-14)."""
    sim = from_yaml("scenario: x\npools:\n- {id: p, vmSize: standard_d2s_v3, targetDedicated: 2, maxTasksPerNode: 2}\n")
    run_to_end(sim)
    assert (targets(sim), len(here(sim)), pool(sim).slots) == ((2, 0), 2, 2)
