"""Chapter 11, job preparation tasks: verdicts, waiting, failure, retries. What nodes do to them: see the next file."""

from __future__ import annotations

import pytest

from engine.base.terms import InstanceState, TaskResult
from engine.rules.preparation import PrepVerdict, prep_retry_verdict, prep_verdict
from engine.specs.bodies import JobPreparationTask, PreparationConstraints
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
    node_states,
    prep,
    prep_events,
    refusal,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_extra,
    task_history,
    task_state,
    times,
)

RUNNING, COMPLETED = InstanceState.RUNNING, InstanceState.COMPLETED
PREP_S = 11  # ten seconds, and one to start


def a_prep(seconds=10, exit_code=0, **more):
    return a_line(seconds, exit_code, **more)


def spec(retries=0, **more):
    return JobPreparationTask(
        command_line="x", constraints=PreparationConstraints(max_task_retry_count=retries), **more
    )


# -- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mark", "state", "waits", "does_not_wait"),
    [
        (0, ABSENT, PrepVerdict.PREPARE, PrepVerdict.PREPARE_AND_GO),  # PREP-3
        (0, RUNNING, PrepVerdict.WAIT, PrepVerdict.GO),  # PREP-6, PREP-13
        (0, COMPLETED, PrepVerdict.PREPARE, PrepVerdict.PREPARE_AND_GO),  # PREP-15, PREP-16: voided
        (PrepFlag.VALID, COMPLETED, PrepVerdict.GO, PrepVerdict.GO),  # PREP-4
        (PrepFlag.VALID | PrepFlag.RAN, COMPLETED, PrepVerdict.GO, PrepVerdict.GO),
        (PrepFlag.RAN | PrepFlag.PREPARED_ONCE, COMPLETED, PrepVerdict.PREPARE, PrepVerdict.PREPARE_AND_GO),
        (PrepFlag.INELIGIBLE, COMPLETED, PrepVerdict.REFUSE, PrepVerdict.REFUSE),  # PREP-9
        (PrepFlag.INELIGIBLE | PrepFlag.RAN, COMPLETED, PrepVerdict.REFUSE, PrepVerdict.REFUSE),
    ],
)
def test_prep_3_verdict_by_mark_and_record(mark, state, waits, does_not_wait):
    assert prep_verdict(mark, state, spec(wait_for_success=True)) is waits
    assert prep_verdict(mark, state, spec(wait_for_success=False)) is does_not_wait


@pytest.mark.parametrize(("limit", "retried"), [(0, 0), (1, 1), (3, 3)])
def test_prep_12_retry_verdict_counts_retries(limit, retried):
    assert [prep_retry_verdict(spec(limit), retries) for retries in range(5)] == [n < retried for n in range(5)]


def test_prep_12_retry_verdict_without_a_limit():
    assert prep_retry_verdict(spec(-1), 1_000_000)


# -- definition and assignment ---------------------------------------------------------------------------------------


def test_prep_2_defaults():
    default = JobPreparationTask(command_line="x")
    assert (default.id, default.wait_for_success, default.rerun_on_node_reboot_after_success) == (
        "jobpreparation",
        True,
        True,
    )
    assert default.constraints.max_task_retry_count == 0
    assert default.constraints.max_wall_clock_time is None
    assert default.constraints.retention_time == 7 * 24 * 3600 * 1000


@pytest.mark.parametrize(("own_id", "taken"), [("jobpreparation", "JobPreparation"), ("fetch", "FETCH")])
def test_prep_2_a_task_of_the_same_id_is_refused(start, own_id, taken):
    sim = start(a_job(tasks=0, prep=a_prep(id=own_id)))
    run(sim, seconds=1)
    code = refusal(sim, "addTasks", jobId="j", tasks=[a_task(taken)])
    assert code == "TaskIdSameAsJobPreparationTask"


def test_prep_2_the_jobs_retry_count_does_not_apply(start):
    sim = start(a_job(prep=a_prep(exit_code=1), constraints={"maxTaskRetryCount": 3}))
    run_to_end(sim)
    assert prep(sim).retry_count == 0
    assert prep(sim).runs == 1


def test_prep_1_one_instance_for_each_node(start):
    sim = start(a_job(tasks=9, prep=a_prep()), pool=a_pool(nodes=3))
    run_to_end(sim)
    assert [prep(sim, index).runs for index in range(3)] == [1, 1, 1]
    assert len(prep_events(sim, to="completed")) == 3


def test_prep_3_not_before_a_task_is_assigned(start):
    sim = start(a_job(tasks=0, prep=a_prep()))
    run(sim, minutes=10)
    assert prep_events(sim) == []
    do(sim, "addTasks", jobId="j", tasks=[a_task()])
    run(sim, seconds=2)
    assert prep(sim).state is RUNNING


def test_prep_3_nodes_without_a_task_do_not_prepare(start):
    sim = start(a_job(tasks=2, prep=a_prep()), pool=a_pool(nodes=3))
    run_to_end(sim)
    assert [prep(sim, index) is None for index in range(3)] == [False, False, True]


def test_prep_3_free_slots_elsewhere_spare_a_preparation_when_packing(start):
    pool = a_pool(nodes=2, taskSlotsPerNode=2, taskSchedulingPolicy={"nodeFillType": "pack"})
    sim = start(a_job(tasks=2, prep=a_prep()), pool=pool)
    run_to_end(sim)
    assert prep(sim, 1) is None
    assert task_history(sim, "t2") == ["active", "preparing", "running", "completed"]


def test_prep_4_once_per_node_and_job_not_once_per_task(start):
    sim = start(a_job(tasks=4, prep=a_prep()))
    run_to_end(sim)
    assert prep_events(sim) == [(READY_S, "running", 1), (READY_S + PREP_S, "completed", 1)]
    assert [task_history(sim, f"t{n}").count("preparing") for n in (1, 2, 3, 4)] == [1, 0, 0, 0]


def test_prep_4_not_again_for_a_task_that_is_retried_or_requeued(start):
    task = a_task(exit_code=0, simulate={"attempts": [{"exitCode": 1}]}, constraints={"maxTaskRetryCount": 1})
    sim = start(a_job(tasks=[task], prep=a_prep()))
    run_to_end(sim)
    assert task_extra(sim).attempts == 2
    assert len(prep_events(sim)) == 2


def test_prep_5_running_covers_the_retries(start):
    sim = start(a_job(prep=a_prep(exit_code=1, constraints={"maxTaskRetryCount": 2})))
    run_to(sim, seconds=READY_S + 2 * PREP_S + 1)
    assert prep(sim).state is RUNNING
    assert prep(sim).result is None
    assert prep(sim).end_ms is None
    run_to_end(sim)
    assert prep(sim).state is COMPLETED
    assert prep(sim).result is TaskResult.FAILURE


# -- waitForSuccess = true -------------------------------------------------------------------------------------------


def test_prep_6_the_triggering_task_waits_in_preparing(start):
    sim = start(a_job(prep=a_prep()))
    run_to(sim, seconds=READY_S + PREP_S - 1)
    assert task_state(sim) == "preparing"
    assert times(sim, "TaskStateChanged", to="preparing") == [READY_S]
    assert task_extra(sim).attempts == 0


def test_prep_6_further_tasks_assigned_meanwhile_wait_too(start):
    sim = start(a_job(tasks=1, prep=a_prep(60)), pool=a_pool(taskSlotsPerNode=3))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "addTasks", jobId="j", tasks=[a_task("late")])
    run(sim, seconds=2)
    assert (task_state(sim), task_state(sim, "late")) == ("preparing", "preparing")
    assert prep(sim).runs == 1


def test_prep_7_every_waiting_task_runs_at_success(start):
    sim = start(a_job(tasks=3, prep=a_prep()), pool=a_pool(taskSlotsPerNode=3))
    run_to_end(sim)
    assert times(sim, "TaskStateChanged", to="running", rule="PREP-7") == [READY_S + PREP_S] * 3


def test_prep_7_a_task_that_comes_later_runs_at_once(start):
    sim = start(a_job(prep=a_prep()))
    run_to_end(sim)
    do(sim, "addTasks", jobId="j", tasks=[a_task("late")])
    run_to_end(sim)
    assert task_history(sim, "late") == ["active", "running", "completed"]


def test_prep_8_waiting_tasks_are_active_again_and_run_elsewhere(start):
    sim = start(
        a_job(tasks=2, prep=a_prep(simulate={"onNode": {0: {"exitCode": 1}}})), pool=a_pool(nodes=2, taskSlotsPerNode=1)
    )
    run_to_end(sim)
    assert [event["taskId"] for event in events(sim, "TaskStateChanged", from_="preparing", to="active")] == ["t1"]
    assert task_history(sim) == ["active", "preparing", "active", "running", "completed"]
    (last_start,) = events(sim, "TaskStateChanged", taskId="t1", to="running")
    assert last_start["nodeId"] != events(sim, "TaskStateChanged", taskId="t1", to="preparing")[0]["nodeId"]


def test_prep_8_counters_are_unchanged(start):
    sim = start(a_job(prep=a_prep(simulate={"onNode": {0: {"exitCode": 1}}})), pool=a_pool(nodes=2))
    run_to_end(sim)
    extra = task_extra(sim)
    assert (extra.retry_count, extra.requeue_count, extra.system_retries, extra.attempts) == (0, 0, 0, 1)
    assert task_state(sim) == "completed"


def test_prep_9_the_node_gets_no_task_of_this_job_but_those_of_others(start):
    sim = start(a_job(tasks=2, prep=a_prep(exit_code=1)), a_job("other", tasks=1))
    run_to_end(sim)
    assert [task_state(sim, f"t{n}") for n in (1, 2)] == ["active", "active"]
    assert task_state(sim, "t1", "other") == "completed"
    assert node_state(sim) == "idle"


def test_prep_9_a_node_that_was_running_other_work_stays_running(start):
    sim = start(
        a_job("other", tasks=[a_task(seconds=600)]), a_job(prep=a_prep(exit_code=1)), pool=a_pool(taskSlotsPerNode=2)
    )
    run_to(sim, minutes=5)
    assert prep(sim).result is TaskResult.FAILURE
    assert node_state(sim) == "running"


def test_prep_9_the_bar_outlasts_the_job_being_elsewhere(start):
    sim = start(
        a_job(prep=a_prep(simulate={"onNode": {0: {"exitCode": 1}}})),
        pools=[a_pool(), a_pool("q", nodes=0)],
    )
    run_to(sim, minutes=5)
    for pool in ("q", "p"):
        do(sim, "disableJob", jobId="j", disableTasks="requeue")
        run(sim, seconds=5)
        do(sim, "updateJob", jobId="j", poolInfo={"poolId": pool})
        do(sim, "enableJob", jobId="j")
        run(sim, seconds=5)
    run_to_end(sim)
    assert task_state(sim) == "active"
    assert prep(sim).runs == 1


def test_prep_9_a_preparation_that_ends_after_the_job_has_moved_bars_no_node_of_the_new_pool(start):
    sim = start(
        a_job(prep=a_prep(300, simulate={"onNode": {0: {"attempts": [{"exitCode": 1}]}}})),
        pools=[a_pool(), a_pool("q")],
    )
    run_to(sim, seconds=READY_S + 1)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run(sim, seconds=5)
    do(sim, "updateJob", jobId="j", poolInfo={"poolId": "q"})
    run_to(sim, minutes=10)
    do(sim, "enableJob", jobId="j")
    run(sim, seconds=5)
    assert task_state(sim) == "preparing"


def test_prep_10_one_event_for_each_task_that_was_refused(start):
    sim = start(a_job(tasks=3, prep=a_prep(exit_code=1)), pool=a_pool(taskSlotsPerNode=2))
    run_to_end(sim)
    found = events(sim, "TaskScheduleFail", code="JobPreparationTaskFailed")
    assert [event["taskId"] for event in found] == ["t1", "t2"]
    assert {event["category"] for event in found} == {"UserError"}
    assert {event["message"] for event in found} == {"Task cannot run because the job preparation task failed on node"}
    assert all(event["nodeId"] for event in found)


def test_prep_11_stuck_when_it_fails_everywhere_even_with_terminatejob(start):
    sim = start(a_job(tasks=2, prep=a_prep(exit_code=1), onAllTasksComplete="terminatejob"), pool=a_pool(nodes=2))
    run_to_end(sim)
    assert job_state(sim) == "active"
    assert [task_state(sim, f"t{n}") for n in (1, 2)] == ["active", "active"]


def test_prep_11_a_new_node_gets_a_fresh_attempt(start):
    sim = start(a_job(prep=a_prep(simulate={"onNode": {0: {"exitCode": 1}}})))
    run_to(sim, minutes=5)
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=2)
    run_to_end(sim)
    assert task_state(sim) == "completed"
    assert prep(sim, 1).result is TaskResult.SUCCESS


def test_prep_12_retried_on_the_same_node_up_to_the_limit(start):
    sim = start(a_job(prep=a_prep(exit_code=1, constraints={"maxTaskRetryCount": 2})), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 3 * PREP_S - 1)
    at = READY_S
    assert prep_events(sim) == [(at, "running", 1), (at + PREP_S, "running", 2), (at + 2 * PREP_S, "running", 3)]
    run_to_end(sim)
    assert prep(sim).retry_count == 2
    assert prep(sim).exit_code == 1


def test_prep_12_a_retry_may_succeed(start):
    prep_body = a_prep(simulate={"attempts": [{"exitCode": 7}]}, constraints={"maxTaskRetryCount": 1})
    sim = start(a_job(prep=prep_body))
    run_to_end(sim)
    assert (prep(sim).result, prep(sim).retry_count, prep(sim).exit_code) == (TaskResult.SUCCESS, 1, 0)
    assert [event["to"] for event in events(sim, "JobPreparationTaskStateChanged")] == [
        "running",
        "running",
        "completed",
    ]
    assert task_state(sim) == "completed"


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"httpUrl": "https://s/missing/a.bin", "filePath": "a.bin"}, "BlobNotFound"),
        ({"storageContainerUrl": "https://s/missing/c"}, "ResourceContainerNotFound"),
    ],
)
def test_prep_12_a_download_error_is_final(start, files, code):
    sim = start(
        a_job(prep=a_prep(resourceFiles=[files], constraints={"maxTaskRetryCount": -1})),
        simulate={"storage": {"https://s/missing/*": {"missing": True}}},
    )
    run_to_end(sim)
    assert (prep(sim).failure.code, prep(sim).exit_code, prep(sim).runs) == (code, None, 1)
    assert task_state(sim) == "active"


def test_prep_12_a_program_that_is_not_there_is_final(start):
    sim = start(a_job(prep=a_prep(simulate={"found": False}, constraints={"maxTaskRetryCount": 5})))
    run_to_end(sim)
    assert (prep(sim).failure.code, prep(sim).runs) == ("CommandProgramNotFound", 1)


def test_prep_12_over_its_time_limit_is_final(start):
    limits = {"maxTaskRetryCount": 5, "maxWallClockTime": "PT30S"}
    sim = start(a_job(prep=a_prep(600, constraints=limits)))
    run_to_end(sim)
    assert prep_events(sim) == [(READY_S, "running", 1), (READY_S + 30, "completed", 1)]
    assert prep(sim).failure.code == "TaskEnded"
    assert task_state(sim) == "active"


def test_prep_12_the_time_limit_is_per_attempt(start):
    limits = {"maxTaskRetryCount": 3, "maxWallClockTime": "PT30S"}
    prep_body = a_prep(20, simulate={"attempts": [{"exitCode": 1}, {"exitCode": 1}]}, constraints=limits)
    sim = start(a_job(prep=prep_body))
    run_to_end(sim)
    assert prep(sim).result is TaskResult.SUCCESS


# -- waitForSuccess = false ------------------------------------------------------------------------------------------


def test_prep_13_tasks_run_while_it_runs(start):
    sim = start(a_job(prep=a_prep(300, waitForSuccess=False)))
    run_to(sim, seconds=READY_S + 1)
    assert (task_state(sim), prep(sim).state) == ("running", RUNNING)
    run_to_end(sim)
    assert task_history(sim) == ["active", "running", "completed"]


def test_prep_13_its_failure_has_no_influence(start):
    sim = start(a_job(tasks=3, prep=a_prep(exit_code=1, waitForSuccess=False)))
    run_to_end(sim)
    assert [task_state(sim, f"t{n}") for n in (1, 2, 3)] == ["completed"] * 3
    assert prep(sim).result is TaskResult.FAILURE
    assert prep(sim).runs == 1
    assert events(sim, "TaskScheduleFail") == []


def test_prep_14_it_is_started_first_in_the_same_step(start):
    sim = start(a_job(prep=a_prep(waitForSuccess=False)))
    run_to_end(sim)
    (begun,) = events(sim, "JobPreparationTaskStateChanged", to="running")
    (task_begun,) = events(sim, "TaskStateChanged", to="running")
    assert begun["t"] == task_begun["t"]
    assert begun["seq"] < task_begun["seq"]


# -- slots, several jobs, the job's end ------------------------------------------------------------------------------


def test_prep_21_preparing_tasks_hold_their_slots_the_preparation_none(start):
    sim = start(a_job(tasks=some_tasks(2, requiredSlots=2), prep=a_prep(60)), pool=a_pool(taskSlotsPerNode=5))
    run_to(sim, seconds=READY_S + 10)
    assert [task_state(sim, f"t{n}") for n in (1, 2)] == ["preparing", "preparing"]
    assert sim.world.nodes.free[0] == 1
    run_to_end(sim)
    assert sim.world.nodes.free[0] == 5


def test_prep_21_preparing_tasks_count_for_max_parallel_tasks(start):
    sim = start(a_job(tasks=3, prep=a_prep(60), maxParallelTasks=2), pool=a_pool(nodes=3))
    run_to(sim, seconds=READY_S + 10)
    assert [task_state(sim, f"t{n}") for n in (1, 2, 3)] == ["preparing", "preparing", "active"]


def test_prep_22_each_job_has_its_own_side_by_side(start):
    sim = start(a_job(prep=a_prep(60)), a_job("k", prep=a_prep(60, exit_code=1)), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 10)
    assert (prep(sim).state, prep(sim, job="k").state) == (RUNNING, RUNNING)
    run_to_end(sim)
    assert (task_state(sim), task_state(sim, job="k")) == ("completed", "active")


@pytest.mark.parametrize("command", ["terminateJob", "deleteJob"])
def test_prep_23_the_jobs_end_kills_it(start, command):
    sim = start(a_job(prep=a_prep(300), release=a_line(5)))
    run_to(sim, seconds=READY_S + 10)
    do(sim, command, jobId="j")
    (ended,) = events(sim, "JobPreparationTaskStateChanged", to="completed")
    assert (ended["result"], ended["failureInfo"]["code"], ended["rule"]) == ("failure", "TaskEnded", "PREP-23")
    (refused,) = events(sim, "TaskStateChanged", taskId="t1", to="completed")
    assert refused["failureInfo"]["code"] == "JobBeingTerminated"
    run_to_end(sim)
    # REL-3: no task has run.
    assert events(sim, "JobReleaseTaskStateChanged") == []


def test_prep_23_with_a_task_that_has_run_release_follows(start):
    sim = start(a_job(tasks=[a_task(seconds=600)], prep=a_prep(300, waitForSuccess=False), release=a_line(5)))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert prep(sim).failure.code == "TaskEnded"
    assert len(events(sim, "JobReleaseTaskStateChanged", to="completed")) == 1


def test_prep_22_disabling_the_job_lets_it_finish(start):
    sim = start(a_job(prep=a_prep(60)))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    assert task_state(sim) == "active"
    run(sim, minutes=5)
    assert prep(sim).result is TaskResult.SUCCESS
    do(sim, "enableJob", jobId="j")
    run_to_end(sim)
    assert task_history(sim)[-2:] == ["running", "completed"]
    assert prep(sim).runs == 1


# -- the record ------------------------------------------------------------------------------------------------------


def test_prep_24_start_is_that_of_the_latest_attempt(start):
    sim = start(a_job(prep=a_prep(exit_code=1, constraints={"maxTaskRetryCount": 1})))
    run_to_end(sim)
    assert prep(sim).start_ms == (READY_S + PREP_S) * 1000
    assert prep(sim).end_ms == (READY_S + 2 * PREP_S) * 1000


def test_prep_24_failure_code_of_a_nonzero_exit(start):
    sim = start(a_job(prep=a_prep(exit_code=3)))
    run_to_end(sim)
    (ended,) = events(sim, "JobPreparationTaskStateChanged", to="completed")
    assert ended["exitCode"] == 3
    assert ended["failureInfo"]["code"] == "FailureExitCode"


def test_prep_27_not_among_tasks_counts_and_node_counters(start):
    sim = start(a_job(prep=a_prep(), release=a_line(5), onAllTasksComplete="terminatejob"))
    run_to_end(sim)
    assert sim.world.jobs[0].total == 1
    assert sim.world.nodes.ran[0] == 1
    assert {event["taskId"] for event in events(sim, "TaskStateChanged")} == {"t1"}


def test_node_9_preparing_tasks_make_the_node_running(start):
    sim = start(a_job(prep=a_prep(60)))
    run_to(sim, seconds=READY_S + 5)
    assert node_state(sim) == "running"


def test_node_9_a_preparation_for_which_nobody_waits_does_not_keep_it_running(start):
    sim = start(a_job(prep=a_prep(300)))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "terminateTask", jobId="j", taskId="t1")
    run(sim, seconds=1)
    assert (node_state(sim), prep(sim).state) == ("idle", RUNNING)
    run_to_end(sim)
    assert prep(sim).result is TaskResult.SUCCESS
    assert node_states(sim) == ["creating", "starting", "idle", "running", "idle"]


def test_file_2_files_of_the_preparation_lie_in_its_own_directory(start):
    sim = start(a_job(prep=a_shell("echo hello && echo data > here.txt", id="fetch")))
    run_to_end(sim)
    assert file(sim, "workitems/j/job-1/fetch/stdout.txt") == "hello\n"
    assert file(sim, "workitems/j/job-1/fetch/wd/here.txt") == "data\n"
