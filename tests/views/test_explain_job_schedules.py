"""Explanations of job schedules: no job now, the next job, the end."""

from engine import Simulation, load_scenario
from tests.builders import a_job, a_line, do, run, run_to, run_to_end, simulation
from tests.views.explaining import why_job_says, why_schedule_says


def a_schedule(minutes=10, job=None, **schedule):
    manager = {"id": "boss"} | a_line(minutes * 60)
    specification = {"poolInfo": {"poolId": "p"}, "jobManagerTask": manager} if job is None else job
    return {"id": "s", "schedule": schedule, "jobSpecification": specification}


def test_js_2_before_the_first():
    window = {"doNotRunUntil": "2026-01-05T09:00:00Z", "doNotRunAfter": "2026-01-05T12:00:00Z"}
    sim = simulation(jobSchedules=[a_schedule(**window)])
    run_to(sim, minutes=5)
    assert why_schedule_says(sim) == [
        "Why does job schedule s create no job now?",
        "✗ an occurrence is due  the next one at 09:00:00 [JS-4]",
        "✓ no active job         it has created none yet [JS-3]",
        "✓ quota                 1 of 300 active jobs and schedules [ACC-9]",
        "No job is created after 12:00:00. [JS-5]",
        "Next: the next job is due at 09:00:00 [JS-13]",
    ]


def test_js_3_an_occurrence_waits_for_the_job_before():
    sim = simulation(jobSchedules=[a_schedule(minutes=80, recurrenceInterval="PT1H", startWindow="PT30M")])
    run_to(sim, minutes=65)
    assert why_schedule_says(sim) == [
        "Why does job schedule s create no job now?",
        "✓ an occurrence is due  since 09:00:00, until 09:30:00 [JS-3]",
        "✗ no active job         s:job-1 has been active since 08:00:00 [JS-3]",
        "✓ quota                 2 of 300 active jobs and schedules [ACC-9]",
        "If this occurrence is lost, the next job is due at 10:00:00. [JS-13]",
        "Next: task boss of job s:job-1 ends on n0 at 09:20:51 [TASK-7]",
    ]


def test_js_15_an_occurrence_that_is_lost_before_the_job_ends():
    sim = Simulation(load_scenario("nightly-schedule-overruns"))
    run_to(sim, minutes=52 * 60 + 30)
    assert why_schedule_says(sim, "nightly-risk")[1:] == [
        "✓ an occurrence is due  since 01-07 22:00:00, until 01-08 01:00:00 [JS-3]",
        "✗ no active job         nightly-risk:job-2 has been active since 01-07 00:00:04 [JS-3]",
        "✓ quota                 2 of 300 active jobs and schedules [ACC-9]",
        "If this occurrence is lost, the next job is due at 01-08 22:00:00. [JS-13]",
        "No job is created after 01-09 12:00:00. [JS-5]",
        "Next: this occurrence is lost at 01-08 01:00:00 [JS-15]",
    ]


def test_js_3_what_has_been_missed():
    sim = simulation(jobSchedules=[a_schedule(minutes=500, recurrenceInterval="PT1H", startWindow="PT30M")])
    run_to(sim, minutes=95)
    assert why_schedule_says(sim)[1:] == [
        "✗ an occurrence is due  the next one at 10:00:00 [JS-13]",
        "✗ no active job         s:job-1 has been active since 08:00:00 [JS-3]",
        "✓ quota                 2 of 300 active jobs and schedules [ACC-9]",
        "1 occurrence created no job before its start window ended. The last was lost at 09:30:00. [JS-15]",
        "Next: the next job is due at 10:00:00 [JS-13]",
    ]
    run_to(sim, minutes=215)
    text = "3 occurrences created no job before their start window ended. The last was lost at 11:30:00. [JS-15]"
    assert text in why_schedule_says(sim)


def test_acc_9_short_of_quota():
    account = {"quotas": {"activeJobsAndSchedules": 2}}
    sim = simulation(a_job(), account=account, jobSchedules=[a_schedule()])
    run_to(sim, minutes=5)
    assert why_schedule_says(sim) == [
        "Why does job schedule s create no job now?",
        "✓ an occurrence is due  since 08:00:00 [JS-3]",
        "✓ no active job         it has created none yet [JS-3]",
        "✗ quota                 2 of 2 active jobs and schedules [ACC-9]",
        "It is created soon after a job or schedule has ended, or the quota is raised. [ACC-9]",
    ]


def test_js_12_nobody_ends_its_jobs():
    sim = simulation(jobSchedules=[a_schedule(job={"poolInfo": {"poolId": "p"}}, recurrenceInterval="PT1H")])
    run_to(sim, minutes=5)
    assert "Nothing ends its jobs. Until one ends, no other is created. [JS-12]" in why_schedule_says(sim)
    assert "Job schedule s creates no other job until it ends. [JS-3]" in why_job_says(sim, "s:job-1")


def test_jm_3_a_schedule_without_a_job_manager_is_taken_with_a_warning():
    job = {"poolInfo": {"poolId": "p"}, "onAllTasksComplete": "terminatejob"}
    sim = simulation(jobSchedules=[a_schedule(job=job, recurrenceInterval="PT1H")])
    run_to(sim, minutes=5)
    told = "Its jobs have no job manager task: without tasks each ends at once. [JM-3]"
    assert told in why_schedule_says(sim)


def test_js_13_disabled():
    sim = simulation(jobSchedules=[a_schedule(recurrenceInterval="PT1H")])
    run_to(sim, minutes=5)
    do(sim, "disableJobSchedule", jobScheduleId="s")
    run_to(sim, minutes=6)
    assert why_schedule_says(sim) == [
        "Why is job schedule s disabled?",
        "✗ enabled  disabled since 08:05:00 [JS-6]",
        "No job is created until it is enabled. Occurrences until then are skipped. [JS-13]",
        "If enabled by then, it creates the next job at 09:00:00. [JS-7]",
        "Job s:job-1 continues. [JS-6]",
    ]


def test_js_8_terminating_deleting_and_gone():
    release = {"jobPreparationTask": a_line(10), "jobReleaseTask": a_line(60)}
    job = a_schedule()["jobSpecification"] | release
    sim = simulation(jobSchedules=[a_schedule(job=job, recurrenceInterval="PT1H")])
    run_to(sim, minutes=5)
    do(sim, "terminateJobSchedule", jobScheduleId="s")
    run(sim, seconds=10)
    assert why_schedule_says(sim) == [
        "Why is job schedule s still terminating?",
        "✓ minimum time in this state  over [TIME-19]",
        "✗ its job has ended           1 job left, s:job-1 first [JS-8]",
        "Next: release ends on n0 at 08:06:01 [REL-6]",
    ]
    run(sim, minutes=2)
    assert why_schedule_says(sim) == [
        "Why has job schedule s ended?",
        "✓ ended       at 08:06:01, with 1 job created [JS-7]",
        "✗ terminated  at 08:05:00 [JS-8]",
    ]
    do(sim, "deleteJobSchedule", jobScheduleId="s")
    assert why_schedule_says(sim)[0] == "Why is job schedule s still deleting?"
    run(sim, minutes=1)
    assert why_schedule_says(sim) == ["Where is job schedule s?", "It has been deleted, with all its jobs. [JS-8]"]


def test_js_4_and_5_completed():
    told = []
    for schedule in (
        a_schedule(),
        a_schedule(doNotRunAfter="2026-01-05T09:30:00Z", recurrenceInterval="PT1H"),
    ):
        sim = simulation(jobSchedules=[schedule])
        run_to_end(sim)
        told.append(why_schedule_says(sim)[2])
    assert told == [
        "It was for one job, and that has ended. [JS-4]",
        "✗ doNotRunAfter  no job is created after 09:30:00, and none is left [JS-5]",
    ]


def test_acc_9_an_occurrence_that_is_due_waits_for_the_quota():
    sim = Simulation(load_scenario("a-quota-is-raised"))
    run_to(sim, minutes=10)
    assert why_schedule_says(sim, "hourly") == [
        "Why does job schedule hourly create no job now?",
        "✓ an occurrence is due  since 08:05:00, until 08:35:00 [JS-3]",
        "✓ no active job         it has created none yet [JS-3]",
        "✗ quota                 2 of 2 active jobs and schedules [ACC-9]",
        "It is created soon after a job or schedule has ended, or the quota is raised. [ACC-9]",
        "If this occurrence is lost, the next job is due at 09:05:00. [JS-13]",
        "Next: this occurrence is lost at 08:35:00 [JS-15]",
    ]
