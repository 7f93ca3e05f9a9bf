"""A switch of view draws what is not drawn yet, and a dialog is drawn once."""

from __future__ import annotations

import asyncio

import pytest
from textual._styles_cache import StylesCache
from textual.app import App
from textual.geometry import Region

from tests.tui.driving import drive
from tests.tui.screen_text import text_of
from tui.dialogs.modal import Modal
from tui.panes.list_page import ListPage
from tui.viewmodels.text.styled import line
from tui.widgets.lines import LinesView
from tui.widgets.table import Table

TASKS, NODES, WATCH = "5", "3", "1"


@pytest.mark.parametrize(
    ("between", "is_updated"),
    [
        ([NODES], False),
        ([NODES, "full_stop"], True),  # time goes on
        ([NODES, lambda app: app.main_screen.reset_view("nodes")], True),
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


def test_a_sheet_is_drawn_once_when_it_opens(dashboard_at, monkeypatch):
    drawn, render = [], Modal._render_content
    monkeypatch.setattr(Modal, "_render_content", lambda self: drawn.append(self) or render(self))
    drive(dashboard_at(330), TASKS, "w")
    assert len(drawn) == 1


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
