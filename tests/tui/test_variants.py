"""A variant of a study in the dashboard: what says that it is one, and what keeps it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import Simulation, load_scenario
from engine.studies.runs import Variants, planned
from tests.studies.conftest import NIGHT
from tests.tui.driving import drive
from tests.tui.pages import content_of, page_of
from tests.tui.screen_text import contains, messages_of, text_of
from tui.app.dashboard import Dashboard

NODES = "pools.render.targetDedicatedNodes"
STUDY = f"study:\n  vary:\n    {NODES}: [1, 3]\n"
OPTION = "jobs.shot-1.priority=0,5"


@pytest.fixture
def variant(tmp_path, monkeypatch):
    """A run of variant 4 with seed 2, in a directory with the file of its scenario."""
    monkeypatch.chdir(tmp_path)
    Path("night.yaml").write_text(NIGHT + STUDY)
    scenario = load_scenario("night.yaml")
    return Simulation(Variants(planned(scenario, [OPTION])).chosen(4, scenario), seed=2)


def nodes_of(app):
    variant = app.session.simulation.scenario.variant
    return None if variant is None else (variant.number, variant.values[NODES], app.session.simulation.seed)


@pytest.mark.parametrize(("size", "shown"), [((120, 40), "night, variant 4"), ((80, 24), "variant 4")])
def test_the_header_says_which_variant_is_shown(variant, size, shown):
    seen = []
    drive(Dashboard(variant, plays=False), lambda app: seen.append(text_of(app)[0]), size=size)
    assert shown in seen[0]


def test_reloading_and_another_seed_keep_the_variant(variant):
    app = Dashboard(variant, plays=False)
    seen = []

    def edit(_app):
        Path("night.yaml").write_text(NIGHT + STUDY.replace("[1, 3]", "[3, 1, 2]"))

    def look(app):
        seen.append((nodes_of(app), messages_of(app)[-1:]))

    drive(app, "ctrl+r", look, edit, "ctrl+r", look, *":seed 9", "enter", look)
    assert seen[0] == ((4, 3, 2), ["Reloaded variant 4."])
    assert seen[1] == ((2, 3, 2), ["Reloaded variant 2, which was variant 4."])
    assert seen[2][0] == (2, 3, 9)


def test_reloading_says_if_there_is_no_such_variant_any_more_and_changes_nothing(variant):
    app = Dashboard(variant, plays=False)
    seen = []
    Path("night.yaml").write_text(NIGHT)
    drive(app, "ctrl+r", lambda app: seen.append((text_of(app), nodes_of(app))))
    assert contains(seen[0][0], "there is no variant 4 any more, the last is 2")
    assert seen[0][1] == (4, 3, 2)


def test_a_session_of_a_variant_is_saved_as_a_scenario_of_its_own(variant):
    seen = []
    drive(Dashboard(variant, plays=False), "R", lambda app: seen.append(text_of(app)), "enter")
    assert contains(seen[0], "night-variant-4-session.yaml", "As variant 4: pools.render.targetDedicatedNodes=3")
    saved = load_scenario("night-variant-4-session.yaml")
    assert (saved.pools, saved.seed) == (variant.scenario.pools, 2)
    assert Path("night-variant-4-session.yaml").read_text().startswith("# Variant 4 of night.yaml: ")


def test_the_page_says_which_variant_it_is_about(variant):
    variant.run_until(60_000)
    assert content_of(page_of(variant))["run"]["variant"].startswith("variant 4: pools.render.targetDedicatedNodes=3")
