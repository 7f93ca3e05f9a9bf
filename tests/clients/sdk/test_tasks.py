"""Tasks through a client library."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.clients.sdk.bodies import job, pool, task
from tests.clients.sdk.speaker import refused, until


@pytest.fixture
def work(client, shared, name):
    """The id of a job for one test."""
    client.create_job(body=job(name, shared, usesTaskDependencies=True))
    return name


def in_state(client, work, name, state):
    return until(lambda: client.get_task(work, name).state == state and client.get_task(work, name), state)


def test_a_task_has_what_was_given_and_the_defaults_of_the_service(client, work):
    more = {
        "displayName": "a task",
        "environmentSettings": [{"name": "A", "value": "1"}],
        "resourceFiles": [{"httpUrl": "https://storage.blob.core.windows.net/in/data.csv", "filePath": "data.csv"}],
        "userIdentity": {"autoUser": {"scope": "task", "elevationLevel": "admin"}},
        "applicationPackageReferences": [{"applicationId": "pricer"}],
        "affinityInfo": {"affinityId": "TVM:nobody"},
    }
    client.create_task(work, body=task("t", "sleep 30", **more))
    found = client.get_task(work, "t")
    assert (found.id, found.display_name, found.state) == ("t", "a task", "active")
    assert found.command_line == '/bin/sh -c "sleep 30"'
    assert (found.required_slots, found.execution_info.retry_count, found.execution_info.requeue_count) == (1, 0, 0)
    assert found.constraints.retention_time == timedelta(days=7)
    assert found.constraints.max_task_retry_count == 0
    assert (found.environment_settings[0].name, found.resource_files[0].file_path) == ("A", "data.csv")
    assert found.user_identity.auto_user.elevation_level == "admin"
    assert found.affinity_info.affinity_id == "TVM:nobody"
    assert found.node_info is None
    assert found.url.endswith(f"/jobs/{work}/tasks/t")


def test_a_task_that_has_run_says_where_and_how(client, shared, work):
    client.create_task(work, body=task("t", "sleep 30"))
    running = in_state(client, work, "t", "running")
    assert running.node_info.pool_id == shared
    assert running.execution_info.end_time is None
    ended = in_state(client, work, "t", "completed")
    info = ended.execution_info
    assert (info.exit_code, info.result, info.failure_info, ended.previous_state) == (0, "success", None, "running")
    assert timedelta(seconds=30) <= info.end_time - info.start_time < timedelta(seconds=45)
    assert ended.state_transition_time >= info.end_time
    node = ended.node_info
    assert node.node_id in {each.id for each in client.list_nodes(shared)}
    assert node.task_root_directory == f"workitems/{work}/job-1/t"
    assert node.node_url.endswith(f"/pools/{shared}/nodes/{node.node_id}")
    assert node.task_root_directory_url.startswith(node.node_url + "/files/")


def test_a_task_that_fails_says_why(client, work):
    client.create_task(work, body=task("t", "echo no >&2; exit 7", constraints={"maxTaskRetryCount": 1}))
    info = in_state(client, work, "t", "completed").execution_info
    assert (info.exit_code, info.result, info.retry_count) == (7, "failure", 1)
    assert (info.failure_info.category.lower(), info.failure_info.code) == ("usererror", "FailureExitCode")
    assert info.failure_info.message
    assert [each.name for each in info.failure_info.details] == ["Message", "AdditionalErrorCode"]
    assert info.last_retry_time is not None


def test_a_task_ends_at_its_time_limit(client, work):
    client.create_task(work, body=task("t", "sleep 600", constraints={"maxWallClockTime": "PT1M"}))
    info = in_state(client, work, "t", "completed").execution_info
    assert (info.result, info.failure_info.code) == ("failure", "TaskEnded")
    assert info.end_time - info.start_time < timedelta(seconds=75)


def test_a_task_is_terminated_and_reactivated(client, work):
    client.create_task(work, body=task("t", "sleep 600"))
    active = refused(client.reactivate_task, work, "t")
    assert (active.status, active.code) == (409, "TaskNotCompleted")
    in_state(client, work, "t", "running")
    client.terminate_task(work, "t")
    ended = client.get_task(work, "t")
    assert (ended.state, ended.execution_info.failure_info.code) == ("completed", "TaskEnded")
    again = refused(client.terminate_task, work, "t")
    assert (again.status, again.code) == (409, "TaskCompleted")
    client.reactivate_task(work, "t")
    found = client.get_task(work, "t")
    assert found.state in ("active", "running")
    assert found.execution_info.retry_count == 0
    client.terminate_task(work, "t")
    client.create_task(work, body=task("good"))
    in_state(client, work, "good", "completed")
    good = refused(client.reactivate_task, work, "good")
    assert (good.status, good.code) == (409, "TaskSucceeded")


def test_constraints_of_a_task_are_replaced(client, work):
    client.create_task(work, body=task("t", "sleep 600", constraints={"maxTaskRetryCount": 3}))
    client.replace_task(work, "t", body={"constraints": {"maxWallClockTime": "PT1H"}})
    found = client.get_task(work, "t").constraints
    assert (found.max_wall_clock_time, found.max_task_retry_count) == (timedelta(hours=1), 0)
    client.terminate_task(work, "t")


def test_a_task_is_deleted(client, work):
    client.create_task(work, body=task("t", "sleep 600"))
    in_state(client, work, "t", "running")
    client.delete_task(work, "t")
    for call in (client.get_task, client.delete_task, client.terminate_task, client.list_task_files):
        missing = refused(call, work, "t")
        assert (missing.status, missing.code) == (404, "TaskNotFound"), call
    assert client.list_tasks(work) == []
    assert refused(client.list_tasks, "nobody").code == "JobNotFound"


def test_tasks_wait_for_those_they_depend_on(client, work):
    client.create_task(work, body=task("2", "sleep 30"))
    client.create_task(work, body=task("a", "sleep 30", dependsOn={"taskIds": ["2"]}))
    client.create_task(work, body=task("b", dependsOn={"taskIdRanges": [{"start": 2, "end": 2}]}))
    last = in_state(client, work, "a", "completed")
    first = client.get_task(work, "2")
    assert last.execution_info.start_time >= first.execution_info.end_time
    assert last.depends_on.task_ids == ["2"]
    (only,) = client.get_task(work, "b").depends_on.task_id_ranges
    assert (only.start, only.end) == (2, 2)


def test_a_failed_dependency_blocks_or_satisfies(client, work):
    satisfies = {"default": {"dependencyAction": "satisfy"}}
    client.create_task(work, body=task("kind", "exit 1", exitConditions=satisfies))
    client.create_task(work, body=task("hard", "exit 1"))
    client.create_task(work, body=task("runs", dependsOn={"taskIds": ["kind"]}))
    client.create_task(work, body=task("waits", dependsOn={"taskIds": ["hard"]}))
    in_state(client, work, "runs", "completed")
    assert client.get_task(work, "hard").state == "completed"
    assert client.get_task(work, "waits").state == "active"
    assert client.get_task(work, "kind").exit_conditions.default.dependency_action == "satisfy"


def test_many_tasks_are_added_and_listed_in_pages(client, work):
    added = client.add_tasks(work, [task(f"t{number:03}") for number in range(250)])
    assert sorted(each.task_id for each in added) == [f"t{number:03}" for number in range(250)]
    assert {each.status.lower() for each in added} == {"success"}
    sizes = client.page_sizes("list_tasks", work, max_results=100)
    assert sizes == [100, 100, 50]
    found = client.list_tasks(work, filter="startswith(id,'t00')", select="id,state")
    assert len(found) == 10
    assert found[0].command_line is None
    assert client.list_tasks(work, filter="executionInfo/exitCode ne 0 and state eq 'completed'") == []


def test_a_bad_task_does_not_spoil_the_others(client, work):
    client.create_task(work, body=task("known"))
    with pytest.raises(Exception, match=r"(?s)known|bad id") as caught:
        client.add_tasks(work, [task("known"), task("new"), task("bad id!")])
    failed = [(either.task_id, either.error.code) for either in _failures(caught.value)]
    assert ("bad id!", "InvalidPropertyValue") in failed
    assert {each.id for each in client.list_tasks(work)} >= {"known", "new"}


def _failures(error):
    return next(value for name in ("failures", "failure_tasks") if (value := getattr(error, name, None)))


def test_a_task_on_several_nodes_has_subtasks(client, name):
    client.create_pool(body=pool(name, 3, enableInterNodeCommunication=True))
    client.create_job(body=job(name, name))
    several = {"numberOfInstances": 3, "coordinationCommandLine": "/bin/sh -c 'echo ready'"}
    client.create_task(name, body=task("t", "sleep 30", multiInstanceSettings=several))
    in_state(client, name, "t", "completed")
    found = client.list_subtasks(name, "t")
    assert sorted(each.id for each in found) == [1, 2]
    assert {(each.state, each.exit_code, each.result) for each in found} == {("completed", 0, "success")}
    nodes = {each.node_info.node_id for each in found} | {client.get_task(name, "t").node_info.node_id}
    assert len(nodes) == 3
    client.create_task(name, body=task("plain"))
    assert client.list_subtasks(name, "plain") == []


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"id": "not an id!"}, 400, "InvalidPropertyValue"),
        ({"constraints": {"maxTaskRetryCount": -2}}, 400, "InvalidConstraintValue"),
        ({"requiredSlots": 0}, 400, "InvalidPropertyValue"),
        ({"dependsOn": {"taskIds": ["x" * 60] * 1100}}, 400, "TaskDependencyListTooLong"),
    ],
)
def test_a_task_that_cannot_be_is_refused(client, work, change, status, code):
    found = refused(client.create_task, work, body=task("t") | change)
    assert (found.status, found.code) == (status, code), found


def test_a_task_is_refused_twice(client, work):
    client.create_task(work, body=task("t"))
    found = refused(client.create_task, work, body=task("T"))
    assert (found.status, found.code) == (409, "TaskExists")
    assert refused(client.create_task, "nobody", body=task("t")).code == "JobNotFound"


def test_dependencies_need_a_job_that_has_them(client, shared, name):
    client.create_job(body=job(name, shared))
    found = refused(client.create_task, name, body=task("t", dependsOn={"taskIds": ["a"]}))
    assert found.code == "TaskDependenciesNotSpecifiedOnJob"
