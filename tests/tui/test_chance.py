"""What the dashboard shows of chance: the rates of a pool, and faults that come from them."""

from __future__ import annotations

from tests.builders import a_job, simulation
from tests.tui.test_things import POOL, page
from tui.viewmodels.events.event_list import what
from tui.viewmodels.session.session import Session
from tui.viewmodels.text.styled import ItemRef


def test_spot_10_a_pool_shows_the_rates_at_which_its_nodes_fail_and_are_evicted(session_at):
    rates = page(session_at(60, "spot-night-by-rate"), ItemRef("pool", "farm"), "Overview")
    text = " ".join(rates)
    assert "Failures 0.1 per node and hour" in text
    assert "Evictions 0.5 per Spot node and hour" in text
    assert "Notice of evictions 00:02:00" in text


def test_node_18_a_pool_without_rates_has_no_block_of_them(session_at):
    assert not any("per node and hour" in text for text in page(session_at(60), POOL, "Overview"))


def test_node_18_a_fault_by_chance_is_an_event_of_its_node():
    sim = simulation(a_job(tasks=9), simulate={"nodes": {"failureRate": 10}}, until="PT2H")
    sim.run_until(sim.end_ms)
    session = Session(sim)
    fault = next(row for row in map(session.events.row, range(session.events.count)) if row.event == "FaultInjected")
    assert (what(fault), fault.pool_id, fault.position, fault.is_failure) == ("failNode by chance", "p", 0, True)
