"""Tasks over REST."""

from __future__ import annotations

import pytest

from tests.builders import a_job, a_line, a_pool, a_task, mpi_pool, run, together

TASK = {"id": "T1", "commandLine": "/bin/sh -c 'echo hello'"}


@pytest.fixture
def batch(account):
    """An account with a job on a pool that has a node."""
    batch = account(a_job(tasks=0))
    run(batch.simulation, minutes=5)
    return batch


def test_a_created_task_runs(batch):
    created = batch.post("/jobs/j/tasks", TASK)
    assert (created.status, created.headers["Location"]) == (201, "http://127.0.0.1:8100/jobs/j/tasks/T1")
    found = batch.get("/jobs/j/tasks/t1").json
    assert (found["id"], found["state"]) == ("T1", "active")
    assert found["executionInfo"] == {"retryCount": 0, "requeueCount": 0}
    run(batch.simulation, minutes=1)
    done = batch.get("/jobs/j/tasks/t1").json
    assert (done["state"], done["executionInfo"]["exitCode"]) == ("completed", 0)
    assert done["nodeInfo"]["nodeUrl"].startswith("http://127.0.0.1:8100/pools/p/nodes/tvmps_")
    assert done["nodeInfo"]["taskRootDirectoryUrl"].startswith(done["nodeInfo"]["nodeUrl"])
    assert done["eTag"] == found["eTag"] == created.headers["ETag"]


def test_an_address_of_the_account_in_a_command_line_stays_as_it_was_written(batch):
    line = 'curl https://batchdeck.westeurope.batch.azure.com/pools # {"url":"https://batchdeck.westeurope'
    batch.post("/jobs/j/tasks", TASK | {"commandLine": line})
    assert batch.get("/jobs/j/tasks/t1").json["commandLine"] == line


def test_a_task_that_exists_is_not_created_again(batch):
    batch.post("/jobs/j/tasks", TASK)
    again = batch.post("/jobs/j/tasks", TASK | {"id": "t1"})
    assert (again.status, again.code) == (409, "TaskExists")


@pytest.mark.parametrize(
    ("path", "code"),
    [("/jobs/k/tasks/t", "JobNotFound"), ("/jobs/j/tasks/t", "TaskNotFound"), ("/jobs/k/tasks", "JobNotFound")],
)
def test_what_does_not_exist_is_named(batch, path, code):
    missing = batch.get(path)
    assert (missing.status, missing.code) == (404, code)


def test_a_body_may_say_what_the_task_does(batch):
    """``simulate`` is no property of the service, so no client library sends it; a test may."""
    batch.post("/jobs/j/tasks", TASK | a_line(600, exit_code=3))
    run(batch.simulation, minutes=11)
    assert batch.get("/jobs/j/tasks/t1").json["executionInfo"]["exitCode"] == 3
    wrong = batch.post("/jobs/j/tasks", TASK | {"id": "t2", "simulate": {"does": [{"fly": {}}]}})
    assert (wrong.status, wrong.code) == (400, "InvalidRequestBody")


def test_constraints_are_replaced(batch):
    batch.post("/jobs/j/tasks", TASK | {"constraints": {"maxTaskRetryCount": 2}})
    assert batch.put("/jobs/j/tasks/t1", {"constraints": {"retentionTime": "PT1H"}}).status == 200
    found = batch.get("/jobs/j/tasks/t1").json["constraints"]
    assert found == {"maxWallClockTime": "P10675199DT2H48M5.4775807S", "retentionTime": "PT1H", "maxTaskRetryCount": 0}


def test_a_task_is_terminated_reactivated_and_deleted(batch):
    batch.post("/jobs/j/tasks", TASK | a_line(3600))
    run(batch.simulation, minutes=1)
    assert batch.post("/jobs/j/tasks/t1/terminate").status == 204
    assert batch.get("/jobs/j/tasks/t1").json["state"] == "completed"
    again = batch.post("/jobs/j/tasks/t1/terminate")
    assert (again.status, again.code) == (409, "TaskCompleted")
    assert batch.post("/jobs/j/tasks/t1/reactivate").status == 204
    assert batch.get("/jobs/j/tasks/t1").json["state"] in ("active", "running")
    assert batch.delete("/jobs/j/tasks/t1").status == 200
    assert batch.get("/jobs/j/tasks/t1").status == 404


def test_previous_states_are_those_of_the_log(account):
    batch = account(a_job(tasks=[a_task(f"t{number}", 90) for number in range(3)]), pool=a_pool(nodes=1))
    listed = {}
    for _ in range(10):
        run(batch.simulation, seconds=45)
        listed = {task["id"]: task for task in batch.get("/jobs/j/tasks").json["value"]}
        for task_id, task in listed.items():
            found = batch.get(f"/jobs/j/tasks/{task_id}").json
            assert {name: found[name] for name in task} == task
    assert {task["previousState"] for task in listed.values()} == {"running"}


def test_gen_6_an_update_changes_the_entity_tag_and_running_does_not(batch):
    batch.post("/jobs/j/tasks", TASK | a_line(3600))
    created = batch.get("/jobs/j/tasks/t1").json
    run(batch.simulation, minutes=5)
    running = batch.get("/jobs/j/tasks/t1").json
    assert (running["state"], running["eTag"]) == ("running", created["eTag"])
    constraints = {"constraints": {"retentionTime": "PT1H"}}
    updated = batch.request("PUT", "/jobs/j/tasks/t1", constraints, headers={"If-Match": created["eTag"]})
    assert updated.headers["ETag"] != created["eTag"]
    found = batch.get("/jobs/j/tasks/t1")
    assert found.headers["ETag"] == found.json["eTag"] == updated.headers["ETag"]
    assert found.json["lastModified"] > found.json["creationTime"] == created["creationTime"]
    assert batch.get("/jobs/j/tasks").json["value"][0]["eTag"] == found.json["eTag"]
    again = batch.request("PUT", "/jobs/j/tasks/t1", constraints, headers={"If-Match": created["eTag"]})
    assert (again.status, again.code) == (412, "ConditionNotMet")


def test_task_3_each_task_of_a_collection_is_added_or_refused_by_itself(batch):
    batch.post("/jobs/j/tasks", TASK)
    line = {"commandLine": "work"}
    value = [{"id": "b"} | line, {"id": "t1"} | line, {"id": "a"} | line, {"id": "A"} | line, {"id": "?!"} | line]
    value += [{"id": "c"}, {"id": "d", "requiredSlots": "2"} | line]
    added = batch.post("/jobs/j/addtaskcollection", {"value": value})
    results = added.json["value"]
    assert added.status == 200
    assert [(result["taskId"], result["status"]) for result in results] == [
        ("b", "Success"),
        ("t1", "clienterror"),
        ("a", "Success"),
        ("A", "clienterror"),
        ("?!", "clienterror"),
        ("c", "clienterror"),
        ("d", "Success"),
    ]
    codes = [result["error"]["code"] for result in results if "error" in result]
    assert codes == ["TaskExists", "TaskExists", "InvalidPropertyValue", "MissingRequiredProperty"]
    found = batch.get("/jobs/j/tasks/a")
    assert found.json["eTag"] == results[2]["eTag"]
    assert found.json["lastModified"] == results[2]["lastModified"]
    assert found.json["url"] == results[2]["location"]
    assert batch.get("/jobs/j/tasks").ids == ["T1", "b", "a", "d"]


def test_task_3_a_collection_has_at_most_a_hundred_tasks(batch):
    tasks = [{"id": f"t{number}", "commandLine": "work"} for number in range(101)]
    refused = batch.post("/jobs/j/addtaskcollection", {"value": tasks})
    assert (refused.status, refused.code) == (413, "RequestBodyTooLarge")
    assert batch.get("/jobs/j/tasks").ids == []
    added = batch.post("/jobs/j/addtaskcollection", {"value": tasks[1:]}).json["value"]
    assert {result["status"] for result in added} == {"Success"}
    assert len(batch.get("/jobs/j/tasks").ids) == 100


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "MissingRequiredProperty"),
        ({"value": {}}, "InvalidRequestBody"),
        ({"value": [1]}, "InvalidRequestBody"),
        ({"value": [{"commandLine": "work"}]}, "MissingRequiredProperty"),
        ({"value": [{"id": 17, "commandLine": "work"}]}, "InvalidPropertyValue"),
    ],
)
def test_a_collection_that_names_no_tasks_is_refused_as_a_whole(batch, body, code):
    refused = batch.post("/jobs/j/addtaskcollection", body)
    assert (refused.status, refused.code) == (400, code)


def test_a_collection_for_a_job_that_takes_no_tasks_is_refused(batch):
    value = [{"id": "a", "commandLine": "work"}]
    assert batch.post("/jobs/k/addtaskcollection", {"value": value}).code == "JobNotFound"
    batch.post("/jobs/j/terminate")
    assert batch.post("/jobs/j/addtaskcollection", {"value": value}).status == 409
    assert batch.post("/jobs/j/addtaskcollection", {"value": [{"id": "a"}]}).status == 409


def test_mi_7_subtasks_are_listed_by_number(account):
    several = together("m", 3, 600)
    batch = account(a_job(tasks=[several, a_task("single")]), pool=mpi_pool(3))
    run(batch.simulation, seconds=1)
    assert batch.get("/jobs/j/tasks/m/subtasksinfo").json["value"] == []
    run(batch.simulation, minutes=8)
    subtasks = batch.get("/jobs/j/tasks/m/subtasksinfo").json["value"]
    assert [subtask["id"] for subtask in subtasks] == [1, 2]
    assert subtasks[0]["nodeInfo"]["nodeUrl"].startswith("http://127.0.0.1:8100/pools/p/nodes/tvmps_")
    chosen = batch.get("/jobs/j/tasks/m/subtasksinfo", _select="id,state").json["value"]
    assert set(chosen[0]) == {"id", "state"}
    assert batch.get("/jobs/j/tasks/single/subtasksinfo").json["value"] == []
    assert batch.get("/jobs/j/tasks/x/subtasksinfo").code == "TaskNotFound"
