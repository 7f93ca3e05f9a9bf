"""The file with the settings: what is read, what is wrong with it, and that a change leaves the rest as it was."""

from __future__ import annotations

import tomllib

import pytest

from tui.saving.settings import OPTIONS, SettingsFile
from tui.saving.targets import TargetError

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
    settings, wrong = file.read()
    assert settings.options == {}
    assert wrong == []
    assert not file.path.exists()


def test_what_is_written_is_read_again_and_a_new_file_says_what_there_is(file):
    settings, _ = file.read()
    settings.choose("theme", "light")
    settings.choose("speed", 0.5)
    assert file.write(settings)
    again, wrong = SettingsFile(file.path).read()
    assert again.options == settings.options
    assert wrong == []
    text = file.path.read_text(encoding="utf-8")
    assert all(f"#   {name} " in text and option.about in text for name, option in OPTIONS.items())
    assert [each.name for each in file.path.parent.iterdir()] == ["settings.toml"]


def test_nothing_is_written_where_nothing_has_changed(file):
    settings, _ = file.read()
    settings.views["nodes"] = {"sort": "Node"}  # which ends with the dashboard
    assert not file.write(settings)
    assert not file.path.exists()
    settings.choose("speed", 600.0)
    assert file.write(settings)
    assert not file.write(settings)


def test_comments_and_order_are_kept(file):
    settings, wrong = written(file, BY_HAND).read()
    assert wrong == []
    settings.choose("theme", "dark")
    settings.choose("speed", 120.0)
    file.write(settings)
    text = file.path.read_text(encoding="utf-8")
    found = tomllib.loads(text)
    assert (found["theme"], found["speed"], found["keys"]) == ("dark", 120, {"row.why": "E"})
    before = BY_HAND.replace('"light"  #', '"dark"  #')
    lines = iter(text.splitlines())
    assert all(line in lines for line in before.splitlines())  # all lines, in the same order
    settings.forget("theme")
    file.write(settings)
    rest = tomllib.loads(file.path.read_text(encoding="utf-8"))
    assert rest == {
        "speed": 120,
        "views": {"tasks": {"sort": "Node", "columns": ["Node", "State"]}},
        "keys": found["keys"],
    }


def test_what_another_dashboard_has_written_stays(file):
    one, _ = file.read()
    other_file = SettingsFile(file.path)
    other, _ = other_file.read()
    other.choose("theme", "light")
    other_file.write(other)
    one.choose("speed", 5.0)
    file.write(one)
    assert SettingsFile(file.path).read()[0].options == {"theme": "light", "speed": 5}


@pytest.mark.parametrize("text", ["theme = ", "theme = 'dark'\ntheme = 'light'", "\x00"])
def test_a_file_that_cannot_be_read_is_told_of_and_left_as_it_is(file, text):
    settings, wrong = written(file, text).read()
    assert settings.options == {}
    assert len(wrong) == 1
    assert str(file.path) in wrong[0]
    assert "The defaults are used" in wrong[0]
    settings.choose("theme", "light")
    assert not file.write(settings)
    assert file.path.read_text(encoding="utf-8") == text


def test_a_file_that_was_spoilt_since_is_left_as_it_is(file):
    settings, _ = written(file, "").read()
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
keys."row.why" = 1.5
"""
    settings, wrong = written(file, text).read()
    assert settings.options == {"glyphs": "ascii"}
    assert len(wrong) == 1
    assert wrong[0].splitlines() == [
        f"{file.path}:",
        "themes is not known: did you mean 'theme'?",
        "speed should be a number, not -1",
        "confirm_quit should be true, false, not 1",
        "keys.row.why should be a key in quotes, not 1.5",
    ]


def test_choices_in_views_are_not_written_and_those_of_earlier_versions_stay_unread(file):
    old = '[views.tasks]\nsort = "Node"\ncursor = "deal-7"\n'
    settings, wrong = written(file, old).read()
    assert (wrong, settings.views) == ([], {})
    settings.views["tasks"] = {"sort": "State"}
    settings.choose("theme", "light")
    assert file.write(settings)
    found = tomllib.loads(file.path.read_text(encoding="utf-8"))
    assert found == {"theme": "light", "views": {"tasks": {"sort": "Node", "cursor": "deal-7"}}}
