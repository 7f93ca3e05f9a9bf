"""The settings on the screen: each value with its source, another one with a key, keys pressed; first run; leaving."""

from __future__ import annotations

import re

import pytest

from tests.tui.driving import drive
from tests.tui.screen_text import contains, messages_of, text_of
from tui.saving.settings import OPTIONS, Settings, Source
from tui.viewmodels.sheets import entries, entry_lines, next_value
from tui.viewmodels.text import plain

LATER_S = 330


def test_each_value_is_shown_with_its_source():
    settings = Settings({"theme": "light"}, keys={"help": "f2"})
    settings.use("glyphs", "ascii", Source.COMMAND_LINE)
    settings.choose("speed", 600.0)
    found = entries(settings, [("help", "f2", "help"), ("row.why", "w", "explain the state of the row")])
    assert [entry[:4] for entry in found] == [
        ("option", "theme", "light", "file"),
        ("option", "glyphs", "ascii", "command line"),
        ("option", "time", "clock", "default"),
        ("option", "speed", "600", "chosen here"),
        ("option", "cross_quiet", "yes", "default"),
        ("option", "confirm_quit", "yes", "default"),
        ("option", "introduction", "yes", "default"),
        ("key", "help", "f2", "file"),
        ("key", "row.why", "w", "default"),
    ]
    lines = entry_lines(found, 80)
    assert [number for number, _ in lines] == [-1, 0, 1, 2, 3, 4, 5, 6, -1, -1, 7, 8]
    assert all(len(plain(each)) <= 80 for _, each in lines)


@pytest.mark.parametrize(
    ("name", "value", "by", "then"),
    [
        ("theme", "dark", 1, "light"),
        ("theme", "dark", -1, "no-colour"),
        ("theme", "gone", 1, "dark"),
        ("confirm_quit", True, 1, False),
        ("speed", 60.0, 1, 120.0),
        ("speed", 0.0, 1, 0.1),
        ("speed", 59.0, 1, 60.0),
    ],
)
def test_the_next_value(name, value, by, then):
    speeds = (0.1, 60.0, 120.0, 0.0)
    assert next_value(name, value, by, speeds) == then
    assert OPTIONS[name].takes(then)


def test_values_are_changed_and_given_up_on_the_screen(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def look(app):
        seen.append((app.theme, app.session.time_format, app.settings.source("theme").value))

    drive(app, "s", "right", look, "down", "down", "enter", look, "up", "up", "left", "left", look, "d", look)
    assert seen == [
        ("light", "clock", "chosen here"),
        ("light", "elapsed", "chosen here"),
        ("no-colour", "elapsed", "chosen here"),
        ("dark", "elapsed", "default"),
    ]


def test_a_key_says_how_it_is_changed(dashboard_at):
    app = dashboard_at(LATER_S)
    at = [identity for identity, _, _ in app.main_screen.keymap.listed()].index("view.pools")
    drive(app, "s", *["down"] * (len(OPTIONS) + at), "enter", "d")
    assert messages_of(app)[-1].startswith('Keys are changed in the settings file: below [keys], "view.pools" = ')
    assert app.settings.keys == {}


def test_the_welcome_comes_once_and_any_key_does_what_it_does(dashboard_at):
    settings = Settings()
    seen = []
    drive(
        dashboard_at(LATER_S, settings=settings, introduces=True),
        lambda app: seen.append(text_of(app)),
        "2",
        lambda app: seen.append(text_of(app)),
    )
    assert contains(seen[0], "Welcome", "space runs and pauses it")
    assert not contains(seen[1], "Welcome")
    assert contains(seen[1], "› Pools")
    assert settings.options["introduction"] is False


@pytest.mark.parametrize(
    ("keys", "leaves"), [(["q", "q"], True), (["q", "enter"], True), (["q", "escape"], False), (["ctrl+q"], True)]
)
def test_q_asks_before_it_leaves_and_ctrl_q_does_not(dashboard_at, keys, leaves):
    app = dashboard_at(LATER_S)
    drive(app, *keys)
    assert (app._exit and app.return_code == 0) is leaves


def test_who_leaves_is_told_that_what_was_done_by_hand_is_kept(dashboard_at):
    told = "leave the dashboard; what was done by hand is saved"
    seen = []
    drive(
        dashboard_at(LATER_S),
        "q",
        lambda app: seen.append(text_of(app)),
        *("escape", "down", "a", "enter", "ctrl+s", "q"),
        lambda app: seen.append(text_of(app)),
    )
    assert contains(seen[0], "leave the dashboard")
    assert not contains(seen[0], told)
    assert contains(seen[1], told)


def test_q_leaves_at_once_where_nobody_wants_to_be_asked(dashboard_at):
    app = dashboard_at(LATER_S, settings=Settings({"confirm_quit": False}))
    drive(app, "q")
    assert app._exit


def test_a_speed_that_is_not_set_is_that_of_the_header(dashboard_at):
    seen = []
    look = lambda app: seen.append(text_of(app))  # noqa: E731
    drive(dashboard_at(LATER_S), look, "s", look, "escape", "right_square_bracket", "s", look, "escape", look)
    (speed,), (faster,) = (re.findall(r"PAUSED x(\d+)", lines[0]) for lines in (seen[0], seen[3]))
    assert speed != faster
    assert contains(seen[1], f"unset, {speed} now")
    assert contains(seen[2], f"unset, {faster} now")
