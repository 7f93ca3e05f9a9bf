"""A dashboard that stands still at a stated moment."""

from __future__ import annotations

import asyncio
import math
from functools import cache
from pathlib import Path

import pytest
import textual.app
import textual.pilot
from textual.css.stylesheet import Stylesheet

from engine import Simulation, load_scenario, pacing
from tests.tui.studying import PlayedHere, night_dashboard
from tui import dialogs
from tui.app.dashboard import Dashboard
from tui.saving.settings import Settings, Source
from tui.viewmodels.session import Session

dialogs.import_all()  # with what else a dashboard imports after its first frame, once for all tests

SOON_S = 0.06  # longer than Textual delays a frame, a resize or a batch of updates
LONGEST_S = 60  # some tests play a whole study
SCENARIOS = Path(__file__).parent / "scenarios"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    """No variable of the machine decides how a screen looks."""
    for name in ("NO_COLOR", "COLORTERM", "TEXTUAL_THEME", "TEXTUAL_ANIMATIONS", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


async def settle(_min_s: float = 0, _max_s: float = 0) -> None:
    """Let the application work until it waits for a key, or for a timer that is not due soon.

    Textual's own test driver sleeps until the process has used little of the processor for a while. That takes a
    twentieth of a second for each key, and on a busy machine mistakes a process that has no turn for an idle one.
    Where time goes by there is always a timer, so that waiting for timers ends after a moment. What the event loop has
    in hand is not public, so it is read in this one place. An application that goes on for ever, as one whose panes
    resize each other, fails.
    """
    loop = asyncio.get_running_loop()
    end_s, waited_s = loop.time() + LONGEST_S, 0.0
    while loop.time() < end_s:
        await asyncio.sleep(0)
        if loop._ready:
            continue
        next_s = min((handle.when() for handle in loop._scheduled if not handle.cancelled()), default=math.inf)
        delay_s = max(0.001, next_s - loop.time())
        if delay_s > SOON_S or waited_s > SOON_S:
            return
        waited_s += delay_s
        await asyncio.sleep(delay_s)
    pytest.fail(f"the application has not come to rest within {LONGEST_S} s")


async def no_wait(_pilot: textual.pilot.Pilot) -> bool:
    """Do not wait for each widget to handle a message: ``settle`` follows, which waits for all of them at once.

    Textual's own test driver sends a message to every widget after every key, which took a third of the time of a test.
    """
    return True


@pytest.fixture(autouse=True)
def _settles_without_sleeping(monkeypatch):
    monkeypatch.setattr(textual.pilot.Pilot, "_wait_for_screen", no_wait)
    monkeypatch.setattr(textual.pilot, "wait_for_idle", settle)
    monkeypatch.setattr(textual.app, "wait_for_idle", settle)


@pytest.fixture(autouse=True)
def _pauses_are_timers(monkeypatch):
    """Where time goes by there is always a timer, so that ``settle`` does not take it for work that is to be done."""
    monkeypatch.setattr(pacing, "ROUNDS", 1)
    monkeypatch.setattr(pacing, "ROUND_S", 0.001)


_PARSED = {}  # the rules of a style sheet, by its text and its variables
_PARSE = Stylesheet._parse_rules


def parse_once(stylesheet, *of, **how):
    """Parse a style sheet as Textual does, but once for all applications, which would parse the same text each."""
    key = of, tuple(how.items()), frozenset(stylesheet._variables.items())
    if key not in _PARSED:
        _PARSED[key] = _PARSE(stylesheet, *of, **how)
    return _PARSED[key]


@pytest.fixture(autouse=True)
def _style_sheets_are_parsed_once(monkeypatch):
    monkeypatch.setattr(Stylesheet, "_parse_rules", parse_once)


@cache
def scenario_of(name):
    """A scenario of these tests, or a bundled one. No run changes it, so that it is loaded once."""
    path = SCENARIOS / f"{name}.yaml"
    return load_scenario(str(path) if path.exists() else name)


def simulation_at(seconds, name="one-node-fails"):
    """A run of a scenario, taken to a moment."""
    simulation = Simulation(scenario_of(name))
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


def hide_tabs(pilot):
    """Leave the row of views blank: it has the same height, and nothing else moves."""
    pilot.app.main_screen.query_one("#header #tabs").visible = False


@pytest.fixture
def snap_compare(snap_compare):
    """Take pictures without the row of views, so that a new view changes only the pictures of the row itself."""
    return lambda app, **how: snap_compare(app, **{"run_before": hide_tabs} | how)


@pytest.fixture
def played_here(monkeypatch):
    """Studies are played by this process when they are begun."""
    monkeypatch.setattr("tui.workers.background.BackgroundStudy", PlayedHere)
    monkeypatch.setattr(PlayedHere, "HELD", 0)


@pytest.fixture
def night(tmp_path, monkeypatch):
    """Make a dashboard on the scenario with other lines at its end, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    return night_dashboard
