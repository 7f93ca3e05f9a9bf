"""The command ``study --search``, on small scenarios whose runs are all played beside it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from engine import load_scenario
from engine.studies.outcome import summarize
from engine.studies.runs import Player, Run, planned, read
from engine.studies.search import SHARE
from tests.command import COMMAND
from tui.cli.commands import main

ROOT = Path(__file__).parents[2]
NODES = "pools.p.targetDedicatedNodes"
RETRIES = "jobs.j.constraints.maxTaskRetryCount"
SMALL = """\
scenario: small
pools: [{id: p, vmSize: standard_d2s_v3, targetDedicatedNodes: 2}]
jobs:
  - id: j
    poolInfo: {poolId: p}
    onAllTasksComplete: terminatejob
    constraints: {maxTaskRetryCount: 1}
    taskFactory:
      type: parametricSweep
      parameterSets: [{start: 1, end: 8}]
      repeatTask:
        {id: "t{0}", commandLine: x, simulate: {duration: {lognormal: [PT3M, 0.4]}, exitCode: {0: 0.9, 1: 0.1}}}
expect:
  - {jobId: j, state: completed, within: PT20M}
"""
ALL = "  - {jobId: j, tasks: {failed: 0}}\n"
ALONE = ["--results", "r.jsonl", "--quiet", "--workers", "1"]
REAL = {
    "sizes": (SMALL, [f"{NODES}=1..15", "pools.p.vmSize=standard_d2s_v3,standard_f4s_v2,standard_d4s_v3"], "0.9"),
    "slots": (SMALL + ALL, ["pools.p.taskSlotsPerNode=1..4", f"{RETRIES}=1,3", f"{NODES}=1..6"], "0.5"),
}


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Writes a scenario in a directory of its own, and returns its study."""
    monkeypatch.chdir(tmp_path)

    def write(text=SMALL, *options):
        (tmp_path / "small.yaml").write_text(text)
        return planned(load_scenario("small.yaml"), options)

    return write


def search(capsys, options, *more, status=0):
    varied = [word for option in options for word in ("--vary", option)]
    assert main(["study", "small.yaml", "--search", "--workers", "1", *varied, *more]) == status
    return capsys.readouterr().out


@pytest.mark.parametrize("name", REAL)
def test_a_search_of_real_runs_finds_the_best_of_all(small, capsys, name):
    text, options, confidence = REAL[name]
    study = small(text, *options)
    played = [read(line) for line in Player(study).play(study.runs())]
    whole = summarize(study, "small", played, confidence=float(confidence))
    more = ["--confidence", confidence, "--results", "r.jsonl", "--output"]
    found = json.loads(search(capsys, options, *more, "json"))
    assert sum(one["runs"] for one in found["variants"]) <= SHARE * len(played)
    cost = found["variants"][found["recommended"] - 1]["costUsd"]["median"]
    assert cost <= 1.03 * whole.variants[whole.recommended - 1].cost.median
    known = {Run(one["variant"], one["seed"]): one["summary"]["costUsd"] for one in played}
    rows = csv.DictReader(io.StringIO(search(capsys, options, *more, "csv")))
    assert all(float(row["costUsd"]) == known[Run(int(row["variant"]), int(row["seed"]))] for row in rows)


def test_a_search_ends_alike_with_any_workers_and_after_any_interruption(small, capsys):
    small()
    options = [f"{NODES}=1..40"]
    more = ["--output", "json", "--results", "r.jsonl"]
    at_once = search(capsys, options, *more)
    lines = Path("r.jsonl").read_text().splitlines(keepends=True)
    for count in (17, len(lines) - 1):
        Path("r.jsonl").write_text("".join(lines[:count]) + lines[0][:30] * (count < len(lines)))
        assert search(capsys, options, *more) == at_once
        assert sorted(Path("r.jsonl").read_text().splitlines(keepends=True)) == sorted(lines)
    Path("r.jsonl").unlink()
    assert search(capsys, options, *more, "--workers", "3") == at_once
    assert sorted(Path("r.jsonl").read_text().splitlines(keepends=True)) == sorted(lines)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupted_search_goes_on(small, capsys):
    small()
    options, results = [f"{NODES}=1..40"], Path("r.jsonl")
    at_once = search(capsys, options, "--output", "json")
    arguments = ["study", "small.yaml", "--search", "--vary", *options, "--results", "r.jsonl", "--workers", "1"]
    there = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen([*COMMAND, *arguments], env=there, stderr=subprocess.PIPE, text=True)
    while not (results.exists() and results.read_text().count("\n")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    err = process.communicate()[1]
    if process.returncode != 0:  # the search had not ended before
        assert process.returncode == 130
        assert re.search(r"Interrupted after \d+ of 800 runs; they are in r\.jsonl, and the same command goes on", err)
    assert search(capsys, options, "--output", "json", "--results", "r.jsonl") == at_once


def test_what_is_in_the_file_of_results_is_not_played_again_but_shown(small, capsys):
    study = small(SMALL, f"{NODES}=1..40")
    options = [f"{NODES}=1..40"]
    assert main(["study", "small.yaml", "--vary", *options, "--seeds", "3..4", *ALONE]) in (0, 1)
    found = json.loads(search(capsys, options, "--output", "json", "--results", "r.jsonl"))
    assert min(one["runs"] for one in found["variants"]) == 3  # those of both seeds, and the first of the search
    lines = [json.loads(line) for line in Path("r.jsonl").read_text().splitlines()]
    runs = [(line["variant"], line["seed"]) for line in lines]
    assert len(runs) == len(set(runs)) == sum(one["runs"] for one in found["variants"])
    assert len(runs) <= 80 + SHARE * study.variants * 20


def test_the_table_of_a_search_says_so(small, capsys):
    small()
    out = search(capsys, [f"{NODES}=1..40"])
    assert re.search(r"^The search has played \d+ of 800 runs\.$", out, re.MULTILINE)
    assert "Only variants that were played with all seeds are pareto or recommended." in out
    assert "only 1 seed" in out.replace("\n", " ") or re.search("only . seed", out)
    assert re.search(r"^Variant \d+ .* is the cheapest that keeps all expectations in at least 95 %", out, re.MULTILINE)


def test_a_study_of_few_runs_is_the_same_with_and_without_a_search(small, capsys):
    small()
    options = [f"{NODES}=1..5"]
    searched = search(capsys, options, "--seeds", "4")
    assert main(["study", "small.yaml", "--vary", *options, "--seeds", "4", "--workers", "1"]) == 0
    assert capsys.readouterr().out == searched


def test_if_no_variant_keeps_the_expectations_the_search_says_so_too(small, capsys):
    small(SMALL.replace("PT20M", "PT2M"))
    out = search(capsys, [f"{NODES}=1..40"], status=1)
    assert "No variant keeps all expectations in at least 95 % of its runs. Variant " in out


def test_a_search_needs_expectations(small, capsys):
    small(SMALL[: SMALL.index("expect:")])
    assert main(["study", "small.yaml", "--search", "--vary", f"{NODES}=1..40"]) == 2
    err = capsys.readouterr().err
    assert "Invalid value for --search: the scenario expects nothing, so there is no variant to search for" in err


def test_a_quiet_search_prints_nothing_and_a_list_plays_nothing(small, capsys):
    small()
    assert search(capsys, [f"{NODES}=1..40"], "--quiet") == ""
    assert search(capsys, [f"{NODES}=1..40"], "--list").count("\n") == 40
