"""Keys: each does what it says, on the real application."""

from __future__ import annotations

import asyncio
from itertools import chain

import pytest
from textual import events
from textual._compositor import Compositor
from textual.actions import parse

from engine import Simulation, load_scenario
from tests.tui.driving import drive, typed
from tests.tui.screen_text import after, contains, messages_of, strips_of, text_of
from tui.app.main_screen import SHOWN_PAGES, palette_entries
from tui.viewmodels.go_line import PAGES, TABS
from tui.widgets.table import Table

LATER_S = 330


@pytest.mark.parametrize("size", [(200, 60), (120, 40), (80, 24), (60, 16), (40, 10)])
def test_every_view_opens_by_its_key_at_every_size(dashboard_at, size):
    titles = []
    looks = [step for tab in TABS for step in (tab.key, lambda app: titles.append(text_of(app)))]
    drive(dashboard_at(LATER_S), *looks, size=size)
    for tab, lines in zip(TABS, titles, strict=True):
        assert len(lines) == size[1]
        assert tab.title in lines[0] or size[0] < 60


def test_enter_drills_down_and_escape_comes_back(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def view(app):
        seen.append(app.screen.view.id)

    drive(app, "2", view, "enter", view, "escape", view, "escape", view)
    assert seen == ["pools", "detail", "pools", "watch"]


def test_details_help_and_actions_open_and_close(dashboard_at):
    lines = after(dashboard_at(LATER_S), "6", size=(80, 60))
    assert contains(lines, "ineligible for this job until its disk is new", "workitems/risk/job-1/jobpreparation")
    lines = after(dashboard_at(LATER_S), "6", "enter", size=(80, 16))  # no room for details below the list
    assert contains(lines, "─ Preparation task ─", "esc close")
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


def test_a_session_is_saved_over_no_other_file(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text("precious")
    app = dashboard_at(LATER_S)
    drive(app, "A", "down", "enter", "enter", "R", "ctrl+u", *"mine.yaml", "enter")
    assert (tmp_path / "mine.yaml").read_text() == "precious"
    assert messages_of(app)[-1] == "cannot write mine.yaml: the file exists already."
    assert app.recorder.is_unsaved


def test_the_go_line_knows_views_ids_times_and_speeds(dashboard_at):
    seen = {}

    def enter(text):
        def note(app):
            seen[text] = (app.screen.view.id, app.session.now_ms, app.screen.playback.pacer.speed)

        return ("colon", *typed(text), "enter", note)

    texts = ("tasks", "pools", "deal-7", "time 100", "speed 600")
    drive(dashboard_at(LATER_S), *chain.from_iterable(map(enter, texts)))
    drive(dashboard_at(LATER_S), *enter("speed nan"), "escape", *enter("no such thing"))
    assert [seen[text][0] for text in texts[:3]] == ["tasks", "pools", "tasks"]
    assert seen["time 100"][1] == 100_000
    assert seen["speed 600"][2] == 600
    assert seen["speed nan"][2] == seen["tasks"][2] != 600  # the usual speed, which the length of the run decides
    assert seen["no such thing"] == seen["speed nan"]


def test_every_page_that_the_go_line_offers_can_be_shown():
    assert set(SHOWN_PAGES) == set(PAGES)


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
        "enter",
        "enter",
        lambda app: said.extend(messages_of(app)),
    )
    assert said
    assert "enableJob risk refused: 409" in said[0]


def test_a_disabled_job_is_kept_where_nothing_was_saved(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = dashboard_at(LATER_S)
    drive(app, "A", "enter", "enter")
    app.recorder.rescue()
    path = tmp_path / "one-node-fails-session.yaml"
    assert str(path.name) in app.recorder.reports[0]
    assert "disableJob" in path.read_text(encoding="utf-8")


def test_without_colour_nothing_on_the_screen_has_one(dashboard_at):
    app = dashboard_at(LATER_S, theme="no-colour")
    colours = set()

    def look(app):
        for strip in strips_of(app):
            for segment in strip:
                if segment.style is not None:
                    colours.update(each.name for each in (segment.style.color, segment.style.bgcolor) if each)

    drive(app, "6", look)
    assert colours == {"default"}


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


def test_a_view_is_drawn_only_after_it_was_updated_for_its_size(dashboard_at, monkeypatch):
    app = dashboard_at(330)
    drawn = []
    render = Compositor.render_update

    def note(compositor, **more):
        drawn.append(app.main_screen.view.id)
        return render(compositor, **more)

    def listen(_):
        monkeypatch.setattr(app.main_screen.playback, "look_ahead", lambda: None)  # its end is an update of its own
        app.main_screen.workers.cancel_group(app.main_screen, "ahead")
        monkeypatch.setattr(Compositor, "render_update", note)

    drive(app, "3", "1", listen, "3")
    assert drawn == ["nodes"]
