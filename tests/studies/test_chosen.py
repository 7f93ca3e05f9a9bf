"""A variant that is opened on its own: what it says of itself, how it is saved, and how it is found after an edit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.base.errors import ScenarioError
from engine.run.simulation import Simulation
from engine.scenario.load import load
from engine.scenario.locations import completions
from engine.scenario.record import GivenCommand, dump
from engine.scenario.tree import parse
from engine.specs.commands import RebootNode
from engine.studies.runs import Variants, chosen_again, planned
from tests.studies.conftest import NIGHT

NODES = "pools.render.targetDedicatedNodes"
STUDY = f"study:\n  vary:\n    {NODES}: [1, 3]\n"
PRIORITY = "jobs.shot-1.priority=0,5"


def variant(number, *, more=STUDY, options=(PRIORITY,), text=NIGHT):
    scenario = load("night.yaml", text=text + more)
    return Variants(planned(scenario, options)).chosen(number, scenario)


def test_a_chosen_variant_says_which_one_it_is_and_keeps_the_study():
    found = variant(4)
    assert (found.variant.number, found.variant.options) == (4, (PRIORITY,))
    assert found.variant.values == {NODES: 3, "jobs.shot-1.priority": 5}
    assert found.pools[0].spec.target_dedicated_nodes == 3
    assert found.source.text == NIGHT + STUDY
    assert planned(found, [PRIORITY]).identity == planned(load("night.yaml", text=NIGHT + STUDY), [PRIORITY]).identity


def test_without_factors_the_variant_is_the_scenario():
    scenario = load("night.yaml", text=NIGHT)
    assert Variants(planned(scenario)).chosen(1, scenario) is scenario


@pytest.mark.parametrize("seed", [0, 7])
def test_a_saved_variant_is_a_scenario_of_its_own(seed):
    given = [GivenCommand(60_000, RebootNode.from_wire({"poolId": "render", "nodeId": "x"}), "NodeNotFound")]
    found = replace(variant(3), seed=seed)
    text = dump(found, given)
    assert text.startswith("# Variant 3 of night.yaml: pools.render.targetDedicatedNodes=3 jobs.shot-1.priority=0\n")
    again = load("saved.yaml", text=text)
    assert (again.pools, again.jobs, again.seed) == (found.pools, found.jobs, seed)
    assert len(again.timeline) == len(found.timeline) + 1
    assert again.study.factors == ()


def test_a_saved_variant_replays_to_the_same_log():
    def log(scenario):
        simulation = Simulation(scenario, seed=2)
        simulation.run_until(simulation.end_ms)
        return list(simulation.json_lines())

    found = variant(2)
    assert log(load("saved.yaml", text=dump(replace(found, seed=2)))) == log(found)


def test_a_value_of_several_lines_stays_in_the_comment():
    text = dump(variant(2, more="", options=["scenario.x=1", 'jobs.empty.displayName=a,"b\\n# c"'][1:]))
    assert text.splitlines()[0] == r'# Variant 2 of night.yaml: jobs.empty.displayName="b\n# c"'


@pytest.mark.parametrize(
    ("more", "number", "values"),
    [
        (STUDY, 4, {NODES: 3, "jobs.shot-1.priority": 5}),
        (STUDY.replace("[1, 3]", "[3, 1]"), 2, {NODES: 3, "jobs.shot-1.priority": 5}),
        (STUDY.replace("[1, 3]", "[1, 2]"), 4, {NODES: 2, "jobs.shot-1.priority": 5}),
    ],
)
def test_after_an_edit_the_variant_with_the_same_values_is_found_else_that_number(more, number, values):
    found = chosen_again(load("night.yaml", text=NIGHT + more), variant(4).variant)
    assert (found.variant.number, found.variant.values) == (number, values)


def test_a_variant_that_is_gone_after_an_edit_is_a_mistake():
    with pytest.raises(ScenarioError, match="there is no variant 4 any more, the last is 2"):
        chosen_again(load("night.yaml", text=NIGHT), variant(4).variant)


def test_a_process_that_acts_only_in_a_variant_acts_there():
    simulate = "{duration: PT1M, does: [{after: PT5S, terminateJob: {}}]}"
    option = f"jobs.shot-1.tasks.a.simulate=null,{simulate}"
    assert not variant(1, more="", options=[option]).acts
    assert variant(2, more="", options=[option]).acts
    assert variant(1, more="", options=["jobs.shot-1.tasks.a.simulate.until={taskId: b, state: completed}"]).acts_wait


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("po", ["pools"]),
        ("pools.", ["pools.render", "pools.0"]),
        ("pools.r", ["pools.render"]),
        ("pools.render.t", ["pools.render.targetDedicatedNodes"]),
        ("jobs.shot-1.tasks.", ["jobs.shot-1.tasks.a", "jobs.shot-1.tasks.b"]),
        ("timeline.", ["timeline.0", "timeline.1"]),
        ("timeline.0.reboot", ["timeline.0.rebootNode"]),
        ("pools.nowhere.", []),
        ("account.x.", []),
        ("study", []),
    ],
)
def test_paths_are_completed_a_step_at_a_time(text, paths):
    assert completions(parse(NIGHT + STUDY, lambda *_: None), text) == paths
