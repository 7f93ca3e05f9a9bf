"""Rows that the user asks for by their ids: the cursor gets there, whatever the list hides or has not found yet."""

from __future__ import annotations

import pytest

from tests.tui.driving import drive, typed
from tests.tui.screen_text import contains, messages_of, text_of
from tui.app.main_screen import go_to
from tui.viewmodels.lists.pools import NodesModel
from tui.viewmodels.lists.tasks import TasksModel

LATER_S = 330


def go(text):
    return (":", *typed(text), "enter")


def filter_by(text):
    return ("/", *typed(text), "enter")


def subject_of(app):
    return app.screen.under_cursor


def identity_under_cursor(app):
    table = app.screen.list_page.table
    return table.model.identity_of(table.model.key(table.cursor_row)) if table.model.count else ""


@pytest.mark.parametrize(
    ("hides", "said"),
    [
        (filter_by("state:completed"), "Cleared the filter 'state:completed', which hid this row."),
        (("!",), "Cleared 'only failed', which hid this row."),
        (("!", *filter_by("deal-1")), "Cleared the filter 'deal-1' and 'only failed', which hid this row."),
    ],
)
def test_a_row_that_a_filter_hides_is_shown_without_it(dashboard_at, hides, said):
    app = dashboard_at(60)
    seen = []

    def look(app):
        seen.append((identity_under_cursor(app), app.screen.list_page.model.count))

    drive(app, "5", *hides, look, *go("deal-39"), look)
    assert seen[0][1] < 40
    assert seen[1] == ("deal-39", 40)
    assert messages_of(app)[-1] == said


def test_a_filter_that_shows_the_row_stays(dashboard_at):
    app = dashboard_at(60)
    seen = []
    drive(
        app,
        *("5", *filter_by("deal-3"), *go("deal-39")),
        lambda app: seen.append((identity_under_cursor(app), app.screen.list_page.model.filter_text)),
    )
    assert seen == [("deal-39", "deal-3")]
    assert not any("Cleared" in text for text in messages_of(app))


def test_an_id_leads_to_a_row_that_a_filter_hides(dashboard_at):
    app = dashboard_at(60)
    seen = []
    drive(app, "3", *filter_by("nowhere"), "5", *go("n0"), lambda app: seen.append(subject_of(app).kind))
    assert seen == ["node"]
    assert messages_of(app)[-1].startswith("Cleared the filter 'nowhere'")


@pytest.mark.parametrize("is_filtered", [True, False])
def test_a_row_is_under_the_cursor_before_the_list_has_found_it(dashboard_at, monkeypatch, is_filtered):
    """The list has been filtered or sorted at another moment; so many rows are found a slice at a time."""
    monkeypatch.setattr(NodesModel, "at_once", 0)
    app = dashboard_at(LATER_S)
    seen = []

    def jump(app):
        nodes = app.session.nodes().nodes()
        go_to(app.screen, "n3")
        seen.append((subject_of(app).key, nodes[3], app.screen.list_page.is_busy))

    arrange = filter_by("n*") if is_filtered else ("o",)
    drive(
        app,
        *("3", *arrange, "5", *go("time -5m")),
        jump,
        lambda app: seen.append((app.screen.list_page.table.cursor_row, subject_of(app).key)),
        "a",
        lambda app: seen.append(contains(text_of(app), "Reboot n3")),
    )
    ((asked, node, is_busy), (row, found), is_named) = seen
    assert is_busy
    assert asked == found == node
    assert row == 3
    assert is_named


def test_what_a_list_does_not_have_is_said(dashboard_at):
    app = dashboard_at(60)
    seen = []

    def ask(app):
        seen.append(identity_under_cursor(app))
        app.screen.list_page.go_to(12_345)
        seen.append(identity_under_cursor(app))

    drive(app, "3", ask)
    assert seen[0] == seen[1]
    assert messages_of(app)[-1] == "Nodes does not show this row at this moment."


def test_a_user_who_moves_on_is_not_taken_back(dashboard_at, monkeypatch):
    monkeypatch.setattr(TasksModel, "at_once", 0)
    app = dashboard_at(60)
    seen = []

    def jump_and_move(app):
        page = app.screen.list_page
        page.model.sort_by("Task")
        page.update()
        page.go_to(39)
        page.table.move_to(2)

    drive(app, "5", jump_and_move, lambda app: seen.append(app.screen.list_page.table.chosen_key))
    assert seen == [2]
