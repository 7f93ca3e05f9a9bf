"""What the command line says: tables whose words stay whole, and scenarios that may have been meant."""

from __future__ import annotations

import pytest
from rich.console import Console

from engine import Simulation, load_scenario
from engine.views import results
from tests.command import batchdeck
from tui.cli import output


@pytest.fixture(scope="module")
def summary():
    simulation = Simulation(load_scenario("one-pool-per-scheduled-job"))
    simulation.run_until(simulation.end_ms)
    simulation.finish()
    return results.summary(simulation)


def pools(text):
    lines = text.splitlines()
    first = next(at for at in range(lines.index("Pools"), len(lines)) if lines[at].startswith("─")) + 1
    return lines[first : lines.index("", first)]


def test_no_word_of_a_table_is_broken_in_a_terminal(summary):
    said = output.summary_text(summary, Console(width=80, force_terminal=True, color_system=None))
    assert all(len(line) <= 80 for line in said.splitlines())
    rows = pools(said)
    assert sum(row.startswith(("fresh_", "shared_")) for row in rows) == 4
    assert all("standard_d2s_v3" in row for row in rows if row[0] != " ")
    assert all("…" in row for row in rows if row.startswith(("fresh_", "shared_")))


def test_ids_are_whole_where_another_program_reads_them(summary):
    said = output.summary_text(summary, Console(width=80, force_terminal=False))
    ids = {pool.pool_id for pool in summary.pools}
    assert {row.split()[0] for row in pools(said) if row[0] != " "} == ids


def test_all_scenarios_whose_names_begin_so_are_suggested():
    said = batchdeck("run", "preparation-fail")
    assert said.returncode == 2
    assert "'preparation-fails-everywhere' or 'preparation-fails-on-one-node'" in said.stderr
    assert "preparation-retries" not in said.stderr


@pytest.mark.parametrize(
    ("name", "meant"), [("priority-and-fairness", "priorities-and-fairness"), ("no/such.yaml", "")]
)
def test_a_missing_file_names_the_nearest_and_how_to_list_all(name, meant):
    said = batchdeck("run", name)
    assert said.returncode == 2
    assert meant in said.stderr
    assert "`batchdeck scenarios`" in said.stderr
    assert len(said.stderr) < 300
