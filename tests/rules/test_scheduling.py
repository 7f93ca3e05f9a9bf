"""Chapter 17: which task goes next, and when."""

from __future__ import annotations

import pytest

from engine.base.terms import JobState
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_state,
    times,
)
from tests.rules.placing import at_start, where


def started(sim, **fields):
    """Job and task of each start, in order."""
    return [(event["jobId"], event["taskId"]) for event in events(sim, "TaskStateChanged", to="running", **fields)]


def jobs_started(sim):
    return "".join(job for job, _ in started(sim))


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
    by_turn = sorted((a, b, c), key=pool.turn_key)
    assert [job.id for job in by_turn] == (["b", "c", "a"] if order == "none" else ["a", "b", "c"])
    c.priority = 1
    b.priority = -1000
    assert [job.id for job in sorted((a, b, c), key=pool.turn_key)] == ["c", "a", "b"]


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
    """The tasks of one, two and one slots come back in the order 3, 2, 1, whatever they need."""
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
    assert [state.wire for state in JobState if _with_state(job, state) and pool.may_take_turns(job)] == ["active"]


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
