"""The help: the keys of the pane with the focus, and a page about each view."""

from __future__ import annotations

import pytest

from tests.tui.screen_text import contains, text_of
from tests.tui.test_keys import drive
from tui.viewmodels.frame.tabs import TABS
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.sheets.help import HelpPage, key_lines, page_lines
from tui.viewmodels.text.glyphs import NODE, GlyphSet
from tui.viewmodels.text.styled import Role, plain, width

LATER_S = 330
COLUMNS = (Column("", 1), Column("Node", 10), Column("Focus job", 10, is_derived=True))


def texts(lines):
    return [plain(each).rstrip() for each in lines]


@pytest.mark.parametrize("tab", [tab for tab in TABS if tab.model], ids=lambda tab: tab.name)
def test_there_is_a_sentence_for_every_column(tab):
    assert [column.name for column in tab.model.columns if column.name and not column.help_text] == []


def test_keys_here_come_before_keys_everywhere():
    lines = texts(key_lines([("o", "sort by the next column")], [("q", "quit")], 24))
    assert lines == [
        "Keys here",
        "o           sort by the",
        "            next column",
        "",
        "Keys everywhere",
        "q           quit",
    ]
    assert texts(key_lines([], [("q", "quit")], 24))[0] == "Keys everywhere"


@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_page_tells_of_columns_and_of_states_as_they_are_drawn(ascii_only):
    glyphs = GlyphSet(ascii_only=ascii_only)
    lines = page_lines(HelpPage("Nodes", "All nodes.", COLUMNS), glyphs, 70)
    said = texts(lines)
    assert said[0] == "All nodes."
    (derived,) = (spans[0] for spans in lines if plain(spans).startswith("Focus job"))
    assert derived.role is Role.DERIVED
    tables = [each for each in said if each in ("Nodes", "Tasks", "Jobs", "Pools", "Job schedules", "Release tasks")]
    assert tables[0] == "Nodes"
    assert len(tables) == 6
    for glyph in NODE.values():
        assert any(each.startswith(f"{glyphs.of(glyph)} {glyph.name}") for each in said)
    assert any("no tasks until the start task succeeds" in each for each in said)
    assert all(width(spans) <= 70 for spans in lines)
    assert not ascii_only or all(each.replace("…", "~").isascii() for each in said)


def test_the_watch_view_begins_with_the_states_of_its_map():
    said = texts(page_lines(HelpPage("Watch", "Three bars."), GlyphSet(ascii_only=False), 80))
    assert said[:3] == ["Three bars.", "", "Preparation tasks"]
    assert "Columns" not in said


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
def test_help_shows_keys_beside_the_page_and_tab_goes_to_the_other(dashboard_at, size):
    seen = []
    drive(
        dashboard_at(LATER_S),
        *("3", "question_mark"),
        lambda app: seen.append(text_of(app)),
        *("tab", "end"),
        lambda app: seen.append(text_of(app)),
        "escape",
        lambda app: seen.append(len(app.screen_stack)),
        size=size,
    )
    assert contains(seen[0], "Keys here", "page down", "Help: Nodes", "Focus job is derived")
    assert contains(seen[1], "Help: Nodes", "Focus job is derived", "settings")
    assert seen[2] == 1


def test_the_palette_finds_help_of_any_view_settings_and_themes(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def find(app):
        commands = {command.title: command for command in app.get_system_commands(app.screen)}
        assert {"Settings", "Theme: ansi", "Time: elapsed", "Help: Pools", "Help: Watch"} <= set(commands)
        commands["Help: Pools"].callback()

    drive(app, find, lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "Help: Pools", "current and target number of dedicated nodes")
