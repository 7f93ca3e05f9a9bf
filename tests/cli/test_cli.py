"""The command line as a person and a script meet it."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.command import COMMAND
from tui.cli.commands import main

ROOT = Path(__file__).parents[2]
needs_posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")

SMALL = """\
scenario: small
seed: 3
pools:
  - {id: shared, vmSize: standard_d2s_v3, targetDedicatedNodes: 2, simulate: {ready: PT1M}}
jobs:
  - id: risk
    poolInfo: {poolId: shared}
    onAllTasksComplete: terminatejob
    jobPreparationTask: {commandLine: /bin/sh -c "echo market > $AZ_BATCH_NODE_SHARED_DIR/market.csv"}
    tasks:
      - {id: good, commandLine: price}
      - {id: bad, commandLine: price, simulate: {exitCode: 1}}
"""
HELD = "expect: [{jobId: risk, tasks: {completed: 2, failed: 1}}]\n"
BROKEN = "expect: [{jobId: risk, tasks: {failed: 0}}]\n"
REFUSED = "timeline: [{at: PT1M, deletePool: {poolId: nobody}%s}]\n"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Writes a scenario named small.yaml with the given lines at its end, in a directory of its own."""
    monkeypatch.chdir(tmp_path)

    def write(*lines):
        (tmp_path / "small.yaml").write_text(SMALL + "".join(lines))
        return "small.yaml"

    return write


@pytest.fixture
def long_run(small):
    """A scenario that takes long enough to be interrupted."""
    factory = {"type": "parametricSweep", "parameterSets": [{"start": 1, "end": 2_000_000}]}
    factory["repeatTask"] = {"id": "t{0}", "commandLine": "price", "simulate": {"duration": 1}}
    job = {"id": "long", "poolInfo": {"poolId": "shared"}, "taskFactory": factory}
    return small(f"  - {json.dumps(job)}\n")


# --- being helped


def test_bare_command_explains_itself(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Usage: batchdeck")
    assert "Exit status:\n    0  done" in out


@pytest.mark.parametrize("command", ["run", "study", "check", "scenarios", "schema", "sample", "rules", "sizes", "why"])
def test_every_command_has_help(command, capsys):
    assert main([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: batchdeck {command}")


def test_version(capsys):
    assert main(["--version"]) == 0
    assert re.fullmatch(r"batchdeck \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("call", "nearest"),
    [(["chekc"], "check"), (["run", "x", "--evnts", "f"], "--events"), (["run", "x", "--output", "jsn"], "json")],
)
def test_a_slip_of_the_pen_is_met_with_the_nearest_right_name(call, nearest, capsys):
    assert main(call) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert nearest in err


def test_a_misspelt_scenario_is_met_with_the_nearest_right_name(capsys):
    assert main(["run", "job-prep-release-sampel"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "job-prep-release-sample" in err


def test_completion_offers_bundled_scenarios():
    words = {"COMP_WORDS": "batchdeck run job-", "COMP_CWORD": "2", "_BATCHDECK_COMPLETE": "bash_complete"}
    done = subprocess.run(COMMAND, env=os.environ | words, capture_output=True, text=True, cwd=ROOT, check=True)
    assert "plain,job-prep-release-sample" in done.stdout.splitlines()


# --- run


def test_the_table_tells_what_became_of_job_pool_and_expectations(small, capsys):
    assert main(["run", small(HELD)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "small, seed 3" in out
    assert "AllTasksCompleted" in out
    assert re.search(r"^yes +\{jobId: risk, ", out, re.MULTILINE)
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_failed_expectation_is_status_1(small, capsys):
    assert main(["run", small(BROKEN)]) == 1
    assert re.search(r"^NO +\{jobId: risk", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("announced", "status"), [("", 1), (", refused: PoolNotFound", 0), (", refused: PoolBeingDeleted", 1)]
)
def test_a_refusal_counts_unless_it_was_announced(small, announced, status, capsys):
    assert main(["run", small(REFUSED % announced)]) == status
    assert "PoolNotFound" in capsys.readouterr().out


def test_an_announced_refusal_that_does_not_come_is_status_1(small):
    line = "timeline: [{at: PT10M, deletePool: {poolId: shared}, refused: PoolNotFound}]\n"
    assert main(["run", small(line)]) == 1


def test_mistakes_in_the_scenario_are_status_2_and_nothing_is_run(small, tmp_path, capsys):
    path = small("colour: blue\npools2: []\n")
    assert main(["run", path, "--events", "events.jsonl"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split(": ")[0] for line in err.splitlines()] == ["small.yaml:13:1", "small.yaml:14:1"]
    assert os.listdir(tmp_path) == ["small.yaml"]


@pytest.mark.parametrize("until", ["PT1M", "60", "1m", "08:01", "2026-01-05T08:01:00Z"])
def test_until_ends_the_run(small, until, capsys):
    assert main(["run", small(), "--until", until, "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["endTime"] == "2026-01-05T08:01:00Z"


@pytest.mark.parametrize("until", ["tomorrow", "-5", "2025-01-01T00:00:00Z", "07:59", "25:99", "end"])
def test_a_wrong_time_is_status_2(small, until, capsys):
    assert main(["run", small(), "--until", until]) == 2
    assert "--until" in capsys.readouterr().err


def test_json_is_one_object_with_what_the_contract_names(small, capsys):
    assert main(["run", small(HELD), "--seed", "42", "--output", "json"]) == 0
    state = json.loads(capsys.readouterr().out)
    assert state["scenario"] == "small"
    assert state["seed"] == 42
    assert [pool["id"] for pool in state["pools"]] == ["shared"]
    assert [task["id"] for task in state["jobs"][0]["tasks"]] == ["good", "bad"]
    assert [expectation["met"] for expectation in state["expectations"]] == [True]
    assert state["summary"]["tasks"] == {"total": 2, "succeeded": 1, "failed": 1, "active": 0}


def test_events_in_a_file_are_those_on_stdout(small, capfdbinary, tmp_path):
    path = small(HELD)
    assert main(["run", path, "--events", "events.jsonl", "--quiet"]) == 0
    assert capfdbinary.readouterr() == (b"", b"")
    assert main(["run", path, "--events", "-"]) == 0
    out, err = capfdbinary.readouterr()
    assert out == (tmp_path / "events.jsonl").read_bytes()
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert b"AllTasksCompleted" in err  # the table, out of the way


def test_events_and_json_cannot_share_stdout(small, capsys):
    assert main(["run", small(), "--events", "-", "--output", "json"]) == 2
    assert "both write to stdout" in capsys.readouterr().err


def test_files_of_every_node_stand_in_their_directory(small, tmp_path):
    assert main(["run", small(), "--files", "nodes", "--quiet"]) == 0
    written = [path.read_text() for path in tmp_path.glob("nodes/shared/*/shared/market.csv")]
    assert written == ["market\n", "market\n"]
    assert main(["run", small(), "--files", "nodes", "--quiet"]) == 2


def test_quiet_leaves_the_status_to_tell(small, capsys):
    assert main(["run", small(BROKEN), "--quiet"]) == 1
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("arguments", "modules"),
    [
        (["run", "--quiet"], {"textual", "engine.views.trace", "engine.studies"}),
        (["check"], {"engine.run.simulation"}),
        (["--version"], {"pydantic"}),
    ],
)
def test_commands_do_not_load_what_others_need(arguments, modules, small):
    code = f"import sys; from tui.cli import main; main(sys.argv[1:]); sys.exit(str({modules} & set(sys.modules) or 0))"
    call = [sys.executable, "-c", code, *arguments, small()]
    done = subprocess.run(call, capture_output=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False)
    assert done.stderr == b"0\n"


# --- things that go wrong outside


def environment():
    """Return the environment that a shell has, without what a test run or a container sets for Python."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    return kept | {"PYTHONPATH": str(ROOT)}


def start(*call, **streams):
    """Start the command as a shell does."""
    return subprocess.Popen([*COMMAND, *call], env=environment(), stderr=subprocess.PIPE, text=True, **streams)


@pytest.fixture
def with_results(small, tmp_path):
    """The files for the commands that print results."""
    small(HELD)
    (tmp_path / "formula.txt").write_text("$TargetDedicatedNodes = 1;")


CALLS = (
    "run small.yaml --events - --quiet",
    "run small.yaml --output json",
    "run small.yaml",
    "check small.yaml",
    "autoscale formula.txt",
    "scenarios",
    "schema",
    "sample --yes",
    "--help",
)
# Each call in a process of its own, which ends as every process does, forked from one that has loaded the modules.
FORKS = """
import contextlib, os, sys
from tui.cli import main

for call in sys.argv[1:]:
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        assert main(call.split()) == 0
for call in sys.argv[1:]:
    if os.fork() == 0:
        sys.argv = ["batchdeck", *call.split()]
        sys.exit(main())
    print(f"{call}: status {os.waitstatus_to_exitcode(os.wait()[1])}", file=sys.stderr, flush=True)
"""


def said_of_each(stdout):
    """Return what each of the calls, and then its status, puts on stderr, while they all write to this stdout."""
    call = [sys.executable, "-c", FORKS, *CALLS]
    return subprocess.run(call, env=environment(), stdout=stdout, stderr=subprocess.PIPE, text=True, check=True).stderr


def test_a_place_that_cannot_be_written_is_told_before_the_run(small, capsys):
    assert main(["run", small(), "--events", "nowhere/events.jsonl"]) == 2
    assert capsys.readouterr() == (
        "",
        "Error: cannot write nowhere/events.jsonl: the directory it should be in does not exist\n",
    )


@needs_posix
@pytest.mark.usefixtures("with_results")
def test_a_reader_that_leaves_changes_nothing_but_what_it_reads():
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing) as stdout:
        assert said_of_each(stdout) == "".join(f"{call}: status 0\n" for call in CALLS)


@needs_posix
@pytest.mark.parametrize(("lines", "status"), [(HELD, 0), (BROKEN, 1)])
def test_the_status_is_that_of_the_run_when_the_reader_has_seen_enough(small, lines, status):
    with start("run", small(lines), "--events", "-", "--quiet", stdout=subprocess.PIPE) as process:
        assert json.loads(process.stdout.readline())["seq"] == 1
        process.stdout.close()
        assert (process.wait(), process.stderr.read()) == (status, "")


@needs_posix
def test_both_streams_may_lose_their_reader(small):
    reading, writing = os.pipe()
    os.close(reading)
    call = [*COMMAND, "run", small(BROKEN), "--events", "-"]
    process = subprocess.Popen(call, env={"PYTHONPATH": str(ROOT)}, stdout=writing, stderr=writing)
    os.close(writing)
    assert process.wait() == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.usefixtures("with_results")
def test_a_full_disk_behind_stdout_is_a_sentence_and_status_1():
    error = "Error: cannot write standard output: No space left on device\n"
    with open("/dev/full", "w") as full:
        assert said_of_each(full) == "".join(f"{error}{call}: status 1\n" for call in CALLS)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_stdout_leaves_no_half_written_file(small, tmp_path):
    with open("/dev/full", "w") as full:
        process = start("run", small(), "--events", "-", "--files", "nodes", stdout=full)
        process.communicate()
    assert os.listdir(tmp_path) == ["small.yaml"]


@needs_posix
@pytest.mark.parametrize("closed", [1, 2])
def test_a_stream_that_the_caller_has_closed_counts_as_the_null_device(small, closed):
    shell = f'exec "$@" {closed}>&-'
    call = ["sh", "-c", shell, "sh", *COMMAND, "run", small(HELD), "--output", "json"]
    process = subprocess.run(call, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, check=True)
    assert (process.stdout == b"", process.stderr) == (closed == 1, b"")


@needs_posix
@pytest.mark.parametrize(("number", "status"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_a_run_in_order_and_leaves_no_trace(long_run, tmp_path, number, status):
    process = start("run", long_run, "--events", "events.jsonl", "--files", "nodes", stdout=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while len(os.listdir(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(getattr(signal, number))
    out, err = process.communicate()
    assert process.returncode == status, err
    assert out == ""
    assert re.search(r"Interrupted at \+\S+, [\d,]+ of [\d,]+ tasks done; no file was written\.", err)
    assert os.listdir(tmp_path) == ["small.yaml"]


# --- check, scenarios, schema


def test_check_prints_every_problem_of_every_file(small, tmp_path, capsys):
    (tmp_path / "other.yaml").write_text("scenario: other\npools: [{id: p, vmSize: small, colour: blue, size: 2}]\n")
    assert main(["check", small(HELD), "other.yaml", "missing.yaml"]) == 2
    good, *bad = capsys.readouterr().out.splitlines()
    assert good == "small.yaml: ok, 1 pool, 1 job, 2 tasks, 1 expectation"
    assert any(line.startswith("other.yaml:2:") and "colour" in line for line in bad)
    assert any(line.startswith("other.yaml:2:") and "size" in line for line in bad)
    assert any(line.startswith("missing.yaml: ") for line in bad)


def test_check_of_a_scenario_with_nothing_in_it_says_so(tmp_path, capsys):
    (tmp_path / "empty.yaml").write_text("scenario: empty\npools: null\n")
    assert main(["check", str(tmp_path / "empty.yaml")]) == 0
    assert capsys.readouterr().out.endswith(": ok, nothing in it\n")


def test_every_bundled_scenario_is_listed_with_a_line(capsys):
    assert main(["scenarios"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(path.stem for path in (ROOT / "scenarios").glob("*.yaml"))
    assert all(len(line.split()) > 3 for line in lines)


def test_the_schema_is_json(capsys):
    assert main(["schema"]) == 0
    assert "taskFactory" in json.dumps(json.loads(capsys.readouterr().out))


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


def test_the_dashboard_is_not_drawn_where_the_cursor_cannot_move(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert main(["open", "job-prep-release-sample"]) == 2
    assert "cannot move its cursor" in capsys.readouterr().err


# --- warnings

ODD = "  - {id: odd, poolInfo: {poolId: shard}}\n"
WARNED = r"^small\.yaml:13:34: warning: \[unknown-pool\] jobs\[1\]\.poolInfo\.poolId: .*did you mean 'shared'\?$"


@pytest.mark.parametrize("command", [["run", "--until", "PT1M"], ["check"]])
def test_warnings_are_on_stderr_and_change_nothing(command, small, capsys):
    assert main([*command, small(ODD)]) == 0
    out, err = capsys.readouterr()
    assert "warning" not in out
    assert re.fullmatch(WARNED, err.strip())


@pytest.mark.parametrize("command", [["run", "--until", "PT1M"], ["check"]])
def test_quiet_hides_warnings(command, small, capsys):
    assert main([*command, "--quiet", small(ODD)]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("command", [["run"], ["run", "--quiet"], ["check"], ["check", "--quiet"]])
def test_strict_makes_warnings_mistakes_and_runs_nothing(command, small, tmp_path, capsys):
    target = ["--events", "events.jsonl"] if command[0] == "run" else []
    assert main([*command, "--strict", *target, small(ODD)]) == 2
    out, err = capsys.readouterr()
    assert (out if command[0] == "check" else err).startswith(
        "small.yaml:13:34: [unknown-pool] jobs[1].poolInfo.poolId: "
    )
    assert not (tmp_path / "events.jsonl").exists()


@pytest.mark.parametrize("command", ["run", "check"])
def test_strict_accepts_a_scenario_without_warnings(command, small):
    assert main([command, "--strict", small(HELD)]) == 0


def test_check_prints_mistakes_and_warnings_at_once(small, capsys):
    assert main(["check", small(ODD, "sede: 1\n")]) == 2
    out, err = capsys.readouterr()
    assert "did you mean 'seed'?" in out
    assert re.fullmatch(WARNED, err.strip())


def test_warnings_leave_json_and_events_alone(small, capsys):
    assert main(["run", small(ODD), "--until", "PT1M", "--output", "json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["scenario"] == "small"
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("command", ["run", "check"])
def test_completion_offers_strict(command):
    words = {"COMP_WORDS": f"batchdeck {command} --str", "COMP_CWORD": "2", "_BATCHDECK_COMPLETE": "bash_complete"}
    done = subprocess.run(COMMAND, env=os.environ | words, capture_output=True, text=True, cwd=ROOT, check=True)
    assert "plain,--strict" in done.stdout.splitlines()


def test_check_lists_mistakes_and_warnings_of_several_files_as_json(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("broken.yaml").write_text("scenario: s\n  pools: []\n")
    Path("trap.yaml").write_text("scenario: s\nseed: x\njobs:\n  - {id: j, poolInfo: {poolId: q}}\n")
    Path("calm.yaml").write_text("scenario: s\n")
    assert main(["check", "--output", "json", "calm.yaml"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["check", "--output", "json", "broken.yaml", "calm.yaml", "trap.yaml", "gone.yaml"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert [tuple(each)[:6] for each in found] == [("file", "line", "column", "severity", "code", "path")] * 4
    assert [tuple(each.values())[:6] for each in found] == [
        ("broken.yaml", 2, 8, "error", "mistake", ""),
        ("trap.yaml", 2, 7, "error", "mistake", "seed"),
        ("trap.yaml", 4, 32, "warning", "unknown-pool", "jobs[0].poolInfo.poolId"),
        ("gone.yaml", 0, 0, "error", "mistake", ""),
    ]
