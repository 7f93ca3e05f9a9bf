"""The series agree with the tables and with a count of the log at every moment, after seeks and branches too."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import mean

import pytest

from engine import Simulation, load_scenario
from engine.base.terms import InstanceState, JobState
from engine.base.values import HOUR_MS, MINUTE_MS
from engine.run.conditions import cost_of_nodes
from engine.views.log import series as module
from engine.views.log.changes import Buckets, ChangeCounter
from engine.views.log.levels import RareLevels
from engine.views.log.series import RunSeries
from tests.builders import READY_S, a_job, a_pool, do, run_to, simulation, some_tasks
from tests.recount import Recount, check_series

SCENARIOS = [
    "job-prep-release-sample",
    "priorities-and-fairness",
    "spot-evictions",
    "nodes-fail-and-recover",
    "reboot-during-preparation",
    "pipeline-with-dependencies",
    "one-pool-per-scheduled-job",
    "mpi-in-trouble",
    "retries-and-exit-conditions",
    "terminate-then-delete",
]


def finished(name):
    sim = Simulation(load_scenario(name))
    sim.run_until(sim.end_ms)
    sim.finish()
    return sim


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_recount_of_the_log_is_what_the_tables_say(name):
    sim = finished(name)
    for part in (1, 3, 7):
        sim.seek(sim.log.last_ms * part // 7)
        world, there = sim.world, Recount(sim, sim.now_ms)
        assert {node: world.nodes.state_of(node) for node in there.nodes} == there.nodes
        assert {task: world.tasks.state_of(task) for task in there.tasks} == there.tasks
        assert math.isclose(sum(there.usd.values()), cost_of_nodes(world.pools.rows, sim.now_ms), abs_tol=1e-9)
        rows = range(world.instances.length)
        views = [world.instances.prep(row) for row in rows]
        assert len(there.preparing) == sum(view is not None and view.state is InstanceState.RUNNING for view in views)


@pytest.mark.parametrize("name", SCENARIOS)
def test_series_agree_with_a_recount_while_time_goes_by_and_after_seeks(name):
    sim = Simulation(load_scenario(name))
    growing = RunSeries(sim)
    last_ms = finished(name).log.last_ms
    for part in range(1, 6):
        sim.run_until(last_ms * part // 5)
        check_series(sim, growing)
    for part in (4, 1, 3):
        sim.seek(last_ms * part // 5)
        check_series(sim, growing)
        check_series(sim, RunSeries(sim))


@pytest.mark.parametrize("name", ["priorities-and-fairness", "spot-evictions", "a-day-of-autoscaling"])
def test_a_branch_replaces_what_was_recorded_after_it(name):
    sim = finished(name)
    series = RunSeries(sim)
    last_ms = sim.log.last_ms
    series.of_job(None, 100)
    series.of_pool(None, 100)
    sim.seek(last_ms // 4)
    sim.branch()
    check_series(sim, series)
    active = (job for job in sim.world.jobs.present() if job.state is JobState.ACTIVE)
    for job in list(active):
        do(sim, "terminateJob", jobId=job.id)
    sim.run_until(last_ms)
    check_series(sim, series)


def test_a_day_in_few_numbers():
    sim = finished("a-day-of-autoscaling")
    series = RunSeries(sim)
    pool = next(iter(sim.world.pools.rows))
    day = series.of_pool(pool.id, 120)
    assert len(day.running) == 120
    assert day.axis.begin_ms == 0
    assert sim.now_ms - day.axis.end_ms <= sim.now_ms // 512
    assert math.isclose(day.usd[-1], cost_of_nodes([pool], day.axis.end_ms), rel_tol=0.01)
    assert day.usd == sorted(day.usd)


def test_a_wide_column_has_the_mean_of_its_buckets_and_the_most_nodes_that_prepared_in_one():
    sim = Simulation(load_scenario("a-day-of-autoscaling"))
    growing = RunSeries(sim)
    for minutes in (*range(5, 200, 5), 600, 150):  # buckets are joined on the way, and dropped; then time goes back
        (sim.run_until if minutes * MINUTE_MS > sim.now_ms else sim.seek)(minutes * MINUTE_MS)
        wide, wide_job = growing.of_pool(None, 7), growing.of_job(None, 7)
        fresh = RunSeries(sim)
        fine, fine_job = fresh.of_pool(None, 10_000), fresh.of_job(None, 10_000)
        if fine.axis.every_ms != wide.axis.every_ms:
            continue
        begin = fine.axis.edges[0]
        for number, (start, end) in enumerate(pairwise(wide.axis.edges)):
            if start < begin:
                continue
            buckets = slice(start - begin, end - begin)
            for name in ("running", "idle", "starting", "down"):
                assert math.isclose(mean(getattr(fine, name)[buckets]), getattr(wide, name)[number], abs_tol=1e-9)
            assert math.isclose(mean(fine_job.running[buckets]), wide_job.running[number], abs_tol=1e-9)
            assert max(fine_job.preparing_nodes[buckets]) == wide_job.preparing_nodes[number]


def test_the_buckets_are_never_more_than_a_fixed_number(monkeypatch):
    made = []

    def buckets(log, counter, every_ms, most):
        made.append((Buckets(log, counter, every_ms, most), most))
        return made[-1][0]

    monkeypatch.setattr(module, "Buckets", buckets)
    sim = Simulation(load_scenario("a-day-of-autoscaling"))
    series = RunSeries(sim)
    while sim.now_ms < sim.end_ms and sim.now_ms < 30 * HOUR_MS:
        sim.run_until(sim.now_ms + 40 * 60_000)
        series.of_pool(None, 100)
        assert all(each.stop <= most for each, most in made)
    assert {most for _, most in made} == {module.MOST_BUCKETS}


def test_the_series_are_right_after_a_seek_far_back():
    sim = finished("a-day-of-autoscaling")
    series = RunSeries(sim)
    series.of_pool(None, 100)
    for hours in (4, 15, 9):
        sim.seek(hours * HOUR_MS)
        check_series(sim, series)


def test_all_jobs_together_are_the_sum_of_the_jobs():
    sim = finished("priorities-and-fairness")
    sim.seek(sim.log.last_ms // 2)
    series = RunSeries(sim)
    jobs = [series.of_job(job.id, 50) for job in sim.world.jobs.present()]
    together = series.of_job(None, 50)
    assert sum(together.running) > 0
    for measure in ("waiting", "running", "preparing", "succeeded_a_minute"):
        sums = [sum(each) for each in zip(*(getattr(job, measure) for job in jobs), strict=True)]
        assert all(map(math.isclose, getattr(together, measure), sums))


def test_a_short_preparation_has_its_full_height_however_wide_the_columns_are():
    sim = finished("preparation-fails-everywhere")
    job = next(iter(sim.world.jobs.rows))
    series = RunSeries(sim)
    assert [max(series.of_job(job.id, columns).preparing_nodes) for columns in (2, 10, 200)] == [2, 2, 2]


@pytest.mark.parametrize("name", SCENARIOS[:6])
def test_what_is_too_much_to_be_read_at_once_is_read_bit_by_bit(name):
    sim = finished(name)
    series = RunSeries(sim, 100)
    last_ms = sim.log.last_ms
    catch_up(sim, series)
    check_series(sim, series)
    for part in (3, 1):
        sim.seek(last_ms * part // 4)
        catch_up(sim, series)
    series.go_on()
    sim.branch()
    sim.run_until(last_ms)
    catch_up(sim, series)
    check_series(sim, series)


def catch_up(sim, series):
    """Ask for everything, and go on until nothing is missing; on the way what is there is right."""
    for turn in range(4000):
        series.of_job(None, 10_000)
        if not series.is_behind:
            return
        assert series.until_ms <= sim.now_ms
        if turn < 3:
            with_all = RunSeries(sim)
            there, whole = series.of_pool(None, 10_000), with_all.of_pool(None, 10_000)
            if there.axis.every_ms == whole.axis.every_ms:
                assert list(there.running) == list(whole.running[: len(there.running)])
                assert list(there.usd) == list(whole.usd[: len(there.usd)])
        series.go_on()
    raise AssertionError("never catches up")


def test_a_burst_is_read_in_slices_and_the_rest_at_once_when_it_is_asked_for(monkeypatch):
    sim = finished("a-day-of-autoscaling")
    counted, count = [], ChangeCounter.count
    monkeypatch.setattr(
        ChangeCounter, "count", lambda counter, begin, end: counted.append(end) or count(counter, begin, end)
    )
    series = RunSeries(sim, 100)
    assert series.until_ms < sim.now_ms
    assert series.is_behind
    assert 0 < max(counted) <= 100
    whole = RunSeries(sim)
    assert whole.until_ms == sim.now_ms
    series.read_all()
    assert series.until_ms == sim.now_ms
    assert series.of_pool(None, 100) == whole.of_pool(None, 100)
    assert not series.is_behind


def test_a_job_that_has_ended_has_no_waiting_tasks():
    sim = simulation(a_job(tasks=some_tasks(40, seconds=600)), pool=a_pool())
    run_to(sim, seconds=READY_S + 10)
    series = RunSeries(sim)
    assert series.of_job("j", 50).waiting[-1]
    do(sim, "terminateJob", jobId="j")
    run_to(sim, seconds=READY_S + 130)
    assert sim.world.jobs.find("j").state is JobState.COMPLETED
    found = series.of_job("j", 500)
    assert found.waiting[-1] == 0
    assert max(found.waiting) > 0


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_billed_time_of_a_pool_is_read_from_the_log_as_the_pool_says(name):
    sim = Simulation(load_scenario(name))
    levels = RareLevels(sim)
    last_ms = finished(name).log.last_ms
    for part in (1, 2, 5, 7, 3, 6):  # the last two go back
        (sim.run_until if last_ms * part // 7 > sim.now_ms else sim.seek)(last_ms * part // 7)
        levels.update(len(sim.log) * 20)
        for pool in sim.world.pools.rows:
            assert levels.billed_ms(pool.row, sim.now_ms) == pool.billed_ms_at(sim.now_ms)


def test_a_series_is_computed_again_only_when_a_column_is_complete():
    sim = Simulation(load_scenario("shared-pool-two-jobs"))
    series = RunSeries(sim)
    sim.run_until(200_010)
    pool, job = sim.world.pools.rows[0].id, sim.world.jobs.rows[0].id
    before = series.of_pool(pool, 60), series.of_job(job, 60)
    sim.run_until(200_020)
    assert series.of_pool(pool, 60) is before[0]
    assert series.of_job(job, 60) is before[1]
    sim.run_until(260_000)
    assert series.of_pool(pool, 60).axis.end_ms > before[0].axis.end_ms
