"""Explanations of autoscale targets, and trials of other formulas."""

from __future__ import annotations

import pytest

from engine.autoscale.values import FormulaError
from engine.views.diagnosis.pools import why_targets
from engine.views.diagnosis.questions import explain
from engine.views.resources.jobs import dry_run, scale_page
from tests.builders import a_job, do, run_to, simulation
from tests.views.explaining import why_job_says, why_pool_says, why_task_says


def scaled(formula):
    own = {"enableAutoScale": True, "autoScaleFormula": formula, "autoScaleEvaluationInterval": "PT5M"}
    return simulation(a_job(tasks=6), pool={"id": "p", "vmSize": "standard_d2s_v3"} | own)


def why_targets_says(sim):
    return why_targets(sim.world, sim.world.pools[0]).lines()


def test_as_84_the_first_evaluation_without_samples():
    sim = scaled("$TargetDedicatedNodes = 2")
    run_to(sim, seconds=15)
    assert why_targets_says(sim) == [
        "Why does autoscale set 2 dedicated nodes for p?",
        "✓ pool state  active [AS-89]",
        "✓ evaluation  every PT5M, next at 08:05:00 [AS-83]",
        "✓ last one    at 08:00:00 [AS-67]",
        "✗ samples     none yet; the first at 08:00:30 [AS-52]",
        "✓ targets     2 dedicated nodes, its first targets [AS-84]",
        "Nodes leave with deallocation option requeue. [AS-40]",
        "Next: the pool's formula is evaluated at 08:05:00 [AS-84]",
    ]


def test_as_80_a_target_that_stays_and_one_that_changes():
    sim = scaled("n = time().minute < 10 ? 2 : 1; $TargetDedicatedNodes = n; $TargetLowPriorityNodes = n - 1")
    run_to(sim, minutes=6)
    assert why_targets_says(sim)[4:7] == [
        "✓ samples     12 of each metric, one every 30 s since 08:00:30 [AS-52]",
        "✓ targets     2 dedicated nodes and 1 Spot node as before, so no resize began [AS-80]",
        "Its variables: n = 2. [AS-68]",
    ]
    run_to(sim, minutes=11)
    assert why_targets_says(sim)[5] == (
        "✓ targets     1 dedicated node, previously 2 dedicated nodes and 1 Spot node [AS-80]"
    )


def test_as_77_tasks_that_wait_for_a_fraction_of_a_node_that_is_cut_off():
    sim = scaled("wanted = 6 / 8; $TargetDedicatedNodes = wanted")
    run_to(sim, minutes=2)
    assert why_targets_says(sim)[6:9] == [
        "✗ waiting tasks  6, but no nodes are wanted [AS-41]",
        "Its variables: wanted = 0.75. [AS-68]",
        "A fraction of a node that is wanted is cut off. [AS-77]",
    ]


def test_as_65_a_formula_that_fails_and_what_would_help():
    sim = scaled("$TargetDedicatedNodes = avg($PendingTasks.GetSample(TimeInterval_Hour))")
    run_to(sim, minutes=2)
    assert "It was the first evaluation. [AS-65]" in why_targets_says(sim)
    run_to(sim, minutes=6)
    said = why_targets_says(sim)
    assert said[0] == "Why did autoscale leave the targets of p as they are?"
    assert said[3] == (
        "✗ last one    at 08:05:00: InsufficientSampleData. Line 1, Col 52: Insufficient data from data set: "
        "$PendingTasks wanted 70%, received 8% [AS-65]"
    )
    assert said[5:8] == [
        "✗ targets     left at no dedicated nodes [AS-80]",
        "By default GetSample over a time needs 70 % of its samples. [AS-51]",
        "2 of the last 2 evaluations failed. [AS-65]",
    ]


def test_as_84_the_next_evaluation_can_change_what_is_said_of_the_pool():
    sim = scaled("$TargetDedicatedNodes = 2")
    run_to(sim, minutes=2)
    assert why_pool_says(sim)[-2:] == [
        "Its targets come from its autoscale formula. [RSZ-1]",
        "Next: the pool's formula is evaluated at 08:05:00 [AS-84]",
    ]
    assert len(explain(sim, "pool", "p")) == 2
    do(sim, "disablePoolAutoScale", poolId="p")
    assert len(explain(sim, "pool", "p")) == 1


def test_as_89_a_pool_that_is_deleted_is_not_evaluated_again():
    sim = scaled("$TargetDedicatedNodes = 2")
    run_to(sim, minutes=2)
    do(sim, "deletePool", poolId="p")
    answer = why_targets(sim.world, sim.world.pools[0])
    assert next(check.label for check in answer.checks if not check.ok) == "pool state"
    assert answer.next_change is None


def test_as_87_a_dry_run_sees_the_samples_and_changes_nothing():
    sim = scaled("$TargetDedicatedNodes = 2")
    run_to(sim, minutes=6)
    lines, page = list(sim.json_lines()), scale_page(sim, "p")
    run = dry_run(sim, "p", "m = max($PendingTasks.GetSample(99)); $TargetDedicatedNodes = m; t = time()")
    assert (run.target_dedicated, run.current_dedicated, run.error) == (6, 2, None)
    assert dict(run.items)["t"] == "2026-01-05T08:06:00.000Z"
    assert dry_run(sim, "p", "x = nowhere").error.reason == "Unknown variable nowhere"
    with pytest.raises(FormulaError):
        dry_run(sim, "p", "x = ")
    assert dry_run(sim, "nowhere", "x = 1") is None
    assert (list(sim.json_lines()), scale_page(sim, "p")) == (lines, page)


def test_as_67_the_page_of_a_pool_holds_formula_schedule_samples_and_evaluations():
    sim = scaled("$TargetDedicatedNodes = 2")
    run_to(sim, minutes=6)
    page = scale_page(sim, "p")
    assert (page.formula, page.interval_ms, page.next_ms) == ("$TargetDedicatedNodes = 2", 300_000, 600_000)
    assert [run.when_ms for run in page.runs] == [0, 300_000]
    sampled = {each.name: (each.number, each.newest) for each in page.samples}
    assert sampled["$CurrentDedicatedNodes"] == (12, 2)
    assert sampled["$TaskSlotsPerNode"] == (12, 1)
    do(sim, "disablePoolAutoScale", poolId="p")
    assert scale_page(sim, "p") is None


def test_as_84_a_task_without_a_node_and_its_job_wait_for_the_next_evaluation():
    sim = scaled("$TargetDedicatedNodes = time().minute < 5 ? 0 : 1")
    run_to(sim, minutes=1)
    assert why_job_says(sim)[-1] == "Next: the pool's formula is evaluated at 08:05:00 [AS-84]"
    assert why_task_says(sim)[-4:] == [
        "✗ a node with 1 free slot  0 of 0 eligible [SCHED-8]",
        "✗ nodes                    none in pool p: its formula wants none [AS-41]",
        "It has been active since 08:00:00. [TASK-7]",
        "Next: the pool's formula is evaluated at 08:05:00 [AS-84]",
    ]
