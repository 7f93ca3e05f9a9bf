"""What pages, explanations and estimates say of processes that act."""

from engine.views.diagnosis.estimates import planned_end_ms, planned_task_end_ms
from engine.views.resources.processes import task_acts
from tests.builders import READY_S, a_job, a_pool, a_task, node_row, run_to, simulation, task_row
from tests.views.explaining import why_node_says, why_task_says


def managed():
    does = [
        {"after": 10, "addTasks": {"tasks": [a_task("t1", 100), a_task("t2", 200)]}},
        {"after": 900, "updateJob": {"priority": 1}},
        {"when": {"tasks": {"failed": {"atLeast": 2}}}, "after": 5, "terminateJob": {"jobId": "k"}},
    ]
    manager = {"id": "boss", "commandLine": "manage", "simulate": {"does": does, "until": "othersCompleted"}}
    return simulation(a_job(tasks=[], jobManagerTask=manager), a_job("k", tasks=1), pool=a_pool(nodes=3), until="PT1H")


def test_jm_11_a_task_says_what_it_does_and_waits_for():
    sim = managed()
    run_to(sim, seconds=READY_S + 1)
    assert task_acts(sim, task_row(sim, "boss")) == [
        "Adds 2 tasks after PT10S",
        "Gives updateJob after PT15M",
        "Gives terminateJob on job k PT5S after its job has at least 2 failed tasks",
        "Runs until all other tasks of its job are completed",
    ]
    assert task_acts(sim, task_row(sim, "t1", "k")) == []


def test_jm_12_why_a_task_runs_that_waits():
    sim = managed()
    run_to(sim, seconds=READY_S + 113)
    assert why_task_says(sim, "boss")[1:] == [
        "✓ node  n0 since 08:00:50 [SCHED-9]",
        "✗ end   waits until all other tasks of its job are completed: 1 of 2 [JM-12]",
        "Gives updateJob after PT15M. [JM-11]",
        "Gives terminateJob on job k PT5S after its job has at least 2 failed tasks. [JM-11]",
        "When it ends is not known yet. [TASK-7]",
    ]


def test_jm_12_a_condition_is_in_its_own_words():
    until = {"taskId": "other", "state": "completed", "exitCode": 3}
    sim = simulation(a_job(tasks=[a_task() | {"simulate": {"until": until}}, a_task("other")]), until="PT1H")
    run_to(sim, seconds=READY_S + 1)
    assert "✗ end   waits until task other of its job has state completed, exitCode 3 [JM-12]" in why_task_says(sim)


def test_jm_12_no_end_is_estimated_that_is_not_known():
    sim = managed()
    run_to(sim, seconds=READY_S + 50)
    assert planned_task_end_ms(sim, task_row(sim, "boss")) is None
    assert planned_task_end_ms(sim, task_row(sim, "t1")) == (READY_S + 11 + 101) * 1000
    assert planned_end_ms(sim, node_row(sim, 0)) is None
    assert not any("2026-01-29" in line or "2026-01-30" in line for line in why_node_says(sim))


def test_jm_12_a_task_behind_one_whose_end_is_not_known_does_not_need_a_user():
    waiting = a_task() | {"simulate": {"until": {"state": "completed"}}}
    sim = simulation(a_job(tasks=[waiting, a_task("t2")]), until="PT1H")
    run_to(sim, seconds=READY_S + 1)
    said = why_task_says(sim, "t2")
    assert "     1 node without a free slot [SCHED-10]" in said
    assert not any(line.startswith("Next: nothing") for line in said)
