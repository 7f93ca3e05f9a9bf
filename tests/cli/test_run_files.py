"""The trace and the tables that ``run`` writes: whole files, standard output, and places that collide."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
from pyarrow import feather, parquet

from engine.views import tables
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


@pytest.mark.parametrize("name", ["events.parquet", "EVENTS.ARROW"])
def test_the_suffix_makes_the_event_log_a_table(name, tmp_path, capsys):
    assert main(["run", NAME, "--events", name, "--quiet"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == [name]
    read = parquet.read_table if name.endswith(".parquet") else feather.read_table
    table = read(tmp_path / name)
    assert main(["run", NAME, "--events", "-", "--quiet"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for column in ("seq", "t", "event", "nodeId", "taskId", "exitCode", "rule"):
        assert table[column].to_pylist() == [event.get(column) for event in events]


@pytest.mark.parametrize("name", ["events.parquet", "events.arrow", "events.jsonl"])
def test_only_a_table_of_events_needs_its_extra(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    status = main(["run", NAME, "--events", name, "--quiet"])
    if name == "events.jsonl":
        assert status == 0
    else:
        assert status == 2
        needed = f"--events {name} needs pyarrow, which is not installed: pip install 'batchdeck[arrow]'"
        assert needed in " ".join(capsys.readouterr().err.split())
        assert not list(tmp_path.iterdir())


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


@pytest.mark.parametrize(
    "call",
    [
        "run own.yaml --events own.yaml",
        "run own.yaml --tasks ./own.yaml",
        "run own.yaml --trace linked.yaml",
        "run linked.yaml --events own.yaml",
        "run own.yaml --events same.yaml",
        "import own.yaml -o own.yaml",
        "serve own.yaml --save own.yaml",
        "serve own.yaml --requests linked.yaml",
    ],
)
def test_no_file_that_is_read_is_replaced(call, tmp_path, capsys):
    own = tmp_path / "own.yaml"
    own.write_text(f"scenario: {NAME}\n")
    (tmp_path / "linked.yaml").symlink_to(own)
    (tmp_path / "same.yaml").hardlink_to(own)
    assert main(call.split()) == 2
    assert "is read; give it a file of its own" in " ".join(capsys.readouterr().err.split())
    assert own.read_text() == f"scenario: {NAME}\n"


@pytest.mark.parametrize("option", ["--trace", "--tasks"])
def test_what_cannot_be_written_is_said_before_the_run(option, tmp_path, capsys):
    assert main(["run", NAME, "--events", "e.jsonl", option, "nowhere/file"]) == 2
    assert "cannot write nowhere/file: the directory it should be in does not exist" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_an_interrupt_while_a_table_is_written_leaves_no_file(suffix, tmp_path, capsys, monkeypatch):
    def interrupted(simulation):
        yield next(event_batches(simulation))
        raise KeyboardInterrupt

    event_batches = tables.event_batches
    monkeypatch.setattr(tables, "event_batches", interrupted)
    assert main(["run", NAME, "--events", f"events{suffix}"]) == 130
    assert "no file was written" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_full_disk_under_a_table_of_events_is_a_sentence(suffix, tmp_path, capsys):
    full = tmp_path / f"full{suffix}"
    full.symlink_to("/dev/full")
    assert main(["run", NAME, "--events", full.name, "--tasks", "tasks.csv"]) == 1
    assert f"cannot write full{suffix}: No space left" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [full]


def test_a_full_disk_leaves_no_file(tmp_path, capsys):
    assert main(["run", NAME, "--trace", "/dev/full", "--tasks", "tasks.csv"]) == 1
    assert "cannot write /dev/full: No space left" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
