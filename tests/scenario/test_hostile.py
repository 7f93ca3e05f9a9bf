"""Tests with arbitrary input: it is read quickly, to a scenario or a ScenarioError."""

from __future__ import annotations

from contextlib import suppress
from time import process_time

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engine.base.errors import ScenarioError
from engine.scenario import tree
from engine.scenario.load import KEYS, load
from engine.scenario.text import decode
from engine.specs.commands import COMMANDS

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
MOST_S = 10.0  # of the processor, on a slow machine; other programs do not count


def feed(text: str) -> list[str]:
    """Return the problems of a text, of which there may be any number; no other exception may be raised."""
    begin_s = process_time()
    try:
        load("s.yaml", text=text)
    except ScenarioError as error:
        return list(map(str, error.problems))
    finally:
        assert process_time() - begin_s < MOST_S
    return []


BOMB = "a: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"b{n}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(30)
)
MERGE_BOMB = (
    "a: &a {"
    + ", ".join(f"k{n}: 1" for n in range(2000))
    + "}\n"
    + "".join(f"b{n}: {{<<: [{', '.join(['*a'] * 50)}]}}\n" for n in range(200))
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        MERGE_BOMB,
        "[" * 200_000,
        "{" * 200_000,
        "{a: " * 50_000,
        "- " * 100_000,
        "? " * 100_000,
        "a: " * 100_000,
        "&a " * 100_000,
        "!a " * 100_000,
        "'" + "\n" * 200_000,
        "scenario: s\nseed: " + "x" * 2_000_000,
        "x" * 2_000_000 + ": 1",
        "scenario: s\n" + "".join(f"{'k' * 90}{n}: 1\n" for n in range(20_000)),
        "scenario: s\npools: [" + "a, " * 20_000 + "]",
        "scenario: s\njobs: [{id: j, poolInfo: {}, tasks: [" + "{id: t}, " * 20_000 + "]}]",
        "scenario: s\nexpect: [" + "{jobId: a}, " * 20_000 + "]",
        "scenario: s\n" + "---\n" * 50_000,
        "%YAML 1.2\n" * 20_000,
        "%TAG ! tag:x,2000:" + "y" * 100_000 + "\n--- !a b",
        "scenario: s\njobs: [{id: j, poolInfo: {poolId: p}, taskFactory: {type: parametricSweep,"
        f" parameterSets: [{{start: 0, end: {10**200}}}], repeatTask: {{id: 'a{{0}}', commandLine: x}}}}}}]",
        f"scenario: s\nuntil: PT{'9' * 10_000}S",
        f"scenario: s\nuntil: P{'9' * 300}D",
        "scenario: s\nstartTime: 9999-12-31T23:59:59Z\nuntil: P30000D",
        "scenario: s\njobSchedules: [{id: a, schedule: {doNotRunUntil: '0001-01-01T00:00:00+14:00'},"
        " jobSpecification: {poolInfo: {poolId: p}}}]",
    ],
    ids=lambda text: text[:24],
)
def test_it_ends_soon_with_a_sentence(text):
    problems = feed(text)
    assert problems
    assert max(map(len, problems)) < 1000


def test_many_values_are_too_many(monkeypatch):
    monkeypatch.setattr(tree, "VALUE_LIMIT", 1000)
    (problem,) = feed("scenario: s\ndescription: [" + "a, " * 2000 + "]\n")
    assert "more than 1,000 values" in problem


@UNHURRIED
@given(st.text())
def test_any_text(text):
    feed(text)


@UNHURRIED
@given(st.binary())
def test_any_bytes(content):
    with suppress(ScenarioError):
        feed(decode(content, "s.yaml"))


words = st.sampled_from(
    [
        *KEYS,
        "id",
        "poolId",
        "jobId",
        "taskId",
        "node",
        "at",
        "when",
        "state",
        "tasks",
        "taskFactory",
        "vmSize",
        "simulate",
        "duration",
        "poolInfo",
        "parameterSets",
        "repeatTask",
        "commandLine",
        *COMMANDS,
    ]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | words
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=5), max_leaves=25
)


@UNHURRIED
@given(st.dictionaries(st.sampled_from(KEYS), values, max_size=6))
@example({"scenario": "s", "expect": [{"poolId": "", "node": True, "state": []}]})
@example({"scenario": "s", "timeline": [{"at": 1, "storageOutage": None}, {"at": -0.0, "capacity": 3}]})
def test_any_scenario_like_mapping(body):
    feed(yaml.safe_dump(body, allow_unicode=True))


broken = st.sampled_from(
    ["{", "}", "[", "]", ":", "- ", "\n", "  ", "\t", "&a ", "*a", "<<: ", "'", '"', "|\n", "#", "!!str ", "? "]
)


@UNHURRIED
@given(st.lists(broken | words | st.just("a"), max_size=40).map("".join))
def test_any_yaml_like_text(text):
    feed(text)


@UNHURRIED
@given(st.lists(broken | words | st.sampled_from(["1", "1.5", "null", "a: b", "\n- "]), max_size=30).map("".join))
def test_the_parser_in_python_reads_the_same(text):
    read = []
    for loader in (tree.LOADER, yaml.SafeLoader):
        problems: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tree, "LOADER", loader)
            root = tree.parse(text, lambda message, _, found=problems: found.append(message))
        read.append((bool(problems), root.plain if root is not None else None))
    if not read[0][0] and not read[1][0]:
        assert read[0] == read[1]
