"""Chapter 13: tasks and the operations on them. How they end is in ``test_attempts`` and ``test_output_files``."""

from __future__ import annotations

import pytest

from engine.base.log import plain
from tests.builders import (
    READY_S,
    STOPPED,
    a_job,
    a_line,
    a_pool,
    a_shell,
    a_task,
    do,
    events,
    file,
    from_yaml,
    job_state,
    node_row,
    refusal,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_extra,
    task_history,
    task_row,
    task_state,
    times,
)


def counts(sim, job="j"):
    """Active, preparing, running, completed, and how many of the completed have failed."""
    found = sim.world.jobs.find(job)
    return (*found.counts, found.failed)


def running(start, *tasks, seconds=1, **job):
    sim = start(a_job(tasks=list(tasks) or 1, **job))
    run_to(sim, seconds=READY_S + seconds)
    return sim


def add(sim, *tasks, job="j"):
    return refusal(sim, "addTasks", jobId=job, tasks=list(tasks))


# -- adding ----------------------------------------------------------------------------------------------------------


def test_task_1_a_task_waits_until_a_node_is_free(start):
    sim = running(start, *some_tasks(2))
    assert (task_state(sim, "t1"), task_state(sim, "t2")) == ("running", "active")
    run_to_end(sim)
    assert times(sim, "TaskStateChanged", taskId="t2", to="running") == times(
        sim, "TaskStateChanged", taskId="t1", to="completed"
    )


def test_task_2_an_id_in_use_is_refused_whatever_its_case(start):
    sim = running(start)
    assert add(sim, a_task("T1")) == "TaskExists"
    assert add(sim, a_task("x"), a_task("X")) == "TaskExists"
    assert counts(sim)[0] == 1


def test_task_2_the_id_of_a_deleted_task_is_free(start):
    sim = running(start)
    do(sim, "deleteTask", jobId="j", taskId="t1")
    assert add(sim, a_task("t1")) is None
    run_to_end(sim)
    assert task_state(sim) == "completed"


@pytest.mark.parametrize(
    ("task_id", "code"),
    [
        ("jobpreparation", "TaskIdSameAsJobPreparationTask"),
        ("JobRelease", "TaskIdSameAsJobReleaseTask"),
        ("a b", "InvalidPropertyValue"),
        ("x" * 65, "InvalidPropertyValue"),
    ],
)
def test_task_2_ids_that_cannot_be(start, task_id, code):
    sim = running(start, prep=a_line(1), release=a_line(1))
    assert add(sim, a_task(task_id)) == code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"requiredSlots": 0}, "InvalidPropertyValue"),
        ({"constraints": {"maxTaskRetryCount": -2}}, "InvalidConstraintValue"),
        ({"dependsOn": {"taskIds": ["t1"]}}, "TaskDependenciesNotSpecifiedOnJob"),
    ],
)
def test_task_2_what_is_wrong_in_the_body_is_refused(start, body, code):
    sim = running(start)
    assert add(sim, a_task("new", **body)) == code
    assert sim.world.jobs.find("j").total == 1


def test_task_3_in_a_collection_each_task_is_taken_or_refused_by_itself(start):
    sim = running(start)
    assert add(sim, a_task("a"), a_task("t1"), a_task("b")) == "TaskExists"
    assert [task_state(sim, name) for name in "ab"] == ["active", "active"]
    assert [event["event"] for event in events(sim) if event["event"].startswith("Command")][-2:] == [
        "CommandAccepted",
        "CommandRefused",
    ]


def test_task_3_a_collection_has_a_hundred_tasks_at_most(start):
    sim = running(start)
    assert add(sim, *(a_task(f"x{number}") for number in range(101))) == "RequestBodyTooLarge"
    assert sim.world.jobs.find("j").total == 1
    assert add(sim, *(a_task(f"x{number}") for number in range(100))) is None


def test_task_3_a_collection_is_smaller_than_a_megabyte(start):
    sim = running(start)
    heavy = [a_task(f"x{number}", command="w" * 20_000) for number in range(60)]
    assert add(sim, *heavy) == "RequestBodyTooLarge"


def test_task_3_a_scenario_job_may_list_more():
    tasks = ", ".join(f"{{id: t{number}, commandLine: w}}" for number in range(250))
    text = "scenario: x\npools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}]\n"
    sim = from_yaml(f"{text}jobs:\n- id: j\n  poolInfo: {{poolId: p}}\n  tasks: [{tasks}]\n")
    run(sim, seconds=1)
    assert sim.world.jobs.find("j").total == 250


def test_time_9_a_new_task_is_seen_a_second_after_it_was_added(start):
    sim = start(a_job(tasks=0))
    run_to(sim, minutes=2)
    do(sim, "addTasks", jobId="j", tasks=[a_task("a")])
    run(sim, seconds=5)
    assert times(sim, "TaskStateChanged", taskId="a", to="running") == [121.001]


# -- states and counts -----------------------------------------------------------------------------------------------


def test_task_7_the_states_of_a_task_with_and_without_preparation(start):
    sim = start(a_job("a"), a_job("b", prep=a_line(1)))
    run_to_end(sim)
    assert task_history(sim, "t1", "a") == ["active", "running", "completed"]
    assert task_history(sim, "t1", "b") == ["active", "preparing", "running", "completed"]


def test_task_16_counts_follow_the_states_and_results(start):
    tasks = [a_task("good"), a_task("bad", exit_code=1), a_task("third", requiredSlots=2), a_task("fourth")]
    sim = start(a_job(tasks=tasks, prep=a_line(20)), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 5)
    assert counts(sim) == (2, 2, 0, 0, 0)
    run_to(sim, seconds=READY_S + 30)
    assert counts(sim) == (2, 0, 2, 0, 0)
    run_to_end(sim)
    assert counts(sim) == (0, 0, 0, 4, 1)


def test_task_10_the_record_of_a_task_that_went_well(start):
    sim = start(a_job())
    run_to_end(sim)
    row, tasks = task_row(sim), sim.world.tasks
    assert (tasks.started[row], tasks.ended[row]) == (READY_S * 1000, (READY_S + 61) * 1000)
    extra = task_extra(sim)
    assert (extra.attempts, extra.retry_count, extra.requeue_count, extra.failure) == (1, 0, 0, None)


def test_task_10_a_download_is_part_of_the_attempt(start):
    files = [{"httpUrl": "https://a/b", "filePath": "b"}]
    task = a_task(resourceFiles=files)
    sim = start(a_job(tasks=[task]), simulate={"storage": {"https://a/*": {"size": 500_000_000}}})
    run_to_end(sim)
    assert times(sim, "TaskStateChanged", to="running") == [READY_S]
    assert times(sim, "TaskStateChanged", to="completed") == [READY_S + 1 + 10 + 60]


def test_task_11_a_task_remembers_the_node_of_its_latest_run(start):
    sim = running(start, a_task(seconds=300))
    do(sim, "resizePool", poolId="p", targetDedicatedNodes=2)
    run(sim, minutes=1)
    do(sim, "removeNodes", poolId="p", nodeList=[0])
    run_to_end(sim)
    assert sim.world.tasks.node[task_row(sim)] == node_row(sim, 1)


def test_task_4_a_program_that_is_not_there_does_not_run(start):
    sim = start(a_job(tasks=[{"id": "t1", "commandLine": "cd /tmp"}]))
    run_to_end(sim)
    extra = task_extra(sim)
    assert (task_state(sim), extra.exit_code, extra.failure.code) == ("completed", None, "CommandProgramNotFound")


def test_task_6_a_file_that_is_not_there_fails_the_task_before_it_runs(start):
    task = a_task(resourceFiles=[{"httpUrl": "https://a/b", "filePath": "b"}], constraints={"maxTaskRetryCount": 5})
    sim = start(a_job(tasks=[task]), simulate={"storage": {"*": {"missing": True}}})
    run_to_end(sim)
    extra = task_extra(sim)
    assert (extra.attempts, extra.exit_code, extra.failure.code) == (1, None, "BlobNotFound")


def test_task_9_what_is_not_completed_after_180_days_is_ended(start):
    sim = start(
        a_job(tasks=[a_task("good"), a_task("big", requiredSlots=9), a_task("long", 200 * 86_400)]), until="P190D"
    )
    run_to_end(sim)
    days = 180 * 86_400
    ended = {
        e["taskId"]: (e["t"], e["rule"]) for e in events(sim, "TaskStateChanged", to="completed", result="failure")
    }
    assert ended == {"big": (days, "TASK-9"), "long": (days, "TASK-9")}
    assert (task_extra(sim, "big").exit_code, task_extra(sim, "long").exit_code) == (None, STOPPED)
    assert task_extra(sim, "long").failure.category == "ServerError"
    assert task_state(sim, "good") == "completed"


def test_task_9_no_run_is_kept_alive_by_the_age_of_its_tasks(start):
    sim = start(a_job())
    run_to_end(sim)
    assert sim.finished
    assert sim.log.last_ms < 200_000


def test_task_5_only_tasks_of_the_user_are_in_the_list(start):
    sim = start(a_job(prep=a_line(1), release=a_line(1)), pool=a_pool(startTask=a_line(1)))
    run_to(sim, minutes=5)
    assert sim.world.jobs.find("j").total == 1
    assert refusal(sim, "terminateTask", jobId="j", taskId="jobpreparation") == "TaskNotFound"


# -- update ----------------------------------------------------------------------------------------------------------


def limits(sim, task="t1"):
    profile = sim.world.tasks.profile_of(task_row(sim, task))
    return profile.max_retries, profile.wall_clock_ms, profile.retention_ms


def test_task_12_the_constraints_are_replaced_as_a_whole(start):
    given = {"maxTaskRetryCount": 2, "maxWallClockTime": "PT1H", "retentionTime": "PT1H"}
    sim = running(start, a_task(constraints=given))
    assert limits(sim) == (2, 3_600_000, 3_600_000)
    do(sim, "updateTask", jobId="j", taskId="t1", constraints={"maxTaskRetryCount": 5})
    assert limits(sim) == (5, None, 7 * 86_400_000)
    do(sim, "updateTask", jobId="j", taskId="t1")
    assert limits(sim) == (None, None, 7 * 86_400_000)


def test_task_12_retries_given_while_it_runs_count(start):
    sim = running(start, a_task(exit_code=1))
    do(sim, "updateTask", jobId="j", taskId="t1", constraints={"maxTaskRetryCount": 2})
    run_to_end(sim)
    assert task_extra(sim).retry_count == 2


def test_task_12_other_tasks_of_the_same_body_keep_theirs(start):
    sim = running(start, *some_tasks(2, exit_code=1))
    do(sim, "updateTask", jobId="j", taskId="t2", constraints={"maxTaskRetryCount": 1})
    run_to_end(sim)
    assert (task_extra(sim, "t1").retry_count, task_extra(sim, "t2").retry_count) == (0, 1)


@pytest.mark.parametrize("line", [a_line(60), a_line(60, command="work > out"), a_line(60, simulate={"stdout": "x"})])
def test_task_12_a_time_limit_given_to_a_queued_task_holds(start, line):
    sim = running(start, a_task("first"), {"id": "t1"} | line)
    do(sim, "updateTask", jobId="j", taskId="t1", constraints={"maxWallClockTime": "PT10S"})
    run_to_end(sim)
    assert task_extra(sim).exit_code == STOPPED
    begun, ended = (times(sim, "TaskStateChanged", taskId="t1", to=state)[0] for state in ("running", "completed"))
    assert ended - begun == 10


@pytest.mark.parametrize("line", [a_line(60), a_line(60, simulate={"stdout": "x"})])
def test_task_12_a_time_limit_taken_away_holds_no_more(start, line):
    sim = running(start, a_task("first"), {"id": "t1", "constraints": {"maxWallClockTime": "PT10S"}} | line)
    do(sim, "updateTask", jobId="j", taskId="t1")
    run_to_end(sim)
    assert task_extra(sim).failure is None


@pytest.mark.parametrize("line", [a_line(60), a_line(60, simulate={"stdout": "x"})])
@pytest.mark.parametrize(("limit", "ended"), [("PT30S", 30), ("PT5S", 20.001), ("PT2M", 61)])
def test_task_12_a_time_limit_given_to_a_running_task_counts_from_its_start(start, line, limit, ended):
    sim = running(start, {"id": "t1"} | line, seconds=20)
    do(sim, "updateTask", jobId="j", taskId="t1", constraints={"maxWallClockTime": limit})
    run_to_end(sim)
    assert times(sim, "TaskStateChanged", to="completed") == [READY_S + ended]
    assert (task_extra(sim).failure is None) == (limit == "PT2M")


def test_task_12_a_longer_limit_lets_a_running_task_end_by_itself(start):
    sim = running(start, a_task(constraints={"maxWallClockTime": "PT30S"}), seconds=20)
    do(sim, "updateTask", jobId="j", taskId="t1", constraints={"maxWallClockTime": "PT2M"})
    run_to_end(sim)
    assert times(sim, "TaskStateChanged", to="completed", exitCode=0) == [READY_S + 61]


def test_task_12_a_completed_task_is_not_updated(start):
    sim = start(a_job())
    run_to_end(sim)
    assert refusal(sim, "updateTask", jobId="j", taskId="t1", constraints={}) == "TaskCompleted"
    assert refusal(sim, "updateTask", jobId="j", taskId="t9", constraints={}) == "TaskNotFound"


# -- terminate -------------------------------------------------------------------------------------------------------


def test_task_13_an_active_task_is_completed_without_having_started(start):
    sim = running(start, *some_tasks(2))
    do(sim, "terminateTask", jobId="j", taskId="t2")
    extra = task_extra(sim, "t2")
    assert (task_state(sim, "t2"), extra.exit_code, extra.attempts) == ("completed", None, 0)
    assert sim.world.tasks.started[task_row(sim, "t2")] == -1
    assert plain(extra.failure)["category"] == "UserError"
    assert plain(extra.failure)["code"] == "TaskEnded"
    run_to_end(sim)
    assert task_history(sim, "t2") == ["active", "completed"]


def test_task_13_a_running_task_is_stopped_and_its_node_goes_on(start):
    sim = running(start, *some_tasks(2))
    do(sim, "terminateTask", jobId="j", taskId="t1")
    extra = task_extra(sim)
    assert (extra.exit_code, extra.failure.code, extra.failure.category) == (STOPPED, "TaskEnded", "UserError")
    assert task_state(sim, "t2") == "running"


def test_task_13_a_preparing_task_gives_its_slot_back(start):
    sim = running(start, *some_tasks(1), prep=a_line(100))
    do(sim, "terminateTask", jobId="j", taskId="t1")
    assert (task_state(sim), task_extra(sim).exit_code) == ("completed", None)
    assert sim.world.nodes.free[node_row(sim)] == 1
    run_to_end(sim)
    assert task_history(sim) == ["active", "preparing", "completed"]


def test_task_13_a_task_that_waits_for_its_retry_ends_too(start):
    sim = running(start, a_task(exit_code=1, constraints={"maxTaskRetryCount": -1}), a_task("t2", seconds=500))
    run(sim, seconds=61)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    do(sim, "terminateTask", jobId="j", taskId="t1")
    assert task_state(sim) == "completed"
    assert refusal(sim, "terminateTask", jobId="j", taskId="t1") == "TaskCompleted"


def test_task_13_before_the_scheduler_has_seen_it(start):
    sim = start(a_job(tasks=some_tasks(2)))
    do(sim, "terminateTask", jobId="j", taskId="t1")
    run_to_end(sim)
    assert task_history(sim, "t1") == ["active", "completed"]
    assert task_history(sim, "t2") == ["active", "running", "completed"]


def test_task_13_the_last_open_task_may_end_the_job(start):
    sim = running(start, onAllTasksComplete="terminatejob")
    do(sim, "terminateTask", jobId="j", taskId="t1")
    assert job_state(sim) == "terminating"


# -- delete ----------------------------------------------------------------------------------------------------------


def test_task_14_a_deleted_task_and_its_files_are_gone(start):
    sim = start(a_job(tasks=[{"id": "t1"} | a_shell("echo hello")]))
    run_to_end(sim)
    assert file(sim, "workitems/j/job-1/t1/stdout.txt") == "hello\n"
    do(sim, "deleteTask", jobId="j", taskId="t1")
    assert file(sim, "workitems/j/job-1/t1/stdout.txt") is None
    assert refusal(sim, "deleteTask", jobId="j", taskId="t1") == "TaskNotFound"
    assert counts(sim) == (0, 0, 0, 0, 0)


def test_task_14_a_running_task_is_ended_first(start):
    sim = running(start, *some_tasks(2))
    do(sim, "deleteTask", jobId="j", taskId="t1")
    moves = [(event["from"], event["to"]) for event in events(sim, "TaskStateChanged", taskId="t1")]
    assert moves[-2:] == [("running", "completed"), ("completed", None)]
    assert task_state(sim, "t2") == "running"


@pytest.mark.parametrize("seconds", [0.5 - READY_S, 1], ids=["before it is seen", "in the queue"])
def test_task_14_a_queued_task_never_runs(start, seconds):
    sim = running(start, *some_tasks(3), seconds=seconds)
    do(sim, "deleteTask", jobId="j", taskId="t2")
    run_to_end(sim)
    assert [event["to"] for event in events(sim, "TaskStateChanged", taskId="t2")] == ["active", None]
    assert task_state(sim, "t3") == "completed"


# -- reactivate ------------------------------------------------------------------------------------------------------


def test_task_15_a_failed_task_runs_again_with_all_its_retries(start):
    sim = start(a_job(tasks=[a_task(exit_code=1, constraints={"maxTaskRetryCount": 1})]))
    run_to_end(sim)
    assert (task_extra(sim).retry_count, counts(sim)) == (1, (0, 0, 0, 1, 1))
    do(sim, "reactivateTask", jobId="j", taskId="t1")
    extra = task_extra(sim)
    assert (extra.retry_count, extra.exit_code, extra.failure, extra.last_retry_ms) == (0, None, None, None)
    assert counts(sim)[3:] == (0, 0)
    run_to_end(sim)
    assert (task_extra(sim).retry_count, task_extra(sim).attempts) == (1, 4)
    assert counts(sim)[3:] == (1, 1)


def test_task_15_the_requeue_count_is_kept(start):
    sim = running(start, a_task(exit_code=1))
    do(sim, "rebootNode", poolId="p", node=0)
    run_to_end(sim)
    do(sim, "reactivateTask", jobId="j", taskId="t1")
    assert (task_extra(sim).requeue_count, task_extra(sim).retry_count) == (1, 0)


def test_task_15_a_task_ended_before_it_ran_starts_afresh(start):
    sim = running(start, *some_tasks(2))
    do(sim, "terminateTask", jobId="j", taskId="t2")
    do(sim, "reactivateTask", jobId="j", taskId="t2")
    assert (task_state(sim, "t2"), task_extra(sim, "t2").failure) == ("active", None)
    run_to_end(sim)
    assert (task_extra(sim, "t2").attempts, task_extra(sim, "t2").failure) == (1, None)
    assert counts(sim) == (0, 0, 0, 2, 0)


def test_task_15_before_the_scheduler_has_seen_it(start):
    """It is queued once, not twice."""
    sim = start(a_job(tasks=some_tasks(2)))
    do(sim, "terminateTask", jobId="j", taskId="t1")
    do(sim, "reactivateTask", jobId="j", taskId="t1")
    run(sim, seconds=2)
    assert sim.world.jobs.find("j").ready_count == 2
    run_to_end(sim)
    assert task_history(sim) == ["active", "completed", "active", "running", "completed"]


def test_task_15_a_success_the_second_time(start):
    sim = start(a_job(tasks=[a_task(simulate={"attempts": [{"exitCode": 7}]})]))
    run_to_end(sim)
    assert task_extra(sim).exit_code == 7
    do(sim, "reactivateTask", jobId="j", taskId="t1")
    run_to_end(sim)
    assert (task_extra(sim).exit_code, counts(sim)) == (0, (0, 0, 0, 1, 0))


def test_task_15_refused_for_what_is_not_completed_or_has_succeeded(start):
    sim = running(start, *some_tasks(2))
    assert refusal(sim, "reactivateTask", jobId="j", taskId="t1") == "TaskNotCompleted"
    assert refusal(sim, "reactivateTask", jobId="j", taskId="t2") == "TaskNotCompleted"
    run_to_end(sim)
    assert refusal(sim, "reactivateTask", jobId="j", taskId="t1") == "TaskSucceeded"
    assert refusal(sim, "reactivateTask", jobId="j", taskId="t3") == "TaskNotFound"


@pytest.mark.parametrize(
    ("name", "seconds", "code"),
    [
        ("terminateJob", 1, "JobBeingTerminated"),
        ("terminateJob", 60, "JobCompleted"),
        ("deleteJob", 1, "JobBeingDeleted"),
    ],
)
def test_task_15_refused_when_the_job_is_ending(start, name, seconds, code):
    sim = start(a_job(tasks=[a_task(exit_code=1)], prep=a_line(1), release=a_line(10)))
    run_to_end(sim)
    do(sim, name, jobId="j")
    run(sim, seconds=seconds)
    assert refusal(sim, "reactivateTask", jobId="j", taskId="t1") == code


def test_task_15_in_a_disabled_job_it_waits(start):
    sim = start(a_job(tasks=[a_task(exit_code=1)]))
    run_to_end(sim)
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    run(sim, seconds=3)
    assert refusal(sim, "reactivateTask", jobId="j", taskId="t1") is None
    run(sim, minutes=5)
    assert task_state(sim) == "active"


@pytest.mark.parametrize("name", ["terminateTask", "reactivateTask", "deleteTask", "updateTask"])
def test_task_13_the_job_is_looked_for_first(start, name):
    assert refusal(start(), name, jobId="nobody", taskId="t1") == "JobNotFound"
