"""Chapter 14: what the end of a task does to its job and to its dependents."""

from __future__ import annotations

import pytest

from engine.base.errors import FAILURE_EXIT_CODE, ended, failure
from engine.base.terms import DependencyAction, JobAction
from engine.rules.decisions.verdicts import exit_options
from engine.specs.bodies import ExitConditions
from tests.builders import (
    READY_S,
    STOPPED,
    a_job,
    a_pool,
    a_task,
    do,
    job_state,
    refusal,
    run,
    run_to,
    run_to_end,
    some_tasks,
    task_extra,
    task_state,
    times,
)

NONE, DISABLE, TERMINATE = JobAction.NONE, JobAction.DISABLE, JobAction.TERMINATE

SATISFY, BLOCK = DependencyAction.SATISFY, DependencyAction.BLOCK


CONDITIONS = {
    "exitCodes": [
        {"code": 2, "exitOptions": {"jobAction": "disable", "dependencyAction": "satisfy"}},
        {"code": 5, "exitOptions": {"jobAction": "none"}},
        {"code": STOPPED, "exitOptions": {"jobAction": "disable"}},
    ],
    "exitCodeRanges": [{"start": 4, "end": 6, "exitOptions": {"jobAction": "disable"}}],
    "preProcessingError": {"jobAction": "none"},
    "fileUploadError": {"dependencyAction": "satisfy"},
    "default": {"jobAction": "terminate", "dependencyAction": "satisfy"},
}


UPLOAD = failure("FileUploadMiscError")


@pytest.mark.parametrize(
    ("code", "why", "expected"),
    [
        (0, None, (NONE, SATISFY)),
        (2, FAILURE_EXIT_CODE, (DISABLE, SATISFY)),
        (4, FAILURE_EXIT_CODE, (DISABLE, BLOCK)),
        (5, FAILURE_EXIT_CODE, (NONE, BLOCK)),
        (6, FAILURE_EXIT_CODE, (DISABLE, BLOCK)),
        (7, FAILURE_EXIT_CODE, (TERMINATE, SATISFY)),
        (-1, FAILURE_EXIT_CODE, (TERMINATE, SATISFY)),
        (None, failure("BlobNotFound"), (NONE, BLOCK)),
        (None, ended("by a user"), (TERMINATE, SATISFY)),
        (STOPPED, ended("by a user"), (DISABLE, BLOCK)),
        (0, UPLOAD, (TERMINATE, SATISFY)),
        (2, UPLOAD, (DISABLE, SATISFY)),
        (9, UPLOAD, (TERMINATE, SATISFY)),
    ],
)
def test_exit_2_codes_then_ranges_then_default(code, why, expected):
    assert exit_options(ExitConditions.from_wire(CONDITIONS), code, why) == expected


@pytest.mark.parametrize(
    ("code", "why"), [(None, failure("BlobNotFound")), (0, UPLOAD), (STOPPED, ended("x")), (1, FAILURE_EXIT_CODE)]
)
def test_exit_2_default_stands_for_what_is_not_given(code, why):
    only_default = ExitConditions.from_wire({"default": {"jobAction": "disable", "dependencyAction": "satisfy"}})
    assert exit_options(only_default, code, why) == (DISABLE, SATISFY)


@pytest.mark.parametrize("conditions", [None, ExitConditions()])
@pytest.mark.parametrize(
    ("code", "why", "expected"),
    [
        (0, None, (NONE, SATISFY)),
        (1, FAILURE_EXIT_CODE, (TERMINATE, BLOCK)),
        (None, failure("BlobNotFound"), (TERMINATE, BLOCK)),
        (0, UPLOAD, (TERMINATE, BLOCK)),
        (STOPPED, ended("x"), (TERMINATE, BLOCK)),
        (None, ended("x"), (NONE, BLOCK)),
    ],
)
def test_exit_3_what_is_not_said_is_none_and_satisfy_for_success_only(conditions, code, why, expected):
    assert exit_options(conditions, code, why) == expected


def test_exit_2_exit_code_zero_can_be_listed():
    listed = ExitConditions.from_wire({"exitCodes": [{"code": 0, "exitOptions": {"dependencyAction": "block"}}]})
    assert exit_options(listed, 0, None) == (NONE, BLOCK)


PERFORM = {"onTaskFailure": "performexitoptionsjobaction"}


def with_default(**options):
    return {"exitConditions": {"default": options}}


def test_exit_4_a_job_action_needs_a_job_that_performs_it(start):
    task = a_task("new", **with_default(jobAction="none"))
    sim = start(a_job("no"), a_job("yes", **PERFORM))
    run(sim, seconds=1)
    assert refusal(sim, "addTasks", jobId="no", tasks=[task]) == "InvalidPropertyValue"
    assert refusal(sim, "addTasks", jobId="yes", tasks=[task]) is None
    other = a_task("new", **with_default(dependencyAction="satisfy"))
    assert refusal(sim, "addTasks", jobId="no", tasks=[other]) is None


def test_exit_5_disable_is_with_requeue(start):
    bad = a_task("bad", 10, 1, **with_default(jobAction="disable"))
    sim = start(a_job(tasks=[bad, a_task("other", 100)], **PERFORM), pool=a_pool(nodes=2))
    run_to_end(sim)
    assert (job_state(sim), task_state(sim, "other")) == ("disabled", "active")
    assert task_extra(sim, "other").requeue_count == 1


@pytest.mark.parametrize("tasks", [0, 2])
def test_exit_5_completion_comes_before_disable(start, tasks):
    bad = a_task("bad", 100, 1, **with_default(jobAction="disable"))
    sim = start(a_job(tasks=[*some_tasks(tasks, 10), bad], onAllTasksComplete="terminatejob", **PERFORM))
    run_to_end(sim)
    assert (job_state(sim), sim.world.jobs.find("j").terminate_reason) == ("completed", "AllTasksCompleted")
    assert times(sim, "JobStateChanged", to="disabling") == []


def test_exit_5_disable_comes_first_while_other_tasks_are_left(start):
    bad = a_task("bad", 10, 1, **with_default(jobAction="disable"))
    sim = start(a_job(tasks=[bad, a_task("other", 100)], onAllTasksComplete="terminatejob", **PERFORM))
    run_to_end(sim)
    assert (job_state(sim), task_state(sim, "other")) == ("disabled", "active")
    do(sim, "terminateTask", jobId="j", taskId="other")
    run_to_end(sim)
    assert sim.world.jobs.find("j").terminate_reason == "AllTasksCompleted"


def test_exit_5_terminate_gives_the_reason_taskfailed(start):
    sim = start(a_job(tasks=[a_task("bad", 10, 1), a_task("other", 100)], **PERFORM), pool=a_pool(nodes=2))
    run_to_end(sim)
    assert (job_state(sim), sim.world.jobs.find("j").terminate_reason) == ("completed", "TaskFailed")
    assert task_extra(sim, "other").failure.code == "TaskEnded"


def test_exit_5_none_lets_the_job_go_on(start):
    sim = start(a_job(tasks=[a_task("bad", 10, 1, **with_default(jobAction="none")), a_task("other")], **PERFORM))
    run_to_end(sim)
    assert (job_state(sim), task_state(sim, "other")) == ("active", "completed")


def test_exit_5_only_after_the_last_retry(start):
    sim = start(a_job(tasks=[a_task("bad", 10, 1, constraints={"maxTaskRetryCount": 2})], **PERFORM))
    run_to(sim, seconds=READY_S + 30)
    assert job_state(sim) == "active"
    run_to_end(sim)
    assert (job_state(sim), task_extra(sim, "bad").retry_count) == ("completed", 2)


def test_exit_5_a_failure_before_the_process_terminates_too(start):
    sim = start(a_job(tasks=[a_task(simulate={"found": False})], **PERFORM))
    run_to_end(sim)
    assert sim.world.jobs.find("j").terminate_reason == "TaskFailed"


def test_exit_5_a_task_ended_by_the_user_counts_as_failed(start):
    sim = start(a_job(tasks=[a_task(), a_task("t2")], **PERFORM))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "terminateTask", jobId="j", taskId="t1")
    assert job_state(sim) == "terminating"


def test_exit_3_terminating_a_task_that_has_not_started_leaves_the_job_active(start):
    sim = start(a_job(tasks=[a_task(), a_task("t2")], **PERFORM))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "terminateTask", jobId="j", taskId="t2")
    assert (job_state(sim), task_state(sim, "t2")) == ("active", "completed")


def test_exit_5_in_a_disabled_job_terminate_still_terminates(start):
    sim = start(a_job(tasks=[a_task(exit_code=1)], **PERFORM))
    run_to(sim, seconds=READY_S + 5)
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    run_to_end(sim)
    assert (job_state(sim), sim.world.jobs.find("j").terminate_reason) == ("completed", "TaskFailed")


@pytest.mark.parametrize("more", [{}, {"usesTaskDependencies": True}])
def test_exit_2_an_action_for_exit_code_zero_is_performed(start, more):
    conditions = {"exitCodes": [{"code": 0, "exitOptions": {"jobAction": "terminate"}}]}
    sim = start(a_job(tasks=[a_task(exitConditions=conditions), a_task("t2")], **PERFORM, **more))
    run_to_end(sim)
    assert (job_state(sim), task_state(sim, "t2")) == ("completed", "active")


@pytest.mark.parametrize(
    ("command", "fields"),
    [
        ("disableJob", {"jobId": "j", "disableTasks": "terminate"}),
        ("disableNodeScheduling", {"poolId": "p", "node": 0, "nodeDisableSchedulingOption": "terminate"}),
        ("rebootNode", {"poolId": "p", "node": 0, "nodeRebootOption": "terminate"}),
    ],
)
def test_exit_5_the_end_of_one_task_may_end_the_others_of_the_same_command(start, command, fields):
    sim = start(a_job(tasks=3, **PERFORM), pool=a_pool(taskSlotsPerNode=3))
    run_to(sim, seconds=READY_S + 5)
    do(sim, command, **fields)
    assert [task_state(sim, f"t{number}") for number in (1, 2, 3)] == ["completed"] * 3
    run_to_end(sim)
    assert (job_state(sim), sim.world.jobs.find("j").terminate_reason) == ("completed", "TaskFailed")
