"""Tests of ``simulate``: times and distributions, exit codes, overrides, sizes."""

import pytest
from pydantic import ValidationError

from engine.specs.account import SimulateStorage
from engine.specs.base import Distribution
from engine.specs.common import DiskRates, NetworkRates, Simulate, SimulateNodes, SimulateSpot
from engine.specs.machine import SimulateNetwork


@pytest.mark.parametrize(
    ("given", "kind", "values"),
    [
        ("PT1M30S", "constant", (90_000,)),
        (2, "constant", (2000,)),
        (0.25, "constant", (250,)),
        ({"constant": "PT1S"}, "constant", (1000,)),
        ({"uniform": ["PT1S", 3]}, "uniform", (1000, 3000)),
        ({"normal": ["PT40S", "PT10S"]}, "normal", (40_000, 10_000)),
        ({"lognormal": ["PT3M", 0.4]}, "lognormal", (180_000, 0.4)),
        ({"exponential": "PT5S"}, "exponential", (5000,)),
        ({"triangular": [1, 2, 4]}, "triangular", (1000, 2000, 4000)),
        ({"choice": ["PT1S", "PT9S", "PT2S", 0]}, "choice", (1000, 9000, 2000, 0)),
    ],
)
def test_a_time_or_a_distribution_is_read_and_written(given, kind, values):
    simulate = Simulate.from_wire({"duration": given})
    assert simulate.duration == Distribution(kind=kind, values=values)
    assert Simulate.from_wire(simulate.written()) == simulate


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("-PT1S", "negative"),
        (-1, "negative"),
        (True, "number"),
        (float("inf"), "number"),
        ("soon", "ISO 8601"),
        ("P10675199DT2H48M5.4775807S", "no end"),
        (10**30, "no end"),
        (10**400, "number"),
        ({"exponential": 10**30}, "no end"),
        ({"uniform": ["PT5S", "PT3S"]}, "in this order"),
        ({"uniform": ["PT5S"]}, "least, most"),
        ({"triangular": [1, 5, 4]}, "in this order"),
        ({"normal": ["PT40S", -1]}, "negative"),
        ({"lognormal": ["PT3M", "PT1S"]}, "sigma"),
        ({"lognormal": ["PT3M", 11]}, "sigma must be 10 or less"),
        ({"choice": []}, "a list of times"),
        ({"weibull": [1, 2]}, "lognormal"),
        ({"uniform": [1, 2], "normal": [1, 2]}, "one of"),
        ({"kind": "uniform", "values": [1, 2]}, "one of"),
        ({}, "one of"),
        ([1, 2], "number"),
    ],
)
def test_a_time_that_cannot_be_is_a_mistake(given, message):
    with pytest.raises(ValidationError, match=message) as caught:
        Simulate.from_wire({"duration": given})
    assert caught.value.errors()[0]["loc"] == ("duration",)


def test_an_exit_code_or_weights_for_each():
    assert Simulate.from_wire({"exitCode": -5}).exit_code == -5
    assert Simulate.from_wire({"exitCode": {0: 0.97, "-1": 0.03}}).exit_code == ((0, 0.97), (-1, 0.03))
    assert Simulate(exit_code=((0, 1), (1, 2))).written() == {"exitCode": {"0": 1.0, "1": 2.0}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({0: -1, 1: 2}, "negative"),
        ({0: 0, 1: 0}, "above zero"),
        ({}, "above zero"),
        ({"one": 1}, "whole number"),
        ({0: "1"}, "number"),
        ("1", "weights"),
        (True, "weights"),
        (1.5, "weights"),
    ],
)
def test_exit_codes_that_cannot_be_are_a_mistake(given, message):
    with pytest.raises(ValidationError, match=message):
        Simulate.from_wire({"exitCode": given})


def test_overrides_by_attempt_and_by_node_index():
    simulate = Simulate.from_wire(
        {"attempts": [{"exitCode": 1}, {}], "onNode": {1: {"stdout": "a"}, "2": {"found": False}}}
    )
    assert simulate.attempts == (Simulate(exit_code=1), Simulate())
    assert simulate.on_node == {1: Simulate(stdout="a"), 2: Simulate(found=False)}


def test_rates_are_a_size_for_both_directions_or_one_for_each():
    assert Simulate.from_wire({"disk": "50 MB"}).disk == DiskRates(read=50_000_000, write=50_000_000)
    assert Simulate.from_wire({"disk": "50 MB/s"}) == Simulate.from_wire(
        {"disk": {"read": "50 MB/s", "write": "50 MB"}}
    )
    assert Simulate.from_wire({"disk": {"write": 7}}).disk == DiskRates(read=0, write=7)
    network = Simulate.from_wire({"network": {"in": "1 kB", "out": 5}})
    assert network.network == NetworkRates(in_=1000, out=5)
    assert network.written() == {"network": {"in": 1000, "out": 5}}
    assert Simulate.from_wire({"network": 3}).written() == {"network": {"in": 3, "out": 3}}


@pytest.mark.parametrize("body", [{"disk": "fast"}, {"network": -1}, {"disk": {"reads": 1}}, {"network": {"in": "x"}}])
def test_rates_that_cannot_be_are_a_mistake(body):
    with pytest.raises(ValidationError):
        Simulate.from_wire(body)


@pytest.mark.parametrize(
    "body", [{"cpu": 101}, {"memory": -1}, {"onNode": {-1: {}}}, {"onNode": {"a": {}}}, {"found": 1}]
)
def test_values_out_of_range_are_a_mistake(body):
    with pytest.raises(ValidationError):
        Simulate.from_wire(body)


def test_the_world_around_the_tasks():
    assert SimulateNodes.from_wire({"reboot": "PT1M"}).reboot == Distribution.constant(60_000)
    assert SimulateNetwork.from_wire({"freeAddresses": 3}) == SimulateNetwork(free_addresses=3, blocked=False)
    assert SimulateNetwork.from_wire({"blocked": [29876, 443]}).blocked == (29876, 443)


def test_rates_are_numbers_of_events_and_the_notice_is_a_time():
    assert SimulateNodes.from_wire({"failureRate": 0.02}).failure_rate == 0.02
    spot = SimulateSpot.from_wire({"evictionRate": 1, "notice": "PT2M"})
    assert (spot.eviction_rate, spot.notice) == (1, 120_000)
    assert SimulateSpot.from_wire(spot.written()) == spot
    assert (SimulateSpot().eviction_rate, SimulateSpot().notice) == (0, 30_000)


@pytest.mark.parametrize("rate", [-0.1, "often", True, float("nan"), float("inf"), 3601])
def test_a_rate_that_is_none(rate):
    with pytest.raises(ValidationError):
        SimulateNodes.from_wire({"failureRate": rate})


@pytest.mark.parametrize("notice", [-1, "soon", True, {"exponential": "PT1M"}])
def test_a_notice_that_is_none(notice):
    with pytest.raises(ValidationError):
        SimulateSpot.from_wire({"notice": notice})


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("4 GB", 4_000_000_000),
        ("800 MB", 800_000_000),
        ("1.5 GiB", 1_610_612_736),
        ("12kb", 12_000),
        ("7 B", 7),
        (9, 9),
    ],
)
def test_sizes_are_bytes(given, size):
    assert SimulateStorage.from_wire({"size": given}).size == size


@pytest.mark.parametrize("given", ["4", "4 GX", "-4 GB", -4, True, 1.5])
def test_a_size_that_is_none(given):
    with pytest.raises(ValidationError, match="is not a size"):
        SimulateStorage.from_wire({"size": given})
