"""Pictures of the screen at stated moments; `pytest tests/tui/test_pictures.py --snapshot-update` takes new ones."""

from __future__ import annotations

from functools import cache

import pytest

from tests.builders import READY_S, a_job, a_line, a_pool, run_to, simulation
from tests.tui.conftest import simulation_at
from tests.tui.driving import drive
from tui.app.dashboard import Dashboard
from tui.saving.settings import ANSI, CONTRAST, Settings
from tui.textual.views import LinesView
from tui.viewmodels.go_line import TABS
from tui.viewmodels.text import Role

LATER_S = 330
SIZES = [(120, 40), (80, 24)]
THEMES = ["dark", "light", "no-colour"]
# Each view where it has something to show: a bundled scenario, and the moment in seconds.
SCENES = {
    "watch": ("preparation-fails-on-one-node", 260),
    "pools": ("quota-keeps-the-pool-small", 400),
    "nodes": ("spot-evictions", 345),
    "jobs": ("every-way-to-end-a-job", 300),
    "tasks": ("retries-and-exit-conditions", 200),
    "preparation": ("preparation-retries", 150),
    "release": ("release-fails", 240),
    "timeline": ("nodes-fail-and-recover", 900),
    "events": ("preparation-fails-on-one-node", 260),
    "schedules": ("nightly-schedule-overruns", 185_400),
}


@cache
def scene(view):
    """The run of a view's scene; pictures do not change it."""
    name, seconds = SCENES[view]
    return simulation_at(seconds, name)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.name)
def test_views(snap_compare, tab, size, theme):
    app = Dashboard(scene(tab.name), plays=False, settings=Settings({"theme": theme}))
    assert snap_compare(app, press=[tab.key], terminal_size=size)


def show_only_the_header(pilot):
    """Hide everything but the header, whose last line is the row of views."""
    for pane in pilot.app.main_screen.children:
        pane.visible = pane.id == "header"


@pytest.mark.parametrize("theme", [*THEMES, CONTRAST, ANSI])
@pytest.mark.parametrize("size", [*SIZES, (60, 16)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_tabs(snap_compare, dashboard_at, size, theme):
    app = dashboard_at(LATER_S, theme=theme)
    assert snap_compare(app, press=["6"], terminal_size=size, run_before=show_only_the_header)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_tab_of_the_view_that_is_shown_is_highlighted(dashboard_at, size):
    highlighted = []

    def note(app):
        (line,) = app.screen.query_one("#header #tabs", LinesView).lines
        (name,) = (span.text.strip() for span in line if span.role is Role.STRONG)
        highlighted.append(name)

    drive(dashboard_at(LATER_S), *(step for tab in TABS for step in (tab.key, note)), size=size)
    assert all(
        name and name in (tab.title, tab.short[: len(name)]) for name, tab in zip(highlighted, TABS, strict=True)
    )


def test_high_contrast(snap_compare, dashboard_at):
    assert snap_compare(dashboard_at(LATER_S, theme="high-contrast"), terminal_size=(120, 40))


def test_ascii(snap_compare, dashboard_at):
    assert snap_compare(dashboard_at(LATER_S, ascii_only=True), terminal_size=(80, 24))


@pytest.mark.parametrize("size", [(200, 60), (120, 30), (60, 16)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_watch_at_other_sizes(snap_compare, dashboard_at, size):
    assert snap_compare(dashboard_at(530, "forty-nodes"), terminal_size=size)


def test_many_nodes_have_half_a_cell_each(snap_compare):
    many = a_pool(nodes=300)
    prep = a_line(60, {0: 0.95, 1: 0.05}, simulate={"duration": {"normal": [60, 20]}})
    sim = simulation(a_job(tasks=600, prep=prep), pool=many, account={"quotas": {"dedicatedCores": 600}})
    run_to(sim, seconds=READY_S + 60)
    assert snap_compare(Dashboard(sim, plays=False), press=["right", "m", "down", "down"], terminal_size=(80, 24))


def test_the_timeline_in_ascii(snap_compare, dashboard_at):
    app = dashboard_at(530, "forty-nodes", ascii_only=True)
    assert snap_compare(app, press=["8", "o", "o", "down"], terminal_size=(120, 40))


@pytest.mark.parametrize("keys", [["6", "a", "enter"], ["6", "question_mark"], ["comma"]], ids=["act", "help", "past"])
def test_above_the_deck(snap_compare, dashboard_at, keys):
    assert snap_compare(dashboard_at(LATER_S), press=keys, terminal_size=(120, 40))


def test_before_anything_has_happened(snap_compare, dashboard_at):
    app = dashboard_at(0)
    app.session.simulation.seek(0)
    assert snap_compare(app, terminal_size=(120, 40))


def test_why_a_job_schedule_waits(snap_compare):
    assert snap_compare(Dashboard(scene("schedules"), plays=False), press=["0", "w"], terminal_size=(120, 40))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_settings(snap_compare, dashboard_at, size):
    settings = Settings({"time": "elapsed"}, keys={"row.why": "E"})
    assert snap_compare(dashboard_at(LATER_S, settings=settings), press=["s", "down"], terminal_size=size)


@pytest.mark.parametrize("theme", [ANSI, CONTRAST])
def test_other_themes(snap_compare, dashboard_at, theme):
    assert snap_compare(dashboard_at(LATER_S, theme=theme), press=["3"], terminal_size=(120, 40))


# Each kind of thing at a page that shows what it can: a scenario, the moment in seconds, the keys that lead there.
BLADES = {
    "node": ("nodes-fail-and-recover", 900, ["3", "enter", *["right"] * 5]),
    "pool": ("spot-evictions", 345, ["2", "enter"]),
    "job": ("preparation-fails-on-one-node", 260, ["4", "enter", "right"]),
    "task": ("retries-and-exit-conditions", 200, ["5", "down", "enter", *["right"] * 3]),
}


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("kind", BLADES)
def test_blades(snap_compare, kind, size):
    name, seconds, keys = BLADES[kind]
    assert snap_compare(Dashboard(simulation_at(seconds, name), plays=False), press=keys, terminal_size=size)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_help(snap_compare, dashboard_at, size):
    assert snap_compare(dashboard_at(LATER_S), press=["3", "question_mark"], terminal_size=size)
