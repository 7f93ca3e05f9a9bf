"""Keys on lists: filters, order, the cursor, the next failed row."""

from __future__ import annotations

import asyncio
import gc

import pytest

from tests.tui.driving import drive
from tests.tui.screen_text import contains, strips_of, text_of
from tui.viewmodels.lists.tasks import TasksModel

LATER_S = 330


def test_a_filter_works_while_it_is_typed_and_esc_clears_it(dashboard_at):
    app = dashboard_at(LATER_S)
    counts = []

    def count(app):
        counts.append(app.screen.view.model.count)

    drive(app, "5", count, "slash", *"deal", "minus", "1", count, "escape", count)
    assert counts == [40, 11, 40]


@pytest.mark.parametrize(
    ("setting", "other", "usual"),
    [("theme", "light", "dark"), ("glyphs", "ascii", "unicode"), ("time", "elapsed", "clock")],
)
def test_rows_that_are_kept_look_as_new_ones(dashboard_at, setting, other, usual):
    app = dashboard_at(60)
    seen = []

    def look(app):
        lines = strips_of(app)
        table, row = app.screen.view.table, app.screen.view.table.cursor_row
        table.show_model(table.model)
        table.update()
        table.move_to(row)
        seen.append((lines, strips_of(app)))

    def later(app):
        app.session.simulation.advance(app.session.simulation.end_ms, 9)
        app.screen.update()

    def choose(value):
        return lambda app: app.choose(setting, value)

    drive(app, "6", "down", look, later, look, choose(other), look, later, look, choose(usual), look, size=(140, 40))
    assert len({tuple(str(strip) for strip in kept) for kept, _ in seen}) > 2
    for kept, new in seen:
        assert kept == new


def test_only_failed_and_sorting(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(
        app,
        "6",
        "exclamation_mark",
        lambda app: seen.append(app.screen.view.model.count),
        "o",
        lambda app: seen.append(app.screen.view.model.sort_column),
        "escape",
        lambda app: seen.append(app.screen.view.model.count),
    )
    assert seen == [1, "Node", 6]


def test_the_cursor_stays_with_its_row_while_the_order_changes(dashboard_at):
    app = dashboard_at(60)
    keys = []

    def cursor(app):
        keys.append(app.screen.view.table.key)

    def later(app):
        app.session.simulation.run_until(LATER_S * 1000)
        app.screen.update()

    drive(app, "6", "down", "down", cursor, later, cursor)
    assert keys[0] == keys[1]


def test_the_cursor_stays_with_its_row_while_rows_are_sorted_again_in_slices(dashboard_at, monkeypatch):
    monkeypatch.setattr(TasksModel, "at_once", 5)
    keys = []

    async def cursor(app):
        while app.screen.view.model.is_sorting:
            await asyncio.sleep(0.001)
        keys.append(app.screen.view.table.key)

    def act(app):
        app.session.simulation.seek(LATER_S * 1000 - 30_000)
        app.session.simulation.branch()  # all rows are read again
        app.screen.update()

    drive(dashboard_at(LATER_S), "5", *["o"] * 3, cursor, *["down"] * 3, cursor, act, cursor)
    assert keys[0] != keys[1] == keys[2]


def test_sorting_that_is_given_up_before_it_has_begun_is_no_mistake(dashboard_at, monkeypatch):
    monkeypatch.setattr(TasksModel, "at_once", 5)
    sorting = []

    def sort_twice(app):
        table = app.screen.view.table
        for _ in range(2):
            table.model.next_sort()
            table.update()
            sorting.append(table.model.is_sorting)

    drive(dashboard_at(LATER_S), "5", sort_twice)
    gc.collect()  # now at the latest Python complains of a coroutine that was never awaited
    assert sorting == [True, True]


def test_the_cursor_is_in_sight_once_the_rows_stand_in_another_order(dashboard_at):
    seen = []

    def look(app):
        table = app.screen.view.table
        seen.append(table.top_line <= table.cursor_row < table.top_line + table.visible_lines)

    drive(dashboard_at(LATER_S), "5", "o", "end", look, "O", look, size=(120, 30))
    assert seen == [True, True]


def test_a_cursor_that_was_not_moved_stays_at_the_top_of_the_list(dashboard_at):
    app = dashboard_at(150)
    seen = []

    def cursor(app):
        table = app.screen.view.table
        seen.append((table.key == table.model.key(0), table.cursor_row, table.scroll_offset.y, table.key))

    def later(app):
        app.session.simulation.run_until(LATER_S * 1000)
        app.screen.update()

    drive(app, "5", "2", "5", cursor, later, cursor, size=(80, 24))
    assert [each[:3] for each in seen] == [(True, 0, 0)] * 2
    assert seen[0][3] != seen[1][3]


def test_a_long_list_is_filtered_in_between_and_shown_when_it_is_done(dashboard_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.lists.tasks.TasksModel.at_once", 5)
    app = dashboard_at(LATER_S)

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("5", "slash", *"deal", "minus", "1")
            await pilot.pause()
            await app.workers.wait_for_complete()
            await pilot.pause()
            return text_of(app)

    lines = asyncio.run(run())
    assert contains(lines, "Tasks 11", "29 hidden")


@pytest.mark.parametrize(("key", "by_itself"), [("5", True), ("4", False)])
def test_a_page_leaves_its_update_to_the_screen_where_the_cursor_chooses_the_focus(
    dashboard_at, monkeypatch, key, by_itself
):
    updated = []

    def show_row(app):
        page = app.screen.list_page
        with monkeypatch.context() as patched:
            patched.setattr(page.model, "summary", lambda _: updated.append("summary") or ())
            patched.setattr(page.model, "footer", lambda: updated.append("row") or ())
            page.show_row()

    drive(dashboard_at(LATER_S), key, show_row)
    assert updated == (["summary", "row"] if by_itself else [])
