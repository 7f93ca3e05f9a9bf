"""Job schedules through a client library."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.clients.sdk.speaker import either, refused, until


def schedule(name, pool_id, every="PT10M", **more):
    specification = {"poolInfo": {"poolId": pool_id}, "onAllTasksComplete": "terminatejob"}
    manager = {"id": "manager", "commandLine": "/bin/sh -c 'sleep 20'", "killJobOnCompletion": True}
    return {
        "id": name,
        "schedule": {"recurrenceInterval": every, "startWindow": "PT5M"},
        "jobSpecification": {**specification, "jobManagerTask": manager},
        **more,
    }


def in_state(client, name, state):
    return until(lambda: client.get_job_schedule(name).state == state and client.get_job_schedule(name), state)


def test_a_job_schedule_creates_jobs(client, shared, name):
    assert client.exists("job_schedule_exists", name) is False
    client.create_job_schedule(body=schedule(name, shared, displayName="nightly"))
    assert client.exists("job_schedule_exists", name) is True
    found = client.get_job_schedule(name)
    assert (found.id, found.state, found.display_name) == (name, "active", "nightly")
    assert found.schedule.recurrence_interval == timedelta(minutes=10)
    assert found.job_specification.job_manager_task.id == "manager"
    until(lambda: len(client.list_jobs_from_schedule(name)) >= 2)
    found = client.get_job_schedule(name, expand="stats")
    assert found.execution_info.next_run_time is not None
    assert found.execution_info.recent_job.id == f"{name}:job-2"
    assert found.execution_info.recent_job.url.endswith(f"/jobs/{name}:job-2")
    first = client.get_job(f"{name}:job-1")
    assert either(first.execution_info, "terminate_reason", "termination_reason") == "JMComplete"
    ended = client.list_jobs_from_schedule(name, filter="state eq 'completed'", select="id")
    assert f"{name}:job-1" in {each.id for each in ended}
    client.begin("terminate_job_schedule", name)


def test_a_job_schedule_is_listed_patched_and_replaced(client, shared, name):
    client.create_job_schedule(body=schedule(name, shared, metadata=[{"name": "a", "value": "1"}]))
    client.update_job_schedule(name, body={"schedule": {"recurrenceInterval": "PT1H"}})
    found = client.get_job_schedule(name)
    assert (found.schedule.recurrence_interval, len(found.metadata)) == (timedelta(hours=1), 1)
    assert found.schedule.start_window is None
    body = {"schedule": {"recurrenceInterval": "PT2H"}}
    body["jobSpecification"] = {"poolInfo": {"poolId": shared}, "priority": 3}
    client.replace_job_schedule(name, body=body)
    found = client.get_job_schedule(name)
    assert (found.job_specification.priority, found.metadata or []) == (3, [])
    assert found.job_specification.job_manager_task is None
    (listed,) = client.list_job_schedules(filter=f"id eq '{name}' and state eq 'active'", select="id,state")
    assert (listed.id, listed.job_specification) == (name, None)
    client.begin("delete_job_schedule", name)


def test_a_job_schedule_is_disabled_enabled_terminated_and_deleted(client, shared, name):
    client.create_job_schedule(body=schedule(name, shared, "PT1H"))
    client.disable_job_schedule(name)
    assert client.get_job_schedule(name).state == "disabled"
    client.enable_job_schedule(name)
    assert client.get_job_schedule(name).state == "active"
    client.begin("terminate_job_schedule", name)
    ended = in_state(client, name, "completed")
    assert ended.execution_info.end_time is not None
    late = refused(client.disable_job_schedule, name)
    assert (late.status, late.code) == (409, "JobScheduleCompleted")
    client.begin("delete_job_schedule", name)
    until(lambda: client.exists("job_schedule_exists", name) is False)
    missing = refused(client.get_job_schedule, name)
    assert (missing.status, missing.code) == (404, "JobScheduleNotFound")
    assert refused(client.list_jobs_from_schedule, name).code == "JobScheduleNotFound"


def test_a_job_schedule_for_one_moment_runs_once(client, shared, name):
    body = schedule(name, shared)
    body["schedule"] = {"doNotRunUntil": "2020-01-01T00:00:00Z"}
    client.create_job_schedule(body=body)
    until(lambda: client.list_jobs_from_schedule(name))
    in_state(client, name, "completed")
    assert [each.id for each in client.list_jobs_from_schedule(name)] == [f"{name}:job-1"]


@pytest.mark.parametrize(
    ("change", "status"),
    [({"id": "not an id!"}, 400), ({"schedule": {"recurrenceInterval": "PT10S"}}, 400)],
)
def test_a_job_schedule_that_cannot_be_is_refused(client, shared, change, status):
    assert refused(client.create_job_schedule, body=schedule("refused", shared) | change).status == status


def test_a_job_schedule_is_refused_twice(client, shared, name):
    client.create_job_schedule(body=schedule(name, shared, "PT1H"))
    found = refused(client.create_job_schedule, body=schedule(name, shared))
    assert (found.status, found.code) == (409, "JobScheduleExists")
    client.begin("delete_job_schedule", name)
