"""The ways back: Escape goes back by one level, Cancel leaves menu and form at once."""

from __future__ import annotations

import pytest
from textual.widgets import Input

from tests.tui.driving import drive, look, typed
from tests.tui.screen_text import contains
from tui.app.main_screen import MainScreen
from tui.dialogs.action_form import ActionForm
from tui.dialogs.actions import ActionSheet
from tui.widgets.texts import PageView

LATER_S = 330


def kinds_after(app, *keys):
    """The kinds of the screen on top after each of these keys."""
    seen = []
    drive(app, *(step for key in keys for step in (key, lambda app: seen.append(type(app.screen)))))
    return seen


def test_escape_goes_back_from_a_form_to_its_menu_and_from_there_to_the_view(dashboard_at):
    seen = kinds_after(dashboard_at(LATER_S), "a", "enter", "escape", "escape")
    assert seen == [ActionSheet, ActionForm, ActionSheet, MainScreen]


def test_escape_closes_a_form_that_was_opened_directly(dashboard_at):
    assert kinds_after(dashboard_at(LATER_S), "2", "ctrl+n", "escape")[1:] == [ActionForm, MainScreen]


@pytest.mark.parametrize("keys", [("a", "enter"), ("2", "ctrl+n")], ids=["from the menu", "directly"])
def test_cancel_leaves_form_and_menu_at_once(dashboard_at, keys):
    app = dashboard_at(LATER_S)
    seen = []

    def cancel(app):
        app.screen.query_one(PageView).post_message(PageView.Followed("cancel"))

    before = len(app.session.simulation.log)
    drive(app, *keys, cancel, lambda app: seen.append((type(app.screen), len(app.session.simulation.log))))
    assert seen == [(MainScreen, before)]


def test_a_form_says_where_escape_leads(dashboard_at):
    seen = []

    def note(app):
        seen.append(app.screen.query_one("#actions").border_subtitle)

    drive(dashboard_at(LATER_S), "a", "enter", note, "escape", "escape", "2", "ctrl+n", note)
    assert "esc to the menu" in seen[0]
    assert "esc close" in seen[1]


def test_a_menu_gives_way_to_its_form_and_is_back_after_escape(dashboard_at):
    seen = []

    def look(app):
        menu = next(screen for screen in app.screen_stack if isinstance(screen, ActionSheet))
        seen.append((menu.query_one("#actions").visible, app.focused is menu.query_one(Input)))

    drive(dashboard_at(LATER_S), "a", look, "enter", look, "escape", look)
    assert seen == [(True, True), (False, False), (True, True)]


def test_a_maximised_pane_leaves_room_for_clock_keys_and_questions_and_escape_leaves_the_question_first(dashboard_at):
    seen, states = [], []

    def note(app):
        screen = app.main_screen
        states.append(
            (screen.maximized is not None, isinstance(screen.focused, Input), screen.list_page.model.filter_text)
        )

    drive(
        dashboard_at(LATER_S),
        *("5", "z", look(seen), "slash", *typed("state:completed"), look(seen), note),
        *("escape", note, "escape", note, look(seen)),
    )
    maximised, asked, restored = seen
    assert contains(maximised[:1], "risk")
    assert contains(maximised[-1:], "space run", "enter open")
    assert contains(maximised, "/ filter")
    assert not contains(maximised, "Details")
    assert contains(asked[-2:], "field:value", "filter:  state:completed")
    assert contains(restored, "Details")
    assert states == [(True, True, "state:completed"), (True, False, ""), (False, False, "")]


@pytest.mark.parametrize("keys", [("1", "z"), ("1", "tab", "z"), ("5", "tab", "z")], ids=["map", "lists", "details"])
def test_a_maximised_pane_has_the_focus_again_after_a_question(dashboard_at, keys):
    panes = []
    drive(dashboard_at(LATER_S), *keys, *[lambda app: panes.append(app.focused), "colon", "escape"] * 2)
    assert panes[0] is panes[1]


def test_messages_are_visible_beside_a_maximised_pane(dashboard_at):
    seen = []
    drive(dashboard_at(LATER_S), "3", "z", "y", look(seen))
    assert contains(seen[0][-2:], "copied tvm")
