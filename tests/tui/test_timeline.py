"""The timeline: its rows, its cells, its keys."""

from __future__ import annotations

import asyncio

import pytest

from tests.tui.screen_text import contains, text_of
from tests.tui.test_keys import drive
from tui.viewmodels.text import plain, width
from tui.viewmodels.timeline import LABEL_CELLS, STEPS_MS, TimelineModel

LATER_S, CELLS = 330, 100


def model_of(session, cells=CELLS):
    model = TimelineModel(session)
    model.refresh(cells)
    return model


def row(model, index):
    return plain(model.row(index, is_cursor=False))


def test_a_row_tells_a_nodes_story(session_at):
    model = model_of(session_at(LATER_S, ascii_only=True))
    assert model.columns.step_ms == 5_000
    assert row(model, 1) == (
        f"{'n1':<{LABEL_CELLS}}" + "  ccssssss" + "pppppppp" + "////////" + "X" + "x" * 40 + "-" * 33
    )
    assert row(model, 5).rstrip("-").rstrip() == f"{'n5':<{LABEL_CELLS}}" + "  ccssssss" + "p" * 8 + "#" * 18 + "llll"


def test_the_cell_under_the_cursor_is_told_and_is_a_moment(session_at):
    model = model_of(session_at(LATER_S))
    assert plain(model.told(0, CELLS)).startswith("n0  08:05:30  task since 08:01:31")
    model.move(-40)  # the column in which preparation failed on n1
    assert model.cursor_ms == 130_000
    assert model.moment_ms(1) == 132_000
    assert plain(model.told(1, CELLS)) == "n1  08:02:12  barred since 08:02:12, 00:03:18 so far"
    model.move(1_000)
    assert model.moment_ms(1) is None
    assert "has not been reached yet" in plain(model.told(1, CELLS))


def test_zoom_keeps_the_cursor_where_it_is_on_the_screen(session_at):
    model = model_of(session_at(LATER_S))
    model.move(-10)
    at, when_ms = model.cursor_column, model.cursor_ms
    model.zoom(1)
    assert model.columns.step_ms == 1_000
    assert (model.cursor_column, model.cursor_ms) == (at, when_ms)
    for _ in range(20):
        model.zoom(-1)
    assert model.columns.step_ms == STEPS_MS[-1]
    model.fit()
    model.refresh(CELLS)
    assert model.columns.step_ms == 5_000
    assert model.cursor_ms is None


def test_only_rows_where_something_has_failed(session_at):
    session = session_at(LATER_S)
    model = model_of(session)
    model.only_failed = True
    shown = []
    for _ in range(3):
        model.refresh(CELLS)
        shown.append([model.rows.label(key) for key in model.keys])
        model.next_rows()
    assert shown == [["n1"], ["deal-1", "deal-11"], ["risk"]]
    session.simulation.seek(60_000)
    session.simulation.branch()
    session.noted()
    model.refresh(CELLS)
    assert model.keys == []
    assert model.empty()[0] == "None of the nodes has failed."


def test_panning_goes_from_the_start_to_the_end_of_the_run(session_at):
    model = model_of(session_at(LATER_S))
    model.move(-10_000)
    assert (model.cursor_ms, model.columns.first) == (0, 0)
    model.zoom(1)
    model.move(500)
    assert model.cursor_ms == 500_000
    assert model.columns.first == 500 - CELLS + 1


def test_tasks_and_jobs_have_rows_too(session_at):
    model = model_of(session_at(LATER_S, ascii_only=True))
    model.next_rows()
    model.refresh(CELLS)
    assert "tasks risk" in model.title()
    assert row(model, 0).startswith("deal-1    " + "a" * 18 + "#" * 12 + "x ")
    assert plain(model.told(0, CELLS)).endswith("added 08:00:00, began 08:01:31, ended 08:02:32, exit 1")
    assert "-" not in row(model, 0)[LABEL_CELLS:]
    model.next_rows()
    model.refresh(CELLS)
    assert row(model, 0).startswith("risk      " + "a" * 67 + "-")
    assert plain(model.told(0, CELLS)) == "risk  08:05:30  active since 08:00:00"
    model.next_rows()
    assert model.rows.name == "nodes"


def test_what_is_recorded_is_shown_beyond_the_moment_that_is_looked_at(session_at):
    session = session_at(LATER_S, ascii_only=True)
    model = model_of(session)
    whole = row(model, 1)
    session.noted()
    session.simulation.seek(100_000)
    session.noted()
    model.refresh(CELLS)
    assert row(model, 1).rstrip("-") == whole.rstrip("-")
    assert plain(model.axis())[LABEL_CELLS + 20] == "^"


@pytest.mark.parametrize("cells", [10, 40, 150])
def test_every_line_fits(session_at, cells):
    model = model_of(session_at(LATER_S), cells)
    for _ in range(3):
        model.refresh(cells)
        lines = [model.axis(), *(model.row(at, is_cursor=True) for at in range(len(model.keys)))]
        assert {width(each) for each in lines[1:]} == {cells + LABEL_CELLS}
        assert width(lines[0]) == cells + LABEL_CELLS
        assert width(model.told(0, cells)) <= cells
        model.next_rows()


def test_before_there_is_anything_it_says_so(dashboard_at):
    lines = []
    drive(dashboard_at(0), "8", lambda app: lines.extend(text_of(app)))
    assert contains(lines, "There are no nodes yet.")


def test_enter_goes_to_the_moment_and_w_explains_it_without_going_there(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    earlier = ["left"] * 40

    def look(app):
        seen.append((app.session.now_ms, app.session.is_past))

    drive(app, "8", "down", *earlier, "w", look, lambda app: seen.append(text_of(app)), "escape", "enter", look)
    assert seen[0] == (LATER_S * 1000, False)
    assert contains(seen[1], "Why, at 08:02:12", "Why is n1 barred from job risk?")
    assert seen[2] == (132_000, True)


def test_keys_move_zoom_and_change_rows(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def note(app):
        grid = app.screen.focused
        seen.append((grid.subject, grid.model.columns.step_ms, grid.model.rows.name, grid.model.cursor_ms))

    drive(app, "8", "end", note, "home", "plus", note, "minus", "minus", note, "r", note, "n", note, "shift+left", note)
    assert [subject.key for subject, *_ in seen[:3]] == [5, 0, 0]
    assert [step for _, step, *_ in seen] == [5_000, 1_000, 15_000, 15_000, 5_000, 5_000]
    assert [name for _, _, name, _ in seen] == ["nodes"] * 3 + ["tasks"] * 3
    assert seen[-1][3] == 230_000


def test_the_mouse_selects_a_cell_and_goes_to_its_moment(dashboard_at):
    app = dashboard_at(LATER_S)
    subjects = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("8")
            await pilot.pause()
            await pilot.click("#lanes", offset=(2 + LABEL_CELLS + 20, 4), times=2)
            await pilot.pause()
            subjects.append(app.screen.focused.subject)

    asyncio.run(run())
    assert app.session.now_ms == 100_000
    assert subjects[0].key == 2
