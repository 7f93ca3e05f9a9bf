"""Jobs over REST."""

from __future__ import annotations

import json

import pytest

from tests.builders import a_job, a_line, a_pool, a_task, run, run_to
from tests.rest.wire import signed

JOB = {"id": "Risk", "poolInfo": {"poolId": "p"}}


@pytest.fixture
def batch(account):
    """An account with a pool that has a node."""
    batch = account(pool=a_pool())
    run(batch.simulation, minutes=5)
    return batch


def test_a_created_job_is_active_with_its_defaults(batch):
    created = batch.post("/jobs", JOB)
    assert (created.status, created.headers["Location"]) == (201, "http://127.0.0.1:8100/jobs/Risk")
    found = batch.get("/jobs/risk").json
    assert (found["id"], found["state"], found["priority"]) == ("Risk", "active", 0)
    assert found["constraints"] == {"maxWallClockTime": "P10675199DT2H48M5.4775807S", "maxTaskRetryCount": 0}
    assert (found["onAllTasksComplete"], found["executionInfo"]["poolId"]) == ("noaction", "p")


def test_tasks_of_a_scenario_do_not_count_in_a_body_of_the_service(batch):
    body = JOB | {"tasks": [a_task()], "taskFactory": {"type": "taskPerFile"}}
    assert batch.post("/jobs", body).status == 201
    assert batch.get("/jobs/risk/tasks").ids == []


def test_numbers_and_booleans_may_be_text_and_names_have_any_case(batch):
    body = {"ID": "a", "PoolInfo": {"poolid": "p"}, "priority": "5", "usesTaskDependencies": "True"}
    body |= {"onAllTasksComplete": "TerminateJob", "constraints": {"maxTaskRetryCount": "2", "maxWallClockTime": "P1M"}}
    assert batch.post("/jobs", body | {"displayName": None, "unheardOf": {"of": 1}}).status == 201
    found = batch.get("/jobs/a").json
    assert (found["priority"], found["usesTaskDependencies"]) == (5, True)
    assert found["onAllTasksComplete"] == "terminatejob"
    assert found["constraints"] == {"maxTaskRetryCount": 2, "maxWallClockTime": "P30D"}


def test_a_patch_replaces_each_property_as_a_whole(batch):
    batch.post("/jobs", JOB | {"priority": 3, "constraints": {"maxTaskRetryCount": 2}})
    before = batch.get("/jobs/risk").json
    patched = batch.patch("/jobs/risk", {"constraints": {"maxWallClockTime": "PT1H"}})
    assert patched.status == 200
    found = batch.get("/jobs/risk").json
    assert found["constraints"] == {"maxWallClockTime": "PT1H", "maxTaskRetryCount": 0}
    assert found["priority"] == 3
    assert found["eTag"] == patched.headers["ETag"] != before["eTag"]


def test_a_put_resets_what_it_does_not_name(batch):
    batch.post("/jobs", JOB | {"priority": 3, "metadata": [{"name": "a", "value": "b"}]})
    assert batch.put("/jobs/risk", {"poolInfo": {"poolId": "P"}}).status == 409
    assert batch.put("/jobs/risk", {"poolInfo": {"poolId": "p"}}).status == 200
    found = batch.get("/jobs/risk").json
    assert (found["priority"], "metadata" in found) == (0, False)


def test_a_job_as_it_was_returned_can_be_put_back(batch):
    batch.post("/jobs", JOB | {"priority": 3})
    body = batch.get("/jobs/risk").json
    assert batch.put("/jobs/risk", body | {"priority": 4}).status == 200
    assert batch.get("/jobs/risk").json["priority"] == 4


def test_disable_and_enable_pass_through_their_states(batch):
    batch.post("/jobs", JOB)
    missing = batch.post("/jobs/risk/disable", {})
    assert (missing.status, missing.code) == (400, "MissingRequiredProperty")
    assert batch.post("/jobs/risk/disable", {"disableTasks": "Requeue"}).status == 202
    assert batch.get("/jobs/risk").json["state"] == "disabling"
    run(batch.simulation, minutes=1)
    assert batch.get("/jobs/risk").json["state"] == "disabled"
    assert batch.post("/jobs/risk/enable").status == 202
    assert batch.get("/jobs/risk").json["state"] == "enabling"
    run(batch.simulation, minutes=1)
    assert batch.get("/jobs/risk").json["state"] == "active"


def test_terminate_takes_a_reason_or_no_body_at_all(batch):
    for job_id, body, reason in (("a", None, "UserTerminate"), ("b", {"terminateReason": "enough"}, "enough")):
        batch.post("/jobs", JOB | {"id": job_id})
        assert batch.post(f"/jobs/{job_id}/terminate", body).status == 202
        assert batch.get(f"/jobs/{job_id}").json["state"] == "terminating"
        run(batch.simulation, minutes=1)
        found = batch.get(f"/jobs/{job_id}").json
        assert (found["state"], found["executionInfo"]["terminateReason"]) == ("completed", reason)


def test_a_deleted_job_is_deleting_then_gone(batch):
    batch.post("/jobs", JOB)
    assert batch.delete("/jobs/risk", force="true").status == 202
    assert batch.get("/jobs/risk").json["state"] == "deleting"
    run(batch.simulation, minutes=1)
    assert batch.get("/jobs/risk").code == "JobNotFound"


def test_preparation_and_release_are_listed_node_by_node(account):
    job = a_job(tasks=4, prep=a_line(9), release=a_line(9))
    batch = account(job, pool=a_pool(nodes=2))
    path = "/jobs/j/jobpreparationandreleasetaskstatus"
    run(batch.simulation, seconds=1)
    assert batch.get(path).json["value"] == []
    run_to(batch.simulation, minutes=10)
    batch.post("/jobs/j/terminate")
    run(batch.simulation, minutes=1)
    entries = batch.get(path).json["value"]
    assert len(entries) == 2
    assert entries[0]["jobPreparationTaskExecutionInfo"]["result"] == "success"
    assert entries[0]["jobReleaseTaskExecutionInfo"]["state"] == "completed"
    node = entries[1]["nodeId"]
    (only,) = batch.get(path, _filter=f"nodeId eq '{node}'", _select="nodeId,poolId").json["value"]
    assert only == {"nodeId": node, "poolId": "p"}
    page = batch.get(path, maxresults=1).json
    assert len(page["value"]) == 1
    assert len(batch.follow(page["odata.nextLink"]).json["value"]) == 1


def test_a_job_without_preparation_and_release_has_no_status(batch):
    batch.post("/jobs", JOB)
    refused = batch.get("/jobs/risk/jobpreparationandreleasetaskstatus")
    assert (refused.status, refused.code) == (409, "JobPreparationTaskNotSpecified")


def test_tasks_are_counted_by_state(account):
    batch = account(a_job(tasks=[a_task("a"), a_task("b", exit_code=1), a_task("c", 3600)]))
    run(batch.simulation, minutes=10)
    found = batch.get("/jobs/j/taskcounts").json
    assert found["taskCounts"] == {"active": 0, "running": 1, "completed": 2, "succeeded": 1, "failed": 1}
    assert set(found) == {"odata.metadata", "taskCounts", "taskSlotCounts"}


def test_statistics_of_a_job_count_what_its_tasks_have_used(account):
    batch = account(a_job(tasks=2))
    run(batch.simulation, minutes=10)
    assert batch.get("/jobs/j", _expand="stats").json["stats"]["numSucceededTasks"] == "2"
    (listed,) = batch.get("/jobs", _expand="stats", _select="stats").json["value"]
    assert listed["stats"]["numSucceededTasks"] == "2"


def test_schedules_are_created_changed_and_their_jobs_listed(batch):
    schedule = {
        "id": "nightly",
        "schedule": {"recurrenceInterval": "PT1H"},
        "jobSpecification": {"poolInfo": {"poolId": "p"}, "onAllTasksComplete": "noaction"},
    }
    created = batch.post("/jobschedules", schedule)
    assert (created.status, created.headers["Location"]) == (201, "http://127.0.0.1:8100/jobschedules/nightly")
    run(batch.simulation, minutes=1)
    assert batch.get("/jobschedules/nightly/jobs").ids == ["nightly:job-1"]
    assert batch.get("/jobs/nightly%3Ajob-1").json["id"] == "nightly:job-1"
    found = batch.get("/jobschedules/nightly").json
    assert found["executionInfo"]["recentJob"]["url"] == "http://127.0.0.1:8100/jobs/nightly:job-1"
    assert batch.patch("/jobschedules/nightly", {"schedule": {"recurrenceInterval": "PT2H"}}).status == 200
    assert batch.post("/jobschedules/nightly/disable").status == 204
    assert batch.get("/jobschedules/nightly").json["state"] == "disabled"
    assert batch.post("/jobschedules/nightly/enable").status == 204
    assert batch.put("/jobschedules/nightly", {"jobSpecification": schedule["jobSpecification"]}).status == 200
    assert "recurrenceInterval" not in batch.get("/jobschedules/nightly").json["schedule"]
    assert batch.head("/jobschedules/nightly").status == 200
    assert batch.get("/jobschedules", _expand="stats").json["value"][0]["stats"]
    assert batch.post("/jobschedules/nightly/terminate").status == 202
    run(batch.simulation, minutes=1)
    assert batch.delete("/jobschedules/nightly").status == 202
    run(batch.simulation, minutes=1)
    assert batch.head("/jobschedules/nightly").status == 404


@pytest.mark.parametrize("pool_info", ["p", 1, [], [{}]])
def test_a_job_is_not_replaced_by_one_whose_pool_info_is_no_object(account, pool_info):
    batch = account(a_job())
    run(batch.simulation, seconds=1)
    refused = batch.put("/jobs/j", {"poolInfo": pool_info})
    assert (refused.status, refused.code) == (400, "InvalidPropertyValue")


@pytest.mark.parametrize("version", ["2017-09-01.6.0", "2019-08-01.10.0", "2020-03-01.11.0", "2020-09-01.12.0"])
def test_gen_15_api_versions_without_task_slots_have_their_own_words(account, version):
    batch = account(a_job(tasks=3), pool=a_pool(taskSlotsPerNode=4))
    batch.simulation.run_until(0)

    def got(path):
        answer = batch.service.answer(signed("GET", path, f"api-version={version}", b"", {}))
        return json.loads(answer.body)

    counts, pool, (listed,) = got("/jobs/j/taskcounts"), got("/pools/p"), got("/pools")["value"]
    if version < "2020-09":
        assert (counts["active"], counts["completed"], "taskCounts" in counts) == (3, 0, False)
        assert [each["maxTasksPerNode"] for each in (pool, listed)] == [4, 4]
    else:
        assert (counts["taskCounts"]["active"], pool["taskSlotsPerNode"]) == (3, 4)
