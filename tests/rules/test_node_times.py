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
