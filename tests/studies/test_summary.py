"""Tests of what a study reports: every number is computed again, from single runs and by other code."""

from __future__ import annotations

import json
import math
import statistics
from datetime import datetime

import pytest

from engine import Simulation
from engine.scenario.model import MEASURES
from engine.studies.outcome import as_json, pareto, spread, summarize, wilson
from engine.studies.runs import Player, Run, Variants, read
from engine.views.results import document

OPTIONS = "pools.render.targetDedicatedNodes=1..3", "jobs.shot-1.jobPreparationTask=null,{commandLine: sync}"
SEEDS = (1, 2, 5, 9)


def between(values, percent):
    """The percentile as a spreadsheet has it (PERCENTILE.INC)."""
    values = sorted(values)
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def seconds(later, earlier):
    return (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()


def state_of(study, run):
    """The state that ``run --output json`` would print."""
    simulation = Simulation(Variants(study).scenario(run.variant), seed=run.seed)
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    return document(simulation)


def measured_again(state):
    waits = [
        seconds(task["executionInfo"]["startTime"], task["creationTime"])
        for job in state["jobs"]
        for task in job["tasks"]
        if "startTime" in task["executionInfo"]
    ]
    own = state["summary"]
    return {name: own[name] for name in ("makespanSeconds", "costUsd", "nodeHours", "slotUtilization")} | {
        "failedTasks": own["tasks"]["failed"],
        "failedPreparations": own["preparationTasks"]["failed"],
        "failedReleases": own["releaseTasks"]["failed"],
        "waitSecondsMedian": between(waits, 50) if waits else None,
        "waitSecondsP95": between(waits, 95) if waits else None,
        "preparationSeconds": own["preparationSeconds"],
    }


@pytest.fixture
def played(night):
    study = night(*OPTIONS, seeds=SEEDS)
    return study, [read(line) for line in Player(study).play(study.runs())]


def test_a_line_has_what_the_run_alone_has(played):
    study, results = played
    assert [(one["variant"], one["seed"]) for one in results] == list(study.runs())
    for result in results:
        state = state_of(study, Run(result["variant"], result["seed"]))
        assert result["values"] == study.values(result["variant"])
        assert result["error"] is None
        assert result["expectations"] == [one["met"] for one in state["expectations"]]
        again = measured_again(state)
        assert {name: result["summary"][name] for name in MEASURES} == pytest.approx(again)
        assert {name: result["summary"][name] for name in state["summary"]} == json.loads(json.dumps(state["summary"]))
        assert result["jobs"] == {
            job["id"]: {
                "endSeconds": seconds(job["executionInfo"]["endTime"], state["startTime"])
                if "endTime" in job["executionInfo"]
                else None
            }
            for job in state["jobs"]
        }


def test_the_measures_differ_from_seed_to_seed_and_from_variant_to_variant(played):
    _, results = played
    assert len({result["summary"]["makespanSeconds"] for result in results}) == len(results)
    assert {result["summary"]["failedTasks"] for result in results} == {0, 1}
    assert {result["summary"]["preparationSeconds"] > 0 for result in results} == {True, False}


def test_the_summary_of_each_variant_is_that_of_its_runs(played):
    study, results = played
    found = as_json(summarize(study, "night", results, confidence=0.5))
    assert found["seeds"] == list(SEEDS)
    assert found["factors"] == [
        {"path": "pools.render.targetDedicatedNodes", "values": [1, 2, 3]},
        {"path": "jobs.shot-1.jobPreparationTask", "values": [None, {"commandLine": "sync"}]},
    ]
    assert [one["variant"] for one in found["variants"]] == [1, 2, 3, 4, 5, 6]
    for one in found["variants"]:
        own = [result for result in results if result["variant"] == one["variant"]]
        assert (one["runs"], one["errors"], one["values"]) == (4, 0, study.values(one["variant"]))
        for name in MEASURES:
            values = [result["summary"][name] for result in own]
            assert one[name] == pytest.approx(
                {"mean": sum(values) / 4, "p5": between(values, 5), "median": between(values, 50)}
                | {"p95": between(values, 95)}
            )
        assert one["jobs"].keys() == {"shot-1", "empty"}
        ends = [result["jobs"]["shot-1"]["endSeconds"] for result in own]
        assert one["jobs"]["shot-1"]["endSeconds"]["median"] == pytest.approx(statistics.median(ends))
        assert set(one["jobs"]["empty"]["endSeconds"].values()) == {None}
        held = [all(result["expectations"]) for result in own]
        assert one["met"]["share"] == sum(held) / 4
        assert one["met"]["expectations"] == [sum(result["expectations"][at] for result in own) / 4 for at in range(2)]
    assert len({one["met"]["share"] for one in found["variants"]}) > 1


def test_the_order_of_the_results_does_not_matter(played):
    study, results = played
    there = as_json(summarize(study, "night", results, confidence=0.5))
    back = as_json(summarize(study, "night", results[::-1], confidence=0.5))
    assert json.dumps(there) == json.dumps(back)


def test_results_of_other_seeds_are_left_out(played, night):
    _, results = played
    fewer = night(*OPTIONS, seeds=(2, 9))
    chosen = [result for result in results if result["seed"] in (2, 9)]
    assert as_json(summarize(fewer, "n", results, confidence=1)) == as_json(summarize(fewer, "n", chosen, confidence=1))


# --- shares, spreads, the Pareto line


@pytest.mark.parametrize(("met", "runs"), [(0, 1), (1, 1), (19, 20), (20, 20), (0, 20), (7, 13), (500, 1000)])
def test_the_interval_is_wilsons(met, runs):
    z = statistics.NormalDist().inv_cdf(0.975)
    share = met / runs
    middle, width = share + z * z / (2 * runs), z * math.sqrt(share * (1 - share) / runs + z * z / (4 * runs**2))
    expected = share, (middle - width) / (1 + z * z / runs), (middle + width) / (1 + z * z / runs)
    assert tuple(wilson(met, runs)) == pytest.approx(expected, abs=1e-12)
    assert 0 <= wilson(met, runs).low <= share <= wilson(met, runs).high <= 1


def test_nineteen_of_twenty_by_hand():
    assert tuple(round(part, 4) for part in wilson(19, 20)) == (0.95, 0.7639, 0.9911)


def test_nothing_is_known_without_runs():
    assert tuple(wilson(0, 0)) == (0, 0, 1)


def test_a_spread_leaves_out_what_is_not_there():
    assert tuple(spread([4, None, 1, 2, 3])) == pytest.approx((2.5, 1.15, 2.5, 3.85))
    assert tuple(spread([7])) == (7, 7, 7, 7)
    assert tuple(spread([None])) == (None, None, None, None)


@pytest.mark.parametrize(
    ("points", "marked"),
    [
        ([(1, 9), (2, 5), (3, 5), (4, 1), (4, 3)], [True, True, False, True, False]),
        ([(1, 1), (1, 1)], [True, True]),
        ([(1, 2), (1, 1), (2, 1)], [False, True, False]),
        ([(None, None), (5, 5)], [False, True]),
        ([], []),
    ],
)
def test_a_point_is_on_the_pareto_line_if_no_other_is_better(points, marked):
    assert pareto(points) == marked


def a_result(variant, seed, *, cost, end, met=True, error=None):
    summary = dict.fromkeys(MEASURES, 0) | {"costUsd": cost, "makespanSeconds": end}
    return {
        "variant": variant,
        "seed": seed,
        "expectations": [] if error else [met],
        "summary": None if error else summary,
        "jobs": {},
        "error": error,
    }


def chosen(night, rows, confidence):
    """The recommended and the nearest variant of (cost, end, runs of two in which the expectation was met)."""
    study = night(f"jobs.shot-1.priority=1..{len(rows)}", seeds=(1, 2))
    results = [
        a_result(variant, seed, cost=cost, end=end, met=seed <= met)
        for variant, (cost, end, met) in enumerate(rows, start=1)
        for seed in (1, 2)
    ]
    found = summarize(study, "night", results, confidence=confidence)
    return found.recommended, found.nearest


@pytest.mark.parametrize(
    ("rows", "confidence", "expected"),
    [
        ([(5, 1, 2), (3, 9, 2), (1, 1, 1)], 0.95, (2, None)),
        ([(5, 1, 2), (3, 9, 2), (1, 1, 1)], 0.5, (3, None)),
        ([(3, 9, 2), (3, 8, 2)], 1, (2, None)),
        ([(3, 8, 2), (3, 8, 2)], 1, (1, None)),
        ([(3, 8, 0), (9, 9, 1), (7, 9, 1)], 0.95, (None, 3)),
        ([(3, 8, 0), (2, 8, 0)], 0, (2, None)),
    ],
)
def test_the_cheapest_variant_that_keeps_the_expectations_is_recommended(rows, confidence, expected, night):
    assert chosen(night, rows, confidence) == expected


def test_a_study_without_expectations_recommends_nothing(night):
    study = night("jobs.shot-1.priority=1,2", "expect.0=null", "expect.1=null", seeds=(1,))
    found = summarize(study, "n", map(read, Player(study).play(study.runs())), confidence=0.95)
    assert (found.recommended, found.nearest, found.has_expectations) == (None, None, False)
    assert [one.met.share for one in found.variants] == [1, 1]


def test_a_run_that_failed_counts_as_one_that_kept_nothing(night):
    study = night("jobs.shot-1.priority=1,2", seeds=(1, 2))
    results = [
        a_result(1, 1, cost=1, end=1),
        a_result(1, 2, cost=0, end=0, error="boom"),
        *(a_result(2, seed, cost=0, end=0, error="boom") for seed in (1, 2)),
    ]
    one, two = as_json(summarize(study, "n", results, confidence=0.5))["variants"]
    assert (one["runs"], one["errors"], one["met"]["share"], one["met"]["expectations"]) == (2, 1, 0.5, [0.5])
    assert (one["costUsd"]["mean"], one["pareto"]) == (1, True)
    assert (two["errors"], two["met"]["share"], two["costUsd"]["mean"], two["pareto"]) == (2, 0, None, False)


def test_an_exception_in_a_run_is_its_result_and_the_others_go_on(night, monkeypatch):
    study = night(seeds=(1, 2, 3))
    finish = Simulation.finish

    def breaks(simulation):
        if simulation.seed == 2:
            raise ArithmeticError("no such number")
        finish(simulation)

    monkeypatch.setattr(Simulation, "finish", breaks)
    results = [read(line) for line in Player(study).play(study.runs())]
    assert [result["error"] for result in results] == [None, "ArithmeticError: no such number", None]
    assert results[1] == read(study.failed(Run(1, 2), "ArithmeticError: no such number"))


def test_the_text_of_the_scenario_is_parsed_once_and_each_variant_read_once(night, monkeypatch):
    from engine.studies import runs

    study = night("pools.render.targetDedicatedNodes=1,2", seeds=(1, 2, 3))
    calls = []
    for name in ("parse_valid", "load_tree"):
        original = getattr(runs, name)
        monkeypatch.setattr(runs, name, lambda *given, o=original, n=name: calls.append(n) or o(*given))
    player = Player(study)
    for run in study.runs():
        player.play([run])
    assert calls == ["parse_valid", "load_tree", "load_tree"]
