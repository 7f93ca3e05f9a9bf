"""The file with the settings: what is read, what is wrong with it, and that a change leaves the rest as it was."""

from __future__ import annotations

import tomllib

import pytest

from tui.saving.settings import OPTIONS, Settings, SettingsFile
from tui.saving.targets import TargetError

VIEWS = ("nodes", "tasks", "watch")

BY_HAND = """\
# mine
theme = "light"  # the room is bright

# what I look at
[views.tasks]
sort = "Node"
columns = [
    "Node",
    "State",  # always
]

# the keys of my other tools
[keys]
"row.why" = "E"
"""


@pytest.fixture
def file(tmp_path):
    return SettingsFile(tmp_path / "deep" / "settings.toml")


def written(file, text):
    file.path.parent.mkdir()
    file.path.write_text(text, encoding="utf-8")
    return file


def test_without_a_file_there_are_the_defaults_and_nothing_is_wrong(file):
    settings, wrong = file.read(VIEWS)
    assert settings.as_remembered() == {}
    assert wrong == []
    assert not file.path.exists()


def test_what_is_written_is_read_again_and_a_new_file_says_what_there_is(file):
    settings, _ = file.read(VIEWS)
    settings.choose("theme", "light")
    settings.choose("speed", 0.5)
    settings.of("nodes").update(columns=["State", "IP address"], descending=True)
    settings.of("watch").update(rows="nodes", zoom=30.0)
    settings.keys["row.why"] = "E"
    assert file.write(settings)
    again, wrong = SettingsFile(file.path).read(VIEWS)
    assert again.as_remembered() == settings.as_remembered()
    assert wrong == []
    text = file.path.read_text(encoding="utf-8")
    assert all(f"#   {name} " in text and option.about in text for name, option in OPTIONS.items())
    assert [each.name for each in file.path.parent.iterdir()] == ["settings.toml"]


def test_nothing_is_written_where_nothing_has_changed(file):
    settings, _ = file.read(VIEWS)
    settings.of("nodes")  # looked at, not changed
    assert not file.write(settings)
    assert not file.path.exists()
    settings.choose("speed", 600.0)
    assert file.write(settings)
    assert not file.write(settings)


def test_comments_and_order_are_kept(file):
    settings, wrong = written(file, BY_HAND).read(VIEWS)
    assert wrong == []
    settings.choose("theme", "dark")
    settings.choose("speed", 120.0)
    settings.of("tasks")["descending"] = True
    settings.of("tasks")["sort"] = "State"
    settings.of("nodes")["sort"] = "Node"
    settings.keys["row.act"] = "enter"
    file.write(settings)
    text = file.path.read_text(encoding="utf-8")
    found = tomllib.loads(text)
    assert (found["theme"], found["speed"], found["keys"]) == ("dark", 120, {"row.why": "E", "row.act": "enter"})
    assert found["views"]["tasks"] == {"sort": "State", "columns": ["Node", "State"], "descending": True}
    assert found["views"]["nodes"] == {"sort": "Node"}
    before = BY_HAND.replace('"light"  #', '"dark"  #').replace('sort = "Node"', 'sort = "State"')
    lines = iter(text.splitlines())
    assert all(line in lines for line in before.splitlines())  # all lines, in the same order
    settings.forget("theme")
    del settings.views["tasks"], settings.keys["row.why"]
    file.write(settings)
    assert tomllib.loads(file.path.read_text(encoding="utf-8")) == {
        "speed": 120,
        "views": {"tasks": {}, "nodes": {"sort": "Node"}},
        "keys": {"row.act": "enter"},
    }


def test_what_another_dashboard_has_written_stays(file):
    one, _ = file.read(VIEWS)
    other_file = SettingsFile(file.path)
    other, _ = other_file.read(VIEWS)
    other.choose("theme", "light")
    other_file.write(other)
    one.choose("speed", 5.0)
    file.write(one)
    assert SettingsFile(file.path).read(VIEWS)[0].as_remembered() == {"theme": "light", "speed": 5}


@pytest.mark.parametrize("text", ["theme = ", "theme = 'dark'\ntheme = 'light'", "\x00"])
def test_a_file_that_cannot_be_read_is_told_of_and_left_as_it_is(file, text):
    settings, wrong = written(file, text).read(VIEWS)
    assert settings.as_remembered() == {}
    assert len(wrong) == 1
    assert str(file.path) in wrong[0]
    assert "The defaults are used" in wrong[0]
    settings.choose("theme", "light")
    assert not file.write(settings)
    assert file.path.read_text(encoding="utf-8") == text


def test_a_file_that_was_spoilt_since_is_left_as_it_is(file):
    settings, _ = written(file, "").read(VIEWS)
    file.path.write_text("theme = ", encoding="utf-8")
    settings.choose("theme", "light")
    with pytest.raises(TargetError, match=r"settings\.toml"):
        file.write(settings)
    assert file.path.read_text(encoding="utf-8") == "theme = "


def test_each_line_that_is_wrong_is_told_and_the_others_count(file):
    text = """
themes = "light"
speed = -1
glyphs = "ascii"
confirm_quit = 1
views.nodes = {columns = "State", sort = "State", sorted = true}
views.node.sort = "x"
views.tasks = {columns = [1], descending = "yes"}
"""
    settings, wrong = written(file, text).read(VIEWS)
    assert settings.as_remembered() == {"glyphs": "ascii", "views": {"nodes": {"sort": "State"}}}
    assert len(wrong) == 1
    assert wrong[0].splitlines() == [
        f"{file.path}:",
        "themes is not known: did you mean 'theme'?",
        "speed should be a number, not -1",
        "confirm_quit should be true, false, not 1",
        "views.nodes.columns should be a list of names, not 'State'",
        "views.nodes.sorted is not known: did you mean 'sort'?",
        "views.node is not a view: did you mean 'nodes'?",
        "views.tasks.columns should be a list of names, not [1]",
        "views.tasks.descending should be true or false, not 'yes'",
    ]


def test_settings_are_equal_where_nothing_was_chosen():
    assert Settings().as_remembered() == Settings(views={"nodes": {}}).as_remembered() == {}


def test_filters_and_cursors_of_single_scenarios_are_not_written_and_old_ones_go(file):
    old = '[views.tasks]\nsort = "Node"\ncursor = "deal-7"\nfilter = "deal"\n'
    settings, wrong = written(file, old).read(VIEWS)
    assert wrong == []
    assert settings.of("tasks") == {"sort": "Node"}
    settings.of("tasks").update(cursor="frame-0007", filter="frame")
    settings.choose("theme", "light")
    assert file.write(settings)
    assert tomllib.loads(file.path.read_text(encoding="utf-8")) == {
        "theme": "light",
        "views": {"tasks": {"sort": "Node"}},
    }
