"""The help: the keys of the pane with the focus, and a page about each view."""

from __future__ import annotations

from itertools import chain

import pytest

from engine.base.terms import JobState, TaskState
from tests.builders import READY_S, a_job, a_line, a_pool, run_to, simulation
from tests.tui.driving import drive, look
from tests.tui.screen_text import contains, text_of
from tui.app.dashboard import Dashboard
from tui.app.main_screen import MainScreen, palette_entries
from tui.dialogs.sheets import entries_of
from tui.panes.watch import Watch
from tui.textual.keys import Keymap
from tui.viewmodels.glyphs import JOB, NODE, TASK, GlyphSet
from tui.viewmodels.go_line import TABS
from tui.viewmodels.lists.columns import Column
from tui.viewmodels.sheets import HelpPage, KeyEntry, key_lines, page_lines, symbol_lines
from tui.viewmodels.text import Role, Span, plain, width

LATER_S = 330
COLUMNS = (Column("", 1), Column("Node", 10), Column("Focus job", 10, is_derived=True))


def texts(lines):
    return [plain(each).rstrip() for each in lines]


@pytest.mark.parametrize("tab", [tab for tab in TABS if tab.model], ids=lambda tab: tab.name)
def test_there_is_a_sentence_for_every_column(tab, session_at):
    columns = tab.model(session_at(LATER_S)).columns
    assert [column.name for column in columns if column.name and not column.help_text] == []


def test_the_keys_of_the_pane_come_first_and_the_others_by_group():
    here = [
        KeyEntry("o", "sort by the next column", "Again for the next one.", "In this pane"),
        KeyEntry("up", "up", group="Move in this pane"),
    ]
    everywhere = [KeyEntry("w", "why", group="First"), KeyEntry("space", "run", group="Time")]
    everywhere.append(KeyEntry("q", "quit", group="Go"))
    lines = key_lines([*everywhere, *here], 34)
    assert texts(lines) == [
        "First",
        "w        Why.",
        "",
        "In this pane",
        "o        Sort by the next column.",
        "         Again for the next one.",
        "",
        "Time",
        "space    Run.",
        "",
        "Go",
        "q        Quit.",
        "",
        "Move in this pane",
        "up       Up.",
    ]
    assert lines[5][-1] == Span("Again for the next one.", Role.DIM)
    assert texts(key_lines(everywhere, 24))[:2] == ["First", "w        Why."]


def test_help_says_of_every_key_everywhere_what_it_does_and_when_to_use_it():
    entries = entries_of(Keymap(), MainScreen, Dashboard)
    assert [entry.keys for entry in entries if not entry.when.endswith(".")] == []
    assert list(dict.fromkeys(entry.group for entry in entries)) == [
        "The first keys to know",
        "Time",
        "Go",
        "Look",
        "Act",
    ]
    assert all(len(sentence.split()) <= 12 for entry in entries for sentence in entry.when.split(". "))


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


def test_the_help_on_watch_has_terms_in_a_column_and_explains_the_line_of_the_run():
    for ascii_only in (False, True):
        glyphs = GlyphSet(ascii_only=ascii_only)
        lines = page_lines(HelpPage("Watch", Watch.help_text), glyphs, 60)
        said = [next(each for each in lines if plain(each).startswith(term)) for term in ("w a space", "u U", "Line 2")]
        assert all(each[0].role is Role.KEY and width(each[:1]) == 11 for each in said)
        assert "take back" in plain(said[1]).lower()
        assert any(plain(each).startswith(f"{glyphs.now} {glyphs.planned}") for each in lines)
        assert all(width(each) <= 60 for each in lines)


def test_on_a_small_screen_help_begins_with_the_three_keys_that_are_wanted_first(dashboard_at):
    keys, _, _ = help_at(dashboard_at, (80, 24))
    first = next(number for number, text in enumerate(keys) if "The first keys to know" in text)
    begun = "".join(keys[first + 1 : first + 7])
    assert all(f" {key} " in begun for key in ("space", "w", "a"))


def help_at(dashboard_at, size):
    """The help on the list of nodes, and what Tab brings."""
    seen = []
    steps = ("3", "question_mark", lambda app: seen.append(text_of(app)), "tab", lambda app: seen.append(text_of(app)))
    drive(dashboard_at(LATER_S), *steps, "escape", lambda app: seen.append(len(app.screen_stack)), size=size)
    return seen


def test_help_shows_keys_beside_the_page_about_the_view(dashboard_at):
    keys, _, left = help_at(dashboard_at, (120, 40))
    assert contains(keys, "The first keys to know", "In this pane", "Help: Nodes", "Focus job is derived")
    assert left == 1


def test_on_a_narrow_screen_help_shows_the_keys_and_tab_the_page(dashboard_at):
    keys, page, left = help_at(dashboard_at, (80, 24))
    assert contains(keys, "In this pane", "tab about this view")
    assert not contains(keys, "Focus job is derived")
    assert contains(page, "Help: Nodes", "Focus job is derived")
    assert left == 1


def test_the_palette_finds_help_of_any_view_settings_and_themes(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def find(app):
        commands = {entry.title: entry for entry in palette_entries(app, app.main_screen, app.choose)}
        assert {"Settings", "Theme: ansi", "Time: elapsed", "Help: Pools", "Help: Watch"} <= set(commands)
        commands["Help: Pools"].run()

    drive(app, find, lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "Help: Pools", "current and target number")


def test_symbols_of_tasks_of_other_jobs_are_told_and_none_twice():
    job = a_job("near", 1), a_job("far", 1, prep=a_line(60))
    sim = simulation(*job, pool=a_pool(taskSlotsPerNode=2))
    run_to(sim, seconds=READY_S + 20)
    app, seen = Dashboard(sim, plays=False), []
    app.session.focus_job("near")
    drive(app, lambda app: seen.extend(app.screen.view.symbols), size=(80, 40))
    assert TASK[TaskState.PREPARING] in seen
    explained = symbol_lines([JOB[JobState.ACTIVE], TASK[TaskState.ACTIVE]], GlyphSet(ascii_only=True), 70)
    assert sum(each.count("a active") for each in texts(explained)) == 1


def test_keys_below_a_sheet_that_have_no_room_are_left_out_and_escape_stays(dashboard_at):
    app, seen = dashboard_at(LATER_S, ascii_only=True), []
    drive(app, "w", lambda app: seen.extend(text_of(app)), size=(60, 12))
    (below,) = [each for each in seen if "below: space" in each]
    assert "esc close" in below
    assert below.isascii()


def test_one_key_tells_the_meaning_of_the_symbols_on_the_screen(dashboard_at):
    keys, shown, explained = "1358", [], []

    def note(app):
        shown.append((text_of(app), list(app.screen.view.symbols)))

    steps = ((key, note, "question_mark", look(explained), "escape") for key in keys)
    drive(dashboard_at(900, "nodes-fail-and-recover"), *chain.from_iterable(steps), size=(80, 40))
    for key, (lines, symbols), meanings in zip(keys, shown, explained, strict=True):
        assert contains(meanings, "On the screen now"), key
        assert symbols, key
        for glyph in symbols:
            assert contains(lines, glyph.symbol), (key, glyph)
            assert contains(meanings, f"{glyph.symbol} {glyph.name}"), (key, glyph)


def test_the_tab_of_preparation_tells_its_symbols_beside_several_jobs():
    sim = simulation(a_job("a", tasks=4, prep=a_line(5)), a_job("b", tasks=4), pool=a_pool(nodes=2))
    run_to(sim, seconds=READY_S + 2)
    seen = []

    def look(app):
        seen.append(sorted({glyph.name for glyph in app.screen.view.symbols}))

    drive(Dashboard(sim, plays=False), lambda app: app.screen.view._lists.choose("preparation"), look)
    assert "preparing" in seen[0]


def test_the_counts_of_preparation_on_watch_are_among_the_symbols_on_the_screen(dashboard_at):
    app, seen = dashboard_at(360, "spot-evictions"), []
    drive(app, lambda app: seen.extend(glyph.symbol for glyph in app.main_screen.view.symbols))
    assert "≃" in seen
