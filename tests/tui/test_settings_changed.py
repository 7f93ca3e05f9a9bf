"""Settings files that are damaged, or no files at all: the dashboard has its defaults then, and says so."""

from __future__ import annotations

import json
import os
import tomllib
from contextlib import suppress
from random import Random

import pytest

from tests.mutants import COUNT, mutated, mutated_bytes
from tests.tui.driving import drive, look
from tests.tui.screen_text import contains
from tui.saving.settings import SettingsFile
from tui.saving.targets import TargetError
from tui.textual.keys import Keymap

GOOD = """\
# mine
theme = "light"
glyphs = "ascii"
speed = 60
confirm_quit = true

[views.tasks]
sort = "Task"
descending = true
columns = ["Task", "State"]
[views.timeline]
zoom = 30.0
[views.jobs]
sort = "State"

[keys]
"row.why" = "E"
"""
posix_only = pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")


def as_toml(value):
    """A value in a line; what TOML cannot have becomes another value."""
    match value:
        case dict():
            inner = (f"{as_toml(name)} = {as_toml(each)}" for name, each in value.items())
            return f"{{{', '.join(inner)}}}"
        case list():
            return f"[{', '.join(map(as_toml, value))}]"
        case str():
            return json.dumps(value.encode("utf-8", "replace").decode()).replace("\x7f", "\\u007f")
        case None:
            return "1979-05-27"
        case bool():
            return str(value).lower()
    return repr(value)


def changed_file(seed):
    random = Random(seed)
    if seed % 2:
        return mutated_bytes(GOOD.encode(), random)
    with suppress(RecursionError):
        changed = mutated(tomllib.loads(GOOD), random)
        return "".join(f"{as_toml(name)} = {as_toml(each)}\n" for name, each in changed.items()).encode()
    return b"x = " + b"[" * 3_000


@pytest.fixture
def file(tmp_path):
    return SettingsFile(tmp_path / "settings.toml")


def test_whatever_is_in_the_file_there_are_settings_and_it_is_not_spoilt(file):
    """What is written is read again as it was meant; a file that cannot be changed stays as it is, and that is told."""
    for seed in range(COUNT):
        file.path.write_bytes(changed_file(seed))
        file = SettingsFile(file.path)
        settings, problems = file.read()
        assert settings.number("speed") >= 0
        assert isinstance(Keymap(settings.keys).problems, list)
        assert max((len(problem) for problem in problems), default=0) < 3_000
        settings.choose("theme", "dark")
        before = file.path.read_bytes()
        try:
            is_written = file.write(settings)
        except TargetError:
            is_written = False
        if not is_written:
            assert file.path.read_bytes() == before
            continue
        again, _ = SettingsFile(file.path).read()
        assert again.value("theme") == "dark"


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"x = " + b"[" * 5_000, "nested too deeply"),
        (b"speed = " + b"9" * 5_000, "the defaults are used"),
        (b"x = 'a'\n" * 200_000, "larger than 1 MB"),
        (b"theme = '\xff'", "can't decode byte 0xff"),
        ("theme = 'light'".encode("utf-16"), "can't decode byte 0xff"),
        (b"a" + b".a" * 3_000 + b" = 1", "a is not known"),
        (b"keys" + b".a" * 3_000 + b" = 1", "keys.a should be a key in quotes"),
        (b"speed = 0x" + b"f" * 5_000, "speed should be a number, not such a value"),
        (b"speed = 1e300", "speed should be a number, not 1e+300"),
        (b"speed = inf", "speed should be a number, not inf"),
        (b"keys.'row.why' = [['x']]", "keys.row.why should be a key in quotes, not [['x']]"),
        (b"".join(b"x%d = 1\n" % at for at in range(10_000)), "and 9,990 more"),
    ],
    ids=range(12),
)
def test_what_is_wrong_is_told_and_the_defaults_are_used(file, content, wanted):
    file.path.write_bytes(content)
    settings, (problem,) = file.read()
    assert settings.options == {}
    assert wanted.casefold() in problem.casefold()


def test_a_byte_order_mark_is_accepted(file):
    file.path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    settings, problems = file.read()
    assert (settings.value("theme"), problems) == ("light", [])


@posix_only
def test_nobody_waits_for_a_pipe_or_reads_an_endless_device(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero", tmp_path):
        link = SettingsFile(tmp_path / f"{len(list(tmp_path.iterdir()))}.toml")
        link.path.symlink_to(path)
        settings, (problem,) = link.read()
        settings.choose("theme", "light")
        assert not link.write(settings)
        assert "The defaults are used" in problem


def test_options_are_added_beside_tables_in_one_line_and_dotted_names(file):
    file.path.write_text("views = {tasks = {sort = 'Task'}}\nkeys.'row.why' = 'E'\n")
    settings, _ = file.read()
    settings.choose("theme", "light")
    assert file.write(settings)
    again, problems = SettingsFile(file.path).read()
    assert (again.options, again.keys, problems) == ({"theme": "light"}, {"row.why": "E"}, [])


def test_a_dashboard_with_strange_settings_shows_every_view(file, dashboard_at):
    """Show some of the mutants too."""
    strange = [
        b"speed = 1e9\nviews.timeline = {zoom = 1e9, rows = '\\u001b'}\nviews.jobs.sort = ''\nkeys.'row.why' = ',,,'",
        b"views = [1]\nspeed = 5e-324\n",
    ]
    for content in (*strange, *map(changed_file, range(COUNT // 40))):
        file.path.write_bytes(content)
        settings, problems = SettingsFile(file.path).read()
        app, seen = dashboard_at(60, settings=settings, notes=problems), []
        drive(app, *"12345678", look(seen))
        assert contains(seen[0], "one-node-fails")
