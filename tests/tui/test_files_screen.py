"""The sheet of files: its keys, on the real application."""

from __future__ import annotations

import asyncio
from itertools import chain

import pytest
from textual import events

from tests.tui.driving import drive
from tests.tui.screen_text import after, contains, messages_of, text_of
from tui.dialogs.files import Files
from tui.textual.keys import keys_of
from tui.viewmodels.text import plain
from tui.widgets.rows import FileTree
from tui.widgets.texts import TextView

READ = "output-to-read"
SCENES = {
    "reading": (100, ["6", "down", "f", "slash", *"parts", "enter"]),
    "failed": (100, ["6", "f"]),
    "directory": (100, ["3", "f"]),
    "gone": (2000, ["6", "down", "f"]),
}


@pytest.mark.parametrize("theme", ["dark", "light", "no-colour"])
@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("scene", SCENES)
def test_pictures(snap_compare, dashboard_at, scene, size, theme):
    seconds, keys = SCENES[scene]
    assert snap_compare(dashboard_at(seconds, READ, theme=theme), press=keys, terminal_size=size)


def status(app):
    return plain(app.screen.model.status(200))


def seen(kept, what):
    """A step that keeps what a function says of the screen."""
    return lambda app: kept.append(what(app))


OPENED = {
    ("1",): ["risk/job-1/"],
    ("3",): ["risk/job-1/", "shared/"],
    ("5",): ["workitems/risk/job-1/t3/stdout.txt", "It is empty: output"],
    ("6",): ["n1 ", "unpack: no space left on device", "will be deleted at 08:31:31"],
    ("6", "down"): ["n0 ", "1 of 9 parts", "as it was at 08:01:40"],
    ("9", "end"): ["Files on node"],
}


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_f_opens_the_files_of_what_is_under_the_cursor(dashboard_at, size):
    kept = []
    look = seen(kept, text_of)
    drive(dashboard_at(100, READ), *chain.from_iterable((*keys, "f", look, "q") for keys in OPENED), size=size)
    shown = zip(OPENED.items(), kept, strict=True)
    assert [keys for (keys, texts), lines in shown if not contains(lines, *texts)] == []


def test_where_there_are_no_files_it_is_said(dashboard_at):
    app = dashboard_at(100, READ)
    kept = []
    drive(app, "4", "f", seen(kept, lambda app: (messages_of(app), len(app.screen_stack))))
    assert kept == [(["Put the cursor on a node or task to see its files."], 1)]


def test_f_on_the_list_of_the_watch_view_opens_the_preparation(dashboard_at):
    kept = []

    def focus(app):
        app.screen.query_one("#job-lists").focus()
        app.screen.query_one("#job-lists").choose("preparation")

    drive(dashboard_at(100, READ), focus, "f", seen(kept, text_of))
    assert contains(kept[0], "unpack: no space left on device")


def test_tab_goes_between_tree_and_text_and_enter_reads(dashboard_at):
    kept = []
    focus = seen(kept, lambda app: type(app.focused))
    drive(
        dashboard_at(100, READ), "3", "f", focus, "right", "down", "right", *["down"] * 2, "enter", focus, "tab", focus
    )
    assert kept == [FileTree, TextView, FileTree]


def test_where_there_is_no_room_for_both_one_is_shown_at_a_time(dashboard_at):
    kept = []
    shown = seen(kept, lambda app: [app.screen.query_one(each).display for each in (FileTree, TextView)])
    drive(dashboard_at(100, READ), "6", "f", shown, "tab", shown, "tab", shown, size=(60, 20))
    assert kept == [[False, True], [True, False], [False, True]]


def test_directories_open_and_close_by_keys_and_by_clicks(dashboard_at):
    app = dashboard_at(100, READ)
    kept = []

    def rows(app):
        kept.append((app.screen.model.tree.path, len(app.screen.model.tree.rows)))

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("3", "f")
            await pilot.pause()
            rows(app)
            for key in ("left", "left", "left", "right", "home", "pagedown", "k"):
                await pilot.press(key)
                await pilot.pause()
                rows(app)
            for _ in range(3):
                await pilot.click(FileTree, offset=(6, 2))
                await pilot.pause()
                rows(app)

    asyncio.run(run())
    job = "workitems/risk/job-1"
    assert kept[:4] == [(job, 11), (job, 7), ("workitems", 7), ("workitems", 6)]
    assert kept[4:8] == [("workitems", 7), ("applications", 7), (job, 7), ("workitems", 7)]
    assert kept[8:] == [("shared", 7), ("shared", 8), ("shared", 7)]


def test_finding_goes_from_match_to_match(dashboard_at):
    kept = []
    mark = seen(kept, lambda app: app.screen.model.text.found_line)
    find = ["slash", *"parts", mark, "enter", "n", mark, "N", "N", mark]
    drive(dashboard_at(100, READ), "6", "down", "f", *find)
    assert kept == [1, 2, 3]


def test_n_asks_what_to_look_for_and_what_is_not_there_is_said(dashboard_at):
    app = dashboard_at(100, READ)
    kept = []
    notes = seen(kept, messages_of)
    drive(app, "6", "f", "n", *"zebra", "enter", notes, "n", notes)
    assert kept[0] == ["'zebra' is not there."]


def test_a_copy_is_saved_and_nothing_is_overwritten(dashboard_at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = dashboard_at(100, READ)
    kept = []
    notes = seen(kept, messages_of)
    again = ["e", "enter", notes, "ctrl+u", *"no/such", "enter", notes, "escape"]
    drive(app, "6", "f", "e", "enter", *again, "y")
    assert (tmp_path / "stderr.txt").read_text(encoding="utf-8").splitlines()[-1] == "exit 5"
    assert kept[0][0] == "wrote 3 lines to stderr.txt"
    assert kept[0][1] == "cannot write stderr.txt: the file exists already."
    assert kept[1][-1] == "cannot write no/such: the directory it should be in does not exist."
    assert app.clipboard == "workitems/risk/job-1/jobpreparation/stderr.txt"


def test_a_directory_has_nothing_to_be_found_or_saved(dashboard_at):
    app = dashboard_at(100, READ)
    drive(app, "3", "f", "e", "slash")
    assert set(messages_of(app)) == {"No file is open: choose one in the tree."}


def test_time_goes_by_while_a_file_is_read(dashboard_at):
    app = dashboard_at(100, READ)
    kept = []

    def later(app):
        app.session.simulation.run_until(700_000)
        app.screen_stack[0].update()

    note = seen(kept, status)
    drive(app, "6", "down", "f", note, later, note, "full_stop", note, "comma", note)
    assert kept[0] == "as it was at 08:01:40 · line 1 of 5"
    assert kept[1].startswith("as it was at 08:11:40")
    assert kept[2].startswith("as it was at 08:15:00")
    assert kept[3].startswith("as it was at 08:11:40")


def test_space_lets_time_go_by_under_the_sheet(dashboard_at):
    app = dashboard_at(60, READ)

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("right_curly_bracket", "6", "f")
            await pilot.pause()
            assert contains(text_of(app), "It is empty: output")
            await pilot.press("space")
            await app.workers.wait_for_complete()
            await pilot.pause()
            return text_of(app)

    assert contains(asyncio.run(run()), "does not exist at")


def test_the_help_tells_all_keys_of_the_sheet(dashboard_at):
    lines = after(dashboard_at(100, READ), "6", "f", "question_mark", size=(160, 90))
    assert contains(lines, "Help: Files", "Move in this pane", "Last line.", "Save a copy.")


@pytest.mark.parametrize("pane", [FileTree, TextView])
def test_no_key_is_bound_in_the_sheet_and_in_a_pane(pane):
    keys = [key for binding in (*Files.BINDINGS, *pane.BINDINGS) for key in keys_of(binding)]
    assert len(set(keys)) == len(keys)


def test_time_that_goes_by_under_the_help_is_seen_after_it(dashboard_at):
    kept = []

    def later(app):
        app.session.simulation.run_until(300_000)
        app.screen_stack[0].update()

    drive(dashboard_at(100, READ), "6", "f", "question_mark", later, "escape", seen(kept, text_of))
    assert contains(kept[0], "as it was at 08:05:00")


def test_every_hint_of_the_sheet_is_one_of_its_keys():
    known = {binding.id for binding in Files.BINDINGS}
    assert {identity for identity, _ in Files.HINTS} <= known
    assert len(Files.HINTS) <= 8


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 16)])
def test_in_ascii_all_of_it_is_ascii(dashboard_at, size):
    lines = []
    look = seen(lines, text_of)
    drive(
        dashboard_at(2000, READ, ascii_only=True),
        "6",
        "down",
        "f",
        look,
        "tab",
        look,
        "slash",
        look,
        "escape",
        size=size,
    )
    letters = {letter for screen in lines for each in screen for letter in each}
    assert {letter for letter in letters if not letter.isascii()} == set()


def test_a_large_file_scrolls_by_wheel_and_keys(dashboard_at):
    app = dashboard_at(100, READ)
    kept = []

    async def run():
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("6", "f")
            await pilot.pause()
            model = app.screen.model
            model.text.show("".join(f"line {number}\n" for number in range(200_000)), is_other=True)
            view = app.screen.query_one(TextView)
            for key in ("end", "pageup", "home", "down", "pagedown", "right", "left", "up"):
                await pilot.press(key)
                await pilot.pause()
                kept.append(model.text.first)
            height = view.size.height
            await pilot._post_mouse_events([events.MouseScrollDown], widget=TextView)
            await pilot.pause()
            kept.append(model.text.first)
            return height

    height = asyncio.run(run())
    assert kept[:2] == [200_000 - height, 200_000 - 2 * height + 1]
    assert kept[2:8] == [0, 1, height, height, height, height - 1]
    assert kept[8] == height + 2
