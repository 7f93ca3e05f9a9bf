"""Tests of the tally: results that come in one after another have the summary of all of them."""

from __future__ import annotations

import re

import pytest

from engine import load_scenario
from engine.studies.measures import measures_of, pareto
from engine.studies.outcome import (
    Tally,
    pace_text,
    recommendation,
    short_names,
    summarize,
    time_step_s,
)
from engine.studies.runs import Player, _is_given, planned, read
from tui.cli.studying import study_text
from tui.saving.console import console


def test_the_tally_of_results_in_any_order_is_their_summary(night):
    study = night("pools.render.targetDedicatedNodes=1,3", "jobs.shot-1.priority=0,5", seeds=(1, 2, 3))
    results = [read(line) for line in Player(study).play(study.runs())]
    tally = Tally(study, "night", confidence=0.5)
    done = []
    for result in sorted(results, key=lambda one: (one["seed"], -one["variant"])):
        tally.add([result])
        done.append(result)
        if len(done) % 3 == 0:
            tally.update()
            assert tally.summary == summarize(study, "night", done, confidence=0.5)
    assert tally.count == 12
    assert [one["seed"] for one in tally.results_of(2)] == [1, 2, 3]
    unchanged = tally.summary
    tally.update()
    assert tally.summary is unchanged


def test_the_pace_says_how_fast_and_how_long():
    assert pace_text(50, 200, 10.0) == "5.0 runs/s  00:00:30 left"


def test_short_names_tell_factors_apart():
    paths = ["pools.a.vmSize", "pools.b.vmSize", "jobs.x.priority"]
    assert short_names(paths) == ["a.vmSize", "b.vmSize", "priority"]


@pytest.mark.parametrize(("range_s", "step_s"), [(8, 1), (100, 15), (3_000, 600), (40_000, 7_200), (900_000, 86_400)])
def test_marks_of_a_time_axis_are_round(range_s, step_s):
    assert time_step_s(range_s, 9) == step_s


RATE = "simulate.spot.evictionRate"


def test_there_is_a_recommendation_for_each_rate_since_nobody_chooses_one(night):
    for rates in (("0.05", "0.5"), ("0.05",)):
        study = night(f"{RATE}={','.join(rates)}", "pools.render.targetDedicatedNodes=1,3", seeds=(1,))
        summary = summarize(study, "night", [read(line) for line in Player(study).play(study.runs())], confidence=0)
        assert len(summary.all_recommended) == len(summary.advice) == len(rates)
        assert [study.values(one)[RATE] for one in summary.all_recommended] == [*map(float, rates)]
        assert summary.recommended in summary.all_recommended
        *first, last = recommendation(summary).splitlines()
        assert re.search(r"is the cheapest that keeps all .*, \$\d\.\d+\.$", last)
        if len(rates) > 1:
            assert first[0] == "Nobody chooses evictionRate, so there is a recommendation for each value:"
            assert re.match(r"targetDedicatedNodes=\d (is the cheapest that )?keeps all .* in each case\.$", first[1])
            assert [line.partition(":")[0] for line in (first[2], last)] == [f"evictionRate={rate}" for rate in rates]
        else:
            assert not first


@pytest.mark.parametrize(
    ("path", "is_given"),
    [
        ("simulate.spot.evictionRate", True),
        ("jobs.j.tasks.0.simulate.duration", True),
        ("timeline.0.evictNode", True),
        ("seed", True),
        ("pools.p.vmSize", False),
        ("pools.p.autoScaleFormula", False),
        ("timeline.0.resizePool", False),
    ],
)
def test_what_nobody_chooses(path, is_given):
    assert _is_given(path) is is_given


LEFT_ON = """
scenario: left-on
pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 4}]
jobs:
  - id: j
    poolInfo: {poolId: p}
    onAllTasksComplete: terminatejob
    tasks: [{id: a, commandLine: work, simulate: {duration: PT20M}}]
timeline: [{at: PT3H, resizePool: {poolId: p, targetDedicatedNodes: 1}}]
expect: [{jobId: j, state: completed, within: PT2H}]
study:
  seeds: 2
  vary: {"timeline.0.resizePool": [null, {poolId: p, targetDedicatedNodes: 1}]}
"""


def test_costs_are_compared_up_to_the_end_of_the_work_in_all_runs_alike():
    scenario = load_scenario("left-on", text=LEFT_ON)
    study = planned(scenario)
    summary = summarize(study, "left-on", [read(line) for line in Player(study).play(study.runs())], confidence=0)
    left_on, shrunk = summary.variants
    assert shrunk.cost.median > left_on.cost.median * 4  # its runs go on until the pool is resized
    assert shrunk.done_cost == left_on.done_cost
    assert left_on.done_cost.median == pytest.approx(left_on.cost.median, rel=0.1)
    assert [one.pareto for one in summary.variants] == [True, True]
    assert "costUntilDone" in measures_of(scenario)
    assert "costUntilDone" not in measures_of(load_scenario("x", text=f"until: PT4H\n{LEFT_ON}"))
    assert "until done" in study_text(summary, measures_of(scenario), console(to_stderr=False))


def test_variants_are_compared_only_where_what_nobody_chooses_is_the_same(night):
    slow, boots = "simulate.nodes.starting", ("PT1M", "PT2H")
    study = night(f"{slow}={','.join(boots)}", "pools.render.targetDedicatedNodes=1,3", seeds=(1, 2))
    summary = summarize(study, "night", [read(line) for line in Player(study).play(study.runs())], confidence=0)
    for case in (1, 0):
        alike = [one for one in summary.variants if one.values[slow] == boots[case]]
        assert {one.line for one in alike if one.pareto} == {case + 1}
        line = pareto([(one.done_cost.median, one.end_s) for one in alike])
        assert [one.pareto for one in alike] == line
        assert any(line)
    together = pareto([(one.done_cost.median, one.end_s) for one in summary.variants])
    assert [one.pareto for one in summary.variants] != together
    assert "both cheaper and earlier where what nobody chooses is the same." in study_text(
        summary, [], console(to_stderr=False)
    )
    assert (
        recommendation(summary)
        .splitlines()[1]
        .endswith("is the cheapest that keeps all expectations in at least 0 % of its runs in each case.")
    )
