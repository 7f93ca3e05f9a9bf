"""Chapter 9: jobs, what may be done to them in which state, and what is shown of them."""

from __future__ import annotations

import pytest

from engine.base.terms import JobState
from engine.rules.decisions.verdicts import job_command_verdict
from engine.views.rest.account import job_body
from tests.builders import (
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    events,
    job_state,
    node_row,
    pool_state,
    refusal,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_state,
)
from tests.rules.jobs import changes, in_state, reason, running

STATES = list(JobState)


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
    verdict = job_command_verdict(command, state)
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
