"""What is imported before the first frame of the dashboard: somebody waits for each module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tui import dialogs, viewmodels, workers
from tui.viewmodels import actions

MOST_OF_OURS = 250  # imported by `run` and for the first frame; raise it only for what the first frame shows
_PROGRAM = """
import asyncio, sys
from engine import Simulation, load_scenario
from tui.app.dashboard import Dashboard
from tui.app.main_screen import MainScreen
seen = []
draw = MainScreen.draw_frames
def draw_frames(screen, part):
    seen.extend(seen or sys.modules)
    draw(screen, part)
    screen.app.exit()
MainScreen.draw_frames = draw_frames
Dashboard(Simulation(load_scenario("job-prep-release-sample")), plays=False).run(headless=True, size=(120, 40))
print(*seen)
"""
# Packages, modules and what begins with their names: what only some keys, commands and scenarios need.
NOT_BEFORE_THE_FIRST_FRAME = (
    *(f"{package.__name__}.{name}" for package in (dialogs, viewmodels, actions, workers) for name in package.__all__),
    *("engine.histories", "engine.rest", "engine.scenario.schema", "tui.cli.serving", "tui.cli.studying"),
    *("concurrent.futures.process", "multiprocessing", "numpy", "pyarrow", "matplotlib", "scipy", "distributed"),
    *("lark", "markdown_it", "pygments", "starlette", "textual.widgets._text_area", "tree_sitter", "uvicorn"),
    *("http.client", "urllib.request", "xml.sax"),
)


def modules_at_first_frame() -> set[str]:
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], cwd=root, check=True, capture_output=True, text=True, timeout=120
    )
    return set(done.stdout.split())


def test_the_first_frame_imports_only_what_it_shows():
    modules = modules_at_first_frame()
    early = [
        each for each in modules if f"{each}.".startswith(tuple(f"{name}." for name in NOT_BEFORE_THE_FIRST_FRAME))
    ]
    assert sorted(early) == []
    ours = [each for each in modules if each.partition(".")[0] in ("engine", "scenarios", "tui")]
    assert 200 < len(ours) <= MOST_OF_OURS
