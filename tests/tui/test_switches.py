"""A switch of view draws what is not drawn yet, and a dialog is drawn once."""

from __future__ import annotations

import asyncio
from itertools import chain

import pytest
from textual import events, messages, screen
from textual._styles_cache import StylesCache
from textual.app import App
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.widget import Widget

from tests.tui.driving import drive
from tests.tui.screen_text import frames_of, text_of
from tui.app.main_screen import MainScreen
from tui.dialogs.action_form import ActionForm
from tui.dialogs.sheets import Sheet
from tui.panes.pages import ListPage
from tui.textual.overrides import handles
from tui.textual.screens import Frame, Modal, ScreenCompositor
from tui.textual.views import LinesView
from tui.viewmodels.text import line
from tui.widgets.table import Table
from tui.widgets.texts import PageView

TASKS, NODES, WATCH = "5", "3", "1"


@pytest.mark.parametrize(
    ("between", "is_updated"),
    [
        ([NODES], False),
        ([NODES, "full_stop"], True),  # time goes on
        ([NODES, lambda app: app.main_screen.view_named("nodes").recall({}) or app.main_screen.update()], True),
        ([NODES, lambda app: app.session.focus_job("another")], True),
        ([NODES, TASKS, NODES], False),
    ],
)
def test_a_view_is_updated_when_it_is_shown_again_only_if_something_has_changed(
    dashboard_at, monkeypatch, between, is_updated
):
    updated, update = [], ListPage.update
    monkeypatch.setattr(ListPage, "update", lambda self: updated.append(self.id) or update(self))
    drive(dashboard_at(330), TASKS, *between, lambda _: updated.clear(), TASKS)
    assert ("tasks" in updated) is is_updated


def test_a_list_that_is_shown_again_keeps_its_lines(dashboard_at, monkeypatch):
    drawn, shown, render_line = [], [], Table.render_line
    monkeypatch.setattr(Table, "render_line", lambda self, y: drawn.append(y) or render_line(self, y))
    before = [TASKS, lambda app: shown.append(text_of(app)), WATCH, lambda _: drawn.clear()]
    drive(dashboard_at(330), *before, TASKS, lambda app: shown.append(text_of(app)))
    assert drawn == []
    assert shown[0] == shown[1]


def test_a_pane_that_had_the_focus_when_its_view_was_left_does_not_look_focused_later(dashboard_at):
    shown = []

    def look(app):
        shown.append(text_of(app))

    drive(dashboard_at(330), look, "tab", look, TASKS, WATCH, look)
    first, other, again = shown
    assert first == again != other


def test_a_switch_sends_messages_only_to_widgets_that_handle_them(dashboard_at, monkeypatch):
    sent, post_message = [], Widget.post_message

    def post(widget, message):
        sent.append((widget, type(message)))
        return post_message(widget, message)

    monkeypatch.setattr(Widget, "post_message", post)
    drive(dashboard_at(330), TASKS, WATCH, lambda _: sent.clear(), TASKS)
    assert sum(kind is events.Show for _, kind in sent) == 1
    assert not any(kind in (events.Hide, events.DescendantBlur) for _, kind in sent)
    told = [(widget, kind) for widget, kind in sent if kind in (events.Resize, events.DescendantFocus)]
    assert all(handles(type(widget), kind.handler_name) for widget, kind in told)


def test_a_frame_sends_a_message_to_the_screen_only(dashboard_at, monkeypatch):
    sent, post_message, shown = [], Widget.post_message, []

    def post(widget, message):
        sent.append((widget, type(message)))
        return post_message(widget, message)

    def show(app):
        shown.append(text_of(app))

    async def steps():
        app = dashboard_at(330)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            show(app)
            app.session.simulation.run_until(333_000)
            sent.clear()
            app.main_screen.update()
            await pilot.pause()
            show(app)
            assert {widget for widget, kind in sent if kind in (messages.Prompt, messages.Update)} == {app.main_screen}

    monkeypatch.setattr(Widget, "post_message", post)
    asyncio.run(steps())
    assert shown[0] != shown[1]


def test_a_jump_is_drawn_once_without_a_layout_even_if_the_scrollbar_of_the_details_comes_or_goes(
    dashboard_at, monkeypatch
):
    shown, display, bars, layouts, reflow = [], App._display, [], [], ScreenCompositor.reflow

    def arrange(compositor, parent, size):
        layouts.append(parent)
        return reflow(compositor, parent, size)

    def show(app, screen, renderable):
        shown.append(renderable)
        return display(app, screen, renderable)

    async def jump(app, pilot, last):
        page = app.main_screen.list_page
        shown.clear()
        page.table.action_edge(last)
        await pilot.pause()
        bars.append(not page.query_one(PageView).vertical_scrollbar.is_blank)
        assert len([each for each in shown if each is not None]) == 1

    async def run():
        app = dashboard_at(330)
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(TASKS)
            while not app.session.ahead.is_complete:  # which updates the screen
                await pilot.pause()
            await pilot.pause()
            layouts.clear()
            for last in (1, 0, 1, 0):
                await jump(app, pilot, last)

    monkeypatch.setattr(ScreenCompositor, "reflow", arrange)
    monkeypatch.setattr(App, "_display", show)
    asyncio.run(run())
    assert bars == [False, True, False, True]
    assert not layouts


def test_no_scrollbar_asks_for_a_layout(dashboard_at, monkeypatch):
    asked, on_layout = [], Screen._on_layout

    async def note(screen, message):
        asked.append(message.widget)
        await on_layout(screen, message)

    monkeypatch.setattr(Screen, "_on_layout", note)
    drive(dashboard_at(330), TASKS, "end", "home", WATCH, lambda app: app.main_screen.refresh(layout=True))
    assert any(isinstance(each, Table) for each in asked)
    assert not any(isinstance(each, ScrollBar) for each in asked)


def test_what_is_hidden_loses_the_focus_and_what_is_shown_with_it_looks_so():
    class TwoPanes(Modal):
        def compose(self):
            yield Pane()
            yield Pane()

    class Pane(LinesView):
        can_focus = True

    async def run():
        app = App()
        async with app.run_test(size=(40, 20)) as pilot:
            app.push_screen(TwoPanes())
            await pilot.pause()
            first = app.screen.query(Pane).first()
            first.focus()
            await pilot.pause()
            assert first.has_focus
            assert first.looks_right
            first.display = False
            await pilot.pause()
            assert not first.has_focus
            first.has_focus = True
            first.display = True
            await pilot.pause()
            assert first.looks_right

    asyncio.run(run())


@pytest.mark.parametrize("period_s", [1 / 120, 0.000_001, 0.03])
def test_a_sheet_that_opens_is_drawn_as_it_stays(dashboard_at, monkeypatch, period_s):
    monkeypatch.setattr(screen, "UPDATE_PERIOD", period_s)  # Textual's own depends on the environment
    drawn = frames_of(Modal, monkeypatch)
    drive(dashboard_at(330), TASKS, "w")
    assert drawn
    assert all(frame == drawn[-1] for frame in drawn)


def test_a_sheet_longer_than_the_screen_is_drawn_with_its_scrollbar_and_the_hint_of_it_from_the_first_frame(
    dashboard_at, monkeypatch
):
    drawn = frames_of(Modal, monkeypatch)
    sheet = Sheet("Title", lambda cells: [line(f"{at} of {cells}") for at in range(100)])
    drive(dashboard_at(330), lambda app: app.push_screen(sheet))
    assert "lines below" in "".join(drawn[0])
    assert all(frame == drawn[-1] for frame in drawn)


def styled_by(monkeypatch):
    """The nodes that are styled from now on, other than at their mounting, and whether each had a parent."""
    styled, update_nodes = [], Stylesheet.update_nodes

    def style(stylesheet, nodes, animate=False):
        nodes = set(nodes)
        styled.extend((node, node.parent is not None) for node in nodes)
        return update_nodes(stylesheet, nodes, animate)

    monkeypatch.setattr(Stylesheet, "update_nodes", style)
    return styled


def test_a_dialog_that_opens_neither_lays_out_the_screen_below_nor_styles_it_or_itself_anew(dashboard_at, monkeypatch):
    seen, found, styled = [], {}, styled_by(monkeypatch)
    reflow = ScreenCompositor.reflow

    def arrange(compositor, parent, size):
        seen.append(parent)
        return reflow(compositor, parent, size)

    def begin(_):
        seen.clear()
        styled.clear()

    def end(key):
        return lambda _: found.update({key: (seen[:], [node for node, _ in styled])})

    monkeypatch.setattr(ScreenCompositor, "reflow", arrange)
    keys = ("w", "a", "question_mark", "ctrl+p", "f", "s")
    drive(dashboard_at(330), NODES, *chain.from_iterable((begin, key, end(key), "escape") for key in keys))
    for key in keys:
        laid_out, anew = found[key]
        assert laid_out, key
        assert not any(isinstance(each, MainScreen) for each in [*laid_out, *anew]), key
        assert not any(isinstance(each, Modal) and not each.HORIZONTAL_BREAKPOINTS for each in anew), key


def test_a_form_is_styled_when_it_is_mounted_and_neither_before_nor_again(dashboard_at, monkeypatch):
    found, styled = [], styled_by(monkeypatch)

    def end(app):
        assert isinstance(app.screen, ActionForm)
        found.extend(styled)

    drive(dashboard_at(330), "4", lambda _: styled.clear(), "ctrl+n", end)
    assert found
    assert all(has_parent for _, has_parent in found)
    assert not any(isinstance(node, Frame) for node, _ in found)


def test_the_main_screen_is_styled_when_it_is_mounted_and_not_again(dashboard_at, monkeypatch):
    found, styled = [], styled_by(monkeypatch)
    drive(dashboard_at(330), lambda app: found.extend((app.main_screen.query_one("#header"), list(styled))))
    header, anew = found
    assert header not in [node for node, _ in anew]


@pytest.mark.parametrize(
    "css", ["border: solid red; padding: 1 2;", "border-left: heavy blue;", "padding: 0 1;", "", "opacity: 50%;"]
)
def test_a_frame_that_is_composed_once_looks_as_textual_composes_it(css):
    class OneView(App[None]):
        CSS = f"LinesView {{ background: #102030; height: 8; {css} }}"

        def compose(self):
            yield LinesView()

    async def run():
        app = OneView()
        async with app.run_test(size=(40, 10)) as pilot:
            view = app.query_one(LinesView)
            view.show([line("a"), line("b" * 60)])
            await pilot.pause()
            crop = Region(0, 0, 40, 8)
            with app._context():
                own = [list(strip) for strip in view.render_lines(crop)]
                view._styles_cache = StylesCache()
                assert own == [list(strip) for strip in view.render_lines(crop)]

    asyncio.run(run())


def test_a_dialog_fills_a_terminal_that_grows_before_the_screen_below_does(dashboard_at):
    async def run():
        app = dashboard_at(330)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("w")
            for size in ((120, 40), (60, 16), (200, 60)):
                await pilot.resize_terminal(*size)
                await pilot.pause()
            return text_of(app)

    assert len(asyncio.run(run())) == 60
