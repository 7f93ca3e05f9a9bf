"""Lanes agree with the tables at every moment."""

from __future__ import annotations

from random import Random

import pytest

from engine import Simulation, load_scenario
from engine.base.lifecycles import WIPED_IN
from engine.base.terms import InstanceState, NodeState, TaskState
from engine.specs.commands import DeallocateNode, RebootNode, StartNode
from engine.views.diagnosis.estimates import planned_end_ms, planned_task_end_ms
from engine.views.hook_status import Hook
from engine.views.log.lanes import Lanes
from engine.views.log.levels import CountsOverTime
from engine.views.log.node_lane import Activity, Lane, Meaning, Step
from tests.builders import READY_S, a_job, a_pool, a_task, do, run_to, run_to_end
from tests.builders import simulation as a_simulation

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
    lanes.update()
    return lanes


def tasks_at(lanes, node, when_ms):
    return [each.task for each in lanes.tracks(node).running_at(when_ms)]


def moments(simulation):
    """Return the moments at which something happened, at most a hundred of them."""
    every = sorted(set(simulation.log.when))
    return every[:: -(-len(every) // 100)]


def does(simulation, node):
    """Return the activity of a node by the tables."""
    world = simulation.world
    state = world.nodes.state_of(node)
    if state is None:
        return Activity.ABSENT
    if state not in READY:
        return Activity.CHANGING
    instances = world.instances
    rows = instances.rows_on(node)
    if any(instances.prep_state[row] == InstanceState.RUNNING for row in rows):
        retries = any(instances.prep_retries[row] for row in rows if instances.prep_state[row] == InstanceState.RUNNING)
        return Activity.RETRYING if retries else Activity.PREPARING
    if world.nodes.running[node]:
        return Activity.WORKING
    if any(instances.release_state[row] == InstanceState.RUNNING for row in rows):
        return Activity.RELEASING
    return Activity.IDLE


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
            doing = Activity.IDLE if stretch.activity is Activity.INELIGIBLE else stretch.activity
            assert doing is does(simulation, node), (when_ms, node)
            assert set(tasks_at(lanes, node, when_ms)) == set(world.nodes.running[node])


def test_what_is_recorded_stays_while_an_earlier_moment_is_looked_at():
    simulation = finished("preparation-fails-on-one-node")
    lanes = read(simulation)
    before = [lanes.lane(node).stretches.copy() for node in range(2)]
    recorded_ms = lanes.recorded_ms
    simulation.seek(100_000)
    lanes.update()
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
    lanes.update()
    fresh = read(simulation)
    assert lanes.version == 1
    for node in range(2):
        assert lanes.lane(node).stretches == fresh.lane(node).stretches
    assert any(each.state is NodeState.REBOOTING for each in lanes.lane(0).stretches)


def test_prep_9_a_bar_ends_with_the_job_or_a_reimage():
    lanes = read(finished("preparation-fails-on-one-node"))
    barred = [each for each in lanes.lane(1).stretches if each.activity is Activity.INELIGIBLE]
    assert {each.begin_ms for each in barred} == {152_000, 242_000}
    assert lanes.lane(1).at(483_999).activity is Activity.INELIGIBLE
    assert lanes.lane(1).at(484_000).activity is Activity.IDLE
    assert [each.state.wire for each in lanes.job("align")] == ["active", "terminating", "completed"]
    assert lanes.job("nobody") == []


@pytest.mark.parametrize("state", NodeState)
def test_prep_9_a_node_is_ineligible_until_its_disk_is_wiped(state):
    lane = Lane()
    lane.take(0, Meaning(Step.STATE, NodeState.IDLE), -1)
    lane.take(1, Meaning(Step.HOOK, hook=Hook.PREPARATION, is_begin=True), 0)
    lane.take(2, Meaning(Step.HOOK, is_final_failure=True, hook=Hook.PREPARATION), 0)
    assert lane.at(2).activity is Activity.INELIGIBLE
    lane.take(3, Meaning(Step.STATE, state), -1)
    lane.take(4, Meaning(Step.STATE, NodeState.IDLE), -1)
    assert lane.at(4).activity is (Activity.IDLE if state in WIPED_IN else Activity.INELIGIBLE)


def test_prep_9_a_deallocated_node_is_eligible_when_it_is_started_again():
    simulation = Simulation(load_scenario("preparation-fails-on-one-node"))
    simulation.run_until(250_000)
    simulation.submit(DeallocateNode(pool_id="genomics", node=1))
    simulation.run_until(320_000)
    simulation.submit(StartNode(pool_id="genomics", node=1))
    simulation.run_until(simulation.end_ms)
    lane = read(simulation).lane(1)
    back_ms = next(each.begin_ms for each in lane.stretches if each.begin_ms > 320_001)
    assert lane.at(249_999).activity is Activity.INELIGIBLE
    assert lane.at(back_ms).activity is not Activity.INELIGIBLE


def test_a_failure_always_shows_and_so_does_preparation_that_began():
    lane = read(finished("preparation-fails-on-one-node")).lane(1)
    assert lane.shown(0, 3_600_000).activity is Activity.FAILED
    assert lane.shown(85_000, 100_000).activity is Activity.PREPARING
    assert lane.shown(110_000, 140_000).activity is Activity.RETRYING
    assert lane.shown(153_000, 181_000).activity is Activity.INELIGIBLE
    assert lane.shown(170_000, 240_000).activity is Activity.WORKING
    assert lane.shown(0, 30_000).activity is Activity.ABSENT
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


def test_what_is_read_in_pieces_is_what_is_read_at_once():
    simulation = finished("nodes-fail-and-recover")
    whole, pieces = read(simulation), Lanes(simulation)
    assert pieces.unread_from_ms() == 0
    known_ms, looks = 0, 0
    while pieces.unread_from_ms(0) is not None:
        pieces.update(5)
        until_ms = pieces.unread_from_ms(0) or simulation.now_ms
        assert until_ms >= known_ms
        known_ms, looks = until_ms, looks + 1
        assert pieces.lane(0).at(known_ms - 1) == whole.lane(0).at(known_ms - 1)
    assert looks > 10
    assert pieces.progress == 1
    pieces.update()
    pool_id = simulation.world.pools.rows[0].id
    for when_ms in moments(simulation):
        assert [each.at(when_ms) for each in pieces.in_pool(pool_id)] == [
            each.at(when_ms) for each in whole.in_pool(pool_id)
        ]
    for node in range(simulation.world.nodes.length):
        assert pieces.lane(node).stretches == whole.lane(node).stretches
        assert pieces.totals.failures == whole.totals.failures


def test_tasks_that_follow_each_other_at_once_are_read_together_unless_the_next_one_is_on_another_node():
    long = [a_task(f"long{number}", 300) for number in range(3)]  # so that no node becomes idle
    chain = [a_task("last", 90), a_task("next", dependsOn={"taskIds": ["last"]})]
    tasks = [a_task(f"t{number}", 5 + number % 4) for number in range(20)]
    job = a_job(tasks=[*long, *chain, *tasks], usesTaskDependencies=True)
    simulation = a_simulation(job, pool=a_pool(nodes=3, taskSlotsPerNode=2))
    run_to(simulation, seconds=READY_S + 70)
    node = simulation.world.tasks.node[3]
    option = "taskCompletion"
    do(simulation, "disableNodeScheduling", poolId="p", node=node, nodeDisableSchedulingOption=option)
    run_to_end(simulation)
    assert simulation.world.tasks.node[4] != node
    whole, each = Lanes(simulation), Lanes(simulation)
    whole.update()
    while each.unread_from_ms() is not None:
        each.update(1)
        each.lane(0)
    each.update()
    when_ms = [*moments(simulation), simulation.now_ms]
    pools = [[numbers.at(at) for numbers in lanes.in_pool("p") for at in when_ms] for lanes in (whole, each)]
    assert pools[0] == pools[1]
    assert max(pools[0]) == 6
    for node in range(3):
        lane, other = whole.lane(node), each.lane(node)
        assert lane.stretches == other.stretches
        assert [tasks_at(whole, node, at) for at in when_ms] == [tasks_at(each, node, at) for at in when_ms]


def running(world, state, pool):
    return [task for task in range(world.tasks.length) if world.tasks.state_of(task) is state and on(world, task, pool)]


def on(world, task, pool):
    return world.nodes[world.tasks.node[task]].pool == pool


@pytest.mark.parametrize("name", [*SCENARIOS, "mpi-in-trouble", "one-pool-per-scheduled-job"])
def test_numbers_of_a_pool_agree_with_the_world_at_every_moment(name):
    simulation = finished(name)
    simulation.seek(simulation.now_ms // 3)  # what is recorded is read all the same
    lanes = read(simulation)
    for when_ms in moments(simulation):
        simulation.seek(when_ms)
        world = simulation.world
        for pool in world.pools.rows:
            nodes, tasks, preparing = (each.at(when_ms) for each in lanes.in_pool(pool.id))
            present = [node for node in pool.nodes if world.nodes.state_of(node) is not None]
            assert nodes == len(present)
            assert tasks == len(running(world, TaskState.RUNNING, pool.row))
            kinds = (Activity.PREPARING, Activity.RETRYING)
            assert preparing == sum(does(simulation, node) in kinds for node in present)


@pytest.mark.parametrize("name", SCENARIOS[:-1])
def test_hook_runs_agree_with_the_world_at_every_moment(name):
    simulation = finished(name)
    lanes = read(simulation)
    seen = set()
    for when_ms in moments(simulation):
        simulation.seek(when_ms)
        instances = simulation.world.instances
        for job, row in ((each, row) for each in simulation.world.jobs.rows for row in instances.rows_of_job(each.row)):
            node = instances.node[row]
            for hook, states in ((Hook.PREPARATION, instances.prep_state), (Hook.RELEASE, instances.release_state)):
                runs = lanes.hook_runs(hook, job.id, node)
                open_runs = [run for run in runs if run.begin_ms <= when_ms and (run.end_ms or 1 << 62) > when_ms]
                is_ready = simulation.world.nodes.state_of(node) in READY
                assert len(open_runs) == (is_ready and states[row] == InstanceState.RUNNING), (when_ms, hook, node)
                seen.update(run.has_failed for run in runs)
    assert seen >= {False}


def test_nodes_with_failures_are_found_among_others():
    lanes = read(finished("preparation-fails-on-one-node"))
    assert lanes.failed_among([0, 1]) == [1]
    assert lanes.failed_among([0]) == []


def test_the_highest_of_a_time_is_found_again_after_more_changes():
    counts = CountsOverTime()
    for when_ms, change in ((10, 3), (20, 2), (20, -4), (35, 1)):
        counts.add(when_ms, change)
    assert [counts.at(when_ms) for when_ms in (9, 10, 20, 35)] == [0, 3, 1, 2]
    assert counts.highest(15, 40) == 3  # what there was when it began
    counts.add(35, 5)  # in the same millisecond
    counts.add(38, -6)
    counts.add(40, 100)
    assert counts.highest(15, 40) == 7
    assert counts.highest(0, 10) == 0


def test_the_highest_of_thousands_of_changes_is_right_while_more_come():
    draw, counts, values = Random(3), CountsOverTime(), [0] * 3000
    for when_ms in range(3000):
        for _ in range(draw.randrange(3)):  # several changes in a millisecond, of which the last one counts
            counts.add(when_ms, draw.randrange(-40, 43))
            counts.highest(0, when_ms + 1)
        values[when_ms] = counts.latest()[1]
        begin_ms = draw.randrange(when_ms + 1)
        end_ms = draw.randrange(begin_ms, when_ms + 1) + 1
        expected = max([0, values[begin_ms], *values[begin_ms:end_ms]])
        assert counts.highest(begin_ms, end_ms) == expected
