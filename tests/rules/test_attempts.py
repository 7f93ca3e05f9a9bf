"""Chapter 14: how attempts end, and which tasks run again."""

from __future__ import annotations

import json

import pytest

from engine import Simulation, load_scenario
from engine.rules.decisions.verdicts import retry_verdict
from engine.state.task_records import TaskExtra, TaskProfile
from tests.builders import (
    READY_S,
    STOPPED,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    file,
    node_row,
    run,
    run_to,
    run_to_end,
    simulation,
    task_extra,
    task_history,
    task_row,
    task_state,
    times,
)

PROFILE = TaskProfile(job=0, required_slots=1, max_retries=None, wall_clock_ms=None, retention_ms=None, process=None)


def attempts(sim, task="t1"):
    return [event["attempt"] for event in events(sim, "TaskStateChanged", taskId=task, to="running")]


def after(start, task, **job):
    """A run of one task, to its end."""
    sim = start(a_job(tasks=[task], **job))
    run_to_end(sim)
    return sim


# -- retries ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "of_job", "retries", "code", "again"),
    [
        (None, 0, 0, 1, False),
        (None, 2, 1, 1, True),
        (None, 2, 2, 1, False),
        (0, 5, 0, 1, False),
        (3, 0, 2, -7, True),
        (3, 0, 3, 1, False),
        (-1, 0, 10_000, 1, True),
        (None, -1, 10_000, 1, True),
        (-1, 0, 0, 0, False),
        (5, 5, 0, None, False),
    ],
)
def test_retry_3_the_tasks_limit_wins_over_the_jobs(own, of_job, retries, code, again):
    sim = simulation(a_job(tasks=0, constraints={"maxTaskRetryCount": of_job}))
    run(sim, seconds=0)
    job = sim.world.jobs.find("j")
    assert retry_verdict(PROFILE._replace(max_retries=own), job, TaskExtra(retry_count=retries), code) is again


@pytest.mark.parametrize(("limit", "runs"), [(0, 1), (1, 2), (4, 5)])
def test_retry_3_n_retries_are_one_attempt_more(start, limit, runs):
    sim = after(start, a_task(exit_code=1, constraints={"maxTaskRetryCount": limit}))
    assert attempts(sim) == list(range(1, runs + 1))
    assert (task_state(sim), task_extra(sim).retry_count) == ("completed", limit)


def test_retry_3_minus_one_is_without_end(start):
    sim = start(a_job(tasks=[a_task(seconds=1, exit_code=1, constraints={"maxTaskRetryCount": -1})]))
    run_to(sim, minutes=60)
    assert task_extra(sim).retry_count > 1000
    assert task_state(sim) == "running"


def test_retry_3_the_jobs_limit_can_change_while_the_task_runs(start):
    sim = start(a_job(tasks=[a_task(exit_code=1)]))
    run_to(sim, seconds=READY_S + 1)
    do(sim, "updateJob", jobId="j", constraints={"maxTaskRetryCount": 2})
    run_to_end(sim)
    assert task_extra(sim).retry_count == 2


def test_retry_2_the_exit_code_is_the_processs_own(start):
    sim = after(start, {"id": "t1"} | a_shell("exit 42"))
    assert task_extra(sim).exit_code == 42
    assert task_extra(sim).failure.code == "FailureExitCode"


@pytest.mark.parametrize(
    ("body", "code", "category"),
    [
        ({"simulate": {"found": False}}, "CommandProgramNotFound", "UserError"),
        ({"resourceFiles": [{"httpUrl": "https://gone/x", "filePath": "x"}]}, "BlobNotFound", "UserError"),
        ({"resourceFiles": [{"storageContainerUrl": "https://gone/c"}]}, "ResourceContainerNotFound", "UserError"),
    ],
)
def test_retry_4_what_fails_before_the_process_is_final(start, body, code, category):
    task = a_task(constraints={"maxTaskRetryCount": 3}, **body)
    sim = start(a_job(tasks=[task]), simulate={"storage": {"https://gone/*": {"missing": True}}})
    run_to_end(sim)
    extra = task_extra(sim)
    assert (extra.failure.code, extra.failure.category, extra.exit_code, extra.attempts) == (code, category, None, 1)
    event = events(sim, "TaskStateChanged", to="completed")[0]
    assert (event["rule"], "exitCode" in event) == ("RETRY-4", False)


def test_retry_1_an_outage_is_a_failure_of_the_service(start):
    task = a_task(resourceFiles=[{"httpUrl": "https://a/x", "filePath": "x"}])
    sim = start(a_job(tasks=[task]), timeline=[{"at": 40, "storageOutage": {"for": "PT1M"}}])
    run_to_end(sim)
    assert (task_extra(sim).failure.code, task_extra(sim).failure.category) == ("BlobDownloadTimedOut", "ServerError")


def test_retry_5_a_retry_is_active_in_between_and_counts_from_its_start(start):
    sim = start(a_job(tasks=[a_task(exit_code=1, constraints={"maxTaskRetryCount": 1})]))
    run_to(sim, seconds=READY_S + 62)
    assert task_history(sim) == ["active", "running", "active", "running"]
    extra = task_extra(sim)
    assert (extra.retry_count, extra.last_retry_ms) == (1, (READY_S + 61) * 1000)
    assert [event["rule"] for event in events(sim, "TaskStateChanged")[2:]] == ["RETRY-5", "RETRY-5"]


def test_retry_5_the_time_of_a_retry_is_that_of_its_start_not_of_the_failure(start):
    sim = start(a_job(tasks=[a_task(exit_code=1, constraints={"maxTaskRetryCount": 1})]))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    run(sim, minutes=5)
    assert (task_extra(sim).retry_count, task_extra(sim).last_retry_ms) == (1, None)
    do(sim, "enableJob", jobId="j")
    run(sim, seconds=3)
    assert task_extra(sim).last_retry_ms == sim.world.tasks.started[task_row(sim)]


def test_retry_5_it_prefers_its_node_and_needs_no_new_preparation(start):
    failing = a_task("t1", 30, 1, constraints={"maxTaskRetryCount": 3})
    sim = start(a_job(tasks=[failing], prep=a_line(1)), pool=a_pool(nodes=4))
    run_to_end(sim)
    assert len({event["nodeId"] for event in events(sim, "TaskStateChanged", to="running")}) == 1
    assert len(events(sim, "JobPreparationTaskStateChanged", to="running")) == 1


def test_retry_5_when_its_node_is_gone_another_will_do(start):
    failing = a_task("t1", 30, 1, constraints={"maxTaskRetryCount": 1})
    sim = start(a_job(tasks=[failing]), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 1)
    do(sim, "disableNodeScheduling", poolId="p", node=0, nodeDisableSchedulingOption="taskcompletion")
    run_to_end(sim)
    assert [event["nodeId"] for event in events(sim, "TaskStateChanged", to="running")] == [
        sim.world.nodes[node_row(sim, index)].id for index in (0, 1)
    ]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("rebootNode", {"poolId": "p", "node": 0}),
        ("reimageNode", {"poolId": "p", "node": 0}),
        ("deallocateNode", {"poolId": "p", "node": 0}),
        ("disableNodeScheduling", {"poolId": "p", "node": 0}),
        ("removeNodes", {"poolId": "p", "nodeList": [0]}),
        ("resizePool", {"poolId": "p", "targetDedicatedNodes": 0}),
        ("deletePool", {"poolId": "p"}),
        ("disableJob", {"jobId": "j", "disableTasks": "requeue"}),
    ],
)
def test_retry_6_only_requeues_by_users_count_as_requeues(start, name, body):
    sim = start(a_job())
    run_to(sim, seconds=READY_S + 5)
    do(sim, name, **body)
    extra = task_extra(sim)
    assert (task_state(sim), extra.requeue_count, extra.last_requeue_ms) == ("active", 1, sim.now_ms)
    assert (extra.retry_count, extra.system_retries) == (0, 0)


def test_retry_6_neither_counter_limits_the_other(start):
    sim = start(a_job(tasks=[a_task(exit_code=1, constraints={"maxTaskRetryCount": 1})]))
    run_to(sim, seconds=READY_S + 5)
    for _ in range(3):
        do(sim, "disableJob", jobId="j", disableTasks="requeue")
        run(sim, seconds=3)
        do(sim, "enableJob", jobId="j")
        run(sim, seconds=5)
    run_to_end(sim)
    extra = task_extra(sim)
    assert (extra.requeue_count, extra.retry_count, extra.attempts) == (3, 1, 5)


def test_retry_7_a_lost_node_is_no_retry_and_no_requeue(start):
    sim = start(a_job(), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "failNode", poolId="p", node=0)
    run_to_end(sim)
    extra = task_extra(sim)
    assert (task_state(sim), extra.failure) == ("completed", None)
    assert (extra.retry_count, extra.requeue_count, extra.system_retries, extra.attempts) == (0, 0, 1, 2)


def flapping(start, losses, nodes=1, **more):
    """A node that fails for a minute so many times while a task runs on it."""
    sim = start(a_job(tasks=[a_task(seconds=900)], **more), pool=a_pool(nodes=nodes))
    run_to(sim, seconds=READY_S + 5)
    for _ in range(losses):
        index = sim.world.nodes[sim.world.tasks.node[task_row(sim)]].position
        do(sim, "failNode", poolId="p", node=index, **{"for": "PT1M"})
        run(sim, minutes=2)
    return sim


def test_retry_7_after_ten_service_retries_the_task_fails(start):
    sim = flapping(start, 10)
    assert (task_state(sim), task_extra(sim).system_retries) == ("running", 10)
    sim = flapping(start, 11)
    extra = task_extra(sim)
    assert (task_state(sim), extra.failure.code) == ("completed", "MaxInternalRetryCountReached")
    assert extra.failure.category == "UserError"


def test_retry_7_the_limit_is_no_matter_of_maxtaskretrycount(start):
    sim = flapping(start, 5, constraints={"maxTaskRetryCount": 0})
    assert (task_state(sim), task_extra(sim).retry_count) == ("running", 0)


@pytest.mark.parametrize("body", [{}, {"prep": a_line(1)}], ids=["plain", "prepared"])
def test_retry_7_the_service_prefers_the_same_node_but_not_for_ever(start, body):
    """Whenever the task is lost both nodes are free when it may run again; node 0 is the first in the list."""
    sim = start(a_job(tasks=[a_task(seconds=900)], **body), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "disableNodeScheduling", poolId="p", node=0)
    run(sim, seconds=10)
    do(sim, "enableNodeScheduling", poolId="p", node=0)
    tried = []
    for _ in range(4):
        tried.append(sim.world.nodes[sim.world.tasks.node[task_row(sim)]].position)
        do(sim, "disableJob", jobId="j", disableTasks="wait")
        do(sim, "failNode", poolId="p", node=tried[-1], **{"for": "PT10S"})
        run(sim, minutes=1)
        do(sim, "enableJob", jobId="j")
        run(sim, seconds=10)
        assert task_state(sim) == "running"
    assert tried == [1, 1, 1, 0]
    assert task_extra(sim).node_retries == 1


# -- failures --------------------------------------------------------------------------------------------------------


def test_retry_8_a_time_limit_stops_the_process_and_is_not_retried(start):
    sim = after(start, a_task(constraints={"maxWallClockTime": "PT20S", "maxTaskRetryCount": 5}))
    extra = task_extra(sim)
    assert (extra.exit_code, extra.failure.code, extra.failure.category) == (STOPPED, "TaskEnded", "ServerError")
    assert extra.failure.details == (("Message", "maximum execution time exceeded"),)
    assert (extra.attempts, times(sim, "TaskStateChanged", to="completed")) == (1, [READY_S + 20])
    assert events(sim, "TaskStateChanged", to="completed")[0]["failureInfo"]["category"] == "ServerError"


def test_retry_8_the_limit_is_for_each_attempt(start):
    task = a_task(seconds=30, exit_code=1, constraints={"maxWallClockTime": "PT40S", "maxTaskRetryCount": 3})
    sim = after(start, task)
    assert (task_extra(sim).retry_count, task_extra(sim).failure.code) == (3, "FailureExitCode")


def test_retry_8_a_later_attempt_may_run_into_it(start):
    slow = {"attempts": [{"exitCode": 1, "duration": 5}, {"duration": 100}]}
    task = a_task(simulate=slow, constraints={"maxWallClockTime": "PT40S", "maxTaskRetryCount": 3})
    sim = after(start, task)
    assert (task_extra(sim).retry_count, task_extra(sim).exit_code) == (1, STOPPED)


def test_retry_8_a_process_that_ends_exactly_in_time_is_well(start):
    sim = after(start, a_task(seconds=39, constraints={"maxWallClockTime": "PT40S"}))
    assert task_extra(sim).failure is None


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("terminateTask", {"jobId": "j", "taskId": "t1"}),
        ("terminateJob", {"jobId": "j"}),
        ("disableJob", {"jobId": "j", "disableTasks": "terminate"}),
        ("rebootNode", {"poolId": "p", "node": 0, "nodeRebootOption": "terminate"}),
        ("removeNodes", {"poolId": "p", "nodeList": [0], "nodeDeallocationOption": "terminate"}),
        ("disableNodeScheduling", {"poolId": "p", "node": 0, "nodeDisableSchedulingOption": "terminate"}),
    ],
)
def test_retry_8_ended_by_a_user_the_category_is_usererror(start, name, body):
    sim = start(a_job(tasks=[a_task(constraints={"maxTaskRetryCount": 5})]))
    run_to(sim, seconds=READY_S + 5)
    do(sim, name, **body)
    extra = task_extra(sim)
    assert (extra.exit_code, extra.failure.code, extra.failure.category) == (STOPPED, "TaskEnded", "UserError")
    assert task_state(sim) == "completed"


def test_retry_9_a_nonzero_exit_that_is_final(start):
    sim = after(start, a_task(exit_code=3))
    event = events(sim, "TaskStateChanged", to="completed")[0]
    assert (event["exitCode"], event["result"], event["failureInfo"]["code"]) == (3, "failure", "FailureExitCode")
    assert event["failureInfo"]["category"] == "UserError"


def test_retry_11_a_failed_task_is_completed_its_result_says_the_rest(start):
    sim = after(start, a_task(exit_code=3))
    assert task_state(sim) == "completed"
    assert sim.world.tasks.result(task_row(sim)) == "failure"


def test_retry_12_output_begins_anew_and_the_working_directory_stays(start):
    line = a_shell("echo run; echo more >> kept; exit 1")
    sim = after(start, {"id": "t1", "constraints": {"maxTaskRetryCount": 2}} | line)
    assert task_extra(sim).attempts == 3
    assert file(sim, "workitems/j/job-1/t1/stdout.txt") == "run\n"
    assert file(sim, "workitems/j/job-1/t1/wd/kept") == "more\nmore\nmore\n"


def test_tasks_added_one_by_one_share_a_profile_and_retry_for_their_own_durations():
    added = [
        {"id": f"t{seconds}", "commandLine": "job", "simulate": {"duration": seconds, "exitCode": 1}}
        for seconds in (10, 25, 40)
    ]
    document = {
        "scenario": "durations",
        "pools": [{"id": "p", "vmSize": "standard_d1_v2", "targetDedicatedNodes": 1, "taskSlotsPerNode": 4}],
        "jobs": [{"id": "j", "poolInfo": {"poolId": "p"}, "constraints": {"maxTaskRetryCount": 1}}],
        "timeline": [{"at": at, "addTasks": {"jobId": "j", "tasks": [task]}} for at, task in enumerate(added)],
    }
    simulation = Simulation(load_scenario("durations", text=json.dumps(document)))
    simulation.run_until(simulation.end_ms)
    tasks = simulation.world.tasks
    assert len(set(tasks.profile)) == 1
    # a second each to start
    assert [ended - started for started, ended in zip(tasks.started, tasks.ended, strict=True)] == [11000, 26000, 41000]
    assert [tasks.extra(task).attempts for task in range(3)] == [2, 2, 2]
