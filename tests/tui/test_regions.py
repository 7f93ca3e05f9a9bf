"""Panes of the Watch view stand where their arrangement says, whatever has changed it."""

from __future__ import annotations

import asyncio

import pytest

from tests.tui.conftest import SOON_S
from tests.tui.driving import drive
from tests.tui.screen_text import after, contains, text_of
from tui.textual.keys import Keymap
from tui.textual.views import Regions


def places(app):
    """Where the panes should be, and where they are, by id."""
    panes = app.screen.query_one(Regions)
    wanted = {name: tuple(region.translate(panes.region.offset)) for name, region in panes.regions.items()}
    return wanted, {child.id: tuple(child.region) for child in panes.children if child.id in wanted}


def after_all(app, *steps, size=(120, 40)):
    """The places of the panes after keys, sizes, and functions of the application."""

    async def run():
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for step in steps:
                if isinstance(step, tuple):
                    await pilot.resize_terminal(*step)
                elif callable(step):
                    step(app)
                else:
                    await pilot.press(step)
                await pilot.pause(SOON_S)
            return places(app)

    return asyncio.run(run())


@pytest.mark.parametrize(
    "steps",
    [[(118, 38)], ["8", "1", (100, 30)], ["8", (100, 30), "1"], ["z", (118, 38), "escape"], ["4", (140, 45), "1"]],
    ids=["resized", "resized after another view", "resized in another view", "resized while maximised", "grown"],
)
def test_panes_follow_a_new_size(dashboard_at, steps):
    wanted, found = after_all(dashboard_at(100, "spot-evictions"), *steps)
    assert found == wanted


def test_panes_follow_another_arrangement_of_the_same_panes_at_the_same_size(dashboard_at):
    def move(app):
        panes = app.screen.query_one(Regions)
        panes.place({name: (x, y, width, height - 1) for name, (x, y, width, height) in panes.regions.items()})

    wanted, found = after_all(dashboard_at(100, "spot-evictions"), move)
    assert found == wanted


@pytest.mark.parametrize("view", ["1", "2", "8"])
def test_a_pane_has_the_focus_again_when_the_terminal_was_too_small_for_any(dashboard_at, view):
    focused = []

    def note(app):
        focused.append(app.focused)

    after_all(dashboard_at(100, "spot-evictions"), view, note, (10, 3), (120, 40), note)
    assert focused[0] is not None
    assert focused[-1] is focused[0]


def test_every_pane_is_drawn_for_its_new_size(dashboard_at):
    app, blank = dashboard_at(300, "every-way-to-end-a-job"), []

    def note(app):
        lines = text_of(app)
        region = app.screen.query_one("#strip").region
        rows = [lines[y][region.x + 1 : region.right - 1] for y in range(region.y + 1, region.bottom - 1)]
        blank.append(sum(not row.strip() for row in rows))
        assert len(rows) > 3

    after_all(app, (200, 60), note, size=(80, 24))
    assert blank == [0]


@pytest.mark.parametrize("introduces", [True, False])
def test_on_a_low_screen_the_welcome_names_the_first_keys_and_moves_no_pane(dashboard_at, introduces):
    lines = after(dashboard_at(0, "preparation-fails-on-one-node", introduces=introduces), size=(80, 24))
    assert contains(lines, "Preparation fails") == introduces
    assert contains(lines, "ctrl+o opens another") == introduces
    assert contains(lines, "  Prep    ", "  Tasks   ", "  Release ")


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_only_the_pane_with_the_focus_has_a_frame_and_no_pane_moves_with_it(dashboard_at, size):
    frames, regions = [], []

    def look(app):
        lines = text_of(app)
        assert not contains(lines, "▊")  # titles stand on blanks
        frames.append([line.count("╭─ ") for line in lines[3:]])
        regions.append([widget.region for widget in app.screen.query("#panes > *")])

    drive(dashboard_at(330), look, *("tab", look) * 4, size=size)
    assert [sum(each) for each in frames] == [1] * 5
    assert len({tuple(each) for each in frames}) > 1
    assert all(each == regions[0] for each in regions)


def test_titles_show_the_keys_of_their_panes_as_they_are_now(dashboard_at):
    app = dashboard_at(330)
    app.main_screen.keymap = Keymap({"row.why": "f9"})
    seen = after(app, size=(160, 50))
    assert contains(seen, "f9 why", "l lens", "a act   m mark")
