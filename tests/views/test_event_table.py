"""The event log as a table: files of both kinds hold what the JSON Lines hold, in batches of any size."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine import Simulation, load_scenario
from engine.scenario.text import bundled
from engine.views import tables
from tests.builders import a_pool, simulation
from tests.event_table import check_table


def played(scenario):
    sim = Simulation(scenario)
    sim.run_until(sim.end_ms)
    sim.finish()
    return sim


@pytest.mark.parametrize("name", bundled())
def test_a_table_holds_what_the_lines_hold(name):
    sim = played(load_scenario(name))
    check_table(sim, ".parquet")
    check_table(sim, ".arrow")


@pytest.mark.parametrize("together", [1, 7, 64])
def test_tasks_that_were_added_together_may_lie_in_several_batches(together, monkeypatch):
    monkeypatch.setattr(tables, "TOGETHER", together)
    sim = played(load_scenario("nodes-for-a-deadline"))
    assert max(batch.num_rows for batch in tables.event_batches(sim)) == together
    check_table(sim, ".arrow")


def test_a_log_without_tasks_and_one_without_events_are_tables():
    check_table(simulation(pools=[a_pool()]), ".parquet")
    check_table(simulation(), ".parquet")


def test_no_dictionary_grows_with_the_number_of_tasks():
    assert tables.SCHEMA.field("taskId").type == pa.string()


def test_equal_runs_give_equal_files():
    one, other = (
        b"".join(tables.file_pieces(played(load_scenario("preparation-retries")), ".parquet")) for _ in range(2)
    )
    assert one == other
