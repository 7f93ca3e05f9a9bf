"""Tests of how long the steps of a node take: what its pool says, and what is said of one node."""

from __future__ import annotations

import json

import pytest

from engine import ScenarioError, Simulation, load_scenario


def _came(simulate: object, nodes: int = 3) -> list[list[float]]:
    """Allocation, boot and readiness of each node, in seconds."""
    pool = {"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": nodes, "simulate": simulate}
    every = {"nodes": {"allocation": 10, "starting": 20, "ready": 30}}
    text = json.dumps({"scenario": "x", "simulate": every, "pools": [pool, {**pool, "id": "q", "simulate": None}]})
    simulation = Simulation(load_scenario("x", text=text))
    simulation.run_until(3_600_000)
    lines = map(json.loads, simulation.json_lines())
    moments: dict[str, list[float]] = {}
    for line in lines:
        if line["event"] == "NodeStateChanged" and line["poolId"] == "p":
            moments.setdefault(line["nodeId"], []).append(line["t"])
    return list(moments.values())


def test_time_2_a_pool_may_say_how_long_the_steps_of_its_nodes_take():
    assert _came({"allocation": 1, "ready": {"constant": 2}}) == [[1, 21, 23]] * 3


def test_time_2_what_is_said_of_a_node_wins_step_by_step():
    simulate = {"starting": 5, "onNode": {"1": {"allocation": "PT12S", "ready": 0}, "2": {"allocation": 15}}}
    assert _came(simulate) == [[10, 15, 45], [12, 17, 17], [15, 20, 50]]


def test_time_2_a_step_that_does_not_exist_is_a_mistake():
    with pytest.raises(ScenarioError, match=r"onNode.*'booting' does not exist here"):
        _came({"onNode": {"0": {"booting": 3}}})


# -- defaults --------------------------------------------------------------------------------------------------------

WINDOWS = {
    "virtualMachineConfiguration": {
        "imageReference": {"publisher": "MicrosoftWindowsServer", "offer": "WindowsServer", "sku": "2022-datacenter"},
        "nodeAgentSKUId": "batch.node.windows amd64",
    }
}
CLOUD_SERVICE = {"vmSize": "small", "cloudServiceConfiguration": {"osFamily": "5"}}


def _moves(pools: list[object], nodes: object = None, *, seed: int = 1, **more: object) -> list[dict[str, object]]:
    """The changes of nodes and pools in a run of six hours."""
    quotas = {"quotas": {"pools": 200, "dedicatedCores": 2000, "lowPriorityCores": 2000}}
    given = {"scenario": "x", "account": quotas, "simulate": {"nodes": nodes or {}}, "pools": pools, **more}
    simulation = Simulation(load_scenario("x", text=json.dumps(given)), seed=seed)
    simulation.run_until(6 * 3_600_000)
    lines = map(json.loads, simulation.json_lines())
    return [line for line in lines if line["event"].endswith("StateChanged")]


def _pools(count: int, **more: object) -> list[object]:
    body = {"vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1, "resizeTimeout": "PT4H"}
    return [{"id": f"p{number}", **body, **more} for number in range(count)]


def _lasted(moves: list[dict[str, object]], state: str) -> list[float]:
    """How long nodes were in a state, in seconds, in order."""
    since: dict[object, float] = {}
    found = []
    for move in moves:
        if move["event"] == "NodeStateChanged":
            if move["from"] == state:
                found.append(round(move["t"] - since[move["nodeId"]], 3))
            since[move["nodeId"]] = move["t"]
    return sorted(found)


def _at(values: list[float], share: float) -> float:
    return sorted(values)[int(share * len(values))]


@pytest.mark.parametrize(
    ("profile", "body", "median", "p90"),
    [
        ("quick", {}, 80, 121),
        ("typical", {}, 147, 254),
        ("slow", {}, 426, 685),
        ("quick", WINDOWS, 142, 239),
        ("typical", WINDOWS, 267, 458),
        ("slow", WINDOWS, 703, 1155),
        ("typical", {**WINDOWS, "vmSize": "standard_d1_v2"}, 368, 604),
        ("typical", {**CLOUD_SERVICE}, 335, 467),
    ],
)
def test_time_2_to_4_from_the_request_to_a_node_that_is_idle(profile, body, median, p90):
    moves = [move for seed in range(4) for move in _moves(_pools(100, **body), {"profile": profile}, seed=seed)]
    idle = [move["t"] for move in moves if move["event"] == "NodeStateChanged" and move["to"] == "idle"]
    assert len(idle) == 400
    assert _at(idle, 0.5) == pytest.approx(median, rel=0.05)
    assert _at(idle, 0.9) == pytest.approx(p90, rel=0.1)


def test_time_2_nodes_that_are_asked_for_together_come_together():
    both = {"id": "both", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 5, "targetLowPriorityNodes": 4}
    more = {"resizePool": {"poolId": "both", "targetDedicatedNodes": 8}, "at": "PT1H"}
    moves = _moves([both, *_pools(3)], timeline=[more])
    came = [move["t"] for move in moves if move["event"] == "NodeStateChanged" and move["from"] is None]
    of_pool = [move["t"] for move in moves if move.get("to") == "creating" and move["poolId"] == "both"]
    assert sorted(map(of_pool.count, set(of_pool))) == [3, 9]
    assert len(set(came)) == 5
    steps = [_lasted(moves, state) for state in ("creating", "starting")]
    assert [len(set(found)) for found in steps] == [15, 15]


def test_time_2_and_rsz_16_what_cannot_be_had_turns_out_when_the_other_nodes_come():
    faults = [{"at": 0, "capacity": {"vmSize": "standard_d2s_v3", "nodes": 2}}]
    moves = _moves([], timeline=[*faults, {"at": 1, "createPool": _pools(1, targetDedicatedNodes=5)[0]}])
    came = {move["t"] for move in moves if move.get("to") == "creating"}
    steady = {move["t"] for move in moves if move.get("to") == "steady"}
    assert came == steady
    assert len(came) == 1


def test_time_2_a_duration_of_its_own_wins_over_the_profile():
    nodes = {"profile": "slow", "ready": 30}
    moves = _moves(_pools(1, targetDedicatedNodes=4, simulate={"starting": 20}), nodes)
    assert (_lasted(moves, "creating"), _lasted(moves, "starting")) == ([20] * 4, [30] * 4)
    assert min(move["t"] for move in moves if move.get("to") == "creating") > 100


def test_time_2_a_pool_may_have_a_profile_of_its_own():
    nodes = {"profile": "slow"}
    alone, others = _moves(_pools(20), nodes), _moves(_pools(20, simulate={"profile": "quick"}), nodes)
    slow, quick = ([move["t"] for move in moves if move.get("to") == "creating"] for moves in (alone, others))
    assert _at(slow, 0.5) > 5 * _at(quick, 0.5)


def test_time_2_the_profile_is_typical_unless_the_scenario_says_otherwise():
    assert _moves(_pools(9)) == _moves(_pools(9), {"profile": "Typical"}) != _moves(_pools(9), {"profile": "quick"})


def test_time_2_a_profile_that_does_not_exist_is_a_mistake():
    with pytest.raises(ScenarioError, match=r"profile: 'typcal' does not exist here: did you mean 'typical'"):
        _moves([], {"profile": "typcal"})
    with pytest.raises(ScenarioError, match=r"profile: 'fast' does not exist here: can be quick, typical, slow"):
        _came({"profile": "fast"})


def test_time_3_a_node_is_creating_for_about_ten_seconds():
    found = _lasted(_moves(_pools(1, targetDedicatedNodes=100)), "creating")
    assert (_at(found, 0.5), _at(found, 0.9)) == (pytest.approx(10.6, rel=0.01), pytest.approx(10.9, rel=0.01))


@pytest.mark.parametrize(
    ("command", "state", "body", "median"),
    [
        ("rebootNode", "rebooting", {}, 60),
        ("rebootNode", "rebooting", WINDOWS, 70),
        ("rebootNode", "rebooting", CLOUD_SERVICE, 135),
        ("reimageNode", "reimaging", {}, 185),
        ("reimageNode", "reimaging", CLOUD_SERVICE, 290),
    ],
)
def test_time_5_and_6_a_machine_that_was_set_up_is_starting_for_five_seconds(command, state, body, median):
    pool = _pools(1, targetDedicatedNodes=60, **body)
    timeline = [{"at": "PT3H", command: {"poolId": "p0", "node": node}} for node in range(60)]
    moves = [move for move in _moves(pool, timeline=timeline) if move["t"] >= 3 * 3600]
    assert _at(_lasted(moves, state), 0.5) == pytest.approx(median, rel=0.15)
    assert set(_lasted(moves, "starting")) == {5}


def test_time_8_a_node_is_deallocated_and_started_again():
    each = [{"poolId": "p0", "node": node} for node in range(60)]
    stop, start = (
        [{"at": at, name: node} for node in each] for at, name in (("PT3H", "deallocateNode"), ("PT4H", "startNode"))
    )
    moves = _moves(_pools(1, targetDedicatedNodes=60), timeline=[*stop, *start])
    assert _at(_lasted([move for move in moves if move["t"] >= 3 * 3600], "deallocating"), 0.5) == pytest.approx(
        38, rel=0.15
    )
    starting = _lasted([move for move in moves if move["t"] >= 4 * 3600], "starting")
    assert _at(starting, 0.5) == pytest.approx(66, rel=0.15)
    assert len(set(starting)) == 60


def test_time_7_nodes_leave_one_by_one_but_those_of_a_deleted_pool_together():
    pools = _pools(2, targetDedicatedNodes=60)
    timeline = [
        {"at": "PT3H", "resizePool": {"poolId": "p0", "targetDedicatedNodes": 0}},
        {"at": "PT3H", "deletePool": {"poolId": "p1"}},
    ]
    moves = _moves(pools, timeline=timeline)
    removed, deleted = (_lasted([m for m in moves if m["poolId"] == pool], "leavingpool") for pool in ("p0", "p1"))
    assert _at(removed, 0.5) == pytest.approx(40, rel=0.25)
    assert len(set(removed)) > 50
    assert len(set(deleted)) == 1


def test_time_7_deletions_of_pools_take_longer_than_removals():
    timeline = [{"at": "PT3H", "deletePool": {"poolId": f"p{number}"}} for number in range(100)]
    found = _lasted(_moves(_pools(100), timeline=timeline), "leavingpool")
    assert _at(found, 0.5) == pytest.approx(140, rel=0.1)


def test_time_7_where_the_scenario_says_how_long_removals_take_deletions_do_too():
    simulate = {"removal": 20, "onNode": {"1": {"removal": 30}}}
    timeline = [{"at": "PT3H", "deletePool": {"poolId": "p0"}}]
    moves = _moves(_pools(1, targetDedicatedNodes=3, simulate=simulate), timeline=timeline)
    assert _lasted(moves, "leavingpool") == [20, 20, 30]


def test_rsz_9_and_time_2_a_stop_takes_five_seconds_and_more_in_a_slow_run():
    for profile, least, most in (("quick", 4.3, 6.2), ("typical", 4.3, 6.2), ("slow", 30, 56)):
        timeline = [{"at": 10, "stopPoolResize": {"poolId": f"p{number}"}} for number in range(30)]
        moves = _moves(_pools(30, simulate={"allocation": "PT1H"}), {"profile": profile}, timeline=timeline)
        took = {move["t"] - 10 for move in moves if move.get("to") == "steady"}
        assert len(took) > 25
        assert least < min(took) < max(took) < most


def test_time_14_each_loss_has_its_own_time_to_recover():
    fail = [{"at": at, "failNode": {"poolId": "p0", "node": node}} for at in ("PT1H", "PT4H") for node in range(60)]
    moves = _moves(_pools(1, targetDedicatedNodes=60), timeline=fail, until="PT12H")
    found = _lasted(moves, "unusable")
    assert _at(found, 0.5) == pytest.approx(1560, rel=0.1)
    assert len(set(found)) > 100
