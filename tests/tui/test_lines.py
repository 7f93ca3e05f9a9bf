"""Lines as they are drawn."""

from __future__ import annotations

import asyncio

import pytest
from rich.segment import Segment
from rich.style import Style
from textual._compositor import Compositor
from textual.app import App
from textual.geometry import Size
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

from tests.tui.screen_text import text_of
from tui.textual.overrides import LightStrip, set_title
from tui.textual.screens import ScreenCompositor
from tui.textual.views import LinesView, refresh_changes
from tui.viewmodels.text import line


class _App(App[None]):
    """An application whose screen is laid out as those of the dashboard are."""

    def get_default_screen(self):
        screen = super().get_default_screen()
        screen._compositor = ScreenCompositor()
        return screen


def test_a_size_is_that_of_the_last_layout():
    async def run():
        app = _App()
        async with app.run_test(size=(30, 9)) as pilot:
            view = LinesView()
            await app.mount(view)
            for change in (
                lambda: None,
                lambda: setattr(view, "display", False),
                lambda: setattr(view, "display", True),
                lambda: setattr(view.styles, "border", ("ascii", "white")),
                lambda: setattr(view.styles, "height", 4),
            ):
                change()
                await pilot.pause()
                seen.append(view.size)
                assert view.size == Widget.size.fget(view)
            await pilot.resize_terminal(40, 9)
            await pilot.pause()
            seen.append(view.size)
            assert view.size == Widget.size.fget(view)

    seen = []
    asyncio.run(run())
    assert len(set(seen)) == 5


@pytest.mark.parametrize("cuts", [(), (9,), (2, 9), (3, 5, 9), (4, 20), (2, 2, 9)])
def test_light_strips_are_divided_as_those_of_textual_are(cuts):
    segments = [Segment("abc"), Segment(""), Segment("def", Style(bold=True)), Segment("日g")]
    light, usual = LightStrip(segments, 9), Strip(segments, 9)
    for _ in range(2):
        pieces, wanted = light.divide(cuts), usual.divide(cuts)
        assert [(list(each), each.cell_length) for each in pieces] == [
            (list(each), each.cell_length) for each in wanted
        ]
    assert [each.text for each in light.divide([5, 9])] == [each.text for each in usual.divide([5, 9])]


def test_control_characters_do_not_reach_the_terminal():
    class Sheet(_App):
        def compose(self):
            yield LinesView()

    async def look():
        app = Sheet()
        async with app.run_test(size=(30, 3)) as pilot:
            app.query_one(LinesView).show([line("one\ntwo\tthree"), line("\x1b[31mred\x07")])
            await pilot.pause()
            return text_of(app)

    assert asyncio.run(look())[:2] == ["one two three", r"\x1b[31mred\x07"]


class Drawn:
    """A widget of some size that notes what is drawn again."""

    def __init__(self, height):
        self.size = Size(30, height)
        self.seen = []

    def refresh(self, *regions):
        self.seen.append([region.y for region in regions] or "all")


@pytest.mark.parametrize(
    ("before", "now", "top", "height", "drawn"),
    [
        ("abc", "abc", 0, 3, []),
        ("abc", "axc", 0, 3, [[1]]),
        ("abcd", "xbcx", 1, 2, []),  # neither is visible
        ("abcd", "xxxx", 1, 2, [[0, 1]]),
        ("abc", "ab", 0, 3, ["all"]),
        ("abc", "axc", 0, 0, ["all"]),  # hidden: the old drawing must not come back
    ],
)
def test_only_visible_lines_that_have_changed_are_drawn_again(before, now, top, height, drawn):
    widget = Drawn(height)
    refresh_changes(widget, before, now, top)
    assert widget.seen == drawn


def test_a_scrollbar_that_comes_or_goes_lays_out_the_screen_once(monkeypatch):
    laid_out, seen = [], []
    reflow = Compositor.reflow
    monkeypatch.setattr(Compositor, "reflow", lambda self, *of: laid_out.append(of) or reflow(self, *of))

    class OneView(_App):
        def compose(self):
            yield LinesView()

    async def run():
        app = OneView()
        async with app.run_test(size=(40, 10)) as pilot:
            view = app.query_one(LinesView)
            for count in (30, 3):  # the first time the scrollbar is made, too
                view.show([line("a")] * count)
                await pilot.pause()
                await pilot.pause()
            for count in (30, 31, 3):
                laid_out.clear()
                view.show([line("a")] * count)
                await pilot.pause()
                await pilot.pause()
                seen.append((view.show_vertical_scrollbar, view.show_horizontal_scrollbar, len(laid_out)))

    asyncio.run(run())
    assert seen == [(True, False, 1), (True, False, 0), (False, False, 1)]


def test_another_title_draws_its_line_of_the_frame_only(monkeypatch):
    drawn, seen = [], []
    render_line = LinesView.render_line
    monkeypatch.setattr(LinesView, "render_line", lambda self, y: drawn.append(y) or render_line(self, y))

    class OneView(_App):
        CSS = "LinesView { border: ascii white; padding: 0 1; }"

        def compose(self):
            yield LinesView()

    async def run():
        app = OneView()
        async with app.run_test(size=(40, 5)) as pilot:
            view = app.query_one(LinesView)
            view.show([line("a")] * 3)
            for title, subtitle in (("first", "one"), ("second", "one"), ("second", "two")):
                set_title(view, title, subtitle)
                await pilot.pause()
                seen.append((text_of(app), list(drawn)))
                drawn.clear()

    asyncio.run(run())
    assert [("first" in text[0], "second" in text[0], "two" in text[-1]) for text, _ in seen] == [
        (True, False, False),
        (False, True, False),
        (False, True, True),
    ]
    assert [lines for _, lines in seen[1:]] == [[], []]


def test_a_scrollbar_looks_as_textual_draws_it():
    class Sheet(_App):
        def compose(self):
            yield LinesView()

    async def look():
        app = Sheet()
        seen = []
        async with app.run_test(size=(30, 9)) as pilot:
            view = app.query_one(LinesView)
            view.styles.overflow_y = "scroll"
            view.show([line(str(number)) for number in range(100)])
            await pilot.pause()
            bar = view.vertical_scrollbar
            for at in (0, 3, 12.5, 50, 91):
                bar.position = at
                bar._set_dirty()
                with app._context():
                    own = bar.render_lines(bar.size.region)
                ScrollBar._render_content(bar)
                for strips in (own, bar._render_cache.lines):
                    seen.append([strip.render(app.console) for strip in strips])
        return seen

    own, textual = (asyncio.run(look())[first::2] for first in (0, 1))
    assert len(own) == 5
    assert own == textual
    assert len(set(map(tuple, own))) == 5
