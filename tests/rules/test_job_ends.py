"""Chapter 9: how jobs end: by themselves, at their time limit, and by command."""

from __future__ import annotations

import pytest

from tests.builders import (
    READY_S,
    STOPPED,
    a_job,
    a_line,
    a_task,
    do,
    events,
    job_state,
    node_row,
    refusal,
    release,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_extra,
    task_state,
    times,
)
from tests.rules.jobs import changes, in_state, reason, running

# -- the end by itself -----------------------------------------------------------------------------------------------


def test_job_7_by_default_a_job_stays_active_when_its_tasks_are_done(start):
    sim = start(a_job())
    run_to_end(sim)
    assert task_state(sim) == "completed"
    assert job_state(sim) == "active"


def test_job_7_terminatejob_ends_it_with_the_last_task(start):
    sim = start(a_job(tasks=2, onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    last = times(sim, "TaskStateChanged", taskId="t2", to="completed")[0]
    assert changes(sim)[1:] == [(last, "terminating"), (last + 2, "completed")]
    assert reason(sim) == "AllTasksCompleted"


def test_job_7_a_failed_task_counts_as_complete(start):
    sim = start(a_job(tasks=[a_task(exit_code=3)], onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    assert reason(sim) == "AllTasksCompleted"


def test_job_7_a_job_without_tasks_ends_at_once(start):
    sim = start(a_job(tasks=0, at=5, onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    assert changes(sim) == [(5, "active"), (5, "terminating"), (7, "completed")]


def test_job_7_a_job_that_comes_with_its_tasks_does_not(start):
    sim = start(a_job(tasks=1, onAllTasksComplete="terminatejob"))
    run_to(sim, seconds=READY_S)
    assert job_state(sim) == "active"


def test_job_7_tasks_come_too_late_for_a_job_that_was_to_end_without_any(start):
    sim = start(a_job(tasks=0, onAllTasksComplete="terminatejob"))
    run(sim, seconds=1)
    assert refusal(sim, "addTasks", jobId="j", tasks=[a_task()]) == "JobBeingTerminated"


def test_job_7_noaction_first_then_tasks_then_a_patch(start):
    sim = start(a_job(tasks=0))
    do(sim, "addTasks", jobId="j", tasks=some_tasks(2))
    do(sim, "updateJob", jobId="j", onAllTasksComplete="terminatejob")
    assert job_state(sim) == "active"
    run_to_end(sim)
    assert job_state(sim) == "completed"
    assert reason(sim) == "AllTasksCompleted"


def test_job_7_a_patch_after_the_last_task_ends_the_job_at_once(start):
    sim = start(a_job())
    run_to_end(sim)
    do(sim, "updateJob", jobId="j", onAllTasksComplete="terminatejob")
    assert job_state(sim) == "terminating"


def test_job_7_there_is_no_way_back_to_noaction(start):
    sim = start(a_job(onAllTasksComplete="terminatejob"), a_job("k"))
    assert refusal(sim, "updateJob", jobId="j", onAllTasksComplete="noaction") == "InvalidPropertyValue"
    assert refusal(sim, "updateJob", jobId="k", onAllTasksComplete="noaction") is None
    do(sim, "updateJob", jobId="k", onAllTasksComplete="terminatejob")
    assert refusal(sim, "updateJob", jobId="k", onAllTasksComplete="noaction") == "InvalidPropertyValue"


def test_job_7_deleting_the_last_open_task_ends_the_job(start):
    sim = running(start, a_job(tasks=2, onAllTasksComplete="terminatejob"))
    run_to(sim, seconds=READY_S + 65)
    do(sim, "deleteTask", jobId="j", taskId="t2")
    assert job_state(sim) == "terminating"


@pytest.mark.parametrize(("option", "states"), [("wait", ["disabling"]), ("terminate", ["disabling"])])
def test_job_7_a_job_whose_last_tasks_end_while_it_is_disabled_ends(start, option, states):
    sim = running(start, a_job(onAllTasksComplete="terminatejob"))
    do(sim, "disableJob", jobId="j", disableTasks=option)
    run_to_end(sim)
    assert [to for _, to in changes(sim)] == ["active", *states, "terminating", "completed"]
    assert reason(sim) == "AllTasksCompleted"


def test_job_7_a_disabled_job_with_tasks_left_stays_disabled_until_they_are_completed(start):
    sim = running(start, a_job(tasks=2, onAllTasksComplete="terminatejob"))
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run(sim, minutes=5)
    assert job_state(sim) == "disabled"
    do(sim, "terminateTask", jobId="j", taskId="t1")
    assert job_state(sim) == "disabled"
    do(sim, "terminateTask", jobId="j", taskId="t2")
    assert (job_state(sim), reason(sim)) == ("terminating", "AllTasksCompleted")


def test_job_7_a_patch_ends_a_disabled_job_whose_tasks_are_completed(start):
    sim = start(a_job())
    run_to_end(sim)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run(sim, minutes=1)
    do(sim, "updateJob", jobId="j", onAllTasksComplete="terminatejob")
    assert job_state(sim) == "terminating"


def test_job_8_a_blocked_task_keeps_the_job_open(start):
    blocked = a_task("t2", dependsOn={"taskIds": ["nobody"]})
    sim = start(a_job(tasks=[a_task(), blocked], usesTaskDependencies=True, onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    assert (job_state(sim), task_state(sim, "t2")) == ("active", "active")


def test_job_8_a_task_that_fits_no_node_keeps_the_job_open(start):
    sim = start(a_job(tasks=[a_task(requiredSlots=2)], onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    assert (job_state(sim), task_state(sim)) == ("active", "active")


# -- maxWallClockTime ------------------------------------------------------------------------------------------------


def test_job_9_the_time_of_a_job_counts_from_its_creation(start):
    sim = start(a_job(tasks=[a_task(seconds=3600)], at=40, constraints={"maxWallClockTime": "PT5M"}))
    run_to_end(sim)
    assert changes(sim) == [(40, "active"), (340, "terminating"), (342, "completed")]
    assert reason(sim) == "MaxWallClockTimeExpiry"
    assert (task_state(sim), task_extra(sim).exit_code) == ("completed", STOPPED)


def test_job_9_release_tasks_run(start):
    body = a_job(
        tasks=[a_task(seconds=3600)], prep=a_line(1), release=a_line(9), constraints={"maxWallClockTime": "PT5M"}
    )
    sim = start(body)
    run_to_end(sim)
    assert release(sim).exit_code == 0
    assert changes(sim)[-1] == (310, "completed")


@pytest.mark.parametrize("state", ["active", "disabling", "disabled", "enabling"])
def test_job_9_the_clock_runs_in_every_state_before_the_end(start, state):
    sim = in_state(start, state)
    do(sim, "updateJob", jobId="j", constraints={"maxWallClockTime": "PT1M6S"})
    assert job_state(sim) == state
    run_to(sim, seconds=66)
    assert job_state(sim) == "terminating"
    assert reason(sim) == "MaxWallClockTimeExpiry"


def test_job_9_disabled_for_long_it_ends_all_the_same(start):
    sim = running(start, a_job(constraints={"maxWallClockTime": "PT1H"}))
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run_to_end(sim)
    assert [state for _, state in changes(sim)] == ["active", "disabling", "disabled", "terminating", "completed"]
    assert task_state(sim) == "active"


@pytest.mark.parametrize("state", ["terminating", "completed"])
def test_job_9_a_job_that_has_ended_does_not_end_again(start, state):
    sim = in_state(start, state, constraints={"maxWallClockTime": "PT3M"})
    run_to_end(sim)
    assert reason(sim) == "UserTerminate"
    assert [to for _, to in changes(sim)].count("terminating") == 1


def test_job_9_a_patch_moves_the_end_both_ways(start):
    sim = start(
        a_job("later", tasks=0, constraints={"maxWallClockTime": "PT5M"}),
        a_job("sooner", tasks=0, constraints={"maxWallClockTime": "PT1H"}),
        a_job("never", tasks=0, constraints={"maxWallClockTime": "PT5M"}),
    )
    do(sim, "updateJob", jobId="later", constraints={"maxWallClockTime": "PT10M"})
    do(sim, "updateJob", jobId="sooner", constraints={"maxWallClockTime": "PT4M"})
    do(sim, "updateJob", jobId="never", constraints={"maxTaskRetryCount": 1})
    run_to_end(sim)
    assert changes(sim, "later")[1][0] == 600
    assert changes(sim, "sooner")[1][0] == 240
    assert job_state(sim, "never") == "active"


def test_job_9_a_patch_to_less_than_has_passed_ends_the_job_now(start):
    sim = start(a_job(tasks=0))
    run_to(sim, minutes=10)
    do(sim, "updateJob", jobId="j", constraints={"maxWallClockTime": "PT1M"})
    assert job_state(sim) == "terminating"


# -- reasons ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "shown"), [({}, "UserTerminate"), ({"terminateReason": "enough"}, "enough")])
def test_job_10_the_reason_is_the_users_or_userterminate(start, given, shown):
    sim = running(start)
    do(sim, "terminateJob", jobId="j", **given)
    run_to_end(sim)
    assert reason(sim) == shown
    assert [event.get("reason") for event in events(sim, "JobStateChanged", to="completed")] == [shown]


def test_job_10_a_failed_task_gives_taskfailed(start):
    sim = start(a_job(tasks=[a_task(exit_code=1)], onTaskFailure="performexitoptionsjobaction"))
    run_to_end(sim)
    assert reason(sim) == "TaskFailed"


# -- terminate -------------------------------------------------------------------------------------------------------


def test_job_15_running_tasks_end_and_active_ones_stay_for_ever(start):
    sim = running(start, a_job(tasks=3))
    do(sim, "terminateJob", jobId="j")
    assert job_state(sim) == "terminating"
    run_to_end(sim)
    assert job_state(sim) == "completed"
    assert [task_state(sim, name) for name in ("t1", "t2", "t3")] == ["completed", "active", "active"]
    extra = task_extra(sim)
    assert (extra.exit_code, extra.failure.code, extra.failure.category) == (STOPPED, "TaskEnded", "UserError")


def test_job_15_preparing_tasks_could_not_start(start):
    sim = running(start, a_job(prep=a_line(100)))
    do(sim, "terminateJob", jobId="j")
    extra = task_extra(sim)
    assert (task_state(sim), extra.exit_code, extra.failure.code) == ("completed", None, "JobBeingTerminated")
    assert extra.failure.category == "UserError"


def test_job_15_a_disabled_job_ends_too(start):
    sim = in_state(start, "disabled", release=a_line(20))
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert job_state(sim) == "completed"
    assert release(sim).exit_code == 0


def test_job_15_the_time_limit_and_the_end_of_tasks_do_not_meet(start):
    """A job told to end with its tasks is terminated by hand: it ends once, for the reason of the user."""
    sim = running(start, a_job(onAllTasksComplete="terminatejob"))
    do(sim, "terminateJob", jobId="j", terminateReason="by hand")
    run_to_end(sim)
    assert [to for _, to in changes(sim)] == ["active", "terminating", "completed"]
    assert reason(sim) == "by hand"


# -- delete ----------------------------------------------------------------------------------------------------------


def test_job_16_everything_of_a_deleted_job_is_gone(start):
    sim = running(start, a_job(tasks=2, prep=a_line(1), release=a_line(9)))
    run(sim, seconds=10)
    do(sim, "deleteJob", jobId="j")
    assert (job_state(sim), task_state(sim)) == ("deleting", "completed")
    run_to_end(sim)
    assert job_state(sim) is None
    assert [event["taskId"] for event in events(sim, "TaskStateChanged", to=None)] == ["t1", "t2"]
    assert len(events(sim, "JobReleaseTaskStateChanged", to="completed", exitCode=0)) == 1
    assert refusal(sim, "deleteJob", jobId="j") == "JobNotFound"
    assert not sim.world.disks[node_row(sim)].exists("workitems/j")


def test_job_16_the_id_is_free_again(start):
    sim = running(start)
    do(sim, "deleteJob", jobId="j")
    run_to_end(sim)
    do(sim, "createJob", id="j", poolInfo={"poolId": "p"})
    do(sim, "addTasks", jobId="j", tasks=[a_task()])
    run_to_end(sim)
    assert task_state(sim) == "completed"


def test_job_17_no_release_runs_again_when_a_terminated_job_is_deleted(start):
    sim = running(start, a_job(prep=a_line(1), release=a_line(9)))
    run(sim, seconds=10)
    do(sim, "terminateJob", jobId="j")
    run(sim, minutes=1)
    assert job_state(sim) == "completed"
    do(sim, "deleteJob", jobId="j")
    run_to_end(sim)
    assert job_state(sim) is None
    assert len(events(sim, "JobReleaseTaskStateChanged", to="running")) == 1


def test_job_17_deleting_while_terminating_waits_for_the_release_that_runs(start):
    sim = running(start, a_job(prep=a_line(1), release=a_line(99)))
    run(sim, seconds=10)
    do(sim, "terminateJob", jobId="j")
    run(sim, seconds=10)
    do(sim, "deleteJob", jobId="j")
    run(sim, seconds=10)
    assert job_state(sim) == "deleting"
    run_to_end(sim)
    ended = times(sim, "JobReleaseTaskStateChanged", to="completed")
    assert times(sim, "JobStateChanged", to=None) == ended
    assert len(events(sim, "JobReleaseTaskStateChanged", to="running")) == 1


@pytest.mark.parametrize(("name", "state"), [("terminateJob", "completed"), ("deleteJob", None)])
def test_job_18_forced_the_job_does_not_wait_for_its_release_tasks(start, name, state):
    sim = running(start, a_job(prep=a_line(1), release=a_line(300)))
    run(sim, seconds=10)
    do(sim, name, jobId="j", force=True)
    assert len(events(sim, "JobReleaseTaskStateChanged", to="running")) == 1
    run(sim, seconds=2)
    assert job_state(sim) == state
    run_to_end(sim)
    assert len(events(sim, "JobReleaseTaskStateChanged", to="completed", exitCode=0)) == 1
    assert job_state(sim) == state


def test_job_18_a_forced_delete_ends_the_waiting_of_a_terminating_job(start):
    sim = in_state(start, "terminating")
    do(sim, "deleteJob", jobId="j", force=True)
    run(sim, seconds=2)
    assert job_state(sim) is None
