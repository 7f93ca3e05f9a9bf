"""Lanes say of every moment what the world says when it is taken there."""

from __future__ import annotations

import pytest

from engine import Simulation, load_scenario
from engine.specs.commands import RebootNode
from engine.terms import InstanceState, NodeState
from engine.views.lane import Doing
from engine.views.lanes import Lanes
from engine.views.planned import planned_end_ms, planned_task_end_ms

SCENARIOS = [
    "preparation-fails-on-one-node",
    "reboot-during-preparation",
    "reboot-during-release",
    "spot-evictions",
    "nodes-fail-and-recover",
    "reimage-clears-the-bar",
    "drain-with-taskcompletion",
]
READY = (NodeState.IDLE, NodeState.RUNNING)


def finished(name):
    simulation = Simulation(load_scenario(name))
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    return simulation


def read(simulation):
    lanes = Lanes(simulation)
    lanes.refresh()
    return lanes


def moments(simulation):
    """Every moment at which something happened, at most a hundred of them."""
    every = sorted(set(simulation.log.when))
    return every[:: -(-len(every) // 100)]


def does(simulation, node):
    """What a node does by the tables."""
    world = simulation.world
    state = world.nodes.state_of(node)
    if state is None:
        return Doing.ABSENT
    if state not in READY:
        return Doing.CHANGING
    instances = world.instances
    rows = instances.rows_on(node)
    if any(instances.prep_state[row] == InstanceState.RUNNING for row in rows):
        retries = any(instances.prep_retries[row] for row in rows if instances.prep_state[row] == InstanceState.RUNNING)
        return Doing.RETRYING if retries else Doing.PREPARING
    if world.nodes.running[node]:
        return Doing.WORKING
    if any(instances.release_state[row] == InstanceState.RUNNING for row in rows):
        return Doing.RELEASING
    return Doing.IDLE


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_lane_agrees_with_the_world_at_every_moment(name):
    simulation = finished(name)
    lanes = read(simulation)
    for when_ms in moments(simulation):
        simulation.seek(when_ms)
        world = simulation.world
        for node in range(world.nodes.length):
            stretch = lanes.lane(node).at(when_ms)
            assert stretch.state is world.nodes.state_of(node)
            doing = Doing.IDLE if stretch.doing is Doing.BARRED else stretch.doing
            assert doing is does(simulation, node), (when_ms, node)
            assert set(lanes.tasks_at(node, when_ms)) == set(world.nodes.running[node])


def test_what_is_recorded_stays_while_an_earlier_moment_is_looked_at():
    simulation = finished("preparation-fails-on-one-node")
    lanes = read(simulation)
    before = [lanes.lane(node).stretches.copy() for node in range(2)]
    recorded_ms = lanes.recorded_ms
    simulation.seek(100_000)
    lanes.refresh()
    assert [lanes.lane(node).stretches for node in range(2)] == before
    assert lanes.recorded_ms == recorded_ms
    assert [each.stretches for each in (read(simulation).lane(0), read(simulation).lane(1))] == before


def test_after_a_branch_the_lanes_are_those_of_the_new_run():
    simulation = finished("preparation-fails-on-one-node")
    lanes = read(simulation)
    lanes.lane(0)
    simulation.seek(200_000)
    simulation.branch()
    simulation.submit(RebootNode(pool_id="genomics", node=0))
    simulation.run_until(simulation.end_ms)
    lanes.refresh()
    fresh = read(simulation)
    assert lanes.version == 1
    for node in range(2):
        assert lanes.lane(node).stretches == fresh.lane(node).stretches
    assert any(each.state is NodeState.REBOOTING for each in lanes.lane(0).stretches)


def test_prep_9_a_bar_ends_with_the_job_or_a_reimage():
    lanes = read(finished("preparation-fails-on-one-node"))
    barred = [each for each in lanes.lane(1).stretches if each.doing is Doing.BARRED]
    assert {each.begin_ms for each in barred} == {152_000, 242_000}
    assert lanes.lane(1).at(483_999).doing is Doing.BARRED
    assert lanes.lane(1).at(484_000).doing is Doing.IDLE
    assert [each.state.wire for each in lanes.job("align")] == ["active", "terminating", "completed"]
    assert lanes.job("nobody") == []


def test_a_failure_always_shows_and_so_does_preparation_that_began():
    lane = read(finished("preparation-fails-on-one-node")).lane(1)
    assert lane.shown(0, 3_600_000).doing is Doing.FAILED
    assert lane.shown(85_000, 100_000).doing is Doing.PREPARING
    assert lane.shown(110_000, 140_000).doing is Doing.RETRYING
    assert lane.shown(153_000, 181_000).doing is Doing.BARRED
    assert lane.shown(170_000, 240_000).doing is Doing.WORKING
    assert lane.shown(0, 30_000).doing is Doing.ABSENT
    assert (lane.tasks_begun(0, 181_001), lane.tasks_begun(0, 181_000)) == (1, 0)
    assert lane.until_ms(153_000) == 181_000
    assert lane.until_ms(3_600_000) is None


def test_what_runs_is_planned_to_end():
    simulation = Simulation(load_scenario("preparation-fails-on-one-node"))
    simulation.run_until(100_000)
    assert planned_end_ms(simulation, 0) == 121_000
    simulation.run_until(200_000)
    assert planned_end_ms(simulation, 1) == 242_000
    assert planned_task_end_ms(simulation, simulation.world.nodes.tasks_on(1)[0]) == 242_000
    simulation.run_until(simulation.end_ms)
    assert planned_end_ms(simulation, 1) is None
    assert planned_task_end_ms(simulation, 0) is None
