"""``batchdeck rules``: what the simulation follows, read without starting one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.base import rulebook
from engine.base.errors import WARNINGS
from tui.cli.commands import main

ROOT = Path(__file__).parents[2]


def test_without_an_id_the_chapters_are_listed(capsys):
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(rulebook.chapters())
    assert "PREP     28  Job preparation task" in lines


def test_a_chapter_shows_its_rules(capsys):
    assert main(["rules", "nop"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("NOP: Node operations\n")
    assert [line.split()[0] for line in out.splitlines() if line.startswith("NOP-")] == [
        f"NOP-{n}" for n in range(1, 15)
    ]
    assert "Option  options.reimageCloudServiceOnly" in out
    assert "Source" not in out


def test_a_rule_shows_text_source_option_and_code(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "90")
    assert main(["rules", "NOP-4", "gen-7", "nop-4"]) == 0
    first, second = capsys.readouterr().out.split("\n\n")
    assert first.startswith("NOP-4      A reimage reinstalls the operating system")
    labels = re.findall("^ {11}(Source|Seen in|Reports|Option|Code) ", first, re.MULTILINE)
    assert labels == ["Source", "Seen in", "Option", "Code"]
    assert second.startswith("GEN-7")
    assert "Code    engine/rest/" in second


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_every_line_fits_the_terminal(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["rules", *(chapter.prefix for chapter in rulebook.chapters()), "POOL-12"]) == 0
    out = capsys.readouterr().out
    words = [line for line in out.splitlines() if len(line) > columns]
    assert not any(" " in line.strip() for line in words)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("PREP-99", "PREP-28"), ("prep-0", "PREP-1"), ("PERP-16", "PREP-16"), ("PREP16", "PREP-16"), ("pools", "POOL")],
)
def test_an_unknown_id_names_the_nearest(name, nearest, capsys):
    assert main(["rules", "PREP-1", name]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{name.upper()}; the nearest is {nearest}." in err


def test_rules_as_json(capsys):
    assert main(["rules", "PREP-16", "--output", "json"]) == 0
    (rule,) = json.loads(capsys.readouterr().out)
    assert rule["id"] == "PREP-16"
    assert rule["sources"] == ["documented", "decided"]
    assert rule["recordings"] == rule["reports"] == []
    assert all((ROOT / module).exists() for module in rule["modules"])
    assert main(["rules", "RSZ-3", "DEP-4", "--output", "json"]) == 0
    recorded, reported = json.loads(capsys.readouterr().out)
    assert recorded["recordings"] == ["Azure/Batch#40"]
    assert reported["reports"] == ["Azure/Batch#129"]
    assert main(["rules", "--output", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["prefix"] for each in listed[:2]] == ["GEN", "ACC"]
    assert all(each["rules"] >= 10 for each in listed[:2])


def test_no_screen_and_no_simulation_is_loaded():
    code = "import sys; from tui.cli import main; main(['rules', 'PREP-16']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert "PREP-16" in done.stdout
    assert {"textual", "pydantic", "yaml", "simpy", "rich.console"} & set(done.stderr.split()) == set()


@pytest.mark.parametrize(("typed", "offered"), [("", "plain,PREP"), ("prep-1", "plain,PREP-16"), ("RE", "plain,RETRY")])
def test_ids_are_completed(typed, offered):
    words = {"COMP_WORDS": f"batchdeck rules {typed}", "COMP_CWORD": "2", "_BATCHDECK_COMPLETE": "bash_complete"}
    call = [sys.executable, "-m", "tui"]
    done = subprocess.run(call, env=os.environ | words, capture_output=True, text=True, cwd=ROOT, check=True)
    assert offered in done.stdout.splitlines()


def test_the_codes_of_warnings_are_listed(capsys):
    assert main(["rules", "--warnings"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(WARNINGS)
    assert main(["rules", "--warnings", "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"code": code, "text": text} for code, text in WARNINGS.items()]
    assert main(["rules", "--warnings", "--attention"]) == main(["rules", "--warnings", "PREP"]) == 2
