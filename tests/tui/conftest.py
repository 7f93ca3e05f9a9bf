"""A dashboard that stands still at a stated moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import Simulation, load_scenario
from tui.app.dashboard import Dashboard
from tui.settings.values import Settings, Source
from tui.viewmodels.session.session import Session

SCENARIOS = Path(__file__).parent / "scenarios"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    """No variable of the machine decides how a screen looks."""
    for name in ("NO_COLOR", "COLORTERM", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


def simulation_at(seconds, name="one-node-fails"):
    """A run of a scenario, taken to a moment."""
    path = SCENARIOS / f"{name}.yaml"
    simulation = Simulation(load_scenario(str(path) if path.exists() else name))
    simulation.run_until(round(seconds * 1000))
    return simulation


@pytest.fixture
def session_at():
    """Make a session of a run at a moment."""
    return lambda seconds, name="one-node-fails", **how: Session(simulation_at(seconds, name), **how)


@pytest.fixture
def dashboard_at():
    """Make a dashboard of a run at a moment; it stands still."""

    def make(seconds, name="one-node-fails", *, settings=None, theme=None, ascii_only=False, **how):
        settings = settings or Settings()
        for option, value in (("theme", theme), ("glyphs", "ascii" if ascii_only else None)):
            if value is not None:
                settings.use(option, value, Source.COMMAND_LINE)
        return Dashboard(simulation_at(seconds, name), settings, plays=False, **how)

    return make
