"""Lines as they are drawn."""

from __future__ import annotations

import asyncio

from textual.app import App

from tests.tui.screen_text import text_of
from tui.viewmodels.text.styled import line
from tui.widgets.lines import LinesView


def test_control_characters_do_not_reach_the_terminal():
    class Sheet(App[None]):
        def compose(self):
            yield LinesView()

    async def look():
        app = Sheet()
        async with app.run_test(size=(30, 3)) as pilot:
            app.query_one(LinesView).show([line("one\ntwo\tthree"), line("\x1b[31mred\x07")])
            await pilot.pause()
            return text_of(app)

    assert asyncio.run(look())[:2] == ["one two three", "?[31mred?"]
