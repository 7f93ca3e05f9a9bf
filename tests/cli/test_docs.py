"""``batchdeck docs`` lists and shows the pages, in a pipe, a terminal and a shell's completion."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import man
from tui.cli import reference
from tui.cli.commands import main

ROOT = Path(__file__).parents[2]


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def shown(monkeypatch):
    """What a command shows in a terminal with so many columns, without colours."""

    def show(columns, *arguments):
        stream = Terminal()
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", stream)
            patch.setenv("COLUMNS", str(columns))
            patch.setenv("TERM", "xterm-256color")
            assert main(["docs", *arguments]) == 0
        return re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue())

    return show


def test_the_list_has_each_page_on_a_line(capsys):
    assert main(["docs"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    users = [
        "readme",
        "scenarios",
        "tui",
        "cli",
        "ci",
        "studies",
        "rest",
        "histories",
        "rules",
        "fidelity",
        "stability",
    ]
    assert [name for name in lines if name in users] == users
    assert {"changelog", "engine"} <= set(lines)
    assert all(lines.values())


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("readme", "README.md"),
        ("scenarios", "scenarios/README.md"),
        ("CI", "tui/cli/CI.md"),
        ("rules", "engine/RULES.md"),
    ],
)
def test_a_pipe_gets_the_file_as_it_is(name, file, capsys):
    assert main(["docs", name]) == 0
    assert capsys.readouterr().out == (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("columns", [40, 200])
@pytest.mark.parametrize("name", list(reference._pages()))
def test_a_terminal_gets_lines_that_fit_without_links_that_lead_nowhere(name, columns, shown):
    lines = shown(columns, name).splitlines()
    assert max(map(len, lines)) <= min(columns, 100)
    assert not any("](" in line for line in lines)


def test_the_list_fits_a_narrow_terminal(shown):
    lines = shown(60).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0].startswith("readme ")


@pytest.mark.parametrize(
    ("name", "near"),
    [("rule", "rules"), ("studys", "studies"), ("", ""), ("\x1b[31mtui", "tui"), ("x" * 5000, "")],
)
def test_an_unknown_page_is_refused_with_the_nearest(name, near, capsys):
    assert main(["docs", name]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert f"the nearest is {near}" in printed.err
    assert "\x1b" not in printed.err
    assert len(printed.err) < 500


def test_the_names_of_pages_are_completed():
    found = reference._complete_page(None, None, "Ru")
    assert [(item.value, bool(item.help)) for item in found] == [("rules", True)]


def test_the_manual_page_is_up_to_date():
    assert man.PAGE.read_text(encoding="utf-8") == man.page(), "write it anew: python -m tests.man"


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
def test_the_manual_page_has_no_mistakes_of_roff():
    found = subprocess.run(
        ["mandoc", "-Tlint", "-Wwarning", str(man.PAGE)], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (0, "")
