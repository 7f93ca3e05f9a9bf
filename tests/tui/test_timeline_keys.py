"""The timeline on the screen: its keys, the mouse, and what is opened from it."""

from __future__ import annotations

import asyncio
import re

from textual import events

from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tests.tui.test_timeline import LATER_S, five_seconds


def test_before_there_is_anything_it_says_so(dashboard_at):
    lines = []
    drive(dashboard_at(0), "8", lambda app: lines.extend(text_of(app)))
    assert contains(lines, "There is no node yet.")


def test_enter_goes_to_the_moment_and_w_explains_it_without_going_there(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    earlier = ["left"] * 40

    def look(app):
        seen.append((app.session.now_ms, app.session.is_past))

    drive(
        app,
        "8",
        five_seconds,
        "down",
        *earlier,
        "w",
        look,
        lambda app: seen.append(text_of(app)),
        "escape",
        "enter",
        look,
    )
    assert seen[0] == (LATER_S * 1000, False)
    assert contains(seen[1], "Why, at 08:02:12", "Why is n1 ineligible for job risk?")
    assert seen[2] == (132_000, True)


def test_keys_move_zoom_and_change_rows(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def note(app):
        grid = app.screen.focused
        seen.append((grid.subject, grid.model.columns.step_ms, grid.model.rows.name, grid.model.cursor_ms))

    drive(
        app,
        "8",
        five_seconds,
        "end",
        note,
        "home",
        "plus",
        note,
        "minus",
        "minus",
        note,
        "r",
        note,
        "asterisk",
        note,
        "shift+left",
        note,
    )
    assert [subject.key for subject, *_ in seen[:3]] == [5, 0, 0]
    assert [step for _, step, *_ in seen] == [5_000, 2_500, 10_000, 10_000, 3_500, 3_500]
    assert [name for _, _, name, _ in seen] == ["nodes"] * 3 + ["tasks"] * 3
    assert seen[-1][3] == 259_000


def test_the_mouse_selects_a_cell_and_goes_to_its_moment(dashboard_at):
    app = dashboard_at(LATER_S)
    subjects = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("8")
            five_seconds(app)
            await pilot.pause()
            left = app.screen.query_one("#lanes").region.x
            third = next(at for at, text in enumerate(text_of(app)) if re.match(r"[┃│] *n2\b", text))
            await pilot.click(offset=(left + 2 + app.screen.focused.model.label_cells + 20, third), times=2)
            await pilot.pause()
            subjects.append(app.screen.focused.subject)

    asyncio.run(run())
    assert app.session.now_ms == 110_000
    assert subjects[0].key == 2


def test_a_click_beside_the_rows_goes_through_time_only(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("8", "down")
            five_seconds(app)
            for x, y in ((1, 1), (20, 32), (31, 3)):  # axis, below the last row, band
                await pilot.click("#lanes", offset=(2 + app.screen.focused.model.label_cells + x, y))
                await pilot.pause()
                seen.append((app.screen.focused.subject.key, app.screen.focused.model.cursor_ms))

    asyncio.run(run())
    assert seen == [(1, 15_000), (1, 110_000), (1, 165_000)]


def test_enter_opens_what_is_there_once_that_is_the_moment(dashboard_at):
    seen = []
    drive(
        dashboard_at(LATER_S),
        *("8", five_seconds, "enter"),
        lambda app: seen.append(text_of(app)),
        *("2",),
        lambda app: seen.append(text_of(app)),
        *("escape", "down", *["left"] * 40, "enter"),
        lambda app: seen.append(app.session.now_ms),
        "enter",
        lambda app: seen.append(text_of(app)),
    )
    assert contains(seen[0], "Open", "task deal-25", "task deal-26", "node n0")
    assert contains(seen[1], "deal-26", "price --deal 26")
    assert seen[2] == 132_000
    assert contains(seen[3], "tvmps_")


def test_w_on_a_gap_tells_why_the_node_did_nothing(dashboard_at):
    seen = []
    drive(
        dashboard_at(470),
        *("8", five_seconds, "down", "down", "down", "w"),
        lambda app: seen.append(text_of(app)),
        *("escape", *["shift+left"] * 8, "w"),
        lambda app: seen.append(text_of(app)),
    )
    assert contains(seen[0], "Why, at 08:07:50", "Why is n3 of pool shared idle?")
    assert contains(seen[1], "Why, at 08:00:00", "Why is pool shared resizing?")  # before it had come


def test_the_wheel_scrolls_rows(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    async def run():
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("8", "r")
            five_seconds(app)
            await pilot.pause()
            grid = app.screen.focused
            grid.post_message(
                events.MouseScrollDown(
                    grid, x=5, y=5, delta_x=0, delta_y=0, button=0, shift=False, meta=False, ctrl=False
                )
            )
            await pilot.pause()
            seen.append((int(grid.scroll_offset.y), grid.model.cursor_ms))

    asyncio.run(run())
    assert seen[0][0] > 0
    assert seen[0][1] is None


def test_the_cursor_stays_with_its_row_when_the_order_changes(dashboard_at):
    app = dashboard_at(100)
    seen = []

    def on(app):
        seen.append(app.screen.focused.subject.key)

    def later(app):
        app.session.simulation.run_until(LATER_S * 1000)
        app.screen.update()

    drive(app, "8", "o", "o", "o", "end", on, later, on)
    assert seen[0] == seen[1]


def test_the_band_gives_way_where_there_is_little_room(dashboard_at):
    seen = []
    for size in ((120, 40), (80, 24), (80, 17)):
        drive(dashboard_at(LATER_S), "8", lambda app: seen.append(text_of(app)), size=size)
    assert [any(line.startswith("│ preparing  ") for line in lines) for lines in seen] == [True, True, False]
