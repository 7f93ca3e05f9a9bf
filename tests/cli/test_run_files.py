"""The trace and the table of tasks that ``run`` writes: whole files, standard output, and places that collide."""

from __future__ import annotations

import csv
import json

import pytest

from tui.cli.commands import main

NAME = "job-prep-release-sample"


@pytest.fixture(autouse=True)
def _in_an_empty_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_trace_and_tasks_are_files(tmp_path, capsys):
    assert main(["run", NAME, "--trace", "trace.json", "--tasks", "tasks.csv", "--output", "json"]) == 0
    state = json.loads(capsys.readouterr().out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tasks.csv", "trace.json"]
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tasks = [task["id"] for job in state["jobs"] for task in job["tasks"]]
    assert sorted(event["name"] for event in events if event.get("cat") == "task") == sorted(tasks)
    content = (tmp_path / "tasks.csv").read_text()
    assert content.endswith("\n")
    assert [row["taskId"] for row in csv.DictReader(content.splitlines())] == tasks


@pytest.mark.parametrize("option", ["--trace", "--tasks"])
def test_standard_output_holds_only_the_result(option, capfdbinary):
    assert main(["run", NAME, option, "-"]) == 0
    said = capfdbinary.readouterr()
    assert b"Expectations" in said.err
    if option == "--trace":
        assert json.loads(said.out)["otherData"]["scenario"] == NAME
    else:
        assert said.out.startswith(b"jobId,taskId,state,")
        assert said.out.count(b"\n") == 9


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--trace", "-", "--tasks", "-"], "--trace - and --tasks - both write to stdout; give --trace a file."),
        (["--events", "-", "--trace", "-"], "--events - and --trace - both write to stdout; give --events a file."),
        (["--tasks", "-", "--output", "json"], "--tasks - and --output json both write to stdout; give --tasks a file"),
        (["--trace", "a", "--tasks", "./a"], "--trace and --tasks both write to a; give each a file of its own."),
        (["--events", "a", "--files", "a"], "--events and --files both write to a; give each a file of its own."),
    ],
)
def test_two_results_in_one_place_are_a_mistake(given, said, tmp_path, capsys):
    assert main(["run", NAME, *given]) == 2
    shown = capsys.readouterr()
    assert said in " ".join(shown.err.split())
    assert not shown.out
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["--trace", "--tasks"])
def test_what_cannot_be_written_is_said_before_the_run(option, tmp_path, capsys):
    assert main(["run", NAME, "--events", "e.jsonl", option, "nowhere/file"]) == 2
    assert "cannot write nowhere/file: the directory it should be in does not exist" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_no_file(tmp_path, capsys):
    assert main(["run", NAME, "--trace", "/dev/full", "--tasks", "tasks.csv"]) == 1
    assert "cannot write /dev/full: No space left" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
