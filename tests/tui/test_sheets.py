"""Sheets: as large as what they say, up to the screen."""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import chain

import pytest

from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.dialogs.sheets import Sheet, SheetText
from tui.viewmodels.text import line

LATER_S = 330
BORDERS, MARGIN = 2, 2


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_a_sheet_is_as_high_as_its_text_and_leaves_a_line_of_the_screen_above_and_below(dashboard_at, size):
    seen = []

    def show(lines, app):
        texts = [line(f"line {number}") for number in range(lines)]
        app.push_screen(Sheet("Title", lambda _: texts))

    def look(app):
        region = app.screen.query_one(SheetText).region
        assert region.y + region.height < size[1]
        seen.append(region.height)

    counts = 1, 5, 19, 500
    drive(
        dashboard_at(LATER_S), *chain.from_iterable((partial(show, each), look, "escape") for each in counts), size=size
    )
    assert seen == [*(each + BORDERS for each in counts[:3]), size[1] - MARGIN]


def test_a_sheet_is_as_high_as_its_text_in_the_new_width_of_a_terminal(dashboard_at):
    heights = []

    def text(cells):
        return [line("word ")] * (2000 // cells)

    async def look():
        async with dashboard_at(LATER_S).run_test(size=(120, 45)) as pilot:
            pilot.app.push_screen(Sheet("Title", text))
            for cells in (120, 70, 120):
                await pilot.resize_terminal(cells, 45)
                await pilot.pause()
                shown = pilot.app.screen.query_one(SheetText)
                assert shown.region.height == len(shown.lines) + BORDERS
                heights.append(shown.region.height)

    asyncio.run(look())
    assert heights[0] < heights[1]
    assert heights[0] == heights[2]


@pytest.mark.parametrize(("lines", "has_more"), [(60, True), (5, False)])
def test_a_sheet_that_is_longer_than_the_screen_says_how_to_scroll(dashboard_at, lines, has_more):
    seen = []
    texts = [line(f"line {number}") for number in range(lines)]
    drive(
        dashboard_at(LATER_S),
        lambda app: app.push_screen(Sheet("Title", lambda _: texts)),
        lambda app: seen.extend(text_of(app)),
        size=(80, 24),
    )
    assert contains(seen, "esc close")
    assert contains(seen, "40 lines below: space  esc close") == has_more


def test_a_sheet_counts_what_follows_when_its_text_has_another_height(dashboard_at):
    seen = []
    texts = [line(f"line {number}") for number in range(60)]

    def lower(app):
        app.screen.query_one(SheetText).styles.height = 12

    def hint(app):
        seen.append(str(app.screen.query_one(SheetText).border_subtitle))

    drive(dashboard_at(LATER_S), lambda app: app.push_screen(Sheet("Title", lambda _: texts)), lower, hint)
    assert seen == ["50 lines below: space  esc close"]


def test_a_sheet_counts_what_follows_while_it_is_scrolled(dashboard_at):
    seen = []
    texts = [line(f"line {number}") for number in range(60)]

    def hint(app):
        seen.append(str(app.screen.query_one(SheetText).border_subtitle))

    show = lambda app: app.push_screen(Sheet("Title", lambda _: texts))  # noqa: E731
    drive(dashboard_at(LATER_S), show, "down", hint, "space", hint, "end", hint, size=(80, 24))
    assert seen == ["39 lines below: space  esc close", "19 lines below: space  esc close", "esc close"]


@pytest.mark.parametrize("keys", [["w"], ["question_mark"], ["3", "a", "enter"]])
def test_ctrl_c_leaves_from_a_dialog(dashboard_at, keys):
    app = dashboard_at(LATER_S)
    drive(app, *keys, "ctrl+c")
    assert app.return_code == 130
