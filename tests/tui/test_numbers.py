"""Numbers on all screens of a run with ten thousand nodes: they have thousands separators."""

from __future__ import annotations

import re
from functools import partial

import pytest

from engine import Simulation, load_scenario
from tests.bench.workloads import Workload
from tests.tui.driving import drive
from tests.tui.screen_text import text_of
from tui.app.dashboard import Dashboard
from tui.saving.settings import Settings
from tui.viewmodels.go_line import TABS

# Five digits without a separator that are no part of a name, an address, a code or a decimal fraction.
UNSEPARATED = re.compile(r"(?<![\w.,:/#-])\d{5,}(?![\w-])")


@pytest.fixture(scope="module")
def run():
    """A run of ten thousand nodes in the middle of its tasks."""
    text = Workload("many", 20_000, 10_000, 4, jobs=1, prepared=True, retried=True).scenario()
    simulation = Simulation(load_scenario("many", text=text))
    while simulation.advance(simulation.end_ms, 4096):
        if simulation.world.jobs.rows and simulation.world.jobs.rows[0].counts[3] > 10_000:
            break
    return simulation


def test_the_pattern_finds_a_number_without_separators():
    assert UNSEPARATED.findall("10000/10000 of 10,000 task-12345 n10000 0.12345") == ["10000"]


def test_large_numbers_have_separators_on_every_screen(run):
    """One dashboard goes through all views: it takes seconds to start on so many nodes."""
    app = Dashboard(run, Settings(), plays=False)
    screens = {}

    def look(tab, _):
        assert (app.main_screen.maximized is not None) == bool(tab.model)
        screens[tab.name] = text_of(app)

    steps = []
    for tab in TABS:
        # Lists have no details: they quote environments and scripts as they are.
        steps += [*((tab.key, "z") if tab.model else (tab.key,)), partial(look, tab)]
    drive(app, *steps, size=(200, 60))
    assert list(screens) == [tab.name for tab in TABS]
    assert all(tab.title in screens[tab.name][0] for tab in TABS)
    assert {name: found for name, lines in screens.items() if (found := list(filter(UNSEPARATED.search, lines)))} == {}
