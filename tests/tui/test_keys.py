"""Keys: each does what it says, on the real application."""

from __future__ import annotations

import asyncio
import time

import pytest
from textual import events
from textual.actions import parse

from engine import Simulation, load_scenario
from tests.tui.screen_text import after, contains, messages_of, text_of
from tui.app.commands import palette_entries
from tui.dialogs.action_form import ActionForm
from tui.viewmodels.frame.tabs import TABS
from tui.widgets.table import Table

LATER_S = 330


async def arrived(app):
    """Wait until all that was typed is done, and for the end of the way to another moment."""
    while app.keyboard.is_busy or app.main_screen.playback.pacer.is_seeking:
        await asyncio.sleep(0.001)


async def tried_out(app):
    """Wait until what is typed into a form has been read and tried out."""
    while isinstance(app.screen, ActionForm) and app.screen.is_behind:
        await asyncio.sleep(0.001)


def drive(app, *steps, size=(120, 40)):
    """Press keys, and look with functions in between."""

    async def run():
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            for step in steps:
                if callable(step):
                    await tried_out(app)
                    step(app)
                else:
                    await pilot.press(step)
                await pilot.pause()
                await arrived(app)

    asyncio.run(run())


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (60, 16), (40, 10)])
def test_every_view_opens_by_its_key_at_every_size(dashboard_at, size):
    titles = []
    looks = [step for tab in TABS for step in (tab.key, lambda app: titles.append(text_of(app)))]
    drive(dashboard_at(LATER_S), *looks, size=size)
    for tab, lines in zip(TABS, titles, strict=True):
        assert len(lines) == size[1]
        assert tab.title in lines[0] or size[0] < 60


def test_a_step_is_one_event_and_back_is_the_moment_before(dashboard_at):
    app = dashboard_at(LATER_S)
    simulation = app.session.simulation
    before = len(simulation.log)
    moments = []
    drive(
        app,
        "full_stop",
        lambda _: moments.append(simulation.now_ms),
        "comma",
        lambda _: moments.append(simulation.now_ms),
    )
    assert moments[0] > LATER_S * 1000 > 0
    assert moments[1] < moments[0]
    assert len(simulation.log) <= before + 20


def test_the_past_is_said_and_branching_makes_it_the_present(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    drive(
        app,
        "comma",
        "comma",
        lambda app: seen.append(text_of(app)[0]),
        "b",
        lambda app: seen.append(text_of(app)[0]),
    )
    assert "PAST" in seen[0]
    assert "PAUSED" in seen[1]
    assert not app.session.is_past


def test_go_to_a_time_and_back_again(dashboard_at):
    app = dashboard_at(LATER_S)
    moments = []
    drive(app, "t", *"100", "enter", lambda app: moments.append(app.session.now_ms), "t", *"330", "enter")
    assert moments == [100_000]
    assert app.session.now_ms == LATER_S * 1000
    assert not app.session.is_past


def test_a_filter_works_while_it_is_typed_and_esc_clears_it(dashboard_at):
    app = dashboard_at(LATER_S)
    counts = []

    def count(app):
        counts.append(app.screen.view.model.count)

    drive(app, "5", count, "slash", *"deal", "minus", "1", count, "escape", count)
    assert counts == [40, 11, 40]


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


def test_enter_drills_down_and_escape_comes_back(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def view(app):
        seen.append(app.screen.view.id)

    drive(app, "2", view, "enter", view, "escape", view, "escape", view)
    assert seen == ["pools", "detail", "pools", "watch"]


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


def test_details_help_and_actions_open_and_close(dashboard_at):
    lines = after(dashboard_at(LATER_S), "6", size=(80, 60))
    assert contains(lines, "ineligible for this job until its disk is new", "workitems/risk/job-1/jobpreparation")
    lines = after(dashboard_at(LATER_S), "6", "enter", size=(80, 24))
    assert contains(lines, "━ Preparation task ━", "FailureExitCode", "esc close")
    lines = after(dashboard_at(LATER_S), "6", "question_mark", size=(80, 24))
    assert contains(lines, "In this pane", "Sort by the next column.")
    app = dashboard_at(LATER_S)
    depth = []
    drive(
        app,
        "6",
        "enter",
        "escape",
        "question_mark",
        "escape",
        "a",
        "escape",
        lambda app: depth.append(len(app.screen_stack)),
    )
    assert depth == [1]


def test_every_key_of_the_main_screen_leads_somewhere_and_none_is_bound_twice(dashboard_at):
    app = dashboard_at(0)
    keys = []
    for key, binding in app.get_default_screen()._bindings:
        keys.append(key)
        owner, name, _ = parse(binding.action)
        assert callable(getattr(app if owner == "app" else app.main_screen, f"action_{name}")), binding
    assert len(set(keys)) == len(keys)


def test_the_help_shows_no_key_twice(dashboard_at):
    app = dashboard_at(LATER_S)

    def look(app):
        table = app.screen.view.query_one(Table)
        for node in (app.screen, table):
            keys = [key for key, _ in node._bindings]
            assert len(set(keys)) == len(keys)

    drive(app, "6", look)


def test_a_reboot_by_hand_is_saved_as_a_scenario_that_replays_to_the_same_log(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = dashboard_at(LATER_S)
    drive(app, "6", "down", "down", "a", "enter", "enter", "R", "enter")
    saved = tmp_path / "one-node-fails-session.yaml"
    assert "rebootNode" in saved.read_text(encoding="utf-8")
    by_hand = app.session.simulation
    by_hand.run_until(by_hand.end_ms)
    replayed = Simulation(load_scenario(str(saved)))
    replayed.run_until(replayed.end_ms)
    assert list(replayed.json_lines()) == list(by_hand.json_lines())
    app.recorder.rescue()
    assert app.recorder.reports == []


def test_the_go_line_knows_views_ids_times_and_speeds(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def note(app):
        seen.append((app.screen.view.id, app.session.now_ms, app.screen.playback.pacer.speed))

    for text in ("tasks", "deal-7", "time 100", "speed 600", "speed nan", "no such thing"):
        keys = [{" ": "space", "-": "minus"}.get(letter, letter) for letter in text]
        drive(app, "colon", *keys, "enter", note)
        app = dashboard_at(LATER_S)
    assert [view for view, _, _ in seen[:2]] == ["tasks", "tasks"]
    assert seen[2][1] == 100_000
    assert seen[3][2] == 600
    assert seen[4][2] == seen[0][2] != 600  # the usual speed, which the length of the run decides


def test_the_command_palette_finds_what_the_keys_do(dashboard_at):
    app = dashboard_at(LATER_S)
    found = []
    drive(app, lambda app: found.extend(entry.title for entry in palette_entries(app, app.main_screen, app.choose)))
    assert {"Pools", "Go to a time", "Theme: light", "Save the session as a scenario"} <= set(found)
    assert len(found) == len(set(found))


def test_the_mouse_selects_opens_sorts_and_jumps(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            await pilot.click("#tabs", offset=(12, 0))
            await pilot.pause()
            seen.append(app.screen.view.id)
            await pilot.press("6")
            await pilot.pause()
            table = app.screen.view.table
            await pilot.click(table, offset=(8, 3))
            await pilot.pause()
            seen.append(table.key)
            await pilot.click(table, offset=(8, 1))
            await pilot.pause()
            seen.append(table.model.sort_column)
            await pilot.click("#scrubber", offset=(30, 0))
            await pilot.pause()
            seen.append(app.session.is_past)

    asyncio.run(run())
    assert seen[0] == "pools"
    assert seen[1] == 3
    assert seen[2] == "Node"
    assert seen[3] is True


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_ascii_is_ascii_on_the_whole_screen(dashboard_at, size):
    lines = []
    keys = [tab.key for tab in TABS] + ["a", "escape", "question_mark", "escape", "z", "slash", "escape"]
    steps = [step for key in keys for step in (key, lambda app: lines.extend(text_of(app)))]
    drive(dashboard_at(LATER_S, ascii_only=True), *steps, size=size)
    assert {letter for each in lines for letter in each if not letter.isascii()} == set()


def test_too_small_a_terminal_says_what_is_needed(dashboard_at):
    assert contains(after(dashboard_at(LATER_S), size=(50, 12)), "needs at least 60x16, has 50x12")
    assert contains(after(dashboard_at(LATER_S), size=(120, 12)), "needs at least 60x16, has 120x12")


def test_ctrl_c_leaves_with_the_status_of_an_interrupt(dashboard_at):
    app = dashboard_at(LATER_S)
    drive(app, "ctrl+c")
    assert app.return_code == 130


def test_files_on_a_node(dashboard_at):
    lines = after(dashboard_at(LATER_S), "3", "f")
    assert contains(lines, "Files on node", "shared/")


def test_a_refused_command_shows_its_code(dashboard_at):
    app = dashboard_at(LATER_S)
    said = []
    drive(
        app,
        "A",
        "down",
        "down",
        "enter",
        "enter",
        lambda app: said.extend(messages_of(app)),
    )
    assert said
    assert "enableJob risk refused: 409" in said[0]


def test_a_disabled_job_is_kept_where_nothing_was_saved(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = dashboard_at(LATER_S)
    drive(app, "A", "down", "enter", "enter")
    app.recorder.rescue()
    path = tmp_path / "one-node-fails-session.yaml"
    assert str(path.name) in app.recorder.reports[0]
    assert "disableJob" in path.read_text(encoding="utf-8")


def test_paused_means_no_work_at_all(dashboard_at):
    app = dashboard_at(LATER_S)
    looks = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            app.screen.view.update = lambda: looks.append(1)
            await asyncio.sleep(0.3)
            assert not list(app.workers)

    asyncio.run(run())
    assert looks == []


def test_space_runs_and_pauses(dashboard_at):
    app = dashboard_at(LATER_S)

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("right_curly_bracket", "space")
            await app.workers.wait_for_complete()
            await pilot.pause()
            return text_of(app)

    lines = asyncio.run(run())
    assert "END" in lines[0]
    assert app.session.is_over
    assert app.session.now_ms == app.session.simulation.log.last_ms


def test_without_colour_nothing_on_the_screen_has_one(dashboard_at):
    app = dashboard_at(LATER_S, theme="no-colour")
    colours = set()

    def look(app):
        for strip in app.screen._compositor.render_strips():
            for segment in strip:
                if segment.style is not None:
                    colours.update(each.name for each in (segment.style.color, segment.style.bgcolor) if each)

    drive(app, "6", look)
    assert colours == {"default"}


def test_a_long_way_shows_how_far_it_is_and_esc_stays_there(dashboard_at):
    app = dashboard_at(0, "shared-pool-two-jobs")
    simulation = app.session.simulation
    seen = []

    def half_way(until_ms, most, advance=simulation.advance):
        advance(until_ms // 2, most)
        return True

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            simulation.advance = half_way
            await pilot.press("t", *"PT5M", "enter")
            deadline_s = time.monotonic() + 30
            while "SEEKING 50%" not in text_of(app)[0]:
                assert time.monotonic() < deadline_s, text_of(app)[0]
                await asyncio.sleep(0.01)
            await pilot.press("escape")
            await app.workers.wait_for_complete()
            await pilot.pause()
            seen.append(text_of(app)[0])

    asyncio.run(run())
    assert "PAUSED" in seen[0]
    assert app.session.now_ms == 150_000


@pytest.mark.parametrize("key", ["space", "ctrl+c"])
def test_the_way_to_another_moment_is_stopped_without_leaving(dashboard_at, key):
    app = dashboard_at(LATER_S)

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.pause()
            playback = app.screen.playback
            playback.pacer.destination_ms = 10**9
            await pilot.press(key)
            await pilot.pause()
            assert not playback.pacer.is_seeking
            assert not playback.pacer.playing

    asyncio.run(run())
    assert app.return_code is None or app.return_code == 0


def test_a_long_list_is_filtered_in_between_and_shown_when_it_is_done(dashboard_at, monkeypatch):
    monkeypatch.setattr("tui.viewmodels.lists.rows.AT_ONCE", 5)
    monkeypatch.setattr("tui.viewmodels.lists.sorting._PIECE", 3)
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


def test_n_goes_from_one_failed_row_to_the_next_and_round(dashboard_at):
    app = dashboard_at(530, "forty-nodes")
    seen = []

    def look(app):
        table = app.main_screen.view.table
        seen.append((table._at, app.main_screen.view.model.is_failed(table.key)))

    drive(app, "9", "home", "n", look, "n", look, "N", look, "N", look)
    failures = app.session.events.failures()
    assert [at for at, _ in seen] == [failures[0], failures[1], failures[0], failures[-1]]
    assert all(has_failed for _, has_failed in seen)


def test_n_of_only_failed_rows_goes_through_failures_in_time(dashboard_at):
    app = dashboard_at(530, "forty-nodes")
    seen = []
    drive(
        app,
        *("6", "exclamation_mark"),
        *(step for key in ("N", "N", "n") for step in (key, lambda app: seen.append(app.session.now_ms))),
    )
    events = app.session.events
    when_ms = sorted({events.when_ms(index) for index in events.failures()})
    assert seen[0] > seen[1]
    assert seen[2] == seen[0]
    assert set(seen) <= set(when_ms)


def test_n_of_tasks_finds_those_that_failed_wherever_they_are(dashboard_at):
    app = dashboard_at(330, "retries-and-exit-conditions")
    seen = []

    def look(app):
        view = app.main_screen.view
        seen.append(view.model.cells(view.table.key)[3].text)

    drive(app, "5", "o", "n", look, "n", look)
    assert seen == ["failure", "failure"]


@pytest.mark.parametrize(("view", "pane"), [("1", "#map"), ("3", "Table"), ("8", "#lanes")])
def test_a_right_click_acts_on_what_is_under_it(dashboard_at, view, pane):
    app = dashboard_at(LATER_S)

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press(view)
            await pilot.pause()
            await pilot.click(app.screen.view.query_one(pane), offset=(14, 4), button=3)
            await pilot.pause()
            return len(app.screen_stack), text_of(app)

    depth, lines = asyncio.run(run())
    assert depth == 2
    assert contains(lines, "Reboot")


def test_the_wheel_scrolls_and_leaves_the_cursor_where_it_is(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    async def run():
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("5")
            await pilot.pause()
            table = app.screen.view.table
            key = table.key
            for _ in range(3):
                table.post_message(events.MouseScrollDown(table, 5, 5, 0, 0, 0, False, False, False))
                await pilot.pause(0.1)
            seen.append((table.scroll_offset.y > 0, table.key == key))

    asyncio.run(run())
    assert seen == [(True, True)]
