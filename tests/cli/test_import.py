"""The command ``import``, as a person and a script meet it."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from engine import load_scenario
from tests.histories.swf_texts import SwfJob, swf_text
from tui.cli.commands import main

LOG = swf_text([SwfJob(number, 10 * number, 60, allocated=1 + number % 2) for number in range(1, 6)], ["MaxProcs: 3"])
WORKFLOW = json.dumps(
    {
        "name": "small",
        "schemaVersion": "1.4",
        "workflow": {
            "tasks": [
                {"name": "a", "runtimeInSeconds": 3, "parents": []},
                {"name": "b", "runtimeInSeconds": 4, "parents": ["a"]},
            ]
        },
    }
)
posix_only = pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.swf").write_text(LOG)
    (tmp_path / "cluster.swf.gz").write_bytes(gzip.compress(LOG.encode()))
    (tmp_path / "small.json").write_text(WORKFLOW)
    return tmp_path


def test_the_scenario_goes_to_stdout_and_can_be_checked_and_run(files, capsys):
    assert main(["import", "--swf", "cluster.swf"]) == 0
    text = capsys.readouterr().out
    (files / "made.yaml").write_text(text)
    assert main(["check", "--strict", "made.yaml"]) == 0
    assert main(["run", "made.yaml", "--output", "json"]) == 0
    state = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert state["summary"]["tasks"] == {"total": 5, "succeeded": 5, "failed": 0, "active": 0}
    assert state["jobs"][0]["executionInfo"]["terminateReason"] == "AllTasksCompleted"


@pytest.mark.parametrize(
    ("name", "option", "words"),
    [
        ("cluster.swf", "--swf", "a log in the Standard Workload Format"),
        ("cluster.swf.gz", "--swf", "a log in the Standard Workload Format"),
        ("small.json", "--wfformat", "a workflow in WfFormat"),
    ],
)
def test_a_kind_that_is_not_named_is_recognized_by_content_and_told(files, capsys, name, option, words):
    (files / "plain").write_bytes((files / name).read_bytes())
    assert main(["import", "plain"]) == 0
    found = capsys.readouterr()
    assert found.err == f"plain: this is {words}, read as with {option}\n"
    assert main(["import", option, "plain", "-o", "named.yaml"]) == 0
    assert (files / "named.yaml").read_text() == found.out
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("files")
def test_options_shape_the_pool(capsys):
    assert main(["import", "--swf", "cluster.swf", "--nodes", "2", "--slots", "8", "-o", "made.yaml"]) == 0
    (pool,) = load_scenario("made.yaml").pools
    assert (pool.spec.target_dedicated_nodes, pool.spec.task_slots_per_node) == (2, 8)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--swf", "--wfformat", "cluster.swf"], "exclude each other"),
        (["--swf", "cluster.swf", "small.json"], "one FILE at a time"),
        (["--swf", "cluster.swf", "--nodes", "0"], "--nodes"),
        (["--swf", "cluster.swf", "--slots", "257"], "--slots"),
        (["--swf", "none.swf"], "none.swf: there is no such file"),
        (["--swf", "."], "is a directory"),
        (["--swf", "small.json"], "small.json:1:1: 18 of its fields are no numbers: this is no job"),
        (["--wfformat", "cluster.swf"], "cluster.swf:1:1: this is not JSON"),
        (["--swf", "cluster.swf", "-o", "no/where.yaml"], "the directory it should be in does not exist"),
        ([], "FILE..."),
    ],
)
def test_what_is_wrong_is_told_with_status_2_and_nothing_is_written(files, capsys, arguments, wanted):
    before = sorted(path.name for path in files.iterdir())
    assert main(["import", *arguments]) == 2
    found = capsys.readouterr()
    assert wanted in found.err
    assert found.out == ""
    assert sorted(path.name for path in files.iterdir()) == before


def test_a_file_with_mistakes_leaves_the_old_output(files, capsys):
    (files / "made.yaml").write_text("old")
    (files / "wrong.swf").write_text(LOG + "1 2 three\n")
    assert main(["import", "--swf", "wrong.swf", "-o", "made.yaml"]) == 2
    assert "wrong.swf:7:1: has 3 fields" in capsys.readouterr().err
    assert (files / "made.yaml").read_text() == "old"
    assert len(list(files.iterdir())) == 5


@pytest.mark.parametrize(
    ("target", "status", "words"),
    [
        ("in/tasks.json", 2, "--output would replace in/tasks.json, which is read"),
        ("in/../in/tasks.json", 2, "which is read"),
        ("in/link", 2, "which is read"),
        ("in/more.json", 0, "in/more.json: warning: will be read as an export with this folder the next time"),
        ("in/old.yaml", 0, ""),
    ],
)
def test_the_files_of_a_folder_are_not_replaced(files, capsys, target, status, words):
    folder = files / "in"
    folder.mkdir()
    text = json.dumps(
        [{"id": "t", "commandLine": "x", "url": "https://x/jobs/j/tasks/t", "creationTime": "2024-01-01"}]
    )
    (folder / "tasks.json").write_text(text.replace("2024-01-01", "2024-01-01T00:00:00Z"))
    (folder / "link").symlink_to("tasks.json")
    (folder / "old.yaml").write_text("old")
    assert main(["import", "in", "-o", target]) == status
    assert words in capsys.readouterr().err
    assert json.loads((folder / "tasks.json").read_text())[0]["id"] == "t"
    assert ((files / target).read_text() == "old") is False


@posix_only
def test_logs_come_through_pipes_and_readers_may_leave(files):
    command = [sys.executable, "-m", "tui", "import", "--swf", "-"]
    read = subprocess.run(command, input=LOG.encode(), capture_output=True, check=True)
    assert b'"id": "5"' in read.stdout
    many = swf_text([SwfJob(number, number, 5) for number in range(1, 5_000)])
    script = " ".join([*command[:-1], "many.swf", "|", "head", "-1;", "exit", "${PIPESTATUS[0]}"])
    (files / "many.swf").write_text(many)
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.startswith("# A log of 4,999 jobs")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.usefixtures("files")
def test_a_full_disk_is_told(capsys):
    assert main(["import", "--swf", "cluster.swf", "-o", "/dev/full"]) == 1
    assert "cannot write /dev/full: No space left" in capsys.readouterr().err


def test_fit_without_scipy_is_told_in_a_sentence(files, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    for name in ("engine.histories.fitting", "engine.histories.fitting"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    assert main(["import", "--swf", "cluster.swf", "--fit", "-o", "made.yaml"]) == 2
    assert "--fit needs scipy, which is not installed: pip install 'batchdeck[fit]'" in capsys.readouterr().err
    assert not (files / "made.yaml").exists()


@pytest.mark.usefixtures("files")
def test_fit_writes_a_distribution_and_how_well_it_fits(capsys):
    pytest.importorskip("scipy", reason="the extra `fit`")
    assert main(["import", "--swf", "cluster.swf", "--slots", "3", "--fit"]) == 0
    text = capsys.readouterr().out
    assert "taskFactory" in text
    assert "constant, Kolmogorov-Smirnov statistic 0.0000" in text


@posix_only
def test_ctrl_c_leaves_no_file(files):
    before = sorted(path.name for path in files.iterdir())
    command = [sys.executable, "-m", "tui", "import", "--swf", "-", "-o", "made.yaml"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            process.stdin.write(LOG)
            process.stdin.flush()
            deadline = time.monotonic() + 30
            while sorted(path.name for path in files.iterdir()) == before and time.monotonic() < deadline:
                time.sleep(0.02)
            # A signal that comes just before Python waits in a read is handled after it, or with the next signal.
            while process.poll() is None and time.monotonic() < deadline:
                process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=3)
            assert (process.returncode, process.stderr.read().strip()) == (130, "Interrupted.")
        finally:
            process.kill()
    assert sorted(path.name for path in files.iterdir()) == before


STOPS = """
import sys
from tui.cli import commands, main

class Stop:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt

@commands.cli.command("stop")
def stop():
    {stop}

sys.argv = ["batchdeck", "stop"]
sys.exit(main())
"""


@pytest.mark.parametrize(
    "stop",
    [
        "exec('raise KeyboardInterrupt')",  # as dataclasses and named tuples run texts of their own
        "type('Made', (), {'field': Stop()})",  # as the members of an enumeration learn their names
    ],
)
def test_ctrl_c_while_a_class_is_made_ends_with_the_same_status(tmp_path, stop):
    (tmp_path / "stops.py").write_text(STOPS.format(stop=stop), encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    ended = subprocess.run(
        [sys.executable, "-m", "stops"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr.strip()) == (130, "Interrupted.")
