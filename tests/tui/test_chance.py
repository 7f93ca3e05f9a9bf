"""What the dashboard shows of chance: the rates of a pool, and faults that come from them."""

from __future__ import annotations

from tests.builders import a_job, a_pool, node_rows, simulation
from tests.tui.test_things import POOL, page
from tui.viewmodels.format import what
from tui.viewmodels.lists import pools as properties
from tui.viewmodels.session import Session
from tui.viewmodels.text import ItemRef


def test_spot_10_a_pool_shows_the_rates_at_which_its_nodes_fail_and_are_evicted(session_at):
    rates = page(session_at(60, "spot-night-by-rate"), ItemRef("pool", "farm"), "Overview")
    text = " ".join(rates)
    assert "Failures 0.1 per node and hour" in text
    assert "Evictions 0.5 per Spot node and hour" in text
    assert "Notice of evictions 00:02:00" in text


def test_node_18_a_pool_without_rates_has_no_block_of_them(session_at):
    assert not any("per node and hour" in text for text in page(session_at(60), POOL, "Overview"))


def test_node_18_the_page_of_a_node_names_the_cause():
    rates = {"nodes": {"failureRate": 2}, "spot": {"evictionRate": 2, "notice": "PT5M"}}
    sim = simulation(pool=a_pool(nodes=2, targetLowPriorityNodes=2), simulate=rates, until="PT6H")
    seen = set()
    while sim.step():
        if sim.world.calendar.instant_is_over():
            session = Session(sim)
            for node in node_rows(sim):
                general = properties.node_general(session, session.nodes().row(node))
                seen |= {(label, span.text) for label, span in general.rows if label in ("Cause", "VM is taken back")}
        if len({label if label != "Cause" else text for label, text in seen}) == 3:
            break
    assert {text for label, text in seen if label == "Cause"} == {
        "failed by chance (failureRate)",
        "evicted by chance (evictionRate)",
    }
    assert any(label == "VM is taken back" for label, _ in seen)


def test_node_18_a_fault_by_chance_is_an_event_of_its_node():
    sim = simulation(a_job(tasks=9), simulate={"nodes": {"failureRate": 10}}, until="PT2H")
    sim.run_until(sim.end_ms)
    session = Session(sim)
    fault = next(row for row in map(session.events.row, range(session.events.count)) if row.event == "FaultInjected")
    assert (what(fault), fault.pool_id, fault.position, fault.is_failure) == ("failNode by chance", "p", 0, True)


def test_spot_10_an_eviction_by_rate_is_announced_in_the_events():
    pool = a_pool(nodes=0, targetLowPriorityNodes=3)
    sim = simulation(a_job(tasks=9), pool=pool, simulate={"spot": {"evictionRate": 10}}, until="PT2H")
    sim.run_until(sim.end_ms)
    session = Session(sim)
    said = {what(row) for row in map(session.events.row, range(session.events.count)) if row.event == "FaultInjected"}
    assert said == {"evictNode by chance, announced"}
