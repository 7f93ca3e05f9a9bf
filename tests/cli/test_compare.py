"""The command ``compare`` as a person and a script meet it."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import scenarios
from engine import Simulation, load_scenario
from tests.histories.dialects import state_of, written
from tui.cli.commands import main

NAME, OTHER = "job-prep-release-sample", "retries-of-flaky-tasks"


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_scenario_results_and_history_of_one_run_agree(tmp_path, capsys):
    assert main(["run", NAME, "--output", "json"]) == 0
    (tmp_path / "results.json").write_text(capsys.readouterr().out)
    folder = tmp_path / "history"
    folder.mkdir()
    written(state_of(load_scenario(NAME)), folder, "older az")
    assert main(["compare", NAME, "results.json", "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["a"], found["b"]) == (NAME, "results.json")
    assert {row["difference"] for row in found["rows"]} == {0}
    assert main(["compare", "results.json", "history", "--output", "json"]) == 0
    shown = capsys.readouterr()
    rows = {row["what"]: row for row in json.loads(shown.out)["rows"]}
    assert rows["makespanSeconds"]["difference"] == 0
    assert rows["slotUtilization"] == {
        "what": "slotUtilization", "a": rows["slotUtilization"]["a"], "b": None, "difference": None, "percent": None,
    }  # fmt: skip
    assert "B: Node hours and cost count each node" in shown.err


def test_the_table_fits_a_terminal_and_marks_the_largest_differences(capsys):
    assert main(["compare", NAME, OTHER]) == 0
    shown = capsys.readouterr().out
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert sum(line.startswith("*  ") for line in shown.splitlines()) == 3
    (tasks,) = [line.split() for line in shown.splitlines() if line.lstrip("* ").startswith("tasks ") and "+" in line][
        :1
    ]
    assert tasks[-5:] == ["8", "80", "+72", "+900", "%"]
    assert "Predicted" not in shown


def test_sums_over_nodes_say_that_they_are_sums(capsys):
    """The hours in which preparations ran at a million tasks are no time that anybody waited."""
    main(["compare", "job-prep-release-sample", "job-prep-release-sample"])
    table = capsys.readouterr().out
    assert "preparing, on all nodes" in table
    assert "releasing, on all nodes" in table


def test_a_prediction_is_held_against_what_was_observed(tmp_path, capsys):
    folder = tmp_path / "history"
    folder.mkdir()
    written(state_of(load_scenario(NAME)), folder, "rest")
    assert main(["compare", OTHER, "history"]) == 0
    shown = capsys.readouterr().out
    assert "A: retries-of-flaky-tasks, a run with seed 3, predicted" in shown
    assert "B: history, a history of 1 job, observed" in shown
    last = shown.splitlines()[-4:]
    assert last[0] == "Predicted against observed, the largest errors:"
    assert [line[:3] for line in last[1:]] == ["1. ", "2. ", "3. "]


def test_a_json_scenario_is_a_scenario(tmp_path, capsys):
    body = {"scenario": "tiny", "pools": [{"id": "p", "vmSize": "standard_d2s_v3", "targetDedicatedNodes": 1}]}
    (tmp_path / "tiny.json").write_text(json.dumps(body))
    (tmp_path / "flow.yaml").write_text(
        "{scenario: tiny, pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 1}]}"
    )
    assert main(["compare", "tiny.json", "flow.yaml", "--quiet"]) == 0
    assert "There is no difference." in capsys.readouterr().out


WRONG = {
    "nothing.json": ("", "is empty"),
    "cut.json": ('{"scenario": "x", "summ', "cut.json:1:19: the file ends in the middle"),
    "text.json": ("hello", "text.json:1:1: this is not JSON"),
    "other.json": ('[{"hello": 1}]', "is none of these"),
    "list.json": ("[]", "there is nothing in it"),
    "bad.yaml": ("scenario: x\npols: []\n", "bad.yaml:2:1: pols: "),
    "old.json": ('{"scenario": "x", "summary": {}}', "old.json: startTime: is missing"),
}


@pytest.mark.parametrize("file", WRONG)
def test_wrong_input_is_said_at_its_place(file, tmp_path, capsys):
    content, said = WRONG[file]
    (tmp_path / file).write_text(content)
    assert main(["compare", NAME, file]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert not shown.out


def test_mistakes_of_both_sides_are_listed(tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    assert main(["compare", "folder", "job-prep-release-sampel"]) == 2
    shown = capsys.readouterr().err
    assert "folder: has no JSON file" in shown
    assert "job-prep-release-sample" in shown


@pytest.mark.skipif(os.name != "posix" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_an_unreadable_file_is_a_sentence(tmp_path, capsys):
    (tmp_path / "a.yaml").write_text("scenario: x")
    (tmp_path / "a.yaml").chmod(0)
    assert main(["compare", NAME, "a.yaml"]) == 2
    assert "permission denied" in capsys.readouterr().err.lower()


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_scenario_may_come_through_a_pipe_and_results_have_to_be_in_a_file(tmp_path, capsys):
    assert main(["run", NAME, "--output", "json"]) == 0
    results = capsys.readouterr().out
    text = Path(scenarios.__file__).with_name(f"{NAME}.yaml").read_text()
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor() as pool:
        pool.submit((tmp_path / "pipe").write_text, text)
        assert main(["compare", "pipe", NAME, "--output", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["a"] == "pipe"
    assert {row["difference"] for row in found["rows"]} == {0}
    with ThreadPoolExecutor() as pool:
        pool.submit((tmp_path / "pipe").write_text, results)
        assert main(["compare", "pipe", NAME]) == 2
    assert "this is the result of a run: give the scenario itself, or the file" in capsys.readouterr().err


def test_an_interrupt_is_said(capsys, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Simulation, "advance", interrupted)
    assert main(["compare", NAME, OTHER]) == 130
    shown = capsys.readouterr()
    assert "Interrupted" in shown.err
    assert not shown.out
