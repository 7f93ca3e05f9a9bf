"""Chapter 9: jobs that are disabled and enabled again."""

from __future__ import annotations

import pytest

from tests.builders import (
    STOPPED,
    a_job,
    a_line,
    a_task,
    do,
    job_state,
    prep,
    refusal,
    run,
    run_to_end,
    task_extra,
    task_history,
    task_state,
    times,
)
from tests.rules.jobs import changes, in_state, running


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


def test_job_12_a_job_of_which_nothing_runs_is_enabled_directly_after_disabling_it(start):
    sim = start(a_job(tasks=0))
    run(sim, minutes=10)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    do(sim, "enableJob", jobId="j")
    run(sim, seconds=2)
    assert [state for _, state in changes(sim)][-4:] == ["disabling", "disabled", "enabling", "active"]


def test_job_12_a_job_of_which_a_task_still_runs_is_not_enabled(start):
    sim = running(start)
    do(sim, "disableJob", jobId="j", disableTasks="wait")
    assert refusal(sim, "enableJob", jobId="j") == "OperationInvalidForCurrentState"
