"""What the last task of a completed job waited for, as the log tells it."""

from __future__ import annotations

from engine import Simulation, load_scenario
from engine.views.diagnosis.questions import explain
from tests.builders import READY_S, a_job, a_line, a_pool, a_task, run_to, run_to_end, simulation
from tests.work import steps_of

ENDS = {"onAllTasksComplete": "terminatejob"}


def said_of(sim, job="j"):
    answers = [each.lines() for each in explain(sim, "job", job) if each.question.startswith("What did")]
    return answers[0] if answers else []


def finished(name):
    sim = Simulation(load_scenario(name))
    run_to_end(sim)
    return sim


def test_the_jobs_that_took_the_slots_are_named_with_their_priorities():
    sim = finished("priorities-and-fairness")
    assert said_of(sim, "overnight-a") == [
        "What did task book-5 of job overnight-a, the last one, wait for?",
        "✓ added                   at 08:00:00 [TASK-7]",
        "✗ nodes                   none ready until 08:01:30 [SCHED-8]",
        "✓ a node with free slots  n0 at 08:13:30 [SCHED-9]",
        "     6 starts of tasks of job overnight-b (priority 10) took slots [SCHED-2]",
        "     4 starts of tasks of its own job (priority 0) took slots [SCHED-6]",
        "     2 starts of tasks of job urgent (priority 500) took slots [SCHED-2]",
    ]
    held = said_of(sim, "urgent")  # by tasks that were there before its own were added
    assert "     1 start of tasks of job overnight-a (priority 0) took slots [SCHED-10]" in held


def test_a_task_that_is_retried_counts_as_often_as_it_starts():
    flaky = a_task("flaky", 20, 1, constraints={"maxTaskRetryCount": 2})
    sim = simulation(a_job(tasks=[flaky, a_task("last", 30)], **ENDS), pool=a_pool(nodes=1))
    run_to_end(sim)
    assert "     3 starts of tasks of its own job (priority 0) took slots [SCHED-6]" in said_of(sim)


def test_it_counts_what_the_tables_say():
    sim = finished("priorities-and-fairness")
    tasks, jobs = sim.world.tasks, sim.world.jobs
    own = jobs.find("overnight-b")
    last = max(tasks.rows_of(own.row), key=lambda task: tasks.ended[task])
    there = {
        job.id: sum(
            tasks.started[task] < tasks.started[last] and tasks.ended[task] > tasks.block_of(last).created_ms
            for task in tasks.rows_of(job.row)
        )
        for job in jobs.present()
    }
    counts = [each.size for answer in explain(sim, "job", "overnight-b") for each in answer.findings if each.size]
    assert sorted(counts) == sorted(there.values())


def test_a_parent_a_preparation_and_a_second_attempt_are_told():
    tasks = [a_task("first", 30), a_task("then", 20, 1, dependsOn={"taskIds": ["first"]})]
    tasks[1]["constraints"] = {"maxTaskRetryCount": 1}
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True, prep=a_line(10), **ENDS), pool=a_pool(nodes=1))
    run_to_end(sim)
    said = said_of(sim)
    assert said[0] == "What did task then of job j, the last one, wait for?"
    assert any(line.startswith("✓ dependencies") and line.endswith("by first [DEP-4]") for line in said)
    assert "It went to a node at once. [SCHED-15]" in said
    assert any(line.startswith("It had 2 attempts, the last one from ") for line in said)
    sim = simulation(a_job(tasks=1, prep=a_line(10), **ENDS), pool=a_pool(nodes=1))
    run_to_end(sim)
    assert any(line.startswith("✓ preparation on the node  ended at ") for line in said_of(sim))


def test_a_job_that_was_disabled_says_when():
    timeline = [
        {"at": READY_S + 5, "disableJob": {"jobId": "j", "disableTasks": "wait"}},
        {"at": READY_S + 100, "enableJob": {"jobId": "j"}},
    ]
    sim = simulation(a_job(tasks=3, maxParallelTasks=1, **ENDS), pool=a_pool(nodes=1), timeline=timeline)
    run_to_end(sim)
    said = said_of(sim)
    assert any(line.startswith("✗ job state ") and "not active between" in line for line in said)
    assert any(line.startswith("· job parallel limit") for line in said)


def test_before_the_end_and_without_a_task_that_ran_nothing_is_said():
    sim = simulation(a_job(tasks=2, **ENDS), pool=a_pool(nodes=1))
    run_to(sim, seconds=READY_S + 5)
    assert said_of(sim) == []
    sim = simulation(a_job(tasks=1), timeline=[{"at": 1, "terminateJob": {"jobId": "j"}}])
    run_to_end(sim)
    assert said_of(sim) == []


def test_a_large_job_is_explained_without_a_step_for_each_task():
    swept = {"type": "parametricSweep", "parameterSets": [{"start": 1, "end": 4_000}]}
    factory = swept | {"repeatTask": {"id": "t{0}", "commandLine": "work", "simulate": {"duration": 60}}}
    pool = a_pool(nodes=4, taskSlotsPerNode=100, vmSize="standard_d64s_v3")
    sim = simulation(a_job(tasks=[], taskFactory=factory, **ENDS), pool=pool)
    run_to_end(sim)
    assert said_of(sim)[-1].endswith("tasks of its own job (priority 0) took slots [SCHED-6]")
    assert steps_of(lambda: said_of(sim)) < 2_000
