"""The studies of the bundled scenarios: each gives the answer that people are told about."""

from __future__ import annotations

import pytest

from engine.scenario.load import load
from engine.scenario.text import bundled
from engine.studies.outcome import summarize
from engine.studies.runs import Player, Variants, planned, read

ANSWERS = {
    "nodes-for-a-deadline": {"pools.render.targetDedicatedNodes": 8},
    "retries-of-flaky-tasks": {"jobs.risk.constraints.maxTaskRetryCount": 2},
    "spot-or-dedicated": {"pools.farm.targetDedicatedNodes": 1, "pools.farm.targetLowPriorityNodes": 12},
    "which-formula": {"pools.desk.autoScaleEvaluationInterval": "PT5M"},
}


def test_every_bundled_study_has_its_answer_here():
    assert {name for name in bundled() if load(name).study.factors} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_bundled_study_recommends_a_variant_among_better_and_worse_ones(name):
    scenario = load(name)
    study = planned(scenario)
    Variants(study).check()
    results = map(read, Player(study).play(study.runs()))
    found = summarize(study, scenario.name, results, confidence=0.95)
    assert found.errors == 0
    assert ANSWERS[name].items() <= study.values(found.recommended).items()
    assert {one.met.share >= 0.95 for one in found.variants} == {True, False}
