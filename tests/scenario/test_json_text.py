"""A file of JSON means the same, at the same positions, whether it is read as JSON or as YAML."""

from __future__ import annotations

import json

import pytest

from engine import ScenarioError, load_scenario
from engine.scenario import tree
from engine.scenario.text import JsonText, bundled
from engine.scenario.tree import DEPTH_LIMIT, JsonTree, parse
from tests.scenario.test_json_lines import both_ways, parsed

SMALL = {
    "scenario": "small",
    "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}],
    "jobs": [{"id": "j", "poolInfo": {"poolId": "p"}, "tasks": [{"id": "t", "commandLine": 'say "ä é"\n\\'}]}],
}
PLAIN = json.dumps(SMALL)


def loaded(text):
    try:
        scenario = load_scenario("small.json", text=text)
    except ScenarioError as error:
        return [str(problem) for problem in (*error.problems, *error.warnings)]
    return scenario, scenario.warnings, [job.line for job in scenario.jobs]


READ = [
    PLAIN,
    json.dumps(SMALL, indent=2),
    json.dumps(SMALL, indent="\t"),
    json.dumps(SMALL, indent=1).replace("\n", "\r\n"),
    json.dumps(SMALL, ensure_ascii=False).replace("é", "😀"),
    json.dumps(SMALL, separators=(",", ":")),
    f" \n\n  {PLAIN} \n\n",
    "\ufeff" + PLAIN,
    '{"a": [], "b": {}, "c": [[], {}], "d": [1, -2, 3.5, 1e3, -0, true, false, null, "1", ""]}',
    '{"<<": {"x": 1}, "~": "null", "on": "no", "1": "08:30"}',
    '[{"a": 1}, {"a": 2}]',
    "{}",
    "[]",
    "[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT,
]
LEFT_TO_YAML = [
    '{"a": 1, "a": 2}',
    '{"": 1}',
    '{"a": NaN}',
    '{"a": 1e999}',
    f'{{"a": {"1" * 70}}}',
    f'{{"a": 0.{"1" * 70}}}',
    '{"a": "\\ud83d\\ude00"}',
    '{"a": "\\ud83d"}',
    '{"a": "\u2028 b"}',
    '{"a": "b\n  c"}',
    '{"a": "\t"}',
    '{"a": 1,}',
    '{"a": 1} # end',
    '{"a": 1}\n---\n{"b": 2}',
    '{"a": 1',
    "{a: 1}",
    '"text"',
    '{"a":\r1}',
    "[" * (DEPTH_LIMIT + 1) + "]" * (DEPTH_LIMIT + 1),
    "[" * 100_000,
    "",
]


@pytest.mark.parametrize("text", READ + LEFT_TO_YAML, ids=range(len(READ + LEFT_TO_YAML)))
def test_a_text_means_the_same_both_ways(monkeypatch, text):
    found, wanted = both_ways(text, monkeypatch, parsed, "_json_tree")
    assert found == wanted
    assert isinstance(parse(text, lambda *_: None), JsonTree) == (text in READ)


def test_more_values_than_a_scenario_may_have_are_too_many(monkeypatch):
    monkeypatch.setattr(tree, "VALUE_LIMIT", 5)
    assert parsed("[1, 2, 3, 4]")[1] == []
    found, wanted = both_ways("[1, 2, 3, 4, 5]", monkeypatch, parsed, "_json_tree")
    assert found == wanted
    assert len(found[1]) == 1


@pytest.mark.parametrize("name", bundled())
def test_a_bundled_scenario_as_json_is_the_same_both_ways(monkeypatch, name):
    scenario = load_scenario(name)
    plain = parse(scenario.source.text, lambda *_: None).plain
    for text in (json.dumps(plain), json.dumps(plain, indent=2)):
        found, wanted = both_ways(text, monkeypatch, loaded, "_json_tree")
        assert found == wanted
        assert not isinstance(found, list)


CHANGES = [
    ("targetDedicatedNodes", "targetDedicatedNode"),
    ('"targetDedicatedNodes": 1', '"targetDedicatedNodes": "1"'),
    ('"poolId": "p"', '"poolId": "q"'),
    ('"commandLine"', '"displayName": "x", "state": "active", "commandLine"'),
    ('"commandLine"', '"command_line"'),
    ('"id": "t", ', ""),
    ('"id": "t"', '"id": "t t"'),
    ('[{"id": "t"', '[{"id": "T", "commandLine": "x"}, {"id": "t"'),
    ('"tasks": [', '"upgradePolicy": {}, "tasks": ['),
    ("say ", "/bin/sh -c 'if'; "),
    ('"jobs"', '"expect": [{"jobId": "k", "state": "active"}], "jobs"'),
    ('"jobs"', '"timeline": [{"at": "PT1S", "addTasks": {"jobId": "j", "tasks": [{"id": "u"}]}}], "jobs"'),
]


@pytest.mark.parametrize(("old", "new"), CHANGES)
def test_mistakes_and_warnings_are_the_same_both_ways(monkeypatch, old, new):
    assert old in PLAIN
    changed = PLAIN.replace(old, new, 1)
    for text in (changed, json.dumps(json.loads(changed), indent=3)):
        found, wanted = both_ways(text, monkeypatch, loaded, "_json_tree")
        assert found == wanted


def test_the_text_of_a_task_that_has_no_mistake_is_not_looked_into(monkeypatch):
    parts, calls = JsonText.parts, []
    monkeypatch.setattr(JsonText, "parts", lambda self, start: calls.append(start) or parts(self, start))
    given = {"environmentSettings": [{"name": "A", "value": "1"}], "simulate": {"duration": 5}}
    tasks = [{"id": f"t{k}", "commandLine": "/bin/sh -c 'a'", **given} for k in range(300)]
    load_scenario("many.json", text=json.dumps({**SMALL, "jobs": [{**SMALL["jobs"][0], "tasks": tasks}]}))
    assert len(calls) < 20


def test_where_the_tasks_of_a_list_begin_is_only_looked_for_when_one_is_reported(monkeypatch):
    parts, found = JsonText.parts, []

    def noted(self, start):
        for part in parts(self, start):
            found.append(part)
            yield part

    monkeypatch.setattr(JsonText, "parts", noted)
    tasks = [{"id": f"t{k}", "commandLine": "/bin/sh -c 'a'", "simulate": {"duration": 5}} for k in range(300)]
    text = json.dumps({**SMALL, "jobs": [{**SMALL["jobs"][0], "tasks": tasks}]}, indent=1)
    load_scenario("many.json", text=text)
    assert len(found) < 20
    line = text[: text.index('"t7"')].count("\n")  # the one with the brace, counted from 1
    with pytest.raises(ScenarioError, match=f"the id 'T7' is taken by the task in line {line} "):
        load_scenario("twice.json", text=text.replace('"t8"', '"T7"'))
    assert len(found) > 300
