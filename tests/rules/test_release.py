"""Chapter 12, job release tasks: who owes one, what starts it, how it ends, and that it never runs twice."""

from __future__ import annotations

import pytest

from engine.base.terms import InstanceState, NodeState, ReleaseAfter, TaskResult
from engine.base.values import MINUTE_MS
from engine.rules.decisions.verdicts import owes_release
from engine.rules.release import ReleaseVerdict, release_verdict
from engine.specs.bodies import JobReleaseTask
from engine.state.instances import ABSENT, PrepFlag
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    file,
    job_state,
    node_state,
    prep,
    refusal,
    release,
    release_events,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_state,
    times,
    wait_for,
)

RUNNING, COMPLETED = InstanceState.RUNNING, InstanceState.COMPLETED
OWES = PrepFlag.RAN | PrepFlag.PREPARED_ONCE
TASKS_DONE_S = READY_S + 6 + 61  # a preparation of five seconds and a task of a minute, each with a second to start


def a_hooked_job(*args, prep_seconds=5, release_seconds=5, **more):
    """A job with a preparation and a release task of five seconds."""
    more = {"prep": a_line(prep_seconds), "release": a_line(release_seconds)} | more
    return a_job(*args, **more)


def released(sim):
    """Return how often release was completed on each node."""
    return len(events(sim, "JobReleaseTaskStateChanged", to="completed"))


# -- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mark", "owes"),
    [
        (0, False),
        (PrepFlag.RAN, False),
        (PrepFlag.PREPARED_ONCE, False),
        (PrepFlag.VALID | PrepFlag.PREPARED_ONCE, False),  # REL-5
        (OWES, True),  # REL-3
        (OWES | PrepFlag.INELIGIBLE, True),  # a rerun that failed does not undo what ran before
        (OWES | PrepFlag.VALID, True),
    ],
)
def test_rel_3_owes_release(mark, owes):
    assert owes_release(mark, ReleaseAfter.TASK) is owes
    assert owes_release(mark, ReleaseAfter.PREPARATION) is bool(mark & PrepFlag.PREPARED_ONCE)


@pytest.mark.parametrize(
    ("verdict", "states"),
    [
        (ReleaseVerdict.RUN, ("IDLE", "RUNNING", "OFFLINE")),
        (
            ReleaseVerdict.WAIT,
            ("REBOOTING", "REIMAGING", "STARTING", "WAITING_FOR_START_TASK", "UPGRADING_OS"),
        ),
        (ReleaseVerdict.WAIT_A_WHILE, ("UNKNOWN", "UNUSABLE")),
        (
            ReleaseVerdict.SKIP,
            ("START_TASK_FAILED", "PREEMPTED", "DEALLOCATING", "DEALLOCATED", "LEAVING_POOL", "CREATING"),
        ),
    ],
)
def test_rel_13_verdict_by_the_state_of_the_node(verdict, states):
    for name in states:
        for after, owes in ((ReleaseAfter.TASK, OWES), (ReleaseAfter.PREPARATION, PrepFlag.PREPARED_ONCE)):
            assert release_verdict(owes, ABSENT, NodeState[name], after) is verdict
            assert release_verdict(PrepFlag.VALID, ABSENT, NodeState[name], after) is ReleaseVerdict.SKIP
            assert release_verdict(owes, RUNNING, NodeState[name], after) is ReleaseVerdict.SKIP
            assert release_verdict(owes, COMPLETED, NodeState[name], after) is ReleaseVerdict.SKIP  # REL-12


def test_rel_13_verdict_for_a_node_that_is_gone():
    assert release_verdict(OWES, ABSENT, None, ReleaseAfter.TASK) is ReleaseVerdict.SKIP


# -- definition ------------------------------------------------------------------------------------------------------


def test_rel_1_defaults():
    default = JobReleaseTask(command_line="x")
    assert (default.id, default.max_wall_clock_time) == ("jobrelease", 15 * MINUTE_MS)
    assert default.retention_time == 7 * 24 * 60 * MINUTE_MS


@pytest.mark.parametrize("own_id", ["jobrelease", "cleanup"])
def test_rel_1_a_task_of_the_same_id_is_refused(start, own_id):
    sim = start(a_hooked_job(tasks=0, release=a_line(id=own_id)))
    run(sim, seconds=1)
    assert refusal(sim, "addTasks", jobId="j", tasks=[a_task(own_id)]) == "TaskIdSameAsJobReleaseTask"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"jobReleaseTask": a_line()}, "InvalidPropertyValue"),
        (
            {"jobPreparationTask": a_line(), "jobReleaseTask": a_line(maxWallClockTime="PT16M")},
            "InvalidPropertyValue",
        ),
    ],
)
def test_rel_1_needs_a_preparation_task_and_takes_fifteen_minutes_at_most(start, body, code):
    sim = start()
    run(sim, seconds=1)
    assert refusal(sim, "createJob", id="k", poolInfo={"poolId": "p"}, **body) == code


# -- what starts it --------------------------------------------------------------------------------------------------


def test_rel_2_terminate(start):
    sim = start(a_hooked_job())
    run_to(sim, minutes=5)
    assert (released(sim), job_state(sim)) == (0, "active")
    do(sim, "terminateJob", jobId="j")
    assert release(sim).state is RUNNING
    run_to_end(sim)
    assert (released(sim), job_state(sim)) == (1, "completed")


def test_rel_2_delete(start):
    sim = start(a_hooked_job())
    run_to(sim, minutes=5)
    do(sim, "deleteJob", jobId="j")
    assert job_state(sim) == "deleting"
    run(sim, seconds=5)
    assert job_state(sim) == "deleting"
    run(sim, seconds=2)
    assert job_state(sim) is None
    assert released(sim) == 1


def test_rel_2_the_jobs_time_limit(start):
    sim = start(a_hooked_job(tasks=[a_task(seconds=3600)], constraints={"maxWallClockTime": "PT10M"}))
    run_to_end(sim)
    assert times(sim, "JobReleaseTaskStateChanged", to="running") == [600]
    assert sim.world.jobs[0].terminate_reason == "MaxWallClockTimeExpiry"


def test_rel_2_all_tasks_complete(start):
    sim = start(a_hooked_job(onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    assert times(sim, "JobReleaseTaskStateChanged", to="running") == [TASKS_DONE_S]


def test_rel_2_an_exit_condition(start):
    task = a_task(exit_code=1, exitConditions={"default": {"jobAction": "terminate"}})
    sim = start(a_hooked_job(tasks=[task], onTaskFailure="performexitoptionsjobaction"))
    run_to_end(sim)
    assert (released(sim), sim.world.jobs[0].terminate_reason) == (1, "TaskFailed")


def test_rel_2_not_by_disabling(start):
    sim = start(a_hooked_job())
    run_to(sim, minutes=5)
    do(sim, "disableJob", jobId="j", disableTasks="terminate")
    run_to_end(sim)
    assert released(sim) == 0
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert released(sim) == 1


# -- where it runs ---------------------------------------------------------------------------------------------------


def test_rel_3_on_each_node_that_ran_a_task(start):
    sim = start(a_hooked_job(tasks=6, onAllTasksComplete="terminatejob"), pool=a_pool(nodes=3))
    run_to_end(sim)
    assert [release(sim, index).result for index in range(3)] == [TaskResult.SUCCESS] * 3


def test_rel_5_not_where_no_task_ran(start):
    sim = start(a_hooked_job(tasks=2, onAllTasksComplete="terminatejob"), pool=a_pool(nodes=3))
    run_to_end(sim)
    assert [release(sim, index) is None for index in range(3)] == [False, False, True]


def test_rel_3_not_where_the_preparation_failed_for_good(start):
    prep_body = a_line(5, simulate={"onNode": {0: {"exitCode": 1}}})
    sim = start(a_hooked_job(tasks=2, prep=prep_body, onAllTasksComplete="terminatejob"), pool=a_pool(nodes=2))
    run_to_end(sim)
    assert release(sim) is None
    assert release(sim, 1).result is TaskResult.SUCCESS


def test_rel_3_a_failed_preparation_that_nobody_waited_for_is_good_enough(start):
    prep_body = a_line(5, exit_code=1, waitForSuccess=False)
    sim = start(a_hooked_job(prep=prep_body, onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    assert prep(sim).result is TaskResult.FAILURE
    assert release(sim).result is TaskResult.SUCCESS


def test_rel_3_failed_tasks_have_run_too(start):
    sim = start(a_hooked_job(tasks=[a_task(exit_code=1)], onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    assert released(sim) == 1


def test_rel_3_of_two_jobs_each_releases_where_it_ran(start):
    sim = start(a_hooked_job(onAllTasksComplete="terminatejob"), a_hooked_job("k"), pool=a_pool(taskSlotsPerNode=2))
    run_to_end(sim)
    assert release(sim).result is TaskResult.SUCCESS
    assert release(sim, job="k") is None
    assert job_state(sim, "k") == "active"


def test_rel_3_a_job_without_a_release_task_just_ends(start):
    sim = start(a_job(prep=a_line(5), onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    assert job_state(sim) == "completed"
    assert release_events(sim) == []


# -- order -----------------------------------------------------------------------------------------------------------


def test_rel_6_terminating_then_tasks_then_release_then_completed(start):
    sim = start(a_hooked_job(tasks=[a_task(seconds=600)]))
    run_to(sim, minutes=3)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    names = ("JobStateChanged", "TaskStateChanged", "JobReleaseTaskStateChanged")
    story = [(event["event"], event["to"]) for event in events(sim) if event["event"] in names][-5:]
    assert story == [
        ("JobStateChanged", "terminating"),
        ("TaskStateChanged", "completed"),
        ("JobReleaseTaskStateChanged", "running"),
        ("JobReleaseTaskStateChanged", "completed"),
        ("JobStateChanged", "completed"),
    ]


def test_rel_6_in_parallel_and_the_job_waits_for_the_last(start):
    release_body = a_line(5, simulate={"onNode": {2: {"duration": 60}}})
    sim = start(a_hooked_job(tasks=3, release=release_body, onAllTasksComplete="terminatejob"), pool=a_pool(nodes=3))
    run_to_end(sim)
    assert times(sim, "JobReleaseTaskStateChanged", to="running") == [TASKS_DONE_S] * 3
    assert times(sim, "JobStateChanged", to="completed") == [TASKS_DONE_S + 61]


def test_rel_6_two_seconds_when_nothing_is_to_be_waited_for(start):
    sim = start(a_hooked_job(tasks=0))
    run_to(sim, minutes=1)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert times(sim, "JobStateChanged", to="completed") == [60.001 + 2]


# -- how it ends -----------------------------------------------------------------------------------------------------


def test_rel_7_a_nonzero_exit_does_not_block_the_job(start):
    sim = start(a_hooked_job(release=a_line(5, exit_code=9), onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    assert (release(sim).result, release(sim).exit_code) == (TaskResult.FAILURE, 9)
    assert release(sim).failure.code == "FailureExitCode"
    assert job_state(sim) == "completed"


def test_rel_7_a_download_error_does_not_block_the_job(start):
    release_body = a_line(5, resourceFiles=[{"httpUrl": "https://s/gone", "filePath": "x"}])
    sim = start(
        a_hooked_job(release=release_body, onAllTasksComplete="terminatejob"),
        simulate={"storage": {"https://s/*": {"missing": True}}},
    )
    run_to_end(sim)
    assert (release(sim).failure.code, release(sim).exit_code) == ("BlobNotFound", None)
    assert job_state(sim) == "completed"


def test_rel_8_is_not_retried(start):
    sim = start(
        a_hooked_job(
            release=a_line(5, exit_code=1), onAllTasksComplete="terminatejob", constraints={"maxTaskRetryCount": 3}
        )
    )
    run_to_end(sim)
    assert release(sim).runs == 1


@pytest.mark.parametrize(("limit", "seconds"), [("PT30S", 30), (None, 900)])
def test_rel_9_over_its_time_limit_it_is_ended(start, limit, seconds):
    more = {"maxWallClockTime": limit} if limit else {}
    sim = start(a_hooked_job(release=a_line(3600, **more), onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    assert release_events(sim) == [(TASKS_DONE_S, "running", 1), (TASKS_DONE_S + seconds, "completed", 1)]
    assert (release(sim).failure.code, release(sim).result) == ("TaskEnded", TaskResult.FAILURE)
    assert job_state(sim) == "completed"


def test_rel_11_takes_no_slot_and_stops_nobody(start):
    sim = start(
        a_hooked_job(release=a_line(300), onAllTasksComplete="terminatejob"),
        a_job("other", tasks=[a_task("before", 40), a_task("after", 40)], priority=-1),
    )
    run_to_end(sim)
    starts = times(sim, "TaskStateChanged", jobId="other", to="running")
    assert starts == [TASKS_DONE_S, TASKS_DONE_S + 41]
    assert release(sim).result is TaskResult.SUCCESS


def test_node_9_a_release_does_not_make_the_node_running(start):
    sim = start(a_hooked_job(release=a_line(300), onAllTasksComplete="terminatejob"))
    run_to(sim, seconds=TASKS_DONE_S + 10)
    assert (release(sim).state, node_state(sim)) == (RUNNING, "idle")


def test_rel_12_not_again_when_a_terminated_job_is_deleted(start):
    sim = start(a_hooked_job(onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    do(sim, "deleteJob", jobId="j")
    run_to_end(sim)
    assert job_state(sim) is None
    assert released(sim) == 1


def test_rel_12_deleting_while_terminating_waits_for_the_one_that_runs(start):
    sim = start(a_hooked_job(release=a_line(60), onAllTasksComplete="terminatejob"))
    run_to(sim, seconds=TASKS_DONE_S + 10)
    do(sim, "deleteJob", jobId="j")
    run_to_end(sim)
    assert release_events(sim) == [(TASKS_DONE_S, "running", 1), (TASKS_DONE_S + 61, "completed", 1)]
    assert times(sim, "JobStateChanged", to=None) == [TASKS_DONE_S + 61]


# -- force -----------------------------------------------------------------------------------------------------------


def test_job_18_a_forced_terminate_starts_release_and_does_not_wait(start):
    sim = start(a_hooked_job(release=a_line(60)))
    run_to(sim, minutes=5)
    do(sim, "terminateJob", jobId="j", force=True)
    run(sim, seconds=3)
    assert (job_state(sim), release(sim).state) == ("completed", RUNNING)
    run_to_end(sim)
    assert release(sim).result is TaskResult.SUCCESS


def test_job_18_a_forced_delete_starts_release_and_leaves_no_file(start):
    script = "echo bye > $AZ_BATCH_NODE_SHARED_DIR/bye.txt"
    sim = start(a_hooked_job(release=a_shell(script, simulate={"duration": 60})))
    run_to(sim, minutes=5)
    do(sim, "deleteJob", jobId="j", force=True)
    run(sim, seconds=3)
    assert job_state(sim) is None
    run_to_end(sim)
    assert released(sim) == 1
    assert file(sim, "shared/bye.txt") == "bye\n"
    assert not sim.world.disks[0].exists("workitems/j/job-1")


def test_job_18_the_release_of_a_job_that_is_gone_ends_with_its_node(start):
    sim = start(a_hooked_job(release=a_line(600)))
    run_to(sim, minutes=5)
    do(sim, "deleteJob", jobId="j", force=True)
    run(sim, seconds=3)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run_to_end(sim)
    (ended,) = events(sim, "JobReleaseTaskStateChanged", to="completed")
    assert ended["failureInfo"]["code"] == "TaskEnded"


# -- files -----------------------------------------------------------------------------------------------------------


def test_rel_17_it_reaches_the_files_of_the_preparation_and_shared(start):
    fetch = "echo market > $AZ_BATCH_NODE_SHARED_DIR/market.csv && echo own > own.txt"
    clean = "cat $AZ_BATCH_JOB_PREP_WORKING_DIR/own.txt && rm $AZ_BATCH_NODE_SHARED_DIR/market.csv"
    sim = start(a_hooked_job(prep=a_shell(fetch), release=a_shell(clean)))
    run_to(sim, minutes=5)
    assert file(sim, "shared/market.csv") == "market\n"
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert file(sim, "shared/market.csv") is None
    assert file(sim, "workitems/j/job-1/jobrelease/stdout.txt") == "own\n"


def test_rel_18_deleting_the_job_removes_its_directories_after_release(start):
    sim = start(a_hooked_job(prep=a_shell("echo p"), release=a_shell("echo r"), tasks=some_tasks(1)))
    run_to(sim, minutes=5)
    do(sim, "deleteJob", jobId="j")
    assert sim.world.disks[0].exists("workitems/j/job-1/jobpreparation")
    wait_for(sim, lambda: job_state(sim) is None)
    assert not sim.world.disks[0].exists("workitems/j/job-1")
    assert task_state(sim) is None
