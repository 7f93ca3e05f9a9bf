"""Tests of the tally: results that come in one after another have the summary of all of them."""

from __future__ import annotations

import re

import pytest

from engine.studies.outcome import Tally, pace_text, recommendation, short_names, summarize, time_step_s
from engine.studies.runs import Player, read


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


def test_a_recommendation_says_for_which_rate_it_holds(night):
    for rates, said in (("0.05,0.5", " That holds for evictionRate=0.05, which nobody chooses."), ("0.05", "")):
        study = night("simulate.spot.evictionRate=" + rates, "pools.render.targetDedicatedNodes=1,3", seeds=(1,))
        results = [read(line) for line in Player(study).play(study.runs())]
        told = recommendation(summarize(study, "night", results, confidence=0))
        assert re.search(r", \$\d\.\d+\." + re.escape(said) + "$", told)
