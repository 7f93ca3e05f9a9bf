"""Scenarios of every kind, as YAML and as JSON, cross the boundary of a process."""

from __future__ import annotations

import json
import pickle

import pytest

from engine.scenario.load import load
from engine.scenario.text import bundled
from engine.scenario.tree import DEPTH_LIMIT, parse_valid, parse_value
from engine.studies.runs import Player, Run, planned, read
from tests.studies.conftest import NIGHT
from tui.workers.local import LocalWorkers


def forms(text):
    """A scenario as it is written, and as JSON."""
    return text, json.dumps(parse_valid(text).plain, indent=1)


@pytest.mark.parametrize("name", bundled())
def test_every_bundled_scenario_comes_to_a_worker_as_it_is(name):
    for text in forms(bundled()[name].read_text(encoding="utf-8")):
        study = planned(load(name, text=text))
        sent = pickle.loads(pickle.dumps(study))
        assert sent.source == study.source
        assert [factor.values[-1].value.plain for factor in sent.factors] == [
            factor.values[-1].value.plain for factor in study.factors
        ]
        assert [factor.position for factor in sent.factors] == [factor.position for factor in study.factors]
        Player(sent)
        tree = parse_valid(text)
        assert pickle.loads(pickle.dumps(tree)).plain == tree.plain


@pytest.mark.parametrize("text", ["[{}]", '[{{"a": {}}}]', "- {}"], ids=["lists", "mappings", "yaml"])
def test_the_deepest_value_too(text):
    inner = "1"
    for _ in range(DEPTH_LIMIT // text.count("{") // 2):
        inner = text.format(inner)
    tree, problems = parse_value(inner)
    assert not problems
    assert pickle.loads(pickle.dumps(tree)).plain == tree.plain


def test_workers_play_a_scenario_in_json_as_it_is_played_here_in_yaml():
    vary = """\
study:
  vary:
    pools.render.targetDedicatedNodes: [1, 2]
    timeline.1.resizePool: [null, {poolId: render, targetDedicatedNodes: 4}]
"""
    in_yaml, in_json = (planned(load("night", text=text), version="1") for text in forms(NIGHT + vary))
    runs = (Run(1, 1), Run(4, 1))
    with LocalWorkers(in_json, 1) as workers:
        lines = workers.submit(runs).result(60).lines
    played, wanted = ([read(line) | {"study": None} for line in each] for each in (lines, Player(in_yaml).play(runs)))
    assert played == wanted
    assert [result["error"] for result in played] == [None, None]
