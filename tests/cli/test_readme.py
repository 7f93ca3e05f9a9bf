"""What the README tells people to do works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tui.cli.commands import main

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture
def example(tmp_path, monkeypatch):
    text = re.search(r"<!-- example: first\.yaml -->\n```yaml\n(.*?)```", README.read_text(), re.DOTALL).group(1)
    (tmp_path / "first.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("example")
def test_the_example_has_no_mistake(capsys):
    assert main(["check", "first.yaml"]) == 0
    assert capsys.readouterr().out == "first.yaml: ok, 1 pool, 1 job, 60 tasks, 1 timeline entry, 4 expectations\n"


@pytest.mark.usefixtures("example")
def test_the_example_does_what_it_says(capsys):
    assert main(["run", "first.yaml"]) == 0, capsys.readouterr().out


@pytest.mark.usefixtures("example")
def test_the_commands_of_the_tour_work(capsys):
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL)
    lines = re.findall(r"^batchdeck (.+)$", "\n".join(blocks), re.MULTILINE)
    assert len(lines) > 5
    for line in lines:
        call, _, _ = line.partition(" | ")
        call, _, file = call.partition(" > ")
        words = call.split()
        if words[0] == "open":  # needs a terminal; that there is such a scenario can be seen without one
            words[0] = "check"
        assert main([*words, "--yes"] if call == "sample" else words) == 0, line
        printed = capsys.readouterr().out
        if file:
            Path(file).write_text(printed)


def test_two_commands_stand_alone_on_a_line():
    assert len(re.findall(r"^python3 -m venv .+$", README.read_text(), re.MULTILINE)) == 2


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^):]+)\)", README.read_text())
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []
