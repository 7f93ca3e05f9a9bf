"""The state as JSON holds the service's bodies, which the service's client library reads back."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from azure.batch import models

from engine.views import results
from tests.builders import (
    ALLOCATION_S,
    READY_S,
    REMOVAL_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    node,
    run_to,
    run_to_end,
    simulation,
    some_tasks,
)

START = datetime(2026, 1, 5, 8, tzinfo=UTC)


def at(seconds):
    return START + timedelta(seconds=seconds)


def state(sim):
    """Return the document as read back from its JSON."""
    found = json.loads("".join(results.json_text(sim)))
    assert found == json.loads(json.dumps(results.document(sim)))
    return found


@pytest.fixture
def finished():
    """Run a job on two nodes to its end; one of its tasks fails."""
    tasks = [*some_tasks(4, seconds=30), a_task("bad", 10, exit_code=1)]
    job = a_job(
        tasks=tasks,
        prep=a_shell("echo x > $AZ_BATCH_NODE_SHARED_DIR/x"),
        release=a_line(5, exit_code=1),
        onAllTasksComplete="terminatejob",
        priority=5,
    )
    start_task = a_line(20) | {"waitForSuccess": True}
    sim = simulation(
        job,
        pool=a_pool(nodes=2, startTask=start_task),
        expect=[{"jobId": "j", "state": "completed"}, {"jobId": "j", "tasks": {"failed": 0}}],
    )
    sim.run_until(sim.end_ms)
    sim.finish()
    return sim


def test_the_document_has_exactly_the_members_of_the_contract(finished):
    found = state(finished)
    assert list(found) == [
        "scenario",
        "seed",
        "startTime",
        "endTime",
        "account",
        "pools",
        "jobs",
        "jobSchedules",
        "expectations",
        "attention",
        "summary",
    ]
    assert (found["scenario"], found["seed"], found["startTime"]) == ("test", 0, "2026-01-05T08:00:00Z")
    assert found["account"]["name"] == "batchdeck"
    assert [one["id"] for one in found["jobs"][0]["tasks"]] == ["t1", "t2", "t3", "t4", "bad"]
    assert len(found["jobs"][0]["jobPreparationAndReleaseTaskStatus"]) == 2


def test_expectations_are_as_written_in_order(finished):
    first, second = state(finished)["expectations"]
    assert first == {"expect": {"jobId": "j", "state": "completed"}, "met": True, "seen": {"state": "completed"}}
    assert (second["expect"], second["met"]) == ({"jobId": "j", "tasks": {"failed": 0}}, False)
    assert second["seen"]["tasks"]["failed"] == 1


def test_the_summary_has_exactly_the_members_of_the_contract(finished):
    found = state(finished)["summary"]
    assert list(found) == [
        "makespanSeconds",
        "tasks",
        "nodeHours",
        "costUsd",
        "slotUtilization",
        "preparationTasks",
        "releaseTasks",
        "preparationSeconds",
        "releaseSeconds",
        "events",
        "downloadedBytes",
        "uploadedBytes",
        "cost",
        "endSeconds",
    ]
    assert found["tasks"] == {"total": 5, "succeeded": 4, "failed": 1, "active": 0}
    assert found["preparationTasks"] == {"count": 2, "failed": 0}
    assert found["releaseTasks"] == {"count": 2, "failed": 2}
    assert found["events"] == sum(1 for _ in finished.json_lines())
    assert found["costUsd"] == pytest.approx(found["nodeHours"] * 0.096, abs=1e-6)
    assert 0 < found["slotUtilization"] <= 1
    assert found["makespanSeconds"] == max(finished.world.tasks.ended) / 1000


def test_what_was_deleted_is_in_the_summary_and_nowhere_else():
    sim = simulation(a_job(tasks=2, prep=a_line(5)))
    run_to(sim, minutes=5)
    before = results.run_totals(sim)
    do(sim, "deleteJob", jobId="j")
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    found = state(sim)
    assert (found["pools"], found["jobs"]) == ([], [])
    for member in ("makespanSeconds", "tasks", "preparationTasks"):
        assert found["summary"][member] == before[member]


def test_nodes_that_are_gone_are_former_nodes():
    sim = simulation(a_job(tasks=4), pool=a_pool(nodes=2))
    run_to(sim, minutes=10)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run_to(sim, seconds=600 + REMOVAL_S + 1)
    [pool] = state(sim)["pools"]
    assert [one["id"] for one in pool["nodes"]] == [node(sim, 1).id]
    [former] = pool["formerNodes"]
    assert former["id"] == node(sim, 0).id
    assert former["totalTasksRun"] == 2
    assert {task["taskState"] for task in former["recentTasks"]} == {"completed"}
    assert (pool["currentDedicatedNodes"], pool["targetDedicatedNodes"]) == (1, 1)


def test_a_job_without_preparation_has_no_status_list():
    sim = simulation(a_job())
    run_to(sim, seconds=1)
    [job] = state(sim)["jobs"]
    assert "jobPreparationAndReleaseTaskStatus" not in job


def test_an_empty_job_and_an_empty_world_are_json_too():
    assert state(simulation(pools=[]))["jobs"] == []
    sim = simulation(a_job(tasks=[]))
    run_to(sim, seconds=1)
    assert state(sim)["jobs"][0]["tasks"] == []


# -- pools, nodes, jobs by rule ------------------------------------------------------------------------------------


def test_pool_3_resize_errors_only_while_steady():
    sim = simulation(pool=a_pool(nodes=60), account={"name": "contoso", "quotas": {"dedicatedCores": 10}})
    run_to(sim, minutes=5)
    [pool] = state(sim)["pools"]
    assert (pool["allocationState"], pool["resizeErrors"][0]["code"]) == ("steady", "AccountCoreQuotaReached")
    assert pool["url"] == "https://contoso.westeurope.batch.azure.com/pools/p"
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=1)
    [pool] = state(sim)["pools"]
    assert pool["allocationState"] == "resizing"
    assert "resizeErrors" not in pool


def test_gen_6_an_entity_tag_changes_with_the_settings_only():
    sim = simulation(a_job(), pool=a_pool())
    run_to(sim, seconds=1)
    before = results.document(sim)
    run_to(sim, minutes=5)
    do(sim, "updateJob", jobId="j", priority=7)
    after = results.document(sim)
    assert before["pools"][0]["eTag"] == after["pools"][0]["eTag"] == "0x8DE4C306CC24000"
    assert before["jobs"][0]["eTag"] != after["jobs"][0]["eTag"]
    assert after["jobs"][0]["lastModified"] == "2026-01-05T08:05:00.001Z"
    assert after["jobs"][0]["priority"] == 7


def test_gen_6_what_is_done_to_a_job_or_a_pool_modifies_it():
    sim = simulation(a_job(tasks=[a_task(seconds=9000)]))
    run_to(sim, minutes=1)
    tags = [results.document(sim)["jobs"][0]["eTag"]]
    for command in ("disableJob", "enableJob", "terminateJob"):
        run_to(sim, seconds=sim.now_ms // 1000 + 10)
        do(sim, command, jobId="j", **({"disableTasks": "wait"} if command == "disableJob" else {}))
        tags.append(results.document(sim)["jobs"][0]["eTag"])
        if command == "disableJob":
            do(sim, "terminateTask", jobId="j", taskId="t1")
    assert len(set(tags)) == 4
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=2)
    [pool] = results.document(sim)["pools"]
    assert pool["lastModified"] == pool["allocationStateTransitionTime"]


def test_job_3_reason_and_end_only_when_completed():
    sim = simulation(a_job(prep=a_line(5), release=a_line(60)))
    run_to(sim, minutes=3)
    do(sim, "terminateJob", jobId="j", terminateReason="enough")
    [job] = state(sim)["jobs"]
    assert (job["state"], job["previousState"]) == ("terminating", "active")
    assert job["executionInfo"] == {"startTime": "2026-01-05T08:00:00Z", "poolId": "p"}
    run_to_end(sim)
    [job] = state(sim)["jobs"]
    assert job["executionInfo"]["terminateReason"] == "enough"
    assert job["executionInfo"]["endTime"] == job["stateTransitionTime"]
    assert job["previousState"] == "terminating"


def test_stat_1_the_core_time_of_a_pool_is_that_of_its_dedicated_nodes():
    sim = simulation(pool=a_pool(nodes=2, targetLowPriorityNodes=3))
    run_to(sim, minutes=10)
    pool = models.BatchPool(state(sim)["pools"][0])
    assert pool.pool_statistics.usage_statistics.dedicated_core_time == timedelta(seconds=2 * 2 * (600 - ALLOCATION_S))
    assert pool.pool_statistics.start_time == START


def test_stat_1_all_attempts_count_as_wall_clock_time_the_wait_is_for_the_last():
    sim = simulation(a_job(tasks=[a_task(seconds=9, exit_code=1, constraints={"maxTaskRetryCount": 2})]))
    run_to(sim, seconds=READY_S + 15)
    [job] = state(sim)["jobs"]
    assert job["stats"]["wallClockTime"] == "PT15S"
    run_to_end(sim)
    [job] = state(sim)["jobs"]
    stats, [task] = models.BatchJobStatistics(job["stats"]), job["tasks"]
    assert stats.wall_clock_time == timedelta(seconds=30)
    assert (stats.task_retries_count, stats.failed_tasks_count, stats.succeeded_tasks_count) == (2, 1, 0)
    assert START + stats.wait_time == datetime.fromisoformat(task["executionInfo"]["startTime"])


def test_node_5_what_a_node_says_of_its_tasks():
    sim = simulation(a_job(tasks=some_tasks(15, seconds=10)), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=5)
    assert state(sim)["pools"][0]["nodes"] == []
    run_to(sim, seconds=READY_S + 75)
    [busy] = state(sim)["pools"][0]["nodes"]
    assert (busy["totalTasksRun"], busy["totalTasksSucceeded"]) == (12, 12)
    assert (busy["runningTasksCount"], busy["runningTaskSlotsCount"]) == (2, 2)
    recent = [task["taskId"] for task in busy["recentTasks"]]
    assert set(recent[:4]) == {"t11", "t12", "t13", "t14"}
    assert set(recent) == {f"t{number}" for number in range(5, 15)}
    assert len(recent) == 10


def test_node_6_a_node_on_its_way_has_neither_boot_time_nor_tasks():
    sim = simulation()
    run_to(sim, seconds=25)
    [starting] = state(sim)["pools"][0]["nodes"]
    assert (starting["state"], starting["affinityId"]) == ("starting", f"TVM:{starting['id']}")
    assert (starting["ipAddress"], starting["allocationTime"]) == ("10.0.0.4", "2026-01-05T08:00:10Z")
    assert not {"lastBootTime", "nodeAgentInfo", "recentTasks", "startTask", "errors"} & set(starting)


def test_start_7_the_start_task_and_what_became_of_it():
    start_task = a_line(20, exit_code=4) | {"waitForSuccess": True, "maxTaskRetryCount": 1}
    sim = simulation(pool=a_pool(startTask=start_task))
    run_to(sim, minutes=5)
    [failed] = state(sim)["pools"][0]["nodes"]
    info = failed["startTaskInfo"]
    assert (failed["state"], info["state"], info["result"]) == ("starttaskfailed", "completed", "failure")
    assert (info["exitCode"], info["retryCount"]) == (4, 1)
    assert info["lastRetryTime"] == info["startTime"]
    assert info["failureInfo"]["code"] == "FailureExitCode"
    assert failed["startTask"]["commandLine"] == "work"
    assert "simulate" not in failed["startTask"]


# -- the client library ----------------------------------------------------------------------------------------------


def test_the_client_library_reads_pools_and_nodes_back(finished):
    [body] = state(finished)["pools"]
    pool = models.BatchPool(body)
    assert (pool.state, pool.allocation_state) == (models.BatchPoolState.ACTIVE, models.AllocationState.STEADY)
    assert (pool.creation_time, pool.resize_timeout) == (START, timedelta(minutes=15))
    assert (pool.current_dedicated_nodes, pool.target_low_priority_nodes) == (2, 0)
    assert pool.virtual_machine_configuration.image_reference.sku == "22_04-lts"
    one = models.BatchNode(body["nodes"][0])
    assert (one.state, one.scheduling_state) == (models.BatchNodeState.IDLE, models.SchedulingState.ENABLED)
    assert (one.allocation_time, one.last_boot_time) == (at(10), at(20))
    assert one.is_dedicated is True
    assert one.start_task_info.result == models.BatchTaskExecutionResult.SUCCESS
    assert one.start_task_info.end_time - one.start_task_info.start_time == timedelta(seconds=21)
    assert one.recent_tasks[0].task_state == models.BatchTaskState.COMPLETED
    assert one.endpoint_configuration.inbound_endpoints[0].frontend_port == 50_000
    assert one.virtual_machine_info.image_reference.publisher == "Canonical"


def test_the_client_library_reads_jobs_and_tasks_back(finished):
    [body] = state(finished)["jobs"]
    job = models.BatchJob(body)
    assert (job.state, job.previous_state) == (models.BatchJobState.COMPLETED, models.BatchJobState.TERMINATING)
    assert job.all_tasks_complete_mode == models.BatchAllTasksCompleteMode.TERMINATE_JOB
    assert (job.execution_info.pool_id, job.execution_info.termination_reason) == ("p", "AllTasksCompleted")
    assert job.execution_info.end_time == job.state_transition_time > START
    assert job.job_statistics.failed_tasks_count == 1
    tasks = {one["id"]: models.BatchTask(one) for one in body["tasks"]}
    good, bad = tasks["t1"], tasks["bad"]
    assert (good.state, good.previous_state) == (models.BatchTaskState.COMPLETED, models.BatchTaskState.RUNNING)
    assert good.execution_info.end_time - good.execution_info.start_time == timedelta(seconds=31)
    assert good.execution_info.exit_code == 0
    assert good.constraints.retention_time == timedelta(days=7)
    assert bad.execution_info.result == models.BatchTaskExecutionResult.FAILURE
    assert bad.execution_info.failure_info.category == "UserError"  # GEN-5: with its capitals
    assert bad.node_info.task_root_directory == "workitems/j/job-1/bad"


def test_the_client_library_reads_preparation_and_release_back(finished):
    entries = state(finished)["jobs"][0]["jobPreparationAndReleaseTaskStatus"]
    one = models.BatchJobPreparationAndReleaseTaskStatus(entries[0])
    prep, release = one.job_preparation_task_execution_info, one.job_release_task_execution_info
    assert one.pool_id == "p"
    assert prep.state == models.BatchJobPreparationTaskState.COMPLETED
    assert (prep.exit_code, prep.retry_count) == (0, 0)
    assert prep.end_time - prep.start_time == timedelta(seconds=2)
    assert release.state == models.BatchJobReleaseTaskState.COMPLETED
    assert (release.exit_code, release.result) == (1, models.BatchTaskExecutionResult.FAILURE)
    assert release.failure_info.code == "FailureExitCode"


# -- other moments ---------------------------------------------------------------------------------------------------


def test_a_moment_of_the_past_looks_as_it_did():
    job = a_job(tasks=some_tasks(6, seconds=20, exit_code={0: 0.5, 1: 0.5}), prep=a_line(10), release=a_line(5))
    sim = simulation(job | {"onAllTasksComplete": "terminatejob"}, pool=a_pool(nodes=2))
    moments = [5, 25, READY_S + 5, READY_S + 30, READY_S + 60]
    seen = []
    for seconds in moments:
        run_to(sim, seconds=seconds)
        seen.append(state(sim))
    run_to_end(sim)
    for seconds, before in reversed(list(zip(moments, seen, strict=True))):
        sim.seek(seconds * 1000)
        assert state(sim) == before
