"""Chapter 18: what is done to job schedules, and ids shared with jobs (GEN-2)."""

from __future__ import annotations

import pytest

from engine.base.values import HOUR_MS
from tests.builders import a_job, a_line, do, events, job_state, refusal, run, run_to, run_to_end, schedule_state
from tests.rules.schedules import a_schedule, at, ended, made, record


def test_js_6_disabled_it_makes_no_jobs_and_the_one_there_is_goes_on(start):
    sim = start(jobSchedules=[a_schedule(minutes=30, recurrenceInterval="PT1H")], until="PT3H")
    run_to(sim, minutes=10)
    do(sim, "disableJobSchedule", jobScheduleId="s")
    assert schedule_state(sim) == "disabled"
    run_to(sim, minutes=150)
    assert job_state(sim, "s:job-1") == "completed"
    assert list(made(sim)) == ["s:job-1"]


def test_js_6_past_its_end_a_disabled_schedule_stays_so_until_it_is_enabled(start):
    sim = start(jobSchedules=[a_schedule(recurrenceInterval="PT1H", doNotRunAfter=at("09:30"))])
    do(sim, "disableJobSchedule", jobScheduleId="s")
    run_to(sim, minutes=120)
    assert schedule_state(sim) == "disabled"
    do(sim, "enableJobSchedule", jobScheduleId="s")
    assert schedule_state(sim) == "completed"


def test_js_8_terminate_ends_the_active_job_and_then_the_schedule(start):
    sim = start(jobSchedules=[a_schedule(minutes=50, recurrenceInterval="PT1H")])
    run_to(sim, minutes=10)
    do(sim, "terminateJobSchedule", jobScheduleId="s")
    assert schedule_state(sim) == "terminating"
    run_to_end(sim)
    (job,) = events(sim, "JobStateChanged", to="completed")
    (schedule,) = events(sim, "JobScheduleStateChanged", to="completed")
    assert (job["reason"], schedule["rule"]) == ("TerminateJobSchedule", "JS-8")
    assert schedule["seq"] > job["seq"]
    assert list(made(sim)) == ["s:job-1"]


def test_js_8_terminate_waits_for_release_unless_it_is_forced(start):
    special = {"jobPreparationTask": a_line(10), "jobReleaseTask": a_line(600)}
    ends = []
    for force in (False, True):
        sim = start(jobSchedules=[a_schedule(minutes=50, job=special, recurrenceInterval="PT1H")])
        run_to(sim, minutes=10)
        do(sim, "terminateJobSchedule", jobScheduleId="s", force=force)
        run_to_end(sim)
        ends.append(ended(sim))
    assert ends[0] > 20
    assert ends[1] < 11


def test_js_8_terminate_without_a_job_takes_a_moment_too(start):
    sim = start(jobSchedules=[a_schedule(doNotRunUntil=at("12:00"))])
    do(sim, "terminateJobSchedule", jobScheduleId="s")
    assert schedule_state(sim) == "terminating"
    run(sim, seconds=2)  # TIME-19
    assert schedule_state(sim) == "completed"


def test_js_8_delete_takes_all_jobs_with_their_tasks_and_files(start):
    sim = start(jobSchedules=[a_schedule(minutes=20, recurrenceInterval="PT30M")])
    run_to(sim, minutes=70)
    assert len(made(sim)) == 3
    do(sim, "deleteJobSchedule", jobScheduleId="s")
    assert schedule_state(sim) == "deleting"
    run_to_end(sim)
    assert schedule_state(sim) is None
    assert not list(sim.world.jobs.present())
    gone = events(sim, "TaskStateChanged", to=None)
    assert [event["jobId"] for event in gone] == ["s:job-1", "s:job-2", "s:job-3"]
    (last,) = events(sim, "JobScheduleStateChanged", to=None)
    assert last["seq"] == len(events(sim))


def test_js_8_a_deleted_schedule_can_be_created_again(start):
    sim = start(jobSchedules=[a_schedule(minutes=1)])
    run_to(sim, minutes=10)
    do(sim, "deleteJobSchedule", jobScheduleId="s")
    run(sim, minutes=1)
    do(sim, "createJobSchedule", **a_schedule(minutes=1))
    run_to_end(sim)
    assert schedule_state(sim) == "completed"
    assert job_state(sim, "s:job-1") == "completed"


def test_js_9_an_update_is_for_jobs_made_afterwards(start):
    sim = start(jobSchedules=[a_schedule(recurrenceInterval="PT1H")], until="PT5H")
    run_to(sim, minutes=5)
    changed = a_schedule(job={"priority": 9})["jobSpecification"]
    do(sim, "updateJobSchedule", jobScheduleId="s", jobSpecification=changed)
    run_to(sim, minutes=65)
    assert [sim.world.jobs.find(job_id).priority for job_id in made(sim)] == [0, 9]
    do(sim, "updateJobSchedule", jobScheduleId="s", schedule={"recurrenceInterval": "PT2H"})
    run_to(sim, minutes=299)
    assert list(made(sim).values()) == [0, 60, 120, 240]  # the grid still begins at the creation


def test_js_9_what_is_not_given_stays(start):
    sim = start(jobSchedules=[a_schedule(recurrenceInterval="PT1H")], until="PT5H")
    do(sim, "updateJobSchedule", jobScheduleId="s", metadata=[{"name": "a", "value": "b"}])
    spec = record(sim).spec
    assert spec.schedule.recurrence_interval == HOUR_MS
    assert [item.name for item in spec.metadata] == ["a"]
    assert spec.job_specification.job_manager_task is not None


def test_js_9_a_schedule_that_has_made_its_only_job_can_be_given_another_time(start):
    sim = start(jobSchedules=[a_schedule(minutes=30)])
    run_to(sim, minutes=10)
    do(sim, "updateJobSchedule", jobScheduleId="s", schedule={"doNotRunUntil": at("10:00")})
    run_to_end(sim)
    assert list(made(sim).values()) == [0, 120]


@pytest.mark.parametrize("command", ["disable", "enable", "terminate", "delete", "update"])
def test_js_10_a_schedule_that_is_not_there(start, command):
    assert refusal(start(), f"{command}JobSchedule", jobScheduleId="s") == "JobScheduleNotFound"


def test_js_10_what_is_refused_in_which_state(start):
    def refused(sim):
        commands = ("disable", "enable", "terminate", "update")
        return [refusal(sim, f"{command}JobSchedule", jobScheduleId="s") for command in commands]

    sim = start(jobSchedules=[a_schedule(doNotRunUntil=at("12:00"))])
    assert refusal(sim, "createJobSchedule", **a_schedule("S")) == "JobScheduleExists"
    assert refusal(sim, "enableJobSchedule", jobScheduleId="s") == "OperationInvalidForCurrentState"
    do(sim, "disableJobSchedule", jobScheduleId="s")
    assert refusal(sim, "disableJobSchedule", jobScheduleId="s") == "JobScheduleDisabled"
    do(sim, "terminateJobSchedule", jobScheduleId="s")
    assert refused(sim) == ["JobScheduleBeingTerminated"] * 4
    run(sim, minutes=1)
    assert refused(sim) == ["JobScheduleCompleted"] * 4
    do(sim, "deleteJobSchedule", jobScheduleId="s")
    assert refused(sim) == ["JobScheduleBeingDeleted"] * 4
    assert refusal(sim, "deleteJobSchedule", jobScheduleId="s") == "JobScheduleBeingDeleted"


def test_gen_2_jobs_and_job_schedules_share_their_ids(start):
    sim = start(a_job("j"), jobSchedules=[a_schedule("s")])
    run(sim, seconds=1)
    assert refusal(sim, "createJobSchedule", **a_schedule("J")) == "JobWithSameIdExists"
    job = a_job("S")
    assert refusal(sim, "createJob", **job) == "JobScheduleWithSameIdExists"


def test_js_11_ids_count_up_whatever_has_become_of_the_jobs(start):
    sim = start(jobSchedules=[a_schedule(recurrenceInterval="PT1H")], until="PT3H")
    run_to(sim, minutes=30)
    do(sim, "deleteJob", jobId="s:job-1")
    run_to(sim, minutes=61)
    assert list(made(sim)) == ["s:job-1", "s:job-2"]
    assert job_state(sim, "s:job-1") is None


def test_js_11_a_user_cannot_take_such_an_id(start):
    assert refusal(start(), "createJob", **a_job("s:job-1")) == "InvalidPropertyValue"


def test_js_12_a_job_that_nobody_ends_blocks_the_rest_and_the_run_is_over(start):
    schedule = a_schedule(recurrenceInterval="PT1H") | {"jobSpecification": {"poolInfo": {"poolId": "p"}}}
    sim = start(jobSchedules=[schedule])
    run_to_end(sim)
    assert list(made(sim)) == ["s:job-1"]
    assert sim.finished
    assert sim.now_ms < HOUR_MS
    do(sim, "terminateJob", jobId="s:job-1")
    run(sim, minutes=119)
    assert list(made(sim).values())[1:] == [60.0]


def test_js_12_an_outside_process_may_fill_and_end_the_jobs(start):
    specification = {"poolInfo": {"poolId": "p"}}
    schedule = a_schedule(recurrenceInterval="PT1H", doNotRunAfter=at("09:00")) | {"jobSpecification": specification}
    timeline = [
        step
        for number in (1, 2)
        for step in (
            {
                "when": {"jobId": f"s:job-{number}", "state": "active"},
                "addTasks": {"jobId": f"s:job-{number}", "tasks": [{"id": "t"} | a_line(60)]},
            },
            {
                "when": {"jobId": f"s:job-{number}", "tasks": {"completed": 1}},
                "terminateJob": {"jobId": f"s:job-{number}"},
            },
        )
    ]
    sim = start(jobSchedules=[schedule], timeline=timeline)
    run_to_end(sim)
    assert [job_state(sim, job_id) for job_id in made(sim)] == ["completed"] * 2
    assert schedule_state(sim) == "completed"
