"""The keyboard: what is typed fast does what it does when it is typed slowly."""

from __future__ import annotations

import asyncio

import pytest
from textual import events

from tests.tui.driving import arrived
from tests.tui.screen_text import text_of

LATER_S = 330


def after(app, ways, *, fast):
    """The lines on the screen before the last key of each way and after it: all typed at once, or one by one."""

    async def comes_to_rest(pilot):
        await pilot.pause()
        await arrived(app)
        await pilot.pause()

    async def run():
        lines = []
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            first = app.focused
            for keys in ways:
                before = []
                for key in keys:
                    before = before if fast else text_of(app)
                    app.post_message(events.Key(key, key if len(key) == 1 else None))
                    if not fast:
                        await comes_to_rest(pilot)
                await comes_to_rest(pilot)
                lines.append((before, text_of(app)))
                while len(app.screen_stack) > 1:
                    await pilot.press("escape")
                    await comes_to_rest(pilot)
                await pilot.press("1")
                first.focus()
                await comes_to_rest(pilot)
        return lines

    return asyncio.run(run())


# Typed in one application each; a view is first opened by the fast keys of the first way that leads there.
WAYS = [
    [
        ("5", "slash", *"deal", "down", "escape", "3"),
        ("question_mark", "q", "6"),
        ("3", "a", "enter"),
        ("l", "l"),
        ("w", "escape", "3"),
        ("B", "apostrophe", "1"),
    ],
    [
        ("5", "C", "down", "enter"),
        ("3", "f", "down", "down", "q", "5"),
        ("2", "enter", "q", "4"),
        ("s", "down", "enter"),
        ("A", "enter", "right", "right"),
    ],
    [
        ("3", "a", "enter", "tab", "enter"),
        ("t", *"100", "enter", "5"),
        ("q", "n", "6"),
        ("S", "S", "e", *"qqq"),
        ("colon", *"tasks", "enter"),
    ],
]


@pytest.mark.parametrize("ways", WAYS)
def test_what_is_typed_fast_goes_where_it_goes_when_typed_slowly(dashboard_at, ways):
    slowly = after(dashboard_at(LATER_S), ways, fast=False)
    fast = after(dashboard_at(LATER_S), ways, fast=True)
    for keys, (before, after_all), (_, at_once) in zip(ways, slowly, fast, strict=True):
        assert at_once == after_all != before, keys


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
