"""What an import writes is read as what it was, whatever texts are in it."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine import ScenarioError, load_scenario
from engine.histories import swf, wfformat
from engine.histories.files import Imported, PoolShape, scenario_lines
from engine.scenario.tree import parse
from tests.histories.swf_texts import SwfJob, swf_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), NUMBERS, TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(TEXTS.filter(lambda key: key not in ("", "<<")), inner, max_size=3)
    ),
    max_leaves=8,
)


def with_iterators(document):
    """The document with its long lists as iterators, as an import has them."""
    jobs = [job | {"tasks": iter(job["tasks"])} for job in document["jobs"]]
    return document | {"jobs": jobs, "timeline": iter(document["timeline"])}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(PLAIN, max_size=3), PLAIN, st.lists(st.fixed_dictionaries({"id": TEXTS, "more": PLAIN})), st.lists(TEXTS)
)
@example([], None, [{"id": "\n", "more": None}], [])
@example([], None, [{"id": "\x1f\n", "more": None}], [])
def test_every_document_is_read_as_it_was(items, value, jobs, assumptions):
    document = {
        "scenario": "x",
        "pools": [value],
        "jobs": [job | {"tasks": items} for job in jobs],
        "timeline": [{"at": 5, "addTasks": {"jobId": "j", "tasks": items}}, *items],
        "odd": value,
    }
    lines = list(scenario_lines(Imported(with_iterators(document), tuple(assumptions))))
    assert not any("\n" in line for line in lines)
    problems = []
    root = parse("\n".join(lines) + "\n", lambda message, position: problems.append((message, position)))
    assert problems == []
    assert root.plain == document


def test_the_assumptions_are_comments_at_the_beginning():
    lines = list(scenario_lines(Imported({"scenario": "x"}, ("first", "two\nlines", "bell \a", ""))))
    assert lines == ["# first", "# two", "# lines", r"# bell \x07", "#", "", "scenario: x"]


# --- damaged files: what is written has no mistake, and what is not written says why


def is_sound(make, path):
    try:
        result = make(str(path), PoolShape())
        text = "\n".join(scenario_lines(result)) + "\n"
    except ScenarioError as error:
        problems = list(map(str, error.problems))
    else:
        text.encode()
        load_scenario("imported.yaml", text=text, strict=True)
        return True
    assert problems
    assert all(problem.startswith(str(path)) for problem in problems)
    return False


WORDS = ["-1", "0", "1", "3", "7.5", "1e3", "99999999999", "x", "", ";", "nan", "-0", "128"]


def test_damaged_logs_are_mistakes_or_scenarios(tmp_path):
    good = swf_text(
        [SwfJob(k, 5 * k, 7, allocated=1 + k % 3) for k in range(1, 12)], ["MaxProcs: 4", "Computer: \x01é"]
    )
    sound = 0
    for seed in range(150):
        chance = random.Random(seed)
        words = good.split(" ")
        for _ in range(chance.randrange(1, 6)):
            words[chance.randrange(len(words))] = chance.choice(WORDS)
        content = bytearray(" ".join(words).encode())
        if seed % 3 == 0:
            content[chance.randrange(len(content))] = chance.randrange(256)
        path = tmp_path / "log.swf"
        path.write_bytes(content)
        sound += is_sound(swf.imported, path)
    assert 20 < sound < 150


def damaged(value, chance):
    """A copy of JSON with something in it replaced, left out, or said twice."""
    if isinstance(value, dict):
        if chance.random() < 0.03:
            return chance.choice([None, [], "text", 5])
        return {key: damaged(inner, chance) for key, inner in value.items() if chance.random() > 0.03}
    if isinstance(value, list):
        return [damaged(inner, chance) for inner in value for _ in range(2 if chance.random() < 0.02 else 1)]
    return chance.choice([None, -1, True, "", "a", "\ud800", 1e300, {}, []]) if chance.random() < 0.03 else value


@pytest.mark.parametrize("version", ["1.4", "1.5"])
def test_damaged_workflows_are_mistakes_or_scenarios(tmp_path, version):
    names = ["a", "b c", "\ud83d\ude00\x07", "d" * 80]
    tasks = [{"name": name, "id": name, "parents": names[:at], "children": []} for at, name in enumerate(names)]
    if version == "1.4":
        files = [{"link": "input", "name": "/in put", "sizeInBytes": 5}]
        tasks = [task | {"runtimeInSeconds": 3, "cores": 2, "files": files} for task in tasks]
        body = {"tasks": tasks, "machines": [{"nodeName": "m", "cpu": {"coreCount": 4}}]}
    else:
        runs = [
            {"id": name, "runtimeInSeconds": 2, "command": {"program": "\udc00", "arguments": ["x"]}} for name in names
        ]
        files = [{"id": "f", "sizeInBytes": 7}]
        tasks = [task | {"inputFiles": ["f"], "outputFiles": []} for task in tasks]
        body = {"specification": {"tasks": tasks, "files": files}, "execution": {"tasks": runs}}
    whole = {"name": "w\x1b\ud800", "schemaVersion": version, "workflow": body}
    sound = 0
    for seed in range(120):
        path = tmp_path / "workflow.json"
        path.write_text(json.dumps(damaged(whole, random.Random(seed)) if seed else whole))
        sound += is_sound(wfformat.imported, path)
    assert 5 < sound < 120
