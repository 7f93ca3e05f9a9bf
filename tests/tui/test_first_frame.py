"""The dashboard starts with what is shown, imports no more than that, and draws anew what has changed."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine import Simulation, load_scenario
from tests.bench.terminal import Terminal
from tests.tui.driving import drive
from tests.tui.screen_text import after, contains, text_of
from tui import dialogs, viewmodels, workers
from tui.app import playback
from tui.app.dashboard import Dashboard
from tui.app.main_screen import MainScreen
from tui.panes.pages import ListPage
from tui.panes.watch import Watch
from tui.textual.views import Regions
from tui.viewmodels import actions
from tui.viewmodels.watch import curves
from tui.widgets.rows import TableRows

MOST_OF_OURS = 250  # imported by `run` and for the first frame; raise it only for what the first frame shows
_PROGRAM = """
import asyncio, sys
from engine import Simulation, load_scenario
from tui.app.dashboard import Dashboard
from tui.app.main_screen import MainScreen
seen = []
refresh = MainScreen._compositor_refresh
def draw(screen):
    refresh(screen)
    if not screen.is_held:
        seen.extend(seen or sys.modules)
        screen.app.exit()
MainScreen._compositor_refresh = draw
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


def test_a_list_is_mounted_when_it_is_first_shown(dashboard_at):
    app, mounted = dashboard_at(330), []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            for key in ("", "5", "1", "5"):
                await pilot.press(*key)
                await pilot.pause()
                mounted.append([page.id for page in app.screen.query(ListPage)])

    asyncio.run(run())
    assert mounted == [[], ["tasks"], ["tasks"], ["tasks"]]


def test_a_list_that_was_never_shown_is_complete_at_once(dashboard_at):
    assert contains(after(dashboard_at(330), "5"), "Task", "Details", "sorted by")


def test_a_chart_is_drawn_again_only_when_it_has_changed(session_at, monkeypatch):
    drawn = []
    plot = curves.plot
    monkeypatch.setattr(curves, "plot", lambda *of: drawn.append(of) or plot(*of))
    session = session_at(330.01)
    model = curves.CurvesModel(session)
    cells = 71, 19  # no other test draws this size, so that nothing of it is kept
    first = model.lines(*cells)
    count = len(drawn)
    session.simulation.run_until(session.now_ms + 1)
    session.update()
    assert model.lines(*cells)[1:-1] == first[1:-1]
    assert len(drawn) == count > 0
    session.simulation.run_until(session.now_ms + 60_000)
    session.update()
    model.lines(*cells)
    assert len(drawn) > count


def test_rows_that_have_moved_are_not_laid_out_again(dashboard_at, monkeypatch):
    app, laid_out, shown = dashboard_at(330), {}, []
    lay_out = TableRows.laid_out
    monkeypatch.setattr(TableRows, "laid_out", lambda *of: laid_out.update(rows := lay_out(*of)) or rows)

    async def run():
        async with app.run_test(size=(120, 60)) as pilot:
            for key in ("5", "o", "O"):
                await pilot.press(key)
                await pilot.pause()
                table = app.screen.list_page.table
                shown.append(([table.model.key(at) for at in range(table.row_count)], dict(laid_out)))

    asyncio.run(run())
    (keys, made), _, (turned, moved) = shown
    assert turned != keys
    assert set(made) == set(turned) == set(keys)
    assert all(moved[key] is row for key, row in made.items())


class FirstFrame(Terminal):
    """A terminal that keeps the first frame."""

    frame = ""

    def write(self, data):
        super().write(data)
        self.frame = self.frame or (data if self.writes else "")


def test_panes_that_move_are_filled_before_they_are_seen(dashboard_at, monkeypatch):
    filled, seen = [], []
    fill, refresh = Watch._update_panes, MainScreen._compositor_refresh

    def note_filled(watch):
        fill(watch)
        filled[:] = [watch.query_one(Regions).regions]

    def note_seen(screen):
        refresh(screen)
        if not screen.is_held and screen.view.id == "watch":
            seen.append((screen.view.query_one(Regions).regions, *filled))

    monkeypatch.setattr(Watch, "_update_panes", note_filled)
    monkeypatch.setattr(MainScreen, "_compositor_refresh", note_seen)
    drive(dashboard_at(330), "G", "z", "z")
    assert len({str(regions) for regions, _ in seen}) > 1
    assert all(regions == known for regions, known in seen)


@pytest.mark.parametrize("at_ms", [0, 330_000])
def test_the_first_frame_is_complete(at_ms, monkeypatch):
    monkeypatch.setattr(playback, "AHEAD_SLICE_S", 10)  # what is ahead is known in the first frame
    app = Dashboard(Simulation(load_scenario("job-prep-release-sample")), at_ms=at_ms, plays=False)
    app.driver_class = FirstFrame
    frame, settled = [], []

    async def run(_):
        while not app._driver.frame:
            await asyncio.sleep(0.05)
        frame.extend(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", app._driver.frame).splitlines())
        for _ in range(20):  # on a busy machine it takes longer until nothing is being laid out
            await asyncio.sleep(0.5)
            settled[:] = text_of(app)
            if settled == frame:
                break
        app.exit()

    asyncio.run(app.run_async(size=(120, 40), auto_pilot=run))
    assert frame == settled
    assert contains(settled, "JobPrepReleaseSampleJob · ")  # what happens at the first moment has happened
