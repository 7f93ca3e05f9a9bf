"""Tests of factors: paths, values, and the variants that they make."""

from __future__ import annotations

import itertools

import pytest

from engine.base.errors import ScenarioError
from engine.scenario.load import KEYS, load
from engine.scenario.locations import VARIED, FactorMistake, parse_path, parse_range, parse_values, split_option
from engine.scenario.model import parse_seeds
from engine.scenario.record import dump
from engine.studies.runs import DEFAULT_SEEDS, Variants, planned
from tests.studies.conftest import NIGHT


def problems(text="", options=()):
    with pytest.raises(ScenarioError) as caught:
        Variants(planned(load("night.yaml", text=NIGHT + text), options)).check()
    return list(map(str, caught.value.problems))


# --- paths and values


def test_every_key_of_a_scenario_can_be_varied_or_is_refused_for_a_reason():
    assert {*VARIED, "scenario", "description", "seed", "study"} == set(KEYS)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("pools.render.vmSize", ("pools", "render", "vmSize")),
        ("timeline.0.evictNode", ("timeline", "0", "evictNode")),
        ("jobs[12].priority", ("jobs", "12", "priority")),
        ('simulate.storage["https://*.net/a=b"].size', ("simulate", "storage", "https://*.net/a=b", "size")),
        ("options.classicNodeIds", ("options", "classicNodeIds")),
    ],
)
def test_a_path_has_names_and_numbers(text, steps):
    assert parse_path(text) == steps
    assert split_option(f"{text}=1,2=3") == (text, "1,2=3")


@pytest.mark.parametrize("text", ["", ".a", "a.", "a..b", "a b", "a[x]", 'a["b]', "a]"])
def test_what_is_no_path_is_refused(text):
    with pytest.raises(FactorMistake, match="is not a path"):
        parse_path(text)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("10..80:10", [10, 20, 30, 40, 50, 60, 70, 80]),
        ("1..4", [1, 2, 3, 4]),
        ("1..10:4", [1, 5, 9]),
        ("-2..0", [-2, -1, 0]),
        ("7..7", [7]),
        ("0.1..0.5:0.1", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("1,2,4", [1, 2, 4]),
        ("standard_d2s_v3, standard_f4s_v2", ["standard_d2s_v3", "standard_f4s_v2"]),
        ("PT2M,PT10M", ["PT2M", "PT10M"]),
        ("null,{poolId: render, node: 3}", [None, {"poolId": "render", "node": 3}]),
        ("[1, 2],[3]", [[1, 2], [3]]),
        ("true,'1,2',no", [True, "1,2", "no"]),
        ("{lognormal: [PT3M, 0.4]}", [{"lognormal": ["PT3M", 0.4]}]),
        ("https://a.net/b:1", ["https://a.net/b:1"]),
    ],
)
def test_values_are_yaml_or_a_range(text, values):
    found = [tree.plain for tree in parse_values(text)]
    assert found == values
    assert list(map(type, found)) == list(map(type, values))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4..1", "write 1..4"),
        ("1..4:0", "step above 0"),
        ("4..1:-1", "step above 0"),
        ("1..99999999", "more than 1,000,000 values"),
        ("[1", "are not YAML values"),
        ("1]", "are not YAML values"),
        ("1], [2", "are not YAML values"),
        ("", "needs a value"),
        ("{a: 1", "are not YAML values"),
        ("*a", "no anchor"),
    ],
)
def test_wrong_values_are_refused(text, message):
    with pytest.raises(FactorMistake, match=message):
        parse_values(text)


def test_a_range_of_floats_has_no_dust():
    assert parse_range("0.7..1.0:0.1") == [0.7, 0.8, 0.9, 1.0]


@pytest.mark.parametrize(("text", "seeds"), [("3", (1, 2, 3)), ("1", (1,)), ("4..6", (4, 5, 6)), ("-1..0", (-1, 0))])
def test_seeds_are_a_number_or_a_range(text, seeds):
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["0", "-1", "4..1", "a", "1..", "1.5", "1..99999999", ""])
def test_wrong_seeds_are_refused(text):
    with pytest.raises(FactorMistake):
        parse_seeds(text)


def test_each_value_is_in_one_of_a_few_variants(night):
    study = night("jobs.shot-1.priority=0..9", "pools.render.targetDedicatedNodes=1..5", "pools.0.taskSlotsPerNode=1,2")
    few = study.with_each_value()
    assert len(few) == 10 + 5 + 2 - 2
    for factor in study.factors:
        assert {study.values(number)[factor.path] for number in few} == {one.written.plain for one in factor.values}


# --- the study of a file, and of the command line


def test_variants_are_every_combination_and_the_last_factor_varies_fastest(night):
    study = night("pools.render.targetDedicatedNodes=1,2,3", "jobs.shot-1.priority=0,5")
    expected = list(itertools.product([1, 2, 3], [0, 5]))
    assert study.variants == 6
    assert [tuple(study.values(number).values()) for number in range(1, 7)] == expected
    assert list(study.runs())[:4] == [(1, 1), (1, 2), (1, 3), (2, 1)]


def test_without_a_factor_there_is_one_variant_the_scenario_itself(night):
    study = night()
    assert study.variants == 1
    assert study.values(1) == {}
    assert Variants(study).scenario(1) == load("night.yaml", text=NIGHT)


IN_FILE = """\
study:
  seeds: %s
  vary:
    pools.render.vmSize: [standard_d2s_v3, standard_f4s_v2]
    pools.render.targetDedicatedNodes: 1..3
"""


def test_factors_of_the_file_come_first_and_the_same_path_takes_the_values_of_the_option(night):
    study = night("jobs.shot-1.priority=1,2", "pools.render.vmSize=standard_f8s_v2", more=IN_FILE % 3)
    assert [(one.path, [value.written.plain for value in one.values]) for one in study.factors] == [
        ("pools.render.vmSize", ["standard_f8s_v2"]),
        ("pools.render.targetDedicatedNodes", [1, 2, 3]),
        ("jobs.shot-1.priority", [1, 2]),
    ]


@pytest.mark.parametrize(
    ("written", "given", "seeds"),
    [("3", None, (1, 2, 3)), ("[7, 5]", None, (7, 5)), ("4..6", None, (4, 5, 6)), ("3", "9..9", (9,))],
)
def test_seeds_of_the_command_line_win_over_those_of_the_file(written, given, seeds, night):
    assert night(more=IN_FILE % written, seeds=given).seeds == seeds


def test_twenty_seeds_if_nobody_says_how_many(night):
    assert night(seeds=None).seeds == DEFAULT_SEEDS == tuple(range(1, 21))


def test_a_value_may_be_the_text_of_a_file(tmp_path):
    (tmp_path / "grow.txt").write_text("$TargetDedicatedNodes = 4;")
    scenario = tmp_path / "night.yaml"
    scenario.write_text(
        NIGHT
        + "study: {vary: {pools.render.autoScaleFormula: [{file: grow.txt}], pools.render.enableAutoScale: [true],"
        " pools.render.targetDedicatedNodes: [null]}}\n"
    )
    study = planned(load(str(scenario)))
    pool = Variants(study).scenario(1).pools[0].spec
    assert pool.auto_scale_formula == "$TargetDedicatedNodes = 4;"
    assert study.values(1)["pools.render.autoScaleFormula"] == {"file": "grow.txt"}
    (tmp_path / "grow.txt").write_text("$TargetDedicatedNodes = 5;")
    assert planned(load(str(scenario))).identity != study.identity


def test_the_identity_depends_on_text_factors_and_version_but_not_on_seeds(night):
    base = night("jobs.shot-1.priority=1,2")
    assert night("jobs.shot-1.priority=1,2", seeds=(5,)).identity == base.identity
    others = [night("jobs.shot-1.priority=2,1"), night("jobs.shot-1.priority=1,2", more="# note\n")]
    others += [night("jobs.shot-1.priority=1,2", version="2"), night("jobs[0].priority=1,2")]
    assert all(other.identity != base.identity for other in others)


# --- what variants put into the document


def scenario_of(night, *options, variant=1, more=""):
    return Variants(night(*options, more=more)).scenario(variant)


def test_values_replace_what_the_file_has(night):
    options = "pools.render.targetDedicatedNodes=5,6", "jobs.shot-1.jobPreparationTask.simulate.duration=PT2M"
    found = scenario_of(night, *options, variant=2)
    text = NIGHT.replace("targetDedicatedNodes: 2}", "targetDedicatedNodes: 6}", 1)
    assert found == load("night.yaml", text=text.replace("{uniform: [PT10S, PT50S]}", "PT2M"))


def test_a_property_that_the_file_does_not_mention_may_be_named(night):
    found = scenario_of(night, "pools.render.taskSlotsPerNode=2", "simulate.nodes.failureRate=0.5")
    assert found.pools[0].spec.task_slots_per_node == 2
    assert found.simulate.nodes.failure_rate == 0.5


def test_an_id_wins_over_a_number_and_case_does_not_count(night):
    found = scenario_of(night, "pools.0.taskSlotsPerNode=2", "jobs.SHOT-1.priority=7", "jobs.1.priority=3")
    assert [pool.spec.task_slots_per_node for pool in found.pools] == [1, 2]
    assert [job.spec.priority for job in found.jobs] == [7, 3]


def test_null_takes_an_entry_of_the_timeline_away_and_numbers_count_as_written(night):
    options = "timeline.0.rebootNode=null,{poolId: render, node: 1}", "timeline.1.resizePool.targetDedicatedNodes=4"
    without, moved = (scenario_of(night, *options, variant=number).timeline for number in (1, 2))
    assert [entry.command.NAME for entry in without] == ["resizePool"]
    assert without[0].command.target_dedicated_nodes == 4
    assert [entry.command.NAME for entry in moved] == ["rebootNode", "resizePool"]
    assert moved[0].command.node == 1


def test_two_entries_can_be_taken_away(night):
    found = scenario_of(night, "timeline.0.rebootNode=null", "timeline.1.resizePool=null")
    assert found.timeline == ()


def test_null_takes_a_task_away_and_elsewhere_the_property(night):
    options = "jobs.shot-1.tasks.0=null", "jobs.shot-1.jobPreparationTask=null", "jobs.shot-1.tasks.1.id=late"
    job = scenario_of(night, *options).jobs[0]
    assert [task.id for task in job.tasks] == ["late"]
    assert job.spec.job_preparation_task is None


def test_null_for_a_whole_value_wins_over_a_factor_inside_it(night):
    inside = "jobs.shot-1.jobPreparationTask.simulate.duration=PT5M"
    for options in ((inside, "jobs.shot-1.jobPreparationTask=null"), ("jobs.shot-1.jobPreparationTask=null", inside)):
        assert scenario_of(night, *options).jobs[0].spec.job_preparation_task is None


def test_a_factor_inside_the_value_of_another_is_not_lost(night):
    whole = "jobs.shot-1.jobPreparationTask={commandLine: other}"
    inside = "jobs.shot-1.jobPreparationTask.simulate.duration=PT5M"
    for options in ((inside, whole), (whole, inside)):
        task = scenario_of(night, *options).jobs[0].spec.job_preparation_task
        assert task.command_line == "other"
        assert task.simulate.duration is not None


def test_a_process_that_acts_may_be_a_value(night):
    does = "jobs.shot-1.tasks.0.simulate={does: [{after: PT1M, terminateJob: {}}]}"
    assert scenario_of(night, does).acts


def test_what_repeats_a_value_by_an_alias_stays_as_it_is():
    text = "scenario: s\npools: [&p {id: a, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}, {<<: *p, id: b}]\n"
    study = planned(load("s.yaml", text=text), ["pools.a.targetDedicatedNodes=5"])
    assert [pool.spec.target_dedicated_nodes for pool in Variants(study).scenario(1).pools] == [5, 1]


def test_a_variant_is_written_as_a_file_with_the_same_scenario(night):
    options = "timeline.0.rebootNode=null", "pools.render.targetDedicatedNodes=5"
    study = night(*options, more=IN_FILE % 3)
    found = Variants(study).chosen(1, load("night.yaml", text=study.source.text))
    assert load("night.yaml", text=dump(found)) == found


# --- mistakes


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("pools.rander.vmSize=a", "no pool 'rander' in pools: did you mean 'render'?"),
        ("jobs.shot.priority=1", "did you mean 'shot-1'?"),
        ("jobs.shot-1.tasks.9.id=a", "has no item 9: its items are numbered 0 to 1"),
        ("timeline.7.at=5", "timeline has no entry 7: its items are numbered 0 to 1"),
        ("timeline.first.at=5", "its items are numbered 0 to 1"),
        ("jobSchedules.a.schedule=1", "the scenario has no jobSchedules"),
        ("poools.render.vmSize=a", "'poools' cannot be varied: did you mean 'pools'?"),
        ("seed=1,2", "--seeds"),
        ("study.seeds=1,2", "'study' cannot be varied"),
        ("pools=1", "must say which of the pools, such as pools.render"),
        ("pools.render.vmSize.x=1", "pools[0].vmSize is 'standard_d2s_v3', which has no 'x' in it"),
        ("pools.render.targetDedicatedNodes=4..1", "write 1..4"),
        ("pools.render.targetDedicatedNodes=1,1", "1 is listed twice"),
        ("pools.render.targetDedicatedNodes", "must be PATH=VALUES"),
        ("pools.render.targetDedicatedNodes=", "needs a value"),
        ("pools.render.autoScaleFormula={file: nowhere.txt}", "cannot read nowhere.txt: No such file"),
        ("pools.render.targetDedicatdNodes=1", "did you mean 'targetDedicatedNodes'?"),
        (
            "pools.render.targetDedicatedNodes=-1,2",
            "is -1, must be 0 or more (InvalidPropertyValue) (variant 1: pools.render",
        ),
        ("jobs.shot-1.jobPreparatonTask.simulate.duration=PT1M", "did you mean 'jobPreparationTask'?"),
        ("expect.0.jobId=shot-2", "no part of the scenario creates the job 'shot-2': did you mean 'shot-1'?"),
    ],
)
def test_a_wrong_option_is_a_mistake_that_names_what_would_be_right(option, message):
    (found,) = problems(options=[option])
    assert message in found


def test_all_mistakes_are_reported_at_once():
    found = problems(options=["pools.rander.vmSize=a", "jobs.shot-1.priority=3..1", "nonsense"])
    assert [line.split(":")[0] for line in found] == [
        "--vary pools.rander.vmSize=a",
        "--vary jobs.shot-1.priority=3..1",
        "--vary nonsense",
    ]


def test_two_paths_to_the_same_place_are_a_mistake():
    (found,) = problems(options=["jobs.shot-1.priority=1", "jobs[0].priority=2"])
    assert found == "--vary jobs[0].priority=2: varies the same as jobs.shot-1.priority"


FIRST = NIGHT.count("\n") + 1


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("study: 5", (1, 8), "must be a mapping with seeds, vary, measure"),
        ("study: {sedes: 5}", (1, 9), "did you mean 'seeds'?"),
        ("study: {seeds: 0}", (1, 16), "at least one seed"),
        ("study: {seeds: true}", (1, 16), "must be a number of seeds"),
        ("study: {seeds: [1, a]}", (1, 16), "whole numbers"),
        ("study: {seeds: [1, 1]}", (1, 16), "twice"),
        ("study: {vary: [a]}", (1, 15), "must be a mapping from paths"),
        ("study: {vary: {pools.rander.vmSize: [a]}}", (1, 16), "did you mean 'render'?"),
        ("study:\n  vary:\n    jobs.shot-1.priority: 4..1", (3, 27), "write 1..4"),
        ("study:\n  vary:\n    jobs.shot-1.priority: 4", (3, 27), "must be a list of values"),
        ("study:\n  vary:\n    jobs.shot-1.priority: []", (3, 27), "must be a list of values"),
        ("study:\n  vary:\n    jobs.shot-1.priority: [4, 4]", (3, 31), "4 is listed twice"),
        ("study: {measure: [makspan]}", (1, 19), "did you mean 'makespan'?"),
        ("study: {measure: [{end}]}", (1, 19), "must name a job"),
        ("study: {measure: 3}", (1, 18), "must be a list of measures"),
    ],
)
def test_a_mistake_in_study_has_its_place_in_the_file(text, place, message):
    (found,) = problems(text + "\n")
    line, column = place
    assert found.startswith(f"night.yaml:{FIRST + line - 1}:{column}: study")
    assert message in found


def test_a_value_that_a_variant_cannot_have_is_reported_where_it_stands():
    text = "study:\n  vary:\n    pools.render.targetDedicatedNodes: [3, -1, many]\n    jobs.shot-1.priority: [1, 2]\n"
    first, second = problems(text)
    assert first.startswith(f"night.yaml:{FIRST + 2}:44: pools[0].targetDedicatedNodes: is -1, must be 0 or more")
    assert first.endswith("(variant 3: pools.render.targetDedicatedNodes=-1 jobs.shot-1.priority=1)")
    assert second.startswith(f"night.yaml:{FIRST + 2}:48: ")


def test_a_name_that_only_the_body_can_refuse_is_reported_at_the_factor():
    (found,) = problems("study:\n  vary:\n    pools.render.vmSizes: [standard_d2s_v3]\n")
    assert found.startswith(f"night.yaml:{FIRST + 2}:5: pools[0].vmSizes: 'vmSizes' does not exist here")
