"""Chapter 17: tasks that give way to a job of higher priority."""

from __future__ import annotations

from tests.builders import (
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    run,
    run_to_end,
    some_tasks,
    task_extra,
    task_history,
    task_state,
)
from tests.rules.placing import at_start, load


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
