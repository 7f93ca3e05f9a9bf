"""Jobs through a client library."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.clients.sdk.bodies import MACHINE, job, task
from tests.clients.sdk.speaker import either, refused, until

HOOKS = {
    "jobPreparationTask": {"commandLine": "/bin/sh -c 'echo prepared'"},
    "jobReleaseTask": {"commandLine": "/bin/sh -c 'echo released'"},
}
UNLIMITED = timedelta(days=10_000)


def in_state(client, name, state):
    return until(lambda: client.get_job(name).state == state and client.get_job(name), state)


def reason_of(found):
    return either(found.execution_info, "terminate_reason", "termination_reason")


def test_a_job_has_what_was_given_and_the_defaults_of_the_service(client, shared, name):
    settings = {"commonEnvironmentSettings": [{"name": "A", "value": "1"}], "metadata": [{"name": "m", "value": "2"}]}
    client.create_job(body=job(name, shared, displayName="a job", usesTaskDependencies=True, **settings, **HOOKS))
    found = client.get_job(name)
    assert (found.id, found.state, found.display_name) == (name, "active", "a job")
    assert (found.priority, found.max_parallel_tasks, found.uses_task_dependencies) == (0, -1, True)
    assert either(found, "on_all_tasks_complete", "all_tasks_complete_mode").lower() == "noaction"
    assert either(found, "on_task_failure", "task_failure_mode").lower() == "noaction"
    assert found.allow_task_preemption is False
    assert found.constraints.max_task_retry_count == 0
    assert found.constraints.max_wall_clock_time > UNLIMITED
    assert (found.common_environment_settings[0].value, found.metadata[0].value) == ("1", "2")
    assert (found.pool_info.pool_id, found.execution_info.pool_id) == (shared, shared)
    assert found.execution_info.end_time is None
    preparation, release = found.job_preparation_task, found.job_release_task
    assert (preparation.id, preparation.wait_for_success) == ("jobpreparation", True)
    assert preparation.rerun_on_node_reboot_after_success is True
    assert preparation.constraints.max_task_retry_count == 0
    assert preparation.constraints.retention_time == timedelta(days=7)
    assert (release.id, release.max_wall_clock_time) == ("jobrelease", timedelta(minutes=15))
    assert found.url.endswith(f"/jobs/{name}")


def test_jobs_are_listed_by_filter_page_and_selection(client, shared, name):
    for number in range(3):
        client.create_job(body=job(f"{name}-{number}", shared, priority=number))
    ours = f"startswith(id,'{name}')"
    assert [each.id for each in client.list_jobs(filter=f"{ours} and priority ge 1")] == [f"{name}-1", f"{name}-2"]
    client.begin("terminate_job", f"{name}-0")
    in_state(client, f"{name}-0", "completed")
    (found,) = client.list_jobs(filter=f"{ours} and state eq 'completed'", select="id, state", expand="stats")
    assert (found.id, found.priority) == (f"{name}-0", None)
    assert client.page_sizes("list_jobs", filter=ours, max_results=1)[:3] == [1, 1, 1]


def test_a_job_is_patched_and_replaced(client, shared, name):
    limits = {"maxWallClockTime": "PT1H", "maxTaskRetryCount": 3}
    client.create_job(body=job(name, shared, priority=5, constraints=limits, metadata=[{"name": "a", "value": "1"}]))
    client.update_job(name, body={"priority": 7})
    found = client.get_job(name)
    assert (found.priority, found.constraints.max_task_retry_count, len(found.metadata)) == (7, 3, 1)
    client.update_job(name, body={"constraints": {"maxWallClockTime": "PT2H"}, "onAllTasksComplete": "noaction"})
    found = client.get_job(name)
    assert found.constraints.max_wall_clock_time == timedelta(hours=2)
    assert found.constraints.max_task_retry_count == 0
    client.replace_job(name, body={"poolInfo": {"poolId": shared}, "priority": -5})
    found = client.get_job(name)
    assert (found.priority, found.metadata or []) == (-5, [])
    assert found.constraints.max_wall_clock_time > UNLIMITED
    wrong = refused(client.update_job, name, body={"priority": 1001})
    assert wrong.status == 400
    assert refused(client.update_job, "nobody", body={"priority": 1}).code == "JobNotFound"


def test_a_job_is_disabled_and_enabled(client, shared, name):
    client.create_job(body=job(name, shared))
    client.create_task(name, body=task("t", "sleep 600"))
    until(lambda: client.get_task(name, "t").state == "running")
    client.begin("disable_job", name, body={"disableTasks": "requeue"})
    assert client.get_job(name).state in ("disabling", "disabled")
    in_state(client, name, "disabled")
    assert client.get_task(name, "t").state == "active"
    client.begin("enable_job", name)
    in_state(client, name, "active")
    until(lambda: client.get_task(name, "t").state == "running")
    client.begin("disable_job", name, body={"disableTasks": "terminate"})
    in_state(client, name, "disabled")
    assert client.get_task(name, "t").state == "completed"


def test_a_job_is_terminated_with_a_reason(client, shared, name):
    client.create_job(body=job(name, shared))
    client.create_task(name, body=task("t", "sleep 600"))
    until(lambda: client.get_task(name, "t").state == "running")
    client.begin("terminate_job", name, body={"terminateReason": "enough"})
    assert client.get_job(name).state == "terminating"
    found = in_state(client, name, "completed")
    assert reason_of(found) == "enough"
    assert found.execution_info.end_time >= found.execution_info.start_time
    ended = client.get_task(name, "t")
    assert (ended.state, ended.execution_info.result) == ("completed", "failure")
    assert ended.execution_info.failure_info.code == "TaskEnded"
    late = refused(client.create_task, name, body=task("late"))
    assert (late.status, late.code) == (409, "JobCompleted")
    assert refused(client.begin, "disable_job", name, body={"disableTasks": "wait"}).code == "JobCompleted"
    assert refused(client.begin, "terminate_job", name).code == "JobCompleted"


def test_a_job_is_deleted(client, shared, name):
    client.create_job(body=job(name, shared))
    client.create_task(name, body=task("t", "sleep 600"))
    until(lambda: client.get_task(name, "t").state == "running")
    client.begin("delete_job", name)
    assert client.get_job(name).state == "deleting"
    until(lambda: not client.list_jobs(filter=f"id eq '{name}'"))
    for missing in (refused(client.get_job, name), refused(client.begin, "delete_job", name)):
        assert (missing.status, missing.code) == (404, "JobNotFound")
        assert missing.message.splitlines()[0] == "The specified job does not exist."


def test_preparation_and_release_are_listed_by_node(client, shared, name):
    client.create_job(body=job(name, shared, **HOOKS))
    assert client.list_job_preparation_and_release_task_status(name) == []
    client.create_task(name, body=task("t"))
    node = until(lambda: client.get_task(name, "t").state == "completed" and client.get_task(name, "t").node_info)
    (entry,) = client.list_job_preparation_and_release_task_status(name, filter=f"nodeId eq '{node.node_id}'")
    assert (entry.pool_id, entry.node_id) == (shared, node.node_id)
    prepared = entry.job_preparation_task_execution_info
    assert (prepared.state, prepared.exit_code, prepared.result) == ("completed", 0, "success")
    assert prepared.retry_count == 0
    assert prepared.end_time >= prepared.start_time
    assert prepared.task_root_directory.endswith("jobpreparation")
    assert entry.job_release_task_execution_info is None
    client.begin("terminate_job", name)
    in_state(client, name, "completed")
    (entry,) = client.list_job_preparation_and_release_task_status(name, max_results=1)
    released = entry.job_release_task_execution_info
    assert (released.state, released.exit_code, released.result) == ("completed", 0, "success")
    selected = client.list_job_preparation_and_release_task_status(name, select="nodeId")
    assert selected[0].job_preparation_task_execution_info is None


def test_a_job_without_preparation_has_no_such_list(client, shared, name):
    client.create_job(body=job(name, shared))
    found = refused(client.list_job_preparation_and_release_task_status, name)
    assert (found.status, found.code) == (409, "JobPreparationTaskNotSpecified")
    alone = refused(client.create_job, body=job(f"{name}-2", shared, jobReleaseTask=HOOKS["jobReleaseTask"]))
    assert alone.status == 400


def test_a_job_ends_with_its_tasks(client, shared, name):
    client.create_job(body=job(name, shared))
    client.create_task(name, body=task("t"))
    client.update_job(name, body={"onAllTasksComplete": "terminatejob"})
    found = in_state(client, name, "completed")
    assert reason_of(found) == "AllTasksCompleted"


def test_a_job_ends_when_a_task_fails(client, shared, name):
    client.create_job(body=job(name, shared, onTaskFailure="performexitoptionsjobaction"))
    conditions = {"default": {"jobAction": "terminate"}}
    client.create_task(name, body=task("bad", "exit 3", exitConditions=conditions))
    found = in_state(client, name, "completed")
    assert reason_of(found) == "TaskFailed"


def test_a_job_has_a_manager(client, shared, name):
    manager = {"id": "manager", "commandLine": "/bin/sh -c 'sleep 20'", "killJobOnCompletion": True}
    client.create_job(body=job(name, shared, jobManagerTask=manager))
    assert client.get_job(name).job_manager_task.kill_job_on_completion is True
    assert client.get_task(name, "manager").id == "manager"
    found = in_state(client, name, "completed")
    assert reason_of(found) == "JMComplete"


def test_a_job_makes_a_pool_of_its_own(client, name):
    pool = {"vmSize": "standard_d2s_v3", "virtualMachineConfiguration": MACHINE, "targetDedicatedNodes": 1}
    auto = {"autoPoolIdPrefix": "auto", "poolLifetimeOption": "job", "keepAlive": False, "pool": pool}
    client.create_job(body={"id": name, "poolInfo": {"autoPoolSpecification": auto}})
    found = client.get_job(name)
    assert found.execution_info.pool_id.startswith("auto")
    assert found.pool_info.pool_id is None
    assert found.pool_info.auto_pool_specification.pool.vm_size == "standard_d2s_v3"
    assert client.get_pool(found.execution_info.pool_id).target_dedicated_nodes == 1
    client.begin("terminate_job", name)
    until(lambda: client.exists("pool_exists", found.execution_info.pool_id) is False)


def test_tasks_of_a_job_are_counted(client, shared, name):
    client.create_job(body=job(name, shared))
    client.create_task(name, body=task("good"))
    client.create_task(name, body=task("bad", "exit 1", requiredSlots=2))
    until(lambda: client.get_job_task_counts(name).task_counts.completed == 2)
    found = client.get_job_task_counts(name)
    tasks, slots = found.task_counts, found.task_slot_counts
    assert (tasks.active, tasks.running, tasks.succeeded, tasks.failed) == (0, 0, 1, 1)
    assert (slots.completed, slots.succeeded, slots.failed) == (3, 1, 2)


def test_statistics_of_a_job_are_expanded(client, shared, name):
    client.create_job(body=job(name, shared))
    client.create_task(name, body=task("t", "sleep 30"))
    until(lambda: client.get_task(name, "t").state == "completed")
    found = client.get_job(name, expand="stats")
    stats = either(found, "stats", "job_statistics")
    assert int(either(stats, "num_succeeded_tasks", "succeeded_tasks_count")) == 1
    assert stats.wall_clock_time >= timedelta(seconds=30)


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"priority": 2000}, 400, "OutOfRangePriority"),
        ({"id": "not an id!"}, 400, "InvalidPropertyValue"),
        ({"constraints": {"maxTaskRetryCount": -2}}, 400, "InvalidConstraintValue"),
        ({"maxParallelTasks": 0}, 400, "InvalidPropertyValue"),
    ],
)
def test_a_job_that_cannot_be_is_refused(client, shared, change, status, code):
    found = refused(client.create_job, body=job("refused", shared) | change)
    assert (found.status, found.code) == (status, code), found


def test_a_job_is_refused_twice(client, shared, name):
    client.create_job(body=job(name, shared))
    found = refused(client.create_job, body=job(name.upper(), shared))
    assert (found.status, found.code) == (409, "JobExists")
    assert found.message.splitlines()[0] == "The specified job already exists."
