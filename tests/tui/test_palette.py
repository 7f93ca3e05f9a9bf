"""The command palette: it finds what a person would type, and shows keys as they are on the keyboard."""

from __future__ import annotations

import pytest

from tests.tui.driving import drive
from tests.tui.screen_text import contains, text_of
from tui.app.main_screen import palette_entries
from tui.viewmodels.go_line import PaletteEntry, about_cut_off, entry_line, fitting
from tui.viewmodels.text import ItemRef, plain, width

LATER_S = 330


@pytest.fixture(scope="module")
def entries():
    """All commands of a dashboard."""
    from tests.tui.conftest import simulation_at
    from tui.app.dashboard import Dashboard

    app = Dashboard(simulation_at(LATER_S), plays=False)
    return list(palette_entries(app, app.main_screen, app.choose, [ItemRef("node", 3)]))


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("cost", "Pools"),
        ("money", "Pools"),
        ("price", "Pools"),
        ("deadline", "Run a study of this scenario, or show it"),
        ("slow", "Slower"),
        ("speed", "Speed 1x"),
        ("exit", "Quit"),
        ("quit", "Quit"),
        ("act", "Act on the row, or on what is marked"),
        ("reboot", "Reboot n3 (node)"),
        ("restart node", "Reboot n3 (node)"),
        ("ssh", "Add a user account to n3 (node)"),
        ("edit job", "Edit risk (job)"),
        ("edit pool", "Edit shared (pool)"),
        ("kill job", "Terminate risk (job)"),
        ("kill task", "Terminate a task"),
        ("clone job", "Clone risk (job)"),
        ("resize", "Resize shared (pool)"),
        ("add nodes", "Resize shared (pool)"),
        ("add node", "Resize shared (pool)"),
        ("more nodes", "Resize shared (pool)"),
        ("why", "Explain the state of the row"),
        ("failed", "Next failure"),
        ("columns", "Choose columns"),
        ("remove node", "Remove n3 from the pool (node)"),
        ("add task", "Add tasks to risk (job)"),
        ("add user", "Add a user account to n3 (node)"),
        ("stdout", "Files of the row"),
        ("log", "Events"),
        ("gantt", "Timeline"),
        ("stuck", "Explain the state of the row"),
        ("dark", "Theme: dark"),
        ("high-contrast", "Theme: high-contrast"),
        ("csv", "Export the rows: CSV; of a node RDP; on Watch and Timeline the run as a page"),
        ("html", "Write the run as a page"),
        ("quota", "Account"),
        ("blobs", "Storage"),
        ("undo", "Take back the last command given by hand"),
        ("end", "Go to the end of the run"),
        ("legend", "Help"),
        ("lens", "Watch"),
        ("how long", "Watch"),
        ("budget", "Pools"),
        ("zoom", "Maximise or restore the pane"),
        ("sample", "Open another scenario"),
        ("go to time", "Go to a time"),
        (">", "Forward through the views visited"),
        ("}", "As fast as possible"),
    ],
)
def test_the_first_command_is_what_a_person_would_mean(entries, typed, title):
    found = [entry.title for entry in fitting(entries, typed)]
    assert found[0] == title
    assert title.startswith("Theme") or "Theme: high-contrast" not in found


def test_a_whole_word_comes_before_its_beginning_and_a_title_before_other_words():
    wanted = [
        PaletteEntry(title, about, print, words=words)
        for title, about, words in (
            ("Locate", "", "log"),
            ("Logs", "", ""),
            ("Prologue", "", ""),
            ("Log", "", ""),
            ("Other", "the log", ""),
        )
    ]
    assert [entry.title for entry in fitting(wanted, "log")] == ["Log", "Logs", "Locate", "Other", "Prologue"]
    assert [entry.title for entry in fitting(wanted, "prlg")] == ["Prologue"]
    assert fitting(wanted, "zebra") == []
    assert fitting(wanted, " ") == wanted


def test_titles_keep_their_capitals_and_keys_are_named_as_on_the_keyboard(entries):
    by_title = {entry.title: entry.key for entry in entries}
    assert by_title["To the next moment"] == "."
    assert by_title["Forward through the views visited"] == ">"
    assert by_title["Help"] == "? f1"
    assert "Export the rows: CSV; of a node RDP; on Watch and Timeline the run as a page" in by_title
    assert "Copy the row as JSON" in by_title
    assert not any("_" in entry.key for entry in entries)


@pytest.mark.parametrize("cells", [30, 56, 76, 110])
def test_no_line_is_wider_than_the_palette(entries, cells):
    assert max(width(entry_line(entry, cells)) for entry in entries) <= cells


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_it_opens_is_typed_into_and_does_what_is_chosen(dashboard_at, size):
    seen = []
    look = lambda app: seen.append(text_of(app))  # noqa: E731
    keys = ("ctrl+p", look, *"stdout", look, "ctrl+u", *"cost", "enter", look)
    drive(dashboard_at(LATER_S), *keys, lambda app: seen.append(len(app.screen_stack)), size=size)
    opened, found, done, left = seen
    assert contains(opened, "Commands", "Run or pause simulated time", "To the next moment")
    assert contains(found, "1 command", "Files of the row")
    assert "Pools" in done[0]
    assert left == 1


def test_an_action_is_on_what_is_under_the_cursor_and_says_why_it_is_not_possible(dashboard_at):
    app, seen = dashboard_at(LATER_S), []
    look = lambda app: seen.append(text_of(app))  # noqa: E731
    keys = ("3", "down", "down", "ctrl+p", *"reimage", look, "enter", look, "escape")
    drive(app, *keys, "ctrl+p", *"enable sched", look, "escape", "ctrl+p", *"kill task", look, "enter", look)
    assert contains(seen[0], "Reimage n2 (node)")
    assert contains(seen[1], "Reimage n2", "What would happen")
    assert contains(seen[2], "Enable scheduling on n2 (node)", "Not now: it is already enabled.")
    assert contains(seen[3], "Terminate a task", "Not here: put the cursor on a task first.")
    assert contains(seen[4], "Terminate a task: put the cursor on one, then press a.")


def test_in_the_past_no_action_is_possible(dashboard_at):
    seen = []
    drive(dashboard_at(LATER_S), "comma", "comma", "ctrl+p", *"edit job", lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "Edit risk (job)", "This is the past.")


def test_down_chooses_the_next_command_and_escape_none(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []
    look = lambda app: seen.append((len(app.screen_stack), app.session.now_ms > LATER_S * 1000))  # noqa: E731
    drive(app, "ctrl+p", "down", "enter", look, "ctrl+p", look, "escape", look)
    assert seen == [(1, True), (2, True), (1, True)]


def test_what_is_cut_in_a_narrow_list_is_told_above_it_for_the_command_under_the_cursor(dashboard_at):
    seen = []
    drive(dashboard_at(330), "ctrl+p", "down", lambda app: seen.extend(text_of(app)), size=(80, 24))
    assert contains(seen, "commands   Goes to the next moment at which something happens.")
    assert about_cut_off(PaletteEntry("Faster", "When little happens.", print), 68) == ""


def test_it_needs_neither_colour_nor_unicode(dashboard_at):
    seen = []
    app = dashboard_at(LATER_S, ascii_only=True, theme="no-colour")
    drive(app, "ctrl+p", *"exit", lambda app: seen.extend(text_of(app)))
    assert contains(seen, "Quit")
    assert all(line.isascii() for line in seen)


def test_the_footer_names_its_key(dashboard_at):
    for size in ((80, 24), (120, 40)):
        seen = []
        drive(dashboard_at(LATER_S), lambda app, seen=seen: seen.extend(text_of(app)), size=size)
        assert seen[-1].endswith("ctrl+p commands  ? help  q quit")


def test_words_of_a_command_line_are_explained(entries):
    assert plain(entry_line(fitting(entries, "bookmark")[0], 110)).split()[0] == "B"


def test_on_a_narrow_screen_commands_are_explained_too(entries):
    found = fitting(entries, "cost")
    assert "Statistics" in [each.title for each in found]
    for entry in found:
        told = plain(entry_line(entry, 68))
        assert width(entry_line(entry, 68)) <= 68
        assert entry.title in told
        assert entry.about[:10] in told
