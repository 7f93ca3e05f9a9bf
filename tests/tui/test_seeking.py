"""On the way to another moment: what is drawn meanwhile is never of a moment that is gone."""

from __future__ import annotations

import asyncio

import pytest

from engine import Simulation, pacing
from tests.tui.driving import arrived, drive
from tests.tui.screen_text import text_of
from tui.app import playback
from tui.app.view_screen import Header
from tui.panes.pages import ListPage
from tui.panes.watch import Watch
from tui.textual.screens import View


@pytest.fixture(autouse=True)
def _slices_are_short(monkeypatch):
    """A way that does not end works in slices until it may go on; the pauses between them are what is waited for."""
    monkeypatch.setattr(pacing, "_SEEK_SLICE_S", 0.001)


async def resized(app, height):
    """Wait until the screen has this many lines; return them. On a way, the pilot may wait too short."""
    async with asyncio.timeout(20):
        while len(lines := text_of(app)) != height:
            await asyncio.sleep(0.001)
    return lines


@pytest.mark.parametrize("view", "1356789")
def test_on_a_long_way_back_another_size_is_drawn_of_what_is_there(dashboard_at, monkeypatch, view):
    app = dashboard_at(330)
    advance, is_long = Simulation.advance, False
    monkeypatch.setattr(Simulation, "advance", lambda run, *given: is_long or advance(run, *given))

    async def run():
        nonlocal is_long
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(view)
            await pilot.pause()
            is_long = True
            app.main_screen.playback.seek(20_000)
            await pilot.resize_terminal(100, 50)
            lines = await resized(app, 50)
            is_long = False
            await arrived(app)
            return lines

    lines = asyncio.run(run())
    assert "SEEKING" in lines[0]
    assert app.session.now_ms == 20_000


@pytest.mark.parametrize(("size", "view"), [((120, 40), "1"), ((100, 30), "9")])
def test_a_view_that_comes_back_after_time_went_back_is_drawn_of_what_is_there(dashboard_at, monkeypatch, size, view):
    app = dashboard_at(330)
    monkeypatch.setattr(View, "on_show", lambda _: None)  # it comes late

    async def run():
        async with app.run_test(size=size) as pilot:
            for key in (view, "2", *"t0", "enter"):
                await pilot.press(key)
                await arrived(app)
            await pilot.resize_terminal(size[0] + 5, size[1] - 2)
            await pilot.press(view)
            await pilot.pause()
            return text_of(app)

    assert len(asyncio.run(run())) == size[1] - 2
    assert app.session.now_ms == 0


def test_a_search_for_a_failure_ends_when_all_that_happens_at_once_has_happened(dashboard_at):
    app = dashboard_at(0)
    drive(app, *"tfailure", "enter")
    run = app.session.simulation
    assert run.log.last_ms == run.now_ms
    assert app.session.events.failures()
    assert run.world.calendar.peek_ms() > run.now_ms


@pytest.mark.parametrize("keys", ["tend", "tfailure"])
def test_while_time_jumps_a_frame_shows_one_moment(dashboard_at, monkeypatch, keys):
    for module, name in ((pacing, "_BEGIN_SEEK_S"), (pacing, "_SEEK_SLICE_S"), (playback, "_SEARCH_SLICE_S")):
        monkeypatch.setattr(module, name, 0.00001)  # a slice of no length would search nothing
        monkeypatch.setattr(module, "_EVENTS_BETWEEN_CLOCK_READS", 1)
    monkeypatch.setattr(pacing, "FRAME_S", 0)
    app, moments, frames = dashboard_at(20), [], []
    screen = app.main_screen
    update, show_way = screen.update, screen.show_way
    monkeypatch.setattr(screen, "update", lambda: update() or moments.append(app.session.clock(app.session.now_ms)))
    monkeypatch.setattr(screen, "show_way", lambda: show_way() or frames.append((moments[-1], text_of(app)[0])))

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            await pilot.press(*keys, "enter")
            await arrived(app)

    asyncio.run(run())
    assert len({header.partition(" SE")[2] for _, header in frames}) > 1
    assert all(moment in header.partition(" SE")[0] for moment, header in frames if header)


@pytest.mark.parametrize("keys", [["right_square_bracket"], ["t", "x", "escape"], ["2"]])
def test_a_key_on_a_long_way_never_leaves_a_header_of_another_moment_than_the_view(dashboard_at, monkeypatch, keys):
    app, drawn = dashboard_at(120), {}
    advance, is_long = Simulation.advance, False

    def part_of_the_way(run, until_ms, *given):
        if not is_long:
            return advance(run, until_ms, *given)
        part_ms = 240_000 if "view" in drawn else 180_000  # the first part is drawn, the second is not
        if run is app.session.simulation and run.now_ms < part_ms:
            advance(run, part_ms, *given)
        return True

    monkeypatch.setattr(Simulation, "advance", part_of_the_way)
    for kind, what, name in ((Header, "header", "show"), (Watch, "view", "update"), (ListPage, "view", "update")):
        method = getattr(kind, name)

        def noted(*given, method=method, what=what):
            drawn[what] = app.session.now_ms
            return method(*given)

        monkeypatch.setattr(kind, name, noted)

    async def run():
        nonlocal is_long
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            is_long = True
            drawn.clear()
            app.main_screen.playback.seek(600_000)
            async with asyncio.timeout(20):
                while app.session.now_ms < 240_000:
                    await asyncio.sleep(0.001)
            for key in keys:
                await pilot.press(key)
            seen = dict(drawn)
            is_long = False
            await arrived(app)
            return seen

    seen = asyncio.run(run())
    assert seen["header"] == seen["view"]
