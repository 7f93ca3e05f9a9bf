"""Explanations of jobs that have not ended, or are still ending."""

import pytest

from engine import Simulation, load_scenario
from engine.views.diagnosis.questions import explain, explain_oldest_wait
from tests.builders import READY_S, a_job, a_line, a_pool, do, node, run, run_to, run_to_end, simulation, some_tasks
from tests.views.explaining import why_job_says, why_node_says


def test_not_started():
    sim = simulation(a_job(tasks=2, onAllTasksComplete="terminatejob"), pool=a_pool(nodes=2))
    run_to(sim, seconds=30)
    assert why_job_says(sim) == [
        "Why has job j not started?",
        "✓ onAllTasksComplete     terminatejob [JOB-7]",
        "· tasks                  0 of 2 completed; 2 active, 0 preparing, 0 running [JOB-7]",
        "✗ nodes that take tasks  0 of 2 in pool p [SCHED-8]",
        "     2 nodes starting; soonest n0 at 08:00:50 [NODE-9]",
        "Next: n0 is no longer starting at 08:00:50 [NODE-9]",
    ]


def test_job_7_all_tasks_are_completed_and_the_job_goes_on():
    sim = simulation(a_job(constraints={"maxWallClockTime": "PT10M"}))
    run_to(sim, minutes=3)
    assert why_job_says(sim) == [
        "Why has job j not ended?",
        "✗ onAllTasksComplete     noaction [JOB-7]",
        "✓ tasks                  1 of 1 completed [JOB-7]",
        "✓ nodes that take tasks  1 of 1 in pool p [SCHED-8]",
        "Only a user or its time limit ends it. [JOB-7]",
        "Next: the job's time limit is reached at 08:10:00 [JOB-9]",
    ]


@pytest.mark.parametrize(
    ("command", "said", "rule"), [("terminateJob", "ends", "JOB-15"), ("deleteJob", "deletes", "JOB-16")]
)
def test_what_the_timeline_ends_needs_no_user(command, said, rule):
    tasks = some_tasks(4, seconds=600)
    sim = simulation(a_job(tasks=tasks), timeline=[{"at": "PT30M", command: {"jobId": "J"}}])
    run_to(sim, minutes=25)
    told = why_job_says(sim)
    assert f"The timeline {said} it at 08:30:00. [{rule}]" in told
    assert f"Next: the timeline {said} job j at 08:30:00 [{rule}]" in told
    assert f"Next: the timeline {said} job j at 08:30:00 [{rule}]" in why_node_says(sim)
    waits = {"when": {"jobId": "j", "tasks": {"completed": 3}}, command: {"jobId": "j"}}
    sim = simulation(a_job(tasks=tasks), timeline=[waits])
    run_to(sim, minutes=25)
    assert f"The timeline {said} it when its condition holds. [{rule}]" in why_job_says(sim)


def test_js_8_the_timeline_ends_a_job_with_its_schedule():
    specification = {"poolInfo": {"poolId": "p"}, "jobManagerTask": {"id": "manager", "killJobOnCompletion": False}}
    specification["jobManagerTask"] |= a_line(5)
    schedule = {"id": "daily", "schedule": {"recurrenceInterval": "P1D"}, "jobSpecification": specification}
    ends = {"at": "PT1H", "terminateJobSchedule": {"jobScheduleId": "daily"}}
    sim = simulation(jobSchedules=[schedule], timeline=[ends])
    run_to(sim, minutes=10)
    assert "The timeline ends it at 09:00:00. [JS-8]" in why_job_says(sim, "daily:job-1")


def test_job_9_a_time_limit_is_named_only_if_there_is_one():
    sim = simulation(a_job())
    run_to(sim, minutes=3)
    assert "Only a user ends it. [JOB-7]" in why_job_says(sim)


@pytest.mark.parametrize("kills", [True, False])
def test_jm_4_the_end_of_a_job_manager_task_may_end_the_job(kills):
    manager = {"id": "manager", "killJobOnCompletion": kills} | a_line(600)
    sim = simulation(a_job(tasks=[], jobManagerTask=manager))
    run_to(sim, minutes=3)
    said = why_job_says(sim)
    assert ("Its job manager task ends it when it completes. [JM-4]" in said) is kills
    assert ("Only a user ends it. [JOB-7]" in said) is not kills


def test_prep_9_an_ineligible_node_takes_no_tasks_and_is_no_good_sign():
    prep = {"commandLine": "prepare", "simulate": {"duration": 10, "onNode": {0: {"exitCode": 1}}}}
    sim = simulation(a_job(tasks=9, prep=prep), pool=a_pool(nodes=3))
    run_to(sim, minutes=3)
    said = why_job_says(sim)
    assert "✓ nodes that take tasks  2 of 3 in pool p [SCHED-8]" in said
    assert "· ineligible nodes       1 of 3: preparation failed there for good [PREP-9]" in said


def test_rel_7_a_completed_job_names_the_nodes_on_which_release_failed():
    sim = simulation(a_job(tasks=2, prep=a_line(5), release=a_line(5, 1), onAllTasksComplete="terminatejob"))
    run_to(sim, minutes=10)
    assert why_job_says(sim)[2] == "✗ release tasks  failed on n0 [REL-7]"


def test_prep_11_barred_everywhere():
    sim = simulation(a_job(prep=a_line(10, exit_code=1), onAllTasksComplete="terminatejob"))
    run_to(sim, minutes=3)
    assert why_job_says(sim) == [
        "Why has job j not started?",
        "✓ onAllTasksComplete     terminatejob [JOB-7]",
        "· tasks                  0 of 1 completed; 1 active, 0 preparing, 0 running [JOB-7]",
        "· nodes that take tasks  0 of 1 in pool p [SCHED-8]",
        "✗ ineligible nodes       1 of 1: preparation failed there for good [PREP-11]",
        "     1 node ineligible until the disk is new: preparation failed there [PREP-9]",
        "Next: nothing by itself, a user has to act [JOB-8]",
    ]


def test_job_8_what_can_never_run():
    tasks = [
        {"id": "big", "commandLine": "work", "requiredSlots": 2},
        {"id": "late", "commandLine": "work", "dependsOn": {"taskIds": ["nobody"]}},
    ]
    sim = simulation(a_job(tasks=tasks, usesTaskDependencies=True))
    run_to(sim, minutes=3)
    assert why_job_says(sim)[4:6] == [
        "✗ dependencies           1 task waiting for others [JOB-8]",
        "✗ size                   1 task too large for any node [SCHED-10]",
    ]


def test_disabling_disabled():
    sim = simulation(a_job())
    run_to(sim, seconds=60)
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    assert why_job_says(sim) == [
        "Why is job j disabling?",
        "✗ minimum time in this state  not over yet [TIME-19]",
        "✗ tasks on nodes              1 preparing or running [JOB-11]",
        "Next: the job can be disabled at 08:01:02 [TIME-19]",
    ]
    run(sim, seconds=3)
    assert why_job_says(sim)[-1] == "Next: task t1 of job j ends on n0 at 08:01:51 [TASK-7]"
    run(sim, minutes=1)
    assert why_job_says(sim) == [
        "Why is job j disabled?",
        "✗ disabled by  a user at 08:01:00 [JOB-12]",
        "None of its tasks runs until it is enabled. [JOB-12]",
        "Next: nothing by itself, a user has to act [JOB-12]",
    ]


def test_which_release_tasks_hold_a_job():
    sim = simulation(a_job(tasks=4, prep=a_line(1), release=a_line(20)), pool=a_pool(nodes=4))
    run_to(sim, seconds=70)
    do(sim, "rebootNode", poolId="p", nodeId=node(sim, 1).id)
    do(sim, "failNode", poolId="p", nodeId=node(sim, 2).id, state="unusable", code="DiskFull")
    do(sim, "terminateJob", jobId="j")
    run(sim, seconds=5)
    assert why_job_says(sim) == [
        "Why is job j still terminating?",
        "✓ running tasks               ended [JOB-15]",
        "✓ minimum time in this state  over [TIME-19]",
        "✗ release tasks               4 open [REL-6]",
        "     2 release tasks running; soonest n0 at 08:01:31 [REL-6]",
        "     1 release task waiting for a node that is rebooting; soonest n1 at 08:02:10 [REL-13]",
        "     1 release task waiting for a node that is unusable; soonest n2 at 08:16:10 [REL-13]",
        "Terminate reason: UserTerminate. [JOB-10]",
        "It waits for n0, n1, n2, n3. [REL-6]",
        "The last running release task ends on n3 at 08:01:31. [REL-6]",
        "Next: release ends on n0 at 08:01:31 [REL-6]",
    ]
    assert why_node_says(sim)[-2:] == [
        "Release of job j is running here; it uses no slot. [REL-11]",
        "Next: release of job j ends at 08:01:31 [REL-7]",
    ]
    run(sim, minutes=5)
    assert why_job_says(sim)[-1] == "Next: the wait for n2 ends at 08:16:10 [REL-13]"
    run_to_end(sim)
    assert why_job_says(sim) == [
        "Why has job j ended?",
        "✓ ended  UserTerminate at 08:16:10 [JOB-10]",
        "Tasks that are active stay active. [JOB-15]",
    ]


def test_a_job_that_waited_long_for_a_release_explains_that_one_and_not_its_last_task():
    sim = simulation(a_job(prep=a_line(1), release=a_line(20), onAllTasksComplete="terminatejob"))
    run_to(sim, seconds=READY_S + 70)
    do(sim, "failNode", poolId="p", nodeId=node(sim).id, state="unusable", code="DiskFull")
    run(sim, minutes=5)
    (held,) = explain_oldest_wait(sim, "j")
    assert "     1 release task waiting for a node that is unusable; soonest n0 at 08:17:00 [REL-10]" in held.lines()
    assert held.question == "Why is job j still terminating?"
    run_to_end(sim)
    _, waited = explain(sim, "job", "j")
    assert [waited] == explain_oldest_wait(sim, "j")
    assert waited.lines() == [
        "What did job j wait for after its tasks?",
        "✓ tasks          over at 08:01:53 [JOB-15]",
        "✗ release tasks  given up on n0 at 08:17:00, 00:15:07 later [REL-13]",
    ]


def test_job_18_forced():
    sim = simulation(a_job(prep=a_line(1), release=a_line(20)))
    run_to(sim, seconds=70)
    do(sim, "terminateJob", jobId="j", force=True)
    assert why_job_says(sim)[3] == "✓ release tasks               1 open, not waited for: forced [JOB-18]"
    assert why_job_says(sim)[-1] == "Next: the job can be completed at 08:01:12 [TIME-19]"


def test_job_20_ended_at_once_because_of_a_quota():
    sim = Simulation(load_scenario("one-pool-per-scheduled-job"))
    run_to(sim, minutes=125)
    assert why_job_says(sim, "hourly:job-3") == [
        "Why has job hourly:job-3 ended?",
        "✗ ended  at 10:00:00: AutoPoolCreationFailedWithQuotaReached [JOB-20]",
        "PoolQuotaReached: The account has reached its quota of pools. (Reason: the quota is 2, and 2 exist) [AUTO-4]",
    ]


def test_rel_13_an_unusable_node_that_recovers_before_the_wait_is_over():
    sim = Simulation(load_scenario("offline-and-unusable-at-the-end"))
    run_to(sim, minutes=12.5)
    said = why_job_says(sim, "align")
    assert "     2 release tasks waiting for a node that is unusable; soonest n4 at 08:19:00 [REL-13]" in said
    assert said[-1] == "Next: n4 is no longer unusable at 08:19:00 [REL-13]"
    run_to(sim, minutes=20)
    assert why_job_says(sim, "align")[-1] == "Next: the wait for n5 ends at 08:25:00 [REL-13]"
