"""The keyboard: what is typed fast does what it does when it is typed slowly."""

from __future__ import annotations

import asyncio

import pytest
from textual import events

from tests.tui.driving import arrived
from tests.tui.screen_text import text_of

LATER_S = 330


def after(app, keys, *, fast):
    """The lines on the screen before the last of these keys and after it: all typed at once, or one by one."""

    async def run():
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            before = []
            for key in keys:
                before = before if fast else text_of(app)
                app.post_message(events.Key(key, key if len(key) == 1 else None))
                if not fast:
                    await arrived(app)
                    await pilot.pause()
            await pilot.pause()
            await arrived(app)
            await pilot.pause()
            return before, text_of(app)

    return asyncio.run(run())


@pytest.mark.parametrize(
    "keys",
    [
        ("l", "l"),
        ("B", "apostrophe", "1"),
        ("3", "a", "enter"),
        ("A", "enter", "right", "right"),
        ("3", "a", "enter", "tab", "enter"),
        ("t", *"100", "enter", "5"),
        ("colon", *"tasks", "enter"),
        ("5", "slash", *"deal", "down", "escape", "3"),
        ("5", "C", "down", "enter"),
        ("3", "f", "down", "down", "q", "5"),
        ("s", "down", "enter"),
        ("S", "S", "e", *"qqq"),
        ("w", "escape", "3"),
        ("question_mark", "q", "5"),
        ("q", "n", "6"),
        ("2", "enter", "q", "4"),
    ],
)
def test_what_is_typed_fast_goes_where_it_goes_when_typed_slowly(dashboard_at, keys):
    before, slowly = after(dashboard_at(LATER_S), keys, fast=False)
    _, fast = after(dashboard_at(LATER_S), keys, fast=True)
    assert fast == slowly != before


def test_what_is_pasted_into_a_line_that_only_opens_is_there(dashboard_at):
    app = dashboard_at(LATER_S)

    async def run():
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            for event in (events.Key("t", "t"), events.Paste("100"), events.Key("enter", None)):
                app.post_message(event)
            await pilot.pause()
            await arrived(app)

    asyncio.run(run())
    assert app.session.now_ms == 100_000


def test_keys_work_after_an_escape_that_was_typed_ahead_and_only_closes_a_message(dashboard_at):
    app = dashboard_at(LATER_S)

    async def run():
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            for key in ("t", "x", "enter", "escape", "4"):
                app.post_message(events.Key(key, key if len(key) == 1 else None))
            await pilot.pause()
            await asyncio.wait_for(arrived(app), 20)
            return app.main_screen.view.id

    assert asyncio.run(run()) == "jobs"
