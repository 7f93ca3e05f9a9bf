"""Tests of parametric sweeps."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.base.errors import ScenarioError
from engine.scenario.factory import TaskFactory, parse_pattern
from engine.scenario.load import load
from engine.scenario.timeline import factory_of
from tests.work import steps_of


def sweep(*parameters: range, **body: object) -> TaskFactory:
    return TaskFactory(parameters, {"commandLine": "x"} | body)


def test_the_last_parameter_varies_fastest():
    factory = sweep(range(1, 3), range(10, 31, 10), id="a-{0}-{1}", commandLine="{1} {0} {0:3} {{0}}")
    assert factory.count == 6
    expected = [(a, b) for a, b in product((1, 2), (10, 20, 30))]
    assert [factory.values(k) for k in range(6)] == expected
    assert [factory.task_id(k) for k in range(6)] == [f"a-{a}-{b}" for a, b in expected]
    assert factory.spec(4).command_line == factory.command_line(4) == "20 2 002 {0}"


@pytest.mark.parametrize(
    "text", ["{0}", "a {0}", "{0} b", "a {0} b", "%d {0:3}", "%d {0}", "100 %% {0} %d", "%%d{0:2}%d"]
)
def test_many_texts_are_the_same_as_each_by_itself(text):
    factory = sweep(range(8, 12), id="t{0}", commandLine=text)
    each = [text.replace("{0}", str(n)).replace("{0:3}", f"{n:03}").replace("{0:2}", f"{n:02}") for n in range(8, 12)]
    assert factory.command_lines(range(4)) == [factory.command_line(k) for k in range(4)] == each
    assert factory.task_ids(range(4), "<", ">") == [f"<t{n}>" for n in range(8, 12)]


def test_every_string_of_the_template_is_filled():
    factory = sweep(
        range(5, 8),
        id="t{0:4}",
        resourceFiles=[{"httpUrl": "https://s/in-{0}", "filePath": "{0}.csv"}],
        environmentSettings=[{"name": "N", "value": "{0}"}],
        simulate={"duration": "PT{0}S"},
        dependsOn={"taskIds": ["u{0}"]},
    )
    task = factory.spec(2)
    assert (task.id, task.resource_files[0].http_url, task.resource_files[0].file_path) == (
        "t0007",
        "https://s/in-7",
        "7.csv",
    )
    assert task.environment_settings[0].value == "7"
    assert task.simulate.duration.values == (7000,)
    assert task.depends_on.task_ids == ("u7",)


def test_without_an_id_tasks_are_numbered_from_0():
    factory = sweep(range(5, 15), id=None)
    assert factory.spec(9).id == "9"
    assert [factory.task_id(k) for k in (0, 9)] == ["0", "9"]
    assert (factory.ordinal_of("9"), factory.ordinal_of("09"), factory.ordinal_of("10")) == (9, None, None)


def test_steps_may_lead_down():
    factory = sweep(range(3, -3, -2), id="n{0}")
    assert [factory.task_id(k) for k in range(factory.count)] == ["n3", "n1", "n-1"]
    assert [factory.ordinal_of(text) for text in ("N3", "n-1", "n2", "n-3")] == [0, 2, None, None]


def an_output(pattern, path):
    return {"filePattern": pattern, "destination": {"container": {"containerUrl": "https://s/c", "path": path}}}


def test_the_path_of_a_blob_is_known_without_the_body():
    body = {"outputFiles": [an_output("a", "{0}/{1:3}"), an_output("b", "b")]}
    del body["outputFiles"][1]["destination"]["container"]["path"]
    factory = sweep(range(1, 5), range(7, 9), **body)
    assert [factory.output_path(3, number) for number in (0, 1)] == ["2/008", ""]
    assert factory.spec(3).output_files[0].destination.container.path == "2/008"


@pytest.mark.parametrize(
    ("body", "varies"),
    [
        ({"id": "t{0}", "commandLine": "x {0}", "environmentSettings": [{"name": "a", "value": "{0}"}]}, False),
        ({"displayName": "{0}", "constraints": {"maxWallClockTime": "PT1H"}}, False),
        ({"simulate": {"duration": "PT{0}S"}}, True),
        ({"simulate": {"duration": "PT{1}S"}}, False),
        ({"resourceFiles": [{"httpUrl": "https://s/{0}", "filePath": "a"}]}, False),
        ({"outputFiles": [an_output("a", "{0}/a")]}, False),
        ({"outputFiles": [an_output("a-{0}", "a")]}, True),
    ],
)
def test_whether_tasks_differ_in_more_than_names(body, varies):
    assert sweep(range(1, 5), range(7, 8), **body).varies is varies


@pytest.mark.parametrize("text", ["{", "}", "a{0", "${HOME}", "{0:}", "{-1}", "{0:4:4}", '{"a": 1}'])
def test_other_braces_are_text(text):
    assert parse_pattern(text, 1) == (text,)


def test_a_placeholder_needs_its_parameter_set():
    with pytest.raises(ValueError, match="only set 0"):
        parse_pattern("a {0} {1}", 1)


ranges = st.builds(
    lambda start, length, step: range(start, start + length * step, step),
    st.integers(-150, 150),
    st.integers(1, 12),
    st.sampled_from([1, 2, 7, -1, -3]),
)


@settings(deadline=None)
@given(
    parameters=st.lists(ranges, min_size=1, max_size=3),
    pieces=st.lists(st.sampled_from(["{0}", "{1}", "{2}", "{0:3}", "-", "_", "a", "7"]), min_size=1, max_size=6),
)
def test_ids_differ_exactly_when_the_factory_says_so_and_lead_back(parameters, pieces):
    text = "".join(piece for piece in pieces if not piece.startswith("{") or int(piece[1]) < len(parameters))
    factory = sweep(*parameters, id=text or "x")
    ids = [factory.task_id(k) for k in range(factory.count)]
    if factory.duplicate() is None:
        assert len(set(ids)) == factory.count
        assert [factory.ordinal_of(task_id.upper()) for task_id in ids] == list(range(factory.count))
    else:
        assert len(set(ids)) < factory.count


def test_numbers_that_run_into_one_another_are_refused_when_there_are_too_many_to_compare():
    assert "put a letter" in sweep(range(1000), range(1000), id="{0}{1}").duplicate()
    assert sweep(range(1000), range(1000), id="{0:3}{1}").duplicate() is None


MILLION = """\
scenario: s
jobs:
  - id: j
    poolInfo: {poolId: p}
    tasks: [{id: first, commandLine: x}]
    taskFactory:
      type: parametricSweep
      parameterSets: [{start: 1, end: 1000}, {start: 1, end: 1000}]
      repeatTask: {id: "t-{0}-{1}", commandLine: "x {0} {1}"}
expect:
  - {jobId: j, taskId: t-1000-1000, state: completed}
"""


def test_a_million_tasks_are_read_without_a_step_for_each():
    factory = load("s", text=MILLION).jobs[0].factory
    assert factory.count == 1_000_000
    assert factory.ordinal_of("T-1000-1000") == 999_999
    assert factory.task_id(999_999) == "t-1000-1000"
    assert steps_of(lambda: load("s", text=MILLION)) < 20_000


def test_equal_factories_of_a_file_are_one_object():
    sweeps = [
        {"type": "parametricSweep", "parameterSets": [{"start": 1, "end": end}], "repeatTask": {"commandLine": line}}
        for end, line in ((2, "a {0}"), (2, "b {0}"), (3, "a {0}"), (2, "a {0}"))
    ]
    jobs = [{"id": f"j{n}", "poolInfo": {"poolId": "p"}, "taskFactory": sweep} for n, sweep in enumerate(sweeps)]
    pool = {"id": "p", "vmSize": "standard_d2_v3", "targetDedicatedNodes": 1}
    scenario = load("s", text=json.dumps({"scenario": "s", "pools": [pool], "jobs": jobs}))
    first, other_line, other_count, again = (job.factory for job in scenario.jobs)
    assert first is again
    assert first.spec(0) is again.spec(0)
    assert (other_line.command_line(0), other_count.count) == ("b 1", 3)


def test_a_factory_given_as_data():
    body = {"type": "parametricSweep", "parameterSets": [{"start": 1, "end": 2}], "repeatTask": {"commandLine": "x"}}
    factory, listed = factory_of(body)
    assert (factory.count, listed) == (2, ())
    factory, (task,) = factory_of({"type": "taskCollection", "tasks": [{"id": "a", "commandLine": "x"}]})
    assert (factory, task.id) == (None, "a")
    with pytest.raises(ScenarioError, match=r"repeatTask\.commandLine: 'commandLine' is missing"):
        factory_of(body | {"repeatTask": {"id": "a{0}"}})


@pytest.mark.parametrize(
    ("factory", "lines"),
    [
        ("tipe: parametricSweep, parameterSets: [{start: 1, ende: 2}], repeatTask: {comandLine: x}", 6),
        ("type: sweep, parameterSets: [{start: 1, ende: 2}], repeatTask: {comandLine: x}", 5),
        ("type: parametricSweep, parameterSet: [], repeatTask: {comandLine: x}", 4),
        ("type: parametricSweep, parameterSets: [{start: 1, end: x}], repeatTask: {comandLine: x}", 3),
        ("type: parametricSweep, parameterSets: [{start: 1, end: 2}], repeatTask: {id: '{1}', comandLine: x}", 3),
        ("type: collection, tasks: [{id: t, comandLine: x}]", 3),
    ],
)
def test_misspelt_names_come_with_the_first_mistakes(factory, lines):
    text = f"scenario: s\njobs: [{{id: j, poolInfo: {{poolId: p}}, taskFactory: {{{factory}}}}}]\n"
    with pytest.raises(ScenarioError) as caught:
        load("s.yaml", text=text)
    assert len(caught.value.problems) == lines
    assert "'comandLine' does not exist here: did you mean 'commandLine'?" in str(caught.value)


@pytest.mark.parametrize(
    "rest",
    [
        "type: parametricSweep, parameterSets: [{start: 1, end: 2}], repeatTask: {id: 'a{1}', ",
        "type: parametricSweep, parameterSets: [{start: 1, end: 2}], repeatTask: {id: a, ",
        "type: parametricSweep, parameterSets: [{start: 1, end: x}], repeatTask: {id: 'a{0}', ",
        "type: parametricSweep, repeatTask: {id: 'a{0}', ",
        "type: sweep, parameterSets: [{start: 1, end: 2}], repeatTask: {id: 'a{0}', ",
        "type: parametricSweep, parameterSets: [{start: 1, end: 2}], repeatTask: {id: 'a{0}', displayName: 5, ",
    ],
)
def test_all_mistakes_of_a_template_are_reported_at_once(rest):
    text = (
        "scenario: s\npools: [{id: p, vmSize: standard_d2s_v3}]\n"
        f"jobs: [{{id: j, poolInfo: {{poolId: p}}, taskFactory: {{{rest}commandLine: work, requiredSlots: 0,"
        " priority: 1, constraints: {retentionTime: soon}, simulate: {does: [{after: 5, deletPool: {}}]}}}}]\n"
    )
    with pytest.raises(ScenarioError) as caught:
        load("s.yaml", text=text)
    said = str(caught.value)
    for part in ("requiredSlots: is 0", "'priority' does not exist", "'soon' is not", "'deletPool' is not"):
        assert part in said
