"""Values and where they come from, how views were left before another run, and that they take effect at once."""

from __future__ import annotations

from dataclasses import replace

import platformdirs
import pytest

from engine import Simulation
from tests.tui.driving import drive
from tests.tui.screen_text import contains, messages_of, strips_of, text_of
from tui.app import dashboard as tui_app
from tui.saving.settings import OPTIONS, Settings, SettingsFile, Source
from tui.textual.screens import ShowRun
from tui.viewmodels.lists.tasks import TasksModel
from tui.viewmodels.watch.node_map import Lens

LATER_S = 330


def test_a_value_has_a_source_and_the_nearest_one_wins():
    settings = Settings({"theme": "light"})
    assert (settings.value("speed"), settings.source("speed")) == (60, Source.DEFAULT)
    assert (settings.text("theme"), settings.source("theme")) == ("light", Source.FILE)
    settings.use("theme", "no-colour", Source.ENVIRONMENT)
    assert (settings.text("theme"), settings.source("theme")) == ("no-colour", Source.ENVIRONMENT)
    settings.use("theme", "ansi", Source.COMMAND_LINE)
    assert (settings.text("theme"), settings.source("theme")) == ("ansi", Source.COMMAND_LINE)
    assert settings.options == {"theme": "light"}
    settings.choose("theme", "dark")
    assert (settings.text("theme"), settings.source("theme")) == ("dark", Source.HERE)
    assert settings.options == {"theme": "dark"}
    settings.forget("theme")
    assert (settings.text("theme"), settings.source("theme")) == ("dark", Source.DEFAULT)
    assert settings.options == {}


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("theme", ["ansi"], ["pink", 1, True]),
        ("speed", [0, 0.5, 60], [-1, "60", True, float("inf"), float("nan")]),
        ("confirm_quit", [True, False], [0, 1, "true"]),
    ],
)
def test_an_option_takes_what_it_can_be(name, right, wrong):
    assert all(OPTIONS[name].takes(value) for value in right)
    assert not any(OPTIONS[name].takes(value) for value in wrong)


def test_columns_are_chosen_shown_and_remembered(dashboard_at):
    settings = Settings()
    app = dashboard_at(LATER_S, settings=settings)
    seen = []
    drive(
        app,
        *("5", "C"),
        lambda app: seen.append(text_of(app)),
        *("down", "enter", "down", "down", "enter", "escape"),
        *("up", "o", "down", "down"),
        lambda app: seen.append(text_of(app)),
    )
    app.main_screen.remember_views()
    assert contains(seen[0], "Columns of Tasks", "[x] State", "[ ] Command line")
    kept = settings.of("tasks")
    assert kept["columns"] == {
        "Node",
        "Created",
        "Start time",
        "End time",
        "Exit code",
        "Retries",
        "Requeues",
        "Duration",
    }
    assert kept["sort"] == "Task"
    assert kept["cursor"].startswith("deal-")
    assert not any("Task" in line and "Result" in line for line in seen[1])


def test_chosen_columns_are_shown_however_narrow_as_far_as_they_fit(session_at):
    model = TasksModel(session_at(LATER_S))
    plain = [model.columns[at].name for at, _ in model.layout(56)]
    assert plain == ["", "Task", "State", "Node", "Start time", "Exit code"]
    chosen = {"columns": frozenset({"Command line", "Required slots"}), "sort": None, "descending": False, "filter": ""}
    model.recall(chosen)
    assert [model.columns[at].name for at, _ in model.layout(70)] == ["", "Task", "Required slots", "Command line"]
    assert model.remembered() == chosen
    model.next_sort()
    model.next_sort()
    assert model.sort_column == "Required slots"
    model.toggle_column("Required slots")
    assert model.shown_names() == {"Command line"}
    model.recall({"sort": "Node", "descending": True})
    assert model.chosen_columns is None
    assert model.remembered() == {"columns": None, "sort": "Node", "descending": True, "filter": ""}


def test_every_view_opens_as_it_was_left(dashboard_at):
    first = Settings()
    app = dashboard_at(LATER_S, settings=first)
    drive(
        app,
        *("l", "3", "o", "O", "down", "down"),
        *("5", "slash", *"state:completed", "enter", "exclamation_mark", "8", "r", "plus"),
    )
    app.main_screen.remember_views()
    assert first.of("watch") == {"lens": Lens.STATE}
    assert first.of("nodes")["sort"] == "Node"
    assert first.of("nodes")["descending"]
    assert first.of("tasks")["filter"] == "state:completed"
    assert "only_failed" not in first.of("tasks")  # elsewhere it would hide what nobody has looked at
    assert first.of("timeline")["rows"] == 1  # tasks
    again = dashboard_at(LATER_S, settings=Settings(views=first.views))
    seen = []
    drive(again, lambda app: seen.append(text_of(app)), "3", lambda app: seen.append(text_of(app)))
    again.main_screen.remember_views()
    assert again.settings.views == first.views
    assert contains(seen[0], "node state")
    assert contains(seen[1], "Node▼")


@pytest.mark.parametrize(("name", "kept"), [("one-node-fails", "state:completed"), ("another", "")])
def test_a_filter_and_a_lens_stay_with_their_scenario(dashboard_at, name, kept):
    app = dashboard_at(LATER_S)
    other = Simulation(replace(app.session.simulation.scenario, name=name))
    seen = []
    drive(
        app,
        *("l", "5", "slash", *"state:completed", "enter"),
        lambda app: app.post_message(ShowRun(other)),
        lambda app: seen.append(contains(text_of(app), "node state")),
        "5",
        lambda app: seen.append(app.screen.view.model.filter_text),
    )
    assert seen == [bool(kept), kept]


def test_only_failures_ends_with_the_run_and_the_title_says_what_is_hidden(dashboard_at):
    settings, seen = Settings(), []
    app = dashboard_at(LATER_S, settings=settings)
    shows = [lambda app: seen.append(text_of(app))]
    drive(app, "9", *shows, "exclamation_mark", *shows)
    events = app.session.events
    assert contains(seen[0], f"Events {events.count} ")
    assert contains(seen[1], f"Events {len(events.failures())}, only failed ")
    app.main_screen.remember_views()
    assert "only_failed" not in settings.of("events")
    drive(dashboard_at(LATER_S, settings=settings), "9", *shows)
    assert contains(seen[2], f"Events {events.count} ")


def test_an_option_that_is_chosen_takes_effect_at_once(dashboard_at):
    app = dashboard_at(LATER_S)
    seen = []

    def choose(name, value):
        return lambda app: app.choose(name, value)

    def look(app):
        seen.append((app.theme, text_of(app)))

    drive(app, "6", look, choose("theme", "light"), choose("glyphs", "ascii"), choose("time", "elapsed"), look)
    app = dashboard_at(LATER_S)
    drive(
        app,
        "6",
        choose("speed", 600.0),
        look,
        *(choose("glyphs", each) for each in ("ascii", None)),
        look,
    )
    assert seen[0][0] == "dark"
    assert contains(seen[0][1], "08:0", "✗")
    assert seen[1][0] == "light"
    assert contains(seen[1][1], " 00:0")
    assert all(line.isascii() for line in seen[1][1])
    assert contains(seen[2][1], "x600")
    assert contains(seen[3][1], "✗")


def test_the_dashboard_reads_writes_and_says_what_is_wrong(tmp_path, monkeypatch, session_at):
    """The whole way, in a home of its own."""
    monkeypatch.setattr(platformdirs, "user_config_dir", lambda *_, **__: str(tmp_path))
    (tmp_path / "settings.toml").write_text('theme = "light"\nspeed = 600\nnonsense = 1\n', encoding="utf-8")
    shown = {}

    def use(app):
        shown["theme"], shown["messages"] = app.theme, messages_of(app)
        shown["speed"] = app.main_screen.playback.pacer.speed
        app.choose("theme", "high-contrast")
        app.main_screen.playback.choose_speed(None)  # for this run

    monkeypatch.setattr(tui_app.Dashboard, "run", lambda app, **_: drive(app, use))
    simulation = session_at(LATER_S).simulation
    assert tui_app.show_dashboard(simulation, speed=None, plays=False, theme=None, ascii_only=False) == 0
    assert (shown["theme"], shown["speed"]) == ("light", 600)
    assert f"{tmp_path / 'settings.toml'}:\nnonsense is not known" in shown["messages"]
    settings, _ = SettingsFile(tmp_path / "settings.toml").read()
    assert (settings.value("theme"), settings.value("speed")) == ("high-contrast", 600)
    tui_app.show_dashboard(simulation, speed=30, plays=False, theme="dark", ascii_only=False)
    assert (shown["theme"], shown["speed"]) == ("dark", 30)


@pytest.mark.parametrize("theme", OPTIONS["theme"].values)
def test_every_theme_draws_views_and_sheets_in_its_colours(dashboard_at, theme):
    seen, kinds = [], set()

    def look(app):
        seen.append(text_of(app))
        styles = {segment.style for strip in strips_of(app) for segment in strip} - {None}
        kinds.update(colour.type.name for style in styles for colour in (style.color, style.bgcolor) if colour)

    drive(dashboard_at(LATER_S, theme=theme), look, "question_mark", look, "escape", "a", look, "escape", "s", look)
    assert all(contains(lines, word) for lines, word in zip(seen, ("Watch", "Help", "Reboot", "Settings"), strict=True))
    allowed = {"ansi": {"DEFAULT", "STANDARD"}, "no-colour": {"DEFAULT"}}.get(theme, {"TRUECOLOR"})
    assert kinds == allowed


@pytest.mark.parametrize(
    ("variable", "value", "theme", "glyphs"),
    [
        ("NO_COLOR", "1", "no-colour", "auto"),
        ("NO_COLOR", "", "dark", "auto"),
        ("TERM", "dumb", "no-colour", "ascii"),
        ("LANG", "C", "dark", "ascii"),
        ("LANG", "", "dark", "auto"),
        ("LC_ALL", "POSIX", "dark", "ascii"),
        ("LC_CTYPE", "C", "dark", "ascii"),
    ],
)
def test_the_environment_is_asked(tmp_path, monkeypatch, session_at, variable, value, theme, glyphs):
    monkeypatch.setattr(platformdirs, "user_config_dir", lambda *_, **__: str(tmp_path))
    monkeypatch.setenv(variable, value)
    seen = []
    look = lambda app, **_: seen.append((app.theme, app.settings.value("glyphs")))  # noqa: E731
    monkeypatch.setattr(tui_app.Dashboard, "run", look)
    tui_app.show_dashboard(session_at(0).simulation, speed=None, plays=False, theme=None, ascii_only=False)
    assert seen == [(theme, glyphs)]
    assert not (tmp_path / "settings.toml").exists()


@pytest.fixture
def glyphs_in(tmp_path, monkeypatch, session_at):
    """Return the choice of symbols with which the dashboard begins in an environment."""
    monkeypatch.setattr(platformdirs, "user_config_dir", lambda *_, **__: str(tmp_path))
    seen = []
    monkeypatch.setattr(tui_app.Dashboard, "run", lambda app, **_: seen.append(app.settings.value("glyphs")))

    def begin(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        tui_app.show_dashboard(session_at(0).simulation, speed=None, plays=False, theme=None, ascii_only=False)
        return seen[-1]

    return begin


def test_a_locale_that_python_itself_has_set_says_nothing_of_the_terminal(glyphs_in):
    assert glyphs_in(LANG="C", LC_CTYPE="de_DE.UTF-8") == "auto"
    assert glyphs_in(LC_CTYPE="C.UTF-8") == "ascii"  # as PEP 538 does where LANG is C


def test_symbols_that_were_chosen_are_kept_in_any_locale(tmp_path, glyphs_in):
    (tmp_path / "settings.toml").write_text('glyphs = "unicode"\n', encoding="utf-8")
    assert glyphs_in(LC_ALL="C") == "unicode"


def test_the_cursor_returns_to_its_row_wherever_it_is_now(dashboard_at):
    settings = Settings(views={"tasks": {"sort": "State", "cursor": "frame-0007"}})
    app = dashboard_at(530, "forty-nodes", settings=settings)
    seen = []

    def look(app):
        view = app.main_screen.view
        seen.append((view.model.identity_of(view.table.key), view.table.cursor_row > 1000))

    drive(app, "5", look, "home", look, lambda app: app.main_screen.update(), look)
    assert seen[0] == ("frame-0007", True)
    assert seen[1] == seen[2] != seen[0]
