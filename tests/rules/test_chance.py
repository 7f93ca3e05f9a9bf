"""Chapters 6 and 7: nodes that fail, and Spot nodes that are evicted, at the rates of the scenario."""

from __future__ import annotations

from math import exp, isclose, sqrt

import pytest

from engine.base.calendar import DueKind
from engine.base.terms import NodeState
from engine.rules.faults import may_be_evicted, may_fail
from tests.builders import (
    ALLOCATION_S,
    NOTICE_S,
    READY_S,
    a_job,
    a_pool,
    a_task,
    do,
    events,
    job_state,
    node,
    node_state,
    node_states,
    run,
    run_to,
    run_to_end,
    simulation,
    times,
)
from tests.rules.resizing import allocation

HOUR_S = 3600
DAY = "P1D"


def failing(rate, **more):
    return {"nodes": {"failureRate": rate}} | more


def evicting(rate, **more):
    return {"spot": {"evictionRate": rate} | more}


def spot_pool(nodes=1, **more):
    return a_pool(nodes=0, targetLowPriorityNodes=nodes, **more)


def hours_in(sim, *uncounted):
    """The node hours outside these states, from the log."""
    since, total = {}, 0.0
    for event in events(sim, "NodeStateChanged"):
        begin = since.pop(event["nodeId"], None)
        total += 0 if begin is None else event["t"] - begin
        if event["to"] not in (None, *uncounted):
            since[event["nodeId"]] = event["t"]
    return (total + sum(sim.end_ms / 1000 - begin for begin in since.values())) / HOUR_S


def is_mean(count, expected):
    """A Poisson number lies within four standard deviations of its mean, except once in 15,000 times."""
    return abs(count - expected) < 4 * sqrt(expected)


# -- the rates -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.1, 0.5, 2])
def test_node_18_nodes_fail_at_the_rate_for_each_hour_in_which_they_count(rate):
    sim = simulation(pool=a_pool(nodes=50), simulate=failing(rate), until=DAY, seed=3)
    sim.run_until(sim.end_ms)
    failures = len(times(sim, "NodeStateChanged", to="unusable"))
    hours = hours_in(sim, "unusable")
    assert is_mean(failures, rate * hours)
    lost_hours = 1560 * exp(0.43**2 / 2) / HOUR_S  # by each failure, on average (TIME-14)
    assert isclose(hours, 50 * 24 / (1 + rate * lost_hours), rel_tol=0.03)


@pytest.mark.parametrize(("rate", "notice"), [(0.2, "PT30S"), (2, "PT30S"), (1, "PT5M"), (1, 0)])
def test_spot_10_spot_nodes_are_evicted_at_the_rate_for_each_hour_in_which_they_count(rate, notice):
    sim = simulation(pool=spot_pool(50), simulate=evicting(rate, notice=notice), until=DAY, seed=3)
    sim.run_until(sim.end_ms)
    evictions = len(times(sim, "NodeStateChanged", to="preempted"))
    assert is_mean(evictions, rate * hours_in(sim, "preempted"))


def test_node_18_the_waiting_times_are_exponential():
    """The share of nodes without a failure after the mean time is 1/e, and after a fifth of it 1/e^0.2."""
    sim = simulation(pool=a_pool(nodes=50), simulate=failing(1), until="PT10M")
    waits = []
    for seed in range(20):
        one = type(sim)(sim.scenario, seed)
        one.run_until(ALLOCATION_S * 1000)
        waits += [entry.when_ms - one.now_ms for entry in drawn(one)]
    assert len(waits) == 1000
    for share in (0.2, 1, 2):
        later = sum(wait > share * HOUR_S * 1000 for wait in waits) / len(waits)
        assert abs(later - exp(-share)) < 4 * 0.5 / sqrt(len(waits))


def drawn(sim):
    return [entry for entry in sim.world.calendar.pending() if entry.kind is DueKind.FAILURE]


def test_node_18_a_rate_of_zero_or_none_draws_nothing(start):
    without = start(a_job(tasks=3), pool=a_pool(nodes=2))
    with_zero = start(a_job(tasks=3), pool=a_pool(nodes=2), simulate=failing(0) | evicting(0))
    for sim in (without, with_zero):
        run_to_end(sim)
    assert list(without.json_lines()) == list(with_zero.json_lines())
    assert not with_zero.world.calendar.pending()


def test_spot_10_a_dedicated_node_is_not_evicted(start):
    sim = start(pool=a_pool(nodes=5), simulate=evicting(100), until="PT2H")
    run_to_end(sim)
    assert not events(sim, "FaultInjected")


# -- when a node counts ----------------------------------------------------------------------------------------------


def test_node_18_a_node_counts_while_it_is_there_and_neither_unusable_nor_preempted():
    counted = {state.wire for state in NodeState if may_fail(state)}
    assert counted == {
        "creating",
        "starting",
        "waitingforstarttask",
        "starttaskfailed",
        "idle",
        "running",
        "offline",
        "unknown",
    }
    assert not may_fail(None)


def test_spot_10_a_node_that_is_to_be_evicted_is_not_evicted_twice(start):
    sim = start(pool=spot_pool(1), until="PT1H")
    run_to(sim, seconds=READY_S)
    record = node(sim)
    assert may_be_evicted(NodeState.IDLE, record)
    assert not any(may_be_evicted(state, record) for state in (None, NodeState.UNUSABLE, NodeState.PREEMPTED))
    do(sim, "evictNode", poolId="p", node=0)
    assert not may_be_evicted(NodeState.IDLE, node(sim))


# -- what follows ----------------------------------------------------------------------------------------------------


def test_node_18_a_failure_is_logged_and_the_node_recovers_like_one_broken_without_for(start):
    sim = start(pool=a_pool(nodes=1), simulate=failing(3), until="PT3H", seed=1)
    run_to_end(sim)
    fault, *_ = events(sim, "FaultInjected")
    assert (fault["command"], fault["rule"], fault["nodeId"]) == ("failNode", "NODE-18", node(sim).id)
    assert fault["body"] == {"poolId": "p", "nodeId": node(sim).id, "state": "unusable"}
    failed = times(sim, "NodeStateChanged", to="unusable")
    assert failed == times(sim, "FaultInjected")
    assert 600 < times(sim, "NodeStateChanged", from_="unusable")[0] - failed[0] < 3600
    assert node_states(sim)[node_states(sim).index("unusable") + 1] == "starting"


def test_spot_10_an_eviction_is_announced_by_an_event_about_its_node(start):
    sim = start(a_job(tasks=40), pool=spot_pool(4), simulate=evicting(4, notice="PT2M"), until="PT3H")
    run_to_end(sim)
    notices = {
        (round(event["t"] + 120, 3), event["nodeId"]) for event in events(sim, "FaultInjected", command="evictNode")
    }
    preempted = {(event["t"], event["nodeId"]) for event in events(sim, "NodeStateChanged", to="preempted")}
    assert len(preempted) > 10
    assert preempted <= notices
    assert all(when > 10_800 for when, _ in notices - preempted)
    assert {event["rule"] for event in events(sim, "FaultInjected")} == {"SPOT-10"}


@pytest.mark.parametrize(("notice", "seconds"), [("PT5M", 300), (0, 0), (12.5, 12.5)])
def test_spot_7_the_notice_of_the_scenario_applies_to_evictions_of_the_timeline(start, notice, seconds):
    evict = {"at": 100, "evictNode": {"poolId": "p", "node": 0}}
    sim = start(pool=spot_pool(1), timeline=[evict], simulate={"spot": {"notice": notice}})
    run_to_end(sim)
    assert times(sim, "NodeStateChanged", to="preempted") == [100 + seconds]


def test_time_12_the_notice_is_half_a_minute_by_default(start):
    assert start().scenario.simulate.spot.notice == NOTICE_S * 1000


# -- determinism -----------------------------------------------------------------------------------------------------


def chances(sim, index=0):
    return times(sim, "FaultInjected", nodeId=node(sim, index).id)


def test_node_18_another_node_or_fault_moves_no_failure(start):
    """A moment that falls into the time of another fault passes by; all others stay."""
    runs = []
    broken = {"at": "PT1H", "failNode": {"poolId": "p", "node": 0}}
    for nodes, timeline in ((2, []), (5, []), (2, [broken])):
        runs.append(start(pool=a_pool(nodes=nodes), timeline=timeline, simulate=failing(0.5), until=DAY))
        run_to_end(runs[-1])
    few, many, faulty = runs
    assert chances(few, 1) == chances(many, 1) == chances(faulty, 1)
    assert len(chances(few, 1)) > 3
    assert [when for when in chances(faulty) if when > 5400] == [when for when in chances(few) if when > 5400]


def test_spot_10_going_back_changes_nothing():
    world = failing(0.5) | evicting(1)
    sim = simulation(a_job(tasks=100), pool=a_pool(nodes=2, targetLowPriorityNodes=3), simulate=world, until="PT6H")
    sim.run_until(sim.end_ms)
    lines = list(sim.json_lines())
    assert len(events(sim, "FaultInjected")) > 10
    for moment in (20_000_000, 1_000, 9_000_000, 3_600_000):
        sim.seek(moment)
        sim.run_until(sim.end_ms)
        assert list(sim.json_lines()) == lines


# -- the end of a run ------------------------------------------------------------------------------------------------


def test_node_18_rates_alone_keep_no_run_alive():
    """The run ends with its job, as it does without rates, and not after seven days."""
    job = a_job(tasks=[a_task(f"t{number}", 600) for number in range(40)], onAllTasksComplete="terminatejob")
    sim = simulation(job, pool=a_pool(nodes=4), simulate=failing(2))
    sim.run_until(sim.end_ms)
    sim.finish()
    assert sim.finished
    assert job_state(sim) == "completed"
    assert sim.now_ms < 8 * 3600 * 1000
    assert events(sim, "FaultInjected", command="failNode")


def test_node_18_a_run_with_an_end_goes_on_to_it():
    sim = simulation(pool=a_pool(nodes=10), simulate=failing(1), until=DAY)
    sim.run_until(sim.end_ms)
    assert max(times(sim, "FaultInjected")) > 23 * HOUR_S


def test_node_18_a_run_waits_for_nodes_that_its_tasks_need():
    """All nodes fail again and again; the tasks that wait for them keep the run alive."""
    sim = simulation(a_job(tasks=[a_task("long", 3600)]), pool=a_pool(nodes=1), simulate=failing(2), seed=5)
    sim.run_until(sim.end_ms)
    assert len(events(sim, "FaultInjected")) > 1
    assert events(sim, "TaskStateChanged", to="completed")


def test_node_18_a_run_waits_for_what_users_have_begun():
    """The nodes leave, and one reboots, although nothing else happens any more."""
    entries = [
        {"at": "PT5M", "resizePool": {"poolId": "p", "targetDedicatedNodes": 1}},
        {"at": "PT20M", "rebootNode": {"poolId": "p", "node": 0}},
    ]
    sim = simulation(pool=a_pool(nodes=30), timeline=entries, simulate=failing(0.5), seed=2)
    sim.run_until(sim.end_ms)
    sim.finish()
    assert allocation(sim) == "steady"
    assert sum(node_state(sim, index) is not None for index in range(30)) == 1
    assert sim.now_ms < 2 * 3600 * 1000


@pytest.mark.parametrize("seed", range(6))
def test_node_18_the_run_ends_at_the_same_moment_however_it_is_played(seed):
    endless = {"id": "s", "schedule": {"recurrenceInterval": "PT7M"}, "jobSpecification": {"poolInfo": {"poolId": "p"}}}
    world = failing(1) | evicting(1)
    job = a_job(tasks=[a_task(f"t{number}", 900) for number in range(12)], onAllTasksComplete="terminatejob")
    pool = a_pool(nodes=2, targetLowPriorityNodes=2)
    logs = []
    for slices in (1, 3, 5_000):
        sim = simulation(job, pool=pool, simulate=world, jobSchedules=[endless], seed=seed)
        while sim.advance(sim.end_ms, slices):
            pass
        logs.append(list(sim.json_lines()))
    stepwise = simulation(job, pool=pool, simulate=world, jobSchedules=[endless], seed=seed)
    run_to_end(stepwise)
    stepwise.seek(1_000_000)
    stepwise.run_until(stepwise.end_ms)
    assert [*logs, list(stepwise.json_lines())] == [logs[0]] * 4
    assert stepwise.finished
    assert stepwise.log.last_ms < 6 * HOUR_S * 1000


def test_spot_10_attempts_to_replace_evicted_nodes_keep_no_run_alive():
    """There is no capacity, and the next event by chance lies far ahead."""
    scarce = {"at": 1000, "capacity": {"vmSize": "standard_d2s_v3", "nodes": 0}}
    evict = {"at": 1000, "evictNode": {"poolId": "p", "node": 0}}
    sim = simulation(pool=spot_pool(1), timeline=[scarce, evict], simulate=failing(0.0001))
    steps = 0
    while sim.step():
        steps += 1
    assert sim.finished
    assert steps < 100


def test_node_18_commands_by_hand_long_after_the_end_replay_from_a_file():
    """What chance does until then happens once the run goes on."""
    job = a_job(tasks=2)
    by_hand = simulation(job, pool=a_pool(nodes=3), simulate=failing(0.5))
    by_hand.run_until(40 * 3600 * 1000)
    assert by_hand.finished
    do(by_hand, "resizePool", poolId="p", targetDedicatedNodes=2)
    run(by_hand, minutes=5)
    later = {"at": 40 * 3600 + 0.001, "resizePool": {"poolId": "p", "targetDedicatedNodes": 2}}
    replayed = simulation(job, pool=a_pool(nodes=3), simulate=failing(0.5), timeline=[later])
    replayed.run_until(by_hand.now_ms)
    assert list(by_hand.json_lines()) == list(replayed.json_lines())
    assert len(events(by_hand, "FaultInjected")) > 10
