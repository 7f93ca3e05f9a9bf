"""Messages: one line above the key hints, gone at the next key, never over a dialog."""

from __future__ import annotations

import pytest

from tests.tui.driving import drive
from tests.tui.screen_text import contains, messages_of, text_of
from tui.textual.screens import say
from tui.viewmodels.frame import MOST_LINES, Message, message_lines
from tui.viewmodels.text import plain, width
from tui.widgets.texts import MessageLine

LATER_S = 330
SIZES = [(80, 24), (120, 40)]


def screens(app, *steps, size=(80, 24)):
    """The screens wherever a step is ``"look"``."""
    seen = []
    drive(app, *((lambda app: seen.append(text_of(app))) if step == "look" else step for step in steps), size=size)
    return seen


@pytest.mark.parametrize("size", SIZES)
def test_a_message_is_one_line_above_the_key_hints_and_moves_nothing(dashboard_at, size):
    before, said = screens(
        dashboard_at(LATER_S), "9", "look", lambda app: say(app.main_screen, "saved in x.yaml"), "look", size=size
    )
    assert said[-2].strip() == "› saved in x.yaml"
    assert said[:-2] == before[:-2]
    assert said[-1] == before[-1]


def test_any_key_closes_it_and_does_its_own_work(dashboard_at):
    (said,) = screens(dashboard_at(LATER_S), lambda app: say(app.main_screen, "saved"), "5", "look")
    assert not contains(said, "saved")
    assert "Tasks" in said[0]


def test_escape_first_closes_the_message_and_then_leaves_the_view(dashboard_at):
    first, second = screens(
        dashboard_at(LATER_S), "3", lambda app: say(app.main_screen, "saved"), "escape", "look", "escape", "look"
    )
    assert not contains(first, "saved")
    assert "Nodes" in first[0]
    assert "Watch" in second[0]


def test_of_several_messages_the_most_serious_is_shown_and_all_are_listed(dashboard_at):
    def say_three(app):
        say(app.main_screen, "first")
        say(app.main_screen, "it failed", "error")
        say(app.main_screen, "last")

    app = dashboard_at(LATER_S)
    said, listed = screens(app, say_three, "look", "colon", *"messages", "enter", "look")
    assert said[-2].strip() == "✗ it failed  (+2; :messages lists all)"
    assert contains(listed, "08:05:30  first", "08:05:30  it failed", "08:05:30  last")
    assert messages_of(app) == ["first", "it failed", "last"]


@pytest.mark.parametrize("keys", [("question_mark",), ("a", "enter"), ("w",), ("S", "S")])
def test_no_message_lies_over_a_dialog(dashboard_at, keys):
    seen = []

    def look(app):
        shown = app.screen.query_one(MessageLine)
        dialog = [each.region for each in app.screen.children if each is not shown and each.display]
        seen.append((app.screen is app.main_screen, any(shown.region.overlaps(each) for each in dialog)))
        seen.append(text_of(app)[-1].strip())

    drive(dashboard_at(LATER_S), "3", *keys, lambda app: app.notify("a message"), look, size=(80, 24))
    assert seen == [(False, False), "› a message"]


def test_the_warning_of_the_formula_editor_ends_with_the_editor(dashboard_at):
    warned, left = screens(
        dashboard_at(200, "a-day-of-autoscaling"), "2", "S", "S", "e", "x", "escape", "look", "escape", "look"
    )
    assert contains(warned, "The formula has been changed. Esc again leaves it as it was.")
    assert not contains(left, "The formula has been changed")


def test_a_long_message_is_wrapped_and_keeps_its_end(session_at):
    said = Message(f"batchdeck cannot write {'a/long/path/' * 30}x.yaml: no space left", "error", 0)
    lines = message_lines(session_at(0), [said], 80)
    assert len(lines) == MOST_LINES
    assert max(map(width, lines)) <= 80
    assert plain(lines[-1]).rstrip().endswith("no space left")
