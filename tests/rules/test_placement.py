"""Chapter 17: which node a task goes to."""

from __future__ import annotations

from itertools import pairwise

import pytest

from engine.rules.decisions.verdicts import choose_node
from engine.state.task_records import TaskProfile
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    node,
    node_row,
    node_rows,
    node_state,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_state,
    times,
)
from tests.rules.placing import at_start, load, where

# -- which nodes -----------------------------------------------------------------------------------------------------


def test_sched_8_only_idle_and_running_nodes_with_scheduling_enabled_are_eligible(start):
    sim = at_start(start, a_job(tasks=[a_task(seconds=900)]), pool=a_pool(nodes=6))
    do(sim, "disableNodeScheduling", poolId="p", node=1)
    do(sim, "rebootNode", poolId="p", node=2)
    do(sim, "failNode", poolId="p", node=3)
    do(sim, "failNode", poolId="p", node=4, state="unknown")
    states = {node_state(sim, index): sim.world.scheduler.is_eligible(node_row(sim, index)) for index in range(6)}
    expected = {
        "running": True,
        "offline": False,
        "rebooting": False,
        "unusable": False,
        "unknown": False,
        "idle": True,
    }
    assert states == expected


def test_sched_8_a_node_that_drains_is_not_eligible(start):
    sim = at_start(start, a_job(tasks=[a_task(seconds=100), a_task("t2")]), pool=a_pool(taskSlotsPerNode=1))
    do(sim, "rebootNode", poolId="p", node=0, nodeRebootOption="taskcompletion")
    assert (node_state(sim), sim.world.scheduler.is_eligible(node_row(sim))) == ("running", False)
    run(sim, seconds=110)
    assert task_state(sim, "t2") == "active"


def test_sched_8_a_node_where_the_preparation_failed_is_left_to_others(start):
    bad = a_line(1, simulate={"onNode": {0: {"exitCode": 1}}})
    sim = start(a_job("a", 3, prep=bad), a_job("b", 3), pool=a_pool(nodes=2))
    run_to_end(sim)
    first = node(sim, 0).id
    assert {event["jobId"] for event in events(sim, "TaskStateChanged", to="running", nodeId=first)} == {"b"}
    assert sim.world.jobs.find("a").counts[3] == 3


@pytest.mark.parametrize(("fill", "expected"), [("spread", [2, 2, 1]), ("pack", [3, 2, 0])], ids=str)
def test_sched_9_spread_and_pack(start, fill, expected):
    pool = a_pool(nodes=3, taskSlotsPerNode=3, taskSchedulingPolicy={"nodeFillType": fill})
    sim = at_start(start, a_job(tasks=5), pool=pool)
    assert load(sim) == expected


def test_sched_9_spread_is_the_default(start):
    sim = at_start(start, a_job(tasks=3), pool=a_pool(nodes=3, taskSlotsPerNode=3))
    assert load(sim) == [1, 1, 1]


def test_sched_9_pack_takes_the_tightest_node_that_still_fits(start):
    tasks = [
        a_task("two", requiredSlots=2),
        a_task("three", requiredSlots=3),
        a_task("one"),
        a_task("big", requiredSlots=2),
    ]
    pool = a_pool(nodes=3, taskSlotsPerNode=4, taskSchedulingPolicy={"nodeFillType": "pack"})
    sim = at_start(start, a_job(tasks=tasks), pool=pool)
    assert [where(sim, name) for name in ("two", "three", "one", "big")] == [0, 1, 1, 0]


def _chosen(sim, job="j", **profile):
    plain = TaskProfile(job=0, required_slots=1, max_retries=None, wall_clock_ms=None, retention_ms=None, process=None)
    row = choose_node(sim.world, sim.world.pools.find("p"), sim.world.jobs.find(job), plain._replace(**profile))
    return sim.world.nodes[row].position if row >= 0 else None


def test_sched_9_of_equals_a_prepared_node_comes_first(start):
    sim = at_start(start, a_job(tasks=[a_task("t1", 5)], prep=a_line(1)), a_job("other", 0), pool=a_pool(nodes=4))
    run(sim, minutes=1)
    used = where(sim, "t1")
    assert used == 0
    do(sim, "disableNodeScheduling", poolId="p", node=0)
    do(sim, "addTasks", jobId="j", tasks=[a_task("t2", 5)])
    run(sim, minutes=1)
    assert where(sim, "t2") == 1
    do(sim, "enableNodeScheduling", poolId="p", node=0)
    sim.world.jobs.find("j").prepared &= ~1
    assert (_chosen(sim), _chosen(sim, "other")) == (1, 0)


def test_sched_9_then_dedicated_before_spot_then_the_list(start):
    mixed = {str(number): {"allocation": seconds} for number, seconds in enumerate([5, 8, 9, 6, 7, 9])}
    sim = start(a_job(tasks=0), pool=a_pool(nodes=3, targetLowPriorityNodes=3, simulate={"onNode": mixed}))
    run_to(sim, minutes=2)
    dedicated = [index for index in range(6) if node(sim, index).dedicated]
    assert dedicated != [0, 1, 2]
    do(sim, "addTasks", jobId="j", tasks=some_tasks(6, 500))
    run(sim, seconds=5)
    spot = [index for index in range(6) if index not in dedicated]
    assert [where(sim, f"t{number}") for number in range(1, 7)] == dedicated + spot


def test_sched_9_free_slots_weigh_more_than_preparation(start):
    """Spread: an unprepared node that is empty comes before a prepared one with one task."""
    pool = a_pool(nodes=2, taskSlotsPerNode=2)
    sim = at_start(start, a_job(tasks=[a_task("t1", 500)], prep=a_line(1)), pool=pool)
    run(sim, seconds=5)
    assert _chosen(sim) == 1


def test_sched_8_a_task_for_dedicated_nodes_only_waits_for_one(start):
    sim = at_start(start, a_job(tasks=[a_task(seconds=900)]), pool=a_pool(nodes=1, targetLowPriorityNodes=1))
    assert (_chosen(sim), _chosen(sim, dedicated_only=True)) == (1, None)


# -- slots -----------------------------------------------------------------------------------------------------------


def test_sched_10_the_slots_of_a_node_are_never_exceeded(start):
    tasks = [a_task(f"t{number}", 10 + 7 * number, requiredSlots=1 + number % 3) for number in range(30)]
    sim = start(a_job(tasks=tasks, prep=a_line(3)), pool=a_pool(nodes=2, taskSlotsPerNode=4))
    for _ in range(100):
        run(sim, seconds=10)
        for row in node_rows(sim):
            here = sim.world.nodes.tasks_on(row)
            assert sum(sim.world.tasks.profile_of(task).required_slots for task in here) <= 4
    run_to_end(sim)
    assert sim.world.jobs.find("j").counts[3] == 30


def test_sched_10_a_task_that_needs_more_than_a_node_has_never_runs(start):
    sim = start(a_job(tasks=[a_task("big", requiredSlots=3), a_task("small")]), pool=a_pool(taskSlotsPerNode=2))
    run_to_end(sim)
    assert (task_state(sim, "big"), task_state(sim, "small")) == ("active", "completed")
    found = events(sim, "TaskScheduleFail")
    assert [(event["taskId"], event["code"], event["category"]) for event in found] == [
        ("big", "TaskSchedulingConstraintFailed", "UserError")
    ]


def test_sched_10_preparing_tasks_hold_their_slots(start):
    sim = at_start(start, a_job("a", 2, prep=a_line(100)), a_job("b", 1), pool=a_pool(taskSlotsPerNode=2), seed=1)
    states = [task_state(sim, "t1", "a"), task_state(sim, "t1", "b"), task_state(sim, "t2", "a")]
    assert states == ["preparing", "running", "active"]


def starving(start, **more):
    """A task that needs a whole node, while one slot of each of two nodes is in use for ten minutes."""
    small = [a_task("s1", 600), a_task("s2", 600)]
    sim = at_start(start, a_job(tasks=small), a_job("big", 0, **more), pool=a_pool(nodes=2, taskSlotsPerNode=2))
    do(sim, "addTasks", jobId="big", tasks=[a_task("big", 30, requiredSlots=2)])
    return sim


def test_sched_11_a_large_task_may_starve_and_says_so_once_a_minute(start):
    sim = starving(start)
    run(sim, minutes=9)
    failures = times(sim, "TaskScheduleFail", taskId="big")
    assert len(failures) == 9
    assert {round(b - a, 3) for a, b in pairwise(failures)} == {60}
    run_to_end(sim)
    assert task_state(sim, "big", "big") == "completed"
    assert len(times(sim, "TaskScheduleFail")) == 10


def test_sched_11_no_reservation_is_made_for_it(start):
    sim = starving(start, priority=1000)
    do(sim, "addTasks", jobId="j", tasks=[a_task("s3", 60)])
    run(sim, seconds=5)
    assert task_state(sim, "s3") == "running"


def test_sched_11_a_slot_that_comes_free_is_noticed(start):
    """Both nodes are full at first; when a slot of each is free they would suffice together."""
    tasks = [
        a_task("l1", 600),
        a_task("l2", 600),
        a_task("s1", 20),
        a_task("s2", 40),
        a_task("big", 5, requiredSlots=2),
    ]
    sim = at_start(start, a_job(tasks=tasks), pool=a_pool(nodes=2, taskSlotsPerNode=2))
    run(sim, seconds=50)
    assert times(sim, "TaskScheduleFail") == [READY_S + 41]


def test_sched_11_it_is_no_starving_when_the_slots_are_simply_taken(start):
    tasks = [a_task("s1", 300), a_task("s2", 300), a_task("big", 30, requiredSlots=2)]
    sim = at_start(start, a_job(tasks=tasks), pool=a_pool(nodes=1, taskSlotsPerNode=2))
    run(sim, minutes=4)
    assert events(sim, "TaskScheduleFail") == []


def test_sched_11_a_run_does_not_go_on_for_ever_because_somebody_starves(start):
    """The free node is barred for the job: nothing will ever change, so nothing is looked at again."""
    bad = a_line(1, simulate={"onNode": {1: {"exitCode": 1}}})
    sim = start(
        a_job(tasks=[a_task("t1", 30, requiredSlots=2), a_task("t2", 30, requiredSlots=2)], prep=bad),
        pool=a_pool(nodes=2, taskSlotsPerNode=2),
    )
    run_to_end(sim)
    assert sim.log.last_ms < 200_000
    assert task_state(sim, "t2") == "completed"
    assert events(sim, "TaskScheduleFail", code="TaskSchedulingConstraintFailed") == []


def test_sched_12_tasks_of_eight_slots_run_alone_tasks_of_one_share(start):
    tasks = [a_task("whole", 60, requiredSlots=8), *some_tasks(8)]
    sim = start(a_job(tasks=tasks), pool=a_pool(taskSlotsPerNode=8))
    run_to_end(sim)
    assert times(sim, "TaskStateChanged", to="running") == [READY_S] + [READY_S + 61] * 8


# -- affinity --------------------------------------------------------------------------------------------------------


def test_sched_13_affinity_is_used_if_that_node_has_room(start):
    sim = at_start(start, a_job(tasks=0), pool=a_pool(nodes=3))
    wanted = {"affinityInfo": {"affinityId": "TVM:" + node(sim, 2).id}}
    do(sim, "addTasks", jobId="j", tasks=[a_task("a", **wanted), a_task("b", **wanted), a_task("c")])
    run(sim, seconds=2)
    assert [where(sim, name) for name in "abc"] == [2, 0, 1]


def test_sched_13_an_affinity_to_nobody_is_ignored(start):
    sim = at_start(start, a_job(tasks=[a_task(affinityInfo={"affinityId": "TVM:nobody"})]))
    assert task_state(sim) == "running"


def test_sched_13_a_barred_node_is_not_taken_for_affinitys_sake(start):
    bad = a_line(1, simulate={"onNode": {0: {"exitCode": 1}}})
    sim = at_start(start, a_job(tasks=[a_task("t1", 5)], prep=bad), pool=a_pool(nodes=2))
    run(sim, minutes=1)
    do(sim, "addTasks", jobId="j", tasks=[a_task("t2", affinityInfo={"affinityId": "TVM:" + node(sim, 0).id})])
    run(sim, seconds=5)
    assert where(sim, "t2") == 1
