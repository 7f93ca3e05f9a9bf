"""The ways back: Escape goes back by one level, Cancel leaves menu and form at once."""

from __future__ import annotations

import pytest

from tests.tui.driving import drive
from tui.dialogs.action_form import ActionForm
from tui.dialogs.actions import ActionSheet
from tui.screens.main_screen import MainScreen
from tui.widgets.buttons import Buttons
from tui.widgets.choices import Choices

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
        last = 99  # the number of the last button is Cancel's
        app.screen.query_one(Buttons).post_message(Buttons.Pressed(last))

    before = len(app.session.simulation.log)
    drive(app, *keys, cancel, lambda app: seen.append((type(app.screen), len(app.session.simulation.log))))
    assert seen == [(MainScreen, before)]


def test_a_form_says_where_escape_leads(dashboard_at):
    seen = []

    def note(app):
        seen.append(app.screen.query_one("#actions").border_subtitle)

    drive(dashboard_at(LATER_S), "a", "enter", note, "escape", "escape", "2", "ctrl+n", note)
    assert "esc back to the menu" in seen[0]
    assert "esc close" in seen[1]


def test_a_menu_gives_way_to_its_form_and_is_back_after_escape(dashboard_at):
    seen = []

    def look(app):
        menu = next(screen for screen in app.screen_stack if isinstance(screen, ActionSheet))
        seen.append((menu.query_one("#actions").visible, app.focused is menu.query_one(Choices)))

    drive(dashboard_at(LATER_S), "a", look, "enter", look, "escape", look)
    assert seen == [(True, True), (False, False), (True, True)]
