"""Tests of expectations: files on nodes, deleted jobs, expected refusals."""

import pytest

from tests.builders import a_job, a_shell, a_task, simulation


def outcomes(sim):
    sim.run_until(sim.end_ms)
    sim.finish()
    return [(outcome.met, outcome.seen) for outcome in sim.expectations]


def file_expected(path, text, **more):
    return {"poolId": "p", "node": 0, "file": {path: text}, **more}


def test_file_7_a_file_is_expected_until_its_retention_time_is_over():
    written = "workitems/j/job-1/t1/wd/out.txt"
    task = {"id": "t1", "constraints": {"retentionTime": "PT5M"}, **a_shell("echo done > out.txt")}
    expect = [file_expected(written, "done", at="PT5M"), file_expected(written, None, at="PT20M")]
    assert outcomes(simulation(a_job(tasks=[task]), expect=expect, until="PT1H")) == [
        (True, {"file": {written: "done\n"}}),
        (True, {"file": {written: None}}),
    ]


def test_file_4_a_task_that_writes_nothing_has_two_empty_files():
    path = "workitems/j/job-1/t1/stdout.txt"
    sim = simulation(a_job(), expect=[file_expected(path, ""), file_expected(path, None)])
    assert [met for met, _ in outcomes(sim)] == [True, False]


def test_job_16_what_became_of_its_tasks_is_known_after_the_job_is_gone():
    sim = simulation(
        a_job(tasks=[a_task("good"), a_task("bad", exit_code=3)], prep=a_shell("echo ready")),
        timeline=[{"at": "PT30M", "deleteJob": {"jobId": "j"}}],
        expect=[
            {
                "jobId": "j",
                "tasks": {"total": 2, "completed": 2, "succeeded": 1, "failed": 1},
                "preparationTasks": {"count": 1, "failed": 0},
            },
            {"jobId": "j", "state": "completed"},
        ],
    )
    (met, seen), (_, gone) = outcomes(sim)
    assert met, seen
    assert gone == {"state": None}


def test_job_16_a_new_job_of_the_same_id_is_the_one_that_is_looked_at():
    sim = simulation(
        a_job(),
        timeline=[
            {"at": "PT30M", "deleteJob": {"jobId": "j"}},
            {"at": "PT40M", "createJob": {"id": "j", "poolInfo": {"poolId": "p"}}},
        ],
        expect=[{"jobId": "j", "state": "active", "tasks": {"total": 0}}],
    )
    [(met, seen)] = outcomes(sim)
    assert met, seen


@pytest.mark.parametrize(
    "turn",
    [{"at": "P9D"}, {"when": {"jobId": "j", "state": "disabled"}}],
    ids=["its time does not come", "its condition does not come true"],
)
def test_a_refusal_that_was_announced_and_never_comes_is_a_failure(turn):
    refused = turn | {"terminateJob": {"jobId": "j"}, "refused": "JobCompleted"}
    sim = simulation(a_job(), timeline=[refused])
    outcomes(sim)
    sim.finish()
    [refusal] = sim.refusals
    assert (refusal.announced, refusal.seen) == (False, "never given")
