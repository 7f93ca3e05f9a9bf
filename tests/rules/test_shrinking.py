"""Chapter 4: which nodes go, what becomes of their tasks, and how they leave."""

from __future__ import annotations

import pytest

from engine.rules.resizing import shrink_victims
from tests.builders import (
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
    node,
    node_row,
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
from tests.rules.resizing import allocation, busy, errors, here, pool, ready, resize, targets

# -- deallocation options --------------------------------------------------------------------------------------------


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
    """The state of the pool is checked before the existence of the node (ERR-2)."""
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
    run(sim, seconds=7)
    assert (allocation(sim), node_state(sim)) == ("steady", "leavingpool")
    do(sim, "removeNodes", poolId="p", nodeList=[0, 1])
    assert targets(sim) == (0, 0)
    run_to_end(sim)
    assert node_states(sim).count("leavingpool") == 1
    assert (here(sim), allocation(sim)) == ([], "steady")
