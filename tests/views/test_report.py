"""The summary of a run that the command line prints."""

import csv

import pytest
from rich.console import Console

from engine import Simulation, load_scenario
from engine.base.values import format_clock
from engine.views.diagnosis.questions import open_jobs
from engine.views.diagnosis.waste import restarts, started_over
from engine.views.resources.tasks import TaskPage
from engine.views.rest.tasks import execution_info
from engine.views.results import InstanceTotals, TaskTotals, summary, task_totals
from engine.views.tables import task_table_lines
from tests.builders import (
    ALLOCATION_S,
    READY_S,
    a_job,
    a_line,
    a_pool,
    a_task,
    do,
    refusal,
    run_to,
    run_to_end,
    simulation,
)
from tui.cli.output import summary_text


def finished(*jobs, **scenario):
    sim = simulation(*jobs, **scenario)
    sim.run_until(sim.end_ms)
    sim.finish()
    return sim


def test_a_job_and_its_pool():
    sim = finished(a_job(tasks=3, prep=a_line(5), release=a_line(5, exit_code=1), onAllTasksComplete="terminatejob"))
    found = summary(sim)
    [job], [pool] = found.jobs, found.pools
    assert (job.job_id, job.state, job.reason) == ("j", "completed", "AllTasksCompleted")
    assert job.tasks == TaskTotals(total=3, succeeded=3, failed=0, active=0)
    assert (job.preparations, job.releases) == (
        InstanceTotals(1, failed=0, stopped=0),
        InstanceTotals(1, failed=1, stopped=0),
    )
    assert (pool.pool_id, pool.vm_size, pool.state, pool.nodes) == ("p", "standard_d2s_v3", "active, steady", 1)
    assert pool.node_hours == pytest.approx((found.end_ms / 1000 - ALLOCATION_S) / 3600)
    assert pool.cost == found.cost == pytest.approx(pool.node_hours * 0.096)
    assert found.events == sim.log.count
    assert found.as_expected


LONG = a_job(tasks=[a_task(seconds=30 * 86_400)])
UNSIZED = {"targetDedicatedNodes": None, "autoScaleEvaluationInterval": "PT12H"}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, "nothing more can happen"),
        ({"until": "PT2H"}, "until is reached, and nothing more can happen"),
        ({"until": "PT1M"}, "until is reached, which cuts off 1 running task"),
        ({"jobs": [LONG]}, "a run lasts 7 days at most, which cuts off 1 running task"),
        (
            {"pools": [a_pool(enableAutoScale=True, autoScaleFormula="$TargetDedicatedNodes = 1;", **UNSIZED)]},
            "a run lasts 7 days at most; the formula of pool p goes on: `until` ends the run earlier",
        ),
        ({"simulate": {"nodes": {"failureRate": 0.01}}}, "only chance failures or missed occurrences can follow"),
    ],
)
def test_why_a_run_has_ended(more, why):
    assert summary(finished(*more.pop("jobs", [a_job()]), **more)).why_over == why


def test_jobs_that_have_not_ended_say_what_they_wait_for():
    merge = a_task("merge", dependsOn={"taskIds": ["part"]})
    sim = finished(
        a_job("ended", onAllTasksComplete="terminatejob"),
        a_job("open"),
        a_job("stuck", [a_task("part", exit_code=1), merge], usesTaskDependencies=True),
        a_job("nowhere", pool="q"),
        until="PT1H",
    )
    nothing = "nothing by itself, a user has to act"
    assert [tuple(each) for each in open_jobs(sim)] == [
        ("open", "onAllTasksComplete: noaction", nothing),
        ("stuck", "task merge: dependencies: waits for part (failed)", nothing),
        ("nowhere", "task t1: job pool: q does not exist", nothing),
    ]
    said = summary_text(summary(sim), Console(width=120, force_terminal=False), open_jobs(sim)).splitlines()
    at = said.index("Jobs that have not ended")
    assert said[at + 4].split("  ")[0] == "stuck"


def test_a_job_in_a_pool_whose_resize_has_failed_names_the_error():
    sim = finished(a_job(), pool=a_pool(nodes=2), account={"quotas": {"dedicatedCores": 0}}, until="PT1H")
    error = "resize error: none of 2 nodes: AccountCoreQuotaReached"
    assert [each.waits_for for each in open_jobs(sim)] == [
        f"task t1: a node with 1 free slot: 0 of 0 eligible; {error}"
    ]


def test_a_job_that_ended_at_once_says_why():
    sim = Simulation(load_scenario("one-pool-per-scheduled-job"))
    run_to_end(sim)
    reasons = {job.job_id: job.reason for job in summary(sim).jobs}
    assert reasons["hourly:job-3"] == "AutoPoolCreationFailedWithQuotaReached"
    assert reasons["hourly:job-2"] == "JMComplete"


def test_what_was_deleted_keeps_its_row():
    sim = simulation(a_job(tasks=2))
    run_to(sim, minutes=5)
    do(sim, "deleteJob", jobId="j")
    do(sim, "deletePool", poolId="p")
    run_to_end(sim)
    [job], [pool] = summary(sim).jobs, summary(sim).pools
    assert (job.state, job.tasks) == ("deleted", TaskTotals(total=2, succeeded=2, failed=0, active=0))
    assert (pool.state, pool.nodes) == ("deleted", 0)
    assert pool.cost > 0
    assert task_totals(sim).completed == 2


def test_refusals_announced_and_not():
    timeline = [
        {"at": "PT1M", "deleteJob": {"jobId": "nobody"}, "refused": "JobNotFound"},
        {"at": "PT2M", "terminateTask": {"jobId": "j", "taskId": "t9"}},
        {"at": "PT3M", "rebootNode": {"poolId": "p", "node": 0}, "refused": "NodeNotFound"},
    ]
    sim = finished(a_job(), timeline=timeline)
    found = summary(sim)
    assert [(row.when_ms, row.command.NAME, row.subject, row.seen, row.announced) for row in found.refused] == [
        (60_000, "deleteJob", "nobody", "JobNotFound", True),
        (120_000, "terminateTask", "j/t9", "TaskNotFound", False),
        (180_000, "rebootNode", "p/0", "accepted", False),
    ]
    assert not found.as_expected


def test_a_refusal_by_hand_is_told_too():
    sim = simulation(a_job())
    assert refusal(sim, "enableJob", jobId="j") == "OperationInvalidForCurrentState"
    [row] = summary(sim).refused
    assert (row.command.NAME, row.subject, row.announced) == ("enableJob", "j", False)


def test_expectations_and_resize_errors():
    sim = finished(
        pool=a_pool(nodes=9),
        account={"quotas": {"dedicatedCores": 4}},
        expect=[{"poolId": "p", "nodes": {"total": 9}}],
    )
    found = summary(sim)
    [pool], [row] = found.pools, found.expectations
    assert (pool.nodes, pool.resize_errors) == (2, ("AccountCoreQuotaReached",))
    assert (row.written, row.met) == ({"poolId": "p", "nodes": {"total": 9}}, False)
    assert not found.as_expected


def test_only_a_task_that_has_started_anew_began_again():
    sim = simulation(a_job(tasks=[a_task("ended", 600), a_task("anew", 600)]), pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run_to(sim, seconds=READY_S + 20)
    assert [again.has_begun for again in restarts(sim, 0)] == [False]
    do(sim, "terminateTask", jobId="j", taskId="ended")
    do(sim, "enableJob", jobId="j")
    run_to(sim, seconds=READY_S + 60)
    [(job_id, task_id, [again])] = started_over(sim, 5)
    assert (job_id, task_id, again.times) == ("j", "anew", 1)


@pytest.mark.parametrize(("cells", "shown"), [(80, True), (50, False)])
def test_the_table_of_jobs_says_when_each_ended_where_there_is_room(cells, shown):
    sim = finished(a_job(tasks=1, onAllTasksComplete="terminatejob"))
    [job] = summary(sim).jobs
    text = summary_text(summary(sim), Console(width=cells, no_color=True))
    assert ("ended" in text.split("Pools")[0].split()) is shown
    assert job.end_ms == sim.world.jobs[0].end_ms
    assert (format_clock(job.end_ms) in text.split("Pools")[0].splitlines()[-3]) is shown


def test_a_task_that_is_ended_while_it_waits_again_has_no_times_of_the_attempt_before():
    sim = simulation(a_job(tasks=[a_task("t1", 600)]))
    run_to(sim, seconds=READY_S + 10)
    do(sim, "disableJob", jobId="j", disableTasks="requeue")
    run_to(sim, seconds=READY_S + 40)
    page = TaskPage(sim, "j")
    assert page.brief(0).start_ms is None
    do(sim, "terminateTask", jobId="j", taskId="t1")
    run_to(sim, seconds=READY_S + 50)
    assert (page.brief(0).start_ms, page.brief(0).runs_ms(sim.now_ms)) == (None, None)
    assert "startTime" not in execution_info(sim.world, 0)
    header, line = csv.reader(task_table_lines(sim))
    row = dict(zip(header, line, strict=True))
    assert (row["startTime"], row["waitSeconds"], row["runSeconds"]) == ("", "", "")
    do(sim, "enableJob", jobId="j")
    do(sim, "reactivateTask", jobId="j", taskId="t1")
    run_to(sim, seconds=READY_S + 60)
    assert page.brief(0).start_ms is not None
