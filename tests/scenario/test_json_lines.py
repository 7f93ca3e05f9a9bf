"""Long lists of lines of JSON mean the same, at the same positions, however they are read."""

from __future__ import annotations

import json
import random

import pytest

from engine import ScenarioError, load_scenario
from engine.scenario import text, tree
from engine.scenario.tree import JsonTree, parse

HEAD = """\
scenario: long
pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}]
jobs: [{id: j, poolInfo: {poolId: p}}]
timeline:
"""


def line(number, **more):
    task = {"id": str(number), "commandLine": "job", "simulate": {"duration": number % 7}} | more
    return {"at": number, "addTasks": {"jobId": "j", "tasks": [task]}}


def text_of(entries, *, head=HEAD, tail="", indent="  "):
    return head + "".join(f"{indent}- {json.dumps(entry)}\n" for entry in entries) + tail


def shape(value):
    """Everything that a tree says, in a form that can be compared."""
    inner = value.value
    if isinstance(inner, list):
        inner = [shape(each) for each in inner]
    elif isinstance(inner, dict):
        inner = {key: shape(each) for key, each in inner.items()}
    return value.position, inner, dict(value.keys)


def both_ways(text, monkeypatch, read, fast="lifted"):
    """What ``read`` makes of a text: as always, and without the function of this name that reads it faster."""
    found = read(text)
    with monkeypatch.context() as patch:
        patch.setattr(tree, fast, lambda _: None)
        return found, read(text)


def parsed(text):
    problems = []
    root = parse(text, lambda message, position: problems.append((message, position)))
    return (None if root is None else (shape(root), root.plain)), problems


def loaded(text):
    try:
        return load_scenario("long.yaml", text=text)
    except ScenarioError as error:
        return list(map(str, error.problems))


MANY = [line(number) for number in range(120)]
ODD = [
    text_of(MANY),
    text_of(MANY, tail="expect: [{jobId: j, state: active}]\n"),
    text_of(MANY, tail="  - {at: 5, deleteJob: {jobId: j}}\n" + text_of(MANY, head="")),
    text_of(MANY, indent="") + "seed: 4\n",
    text_of(MANY) + "  -   not: the same\n",
    text_of(MANY) + "      continued\n",
    text_of(MANY, head=HEAD.replace("timeline:", "description: |")),
    text_of(MANY, head=HEAD.replace("timeline:", "description: plain")),
    text_of(MANY, head=HEAD.replace("timeline:", 'description: "quoted')) + '  end"\n',
    text_of(MANY, head=HEAD.replace("timeline:", "timeline: [")) + "]\n",
    text_of(MANY, head=HEAD.replace("timeline:", "timeline: &all")) + "again: *all\n",
    text_of(MANY).replace('"at": 7,', '"at": 7, "at": 8,'),
    text_of(MANY).replace('"at": 7,', '"at": NaN,'),
    text_of(MANY).replace('"at": 7,', f'"at": {"1" * 70},'),
    text_of(MANY).replace('"at": 7,', '"at": 1e999,'),
    text_of(MANY).replace('"at": 7,', '"at":7,'),
    text_of(MANY).replace('"at": 7,', '"at": 7.50, "": 3,'),
    text_of(MANY).replace('"at": 7,', '"at": -0, "<<": {"x": 1},'),
    text_of(MANY).replace('"at": 7,', '"at": "\\u00e4\\ud83d",'),
    text_of(MANY).replace('"at": 7,', '"at": "ä  é",'),
    text_of(MANY).replace('"at": 7,', '"at": ' + "[" * 70 + "]" * 70 + ","),
    text_of(MANY).replace('"at": 7,', '"at": 7'),
    text_of(MANY).replace("\n", "\r\n"),
    text_of(MANY, head=HEAD + '  - "lines of JSON, 0"\n'),
]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_a_text_means_the_same_both_ways(monkeypatch, text):
    found, wanted = both_ways(text, monkeypatch, parsed)
    assert found == wanted


def test_long_lists_are_lifted_and_short_ones_are_not():
    root = parse(text_of(MANY), lambda *_: None)
    assert {type(entry) for entry in root.value["timeline"].value} == {JsonTree}
    root = parse(text_of(MANY[: text.FEWEST_LINES - 1]), lambda *_: None)
    assert JsonTree not in {type(entry) for entry in root.value["timeline"].value}


CHANGES = [
    {},
    {"requiredSlots": 2},
    {"requiredSlots": "2"},
    {"requiredSlot": 2},
    {"simulate": {}},
    {"simulate": {"duration": "soon"}},
    {"simulate": {"duration": {"lognormal": ["PT5S", 0.3]}, "exitCode": {"0": 9, "1": 1}}},
    {"simulate": None, "commandLine": "/bin/sh -c 'if'"},
    {"simulate": {"does": [{"after": "PT1S", "terminateJob": {"jobId": "j"}}]}},
    {"multiInstanceSettings": {"numberOfInstances": 2, "coordinationCommandLine": "x", "simulate": {"duration": 0}}},
    {"multiInstanceSettings": {"numberOfInstances": 2, "coordinationCommandLine": "/bin/sh -c 'if'"}},
    {"dependsOn": {"taskIds": ["1"]}},
    {"displayName": "shown"},
    {"url": "https://x", "state": "active"},
]
ENTRIES = [
    {"at": True, "addTasks": {"jobId": "j", "tasks": []}},
    {"at": -5, "addTasks": {"jobId": "j", "tasks": []}},
    {"at": "2026-01-05T08:00:05Z", "addTasks": {"jobId": "j", "tasks": []}},
    {"at": "later", "addTasks": {"jobId": "j", "tasks": []}},
    {"at": 3, "addTasks": {"jobId": "j", "value": []}},
    {"at": 3, "addTasks": {"jobId": 5, "tasks": [{}]}},
    {"at": 3, "refused": "JobNotFound", "addTasks": {"jobId": "k", "tasks": []}},
    {"when": {"jobId": "j", "state": "completed"}, "deleteJob": {"jobId": "j"}},
    {"at": 3},
]


def test_scenarios_mistakes_and_warnings_are_the_same_both_ways(monkeypatch):
    for seed in range(6):
        chance = random.Random(seed)
        entries = [line(number, **chance.choice([{}, {}, {}, chance.choice(CHANGES)])) for number in range(150)]
        for _ in range(chance.randrange(3)):
            entries[chance.randrange(150)] = chance.choice(ENTRIES)
        found, wanted = both_ways(text_of(entries), monkeypatch, loaded)
        assert found == wanted
        if not isinstance(found, list):
            assert found.warnings == wanted.warnings
            assert [entry.line for entry in found.timeline] == [entry.line for entry in wanted.timeline]


def test_tasks_of_a_job_are_the_same_both_ways(monkeypatch):
    bodies = [line(number)["addTasks"]["tasks"][0] | CHANGES[number % len(CHANGES)] for number in range(200)]
    head = HEAD.partition("jobs")[0] + "jobs:\n  - id: j\n    poolInfo: {poolId: p}\n    tasks:\n"
    found, wanted = both_ways(text_of(bodies, head=head, indent="      "), monkeypatch, loaded)
    assert found == wanted
    assert any("requiredSlot" in problem for problem in found)
    good = [body for at, body in enumerate(bodies) if at % len(CHANGES) in (0, 1, 6, 12)]
    found, wanted = both_ways(text_of(good * 3, head=head, indent="      "), monkeypatch, loaded)
    assert found == wanted
