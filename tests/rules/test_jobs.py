"""Chapter 9: jobs, what may be done to them in which state, and how they end."""

from __future__ import annotations

import pytest

from engine.rules.jobs import command_verdict
from engine.terms import JobState
from engine.views.rest_jobs import job_body
from tests.builders import (
    READY_S,
    STOPPED,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    job_state,
    node_row,
    pool_state,
    prep,
    refusal,
    release,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_extra,
    task_history,
    task_state,
    times,
)

STATES = list(JobState)


def changes(sim, job="j"):
    return [(event["t"], event["to"]) for event in events(sim, "JobStateChanged", jobId=job)]


def reason(sim, job="j"):
    return sim.world.jobs.find(job).terminate_reason


def running(start, *jobs, **scenario):
    """A run in which the first tasks have just started."""
    sim = start(*(jobs or (a_job(),)), **scenario)
    run_to(sim, seconds=READY_S)
    return sim


def in_state(start, state, **job):
    """A run whose job is in this state."""
    body = a_job(**({"tasks": some_tasks(2, 600), "prep": a_line(1), "release": a_line(300)} | job))
    sim = running(start, body)
    run(sim, seconds=10)
    if state in ("disabling", "disabled", "enabling"):
        do(sim, "disableJob", jobId="j", disableTasks="wait" if state == "disabling" else "requeue")
    if state in ("disabled", "enabling"):
        run(sim, seconds=5)
    if state == "enabling":
        do(sim, "enableJob", jobId="j")
    if state in ("terminating", "completed"):
        do(sim, "terminateJob", jobId="j")
    if state == "completed":
        run(sim, minutes=10)
    if state == "deleting":
        do(sim, "deleteJob", jobId="j")
    assert job_state(sim) == state
    return sim


# -- the table of refusals -------------------------------------------------------------------------------------------


EVERYWHERE = dict.fromkeys(("active", "disabling", "disabled", "enabling"))
ENDING = {"terminating": "JobBeingTerminated", "completed": "JobCompleted", "deleting": "JobBeingDeleted"}
INVALID = "OperationInvalidForCurrentState"
REFUSALS = {
    "add": EVERYWHERE | ENDING,
    "update": EVERYWHERE | {"terminating": None, "completed": "JobCompleted", "deleting": "JobBeingDeleted"},
    "disable": EVERYWHERE | {"enabling": INVALID} | ENDING,
    "enable": dict.fromkeys(("active", "disabling", "enabling"), INVALID) | {"disabled": None} | ENDING,
    "terminate": EVERYWHERE | ENDING,
    "delete": EVERYWHERE | {"terminating": None, "completed": None, "deleting": "JobBeingDeleted"},
}
COMMANDS = {
    "add": ("addTasks", {"tasks": [a_task("new")]}),
    "update": ("updateJob", {"priority": 7}),
    "disable": ("disableJob", {"disableTasks": "wait"}),
    "enable": ("enableJob", {}),
    "terminate": ("terminateJob", {}),
    "delete": ("deleteJob", {}),
}


@pytest.mark.parametrize("command", REFUSALS)
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.wire)
def test_job_19_the_verdict_names_the_state_that_forbids_a_command(command, state):
    verdict = command_verdict(command, state)
    assert (verdict.code if verdict else None) == REFUSALS[command][state.wire]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("state", [state.wire for state in STATES])
def test_job_19_the_service_answers_by_the_state_of_the_job(start, command, state):
    sim = in_state(start, state)
    name, body = COMMANDS[command]
    assert refusal(sim, name, jobId="j", **body) == REFUSALS[command][state]


def test_job_19_a_refused_command_changes_nothing(start):
    sim = in_state(start, "completed")
    before = len(events(sim))
    assert refusal(sim, "terminateJob", jobId="j", terminateReason="again") == "JobCompleted"
    assert reason(sim) == "UserTerminate"
    assert [event["event"] for event in events(sim)[before:]] == ["CommandRefused"]


@pytest.mark.parametrize("name", ["updateJob", "disableJob", "enableJob", "terminateJob", "deleteJob", "addTasks"])
def test_job_19_a_job_that_does_not_exist_is_not_found(start, name):
    body = {"disableTasks": "wait"} if name == "disableJob" else {}
    assert refusal(start(), name, jobId="nobody", **body) == "JobNotFound"


# -- creation --------------------------------------------------------------------------------------------------------


def test_job_1_a_job_belongs_to_a_pool_and_its_tasks_to_the_job(start):
    sim = start(a_job("a"), a_job("b"))
    run_to_end(sim)
    assert [event["jobId"] for event in events(sim, "TaskStateChanged", taskId="t1", to="completed")] == ["a", "b"]


def test_job_6_a_new_job_is_active_at_once(start):
    sim = start(a_job(at=30))
    run_to(sim, seconds=30)
    assert changes(sim) == [(30, "active")]


def test_job_25_an_id_in_use_is_refused_whatever_its_case(start):
    sim = running(start)
    assert refusal(sim, "createJob", id="J", poolInfo={"poolId": "p"}) == "JobExists"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"jobReleaseTask": {"commandLine": "r"}}, "InvalidPropertyValue"),
        ({"poolInfo": {}}, "MissingRequiredProperty"),
        ({"maxParallelTasks": 0}, "InvalidPropertyValue"),
        ({"maxParallelTasks": -2}, "InvalidPropertyValue"),
        ({"constraints": {"maxTaskRetryCount": -2}}, "InvalidConstraintValue"),
        ({"priority": 1001}, "OutOfRangePriority"),
        ({"priority": -1001}, "OutOfRangePriority"),
    ],
)
def test_job_25_what_is_wrong_in_the_body_is_refused(start, body, code):
    sim = start()
    assert refusal(sim, "createJob", **({"id": "new", "poolInfo": {"poolId": "p"}} | body)) == code
    assert sim.world.jobs.find("new") is None


def test_job_26_jobs_on_a_shared_pool_run_side_by_side(start):
    sim = running(start, a_job("a"), a_job("b"), pool=a_pool(nodes=2))
    assert task_state(sim, "t1", "a") == task_state(sim, "t1", "b") == "running"


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


def test_job_7_a_job_that_was_disabled_meanwhile_ends_when_it_is_active_again(start):
    sim = running(start, a_job(onAllTasksComplete="terminatejob"))
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    run(sim, minutes=5)
    assert (job_state(sim), task_state(sim)) == ("disabled", "completed")
    do(sim, "enableJob", jobId="j")
    run_to_end(sim)
    assert reason(sim) == "AllTasksCompleted"


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


# -- disable and enable ----------------------------------------------------------------------------------------------


def test_job_11_requeue_puts_running_tasks_back_and_counts(start):
    sim = running(start)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    assert (job_state(sim), task_state(sim)) == ("disabling", "active")
    assert (task_extra(sim).requeue_count, task_extra(sim).retry_count) == (1, 0)
    run(sim, seconds=2)
    assert job_state(sim) == "disabled"


def test_job_11_terminate_completes_running_tasks_for_good(start):
    sim = running(start, a_job(tasks=2))
    do(sim, "disableJob", jobId="j", disableTasks="terminate")
    extra = task_extra(sim)
    assert (task_state(sim), extra.exit_code, extra.failure.code) == ("completed", STOPPED, "TaskEnded")
    assert extra.failure.category == "UserError"
    assert task_state(sim, "t2") == "active"
    assert job_state(sim) == "disabling"


def test_job_11_wait_lets_running_tasks_end(start):
    sim = running(start, a_job(tasks=2))
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    run(sim, seconds=30)
    assert (job_state(sim), task_state(sim)) == ("disabling", "running")
    run_to_end(sim)
    assert task_history(sim) == ["active", "running", "completed"]
    assert times(sim, "JobStateChanged", to="disabled") == times(sim, "TaskStateChanged", taskId="t1", to="completed")
    assert task_state(sim, "t2") == "active"


@pytest.mark.parametrize("option", ["requeue", "terminate", "wait"])
def test_job_11_preparing_tasks_are_active_again_under_every_option(start, option):
    sim = running(start, a_job(prep=a_line(100)))
    assert task_state(sim) == "preparing"
    do(sim, "disableJob", jobId="j", disableTasks=option)
    assert task_state(sim) == "active"
    assert (task_extra(sim).requeue_count, task_extra(sim).attempts) == (0, 0)


def test_job_11_a_running_preparation_is_left_to_finish(start):
    sim = running(start, a_job(prep=a_line(100)))
    do(sim, "disableJob", jobId="j", disableTasks="terminate")
    run_to_end(sim)
    assert prep(sim).exit_code == 0
    assert job_state(sim) == "disabled"
    do(sim, "enableJob", jobId="j")
    run_to_end(sim)
    assert task_history(sim) == ["active", "preparing", "active", "running", "completed"]


@pytest.mark.parametrize(("stronger", "state"), [("requeue", "active"), ("terminate", "completed")])
def test_job_11_a_stronger_option_while_disabling_applies_to_what_still_runs(start, stronger, state):
    sim = running(start)
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    run(sim, seconds=10)
    do(sim, "disableJob", jobId="j", disableTasks=stronger)
    assert task_state(sim) == state
    assert job_state(sim) == "disabled"
    assert [to for _, to in changes(sim)] == ["active", "disabling", "disabled"]


def test_job_11_disabling_a_disabled_job_is_accepted_and_changes_nothing(start):
    sim = in_state(start, "disabled")
    before = changes(sim)
    assert refusal(sim, "disableJob", jobId="j", disableTasks="terminate") is None
    assert changes(sim) == before


def test_job_11_a_retry_does_not_start_while_disabling(start):
    failing = a_task(exit_code=1, constraints={"maxTaskRetryCount": 3})
    sim = running(start, a_job(tasks=[failing]))
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    run_to_end(sim)
    assert (job_state(sim), task_state(sim), task_extra(sim).retry_count) == ("disabled", "active", 1)


def test_job_11_other_jobs_take_the_room(start):
    sim = running(start, a_job("a", priority=5), a_job("b"))
    do(sim, "disableJob", jobId="a", disableTasks="requeue")
    assert (task_state(sim, "t1", "a"), task_state(sim, "t1", "b")) == ("active", "running")


def test_job_12_enabling_takes_two_seconds_and_scheduling_resumes(start):
    sim = in_state(start, "disabled")
    do(sim, "enableJob", jobId="j")
    assert (job_state(sim), task_state(sim)) == ("enabling", "active")
    run(sim, seconds=2)
    assert (job_state(sim), task_state(sim)) == ("active", "running")


def test_job_13_tasks_added_to_a_disabled_job_wait(start):
    sim = in_state(start, "disabled", tasks=0)
    do(sim, "addTasks", jobId="j", tasks=[a_task("late")])
    run(sim, minutes=5)
    assert task_state(sim, "late") == "active"
    do(sim, "enableJob", jobId="j")
    run_to_end(sim)
    assert task_state(sim, "late") == "completed"


# -- PATCH -----------------------------------------------------------------------------------------------------------


def test_job_2_a_patch_replaces_only_what_it_names(start):
    sim = start(
        a_job(
            priority=3, maxParallelTasks=2, metadata=[{"name": "a", "value": "b"}], constraints={"maxTaskRetryCount": 4}
        )
    )
    do(sim, "updateJob", jobId="j", allowTaskPreemption=True)
    job = sim.world.jobs.find("j")
    assert (job.priority, job.max_parallel, job.preemptible, job.max_retries) == (3, 2, True, 4)
    assert len(job.metadata) == 1
    do(sim, "updateJob", jobId="j", metadata=[], maxParallelTasks=-1)
    job = sim.world.jobs.find("j")
    assert (job.priority, job.max_parallel, job.metadata) == (3, -1, ())


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"priority": 1001}, "OutOfRangePriority"),
        ({"maxParallelTasks": 0}, "InvalidPropertyValue"),
        ({"constraints": {"maxTaskRetryCount": -2}}, "InvalidConstraintValue"),
    ],
)
def test_job_2_a_patch_is_looked_at_like_a_new_body(start, body, code):
    sim = start(a_job(priority=3))
    assert refusal(sim, "updateJob", jobId="j", **body) == code
    assert sim.world.jobs.find("j").priority == 3


def test_job_2_a_higher_limit_of_parallel_tasks_counts_at_once(start):
    sim = running(start, a_job(tasks=3, maxParallelTasks=1), pool=a_pool(nodes=3))
    assert task_state(sim, "t2") == "active"
    do(sim, "updateJob", jobId="j", maxParallelTasks=2)
    assert [task_state(sim, name) for name in ("t1", "t2", "t3")] == ["running", "running", "active"]


def test_job_2_a_lower_limit_of_parallel_tasks_ends_nothing(start):
    sim = running(start, a_job(tasks=4), pool=a_pool(nodes=2))
    do(sim, "updateJob", jobId="j", maxParallelTasks=1)
    assert [task_state(sim, name) for name in ("t1", "t2")] == ["running", "running"]
    run(sim, seconds=62)
    assert [task_state(sim, name) for name in ("t3", "t4")] == ["running", "active"]


def test_job_14_the_pool_of_a_job_can_change_only_while_it_is_disabled(start):
    sim = start(a_job(), pools=[a_pool("p"), a_pool("q")])
    run_to(sim, seconds=READY_S)
    to_q = {"jobId": "j", "poolInfo": {"poolId": "q"}}
    assert refusal(sim, "updateJob", **to_q) == INVALID
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    assert refusal(sim, "updateJob", **to_q) == INVALID
    run(sim, seconds=3)
    assert refusal(sim, "updateJob", **to_q) is None
    do(sim, "enableJob", jobId="j")
    run_to_end(sim)
    assert [event["poolId"] for event in events(sim, "TaskStateChanged", to="running")] == ["p", "q"]


def test_job_14_of_an_auto_pool_only_keep_alive_can_change(start):
    def auto(keep_alive, option="job"):
        return {"autoPoolSpecification": {"poolLifetimeOption": option, "keepAlive": keep_alive}}

    own = {"poolLifetimeOption": "job", "pool": {"vmSize": "standard_d2s_v3", "targetDedicatedNodes": 0}}
    sim = start(a_job() | {"poolInfo": {"autoPoolSpecification": own}}, a_job("k"))
    run_to(sim, seconds=READY_S)
    assert refusal(sim, "updateJob", jobId="j", poolInfo=auto(True)) == INVALID
    for job in ("j", "k"):
        do(sim, "disableJob", jobId=job, disableTasks="requeue")
    run(sim, seconds=3)
    assert refusal(sim, "updateJob", jobId="j", poolInfo={"poolId": "p"}) == INVALID
    assert refusal(sim, "updateJob", jobId="j", poolInfo=auto(True, "jobschedule")) == INVALID
    assert refusal(sim, "updateJob", jobId="k", poolInfo=auto(True)) == INVALID
    do(sim, "updateJob", jobId="j", poolInfo=auto(True))
    body = job_body(sim.world, sim.world.jobs.find("j"))
    assert body["poolInfo"]["autoPoolSpecification"]["keepAlive"] is True
    pool = body["executionInfo"]["poolId"]
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert pool_state(sim, pool) == "active"


def test_job_14_a_job_that_goes_away_and_comes_back_finds_its_preparations(start):
    """What is recorded for the nodes of the first pool is still so: one is prepared, one has failed for good."""
    bad = {"onNode": {1: {"exitCode": 1}}}
    body = a_job(tasks=some_tasks(4), prep=a_line(1, simulate=bad))
    sim = start(body, pools=[a_pool("p", nodes=2), a_pool("q", nodes=0)])
    run_to(sim, seconds=READY_S + 10)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run(sim, seconds=3)
    for pool in ("q", "p"):
        do(sim, "updateJob", jobId="j", poolInfo={"poolId": pool})
    do(sim, "enableJob", jobId="j")
    run_to_end(sim)
    assert [task_state(sim, f"t{number}") for number in (1, 2, 3, 4)] == ["completed"] * 4
    assert len(events(sim, "JobPreparationTaskStateChanged", to="running")) == 2
    good = sim.world.nodes[node_row(sim, 0)].id
    assert {event["nodeId"] for event in events(sim, "TaskStateChanged", to="running")} == {good}


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


# -- what is shown ---------------------------------------------------------------------------------------------------


def test_job_3_the_end_and_its_reason_are_there_when_it_is_completed(start):
    sim = running(start)
    job = sim.world.jobs.find("j")
    assert (job.created_ms, job.end_ms, job.terminate_reason) == (0, None, None)
    do(sim, "terminateJob", jobId="j")
    run_to_end(sim)
    assert sim.world.jobs.find("j").end_ms == sim.world.jobs.find("j").since_ms


def test_job_5_the_states_follow_one_another(start):
    sim = running(start)
    for name, body in (
        ("disableJob", {"disableTasks": "requeue"}),
        ("enableJob", {}),
        ("terminateJob", {}),
        ("deleteJob", {}),
    ):
        do(sim, name, jobId="j", **body)
        run(sim, minutes=1)
    states = ["active", "disabling", "disabled", "enabling", "active", "terminating", "completed", "deleting", None]
    assert [to for _, to in changes(sim)] == states
    assert [event["from"] for event in events(sim, "JobStateChanged")] == [None, *states[:-1]]


def test_job_21_without_performexitoptionsjobaction_a_failure_does_nothing_to_the_job(start):
    sim = start(a_job(tasks=[a_task(exit_code=1), a_task("t2")]))
    run_to_end(sim)
    assert (job_state(sim), task_state(sim, "t2")) == ("active", "completed")


def test_job_22_a_job_lives_until_it_is_deleted(start):
    sim = in_state(start, "completed")
    run(sim, minutes=600)
    assert job_state(sim) == "completed"


def test_job_23_a_timeout_chosen_by_the_client_ends_a_job_before_its_tasks(start):
    entry = {
        "when": {"jobId": "j", "tasks": {"completed": {"atLeast": 1}}},
        "after": "PT10S",
        "terminateJob": {"jobId": "j"},
    }
    sim = start(a_job(tasks=5), timeline=[entry])
    run_to_end(sim)
    assert job_state(sim) == "completed"
    assert [task_state(sim, f"t{number}") for number in (1, 2, 3)] == ["completed", "completed", "active"]
