"""Pictures of the screen at stated moments; `pytest tests/tui/test_pictures.py --snapshot-update` takes new ones."""

from __future__ import annotations

import pytest

from tui.viewmodels.tabs import TABS

LATER_S = 330
SIZES = [(120, 40), (80, 24)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.name)
def test_views(snap_compare, dashboard_at, tab, size):
    assert snap_compare(dashboard_at(LATER_S), press=[tab.key], terminal_size=size)


@pytest.mark.parametrize("theme", ["light", "high-contrast", "no-colour"])
def test_themes(snap_compare, dashboard_at, theme):
    assert snap_compare(dashboard_at(LATER_S, theme=theme), terminal_size=(120, 40))


def test_ascii(snap_compare, dashboard_at):
    assert snap_compare(dashboard_at(LATER_S, ascii_only=True), terminal_size=(80, 24))


@pytest.mark.parametrize("keys", [["6", "a", "enter"], ["6", "question_mark"], ["comma"]], ids=["act", "help", "past"])
def test_above_the_deck(snap_compare, dashboard_at, keys):
    assert snap_compare(dashboard_at(LATER_S), press=keys, terminal_size=(120, 40))


def test_before_anything_has_happened(snap_compare, dashboard_at):
    app = dashboard_at(0)
    app.session.simulation.seek(0)
    assert snap_compare(app, terminal_size=(120, 40))


@pytest.mark.parametrize("keys", [["0"], ["0", "w"]], ids=["list", "why"])
def test_job_schedules(snap_compare, dashboard_at, keys):
    app = dashboard_at(51.5 * 3600, "nightly-schedule-overruns")
    assert snap_compare(app, press=keys, terminal_size=(120, 40))
