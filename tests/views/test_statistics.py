"""Statistics of a job agree with its rows, while the log grows and after seeks."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.base.terms import TaskState
from engine.base.values import percentile
from engine.studies.measures import figures_of_run
from engine.views.resources.statistics import JobStatistics
from tests.builders import READY_S, a_job, a_pool, a_task, do, run_to, simulation, some_tasks


def times(sim, job):
    tasks = sim.world.tasks
    done = [
        task for task in tasks.rows_of(job) if tasks.state_of(task) is TaskState.COMPLETED and tasks.started[task] >= 0
    ]
    took = [(tasks.ended[task] - tasks.started[task]) // 100 * 100 for task in done]
    waited = [(tasks.started[task] - tasks.block_of(task).created_ms) // 100 * 100 for task in done]
    return sorted(took), sorted(waited)


def agrees(found, expected):
    if not expected:
        assert found is None
        return
    assert found.tasks == len(expected) == sum(each.tasks for each in found.bins)
    assert found.median_ms == round(percentile(expected, 0.5))
    assert found.p95_ms == round(percentile(expected, 0.95))
    assert found.max_ms == expected[-1]
    for each in found.bins:
        inside = [ms for ms in expected if each.low_ms <= ms and (each.high_ms is None or ms < each.high_ms)]
        assert len(inside) == each.tasks


@pytest.mark.parametrize(
    "name",
    ["priorities-and-fairness", "retries-and-exit-conditions", "shared-pool-two-jobs", "every-way-to-end-a-job",
     "spot-evictions", "a-day-of-autoscaling"],
)  # fmt: skip
def test_statistics_agree_with_the_rows_while_time_goes_by_and_after_seeks(name):
    whole = Simulation(load_scenario(name))
    whole.run_until(whole.end_ms)
    last_ms = whole.log.last_ms
    sim = Simulation(load_scenario(name))
    known = {}
    for part in (1, 2, 3, 5, 8, 4, 6):
        sim.seek(last_ms * part // 8)
        for job in sim.world.jobs.present():
            statistics = known.setdefault(job.row, JobStatistics(sim, job.row))
            found = statistics.with_bins(8)
            assert found == JobStatistics(sim, job.row).with_bins(8)
            took, waited = times(sim, job.row)
            agrees(found.durations, took)
            agrees(found.waits, waited)
            assert all(len(each.bins) <= 9 for each in (found.durations, found.waits) if each)


def test_waits_have_the_percentiles_that_comparisons_have():
    sim = simulation(a_job(tasks=some_tasks(3, seconds=100)), pool=a_pool(nodes=1))
    run_to(sim, seconds=READY_S + 400)
    waits = JobStatistics(sim, 0).with_bins(8).waits
    compared = figures_of_run(sim).measures
    assert waits.median_ms < waits.p95_ms < waits.max_ms
    assert (waits.median_ms / 1000, waits.p95_ms / 1000) == pytest.approx(
        (compared["waitSecondsMedian"], compared["waitSecondsP95"]), abs=0.1
    )


def test_failed_attempts_are_counted_by_exit_code():
    tasks = [a_task("a", 5, 3), a_task("b", 5, 3), a_task("c", 5, 7), a_task("d", 5)]
    sim = simulation(a_job(tasks=tasks, constraints={"maxTaskRetryCount": 1}), pool=a_pool(taskSlotsPerNode=4))
    run_to(sim, seconds=READY_S + 60)
    failures = JobStatistics(sim, 0).with_bins(8).failures
    assert [(each.name, each.attempts, each.final) for each in failures] == [
        ("exit code 3", 4, 2),
        ("exit code 7", 2, 1),
    ]


def test_a_deleted_task_is_not_counted_any_more():
    sim = simulation(a_job(tasks=some_tasks(3, seconds=5)))
    run_to(sim, seconds=READY_S + 60)
    statistics = JobStatistics(sim, 0)
    assert statistics.with_bins(8).durations.tasks == 3
    do(sim, "deleteTask", jobId="j", taskId="t2")
    run_to(sim, seconds=READY_S + 70)
    assert statistics.with_bins(8).durations.tasks == 2


def test_a_few_very_long_tasks_do_not_hide_the_others():
    tasks = [*some_tasks(39, seconds=10), a_task("long", 3600)]
    sim = simulation(a_job(tasks=tasks), pool=a_pool(taskSlotsPerNode=40, vmSize="standard_d16s_v3"))
    run_to(sim, seconds=READY_S + 4000)
    bins = JobStatistics(sim, 0).with_bins(8).durations.bins
    assert bins[-1].high_ms is None
    assert (bins[0].tasks, bins[-1].tasks) == (39, 1)
    assert bins[-1].low_ms < 60_000


def test_the_slowest_tasks_and_the_longest_waits_are_named():
    tasks = [a_task("short", 5), a_task("long", 50), a_task("middle", 20)]
    sim = simulation(a_job(tasks=tasks))
    run_to(sim, seconds=READY_S + 200)
    found = JobStatistics(sim, 0).with_bins(8)
    assert [sim.world.tasks.task_id(each.task) for each in found.slowest] == ["long", "middle", "short"]
    assert [sim.world.tasks.task_id(each.task) for each in found.longest_waits] == ["middle", "long", "short"]
    assert found.slowest[0].time_ms == 51_000


def test_there_are_more_bins_where_there_are_more_tasks():
    sim = simulation(a_job(tasks=some_tasks(4, seconds=100)), pool=a_pool(nodes=1))
    run_to(sim, seconds=READY_S + 500)
    assert len(JobStatistics(sim, 0).with_bins(60).waits.bins) <= 12
