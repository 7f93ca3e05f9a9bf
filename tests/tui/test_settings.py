"""What is remembered: the file, what is wrong with it, and the columns of a list."""

from __future__ import annotations

import platformdirs
import pytest

from tests.tui.screen_text import contains, text_of
from tests.tui.test_keys import drive
from tui import app as tui_app
from tui.settings import Settings, SettingsFile
from tui.viewmodels.tasks import TasksModel

LATER_S = 330


@pytest.fixture
def file(tmp_path):
    return SettingsFile(tmp_path / "deep" / "settings.toml")


def written(file, text):
    file.path.parent.mkdir()
    file.path.write_text(text, encoding="utf-8")
    return file


def test_without_a_file_there_are_the_defaults_and_nothing_is_wrong(file):
    assert file.read() == (Settings(), [])
    assert not file.path.exists()


def test_what_is_written_is_read_again(file):
    settings, _ = file.read()
    settings.theme, settings.ascii, settings.speed = "light", True, 0.5
    settings.of("nodes").columns = ["State", "IP address"]
    settings.of("tasks").sort, settings.of("tasks").descending = "Duration", True
    assert file.write(settings)
    assert SettingsFile(file.path).read() == (settings, [])
    assert "# one of dark, light, high-contrast, no-colour" in file.path.read_text(encoding="utf-8")


def test_nothing_is_written_where_nothing_has_changed(file):
    settings, _ = file.read()
    settings.of("nodes")  # looked at, not changed
    assert not file.write(settings)
    assert not file.path.exists()
    settings.speed = 600
    assert file.write(settings)
    assert not file.write(settings)


@pytest.mark.parametrize("text", ["theme = ", "theme = 'dark'\ntheme = 'light'", "\x00"])
def test_a_file_that_cannot_be_read_is_told_of_and_left_as_it_is(file, text):
    settings, wrong = written(file, text).read()
    assert settings == Settings()
    assert len(wrong) == 1
    assert str(file.path) in wrong[0]
    assert "The defaults are used" in wrong[0]
    settings.theme = "light"
    assert not file.write(settings)
    assert file.path.read_text(encoding="utf-8") == text


def test_each_line_that_is_wrong_is_told_and_the_others_count(file):
    text = 'themes = "light"\nspeed = -1\nascii = true\n[lists.nodes]\ncolumns = "State"\nsort = "State"\n'
    settings, wrong = written(file, text).read()
    assert settings.ascii
    assert settings.of("nodes").sort == "State"
    assert [each.removeprefix(f"{file.path}: ") for each in wrong] == [
        "themes is not known; theme is",
        "speed should be simulated seconds per real second; 0 is as fast as it can, not -1",
        "lists.nodes: columns = 'State' is not understood: columns, sort and descending are",
    ]


def test_columns_are_chosen_shown_and_remembered(dashboard_at):
    settings = Settings()
    seen = []
    drive(
        dashboard_at(LATER_S, settings=settings),
        *("5", "C"),
        lambda app: seen.append(text_of(app)),
        *("space", "down", "enter", "end", "escape"),
        *("up", "o"),
        lambda app: seen.append(text_of(app)),
    )
    assert contains(seen[0], "Columns of Tasks", "[x] State", "[ ] Command line")
    kept = settings.of("tasks")
    assert kept.columns == ["Node", "Start time", "End time", "Exit code", "Retries", "Requeues", "Duration"]
    assert kept.sort == "Task"
    assert not any("Task" in line and "Result" in line for line in seen[1])


def test_chosen_columns_are_shown_however_narrow_as_far_as_they_fit(session_at):
    model = TasksModel(session_at(LATER_S))
    plain = [model.columns[at].name for at, _ in model.layout(70)]
    assert plain == ["", "Task", "State", "Result", "Start time", "Exit code"]
    model.arrange(["Command line", "Slots", "nonsense"], "nonsense", is_descending=False)
    assert [model.columns[at].name for at, _ in model.layout(70)] == ["", "Task", "Slots", "Command line"]
    assert model.sort_column is None
    model.next_sort()
    model.next_sort()
    assert model.sort_column == "Slots"
    model.toggle_column("Slots")
    assert model.shown_names() == {"Command line"}
    model.arrange(None, "Node", is_descending=True)
    assert (model.chosen_columns, model.sort_column, model.is_descending) == (None, "Node", True)


def test_a_list_opens_as_it_was_left(dashboard_at):
    settings = Settings()
    settings.of("nodes").columns = ["Node size"]
    settings.of("nodes").sort = "Node size"
    seen = []
    drive(dashboard_at(LATER_S, settings=settings), "3", lambda app: seen.append(text_of(app)))
    assert contains(seen[0], "Node size", "standard_d2s_v3", "sorted by node size")


def test_the_dashboard_reads_writes_and_says_what_is_wrong(tmp_path, monkeypatch, session_at):
    """The whole way, in a home of its own."""
    monkeypatch.setattr(platformdirs, "user_config_dir", lambda *_, **__: str(tmp_path))
    (tmp_path / "settings.toml").write_text('theme = "light"\nspeed = 600\nnonsense = 1\n', encoding="utf-8")
    shown = {}

    def run(app):
        shown["theme"], shown["notes"] = app.theme, app._notes
        shown["speed"] = app._deck.playback.pacer.speed
        app.theme = "high-contrast"
        app._deck.playback.pacer.speed = None

    monkeypatch.setattr(tui_app.Dashboard, "run", run)
    simulation = session_at(LATER_S).simulation
    assert tui_app.show_dashboard(simulation, speed=None, plays=False, theme=None, ascii_only=False) == 0
    assert (shown["theme"], shown["speed"]) == ("light", 600)
    assert shown["notes"] == [f"{tmp_path / 'settings.toml'}: nonsense is not known"]
    settings, wrong = SettingsFile(tmp_path / "settings.toml").read()
    assert (settings.theme, settings.speed, wrong) == ("high-contrast", 0, [])
    tui_app.show_dashboard(simulation, speed=30, plays=False, theme="dark", ascii_only=False)
    assert (shown["theme"], shown["speed"]) == ("dark", 30)
