"""On the way to another moment: what is drawn meanwhile is never of a moment that is gone."""

from __future__ import annotations

import asyncio

import pytest

from engine import Simulation
from tests.tui.driving import arrived
from tests.tui.screen_text import text_of
from tui.textual.screens import View


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
