"""Tasks over REST."""

from __future__ import annotations

import pytest

from tests.builders import a_job, a_line, a_pool, a_task, run

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
