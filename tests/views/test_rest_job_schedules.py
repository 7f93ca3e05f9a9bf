"""Job schedules as the service returns them, and in the report: JS-7, GEN-6, STAT-1."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from azure.batch import models

from engine.views import results
from tests.builders import a_line, do, run_to, run_to_end, simulation

ACCOUNT = "https://batchdeck.westeurope.batch.azure.com"


def nightly(minutes=20, **schedule):
    """Make a schedule called nightly whose jobs take so many minutes."""
    manager = {"id": "boss"} | a_line(minutes * 60)
    return {
        "id": "nightly",
        "schedule": schedule,
        "jobSpecification": {"poolInfo": {"poolId": "p"}, "jobManagerTask": manager},
    }


def body(sim):
    (found,) = results.document(sim)["jobSchedules"]
    return found


def info(sim):
    return body(sim)["executionInfo"]


def test_gen_6_a_new_schedule_has_no_previous_state():
    sim = simulation(jobSchedules=[nightly(doNotRunUntil="2026-01-05T09:00:00Z")])
    run_to(sim, minutes=5)
    new = body(sim)
    assert new["url"] == f"{ACCOUNT}/jobschedules/nightly"
    assert new["creationTime"] == new["lastModified"] == new["stateTransitionTime"] == "2026-01-05T08:00:00Z"
    assert new["state"] == "active"
    assert not {"previousState", "previousStateTransitionTime"} & set(new)


def test_gen_6_last_modified_ignores_the_jobs_of_a_schedule():
    sim = simulation(jobSchedules=[nightly(recurrenceInterval="PT1H")])
    run_to(sim, minutes=90)
    assert body(sim)["lastModified"] == "2026-01-05T08:00:00Z"
    do(sim, "disableJobSchedule", jobScheduleId="nightly")
    changed = body(sim)
    assert changed["lastModified"] == changed["stateTransitionTime"] == "2026-01-05T09:30:00.001Z"
    assert (changed["state"], changed["previousState"]) == ("disabled", "active")
    assert changed["previousStateTransitionTime"] == "2026-01-05T08:00:00Z"


def test_js_7_next_run_time_and_recent_job():
    sim = simulation(jobSchedules=[nightly(doNotRunUntil="2026-01-05T09:00:00Z", recurrenceInterval="PT1H")])
    run_to(sim, minutes=5)
    assert info(sim) == {"nextRunTime": "2026-01-05T09:00:00Z"}
    run_to(sim, minutes=130)
    assert info(sim) == {
        "nextRunTime": "2026-01-05T11:00:00Z",
        "recentJob": {"id": "nightly:job-2", "url": f"{ACCOUNT}/jobs/nightly:job-2"},
    }


def test_js_7_next_run_time_goes_by_the_clock_while_a_job_keeps_the_schedule_waiting():
    sim = simulation(jobSchedules=[nightly(minutes=500, recurrenceInterval="PT1H")])
    for hours in (1, 2, 3):
        run_to(sim, minutes=60 * hours - 1)
        assert info(sim)["nextRunTime"] == f"2026-01-05T{8 + hours:02}:00:00Z"


def test_js_7_a_disabled_schedule_keeps_its_next_run_time():
    sim = simulation(jobSchedules=[nightly(recurrenceInterval="PT1H")])
    run_to(sim, minutes=5)
    do(sim, "disableJobSchedule", jobScheduleId="nightly")
    assert info(sim)["nextRunTime"] == "2026-01-05T09:00:00Z"


@pytest.mark.parametrize("ends_by", ["itself", "terminate"])
def test_js_13_a_schedule_that_is_over_has_an_end_time_and_no_next_run_time(ends_by):
    sim = simulation(jobSchedules=[nightly(recurrenceInterval="PT1H", doNotRunAfter="2026-01-05T08:30:00Z")])
    run_to(sim, minutes=5)
    if ends_by == "terminate":
        do(sim, "terminateJobSchedule", jobScheduleId="nightly")
        assert "nextRunTime" not in info(sim)
    run_to_end(sim)
    assert info(sim) == {
        "recentJob": {"id": "nightly:job-1", "url": f"{ACCOUNT}/jobs/nightly:job-1"},
        "endTime": "2026-01-05T08:30:00Z" if ends_by == "itself" else "2026-01-05T08:05:02.001Z",
    }


def test_stat_1_of_a_schedule_are_those_of_its_jobs_together():
    sim = simulation(jobSchedules=[nightly(recurrenceInterval="PT1H", doNotRunAfter="2026-01-05T10:00:00Z")])
    run_to_end(sim)
    jobs = [job["stats"] for job in results.document(sim)["jobs"]]
    stats = body(sim)["stats"]
    assert len(jobs) == 3
    assert stats["numSucceededTasks"] == "3"
    assert stats["wallClockTime"] == "PT1H3S"
    assert jobs[0]["wallClockTime"] == "PT20M1S"
    assert stats["url"] == f"{ACCOUNT}/jobschedules/nightly/lifetimejobschedulestats"


def test_js_1_the_client_library_reads_it():
    sim = simulation(jobSchedules=[nightly(recurrenceInterval="PT1H") | {"displayName": "each hour"}])
    run_to(sim, minutes=70)
    answer = models.BatchJobSchedule(json.loads(json.dumps(body(sim))))
    assert (answer.id, answer.display_name, answer.state) == ("nightly", "each hour", "active")
    assert answer.schedule.recurrence_interval == timedelta(hours=1)
    assert answer.job_specification.job_manager_task.id == "boss"
    assert answer.execution_info.next_run_time == datetime(2026, 1, 5, 10, tzinfo=UTC)
    assert answer.execution_info.recent_job.id == "nightly:job-2"
    assert answer.job_schedule_statistics.succeeded_tasks_count == 1


def test_the_document_in_pieces_has_the_schedules_too():
    sim = simulation(jobSchedules=[nightly()])
    run_to_end(sim)
    assert json.loads("".join(results.json_text(sim))) == results.document(sim)


def test_the_report_tells_jobs_and_missed_occurrences():
    sim = simulation(jobSchedules=[nightly(minutes=90, recurrenceInterval="PT1H", startWindow="PT10M")])
    run_to(sim, minutes=200)
    (row,) = results.summary(sim).job_schedules
    assert (row.schedule_id, row.state_word, row.record.jobs_made, row.missed) == ("nightly", "active", 2, 2)
    assert (row.recent_job, row.next_run_ms) == ("nightly:job-2", 240 * 60_000)
    do(sim, "deleteJobSchedule", jobScheduleId="nightly")
    run_to(sim, minutes=210)
    (row,) = results.summary(sim).job_schedules
    assert (row.state_word, row.next_run_ms) == ("deleted", None)
