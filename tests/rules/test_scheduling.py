"""Chapter 17: which task goes to which node, and when."""

from __future__ import annotations

from itertools import pairwise

import pytest

from engine.rules.placement import choose_node, is_eligible
from engine.rules.scheduling import may_take_turns, turn_key
from engine.state.tasks import TaskProfile
from engine.terms import JobState
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
    task_extra,
    task_history,
    task_row,
    task_state,
    times,
)


def started(sim, **fields):
    """Job and task of each start, in order."""
    return [(event["jobId"], event["taskId"]) for event in events(sim, "TaskStateChanged", to="running", **fields)]


def jobs_started(sim):
    return "".join(job for job, _ in started(sim))


def at_start(start, *jobs, pool=None, **scenario):
    sim = start(*jobs, pool=pool, **scenario)
    run_to(sim, seconds=READY_S)
    return sim


def load(sim, pool="p"):
    """How many tasks run on each node."""
    return [len(sim.world.nodes.running[row]) for row in node_rows(sim, pool)]


def where(sim, task, job="j"):
    """The index of the node on which a task runs."""
    return sim.world.nodes[sim.world.tasks.node[task_row(sim, task, job)]].position


# -- between jobs ----------------------------------------------------------------------------------------------------


def test_sched_1_the_job_of_higher_priority_goes_first(start):
    sim = start(a_job("a", 2), a_job("b", 2, priority=1), a_job("c", 2, priority=-1), a_job("d", 2, priority=1000))
    run_to_end(sim)
    assert jobs_started(sim) == "ddbbaacc"


def test_sched_1_priority_means_nothing_across_pools(start):
    jobs = a_job("high", 3, priority=1000), a_job("low", 1, pool="q", priority=-1000)
    sim = start(*jobs, pools=[a_pool("p"), a_pool("q")])
    run_to(sim, seconds=READY_S)
    assert (task_state(sim, "t1", "low"), task_state(sim, "t3", "high")) == ("running", "active")


def test_sched_1_a_job_of_low_priority_uses_what_the_others_cannot(start):
    """The task of the first needs two slots at once; nothing is kept free for it (SCHED-11)."""
    high = a_job("high", [a_task("t1", 100), a_task("t2", requiredSlots=2)], priority=5)
    sim = at_start(start, high, a_job("low", 1), pool=a_pool(taskSlotsPerNode=2))
    assert (task_state(sim, "t2", "high"), task_state(sim, "t1", "low")) == ("active", "running")


def test_sched_2_running_tasks_are_not_displaced(start):
    sim = at_start(start, a_job("low", 2))
    do(sim, "createJob", id="high", priority=1000, poolInfo={"poolId": "p"})
    do(sim, "addTasks", jobId="high", tasks=[a_task()])
    run(sim, seconds=5)
    assert (task_state(sim, "t1", "low"), task_state(sim, "t1", "high")) == ("running", "active")
    run_to_end(sim)
    assert started(sim) == [("low", "t1"), ("high", "t1"), ("low", "t2")]


def test_sched_3_a_new_priority_counts_for_queued_tasks_at_once(start):
    sim = at_start(start, a_job("a", 3), a_job("b", 3, priority=-5))
    do(sim, "updateJob", jobId="b", priority=5)
    run_to_end(sim)
    assert jobs_started(sim) == "abbbaa"


def test_sched_4_equals_take_turns_one_task_each(start):
    sim = start(a_job("a", 4), a_job("b", 2), a_job("c", 3))
    run_to_end(sim)
    assert jobs_started(sim) == "abcabcaca"


def test_sched_4_who_was_served_least_recently_is_next(start):
    sim = at_start(start, a_job("a", 2), a_job("b", 3))
    do(sim, "createJob", id="c", poolInfo={"poolId": "p"})
    do(sim, "addTasks", jobId="c", tasks=some_tasks(2))
    run_to_end(sim)
    assert jobs_started(sim) == "abcabcb"


def test_sched_4_several_nodes_at_once_are_shared_out_too(start):
    sim = at_start(start, a_job("a", 9), a_job("b", 9), a_job("c", 9), pool=a_pool(nodes=6))
    assert jobs_started(sim) == "abcabc"


def test_sched_5_creationtime_serves_the_oldest_job_first(start):
    pool = a_pool(taskSchedulingPolicy={"jobDefaultOrder": "creationtime"})
    sim = start(a_job("b", 3), a_job("a", 3, at=1), pool=pool)
    run_to_end(sim)
    assert jobs_started(sim) == "bbbaaa"


def test_sched_5_priority_comes_before_age(start):
    pool = a_pool(taskSchedulingPolicy={"jobDefaultOrder": "creationtime"})
    sim = start(a_job("old", 2), a_job("new", 2, at=1, priority=1), pool=pool)
    run_to_end(sim)
    assert [job for job, _ in started(sim)] == ["new", "new", "old", "old"]


@pytest.mark.parametrize("order", ["none", "creationtime"])
def test_sched_4_the_key_of_a_turn_orders_by_priority_then_turn_then_age(start, order):
    pool_body = a_pool(taskSchedulingPolicy={"jobDefaultOrder": order})
    sim = start(*(a_job(name, 0) for name in "abc"), pool=pool_body)
    run(sim, seconds=1)
    a, b, c = (sim.world.jobs.find(name) for name in "abc")
    pool = sim.world.pools.find("p")
    a.served, b.served, c.served = 7, 3, 3
    by_turn = sorted((a, b, c), key=lambda job: turn_key(job, pool))
    assert [job.id for job in by_turn] == (["b", "c", "a"] if order == "none" else ["a", "b", "c"])
    c.priority = 1
    b.priority = -1000
    assert [job.id for job in sorted((a, b, c), key=lambda job: turn_key(job, pool))] == ["c", "a", "b"]


# -- inside a job ----------------------------------------------------------------------------------------------------


def test_sched_6_new_tasks_go_in_creation_order(start):
    sim = start(a_job(tasks=[a_task(name) for name in ("z", "a", "m")]))
    run_to(sim, seconds=5)
    do(sim, "addTasks", jobId="j", tasks=[a_task("b")])
    run_to_end(sim)
    assert [task for _, task in started(sim)] == ["z", "a", "m", "b"]


def test_sched_6_what_comes_back_goes_before_what_is_new(start):
    failing = a_task("t1", 30, 1, constraints={"maxTaskRetryCount": 1})
    sim = start(a_job(tasks=[failing, a_task("t2"), a_task("t3")]))
    run_to_end(sim)
    assert [task for _, task in started(sim)] == ["t1", "t1", "t2", "t3"]


def test_sched_6_what_comes_back_goes_by_the_time_it_became_active(start):
    """Whatever they need: the tasks of one, two and one slots come back in the order 3, 2, 1."""
    tasks = [a_task(f"t{number}", 900, requiredSlots=slots) for number, slots in ((1, 1), (2, 2), (3, 1))]
    sim = at_start(start, a_job(tasks=tasks), pool=a_pool(nodes=3, taskSlotsPerNode=4))
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    for number in (3, 2, 1):
        do(sim, "failNode", poolId="p", node=where(sim, f"t{number}"), code="DiskFull")
    do(sim, "addTasks", jobId="j", tasks=[a_task("new")])
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=4)
    run(sim, minutes=3)
    do(sim, "enableJob", jobId="j")
    run_to_end(sim)
    assert [task for _, task in started(sim)] == ["t1", "t2", "t3", "t3", "t2", "t1", "new"]


# -- which jobs ------------------------------------------------------------------------------------------------------


def test_sched_7_a_job_must_be_active(start):
    sim = at_start(start, a_job(), pool=a_pool(nodes=0))
    job, pool = sim.world.jobs.find("j"), sim.world.pools.find("p")
    assert [state.wire for state in JobState if _with_state(job, state) and may_take_turns(job, pool)] == ["active"]


def _with_state(job, state):
    job.state = state
    return True


@pytest.mark.parametrize(("most", "running"), [(1, 1), (3, 3), (-1, 4)])
def test_sched_7_no_more_than_maxparalleltasks_run_or_prepare(start, most, running):
    sim = at_start(start, a_job(tasks=9, maxParallelTasks=most, prep=a_line(5)), pool=a_pool(nodes=4))
    assert sim.world.jobs.find("j").busy == running
    for _ in range(10):
        run(sim, seconds=20)
        assert sim.world.jobs.find("j").busy <= (most if most > 0 else 4)
    run_to_end(sim)
    assert sim.world.jobs.find("j").counts[3] == 9


def test_sched_7_a_job_at_its_limit_leaves_the_room_to_others(start):
    sim = at_start(start, a_job("a", 5, maxParallelTasks=1, priority=9), a_job("b", 5), pool=a_pool(nodes=3))
    assert sorted(job for job, _ in started(sim)) == ["a", "b", "b"]


def test_sched_7_a_failed_attempt_makes_room_below_the_limit(start):
    tasks = [a_task("t1", 30, 1, constraints={"maxTaskRetryCount": 2}), a_task("t2"), a_task("t3")]
    sim = start(a_job(tasks=tasks, maxParallelTasks=1), pool=a_pool(nodes=2))
    run_to_end(sim)
    assert [task for _, task in started(sim)] == ["t1", "t1", "t1", "t2", "t3"]


# -- which nodes -----------------------------------------------------------------------------------------------------


def test_sched_8_only_idle_and_running_nodes_with_scheduling_enabled_are_eligible(start):
    sim = at_start(start, a_job(tasks=[a_task(seconds=900)]), pool=a_pool(nodes=6))
    do(sim, "disableNodeScheduling", poolId="p", node=1)
    do(sim, "rebootNode", poolId="p", node=2)
    do(sim, "failNode", poolId="p", node=3)
    do(sim, "failNode", poolId="p", node=4, state="unknown")
    states = {node_state(sim, index): is_eligible(sim.world, node_row(sim, index)) for index in range(6)}
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
    assert (node_state(sim), is_eligible(sim.world, node_row(sim))) == ("running", False)
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
    mixed = {"choice": [5, 6, 7, 8, 9]}
    pool = a_pool(nodes=3, targetLowPriorityNodes=3)
    sim = start(a_job(tasks=0), pool=pool, simulate={"nodes": {"allocation": mixed}}, seed=5)
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


# -- passes ----------------------------------------------------------------------------------------------------------


def test_sched_14_few_packed_tasks_need_one_preparation(start):
    def preparations(fill):
        policy = {"nodeFillType": fill}
        pool = a_pool(nodes=4, taskSlotsPerNode=4, taskSchedulingPolicy=policy)
        sim = at_start(start, a_job(tasks=4, prep=a_line(5)), pool=pool)
        return len(events(sim, "JobPreparationTaskStateChanged", to="running"))

    assert (preparations("pack"), preparations("spread")) == (1, 4)


def test_sched_15_a_pass_follows_each_change_at_once(start):
    sim = start(a_job(tasks=3), pool=a_pool(nodes=1))
    run_to_end(sim)
    ends = times(sim, "TaskStateChanged", to="completed")
    assert times(sim, "TaskStateChanged", to="running") == [READY_S, *ends[:-1]]


def test_sched_15_the_same_seed_gives_the_same_log(start):
    def lines(seed):
        tasks = [a_task(f"t{number}", {"uniform": [10, 100]}) for number in range(20)]
        sim = start(a_job("a", tasks), a_job("b", 5, prep=a_line(3)), pool=a_pool(nodes=3), seed=seed)
        run_to_end(sim)
        return list(sim.json_lines())

    assert lines(4) == lines(4)
    assert lines(4) != lines(5)


def test_sched_17_one_early_node_may_run_every_task_of_a_small_job(start):
    slow = {"nodes": {"ready": {"choice": [30, 600]}}}
    sim = start(a_job(tasks=some_tasks(8, 1), prep=a_line(1)), pool=a_pool(nodes=2), simulate=slow, seed=1)
    run_to_end(sim)
    assert len({event["nodeId"] for event in events(sim, "TaskStateChanged", to="running")}) == 1
    assert len(events(sim, "JobPreparationTaskStateChanged", to="running")) == 1


# -- preemption between jobs -----------------------------------------------------------------------------------------


def mine_and_yours(start, tasks=2, nodes=2, slots=1, **low):
    """A pool full of a job of priority 0, and a job of priority 10 without tasks."""
    low_job = a_job("low", some_tasks(tasks, 600), **low)
    sim = at_start(start, low_job, a_job("high", 0, priority=10), pool=a_pool(nodes=nodes, taskSlotsPerNode=slots))
    run(sim, seconds=5)
    return sim


def urgent(sim, count=1, **more):
    do(sim, "addTasks", jobId="high", tasks=[a_task(f"u{number}", 30, **more) for number in range(count)])
    run(sim, seconds=2)


def test_job_24_by_default_nobody_is_displaced(start):
    sim = mine_and_yours(start)
    urgent(sim)
    assert task_state(sim, "u0", "high") == "active"


def test_sched_16_a_job_that_allows_it_gives_way_to_higher_priority(start):
    sim = mine_and_yours(start, allowTaskPreemption=True)
    urgent(sim)
    assert task_state(sim, "u0", "high") == "running"
    assert [task_state(sim, name, "low") for name in ("t1", "t2")] == ["running", "active"]
    extra = task_extra(sim, "t2", "low")
    assert (extra.requeue_count, extra.retry_count, extra.system_retries) == (0, 0, 1)
    run_to_end(sim)
    assert task_history(sim, "t2", "low") == ["active", "running", "active", "running", "completed"]
    assert [event["rule"] for event in events(sim, "TaskStateChanged", to="active", from_="running")] == ["SCHED-16"]


def test_sched_16_not_to_equals_and_not_to_lower(start):
    sim = mine_and_yours(start, allowTaskPreemption=True, priority=10)
    urgent(sim)
    assert task_state(sim, "u0", "high") == "active"
    do(sim, "updateJob", jobId="low", priority=20)
    run(sim, seconds=5)
    assert task_state(sim, "u0", "high") == "active"
    do(sim, "updateJob", jobId="low", priority=9)
    assert task_state(sim, "u0", "high") == "running"


def test_sched_16_no_more_than_is_needed(start):
    sim = mine_and_yours(start, tasks=4, nodes=4, allowTaskPreemption=True)
    urgent(sim, 2)
    assert [task_state(sim, f"t{number}", "low") for number in (1, 2, 3, 4)].count("running") == 2
    assert [task_state(sim, name, "high") for name in ("u0", "u1")] == ["running", "running"]


def test_sched_16_nobody_is_displaced_while_there_is_room(start):
    sim = mine_and_yours(start, tasks=1, allowTaskPreemption=True)
    urgent(sim)
    assert task_history(sim, "t1", "low") == ["active", "running"]
    assert task_state(sim, "u0", "high") == "running"


def test_sched_16_the_lowest_priority_goes_first_then_the_latest_start(start):
    lowest = a_job("lowest", some_tasks(1, 600), priority=-5, allowTaskPreemption=True)
    low = a_job("low", some_tasks(2, 600), allowTaskPreemption=True)
    sim = at_start(start, lowest, low, a_job("high", 0, priority=10), pool=a_pool(nodes=4))
    do(sim, "addTasks", jobId="low", tasks=[a_task("late", 600)])
    run(sim, seconds=10)
    gone = []
    for number in range(4):
        do(sim, "addTasks", jobId="high", tasks=[a_task(f"u{number}", 900)])
        run(sim, seconds=2)
        gone = [event["taskId"] for event in events(sim, "TaskStateChanged", rule="SCHED-16")]
    assert gone == ["t1", "late", "t2", "t1"]
    assert events(sim, "TaskStateChanged", rule="SCHED-16")[0]["jobId"] == "lowest"


def test_sched_16_several_go_for_one_that_needs_their_slots_on_one_node(start):
    sim = mine_and_yours(start, tasks=4, nodes=2, slots=2, allowTaskPreemption=True)
    urgent(sim, requiredSlots=2)
    assert task_state(sim, "u0", "high") == "running"
    displaced = events(sim, "TaskStateChanged", rule="SCHED-16")
    assert len(displaced) == 2
    assert len({event["nodeId"] for event in displaced}) == 1


def test_sched_16_nobody_goes_in_vain(start):
    """Each node also has a task that does not give way, so that two slots can be had nowhere."""
    jobs = a_job("stays", some_tasks(2, 600)), a_job("low", 0, allowTaskPreemption=True), a_job("high", 0, priority=10)
    sim = at_start(start, *jobs, pool=a_pool(nodes=2, taskSlotsPerNode=2))
    do(sim, "addTasks", jobId="low", tasks=some_tasks(2, 600))
    run(sim, seconds=5)
    assert load(sim) == [2, 2]
    urgent(sim, requiredSlots=2)
    assert events(sim, "TaskStateChanged", rule="SCHED-16") == []
    assert task_state(sim, "u0", "high") == "active"


def test_sched_16_a_job_at_its_parallel_limit_displaces_nobody(start):
    sim = mine_and_yours(start, allowTaskPreemption=True)
    do(sim, "updateJob", jobId="high", maxParallelTasks=1)
    urgent(sim, 2)
    assert [task_state(sim, name, "low") for name in ("t1", "t2")] == ["running", "active"]


def test_sched_16_a_node_where_the_jobs_preparation_failed_is_of_no_use(start):
    bad = a_line(1, 1)
    low = a_job("low", some_tasks(1, 600), allowTaskPreemption=True)
    sim = at_start(start, low, a_job("high", 0, priority=10, prep=bad), pool=a_pool(nodes=1))
    urgent(sim)
    run(sim, minutes=1)
    assert len(events(sim, "TaskStateChanged", rule="SCHED-16")) == 1
    assert (task_state(sim, "u0", "high"), task_state(sim, "t1", "low")) == ("active", "running")


def test_sched_16_permission_given_later_counts_at_once(start):
    sim = mine_and_yours(start)
    urgent(sim)
    do(sim, "updateJob", jobId="low", allowTaskPreemption=True)
    assert task_state(sim, "u0", "high") == "running"
    do(sim, "updateJob", jobId="low", allowTaskPreemption=False)
    urgent_too = [a_task("more", 30)]
    do(sim, "addTasks", jobId="high", tasks=urgent_too)
    run(sim, seconds=2)
    assert task_state(sim, "more", "high") == "active"


def test_sched_16_preparing_tasks_stay(start):
    sim = mine_and_yours(start, tasks=1, nodes=1, allowTaskPreemption=True, prep=a_line(300))
    urgent(sim)
    assert (task_state(sim, "t1", "low"), task_state(sim, "u0", "high")) == ("preparing", "active")


def test_sched_16_is_the_same_at_every_run(start):
    logs = []
    for _ in range(2):
        sim = mine_and_yours(start, tasks=9, nodes=3, slots=3, allowTaskPreemption=True)
        urgent(sim, 4, requiredSlots=2)
        run_to_end(sim)
        logs.append(list(sim.json_lines()))
    assert logs[0] == logs[1]
